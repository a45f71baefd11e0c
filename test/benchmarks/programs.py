"""What the benchmarks compile and run, and what numpy is given to do instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from operators import grouped_matmul_swiglu_quant as grouped

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


SOFTMAX = """func.func @softmax(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %y = pypto.softmax %x axis -1
  func.return %y : tensor<4096x4096xf32>
}
"""


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
