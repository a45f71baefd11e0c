"""Kernels that read scalars: what decides how long a task takes is looked up."""

from __future__ import annotations

import numpy as np
import pytest
from timing_machine import tiny_machine

import pyptoc
from pyptoc.dialects.diagnostics import CompileError, RunError
from pyptoc.runtime.timing_result import Timeline

LOAD, STORE = 10 + 256 // 8, 5 + 256 // 32
"""Cycles of a row of 256 bytes from HBM, and to memory."""
FOUND = 10 + 256 // 64
"""Of a row that lies in L2."""

X, N = 'memref<64x64xf32, "gm">', 'memref<?xi32, "gm">'

COPY = """
    tile.load %x[%p, 0] [1, 64] into %a
    tile.set_flag [mte2 -> mte3, 0]
    tile.wait_flag [mte2 -> mte3, 0]
    tile.store %a [1, 64] into %y[%i, 0]
    tile.set_flag [mte3 -> mte2, 0]
    tile.wait_flag [mte3 -> mte2, 0]
"""


def program(body: str, grid: int, launches: str = "%n") -> pyptoc.Program:
    """A kernel that reads %n; a launch of it for each name in `launches`."""
    lines = "".join(
        f'  npu.launch @rows[{grid}] (%x, {name}, %y) {{order = "row", '
        'assign = "static"}\n'
        for name in launches.split()
    )
    boxes = "read %x[0, 0] [64, 64], read %n[0] [8], write %y[0, 0] [64, 64]"
    text = f"""
npu.kernel @rows (%i) (%x: {X}, %n: {N}, %y: {X}) on vector accesses({boxes}) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %a = tile.alloc {{addr = 0}} : !tile.buf<1x64xf32, ub>
  %b = tile.alloc {{addr = 256}} : !tile.buf<8x64xf32, ub>
{body}
}}
func.func @op(%x: {X} {{pypto.name = "x"}},
    %n: {N} {{pypto.name = "n", pypto.dims = ["n"]}},
    %o: {N} {{pypto.name = "o", pypto.dims = ["n"]}}) -> ({X} {{pypto.name = "y"}}) {{
  %y = npu.alloc[64, 64] : {X}
{lines}  func.return %y : {X}
}}
"""
    return pyptoc.compile(text, machine=tiny_machine(), pipeline="")


COUNTED = f"""
  %count = tile.read %n[%i] : {N} -> index
  scf.for %p = %zero to %count step %one {{{COPY}}}
"""

SIZED = """
  %many = arith.constant 24 : index
  scf.for %p = %zero to %many step %one {
    %m = tile.read %n[%p] : memref<?xi32, "gm"> -> index
    tile.fill 0.0 into %b [%m, 64]
  }
"""
"""Rows by a table: 7 cycles, 3 for each row and 11 where the next one waits."""

NEXT = """
  %many = arith.constant 25 : index
  scf.for %p = %zero to %many step %one iter_args(%m = %one) -> (index) {
    tile.fill 0.0 into %b [%m, 64]
    %next = tile.read %n[%p] : memref<?xi32, "gm"> -> index
    scf.yield %next : index
  }
"""
"""The same, what a trip reads being the rows of the next one."""


def lengths(timeline: Timeline) -> list[int]:
    return [task.end - task.start for task in timeline.tasks]


def test_a_task_takes_as_many_trips_as_it_reads():
    counts = np.array([4, 0, 1], np.int32)
    timeline = program(COUNTED, 3).simulate(n=counts, o=counts)
    assert lengths(timeline) == [4 * (LOAD + STORE), 0, FOUND + STORE]
    assert timeline.assumed == ()


def test_tasks_that_read_the_same_are_one_class():
    """As one task is a step, 60 that read two numbers are few."""
    counts = np.array([2, 5] * 30, np.int32)
    timeline = program(COUNTED, 60).simulate(n=counts, o=counts)
    assert len({task.step.number for task in timeline.tasks}) <= 4


@pytest.mark.parametrize("body", [SIZED, NEXT])
def test_a_loop_reads_in_every_trip(body: str):
    """Trips are not skipped as the last ones were, where what they read differs."""
    alone = program(body, 1)
    spans: list[int] = []
    for rows in ([1] * 24, [1] * 23 + [5], [5] * 24, [1, 5] * 12):
        table = np.array([*rows, 1], np.int32)
        spans.append(alone.simulate(n=table, o=table).cycles)
    assert spans[1] - spans[0] == 4 * 3
    assert spans[2] - spans[0] == 24 * 4 * 3
    assert spans[3] - spans[0] == 12 * 4 * 3


def test_launches_of_one_kernel_read_what_is_theirs():
    small, large = (np.full(24, rows, np.int32) for rows in (1, 5))
    timeline = program(SIZED, 1, "%n %o %n").simulate(n=small, o=large)
    first, second, third = lengths(timeline)
    assert (second - first, third) == (24 * 4 * 3, first)


def test_a_place_needs_no_data():
    """Which page it is does not matter to how long loading it takes."""
    body = f"  %p = tile.read %n[%i] : {N} -> index\n{COPY}"
    timeline = program(body, 3).simulate(n=3)
    first, *others = lengths(timeline)
    assert (first, others) == (LOAD + STORE, [FOUND + STORE] * 2)
    assert timeline.assumed == ()


def test_what_is_not_given_is_made_up():
    assert program(COUNTED, 3).simulate(n=3).assumed == ("n",)


def test_a_read_beyond_the_table():
    with pytest.raises(RunError, match=r"read of %n\[2\], its sizes are \[2\]"):
        program(COUNTED, 3).simulate(n=np.zeros(2, np.int32), o=np.zeros(2, np.int32))


MADE = f"  %d = pypto.dim %n, 0 : {N} -> index\n  %made = npu.alloc[%d] : {N}\n"


def test_what_a_kernel_computes_is_not_known():
    made = program(COUNTED, 1).text.replace("(%x, %n, %y)", "(%x, %made, %y)")
    made = made.replace("  %y = npu.alloc", f"{MADE}  %y = npu.alloc")
    with pytest.raises(CompileError, match="%n, which a kernel computes"):
        pyptoc.compile(made, machine=tiny_machine(), pipeline="").simulate(n=3)
