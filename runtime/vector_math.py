"""
What numpy computes vector instructions by, for the executor: ufuncs, or functions of
several steps, in f32.

Each of `FUNCTIONS` is `f(x, out, first, second)`: f32 arrays of one shape, the last two
work space. `out` may be `x`, and is written last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptoc.dialects.record import record
from pyptoc.runtime.numerics import element_name

Array = NDArray[Any]
Function = Callable[[Array, Array, Array, Array], None]

_LARGEST = np.finfo(np.float32).max
_ONE = np.float32(1)
_HALF = np.float32(0.5)
_SQRT_HALF = np.float32(np.sqrt(0.5))

# erf(x) = x * P(x^2) / Q(x^2), highest power first; 1 in f32 beyond the limit. These
# are the coefficients of Eigen and XLA, at most 3.2e-7 off.
_ERF_LIMIT = np.float32(3.7439211627767994)
_ERF_P = np.array(
    [
        0.00022905065861350646,
        0.0034082910107109506,
        0.050955695062380861,
        0.18520832239976145,
        1.128379143519084,
    ],
    np.float32,
)
_ERF_Q = np.array(
    [
        -1.1791602954361697e-7,
        0.000023547966471313185,
        0.0010179625278914885,
        0.014070470171167667,
        0.11098505178285362,
        0.49746925110067538,
        1.0,
    ],
    np.float32,
)


def _rsqrt(x: Array, out: Array, first: Array, second: Array) -> None:
    np.sqrt(x, out=first)
    np.divide(_ONE, first, out=out)


def _reciprocal(x: Array, out: Array, first: Array, second: Array) -> None:
    np.divide(_ONE, x, out=out)


def _one_plus_exp_minus(x: Array, out: Array) -> None:
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, _ONE, out=out)


def _sigmoid(x: Array, out: Array, first: Array, second: Array) -> None:
    _one_plus_exp_minus(x, first)
    np.divide(_ONE, first, out=out)


def _silu(x: Array, out: Array, first: Array, second: Array) -> None:
    _one_plus_exp_minus(x, first)
    # -inf / inf would be NaN; the most negative finite number gives -0.0.
    np.maximum(x, -_LARGEST, out=second)
    np.divide(second, first, out=out)


def _erf(x: Array, out: Array, first: Array, second: Array) -> None:
    limited = np.clip(x, -_ERF_LIMIT, _ERF_LIMIT)
    np.multiply(limited, limited, out=first)
    _polynomial(_ERF_P, first, second)
    np.multiply(limited, second, out=limited)
    _polynomial(_ERF_Q, first, second)
    beyond = np.abs(x) >= _ERF_LIMIT
    sign = np.copysign(_ONE, x)
    np.divide(limited, second, out=out)
    np.copyto(out, sign, where=beyond)


def _polynomial(coefficients: Array, x: Array, out: Array) -> None:
    out[...] = coefficients[0]
    for coefficient in coefficients[1:]:
        np.multiply(out, x, out=out)
        np.add(out, coefficient, out=out)


def _gelu(x: Array, out: Array, first: Array, second: Array) -> None:
    argument = x * _SQRT_HALF
    _erf(argument, argument, first, second)
    np.add(argument, _ONE, out=argument)
    np.multiply(argument, _HALF, out=argument)
    np.multiply(x, argument, out=out)


UFUNCS: dict[str, np.ufunc] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "neg": np.negative,
    "abs": np.absolute,
    "logical_not": np.logical_not,
    "bitwise_not": np.bitwise_not,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "rem": np.fmod,
    "floordiv": np.floor_divide,
    "pow": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    # Of numpy, too, a count outside 0 to width - 1 moves all bits out.
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
}
"""The vector instructions that one ufunc computes."""
COMPARES: dict[str, np.ufunc] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
"""Those whose result is i1."""
REDUCTIONS: dict[str, np.ufunc] = {
    "row_sum": np.add,
    "row_prod": np.multiply,
    "row_max": np.maximum,
    "row_min": np.minimum,
}
"""Those that fold the columns: `ufunc.reduce` along axis 1."""
ROUNDINGS: dict[str | None, np.ufunc] = {
    None: np.trunc,
    "none": np.trunc,
    "trunc": np.trunc,
    "rint": np.rint,
    "floor": np.floor,
    "ceil": np.ceil,
}
"""How a cast of floats to integers rounds, where a ufunc does it."""


def checked_sum(dtype: np.dtype[Any]) -> Callable[[Array, Array], Array]:
    """`x + y` for integers of a type; raises `OverflowError` where a sum wraps."""

    def add(x: Array, y: Array) -> Array:
        sums = np.add(x, y)
        wraps = np.less(sums, x)
        if dtype.kind == "i":
            wraps = np.less((sums ^ x) & (sums ^ y), 0)
        if wraps.any():
            raise OverflowError(f"a sum does not fit in {element_name(dtype)}")
        return sums

    return add


def integer_limits(kind: np.dtype[Any]) -> tuple[float, float]:
    """The least and the greatest number in f64 that an integer type has."""
    limits = np.iinfo(kind)
    high = float(limits.max)
    return float(limits.min), high if high <= limits.max else np.nextafter(high, 0.0)


@record
class Rounding:
    """A cast of f32 to integers, of values of which none is NaN or too large."""

    ufunc: np.ufunc
    least: float
    most: float
    """Between these rounded values must lie."""
    low: float
    high: float
    """To these they are clipped."""

    @staticmethod
    def to(mode: str | None, kind: np.dtype[Any], saturate: bool = False) -> Rounding:
        """mode: one of ROUNDINGS. saturate: whether what is too large is clipped."""
        low, high = integer_limits(kind)
        # The limits of wider types are no f32.
        clips = saturate and kind.itemsize <= 2
        least, most = (-np.inf, np.inf) if clips else (low, high)
        return Rounding(ROUNDINGS[mode], least, most, low, high)

    def within(self, least: float, most: float) -> Rounding:
        """This, of values that must lie in there after it."""
        if least <= self.low and self.high <= most:
            return self
        if least > self.high or most < self.low:
            # What is clipped never does.
            least = np.inf
        least, most = max(self.least, least), min(self.most, most)
        return Rounding(self.ufunc, least, most, self.low, self.high)

    def clipped(self, low: float, high: float) -> Rounding:
        """This, and then a clip."""
        low, high = (min(max(x, self.low), self.high) for x in (low, high))
        return Rounding(self.ufunc, self.least, self.most, low, high)

    def __call__(self, x: Array, whole: Array, out: Array) -> bool:
        """Cast x into `out`. False: a value is too large or NaN; `out` is as it was.

        whole: work space of the shape of x, in f32.
        """
        rounds = self.rounds(x, whole)
        if rounds:
            np.copyto(out, whole, casting="unsafe")
        return rounds

    def rounds(self, x: Array, whole: Array) -> bool:
        """Round x into `whole`, still in f32, which may be x itself. False: a value is
        too large or NaN."""
        self.ufunc(x, out=whole)
        if whole.size:
            least = float(np.minimum.reduce(whole, axis=None))
            most = float(np.maximum.reduce(whole, axis=None))
            if not (self.least <= least and most <= self.most):
                return False
            if least < self.low or most > self.high:
                low, high = np.float32(self.low), np.float32(self.high)
                np.clip(whole, low, high, out=whole)
        return True


FUNCTIONS: dict[str, Function] = {
    "rsqrt": _rsqrt,
    "reciprocal": _reciprocal,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "erf": _erf,
    "gelu": _gelu,
}
"""The vector instructions that are no single ufunc."""
