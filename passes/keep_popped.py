"""
Copies of popped tiles that two stages of a loop use.

A slot is given back in the stage that popped it. What a later stage wants of it, it
takes from a copy:

    %x = tile.pop %s                     %x = tile.pop %s
    tile.exp %x into %p ; push %p        tile.exp %x into %p ; push %p
    %y = tile.pop %r                     tile.copy %x into %kept ; tile.free %s
    tile.add %x, %y into %z       ->     %y = tile.pop %r
    tile.free %s ; tile.free %r          tile.add %kept, %y into %z ; tile.free %r
"""

from __future__ import annotations

from itertools import pairwise

from xdsl.dialects import scf
from xdsl.ir import Operation

from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import Mixed
from pyptoc.dialects.tile import AllocOp, Space, StoreOp, VectorOp, buffer_type
from pyptoc.dialects.tile_mixed import FreeOp, PopOp
from pyptoc.dialects.tile_vector import vector_op
from pyptoc.passes.builder import Builder
from pyptoc.passes.structured import defined_before


@record(eq=False)
class Kept:
    """A copy, and what it takes to do without it."""

    pop: PopOp
    free: FreeOp
    behind: Operation
    """What the free stood behind."""
    alloc: AllocOp
    copy: Operation

    def undo(self) -> None:
        self.alloc.buffer.replace_all_uses_with(self.pop.buffer)
        self.copy.detach()
        self.copy.erase()
        self.alloc.detach()
        self.alloc.erase()
        _move_behind(self.free, self.behind)


def keep_popped(loop: scf.ForOp) -> list[Kept]:
    """Copy what is used before and behind another pop of the loop's body."""
    pops = [op for op in loop.body.block.ops if isinstance(op, PopOp)]
    found = [_keep(pop, after) for pop, after in pairwise(pops)]
    return [kept for kept in found if kept is not None]


def _keep(pop: PopOp, after: PopOp) -> Kept | None:
    """A copy of what `pop` gives, for what comes behind `after`."""
    free = _free_of(pop)
    if buffer_type(pop.buffer).space != Space.UB or free is None:
        return None
    late: list[Operation] = []
    op = after.next_op
    while op is not None:
        late += [inner for inner in op.walk() if pop.buffer in inner.operands]
        op = op.next_op
    behind = free.prev_op
    if not late or behind is None:
        return None
    build = Builder.before(after)
    alloc = AllocOp.make(buffer_type(pop.buffer))
    kept = build.value(alloc, pop.buffer.name_hint)
    for user in late:
        for index, operand in enumerate(user.operands):
            if operand is pop.buffer:
                user.operands[index] = kept
    extents = _extents(late, after) or list(alloc.type.shape)
    copy = vector_op("copy", [pop.buffer], kept, extents)
    build.emit(copy)
    _move_behind(free, copy)
    return Kept(pop, free, behind, alloc, copy)


def _free_of(pop: PopOp) -> FreeOp | None:
    """What gives back the slot, in the same block."""
    op = pop.next_op
    while op is not None:
        if isinstance(op, FreeOp) and op.channel is pop.channel:
            return op
        op = op.next_op
    return None


def _extents(users: list[Operation], before: Operation) -> list[Mixed] | None:
    """How much the users take, if all take the same, known `before` them."""
    found: list[Mixed] | None = None
    for user in users:
        if not isinstance(user, VectorOp | StoreOp):
            return None
        if found is not None and user.extents != found:
            return None
        found = user.extents
    known = all(isinstance(e, int) or defined_before(e, before) for e in found or ())
    return found if known else None


def _move_behind(op: Operation, other: Operation) -> None:
    op.detach()
    block = other.parent
    assert block is not None
    block.insert_op_after(op, other)
