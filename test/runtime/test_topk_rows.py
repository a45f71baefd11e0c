"""Top-k of many rows: the order of a stable sort, whatever the keys are."""

from __future__ import annotations

import numpy as np
import pytest
from element_types import DTYPES
from numpy.typing import NDArray

from pyptoc.runtime import topk

ROWS, COLUMNS = 24, 40


def keys(element: str, special: bool) -> NDArray[np.generic]:
    """Few values, so that many are equal."""
    rng = np.random.default_rng(1)
    whole = rng.integers(-3, 4, (ROWS, COLUMNS))
    found = whole.astype(DTYPES[element])
    if special:
        found[whole == 2], found[whole == -2] = np.nan, -np.nan
        found[whole == 1], found[whole == -1] = np.inf, -np.inf
    if element != "i32":
        found[whole == 3] = -0.0
    return found


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize(
    ("element", "special"),
    [("f32", False), ("f32", True), ("f16", True), ("bf16", False), ("i32", False)],
)
def test_two_tiles(
    element: str,
    special: bool,
    ascending: bool,
    few: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first tile alone, and the second merged into what there is."""
    monkeypatch.setattr(topk, "MANY", 10**9 if few else 1)
    source, count = keys(element, special), 18
    values = np.zeros((ROWS, count), source.dtype)
    indices = np.full((ROWS, count), -1, np.int32)
    for first in (0, COLUMNS // 2):
        box = source[:, first : first + COLUMNS // 2]
        topk.merge(box, first, (values, indices), ascending=ascending)
    wide = source.astype(np.float64)
    # NaN is the least value: last of the greatest, first of the least.
    wide = np.where(np.isnan(wide), -np.inf, wide), np.isnan(wide)
    order = np.lexsort((wide[0], ~wide[1]) if ascending else (-wide[0], wide[1]))
    want = order[:, :count]
    assert np.array_equal(indices, want)
    found = np.take_along_axis(source, want, axis=1)
    assert values.tobytes() == np.ascontiguousarray(found).tobytes()
