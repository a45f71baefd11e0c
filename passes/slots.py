"""Fewer slots for an allocation, where that keeps the program's meaning."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, SSAValue

from pyptoc.dialects.assembly import INDEX, int_attr
from pyptoc.dialects.expr import Expr
from pyptoc.dialects.npu_attrs import ExprAttr
from pyptoc.dialects.pypto.scalars import IndexOp
from pyptoc.dialects.tile import AllocOp, Instruction
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
    Whether the allocation works with fewer slots.

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


def lower_slots(life: Lifetime, slots: int) -> None:
    """Leave `slots` slots; each index is taken modulo that, or goes if it is one."""
    alloc = life.alloc
    if not isinstance(alloc, AllocOp):
        alloc.properties["slots"] = int_attr(slots)
        return
    alloc.set_slots(slots)
    for op in life.slot_ops:
        if slots == 1:
            op.results[0].replace_all_uses_with(alloc.results[0])
            op.detach()
            op.erase()
            continue
        slot = op.slot
        assert isinstance(slot, SSAValue)
        wrapped = IndexOp.create(
            operands=[slot],
            properties={"expr": ExprAttr(Expr.sym("s0").mod(slots))},
            result_types=[INDEX],
        )
        wrapped.location = op.location
        block = op.parent
        assert isinstance(block, Block)
        block.insert_op_before(wrapped, op)
        op.operands[1] = wrapped.results[0]
