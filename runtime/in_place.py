"""
Buffers of the vector core that stand for their box in gm: the copy is left out.

    tile.load %x[%r, 0] [4, 64] into %a        v7 = b0[v1:v1 + 4, :] if d5 else load(..)
    tile.exp %a into %b [4, 64]           ->   v8 = b1[v1:v1 + 4, :] if d6 else g3
    tile.store %b [4, 64] into %y[%r, 0]       exp(v7, out=v8)
                                               if not d6: b1[v1:v1 + 4, :] = v8

A loaded buffer stands for its box if all else in its block only reads it, whole, and
nothing in this launch is stored to the memory. A stored buffer does if vector
instructions of the block of its store have it to themselves, the first writes it whole,
and nothing else in this launch reads or stores to the memory. A buffer that is loaded
and stored to the same box does if it is both, but for what writes it first. In all
cases no other buffer shares its bytes: what is wrong with addresses still shows. `d5`
and `d6` say whether the memories of a launch are apart. With `check`, and out of
program order, each copy is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import AllocOp, SlotOp
from pyptoc.dialects.tile_transfer import LoadOp, StoreOp
from pyptoc.dialects.tile_types import Instruction, Space, buffer_type
from pyptoc.dialects.tile_vector import Form, VectorOp
from pyptoc.runtime.memory import Apart, sharing_in
from pyptoc.runtime.number_exprs import expr_of


@record
class InPlace:
    """The transfers of a kernel that need not be made, with what they need."""

    loads: dict[LoadOp, Apart]
    stores: dict[StoreOp, Apart]
    first: dict[Operation, StoreOp]
    """By what writes a stored buffer first."""


def in_place(kernel: KernelOp, stored: set[int]) -> InPlace:
    """stored: the numbers of the buffer arguments that the kernel stores to."""
    numbers = {SSAValue.get(value): n for n, value in enumerate(kernel.buffer_args)}
    found = InPlace({}, {}, {})
    for alloc, near in sharing_in(kernel).items():
        if near or not isinstance(alloc, AllocOp) or alloc.type.space != Space.UB:
            continue
        users = _users(alloc.results[0])
        if users is None:
            continue
        first, *others, last = users
        number = numbers[first.memory] if isinstance(first, LoadOp) else None
        if isinstance(first, LoadOp) and number not in stored:
            reads = (*others, last)
            if _is_plain(first) and all(_only_reads(op, first) for op in reads):
                assert number is not None
                found.loads[first] = Apart(number, frozenset(stored))
        elif isinstance(last, StoreOp) and _may_stand_for(first, others, last):
            number = numbers[last.memory]
            apart = Apart(number, frozenset(numbers.values()) - {number})
            found.stores[last] = apart
            found.first[first] = last
            if isinstance(first, LoadOp):
                found.loads[first] = apart
    return found


def _users(buffer: SSAValue) -> list[Instruction] | None:
    """Two or more instructions that use a buffer, in their order in one block.

    None if there are others, or if they use several slots of it.
    """
    slots = [use.operation for use in buffer.uses]
    if len(slots) == 1 and isinstance(slots[0], SlotOp):
        buffer = slots[0].results[0]
    users = {use.operation for use in buffer.uses}
    blocks = {op.parent for op in users}
    if len(users) < 2 or len(blocks) > 1:
        return None
    (block,) = blocks
    assert block is not None
    ordered = [op for op in block.ops if op in users]
    found = [op for op in ordered if isinstance(op, VectorOp | LoadOp | StoreOp)]
    return cast("list[Instruction]", found) if len(found) == len(users) else None


def _is_plain(op: LoadOp | StoreOp) -> bool:
    """Whether numpy cuts the box out of the memory as the buffer has it."""
    row, column = op.box_dims
    memory = cast("MemRefType[Attribute]", op.memory.type)
    buffer = buffer_type(op.buffer)
    return 0 <= row < column and memory.element_type == buffer.element_type


def _reads_whole(op: VectorOp, transfer: LoadOp | StoreOp) -> bool:
    """Whether all that it reads of the transfer's buffer is the transfer's box."""
    forms = [
        arg[1]
        for arg in op.args
        if isinstance(arg, tuple) and arg[0] is transfer.buffer
    ]
    return not forms or (
        set(forms) == {Form.FULL} and list(op.extents) == list(transfer.extents)
    )


def _only_reads(op: Operation, load: LoadOp) -> bool:
    return (
        isinstance(op, VectorOp)
        and op.dest is not load.buffer
        and _reads_whole(op, load)
    )


def _may_stand_for(
    first: Instruction, others: list[Instruction], store: StoreOp
) -> bool:
    """Whether a buffer that `store` stores can be its box in gm from `first` on."""
    if not _is_plain(store) or store.combine is not None:
        return False
    if any(use.operation not in (first, store) for use in store.memory.uses):
        return False
    if isinstance(first, LoadOp):
        inside = others
        fits = _is_same_box(first, store)
    else:
        inside = [first, *others]
        fits = store.buffer not in first.reads() and all(
            _known_before(value, first) for value in _numbers_of(store)
        )
    return fits and all(
        isinstance(op, VectorOp) and _uses_whole(op, store) for op in inside
    )


def _is_same_box(load: LoadOp, store: StoreOp) -> bool:
    """Whether a box is stored where it was loaded."""
    one, other = (
        [expr_of(number, Expr.sym) for number in (*op.mixed_offsets, *op.extents)]
        for op in (load, store)
    )
    dims = list(load.box_dims) == list(store.box_dims)
    return load.memory is store.memory and dims and one == other


def _uses_whole(op: VectorOp, store: StoreOp) -> bool:
    """Whether it reads and writes nothing or just the stored box of the buffer."""
    if op.dest is store.buffer and not (
        op.family.is_elementwise and list(op.extents) == list(store.extents)
    ):
        return False
    return _reads_whole(op, store)


def _numbers_of(store: StoreOp) -> Iterator[SSAValue]:
    for value in (*store.mixed_offsets, *store.extents):
        if isinstance(value, SSAValue):
            yield value


def _known_before(value: SSAValue, op: Operation) -> bool:
    """Whether a number that is known at the end of the block of `op` is known at it."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.parent is not op.parent:
        return True
    return owner.is_before_in_block(op)
