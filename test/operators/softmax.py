"""The golden of softmax and its cases.

    y = bf16(exp(x - greatest x of the row) / sum of them)

A row of -inf gives zeros, one with a NaN or +inf gives NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results, replaced
from .definitions import BF16, generator

WIDTH = 32768


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    rows: int
    width: int = WIDTH
    scale: float = 8.0
    """The greatest element."""
    data: str = "signed"
    """signed, masked (half is -inf, and every third row), special (NaN, inf, too)."""


CASES = (
    Case("given", 5),
    Case("one_row", 1),
    Case("no_row", 0),
    Case("zeros", 2, scale=0.0),
    Case("far_apart", 3, scale=1e4),
    Case("masked", 7, data="masked"),
    Case("special", 7, 1000, data="special"),
    Case("ragged_width", 131, 4100),
    Case("narrow", 300, 40),
    Case("seven_columns", 9, 7),
    Case("one_column", 9, 1),
    Case("long", 256, long=True),
)
TINY = Case("tiny", 3, 100)
OP = "%y = pypto.softmax %x axis -1"
BREAKS = (
    ("axis -1", "axis 0"),
    (OP, f"%z = pypto.mul %x, 1.02\n  {OP.replace('%x', '%z')}"),
    (OP, f"{OP.replace('%y', '%z')}\n  %y = pypto.mul %z, 1.02"),
    (OP, "%y = pypto.exp %x"),
)


def source(case: Case) -> str:
    return replaced(text_of("softmax"), {f"{WIDTH}xbf16": f"{case.width}xbf16"})


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    x = rng.random((case.rows, case.width), np.float32) * 2 - 1
    x *= np.float32(case.scale)
    if case.data != "signed":
        x[rng.random(x.shape) < 0.5] = -np.inf
        x[1::3] = -np.inf
    if case.data == "special":
        x[2, 5], x[3, 0] = np.nan, np.inf
    return {"x": x.astype(BF16)}


def golden(x: Array) -> Results:
    """`y` as x."""
    y = np.zeros(x.shape, BF16)
    for row, values in enumerate(x.astype(np.float64)):
        greatest = values.max(initial=-np.inf)
        if greatest == -np.inf:
            continue
        with np.errstate(invalid="ignore"):
            e = np.exp(values - greatest)
            y[row] = e / e.sum()
    return {"y": y}
