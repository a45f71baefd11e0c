"""
Programs for the schedules that were measured on hardware (24 cube cores).

Kernels of tile instructions, written by hand, with the passes that need no choice
(addresses, flags, sections) run on them.
"""

from __future__ import annotations

from pyptoc.api import Program, compile

GRID = (4, 6)
"""Rows and columns of cores of the hand-tuned matmul."""
TILE = (128, 256)
STEP, LOAD = 64, 256
"""K of one product, and of one load of L1."""

FINISH = "split-mixed,skew,plan-memory,insert-sync,schedule"


def matmul(size: int, machine: str = "ascend910b") -> Program:
    """
    size^3, f16 in, f32 out: core (r, c) of a 4 x 6 grid owns a block of tiles.

    The grid of tasks is [columns of a block, rows of a block, 6, 4] and static, so the
    24 cores take one tile each in turn, those of their block, rows innermost.
    """
    rows, columns = (size // side // n for side, n in zip(TILE, GRID, strict=True))
    shape, (m, n) = f"{size}x{size}", TILE
    row, column = f"128 * (%r * {rows} + %i)", f"256 * (%c * {columns} + %j)"
    text = f"""
npu.kernel @tile (%j, %i, %c, %r) (%a: memref<{shape}xf16, "gm">,
    %b: memref<{shape}xf16, "gm">, %y: memref<{shape}xf32, "gm">) on cube
    accesses(read %a[{row}, 0] [{m}, {size}], read %b[0, {column}] [{size}, {n}],
             write %y[{row}, {column}] [{m}, {n}]) {{tag = "matmul"}} {{
  %al1 = tile.alloc {{slots = 2}} : !tile.buf<{m}x{LOAD}xf16, l1>
  %bl1 = tile.alloc {{slots = 2}} : !tile.buf<{LOAD}x{n}xf16, l1>
  %al0 = tile.alloc {{slots = 2}} : !tile.buf<{m}x{STEP}xf16, l0a>
  %bl0 = tile.alloc {{slots = 2}} : !tile.buf<{STEP}x{n}xf16, l0b>
  %acc = tile.alloc : !tile.buf<{m}x{n}xf32, l0c>
  %zero = arith.constant 0 : index
  %size = arith.constant {size} : index
  %load = arith.constant {LOAD} : index
  %step = arith.constant {STEP} : index
  %row = pypto.index {row}
  %column = pypto.index {column}
  scf.for %k = %zero to %size step %load {{
    %s = pypto.index (%k floordiv {LOAD}) mod 2
    %as = tile.slot %al1[%s]
    %bs = tile.slot %bl1[%s]
    tile.load %a[%row, %k] [{m}, {LOAD}] into %as
    tile.load %b[%k, %column] [{LOAD}, {n}] into %bs
    scf.for %d = %zero to %load step %step {{
      %t = pypto.index (%d floordiv {STEP}) mod 2
      %l = tile.slot %al0[%t]
      %r0 = tile.slot %bl0[%t]
      tile.move %as[0, %d] [{m}, {STEP}] into %l
      tile.move %bs[%d, 0] [{STEP}, {n}] into %r0
      %more = pypto.index %k + %d > 0
      tile.matmul %l, %r0 into %acc [{m}, {n}, {STEP}] accumulate %more
    }}
  }}
  tile.store %acc [{m}, {n}] into %y[%row, %column]
}}
func.func @matmul(%a: memref<{shape}xf16, "gm"> {{pypto.name = "a"}},
    %b: memref<{shape}xf16, "gm"> {{pypto.name = "b"}})
    -> (memref<{shape}xf32, "gm"> {{pypto.name = "y"}}) {{
  %y = npu.alloc[{size}, {size}] : memref<{shape}xf32, "gm">
  %t = npu.launch @tile[{columns}, {rows}, {GRID[1]}, {GRID[0]}] (%a, %b, %y)
    {{order = "row", assign = "static"}}
  func.return %y : memref<{shape}xf32, "gm">
}}
"""
    return compile(text, machine=machine, pipeline=FINISH)
