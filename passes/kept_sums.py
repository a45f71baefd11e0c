"""
Sums of products that a loop carries, where the cube core can keep them in L0C.

    %acc = scf.for .. iter_args(%a = full 0) {
      ..
      %y = pypto.matmul %p, %v                 %p is made by the body
      %b = pypto.add %a, %y
      scf.yield %b }

Nothing else reads %a, %y or %b. So each trip's product adds onto what lies there, no
part of it goes to the vector cores, and the sum leaves once, behind the loop. The
product of such a sum is marked, `npu.keeps_sum`, if L0C has room for all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import copysign

from xdsl.dialects import scf
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from pyptoc.dialects.pypto.elementwise import AddOp, CastOp
from pyptoc.dialects.pypto.matmul import MatmulOp
from pyptoc.dialects.pypto.shape import FullOp, TransposeOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.passes.fuse_epilogue import is_drain
from pyptoc.passes.structured import defined_in
from pyptoc.passes.typed import element_type

KEEPS = "npu.keeps_sum"
"""The mark of a product that adds onto what L0C keeps for a loop."""


@record(eq=False)
class KeptSum:
    """A product, the op that adds it, and the loop that carries the sum."""

    product: MatmulOp
    add: AddOp
    loop: scf.ForOp
    argument: BlockArgument

    @property
    def result(self) -> OpResult:
        """The sum behind the loop."""
        return self.loop.results[self.argument.index - 1]

    def drained_to(self) -> list[Operation]:
        """What takes the sum behind the loop: casts that a store does are left out."""
        uses = [use.operation for use in self.result.uses]
        casts = [op for op in uses if isinstance(op, CastOp) and is_drain(op)]
        behind = [use.operation for op in casts for use in op.result.uses]
        return [op for op in uses if op not in casts] + behind


@record(eq=False)
class KeptSums:
    """The sums that a body keeps in L0C, by what has to do with them."""

    products: dict[Operation, KeptSum]
    additions: dict[Operation, KeptSum]
    """By the ops that add to them, which do nothing of their own."""
    carried: dict[SSAValue, KeptSum]
    """By what loops carry, and give."""

    @staticmethod
    def of(products: Iterable[Operation]) -> KeptSums:
        """Those of marked products."""
        marked = [op for op in products if KEEPS in op.attributes]
        found = [sum_of(op) for op in marked if isinstance(op, MatmulOp)]
        kept = [one for one in found if one is not None]
        return KeptSums(
            {one.product: one for one in kept},
            {one.add: one for one in kept},
            {value: one for one in kept for value in (one.argument, one.result)},
        )


def sums_in(root: Operation) -> Iterator[KeptSum]:
    """The sums inside of `root` that L0C might keep."""
    for op in root.walk():
        if isinstance(op, MatmulOp):
            found = sum_of(op)
            if found is not None:
                yield found


def sum_of(product: MatmulOp) -> KeptSum | None:
    """The sum that a loop carries of a product; None if it is no such."""
    plain = product.bias is None and product.scale is None and product.relu is None
    add, block = _only_user(product.result), product.parent
    loop = None if block is None else block.parent_op()
    if not (plain and isinstance(add, AddOp) and isinstance(loop, scf.ForOp)):
        return None
    others = [value for value in add.operands if value is not product.result]
    if len(others) != 1 or not isinstance(others[0], BlockArgument):
        return None
    argument, last = others[0], loop.body.block.last_op
    carried = argument.owner is loop.body.block and argument.index > 0
    if not carried or last is None or _only_user(argument) is not add:
        return None
    made = any(_is_made(value, loop) for value in (product.lhs, product.rhs))
    good = (
        made
        and element_type(product.result) == f32
        and argument.type == product.result.type
        and _only_user(add.result) is last
        and last.operands[argument.index - 1] is add.result
        and _is_zero(loop.iter_args[argument.index - 1])
    )
    return KeptSum(product, add, loop, argument) if good else None


def _only_user(value: SSAValue) -> Operation | None:
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None


def _is_made(value: SSAValue, loop: scf.ForOp) -> bool:
    """Whether the loop computes `value`, and does not read it from memory."""
    return defined_in(value, loop) and not isinstance(value.owner, ViewOp | TransposeOp)


def _is_zero(value: SSAValue) -> bool:
    """Whether all of a tensor is 0.0, which a product over nothing is: not -0.0."""
    if not isinstance(value.owner, FullOp):
        return False
    fill: Attribute | SSAValue = value.owner.fill
    if not isinstance(fill, FloatAttr):
        return False
    number = fill.value.data
    return number == 0 and copysign(1, number) > 0
