"""Flat mixed kernels compute the same after split-mixed, after skew, and when finished.

`random_flat` has the kernels. The finished ones run in any order that their flags and
channels allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_flat import flat_modules, inputs
from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.verify import verify_module
from pyptoc.passes.insert_sync import InsertSyncPass
from pyptoc.passes.plan_memory import PlanMemoryPass
from pyptoc.passes.skew import SkewPass
from pyptoc.passes.split_mixed import SplitMixedPass
from pyptoc.printing import module_text
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import Machine, load_machine

MACHINE = load_machine("ascend950")
FLAT = Path(__file__).parent.parent / "runtime" / "handwritten" / "attention_flat.mlir"
ORDERS = range(3)
Given = dict[str, Any]


def stages(text: str, machine: Machine = MACHINE) -> Iterator[tuple[str, ModuleOp]]:
    """The module as it is, and after each pass; what was printed reads back."""
    context = make_context(machine)
    module = parse_module(text, "test.mlir", context)
    verify_module(module)
    yield "flat", module
    for each in (SplitMixedPass(), SkewPass(), PlanMemoryPass(), InsertSyncPass()):
        each.apply(context, module)
        verify_module(module)
        shown = module_text(module)
        again = parse_module(shown, "again.mlir", make_context(machine))
        assert module_text(again) == shown
        yield each.name, again


def assert_equal(got: Given, want: Given, where: str) -> None:
    for name, value in want.items():
        bits = f"u{value.dtype.itemsize}"
        np.testing.assert_array_equal(got[name].view(bits), value.view(bits), where)


@settings(
    max_examples=3,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(module=flat_modules(), trips=st.tuples(st.integers(0, 3), st.integers(0, 4)))
def test_random_kernels(
    module: tuple[str, tuple[int, int]], trips: tuple[int, int]
) -> None:
    text, size = module
    rows, columns = size
    want: dict[tuple[int, int], Given] = {}
    for name, stage in stages(text):
        program = Executable(stage, MACHINE)
        orders = [None, *ORDERS] if name == "insert-sync" else [None]
        for m, n in {(rows, columns), (rows // 2 + 1, columns - 1), (0, columns)}:
            arrays = inputs(size, {"m": m, "n": n, "p": trips[0], "q": trips[1]})
            for order in orders:
                got = program.run(arrays, order=order)
                where = f"{name}, order {order}"
                assert_equal(got, want.setdefault((m, n), got), where)


@cache
def attention(machine: str) -> dict[str, Executable]:
    """The flat attention and what each pass makes of it."""
    target = load_machine(machine)
    found = stages(FLAT.read_text(), target)
    return {name: Executable(module, target) for name, module in found}


@pytest.mark.parametrize("machine", ["ascend950", "ascend910b"])
@pytest.mark.parametrize("queries", [0, 1, 65, 128, 200])
@pytest.mark.parametrize("keys", [0, 100, 700])
def test_attention(machine: str, queries: int, keys: int) -> None:
    """Bit for bit: the passes change no arithmetic."""
    rng = np.random.default_rng(queries + keys)
    arrays = {
        name: rng.standard_normal((1, size, 128)).astype(ml_dtypes.bfloat16)
        for name, size in (("q", queries), ("k", keys), ("v", keys))
    }
    programs = attention(machine)
    want = programs["flat"].run(arrays)
    for name, program in programs.items():
        assert_equal(program.run(arrays), want, name)
    for order in ORDERS:
        got = programs["insert-sync"].run(arrays, order=order)
        assert_equal(got, want, f"order {order}")


def test_attention_is_skewed() -> None:
    """Both loops run a trip more, as in the kernel that was written by hand."""
    programs = attention("ascend950")
    assert module_text(programs["split-mixed"].module).count("%blocks + 1") == 0
    assert module_text(programs["skew"].module).count("%blocks + 1") == 2


@pytest.mark.parametrize(
    ("machine", "ways"),
    [
        ("ascend950", {"l0c -> ub", "ub -> l1"}),
        ("ascend910b", {"l0c -> gm -> ub", "ub -> gm -> l1"}),
    ],
)
def test_ways_of_channels(machine: str, ways: set[str]) -> None:
    """Directly where the machine can, else through memory."""
    text = module_text(attention(machine)["skew"].module)
    assert set(re.findall(r"!tile\.chan<\w+, ([^,]*),", text)) == ways


def test_no_way() -> None:
    lame = replace(MACHINE, routes={("gm", "ub"): MACHINE.routes["gm", "ub"]})
    with pytest.raises(CompileError, match="ascend950 has no way l0c -> ub"):
        list(stages(FLAT.read_text(), lame))
