"""The golden of grouped_matmul_finalize_routing and its cases.

    for each expert e with its group_list[e] consecutive rows
        y = (x * scaled_x) @ (w[e] * scaled_w[e])^T              f32
    out[row_index[i]] += logit[i] * y[i]                         equal rows add up
    out[shared_offset + i] += shared_weight * shared[i]

`out` has 4 * S rows. One that neither names is zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results, replaced
from .definitions import BF16, generator, mx_rows, some_f8, some_scales


@dataclass(frozen=True)
class Sizes:
    """The static sizes of the file, or smaller ones."""

    k: int = 1024
    n: int = 7168


REAL = Sizes()
SMALL = Sizes(192, 320)


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run; M is the sum of the groups."""

    groups: tuple[int, ...]
    s: int = 4
    """Tokens of a rank; there are four ranks."""
    offset: int = 2
    rows: str = "any"
    """Rows of the result: any, one (the same for all), distinct."""
    sizes: Sizes = SMALL
    weight: float = 0.5


CASES = (
    Case("given", (9, 0, 14, 1), sizes=REAL),
    Case("mixed", (9, 0, 14, 1)),
    Case("one_row", (0, 1), s=1, offset=0),
    Case("no_row", (0, 0, 0), offset=12),
    Case("no_token", (), s=0, offset=0),
    Case("no_shared_at_the_end", (0,), s=0, offset=0),
    Case("one_token", (30, 41), rows="one", offset=12),
    Case("distinct", (20, 3, 9), s=8, offset=24, rows="distinct", weight=-3.0),
    Case("uneven", (3, 0, 130, 1, 0, 50, 16, 0), s=33, offset=33),
    Case("k_96", (7, 9), sizes=Sizes(96, 320)),
    Case("many_rows", (300, 3, 0, 209), s=16, offset=16, sizes=REAL, long=True),
)
TINY = CASES[1]
BREAKS = (
    (" scales %scaled_x, %scaled_w {b_trans, scales_b_trans, ", " {b_trans, "),
    ("pypto.mul %y, %column", "pypto.add %y, %column"),
    ("into %start at", "into %zero at"),
    ("pypto.mul %wide, %shared_weight", "pypto.add %wide, %shared_weight"),
    ("%zero[%shared_offset, 0]", "%zero[%s, 0]"),
    ("pypto.full 0.0[", "pypto.full 0.01["),
)


def source(case: Case) -> str:
    """The text of the file with the sizes of the case."""
    experts, k, n = max(len(case.groups), 1), case.sizes.k, case.sizes.n
    kb = -(-k // 64)
    sizes = {
        "<4x7168x1024x": f"<{experts}x{n}x{k}x",
        "<4x7168x16x2x": f"<{experts}x{n}x{kb}x2x",
        "<?x1024x": f"<?x{k}x",
        "<?x7168x": f"<?x{n}x",
        "<?x16x2x": f"<?x{kb}x2x",
        "[%tokens, 7168]": f"[%tokens, {n}]",
        "<4xi64>": f"<{experts}xi64>",
    }
    return replaced(text_of("grouped_matmul_finalize_routing"), sizes)


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    groups = case.groups or (0,)
    m, experts, tokens = sum(groups), len(groups), 4 * case.s
    k, n, kb = case.sizes.k, case.sizes.n, -(-case.sizes.k // 64)
    rows = {
        "any": rng.integers(0, max(tokens, 1), m),
        "one": np.full(m, max(tokens - 1, 0)),
        "distinct": rng.permutation(max(tokens, m))[:m],
    }
    return {
        "x": some_f8(rng, m, k),
        "w": some_f8(rng, experts, n, k),
        "scaled_x": some_scales(rng, m, kb, 2),
        "scaled_w": some_scales(rng, experts, n, kb, 2),
        "group_list": np.array(groups, np.int64),
        "logit": rng.uniform(-1, 1, m).astype(np.float32),
        "row_index": rows[case.rows].astype(np.int64),
        "shared": rng.uniform(-1, 1, (case.s, n)).astype(BF16),
        "shared_offset": np.array(case.offset),
        "shared_weight": np.array(case.weight, np.float32),
    }


def golden(
    x: Array,
    w: Array,
    scaled_x: Array,
    scaled_w: Array,
    group_list: Array,
    logit: Array,
    row_index: Array,
    shared: Array,
    shared_offset: Array,
    shared_weight: Array,
) -> Results:
    """`out` [4 * S, N] f32."""
    s, n = shared.shape
    out = np.zeros((4 * s, n), np.float32)
    begin = int(shared_offset)
    out[begin : begin + s] = shared.astype(np.float32) * np.float32(shared_weight)
    left = mx_rows(x, scaled_x)
    end = np.cumsum(group_list)
    for expert, rows in enumerate(group_list.tolist()):
        group = slice(end[expert] - rows, end[expert])
        y = left[group] @ mx_rows(w[expert], scaled_w[expert]).T
        np.add.at(out, row_index[group], y * logit[group, None])
    return {"out": out}
