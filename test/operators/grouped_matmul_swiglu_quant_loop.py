"""The golden and the cases of grouped_matmul_swiglu_quant, for its form as a loop."""

from __future__ import annotations

from . import grouped_matmul_swiglu_quant as composite
from .grouped_matmul_swiglu_quant import (
    CASES,
    EQUAL,
    TINY,
    Case,
    golden,
    inputs,
    mistakes,
)

__all__ = [
    "BREAKS",
    "CASES",
    "EQUAL",
    "TINY",
    "golden",
    "inputs",
    "mistakes",
    "source",
]

BREAKS = (
    ("pypto.swiglu %v, %g", "pypto.swiglu %g, %v"),
    ("%scaled_a[%begin +: %rows", "%scaled_a[0 +: %rows"),
)


def source(case: Case) -> str:
    """The loop with the sizes of the case."""
    return composite.source(case, loop=True)
