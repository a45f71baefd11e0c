"""Comparing results: tolerances, special values, bits, files of expected results."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float16Type,
    Float32Type,
    IntegerType,
)

from pyptoc.dialects.diagnostics import CompileError
from pyptoc.runtime.compare import bit_equal, compare, parse_tolerances
from pyptoc.runtime.outputs import load_expected, write_npz
from pyptoc.runtime.signature import Result, Tolerance, default_tolerance

F32, F16, BF16, F8 = Float32Type(), Float16Type(), BFloat16Type(), Float8E4M3FNType()
I8, I32, I64 = IntegerType(8), IntegerType(32), IntegerType(64)


def result(kind, tolerance: Tolerance | None = None, shape=(None,)) -> Result:
    given = default_tolerance(kind) if tolerance is None else tolerance
    return Result("out", kind, shape, given, False, "tensor<...>")


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


class TestFloats:
    def test_equal(self) -> None:
        row = compare(result(F32), f32(1, 2), f32(1, 2))
        assert row.passed
        assert row.equal == 1.0
        assert row.worst == ""

    def test_edge_of_the_tolerance(self) -> None:
        wide = result(F32, Tolerance(atol=0.5, rtol=0.25))
        assert compare(wide, f32(5.5), f32(4)).passed
        assert not compare(wide, f32(5.5001), f32(4)).passed

    def test_worst_is_the_furthest_outside(self) -> None:
        wide = result(F32, Tolerance(rtol=0.1))
        row = compare(wide, f32(1000, 1.5, 1), f32(1050, 1, 1))
        assert not row.passed
        assert row.worst == "0.5 at [1] (got 1.5, ref 1)"
        assert row.equal == pytest.approx(1 / 3)

    def test_outliers_are_a_share(self) -> None:
        some = result(F32, Tolerance(atol=0.1, outliers=0.5))
        assert compare(some, f32(9, 1), f32(1, 1)).passed
        assert not compare(some, f32(9, 9, 1), f32(1, 1, 1)).passed

    @pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
    def test_special_values_match_only_themselves(self, special: float) -> None:
        some = result(F32, Tolerance(atol=1e9, rtol=1e9, outliers=0.9))
        assert compare(some, f32(special), f32(special)).passed
        assert not compare(some, f32(special, 1, 1, 1), f32(1, 1, 1, 1)).passed
        assert not compare(some, f32(1, 1, 1, 1), f32(special, 1, 1, 1)).passed
        assert not compare(some, f32(special), f32(-special + 1)).passed or np.isnan(
            special
        )

    def test_shapes_differ(self) -> None:
        row = compare(result(F32), f32(1, 2), f32(1))
        assert not row.passed
        assert "shape (2,), expected (1,)" in row.worst

    def test_empty_and_rank_0(self) -> None:
        assert compare(result(F32), f32(), f32()).passed
        row = compare(result(F32, shape=()), np.float32(1), np.float32(2))
        assert row.worst == "1 (got 1, ref 2)"


class TestCodes:
    def test_one_code(self) -> None:
        codes = np.array([0x08, 0x80, 0x7E], np.uint8)
        near = np.array([0x09, 0x00, 0x7D], np.uint8)
        far = np.array([0x0A, 0x00, 0x7E], np.uint8)
        kind = ml_dtypes.float8_e4m3fn
        assert compare(result(F8), near.view(kind), codes.view(kind)).passed
        row = compare(result(F8), far.view(kind), codes.view(kind))
        assert not row.passed
        assert row.worst.startswith("2 codes at [0]")

    def test_neighbours_of_zero_are_two_apart(self) -> None:
        a = np.array([0x01], np.uint8).view(ml_dtypes.float8_e4m3fn)
        b = np.array([0x81], np.uint8).view(ml_dtypes.float8_e4m3fn)
        assert not compare(result(F8), a, b).passed

    def test_nan_is_not_the_largest_value_plus_one(self) -> None:
        a = np.array([0x7F], np.uint8).view(ml_dtypes.float8_e4m3fn)
        b = np.array([0x7E], np.uint8).view(ml_dtypes.float8_e4m3fn)
        assert not compare(result(F8), a, b).passed
        assert compare(result(F8), a, a).passed


class TestIntegers:
    def test_exact_by_default(self) -> None:
        assert not compare(result(I8), np.int8([1]), np.int8([2])).passed

    def test_the_difference_does_not_wrap(self) -> None:
        one = result(I8, Tolerance(atol=1))
        assert not compare(one, np.int8([-128]), np.int8([127])).passed
        one = result(I64, Tolerance(atol=1))
        lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
        assert not compare(one, np.array([lowest]), np.array([highest])).passed
        exact = result(I64)
        big = np.array([2**62 + 1])
        assert not compare(exact, big, big - 1).passed

    def test_sets(self) -> None:
        sets = result(I32, Tolerance(as_sets=True))
        want = np.array([[1, 2, 3], [4, 5, -1]])
        assert compare(sets, np.array([[3, 1, 2], [-1, 5, 4]]), want).passed
        got = np.array([[3, 1, 2], [-1, 5, 9]])
        row = compare(sets, got, want)
        assert not row.passed
        assert row.worst == "1 missing in row 1"
        one = result(I32, Tolerance(as_sets=True, misses=1))
        assert compare(one, got, want).passed
        # An element found twice does not stand for two.
        assert not compare(one, np.array([[1, 1, 1]]), np.array([[1, 2, 3]])).passed


class TestBits:
    def test_signs_of_zero_differ_and_nans_do_not(self) -> None:
        assert bit_equal({"x": f32(0.0)}, {"x": f32(-0.0)}) == ["x"]
        other_nan = np.array([0x7FC00001], np.uint32).view(np.float32)
        assert bit_equal({"x": other_nan}, {"x": f32(np.nan)}) == []
        assert bit_equal({"x": f32(1)}, {"x": f32(1, 1)}) == ["x"]
        assert bit_equal({"x": np.ones(2, bool)}, {"x": np.ones(2, bool)}) == []
        bf16 = np.ones(2, ml_dtypes.bfloat16)
        assert bit_equal({"x": bf16}, {"x": bf16 * 2}) == ["x"]


class TestTol:
    def test_override(self) -> None:
        (changed,) = parse_tolerances(["out=1:1e-3"], [result(F32)])
        assert changed.tolerance == Tolerance(1.0, 1e-3)
        (changed,) = parse_tolerances(["out=2"], [result(F32)])
        assert changed.tolerance == Tolerance(2.0)

    @pytest.mark.parametrize("text", ["out", "out=a:1", "out=-1:0", "out=nan", "=1:1"])
    def test_bad_texts(self, text: str) -> None:
        with pytest.raises(CompileError, match="not NAME=ATOL:RTOL"):
            parse_tolerances([text], [result(F32)])

    def test_unknown_result(self) -> None:
        with pytest.raises(CompileError, match="no result 'oud'"):
            parse_tolerances(["oud=1:1"], [result(F32)])


class TestFiles:
    def write(self, tmp_path, **arrays: np.ndarray) -> str:
        name = str(tmp_path / "golden.npz")
        np.savez(name, **arrays)
        return name

    def test_round_trip(self, tmp_path) -> None:
        values = {
            "file": f32(1.5),
            "b": np.ones(2, ml_dtypes.bfloat16),
            "q": np.ones(2, ml_dtypes.float8_e4m3fn),
            "h": np.ones(2, np.float16),
        }
        streams = [BytesIO(), BytesIO()]
        for stream in streams:
            write_npz(stream, values)
        assert streams[0].getvalue() == streams[1].getvalue()
        with ZipFile(streams[0]) as archive:  # no time of day in the file
            assert {each.date_time[0] for each in archive.infolist()} == {1980}
        streams[0].seek(0)
        loaded = np.load(streams[0])
        assert loaded["file"].tolist() == [1.5]
        assert loaded["b"].dtype == np.uint16
        assert loaded["b"].tolist() == [0x3F80] * 2
        assert loaded["q"].dtype == np.uint8
        assert loaded["h"].dtype == np.float16

    def test_a_wider_golden_is_fine(self, tmp_path) -> None:
        name = self.write(tmp_path, out=np.array([1.0, 2.0]))
        expected, _ = load_expected(name, [result(BF16)])
        assert expected["out"].dtype == np.float64
        name = self.write(tmp_path, out=np.array([1, 2]))
        expected, _ = load_expected(name, [result(I8)])
        assert expected["out"].tolist() == [1, 2]

    def test_bits(self, tmp_path) -> None:
        name = self.write(tmp_path, out=np.array([0x3F80], np.uint16))
        expected, _ = load_expected(name, [result(BF16)])
        assert expected["out"].astype(np.float32).tolist() == [1.0]

    @pytest.mark.parametrize(
        ("kind", "array", "text"),
        [
            (F32, np.array([1]), "has shape (1,) int64; the result is"),
            (I8, np.array([1.0]), "has shape (1,) float64"),
            (F8, np.array([1.0]), "has shape (1,) float64"),
            (F32, np.array([[1.0]]), "has shape (1, 1) float64"),
        ],
    )
    def test_what_does_not_fit(self, tmp_path, kind, array, text: str) -> None:
        name = self.write(tmp_path, out=array)
        with pytest.raises(CompileError) as error:
            load_expected(name, [result(kind)])
        assert text in error.value.diagnostics[0].message

    def test_missing_and_unknown(self, tmp_path) -> None:
        name = self.write(tmp_path, ouf=f32(1))
        with pytest.raises(CompileError, match="no expected value for the result") as e:
            load_expected(name, [result(F32)])
        assert e.value.diagnostics[0].help == "'ouf': did you mean out?"
        with pytest.raises(CompileError, match="no expected value for the result") as e:
            load_expected(self.write(tmp_path, other=f32(1)), [result(F32)])
        assert e.value.diagnostics[0].help == ""
        name = self.write(tmp_path, out=f32(1), extra=f32(1))
        _, (warning,) = load_expected(name, [result(F32)])
        assert "'extra' names no result" in warning.message
