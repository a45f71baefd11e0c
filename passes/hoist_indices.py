"""
Indices of gathers that are the same in each trip of a loop, made in front of it.

    scf.for %i = 0 to %t step 1 {             %p = pypto.arange[512]
      %p = pypto.arange[512]                  scf.for %i = 0 to %t step 1 {
      %k = pypto.gather_rows %x at %p   ->      %k = pypto.gather_rows %x at %p
      ..                                        ..
    } {npu.parallel}                          } {npu.parallel}

A task gathers by indices that lie in memory, so a body that makes its own is several
tasks. What is moved cannot fail, for the loop may have no trip: numbers in a row, a
constant, other sizes of either, and sums and products of such.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from pyptoc.dialects.pypto.binary import AddOp, MulOp, SubOp
from pyptoc.dialects.pypto.creating import ArangeOp, FullOp
from pyptoc.dialects.pypto.shape import ReshapeOp
from pyptoc.passes.index_shapes import GATHERS, indexed
from pyptoc.passes.structured import defined_in

MOVED = (ArangeOp, FullOp, ReshapeOp, AddOp, SubOp, MulOp)


def hoist_indices(loop: scf.ForOp) -> None:
    """Move the indices of gathers in `loop` in front of it, if no trip changes them."""
    same: dict[Operation, None] = {}
    """What may be made in front of the loop, in the order of the text."""
    needed: set[Operation] = set()
    for op in loop.walk():
        if isinstance(op, GATHERS):
            access = indexed(op)
            read = [value for value in (*access.indices, access.table) if value]
            needed |= {v.owner for v in read if isinstance(v.owner, Operation)}
        elif _cannot_fail(op) and all(
            value.owner in same or not defined_in(value, loop) for value in op.operands
        ):
            same[op] = None
    for op in reversed(same):
        if op in needed:
            needed |= {v.owner for v in op.operands if isinstance(v.owner, Operation)}
    block = loop.parent
    assert block is not None
    for op in same:
        if op in needed:
            op.detach()
            block.insert_op_before(op, loop)


def _cannot_fail(op: Operation) -> bool:
    """Whether it makes a tensor of known sizes, whatever the numbers are."""
    if not isinstance(op, MOVED) or "checked" in op.properties:
        return False
    types = [value.type for value in (*op.operands, *op.results)]
    return all(t.has_static_shape() for t in types if isinstance(t, TensorType))
