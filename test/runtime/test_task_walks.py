"""The order in which tasks run: as the walk of their launch says, whatever the grid."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pyptoc.dialects.context import make_context
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.walk import Walk
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import load_machine

ROWS = {
    "row": [[0, 1, 2], [3, 4, 5]],
    "column": [[0, 2, 4], [1, 3, 5]],
    "snake": [[0, 1, 2], [5, 4, 3]],
    "blocked": [[0, 2, 8, 10], [1, 3, 9, 11], [4, 6, 12, 14], [5, 7, 13, 15]],
}
"""When each tile starts, as `walk.py` draws it; blocks are 2 x 2."""


@pytest.mark.parametrize("order", ROWS)
def test_as_drawn(order: str):
    want = np.array(ROWS[order])
    walk = Walk(order, (2, 2) if order == "blocked" else None)
    found = np.full(want.shape, -1)
    for number, place in enumerate(walk.tasks(want.shape)):
        found[place] = number
    assert np.array_equal(found, want)


WALKS = [
    Walk(),
    Walk("column"),
    Walk("snake"),
    Walk("blocked", (2, 3)),
    Walk("blocked", (9, 9)),
    Walk("blocked", (1, 2), axes=(0, 1)),
    Walk("column", axes=(1, 2)),
]


@pytest.mark.parametrize("walk", WALKS, ids=str)
@pytest.mark.parametrize("grid", [(5, 7, 2), (1, 4, 3), (2, 2, 5), (3, 0, 2)])
def test_every_task_once(walk: Walk, grid: tuple[int, ...]):
    found = list(walk.tasks(grid))
    assert sorted(found) == list(product(*map(range, grid)))


def test_other_axes_stay_around():
    """Axes before the two are outermost, those behind them innermost."""
    found = list(Walk("column", axes=(1, 2)).tasks((2, 2, 2, 2)))
    assert found[:5] == [
        (0, 0, 0, 0),
        (0, 0, 0, 1),
        (0, 1, 0, 0),
        (0, 1, 0, 1),
        (0, 0, 1, 0),
    ]
    assert [place[0] for place in found] == [0] * 8 + [1] * 8


@pytest.mark.parametrize("grid", [(), (4,), (0,)])
def test_small_grids(grid: tuple[int, ...]):
    want = list(product(*map(range, grid)))
    assert list(Walk("snake").tasks(grid)) == want


RECORD = """
npu.kernel @record (%i, %j) (%x: memref<?x?xf32, "gm">, %y: memref<1x1xf32, "gm">)
    on vector {
  %a = tile.alloc : !tile.buf<1x1xf32, ub>
  %b = tile.alloc : !tile.buf<1x1xf32, ub>
  tile.load %y[0, 0] [1, 1] into %a
  tile.mul %a, 10.0 into %a [1, 1]
  tile.load %x[%i, %j] [1, 1] into %b
  tile.add %a, %b into %a [1, 1]
  tile.store %a [1, 1] into %y[0, 0]
}
func.func @main(%x: memref<?x?xf32, "gm"> {pypto.name = "x"},
    %y: memref<1x1xf32, "gm"> {pypto.name = "y"}, %m: index, %n: index)
    -> (memref<1x1xf32, "gm"> {pypto.name = "y"}) {
  %t = npu.launch @record[%m, %n] (%x, %y) {ATTRIBUTES}
  func.return %y : memref<1x1xf32, "gm">
}
"""
"""Each task appends the digit of its place to a number."""

ORDERS = {
    'order = "row"': 123456,
    'order = "column"': 142536,
    'order = "snake"': 123654,
    'order = "blocked", blocks = [2, 2]': 142536,
    'order = "blocked", blocks = [1, 2]': 124536,
}


@pytest.mark.parametrize("attributes", ORDERS)
def test_the_executor_goes_that_way(attributes: str):
    text = RECORD.replace("ATTRIBUTES", attributes)
    module = parse_module(text, "test.mlir", make_context())
    module.verify()
    program = Executable(module, load_machine("ascend950"))
    x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    given = {"x": x, "y": np.zeros((1, 1), np.float32), "m": 2, "n": 3}
    assert program.run(given)["y"] == ORDERS[attributes]
    assert program.run({**given, "m": 0})["y"] == 0
