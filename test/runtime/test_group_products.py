"""Products with a number for each group of columns, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import DTYPES, assert_rounded, random, run_kernel, wide

M = 5


@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("columns", "group", "first"),
    [(64, 16, 0), (64, 16, 2), (40, 16, 1), (7, 16, 3), (6, 1, 2), (0, 16, 0)],
)
def test_group_product(
    columns: int, group: int, first: int, *, swapped: bool, element: str
) -> None:
    """Whole groups, a last one with fewer columns, and none; others stay."""
    x, s = random(element, (M, 64), 1), random(element, (M, 8), 2)
    sides = "%s group, %x" if swapped else "%x, %s group"
    text = f"""
    npu.kernel @k () (%xm: memref<?x64x{element}, "gm">,
        %sm: memref<?x8x{element}, "gm">, %ym: memref<8x64x{element}, "gm">,
        %m: index) on vector {{
      %x = tile.alloc : !tile.buf<8x64x{element}, ub>
      %s = tile.alloc : !tile.buf<8x8x{element}, ub>
      %y = tile.alloc : !tile.buf<8x64x{element}, ub>
      tile.load %xm[0, 0] [%m, 64] into %x
      tile.load %sm[0, 0] [%m, 8] into %s
      tile.fill 1.0 into %y [8, 64]
      tile.barrier
      tile.mul {sides} into %y [%m, {columns}] {{group = {group}, first = {first}}}
      tile.barrier
      tile.store %y [8, 64] into %ym[0, 0]
    }}
    """
    out = np.zeros((8, 64), DTYPES[element])
    run_kernel(text, (), [x, s, out], (M,))
    number = first + np.arange(columns) // group
    want = wide(x)[:, :columns] * wide(s)[:, number]
    assert_rounded(out[:M, :columns], want, 0)
    rest = np.ones(out.shape, bool)
    rest[:M, :columns] = False
    assert (out[rest] == 1).all(), "wrote outside its extents"
