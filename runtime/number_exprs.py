"""
Numbers of a kernel as expressions over those that are not computed from others.

    %r = pypto.index 64 * %i + %t
    %s = pypto.index min(%r, 100)         expr_of(%s, Expr.sym) = min(64 * %i + %t, 100)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.scalars import IndexOp


def expr_of(
    value: SSAValue | int,
    other: Callable[[SSAValue], Expr | None],
    known: dict[SSAValue, Expr | None] | None = None,
) -> Expr | None:
    """A number as an expression. None: `other` has none of something that it needs.

    other: that of what is no constant, and of what `pypto.index` compares. known: of
    the numbers that were asked for before.
    """
    if isinstance(value, int):
        return Expr.const(value)
    known = {} if known is None else known
    if value not in known:
        known[value] = _expr_of(value, other, known)
    return known[value]


def _expr_of(
    value: SSAValue,
    other: Callable[[SSAValue], Expr | None],
    known: dict[SSAValue, Expr | None],
) -> Expr | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return Expr.const(cast("IntegerAttr[Any]", owner.value).value.data)
    if not isinstance(owner, IndexOp):
        return other(value)
    found = owner.value_expr
    if not isinstance(found, Expr):
        return other(value)
    inputs: dict[Hashable, Expr | int] = {}
    for each in owner.inputs:
        expr = expr_of(each, other, known)
        if expr is None:
            return None
        inputs[each] = expr
    return found.subs(inputs)
