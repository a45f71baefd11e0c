"""
Tiles that the vector cores send once more, for a later stage of the cube core.

Keys are multiplied by queries, and a trip later, when the weights that came of it are
there, by these. A slot is given back in the stage that popped it, and a cube core
copies nothing; so what a later stage wants comes again, by a channel of its own:

    vector   push %k into %a               vector   push %k into %a ; push %k into %b
    cube     %x = pop %a                   cube     %x = pop %a
             matmul %q, %x                          matmul %q, %x ; free %a
             push scores                            push scores
             %w = pop %weights      ->              %w = pop %weights ; %y = pop %b
             matmul %w, %x ; free %a                matmul %w, %y ; free %b
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.tile import Space, buffer_type
from pyptoc.dialects.tile_channel import ChannelOp
from pyptoc.dialects.tile_mixed import FreeOp, PopOp, PushOp
from pyptoc.passes.builder import Builder
from pyptoc.passes.messages import LoopPair, messages_in
from pyptoc.passes.slots import SPARE


def send_per_stage(pair: LoopPair) -> bool:
    """Send again what the cube core pops for two stages; whether there is any."""
    returning = _returning(pair)
    pops = [op for op in pair.cube.body.block.ops if isinstance(op, PopOp)]
    sent = [_send(pair, pop, returning) for pop in pops]
    return any(sent)


def _returning(pair: LoopPair) -> set[SSAValue]:
    """The channels that bring what comes of something that the trip has sent."""
    found: set[SSAValue] = set()
    popped = False
    for message in messages_in(pair.vector):
        popped = popped or isinstance(message, PopOp)
        if popped and isinstance(message, PushOp):
            found.add(message.channel)
    return found


def _send(pair: LoopPair, pop: PopOp, returning: set[SSAValue]) -> bool:
    """A second channel for the uses of `pop` behind another one's return."""
    behind = _behind(pop)
    turn = next(
        (n for n, op in enumerate(behind) if _pops_one_of(op, returning)), len(behind)
    )
    early = [op for op in behind[:turn] if _uses(op, pop.buffer)]
    late = [op for op in behind[turn:] if _uses(op, pop.buffer)]
    frees = [
        op for op in behind if isinstance(op, FreeOp) and op.channel is pop.channel
    ]
    pushes = [m for m in messages_in(pair.vector) if m.channel is pop.channel]
    once = len(frees) == len(pushes) == 1 and isinstance(pushes[0], PushOp)
    in_l1 = buffer_type(pop.buffer).space == Space.L1
    if not (early and late and once and in_l1 and frees[0] in behind[turn:]):
        return False
    channel = _channel_like(pop.channel)
    (push,), (free,) = pushes, frees
    assert isinstance(push, PushOp)
    Builder.after(push).emit(PushOp.make(push.source, push.extents, channel))
    again = PopOp.make(channel)
    Builder.before(late[0]).emit(again, names=[pop.buffer.name_hint])
    for op in late:
        for inner in op.walk():
            for index, operand in enumerate(inner.operands):
                if operand is pop.buffer:
                    inner.operands[index] = again.buffer
    Builder.before(free).emit(FreeOp.make(channel))
    free.detach()
    block = early[-1].parent
    assert block is not None
    block.insert_op_after(free, early[-1])
    return True


def _behind(op: Operation) -> list[Operation]:
    """What follows in the block of `op`."""
    found: list[Operation] = []
    following = op.next_op
    while following is not None:
        found.append(following)
        following = following.next_op
    return found


def _pops_one_of(op: Operation, channels: set[SSAValue]) -> bool:
    return isinstance(op, PopOp) and op.channel in channels


def _uses(op: Operation, buffer: SSAValue) -> bool:
    return any(buffer in inner.operands for inner in op.walk())


def _channel_like(channel: SSAValue) -> SSAValue:
    """Another channel of the same kind, next to `channel`; it needs all its slots."""
    op = channel.owner
    assert isinstance(op, ChannelOp)
    new = op.clone()
    new.attributes.pop(SPARE, None)
    Builder.after(op).emit(new, names=[channel.name_hint])
    return new.channel
