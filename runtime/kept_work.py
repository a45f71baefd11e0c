"""
What pieces of work have left, kept for the tasks to come (see `repeated.py`).

`Store` is of one kernel. It forgets everything after a launch, since memory may change
then. In a launch it has two generations, and looks in both; what it finds in the old
one it takes to the new one. When the new one is large, it is the old one from the next
task on, and what is left of that is forgotten: its memory is given again, since the
system clears what is new. A piece that was not taken as often as made in a generation
is not kept any more in that launch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptoc.dialects.record import record
from pyptoc.runtime.memory import Apart, Memory, aligned

Array = NDArray[Any]
MOST_BYTES = 2**24
"""Of a generation, when a task begins."""
MOST_OF_A_TASK = 2**26
"""One task alone may make too much."""


@record(eq=False)
class Parts:
    """The outputs of one piece, in the order of its runs; nothing writes to them."""

    arrays: list[Array]
    rooms: list[Array]
    """The memory of each."""


class Kept:
    """Parts by what they are known by, in two generations."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.new: dict[Hashable, Parts] = {}
        self.old: dict[Hashable, Parts] = {}

    def get(self, key: Hashable) -> Parts | None:
        """The parts with a key; they are of the new generation from then on."""
        found = self.new.get(key)
        if found is None and (found := self.old.pop(key, None)) is not None:
            self.put(key, found)
        return found

    def put(self, key: Hashable, parts: Parts) -> None:
        self.new[key] = parts
        self.store.bytes += sum(room.nbytes for room in parts.rooms)


class Store:
    """All that is kept in one launch of one kernel."""

    def __init__(self) -> None:
        self.pieces: list[KeptPiece] = []
        self.images = Kept(self)
        """f32 images of kept parts; with each also the parts, since their identity is
        what it is known by."""
        self.bytes = 0
        """Of the new generation."""
        self.free: defaultdict[int, list[Array]] = defaultdict(list)
        """Memory that was given back, by its bytes."""

    def room(self, size: int) -> Array | None:
        """Flat memory of so many bytes; None if this task has taken enough."""
        if self.bytes > MOST_OF_A_TASK:
            return None
        free = self.free[size]
        return free.pop() if free else aligned(size, np.uint8)

    def begin_task(self) -> None:
        """Before a task: begin a new generation if this one is large."""
        if self.bytes > MOST_BYTES:
            for piece in self.pieces:
                piece.is_on = piece.is_on and piece.taken >= len(piece.kept.new)
                piece.taken = 0
            self._turn()

    def forget(self) -> None:
        """After a launch."""
        self._turn()
        self._turn()

    def _turn(self) -> None:
        """The new generation is the old one."""
        for kept in (self.images, *(piece.kept for piece in self.pieces)):
            for parts in kept.old.values():
                for room in parts.rooms:
                    self.free[room.nbytes].append(room)
            kept.old, kept.new = kept.new, {}
        self.bytes = 0


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
        self.kept = Kept(store)
        self.taken = 0
        self.is_on = False
        store.pieces.append(self)

    def begin_launch(self, memories: Sequence[Memory], grid: Sequence[int]) -> None:
        repeats = self.is_shared or any(grid[axis] > 1 for axis in self.free_axes)
        self.is_on = repeats and all(apart(memories) for apart in self.apart)
        self.taken = 0

    def get(self, key: Hashable) -> list[Array] | None:
        """What was left of the work with these numbers."""
        found = self.kept.get(key)
        if found is None:
            return None
        self.taken += 1
        return found.arrays

    def new(self) -> Parts | None:
        """Where to put what will be left; None: it is not kept."""
        return Parts([], []) if self.is_on else None

    def put(self, key: Hashable, parts: Parts | None) -> None:
        """The work is done."""
        if parts is not None and len(parts.arrays) == len(parts.rooms):
            self.kept.put(key, parts)

    def keep(self, corner: Array, parts: Parts | None) -> Array:
        """A copy of an output that nothing will write to; itself if it is not kept."""
        if parts is None:
            return corner
        room = self.store.room(corner.nbytes)
        if room is None:
            copy = np.array(corner, order="C")
        else:
            parts.rooms.append(room)
            copy = room.view(corner.dtype).reshape(corner.shape)
            copy[...] = corner
        parts.arrays.append(copy)
        return copy
