"""Rows to normalise: the cases that rms_norm and layer_norm share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cases import NamedCase
from .checking import Array, replaced
from .definitions import BF16, generator


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    rows: int
    width: int = 0
    """0: as in the file."""
    scale: float = 1.0
    """The greatest distance of an element from `offset`."""
    offset: float = 0.0
    zero_rows: tuple[int, ...] = ()


CASES = (
    Case("given", 70, offset=0.25),
    Case("one_row", 1),
    Case("no_row", 0),
    Case("zero_rows", 6, zero_rows=(0, 3, 4)),
    Case("equal_elements", 2, scale=0.0, offset=0.25),
    Case("far_from_zero", 5, offset=40.0),
    Case("large", 3, scale=2.0**50),
    Case("tiny", 3, scale=2.0**-60),
    Case("near_eps", 3, scale=2.0**-9),
    Case("ragged_width", 200, 1000),
    Case("narrow", 130, 40),
    Case("seven_columns", 9, 7),
    Case("long", 1024, offset=0.25, long=True),
)
TINY = Case("few_rows", 3, 100, offset=0.25)


def resized(text: str, width: int, case: Case) -> str:
    """The text of an operator on rows of `width`, with those of the case."""
    return replaced(text, {f"{width}xbf16": f"{case.width or width}xbf16"})


def rows_and_weights(case: Case, width: int, *weights: str) -> dict[str, Array]:
    """`x`, rows of `width` or of the case's, and vectors as long."""
    rng = generator(case.name)
    width = case.width or width
    x = rng.random((case.rows, width), np.float32) * 2 - 1
    x = np.float32(case.offset) + np.float32(case.scale) * x
    x[list(case.zero_rows)] = 0.0
    vectors = {
        name: rng.uniform(-2, 2, width).astype(np.float32).astype(BF16)
        for name in weights
    }
    return {"x": x.astype(BF16), **vectors}
