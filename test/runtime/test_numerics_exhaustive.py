"""Every cast of every code of a small type, and of the edges of wide ones."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from exact_cast import (
    DTYPES,
    FLOATS,
    INTEGERS,
    edges,
    every_code,
    exact_cast,
    modes_of,
    same,
)

from pyptoc.dialects.pypto.infer import ELEMENT_TYPES
from pyptoc.dialects.pypto.infer_elementwise import cast_modes
from pyptoc.runtime.numerics import cast, storage_dtype, supports


def test_the_language_and_the_runtime_have_these_casts() -> None:
    """Two tables of theirs, one of the tests."""
    elements = {str(element): element for element in ELEMENT_TYPES}
    assert set(elements) == set(DTYPES)
    for source, target in product(DTYPES, DTYPES):
        want = set(modes_of(source, target))
        assert set(cast_modes(elements[source], elements[target])) == want
        dtypes = storage_dtype(source), storage_dtype(target)
        modes = ("none", "rint", "round", "floor", "ceil", "trunc", "odd")
        assert {mode for mode in modes if supports(*dtypes, mode)} == want


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_cast(source: str, target: str) -> None:
    if not modes_of(source, target):
        return
    array = edges(source, target)
    for turn, mode in enumerate(modes_of(source, target)):
        if target in INTEGERS or target.startswith("f8"):
            check(array, source, target, mode, False)
        check(array, source, target, mode, (None, True)[turn % 2])


def check(
    array: np.ndarray, source: str, target: str, mode: str, saturate: bool | None
) -> None:
    found = cast(array, target, mode, saturate)
    want = exact_cast(array, source, target, mode, saturate is False)
    if saturate and target in ("f16", "bf16") and source != target:
        want = saturated(want, target)
    assert found.dtype == want.dtype
    wrong = np.flatnonzero(~same(found, want))
    first = wrong[:5]
    assert not wrong.size, (mode, saturate, array[first], found[first], want[first])


def saturated(array: np.ndarray, target: str) -> np.ndarray:
    """Halves that are inf as the largest number."""
    largest = 0x7BFF if target == "f16" else 0x7F7F
    bits = array.view(np.uint16)
    is_inf = bits & 0x7FFF == largest + 1
    return np.where(is_inf, bits & 0x8000 | largest, bits).view(array.dtype)


@pytest.mark.parametrize("target", [*FLOATS[1:]])
@pytest.mark.parametrize("source", FLOATS)
def test_the_definition_agrees_with_ml_dtypes(source: str, target: str) -> None:
    """Which rounds to nearest and does not saturate."""
    array = edges(source, target)
    with np.errstate(all="ignore"):
        want = array.astype(np.float32).astype(DTYPES[target])
    assert same(exact_cast(array, source, target, "rint", True), want).all()


@pytest.mark.parametrize("source", [*FLOATS[1:], "f8E8M0FNU", "i8", "ui8"])
def test_codes_have_their_value(source: str) -> None:
    """Widening to f32 is what ml_dtypes says of each code."""
    array = every_code(source)
    with np.errstate(all="ignore"):
        want = array.astype(np.float32)
    assert same(exact_cast(array, source, "f32"), want).all()
    assert ml_dtypes.finfo(DTYPES["bf16"]).bits == 16
