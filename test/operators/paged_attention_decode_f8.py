"""The golden of paged_attention_decode_f8 and its cases.

As `paged_attention_decode`, with q = q8 * q_scale of its token and head and k = k8 *
k_scale, v = v8 * v_scale of their head:

    out = bf16(sum of p v / sum of exp(s - m)),   p = f8(256 exp(s - m)) / 256
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from . import text_of
from .checking import Array, Results
from .definitions import BF16, generator
from .flash_attention import attention
from .paged_attention_decode import (
    CASES,
    GROUP,
    HEADS,
    PAGE,
    TINY,
    WIDTH,
    Case,
    caches,
    rows_of,
    tokens,
)

__all__ = ["BREAKS", "CASES", "TINY", "golden", "inputs", "source"]

F8 = ml_dtypes.float8_e4m3fn
BREAKS = (
    ("0.08838834764831845", "0.0875"),
    ("%act - %s1 + 1 + %j", "%act - %s1 + 1"),
    ("pypto.read %k_scale[%h]", "pypto.read %k_scale[0]"),
    ("pypto.read %v_scale[%h]", "pypto.read %v_scale[0]"),
    ("%q_scale[%r, %g +: 8, :]", "%q_scale[%r, 0 +: 8, :]"),
    ("pypto.mul %w, 256.0", "pypto.mul %w, 1.0"),
    ("pypto.mul %a1, %alpha", "pypto.mul %a1, 1.0"),
)


def source(case: Case) -> str:
    return text_of("paged_attention_decode_f8")


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    query = (len(case.act) * case.steps, HEADS * GROUP, WIDTH)
    q = rng.uniform(-case.scale, case.scale, query)
    k, v, table = caches(rng, case.act)
    q8, q_scale = scaled(q, (2,))
    k8, k_scale = scaled(k * by_head(rng), (0, 1, 3))
    v8, v_scale = scaled(v * by_head(rng), (0, 1, 3))
    return {
        "q": q8,
        "q_scale": q_scale,
        "k_cache": k8,
        "v_cache": v8,
        "k_scale": k_scale.reshape(HEADS),
        "v_scale": v_scale.reshape(HEADS),
        "block_table": table,
        "act_seqs": np.array(case.act, np.int32),
    }


def by_head(rng: np.random.Generator) -> Array:
    """A factor for each head, so that their scales differ."""
    return rng.uniform(0.5, 2.0, (HEADS, 1)).astype(np.float32)


def scaled(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """x in f8, and its scale: the greatest element over `axes` becomes 448."""
    known = np.abs(np.nan_to_num(x))
    scale = known.max(axis=axes, keepdims=True, initial=0.0) / 448
    scale = scale.astype(np.float32)
    return (x / np.where(scale == 0, 1, scale)).astype(np.float32).astype(F8), scale


def golden(
    q: Array,
    q_scale: Array,
    k_cache: Array,
    v_cache: Array,
    k_scale: Array,
    v_scale: Array,
    block_table: Array,
    act_seqs: Array,
) -> Results:
    """`out` [t, 64, 128]."""
    out = np.zeros(q.shape, BF16)
    steps = q.shape[0] // len(act_seqs) if len(act_seqs) else 0
    wide = q.astype(np.float32) * q_scale
    for sequence, length in enumerate(act_seqs.tolist()):
        pages = block_table[sequence]
        k = rows_of(k_cache, pages, length) * k_scale[:, None]
        v = rows_of(v_cache, pages, length) * v_scale[:, None]
        for token, seen in tokens(sequence, steps, length):
            for head in range(HEADS):
                group = slice(head * GROUP, (head + 1) * GROUP)
                out[token, group], _ = attention(
                    wide[token, group],
                    k[:seen, head],
                    v[:seen, head],
                    np.ones((GROUP, seen), bool),
                    element=F8,
                    block=PAGE,
                    times=256.0,
                )
    return {"out": out}
