"""The golden of flash_attention_full and its cases.

As `flash_attention`, in f16, each head with keys of its own, and every query sees every
key: out = f16(sum of p v / sum of exp(s - m)), p = f16(exp(s - m)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results
from .definitions import generator
from .flash_attention import attention


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    batch: int
    heads: int
    queries: int
    keys: int
    scale: float = 1.0
    """The greatest element of q and k."""


CASES = (
    Case("given", 1, 3, 70, 600),
    Case("one_of_each", 1, 1, 1, 1),
    Case("tiles_and_one", 2, 1, 129, 513),
    Case("no_key", 1, 2, 3, 0),
    Case("no_head", 1, 0, 4, 5),
    Case("more_queries_than_keys", 1, 2, 150, 20),
    Case("zeros", 2, 2, 5, 7, scale=0.0),
    Case("sharp", 1, 1, 9, 600, scale=30.0),
    Case("far", 1, 1, 2, 32768),
    Case("long", 1, 1, 4096, 4096, long=True),
)
TINY = Case("tiny", 1, 2, 3, 5)
BREAKS = (
    ("0.08838834764831845", "0.0875"),
    ("pypto.mul %a1, %alpha", "pypto.mul %a1, 1.0"),
    ("%j +: %n = 0 to %Skv", "%j +: %n = 3 to %Skv"),
)


def source(case: Case) -> str:
    return text_of("flash_attention_full")


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)

    def draw(length: int, most: float) -> Array:
        shape = (case.batch, case.heads, length, 128)
        return rng.uniform(-most, most, shape).astype(np.float16)

    return {
        "q": draw(case.queries, case.scale),
        "k": draw(case.keys, case.scale),
        "v": draw(case.keys, 1.0),
    }


def golden(q: Array, k: Array, v: Array) -> Results:
    """`out` [B, N, Sq, 128]."""
    out = np.zeros(q.shape, np.float16)
    visible = np.ones((q.shape[2], k.shape[2]), bool)
    for at in np.ndindex(*q.shape[:2]):
        wide = [array[at].astype(np.float32) for array in (q, k, v)]
        out[at], _ = attention(*wide, visible, np.float16)
    return {"out": out}
