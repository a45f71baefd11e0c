"""Products of i8 are exact in i32 for any K, and wrap where they overflow."""

from __future__ import annotations

import numpy as np
import pytest

import pyptoc

MACHINES = ("ascend950", "ascend910b")
DEPTHS = (1, 1023, 1025, 2**16 + 1, 2**17 - 1, 2**17, 2**17 + 1, 2**18)
"""(-128)^2 * 2^17 is 2^31, the first sum that i32 does not hold."""


def program(m: int, k: int, n: int, split: int) -> str:
    cube = "m = [16, 16], k = [64, 4096], n = [32, 32]"
    tile = f" {{tile = #pypto.cube<{cube}, split_k = {split}>}}" if split > 1 else ""
    return (
        f"func.func @f(%a: tensor<{m}x{k}xi8>, %b: tensor<{k}x{n}xi8>) "
        f"-> tensor<{m}x{n}xi32> {{\n  %y = pypto.matmul %a, %b{tile}\n"
        f"  func.return %y : tensor<{m}x{n}xi32>\n}}\n"
    )


def factors(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of extremes, of alternating ones, and of all numbers."""
    draw = np.random.default_rng(k)
    extremes = np.full((4, k), -128, np.int8)
    extremes[1] = 127
    extremes[2, ::2] = 127
    extremes[3] = draw.integers(-128, 128, k)
    columns = np.full((k, 3), -128, np.int8)
    columns[:, 1] = 127
    columns[:, 2] = draw.integers(-128, 128, k)
    return extremes, columns


@pytest.mark.parametrize("split", [1, 3])
@pytest.mark.parametrize("k", DEPTHS)
def test_any_depth(k: int, split: int) -> None:
    a, b = factors(k)
    exact = a.astype(np.int64) @ b.astype(np.int64)
    want = exact.astype(np.uint64).astype(np.uint32).view(np.int32)
    assert (k < 2**17) == bool((want == exact).all())
    text = program(4, k, 3, split)
    for machine in MACHINES:
        for pipeline in ("", None):
            run = pyptoc.compile(text, machine=machine, pipeline=pipeline).run
            (found,) = run(a=a, b=b).values()
            assert np.array_equal(found, want), (machine, pipeline)
