"""
Boxes of gm that are loaded transposed.

A narrow box of columns has each of its elements in another page, and, where rows lie a
power of 2 apart, in the same few sets of a cache. So it is copied first, to rows that
lie close to each other, and transposed there. Where the tasks of a grid go through the
columns, a whole panel of them is transposed at once, and the next tasks find theirs in
it; nothing in that launch is stored to the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptoc.runtime.matmul import Scratch
from pyptoc.runtime.memory import LINE, Apart, Memory, aligned

Array = NDArray[Any]
PANEL = 256
"""Bytes of a row of a panel."""
MANY_ROWS, FAR = 64, 1024
"""A box has so many rows, so many bytes apart, if it is to be copied first."""
BLOCK = 64
"""Rows that are transposed at a time."""


class Panels:
    """What one load reads, in one launch."""

    def __init__(self, apart: Apart, axes: frozenset[int], scratch: Scratch) -> None:
        """axes: those of the grid that move the load along columns in gm."""
        self.apart, self.axes, self.scratch = apart, axes, scratch
        self.pays: bool | None = None
        self.key: tuple[int, int, int] | None = None
        self.panel: Array = np.empty((0, 0))

    def clear(self) -> None:
        """Before a launch: memory may have changed."""
        self.pays = self.key = None

    def __call__(
        self,
        memories: Sequence[Memory],
        grid: Sequence[int],
        top: int,
        left: int,
        bottom: int,
        right: int,
    ) -> Array:
        """The box `[top:bottom, left:right]` of a matrix, transposed."""
        array = memories[self.apart.number].array
        if self.pays is None:
            several = any(grid[axis] > 1 for axis in self.axes)
            self.pays = several and self.apart(memories)
        columns = PANEL // array.itemsize
        start = left // columns * columns
        few = bottom - top < MANY_ROWS or right > start + columns
        if few or not self.pays or array.strides[0] < FAR:
            return self.close(array[top:bottom, left:right]).T
        if self.key != (top, bottom, start):
            self._fill(array[top:bottom, start : start + columns])
            self.key = top, bottom, start
        return self.panel[left - start : right - start]

    def _fill(self, box: Array) -> None:
        rows, columns = box.shape
        if self.panel.shape != (columns, rows) or self.panel.dtype != box.dtype:
            self.panel = aligned((columns, rows), box.dtype)
        close = self.close(box)
        for row in range(0, rows, BLOCK):
            self.panel[:, row : row + BLOCK] = close[row : row + BLOCK].T

    def close(self, box: Array) -> Array:
        """The box, or a copy whose rows lie close to each other."""
        size = box.shape[1] * box.itemsize
        far = box.strides[0] >= FAR and len(box) >= MANY_ROWS
        if not far or not 0 < size <= PANEL:
            return box
        # One line more: else all rows fall into the same few sets.
        pitch = -(-size // LINE) * LINE + LINE
        room = self.scratch.room("b", len(box) * pitch // 4)
        strides = pitch, box.itemsize
        close = np.ndarray(box.shape, box.dtype, room.data, strides=strides)
        close[...] = box
        return close
