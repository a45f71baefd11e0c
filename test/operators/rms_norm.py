"""The golden of rms_norm and its cases.

y = bf16(x / sqrt(mean of x^2 over the row + 1e-5) * gamma)
"""

from __future__ import annotations

from . import definitions, text_of
from .checking import Array, Results
from .norm_cases import CASES, TINY, Case, resized, rows_and_weights

__all__ = ["BREAKS", "CASES", "TINY", "golden", "inputs", "source"]

OP = "%y = pypto.rms_norm %x, %gamma eps 1.0e-5"
BREAKS = (
    ("eps 1.0e-5", "eps 1.0e-1"),
    (OP, f"{OP.replace('%y', '%z')}\n  %y = pypto.mul %z, %gamma"),
    (OP, f"{OP.replace('%y', '%z')}\n  %y = pypto.mul %z, 1.02"),
    (OP, "%y = pypto.layer_norm %x, %gamma, %gamma eps 1.0e-5"),
)


def source(case: Case) -> str:
    return resized(text_of("rms_norm"), 7168, case)


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    return rows_and_weights(case, 7168, "gamma")


def golden(x: Array, gamma: Array) -> Results:
    """`y` as x."""
    return {"y": definitions.rms_norm(x, gamma)}
