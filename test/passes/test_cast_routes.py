"""Chains of casts have the result of the cast, for every pair of types and mode."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.context import PyptocContext, make_context
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.parsing import parse_module
from pyptoc.passes.cast_routes import Fix, find_route
from pyptoc.passes.legalize_casts import LegalizeCastsPass
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.numerics import storage_dtype, supports
from pyptoc.runtime.reference import interpret

TYPES = ("f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i8", "ui8", "i16", "i32", "i64")
MODES = ("none", "rint", "round", "floor", "ceil", "trunc", "odd")
MACHINES = ("ascend950", "ascend910b")


def values(source: str) -> NDArray[Any]:
    """All codes of a small type; for a wide one, neighbours of what matters."""
    dtype = storage_dtype(source)
    if dtype.itemsize == 1:
        return np.arange(256, dtype=np.uint8).view(dtype)
    if dtype.itemsize == 2:
        return np.arange(65536, dtype=np.uint16).view(dtype)
    draw = np.random.default_rng(0)
    if source == "f32":
        bits = draw.integers(0, 2**32, 4000, np.uint32).view(np.float32)
        ties = np.arange(-300, 300, 0.25, np.float32)
        return np.concatenate([bits, ties, ties * 64, np.float32([2**31, -(2**31)])])
    bits = 31 if source == "i32" else 63
    powers = np.array([2**k for k in range(bits)], np.int64)
    near = (powers[:, None] + np.arange(-3, 4)).reshape(-1)
    half = (powers[:, None] + powers[None, :] // 2).reshape(-1)
    limit = 2**bits - 1
    exact = np.clip(np.concatenate([near, half, half + 1, [limit]]), -limit, limit)
    return np.concatenate([exact, -exact - 1, [0]]).astype(dtype)


def program(source: str, target: str, mode: str, wrap: bool, size: int) -> str:
    clause = "" if mode == "none" else f" mode {mode}"
    setting = " {saturate = false}" if wrap else ""
    return (
        f"func.func @f(%x: tensor<{size}x{source}>) -> tensor<{size}x{target}> {{\n"
        f"  %r = pypto.cast %x to {target}{clause}{setting}\n"
        f"  func.return %r : tensor<{size}x{target}>\n}}\n"
    )


CONTEXTS = {machine: make_context(load_machine(machine)) for machine in MACHINES}


def legal(module: ModuleOp, context: PyptocContext) -> ModuleOp | None:
    """A copy in which the machine has all casts; None where there is no way."""
    copy = module.clone()
    try:
        LegalizeCastsPass().apply(context, copy)
    except CompileError as failure:
        if failure.diagnostics[0].code != "PTO221":
            raise
        return None
    for op in copy.walk():
        if op.name == "pypto.cast":
            types = [str(v.type.element_type) for v in (op.source, op.result)]
            assert context.machine.can_cast(*types)
    return copy


def wide(results: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        return results["result0"].astype(np.float64)


@pytest.mark.parametrize("source", TYPES)
def test_every_cast(source: str) -> None:
    x = values(source)
    missing = {machine: set[str]() for machine in MACHINES}
    for target, mode, wrap in product(TYPES, MODES, (False, True)):
        if wrap and target in ("f32", "f16", "bf16"):
            continue
        text = program(source, target, mode, wrap, x.size)
        try:
            module = parse_module(text, "op.mlir", make_context())
        except CompileError:
            continue  # the language has no such cast
        if not supports(x.dtype, storage_dtype(target), mode):
            continue
        want = wide(interpret(module, {"x": x}))
        for machine, context in CONTEXTS.items():
            lowered = legal(module, context)
            if lowered is None:
                missing[machine].add(target)
                continue
            got = wide(interpret(lowered, {"x": x}))
            np.testing.assert_array_equal(got, want, err_msg=text)
    for machine in MACHINES:
        assert missing[machine] == expected_missing(source, machine)


def expected_missing(source: str, machine: str) -> set[str]:
    """Targets that a machine cannot reach: i64 to bf16, and f8 where there is none."""
    missing = {"bf16"} if source == "i64" else set[str]()
    f8 = {"f8E4M3FN", "f8E5M2"}
    if machine == "ascend910b":
        if source in f8:
            return set(TYPES) - {source}
        missing |= f8 if source in ("f32", "f16", "bf16") else set()
    return missing


def test_routes_round_once() -> None:
    machine = load_machine("ascend950")
    route = find_route("f32", "i8", machine)
    assert route is not None
    assert route.steps == ("i32", Fix.NARROW, "f16", "i8")
    assert route.rounds == 0
    assert find_route("i64", "bf16", machine) is None
    # i16 has more values than f16 holds, so f16 is no way round a missing cast.
    fewer = replace(machine, casts=machine.casts - {("i32", "i16")})
    assert find_route("i64", "i16", fewer) is None
