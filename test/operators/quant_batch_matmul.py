"""The golden of quant_batch_matmul and its cases.

    y = x1 @ x2^T                                            f32, [B, M, N]
    s = f32(s1 * s2) with the low 13 bits of its mantissa cleared
    out = i8(round_half_even(clip(y * s, -128, 127)))

The elements are multiples of 2^-6 or of 1/2, so that sums are exact in f32, whatever
their order: the result is compared bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results, replaced
from .definitions import F8, generator


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    m: int
    batch: int = 3
    k: int = 192
    n: int = 160
    data: str = "floats"
    """floats, ties (results halfway between integers), large (most saturate), zeros."""


CASES = (
    Case("given", 48, batch=16, k=512, n=1024),
    Case("floats", 21),
    Case("one_row", 1),
    Case("no_row", 0),
    Case("a_tile_and_one", 257),
    Case("one_batch", 100, batch=1),
    Case("ragged", 18, k=70, n=96),
    Case("ties", 30, data="ties"),
    Case("large", 30, data="large"),
    Case("zeros", 5, data="zeros"),
    Case("many_rows", 600, batch=16, k=512, n=1024, long=True),
)
TINY = CASES[1]
BREAKS = (
    ("scale %s to i8", "scale %s2 to i8"),
    ("pypto.mul %s1, %s2", "pypto.add %s1, %s2"),
    ("to i8 {b_trans", "to i8 {relu, b_trans"),
    (
        '%out = pypto.matmul %x1, %x2 scale %s to i8 {b_trans, tag = "qbmm"}',
        "%y = pypto.matmul %x1, %x2 {b_trans}\n"
        "  %z = pypto.mul %y, %s\n"
        "  %out = pypto.cast %z to i8 mode rint",
    ),
)


def source(case: Case) -> str:
    """The text of the file with the sizes of the case."""
    batch, k, n = case.batch, case.k, case.n
    sizes = {
        "<16x?x512x": f"<{batch}x?x{k}x",
        "<16x1024x512x": f"<{batch}x{n}x{k}x",
        "<16x?x1024x": f"<{batch}x?x{n}x",
        "<1024xf32>": f"<{n}xf32>",
    }
    return replaced(text_of("quant_batch_matmul"), sizes)


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)

    def grid(*shape: int) -> Array:
        """Multiples of 2^-6 up to 1/4, or of 1/2 up to 8: f8 holds them."""
        steps = np.arange(-16, 17) / (2 if case.data == "large" else 64)
        return rng.choice(steps.astype(F8), shape)

    x1 = grid(case.batch, case.m, case.k)
    x2 = grid(case.batch, case.n, case.k)
    s1 = rng.uniform(0.5, 40, 1).astype(np.float32)
    s2 = rng.uniform(0.5, 1.5, case.n).astype(np.float32)
    if case.data == "ties":
        x2[..., 1:] = 0
        x1[..., 0] = 1
        s1, s2 = np.full(1, 32, np.float32), np.ones(case.n, np.float32)
    elif case.data == "zeros":
        x1[..., 1::2] = 0
        x2[..., ::2] = 0
    return {"x1": x1, "x2": x2, "s1": s1, "s2": s2}


def golden(x1: Array, x2: Array, s1: Array, s2: Array) -> Results:
    """`out` [B, M, N] i8."""
    y = x1.astype(np.float32) @ x2.astype(np.float32).transpose(0, 2, 1)
    bits = (s1 * s2).astype(np.float32).view(np.uint32)
    s = (bits & ~np.uint32(0x1FFF)).view(np.float32)
    return {"out": np.rint(np.clip(y * s, -128, 127)).astype(np.int8)}
