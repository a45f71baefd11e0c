"""The golden of weights_cast and its cases.

Each matrix rounded to bf16, to the nearest, ties to even; w_qb in i8, with a scale for
each column: a = amax|w|, scale = a / 127, q = rint(w * 127 / a); a column of zeros has
q = 0 and scale 0, one with NaN or inf has q = 0 and that as its scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results, replaced
from .definitions import BF16, generator, quantized


@dataclass(frozen=True)
class Sizes:
    """The static sizes of the file, or smaller ones."""

    hidden: int = 7168
    lora: int = 1536
    heads: int = 128
    indexer_heads: int = 64

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each argument."""
        return {
            "w_dq": (self.hidden, self.lora),
            "w_dkvkr": (self.hidden, 576),
            "w_uk": (self.heads, 128, 512),
            "w_uv": (self.heads, 512, 128),
            "w_qb": (self.lora, 128 * self.indexer_heads),
            "w_k": (self.hidden, 128),
            "w_proj": (self.hidden, self.indexer_heads),
        }


REAL = Sizes()
SMALL = Sizes(640, 384, 5, 4)
ODD = Sizes(130, 33, 1, 3)


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    sizes: Sizes = SMALL
    data: str = "uniform"
    """uniform, ties (halfway between two bf16), special (zeros, inf, NaN), tiny."""


CASES = (
    Case("small"),
    Case("given", sizes=REAL, long=True),
    Case("odd_sizes", sizes=ODD),
    Case("ties", data="ties"),
    Case("special", data="special"),
    Case("tiny_weights", data="tiny"),
)
TINY = CASES[2]
BREAKS = (
    ("cast %w_dq to bf16", "cast %w_dq to bf16 mode trunc"),
    ("cast %w_uk to bf16", "cast %w_uk to bf16 mode round"),
    ("cast %w_uv to bf16", "cast %w_uv to bf16 mode ceil"),
    ("cast %w_k to bf16", "cast %w_k to bf16 mode floor"),
)


def source(case: Case) -> str:
    """The text of the file with the sizes of the case."""
    text = text_of("weights_cast")
    real, new = (sizes.shapes for sizes in (REAL, case.sizes))
    sizes = {
        "x".join(map(str, real[name])) + "x": "x".join(map(str, new[name])) + "x"
        for name in real
    }
    columns = {"1x8192x": f"1x{case.sizes.indexer_heads * 128}x"}
    return text if case.sizes == REAL else replaced(text, sizes | columns)


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    return {
        name: spoilt(case, rng, rng.random(shape, np.float32) - np.float32(0.5))
        for name, shape in case.sizes.shapes.items()
    }


def spoilt(case: Case, rng: np.random.Generator, w: Array) -> Array:
    """The weights with what is special about the case."""
    if case.data == "ties":
        return ((w.view(np.uint32) & ~np.uint32(0xFFFF)) | 0x8000).view(np.float32)
    if case.data == "tiny":
        return w * np.float32(1e-38)
    if case.data == "special":
        flat = w.reshape(-1)
        places = rng.permutation(flat.size)[: flat.size // 50]
        values = [0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, 1e-45]
        flat[places] = np.resize(np.array(values, np.float32), places.size)
        w[..., 0] = 0.0
    return w


def golden(**weights: Array) -> Results:
    """The weights in bf16, and w_qb in i8 with its scales [1, columns]."""
    results: Results = {}
    for name, w in weights.items():
        if name == "w_qb":
            q, scale = quantized(w.T)
            results |= {"qb": np.ascontiguousarray(q.T), "qb_scale": scale.T.copy()}
        else:
            results[name.removeprefix("w_")] = w.astype(BF16)
    return results
