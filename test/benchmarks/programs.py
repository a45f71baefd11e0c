"""What the benchmarks compile and run, and what numpy is given to do instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from pyptoc.api import Program, compile
from pyptoc.operators import flash_attention as attention
from pyptoc.operators import grouped_matmul_swiglu_quant as grouped

Arrays = dict[str, Any]


def operator(experts: int = 2) -> str:
    """grouped_matmul_swiglu_quant at its real size."""
    groups = (7, 9) + (0,) * (experts - 2)
    return grouped.source(grouped.Case("benchmark", groups, n=7168))


def matmul(size: int, element: str = "f16", result: str = "f32") -> str:
    """A square matmul."""
    shape = f"{size}x{size}"
    return f"""func.func @matmul(%a: tensor<{shape}x{element}>,
    %b: tensor<{shape}x{element}>) -> tensor<{shape}x{result}> {{
  %y = pypto.matmul %a, %b
  func.return %y : tensor<{shape}x{result}>
}}
"""


def tiled_matmul(size: int, walk: str, result: str = "f16") -> Program:
    """A square matmul of f16 on 24 cores with the tiles of measured kernels."""
    sizes = "m = [128, 128], k = [64, 256], n = [256, 256]"
    tile = f"#pypto.cube<{sizes}, walk = {walk}>"
    text = matmul(size, "f16", result).replace(
        "pypto.matmul %a, %b", f"pypto.matmul %a, %b to {result} {{tile = {tile}}}"
    )
    return compile(text, machine="ascend910b")


SOFTMAX = """func.func @softmax(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %y = pypto.softmax %x axis -1
  func.return %y : tensor<4096x4096xf32>
}
"""


def flash_attention() -> str:
    """The operator with two heads that share their keys."""
    text = attention.source(attention.TINY)
    for old, new in (
        ("x32x?", "x2x?"),
        ("x8x?", "x1x?"),
        ("0 to 32", "0 to 2"),
        (", 32, %Sq", ", 2, %Sq"),
        ("floordiv 4", "floordiv 2"),
    ):
        assert old in text
        text = text.replace(old, new)
    return text


@dataclass(frozen=True)
class Run:
    """A program with inputs, and what numpy does with them."""

    name: str
    text: str
    inputs: Arrays
    golden: Callable[[], Any]


def runs() -> list[Run]:
    """The programs whose runs are measured; the golden of each is plain numpy."""
    draw = np.random.default_rng(0)
    given: Arrays = dict(grouped.inputs(grouped.GIVEN))
    found = [
        Run(
            "grouped_matmul_swiglu_quant",
            operator(),
            given,
            lambda: grouped.golden(**given),
        )
    ]
    for element, dtype in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16)):
        a, b = (draw.normal(size=(1024, 1024)).astype(dtype) for _ in range(2))
        found.append(
            Run(
                f"matmul 1024 {element}",
                matmul(1024, element),
                {"a": a, "b": b},
                lambda a=a, b=b: a.astype(np.float32) @ b.astype(np.float32),
            )
        )
    a, b = (draw.integers(-128, 128, (1024, 1024)).astype(np.int8) for _ in range(2))
    found.append(
        Run(
            "matmul 1024 i8",
            matmul(1024, "i8", "i32"),
            {"a": a, "b": b},
            lambda: integer_product(a, b),
        )
    )
    x = draw.normal(size=(4096, 4096)).astype(np.float32)
    found.append(Run("softmax 4096", SOFTMAX, {"x": x}, lambda: softmax(x)))
    heads: Arrays = {
        name: draw.normal(size=(1, count, 4096, 128)).astype(ml_dtypes.bfloat16)
        for name, count in (("q", 2), ("k", 1), ("v", 1))
    }
    found.append(
        Run("flash attention 4096", flash_attention(), heads, lambda: attend(**heads))
    )
    return found


def integer_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Exact, in two f32 products: numpy has no fast integer one."""
    left, right = a.astype(np.float32), b.astype(np.float32)
    half = a.shape[1] // 2
    first = (left[:, :half] @ right[:half]).astype(np.int32)
    return first + (left[:, half:] @ right[half:]).astype(np.int32)


def softmax(x: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Arrays:
    """Causal attention of the heads of one batch; all have the same keys."""
    size = q.shape[2]
    hidden = np.triu(np.ones((size, size), bool), 1)
    keys, values = (x[0, 0].astype(np.float32) for x in (k, v))
    out, lse = np.empty(q.shape, np.float32), np.empty((*q.shape[:3], 1), np.float32)
    for head in range(q.shape[1]):
        s = q[0, head].astype(np.float32) @ keys.T
        s *= np.float32(128**-0.5)
        s[hidden] = -np.inf
        top = s.max(axis=1, keepdims=True)
        e = np.exp(s - top)
        total = e.sum(axis=1, keepdims=True)
        out[0, head] = e @ values / total
        lse[0, head] = top + np.log(total)
    return {"out": out.astype(ml_dtypes.bfloat16), "lse": lse}
