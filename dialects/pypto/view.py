"""Looking at tensors: parts of them, and their bytes as another type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IndexType, TensorType
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import NoMemoryEffect

from pyptoc.dialects.npu_attrs import MaxAttr
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.pypto import infer_shape
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.brackets import (
    SubscriptList,
    check_bounds,
    mixed_offsets,
    mixed_sizes,
    most_sizes,
    shape_of,
)
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.infer import (
    Dim,
    Tensor,
    dims_of,
    static,
    tensor,
    unknown,
)
from pyptoc.dialects.pypto.properties import Type
from pyptoc.dialects.pypto.syntax import Clause, Operands
from pyptoc.dialects.subscripts import DYNAMIC, WHOLE, Mixed, Subscripted

SEGMENTS = AttrSizedOperandSegments(as_property=True)


@op_definition
class ViewOp(PyptoOp, Subscripted):
    """A part of a tensor: `view %x[%i, :, %o +: %n]`.

    One subscript for each dimension: a bare index drops its dimension, `:` takes all of
    it, `offset +: size` a part. Offsets are at least 0 and offset + size is at most the
    dimension, else it is an error: PTO132, or PTO402 at run time. Size 0 is legal.

    A dynamic size makes a `?`; `max = [..]` bounds the sizes of the result where range
    analysis cannot, and a size above it is a run-time error. Nothing is copied.

    `view %x[:, 512 +: 128] to bf16` reads the bytes of what is selected as elements of
    another type: 128 i8 are 64 bf16. Offset, size and `max` count elements of `%x`; the
    last dimension is kept, starts at a multiple of the new type's size and has whole
    elements of it, as have the rows of `%x`. The first byte is the lowest one.

    Example:
        %y = pypto.view %x[%i, :, %o +: %n]
            : tensor<4x16x64xf32> -> tensor<16x?xf32>
        %y = pypto.view %x[%i, :, 16 +: 32] to bf16
            : tensor<4x16x64xi8> -> tensor<16x16xbf16>
    """

    name = "pypto.view"

    source = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase)
    static_sizes = prop_def(DenseArrayBase)
    dropped = prop_def(DenseArrayBase)
    target = opt_prop_def(TypeAttribute)
    max = opt_prop_def(ArrayAttr)
    result = result_def(TensorType)

    irdl_options = (SEGMENTS,)
    traits = traits_def(NoMemoryEffect())
    SYNTAX = (
        Operands("source"),
        SubscriptList(),
        Clause("to", Type("target"), optional=True),
    )

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        type = call.tensor("source")
        offsets, sizes = mixed_offsets(call), mixed_sizes(call)
        check_bounds(call, "source", offsets, sizes)
        dims, target = view_dims(call, "source"), call.properties.get("target")
        if target is None:
            return [tensor(type.element_type, dims)]
        if len(offsets) - 1 in call.ints("dropped"):
            call.error(
                "PTO131",
                f"view to {target} drops the last dimension",
                at=f"subscripts.{len(offsets) - 1}",
                rule="the bytes of the last dimension are read in another way",
                help="offset +: size keeps it",
            )
        result = infer_shape.reinterpret(call.site, type, target, dims)
        _check_alignment(call, type.element_type, target, offsets[-1])
        return [result]


def _check_alignment(
    call: Call, element: Attribute, target: Attribute, offset: Mixed
) -> None:
    """The first byte of a view to `target` may start an element of that type."""
    have, want = map(infer_shape.element_bytes, (element, target))
    if isinstance(offset, int) and offset * have % want:
        call.error(
            "PTO134",
            f"view to {target} starts at byte {offset * have}, which is no multiple "
            f"of {want}",
            at=f"subscripts.{call.type('source').get_num_dims() - 1}",  # pyright: ignore
            here=f"element {offset} of {have} B",
        )


@op_definition
class ReinterpretOp(PyptoOp):
    """All bytes of a tensor as elements of another type.

    The last dimension grows or shrinks: [4, 128] of i8 is [4, 64] of bf16. The first
    byte is the lowest one. A last dimension that is no whole number of elements of the
    new type is an error: PTO134, or PTO402 at run time. Nothing is converted or copied.
    `view %x[..] to bf16` does the same to a part.

    Example:
        %y = pypto.reinterpret %x to bf16 : tensor<?x128xi8> -> tensor<?x64xbf16>
    """

    name = "pypto.reinterpret"

    source = operand_def(TensorType)
    target = prop_def(TypeAttribute)
    result = result_def(TensorType)

    traits = traits_def(NoMemoryEffect())
    SYNTAX = (Operands("source"), Clause("to", Type("target")))

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        source, target = call.tensor("source"), call.properties["target"]
        return [infer_shape.reinterpret(call.site, source, target, dims_of(source))]


def view_dims(call: Call, field: str) -> list[Dim]:
    """The dimensions of what subscripts select, with their bounds.

    Inside task bodies a dynamic size is bounded by the source's bound, or by `max`.
    """
    type = call.type(field)
    dropped = call.ints("dropped")
    bounded = getattr(type, "encoding", None)
    limits = bounded.sizes if isinstance(bounded, MaxAttr) else None
    kept: list[Dim] = []
    dims = _dims(type)
    for axis, (dim, size) in enumerate(zip(dims, mixed_sizes(call), strict=True)):
        if axis in dropped:
            continue
        if isinstance(size, int):
            kept.append(dim if size == WHOLE else static(size))
        else:
            kept.append(unknown(limits[axis] if limits else None))
    most = most_sizes(call, len(kept))
    if limits is None:
        return kept
    return [
        dim if dim.is_static or bound is None else unknown(bound)
        for dim, bound in zip(kept, most, strict=True)
    ]


def _dims(type: Attribute) -> Sequence[Dim]:
    if isinstance(type, TensorType):
        return dims_of(cast(Tensor, type))
    return [unknown() if n == DYNAMIC else static(n) for n in shape_of(type)]
