"""
Fast reading of narrow floats as f32, for the executor.

`numerics.decode_f32` says what every code of a type means; numpy's own conversion of
f16 and of the 8-bit floats is scalar code, several times slower than what is here: for
f16 four passes of integer arithmetic, for the 8-bit floats a table made once from all
codes. Two of them side by side are read as one 16-bit code whose entry is a pair of
f32, which halves the look-ups.
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

# An f16 code, sign-extended and shifted, has its fraction where f32 has it, but an
# exponent 127 - 15 too small. Of the extended sign only the first bit is kept.
_F16_EXPONENT = np.int16(0x7C00)
_F16_SHIFT = np.int32(23 - 10)
_F16_KEEP = np.int32(0x0FFFE000 - 2**31)
_F16_SCALE = np.float32(2.0 ** (127 - 15))


def _room(box: Array, scratch: Array) -> Array:
    rows, columns = box.shape
    return scratch[: rows * columns].reshape(rows, columns)


def _as_it_is(box: Array, scratch: Array) -> Array:
    return box


def _convert(box: Array, scratch: Array) -> Array:
    out = _room(box, scratch)
    np.copyto(out, box, casting="unsafe")
    return out


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


def _f16(dtype: np.dtype[Any]) -> Decode:
    """By integers: the exponent is moved and then scaled, which no table beats."""
    by_table = _by_table(dtype)

    def decode(box: Array, scratch: Array) -> Array:
        bits = box.view(np.int16)
        if box.size and (bits & _F16_EXPONENT).max() == _F16_EXPONENT:
            return by_table(box, scratch)  # infinities and NaN do not scale
        out = _room(box, scratch)
        wide = out.view(np.int32)
        np.copyto(wide, bits)
        np.left_shift(wide, _F16_SHIFT, out=wide)
        np.bitwise_and(wide, _F16_KEEP, out=wide)
        return np.multiply(out, _F16_SCALE, out=out)

    return decode


def _by_pairs(dtype: np.dtype[Any]) -> Decode:
    single = table_f32(dtype)
    pairs = np.empty((256, 256, 2), np.float32)
    pairs[:, :, 0] = single[None, :]  # the low byte comes first
    pairs[:, :, 1] = single[:, None]
    table = pairs.reshape(-1).view(np.float64)

    def decode(box: Array, scratch: Array) -> Array:
        out = _room(box, scratch)
        if box.shape[1] % 2 or box.strides[1] != 1:
            single.take(box.view(np.uint8), out=out, mode="clip")
        else:
            codes = box.view(np.uint16)
            table.take(codes, out=out.view(np.float64), mode="clip")
        return out

    return decode


@cache
def decoder(dtype: np.dtype[Any]) -> Decode:
    """How boxes of this storage type are read as f32."""
    if dtype == np.float32:
        return _as_it_is
    if dtype == np.float16:
        return _f16(dtype)
    if dtype.itemsize == 1 and dtype.kind not in "iub":
        return _by_pairs(dtype)
    return _convert
