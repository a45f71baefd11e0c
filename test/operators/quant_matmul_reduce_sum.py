"""The golden of quant_matmul_reduce_sum and its cases.

    out = bf16(sum over b of f32(x1[b] @ x2[b]) * (x1_scale[b, m] * x2_scale[n]))

The products are exact in i32, all else is f32. Results in bf16 may be a unit in the
last place away where another order of the sum rounds to the other side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results, replaced
from .definitions import bf16, generator, whole_product


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    m: int
    batch: int = 3
    k: int = 160
    n: int = 256
    data: str = "signed"
    """signed, greatest (all -128), zeros (every second row and batch)."""


CASES = (
    Case("given", 96, batch=8, k=1024, n=2048),
    Case("signed", 21),
    Case("one_row", 1),
    Case("no_row", 0),
    Case("a_tile_and_one", 129),
    Case("one_batch", 70, batch=1),
    Case("ragged", 18, batch=2, k=70),
    Case("greatest", 30, batch=5, k=2500, n=128, data="greatest"),
    Case("zeros", 9, data="zeros"),
    Case("many_rows", 500, batch=8, k=1024, n=2048, long=True),
)
TINY = CASES[1]
BREAKS = (
    ("pypto.mul %f, %s", "pypto.mul %f, %r"),
    ("pypto.add %acc, %z", "pypto.sub %acc, %z"),
    ("%x2[%b, :, ", "%x2[0, :, "),
    ("%row[%b, ", "%row[0, "),
    ("%x2_scale[%j +: 128]", "%x2_scale[0 +: 128]"),
)


def source(case: Case) -> str:
    """The text of the file with the sizes of the case."""
    batch, k, n = case.batch, case.k, case.n
    sizes = {
        "<8x?x1024x": f"<{batch}x?x{k}x",
        "<8x1024x2048x": f"<{batch}x{k}x{n}x",
        "<8x?xf32>": f"<{batch}x?xf32>",
        "<2048xf32>": f"<{n}xf32>",
        "<?x2048x": f"<?x{n}x",
        "[8, -1, 1]": f"[{batch}, -1, 1]",
        "[%m, 2048]": f"[%m, {n}]",
        "0 to 2048 step": f"0 to {n} step",
        "(%b = 0 to 8)": f"(%b = 0 to {batch})",
    }
    return replaced(text_of("quant_matmul_reduce_sum"), sizes)


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    batch, m, k, n = case.batch, case.m, case.k, case.n
    x1 = rng.integers(-128, 128, (batch, m, k), np.int8)
    x2 = rng.integers(-128, 128, (batch, k, n), np.int8)
    if case.data == "greatest":
        x1[...], x2[...] = -128, -128
    elif case.data == "zeros":
        x1[::2], x1[:, ::2] = 0, 0
    return {
        "x1": x1,
        "x2": x2,
        "x1_scale": rng.uniform(1e-3, 1e-2, (batch, m)).astype(np.float32),
        "x2_scale": rng.uniform(1e-3, 1e-2, n).astype(np.float32),
    }


def golden(x1: Array, x2: Array, x1_scale: Array, x2_scale: Array) -> Results:
    """`out` [M, N] bf16."""
    out = np.zeros((x1.shape[1], x2.shape[2]), np.float32)
    for a, b, row in zip(x1, x2, x1_scale):
        out += whole_product(a, b) * (row[:, None] * x2_scale)
    return {"out": bf16(out)}
