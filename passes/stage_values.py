"""
What one value of a buffer means to the trips of a loop.

The accesses of a trip to a buffer fall into *webs*. A web starts where the buffer is
written anew, and has all that may read what was written there:

    tile.row_max %x into %new          web 1
    tile.sub %x, %new row into %x      web 1
    tile.row_sum %x into %new          web 2
    tile.add %sum, %new into %sum      web 2; of %sum one that is carried: it also reads
                                       what the trip before left

Webs of one buffer have nothing to do with each other; a carried one ties trips.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.record import record
from pyptoc.dialects.tile import AllocOp, Instruction, SlotOp
from pyptoc.dialects.tile_mixed import PopOp
from pyptoc.passes.flat_kernels import memory_root
from pyptoc.passes.slots import slot_identity


@record(frozen=False, eq=False)
class Web:
    """Accesses that go together, by the operations of the loop's body they are in."""

    values: set[SSAValue]
    """What the buffer is called in the loop: its allocation, or slots of it."""
    alloc: AllocOp | None
    """The buffer; None for memory and for what was popped."""
    reads: list[Operation] = field(default_factory=list[Operation])
    writes: list[Operation] = field(default_factory=list[Operation])
    carried: bool = False

    @property
    def users(self) -> list[Operation]:
        return list(dict.fromkeys([*self.reads, *self.writes]))


@record(frozen=False)
class _Use:
    """What an operation of the body does with a buffer."""

    reads: bool = False
    writes: bool = False
    exposed: bool = False
    """Whether it may read what was there before."""
    kills: bool = False
    """Whether nothing of what was there before is read later."""

    def then(self, other: _Use) -> _Use:
        """One after the other."""
        return _Use(
            self.reads or other.reads,
            self.writes or other.writes,
            self.exposed or (other.exposed and not self.kills),
            self.kills or other.kills,
        )


def _use(op: Operation, values: set[SSAValue]) -> _Use:
    if isinstance(op, Instruction):
        reads = not values.isdisjoint(op.reads())
        writes = not values.isdisjoint(op.writes())
        return _Use(reads, writes, reads, writes and not reads)
    found: list[_Use] = []
    for region in op.regions:
        first = region.blocks[0].first_op if region.blocks else None
        found.append(_sequence(first, None, values))
    return _Use(
        any(use.reads for use in found),
        any(use.writes for use in found),
        any(use.exposed for use in found),
        # A loop may run no trip.
        isinstance(op, scf.IfOp) and all(use.kills for use in found),
    )


def find_webs(loop: scf.ForOp, nodes: Iterable[Operation]) -> list[Web]:
    """The webs of all buffers and memories that the operations `nodes` write."""
    nodes = list(nodes)
    written: dict[SSAValue, None] = {}
    used: dict[SSAValue, None] = {}
    for node in nodes:
        for op in node.walk():
            if isinstance(op, Instruction):
                written |= dict.fromkeys(op.writes())
                used |= dict.fromkeys([*op.reads(), *op.writes()])
    families: dict[object, set[SSAValue]] = {}
    for value in used:
        families.setdefault(_family(value), set()).add(value)
    webs: list[Web] = []
    for family in families.values():
        if not family.isdisjoint(written):
            webs += _webs(loop, nodes, family)
    return webs


def _family(value: SSAValue) -> object:
    """Equal for values that may be the same bytes."""
    if isinstance(value.type, MemRefType):
        return memory_root(value)
    owner = value.owner
    if not isinstance(owner, SlotOp):
        return value
    # Constant slots are buffers of their own, unless others may be any of them.
    users = [use.operation for use in owner.source.uses]
    slots = [op.slot for op in users if isinstance(op, SlotOp)]
    fixed = owner.alloc.slot_count > 1 and all(isinstance(s, int) for s in slots)
    return (owner.source, owner.slot) if fixed else owner.source


def _webs(loop: scf.ForOp, nodes: list[Operation], values: set[SSAValue]) -> list[Web]:
    value = next(iter(values))
    owner = value.owner
    if isinstance(value.type, MemRefType):
        return [_whole(nodes, Web(values, None, carried=True))]
    if isinstance(owner, PopOp):
        return [_whole(nodes, Web(values, None))]
    alloc = owner.source.owner if isinstance(owner, SlotOp) else owner
    assert isinstance(alloc, AllocOp)
    if loop.is_ancestor(alloc):
        if alloc.parent is not loop.body.block:
            return []
        return _by_reach(nodes, Web(values, alloc), carries=False)
    everywhere = _all_of(value)
    if _rotates(values, loop) and everywhere == values:
        return _by_reach(nodes, Web(values, alloc), carries=False)
    if _is_read_behind(alloc, loop, everywhere):
        return [_whole(nodes, Web(values, alloc, carried=True))]
    return _by_reach(nodes, Web(values, alloc), carries=True)


def _whole(nodes: list[Operation], web: Web) -> Web:
    """All accesses in one web."""
    for node in nodes:
        use = _use(node, web.values)
        if use.reads:
            web.reads.append(node)
        if use.writes:
            web.writes.append(node)
    return web


def _by_reach(nodes: list[Operation], like: Web, carries: bool) -> list[Web]:
    """One web for each value that is written anew, joined where a read may see two."""
    before = Web(like.values, like.alloc)
    webs, reaching = [before], [before]
    for node in nodes:
        use = _use(node, like.values)
        if not (use.reads or use.writes):
            continue
        if use.exposed:
            web, *others = reaching
            for other in others:
                web.reads += other.reads
                web.writes += other.writes
                webs.remove(other)
            reaching = [web]
        else:
            web = Web(like.values, like.alloc)
            webs.append(web)
            reaching = [web] if use.kills else [*reaching, web]
        if use.reads:
            web.reads.append(node)
        if use.writes:
            web.writes.append(node)
    if carries and before.users:
        # It sees what the end of the trip before left.
        return [_whole(nodes, Web(like.values, like.alloc, carried=True))]
    return [web for web in webs if web.users]


def _all_of(value: SSAValue) -> set[SSAValue]:
    """The values in the whole kernel that may be the same bytes as a buffer."""
    owner = value.owner
    alloc = owner.source if isinstance(owner, SlotOp) else value
    slots = [use.operation for use in alloc.uses]
    found = {op.results[0] for op in slots if isinstance(op, SlotOp)} or {alloc}
    return {other for other in found if _family(other) == _family(value)}


def _rotates(values: set[SSAValue], loop: scf.ForOp) -> bool:
    """Whether each trip takes one slot, which changes from trip to trip."""
    slots = [value.owner for value in values]
    found = {slot_identity(op.slot) for op in slots if isinstance(op, SlotOp)}
    if len(found) != 1 or not all(isinstance(op, SlotOp) for op in slots):
        return False
    return all(
        isinstance(op.slot, SSAValue) and _depends(op.slot, loop)
        for op in slots
        if isinstance(op, SlotOp)
    )


def _depends(value: SSAValue, loop: scf.ForOp) -> bool:
    """Whether a value is computed from the counter of a loop."""
    if value is loop.body.block.args[0]:
        return True
    owner = value.owner
    if isinstance(owner, Block) or owner.regions:
        return False
    return any(_depends(operand, loop) for operand in owner.operands)


def _is_read_behind(alloc: AllocOp, loop: scf.ForOp, values: set[SSAValue]) -> bool:
    """Whether what the loop leaves in a buffer may be read later."""
    op: Operation = loop
    while True:
        use = _sequence(op.next_op, None, values)
        outer = op.parent_op()
        if use.exposed or use.kills or outer is None or op.parent is alloc.parent:
            return use.exposed
        # It may go round again.
        first = outer.regions[0].block.first_op
        if isinstance(outer, scf.ForOp) and _sequence(first, op, values).exposed:
            return True
        op = outer


def _sequence(
    op: Operation | None, end: Operation | None, values: set[SSAValue]
) -> _Use:
    """What operations do one after the other, up to `end`."""
    use = _Use()
    while op is not None and op is not end:
        use = use.then(_use(op, values))
        op = op.next_op
    return use
