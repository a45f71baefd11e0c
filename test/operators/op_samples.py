"""
One call of one operator: its text, its operands, and what a golden says comes out.

`OPS` is the table of `test_ops_end_to_end.py`. Each entry makes a sample for an element
type, a shape and an axis; data lie on a coarse grid, so that sums are exact in f32 in
any order and equal elements, zeros and ties are frequent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from operators import goldens

Array = NDArray[Any]
Shape = tuple[int, ...]

DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "i1": np.bool_,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
FLOATS = ("f32", "f16", "bf16")
INTEGERS = ("i8", "i16", "i32", "i64", "ui8")
ROUNDING = {"f32": 2e-6, "f16": 2.0**-11, "bf16": 2.0**-8}
"""Relative error of one rounding to a type, with some room in f32 for several."""

SHAPES: tuple[Shape, ...] = (
    (33,),
    (1,),
    (0,),
    (7, 24),
    (1, 70),
    (16, 1),
    (3, 0),
    (0, 4),
    (2, 5, 9),
    (4, 1, 17),
    (2, 3, 4, 5),
    (2, 1, 3, 2, 6),
)
LONG: tuple[Shape, ...] = (*SHAPES, (9001, 2))
"""One with an axis that no tile holds."""


@dataclass(frozen=True)
class Sample:
    """A call on arrays; `text` names the operands as the dict does."""

    text: str
    operands: dict[str, Array]
    results: dict[str, Array]
    """In the type of the result where it is exact, else in f64."""
    elements: dict[str, str] = field(default_factory=dict[str, str])
    """Element types of results whose golden is in f64."""
    within: float = 0.0
    """Relative to the element and to the largest one; 0: exact."""

    def program(self, *, dynamic: bool) -> str:
        """A function of the call; dynamic sizes of equal value share a name."""
        arguments = ", ".join(
            f"%{name}: {_type(array.shape, _element(array), dynamic)}"
            + _dims(array.shape, dynamic)
            for name, array in self.operands.items()
        )
        types = [
            _type(array.shape, self.elements.get(name) or _element(array), dynamic)
            for name, array in self.results.items()
        ]
        results = ", ".join(f"%{name}" for name in self.results)
        stated = types[0] if len(types) == 1 else f"({', '.join(types)})"
        return (
            f"func.func @f({arguments}) -> {stated} {{\n"
            f"  {results} = {self.text} : {stated}\n"
            f"  func.return {results} : {', '.join(types)}\n}}\n"
        )


def _element(array: Array) -> str:
    return NAMES[array.dtype]


def _type(shape: Shape, element: str, dynamic: bool) -> str:
    sizes = ["?" if dynamic and size != 1 else str(size) for size in shape]
    return f"tensor<{'x'.join([*sizes, element])}>"


def _dims(shape: Shape, dynamic: bool) -> str:
    names = [f'"D{size}"' for size in shape if size != 1]
    return f" {{pypto.dims = [{', '.join(names)}]}}" if dynamic and names else ""


Maker = Callable[[np.random.Generator, str, Shape, int], Sample | None]


@dataclass(frozen=True)
class Op:
    """An operator of the table; `make` gives None where it is not defined."""

    make: Maker
    elements: Sequence[str] = FLOATS
    shapes: Sequence[Shape] = SHAPES
    every_axis: bool = False
    """Whether `make` takes an axis; else it is given the last one."""

    def cells(self) -> Iterable[tuple[str, Shape, int]]:
        """Every shape and axis with the first type, then every type on a few shapes."""
        for shape in self.shapes:
            for axis in range(len(shape)) if self.every_axis else [len(shape) - 1]:
                yield self.elements[0], shape, axis
        for number, element in enumerate(self.elements[1:]):
            wide = [shape for shape in self.shapes if np.prod(shape) > 1]
            for step in range(2):
                shape = wide[(2 * number + step) % len(wide)]
                yield element, shape, number % len(shape) - len(shape)


# Data.


def data(draw: np.random.Generator, element: str, shape: Shape) -> Array:
    """Numbers on a coarse grid, exact in every type."""
    if element == "i1":
        return draw.integers(0, 2, shape).astype(np.bool_)
    low = 0 if element == "ui8" else -12
    numbers = draw.integers(low, 13, shape)
    return (numbers / 4 if element in FLOATS else numbers).astype(DTYPES[element])


def smooth(draw: np.random.Generator, element: str, shape: Shape) -> Array:
    """Normal numbers."""
    return draw.normal(size=shape).astype(np.float32).astype(DTYPES[element])


def rounded(exact: Array, element: str) -> Array:
    """f64 that f32 holds, rounded once; integers wrap."""
    if element in FLOATS:
        return exact.astype(np.float32).astype(DTYPES[element])
    return exact.astype(DTYPES[element])


# Reductions.


def _kept(axis: int, shape: Shape) -> bool:
    """Both forms occur for every rank."""
    return (axis + len(shape)) % 2 == 0


def _reduction(name: str, fold: Callable[..., Array], *, exact: bool = True) -> Maker:
    def make(draw, element, shape, axis) -> Sample | None:
        keep = _kept(axis, shape)
        x = data(draw, element, shape)
        if name == "prod":
            x = np.where(x > 0, 2, np.where(x < 0, -1, x) if x.size < 40 else -1)
            x = x.astype(DTYPES[element])
        wide = name in ("sum", "prod") and element in ("i8", "i16", "ui8")
        to, target = (" to i32", "i32") if wide else ("", element)
        want = fold(x, axis, keep)
        text = f"pypto.{name} %x axis {axis}{to}{' {keepdim}' if keep else ''}"
        if exact:
            return Sample(text, {"x": x}, {"r": rounded(want, target)})
        within = 4 * ROUNDING[element]
        return Sample(text, {"x": x}, {"r": want}, {"r": element}, within)

    return make


def _argument(name: str) -> Maker:
    def make(draw, element, shape, axis) -> Sample | None:
        if shape[axis] == 0:
            return None
        x = data(draw, element, shape)
        if element in FLOATS and x.size > 8:
            x.reshape(-1)[:: x.size // 3] = np.nan
        keep = _kept(axis, shape)
        want = goldens.first_extreme(x, axis, greatest=name == "argmax")
        want = np.expand_dims(want, axis) if keep else want
        text = f"pypto.{name} %x axis {axis}{' {keepdim}' if keep else ''}"
        return Sample(text, {"x": x}, {"r": want.astype(np.int32)})

    return make


def _extreme(name: str) -> Maker:
    """amax and amin, with NaN."""

    def make(draw, element, shape, axis) -> Sample | None:
        x = data(draw, element, shape)
        if element in FLOATS and x.size > 8:
            x.reshape(-1)[:: x.size // 2] = np.nan
        keep = _kept(axis, shape)
        want = goldens.extreme(x, axis, greatest=name == "amax")
        want = np.expand_dims(want, axis) if keep else want
        text = f"pypto.{name} %x axis {axis}{' {keepdim}' if keep else ''}"
        return Sample(text, {"x": x}, {"r": want})

    return make


def _cumsum(draw, element, shape, axis) -> Sample:
    x = data(draw, element, shape)
    x = x % DTYPES[element](2) if element in ("i8", "ui8") else x
    want = rounded(goldens.running_sum(x, axis), element)
    return Sample(f"pypto.cumsum %x axis {axis}", {"x": x}, {"r": want})


def _softmax(draw, element, shape, axis) -> Sample:
    x = data(draw, element, shape)
    if x.size:
        lines = np.moveaxis(x, axis, -1)
        lines[(0,) * len(shape)] = -np.inf
        lines[(-1,) * (len(shape) - 1)] = -np.inf  # fully masked
    want = goldens.softmax(x, axis) if x.size else np.zeros(shape)
    within = 4 * ROUNDING[element]
    text = f"pypto.softmax %x axis {axis}"
    return Sample(text, {"x": x}, {"r": want}, {"r": element}, within)


def _online_softmax(draw, element, shape, axis) -> Sample:
    s = smooth(draw, "f32", shape)
    m = smooth(draw, "f32", (*shape[:-1], 1))
    m.reshape(-1)[:1] = -np.inf
    total = np.abs(smooth(draw, "f32", m.shape))
    want = goldens.online_softmax(s, m, total)
    names = ("rm", "rl", "rp", "ra")
    return Sample(
        "pypto.online_softmax %s state %m, %l",
        {"s": s, "m": m, "l": total},
        dict(zip(names, want, strict=True)),
        dict.fromkeys(names, "f32"),
        1e-5,
    )


# Norms and activations.


def _norm(name: str) -> Maker:
    def make(draw, element, shape, axis) -> Sample | None:
        if shape[-1] == 0:
            return None
        x, gamma = smooth(draw, element, shape), smooth(draw, "f32", shape[-1:])
        beta = smooth(draw, element, shape[-1:])
        to = "f32" if element == "bf16" else element
        clause = "" if to == element else f" to {to}"
        operands = {"x": x, "g": gamma}
        if name == "rms_norm":
            want = goldens.rms_norm(x, gamma, 1e-5)
            text = f"pypto.rms_norm %x, %g eps 1.0e-5{clause}"
        else:
            want = goldens.layer_norm(x, gamma, beta, 1e-3)
            text = f"pypto.layer_norm %x, %g, %b eps 1.0e-3{clause}"
            operands["b"] = beta
        return Sample(text, operands, {"r": want}, {"r": to}, 16 * ROUNDING[to])

    return make


def _swiglu(draw, element, shape, axis) -> Sample | None:
    x = smooth(draw, element, shape)
    within = 8 * ROUNDING[element]
    if shape[-1] % 2:
        gate = smooth(draw, element, shape)
        want = goldens.swiglu(x, gate)
        operands = {"x": x, "g": gate}
        return Sample(
            "pypto.swiglu %x, %g", operands, {"r": want}, {"r": element}, within
        )
    half = shape[-1] // 2
    want = goldens.swiglu(x[..., :half], x[..., half:])
    return Sample("pypto.swiglu %x", {"x": x}, {"r": want}, {"r": element}, within)


def _rope(flags: str, first: int | None, *, broadcast: bool) -> Maker:
    def make(draw, element, shape, axis) -> Sample | None:
        size = shape[-1] if first is None else first
        if size % 2 or size > shape[-1]:
            return None
        angles = (*shape[:-1], size)
        if broadcast:
            angles = (*shape[:-2], 1, size)[-len(shape) :]
        x = smooth(draw, element, shape)
        cos, sin = (smooth(draw, "f32", angles) for _ in range(2))
        want = goldens.rope(x, cos, sin, size, interleaved="interleaved" in flags)
        clause = "" if first is None else f"first {first} "
        return Sample(
            f"pypto.rope %x, %c, %s {clause}{flags}",
            {"x": x, "c": cos, "s": sin},
            {"r": want},
            {"r": element},
            4 * ROUNDING[element],
        )

    return make


# Quantisation.


def _quantize(group: int | None, rule: str = "") -> Maker:
    def make(draw, element, shape, axis) -> Sample | None:
        if shape[axis] % (group or 1):
            return None
        # Powers of two times 127: x * r and x / scale are exact, ties included.
        x = data(draw, element, shape)
        lines = np.moveaxis(x, axis, -1)
        lines[...] = np.trunc(lines.astype(np.float32) * 4) / 2
        first = lines[..., :: group or shape[axis] or 1]
        first[...] = np.sign(first.astype(np.float32)) * 127
        q, scale = goldens.quantize(x, axis, group, by_scale=bool(rule))
        clause = "" if group is None else f" group {group}"
        return Sample(
            f"pypto.quantize %x axis {axis}{clause} to i8{rule}",
            {"x": x},
            {"q": q, "d": scale},
            within=1e-6,
        )

    return make


def _dequantize(draw, element, shape, axis) -> Sample:
    x = data(draw, element, shape)
    s = data(draw, "f32", (*shape[:-1], 1))
    t = data(draw, "bf16", shape[-1:])
    want = x.astype(np.float64) * s * t.astype(np.float64)
    return Sample(
        "pypto.dequantize %x scales %s, %t to bf16",
        {"x": x, "s": s, "t": t},
        {"r": rounded(want, "bf16")},
    )


def _quant_mx(to: str) -> Maker:
    def make(draw, element, shape, axis) -> Sample | None:
        if axis % len(shape) < len(shape) - 2:
            return None
        spread = 2.0 ** draw.integers(-12, 8, shape)
        x = (smooth(draw, "f32", shape) * spread).astype(DTYPES[element])
        q, scale = goldens.quant_mx(x, axis, DTYPES[to])
        return Sample(
            f"pypto.quant_mx %x axis {axis} to {to}", {"x": x}, {"q": q, "s": scale}
        )

    return make


# Shapes and products.


def _concat(draw, element, shape, axis) -> Sample:
    others = [list(shape), list(shape), list(shape)]
    others[1][axis], others[2][axis] = 3, 0
    parts = [data(draw, element, tuple(sizes)) for sizes in others]
    operands = dict(zip("xyz", parts, strict=True))
    text = f"pypto.concat %x, %y, %z, %x axis {axis}"
    return Sample(text, operands, {"r": goldens.concat([*parts, parts[0]], axis)})


def _einsum(equation: str) -> Maker:
    inputs, out = equation.split("->")
    left, right = inputs.split(",")

    def make(draw, element, shape, axis) -> Sample:
        # The shape gives the sizes of the letters, in the order they occur.
        letters = dict.fromkeys(left + right)
        size = dict(zip(letters, [*shape, *(3, 2, 5, 4, 6)], strict=False))
        a, b = (
            data(draw, element, tuple(size[letter] for letter in term))
            for term in (left, right)
        )
        want = goldens.einsum(left, right, out, size, a, b)
        target = "i32" if element == "i8" else "f32"
        to = ""
        if element == "bf16":
            to, target = " to bf16", "bf16"
        text = f'pypto.einsum "{equation}" %a, %b{to}'
        return Sample(text, {"a": a, "b": b}, {"r": rounded(want, target)})

    return make


EINSUMS = (
    "mk,kn->mn",
    "mk,nk->nm",
    "thd,hdc->thc",
    "bmk,bnk->bmn",
    "abkl,klc->abc",
    "akbl,lkc->cba",
    "ab,cd->acbd",
    "a,a->",
    "ab,ab->a",
    "xyk,yxk->yx",
)

EVEN_SHAPES = ((32,), (2,), (0,), (7, 24), (3, 0), (0, 4), (2, 5, 8), (2, 3, 4, 6))
MX_SHAPES = ((64,), (5, 128), (100, 7), (3, 32, 33), (0, 64), (2, 0), (2, 1, 65))

OPS: dict[str, Op] = {
    "sum": Op(
        _reduction("sum", goldens.total),
        (*FLOATS, *INTEGERS),
        shapes=LONG,
        every_axis=True,
    ),
    "prod": Op(
        _reduction("prod", goldens.product),
        (*FLOATS, *INTEGERS),
        shapes=LONG,
        every_axis=True,
    ),
    "mean": Op(
        _reduction("mean", goldens.mean, exact=False), shapes=LONG, every_axis=True
    ),
    "var": Op(
        _reduction("var", goldens.variance, exact=False), shapes=LONG, every_axis=True
    ),
    "logsumexp": Op(
        _reduction("logsumexp", goldens.logsumexp, exact=False),
        shapes=LONG,
        every_axis=True,
    ),
    "amax": Op(_extreme("amax"), (*FLOATS, *INTEGERS), shapes=LONG, every_axis=True),
    "amin": Op(_extreme("amin"), (*FLOATS, *INTEGERS), shapes=LONG, every_axis=True),
    "argmax": Op(
        _argument("argmax"), (*FLOATS, *INTEGERS), shapes=LONG, every_axis=True
    ),
    "argmin": Op(
        _argument("argmin"), (*FLOATS, *INTEGERS), shapes=LONG, every_axis=True
    ),
    "cumsum": Op(_cumsum, (*FLOATS, *INTEGERS), shapes=LONG, every_axis=True),
    "softmax": Op(_softmax, shapes=LONG, every_axis=True),
    "online_softmax": Op(_online_softmax, ("f32",)),
    "rms_norm": Op(_norm("rms_norm")),
    "layer_norm": Op(_norm("layer_norm")),
    "swiglu": Op(_swiglu),
    "rope": Op(_rope("", None, broadcast=False), shapes=EVEN_SHAPES),
    "rope_broadcast": Op(_rope("", None, broadcast=True), shapes=EVEN_SHAPES),
    "rope_interleaved": Op(
        _rope("{interleaved}", None, broadcast=True), shapes=EVEN_SHAPES
    ),
    "rope_first": Op(_rope("", 4, broadcast=False)),
    "rope_first_interleaved": Op(_rope("{interleaved}", 4, broadcast=True)),
    "quantize": Op(_quantize(None), shapes=LONG, every_axis=True),
    "quantize_scale": Op(_quantize(None, ' {scale = "amax/127"}'), every_axis=True),
    "quantize_group": Op(_quantize(2), shapes=EVEN_SHAPES, every_axis=True),
    "dequantize": Op(_dequantize, ("i32", "i8", "i16")),
    "quant_mx_e4m3": Op(_quant_mx("f8E4M3FN"), shapes=MX_SHAPES, every_axis=True),
    "quant_mx_e5m2": Op(_quant_mx("f8E5M2"), shapes=MX_SHAPES, every_axis=True),
    "concat": Op(_concat, (*FLOATS, *INTEGERS, "i1"), every_axis=True),
    **{
        f"einsum_{equation}": Op(
            _einsum(equation),
            ("f32", "f16", "bf16", "i8"),
            ((), (3,), (17, 0), (1, 33)),
        )
        for equation in EINSUMS
    },
}
"""Operator, or a form of it, to how samples of it are made."""
