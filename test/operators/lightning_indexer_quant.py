"""The golden of lightning_indexer_quant and its cases.

Token j of the s1 of a sequence with act cached keys sees the first act - (s1 - 1 - j).
The score of a key is the sum over the 64 heads of

    f16(q_scale * weight) * f16(relu(q.k) / 2048) * k_scale

The result is the positions of the 2048 greatest scores in falling order, then -1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results
from .definitions import generator

TOP = 2048
PAGE = 128


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    act: tuple[int, ...]
    """Cached keys of each sequence."""
    steps: int = 1
    spare: int = 1
    """Pages of the pool that no sequence uses."""
    data: str = "signed"
    """signed, positive, zeros (of q), pairs (of equal scores), greatest (q and k)."""


CASES = (
    Case("given", (2304, 2200), steps=2),
    Case("one_token", (130,)),
    Case("one_key", (1,)),
    Case("fewer_keys_than_tokens", (2, 5), steps=4),
    Case("uneven", (2049, 1, 128, 2300), steps=3, spare=3),
    Case("just_the_top", (2048, 2047)),
    Case("no_key", (0, 129), steps=2),
    Case("no_sequence", (), spare=2),
    Case("zero_queries", (2100,), data="zeros"),
    Case("equal_scores", (2178,), steps=2, data="pairs"),
    Case("positive", (2200,), data="positive"),
    Case("greatest", (2050,), data="greatest"),
    Case("one_key_into_a_page", (129, 257, 1), steps=2),
    Case("long", (70_000, 3000), steps=4, long=True),
    Case("longest", (131_072, 130_945), steps=4, long=True),
)
TINY = Case("tiny", (130,), steps=2)
BREAKS = (
    ("%act - (%s1 - 1 - %j)", "%act - 64"),
    ("pypto.relu %qf", "pypto.neg %qf"),
    ("pypto.mul %sh, %kf", "pypto.mul %sh, 1.0"),
    ("%page = pypto.index %pos floordiv 128", "%page = pypto.index %pos floordiv 256"),
    ("pypto.mul %q_scale, %weight", "pypto.mul %q_scale, %q_scale"),
)


def source(case: Case) -> str:
    return text_of("lightning_indexer_quant")


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    t = case.steps * len(case.act)
    used = [-(-length // PAGE) for length in case.act]
    blocks = sum(used) + case.spare
    least = 0 if case.data == "positive" else -127
    low = 0.0 if case.data == "positive" else -1.0
    keys = rng.integers(least, 128, (blocks, PAGE, 1, 128), np.int8)
    scales = rng.uniform(low, 1.0, (blocks, PAGE, 1))
    q = rng.integers(least, 128, (t, 64, 128), np.int8)
    if case.data == "pairs":
        keys[:, 1::2], scales[:, 1::2] = keys[:, ::2], scales[:, ::2]
    elif case.data == "zeros":
        q[:] = 0
    elif case.data == "greatest":
        q[:], keys[:], scales[:] = -127, -127, 0.5
    return {
        "q": q,
        "q_scale": rng.uniform(low, 1.0, (t, 64)).astype(np.float16),
        "k_cache": keys,
        "k_scale_cache": scales.astype(np.float16),
        "weight": rng.uniform(low, 1.0, (t, 64)).astype(np.float16),
        "act_seqs": np.array(case.act, np.int32),
        "block_table": page_table(rng, used, blocks),
    }


def page_table(rng: np.random.Generator, used: list[int], blocks: int) -> Array:
    """Different pages for each sequence; what no sequence needs is -1."""
    order = rng.permutation(blocks)
    table = np.full((len(used), max(used, default=0)), -1, np.int32)
    begin = 0
    for row, count in zip(table, used):
        row[:count] = order[begin : begin + count]
        begin += count
    return table


def golden(
    q: Array,
    q_scale: Array,
    k_cache: Array,
    k_scale_cache: Array,
    weight: Array,
    act_seqs: Array,
    block_table: Array,
    top: int = TOP,
) -> Results:
    """`topk` [t, 1, top]."""
    topk = np.full((q.shape[0], 1, top), -1, np.int32)
    for token, row in enumerate(
        scores(q, q_scale, k_cache, k_scale_cache, weight, act_seqs, block_table)
    ):
        best = np.argsort(-row, kind="stable")[:top]
        topk[token, 0, : best.size] = best
    return {"topk": topk}


def scores(
    q: Array,
    q_scale: Array,
    k_cache: Array,
    k_scale_cache: Array,
    weight: Array,
    act_seqs: Array,
    block_table: Array,
) -> list[Array]:
    """The score of each key that a token sees, for all tokens."""
    found: list[Array] = []
    steps = q.shape[0] // len(act_seqs) if len(act_seqs) else 0
    for sequence, act in enumerate(act_seqs.tolist()):
        at = np.arange(act)
        pages = block_table[sequence, at // PAGE]
        keys = k_cache[pages, at % PAGE, 0].astype(np.float64)
        scale = k_scale_cache[pages, at % PAGE, 0].astype(np.float64)
        for j in range(steps):
            token = sequence * steps + j
            seen = max(act - (steps - 1 - j), 0)
            product = q[token].astype(np.float64) @ keys[:seen].T  # exact
            product = (np.maximum(product, 0) / 2048).astype(np.float16)
            by_head = (q_scale[token] * weight[token]).astype(np.float64)
            found.append(by_head @ product.astype(np.float64) * scale[:seen])
    return found


def mistakes(given: dict[str, Array], got: Results) -> list[str]:
    """What comparing sets does not see: the order of the positions."""
    found: list[str] = []
    for token, score in enumerate(scores(**given)):
        row = got["topk"][token, 0]
        count = min(score.size, TOP)
        if (row[count:] != -1).any():
            found.append(f"token {token} has more than {count} positions")
        if ((row[:count] < 0) | (row[:count] >= score.size)).any():
            found.append(f"token {token} has positions that it does not see")
            continue
        in_order = score[row[:count]]
        rounding = 1e-6 * np.abs(score).max(initial=0.0)
        if (np.diff(in_order) > rounding).any():
            found.append(f"token {token}: the scores do not fall")
        equal = np.diff(in_order) == 0
        if (np.diff(row[:count])[equal] < 0).any():
            found.append(f"token {token}: equal scores not in order of position")
    return found
