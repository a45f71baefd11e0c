"""Sizes and times as remarks show them: with units, dimensions by their names."""

from __future__ import annotations

from collections.abc import Hashable
from math import prod

from xdsl.dialects import func
from xdsl.ir import BlockArgument, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.tile_types import element_bits
from pyptoc.dialects.words import counted
from pyptoc.passes.shapes import DimKey, argument_dimension_names
from pyptoc.passes.typed import tensor_type

LONG = 60
"""Characters of a formula in a remark."""


def tensor_text(value: SSAValue) -> str:
    """How large a tensor is: `4.19 MB`; with dynamic sizes its type."""
    type_ = tensor_type(value)
    shape = type_.get_shape()
    if min(shape, default=0) < 0:
        return str(type_)
    return byte_text(prod(shape) * element_bits(type_.element_type) / 8)


def time_text(seconds: float) -> str:
    """`12.30 us`, with as many digits as tables have; long times in ms or s."""
    for factor, unit in ((1e6, "us"), (1e3, "ms")):
        if seconds * factor < 1e4:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds:.2f} s"


def byte_text(size: float) -> str:
    """`4.19 MB`"""
    unit = "B"
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{float(size):.3g} {unit}"


def size_text(size: Expr, function: func.FuncOp) -> str:
    """`4.19 MB`, or `256 * M + 4096 B`; a long formula without what it nests."""
    if size.is_const:
        return byte_text(size.value)
    names, entry = argument_dimension_names(function), function.body.block

    def name(key: Hashable) -> str:
        if isinstance(key, DimKey):
            value = key.value
            known: str | None = None
            if isinstance(value, BlockArgument) and value.block is entry:
                known = names.get((value.index, key.axis))
            return known or f"dim(%{value.name_hint}, {key.axis})"
        hint = key.name_hint if isinstance(key, SSAValue) else None
        return f"%{hint}" if hint else "%.."

    return f"{shortened(size.to_string(name))} B"


def shortened(formula: str) -> str:
    """
    A sum of no more than `LONG` characters, if that can be.

    What stands in parentheses is left out, `4 * max(..) * t`, then the terms that come
    last: `128 * t + 2 more terms`.
    """
    if len(formula) <= LONG:
        return formula
    kept: list[str] = []
    depth = 0
    for character in formula:
        depth -= character == ")"
        if not depth:
            kept.append(character)
        if character == "(":
            kept += [".."] * (not depth)
            depth += 1
    terms = "".join(kept).split(" + ")
    shown = terms[:1]
    for term in terms[1:]:
        if len(" + ".join([*shown, term])) > LONG:
            break
        shown.append(term)
    left = len(terms) - len(shown)
    return " + ".join(shown) + (f" + {counted(left, 'more term')}" if left else "")
