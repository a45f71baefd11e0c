"""Fewer or more slots for an allocation, where that keeps the program's meaning."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, SSAValue

from pyptoc.dialects.assembly import INDEX, int_attr
from pyptoc.dialects.expr import Expr
from pyptoc.dialects.expr_atoms import Call
from pyptoc.dialects.npu_attrs import ExprAttr
from pyptoc.dialects.pypto.scalars import IndexOp
from pyptoc.dialects.tile import AllocOp, GatherOp, Instruction, LoadOp, SlotOp
from pyptoc.passes.liveness import Lifetime

SPARE = "npu.spare"
"""The attribute of a channel of which one slot is enough: more are for speed."""


def constant_of(value: SSAValue) -> int | None:
    """The number that `value` always is, if an operation says so."""
    owner = value.owner
    if isinstance(owner, ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def slot_identity(slot: int | SSAValue) -> Hashable:
    """
    Equal for two slot indices only if they are equal in every trip.

    Two `pypto.index` of one expression of the same operands count as equal; an integer
    is a slot that never changes.
    """
    if isinstance(slot, int):
        return slot
    constant = constant_of(slot)
    if constant is not None:
        return constant
    owner = slot.owner
    if isinstance(owner, IndexOp):
        return (owner.expr, *owner.operands)
    return slot


def can_lower_slots(life: Lifetime) -> bool:
    """
    Whether the allocation works with another number of slots.

    It does if a trip uses one slot and fills it before it reads it. Where a trip uses
    two (one filled ahead for the next trip), or reads what an earlier one left, every
    slot holds something of its own. How many slots a channel needs, so that no core
    waits for ever, is for its author to say; `split-mixed` says that one is enough.
    """
    if life.alloc.slot_count < 2 or life.first_user is None:
        return False
    if not isinstance(life.alloc, AllocOp):
        return SPARE in life.alloc.attributes
    slots = {slot_identity(op.slot) for op in life.slot_ops}
    if len(slots) != 1 or isinstance(next(iter(slots)), int):
        return False
    first = life.first_user
    if not isinstance(first, Instruction):
        return False
    ours = {op.results[0] for op in life.slot_ops}
    return not any(value in ours for value in first.reads())


def can_raise_slots(life: Lifetime) -> bool:
    """Whether more slots let transfers from memory run further ahead of their use."""
    return (
        isinstance(life.first_user, LoadOp | GatherOp)
        and can_lower_slots(life)
        and all(_counted(op, life.alloc.slot_count) for op in life.slot_ops)
    )


def change_slots(life: Lifetime, slots: int) -> None:
    """
    Give an allocation `slots` slots.

    An index `i mod old` becomes `i mod slots`, so that consecutive trips use different
    ones; any other is taken modulo that. With one slot it goes.
    """
    alloc = life.alloc
    if not isinstance(alloc, AllocOp):
        alloc.properties["slots"] = int_attr(slots)
        return
    old = alloc.slot_count
    alloc.set_slots(slots)
    for op in life.slot_ops:
        slot = op.slot
        assert isinstance(slot, SSAValue)
        if slots == 1:
            op.results[0].replace_all_uses_with(alloc.results[0])
            op.detach()
            op.erase()
            _drop_unused(slot)
            continue
        operands, counter = _counted(op, old) or ((slot,), Expr.sym("s0"))
        index = IndexOp.create(
            operands=operands,
            properties={"expr": ExprAttr(counter.mod(slots))},
            result_types=[INDEX],
        )
        index.location = op.location
        block = op.parent
        assert isinstance(block, Block)
        block.insert_op_before(index, op)
        op.operands[1] = index.results[0]
        _drop_unused(slot)


def _drop_unused(index: SSAValue) -> None:
    owner = index.owner
    if isinstance(owner, IndexOp) and index.first_use is None:
        owner.detach()
        owner.erase()


def _counted(op: SlotOp, slots: int) -> tuple[Sequence[SSAValue], Expr] | None:
    """What is counted round in `slots` slots: of `pypto.index %k mod 2`, %k."""
    slot = op.slot
    owner = slot.owner if isinstance(slot, SSAValue) else None
    if not isinstance(owner, IndexOp):
        return None
    expr = owner.expr.data
    if not isinstance(expr, Expr) or expr.constant:
        return None
    (atom, factor), *others = expr.terms.items() or [(None, 0)]
    if not isinstance(atom, Call) or atom.op != "mod" or factor != 1 or others:
        return None
    counter, divisor = atom.args
    return (owner.operands, counter) if divisor == Expr.const(slots) else None
