"""Holds results against a golden with the tolerances that an operator's file states."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Results = dict[str, Array]

_RESULT = re.compile(r'\{pypto\.name = "(\w+)"(?:, pypto\.tol = #pypto\.tol<([^>]*)>)?')
_NUMBER = re.compile(r"(\w+) = ([\d.e+-]+)")


PART = 2**14
"""How many elements are looked at in one go."""


@dataclass(frozen=True)
class Tolerance:
    """What a result may be away from its golden."""

    atol: float = 0.0
    rtol: float = 0.0
    outliers: float = 0.0
    """The share of elements that may be further away."""
    misses: int | None = None
    """Rows are sets, and this many of their elements may differ."""


def replaced(text: str, sizes: dict[str, str]) -> str:
    """The text with parts exchanged; each of them must be there."""
    for old, new in sizes.items():
        assert old in text, f"{old} is not in the text"
        text = text.replace(old, new)
    return text


def tolerances(text: str) -> dict[str, Tolerance]:
    """The tolerances of the results of a program, as its text states them."""
    found: dict[str, Tolerance] = {}
    for name, stated in _RESULT.findall(text):
        values = {key: float(number) for key, number in _NUMBER.findall(stated)}
        if "as_sets" in stated:
            found[name] = Tolerance(misses=int(values["misses"]))
        else:
            found[name] = Tolerance(**values)
    return found


def problems(got: Results, want: Results, text: str) -> list[str]:
    """What is wrong with results, by result; nothing where all are near enough."""
    limits = tolerances(text)
    assert list(got) == list(want) == list(limits)
    found = (_problem(got[name], want[name], limits[name]) for name in want)
    return [f"{name}: {text}" for name, text in zip(want, found) if text]


def _problem(got: Array, want: Array, limit: Tolerance) -> str:
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if want.size == 0:
        return ""
    if limit.misses is not None:
        missing = max(map(misses, rows(got), rows(want)))
        return f"{missing} misses in a row" if missing > limit.misses else ""
    outside, worst = 0, 0.0
    parts = zip(_parts(got), _parts(want), strict=True)
    for ratio in (excess(*pair, limit) for pair in parts):
        outside += int((ratio > 1).sum())
        worst = max(worst, float(ratio.max()))
    share = outside / want.size
    if share > limit.outliers or worst == np.inf:
        return f"{100 * share:.3g} % outside, worst {worst:.3g} of what is allowed"
    return ""


def _parts(array: Array) -> Iterator[Array]:
    """The elements, as many at a time as stay in a cache when they are f64."""
    flat = array.reshape(-1)
    return (flat[at : at + PART] for at in range(0, flat.size, PART))


def excess(got: Array, want: Array, limit: Tolerance) -> Array:
    """|got - want| as a share of what is allowed; a NaN or an infinity must be met."""
    a, b = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        away = np.abs(a - b)
        allowed = limit.atol + limit.rtol * np.abs(b)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        far = ~(np.isfinite(a) & np.isfinite(b))
        return np.where(same, 0.0, np.where(far, np.inf, away / allowed))


def rows(array: Array) -> Array:
    """The array as a matrix of its last dimension."""
    return array.reshape(-1, array.shape[-1])


def misses(got: Array, want: Array) -> int:
    """How many elements of one row the other lacks, counting equal ones."""
    left = want.tolist()
    for element in got.tolist():
        if element in left:
            left.remove(element)
    return len(left)
