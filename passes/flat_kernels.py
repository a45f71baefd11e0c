"""
Flat mixed kernels: one program for a cube core and its vector cores.

What runs where follows from the buffers: an instruction on `ub` is for the vector
cores, any other one for the cube core. A move from l0c to ub or from ub to l1
*crosses*: one side pushes a tile, the other pops it.

    tile.move %acc[0, 0] [%m, %n] into %x     cube: push %acc     vector: %b = pop
    tile.exp %x into %x [%m, %n]                                  exp %b into %b
    tile.row_sum %x into %s [%m, %n]                              row_sum %b; free

A crossing is *direct* where what is popped can stand for the destination: all that
touches the destination comes behind the move in the move's own block. Its slot is given
back behind the last of these. Otherwise what is popped is copied, which only vector
cores can do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.npu import KernelOp
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import (
    AllocOp,
    BarrierOp,
    BufType,
    Instruction,
    MoveOp,
    SlotOp,
    Space,
    buffer_type,
)
from pyptoc.dialects.tile_flags import FlagOp
from pyptoc.dialects.tile_mixed import SectionOp
from pyptoc.runtime.machine import Machine


def is_flat(kernel: KernelOp) -> bool:
    """Whether a kernel is mixed and has no sections yet."""
    return kernel.unit.data == Unit.MIXED and not any(
        isinstance(op, SectionOp) for op in kernel.block.ops
    )


def buffers_of(op: Operation) -> list[SSAValue]:
    """The operands that are buffers."""
    return [value for value in op.operands if isinstance(value.type, BufType)]


def unit_of(op: Operation) -> Unit:
    """The core that an instruction or a buffer is for; a crossing is for both."""
    values = [*buffers_of(op), *op.results]
    types = [v.type for v in values if isinstance(v.type, BufType)]
    in_ub = any(type.space == Space.UB for type in types)
    return Unit.VECTOR if in_ub else Unit.CUBE


def crosses(op: Operation) -> bool:
    """Whether `op` moves a tile from one core to another."""
    return isinstance(op, MoveOp) and op.crosses


@record(eq=False)
class Crossing:
    """A move from the cube core to the vector cores, or back."""

    move: MoveOp
    direct: bool
    """Whether what is popped stands for the destination."""
    first: Operation
    last: Operation
    """The operations of the move's block before which it is popped, and behind which
    its slot is given back."""

    @property
    def to_vector(self) -> bool:
        return buffer_type(self.move.dest).space == Space.UB

    @property
    def producer(self) -> Unit:
        """The side that pushes; the other one pops."""
        return Unit.CUBE if self.to_vector else Unit.VECTOR


def find_crossings(kernel: KernelOp) -> dict[MoveOp, Crossing]:
    """The crossings of a flat kernel, in program order."""
    moves = [op for op in kernel.walk() if isinstance(op, MoveOp) and op.crosses]
    return {move: _crossing(move) for move in moves}


def _crossing(move: MoveOp) -> Crossing:
    block = move.parent
    assert block is not None
    copied = Crossing(move, False, move, move)
    users = _users(move.dest)
    if users is None:
        return copied
    place = {op: number for number, op in enumerate(block.ops)}
    behind: set[Operation] = set()
    for user in users:
        if user is move:
            continue
        top = _in_block(user, block)
        if top is None or place[top] <= place[move] or crosses_into(user, move.dest):
            return copied
        behind.add(top)
    first = min(behind, key=place.__getitem__, default=move)
    last = max(behind, key=place.__getitem__, default=move)
    return Crossing(move, True, first, last)


def crosses_into(op: Operation, buffer: SSAValue) -> bool:
    """Whether `op` is a crossing that ends in `buffer`."""
    return isinstance(op, MoveOp) and op.crosses and op.dest is buffer


def _users(buffer: SSAValue) -> list[Operation] | None:
    """What uses a buffer; None if other values may stand for its bytes."""
    owner = buffer.owner
    if isinstance(owner, SlotOp) and not owner.source.has_one_use():
        return None
    users = [use.operation for use in buffer.uses]
    if any(isinstance(user, SlotOp) for user in users):
        return None
    return users


def _in_block(op: Operation, block: Block) -> Operation | None:
    """The operation of `block` that is `op` or has it inside."""
    while op.parent is not block:
        parent = op.parent_op()
        if parent is None:
            return None
        op = parent
    return op


# Why not ------------------------------------------------------------------------------


@record
class Obstacle:
    """What keeps a flat kernel from being split."""

    op: Operation
    reason: str
    other: Operation | None = None
    """What it is in the way of."""


def obstacles(
    kernel: KernelOp,
    machine: Machine,
    aliases: Mapping[int, int] | None = None,
) -> list[Obstacle]:
    """
    All that keeps `split-mixed` from making sections of a flat kernel; no more is
    needed than that there be none.

    `aliases` maps the number of a memory parameter to the first one that a launch may
    give the same buffer.
    """
    found = [
        obstacle
        for crossing in find_crossings(kernel).values()
        for obstacle in _of_crossing(crossing, machine)
    ]
    for op in kernel.walk():
        if isinstance(op, FlagOp | BarrierOp):
            found.append(Obstacle(op, f"{op.name} before there are sections"))
    return [*found, *_through_memory(kernel, aliases or {})]


def has_way(move: MoveOp, machine: Machine, through_gm: bool = False) -> bool:
    """Whether a machine can move so from core to core, directly or through memory."""
    source, dest = move.way
    if through_gm:
        return machine.has_route(source, "gm") and machine.has_route("gm", dest)
    return machine.has_route(source, dest)


def _of_crossing(crossing: Crossing, machine: Machine) -> Iterable[Obstacle]:
    move = crossing.move
    source, dest = move.way
    if not (has_way(move, machine) or has_way(move, machine, through_gm=True)):
        yield Obstacle(move, f"{machine.name} has no way {source} -> {dest}")
    if move.mixed_offsets != [0, 0]:
        yield Obstacle(move, "what crosses must start at [0, 0]")
    if not crossing.direct and not crossing.to_vector and not fills_alone(move):
        yield Obstacle(
            move,
            "what crosses to l1 is used elsewhere than behind the move in its block, "
            "and the cube core fills it as well",
        )


def fills_alone(move: MoveOp) -> bool:
    """Whether nothing but crossings fills the destination of a move to l1."""
    owner = move.dest.owner
    alloc = owner.source if isinstance(owner, SlotOp) else move.dest
    values = [alloc]
    for use in alloc.uses:
        if isinstance(use.operation, SlotOp):
            values.append(use.operation.results[0])
    users = [use.operation for value in values for use in value.uses]
    return all(
        crosses(op)
        for op in users
        if isinstance(op, Instruction) and not set(values).isdisjoint(op.writes())
    )


def _through_memory(kernel: KernelOp, aliases: Mapping[int, int]) -> Iterable[Obstacle]:
    """Memory that one side writes and the other touches: nothing orders them there."""
    parameters = list[SSAValue](kernel.parameters)
    numbers = {value: n for n, value in enumerate(parameters)}
    writes: dict[tuple[int, Unit], Operation] = {}
    touches: dict[tuple[int, Unit], Operation] = {}
    for op in kernel.walk():
        if not isinstance(op, Instruction):
            continue
        written = op.writes()
        for value in {*op.reads(), *written}:
            if isinstance(value.type, MemRefType):
                number = numbers[memory_root(value)]
                key = aliases.get(number, number), unit_of(op)
                touches.setdefault(key, op)
                if value in written:
                    writes.setdefault(key, op)
    for (number, unit), op in writes.items():
        other = Unit.VECTOR if unit == Unit.CUBE else Unit.CUBE
        met = touches.get((number, other))
        if met is not None and (unit == Unit.CUBE or (number, other) not in writes):
            reason = f"the {unit} side writes memory that the {other} side touches"
            yield Obstacle(op, reason, met)


def memory_root(value: SSAValue) -> SSAValue:
    """The parameter that a memref in a kernel is, or is a view of."""
    owner = value.owner
    while isinstance(owner, Operation) and not isinstance(owner, AllocOp):
        value = owner.operands[0]
        owner = value.owner
    return value
