"""The golden of glm_attention_prolog and its cases.

    qkv = bf16(x w_qkv + b_qkv), heads of 128: those of q, then of k, then of v
    q, k = rms_norm of each head, in bf16 (not in all models: GLM-4.5-Air has none)
    of their first 64 elements a, b (32 each):  a cos - b sin,  b cos + a sin

k and v go to the row of the caches that `slot` names, counted through the pages; -1 is
a token that leaves nothing there. What no token names stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results, replaced
from .definitions import BF16, bf16, generator, rms_norm, tokens

PAGE, WIDTH, TURNED = 128, 128, 64


@dataclass(frozen=True)
class Sizes:
    """The static sizes of the file, or smaller ones."""

    hidden: int = 5120
    heads: int = 96
    key_heads: int = 8

    @property
    def columns(self) -> int:
        """Of the fused weights."""
        return WIDTH * (self.heads + 2 * self.key_heads)


REAL = Sizes()
AIR = Sizes(hidden=4096)
SMALL = Sizes(320, 6, 2)


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    slots: tuple[int, ...]
    """The row of the caches for each token."""
    blocks: int = 1
    sizes: Sizes = SMALL
    zero_rows: tuple[int, ...] = ()
    norms: bool = True
    """Whether heads are normalised."""
    rounded: bool = False
    """x of any values: the sums of the product are rounded, each in its own order."""


CASES = (
    Case("given", (5, 130, -1, 255), blocks=2, sizes=REAL),
    Case("mixed", (5, 130, -1, 255, 0), blocks=2),
    Case("one_token", (127,)),
    Case("no_token", ()),
    Case("padding_only", (-1, -1)),
    Case("a_tile_and_one", tuple(range(100, 117))),
    Case("many_tokens", tuple(range(255, 55, -1)), blocks=2),
    Case("same_slot", (7, 8, 7, 9, 7)),
    Case("zero_rows", (3, 1, 2), zero_rows=(0, 2)),
    Case("without_norms", (9, 200, 3), blocks=2, norms=False),
    Case("rounded", tuple(range(9)), rounded=True),
    Case("air", (5, -1, 77), sizes=AIR, norms=False, long=True),
    Case("many_tokens_real", tuple(range(200)), blocks=2, sizes=REAL, long=True),
)
TINY = CASES[1]
BREAKS = (
    ("%y, %b_qkv", "%y, %y"),
    ("%q3, %gamma_q eps", "%q3, %gamma_k eps"),
    ('first 64 {tag = "rope_k"}', "first 64 {interleaved}"),
    ('%cos3, %sin3 first 64 {tag = "rope_q"}', "%sin3, %cos3 first 64"),
    ("%v3 into %v_cache", "%k3 into %v_cache"),
    ("%k into %k_cache", "%kn into %k_cache"),
)


def source(case: Case) -> str:
    """The text of the file with the sizes of the case."""
    text, sizes = text_of("glm_attention_prolog"), case.sizes
    if not case.norms:
        gamma = " tensor<128xbf16> {pypto.data = #pypto.data<uniform 0.5 to 1.5>},"
        parts = {f"    %gamma_{x}:{gamma}\n": "" for x in "qk"}
        for x in "qk":
            norm = f'%{x}3, %gamma_{x} eps 1.0e-5 {{tag = "norm_{x}"}}'
            parts[f"  %{x}n = pypto.rms_norm {norm}\n"] = ""
            parts[f"pypto.rope %{x}n,"] = f"pypto.rope %{x}3,"
        text = replaced(text, parts)
    q, k = WIDTH * sizes.heads, WIDTH * sizes.key_heads
    return replaced(
        text,
        {
            "5120x": f"{sizes.hidden}x",
            "14336x": f"{sizes.columns}x",
            "0 +: 12288]": f"0 +: {q}]",
            "12288 +: 1024]": f"{q} +: {k}]",
            "13312 +: 1024]": f"{q + k} +: {k}]",
            "96, 128]": f"{sizes.heads}, 128]",
            " 8, 128]": f" {sizes.key_heads}, 128]",
            "?x96x": f"?x{sizes.heads}x",
            "128x8x128x": f"128x{sizes.key_heads}x128x",
        },
    )


@lru_cache(maxsize=1)
def weights(sizes: Sizes) -> dict[str, Array]:
    """The same for all cases of a size.

    The weights are multiples of 2^-7, so that with x a multiple of 2^-4 the sums are
    exact in f32, in every order.
    """
    rng = np.random.default_rng(sizes.hidden)
    w_qkv = np.empty((sizes.hidden, sizes.columns), BF16)
    for row in w_qkv:
        row[:] = rng.integers(-8, 9, sizes.columns).astype(np.float32) / 128
    bias = rng.integers(-64, 65, sizes.columns).astype(np.float32) / 32
    return {"w_qkv": w_qkv, "b_qkv": bias}


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    t, sizes = len(case.slots), case.sizes
    x = tokens(rng, t, sizes.hidden, case.rounded)
    x[list(case.zero_rows)] = 0.0
    gammas = {
        f"gamma_{x}": rng.uniform(0.5, 1.5, WIDTH).astype(np.float32).astype(BF16)
        for x in "qk"
    }
    angle = rng.uniform(-np.pi, np.pi, (t, TURNED)).astype(np.float32)
    cache = (case.blocks, PAGE, sizes.key_heads, WIDTH)
    return {
        "x": x.astype(BF16),
        **weights(sizes),
        **(gammas if case.norms else {}),
        "cos": np.cos(angle).astype(BF16),
        "sin": np.sin(angle).astype(BF16),
        "slot": np.array(case.slots, np.int64),
        "k_cache": rng.normal(0, 1, cache).astype(BF16),
        "v_cache": rng.normal(0, 1, cache).astype(BF16),
    }


def golden(
    x: Array,
    w_qkv: Array,
    b_qkv: Array,
    cos: Array,
    sin: Array,
    slot: Array,
    k_cache: Array,
    v_cache: Array,
    gamma_q: Array | None = None,
    gamma_k: Array | None = None,
) -> Results:
    """The queries and the two caches."""
    sums = x.astype(np.float32) @ w_qkv.astype(np.float32)
    qkv = bf16(sums + b_qkv)
    qkv = qkv.reshape(x.shape[0], w_qkv.shape[1] // WIDTH, WIDTH)
    key_heads = k_cache.shape[2]
    q, k, v = np.split(qkv, [-2 * key_heads, -key_heads], axis=1)
    if gamma_q is not None and gamma_k is not None:
        q, k = rms_norm(q, gamma_q), rms_norm(k, gamma_k)
    caches = {"k_cache": k_cache.copy(), "v_cache": v_cache.copy()}
    for cache, new in zip(caches.values(), (turned(k, cos, sin), v)):
        for token, place in enumerate(slot.tolist()):
            if place != -1:
                cache[place // PAGE, place % PAGE] = new[token]
    return {"q": turned(q, cos, sin), **caches}


def turned(x: Array, cos: Array, sin: Array) -> Array:
    """Heads with the first 64 elements turned, those of one half by the other's."""
    wide = x[..., :TURNED].astype(np.float64)
    a, b = np.split(wide, 2, axis=-1)
    across = np.concatenate([-b, a], axis=-1)
    c, s = (angles[:, None].astype(np.float64) for angles in (cos, sin))
    return np.concatenate([bf16(wide * c + across * s), x[..., TURNED:]], axis=-1)


def mistakes(given: dict[str, Array], got: Results) -> list[str]:
    """Rows of the caches that no token names, and that are not as they were."""
    slots = given["slot"]
    found: list[str] = []
    for name in ("k_cache", "v_cache"):
        before, after = (
            np.delete(cache.reshape(-1, *cache.shape[2:]), slots[slots >= 0], axis=0)
            for cache in (given[name], got[name])
        )
        if before.tobytes() != after.tobytes():
            found.append(f"{name} has changed where no token is")
    return found
