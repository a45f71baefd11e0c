"""Narrow floats compute in f32 and are rounded once, at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyptoc.runtime import numerics
from pyptoc.runtime.numerics import Array


def wide(array: Array) -> Array:
    """f32 for floats; integers and i1 as they are."""
    return numerics.decode_f32(array) if numerics.is_float(array.dtype) else array


def narrow(array: Array, dtype: np.dtype[Any]) -> Array:
    """The result of a computation as the element type of an operation's result."""
    if array.dtype == dtype:
        return array
    return numerics.cast(np.asarray(array), dtype)
