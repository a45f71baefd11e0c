"""What the element types hold, and how a value goes from one to another.

The storage types are numpy's own and those of `ml_dtypes`.  `cast` is the only place
where a value is rounded to a narrower type.  A mode that a pair of types does not
support is a `CastError`: it is never replaced by another.

    to      from             modes                                   default
    int     float            rint round floor ceil trunc             trunc, saturating
    int     int              (exact: any but odd)                    saturating
    f16     float, int       rint; from f32 also the others and odd  rint, inf beyond
    bf16    float, int       rint; from f32 also the others, no odd  rint, inf beyond
    f32     float, int       rint; from i8 .. i32 also the others    rint
    f8      float, f8        rint                                    rint, saturating
    E8M0    f32, f16, bf16   rint (`encode_e8m0`)                    rint

`rint` rounds ties to even, `round` ties away from zero, `odd` sets the last bit where
the value is inexact.  NaN becomes integer 0.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final
from typing import cast as cast_type

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

STORAGE: Final[dict[str, np.dtype[Any]]] = {
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E8M0FNU": np.dtype(ml_dtypes.float8_e8m0fnu),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "ui8": np.dtype(np.uint8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "index": np.dtype(np.int64),
}
_NAMES: Final = {dtype: name for name, dtype in STORAGE.items() if name != "index"}
F32: Final = STORAGE["f32"]
F16: Final = STORAGE["f16"]
BF16: Final = STORAGE["bf16"]
E8M0: Final = STORAGE["f8E8M0FNU"]
_F8: Final = (STORAGE["f8E4M3FN"], STORAGE["f8E5M2"])
_F8_LARGEST: Final = {_F8[0]: 448.0, _F8[1]: 57344.0}
_SCALE_BITS: Final = np.uint32(0xFFFFE000)
_HALF_LARGEST: Final = {F16: 65504.0, BF16: float.fromhex("0x1.fep127")}
MODES: Final = ("none", "rint", "round", "floor", "ceil", "trunc", "odd")


class CastError(ValueError):
    """A conversion that the language does not have."""


@cache  # the text of a type costs more than all else that is done with it
def storage_dtype(element: object) -> np.dtype[Any]:
    """The numpy type that holds an MLIR element type (an attribute or its text).

    A storage type is returned as it is.
    """
    if element in _NAMES:
        return cast_type("np.dtype[Any]", element)
    try:
        return STORAGE[str(element)]
    except KeyError:
        raise CastError(f"there is no storage for {element}") from None


def element_name(dtype: np.dtype[Any]) -> str:
    """The MLIR text of a storage type."""
    try:
        return _NAMES[np.dtype(dtype)]
    except KeyError:
        raise CastError(f"{dtype} is no element type") from None


def is_float(dtype: np.dtype[Any]) -> bool:
    return dtype in (F32, F16, BF16, E8M0, *_F8)


# Reading.


@cache
def _table(dtype: np.dtype[Any]) -> NDArray[np.float32]:
    """The f32 value of every code of an 8-bit or 16-bit float."""
    bits = np.dtype(f"u{dtype.itemsize}")
    codes = np.arange(1 << 8 * dtype.itemsize, dtype=bits)
    if dtype == E8M0:
        exponents = codes[:255].astype(np.int32) - 127
        powers = np.ldexp(np.float32(1), exponents)
        return np.append(powers, np.float32(np.nan))
    return codes.view(dtype).astype(np.float32)


@cache
def _pairs(dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """Two 8-bit floats, read as one 16-bit code, as two f32 in the bytes of an f64."""
    table = _table(dtype)
    both = np.empty((256, 256, 2), np.float32)
    both[:, :, 0] = table[None, :]  # the low byte comes first in memory
    both[:, :, 1] = table[:, None]
    return both.reshape(-1, 2).view(np.float64).reshape(-1)


def decode_f32(array: Array) -> NDArray[np.float32]:
    """The values of an array as f32; exact for every type but i32 and i64.

    An f32 array is returned as it is.
    """
    dtype = array.dtype
    if dtype == F32:
        return array
    if dtype == E8M0 or dtype in _F8:
        if array.size >= 4096 and array.flags.c_contiguous and not array.size % 2:
            codes = array.reshape(-1).view(np.uint16)
            wide = np.take(_pairs(dtype), codes, mode="clip")
            return wide.view(np.float32).reshape(array.shape)
        return _looked_up(array, np.uint8)
    if dtype == F16:
        return _looked_up(array, np.uint16)
    return array.astype(np.float32)


def _looked_up(array: Array, codes: type[np.unsignedinteger[Any]]) -> Array:
    """The values of narrow floats; a transposed matrix stays one, as with `astype`.

    How a product adds up depends on how its operands lie.
    """
    if array.ndim > 1 and array.strides[-1] > array.strides[-2]:
        return _looked_up(array.swapaxes(-1, -2), codes).swapaxes(-1, -2)
    return np.take(_table(array.dtype), array.view(codes), mode="clip")


# Casts.


def cast(
    array: Array,
    target: object,
    mode: str | None = None,
    saturate: bool | None = None,
) -> Array:
    """The array as another element type; `mode` and `saturate` as in the table above.

    `target` is an MLIR element type, its text, or a storage type.
    """
    to = storage_dtype(target)
    mode = mode or "none"
    source = array.dtype
    if mode not in MODES:
        raise CastError(f"there is no rounding mode '{mode}'")
    if not supports(source, to, mode):
        pair = f"{element_name(source)} to {element_name(to)}"
        detail = f" does not round with '{mode}'" if supports(source, to) else ""
        raise CastError(f"cast {pair}{detail or ' does not exist'}")
    if source == to:
        return array.copy()
    with np.errstate(all="ignore"):
        if to == E8M0:
            return encode_e8m0(decode_f32(array))
        if not is_float(to):
            return _to_integer(array, to, mode, saturate is not False)
        if to == F32:
            return _to_f32(array, mode)
        if to in _F8:
            return _to_f8(decode_f32(array), to, saturate is not False)
        return _to_half(array, to, mode, saturate is True)


def supports(source: np.dtype[Any], target: np.dtype[Any], mode: str = "none") -> bool:
    """Whether `cast` has this pair of storage types with this mode."""
    if source == target:
        return mode != "odd"
    if target == np.bool_:
        return False  # x != 0, x > 0.5 or the low bit? A compare says which.
    from_float, to_float = is_float(source), is_float(target)
    if target == E8M0:
        return source in (F32, F16, BF16) and mode in ("none", "rint")
    if target in _F8:
        return from_float and source != E8M0 and mode in ("none", "rint")
    if not to_float:
        return mode != "odd" and source != E8M0
    if mode in ("none", "rint"):
        return True
    if target == F32:
        exact = from_float or source.itemsize <= 2
        return mode != "odd" and (exact or source.itemsize <= 4)
    return source == F32 and (mode != "odd" or target == F16)


def _round(values: Array, mode: str) -> Array:
    """Whole numbers (as floats) near `values`, which are exact in f64 or f32."""
    if mode == "rint":
        return np.rint(values)
    if mode == "floor":
        return np.floor(values)
    if mode == "ceil":
        return np.ceil(values)
    if mode == "round":
        # Not floor(x + 0.5): the sum would round for the value just below one half.
        whole = np.trunc(values)
        away = np.abs(values - whole) >= 0.5
        return np.where(away, whole + np.copysign(1.0, values), whole)
    return np.trunc(values)


def _to_integer(array: Array, to: np.dtype[Any], mode: str, saturate: bool) -> Array:
    limits = np.iinfo(to)
    if not is_float(array.dtype):
        wide = array.astype(np.int64)
        if saturate:
            wide = np.clip(wide, limits.min, limits.max)
        return wide.astype(to)
    values = decode_f32(array)
    if to.itemsize > 2:
        values = values.astype(np.float64)  # the limits of i32 are no f32
    whole = _round(values, mode)
    whole = np.where(np.isnan(whole), np.zeros((), whole.dtype), whole)
    if not saturate:
        return _low_bits(whole.astype(np.float64), to)
    if to == np.int64:
        top = whole >= 2.0**63
        inside = np.clip(np.where(top, 0.0, whole), -(2.0**63), None)
        return np.where(top, limits.max, inside.astype(np.int64))
    return np.clip(whole, limits.min, limits.max).astype(to)


def _low_bits(whole: Array, to: np.dtype[Any]) -> Array:
    """The low bits in two's complement of whole numbers in f64 (of infinities: 0)."""
    whole = np.where(np.isinf(whole), 0.0, whole)
    rest = np.fmod(whole, 2.0**64)  # exact, with the sign of `whole`
    magnitude = np.abs(rest).astype(np.uint64)
    bits = np.where(rest < 0, ~magnitude + np.uint64(1), magnitude)
    return bits.astype(np.dtype(f"u{to.itemsize}")).view(to)


def _to_f32(array: Array, mode: str) -> Array:
    if mode in ("none", "rint") or is_float(array.dtype) or array.dtype.itemsize <= 2:
        return decode_f32(array)
    nearest = array.astype(np.float32)
    exact = array.astype(np.float64)  # i32 is exact in f64
    error = exact - nearest.astype(np.float64)
    step = np.sign(error).astype(np.float32)
    other = np.nextafter(nearest, np.copysign(np.float32(np.inf), step))
    distance = np.abs(other.astype(np.float64) - exact)
    closer_to_zero = np.abs(other) < np.abs(nearest)
    use = {
        "floor": error < 0,
        "ceil": error > 0,
        "trunc": closer_to_zero,
        "round": (distance == np.abs(error)) & ~closer_to_zero,
    }[mode]
    return np.where((error != 0) & use, other, nearest)


def _to_f8(values: NDArray[np.float32], to: np.dtype[Any], saturate: bool) -> Array:
    if saturate:
        largest = np.float32(_F8_LARGEST[to])
        values = np.clip(values, -largest, largest)  # NaN stays NaN
    return values.astype(to)


def _to_half(array: Array, to: np.dtype[Any], mode: str, saturate: bool) -> Array:
    if is_float(array.dtype):
        values = decode_f32(array)
    else:
        values = _to_f32_odd(array)
    if mode in ("none", "rint"):
        result = values.astype(to)
    else:
        result = _round_half(values, to, mode)
    if saturate:
        largest = np.array(_HALF_LARGEST[to], to)
        too_far = np.isinf(result)
        result = np.where(too_far, np.copysign(largest, result), result)
    return result


def _to_f32_odd(array: Array) -> NDArray[np.float32]:
    """Integers as f32 with the last bit set where inexact: then one rounding follows.

    Rounding to odd with at least two bits to spare never changes a later rounding.
    """
    if not array.size or -(2**24) <= array.min() <= array.max() <= 2**24:
        return array.astype(np.float32)  # exact
    wide = array.astype(np.int64)
    magnitude = np.where(wide < 0, -wide, wide).view(np.uint64)
    shift = np.zeros(wide.shape, np.uint64)
    for step in (32, 16, 8, 4, 2, 1):
        high = (magnitude >> shift) >> np.uint64(24 + step - 1)
        shift += np.where(high != 0, np.uint64(step), np.uint64(0))
    kept = magnitude >> shift
    kept |= ((kept << shift) != magnitude).astype(np.uint64)
    value = np.ldexp(kept.astype(np.float64), shift.astype(np.int32))
    return np.where(wide < 0, -value, value).astype(np.float32)


def _round_half(values: NDArray[np.float32], to: np.dtype[Any], mode: str) -> Array:
    """f32 to f16 or bf16 in a directed mode, ties away, or to odd.

    A magnitude's place among the codes of the target is a number with a fraction;
    rounding that number rounds the value, subnormals and the step to inf included.
    """
    bits = values.view(np.uint32)
    magnitude = bits & np.uint32(0x7FFFFFFF)
    if to == BF16:
        place, infinity = magnitude.astype(np.float64) / 2**16, 0x7F80
    else:
        infinity = 0x7C00
        rebiased = magnitude.astype(np.int64) - (112 << 23)
        small = np.abs(values.astype(np.float64)) * 2.0**24
        normal = magnitude >= np.uint32(113 << 23)
        place = np.where(normal, rebiased / 2.0**13, small)
    negative = bits >> np.uint32(31) != 0
    if mode in ("floor", "ceil"):
        outward = negative if mode == "floor" else ~negative
        codes = np.where(outward, np.ceil(place), np.floor(place))
        last = np.where(outward, infinity, infinity - 1)
    else:
        codes = _round(place, "round" if mode == "round" else "trunc")
        last = np.full(place.shape, infinity if mode == "round" else infinity - 1)
    code = codes.astype(np.int64)
    if mode == "odd":
        code |= codes != place
    finite = magnitude < np.uint32(0x7F800000)
    code = np.where(finite, np.minimum(code, last), infinity)
    code = np.where(np.isnan(values), infinity | infinity >> 1, code)
    code |= negative.astype(np.int64) << 15
    return code.astype(np.uint16).view(to)


def encode_e8m0(values: NDArray[np.float32]) -> Array:
    """f32 to the nearest power of two, as f8E8M0FNU.

    Ties (a mantissa of 1.5) go up, the sign is ignored, 0 gives 2^-127, finite values
    above 2^127 give 2^127; infinities and NaN give NaN (0xFF).
    """
    bits = np.ascontiguousarray(values).view(np.uint32) & np.uint32(0x7FFFFFFF)
    exponent = (bits >> np.uint32(23)).astype(np.int64)
    mantissa = bits & np.uint32(0x7FFFFF)
    # A subnormal counts in units of 2^-149, so 1.5 * 2^-127 is 0x600000.
    middle = np.where(exponent == 0, 0x600000, 0x400000)
    code = np.minimum(exponent + (mantissa >= middle), 0xFE)
    code = np.where(exponent == 255, 0xFF, code)
    return code.astype(np.uint8).view(E8M0)


# Microscaling: one scale for 32 elements of K, two side by side for each 64.


def mx_scales_lhs(
    scales: Array, k: int, transposed: bool = False
) -> NDArray[np.float32]:
    """Scales [m, kb, 2] (transposed: [kb, m, 2]) as f32 [m, k], one for each element.

    `kb` is ceil(k / 64); what is beyond `k` is not used.
    """
    values = decode_f32(scales)
    if transposed:
        values = values.transpose(1, 0, 2)
    m, blocks, _ = values.shape
    rows = values.reshape(m, 2 * blocks)
    return np.repeat(rows, 32, axis=1)[:, :k]


def mx_scales_rhs(
    scales: Array, k: int, transposed: bool = False
) -> NDArray[np.float32]:
    """Scales [kb, n, 2] (transposed: [n, kb, 2]) as f32 [k, n], one an element."""
    values = decode_f32(scales)
    if transposed:
        values = values.transpose(1, 0, 2)
    blocks, n, _ = values.shape
    columns = values.transpose(0, 2, 1).reshape(2 * blocks, n)
    return np.repeat(columns, 32, axis=0)[:k]


def output_scale(scale: Array) -> Array:
    """An f32 scale as the store of the cube unit keeps it: 10 bits of mantissa."""
    bits = np.ascontiguousarray(scale).view(np.uint32) & _SCALE_BITS
    return bits.view(np.float32)
