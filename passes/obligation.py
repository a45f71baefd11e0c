"""
One comparison that must hold for an op to be meaningful, and how its text is made.

`obligations.py` and `index_obligations.py` list them op by op.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.base import LiteralOp
from pyptoc.dialects.pypto.brackets import shape_of
from pyptoc.dialects.pypto.elementwise import CastOp
from pyptoc.dialects.record import record
from pyptoc.passes.shapes import DimKey, Dims, is_shaped


@record
class Obligation:
    """`lhs relation rhs` must hold; else `message` with `args` says what is wrong."""

    relation: str
    """`<=` or `==`."""
    lhs: Expr
    rhs: Expr
    message: str
    args: tuple[Expr, ...]
    code: str = "PTO402"
    help: str = ""
    """What would work, with the same `args`."""


def sizes_of(value: SSAValue) -> Dims:
    """The sizes of a tensor: numbers, and a `DimKey` of its own for each `?`."""
    return tuple(
        Expr.const(size) if size >= 0 else Expr.sym(DimKey(value, axis))
        for axis, size in enumerate(shape_of(value.type))
    )


def value_name(value: SSAValue) -> str:
    """`%a`: the name of an argument in the source, else the name of the value."""
    parent = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    if isinstance(value, BlockArgument) and isinstance(parent, FuncOp):
        attributes = parent.arg_attrs.data[value.index] if parent.arg_attrs else None
        name = attributes.data.get("pypto.name") if attributes else None
        if isinstance(name, StringAttr):
            return f"%{name.data}"
    if value.name_hint:
        return f"%{value.name_hint}"
    made_of = _of_its_sizes(value)
    return "the tensor" if made_of is None else value_name(made_of)


def _of_its_sizes(value: SSAValue) -> SSAValue | None:
    """What an elementwise op computed `value` from that has all its dimensions."""
    op = value.owner
    if isinstance(op, CastOp | LiteralOp) and is_shaped(value):
        shape = shape_of(value.type)
        for operand in filter(is_shaped, op.operands):
            if shape_of(operand.type) == shape:
                return operand
    return None


def root_name(key: Hashable) -> str:
    """How a symbol of an expression is shown in a message."""
    if isinstance(key, DimKey):
        return f"dim({value_name(key.value)}, {key.axis})"
    return value_name(cast("SSAValue", key))


def pair(
    a: tuple[SSAValue, int], b: tuple[SSAValue, int], sizes: tuple[Expr, Expr]
) -> Obligation:
    """A dimension of one tensor and one of another are equal."""
    message = (
        f"dimension {a[1]} of {value_name(a[0])} is {{0}}, "
        f"dimension {b[1]} of {value_name(b[0])} is {{1}} "
        "(a dynamic size of 1 does not broadcast)"
    )
    return Obligation("==", *sizes, message, sizes)
