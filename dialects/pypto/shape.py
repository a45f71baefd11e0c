"""Operations that make, cut, move and put together tensors without computing."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    TensorType,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryAllocEffect, NoMemoryEffect, Pure

from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.pypto import infer_shape
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.brackets import (
    OffsetList,
    SizeList,
    check_bounds,
    mixed_offsets,
    shape_of,
    sizes_of,
)
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.creating import CREATING_OPS, ArangeOp, EmptyOp, FullOp
from pyptoc.dialects.pypto.infer import (
    show,
)
from pyptoc.dialects.pypto.properties import Int, Ints
from pyptoc.dialects.pypto.structure import Access, Structure, Structured, pointwise
from pyptoc.dialects.pypto.syntax import Clause, Operands
from pyptoc.dialects.pypto.values import Values
from pyptoc.dialects.pypto.view import ReinterpretOp, ViewOp
from pyptoc.dialects.subscripts import (
    DYNAMIC,
    Mixed,
    Offsets,
    Sizes,
)

SEGMENTS = AttrSizedOperandSegments(as_property=True)


@op_definition
class ReshapeOp(PyptoOp, Sizes):
    """The same elements in row-major order with other sizes; -1 is what is left.

    The number of elements stays (PTO130; PTO404 where only the run knows it). At most
    one size is -1. With one `?` in and one -1 out, the rest of one shape divides the
    rest of the other; otherwise give SSA sizes. -1 beside a size of 0 is an
    error.

    Example:
        %y = pypto.reshape %x[-1, %n, 128] : tensor<?x512xbf16> -> tensor<?x?x128xbf16>
    """

    name = "pypto.reshape"

    source = operand_def(TensorType)
    sizes = var_operand_def(IndexType)
    static_sizes = prop_def(DenseArrayBase)
    result = result_def(TensorType)

    traits = traits_def(NoMemoryEffect())
    SYNTAX = (Operands("source"), SizeList(rest=True))

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        call.tensor("source")
        return [infer_shape.reshape(call.site, call.type("source"), sizes_of(call))]


@op_definition
class TransposeOp(PyptoOp):
    """Dimension i of the result is dimension perm[i] of x.

    perm names each dimension once, counted from 0 (PTO139). Bits are moved only.

    Example:
        %y = pypto.transpose %x perm [1, 0] : tensor<?x64xf32> -> tensor<64x?xf32>
    """

    name = "pypto.transpose"

    source = operand_def(TensorType)
    perm = prop_def(DenseArrayBase)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    SYNTAX = (Operands("source"), Clause("perm", Ints("perm")))

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        source = call.tensor("source")
        return [infer_shape.transpose(call.site, source, call.ints("perm"))]


@op_definition
class ExpandOp(PyptoOp, Sizes, Structured):
    """Repeats dimensions of static size 1; -1 keeps a dimension.

    Sizes align with the last dimension, more of them add dimensions in front. Only a
    static 1 is repeated: other sizes must be equal (PTO113; PTO404 at run time).

    Example:
        %y = pypto.expand %x[4, -1, %n] : tensor<?x1xf32> -> tensor<4x?x?xf32>
    """

    name = "pypto.expand"

    source = operand_def(TensorType)
    sizes = var_operand_def(IndexType)
    static_sizes = prop_def(DenseArrayBase)
    result = result_def(TensorType)

    traits = traits_def(NoMemoryEffect())
    SYNTAX = (Operands("source"), SizeList(rest=True))

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        source = call.tensor("source")
        return [infer_shape.expand(call.site, source, sizes_of(call))]

    def _structure(self) -> Structure:
        """One point for each element."""
        return pointwise([self.source], self.results)


@op_definition
class ConcatOp(PyptoOp):
    """Tensors one after the other along an axis.

    They have one element type, one rank, and one size in all other dimensions (PTO139;
    PTO404 at run time). The sizes along the axis add up and may be 0.

    Example:
        %z = pypto.concat %x, %y axis -1
            : tensor<?x64xf32>, tensor<?x32xf32> -> tensor<?x96xf32>
    """

    name = "pypto.concat"

    inputs = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    result = result_def(TensorType)

    traits = traits_def(NoMemoryEffect())
    SYNTAX = (Values("inputs", 1, None), Clause("axis", Int("axis")))

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        types = [call.tensor("inputs", i) for i in range(len(call.operands["inputs"]))]
        return [infer_shape.concat(call.site, types, call.int("axis"))]


@op_definition
class CloneOp(PyptoOp, Structured):
    """A copy with storage of its own.

    The value is that of x: only storage differs, which a result updated in place would
    share otherwise.

    Example:
        %y = pypto.clone %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.clone"

    source = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(MemoryAllocEffect())
    SYNTAX = (Operands("source"),)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [call.tensor("source")]

    def _structure(self) -> Structure:
        """One point for each element."""
        return pointwise(self.operands, self.results)


class IntoOp(PyptoOp, Offsets, ABC):
    """`<op> %t into %d[%i, 0]`: an offset for each dimension of the destination.

    The dimensions of the source are the trailing ones of the destination and extend
    from their offsets; leading extents are 1.
    """

    @classmethod
    def check_into(cls, call: Call) -> TensorType[Attribute]:
        """Check element types, ranks and static bounds; the destination's type."""
        source, dest = call.tensor("source"), call.tensor("dest")
        if source.element_type != dest.element_type:
            call.error(
                "PTO112",
                f"operand types differ: {source.element_type} and {dest.element_type}",
                at="source",
                label=f"{call.name_of('source')} is {show(source)}, "
                f"{call.name_of('dest')} is {show(dest)}",
                help=f"pypto.cast {call.name_of('source')} to {dest.element_type}",
            )
        shape = shape_of(source)
        leading = dest.get_num_dims() - len(shape)
        if leading < 0:
            call.error(
                "PTO131",
                f"{call.short_name} of rank {len(shape)} into rank "
                f"{dest.get_num_dims()}",
                at="source",
                label=show(source),
            )
        offsets = mixed_offsets(call)
        sizes: list[Mixed] = [1] * leading
        # A size that is not known may be 0: only the offset is checked.
        sizes += [0 if size == DYNAMIC else size for size in shape]
        check_bounds(call, "dest", offsets, sizes)
        return dest


@op_definition
class AssembleOp(IntoOp, Structured):
    """The destination with a part replaced, as a new value.

    An offset for each dimension of the destination. The dimensions of x are its
    trailing ones and extend from their offsets; leading extents are 1. A part outside
    the destination is an error: PTO132, or PTO402 at run time.

    Example:
        %z = pypto.assemble %x into %d[%i, 0]
            : tensor<8x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.assemble"

    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase)
    result = result_def(TensorType)

    traits = traits_def(NoMemoryEffect())
    SYNTAX = (Operands("source"), Clause("into", Operands("dest")), OffsetList())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [cls.check_into(call)]

    def _structure(self) -> Structure:
        """A point for each element of the source, at an offset in the result."""
        lead = len(self.mixed_offsets) - len(shape_of(self.source.type))
        base = pointwise([self.source], [self.source])
        axes = (*[None] * lead, *range(base.rank))
        written = Access(self.result, axes, tuple(self.mixed_offsets))
        return replace(base, writes=(written,))


@op_definition
class StoreOp(IntoOp):
    """Writes into an `outs` of an enclosing forall.

    Offsets are as in `assemble`. No element may be stored by two iterations; a part
    outside the destination is an error: PTO132, or PTO402 at run time. The destination
    is write-only: reading it is an error (PTO153), and storing to anything else as well
    (PTO152).

    Example:
        func.func @rows(%x: tensor<8x64xf32>, %d: tensor<8x64xf32>)
            -> tensor<8x64xf32> {
          %r = pypto.forall (%i = 0 to 8) outs(%o = %d) {
            %row = pypto.view %x[%i, :]
            pypto.store %row into %o[%i, 0]
          }
          func.return %r : tensor<8x64xf32>
        }
    """

    name = "pypto.store"

    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase)

    SYNTAX = (Operands("source"), Clause("into", Operands("dest")), OffsetList())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        if not is_out(call.value("dest"), call):
            call.error(
                "PTO152",
                f"{call.name_of('dest')} is not an output of a forall",
                at="dest",
                rule="store writes into the outs of an enclosing pypto.forall",
                help=f"%r = pypto.assemble {call.name_of('source')} into "
                f"{call.name_of('dest')}[...] gives a new tensor",
            )
        cls.check_into(call)
        return []

    def verify_(self) -> None:
        # Unlike others it is not verified alone: the destination must be an output.
        super().verify_()


def is_out(value: SSAValue, call: Call) -> bool:
    """Whether a value is the write-only destination of a forall."""
    if not isinstance(value, BlockArgument):
        return False
    if call.parser is not None and value in call.parser.outs:
        return True
    parent = value.block.parent_op()
    return parent is not None and parent.name == "pypto.forall"


SHAPE_OPS = (
    *CREATING_OPS,
    ViewOp,
    ReinterpretOp,
    ReshapeOp,
    TransposeOp,
    ExpandOp,
    ConcatOp,
    CloneOp,
    AssembleOp,
    StoreOp,
)
"""The whole family."""

__all__ = [
    "SHAPE_OPS",
    "ArangeOp",
    "AssembleOp",
    "CloneOp",
    "ConcatOp",
    "EmptyOp",
    "ExpandOp",
    "FullOp",
    "IntoOp",
    "ReinterpretOp",
    "ReshapeOp",
    "StoreOp",
    "TransposeOp",
    "ViewOp",
    "is_out",
]
