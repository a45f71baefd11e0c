"""The golden of grouped_matmul_swiglu_quant, its cases, and their program text.

The golden is written from the operator's definition with numpy and ml_dtypes' own
conversions. It shares no code with the compiler or its interpreter.

    for each expert e with its m = group_list[e] consecutive rows
        y = (a * scale_a) @ (b[e] * scale_b[e])                  f32, [m, N]
        s = y[:, :N/2] * sigmoid(y[:, :N/2]) * y[:, N/2:]        SwiGLU
        z = f32(bf16(s))
        r = 127 / amax(|z|, row);  q = i8(round_half_even(z * r));  scale = 1 / r

A row of zeros, or one so tiny that r overflows, gives q = 0 and scale = 0.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from . import text_of
from .cases import NamedCase
from .definitions import E8M0, F8, mx_columns, mx_rows


@dataclass(frozen=True)
class Case(NamedCase):
    """Sizes and data of one run; M is the sum of the groups."""

    groups: tuple[int, ...]
    k: int = 512
    n: int = 512
    signed: bool = False
    zero_rows: tuple[int, ...] = ()
    tiny_rows: tuple[int, ...] = ()
    transposed: bool = False
    """Weights [E, N, K] with their scales [E, N, ceil(K/64), 2]."""

    @property
    def m(self) -> int:
        return sum(self.groups)

    @property
    def experts(self) -> int:
        return len(self.groups)

    @property
    def blocks(self) -> int:
        """Pairs of scales along K."""
        return -(-self.k // 64)


CASES = (
    Case("given", (7, 9), n=7168),
    Case("first_empty", (0, 16)),
    Case("last_empty", (16, 0)),
    Case("both_empty", (0, 0)),
    Case("one_row", (1,), signed=True),
    Case("one_and_fifteen", (1, 15)),
    Case("skewed", (3, 0, 130, 1, 0, 50, 16, 0), n=256, signed=True),
    Case("k_64", (7, 9), k=64),
    Case("k_96", (7, 9), k=96, signed=True),
    Case("k_448", (7, 9), k=448),
    Case("signed", (20, 13), signed=True, n=1024),
    Case("zero_and_tiny", (7, 9), zero_rows=(0, 8), tiny_rows=(3, 15), signed=True),
    Case("transposed", (7, 9), n=256, transposed=True, signed=True),
    Case("transposed_k_96", (5, 0, 12), k=96, transposed=True, signed=True),
)
GIVEN = CASES[0]
TINY = CASES[8]
BREAKS = (
    ("%h = pypto.cast %s to bf16", "%n = pypto.neg %s\n  %h = pypto.cast %n to bf16"),
    ("%s = pypto.swiglu %y", "%g = pypto.swiglu %y\n  %s = pypto.mul %g, %g"),
)


def inputs(case: Case, seed: int | None = None) -> dict[str, np.ndarray]:
    """Arrays by argument name; the same for the same case and seed."""
    rng = np.random.default_rng(
        zlib.crc32(case.name.encode()) if seed is None else seed
    )
    low = -1.0 if case.signed else 0.0
    a = rng.uniform(low, 1.0, (case.m, case.k)).astype(np.float32)
    b = rng.uniform(low, 1.0, (case.experts, case.k, case.n)).astype(np.float32)
    # Uniform in (0, 1) as a power of two: mostly 1/2 and 1, seldom much less.
    scale_a = rng.uniform(0.0, 1.0, (case.m, case.blocks, 2))
    scale_b = rng.uniform(0.0, 1.0, (case.experts, case.blocks, case.n, 2))
    for row in case.zero_rows:
        a[row] = 0.0
    for row in case.tiny_rows:
        scale_a[row] = 2.0**-66  # the square of the products is about 2^-127
    if case.transposed:
        b, scale_b = b.transpose(0, 2, 1), scale_b.transpose(0, 2, 1, 3)
    return {
        "a": a.astype(F8),
        "b": np.ascontiguousarray(b).astype(F8),
        "scaled_a": power_of_two(scale_a),
        "scaled_b": power_of_two(np.ascontiguousarray(scale_b)),
        "group_list": np.array(case.groups, np.int64),
    }


def power_of_two(values: np.ndarray) -> np.ndarray:
    """The E8M0 number at or below each value."""
    exponents = np.floor(np.log2(values)).astype(np.int64) + 127
    return exponents.astype(np.uint8).view(E8M0)


def golden(
    a: np.ndarray,
    b: np.ndarray,
    scaled_a: np.ndarray,
    scaled_b: np.ndarray,
    group_list: np.ndarray,
) -> dict[str, np.ndarray]:
    """`out` [M, N/2] i8 and `out_quant` [M] f32.

    Weights are [E, K, N], or [E, N, K] where N is not K.
    """
    if b.shape[1] != a.shape[1]:
        b, scaled_b = b.transpose(0, 2, 1), scaled_b.transpose(0, 2, 1, 3)
    m = a.shape[0]
    half = b.shape[2] // 2
    left = mx_rows(a, scaled_a)
    out = np.zeros((m, half), np.int8)
    out_quant = np.zeros(m, np.float32)
    begin = 0
    for expert, rows in enumerate(group_list.tolist()):
        end = begin + rows
        y = left[begin:end] @ mx_columns(b[expert], scaled_b[expert])
        q, scale = quantized(swiglu(y[:, :half], y[:, half:]))
        out[begin:end], out_quant[begin:end] = q, scale
        begin = end
    return {"out": out, "out_quant": out_quant}


def swiglu(value: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """value * sigmoid(value) * gate, rounded to bf16."""
    with np.errstate(over="ignore"):
        s = value / (1 + np.exp(-value)) * gate
    return s.astype(ml_dtypes.bfloat16).astype(np.float32)


def quantized(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row in i8 with its scale."""
    amax = np.abs(z).max(axis=1, initial=0)
    with np.errstate(over="ignore", divide="ignore"):
        r = np.float32(127) / amax
    usable = np.isfinite(r)
    r = np.where(usable, r, np.float32(1))
    q = np.where(usable[:, None], np.rint(z * r[:, None]), 0)
    scale = np.where(usable, np.float32(1) / r, np.float32(0))
    return q.astype(np.float16).astype(np.int8), scale


EQUAL = {"out": 0.99}
"""The share of the elements of a result that are those of the golden."""


def mistakes(given: dict[str, np.ndarray], got: dict[str, np.ndarray]) -> list[str]:
    """Rows that have no scale have no values either; most of the others have some."""
    a, scales = given["a"].astype(np.float32), given["scaled_a"].astype(np.float32)
    nothing = ~a.any(axis=1) | (scales.max(axis=(1, 2)) <= 2.0**-66)
    found: list[str] = []
    if got["out_quant"][nothing].any() or got["out"][nothing].any():
        found.append("a row of zeros has a value or a scale")
    if got["out"].size and (got["out"] != 0).mean() <= 0.5:
        found.append("out is mostly 0")
    return found


def expected(case: Case) -> dict[str, np.ndarray]:
    """The golden results of a case."""
    return golden(**inputs(case))


def source(case: Case, loop: bool = False) -> str:
    """The program of a case, from the file of the operator with its sizes replaced."""
    name = "grouped_matmul_swiglu_quant" + ("_loop" if loop else "")
    text = text_of(name)
    e, k, n, kb = case.experts, case.k, case.n, case.blocks
    b, scaled_b = f"{e}x{k}x{n}", f"{e}x{kb}x{n}x2"
    flags = ""
    if case.transposed:
        b, scaled_b = f"{e}x{n}x{k}", f"{e}x{n}x{kb}x2"
        flags = "b_trans, scales_b_trans, "
    sizes = {
        "tensor<?x512x": f"tensor<?x{k}x",
        "tensor<2x512x7168x": f"tensor<{b}x",
        "tensor<?x8x2x": f"tensor<?x{kb}x2x",
        "tensor<2x8x7168x2x": f"tensor<{scaled_b}x",
        "tensor<2xi64>": f"tensor<{e}xi64>",
        "{tile = #cube": f"{{{flags}tile = #cube",
        "3584": str(n // 2),
        "%end[1]": f"%end[{e - 1}]",
        "(%e = 0 to 2)": f"(%e = 0 to {e})",
    }
    for old, new in sizes.items():
        if old in text:
            text = text.replace(old, new)
        else:
            assert loop or old in ("%end[1]", "(%e = 0 to 2)"), (
                f"{old} is not in {name}"
            )
    return text
