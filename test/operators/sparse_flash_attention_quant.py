"""The golden of sparse_flash_attention_quant and its cases.

Token j of the s1 of a sequence with act cached rows sees act - s1 + 1 + j of them, and
attends to n of these, at most as many as `topk` has columns: the first n positions of
its row there.

    kn = bf16(k8 * scale of its group of 128),  k = [kn | kr]
    out = bf16(bf16(softmax(q k' / sqrt(576))) kn)

A token that sees no row gives zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results
from .definitions import generator
from .lightning_indexer_quant import page_table

BF16 = ml_dtypes.bfloat16
TOP = 2048
PAGE = 128


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    act: tuple[int, ...]
    """Cached rows of each sequence."""
    steps: int = 1
    scale: float = 0.02
    """The greatest scale of a cached row."""
    data: str = "signed"
    """signed, zero_scales, repeated (positions, 7 times), equal (weights of 1/256)."""
    exact: bool = False
    """No sum of the case is rounded: every bit must be right."""


CASES = (
    Case("given", (200, 300), steps=2),
    Case("one_token", (130,)),
    Case("one_row", (1,)),
    Case("more_than_the_top", (2200,), steps=2),
    Case("fewer_rows_than_tokens", (2, 5), steps=4),
    Case("uneven", (1, 128, 257)),
    Case("no_row", (0, 9)),
    Case("no_sequence", ()),
    Case("zero_scales", (40,), data="zero_scales"),
    Case("sharp", (150,), scale=3.0),
    Case("repeated", (100,), data="repeated"),
    Case("equal_weights", (256,), data="equal", exact=True),
    Case("long", (2400, 1900, 7), steps=3, long=True),
)
TINY = Case("tiny", (3, 390))
"""Two tokens, one with so many keys that they are divided."""
BREAKS = (
    ("0.041666666666666664", "0.05"),
    ("%act - %s1 + 1 + %j", "%act - %s1 + %j"),
    ("%r mod %s1", "0 * %r"),
    ("gather_rows %kr16 at %idx through %table page 128", "gather_rows %kr16 at %idx"),
    ("scales %ks axis", "scales %ks, %ks axis"),
    ("pypto.mul %lq, %me", "pypto.mul %lq, %mx"),
    ("%begin = pypto.index %part * %n floordiv %parts", "%begin = pypto.index 0"),
)


def source(case: Case) -> str:
    return text_of("sparse_flash_attention_quant")


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    t = case.steps * len(case.act)
    used = [-(-length // PAGE) for length in case.act]
    blocks = sum(used) + 1

    def floats(*shape: int) -> Array:
        return rng.uniform(-1, 1, shape).astype(np.float32).astype(BF16)

    topk = np.full((t, TOP), -1, np.int32)
    for token in range(t):
        act = case.act[token // case.steps]
        seen = max(act - case.steps + 1 + token % case.steps, 0)
        chosen = rng.permutation(seen)[:TOP]
        topk[token, : chosen.size] = chosen // 7 if case.data == "repeated" else chosen
    scales = rng.uniform(0, case.scale, (blocks, PAGE, 1, 4)).astype(np.float32)
    q_nope, q_rope = floats(t, 128, 512), floats(t, 128, 64)
    if case.data == "zero_scales":
        scales[:] = 0.0
    elif case.data == "equal":
        q_nope[:], q_rope[:], scales[:] = 0.0, 0.0, 2.0**-7
    return {
        "q_nope": q_nope,
        "q_rope": q_rope,
        "kv_cache": rng.integers(-127, 128, (blocks, PAGE, 1, 512), np.int8),
        "kr_cache": floats(blocks, PAGE, 1, 64),
        "k_scale_cache": scales,
        "topk": topk,
        "block_table": page_table(rng, used, blocks),
        "act_seqs": np.array(case.act, np.int32),
    }


def golden(
    q_nope: Array,
    q_rope: Array,
    kv_cache: Array,
    kr_cache: Array,
    k_scale_cache: Array,
    topk: Array,
    block_table: Array,
    act_seqs: Array,
) -> Results:
    """`out` [t, 128, 512]."""
    out = np.zeros(q_nope.shape, BF16)
    steps = q_nope.shape[0] // len(act_seqs) if len(act_seqs) else 0
    for token in range(q_nope.shape[0]):
        sequence, j = divmod(token, steps)
        n = min(max(int(act_seqs[sequence]) - steps + 1 + j, 0), topk.shape[1])
        if n == 0:
            continue
        at = topk[token, :n]
        place = block_table[sequence, at // PAGE], at % PAGE, 0
        scale = np.repeat(k_scale_cache[place], 128, axis=1)
        kn = bf16(kv_cache[place].astype(np.float32) * scale)
        q = np.concatenate([q_nope[token], q_rope[token]], axis=1).astype(np.float32)
        k = np.concatenate([kn, kr_cache[place].astype(np.float32)], axis=1)
        s = (q @ k.T).astype(np.float64) / 24
        p = np.exp(s - s.max(axis=1, keepdims=True))
        p = bf16((p / p.sum(axis=1, keepdims=True)).astype(np.float32))
        out[token] = (p @ kn).astype(BF16)
    return {"out": out}


def bf16(x: Array) -> Array:
    """x rounded to bf16, as f32."""
    return x.astype(BF16).astype(np.float32)
