"""Scalars of the reference interpreter: pypto.index and scalar, assert, arith, math."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation

from pyptoc.dialects.expr import Compare
from pyptoc.runtime import numerics
from pyptoc.runtime.reference_core import Interpreter, handles

# Integer expressions.


def evaluate(interp: Interpreter, op: Any, expr: Any) -> int | bool:
    """An integer expression over s0, s1, ..: the operands `inputs`."""
    values = {f"s{i}": int(interp.env[value]) for i, value in enumerate(op.inputs)}
    try:
        return expr.evaluate(values)
    except ZeroDivisionError:
        interp.fail(op, "PTO403", f"division by zero in {expr.to_string()}")
    except OverflowError as error:
        interp.fail(op, "PTO403", f"{error}: index arithmetic has 64 bits")


@handles("pypto.index")
def index(interp: Interpreter, op: Any) -> int | bool:
    return evaluate(interp, op, op.expr.data)


@handles("pypto.assert")
def check(interp: Interpreter, op: Any) -> None:
    expr = op.expr.data
    if evaluate(interp, op, expr):
        return
    values = [interp.integer(value) for value in op.values]
    if not values and isinstance(expr, Compare):
        values = [int(evaluate(interp, op, side)) for side in (expr.lhs, expr.rhs)]
    text = op.message.data
    for position, value in enumerate(values):
        text = text.replace(f"{{{position}}}", str(value))
    code = "PTO401" if op.code is None else op.code.data
    names = {f"s{i}": f"%{v.name_hint or i}" for i, v in enumerate(op.inputs)}

    def name(key: Hashable) -> str:
        return names[str(key)]

    condition = expr.to_string(name)
    interp.fail(op, code, text, rule=f"assert {condition}")


# Float expressions: each operation rounds once to f32, in the order written.

SCALAR: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "neg": np.negative,
    "pow": np.power,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
}


def scalar_value(expr: Any, operands: list[np.float32]) -> np.float32:
    """The value of a float expression tree."""
    if expr.op == "number":
        return np.float32(expr.value)
    if expr.op == "operand":
        return operands[int(expr.value)]
    args = [scalar_value(arg, operands) for arg in expr.args]
    return np.float32(SCALAR[expr.op](*args))


@handles("pypto.scalar")
def scalar(interp: Interpreter, op: Any) -> np.float32:
    operands = [np.float32(interp.env[value]) for value in op.inputs]
    return scalar_value(op.expr.data, operands)


# arith and math on scalars.


@handles("arith.constant")
def constant(interp: Interpreter, op: Any) -> Any:
    value = op.value
    type_ = op.results[0].type
    if isinstance(value, IntegerAttr):
        number = value.value.data
        return bool(number) if type_ == IntegerType(1) else number
    if isinstance(value, FloatAttr):
        return _as_float(value.value.data, type_)
    interp.fail(op, "PTO190", f"arith.constant of {type_}: pypto.full makes one")


def _as_float(value: Any, type_: Attribute) -> Any:
    """A float scalar in its own type."""
    return np.asarray(value).astype(numerics.storage_dtype(type_))[()]


def _bits(type_: Attribute) -> int:
    if isinstance(type_, IndexType):
        return 64
    assert isinstance(type_, IntegerType)
    return type_.bitwidth


def wrapped(value: int, type_: Attribute) -> int | bool:
    """An integer as a value of its type, in two's complement."""
    width = _bits(type_)
    low = int(value) & ((1 << width) - 1)
    if width == 1:
        return bool(low)
    return low - (1 << width) if low >> (width - 1) else low


def _unsigned(value: int, type_: Attribute) -> int:
    return int(value) & ((1 << _bits(type_)) - 1)


def _trunc_div(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


INTEGER: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "minsi": min,
    "maxsi": max,
    "divsi": _trunc_div,
    "remsi": lambda a, b: a - b * _trunc_div(a, b),
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "shli": lambda a, b: a << b if 0 <= b < 64 else 0,
    "shrsi": lambda a, b: a >> (b if 0 <= b < 64 else 64),
}
UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "ceildivui": lambda a, b: -(-a // b),
    "minui": min,
    "maxui": max,
    "shrui": lambda a, b: a >> min(b, 64),
}
FLOAT: dict[str, Callable[..., Any]] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "negf": np.negative,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
}


def _rsqrt(x: Any) -> Any:
    return np.float32(1) / np.sqrt(x)


MATH: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "powf": np.power,
    "absf": np.abs,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "roundeven": np.rint,
}


def integer_op(interp: Interpreter, op: Operation) -> int | bool:
    name = op.name.partition(".")[2]
    type_ = op.results[0].type
    a, b = (int(interp.env[value]) for value in op.operands)
    try:
        if name in INTEGER:
            return wrapped(INTEGER[name](a, b), type_)
        a, b = _unsigned(a, type_), _unsigned(b, type_)
        return wrapped(UNSIGNED[name](a, b), type_)
    except ZeroDivisionError:
        interp.fail(op, "PTO403", f"division by zero in {op.name}")


def float_op(interp: Interpreter, op: Operation) -> Any:
    name = op.name.partition(".")[2]
    function = FLOAT[name] if op.name.startswith("arith.") else MATH[name]
    args = [np.float32(interp.env[value]) for value in op.operands]
    return _as_float(function(*args), op.results[0].type)


for _name in (*INTEGER, *UNSIGNED):
    handles(f"arith.{_name}")(integer_op)
for _name in FLOAT:
    handles(f"arith.{_name}")(float_op)
for _name in MATH:
    handles(f"math.{_name}")(float_op)

PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


@handles("arith.cmpi")
def cmpi(interp: Interpreter, op: Any) -> bool:
    a, b = (int(interp.env[value]) for value in op.operands)
    predicate: str = PREDICATES[int(op.predicate.value.data)]
    if predicate[0] == "u":
        a, b = (_unsigned(value, op.operands[0].type) for value in (a, b))
    compare = {"eq": a == b, "ne": a != b}
    compare |= {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}
    return compare[predicate if predicate in compare else predicate[1:]]


@handles("arith.cmpf")
def cmpf(interp: Interpreter, op: Any) -> bool:
    a, b = (np.float32(interp.env[value]) for value in op.operands)
    unordered = bool(np.isnan(a) or np.isnan(b))
    order = ("eq", "gt", "ge", "lt", "le", "ne")
    names = ("false", *(f"o{x}" for x in order), "ord")
    names += (*(f"u{x}" for x in order), "uno", "true")
    name: str = names[int(op.predicate.value.data)]
    if name in ("false", "true", "ord", "uno"):
        fixed = {"false": False, "true": True, "ord": not unordered}
        return fixed.get(name, unordered)
    if unordered:
        return name[0] == "u"
    compare = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b}
    compare |= {"gt": a > b, "ge": a >= b}
    return bool(compare[name[1:]])


@handles("arith.select")
def select(interp: Interpreter, op: Any) -> Any:
    condition, yes, no = op.operands
    return interp.hand_on(yes if interp.env[condition] else no, op)


@handles("arith.index_cast", "arith.extsi", "arith.trunci")
def integer_cast(interp: Interpreter, op: Operation) -> int | bool:
    value = interp.env[op.operands[0]]
    # An i1 sign-extends: true is -1.
    number = -int(value) if isinstance(value, bool) else int(value)
    return wrapped(number, op.results[0].type)


@handles("arith.extui", "arith.index_castui")
def unsigned_cast(interp: Interpreter, op: Operation) -> int | bool:
    value = op.operands[0]
    return wrapped(_unsigned(interp.env[value], value.type), op.results[0].type)


@handles("arith.sitofp", "arith.extf", "arith.truncf")
def to_float(interp: Interpreter, op: Operation) -> Any:
    return _as_float(interp.env[op.operands[0]], op.results[0].type)


@handles("arith.fptosi")
def to_integer(interp: Interpreter, op: Operation) -> int | bool:
    value = np.asarray(interp.env[op.operands[0]], np.float32)
    return int(numerics.cast(value, op.results[0].type))
