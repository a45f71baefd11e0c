"""The run-time check that the iterations of a forall store to different elements.

`check-bounds` makes these where it cannot prove it; see `passes/apart.py`.

    %c = pypto.claims "o"[%m, 64] : !pypto.claims
    scf.for %i = .. {
      pypto.claim %c at %i from[%r, 0] size[%n, 64]
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IndexType, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_attr_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryAllocEffect, MemoryWriteEffect

from pyptoc.dialects.op_definition import op_definition
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
from pyptoc.dialects.subscripts import Offsets, Sizes
from pyptoc.dialects.words import counted


@irdl_attr_definition
class ClaimsType(ParametrizedAttribute, TypeAttribute):
    """Who stored which element of a destination."""

    name = "pypto.claims"


@op_definition
class ClaimsOp(PyptoOp, Sizes):
    """The start of a check that no two iterations store to one element; made by passes.

    It stands before a forall, and nobody has stored anything yet into the destination,
    which has these sizes; the text is its name in messages.

    Example:
        %c = pypto.claims "o"[%m, 64] : !pypto.claims
    """

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


@op_definition
class ClaimOp(PyptoOp, Offsets, Sizes):
    """Says that an iteration stores the elements of a box; made by passes.

    An element that another iteration has claimed is a run-time error (PTO406).

    Example:
        func.func @f(%n: index, %i: index) {
          %c = pypto.claims "o"[%n, 64] : !pypto.claims
          pypto.claim %c at %i from[%i, 0] size[1, 64]
          func.return
        }
    """

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
        claims, iteration = call.type("claims"), call.type("iteration")
        if not isinstance(claims, ClaimsType):
            call.error(
                "PTO110",
                f"claim takes claims, {call.name_of('claims')} is {claims}",
                at="claims",
                rule="the first operand is a result of pypto.claims",
            )
        if not isinstance(iteration, IndexType):
            call.error(
                "PTO134",
                f"{call.name_of('iteration')} is {iteration}, not index",
                at="iteration",
                rule="an iteration is a value of type index",
            )
        offsets, sizes = mixed_offsets(call), mixed_sizes(call)
        if len(offsets) != len(sizes):
            call.error(
                "PTO131",
                f"a box of {counted(len(offsets), 'offset')} and "
                f"{counted(len(sizes), 'size')}",
                rule="one offset and one size for each dimension",
            )
        return []


CLAIM_OPS = (ClaimsOp, ClaimOp)
"""The whole family."""
