"""
Fused matmuls that read gm: what L1 would hold, without the copy, decoded once a launch.

    tile.load %b[%k, %n] [64, 256] into %l         v9 = b1[v3:v3 + 64, v4:v4 + 256]
                                            ->     if d5: load(g2, v9, k5)
    tile.move %l[0, 0] .. (of a group)             else: g2[...] = v9
                                                   g7.run(.., g2, ..)

`d5` says that nothing in this launch is stored to the memory that is loaded, so the
bytes are the same whenever they are read. It holds for buffers in L1 that only loads
write and only groups read, and whose bytes no other buffer shares: what is wrong with
addresses still shows.

The tasks of a grid load the same boxes again and again: of a product in tiles, each row
of tasks loads all of B. Where several tasks lie along an axis that a box does not
depend on (`k5`), its f32 image is kept for the launch.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import SlotOp
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_transfer import LoadOp
from pyptoc.dialects.tile_types import Space
from pyptoc.runtime.memory import Memory, may_overlap

Array = NDArray[Any]
MOST_BYTES = 2**28
"""What is kept at most; then all of it is forgotten."""


class Origin(NamedTuple):
    """What a slot of an L1 buffer stands for."""

    box: Array
    """In gm, with the rows and columns of the buffer."""
    keep: bool
    """Whether its image is wanted again."""


class Images:
    """The images of one launch of one kernel."""

    def __init__(self) -> None:
        self.origins: dict[int, Origin] = {}
        """By the identity of the slot's array."""
        self.kept: dict[object, Array] = {}
        self.bytes = 0

    def begin(self) -> None:
        """Forget everything, at the start of a launch."""
        self.origins.clear()
        self._forget()

    def _forget(self) -> None:
        self.kept.clear()
        self.bytes = 0

    def load(self, slot: Array, box: Array, keep: bool) -> None:
        """A load of `box` into a slot, which is not made."""
        before = self.origins.get(id(slot))
        if before is not None:
            rows, columns = before.box.shape
            if rows > box.shape[0] or columns > box.shape[1]:
                # Some of it stays.
                slot[:rows, :columns] = before.box
        self.origins[id(slot)] = Origin(box, keep)

    def part(
        self, slot: Array, at: tuple[int, int], shape: tuple[int, int]
    ) -> tuple[Array, bool]:
        """A box of a slot, and whether to keep its image."""
        (first, second), (rows, columns) = at, shape
        origin = self.origins.get(id(slot))
        if origin is not None:
            box, keep = origin
            if box.shape == shape and at == (0, 0):
                return box, keep
            if first + rows <= box.shape[0] and second + columns <= box.shape[1]:
                return box[first : first + rows, second : second + columns], keep
            # More than was loaded last.
            slot[: box.shape[0], : box.shape[1]] = box
        return slot[first : first + rows, second : second + columns], False

    def keep(self, key: object, image: Array) -> None:
        if self.bytes > MOST_BYTES:
            self._forget()
        self.kept[key] = image
        self.bytes += image.nbytes


@record
class DirectLoad:
    """A load that need not be made."""

    number: int
    """Of the buffer argument that it reads."""
    free_axes: tuple[int, ...]
    """The axes of the grid that its box does not depend on."""
    stored: frozenset[int]
    """The numbers of the buffer arguments that the kernel stores to."""

    def is_safe(self, memories: Sequence[Memory]) -> bool:
        """Whether nothing is stored to what it loads."""
        mine = memories[self.number].array
        return not any(
            np.may_share_memory(mine, memories[other].array) for other in self.stored
        )

    def pays(self, grid: Sequence[int]) -> bool:
        """Whether its boxes are loaded again."""
        return any(grid[axis] > 1 for axis in self.free_axes)


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
            other is not alloc and may_overlap(alloc, other) for other in every
        ):
            continue
        for load in _only_loads(alloc.results[0], moves) or ():
            number = numbers[load.memory]
            if number not in stored:
                axes = _free_axes(kernel, load)
                found[load] = DirectLoad(number, axes, stored)
    return found


def _only_loads(buffer: SSAValue, moves: Container[Operation]) -> list[LoadOp] | None:
    """The loads into a buffer; None if anything but `moves` uses it, too."""
    loads: list[LoadOp] = []
    values = [buffer]
    while values:
        for use in values.pop().uses:
            user = use.operation
            if isinstance(user, SlotOp):
                values.append(user.results[0])
            elif isinstance(user, LoadOp):
                loads.append(user)
            elif user not in moves:
                return None
    return loads


def _free_axes(kernel: KernelOp, load: LoadOp) -> tuple[int, ...]:
    """The axes of the grid that neither offsets nor extents of the load depend on."""
    axes = {value: axis for axis, value in enumerate(kernel.grid_args)}
    seen: set[SSAValue] = set()
    values = [
        v for v in (*load.mixed_offsets, *load.extents) if isinstance(v, SSAValue)
    ]
    while values:
        value = values.pop()
        if value in seen or value in axes:
            seen.add(value)
            continue
        seen.add(value)
        sources = _sources(value)
        if sources is None:
            return ()
        values += sources
    return tuple(axis for value, axis in axes.items() if value not in seen)


def _sources(value: SSAValue) -> Iterator[SSAValue] | None:
    """What a number is computed from; None if that takes more than a look."""
    owner = value.owner
    if isinstance(owner, Block):
        loop = owner.parent_op()
        if isinstance(loop, scf.ForOp) and value is owner.args[0]:
            return iter((loop.lb, loop.ub, loop.step))
        return iter(()) if isinstance(loop, KernelOp) else None
    return None if owner.regions else iter(cast("Any", owner).operands)
