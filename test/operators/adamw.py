"""The golden of adamw and its cases.

m = beta1 * m + (1 - beta1) * g
v = beta2 * v + (1 - beta2) * g^2
u = (m / (1 - beta1^t)) / (sqrt(v) / sqrt(1 - beta2^t) + eps)
p = p * (1 - lr * decay) - lr * u                    all in f32, g given in bf16
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results
from .definitions import generator

BF16 = ml_dtypes.bfloat16


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    n: int
    step: int = 10
    scale: float = 1.0
    """The greatest gradient."""
    hyper: dict[str, float] = field(default_factory=dict[str, float], hash=False)
    special: bool = False
    """Zero, infinite and NaN gradients among the others."""


CASES = (
    Case("given", 20_000),
    Case("one_element", 1),
    Case("nothing", 0),
    Case("a_tile", 8192, step=1),
    Case("a_tile_and_one", 8193, step=100_000),
    Case("no_gradient", 100, scale=0.0, step=1),
    Case("huge_gradients", 1000, scale=3e38),
    Case("tiny_gradients", 1000, scale=1e-30),
    Case("special_gradients", 999, special=True),
    Case(
        "other_constants",
        1000,
        hyper={"lr": 0.5, "beta1": 0.5, "beta2": 0.75, "eps": 0.125, "decay": 0.0},
    ),
    Case("long", 4_000_000, long=True),
)
DEFAULTS = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "decay": 0.01}
TINY = Case("tiny", 100)
BREAKS = (
    ("pypto.sqrt %vn", "pypto.sqrt %v"),
    (
        "%kp  = pypto.scalar 1.0 - %lr * %decay",
        "%kp  = pypto.scalar 1.0 + %lr * %decay",
    ),
    ("pow(%beta1, %t)", "pow(%beta2, %t)"),
    ("pypto.mul %g2, %c2", "pypto.mul %g2, %c1"),
)


def source(case: Case) -> str:
    return text_of("adamw")


def inputs(case: Case) -> dict[str, Any]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    grad = case.scale * rng.uniform(-1, 1, case.n)
    if case.special:
        grad[::7] = 0.0
        grad[3::50] = np.inf
        grad[4::50] = -np.inf
        grad[5::50] = np.nan
    square = rng.uniform(0, 1, case.n) * min(case.scale, 1.0) ** 2
    return {
        "p": rng.uniform(-1, 1, case.n).astype(np.float32),
        "m": (min(case.scale, 1.0) * rng.uniform(-1, 1, case.n)).astype(np.float32),
        "v": square.astype(np.float32),
        "grad": grad.astype(np.float32).astype(BF16),
        "step": np.array([case.step], np.int32),
        **{key: np.float32(value) for key, value in case.hyper.items()},
    }


def golden(
    p: Array, m: Array, v: Array, grad: Array, step: Array, **hyper: float
) -> Results:
    """The three states after one step."""
    # The constants are f32 numbers; what depends on them alone is computed in f64.
    lr, beta1, beta2, eps, decay = (
        float(np.float32(value)) for value in (DEFAULTS | hyper).values()
    )
    t = int(step[0])
    g = grad.astype(np.float32)
    with np.errstate(all="ignore"):
        m = np.float32(beta1) * m + np.float32(1 - beta1) * g
        v = np.float32(beta2) * v + np.float32(1 - beta2) * np.square(g)
        m_hat = m.astype(np.float64) / (1 - beta1**t)
        v_hat = v.astype(np.float64) / (1 - beta2**t)
        p = p * (1 - lr * decay) - lr * m_hat / (np.sqrt(v_hat) + eps)
        return {"p": p.astype(np.float32), "m": m, "v": v}
