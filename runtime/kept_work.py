"""
What pieces of work have left, kept for the tasks to come (see `repeated.py`).

`Store` is of one kernel. It forgets everything before and after a launch, since memory
may change, and between two tasks if it has become too much; then pieces that were not
taken more often than made are not kept any more in that launch.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptoc.runtime.in_place import Apart
from pyptoc.runtime.memory import Memory

Array = NDArray[Any]
Parts = list[Array]
"""The outputs of one piece, in the order of its runs; nothing writes to them."""
MOST_BYTES = 2**26


class Store:
    """All that is kept in one launch of one kernel."""

    def __init__(self) -> None:
        self.pieces: list[KeptPiece] = []
        self.images: dict[Hashable, tuple[Array, Sequence[Array]]] = {}
        """f32 images of what was made of kept parts, and the parts."""
        self.bytes = 0

    def forget(self) -> None:
        self.images.clear()
        for piece in self.pieces:
            piece.made.clear()
        self.bytes = 0

    def begin_task(self) -> None:
        if self.bytes <= MOST_BYTES:
            return
        for piece in self.pieces:
            piece.is_on = piece.is_on and piece.taken > len(piece.made)
            piece.taken = 0
        self.forget()

    def has_room(self, size: int) -> bool:
        """Whether so many bytes more may be kept: one task alone may need too many."""
        if self.bytes > 2 * MOST_BYTES:
            return False
        self.bytes += size
        return True


class KeptPiece:
    """What one piece of work, or several that are alike, have left."""

    def __init__(
        self,
        store: Store,
        apart: Sequence[Apart],
        free_axes: frozenset[int],
        is_shared: bool,
    ) -> None:
        """
        apart: that nothing is stored to what it reads. free_axes: of the grid; tasks
        along them do the same work. is_shared: whether each task does it several times.
        """
        self.store, self.apart = store, apart
        self.free_axes, self.is_shared = free_axes, is_shared
        self.made: dict[Hashable, Parts] = {}
        self.taken = 0
        self.is_on = False
        store.pieces.append(self)

    def begin_launch(self, memories: Sequence[Memory], grid: Sequence[int]) -> None:
        repeats = self.is_shared or any(grid[axis] > 1 for axis in self.free_axes)
        self.is_on = repeats and all(apart(memories) for apart in self.apart)
        self.taken = 0

    def get(self, key: Hashable) -> Parts | None:
        """What was left of the work with these numbers."""
        found = self.made.get(key)
        if found is not None:
            self.taken += 1
        return found

    def new(self) -> Parts | None:
        """Where to put what will be left; None: it is not kept."""
        return [] if self.is_on else None

    def put(self, key: Hashable, parts: Parts | None) -> None:
        """The work is done."""
        if parts is not None and self.store.has_room(sum(p.nbytes for p in parts)):
            self.made[key] = parts


def kept(corner: Array, parts: Parts | None) -> Array:
    """A copy of an output that nothing will write to; itself where none is kept."""
    if parts is None:
        return corner
    copy = np.array(corner, order="C")
    parts.append(copy)
    return copy
