"""The golden of deepseek_decode and its cases: the goldens of its steps, one by one.

weights_cast, mla_prolog_quant, lightning_indexer_prolog_quant, lightning_indexer_quant,
sparse_flash_attention_quant, attention_output_projection: each takes what those before
it have made. The last rows of each sequence in the caches are those of this step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from . import attention_output_projection as projection
from . import lightning_indexer_prolog_quant as indexer_prolog
from . import lightning_indexer_quant as indexer
from . import mla_prolog_quant as prolog
from . import sparse_flash_attention_quant as attention
from . import text_of, weights_cast
from .cases import NamedCase
from .checking import Array, Results, replaced
from .definitions import BF16, changed_rows, generator, tokens
from .lightning_indexer_quant import page_table

PAGE = 128
CACHES = (
    "kv_cache",
    "kr_cache",
    "k_scale_cache",
    "index_cache",
    "index_scale_cache",
)


@dataclass(frozen=True)
class Sizes:
    """The static sizes of the file, or smaller ones."""

    hidden: int = 7168
    lora: int = 1536
    heads: int = 128
    indexer_heads: int = 64
    top: int = 2048


REAL = Sizes()
SMALL = Sizes(640, 384, 5, 4, 64)


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    act: tuple[int, ...]
    """Cached rows of each sequence, those of this step among them."""
    steps: int = 1
    sizes: Sizes = SMALL
    padding: tuple[int, ...] = ()
    """Tokens whose rows do not go to the caches."""
    zero_rows: tuple[int, ...] = ()
    """Tokens of which x is 0."""


CASES = (
    Case("small", (130, 300, 65), steps=2),
    Case("given", (2304, 4000), steps=2, sizes=REAL, long=True),
    Case("one_token", (1,)),
    Case("no_sequence", ()),
    Case("just_a_page", (128, 129)),
    Case("uneven", (3, 700, 64, 257), steps=3),
    Case("padding", (40, 90), steps=2, padding=(1, 2)),
    Case("zero_rows", (40, 90), zero_rows=(1,)),
    Case("one_token_real", (2500,), sizes=REAL, long=True),
)
TINY = Case("tiny", (3, 130))
BREAKS = (
    (
        "func.call @rope(%q_pe, %k_pe, %q_index, %k_index, %cos, %sin",
        "func.call @rope(%q_pe, %k_pe, %q_index, %k_index, %sin, %cos",
    ),
    ("%q_nope, %q_rope, %kv_out, %kr_out", "%q_nope, %q_rope, %kv_out, %kr_cache"),
    (
        "pypto.rope %q_index, %cos3, %sin3 first 64 {tag",
        "pypto.rope %q_index, %cos3, %sin3 first 64 {interleaved, tag",
    ),
    ("pypto.relu %qf", "pypto.neg %qf"),
    ("pypto.cast %w_uv to bf16", "pypto.cast %w_uv to bf16 mode trunc"),
    ("%k_out[-1, 128, 128]", "%index_cache[-1, 128, 128]"),
    ("%sum scales %q_scale, %w_o_scale", "%sum scales %w_o_scale"),
)


def source(case: Case) -> str:
    """The text of the file with the sizes of the case."""
    text = text_of("deepseek_decode")
    if case.sizes == REAL:
        return text
    size = case.sizes
    rank, width, values = size.lora, 128 * size.indexer_heads, 128 * size.heads
    sizes = {
        "tensor<1536xbf16>": f"tensor<{rank}xbf16>",
        "tensor<?x7168xbf16>": f"tensor<?x{size.hidden}xbf16>",
        "tensor<?x64x128x": f"tensor<?x{size.indexer_heads}x128x",
        "tensor<?x128x512xbf16>": f"tensor<?x{size.heads}x512xbf16>",
        "tensor<?x128x64xbf16>": f"tensor<?x{size.heads}x64xbf16>",
        "tensor<?x2048xi32>": f"tensor<?x{size.top}xi32>",
        "tensor<?x64xf16>": f"tensor<?x{size.indexer_heads}xf16>",
        "tensor<7168x576x": f"tensor<{size.hidden}x576x",
        "tensor<7168x1536x": f"tensor<{size.hidden}x{rank}x",
        "tensor<7168x128x": f"tensor<{size.hidden}x128x",
        "tensor<7168x64x": f"tensor<{size.hidden}x{size.indexer_heads}x",
        "tensor<16384x7168xi8>": f"tensor<{values}x{size.hidden}xi8>",
        "tensor<7168xf32>": f"tensor<{size.hidden}xf32>",
        "tensor<1536x8192x": f"tensor<{rank}x{width}x",
        "tensor<1x8192xf32>": f"tensor<1x{width}xf32>",
        "tensor<128x128x512x": f"tensor<{size.heads}x128x512x",
        "tensor<1536x24576xi8>": f"tensor<{rank}x{192 * size.heads}xi8>",
        "tensor<24576xf32>": f"tensor<{192 * size.heads}xf32>",
        "tensor<128x512x128x": f"tensor<{size.heads}x512x128x",
        "[-1, 128, 192]": f"[-1, {size.heads}, 192]",
        "[-1, 64, 128]": f"[-1, {size.indexer_heads}, 128]",
        "%q_s16[-1, 64]": f"%q_s16[-1, {size.indexer_heads}]",
        "[%t, 2048]": f"[%t, {size.top}]",
        "[%t, 128, 512]": f"[%t, {size.heads}, 512]",
        "k 2048 axis": f"k {size.top} axis",
        "0), 2048)": f"0), {size.top})",
        "[-1, 16384]": f"[-1, {values}]",
        "0.011048543456039806": repr(
            indexer_prolog.weight_of_a_head(size.indexer_heads)
        ),
    }
    return replaced(text, sizes)


@lru_cache(maxsize=2)
def weights(sizes: Sizes) -> dict[str, Array]:
    """The same for all cases of a size: those of the goldens of the steps.

    What x is multiplied by are multiples of 2^-7, so that with x a multiple of 2^-4 the
    sums are exact in f32, in every order. They are in f32 here; w_uv is rounded.
    """
    hidden, lora, heads = sizes.hidden, sizes.lora, sizes.heads
    mla = prolog.weights(prolog.Sizes(hidden, lora, heads))
    index = indexer_prolog.weights(
        indexer_prolog.Sizes(hidden, lora, sizes.indexer_heads)
    )
    out = projection.weights(projection.Sizes(hidden, heads))
    rng = np.random.default_rng(lora)

    def wide(w: Array) -> Array:
        return w.astype(np.float32)

    return {
        "w_dq": wide(mla["w_dq"]),
        "w_dkvkr": wide(mla["w_dkvkr"]),
        "w_uk": wide(mla["w_uk"]),
        "w_uv": wide(out["w_uv"]) + rng.random(out["w_uv"].shape, np.float32) / 256,
        "w_qb": rng.random(index["w_qb"].shape, np.float32) - np.float32(0.5),
        "w_k": wide(index["w_k"]),
        "w_proj": wide(index["w_proj"]),
        "w_uqqr": mla["w_uqqr"],
        "w_uqqr_scale": mla["w_scale"],
        "w_o": out["w_o"],
        "w_o_scale": out["w_o_scale"],
        "gamma_cq": mla["gamma_cq"],
        "gamma_ckv": mla["gamma_ckv"],
        "gamma_k": index["gamma"],
        "beta_k": index["beta"],
        "hadamard_q": index["hadamard_q"],
        "hadamard_k": index["hadamard_k"],
    }


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    t = case.steps * len(case.act)
    used = [-(-length // PAGE) for length in case.act]
    blocks = sum(used) + 1
    x = tokens(rng, t, case.sizes.hidden)
    x[list(case.zero_rows)] = 0.0
    angle = rng.uniform(-np.pi, np.pi, (t, 64)).astype(np.float32)
    table = page_table(rng, used, blocks)
    slots = np.zeros(t, np.int64)
    for token in range(t):
        sequence, j = divmod(token, case.steps)
        at = case.act[sequence] - case.steps + j
        slots[token] = table[sequence, at // PAGE] * PAGE + at % PAGE
    slots[list(case.padding)] = -1

    def cache(*row: int) -> Array:
        return rng.integers(-127, 128, (blocks, PAGE, *row), np.int8)

    def scales(most: float, *row: int) -> Array:
        return rng.uniform(0, most, (blocks, PAGE, *row))

    return {
        "x": x.astype(BF16),
        **weights(case.sizes),
        "cos": np.cos(angle).astype(BF16),
        "sin": np.sin(angle).astype(BF16),
        "cache_index": slots,
        "kv_cache": cache(1, 512),
        "kr_cache": rng.normal(0, 1, (blocks, PAGE, 1, 64)).astype(BF16),
        "k_scale_cache": scales(0.02, 1, 4).astype(np.float32),
        "index_cache": cache(1, 128),
        "index_scale_cache": scales(0.02, 1).astype(np.float16),
        "act_seqs": np.array(case.act, np.int32),
        "block_table": table,
    }


def golden(**given: Array) -> Results:
    """The hidden states, the rows that each token attends to, and the five caches."""
    cast = weights_cast.golden(
        **{name: given[name] for name in weights_cast.REAL.shapes}
    )
    shared = {name: given[name] for name in ("x", "cos", "sin", "cache_index")}
    paged = {name: given[name] for name in ("act_seqs", "block_table")}
    mla = prolog.golden(
        **shared,
        w_dq=cast["dq"],
        w_uqqr=given["w_uqqr"],
        w_scale=given["w_uqqr_scale"],
        w_uk=cast["uk"],
        w_dkvkr=cast["dkvkr"],
        gamma_cq=given["gamma_cq"],
        gamma_ckv=given["gamma_ckv"],
        **{name: given[name] for name in prolog.CACHES},
    )
    index = indexer_prolog.golden(
        **shared,
        q_norm=mla["q_norm"],
        q_norm_scale=mla["q_norm_scale"],
        w_qb=cast["qb"],
        w_qb_scale=cast["qb_scale"],
        w_k=cast["k"],
        w_proj=cast["proj"],
        gamma=given["gamma_k"],
        beta=given["beta_k"],
        hadamard_q=given["hadamard_q"],
        hadamard_k=given["hadamard_k"],
        k_cache=given["index_cache"],
        k_scale_cache=given["index_scale_cache"],
    )
    topk = indexer.golden(
        q=index["q"],
        q_scale=index["q_scale"],
        k_cache=index["k_cache"],
        k_scale_cache=index["k_scale_cache"],
        weight=index["weights"],
        **paged,
        top=top_of(given["w_dq"].shape),
    )["topk"][:, 0]
    caches = {name: mla[name] for name in prolog.CACHES}
    attended = attention.golden(
        q_nope=mla["q_nope"], q_rope=mla["q_rope"], **caches, topk=topk, **paged
    )["out"]
    out = projection.golden(attended, cast["uv"], given["w_o"], given["w_o_scale"])
    return {
        **out,
        "topk": topk,
        **caches,
        "index_cache": index["k_cache"],
        "index_scale_cache": index["k_scale_cache"],
    }


def top_of(shape: tuple[int, ...]) -> int:
    """How many rows a token attends to, by the shape of w_dq: no argument says it."""
    return next(size.top for size in (REAL, SMALL) if shape == (size.hidden, size.lora))


def mistakes(given: dict[str, Array], got: Results) -> list[str]:
    """
    Rows of the caches that no token names, and that are not as they were.

    At small sizes scores are far enough apart for the positions to be the same.
    """
    found = changed_rows(given, got, CACHES)
    if given["w_dq"].shape == (SMALL.hidden, SMALL.lora):
        want = golden(**given)["topk"]
        if not np.array_equal(np.sort(got["topk"]), np.sort(want)):
            found.append("topk has other positions")
    return found
