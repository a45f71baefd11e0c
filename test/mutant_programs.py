"""The programs whose mutants `mutants.py` judges: small inputs, every mechanism.

Those with loops are programs whose waits are tested, too (`waiting_programs.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from waiting_programs import CASES

from pyptoc.runtime.bindings import Bindings
from pyptoc.runtime.inputs import Inputs, accept
from pyptoc.runtime.signature import Signature

Values = dict[str, Any]
FOLDER = Path(__file__).parent / "operators"


@dataclass(frozen=True)
class Source:
    """A program and its inputs."""

    text: str
    inputs: Callable[[], Values]
    machine: str = "ascend950"

    def sizes(self, signature: Signature) -> Inputs:
        return accept(signature, self.inputs(), "inputs", Bindings())


def _normal(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def _grouped() -> Values:
    draw = np.random.default_rng(1)
    f8, scale = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
    return {
        "a": draw.normal(size=(16, 256)).astype(f8),
        "b": draw.normal(size=(2, 256, 512)).astype(f8),
        "scaled_a": np.full((16, 4, 2), 127, np.uint8).view(scale),
        "scaled_b": np.full((2, 4, 512, 2), 127, np.uint8).view(scale),
        "group_list": np.array([7, 9], np.int64),
    }


def _first() -> str:
    """The first operator, with 512 columns instead of 7,168."""
    text = (FOLDER / "grouped_matmul_swiglu_quant.mlir").read_text()
    for old, new in (
        ("512x7168x", "256x512x"),
        ("?x512x", "?x256x"),
        ("?x8x2x", "?x4x2x"),
        ("2x8x7168x2x", "2x4x512x2x"),
        ("3584", "256"),
        ("k = [256, 256]", "k = [64, 64]"),
        ("n = [256, 256]", "n = [128, 128]"),
    ):
        text = text.replace(old, new)
    return text


SPLIT_K = """
#c = #pypto.cube<m = [32, 32], k = [64, 64], n = [128, 128], split_k = 3>
func.func @f(%a: tensor<70x512xf16>, %b: tensor<512x200xf16>) -> tensor<70x200xf32> {
  %y = pypto.matmul %a, %b {tile = #c}
  %e = pypto.exp %y {tile = #pypto.vec<16, 64>}
  func.return %e : tensor<70x200xf32>
}
"""

SOFTMAX = """
func.func @f(%x: tensor<40x300xf32>) -> tensor<40x300xf32> {
  %y = pypto.softmax %x axis -1 {tile = #pypto.vec<4, 128>}
  func.return %y : tensor<40x300xf32>
}
"""

CHAIN = """
#c = #pypto.cube<m = [16, 16], k = [32, 32], n = [64, 64]>
func.func @f(%a: tensor<40x64xf16>, %b: tensor<64x32xf16>, %c: tensor<32x64xf16>)
    -> tensor<40x1xf32> {
  %y = pypto.matmul %a, %b {tile = #c}
  %t = pypto.tanh %y {tile = #pypto.vec<48, 32>}
  %h = pypto.cast %t to f16
  %z = pypto.matmul %h, %c {tile = #c}
  %s = pypto.sum %z axis -1 {keepdim, tile = #pypto.vec<32, 64>}
  func.return %s : tensor<40x1xf32>
}
"""


def _attention() -> Values:
    bf16 = ml_dtypes.bfloat16
    return {
        "q": _normal((1, 2, 20, 128), bf16, 1),
        "k": _normal((1, 1, 600, 128), bf16, 2),
        "v": _normal((1, 1, 600, 128), bf16, 3),
    }


def _flash() -> str:
    """Flash attention with two heads instead of 32."""
    text = (FOLDER / "flash_attention.mlir").read_text()
    for old, new in (
        ("?x32x", "?x2x"),
        ("?x8x", "?x1x"),
        ("[%B, 32,", "[%B, 2,"),
        ("%h = 0 to 32", "%h = 0 to 2"),
        ("%h floordiv 4", "%h floordiv 2"),
    ):
        text = text.replace(old, new)
    return text


PROGRAMS = {
    "first operator": Source(_first(), _grouped),
    "split-K matmul": Source(
        SPLIT_K,
        lambda: {
            "a": _normal((70, 512), np.float16),
            "b": _normal((512, 200), np.float16, 2) / 16,
        },
    ),
    "softmax": Source(SOFTMAX, lambda: {"x": _normal((40, 300))}),
    "two matmuls": Source(
        CHAIN,
        lambda: {
            "a": _normal((40, 64), np.float16),
            "b": _normal((64, 32), np.float16, 2),
            "c": _normal((32, 64), np.float16, 3),
        },
    ),
    "flash attention": Source(_flash(), _attention),
    "nest": Source(
        CASES["launches_in_a_loop"].text,
        lambda: {
            "a": _normal((4, 40, 32), np.float16),
            "b": _normal((32, 64), np.float16, 2) / 8,
        },
    ),
    "sum over launches": Source(
        CASES["sequential_slots"].text,
        lambda: {
            "a": _normal((5, 16, 64), np.float16),
            "b": _normal((64, 64), np.float16, 2) / 16,
        },
    ),
    "update in a loop": Source(
        CASES["carried_in_place"].text, lambda: {"x": _normal((50, 32)) / 8}
    ),
}
