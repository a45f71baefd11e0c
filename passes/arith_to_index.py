"""
Integer arithmetic of `arith` on `index` values becomes `pypto.index`.

One op holds all index arithmetic, so that every analysis reads it in one way:

    %0 = arith.subi %ub, %lb : index            %0 = pypto.index %ub - %lb
    %1 = arith.minsi %0, %c8 : index      ->    %1 = pypto.index min(%0, %c8)
    %2 = arith.cmpi slt, %1, %c8 : index        %2 = pypto.index %1 < %c8

`arith.constant` stays. `arith.divsi` and `arith.remsi` round toward zero, which takes
a few more terms than `floordiv` and `mod`. Unsigned operations have no counterpart:
an `index` is signed here, and a negative one is an error where it is used as a size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.expr import Compare, Expr, maximum, minimum
from pyptoc.dialects.pypto.scalars import IndexOp
from pyptoc.passes.builder import Builder


def truncated_quotient(a: Expr, b: Expr) -> Expr:
    """`a / b` rounded toward zero; division by zero stays an error of the run."""
    if b.is_const and b.value > 0:
        return maximum(a, 0).floordiv(b) - maximum(-a, 0).floordiv(b)
    size = maximum(a, -a).floordiv(maximum(b, -b))
    return _sign(a) * _sign(b) * size


def _sign(x: Expr) -> Expr:
    return minimum(maximum(x, -1), 1)


_BINARY: dict[type[Operation], Callable[[Expr, Expr], Expr]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.FloorDivSIOp: lambda a, b: a.floordiv(b),
    arith.CeilDivSIOp: lambda a, b: a.ceildiv(b),
    arith.DivSIOp: truncated_quotient,
    arith.RemSIOp: lambda a, b: a - b * truncated_quotient(a, b),
    arith.MinSIOp: lambda a, b: minimum(a, b),
    arith.MaxSIOp: lambda a, b: maximum(a, b),
}

_UNSIGNED: dict[type[Operation], str] = {
    arith.DivUIOp: "{0} floordiv {1}",
    arith.CeilDivUIOp: "{0} ceildiv {1}",
    arith.RemUIOp: "{0} mod {1}",
    arith.MinUIOp: "min({0}, {1})",
    arith.MaxUIOp: "max({0}, {1})",
}
"""Unsigned operations and what to write in `pypto.index` instead."""

_PREDICATES = ("==", "ne", "<", "<=", ">", ">=")
"""`pypto.index` spellings of the signed predicates of `arith.cmpi`, by number."""


def convert(op: Operation) -> None:
    """Replace `op` if it is integer arithmetic of `arith` on `index` values."""
    if not op.operands:
        return
    if isinstance(op, arith.IndexCastOp):
        _convert_cast(op)
        return
    if not isinstance(op.operands[0].type, IndexType):
        return
    kind = type(op)
    if kind in _UNSIGNED:
        _refuse(op, _UNSIGNED[kind])
    build = Builder.before(op)
    if kind in _BINARY:
        a, b = map(_operand, op.operands)
        name = op.results[0].name_hint
        _replace(op, build, _BINARY[kind](a, b), name)
    elif isinstance(op, arith.CmpiOp):
        number = op.predicate.value.data
        if number >= len(_PREDICATES):
            _refuse(op, "{0} < {1}")
        a, b = map(_operand, op.operands)
        comparison = Compare(_PREDICATES[number], a, b)
        _replace(op, build, comparison, op.results[0].name_hint)


def _operand(value: SSAValue) -> Expr:
    """A constant as its number, anything else as a symbol."""
    if isinstance(value.owner, arith.ConstantOp):
        number = value.owner.value
        if isinstance(number, IntegerAttr):
            return Expr.const(number.value.data)
    return Expr.sym(value)


def _replace(
    op: Operation, build: Builder, expr: Expr | Compare, name: str | None
) -> None:
    if isinstance(expr, Expr):
        value = build.index(expr, name)
    else:
        value = build.compare(expr, name)
    made = value.owner
    if isinstance(made, IndexOp):
        made.attributes.update(op.attributes)
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


def _convert_cast(op: arith.IndexCastOp) -> None:
    """A constant of another integer type, cast to `index`, is an `index` constant."""
    source = op.input.owner
    if not isinstance(op.result.type, IndexType):
        return
    if not isinstance(source, arith.ConstantOp):
        return
    if not isinstance(source.value, IntegerAttr):
        return
    value = Builder.before(op).constant(source.value.value.data)
    value.name_hint = op.result.name_hint or value.name_hint
    op.result.replace_all_uses_with(value)
    op.detach()
    op.erase()
    if not source.result.uses:
        source.detach()
        source.erase()


def _refuse(op: Operation, spelling: str) -> NoReturn:
    names = [f"%{value.name_hint or '_'}" for value in op.operands]
    error(
        op,
        "PTO182",
        f"unsigned {op.name} on index values",
        length=len(op.name),
        rule="an index is a signed 64-bit integer",
        help=f"write pypto.index {spelling.format(*names)}",
    )
