"""The golden of mla_prolog_quant and its cases.

    q_a = bf16(x w_dq);  q_norm, q_norm_scale = each row of rms_norm(q_a) in i8
    q = bf16(q_norm w_uqqr * q_norm_scale * w_scale), 192 elements for each head
    q_nope = bf16(q[:128] w_uk of the head);  q_rope = rope(q[128:])
    kv = bf16(x w_dkvkr);  kr = rope(kv[512:])
    kv8, kscale = each 128 elements of rms_norm(kv[:512]) in i8

The last three go to the row of the caches that `cache_index` names, counted through the
pages; -1 is a token that leaves nothing there. What no token names stays as it was.

With the weights quantised twice, their scales by column are themselves over a second
scale, one for the matrix: q = bf16(.. * q_norm_scale * w_scale * w_scale_2), and 1.0
is the same as none.
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
    product,
    quantized,
    rms_norm,
    rope_interleaved,
    small_weights,
    tokens,
    whole_product,
    with_rows,
)

PAGE = 128
CACHES = ("kv_cache", "kr_cache", "k_scale_cache")


@dataclass(frozen=True)
class Sizes:
    """The static sizes of the file, or smaller ones."""

    hidden: int = 7168
    lora: int = 1536
    heads: int = 128


REAL = Sizes()
SMALL = Sizes(640, 384, 5)


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    slots: tuple[int, ...]
    """The row of the caches for each token."""
    blocks: int = 1
    sizes: Sizes = SMALL
    zero_rows: tuple[int, ...] = ()
    scale: float = 1.0
    """The greatest element of x."""
    rounded: bool = False
    """x of any values: the sums of the matmuls are rounded, each in its own order."""
    second_scale: float = 0.0
    """w_scale_2, where the weights are quantised twice."""


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
    Case("rounded", tuple(range(9)), rounded=True),
    Case("large", (3, 1, 2), scale=2.0**60),
    Case("tiny", (3, 1, 2), scale=2.0**-70),
    Case("second_scale", (5, 1, -1), second_scale=0.375),
    Case("second_scale_of_one", (5, 1, -1), second_scale=1.0),
    Case("many_tokens_real", tuple(range(40)), sizes=REAL, long=True),
)
TINY = CASES[1]
BREAKS = (
    (
        "%q_pe   = pypto.view %q[:, :, 128 +: 64]",
        "%q_pe   = pypto.view %q[:, :, 120 +: 64]",
    ),
    ("%sin {interleaved, tag", "%sin {tag"),
    ("%q_a, %gamma_cq eps 1.0e-5", "%q_a, %gamma_cq eps 1.0e-1"),
    ("scales %q_norm_scale, %w_scale", "scales %q_norm_scale"),
    ("%gamma_ckv eps 1.0e-5", "%gamma_ckv eps 1.0"),
    ("%q[:, :, 0 +: 128]", "%q[:, :, 64 +: 128]"),
)


def source(case: Case) -> str:
    """The text of the file with the sizes of the case."""
    text = text_of("mla_prolog_quant")
    if case.second_scale:
        twice = {
            "    %w_uk:": "    %w_scale_2: tensor<1xf32>,\n    %w_uk:",
            "%q_norm_scale, %w_scale to": "%q_norm_scale, %w_scale, %w_scale_2 to",
        }
        text = replaced(text, twice)
    if case.sizes == REAL:
        return text
    hidden, lora, heads = case.sizes.hidden, case.sizes.lora, case.sizes.heads
    sizes = {
        "7168x": f"{hidden}x",
        "1536x": f"{lora}x",
        "24576x": f"{192 * heads}x",
        "128x128x512x": f"{heads}x128x512x",
        "?x128x512x": f"?x{heads}x512x",
        "?x128x64x": f"?x{heads}x64x",
        "[-1, 128, 192]": f"[-1, {heads}, 192]",
    }
    return replaced(text, sizes)


@lru_cache(maxsize=2)
def weights(sizes: Sizes) -> dict[str, Array]:
    """The same for all cases of a size.

    The weights of the two matmuls with x are multiples of 2^-7, so that with x a
    multiple of 2^-4 their sums are exact in f32, in every order.
    """
    rng = np.random.default_rng(sizes.hidden)
    hidden, lora, heads = sizes.hidden, sizes.lora, sizes.heads

    def floats(most: float, *shape: int) -> Array:
        return (most * rng.random(shape, np.float32) - most / 2).astype(BF16)

    return {
        "w_dq": small_weights(rng, hidden, lora),
        "w_uqqr": rng.integers(-127, 128, (lora, 192 * heads), np.int8),
        "w_scale": rng.uniform(1e-4, 6e-4, 192 * heads).astype(np.float32),
        "w_uk": floats(0.3, heads, 128, 512),
        "w_dkvkr": small_weights(rng, hidden, 576),
        "gamma_cq": floats(2.0, lora),
        "gamma_ckv": floats(2.0, 512),
    }


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    t, blocks = len(case.slots), case.blocks
    x = tokens(rng, t, case.sizes.hidden, case.rounded)
    x[list(case.zero_rows)] = 0.0
    angle = rng.uniform(-np.pi, np.pi, (t, 64)).astype(np.float32)
    second = np.array([case.second_scale], np.float32)
    return {
        "x": (x * np.float32(case.scale)).astype(BF16),
        **weights(case.sizes),
        **({"w_scale_2": second} if case.second_scale else {}),
        "cos": np.cos(angle).astype(BF16),
        "sin": np.sin(angle).astype(BF16),
        "cache_index": np.array(case.slots, np.int64),
        "kv_cache": rng.integers(-127, 128, (blocks, PAGE, 1, 512), np.int8),
        "kr_cache": rng.normal(0, 1, (blocks, PAGE, 1, 64)).astype(BF16),
        "k_scale_cache": rng.uniform(0, 1, (blocks, PAGE, 1, 4)).astype(np.float32),
    }


def golden(
    x: Array,
    w_dq: Array,
    w_uqqr: Array,
    w_scale: Array,
    w_uk: Array,
    w_dkvkr: Array,
    gamma_cq: Array,
    gamma_ckv: Array,
    cos: Array,
    sin: Array,
    cache_index: Array,
    kv_cache: Array,
    kr_cache: Array,
    k_scale_cache: Array,
    w_scale_2: Array | None = None,
) -> Results:
    """The query's four results and the three caches."""
    t, heads = x.shape[0], w_uk.shape[0]
    q_norm, q_norm_scale = quantized(rms_norm(product(x, w_dq), gamma_cq))
    q_b = whole_product(q_norm, w_uqqr)
    q = q_b * q_norm_scale * w_scale
    if w_scale_2 is not None:
        q = q * w_scale_2
    q = bf16(q).reshape(t, heads, 192)
    q_nope = np.zeros((t, heads, 512), BF16)
    for head in range(heads):
        q_nope[:, head] = product(q[:, head, :128], w_uk[head])
    q_rope = rope_interleaved(q[:, :, 128:], cos[:, None], sin[:, None])

    kv = product(x, w_dkvkr)
    k_rope = rope_interleaved(kv[:, 512:], cos, sin)
    k_norm = rms_norm(kv[:, :512], gamma_ckv)
    k_q, k_scale = quantized(k_norm.reshape(t, 4, 128))
    return {
        "q_norm": q_norm,
        "q_norm_scale": q_norm_scale,
        "q_nope": q_nope,
        "q_rope": q_rope,
        "kv_cache": with_rows(kv_cache, k_q.reshape(t, 512), cache_index),
        "kr_cache": with_rows(kr_cache, k_rope, cache_index),
        "k_scale_cache": with_rows(k_scale_cache, k_scale[..., 0], cache_index),
    }


def mistakes(given: dict[str, Array], got: Results) -> list[str]:
    """Rows of the caches that no token names, and that are not as they were."""
    return changed_rows(given, got, CACHES)
