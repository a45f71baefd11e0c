"""The golden of quant_grouped_matmul_inplace_add and its cases.

    for each group g with its k = group_list[g] consecutive rows, from row b on
        y[g] += (a[b : b + k] * scales)^T @ (b[b : b + k] * scales)      f32, [M, N]

with one scale for each 32 rows of a column, two side by side for each 64. The first row
of scales of a group is b // 64 + g: whatever the sizes, groups have no row in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results, replaced
from .definitions import generator, mx_columns, some_f8, some_scales


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run; T is the sum of the groups."""

    groups: tuple[int, ...]
    m: int = 96
    n: int = 160
    spare: int = 0
    """Rows of scales behind those that a group uses."""


CASES = (
    Case("given", (300, 512, 0, 212), m=1024, n=2048),
    Case("whole_pairs", (64, 128, 64)),
    Case("one_row", (0, 1, 0)),
    Case("no_row", (0, 0)),
    Case("one_group", (256,), m=256, n=512),
    Case("half_pairs", (32, 96, 160)),
    Case("uneven", (3, 0, 130, 61, 0, 50, 77, 1), spare=2),
    Case("many_rows", (1000, 33, 0, 1500), m=1024, n=2048, long=True),
)
TINY = CASES[5]
BREAKS = (
    ("pypto.add %old, %p", "pypto.sub %old, %p"),
    ("pypto.add %old, %p", "pypto.add %p, %p"),
    ("%begin floordiv 64 + %g", "%begin floordiv 64"),
    ("%scaled_b[%first +: %pairs", "%scaled_b[%g +: %pairs"),
)


def source(case: Case) -> str:
    """The text of the file with the sizes of the case."""
    groups, m, n = len(case.groups), case.m, case.n
    sizes = {
        "<?x1024x": f"<?x{m}x",
        "<?x2048x": f"<?x{n}x",
        "<4x1024x2048x": f"<{groups}x{m}x{n}x",
        "<4xi64>": f"<{groups}xi64>",
        "(%g = 0 to 4)": f"(%g = 0 to {groups})",
    }
    return replaced(text_of("quant_grouped_matmul_inplace_add"), sizes)


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    t, groups = sum(case.groups), len(case.groups)
    pairs = t // 64 + groups + case.spare
    return {
        "a": some_f8(rng, t, case.m),
        "b": some_f8(rng, t, case.n),
        "scaled_a": some_scales(rng, pairs, case.m, 2),
        "scaled_b": some_scales(rng, pairs, case.n, 2),
        "group_list": np.array(case.groups, np.int64),
        "y": rng.uniform(-4, 4, (groups, case.m, case.n)).astype(np.float32),
    }


def golden(
    a: Array, b: Array, scaled_a: Array, scaled_b: Array, group_list: Array, y: Array
) -> Results:
    """`y` [G, M, N] f32."""
    out = y.copy()
    begin = 0
    for group, k in enumerate(group_list.tolist()):
        first = begin // 64 + group
        rows, pairs = slice(begin, begin + k), slice(first, first - (-k // 64))
        left = mx_columns(a[rows], scaled_a[pairs])
        out[group] += left.T @ mx_columns(b[rows], scaled_b[pairs])
        begin += k
    return {"y": out}
