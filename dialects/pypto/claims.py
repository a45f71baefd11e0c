"""The run-time check that the iterations of a forall store to different elements.

`check-bounds` makes these where it cannot prove it; see `passes/apart.py`.

    %c = pypto.claims "o"[%m, 64] : !pypto.claims
    scf.for %i = .. {
      pypto.claim %c at %i from[%r, 0] size[%n, 64]
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IndexType, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryAllocEffect, MemoryWriteEffect

from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.brackets import (
    OffsetList,
    SizeList,
    mixed_offsets,
    mixed_sizes,
)
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.properties import Text
from pyptoc.dialects.pypto.syntax import Clause, Operands
from pyptoc.dialects.subscripts import Offsets, Sizes, count


@irdl_attr_definition
class ClaimsType(ParametrizedAttribute, TypeAttribute):
    """Who stored which element of a destination."""

    name = "pypto.claims"


@irdl_op_definition
class ClaimsOp(PyptoOp, Sizes):
    """Nobody has stored anything yet into a destination of these sizes."""

    name = "pypto.claims"

    label = prop_def(StringAttr)
    sizes = var_operand_def(IndexType)
    static_sizes = prop_def(DenseArrayBase)
    result = result_def(ClaimsType)

    traits = traits_def(MemoryAllocEffect())
    SYNTAX = (Text("label"), SizeList())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [ClaimsType()]


@irdl_op_definition
class ClaimOp(PyptoOp, Offsets, Sizes):
    """Iteration `%i` stores a box; an element of another iteration is an error."""

    name = "pypto.claim"

    claims = operand_def(ClaimsType)
    iteration = operand_def(IndexType)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase)
    static_sizes = prop_def(DenseArrayBase)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())
    SYNTAX = (
        Operands("claims", typed=False),
        Clause("at", Operands("iteration", typed=False)),
        Clause("from", OffsetList()),
        Clause("size", SizeList()),
    )

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        offsets, sizes = mixed_offsets(call), mixed_sizes(call)
        if len(offsets) != len(sizes):
            call.error(
                "PTO131",
                f"a box of {count(len(offsets), 'offset')} and "
                f"{count(len(sizes), 'size')}",
            )
        return []


CLAIM_OPS = (ClaimsOp, ClaimOp)
"""The whole family."""
