"""
Integer products computed for several tasks at once.

The tasks of a grid take a product tile by tile, and for each tile a part of a wide
matrix is cut out and decoded: few columns, from as many pages as it has rows. Sums of
integers are exact in any order, so the first task that needs a tile may compute those
that lie beside it, for the tasks to come, if both operands are read from gm:

    task (0, 0) wants  A[0:16]  @ B[:, 0:128]
    it computes        A[0:40]  @ B[:, 0:1024]
    task (0, 1) finds  A[0:16]  @ B[:, 128:256]

Columns go on where another axis of the grid moves B than moves A, rows where another
one moves A than moves B. That they do is only a forecast: a task takes what it finds
for just the boxes that it reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptoc.dialects.record import record
from pyptoc.runtime.decode import Decode
from pyptoc.runtime.images import Box
from pyptoc.runtime.matmul import EXACT_K, Scratch

Array = NDArray[Any]
MOST_ROWS = 128
MOST_COLUMNS = 1024
MOST_KEPT = 2**22
"""Elements of results that wait; then all of them are forgotten."""


@record
class Operand:
    """One side of a product: a box, how it is decoded, which of its axes is K."""

    box: Box
    decode: Decode
    k_axis: int

    @property
    def extent(self) -> int:
        """Rows of A, or columns of B."""
        return self.box.shape[1 - self.k_axis]

    @property
    def depth(self) -> int:
        return self.box.shape[self.k_axis]

    def wider(self, extent: int) -> Operand:
        """With so many rows (of A) or columns (of B)."""
        depth = self.depth
        shape = (extent, depth) if self.k_axis else (depth, extent)
        return Operand(
            Box(self.box.source, self.box.at, shape), self.decode, self.k_axis
        )

    def moved(self, count: int) -> int:
        """The byte where the box begins that many rows or columns further on."""
        return self.box.at + count * self.box.source.strides[1 - self.k_axis]

    def room(self, other: Operand, most: int) -> int:
        """Rows or columns that other tasks want with the same box of `other`."""
        source, axis = self.box.source, 1 - self.k_axis
        if not source.moves[axis] & other.box.source.free:
            return self.extent
        count = max(1, most // max(1, self.extent))
        return min(count * self.extent, source.beyond(self.box.at, axis))

    def image(self, flat: Array, start: int, end: int) -> Array:
        """K from `start` to `end` as f32, in `flat`: [rows, k] of A, [k, columns] of B
        as it lies."""
        box = self.box.array()
        part = box[:, start:end] if self.k_axis else box[start:end]
        return self.decode(part, flat)


class Ahead:
    """The products that wait, of one launch of one kernel."""

    def __init__(self) -> None:
        self.tiles: dict[object, Array] = {}
        self.size = 0

    def clear(self) -> None:
        self.tiles.clear()
        self.size = 0

    def product(self, a: Operand, b: Operand, scratch: Scratch) -> Array | None:
        """The product in i32 of the boxes; None if no other task goes on from them."""
        key = a.box.source, a.box.at, b.box.source, b.box.at, a.depth
        found = self.tiles.get(key)
        if found is None or found.shape[0] < a.extent or found.shape[1] < b.extent:
            found = self._compute(a, b, scratch)
        return None if found is None else found[: a.extent, : b.extent]

    def _compute(self, a: Operand, b: Operand, scratch: Scratch) -> Array | None:
        rows, columns = a.room(b, MOST_ROWS), b.room(a, MOST_COLUMNS)
        if (rows, columns) == (a.extent, b.extent):
            return None
        whole = exact(a.wider(rows), b.wider(columns), scratch)
        if self.size + whole.size > MOST_KEPT:
            self.clear()
        self.size += whole.size
        for row in range(0, rows, a.extent):
            for column in range(0, columns, b.extent):
                at = a.moved(row), b.box.source, b.moved(column), a.depth
                self.tiles[(a.box.source, *at)] = whole[row:, column:]
        return whole


def exact(a: Operand, b: Operand, scratch: Scratch) -> Array:
    """The product of 8-bit integers in i32, decoded and multiplied in exact pieces."""
    whole = np.empty((a.extent, b.extent), np.int32)
    part = scratch.room("part", whole.size)[: whole.size].reshape(whole.shape)
    for start in range(0, a.depth, EXACT_K):
        end = min(start + EXACT_K, a.depth)
        left = a.image(scratch.room("a", a.extent * (end - start)), start, end)
        right = b.image(scratch.room("b", b.extent * (end - start)), start, end)
        np.matmul(
            left if a.k_axis else left.T, right.T if b.k_axis else right, out=part
        )
        if start:
            np.add(whole, part.astype(np.int32), out=whole)
        else:
            np.copyto(whole, part, casting="unsafe")
    return whole
