"""
What a cast gives, by definition, in integers.

A number is `m * 2**e` with a sign; a target type keeps a multiple of its quantum. All
is done on whole arrays of 64-bit integers, without any conversion of numpy, ml_dtypes
or `pyptoc.runtime.numerics`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from element_types import DTYPES
from numpy.typing import NDArray

Array = NDArray[Any]

FLOATS = ("f32", "f16", "bf16", "f8E4M3FN", "f8E5M2")
INTEGERS = ("i8", "ui8", "i16", "i32", "i64")
MODES = ("none", "rint", "round", "floor", "ceil", "trunc", "odd")
ANY_WHOLE = MODES[:-1]


class Format(NamedTuple):
    """A float of the IEEE kind."""

    bits: int
    fraction: int
    bias: int
    first_special: int
    """The least magnitude code that is no finite number: inf, or NaN in E4M3FN."""


FORMATS = {
    "f32": Format(32, 23, 127, 0x7F800000),
    "f16": Format(16, 10, 15, 0x7C00),
    "bf16": Format(16, 7, 127, 0x7F80),
    "f8E4M3FN": Format(8, 3, 7, 0x7F),
    "f8E5M2": Format(8, 2, 15, 0x7C),
}


def modes_of(source: str, target: str) -> tuple[str, ...]:
    """The modes that the language has for a pair; empty: there is no cast."""
    if source == target:
        return ANY_WHOLE
    halves = ("f32", "f16", "bf16")
    if target == "i1" or (source == "f8E8M0FNU" and target not in halves):
        return ()
    if target == "f8E8M0FNU":
        return ("none", "rint") if source in halves else ()
    if target in FLOATS[3:]:
        return ("none", "rint") if source in FLOATS else ()
    if target in INTEGERS:
        return ANY_WHOLE
    if target == "f32":
        return ("none", "rint") if source == "i64" else ANY_WHOLE
    if source != "f32":
        return ("none", "rint")
    return MODES if target == "f16" else ANY_WHOLE


class Numbers(NamedTuple):
    """`m * 2**e`, or inf or NaN, of each element."""

    negative: Array
    m: Array
    """u64."""
    e: Array
    inf: Array
    nan: Array


def decode(array: Array, element: str) -> Numbers:
    """The numbers of an array, from its bits."""
    no = np.zeros(array.shape, np.bool_)
    if element in INTEGERS or element == "i1":
        wide = array.astype(np.int64)
        low = wide.view(np.uint64)
        m = np.where(wide < 0, ~low + np.uint64(1), low)
        return Numbers(wide < 0, m, np.zeros(array.shape, np.int64), no, no)
    code = array.view(f"u{array.dtype.itemsize}").astype(np.int64)
    if element == "f8E8M0FNU":
        return Numbers(no, np.ones_like(code, np.uint64), code - 127, no, code == 255)
    form = FORMATS[element]
    negative = code >> (form.bits - 1) != 0
    code &= (1 << (form.bits - 1)) - 1
    exponent, fraction = code >> form.fraction, code & ((1 << form.fraction) - 1)
    m = np.where(exponent > 0, fraction | 1 << form.fraction, fraction)
    e = np.maximum(exponent, 1) - form.bias - form.fraction
    inf = no if element == "f8E4M3FN" else code == form.first_special
    nan = (code >= form.first_special) & ~inf
    return Numbers(negative, m.astype(np.uint64), e, inf, nan)


def exact_cast(
    array: Array, source: str, target: str, mode: str = "none", wrap: bool = False
) -> Array:
    """The array in the target type; `wrap` is `saturate = false`."""
    if source == target:
        return array.copy()
    numbers = decode(array, source)
    if target == "f8E8M0FNU":
        return _to_power(numbers)
    if target in INTEGERS:
        return _to_integer(numbers, target, "trunc" if mode == "none" else mode, wrap)
    return _to_float(numbers, target, "rint" if mode == "none" else mode, wrap)


def _length(m: Array) -> Array:
    """How many bits each number has."""
    count, rest = np.zeros(m.shape, np.int64), m.copy()
    for step in (32, 16, 8, 4, 2, 1):
        high = rest >> np.uint64(step)
        count += np.where(high != 0, step, 0)
        rest = np.where(high != 0, high, rest)
    return count + (rest != 0)


def _shifted(numbers: Numbers, shift: Array, mode: str) -> Array:
    """`m / 2**shift` as a whole number by the rule of the mode; shift 0 to 64."""
    m, negative = numbers.m, numbers.negative
    gone = shift > 63
    right = np.where(gone, 63, shift).astype(np.uint64)
    kept = np.where(gone, np.uint64(0), m >> right)
    rest = np.where(gone, m, m & ((np.uint64(1) << right) - np.uint64(1)))
    half = np.where(
        gone, np.uint64(2**63), np.uint64(1) << (np.maximum(right, 1) - np.uint64(1))
    )
    inexact = rest != 0
    odd = kept & np.uint64(1) != 0
    match mode:
        case "rint":
            up = (rest > half) | ((rest == half) & odd)
        case "round":
            up = rest >= half
        case "floor":
            up = negative
        case "ceil":
            up = ~negative
        case "trunc":
            up = np.zeros_like(negative)
        case _:
            up = ~odd
    return kept + (inexact & up).astype(np.uint64)


def _to_integer(numbers: Numbers, target: str, mode: str, wrap: bool) -> Array:
    dtype = np.dtype(DTYPES[target])
    right = np.clip(-numbers.e, 0, 64)
    left = np.clip(numbers.e, 0, 64)
    whole = _shifted(numbers, right, mode)
    beyond = (whole != 0) & (_length(whole) + left > 64) | numbers.inf
    low = whole << np.minimum(left, 63).astype(np.uint64)
    low = np.where((left > 63) | numbers.nan | numbers.inf, np.uint64(0), low)
    if wrap:
        signed = np.where(numbers.negative, ~low + np.uint64(1), low)
        return signed.astype(f"u{dtype.itemsize}").view(dtype)
    limits = np.iinfo(dtype)
    most = np.where(numbers.negative, -int(limits.min), int(limits.max))
    most = most.astype(np.uint64)
    size = np.where(beyond | (low > most), most, low)
    size = np.where(numbers.nan, np.uint64(0), size)
    signed = np.where(numbers.negative, ~size + np.uint64(1), size)
    return signed.view(np.int64).astype(dtype)


def _to_float(numbers: Numbers, target: str, mode: str, wrap: bool) -> Array:
    form = FORMATS[target]
    least = 1 - form.bias - form.fraction
    """The exponent of the least quantum."""
    top = _length(numbers.m) + numbers.e - 1
    quantum = np.maximum(top - form.fraction, least)
    shift = quantum - numbers.e
    kept = _shifted(numbers, np.clip(shift, 0, 64), mode)
    kept = kept << np.clip(-shift, 0, 63).astype(np.uint64)
    code = (quantum - least << form.fraction) + kept.astype(np.int64)
    code = np.where(numbers.m == 0, 0, code)
    inward = {
        "floor": ~numbers.negative,
        "ceil": numbers.negative,
        "trunc": np.True_,
        "odd": np.True_,
    }.get(mode, np.False_)
    special = form.first_special
    beyond = np.where(inward, special - 1, special)
    saturates = target.startswith("f8") and not wrap
    code = np.where(code >= special, special - 1 if saturates else beyond, code)
    code = np.where(numbers.inf, special - saturates, code)
    nan = special if target == "f8E4M3FN" else special | 1 << (form.fraction - 1)
    code = np.where(numbers.nan, nan, code)
    code |= numbers.negative.astype(np.int64) << (form.bits - 1)
    return code.astype(f"u{form.bits // 8}").view(DTYPES[target])


def exact_mx(blocks: Array, element: str, target: str) -> tuple[Array, Array]:
    """
    Blocks `[.., 32]` in microscaling: f8 values and the E8M0 codes of their scales.

    The scale is the power of two at or below the greatest magnitude, over the greatest
    power of two of the target, at least 2^-127; values are rounded and saturate. A
    block with an infinity or a NaN is NaN, and so is its scale.
    """
    numbers = decode(blocks, element)
    top = np.where(numbers.m == 0, -10000, _length(numbers.m) + numbers.e - 1)
    most = 8 if target == "f8E4M3FN" else 15
    scale = np.clip(top.max(axis=-1, keepdims=True) - most, -127, 127)
    spoiled = (numbers.inf | numbers.nan).any(axis=-1, keepdims=True)
    moved = numbers._replace(
        e=numbers.e - scale,
        nan=np.broadcast_to(spoiled, blocks.shape),
        inf=np.zeros(blocks.shape, np.bool_),
    )
    codes = np.where(spoiled, 255, scale + 127)[..., 0].astype(np.uint8)
    values = _to_float(moved, target, "rint", False)
    return values, codes.view(DTYPES["f8E8M0FNU"])


def _to_power(numbers: Numbers) -> Array:
    """E8M0: the nearest power of two, a tie up; the sign does not count."""
    length = _length(numbers.m)
    top = length + numbers.e - 1
    second = numbers.m >> np.maximum(length - 2, 0).astype(np.uint64) & np.uint64(1)
    up = (length > 1) & (second != 0)
    code = np.clip(top + up + 127, 0, 254)
    code = np.where(numbers.m == 0, 0, code)
    code = np.where(numbers.inf | numbers.nan, 255, code)
    return code.astype(np.uint8).view(DTYPES["f8E8M0FNU"])


# Inputs ------------------------------------------------------------------------------


def every_code(element: str) -> Array:
    """All codes of a type of one or two bytes."""
    dtype = np.dtype(DTYPES[element])
    if element == "i1":
        return np.array([False, True])
    bits = 8 * dtype.itemsize
    return np.arange(2**bits, dtype=f"u{dtype.itemsize}").view(dtype)


def edges(element: str, target: str) -> Array:
    """
    Numbers of a type where a cast to `target` may go wrong: every code of a small type;
    else all numbers of the target and the middles between them, with the neighbours of
    these, limits, powers of two, and random bits.
    """
    dtype = np.dtype(DTYPES[element])
    if dtype.itemsize < 4:
        return every_code(element)
    draw = np.random.default_rng(7)
    bits = draw.integers(0, 256, (4000, dtype.itemsize), np.uint8).view(dtype)[:, 0]
    if element == "f32":
        return np.concatenate([_float_edges(target), bits])
    width = 8 * dtype.itemsize - 1
    powers = np.array([2**k for k in range(width)], np.int64)
    near = (powers[:, None] + np.arange(-3, 4)).reshape(-1)
    half = (powers[:, None] + powers[None, :] // 2).reshape(-1)
    small = np.arange(0, 2**15 + 3 if target == "i16" else 600)
    limit = 2**width - 1
    found = np.concatenate([near, half, half - 1, half + 1, small, [limit]])
    found = np.clip(found, -limit, limit)
    return np.concatenate([found, -found - 1, bits]).astype(dtype)


def _float_edges(target: str) -> Array:
    special = np.array([np.inf, np.nan, 0.0, 3.4028235e38, 2.0**-149, 2.0**-126])
    powers = np.ldexp(1.0, np.arange(-149, 128))
    if target in FLOATS and target != "f32":
        codes = np.arange(FORMATS[target].first_special)
        codes = codes.astype(f"u{FORMATS[target].bits // 8}")
        numbers = codes.view(DTYPES[target]).astype(np.float64)
        # Between the largest number and what would be the next one, too.
        numbers = np.append(numbers, 2 * numbers[-1] - numbers[-2])
    elif target in INTEGERS:
        most = 2**15 + 3 if target == "i16" else 600
        numbers = np.concatenate([np.arange(0.0, most), powers])
    else:
        numbers = np.concatenate([np.arange(0, 300), powers])
    middles = (numbers[1:] + numbers[:-1]) / 2
    with np.errstate(over="ignore"):
        exact = np.concatenate([numbers, middles, powers, 1.5 * powers, special])
        found = exact.astype(np.float32)
        below = np.nextafter(found, np.float32(-np.inf))
        above = np.nextafter(found, np.float32(np.inf))
    whole = np.concatenate([found, below, above])
    return np.concatenate([whole, -whole])


def same(found: Array, want: Array) -> Array:
    """Where bits are equal, any NaN being any other."""
    bits = f"u{want.dtype.itemsize}"
    equal = found.view(bits) == want.view(bits)
    if want.dtype.kind in "iub":
        return equal
    with np.errstate(invalid="ignore"):
        return equal | (np.isnan(found) & np.isnan(want))
