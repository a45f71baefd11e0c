"""
The loops in which the sections of a mixed kernel exchange messages.

Two loops, one of each section, are a pair if they run the same trips and every trip
pushes to each channel as often as it pops from it and frees it, under the same
conditions: then message number n of a channel belongs to one trip on both sides.
Values are compared by what computes them, since each section has its own copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.npu import KernelOp
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_channel import ChannelOp
from pyptoc.dialects.tile_mixed import FreeOp, PopOp, PushOp, SectionOp
from pyptoc.passes.slots import SPARE, constant_of

Message = PushOp | PopOp | FreeOp
Path = tuple[Hashable, ...]
"""The loops and branches around a message, from the outside in."""


@record(eq=False)
class LoopPair:
    """A loop of each section."""

    cube: scf.ForOp
    vector: scf.ForOp

    @property
    def loops(self) -> dict[Unit, scf.ForOp]:
        return {Unit.CUBE: self.cube, Unit.VECTOR: self.vector}


def messages_in(op: Operation) -> list[Message]:
    """The instructions on channels in `op`, itself included, in program order."""
    return [inner for inner in op.walk() if isinstance(inner, Message)]


def sections_of(kernel: KernelOp) -> dict[Unit, SectionOp]:
    """The sections of a kernel, by unit."""
    sections = [op for op in kernel.block.ops if isinstance(op, SectionOp)]
    return {section.unit.data: section for section in sections}


def find_pairs(kernel: KernelOp) -> list[LoopPair]:
    """All pairs of loops, inner ones before those around them."""
    sections = sections_of(kernel)
    if len(sections) < 2:
        return []
    cube, vector = (sections[u].body.block for u in (Unit.CUBE, Unit.VECTOR))
    return list(_pairs(cube, vector, _Names()))


class _Names:
    """What tells whether two values of different sections are always equal."""

    def __init__(self) -> None:
        self.counters: dict[SSAValue, Hashable] = {}
        """The counters of the loops around, by their depth."""

    def of(self, value: SSAValue) -> Hashable:
        constant = constant_of(value)
        if constant is not None:
            return constant
        if value in self.counters:
            return self.counters[value]
        owner = value.owner
        if isinstance(owner, Block) or owner.regions or len(owner.results) != 1:
            return value
        operands = tuple(map(self.of, owner.operands))
        return owner.name, frozenset(owner.properties.items()), operands

    def enter(self, one: scf.ForOp, other: scf.ForOp) -> None:
        depth = ("counter", len(self.counters))
        self.counters[one.body.block.args[0]] = depth
        self.counters[other.body.block.args[0]] = depth

    def bounds(self, loop: scf.ForOp) -> Hashable:
        return tuple(map(self.of, (loop.lb, loop.ub, loop.step)))


def _pairs(one: Block, other: Block, names: _Names) -> Iterator[LoopPair]:
    """The pairs in two blocks that correspond to each other."""
    for a, b in zip(_talking(one), _talking(other), strict=False):
        if isinstance(a, scf.ForOp) and isinstance(b, scf.ForOp):
            if names.bounds(a) == names.bounds(b):
                names.enter(a, b)
                yield from _pairs(a.body.block, b.body.block, names)
                if _in_step(a, b, names):
                    yield LoopPair(a, b)
        elif isinstance(a, scf.IfOp) and isinstance(b, scf.IfOp):
            for x, y in zip(a.regions, b.regions, strict=True):
                if x.blocks and y.blocks and names.of(a.cond) == names.of(b.cond):
                    yield from _pairs(x.block, y.block, names)


def _talking(block: Block) -> list[Operation]:
    """The loops and branches of a block that have messages inside."""
    return [op for op in block.ops if op.regions and messages_in(op)]


def _in_step(one: scf.ForOp, other: scf.ForOp, names: _Names) -> bool:
    """Whether each trip pops and frees what the other side's trip pushes."""
    sides = [_by_channel(loop, names) for loop in (one, other)]
    return sides[0].keys() == sides[1].keys() and all(
        len({tuple(paths) for paths in (*sides[0][c].values(), *sides[1][c].values())})
        == 1
        for c in sides[0]
    )


def _by_channel(
    loop: scf.ForOp, names: _Names
) -> dict[SSAValue, dict[type[Operation], list[Path]]]:
    """Where the messages of each channel are, by the kind of the instruction."""
    found: dict[SSAValue, dict[type[Operation], list[Path]]] = {}
    for message in messages_in(loop):
        kinds = found.setdefault(message.channel, {})
        path = _path(message, loop, names)
        kinds.setdefault(type(message), []).append(path)
    return found


def _path(op: Operation, loop: scf.ForOp, names: _Names) -> Path:
    steps: list[Hashable] = []
    inner, parent = op, op.parent_op()
    while parent is not None and inner is not loop and parent is not loop:
        if isinstance(parent, scf.IfOp):
            branch = inner.parent_region() is parent.true_region
            steps.append((names.of(parent.cond), branch))
        elif isinstance(parent, scf.ForOp):
            steps.append(names.bounds(parent))
        inner, parent = parent, parent.parent_op()
    return tuple(reversed(steps))


def stands_still(sides: Sequence[Sequence[Message]]) -> bool:
    """
    Whether two sequences of messages, one of each side, come to a deadlock if each
    channel has the slots that it needs: one where others are only for speed.
    """
    filled: Counter[SSAValue] = Counter()
    taken: Counter[SSAValue] = Counter()

    def pass_on(message: Message) -> bool:
        """Let a message happen if it can."""
        channel = message.channel
        match message:
            case PushOp():
                can = filled[channel] + taken[channel] < _slots_needed(channel)
                filled[channel] += can
            case PopOp():
                can = filled[channel] > 0
                filled[channel] -= can
                taken[channel] += can
            case FreeOp():
                can = taken[channel] > 0
                taken[channel] -= can
        return can

    places = [0, 0]
    while True:
        moved = False
        for side, messages in enumerate(sides):
            while places[side] < len(messages) and pass_on(messages[places[side]]):
                places[side] += 1
                moved = True
        if all(place == len(m) for place, m in zip(places, sides, strict=True)):
            return False
        if not moved:
            return True


def _slots_needed(channel: SSAValue) -> int:
    op = channel.owner
    assert isinstance(op, ChannelOp)
    return 1 if SPARE in op.attributes else op.slot_count
