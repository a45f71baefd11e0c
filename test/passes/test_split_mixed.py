"""Flat mixed kernels compute the same after split-mixed and after skew, in any order.

`random_flat` has the kernels. Within a core a barrier behind each instruction keeps the
program's order, since there are no flags yet; between the cores only channels do.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.tile import BarrierOp, Instruction
from pyptoc.dialects.verify import verify_module
from pyptoc.passes.skew import SkewPass
from pyptoc.passes.split_mixed import SplitMixedPass
from pyptoc.printing import module_text
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import load_machine

MACHINE = load_machine("ascend950")
FLAT = Path(__file__).parent.parent / "runtime" / "handwritten" / "attention_flat.mlir"
ORDERS = range(3)
Given = dict[str, Any]


def stages(text: str) -> Iterator[tuple[str, ModuleOp]]:
    """The module as it is, and after each pass; what was printed reads back."""
    context = make_context(MACHINE)
    module = parse_module(text, "test.mlir", context)
    verify_module(module)
    yield "flat", module
    for each in (SplitMixedPass(), SkewPass()):
        each.apply(context, module)
        verify_module(module)
        shown = module_text(module)
        again = parse_module(shown, "again.mlir", make_context(MACHINE))
        assert module_text(again) == shown
        yield each.name, again


def with_barriers(module: ModuleOp) -> ModuleOp:
    """The module with a barrier behind every instruction."""
    for op in list(module.walk()):
        if isinstance(op, Instruction) and op.parent is not None:
            op.parent.insert_op_after(BarrierOp.make(), op)
    return module


def assert_equal(got: Given, want: Given, where: str) -> None:
    for name, value in want.items():
        bits = f"u{value.dtype.itemsize}"
        np.testing.assert_array_equal(got[name].view(bits), value.view(bits), where)


@settings(
    max_examples=5,
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
        programs = [Executable(stage, MACHINE)]
        if name == "skew":
            programs.append(Executable(with_barriers(stage), MACHINE))
        for m, n in {(rows, columns), (rows // 2 + 1, columns - 1), (0, columns)}:
            scalars = {"m": m, "n": n, "p": trips[0], "q": trips[1]}
            arrays = inputs(size, scalars)
            first = want.setdefault((m, n), programs[0].run(arrays))
            assert_equal(programs[0].run(arrays), first, name)
            for order in ORDERS if len(programs) > 1 else ():
                got = programs[1].run(arrays, order=order)
                assert_equal(got, first, f"order {order}")


@pytest.fixture(scope="module")
def attention() -> dict[str, Executable]:
    return {name: Executable(m, MACHINE) for name, m in stages(FLAT.read_text())}


@pytest.mark.parametrize("queries", [0, 1, 65, 128, 200])
@pytest.mark.parametrize("keys", [0, 100, 700])
def test_attention(attention: dict[str, Executable], queries: int, keys: int) -> None:
    """Bit for bit: the passes change no arithmetic."""
    rng = np.random.default_rng(queries + keys)
    arrays = {
        name: rng.standard_normal((1, size, 128)).astype(ml_dtypes.bfloat16)
        for name, size in (("q", queries), ("k", keys), ("v", keys))
    }
    want = attention["flat"].run(arrays)
    for name in ("split-mixed", "skew"):
        assert_equal(attention[name].run(arrays), want, name)


def test_attention_is_skewed(attention: dict[str, Executable]) -> None:
    """Both loops run a trip more, as in the kernel that was written by hand."""
    assert module_text(attention["split-mixed"].module).count("%blocks + 1") == 0
    assert module_text(attention["skew"].module).count("%blocks + 1") == 2
