"""
Products computed for several tasks at once.

The tasks of a grid, and loops in them, take a product tile by tile. A library is slower
with a tile than with several that lie side by side: it copies both operands, and for
each tile a part of a wide matrix is cut out and decoded, few columns from as many pages
as it has rows. So the first that needs a tile may compute those beside it, too, if both
operands are read from gm:

    task (0, 0) wants  A[0:16]  @ B[:, 0:128]
    it computes        A[0:40]  @ B[:, 0:1024]
    task (0, 1) finds  A[0:16]  @ B[:, 128:256]

Columns go on where an axis of the grid or a loop moves B and A does not depend on it,
rows the other way round (`movers.py`). That they do is only a forecast: a task takes
what it finds for just the boxes that it reads. Where much is computed in vain, less is
from then on.

Sums of integers are exact in any order. Those of floats OpenBLAS adds up in the order
of K, however many rows and columns there are; but not in its routines for small
products and for vectors, so a small tile is left alone. (With another library the last
bits may differ from those of the tile alone, as they do between libraries.)
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptoc.dialects.record import record
from pyptoc.runtime.matmul import EXACT_K, Scratch
from pyptoc.runtime.memory import LINE, aligned
from pyptoc.runtime.operand import LARGEST, Operand, arrays
from pyptoc.runtime.operand_images import OperandImages

Array = NDArray[Any]
MOST_KEPT = 2**22
"""Elements of results that wait."""
SMALL = 2**20
"""So few products of floats a library may add up in another way."""
SHALLOW = 256
"""Of less K, to copy a tile of floats takes as long as is gained."""
SLAB = 2**20
"""Elements of integers that are decoded at a time, but at least `LEAST_K` of K."""
LEAST_K = 128


@record
class Most:
    """How much is computed at once, if it is more than one tile."""

    rows: int
    columns: int
    operand: int
    """Elements of A and of B."""
    few: int = 0
    """For fewer rows or columns it is best to decode what fits into a cache."""


INTEGERS = Most(128, 8192, 2**40)
FLOATS = Most(1024, 1024, LARGEST, 64)


@record(eq=False, frozen=False)
class Whole:
    """The product of several tiles."""

    left: Operand
    right: Operand
    array: Array
    room: Array
    """Its memory."""
    first: tuple[Operand, Operand]
    """The tile that was asked for when it was computed."""
    wanted: int
    """How many elements are of use."""
    waiting: int
    """How many of them are still to be taken, if none is taken twice."""
    other_rows: bool = False
    other_columns: bool = False
    """Whether any beside those of the first tile were taken."""

    def take(self, a: Operand, b: Operand) -> Array | None:
        """The product of these, if it is a part of it."""
        row = a.place_in(self.left)
        column = None if row is None else b.place_in(self.right)
        if row is None or column is None:
            return None
        found = self.array[row : row + a.extent, column : column + b.extent]
        self.waiting -= found.size
        self.other_rows = self.other_rows or a.boxes != self.first[0].boxes
        self.other_columns = self.other_columns or b.boxes != self.first[1].boxes
        return found

    def useless(self) -> tuple[bool, bool]:
        """Whether rows, and columns, beside the first tile were computed in vain.

        Neither, unless most of it was. Where both were taken, here and there, rows
        are to blame: they wait longer.
        """
        tall = self.left.extent > self.first[0].extent
        wide = self.right.extent > self.first[1].extent
        if 2 * self.waiting < self.wanted:
            return False, False
        if not (tall and wide):
            return tall, wide
        return self.other_columns or not self.other_rows, not self.other_columns


class Ahead:
    """The products that wait, of one launch of one kernel."""

    def __init__(self, images: OperandImages) -> None:
        self.images = images
        self.wholes: list[Whole] = []
        """The one that was used last comes last."""
        self.size = 0
        self.rooms: dict[int, list[Array]] = {}
        """Memory that was given back, by its size."""
        self.few: set[Hashable] = set()
        """What is not worth it: sources, rows and columns."""
        self.last: dict[Hashable, tuple[Hashable, Hashable]] = {}
        """Where the operands of the product before began."""
        self.is_tall = self.is_wide = True
        """Whether rows, and columns, beside a tile are computed."""

    def clear(self) -> None:
        """Forget everything, before and after a launch: memory may change between."""
        for whole in self.wholes:
            self._give_back(whole)
        self.wholes.clear()
        self.few.clear()
        self.last.clear()
        self.size = 0
        self.is_tall = self.is_wide = True

    def product(self, a: Operand, b: Operand, dtype: np.dtype[Any]) -> Array | None:
        """The product of the operands, in i32 or f32; None: there is just that to do.

        Not of what `is_left_alone`. It is to be read before the next call.
        """
        alike = a.boxes[0].source, b.boxes[0].source, a.extent, b.extent
        if alike in self.few:
            return None
        found = self._find(a, b)
        if found is None and self._compute(a, b, dtype, alike):
            found = self._find(a, b)
        return found

    def _find(self, a: Operand, b: Operand) -> Array | None:
        for whole in reversed(self.wholes):
            found = whole.take(a, b)
            if found is not None:
                if whole is not self.wholes[-1]:
                    self.wholes.remove(whole)
                    self.wholes.append(whole)
                return found
        return None

    def _compute(
        self, a: Operand, b: Operand, dtype: np.dtype[Any], alike: Hashable
    ) -> bool:
        """Compute what is expected to be multiplied, if it is more than one tile."""
        if not (a.goes_on(b) or b.goes_on(a)):
            self.few.add(alike)
            return False
        most = FLOATS if dtype == np.float32 else INTEGERS
        left, right = self._expected(a, b, most)
        if left is a and right is b:
            return False
        if min(left.extent, right.extent) < most.few:
            self.few.add(alike)
            return False
        pitch = _pitch(right.extent)
        room = self._room(left.extent * pitch)
        array = room.view(dtype).reshape(left.extent, pitch)[:, : right.extent]
        if most is FLOATS:
            self.images.multiply(left, right, array)
        else:
            exact(left, right, array, self.images.scratch)
        wanted = _wanted(array, (a.extent, b.extent), a.depth)
        self.wholes.append(Whole(left, right, array, room, (a, b), wanted, wanted))
        self.size += room.size
        return True

    def _expected(self, a: Operand, b: Operand, most: Most) -> tuple[Operand, Operand]:
        """What is to be computed along with these: themselves, if nothing is."""
        kind = a.sources, b.sources
        last = self.last.get(kind)
        self.last[kind] = a.starts, b.starts
        left, right = a, b
        if self.is_tall:
            left = _wider(a, b, most.rows, most)
        if self.is_wide:
            # A snake comes back.
            back = last == (a.starts, b.moved(b.extent))
            right = _wider(b, a, most.columns, most, back)
        return left, right

    # Memory.

    def _room(self, size: int) -> Array:
        """Flat memory in f32: best of what has been taken, which is in a cache."""
        for whole in self.wholes:
            if whole.waiting <= 0 and whole.room.size == size:
                self._drop(whole)
                break
        while self.wholes and self.size + size > MOST_KEPT:
            self._drop(self.wholes[0])
        rooms = self.rooms.get(size)
        return rooms.pop() if rooms else aligned(size, np.float32)

    def _drop(self, whole: Whole) -> None:
        """Forget a product. Where it was of no use, less is computed from now on."""
        rows, columns = whole.useless()
        self.is_tall = self.is_tall and not rows
        self.is_wide = self.is_wide and not columns
        self.wholes.remove(whole)
        self.size -= whole.room.size
        self._give_back(whole)

    def _give_back(self, whole: Whole) -> None:
        held = sum(size * len(rooms) for size, rooms in self.rooms.items())
        if held + whole.room.size <= MOST_KEPT:
            self.rooms.setdefault(whole.room.size, []).append(whole.room)


def _pitch(columns: int) -> int:
    """How many elements of 4 bytes lie from one row to the next: an odd number of
    cache lines, since rows a power of 2 apart fall into the same few sets of a cache.
    """
    lines = -(-columns * 4 // LINE)
    return (lines | 1) * LINE // 4


def _wanted(array: Array, tile: tuple[int, int], depth: int) -> int:
    """How many elements of a product are in tiles that are not left alone."""
    rows, columns = map(_cut, array.shape, tile)
    return sum(
        height * width
        for height in rows
        for width in columns
        if not is_left_alone(height, width, depth, array.dtype)
    )


def _cut(extent: int, tile: int) -> list[int]:
    """The extents of the tiles of a whole."""
    return [min(tile, extent - start) for start in range(0, extent, tile)]


def is_left_alone(rows: int, columns: int, depth: int, dtype: np.dtype[Any]) -> bool:
    """Whether such a product is never computed along with others."""
    floats = dtype == np.float32
    return not depth or (floats and not _adds_up_alike(rows, columns, depth))


def _adds_up_alike(rows: int, columns: int, depth: int) -> bool:
    """Whether a product of floats has the same bits as a part of a larger one."""
    return rows > 1 < columns and depth >= SHALLOW and rows * columns * depth >= SMALL


def _wider(
    x: Operand, other: Operand, extent: int, most: Most, back: bool = False
) -> Operand:
    """x, with what is beside it and expected to be multiplied by `other`, too.

    extent: the most. back: it is expected before x.
    """
    if not x.goes_on(other):
        return x
    count = min(extent, most.operand // max(1, x.depth)) // max(1, x.extent)
    before, behind = x.around()
    if back:
        count = min(count, 1 + before // max(1, x.extent))
        wide = count * x.extent
        return x.wider(wide, wide - x.extent) if count > 1 else x
    wide = min(count * x.extent, behind)
    return x.wider(wide) if wide > x.extent else x


def exact(a: Operand, b: Operand, out: Array, scratch: Scratch) -> None:
    """The product of 8-bit integers in i32, decoded and multiplied in exact pieces.

    A whole row of B at a time is read fastest.
    """
    step = EXACT_K
    if not b.side.k_axis:
        step = min(step, max(LEAST_K, SLAB // max(1, b.extent)))
    # No piece much smaller than the others.
    step = -(-a.depth // -(-a.depth // step))
    part = scratch.room("part", out.size)[: out.size].reshape(out.shape)
    for start in range(0, a.depth, step):
        end = min(start + step, a.depth)
        left, right = (
            _slab(x, scratch.room(name, x.extent * (end - start)), start, end)
            for x, name in ((a, "a"), (b, "b"))
        )
        np.matmul(
            left if a.side.k_axis else left.T,
            right.T if b.side.k_axis else right,
            out=part,
        )
        if start:
            np.add(out, part.astype(np.int32), out=out)
        else:
            np.copyto(out, part, casting="unsafe")


def _slab(x: Operand, flat: Array, start: int, end: int) -> Array:
    """K from `start` to `end` as f32, in `flat`, as it lies."""
    (box,) = arrays(x.boxes)
    part = box[:, start:end] if x.side.k_axis else box[start:end]
    return x.side.decode(part, flat)
