"""The golden of sparse_attention_antiquant and its cases.

A row of the cache has 656 bytes: 512 i8, then 64 bf16, then 4 f32, the lowest byte of
each first. With these as the three caches it is sparse_flash_attention_quant.
"""

from __future__ import annotations

import numpy as np

from . import sparse_flash_attention_quant as unpacked
from . import text_of
from .checking import Array, Results
from .definitions import BF16
from .sparse_flash_attention_quant import Case

CASES = tuple(case for case in unpacked.CASES if case.name != "zero_scales")
TINY = unpacked.TINY
BREAKS = (
    ("512 +: 128] to bf16", "510 +: 128] to bf16"),
    ("640 +: 16] to f32", "624 +: 16] to f32"),
    ("pypto.view %rows[:, 0 +: 512]", "pypto.view %rows[:, 1 +: 512]"),
    ("scales %ks axis", "scales %ks, %ks axis"),
    ("pypto.add %a1, %pv", "pypto.add %pv, %pv"),
    ("pypto.add %a1, %ap", "pypto.add %ap, %ap"),
    ("0.041666666666666664", "0.05"),
    ("%act - %s1 + 1 + %j", "%act - %s1 + %j"),
)


def source(case: Case) -> str:
    return text_of("sparse_attention_antiquant")


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    given = unpacked.inputs(case)
    names = ("kv_cache", "kr_cache", "k_scale_cache")
    parts = [given.pop(name) for name in names]
    packed = np.concatenate([part.view(np.int8) for part in parts], axis=-1)
    return {"cache": packed, **given}


def golden(
    q_nope: Array,
    q_rope: Array,
    cache: Array,
    topk: Array,
    block_table: Array,
    act_seqs: Array,
) -> Results:
    """`out` [t, 128, 512]."""

    def part(first: int, end: int, dtype: type) -> Array:
        return np.ascontiguousarray(cache[..., first:end]).view(dtype)

    return unpacked.golden(
        q_nope=q_nope,
        q_rope=q_rope,
        kv_cache=cache[..., :512],
        kr_cache=part(512, 640, BF16),
        k_scale_cache=part(640, 656, np.float32),
        topk=topk,
        block_table=block_table,
        act_seqs=act_seqs,
    )
