"""
Kinds of planning problems, each at the capacity that it just needs, and one below.

At the peak of what is live at once there is a place for all, the values are those of
buffers that share nothing, also with the pipes far apart, and nothing is unordered.
With one aligned unit less it is an error that names what is live and what to shrink.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernel_runs import TRIPS, all_problems, assert_same_in_any_order, results
from random_kernels import entry

from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.tile import AllocOp
from pyptoc.dialects.verify import verify_module
from pyptoc.passes.insert_sync import InsertSyncPass
from pyptoc.passes.plan_memory import PlanMemoryPass
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import Machine, load_machine

ROW = 64
"""Bytes of a row of 16 f32, the unit of all sizes here."""


def alloc(**rows: int) -> str:
    return "".join(
        f"%{name} = tile.alloc : !tile.buf<{count}x16xf32, ub>\n"
        for name, count in rows.items()
    )


def load(name: str, rows: int, at: int = 0) -> str:
    return f"tile.load %x[{at}, 0] [{rows}, 16] into %{name}\n"


def store(name: str, rows: int, at: int = 0) -> str:
    return f"tile.store %{name} [{rows}, 16] into %y[{at}, 0]\n"


def scan(source: str, dest: str, rows: int) -> str:
    """An instruction that does not work in place."""
    return f"tile.row_cumsum %{source} into %{dest} [{rows}, 16]\n"


def loop(counter: str, body: str, bound: str = "%n") -> str:
    return f"scf.for %{counter} = %c0 to {bound} step %c1 {{\n{body}}}\n"


KINDS: dict[str, tuple[int, str]] = {
    "a hole between two that end, for one as large as both": (
        9,
        alloc(a=4, b=1, c=4)
        + load("a", 4) + load("b", 1, 9) + load("c", 4, 4)
        + store("a", 4) + store("c", 4, 4)
        + alloc(d=8) + load("d", 8, 16) + store("d", 8, 8) + store("b", 1, 20),
    ),
    "staggered lifetimes that fit exactly": (
        8,
        alloc(a=3, b=5) + load("a", 3) + load("b", 5, 3) + store("a", 3)
        + alloc(c=3) + load("c", 3, 8) + store("b", 5, 3)
        + alloc(d=4) + load("d", 4, 12) + store("c", 3, 8)
        + alloc(e=4) + load("e", 4, 16) + store("d", 4, 12) + store("e", 4, 16),
    ),
    "a value that both branches write, read behind them": (
        8,
        alloc(r=4) + "%even = pypto.index %n mod 2 == 0\nscf.if %even {\n"
        + alloc(s=4) + load("s", 4) + scan("s", "r", 4)
        + "} else {\n" + alloc(t=4) + load("t", 4, 4) + scan("t", "r", 4) + "}\n"
        + store("r", 4),
    ),
    "a value kept while only one branch reads it": (
        8,
        alloc(k=4) + load("k", 4) + "%even = pypto.index %n mod 2 == 0\n"
        + "scf.if %even {\n" + store("k", 4) + "} else {\n"
        + alloc(s=4) + load("s", 4, 4) + store("s", 4, 4) + store("k", 4, 8) + "}\n",
    ),
    "a value from before a loop that each trip reads first": (
        12,
        alloc(w=4) + load("w", 4)
        + loop("k", alloc(t=4, u=4) + scan("w", "t", 4) + scan("t", "u", 4)
               + store("u", 4)),
    ),
    "a value that a trip leaves to the next, in two loops": (
        8,
        alloc(s=4) + load("s", 4)
        + loop("j", loop("k", alloc(t=4) + load("t", 4, 8)
                         + "tile.add %s, %t into %s [4, 16]\n", "%m"))
        + store("s", 4),
    ),
    "what ends with a loop makes room behind it": (
        8,
        alloc(a=4)
        + loop("k", alloc(t=4) + load("a", 4) + scan("a", "t", 4) + store("t", 4))
        + alloc(b=8) + load("b", 8, 16) + store("b", 8, 16),
    ),
    "a slot that is still read when the allocation is not named any more": (
        12,
        "%a = tile.alloc {slots = 2} : !tile.buf<4x16xf32, ub>\n"
        "%a0 = tile.slot %a[0]\n%a1 = tile.slot %a[1]\n"
        + load("a0", 4) + load("a1", 4, 4)
        + alloc(t=4) + load("t", 4, 8) + store("t", 4, 8)
        + store("a0", 4) + store("a1", 4, 4),
    ),
    "a result in the place of its input, and that again": (
        4,
        alloc(a=4, b=4, c=4) + load("a", 4)
        + "tile.neg %a into %b [4, 16]\ntile.exp %b into %c [4, 16]\n"
        + store("c", 4),
    ),
    "an input that is read again, in full and by rows": (
        8,
        alloc(a=4, b=4) + load("a", 4)
        + "tile.sub %a, %a row into %b [4, 16]\n" + store("b", 4),
    ),
    "rows of a few bytes take whole units": (
        3,
        "%s = tile.alloc : !tile.buf<2x1xf32, ub>\n"
        + alloc(a=2) + load("a", 2) + "tile.row_sum %a into %s [2, 16]\n"
        + "tile.store %s [2, 1] into %y[0, 0]\n",
    ),
}  # fmt: skip


def kernel(body: str) -> str:
    memories = ", ".join(f'%{name}: memref<64x16xf32, "gm">' for name in "xyz")
    return f"""
npu.kernel @k (%i) ({memories}, %n: index, %m: index) on vector {{
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
{body}}}
{entry("64x16", ["64x16", "64x16"])}"""


def machine(space: str, size: int) -> Machine:
    found = load_machine("ascend950")
    changed = replace(found.spaces[space], bytes=size)
    return replace(found, spaces={**found.spaces, space: changed})


@pytest.mark.parametrize("name", KINDS)
def test_what_is_live_at_once_is_enough(name: str) -> None:
    rows, body = KINDS[name]
    tight = machine("ub", rows * ROW)
    context = make_context(tight)
    module = parse_module(kernel(body), "test.mlir", context)
    PlanMemoryPass().apply(context, module)
    for op in module.walk():
        if isinstance(op, AllocOp):
            assert op.address is not None
            assert op.address % 32 == 0
            assert op.address + op.total_bytes <= rows * ROW
    InsertSyncPass().apply(context, module)
    verify_module(module)
    assert not all_problems(module)
    assert_same_in_any_order(module, tight)
    apart = Executable(parse_module(kernel(body), "test.mlir", context), tight)
    program = Executable(module, tight, check=True)
    for n, m in TRIPS[1:4]:
        want, got = results(apart, n, m, None), results(program, n, m, None)
        for result, value in want.items():
            np.testing.assert_array_equal(got[result], value, err_msg=name)


@pytest.mark.parametrize("name", KINDS)
def test_one_unit_less_is_an_error(name: str) -> None:
    rows, body = KINDS[name]
    tight = machine("ub", rows * ROW - 32)
    context = make_context(tight)
    module = parse_module(kernel(body), "test.mlir", context)
    with pytest.raises(CompileError) as failure:
        PlanMemoryPass().apply(context, module)
    (found,) = failure.value.diagnostics
    assert found.code == "PTO211"
    assert f"{rows * ROW} bytes; ub has {rows * ROW - 32}" in str(found.here)
    assert "shrink the vec tile" in str(found.help)
    assert found.notes


ACCUMULATORS = """
npu.kernel @k (%i) (%y: memref<256x512xf32, "gm">, %n: index) on cube {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc : !tile.buf<128x64xf16, l0a>
  %b = tile.alloc : !tile.buf<64x256xf16, l0b>
  %outer = tile.alloc : !tile.buf<128x256xf32, l0c>
  %last = tile.alloc : !tile.buf<256x256xf32, l0c>
  scf.for %k = %c0 to %n step %c1 {
    %inner = tile.alloc : !tile.buf<128x256xf32, l0c>
    tile.matmul %a, %b into %inner [128, 256, 64]
    tile.store %inner [128, 256] into %y[0, 0]
    %more = pypto.index %k > 0
    tile.matmul %a, %b into %outer [128, 256, 64] accumulate %more
  }
  tile.store %outer [128, 256] into %y[0, 0]
  tile.store %last [256, 256] into %y[0, 0]
}
"""


def test_nested_accumulators_fill_l0c_exactly() -> None:
    """Each is half of it; the one of the loop's trip never lies on the one around it,
    and the one behind the loop takes all."""
    context = make_context(load_machine("ascend950"))
    module = parse_module(ACCUMULATORS, "test.mlir", context)
    PlanMemoryPass().apply(context, module)
    found = {
        op.buffer.name_hint: op.address
        for op in module.walk()
        if isinstance(op, AllocOp) and op.type.space == "l0c"
    }
    assert found.pop("last") == 0
    assert sorted(found) == ["inner", "outer"]
    assert sorted(found.values()) == [0, 128 * 1024]


TOPK = """
npu.kernel @k (%i) (%y: memref<64x16xf32, "gm">) on vector {
  %x = tile.alloc : !tile.buf<4x64xf32, ub>
  %v = tile.alloc : !tile.buf<4x8xf32, ub>
  %p = tile.alloc : !tile.buf<4x8xi32, ub>
  %before = tile.alloc : !tile.buf<4x64xf32, ub>
  %t = tile.alloc : !tile.buf<1x384xf32, ub>
  tile.fill 1.0 into %before [4, 64]
  tile.row_cumsum %before into %x [4, 64]
  tile.fill -inf into %v [4, 8]
  tile.fill 0 into %p [4, 8]
  tile.topk %x from 0 of 64 into %v, %p using %t [4, 64, 8]
  tile.store %v [4, 8] into %y[0, 0]
}
"""


def test_what_an_instruction_works_in_is_alive_meanwhile() -> None:
    """The scratch of a top-k lies on nothing that it reads or writes; what is over
    before makes room for it."""
    live = 4 * 256 + 2 * 4 * 32 + 4 * 384
    context = make_context(machine("ub", live))
    module = parse_module(TOPK, "test.mlir", context)
    PlanMemoryPass().apply(context, module)
    places = {
        op.buffer.name_hint: range(op.address or 0, (op.address or 0) + op.total_bytes)
        for op in module.walk()
        if isinstance(op, AllocOp)
    }
    for other in "xvp":
        assert not set(places["t"]) & set(places[other])
    assert set(places["t"]) & set(places["before"])
