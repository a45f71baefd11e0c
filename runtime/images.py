"""
Fused matmuls that read gm: what L1 would hold, without the copy, decoded once a launch.

    tile.load %b[%k, %n] [64, 256] into %l      if d5: load(g2, d5, v3 * s1[0] + ..)
                                            ->  else: g2[...] = b1[v3:v3 + 64, ..]
    tile.move %l[0, 0] .. (of a group)          g7.run(.., g2, ..)

`d5`, a `Source`, is there if nothing in this launch is stored to the memory that is
loaded, so the bytes are the same whenever they are read. It holds for buffers in L1
that only loads write and only groups read, and whose bytes no other buffer shares while
they are in use: what is wrong with addresses still shows.

The tasks of a grid load the same boxes again and again: of a product in tiles, each row
of tasks loads all of B. Where several tasks lie along an axis that a box does not
depend on (`keep`), its f32 image is kept for the launch.

A load only notes where its box begins; numpy makes the box when it is decoded. What
lies side by side is then one box, and a task costs few calls.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import uses_of
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_mixed import SectionOp
from pyptoc.dialects.tile_read import ReadOp
from pyptoc.dialects.tile_transfer import LoadOp
from pyptoc.dialects.tile_types import Space
from pyptoc.runtime.channels import Channel
from pyptoc.runtime.kept_work import Store
from pyptoc.runtime.memory import Apart, Memory, aligned, may_overlap

Array = NDArray[Any]
Axes = tuple[frozenset[int], frozenset[int]]
"""Axes of the grid, for rows and for columns."""
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
    keep: bool
    """Whether images of its boxes are wanted again."""
    sizes: tuple[int, int]
    """Rows and columns in all; 0 where the array has gaps."""
    free: frozenset[int]
    """The axes of the grid, of more than one task, that its boxes do not depend on."""
    moves: Axes
    """The axes of the grid that move its boxes along rows and along columns."""
    fixed: bool = False
    """Whether nothing in this launch is stored to it."""
    again: bool = False
    """Whether a task multiplies its boxes several times."""

    @staticmethod
    def of(
        array: Array,
        dims: tuple[int, int] = (0, 1),
        free: frozenset[int] = frozenset(),
        moves: Axes = (frozenset(), frozenset()),
        fixed: bool = False,
        again: bool = False,
    ) -> Source:
        """dims: which dimensions of the array are rows and columns, -1 for none."""
        row, column = (array.strides[dim] if dim >= 0 else 0 for dim in dims)
        whole = array.flags.c_contiguous
        rows, columns = (array.shape[dim] if whole and dim >= 0 else 0 for dim in dims)
        strides, sizes = (row, column), (rows, columns)
        raw = _raw(array)
        keep = bool(free)
        return Source(raw, array.dtype, strides, keep, sizes, free, moves, fixed, again)

    def beyond(self, at: int, axis: int) -> int:
        """Rows or columns from the one of byte `at` to the last."""
        size, stride = self.sizes[axis], self.strides[axis]
        return size - at // stride % size if size and stride else 0


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
        self, load: DirectLoad, memories: Sequence[Memory], grid: Sequence[int]
    ) -> Source | None:
        """What a load reads in this launch; None if it has to be made."""
        if not load.is_safe(memories):
            return None
        free = load.free(grid)
        key = load.number, load.dims, free, load.moves, load.again
        if key not in self.sources:
            array = memories[load.number].array
            self.sources[key] = Source.of(array, *key[1:4], True, load.again)
        return self.sources[key]

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


@record
class DirectLoad:
    """A load that need not be made."""

    number: int
    """Of the buffer argument that it reads."""
    dims: tuple[int, int]
    """The dimensions of rows and columns there, -1 for none."""
    free_axes: tuple[int, ...]
    """The axes of the grid that its box does not depend on."""
    moves: Axes
    """The axes that its first row, and its first column, go with, and nothing else."""
    stored: frozenset[int]
    """The numbers of the buffer arguments that the kernel stores to."""
    again: bool
    """Whether it is multiplied in a loop that it is not in itself."""

    def is_safe(self, memories: Sequence[Memory]) -> bool:
        """Whether nothing is stored to what it loads."""
        return Apart(self.number, self.stored)(memories)

    def free(self, grid: Sequence[int]) -> frozenset[int]:
        """The axes along which several tasks load the same box."""
        return frozenset(axis for axis in self.free_axes if grid[axis] > 1)


def direct_loads(
    kernel: KernelOp, moves: Container[Operation], stored: frozenset[int]
) -> dict[Operation, DirectLoad]:
    """The loads into L1 buffers that are only read by `moves`, as far as they qualify.

    moves: those of fused matmuls.
    """
    numbers = {SSAValue.get(value): n for n, value in enumerate(kernel.buffer_args)}
    every = [op for op in kernel.walk() if isinstance(op, Allocation)]
    found: dict[Operation, DirectLoad] = {}
    for alloc in every:
        if alloc.type.space != Space.L1 or any(
            other is not alloc and may_overlap(alloc, other) and _meet(alloc, other)
            for other in every
        ):
            continue
        for load in _only_loads(alloc, moves) or ():
            number = numbers[load.memory]
            if number not in stored:
                axes, along = _free_axes(kernel, load), _moves(kernel, load)
                again = any(
                    user in moves and load.parent and is_in_loop_of(user, load.parent)
                    for user, _ in uses_of(alloc)
                )
                found[load] = DirectLoad(
                    number, load.box_dims, axes, along, stored, again
                )
    return found


def is_in_loop_of(op: Operation, block: Block) -> bool:
    """Whether an operation is in a loop, at some depth, of a block."""
    inside = False
    while op.parent is not block:
        parent = op.parent_op()
        if parent is None:
            return False
        inside = inside or isinstance(parent, scf.ForOp)
        op = parent
    return inside


def _meet(alloc: Allocation, other: Allocation) -> bool:
    """Whether a task may use one of two buffers before it is done with the other."""
    first, second = (
        [_step(user) for user, _ in uses_of(each)] for each in (alloc, other)
    )
    blocks = {step.parent for step in (*first, *second)}
    if len(blocks) != 1:
        return bool(first) and bool(second)
    (block,) = blocks
    assert block is not None
    order = {step: number for number, step in enumerate(block.ops)}
    one, two = ([order[step] for step in steps] for steps in (first, second))
    return bool(one and two) and min(two) <= max(one) and min(one) <= max(two)


def _step(op: Operation) -> Operation:
    """What of a kernel, or of a section of it, the operation lies in."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, KernelOp | SectionOp):
        op, parent = parent, parent.parent_op()
    return op


def _only_loads(alloc: Allocation, moves: Container[Operation]) -> list[LoadOp] | None:
    """The loads into a buffer; None if anything but `moves` uses it, too."""
    users = [user for user, _ in uses_of(alloc)]
    if any(not isinstance(user, LoadOp) and user not in moves for user in users):
        return None
    return [user for user in users if isinstance(user, LoadOp)]


def _free_axes(kernel: KernelOp, load: LoadOp) -> tuple[int, ...]:
    """The axes of the grid that neither offsets nor extents of the load depend on."""
    axes = range(len(kernel.grid_args))
    used = used_axes(kernel, (*load.mixed_offsets, *load.extents))
    return () if used is None else tuple(axis for axis in axes if axis not in used)


def _moves(kernel: KernelOp, load: LoadOp) -> Axes:
    """The axes that its first row, and its first column, depend on.

    None where they depend on what the kernel reads: then where the next task goes on is
    not known.
    """
    row, column = (
        frozenset(used_axes(kernel, load.mixed_offsets[dim : dim + 1], False) or ())
        if dim >= 0
        else frozenset[int]()
        for dim in load.box_dims
    )
    return row, column


def used_axes(
    kernel: KernelOp, numbers: Iterable[SSAValue | int], read: bool = True
) -> set[int] | None:
    """The axes of the grid that numbers are computed from; None if that takes more than
    a look. read: whether they may depend on what is read."""
    axes = {value: axis for axis, value in enumerate(kernel.grid_args)}
    seen: set[SSAValue] = set()
    values = [value for value in numbers if isinstance(value, SSAValue)]
    while values:
        value = values.pop()
        if value in seen or value in axes:
            seen.add(value)
            continue
        seen.add(value)
        sources = _sources(value)
        if sources is None or (not read and isinstance(value.owner, ReadOp)):
            return None
        values += sources
    return {axis for value, axis in axes.items() if value in seen}


def _sources(value: SSAValue) -> Iterator[SSAValue] | None:
    """What a number is computed from; None if that takes more than a look."""
    owner = value.owner
    if isinstance(owner, Block):
        loop = owner.parent_op()
        if isinstance(loop, scf.ForOp) and value is owner.args[0]:
            return iter((loop.lb, loop.ub, loop.step))
        return iter(()) if isinstance(loop, KernelOp | SectionOp) else None
    return None if owner.regions else iter(cast("Any", owner).operands)
