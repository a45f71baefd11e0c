"""
Fast reading of narrow floats as f32, for the executor.

`numerics.decode_f32` says what every code of a type means; numpy's own conversion of
f16 and of the 8-bit floats is scalar code, several times slower than what is here: four
passes of integer arithmetic, which no table beats, and two for bf16. Only infinities
and NaN are looked up, in a table made once from all codes, and so are powers of two
(E8M0).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptoc.runtime import numerics

Array = NDArray[Any]
Decode = Callable[[Array, Array], Array]
"""`decode(box, scratch)`: the values of a 2-D box as f32.

The result is `box` itself (f32), or lies at the start of the flat f32 `scratch`.
"""

_FRACTIONS = {
    numerics.F16: 10,
    numerics.STORAGE["f8E4M3FN"]: 3,
    numerics.STORAGE["f8E5M2"]: 2,
}
"""Bits of the fraction."""


def _room(box: Array, scratch: Array) -> Array:
    rows, columns = box.shape
    return scratch[: rows * columns].reshape(rows, columns)


def _as_it_is(box: Array, scratch: Array) -> Array:
    return box


def _convert(box: Array, scratch: Array) -> Array:
    out = _room(box, scratch)
    np.copyto(out, box, casting="unsafe")
    return out


def _upper_half(box: Array, scratch: Array) -> Array:
    """bf16: the upper half of an f32."""
    out = _room(box, scratch)
    widen_bf16(box, out)
    return out


def widen_bf16(box: Array, out: Array) -> None:
    """bf16 as f32, into `out`: two passes of integers, a third of the conversion."""
    bits = out.view(np.uint32)
    np.copyto(bits, box.view(np.uint16))
    np.left_shift(bits, 16, out=bits)


@cache
def table_f32(dtype: np.dtype[Any]) -> Array:
    """The value of every code of a type of 1 or 2 bytes."""
    code = np.dtype(f"u{dtype.itemsize}")
    codes = np.arange(256**dtype.itemsize, dtype=code)
    return np.asarray(numerics.decode_f32(codes.view(dtype)), np.float32)


def _by_table(dtype: np.dtype[Any]) -> Decode:
    table = table_f32(dtype)
    code = np.dtype(f"u{dtype.itemsize}")

    def decode(box: Array, scratch: Array) -> Array:
        out = _room(box, scratch)
        table.take(box.view(code), out=out, mode="clip")
        return out

    return decode


def _by_integers(dtype: np.dtype[Any]) -> Decode:
    """A float with a smaller exponent and fraction than f32.

    A code, sign-extended and shifted, has its fraction where f32 has it, its exponent
    too small by the difference of the biases; of the extended sign only the
    first bit is kept. Then the exponent is scaled. Subnormal codes are subnormal f32
    until then; infinities and NaN do not scale, so boxes with any go by the table.
    """
    table, fraction = table_f32(dtype), _FRACTIONS[dtype]
    code = np.dtype(f"i{dtype.itemsize}")
    width = 8 * dtype.itemsize - 1
    bias = 2 ** (width - fraction - 1) - 1
    shift = np.int32(23 - fraction)
    keep = np.int32(((2**width - 1) << int(shift)) - 2**31)
    scale = np.float32(2.0 ** (127 - bias))
    # All codes that are not finite have the bits of the first one.
    special = code.type(np.argmin(np.isfinite(table)))
    by_table = _by_table(dtype)

    def decode(box: Array, scratch: Array) -> Array:
        bits = box.view(code)
        if box.size and np.maximum.reduce(bits & special, axis=None) == special:
            return by_table(box, scratch)
        out = _room(box, scratch)
        wide = out.view(np.int32)
        np.copyto(wide, bits)
        np.left_shift(wide, shift, out=wide)
        np.bitwise_and(wide, keep, out=wide)
        return np.multiply(out, scale, out=out)

    return decode


@cache
def decoder(dtype: np.dtype[Any]) -> Decode:
    """How boxes of this storage type are read as f32."""
    if dtype == np.float32:
        return _as_it_is
    if dtype == numerics.BF16:
        return _upper_half
    if dtype == numerics.E8M0:
        return _by_table(dtype)
    if dtype in _FRACTIONS:
        return _by_integers(dtype)
    return _convert
