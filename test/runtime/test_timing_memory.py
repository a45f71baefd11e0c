"""What is found in L2, and how cores share what is outside of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from timing_machine import START, tiny_machine, vector_program

from pyptoc.runtime.timing_l2 import L2, MOST_CELLS, Cells
from pyptoc.runtime.timing_program import Array

LOAD, STORE, HIT = 42, 13, 14
"""Cycles of a row of 256 bytes on the tiny machine: from HBM, to memory, from L2."""

COPY = """
  %a = tile.alloc {addr = 0} : !tile.buf<1x64xf32, ub>
  tile.load %x[%i, 0] [1, 64] into %a
  tile.set_flag [mte2 -> mte3, 0]
  tile.wait_flag [mte2 -> mte3, 0]
  tile.store %a [1, 64] into %y[%i, 0]
"""


def cells(shape: tuple[int, ...], *boxes: tuple[int, ...]) -> Cells:
    return Cells.of(Array(1, 0, shape, 32), 0, boxes)


def test_cells_are_the_smallest_boxes():
    found = cells((64, 256), (16, 256), (64, 32))
    assert (found.sizes, found.counts) == ((16, 32), (4, 8))
    assert list(found.covered((16, 64), (16, 32))) == [(10, 16 * 32 * 4)]
    row = list(found.covered((0, 0), (16, 256)))
    assert row == [(number, 2048) for number in range(8)]


def test_cells_of_a_box_are_few():
    found = cells((4096, 4096), (4096, 4096), (1, 64))
    assert len(list(found.covered((0, 0), (4096, 4096)))) <= MOST_CELLS


def test_a_box_covers_all_of_its_bytes():
    found = cells((100, 70), (16, 32))
    for lo, size in (((7, 3), (50, 60)), ((0, 0), (100, 70)), ((99, 69), (1, 1))):
        covered = found.covered(lo, size)
        assert sum(part for _, part in covered) == size[0] * size[1] * 4
        assert len({cell for cell, _ in covered}) == len(covered)


def test_the_least_recently_used_leaves_and_what_was_written_goes_to_hbm():
    l2 = L2(300)
    assert l2.touch(1, 100, 100) == 100
    assert l2.touch(2, 100, 100, write=True) == 100
    assert l2.touch(3, 100, 100) == 100
    assert l2.touch(1, 100, 100) == 0
    assert l2.touch(4, 100, 100) == 100  # 2 leaves
    assert (l2.written_back, l2.dirty) == (100, 0)
    assert l2.touch(1, 100, 100) == 0
    assert l2.touch(2, 100, 100) == 100


def test_a_cell_that_is_there_in_part():
    l2 = L2(1000)
    assert l2.touch(1, 60, 100) == 60
    assert l2.touch(1, 60, 100) == 40
    assert l2.touch(1, 60, 100) == 0


def test_what_is_read_at_random():
    l2, pool = L2(400), Array(1, 0, (100, 4), 32)
    assert l2.read_at_random(pool, 800) == 800
    assert l2.read_at_random(pool, 800) == 800
    # A quarter of its 1600 bytes fits.
    assert l2.read_at_random(pool, 800) == pytest.approx(600)


def order_of(orders: str, kept: int) -> tuple[int, float]:
    """Cycles and HBM bytes of 8 tasks that read row (%i mod 4) or (%i floordiv 2)."""
    body = COPY.replace("%x[%i", "%x[%r").replace(
        "%a = tile.alloc", f"%r = pypto.index {orders}\n  %a = tile.alloc", 1
    )
    boxes = f"read %x[{orders}, 0] [1, 64], write %y[%i, 0] [1, 64]"
    machine = tiny_machine()
    memory = replace(machine.memory, l2_kept_bytes=kept)
    program = vector_program(
        body, replace(machine, memory=memory), grid=8, rows=8, accesses=boxes
    )
    timeline = program.simulate()
    return timeline.cycles, timeline.hbm_read


def test_the_order_of_tasks_matters_where_l2_is_small():
    near, far = "%i floordiv 2", "%i mod 4"
    small, large = 3 * 256, 64 * 256
    assert order_of(near, small) == (START + 4 * LOAD + 4 * HIT + 8 * STORE, 4 * 256)
    assert order_of(far, small) == (START + 8 * LOAD + 8 * STORE, 8 * 256)
    assert order_of(near, large) == order_of(far, large)


def test_a_wave_that_wants_one_row_loads_it_once():
    """Four cores want the same row: each waits for a quarter of it."""
    body = COPY.replace("%x[%i, 0]", "%x[0, 0]")
    boxes = "read %x[0, 0] [1, 64], write %y[%i, 0] [1, 64]"
    machine = tiny_machine(vector_cores=4)
    timeline = vector_program(body, machine, 4, 4, boxes).simulate()
    shared = 10 + 256 * (0.75 / 64 + 0.25 / 8)
    assert timeline.hbm_read == 256
    assert timeline.cycles == START + round(shared) + STORE


def test_hbm_is_shared_by_those_that_transfer():
    """Four cores ask for 4 x 8 bytes a cycle, and there are 8."""
    machine = tiny_machine(vector_cores=4)
    memory = replace(machine.memory, hbm_bytes_per_second=8e9)
    rows = 4 * 50
    alone, shared = (
        vector_program(COPY, replace(machine, memory=each), rows, rows).simulate()
        for each in (machine.memory, memory)
    )
    read = rows * 256
    assert shared.cycles - START >= read / 8
    assert shared.cycles - START == pytest.approx(read / 8, rel=0.03)
    assert alone.cycles < shared.cycles / 2
    assert shared.bound == "HBM"
    assert shared.near("HBM") == pytest.approx(1, abs=0.03)
    # A single task has HBM for itself.
    one = vector_program(COPY, replace(machine, memory=memory), 1, 1).simulate()
    assert one.cycles == START + LOAD + STORE


def test_boxes_that_are_declared_too_large():
    """Each of two tasks declares both rows and loads its own: both are loaded once."""
    boxes = "read %x[0, 0] [2, 64] inexact, write %y[%i, 0] [1, 64]"
    for cores in (1, 2):
        machine = tiny_machine(vector_cores=cores)
        timeline = vector_program(COPY, machine, 2, 2, boxes).simulate()
        assert timeline.hbm_read == 2 * 256
        assert timeline.cycles == START + (LOAD + STORE) * (2 // cores)


def test_a_kernel_that_declares_nothing():
    program = vector_program(COPY, grid=3, accesses="read %x[0, 0] [3, 64]")
    for op in program.module.walk():
        op.properties.pop("accesses", None)
    timeline = program.simulate()
    assert timeline.hbm_read == 3 * 256
    assert timeline.cycles == START + 3 * (LOAD + STORE)
