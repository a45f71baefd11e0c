"""The golden of lightning_indexer_prolog_quant and its cases.

    q = bf16(q_norm w_qb * q_norm_scale * w_qb_scale), 128 elements for each head
    q, q_scale = each row of bf16(rope(q) hadamard_q) in i8, and its scale in f16
    k = layer_norm(x w_k), rounded to bf16
    k8, kscale = each row of bf16(rope(k) hadamard_k) in i8, and its scale in f16
    weights = f16(bf16(x w_proj) * heads^-0.5 * 128^-0.5)

rope turns the first 64 elements as two halves; the others pass. k8 and kscale go to
the row of the caches that `cache_index` names, counted through the pages; -1 is a token
that leaves nothing there. What no token names stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results, replaced
from .definitions import (
    BF16,
    bf16,
    changed_rows,
    generator,
    layer_norm,
    product,
    quantized,
    rope_halves,
    small_weights,
    tokens,
    whole_product,
    with_rows,
)

PAGE = 128
CACHES = ("k_cache", "k_scale_cache")


@dataclass(frozen=True)
class Sizes:
    """The static sizes of the file, or smaller ones."""

    hidden: int = 7168
    lora: int = 1536
    heads: int = 64


REAL = Sizes()
SMALL = Sizes(640, 384, 4)


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    slots: tuple[int, ...]
    """The row of the caches for each token."""
    blocks: int = 1
    sizes: Sizes = SMALL
    zero_rows: tuple[int, ...] = ()
    """Tokens of which x and q_norm are 0."""
    offset: float = 0.0
    """What the matrix of the keys adds to the mean of each row."""
    rounded: bool = False
    """x of any values: the sums of the matmuls are rounded, each in its own order."""


CASES = (
    Case("given", (5, 130, -1, 255), blocks=2, sizes=REAL),
    Case("mixed", (5, 130, -1, 255, 0), blocks=2),
    Case("one_token", (127,)),
    Case("no_token", ()),
    Case("padding_only", (-1, -1)),
    Case("a_tile_and_one", tuple(range(100, 117))),
    Case("many_tokens", tuple(range(139, 0, -1)), blocks=2),
    Case("same_slot", (7, 8, 7, 9, 7)),
    Case("zero_rows", (3, 1, 2), zero_rows=(0, 2)),
    Case("far_from_zero", (3, 1, 2), offset=0.5),
    Case("rounded", tuple(range(9)), rounded=True),
    Case("many_tokens_real", tuple(range(40)), sizes=REAL, long=True),
)
TINY = CASES[1]
BREAKS = (
    ("%sin3 first 64 {tag", "%sin3 first 64 {interleaved, tag"),
    ("%k_n, %cos, %sin first 64", "%k_n, %sin, %cos first 64"),
    ("%beta eps 1.0e-6", "%beta eps 1.0"),
    ("scales %q_norm_scale, %w_qb_scale", "scales %q_norm_scale"),
    ("%k_rope, %hadamard_k", "%k_rope, %hadamard_q"),
    ("0.0110485434", "0.0220485434"),
    ("layer_norm %k, %gamma, %beta eps", "layer_norm %k, %gamma, %gamma eps"),
)


def source(case: Case) -> str:
    """The text of the file with the sizes of the case."""
    text = text_of("lightning_indexer_prolog_quant")
    if case.sizes == REAL:
        return text
    hidden, lora, heads = case.sizes.hidden, case.sizes.lora, case.sizes.heads
    sizes = {
        "7168x64x": f"7168x{heads}x",
        "7168x": f"{hidden}x",
        "1536x": f"{lora}x",
        "8192x": f"{128 * heads}x",
        "?x64x128x": f"?x{heads}x128x",
        "?x64xf16": f"?x{heads}xf16",
        "[-1, 64, 128]": f"[-1, {heads}, 128]",
        "%q_s16[-1, 64]": f"%q_s16[-1, {heads}]",
        "0.011048543456039806": repr(weight_of_a_head(heads)),
    }
    return replaced(text, sizes)


def weight_of_a_head(heads: int) -> float:
    return heads**-0.5 * 128**-0.5


@lru_cache(maxsize=2)
def weights(sizes: Sizes) -> dict[str, Array]:
    """The same for all cases of a size.

    The weights of the two matmuls with x are multiples of 2^-7, so that with x a
    multiple of 2^-4 their sums are exact in f32, in every order.
    """
    rng = np.random.default_rng(sizes.hidden)
    hidden, lora, heads = sizes.hidden, sizes.lora, sizes.heads

    def signs() -> Array:
        """The Hadamard matrix with its columns negated at random, over sqrt(128)."""
        matrix = np.ones((1, 1))
        for _ in range(7):
            matrix = np.block([[matrix, matrix], [matrix, -matrix]])
        matrix *= rng.choice([-1, 1], 128)
        return (matrix * 128**-0.5).astype(np.float32).astype(BF16)

    def floats(low: float, high: float) -> Array:
        return rng.uniform(low, high, 128).astype(np.float32).astype(BF16)

    return {
        "w_qb": rng.integers(-127, 128, (lora, 128 * heads), np.int8),
        "w_qb_scale": rng.uniform(1e-4, 6e-4, 128 * heads).astype(np.float32),
        "w_k": small_weights(rng, hidden, 128),
        "w_proj": small_weights(rng, hidden, heads),
        "gamma": floats(0.5, 1.5),
        "beta": floats(-0.5, 0.5),
        "hadamard_q": signs(),
        "hadamard_k": signs(),
    }


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    t, blocks, lora = len(case.slots), case.blocks, case.sizes.lora
    x = tokens(rng, t, case.sizes.hidden, case.rounded)
    q_norm = rng.integers(-127, 128, (t, lora), np.int8)
    q_norm_scale = rng.uniform(1e-3, 2e-2, (t, 1)).astype(np.float32)
    given = dict(weights(case.sizes))
    if case.offset:
        x = np.abs(x)
        given["w_k"] = (given["w_k"].astype(np.float32) + case.offset).astype(BF16)
    zeros = list(case.zero_rows)
    x[zeros], q_norm[zeros], q_norm_scale[zeros] = 0.0, 0, 0.0
    angle = rng.uniform(-np.pi, np.pi, (t, 64)).astype(np.float32)
    return {
        "x": x.astype(BF16),
        "q_norm": q_norm,
        "q_norm_scale": q_norm_scale,
        **given,
        "cos": np.cos(angle).astype(BF16),
        "sin": np.sin(angle).astype(BF16),
        "cache_index": np.array(case.slots, np.int64),
        "k_cache": rng.integers(-127, 128, (blocks, PAGE, 1, 128), np.int8),
        "k_scale_cache": rng.uniform(0, 1, (blocks, PAGE, 1)).astype(np.float16),
    }


def golden(
    x: Array,
    q_norm: Array,
    q_norm_scale: Array,
    w_qb: Array,
    w_qb_scale: Array,
    w_k: Array,
    w_proj: Array,
    gamma: Array,
    beta: Array,
    cos: Array,
    sin: Array,
    hadamard_q: Array,
    hadamard_k: Array,
    cache_index: Array,
    k_cache: Array,
    k_scale_cache: Array,
) -> Results:
    """The queries and their scales, the weights of the heads, and the two caches."""
    t, heads = x.shape[0], w_proj.shape[1]
    q = bf16(whole_product(q_norm, w_qb) * q_norm_scale * w_qb_scale)
    q = rope_halves(
        q.reshape(t * heads, 128), *(np.repeat(a, heads, 0) for a in (cos, sin))
    )
    q8, q_scale = quantized(product(q, hadamard_q))

    wide = x.astype(np.float32)
    k = layer_norm(wide @ w_k.astype(np.float32), gamma, beta)
    k8, k_scale = quantized(product(rope_halves(k, cos, sin), hadamard_k))
    by_head = product(x, w_proj).astype(np.float32) * np.float32(
        weight_of_a_head(heads)
    )
    return {
        "q": q8.reshape(t, heads, 128),
        "q_scale": q_scale.reshape(t, heads).astype(np.float16),
        "weights": by_head.astype(np.float16),
        "k_cache": with_rows(k_cache, k8, cache_index),
        "k_scale_cache": with_rows(
            k_scale_cache, k_scale[:, 0].astype(np.float16), cache_index
        ),
    }


def mistakes(given: dict[str, Array], got: Results) -> list[str]:
    """Rows of the caches that no token names, and that are not as they were."""
    return changed_rows(given, got, CACHES)
