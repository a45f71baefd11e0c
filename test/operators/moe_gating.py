"""The golden of moe_gating and its cases.

s = sigmoid(logits);  c = s + bias
of 8 groups of 32 experts the 4 with the greatest sum of their two best c are kept
of their experts the 8 with the greatest c are taken, ties by the lower index
w = 2.5 * s / (sum of the 8 s + 1e-20)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results
from .definitions import generator


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    t: int
    data: str = "floats"
    """floats, ties, equal, extreme, barred (few allowed experts), shut (no score),
    zero_rows (of logits, among others: the bias alone chooses)."""


CASES = (
    Case("given", 20),
    Case("one_token", 1),
    Case("no_token", 0),
    Case("a_tile", 32),
    Case("a_tile_and_one", 33),
    Case("ties", 70, "ties"),
    Case("all_equal", 3, "equal"),
    Case("zero_rows", 9, "zero_rows"),
    Case("extreme", 40, "extreme"),
    Case("few_allowed", 5, "barred"),
    Case("no_score", 3, "shut"),
    Case("long", 8192, long=True),
    Case("many_tokens", 4096, long=True),
)
TINY = Case("tiny", 5)
BREAKS = (
    ("%grp k 2 axis", "%grp k 1 axis"),
    ("%gscore k 4", "%gscore k 3"),
    ("gather %score,", "gather %choice,"),
    ("%norm, 2.5", "%norm, 2.51"),
    ("pypto.where %kept3, %grp, -inf", "pypto.where %kept3, %grp, 2.0"),
)


def source(case: Case) -> str:
    return text_of("moe_gating")


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    logits = rng.normal(0, 2, (case.t, 256))
    bias = rng.uniform(-0.5, 0.5, 256)
    if case.data == "ties":
        logits, bias = rng.integers(-2, 3, (case.t, 256)), np.zeros(256)
    elif case.data == "equal":
        logits, bias = np.full((case.t, 256), 0.5), np.zeros(256)
    elif case.data == "zero_rows":
        logits[::2] = 0.0
    elif case.data == "extreme":
        logits[:, ::3] = -np.inf
        logits[:, 1::9] = 200.0
        logits[:, 2::9] = -200.0
        logits[:, 5::16] = np.inf
    elif case.data == "barred":
        bias[:] = -np.inf
        bias[[3, 40, 41, 250]] = 0.125
    elif case.data == "shut":
        logits[:] = -np.inf
        bias[:] = 0.0
    return {"logits": logits.astype(np.float32), "bias": bias.astype(np.float32)}


def best(values: Array, k: int) -> Array:
    """The positions of the k greatest of each row, the lower one first among equals."""
    return np.argsort(-values, axis=-1, kind="stable")[..., :k]


def golden(logits: Array, bias: Array) -> Results:
    """`weights` and `experts` [t, 8], `scores` [t, 256]."""
    t = logits.shape[0]
    with np.errstate(over="ignore"):
        scores = (1 / (1 + np.exp(-logits.astype(np.float64)))).astype(np.float32)
    choice = scores + bias
    groups = np.sort(choice.reshape(t, 8, 32), axis=-1)[..., -2:].sum(axis=-1)
    masked = np.full_like(choice, -np.inf)
    for token, kept in enumerate(best(groups, 4)):
        for group in kept:
            experts = slice(32 * group, 32 * group + 32)
            masked[token, experts] = choice[token, experts]
    experts = best(masked, 8)
    taken = np.take_along_axis(scores.astype(np.float64), experts, axis=-1)
    weights = 2.5 * taken / (taken.sum(axis=-1, keepdims=True) + 1e-20)
    return {
        "weights": weights.astype(np.float32),
        "experts": experts.astype(np.int32),
        "scores": scores,
    }
