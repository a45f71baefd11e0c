"""
Casts by table: what `numerics.cast` gives for each of few values, found once.

A cast of a type of 1 or 2 bytes is a table of its codes. Wider integers are mostly
small where they become narrow floats: what quantises clips them to 8 bits before.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptoc.runtime import numerics

Array = NDArray[Any]
Type = np.dtype[Any]
SMALL = 2048
"""The greatest integer that has an entry."""


@cache
def cast_table(
    source: Type, target: Type, mode: str | None, saturate: bool | None
) -> Array:
    """What every code of `source`, a type of 1 or 2 bytes, becomes."""
    if source == np.bool_:
        # Any byte but 0 is true.
        return numerics.cast(np.arange(256) != 0, target, mode, saturate)
    codes = np.arange(256**source.itemsize, dtype=f"u{source.itemsize}")
    return numerics.cast(codes.view(source), target, mode, saturate)


class SmallIntegers:
    """A cast of a wide integer type to floats, where no value is far from 0."""

    def __init__(
        self, source: Type, target: Type, mode: str | None, saturate: bool | None
    ) -> None:
        values = np.arange(-SMALL, SMALL + 1).astype(source)
        self.table = numerics.cast(values, target, mode, saturate)

    def __call__(self, values: Array, out: Array) -> bool:
        """False: a value is too large, and `out` is as it was."""
        if values.size:
            least = np.minimum.reduce(values, axis=None)
            if least < -SMALL or np.maximum.reduce(values, axis=None) > SMALL:
                return False
        places = np.add(values, SMALL, dtype=np.intp)
        self.table.take(places, out=out, mode="clip")
        return True
