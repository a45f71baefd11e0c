"""The golden of attention_output_projection and its cases.

v = bf16(attn w_uv of the head), the heads of a token one after the other
q, d = each row of v in i8, and its scale
out = bf16(q w_o * d * w_o_scale)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results, replaced
from .definitions import BF16, bf16, generator, product, quantized, whole_product


@dataclass(frozen=True)
class Sizes:
    """The static sizes of the file, or smaller ones."""

    hidden: int = 7168
    heads: int = 128


REAL = Sizes()
SMALL = Sizes(640, 5)


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    t: int
    sizes: Sizes = SMALL
    zero_rows: tuple[int, ...] = ()
    scale: float = 1.0
    """The greatest element of attn."""
    rounded: bool = False
    """attn of any values: the sums over a head are rounded, each in its own order."""


CASES = (
    Case("given", 4, sizes=REAL),
    Case("small", 5),
    Case("one_token", 1),
    Case("no_token", 0),
    Case("a_tile_and_one", 17),
    Case("many_tokens", 139),
    Case("zero_rows", 3, zero_rows=(0, 2)),
    Case("rounded", 9, rounded=True),
    Case("large", 3, scale=2.0**60),
    Case("tiny", 3, scale=2.0**-70),
    Case("many_tokens_real", 40, sizes=REAL, long=True),
)
TINY = CASES[1]
BREAKS = (
    ("scales %q_scale, %w_o_scale", "scales %q_scale, %w_o_scale, %w_o_scale"),
    ("scales %q_scale, %w_o_scale", "scales %w_o_scale"),
    ("scales %q_scale, %w_o_scale", "scales %q_scale"),
    ("scales %q_scale, %w_o_scale", "scales %q_scale, %q_scale"),
)


def source(case: Case) -> str:
    """The text of the file with the sizes of the case."""
    text = text_of("attention_output_projection")
    if case.sizes == REAL:
        return text
    hidden, heads = case.sizes.hidden, case.sizes.heads
    sizes = {
        "7168x": f"{hidden}x",
        "16384x": f"{128 * heads}x",
        "[-1, 16384]": f"[-1, {128 * heads}]",
        "?x128x512x": f"?x{heads}x512x",
        "128x512x128x": f"{heads}x512x128x",
    }
    return replaced(text, sizes)


@lru_cache(maxsize=2)
def weights(sizes: Sizes) -> dict[str, Array]:
    """The same for all cases of a size.

    w_uv has multiples of 2^-7, so that with attn a multiple of 2^-4 its sums are exact
    in f32, in every order.
    """
    rng = np.random.default_rng(sizes.hidden)
    hidden, heads = sizes.hidden, sizes.heads
    grid = rng.integers(-8, 9, (heads, 512, 128), np.int8).astype(np.float32) / 128
    return {
        "w_uv": grid.astype(BF16),
        "w_o": rng.integers(-127, 128, (128 * heads, hidden), np.int8),
        "w_o_scale": rng.uniform(1e-4, 6e-4, hidden).astype(np.float32),
    }


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    shape = (case.t, case.sizes.heads, 512)
    attn = rng.integers(-16, 17, shape).astype(np.float32) / 16
    if case.rounded:
        attn = rng.uniform(-1, 1, shape).astype(np.float32)
    attn[list(case.zero_rows)] = 0.0
    return {"attn": (attn * np.float32(case.scale)).astype(BF16), **weights(case.sizes)}


def golden(attn: Array, w_uv: Array, w_o: Array, w_o_scale: Array) -> Results:
    """`out` [t, hidden]."""
    t, heads, _ = attn.shape
    v = np.zeros((t, heads, 128), BF16)
    for head in range(heads):
        v[:, head] = product(attn[:, head], w_uv[head])
    q, q_scale = quantized(v.reshape(t, 128 * heads))
    return {"out": bf16(whole_product(q, w_o) * q_scale * w_o_scale)}
