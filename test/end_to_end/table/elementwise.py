"""Rows of the elementwise ops: every type, every way to broadcast, every edge."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from end_to_end.table.core import (
    DTYPES,
    F8,
    FLOATS,
    INTEGERS,
    NUMBERS,
    Array,
    Call,
    Draw,
    Family,
    Sample,
    Scalar,
    Shape,
    Want,
    approximately,
    data,
    edges,
    exact,
    f64,
    rounded,
)

# Unary -------------------------------------------------------------------------------

erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _silu(x: Array) -> Array:
    return np.where(x == -np.inf, -0.0, x * _sigmoid(x))


def _gelu(x: Array) -> Array:
    return x * (1 + erf(x / math.sqrt(2))) / 2


class Approximate(NamedTuple):
    """A function that f32 misses by a few roundings."""

    golden: Callable[[Array], Array]
    near: float = 0.0
    """Absolute error, relative to |x| where that is above 1."""


APPROXIMATE = {
    "exp": Approximate(np.exp),
    "log": Approximate(np.log),
    "rsqrt": Approximate(lambda x: 1 / np.sqrt(x)),
    "sigmoid": Approximate(_sigmoid),
    "silu": Approximate(_silu),
    "gelu": Approximate(_gelu, 4e-7),
    "tanh": Approximate(np.tanh),
    "sin": Approximate(np.sin, 2e-6),
    "cos": Approximate(np.cos, 2e-6),
    "erf": Approximate(lambda x: erf(x), 4e-7),
}
EXACT: dict[str, Callable[[Array], Array]] = {
    "sqrt": np.sqrt,
    "reciprocal": lambda x: 1 / x,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": lambda x: np.where(np.isfinite(x), _to_even(x), x),
}
SIGNED: dict[str, Callable[[Array], Array]] = {
    "neg": lambda x: -x,
    "abs": lambda x: np.where(np.signbit(x), -x, x) if x.dtype.kind == "f" else abs(x),
    "relu": lambda x: np.where(x < 0, 0, x),
}
TRUTH: dict[str, Callable[[Array], Array]] = {"logical_not": lambda x: x ^ True}


def _to_even(x: Array) -> Array:
    """The nearest whole number, of two the even one; a zero keeps the sign."""
    low = np.floor(x)
    rest = x - low
    odd = np.mod(low, 2) != 0
    up = (rest > 0.5) | ((rest == 0.5) & odd)
    return np.copysign(low + up, x)


def _unary(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    x = edges(draw, element, shape)
    calls: dict[str, Call] = {}
    for row in rows:
        text = f"pypto.{row} %x"
        if row in APPROXIMATE:
            golden, near = APPROXIMATE[row]
            size = np.abs(f64(x))
            want = approximately(golden(f64(x)), element, 2)
            if near:
                room = near * np.where(np.isfinite(size), np.maximum(size, 1), 1)
                want = Want(
                    want.array, element, want.within, float(room.max(initial=0))
                )
                if row != "gelu":
                    want = Want(want.array, element, want.within, near)
        elif row in TRUTH:
            want = Want(TRUTH[row](x))
        else:
            golden = {**EXACT, **SIGNED}[row]
            want = Want(rounded(golden(exact(x)), element), signed_zero=row != "relu")
        calls[row] = Call(text, [want])
    return Sample({"x": x}, calls)


UNARY = Family(dict.fromkeys([*APPROXIMATE, *EXACT], FLOATS), _unary)
SIGNS = Family(dict.fromkeys(SIGNED, (*FLOATS, "i8", "i16", "i32", "i64")), _unary)
LOGICAL = Family({"logical_not": ("i1",)}, _unary)

# Binary ------------------------------------------------------------------------------


def _maximum(x: Array, y: Array) -> Array:
    return np.where((x > y) | (x != x), x, y)


def _minimum(x: Array, y: Array) -> Array:
    return np.where((x < y) | (x != x), x, y)


def _zero_if_zero(x: Array, y: Array) -> Array:
    return np.where(y == 0, 0.0, x / y)


def _floordiv(x: Array, y: Array) -> Array:
    """Of Python's integers, then wrapped."""
    quotient = x.astype(object) // y.astype(object)
    return _wrapped(quotient)


def _rem(x: Array, y: Array) -> Array:
    if x.dtype.kind == "f":
        return np.fmod(x, y)
    big, small = np.abs(x.astype(object)), np.abs(y.astype(object))
    return _wrapped(np.where(x < 0, -(big % small), big % small))


def _wrapped(whole: Array) -> Array:
    low = np.array(whole, object) & (2**64 - 1)
    return low.astype(np.uint64).view(np.int64) if low.size else low.astype(np.int64)


Binary = Callable[[Array, Array], Array]
ARITHMETIC: dict[str, Binary] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "maximum": _maximum,
    "minimum": _minimum,
}
DIVISION: dict[str, Binary] = {
    "div": lambda x, y: x / y,
    "div zero_if_zero": _zero_if_zero,
    "pow": lambda x, y: np.power(x, y),
}
WHOLE: dict[str, Binary] = {"floordiv": _floordiv}
BITS: dict[str, Binary] = {
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
}
EQUALITY: dict[str, Binary] = {
    "eq": lambda x, y: ~((x < y) | (x > y)) & (x == x) & (y == y),
    "ne": lambda x, y: (x < y) | (x > y) | (x != x) | (y != y),
}
ORDER: dict[str, Binary] = {
    "lt": lambda x, y: x < y,
    "le": lambda x, y: (x < y) | (x == y),
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: (x > y) | (x == y),
}
BINARY: dict[str, Binary] = {
    **ARITHMETIC,
    **DIVISION,
    "rem": _rem,
    **WHOLE,
    **BITS,
    **EQUALITY,
    **ORDER,
}
UNSIGNED_ZERO = ("maximum", "minimum")
"""Of -0.0 and 0.0 either is the greater."""

FORMS = (
    "same",
    "row",
    "column",
    "left",
    "both",
    "rank",
    "one",
    "literal right",
    "literal left",
    "scalar right",
    "scalar left",
)
"""How the two operands meet; `both` repeats one axis of each."""


def shapes_of(form: str, shape: Shape) -> tuple[Shape, Shape] | None:
    """The shapes of x and y for a form; None where the rank does not do."""
    last, lead = shape[-1:], shape[:-1]
    ones = (1,) * len(lead)
    match form:
        case "row":
            return shape, (*ones, *last)
        case "column":
            return shape, (*lead, 1)
        case "left":
            return (*lead, 1), shape
        case "both" if len(shape) > 1:
            return (*lead, 1), (*ones, *last)
        case "both":
            return None
        case "rank":
            return (shape, last) if len(shape) % 2 else (last, shape)
        case "one":
            return shape, (1,) * len(shape)
        case _:
            return shape, shape


def lone(draw: Draw, element: str) -> float:
    """A number that one literal writes, never 0."""
    if element == "i1":
        return True
    pool: tuple[Any, ...] = (1, 2, 7, 120)
    if element in FLOATS:
        pool = (0.1, -2.5, 3.0, np.inf, 1.0e-3)
    elif element != "ui8":
        pool = (1, -3, 7, -128)
    return draw.choice(np.array(pool)).item()


def literal(value: float) -> str:
    """As MLIR writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.17f}"


def scalar_type(element: str) -> str:
    """The type of an SSA scalar beside a tensor."""
    if element in FLOATS:
        return "f32"
    return {"i1": "i1", "i64": "index"}.get(element, "i32")


def scalar_golden(value: float, element: str, as_literal: bool) -> Array:
    """A literal is rounded to the element type, an f32 scalar computes as it is."""
    if element in FLOATS and not as_literal:
        return f64(np.array(value, np.float32))
    return exact(np.array(value).astype(DTYPES[element]))


def operands(
    draw: Draw, element: str, shape: Shape, form: str, divides: bool
) -> tuple[dict[str, Array | Scalar], tuple[str, str], tuple[Array, Array]] | None:
    """Operands, their texts, and their values in f64 or i64."""
    shapes = shapes_of(form, shape)
    if shapes is None:
        return None
    x, y = (edges(draw, element, part) for part in shapes)
    kind, _, side = form.partition(" ")
    if kind in ("literal", "scalar"):
        value = lone(draw, element)
        wide = scalar_golden(value, element, kind == "literal")
        given: dict[str, Array | Scalar] = {"x": x}
        name = literal(value)
        if kind == "scalar":
            given["s"] = Scalar(scalar_type(element), value)
            name = "%s"
        if side == "right":
            return given, ("%x", name), (exact(x), wide)
        if divides:
            given["x"] = x = np.where(x == 0, np.ones((), x.dtype), x)
        return given, (name, "%x"), (wide, exact(x))
    if divides:
        y = np.where(y == 0, np.ones((), y.dtype), y)
    return {"x": x, "y": y}, ("%x", "%y"), (exact(x), exact(y))


def _binary(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    divides = element in INTEGERS and any(row in ("rem", *WHOLE) for row in rows)
    found = operands(draw, element, shape, form, divides)
    if found is None:
        return None
    given, texts, (x, y) = found
    calls: dict[str, Call] = {}
    for row in rows:
        op, _, flag = row.partition(" ")
        text = f"pypto.{op} {', '.join(texts)}{f' {{{flag}}}' if flag else ''}"
        values = BINARY[row](x, y)
        if row in EQUALITY or row in ORDER:
            want = Want(np.asarray(values, np.bool_))
        elif row == "pow":
            want = approximately(values, element, 2)
        elif element == "i1":
            want = Want(np.asarray(values, np.bool_))
        else:
            want = Want(rounded(values, element), signed_zero=row not in UNSIGNED_ZERO)
        calls[row] = Call(text, [want])
    return Sample(given, calls, ones=True)


ARITHMETICS = Family(
    dict.fromkeys([*ARITHMETIC, *ORDER], NUMBERS), _binary, forms=FORMS
)
EQUALITIES = Family(
    dict.fromkeys(EQUALITY, (*NUMBERS, "i1")), _binary, forms=FORMS, thorough=("i1",)
)
DIVISIONS = Family(dict.fromkeys(DIVISION, FLOATS), _binary, forms=FORMS)
REMAINDERS = Family({"rem": NUMBERS}, _binary, forms=FORMS)
WHOLES = Family(dict.fromkeys(WHOLE, INTEGERS), _binary, forms=FORMS)
BITWISE = Family(
    dict.fromkeys(BITS, (*INTEGERS, "i1")), _binary, forms=FORMS, thorough=("i1",)
)

# Three operands ----------------------------------------------------------------------

CLIP_FORMS = ("literals", "scalars", "same", "row", "column", "both", "mixed")


def _clip(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    """min(max(x, low), high), also where low is above high."""
    shapes = shapes_of(form if form in ("row", "column", "both") else "same", shape)
    if shapes is None:
        return None
    x, high = (edges(draw, element, part) for part in shapes)
    low = edges(draw, element, shapes[1])
    given: dict[str, Array | Scalar] = {"x": x}
    wide = exact(low), exact(high)
    if form in ("literals", "scalars", "mixed"):
        pair = sorted([lone(draw, element), lone(draw, element)])
        names = [literal(value) for value in pair]
        wide = tuple(scalar_golden(v, element, form != "scalars") for v in pair)
        if form == "scalars":
            kind = scalar_type(element)
            given |= {"s": Scalar(kind, pair[0]), "t": Scalar(kind, pair[1])}
            names = ["%s", "%t"]
        if form == "mixed":
            given["y"], names[1], wide = high, "%y", (wide[0], exact(high))
    else:
        given |= {"y": low, "z": high}
        names = ["%y", "%z"]
    value = exact(x)
    bounded = np.where((value < wide[0]) | (wide[0] != wide[0]), wide[0], value)
    bounded = np.where((bounded > wide[1]) | (wide[1] != wide[1]), wide[1], bounded)
    bounded = np.where(value != value, value, bounded)
    if element in FLOATS:
        bounded = np.where(wide[0] != wide[0], np.nan, bounded)
    want = Want(rounded(bounded, element), signed_zero=False)
    call = Call(f"pypto.clip %x, {', '.join(names)}", [want])
    return Sample(given, {"clip": call}, ones=True)


CLIP = Family({"clip": NUMBERS}, _clip, forms=CLIP_FORMS)

ANY = (*NUMBERS, "i1", *F8, "f8E8M0FNU")
WHERE_FORMS = (*FORMS, "condition", "condition row")


def _where(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    """Bits are copied, NaN and -0.0 included."""
    kind, _, side = form.partition(" ")
    shapes = shapes_of(form, shape)
    if shapes is None:
        return None
    at = np.broadcast_shapes(*shapes)
    if kind == "condition":
        at = (*shape[:-1], 1) if not side else shape[-1:]
    condition = data(draw, "i1", at)
    x, y = (edges(draw, element, part) for part in shapes)
    given: dict[str, Array | Scalar] = {"c": condition, "x": x}
    texts = ["%x", "%y"]
    if kind in ("literal", "scalar"):
        if element in (*F8, "f8E8M0FNU"):
            return None
        value = lone(draw, element)
        y = np.array(value).astype(DTYPES[element])
        texts[1] = literal(value) if kind == "literal" else "%s"
        if kind == "scalar":
            given["s"] = Scalar(scalar_type(element), value)
        if side == "left":
            texts.reverse()
            x, y = y, x
    else:
        given["y"] = y
    shape = np.broadcast_shapes(condition.shape, x.shape, y.shape)
    want = np.array(np.broadcast_to(y, shape))
    chosen = np.broadcast_to(condition, shape)
    want[chosen] = np.broadcast_to(x, shape)[chosen]
    call = Call(f"pypto.where %c, {', '.join(texts)}", [Want(want)])
    return Sample(given, {"where": call}, ones=True)


WHERE = Family({"where": ANY}, _where, forms=WHERE_FORMS, thorough=("i1",))

FAMILIES = {
    "unary": UNARY,
    "signs": SIGNS,
    "logical": LOGICAL,
    "arithmetic": ARITHMETICS,
    "equality": EQUALITIES,
    "division": DIVISIONS,
    "remainder": REMAINDERS,
    "floordiv": WHOLES,
    "bits": BITWISE,
    "clip": CLIP,
    "where": WHERE,
}
