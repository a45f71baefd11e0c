"""Moves to L0 that need not be made, in the generated source (see `moved.py`)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, cast

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.tile import allocation_of
from pyptoc.dialects.tile_channel import ChannelOp
from pyptoc.dialects.tile_mixed import PopOp
from pyptoc.dialects.tile_move import MoveOp
from pyptoc.dialects.tile_types import buffer_type
from pyptoc.runtime.decode import decoder
from pyptoc.runtime.moved import (
    Imaging,
    KeptImage,
    KnownSlots,
    Moves,
    OwnImage,
    moves_of,
    pushes_of,
)
from pyptoc.runtime.numerics import storage_dtype

if TYPE_CHECKING:
    from pyptoc.runtime.translate import KernelTranslator


class MovedImages:
    """The moves of a kernel that need not be made."""

    def __init__(self, to: KernelTranslator) -> None:
        self.to = to
        self.found = Moves({}, {}, {}, set(), set())
        self.slots: dict[SSAValue, str] = {}
        """By what is popped of such a channel: the local of the slot's number."""
        self.images: dict[MoveOp, str] = {}
        """The locals of the images that are held."""
        self.fills: dict[Operation, list[MoveOp]] = {}
        """By a load: the moves whose image is to be made again."""
        if not to.core.is_plain:
            return
        outputs = to.repeated.outputs(stand_in=True)
        self.found = moves_of(to.kernel, to.cube.of, outputs)
        for move, loads in self.found.held.items():
            self.images[move] = to.fresh()
            for load in loads:
                self.fills.setdefault(load, []).append(move)

    @property
    def channels(self) -> set[SSAValue]:
        """Those whose slots are filled only when an image of them is made."""
        return {channel.channel for channel in self.found.known}

    def are_alike(self, one: SSAValue, other: SSAValue) -> bool:
        """Whether what is popped of two such channels is the same repeated work."""
        first, second = map(self._filled_by, (one, other))
        return bool(first) and first == second

    def _filled_by(self, buffer: SSAValue) -> set[Hashable]:
        channel = allocation_of(buffer)
        if channel not in self.found.grouped:
            return set()
        work = self.to.repeated.known_by
        return {work[push.source] for push in pushes_of(cast(ChannelOp, channel))}

    def popped(self, op: PopOp, slot: str) -> None:
        """After a pop from one of them. slot: the local of the slot's number."""
        channel = allocation_of(op.buffer)
        self.slots[op.buffer] = slot
        if channel in self.found.grouped:
            known = KnownSlots(
                self.to.scope[self.to.ref(op.channel)], self.to.cube.images
            )
            self.to.line(f"{self.to.bind(known)}({slot})")

    def after(self, op: Operation) -> None:
        """After a load: its images are to be made."""
        for move in self.fills.get(op, ()):
            self.to.line(f"{self.images[move]} = None")

    def takes(self, op: MoveOp, box: str) -> bool:
        """Let an image stand for a buffer in L0. box: the text of that in L1.

        False: the move is to be made.
        """
        to, found = self.to, self.found
        if op in found.held:
            name = self.images[op]
            own = to.bind(OwnImage(self._imaging(op)))
            to.line(f"if {name} is None: {name} = {own}({box})")
        elif op in found.same:
            leader = found.same[op]
            if leader is op:
                name = to.fresh()
                to.line(f"{name} = {to.bind(OwnImage(self._imaging(op)))}({box})")
            else:
                name = to.stand_ins[leader.dest]
        elif op in found.kept:
            name = to.fresh()
            channel = to.scope[to.ref(found.kept[op].channel)]
            image = KeptImage(self._imaging(op), channel, to.repeated.store)
            numbers = to.refs([*op.mixed_offsets, *op.extents])
            to.line(f"{name} = {to.bind(image)}({self.slots[op.source]}, {numbers})")
        else:
            return False
        to.stand_ins[op.dest] = name
        return True

    def _imaging(self, op: MoveOp) -> Imaging:
        to = self.to
        decode = decoder(storage_dtype(buffer_type(op.dest).element_type))
        buffer = to.core.buffers.views(allocation_of(op.dest))[0]
        return Imaging(buffer, decode, op.is_transposed, to.core.scratch)
