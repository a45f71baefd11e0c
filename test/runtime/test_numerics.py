"""Casts and decoding by example; `test_numerics_exhaustive.py` has all codes.

What is expected comes from ml_dtypes' own conversions, from Python's integers and
fractions, or from a search over all values of the target: never from the tables of
`numerics`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyptoc.runtime import numerics
from pyptoc.runtime.numerics import CastError, cast, decode_f32, storage_dtype

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
E8M0, BF16 = ml_dtypes.float8_e8m0fnu, ml_dtypes.bfloat16
ALL8 = np.arange(256, dtype=np.uint8)
ALL16 = np.arange(65536, dtype=np.uint32).astype(np.uint16)
MODES = ("rint", "round", "floor", "ceil", "trunc")
NOTABLE = (0.0, np.inf, np.nan, 0.5, 0.49999997, 1.5, 2.5, 300.0, 448, 464, 465)
NOTABLE += (57344, 61440, 65504, 65519, 65520, 2147483520.0, 1e-45)
SMALL_FLOATS = {"f8E4M3FN": E4M3, "f8E5M2": E5M2, "bf16": BF16, "f16": np.float16}


def codes(name):
    dtype = storage_dtype(name)
    return (ALL8 if dtype.itemsize == 1 else ALL16).view(dtype)


def f32s(count):
    """Random bit patterns (NaN, inf, subnormals among them) and ordinary numbers."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**32, count, dtype=np.uint32).view(np.float32)
    near = rng.normal(0, 1, count).astype(np.float32) * np.exp2(
        rng.integers(-30, 30, count)
    ).astype(np.float32)
    special = np.array([*NOTABLE, 2.0**31, 2.0**63, 2.0**-127, 3.4e38], np.float32)
    return np.concatenate([special, -special, bits, near])


def same(got, expected):
    """Equal bits, except that any NaN equals any NaN where a NaN is expected."""
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    bits = np.dtype(f"u{got.dtype.itemsize}")
    different = got.view(bits) != expected.view(bits)
    if expected.dtype.kind not in "iub":
        both_nan = np.isnan(got) & np.isnan(expected)
        different &= ~both_nan
    where = np.flatnonzero(different)
    first = where[:5]
    assert not where.size, (first, got.reshape(-1)[first], expected.reshape(-1)[first])


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_decode_every_code(name):
    array = codes(name)
    expected = array.astype(np.float32)
    assert np.isnan(expected).any()
    same(decode_f32(array), expected)
    many = np.tile(array, 32).reshape(64, -1)  # large enough for the pair table
    same(decode_f32(many), many.astype(np.float32))
    same(decode_f32(many[:, 1::2]), many[:, 1::2].astype(np.float32))


def test_decode_e8m0():
    got = decode_f32(ALL8.view(E8M0))
    assert np.isnan(got[255])
    assert [float(x) for x in got[:255]] == [math.ldexp(1, e - 127) for e in range(255)]


@pytest.mark.parametrize("name", ["i8", "ui8", "i1"])
def test_decode_integers(name):
    array = (ALL8 % 2 if name == "i1" else ALL8).view(storage_dtype(name))
    assert [float(x) for x in decode_f32(array)] == [float(int(x)) for x in array]


def test_f8_saturates_and_keeps_subnormals():
    values = np.array([1e9, -449, 464, np.inf, -np.inf, np.nan, 2.0**-9], np.float32)
    got = cast(values, "f8E4M3FN").astype(np.float32)
    assert got[:5].tolist() == [448, -448, 448, 448, -448]
    assert np.isnan(got[5])
    assert got[6] == 2.0**-9
    wrapped = cast(values, "f8E4M3FN", saturate=False).astype(np.float32)
    assert np.isnan(wrapped[[0, 3, 4, 5]]).all()
    assert np.isinf(cast(values, "f8E5M2", saturate=False)[[0, 3]].astype("f4")).all()


def exact_round(value, mode):
    """A finite float rounded to an integer, by fractions."""
    x = Fraction(value)
    floor = x.numerator // x.denominator
    if mode == "floor" or x == floor:
        return floor
    if mode == "ceil":
        return floor + 1
    if mode in ("trunc", "none"):
        return floor if x > 0 else floor + 1
    rest = x - floor
    if rest != Fraction(1, 2):
        return floor + (rest > Fraction(1, 2))
    if mode == "rint":
        return floor + floor % 2
    return floor + 1 if x > 0 else floor


def test_wrapping_example():
    assert cast(np.array([300.0], np.float16), "i8", saturate=False)[0] == 44
    assert cast(np.array([300.0], np.float16), "i8")[0] == 127


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(0, 62))
def test_wide_integers_to_float_round_once(values, shift):
    array = np.array([value >> shift for value in values], np.int64)
    for target in ("f32", "bf16", "f16"):
        lattice_bits = {"f32": 24, "bf16": 8, "f16": 11}[target]
        got = cast(array, target).astype(np.float64)
        for value, result in zip(array.tolist(), got.tolist(), strict=True):
            spare = max(abs(value).bit_length() - lattice_bits, 0)
            expected = exact_round(Fraction(value, 2**spare), "rint") * 2**spare
            if target == "f16" and abs(expected) > 65504:
                expected = math.copysign(math.inf, value)
            assert result == expected


@pytest.mark.parametrize("power", [25, 30])
def test_wide_integers_are_not_rounded_twice(power):
    """One above a tie of bf16, but a tie once it is rounded to f32."""
    low, tie, high = (2**power + part * 2 ** (power - 8) for part in range(3))
    for value, expected in ((tie, low), (tie + 1, high), (-tie - 1, -high)):
        for dtype in (np.int32, np.int64):
            assert int(cast(np.array([value], dtype), "bf16")[0]) == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1))
def test_i32_to_f32_in_every_mode(values):
    array = np.array(values, np.int32)
    for mode in MODES:
        got = cast(array, "f32", mode).tolist()
        for value, result in zip(values, got, strict=True):
            spare = max(abs(value).bit_length() - 24, 0)
            assert result == exact_round(Fraction(value, 2**spare), mode) * 2**spare


def nearest_power(value):
    """The E8M0 code by its definition, in exact arithmetic."""
    if math.isnan(value) or math.isinf(value):
        return 255
    magnitude = Fraction(abs(value))
    if magnitude == 0:
        return 0
    exponent = -127
    while exponent < 127 and magnitude >= Fraction(2) ** exponent * Fraction(3, 2):
        exponent += 1
    return exponent + 127


def test_e8m0_by_definition():
    special = np.array(
        [0, -0.0, 1, 1.5, 1.4999999, 3, -3, 2.0**127, 1.7e38, 3.4e38, np.inf, np.nan],
        np.float32,
    )
    tiny = np.array([1, 1.5, 1.9999999, 2, 2.9999998, 3, 1e-7], np.float64) * 2.0**-127
    array = np.concatenate([special, tiny.astype(np.float32), f32s(500)])
    got = cast(array, "f8E8M0FNU").view(np.uint8).tolist()
    assert got == [nearest_power(float(value)) for value in array]
    for code in range(255):
        power = np.array([math.ldexp(1, code - 127)], np.float32)
        assert cast(power, "f8E8M0FNU").view(np.uint8)[0] == code


@pytest.mark.parametrize(
    ("source", "target", "mode"),
    [
        ("f32", "f8E4M3FN", "floor"),
        ("f32", "f8E8M0FNU", "ceil"),
        ("f32", "bf16", "odd"),
        ("f16", "bf16", "trunc"),
        ("f32", "i8", "odd"),
        ("f32", "i1", None),
        ("i32", "f8E4M3FN", None),
        ("i64", "f32", "floor"),
        ("f8E8M0FNU", "i8", None),
        ("f32", "f16", "up"),
    ],
)
def test_unsupported_casts_are_errors(source, target, mode):
    array = np.ones(4, storage_dtype(source))
    with pytest.raises(CastError):
        cast(array, target, mode)


def test_casts_do_not_alias():
    array = np.ones(3, np.float32)
    cast(array, "f32")[0] = 5
    assert array[0] == 1


@pytest.mark.parametrize("k", [32, 64, 96, 100, 448])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("m", [0, 5])
def test_mx_scales(k, transposed, m):
    rng = np.random.default_rng(k)
    blocks = -(-k // 64)
    shape = (blocks, m, 2) if transposed else (m, blocks, 2)
    bits = rng.integers(100, 150, shape).astype(np.uint8)
    got = numerics.mx_scales_lhs(bits.view(E8M0), k, transposed)
    assert got.shape == (m, k)
    for row in range(m):
        for column in range(k):
            kb, j = divmod(column // 32, 2)
            code = bits[kb, row, j] if transposed else bits[row, kb, j]
            assert got[row, column] == math.ldexp(1, int(code) - 127)
    other = bits if transposed else bits.transpose(1, 0, 2)  # [kb, n, 2]
    stored = other.transpose(1, 0, 2) if transposed else other
    rhs = numerics.mx_scales_rhs(stored.view(E8M0), k, transposed)
    assert (rhs == got.T).all()


def test_storage_names():
    for name, dtype in numerics.STORAGE.items():
        assert numerics.element_name(dtype) == ("i64" if name == "index" else name)
    with pytest.raises(CastError):
        storage_dtype("f80")
