"""`arith` and `math` on scalars as Python text, in the types that they have.

Integers wrap in their type, `index` has 64 bits, floats are rounded to their type after
each operation. `translate` gives the text for one operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, IntegerType
from xdsl.ir import Attribute, Operation

from pyptoc.runtime import numerics


def to_f32(value: float) -> float:
    """The value rounded to f32; sums and products of two f32 round only once so."""
    return float(np.float32(value))


def divide(a: float, b: float) -> float:
    """IEEE division: no exception for a zero divisor."""
    with np.errstate(all="ignore"):
        return float(np.float32(a) / np.float32(b))


def truncated_quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def truncated_remainder(a: int, b: int) -> int:
    return a - b * truncated_quotient(a, b)


def maximum(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else max(a, b)


def minimum(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else min(a, b)


def wrap(value: int, width: int) -> int:
    """An integer as a value of its type, in two's complement."""
    low = int(value) & ((1 << width) - 1)
    return low - (1 << width) if low >> (width - 1) else low


def shift_left(value: int, count: int) -> int:
    return value << count if 0 <= count < 64 else 0


def shift_right(value: int, count: int) -> int:
    return value >> (count if 0 <= count < 64 else 64)


def f32_function(function: np.ufunc) -> Callable[..., float]:
    """A numpy function of f32 on Python floats."""

    def apply(*args: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*map(np.float32, args)))

    return apply


def _rsqrt(value: float) -> float:
    return divide(1.0, FUNCTIONS["sqrt"](value))


FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": f32_function(np.sqrt),
    "exp": f32_function(np.exp),
    "log": f32_function(np.log),
    "absf": f32_function(np.absolute),
    "powf": f32_function(np.power),
    "sin": f32_function(np.sin),
    "cos": f32_function(np.cos),
    "tanh": f32_function(np.tanh),
    "floor": f32_function(np.floor),
    "ceil": f32_function(np.ceil),
    "trunc": f32_function(np.trunc),
    "roundeven": f32_function(np.rint),
    "rsqrt": _rsqrt,
    "maxnumf": f32_function(np.fmax),
    "minnumf": f32_function(np.fmin),
}
"""The operations of `math`, and those of `arith` that Python has no operator for."""

HELPERS: dict[str, Any] = {
    "to_f32": to_f32,
    "divide": divide,
    "truncated_quotient": truncated_quotient,
    "truncated_remainder": truncated_remainder,
    "maximum": maximum,
    "minimum": minimum,
    "wrap": wrap,
    "shift_left": shift_left,
    "shift_right": shift_right,
    **{f"{name}_f32": function for name, function in FUNCTIONS.items()},
}

SIGNED: dict[str, str] = {
    "arith.addi": "{0} + {1}",
    "arith.subi": "{0} - {1}",
    "arith.muli": "{0} * {1}",
    "arith.floordivsi": "{0} // {1}",
    "arith.ceildivsi": "-(-{0} // {1})",
    "arith.divsi": "truncated_quotient({0}, {1})",
    "arith.remsi": "truncated_remainder({0}, {1})",
    "arith.minsi": "min({0}, {1})",
    "arith.maxsi": "max({0}, {1})",
    "arith.andi": "{0} & {1}",
    "arith.ori": "{0} | {1}",
    "arith.xori": "{0} ^ {1}",
    "arith.shli": "shift_left({0}, {1})",
    "arith.shrsi": "shift_right({0}, {1})",
    "arith.trunci": "{0}",
}
UNSIGNED: dict[str, str] = {
    "arith.divui": "{0} // {1}",
    "arith.remui": "{0} % {1}",
    "arith.ceildivui": "-(-{0} // {1})",
    "arith.minui": "min({0}, {1})",
    "arith.maxui": "max({0}, {1})",
    "arith.shrui": "shift_right({0}, {1})",
    "arith.extui": "{0}",
    "arith.index_castui": "{0}",
}
WIDENING: dict[str, str] = {"arith.index_cast": "{0}", "arith.extsi": "{0}"}
FLOATS: dict[str, str] = {
    "arith.addf": "to_f32({0} + {1})",
    "arith.subf": "to_f32({0} - {1})",
    "arith.mulf": "to_f32({0} * {1})",
    "arith.divf": "divide({0}, {1})",
    "arith.negf": "-{0}",
    "arith.maximumf": "maximum({0}, {1})",
    "arith.minimumf": "minimum({0}, {1})",
    "arith.sitofp": "to_f32({0})",
    "arith.extf": "{0}",
    "arith.truncf": "{0}",
    **{f"arith.{name}": f"{name}_f32({{0}}, {{1}})" for name in ("maxnumf", "minnumf")},
    **{f"math.{name}": f"{name}_f32({{0}})" for name in FUNCTIONS},
    "math.powf": "powf_f32({0}, {1})",
}
OTHERS = ("arith.select", "arith.fptosi", "arith.cmpi", "arith.cmpf")

NAMES = (*SIGNED, *UNSIGNED, *WIDENING, *FLOATS, *OTHERS)
"""The operations that `translate` knows."""

# The predicates in the order of their numbers.
_INTEGERS = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_ORDERED = "({0} == {0} and {1} == {1})"
_APART = "({0} < {1} or {0} > {1})"
_COMPARED = (
    *("False", "{0} == {1}", "{0} > {1}", "{0} >= {1}", "{0} < {1}", "{0} <= {1}"),
    *(_APART, _ORDERED, f"not {_APART}", "not {0} <= {1}", "not {0} < {1}"),
    *("not {0} >= {1}", "not {0} > {1}", "{0} != {1}", f"not {_ORDERED}", "True"),
)


def translate(op: Operation, args: list[str], bind: Callable[[object], str]) -> str:
    """The text that computes the result; `bind` names a function for it."""
    name = op.name
    operand = op.operands[0].type
    if name == "arith.select":
        return "{1} if {0} else {2}".format(*args)
    if isinstance(op, arith.CmpiOp):
        number = op.predicate.value.data
        args = _unsigned(args, operand) if number > 5 else args
        return f"{args[0]} {_INTEGERS[number]} {args[1]}"
    if isinstance(op, arith.CmpfOp):
        return _COMPARED[op.predicate.value.data].format(*args)
    result = op.results[0].type
    if name in FLOATS:
        return _rounded(FLOATS[name].format(*args), result, bind)
    if name == "arith.fptosi":

        def saturated(value: float) -> int:
            return int(numerics.cast(np.asarray(value, np.float32), result))

        return f"{bind(saturated)}({args[0]})"
    if name in WIDENING:
        # An i1 sign-extends: true is -1.
        text = f"-int({args[0]})" if _width(operand) == 1 else args[0]
        return _wrapped(text, result)
    if name in UNSIGNED:
        return _wrapped(UNSIGNED[name].format(*_unsigned(args, operand)), result)
    return _wrapped(SIGNED[name].format(*args), result)


def _width(type_: Attribute) -> int | None:
    """The bits of an integer; None of an index, whose overflow is found where it is
    used."""
    return cast(IntegerType, type_).bitwidth if isinstance(type_, IntegerType) else None


def _unsigned(args: list[str], type_: Attribute) -> list[str]:
    width = _width(type_)
    return args if width is None else [f"({a} & {(1 << width) - 1})" for a in args]


def _wrapped(text: str, type_: Attribute) -> str:
    width = _width(type_)
    if width is None:
        return text
    return f"bool(({text}) & 1)" if width == 1 else f"wrap({text}, {width})"


def _rounded(text: str, type_: Attribute, bind: Callable[[object], str]) -> str:
    if isinstance(type_, Float32Type):
        return text
    dtype = numerics.storage_dtype(type_)

    def to_type(value: float) -> float:
        return float(np.asarray(value, np.float32).astype(dtype))

    return f"{bind(to_type)}({text})"
