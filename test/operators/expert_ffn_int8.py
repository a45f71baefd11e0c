"""The golden of expert_ffn_int8 and its cases.

    q, q_scale = each row of x in i8
    for each expert e with its group_list[e] consecutive rows
        f = (q @ w_up[e]) * q_scale * w_up_scale[e]                 f32 from exact i32
        s = g * sigmoid(g) * u, where g and u are the halves of f   SwiGLU
        h, h_scale = each row of s in i8
        out = bf16((h @ w_down[e]) * h_scale * w_down_scale[e])

A row of zeros has q = 0 and scale 0, so the result is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from . import text_of
from .cases import NamedCase
from .checking import Array, Results, replaced
from .definitions import BF16, bf16, generator, quantized, whole_product


@dataclass(frozen=True)
class Sizes:
    """The static sizes of the file, or smaller ones."""

    hidden: int = 7168
    columns: int = 2048
    """Of gate and of up."""


REAL = Sizes()
SMALL = Sizes(320, 192)


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run; M is the sum of the groups."""

    groups: tuple[int, ...]
    sizes: Sizes = SMALL
    zero_rows: tuple[int, ...] = ()
    scale: float = 1.0
    """The greatest element of x."""


CASES = (
    Case("given", (30, 0, 34), sizes=REAL),
    Case("few_tokens", (5, 3), sizes=Sizes(1024, 512)),
    Case("one_token", (0, 1, 0)),
    Case("no_token", (0, 0)),
    Case("one_expert", (40,)),
    Case("a_block_and_one", (65, 64, 63)),
    Case("uneven", (3, 0, 130, 1, 0, 16)),
    Case("zero_rows", (4, 6), zero_rows=(0, 5, 9)),
    Case("large", (3, 4), scale=2.0**40),
    Case("tiny", (3, 4), scale=2.0**-80),
    Case("many_tokens_real", (200, 31, 1), sizes=REAL, long=True),
)
TINY = Case("small", (3, 0, 70))
BREAKS = (
    ("scales %as, %wus to f32", "scales %as to f32"),
    ("%s  = pypto.swiglu %f", "%fn = pypto.neg %f\n      %s  = pypto.swiglu %fn"),
    ("scales %hs, %wds", "scales %hs"),
    ("%q[%first +: %n, :]", "%q[%t +: %n, :]"),
    ("%w_down[%e, :, :]", "%w_down[0, :, :]"),
    ("%w_up_scale[%e, :]", "%w_up_scale[0, :]"),
    ("%q_scale[%first +: %n, :]", "%q_scale[%t +: %n, :]"),
)


def source(case: Case) -> str:
    """The text of the file with the sizes of the case."""
    experts, h, n = len(case.groups), case.sizes.hidden, case.sizes.columns
    sizes = {
        "<3x7168x4096x": f"<{experts}x{h}x{2 * n}x",
        "<3x4096x": f"<{experts}x{2 * n}x",
        "<3x2048x7168x": f"<{experts}x{n}x{h}x",
        "<3x7168xf32>": f"<{experts}x{h}xf32>",
        "<3xi64>": f"<{experts}xi64>",
        "<?x7168x": f"<?x{h}x",
        "[%m, 7168]": f"[%m, {h}]",
        "(%e = 0 to 3)": f"(%e = 0 to {experts})",
    }
    return replaced(text_of("expert_ffn_int8"), sizes)


@lru_cache(maxsize=4)
def weights(sizes: Sizes, experts: int) -> dict[str, Array]:
    """The same for all cases of a size."""
    rng = np.random.default_rng(sizes.hidden)
    h, n = sizes.hidden, sizes.columns

    def scales(depth: int, columns: int) -> Array:
        """With them the columns of the weights have a length of about 1."""
        least = 1 / (127 * np.sqrt(depth))
        return rng.uniform(least, 2 * least, (experts, columns)).astype(np.float32)

    return {
        "w_up": rng.integers(-127, 128, (experts, h, 2 * n), np.int8),
        "w_up_scale": scales(h, 2 * n),
        "w_down": rng.integers(-127, 128, (experts, n, h), np.int8),
        "w_down_scale": scales(n, h),
    }


def inputs(case: Case) -> dict[str, Array]:
    """Arrays by argument name; the same for the same case."""
    rng = generator(case.name)
    x = rng.uniform(-1, 1, (sum(case.groups), case.sizes.hidden))
    x[list(case.zero_rows)] = 0.0
    return {
        "x": (x * case.scale).astype(BF16),
        **weights(case.sizes, len(case.groups)),
        "group_list": np.array(case.groups, np.int64),
    }


def golden(
    x: Array,
    w_up: Array,
    w_up_scale: Array,
    w_down: Array,
    w_down_scale: Array,
    group_list: Array,
) -> Results:
    """`out` [M, H] bf16."""
    out = np.zeros(x.shape, BF16)
    q, q_scale = quantized(x)
    end = np.cumsum(group_list)
    for e, rows in enumerate(group_list.tolist()):
        group = slice(end[e] - rows, end[e])
        f = whole_product(q[group], w_up[e]) * q_scale[group] * w_up_scale[e]
        gate, up = np.split(f, 2, axis=1)
        with np.errstate(over="ignore"):
            h, h_scale = quantized(gate / (1 + np.exp(-gate)) * up)
        out[group] = bf16(whole_product(h, w_down[e]) * h_scale * w_down_scale[e])
    return {"out": out}
