"""
Holds results against expected ones, each with its own tolerance.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.record import record
from pyptoc.runtime.signature import Result, Tolerance, type_name

Array = npt.NDArray[Any]


@record
class Comparison:
    """One row of the table: how far a result is from what was expected."""

    name: str
    type: str
    tolerance: str
    worst: str
    """The largest excess over the tolerance and where, or the empty string."""
    equal: float
    """The share of equal elements."""
    passed: bool


def parse_tolerances(
    texts: Sequence[str], results: Sequence[Result]
) -> tuple[Result, ...]:
    """The results with the tolerances of `--tol NAME=A:R`; PTO500 for a bad text."""
    overrides: dict[str, Tolerance] = {}
    names = [result.name for result in results]
    for text in (part for given in texts for part in given.split(",")):
        match = re.fullmatch(r"\s*([^=]+)=([^:]+)(?::(.+))?", text)
        try:
            if match is None:
                raise ValueError
            atol, rtol = float(match[2]), float(match[3] or 0)
            if not (atol >= 0 and rtol >= 0):
                raise ValueError
        except ValueError:
            error(
                None,
                "PTO500",
                f"--tol {text}: not NAME=ATOL:RTOL",
                help="--tol out=1:1e-3 means |got - ref| <= 1 + 1e-3 * |ref|",
            )
        name = match[1].strip()
        if name not in names:
            hint = did_you_mean(name, names) or f"results: {', '.join(names)}"
            error(None, "PTO500", f"--tol {text}: no result '{name}'", help=hint)
        overrides[name] = Tolerance(atol, rtol)
    return tuple(
        replace(result, tolerance=overrides.get(result.name, result.tolerance))
        for result in results
    )


def compare(result: Result, got: Array, expected: Array) -> Comparison:
    """Compares two arrays of the result's storage type and of equal shape."""
    tolerance = result.tolerance
    got, expected = np.asarray(got), np.asarray(expected)
    kind = f"{type_name(result.element_type)}{list(got.shape)}".replace(" ", "")
    if got.shape != expected.shape:
        worst = f"shape {got.shape}, expected {expected.shape}"
        return Comparison(result.name, kind, str(tolerance), worst, 0.0, False)
    if tolerance.as_sets:
        worst, equal, passed = _as_sets(got, expected, tolerance)
    else:
        worst, equal, passed = _elementwise(got, expected, tolerance)
    return Comparison(result.name, kind, str(tolerance), worst, equal, passed)


def _elementwise(
    got: Array, expected: Array, tolerance: Tolerance
) -> tuple[str, float, bool]:
    distance, allowed = _distances(got, expected, tolerance)
    if distance.size == 0:
        return "", 1.0, True
    outside = distance > allowed
    # What is infinitely far (a NaN, an infinity) is no outlier: it is wrong.
    hopeless = bool(np.any(np.isinf(distance) & outside))
    passed = not hopeless and float(outside.mean()) <= tolerance.outliers
    equal = float((distance == 0).mean())
    if equal == 1.0:
        return "", equal, passed
    excess = np.where(outside, distance - allowed, -1.0)
    at = int(np.argmax(excess if outside.any() else distance))
    where = list(map(int, np.unravel_index(at, distance.shape)))
    place = f" at {where}" if where else ""
    values = f" (got {_value(got, at)}, ref {_value(expected, at)})"
    unit = " codes" if tolerance.codes else ""
    return f"{distance.flat[at]:.3g}{unit}{place}{values}", equal, passed


def _value(array: Array, at: int) -> str:
    value = array.reshape(-1)[at]
    return str(int(value)) if array.dtype.kind in "iub" else f"{float(value):.6g}"


def _distances(
    got: Array, expected: Array, tolerance: Tolerance
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """|got - expected| and what is allowed, by element; equal NaNs are 0 apart."""
    if tolerance.codes:
        codes = np.abs(_codes(got) - _codes(expected)).astype(np.float64)
        nan = np.isnan(got.astype(np.float32)) != np.isnan(expected.astype(np.float32))
        codes[nan] = np.inf
        return codes, np.full(codes.shape, float(tolerance.codes))
    if got.dtype.kind in "iub" and expected.dtype.kind in "iub":
        # Through Python integers where 64 bits could overflow in the difference.
        wide = object if got.dtype.itemsize == 8 else np.int64
        difference = np.abs(got.astype(wide) - expected.astype(wide))
        distance = difference.astype(np.float64)
        reference = np.abs(expected.astype(np.float64))
        return distance, tolerance.atol + tolerance.rtol * reference
    a, b = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        distance = np.abs(a - b)
        allowed = tolerance.atol + tolerance.rtol * np.abs(b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    distance = np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))
    # An infinity is matched only by itself, whatever the relative tolerance.
    allowed = np.where(np.isfinite(b), allowed, 0.0)
    return distance, allowed


def _codes(array: Array) -> npt.NDArray[np.int64]:
    """The position of each value among the representable ones; -0 and 0 share one."""
    bits = array.view(np.dtype(f"u{array.dtype.itemsize}")).astype(np.int64)
    if "e8m0" in array.dtype.name:
        return bits
    sign = 1 << (8 * array.dtype.itemsize - 1)
    magnitude = bits & (sign - 1)
    return np.where(bits & sign, -magnitude, magnitude)


def _as_sets(
    got: Array, expected: Array, tolerance: Tolerance
) -> tuple[str, float, bool]:
    width = got.shape[-1] if got.ndim else 1
    if got.size == 0:
        return "", 1.0, True
    rows, wanted = got.reshape(-1, width), expected.reshape(-1, width)
    missing = [
        sum((_count(want) - _count(row)).values())
        for row, want in zip(rows, wanted, strict=True)
    ]
    most = max(missing)
    worst = f"{most} missing in row {missing.index(most)}" if most else ""
    equal = 1.0 - sum(missing) / got.size
    return worst, equal, most <= tolerance.misses


def _count(row: Array) -> Counter[Any]:
    elements: list[Any] = row.tolist()
    return Counter(elements)


def bit_equal(got: Mapping[str, Array], wanted: Mapping[str, Array]) -> list[str]:
    """The names whose arrays differ in some bit; NaNs count as equal."""
    different: list[str] = []
    for name, want in wanted.items():
        have = np.asarray(got[name])
        want = np.asarray(want)
        if have.shape != want.shape or have.dtype != want.dtype:
            different.append(name)
            continue
        bits = np.dtype(f"u{have.dtype.itemsize}")
        equal = np.ascontiguousarray(have).view(bits) == np.ascontiguousarray(
            want
        ).view(bits)
        if have.dtype.kind not in "iub":
            nan = np.isnan(have.astype(np.float32)) & np.isnan(want.astype(np.float32))
            equal = equal | nan
        if not equal.all():
            different.append(name)
    return different
