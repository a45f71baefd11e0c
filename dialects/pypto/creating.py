"""Operations that create tensors: their result type is written, not inferred."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    Float32Type,
    IndexType,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue, TypedAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    base,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryAllocEffect, Pure

from pyptoc.dialects.literals import Number, as_element
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.pypto import infer_elementwise
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.brackets import (
    SizeList,
    element_of,
    mixed_sizes,
    most_sizes,
    shape_of,
    sizes_of,
)
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.infer import (
    Tensor,
    as_tensor,
    show,
    static,
    tensor,
    ui8,
    unknown,
)
from pyptoc.dialects.pypto.infer_elementwise import Domain
from pyptoc.dialects.pypto.properties import LiteralOrScalar
from pyptoc.dialects.pypto.structure import Structure, Structured, pointwise
from pyptoc.dialects.subscripts import DYNAMIC, Mixed, Sizes

ScalarAttr = base(Float32Type) | base(IndexType) | base(IntegerType)


class CreatingOp(PyptoOp, Sizes, ABC):
    """An operation whose result type is not inferred but written (or given to `make`).

    `make(sizes, result_type=bf16)` gives an element type only.
    """

    sizes = var_operand_def(IndexType)
    static_sizes = prop_def(DenseArrayBase)
    max = opt_prop_def(ArrayAttr)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        sizes = sizes_of(call)
        most_sizes(call, len(sizes))
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
    dims = [
        unknown(bound) if size is None else static(size)
        for size, bound in zip(sizes, most_sizes(call, len(sizes)), strict=True)
    ]
    return tensor(element, dims)


def _type_text(sizes: Sequence[int | None], element: str = "f32") -> str:
    dims = "".join("?x" if size is None else f"{size}x" for size in sizes)
    return f"tensor<{dims}{element}>"


def _show(sizes: Sequence[Mixed]) -> str:
    return "[" + ", ".join(_show_one(size) for size in sizes) + "]"


def _show_one(size: Mixed) -> str:
    return str(size) if isinstance(size, int) else f"%{size.name_hint or '?'}"


@op_definition
class EmptyOp(CreatingOp):
    """An uninitialised tensor.

    The type at the end is needed. Reading, or returning, an element that was never
    written is a run-time error (PTO405). A negative size is an error.

    Example:
        %y = pypto.empty[%m, 4] : tensor<?x4xf32>
    """

    name = "pypto.empty"

    traits = traits_def(MemoryAllocEffect())
    SYNTAX = (SizeList(),)


@op_definition
class FullOp(CreatingOp, Structured):
    """A tensor of one value: a number, or that of a scalar.

    The type at the end is needed; the number is rounded once to its element type. An
    integer type takes only whole numbers that it holds (PTO115). The scalar is an f32
    for float elements, an i32 or an index for integers, which they must hold (PTO403),
    an i1 for i1; f8 elements take none. A negative size is an error.

    Example:
        %y = pypto.full 0.0[%m, 4] : tensor<?x4xf32>
        %y = pypto.full %s[%m, 4] : f32 -> tensor<?x4xf32>
        %y = pypto.full %s[%m, 4] : index -> tensor<?x4xi64>
        %y = pypto.full %s[%m, 4] : i32 -> tensor<?x4xi32>
        %y = pypto.full %s[%m, 4] : i1 -> tensor<?x4xi1>
    """

    name = "pypto.full"

    scalar = opt_operand_def(ScalarAttr)
    value = opt_prop_def(Attribute)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
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
            cls._check_scalar(call)
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

    @classmethod
    def _check_scalar(cls, call: Call) -> None:
        if (shaped := as_tensor(call.type("scalar"))) is not None:
            call.error(
                "PTO110",
                f"full takes a number or a scalar, {call.name_of('scalar')} is "
                f"{show(shaped)}",
                at="scalar",
                help="pypto.expand repeats the elements of a tensor",
            )

    def _structure(self) -> Structure:
        """One point for each element."""
        return pointwise([], self.results)


@op_definition
class ArangeOp(CreatingOp, Structured):
    """0, 1, 2, .. along the last dimension, equal in all others.

    The type at the end is needed; numbers are rounded to it, and an integer type holds
    all of them (PTO115). A negative size is an error.

    Example:
        %y = pypto.arange[4, %n] : tensor<4x?xi32>
    """

    name = "pypto.arange"

    traits = traits_def(Pure())
    SYNTAX = (SizeList(),)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        (type,) = CreatingOp.infer.__func__(cls, call)  # pyright: ignore
        element = element_of(type)
        if not Domain.NUMBER.holds(element):
            call.error(
                "PTO111",
                f"arange of {element} elements: the result is {show(type)}",
                at="types",
                rule=f"elements are {Domain.NUMBER.value}",
            )
        last = shape_of(type)[-1] if shape_of(type) else 0
        if isinstance(element, IntegerType):
            most = 2 ** (element.bitwidth - (element != ui8)) - 1
            if last - 1 > most:
                call.error(
                    "PTO115",
                    f"the numbers 0 to {last - 1} do not fit in {element}",
                    at="sizes",
                    rule=f"{element} holds at most {most}",
                )
        return [type]

    def _structure(self) -> Structure:
        """One point for each element."""
        return pointwise([], self.results)


CREATING_OPS = (EmptyOp, FullOp, ArangeOp)
"""The whole family."""
