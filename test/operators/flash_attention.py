"""The golden of flash_attention and its cases.

Query i of Sq sees the keys up to Skv - Sq + i; 4 query heads share a key head. Keys
come in blocks of 512: with s = q.k / sqrt(128), m the greatest s so far,
p = bf16(exp(s - m))

    out = bf16(sum of p v / sum of exp(s - m)),   lse = m + log(sum of exp(s - m))

A query that sees no key gives zeros, and lse = -inf.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results
from .definitions import generator

BF16 = ml_dtypes.bfloat16
BLOCK = 512


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    batch: int
    queries: int
    keys: int
    scale: float = 1.0
    """The greatest element of q and k."""


CASES = (
    Case("given", 1, 70, 600),
    Case("decode", 3, 1, 1025),
    Case("one_key", 1, 1, 1),
    Case("a_tile", 1, 128, 512),
    Case("two_tiles_and_one", 1, 129, 140),
    Case("more_queries_than_keys", 1, 150, 20),
    Case("no_key", 1, 3, 0),
    Case("no_query", 1, 0, 5),
    Case("no_batch", 0, 4, 5),
    Case("zeros", 2, 5, 7, scale=0.0),
    Case("sharp", 1, 9, 600, scale=30.0),
    Case("long", 2, 512, 2048, long=True),
)
TINY = Case("tiny", 1, 3, 5)
BREAKS = (
    ("%past + %i - %j", "%past + %i - %j + 1"),
    ("%h floordiv 4", "%h floordiv 8"),
    ("0.08838834764831845", "0.0875"),
    ("pypto.mul %a1, %alpha", "pypto.mul %a1, 1.0"),
    ("min(%past + %i + %m, %Skv)", "min(%past + %i + %m - 1, %Skv)"),
)


def source(case: Case) -> str:
    return text_of("flash_attention")


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)

    def draw(heads: int, length: int, most: float) -> Array:
        shape = (case.batch, heads, length, 128)
        return rng.uniform(-most, most, shape).astype(np.float32).astype(BF16)

    return {
        "q": draw(32, case.queries, case.scale),
        "k": draw(8, case.keys, case.scale),
        "v": draw(8, case.keys, 1.0),
    }


def golden(q: Array, k: Array, v: Array) -> Results:
    """`out` [B, H, Sq, 128] and `lse` [B, H, Sq, 1]."""
    batch, heads, queries, _ = q.shape
    keys = k.shape[2]
    out = np.zeros(q.shape, BF16)
    lse = np.zeros((batch, heads, queries, 1), np.float32)
    wide = [array.astype(np.float32) for array in (q, k, v)]
    visible = np.arange(keys) <= (keys - queries + np.arange(queries))[:, None]
    for b in range(batch):
        for h in range(heads):
            group = h // (heads // k.shape[1])
            one = attention(
                wide[0][b, h], wide[1][b, group], wide[2][b, group], visible
            )
            out[b, h], lse[b, h] = one
    return {"out": out, "lse": lse}


def attention(
    q: Array,
    k: Array,
    v: Array,
    visible: Array,
    element: Any = BF16,
    block: int = BLOCK,
    times: float = 1.0,
) -> tuple[Array, Array]:
    """One head: out [Sq, 128] and lse [Sq, 1] in f32.

    element: the type to which `times` p is rounded, in blocks of `block` keys.
    """
    scores = np.where(visible, (q @ k.T).astype(np.float64) * 128**-0.5, -np.inf)
    top = np.full((q.shape[0], 1), -np.inf)
    total = np.zeros_like(top)
    sums = np.zeros(q.shape)
    for begin in range(0, k.shape[0], block):
        s = scores[:, begin : begin + block]
        now = np.maximum(top, s.max(axis=1, keepdims=True))
        base = np.where(np.isinf(now), 0.0, now)
        p = np.exp(s - base)
        keep = np.exp(top - base)
        total = total * keep + p.sum(axis=1, keepdims=True)
        weights = (times * p).astype(np.float32).astype(element).astype(np.float64)
        sums = sums * keep + weights / times @ v[begin : begin + block]
        top = now
    with np.errstate(divide="ignore"):
        lse = top + np.log(total)
    out = sums / np.where(total == 0, 1.0, total)
    return out.astype(np.float32), lse.astype(np.float32)
