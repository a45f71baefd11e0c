"""The golden of layer_norm and its cases.

c = x - mean of the row;   y = bf16(c / sqrt(mean of c^2 + 1e-6) * gamma + beta)
"""

from __future__ import annotations

import numpy as np

from . import text_of
from .checking import Array, Results
from .definitions import bf16
from .norm_cases import CASES, TINY, Case, resized, rows_and_weights

__all__ = ["BREAKS", "CASES", "TINY", "golden", "inputs", "source"]

OP = "%y = pypto.layer_norm %x, %gamma, %beta eps 1.0e-6"
BREAKS = (
    ("eps 1.0e-6", "eps 1.0e-1"),
    ("%gamma, %beta", "%beta, %gamma"),
    (OP, f"{OP.replace('%y', '%z')}\n  %y = pypto.mul %z, 1.02"),
    (OP, "%z = pypto.rms_norm %x, %gamma eps 1.0e-6\n  %y = pypto.add %z, %beta"),
)


def source(case: Case) -> str:
    return resized(text_of("layer_norm"), 5120, case)


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    return rows_and_weights(case, 5120, "gamma", "beta")


def golden(x: Array, gamma: Array, beta: Array) -> Results:
    """`y` as x."""
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=-1, keepdims=True)
    square = np.square(centred).mean(axis=-1, keepdims=True)
    y = centred / np.sqrt(square + 1e-6)
    return {"y": bf16(y * gamma.astype(np.float64) + beta.astype(np.float64))}
