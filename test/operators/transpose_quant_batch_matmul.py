"""The golden of transpose_quant_batch_matmul and its cases.

    for each batch b
        out[:, b] = bf16((x1[:, b] * x1_scale[:, b]) @ (x2[b] * x2_scale[b]))

There is one scale for each 32 elements of K, two side by side for each 64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results, replaced
from .definitions import bf16, generator, mx_columns, mx_rows, some_f8, some_scales


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run."""

    m: int
    batch: int = 3
    k: int = 192
    n: int = 160


CASES = (
    Case("given", 48, batch=16, k=512, n=512),
    Case("mixed", 21),
    Case("one_row", 1),
    Case("no_row", 0),
    Case("a_tile_and_one", 129),
    Case("one_batch", 70, batch=1),
    Case("k_96", 18, k=96, n=64),
    Case("k_448", 40, k=448, batch=2),
    Case("many_rows", 700, batch=16, k=512, n=512, long=True),
)
TINY = CASES[1]
BREAKS = (
    ("%x1[:, %b, :]", "%x1[:, 0, :]"),
    ("%x1_scale[:, %b, :, :]", "%x1_scale[:, 0, :, :]"),
    ("%x2_scale[%b, :, :, :]", "%x2_scale[1, :, :, :]"),
    ("%x2[%b, :, :]", "%x2[1, :, :]"),
)


def source(case: Case) -> str:
    """The text of the file with the sizes of the case."""
    batch, k, n, kb = case.batch, case.k, case.n, -(-case.k // 64)
    sizes = {
        "<?x16x512xf8": f"<?x{batch}x{k}xf8",
        "<16x512x512x": f"<{batch}x{k}x{n}x",
        "<?x16x8x2x": f"<?x{batch}x{kb}x2x",
        "<16x8x512x2x": f"<{batch}x{kb}x{n}x2x",
        "<?x16x512xbf16>": f"<?x{batch}x{n}xbf16>",
        "[%m, 8192]": f"[%m, {batch * n}]",
        "<?x8192x": f"<?x{batch * n}x",
        "(%b = 0 to 16)": f"(%b = 0 to {batch})",
        "%b * 512": f"%b * {n}",
        "[-1, 16, 512]": f"[-1, {batch}, {n}]",
    }
    return replaced(text_of("transpose_quant_batch_matmul"), sizes)


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    batch, m, k, n, kb = case.batch, case.m, case.k, case.n, -(-case.k // 64)
    return {
        "x1": some_f8(rng, m, batch, k),
        "x2": some_f8(rng, batch, k, n),
        "x1_scale": some_scales(rng, m, batch, kb, 2),
        "x2_scale": some_scales(rng, batch, kb, n, 2),
    }


def golden(x1: Array, x2: Array, x1_scale: Array, x2_scale: Array) -> Results:
    """`out` [M, B, N] bf16."""
    left, right = mx_rows(x1, x1_scale), mx_columns(x2, x2_scale)
    products = [left[:, b] @ right[b] for b in range(len(x2))]
    return {"out": bf16(np.stack(products, axis=1))}
