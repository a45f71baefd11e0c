"""What `pypto.print` shows: a name, a type, and not too many numbers, on stderr."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptoc.runtime.numerics import element_name, is_float

SHOWN_WHOLE = 64
"""Arrays of more elements show the first and last three along each dimension."""


def show_value(label: str, value: NDArray[Any] | float) -> None:
    """Print a tensor or a number under its name."""
    sys.stderr.write(text_of(label, value))


def text_of(label: str, value: NDArray[Any] | float) -> str:
    """`scores = 3`, or `scores: 2x3xf32` and the elements, indented."""
    if not isinstance(value, np.ndarray):
        shown = np.float32(value) if isinstance(value, float | np.floating) else value
        return f"{label} = {shown!s}\n"
    sizes = "".join(f"{size}x" for size in value.shape)
    head = f"{label}: {sizes}{element_name(value.dtype)}"
    if not value.size:
        return f"{head}, no elements\n"
    wide = value.astype(np.float32) if is_float(value.dtype) else value
    text = np.array2string(
        wide, max_line_width=96, threshold=SHOWN_WHOLE, edgeitems=3, prefix="  "
    )
    return f"{head}\n  {text}\n"
