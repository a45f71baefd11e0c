"""Operations that make, cut, move and put together tensors without computing."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    Float32Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import (
    Attribute,
    BlockArgument,
    SSAValue,
    TypedAttribute,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryAllocEffect, NoMemoryEffect, Pure

from pyptoc.dialects.literals import Number, as_element
from pyptoc.dialects.pypto import infer_elementwise, infer_shape
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.brackets import (
    OffsetList,
    SizeList,
    check_bounds,
    element_of,
    mixed_offsets,
    mixed_sizes,
    shape_of,
)
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.infer import (
    Tensor,
    show,
    static,
    tensor,
    unknown,
)
from pyptoc.dialects.pypto.properties import Int, Ints
from pyptoc.dialects.pypto.structure import Access, Structure, Structured, pointwise
from pyptoc.dialects.pypto.syntax import Clause, LiteralOrScalar, Operands, Values
from pyptoc.dialects.pypto.view import ReinterpretOp, ViewOp
from pyptoc.dialects.subscripts import (
    DYNAMIC,
    Mixed,
    Offsets,
    Sizes,
)

SEGMENTS = AttrSizedOperandSegments(as_property=True)
ScalarAttr = base(Float32Type) | base(IndexType) | base(IntegerType)


@irdl_op_definition
class ReshapeOp(PyptoOp, Sizes):
    """The same elements in row-major order: `reshape %x[-1, 128]`; -1: the rest."""

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
        return [infer_shape.reshape(call.site, call.type("source"), _sizes(call))]


def _sizes(call: Call) -> list[int | None]:
    return [size if isinstance(size, int) else None for size in mixed_sizes(call)]


@irdl_op_definition
class TransposeOp(PyptoOp):
    """Dimension i of the result is dimension perm[i]: `transpose %x perm [1, 0]`."""

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


@irdl_op_definition
class ExpandOp(PyptoOp, Sizes, Structured):
    """Repeats dimensions of static size 1: `expand %x[4, -1]`; -1 keeps a dimension."""

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
        return [infer_shape.expand(call.site, source, _sizes(call))]

    def structure(self) -> Structure:
        """One point for each element."""
        return pointwise([self.source], self.results)


@irdl_op_definition
class ConcatOp(PyptoOp):
    """Tensors one after the other: `concat %a, %b axis -1`."""

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


@irdl_op_definition
class CloneOp(PyptoOp, Structured):
    """A copy with storage of its own: `clone %x`."""

    name = "pypto.clone"

    source = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(MemoryAllocEffect())
    SYNTAX = (Operands("source"),)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [call.tensor("source")]

    def structure(self) -> Structure:
        """One point for each element."""
        return pointwise(self.operands, self.results)


class CreatingOp(PyptoOp, Sizes, ABC):
    """An operation whose result type is not inferred but written (or given to `make`).

    `make(sizes, result_type=bf16)` gives an element type only.
    """

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        sizes = _sizes(call)
        if not call.given:
            call.error(
                "PTO142",
                f"{call.short_name} needs a result type",
                help=f"write : {_type_text(sizes)} at the end",
            )
        if not isinstance(call.given[0], TensorType):
            call.given = (_created(call, call.given[0], sizes),)
            return call.given
        given = cast(Tensor, call.given[0])
        shape = shape_of(given)
        fits = len(shape) == len(sizes) and all(
            size is None or dim in (size, DYNAMIC)
            for size, dim in zip(sizes, shape, strict=True)
        )
        if not fits:
            call.error(
                "PTO140",
                f"{call.short_name} of sizes {_show(mixed_sizes(call))} "
                f"is not {show(given)}",
                at="sizes",
                help=f"write {_type_text(sizes, str(element_of(given)))}",
            )
        return [given]


def _created(call: Call, element: Attribute, sizes: Sequence[int | None]) -> Attribute:
    most = call.ints("max") or [None] * len(sizes)
    dims = [
        unknown(bound) if size is None else static(size)
        for size, bound in zip(sizes, most, strict=True)
    ]
    return tensor(element, dims)


def _type_text(sizes: Sequence[int | None], element: str = "f32") -> str:
    dims = "".join("?x" if size is None else f"{size}x" for size in sizes)
    return f"tensor<{dims}{element}>"


def _show(sizes: Sequence[Mixed]) -> str:
    return "[" + ", ".join(_show_one(size) for size in sizes) + "]"


def _show_one(size: Mixed) -> str:
    return str(size) if isinstance(size, int) else f"%{size.name_hint or '?'}"


@irdl_op_definition
class EmptyOp(CreatingOp):
    """An uninitialised tensor: `empty[%m, 4] : tensor<?x4xf32>`.

    Reading or returning an element that was never written is an error.
    """

    name = "pypto.empty"

    sizes = var_operand_def(IndexType)
    static_sizes = prop_def(DenseArrayBase)
    max = opt_prop_def(ArrayAttr)
    result = result_def(TensorType)

    traits = traits_def(MemoryAllocEffect())
    SYNTAX = (SizeList(),)


@irdl_op_definition
class FullOp(CreatingOp, Structured):
    """A tensor of one value: `full 0.0[%m, 4] : tensor<?x4xf32>`, or of a scalar's.

    The scalar is an f32 for float elements, an i32 or an index for integers.
    """

    name = "pypto.full"

    scalar = opt_operand_def(ScalarAttr)
    sizes = var_operand_def(IndexType)
    value = opt_prop_def(Attribute)
    static_sizes = prop_def(DenseArrayBase)
    max = opt_prop_def(ArrayAttr)
    result = result_def(TensorType)

    irdl_options = (SEGMENTS,)
    traits = traits_def(Pure())
    SYNTAX = (LiteralOrScalar("value", "scalar"), SizeList())

    @property
    def fill(self) -> Attribute | SSAValue:
        """What every element is: a literal or a scalar."""
        if self.scalar is not None:
            return self.scalar
        assert self.value is not None
        return self.value

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        types = CreatingOp.infer.__func__(cls, call)  # pyright: ignore
        result = cast(Tensor, types[0])
        element = result.element_type
        if call.operands.get("scalar"):
            infer_elementwise.want_scalars(call.site, call.types("scalar"), element)
            return types
        _, value = call.written[0]
        if isinstance(value, Number):
            value = as_element(value, element, "full")
            call.properties["value"] = value
        type = value.get_type() if isinstance(value, TypedAttribute) else None
        if type != element:
            call.error("PTO115", f"a value of type {type} in {show(result)}")
        return types

    def structure(self) -> Structure:
        """One point for each element."""
        return pointwise([], self.results)


@irdl_op_definition
class ArangeOp(CreatingOp, Structured):
    """0, 1, 2, .. along the last dimension: `arange[%n] : tensor<?xi32>`; wraps."""

    name = "pypto.arange"

    sizes = var_operand_def(IndexType)
    static_sizes = prop_def(DenseArrayBase)
    max = opt_prop_def(ArrayAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    SYNTAX = (SizeList(),)

    def structure(self) -> Structure:
        """One point for each element."""
        return pointwise([], self.results)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        types = CreatingOp.infer.__func__(cls, call)  # pyright: ignore
        infer_shape.want_numbers(call.site, cast(Tensor, types[0]))
        return types


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


@irdl_op_definition
class AssembleOp(IntoOp, Structured):
    """A tensor with a part replaced: `%r = assemble %t into %d[%i, 0]`."""

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

    def structure(self) -> Structure:
        """A point for each element of the source, at an offset in the result."""
        lead = len(self.mixed_offsets) - len(shape_of(self.source.type))
        base = pointwise([self.source], [self.source])
        axes = (*[None] * lead, *range(base.rank))
        written = Access(self.result, axes, tuple(self.mixed_offsets))
        return replace(base, writes=(written,))


@irdl_op_definition
class StoreOp(IntoOp):
    """Writes into an `outs` of an enclosing forall: `store %t into %o[%i, 0]`."""

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


def is_out(value: SSAValue, call: Call) -> bool:
    """Whether a value is the write-only destination of a forall."""
    if not isinstance(value, BlockArgument):
        return False
    if call.parser is not None and value in call.parser.outs:
        return True
    parent = value.block.parent_op()
    return parent is not None and parent.name == "pypto.forall"


SHAPE_OPS = (
    ViewOp,
    ReinterpretOp,
    ReshapeOp,
    TransposeOp,
    ExpandOp,
    ConcatOp,
    CloneOp,
    EmptyOp,
    FullOp,
    ArangeOp,
    AssembleOp,
    StoreOp,
)
"""The whole family."""
