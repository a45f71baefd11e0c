"""
What passes ask of types and expressions all the time, with exact static types.

xDSL's `TensorType` and `IntegerType` are generic: after an `isinstance` their
parameters are unknown to the type checker. These say them once.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.brackets import shape_of as shape_of
from pyptoc.dialects.subscripts import Mixed


def tensor_type(value: SSAValue) -> TensorType[Attribute]:
    """The type of a value that is known to be a tensor."""
    return tensor(value.type)


def tensor_rank(value: SSAValue) -> int:
    """The rank of a tensor value."""
    return tensor_type(value).get_num_dims()


def element_type(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return tensor_type(value).element_type


def tensor(type_: Attribute) -> TensorType[Attribute]:
    """A type that is known to be a tensor's."""
    assert isinstance(type_, TensorType)
    return cast("TensorType[Attribute]", type_)


def as_tensor(type_: Attribute) -> TensorType[Attribute] | None:
    """A type if it is a tensor's."""
    if not isinstance(type_, TensorType):
        return None
    return cast("TensorType[Attribute]", type_)


def integer_width(element: Attribute) -> int | None:
    """The bits of an integer type; None for other types."""
    if isinstance(element, IntegerType):
        return cast("IntegerType", element).width.data
    return None


def constant(number: float, element: Attribute) -> Attribute:
    """A constant of an element type; of integers the nearest one there is."""
    if not isinstance(element, IntegerType):
        assert isinstance(element, AnyFloat)
        return FloatAttr(float(number), element)
    integer = cast("IntegerType", element)
    count = 2**integer.width.data
    low = 0 if integer.signedness.data is Signedness.UNSIGNED else -count // 2
    nearest = max(low, min(low + count - 1, number))
    return IntegerAttr(int(nearest), integer)


def as_expr(item: Mixed) -> Expr:
    """A mixed entry as an expression over SSA values, as it is written."""
    return Expr.const(item) if isinstance(item, int) else Expr.sym(item)


def values_in(expr: Expr) -> list[SSAValue]:
    """The SSA values among the symbols of an expression."""
    return [
        cast("SSAValue", key) for key in expr.symbols() if isinstance(key, SSAValue)
    ]


def name_of(value: SSAValue) -> str:
    """How the program calls a value."""
    if value.name_hint is not None:
        return f"%{value.name_hint}"
    return value.owner.name if isinstance(value.owner, Operation) else "an argument"
