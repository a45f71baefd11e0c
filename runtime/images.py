"""
Fused matmuls that read gm: what L1 would hold, without the copy, decoded once a launch.

    tile.load %b[%k, %n] [64, 256] into %l      if d5: load(g2, d5, v3 * s1[0] + ..)
                                            ->  else: g2[...] = b1[v3:v3 + 64, ..]
    tile.move %l[0, 0] .. (of a group)          g7.run(.., g2, ..)

`d5`, a `Source`, is there if the load need not be made (`direct_loads.py`): the bytes
are the same whenever they are read.

The tasks of a grid load the same boxes again and again: of a product in tiles, each row
of tasks loads all of B. Where several tasks lie along an axis that a box does not
depend on (`free`), its f32 image is kept for the launch.

A load only notes where its box begins; numpy makes the box when it is decoded. What
lies side by side is then one box, and a task costs few calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from pyptoc.dialects.record import record
from pyptoc.runtime.channels import Channel
from pyptoc.runtime.direct_loads import DirectLoad
from pyptoc.runtime.kept_work import Store
from pyptoc.runtime.memory import Memory, aligned

Array = NDArray[Any]
Filled = tuple[Array, Array, Channel, int]
"""Kept parts, the channel and the slot's number there that they fill."""
MOST_BYTES = 2**28
"""What is kept at most; then all of it is forgotten."""
MOST_HELD = 2**26
"""Bytes of memory for images that one kernel holds on to."""


@record(eq=False)
class Source:
    """An array as boxes are cut out of it: gm as one load sees it, or an L1 slot."""

    raw: Array
    """Its bytes, from the first to the last."""
    dtype: np.dtype[Any]
    strides: tuple[int, int]
    """Bytes from a row, and from a column, of a box to the next; 0 if it has one."""
    sizes: tuple[int, int]
    """Rows and columns in all; 0 where the array has gaps."""
    ends: list[int]
    """Where the rows, and the columns, end that any task loads."""
    load: DirectLoad | None
    """What reads it; nothing in this launch is stored to it. None: it is a slot."""
    grid: tuple[int, ...]
    """Of this launch."""

    @staticmethod
    def of(
        array: Array,
        dims: tuple[int, int] = (0, 1),
        load: DirectLoad | None = None,
        grid: Sequence[int] = (),
    ) -> Source:
        """dims: which dimensions of the array are rows and columns, -1 for none."""
        row, column = (array.strides[dim] if dim >= 0 else 0 for dim in dims)
        whole = array.flags.c_contiguous
        rows, columns = (array.shape[dim] if whole and dim >= 0 else 0 for dim in dims)
        strides, sizes = (row, column), (rows, columns)
        raw = _raw(array)
        return Source(raw, array.dtype, strides, sizes, [0, 0], load, tuple(grid))

    @cached_property
    def free(self) -> frozenset[int]:
        """The axes of the grid along which several tasks load the same box."""
        return frozenset() if self.load is None else self.load.free(self.grid)

    @property
    def again(self) -> bool:
        """Whether a task multiplies its boxes several times."""
        return self.load is not None and self.load.again

    def around(self, at: int, axis: int) -> tuple[int, int]:
        """Rows or columns before the one of byte `at`, and those that tasks load from
        there on."""
        size, stride = self.sizes[axis], self.strides[axis]
        first = at // stride % size if size and stride else 0
        return first, min(size, self.ends[axis]) - first


def _raw(array: Array) -> Array:
    """The bytes that an array spans, gaps included."""
    if array.flags.c_contiguous or not array.size:
        return array.reshape(-1).view(np.uint8)
    first = array[tuple(slice(1) for _ in array.shape)].reshape(1).view(np.uint8)
    steps = zip(array.shape, array.strides, strict=True)
    span = sum((size - 1) * stride for size, stride in steps)
    return as_strided(first, (span + array.itemsize,), (1,))


class Box(NamedTuple):
    """A part of a source that has rows and columns."""

    source: Source
    at: int
    """The byte where it begins."""
    shape: tuple[int, int]

    def array(self) -> Array:
        source = self.source
        if 0 in self.shape:
            return np.empty(self.shape, source.dtype)
        return np.ndarray(self.shape, source.dtype, source.raw, self.at, source.strides)

    def part(self, at: tuple[int, int], shape: tuple[int, int]) -> Box | None:
        """The box of this shape at this row and column of it; None if it is larger."""
        if shape == self.shape and at == (0, 0):
            return self
        (first, second), (rows, columns) = at, shape
        if first + rows > self.shape[0] or second + columns > self.shape[1]:
            return None
        row, column = self.source.strides
        return Box(self.source, self.at + first * row + second * column, shape)

    def goes_on(self, other: Box, axis: int, length: int) -> bool:
        """Whether `other` lies behind the first `length` along an axis."""
        stride = self.source.strides[axis]
        return (
            self.source is other.source
            and self.shape[1 - axis] == other.shape[1 - axis]
            and stride != 0
            and other.at == self.at + length * stride
        )


class Images:
    """The images of one launch of one kernel."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or Store()
        """Where images are kept for a few tasks."""
        self.known: dict[int, Filled] = {}
        """By the identity of the source of a slot of a channel: what fills it, when it
        is read (`moved.py`)."""
        self.origins: dict[int, Box] = {}
        """What slots stand for, by the identity of the slot's array."""
        self.slots: dict[int, tuple[Array, Box]] = {}
        """The slots themselves, as boxes."""
        self.sources: dict[object, Source] = {}
        self.kept: dict[object, Array] = {}
        self.bytes = 0
        self.rooms: dict[int, list[Array]] = {}
        """Memory of images by their number of elements, and how many are in use."""
        self.used: dict[int, int] = {}
        self.held = 0
        self.plans: dict[object, Any] = {}
        """The products of loops, by what they are known by (`replay.py`)."""

    def clear(self) -> None:
        """Forget everything, before and after a launch: memory may change between."""
        self.known.clear()
        if not (self.sources or self.origins or self.kept):
            return
        self.origins.clear()
        self.sources.clear()
        self.plans.clear()
        self._forget()

    def _forget(self) -> None:
        self.kept.clear()
        self.bytes = 0
        self.used.clear()

    def room(self, size: int) -> Array:
        """A flat array in f32 for an image that is kept.

        Memory that was there before is given again: the system clears what is new.
        """
        number = self.used.get(size, 0)
        self.used[size] = number + 1
        rooms = self.rooms.setdefault(size, [])
        if number < len(rooms):
            return rooms[number]
        room = aligned(size, np.float32)
        if self.held + room.nbytes <= MOST_HELD:
            self.held += room.nbytes
            rooms.append(room)
        return room

    def source(
        self,
        load: DirectLoad,
        memories: Sequence[Memory],
        grid: Sequence[int],
        ends: Callable[[], tuple[int, int]],
    ) -> Source | None:
        """What a load reads in this launch; None if it has to be made.

        ends: the numbers of `load.ends`.
        """
        if not load.is_safe(memories):
            return None
        key = load.kind(len(grid))
        source = self.sources.get(key)
        if source is None:
            array = memories[load.number].array
            source = self.sources[key] = Source.of(array, load.dims, load, grid)
        with suppress(ZeroDivisionError):
            source.ends[:] = map(max, source.ends, ends())
        return source

    def load(
        self, slot: Array, source: Source, at: int, rows: int, columns: int
    ) -> None:
        """A load of the box at byte `at` into a slot, which is not made."""
        before = self.origins.get(id(slot))
        if before is not None:
            old_rows, old_columns = before.shape
            if old_rows > rows or old_columns > columns:
                # Some of it stays.
                slot[:old_rows, :old_columns] = before.array()
        self.origins[id(slot)] = Box(source, at, (rows, columns))

    def part(self, slot: Array, at: tuple[int, int], shape: tuple[int, int]) -> Box:
        """A box of a slot, or of what the slot stands for."""
        origin = self.origins.get(id(slot))
        if origin is not None:
            part = origin.part(at, shape)
            if part is not None:
                return part
            # More than was loaded last.
            slot[: origin.shape[0], : origin.shape[1]] = origin.array()
        if id(slot) not in self.slots:
            self.slots[id(slot)] = slot, Box(Source.of(slot), 0, slot.shape)
        part = self.slots[id(slot)][1].part(at, shape)
        assert part is not None, "what a group reads lies in its buffers"
        return part

    def keep(self, key: object, image: Array) -> None:
        if self.bytes + image.nbytes > MOST_BYTES:
            self._forget()
        self.kept[key] = image
        self.bytes += image.nbytes
