"""
The tensor-level passes leave every result as it was, to the last bit.

Each program of `front_programs.py` runs in the reference interpreter before the first
pass and after each one, on inputs that hold what goes wrong easily: zeros, tiny and
huge numbers, infinities, NaN, rows that are masked. hypothesis draws sizes and data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from front_programs import GROUPED, PROGRAMS, body
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.context import PyptocContext, make_context
from pyptoc.dialects.diagnostics import RunError
from pyptoc.dialects.parsing import parse_module
from pyptoc.passes import pass_class
from pyptoc.printing import module_text
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.numerics import cast, storage_dtype
from pyptoc.runtime.reference import interpret
from pyptoc.runtime.signature import read_signature

FRONT = ("inline", "desugar", "decompose", "check-bounds", "legalize-casts")
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e-38, 3e38, -3e38, 127.5, 2.5)
INTEGERS = (0, -1, 127, 128, -128, -129, 255, 256, 2**24 + 1, 2**31 - 1, -(2**31))

Inputs = dict[str, NDArray[Any]]


def parse(text: str, context: PyptocContext) -> ModuleOp:
    return parse_module(text, "op.mlir", context)


def random_floats(shape: tuple[int, ...], draw: np.random.Generator) -> NDArray[Any]:
    """Normal numbers, then some special ones, then rows that hold one of them."""
    values = (draw.normal(size=shape) * 4).astype(np.float32)
    hit = draw.random(shape) < 0.1
    values = np.where(hit, draw.choice(SPECIAL, shape), values).astype(np.float32)
    for row in range(shape[0] if shape else 0):
        if draw.random() < 0.4:
            values[row] = draw.choice(SPECIAL)
    return values


def random_inputs(
    module: ModuleOp, sizes: dict[str, int], draw: np.random.Generator
) -> Inputs:
    """An array for each argument of the entry; `?` are bound by name."""
    inputs: Inputs = {}
    for argument in read_signature(module, "f").arguments:
        assert argument.shape is not None
        shape = tuple(
            sizes.get(dim, 5) if size is None else size
            for size, dim in zip(argument.shape, argument.dims, strict=True)
        )
        dtype = storage_dtype(argument.element_type)
        text = str(argument.element_type)
        if text == "f8E8M0FNU":
            value = draw.integers(120, 134, shape, np.uint8).view(dtype)
        elif dtype.kind in "iub" and text[0] in "iu":
            limits = (0, 1) if text == "i1" else _limits(dtype)
            value = draw.integers(*limits, shape, np.int64, endpoint=True)
            special = [n for n in INTEGERS if limits[0] <= n <= limits[1]]
            hit = draw.random(shape) < 0.3
            value = np.where(hit, draw.choice(special, shape), value).astype(dtype)
        else:
            value = cast(random_floats(shape, draw), argument.element_type)
        inputs[argument.name] = value
    return inputs


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def bits(results: dict[str, NDArray[Any]]) -> dict[str, tuple[Any, bytes]]:
    """Results as shapes and bytes; every NaN is the same NaN."""
    found: dict[str, tuple[Any, bytes]] = {}
    for name, array in results.items():
        wide = array.astype(np.float64) if array.dtype.kind not in "iub" else array
        wide = (
            np.where(np.isnan(wide), np.nan, wide) if wide.dtype.kind == "f" else wide
        )
        found[name] = ((array.shape, array.dtype), np.ascontiguousarray(wide).tobytes())
    return found


MACHINES = ("ascend950", "ascend910b")


def check(
    name: str,
    sizes: dict[str, int],
    seed: int,
    machines: Sequence[str] = MACHINES[:1],
) -> None:
    """
    Run `name` before the passes and after each one.

    What the passes leave is often the same for two machines, and is then run once.
    """
    module = parse(PROGRAMS[name], make_context())
    draw = np.random.default_rng(seed)
    inputs = random_inputs(module, sizes, draw)
    if name in GROUPED:
        ends = np.sort(draw.integers(0, sizes["M"], 3, endpoint=True))
        ends[-1] = sizes["M"]
        groups = ends if name.endswith("ends") else np.diff(ends, prepend=0)
        inputs["g"] = groups.astype(inputs["g"].dtype)
    if name == "arith":
        inputs["x"][1] = inputs["x"][1] or 3
    want, seen = bits(interpret(module, inputs)), {module_text(module)}
    for machine in map(load_machine, machines):
        context, given = make_context(machine), module.clone()
        for pass_name in FRONT:
            pass_class(pass_name)().apply(context, given)
            text = module_text(given)
            if text in seen:
                continue
            seen.add(text)
            where = f"{name} after {pass_name} for {machine.name}"
            given.verify()
            assert bits(interpret(given, inputs)) == want, where
            assert module_text(parse(text, make_context(machine))) == text, where


READS = '%x: tensor<?x24xf32> {pypto.dims = ["M"]}, %k: tensor<2xi32>'
FAULTS: dict[str, tuple[str, dict[str, list[int]], str]] = {
    "sum_small": (
        PROGRAMS["grouped_matmul"],
        {"g": [1, 1, 2]},
        "the groups sum to 4, %a has 5 rows",
    ),
    "sum_large": (
        PROGRAMS["grouped_matmul"],
        {"g": [2, 4, 0]},
        "expert 1 of 3: view of %a rows 2 +: 4 ends at 6, %a has 5 rows",
    ),
    "negative": (
        PROGRAMS["grouped_matmul"],
        {"g": [2, -1, 4]},
        "expert 1: negative group -1",
    ),
    "ends_back": (
        PROGRAMS["grouped_matmul_ends"],
        {"g": [4, 2, 5]},
        "expert 1: negative group -2",
    ),
    "view_end": (
        body(
            READS,
            "tensor<?x24xf32>",
            "  %b = pypto.read %k[0]\n  %n = pypto.read %k[1]\n"
            "  %r = pypto.view %x[%b +: %n, :]",
        ),
        {"k": [3, 3]},
        "view of %x rows 3 +: 3 ends at 6, %x has 5 rows",
    ),
    "view_start": (
        body(
            READS,
            "tensor<24xf32>",
            "  %b = pypto.read %k[0]\n  %r = pypto.view %x[%b, :]",
        ),
        {"k": [-1, 0]},
        "view of %x row -1, %x has 5 rows",
    ),
    "broadcast": (
        body(
            READS,
            "tensor<?x24xf32>",
            "  %n = pypto.read %k[0]\n  %v = pypto.view %x[0 +: %n, :]\n"
            "  %r = pypto.add %x, %v",
        ),
        {"k": [1, 0]},
        "dimension 0 of %x is 5, dimension 0 of %v is 1 "
        "(a dynamic size of 1 does not broadcast)",
    ),
    "stated_size": (
        body(
            READS,
            "tensor<4x24xf32>",
            "  %r = pypto.view %x[:, :] : tensor<?x24xf32> -> tensor<4x24xf32>",
        ),
        {},
        "dimension 0 of the result is 5, its type says 4",
    ),
    "stated_cast": (
        body(
            READS,
            "tensor<4x24xi8>",
            "  %r = pypto.cast %x to i8 : tensor<?x24xf32> -> tensor<4x24xi8>",
        ),
        {},
        "dimension 0 of the result is 5, its type says 4",
    ),
    "stated_softmax": (
        body(
            READS,
            "tensor<4x24xf32>",
            "  %r = pypto.softmax %x axis -1 : tensor<?x24xf32> -> tensor<4x24xf32>",
        ),
        {},
        "dimension 0 of the result is 5, its type says 4",
    ),
    "stated_sum": (
        body(
            READS,
            "tensor<4x1xf32>",
            "  %r = pypto.sum %x axis 1 {keepdim}"
            " : tensor<?x24xf32> -> tensor<4x1xf32>",
        ),
        {},
        "dimension 0 of the result is 5, its type says 4",
    ),
    "contraction": (
        body(
            READS + ", %w: tensor<?x8xf32>",
            "tensor<?x8xf32>",
            "  %n = pypto.read %k[0]\n  %v = pypto.view %x[:, 0 +: %n]\n"
            "  %r = pypto.matmul %v, %w",
        ),
        {"k": [3, 0]},
        "dimension 1 of %v is 3, dimension 0 of %w is 5",
    ),
    "reshape": (
        body(READS, "tensor<?x48xf32>", "  %r = pypto.reshape %x[-1, 48]"),
        {},
        "reshape: the 120 elements of %x are no multiple of 48",
    ),
    "odd_swiglu": (
        body(
            '%x: tensor<3x?xf32> {pypto.dims = ["M"]}',
            "tensor<3x?xf32>",
            "  %r = pypto.swiglu %x",
        ),
        {},
        "swiglu halves the last axis of 5 elements",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(name: str) -> None:
    """A run that breaks a rule fails before the passes and after them."""
    text, steering, message = FAULTS[name]
    context = make_context(load_machine("ascend950"))
    module = parse(text, context)
    inputs = random_inputs(module, {"M": 5}, np.random.default_rng(0))
    inputs |= {
        key: np.array(value, inputs[key].dtype) for key, value in steering.items()
    }
    with pytest.raises(RunError):
        interpret(module, inputs)
    for pass_name in FRONT:
        pass_class(pass_name)().apply(context, module)
    with pytest.raises(RunError) as failure:
        interpret(module, inputs)
    (diagnostic,) = failure.value.diagnostics
    assert message in diagnostic.message
    assert diagnostic.code in ("PTO402", "PTO403")
    asserts = [op for op in module.walk() if op.name == "pypto.assert"]
    assert diagnostic.location in [op.location for op in asserts]
    assert "op.mlir" in str(diagnostic.location)


def needs_mx(name: str) -> bool:
    return "mx" in name


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_bits(name: str) -> None:
    # The second machine has no f8.
    machines = MACHINES[:1] if needs_mx(name) else MACHINES
    check(name, {"M": 5, "N": 12}, 1, machines)


NOTHING = ("mean_dynamic", "var_dynamic", "rms_norm_dynamic", "softmax", "sum")


@pytest.mark.parametrize("name", [*NOTHING, "forall", "grouped_matmul"])
def test_same_bits_of_nothing(name: str) -> None:
    check(name, {"M": 0, "N": 0}, seed=1)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(sorted(PROGRAMS)),
    st.integers(0, 6),
    st.integers(0, 9),
    st.integers(0, 1000),
)
def test_same_bits_of_any_size(name: str, m: int, n: int, seed: int) -> None:
    m = 5 if name == "stated_types" else m
    n -= n % 2 if name == "rope_dynamic" else 0  # an odd size is an error
    check(name, {"M": m, "N": n}, seed)
