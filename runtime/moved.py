"""
Moves to L0 whose image is there already.

    scf.for %k = .. {                          if v4 is None: v4 = g5(g6[0:32, ..])
      tile.move %q[0, 0] [32, 128] into %a     v9 = popped[0] % 2
      %p = tile.pop %d                      -> v7 = g8(v9, 0, 0, v3, 128)
      tile.move %p[0, 0] [%m, 128] into %b     product(v4, v7, ..)
      tile.matmul %a, %b into %c

The f32 image that a matmul multiplies need not be made where it was made before:

- `held`: of a buffer that is loaded outside of the loop of the move;
- `same`: by a move before, in the same block, of the same box;
- `kept`: of a slot of a channel that was filled with what repeated work has left
  (`repeated.py`). Then not even the slot is filled, unless the image is to be made.

This is for moves whose buffer in L0 only matmuls of the same block read, just that box.
It hides what a wrong L0 address would do, so with `check`, without `fuse` and out of
program order each move is made.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from typing import Any, cast

from numpy.typing import NDArray
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import AllocOp, allocation_of, uses_of
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_channel import ChannelOp
from pyptoc.dialects.tile_mixed import FreeOp, PopOp, PushOp
from pyptoc.dialects.tile_move import MoveOp
from pyptoc.dialects.tile_transfer import LoadOp
from pyptoc.dialects.tile_types import Space
from pyptoc.runtime.channels import Channel
from pyptoc.runtime.decode import Decode
from pyptoc.runtime.direct_loads import is_in_loop_of
from pyptoc.runtime.images import Box, Images, Source
from pyptoc.runtime.kept_work import Parts, Store
from pyptoc.runtime.matmul import Scratch
from pyptoc.runtime.memory import aligned, sharing_in

Array = NDArray[Any]


@record
class Moves:
    """The moves of a kernel that need not all be made."""

    held: dict[MoveOp, tuple[LoadOp, ...]]
    """With the loads that fill its source."""
    same: dict[MoveOp, MoveOp]
    """With the move before that made its image."""
    kept: dict[MoveOp, ChannelOp]
    known: set[ChannelOp]
    """The channels whose slots are filled when an image of them is made."""
    grouped: set[ChannelOp]
    """Those of them that fused matmuls read."""


def moves_of(
    kernel: KernelOp, groups: Container[Operation], outputs: Container[SSAValue]
) -> Moves:
    """
    groups: the moves that are never made (`translate_cube.py`). outputs: the buffers
    that what repeated work has left stands in for.
    """
    near = sharing_in(kernel)
    eligible: list[MoveOp] = []
    for alloc in near:
        if isinstance(alloc, AllocOp) and alloc.type.space in (Space.L0A, Space.L0B):
            eligible += _moves_into(alloc, groups)
    channels = [op for op in near if isinstance(op, ChannelOp)]
    known = {op for op in channels if _is_known(op, outputs)}
    # A channel with another reader is filled at once.
    readers = {op: set(_readers(op)) for op in known}
    known = {
        channel
        for channel, ops in readers.items()
        if all(isinstance(op, FreeOp) or op in groups or op in eligible for op in ops)
    }
    kept = {
        move: alloc
        for move in eligible
        if isinstance(alloc := allocation_of(move.source), ChannelOp) and alloc in known
    }
    grouped = {op for op in known if any(user in groups for user in readers[op])}
    rest = [move for move in eligible if move not in kept]
    held = {move: loads for move in rest if (loads := _loads_of(move, near))}
    same = _repeated([move for move in rest if move not in held])
    return Moves(held, same, kept, known, grouped)


def _moves_into(alloc: AllocOp, groups: Container[Operation]) -> list[MoveOp]:
    """The moves into a buffer, if matmuls read just what each of them writes."""
    moves: dict[SSAValue, MoveOp] = {}
    readers: list[tuple[Operation, SSAValue]] = []
    for op, value in uses_of(alloc):
        if op in groups or (isinstance(op, MoveOp) and op.regroups_pairs):
            return []
        if isinstance(op, MoveOp) and op.dest is value and value not in moves:
            moves[value] = op
        elif op.name == "tile.matmul":
            readers.append((op, value))
        else:
            return []
    for op, value in readers:
        move = moves.get(value)
        if move is None or move.parent is not op.parent:
            return []
        if not move.is_before_in_block(op) or not _reads_just(op, value, move):
            return []
    return list(moves.values())


def _reads_just(matmul: Operation, value: SSAValue, move: MoveOp) -> bool:
    op = cast(Any, matmul)
    m, n, k = op.extents
    given = move.extents[::-1] if move.is_transposed else move.extents
    operands = [(op.lhs, [m, k]), (op.rhs, [k, n])]
    return value not in (op.dest, op.bias) and all(
        given == box for operand, box in operands if operand is value
    )


def _is_known(channel: ChannelOp, outputs: Container[SSAValue]) -> bool:
    """Whether all that is pushed is what repeated work has left."""
    pushes = pushes_of(channel)
    return bool(pushes) and all(push.source in outputs for push in pushes)


def pushes_of(channel: ChannelOp) -> list[PushOp]:
    uses = [use.operation for use in channel.channel.uses]
    return [op for op in uses if isinstance(op, PushOp)]


def _readers(channel: ChannelOp) -> list[Operation]:
    pops = [
        op for use in channel.channel.uses if isinstance(op := use.operation, PopOp)
    ]
    return [op for pop in pops for op in (use.operation for use in pop.buffer.uses)]


def _loads_of(
    move: MoveOp, near: Mapping[Allocation, Sequence[Allocation]]
) -> tuple[LoadOp, ...]:
    """The loads that fill a move's source, outside of a loop that it is in.

    near: what shares bytes with each buffer. Empty where something else may write.
    """
    alloc = allocation_of(move.source)
    if not isinstance(alloc, AllocOp) or alloc.slot_count > 1:
        return ()
    if near[alloc]:
        return ()
    loads: list[LoadOp] = []
    for op, _ in uses_of(alloc):
        if isinstance(op, LoadOp):
            loads.append(op)
        elif not isinstance(op, MoveOp) or op.dest is move.source:
            return ()
    numbers = [*move.mixed_offsets, *move.extents]
    for load in loads:
        block = load.parent
        assert block is not None
        if not is_in_loop_of(move, block):
            return ()
        if not all(isinstance(n, int) or _is_known_in(n, block) for n in numbers):
            return ()
    return tuple(loads)


def _is_known_in(value: SSAValue, block: Block) -> bool:
    owner = value.owner
    home = owner.parent if isinstance(owner, Operation) else owner
    return home is not block and home is not None and home.is_ancestor(block)


def _repeated(moves: list[MoveOp]) -> dict[MoveOp, MoveOp]:
    """The moves of a box that a move before, in the same block, has moved alike."""
    found: dict[MoveOp, MoveOp] = {}
    for block in dict.fromkeys(move.parent for move in moves):
        assert block is not None
        first: dict[Hashable, MoveOp] = {}
        for op in block.ops:
            if isinstance(op, MoveOp) and op in moves:
                numbers = (*op.mixed_offsets, *op.extents)
                key = op.source, numbers, op.is_transposed, op.dest.type
                found[op] = first.setdefault(key, op)
            elif isinstance(op, FreeOp):
                first = {k: m for k, m in first.items() if not _is_from(m, op.channel)}
            elif op.regions or isinstance(op, LoadOp):
                first.clear()
    shared = [leader for move, leader in found.items() if move is not leader]
    return {move: leader for move, leader in found.items() if leader in shared}


def _is_from(move: MoveOp, channel: SSAValue) -> bool:
    return allocation_of(move.source).results[0] is channel


# Run time ----------------------------------------------------------------------------


@record
class Imaging:
    """How a move fills its buffer."""

    buffer: Array
    """That in L0."""
    decode: Decode
    is_transposed: bool
    scratch: Scratch

    def __call__(self, box: Array) -> Array:
        """The image of a box in L1, its axes as in L0."""
        flat = self.scratch.room("a", box.size)
        image = self.decode(box, flat)
        return image.T if self.is_transposed else image

    @property
    def pitch(self) -> int:
        """Bytes from one row in L0 to the next."""
        return self.buffer.strides[0]


class OwnImage:
    """The image of one move, in memory of its own."""

    def __init__(self, imaging: Imaging) -> None:
        self.imaging = imaging
        shape = len(imaging.buffer), imaging.pitch // imaging.buffer.itemsize
        self.array = aligned(shape, imaging.buffer.dtype)

    def __call__(self, box: Array) -> Array:
        image = self.imaging(box)
        rows, columns = image.shape
        own = self.array[:rows, :columns]
        own[...] = image
        return own


class KeptImage:
    """The image of one move from a channel that is filled with kept parts."""

    def __init__(self, imaging: Imaging, channel: Channel, store: Store) -> None:
        self.imaging, self.channel, self.store = imaging, channel, store
        self.own = OwnImage(imaging)
        self.kind = imaging.decode, imaging.is_transposed, imaging.pitch

    def __call__(
        self, slot: int, row: int, column: int, rows: int, columns: int
    ) -> Array:
        """That of the box of a slot that starts at a row and column."""
        channel, images = self.channel, self.store.images
        first, second = channel.parts[slot]
        key = self.kind, id(first), id(second), row, column, rows, columns
        if (found := images.get(key)) is not None:
            return found.arrays[0]
        channel.fill(slot)
        bottom, right = row + rows, column + columns
        box = channel.views[0][slot][row:bottom, column:right]
        if first is None or second is None or not channel.holds(slot, bottom, right):
            return self.own(box)
        image = self.imaging(box)
        rows, columns = image.shape
        room = self.store.room(rows * self.imaging.pitch)
        if room is None:
            return self.own(box)
        image_kept = room.view(image.dtype).reshape(rows, -1)[:, :columns]
        image_kept[...] = image
        images.put(key, Parts([image_kept, first, second], [room]))
        return image_kept


class KnownSlots:
    """The slots of a channel that fused matmuls read and kept parts fill."""

    def __init__(self, channel: Channel, images: Images) -> None:
        self.channel, self.images = channel, images
        self.sources: list[Source] = []
        for view in channel.views[0]:
            source = Source.of(view)
            images.slots[id(view)] = view, Box(source, 0, view.shape)
            self.sources.append(source)

    def __call__(self, slot: int) -> None:
        """A slot was popped: note what fills it, or fill it."""
        first, second = self.channel.parts[slot]
        known, key = self.images.known, id(self.sources[slot])
        if first is not None and second is not None:
            known[key] = first, second, self.channel, slot
            return
        known.pop(key, None)
        self.channel.fill(slot)
