"""The golden of paged_attention_decode and its cases.

Token j of the s1 of a sequence with act cached rows sees act - s1 + 1 + j of them; row
i lies in page block_table[i // 128], row i % 128. 8 query heads share a key head. From
page to page, with s = q.k / sqrt(128), m the greatest s so far, p = bf16(exp(s - m)):

    out = bf16(sum of p v / sum of exp(s - m))

A token that sees no row gives zeros. What lies behind the rows of a sequence is NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results
from .definitions import BF16, generator
from .flash_attention import attention
from .lightning_indexer_quant import page_table

PAGE, HEADS, GROUP, WIDTH = 128, 8, 8, 128


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    act: tuple[int, ...]
    """Cached rows of each sequence."""
    steps: int = 1
    scale: float = 2.0
    """The greatest element of q."""


CASES = (
    Case("given", (700, 77, 256)),
    Case("one_token", (1000,)),
    Case("one_row", (1,)),
    Case("whole_pages", (128, 384)),
    Case("a_page_and_one", (129, 257)),
    Case("steps", (300, 5), steps=3),
    Case("fewer_rows_than_tokens", (2, 130), steps=4),
    Case("no_row", (0, 9)),
    Case("no_sequence", ()),
    Case("zeros", (200,), scale=0.0),
    Case("sharp", (150,), scale=60.0),
    Case("long", (9000, 1, 4096, 2048, 130, 5000, 127, 800), long=True),
)
TINY = Case("tiny", (3, 130), steps=2)
BREAKS = (
    ("0.08838834764831845", "0.0875"),
    ("%act - %s1 + 1 + %j", "%act - %s1 + 1"),
    ("%r floordiv %s1", "0 * %r"),
    ("%k_cache[%p, 0 +: %n, %h, :]", "%k_cache[%p, 0 +: %n, 0, :]"),
    ("pypto.index %pos floordiv 128", "pypto.index %pos floordiv 256"),
    ("pypto.mul %a1, %alpha", "pypto.mul %a1, 1.0"),
)


def source(case: Case) -> str:
    return text_of("paged_attention_decode")


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    query = (len(case.act) * case.steps, HEADS * GROUP, WIDTH)
    q = rng.uniform(-case.scale, case.scale, query).astype(np.float32)
    k_cache, v_cache, table = caches(rng, case.act)
    return {
        "q": q.astype(BF16),
        "k_cache": k_cache.astype(BF16),
        "v_cache": v_cache.astype(BF16),
        "block_table": table,
        "act_seqs": np.array(case.act, np.int32),
    }


def caches(
    rng: np.random.Generator, act: tuple[int, ...]
) -> tuple[Array, Array, Array]:
    """Keys and values in f32, NaN where no sequence has a row, and the block table."""
    used = [-(-length // PAGE) for length in act]
    table = page_table(rng, used, sum(used) + 1)
    found: list[Array] = []
    for _ in range(2):
        cache = np.full((sum(used) + 1, PAGE, HEADS, WIDTH), np.nan, np.float32)
        for pages, length in zip(table, act):
            for place in range(0, length, PAGE):
                rows = min(PAGE, length - place)
                values = rng.normal(0, 1, (rows, HEADS, WIDTH))
                cache[pages[place // PAGE], :rows] = values
        found.append(cache)
    return found[0], found[1], table


def golden(
    q: Array, k_cache: Array, v_cache: Array, block_table: Array, act_seqs: Array
) -> Results:
    """`out` [t, 64, 128]."""
    out = np.zeros(q.shape, BF16)
    steps = q.shape[0] // len(act_seqs) if len(act_seqs) else 0
    for sequence, length in enumerate(act_seqs.tolist()):
        k, v = (
            rows_of(cache, block_table[sequence], length)
            for cache in (k_cache, v_cache)
        )
        for token, seen in tokens(sequence, steps, length):
            for head in range(HEADS):
                group = slice(head * GROUP, (head + 1) * GROUP)
                out[token, group], _ = attention(
                    q[token, group].astype(np.float32),
                    k[:seen, head],
                    v[:seen, head],
                    np.ones((GROUP, seen), bool),
                    block=PAGE,
                )
    return {"out": out}


def tokens(sequence: int, steps: int, length: int) -> Iterator[tuple[int, int]]:
    """The tokens of a sequence, and how many rows each sees."""
    for step in range(steps):
        yield sequence * steps + step, max(length - steps + 1 + step, 0)


def rows_of(cache: Array, pages: Array, length: int) -> Array:
    """The cached rows of a sequence, in order, in f32."""
    at = np.arange(length)
    return cache[pages[at // PAGE], at % PAGE].astype(np.float32)
