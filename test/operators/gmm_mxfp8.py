"""The golden of gmm_mxfp8 and its cases.

    for each expert e with its m = group_list[e] consecutive rows
        out = (a * scaled_a) @ (b[e] * scaled_b[e])              f32, [m, N]

There is one scale for each 32 elements of K, two side by side for each 64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results, replaced
from .definitions import generator, mx_columns, mx_rows, some_f8, some_scales


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run; M is the sum of the groups."""

    groups: tuple[int, ...]
    k: int = 256
    n: int = 256
    zero_rows: tuple[int, ...] = ()

    @property
    def blocks(self) -> int:
        """Pairs of scales along K."""
        return -(-self.k // 64)


CASES = (
    Case("given", (9, 0, 40, 15), k=2048, n=4096),
    Case("one_row", (0, 1)),
    Case("no_row", (0, 0, 0)),
    Case("uneven", (3, 0, 130, 1, 0, 50, 16, 0)),
    Case("one_expert", (70,), n=512),
    Case("k_96", (7, 9), k=96),
    Case("k_448", (17, 5), k=448, n=96),
    Case("zero_rows", (4, 6), zero_rows=(0, 5)),
    Case("many_experts", tuple(i % 3 for i in range(40)), k=64, n=64),
    Case("many_rows", (600, 3, 0, 421), k=2048, n=4096, long=True),
)
TINY = CASES[5]
BREAKS = (
    (" scales %scaled_a, %scaled_b", ""),
    ("func.return %y :", "%n = pypto.neg %y\n  func.return %n :"),
    (
        "func.return %y :",
        "%h = pypto.cast %y to bf16\n  %z = pypto.cast %h to f32\n  func.return %z :",
    ),
    ("func.return %y :", "%r = pypto.relu %y\n  func.return %r :"),
)


def source(case: Case) -> str:
    """The text of the file with the sizes of the case."""
    experts, k, n, kb = len(case.groups), case.k, case.n, case.blocks
    sizes = {
        "<?x2048x": f"<?x{k}x",
        "<?x4096x": f"<?x{n}x",
        "<?x32x2x": f"<?x{kb}x2x",
        "<4x2048x4096x": f"<{experts}x{k}x{n}x",
        "<4x32x4096x2x": f"<{experts}x{kb}x{n}x2x",
        "<4xi64>": f"<{experts}xi64>",
    }
    return replaced(text_of("gmm_mxfp8"), sizes)


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    m, experts, kb = sum(case.groups), len(case.groups), case.blocks
    a = some_f8(rng, m, case.k)
    a[list(case.zero_rows)] = 0
    return {
        "a": a,
        "b": some_f8(rng, experts, case.k, case.n),
        "scaled_a": some_scales(rng, m, kb, 2),
        "scaled_b": some_scales(rng, experts, kb, case.n, 2),
        "group_list": np.array(case.groups, np.int64),
    }


def golden(
    a: Array, b: Array, scaled_a: Array, scaled_b: Array, group_list: Array
) -> Results:
    """`out` [M, N] f32."""
    left = mx_rows(a, scaled_a)
    out = np.zeros((len(a), b.shape[2]), np.float32)
    end = np.cumsum(group_list)
    for expert, rows in enumerate(group_list.tolist()):
        group = slice(end[expert] - rows, end[expert])
        out[group] = left[group] @ mx_columns(b[expert], scaled_b[expert])
    return {"out": out}
