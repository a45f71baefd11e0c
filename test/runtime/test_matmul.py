"""Products of few rows with a B whose columns lie in rows are computed turned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptoc.runtime import matmul
from pyptoc.runtime.matmul import product

Array = np.ndarray[Any, np.dtype[Any]]


def operands(m: int, n: int, k: int) -> tuple[Array, Array]:
    draw = np.random.default_rng(m + n + k)
    a = draw.standard_normal((m, k), np.float32)
    return a, draw.standard_normal((n, k), np.float32).T


@pytest.fixture
def multiplied(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of what was multiplied."""
    shapes: list[tuple[int, ...]] = []

    class Recorded:
        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        def matmul(self, a: Array, b: Array, **options: Any) -> Any:
            shapes.append((*a.shape, b.shape[1]))
            return np.matmul(a, b, **options)

    monkeypatch.setattr(matmul, "np", Recorded())
    return shapes


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("k", [1, 64, 101])
@pytest.mark.parametrize("n", [95, 96, 200])
@pytest.mark.parametrize("m", [1, 15, 16, 32, 33])
def test_turned(
    m: int, n: int, k: int, accumulate: bool, multiplied: list[tuple[int, ...]]
) -> None:
    a, b = operands(m, n, k)
    start = np.arange(m * n, dtype=np.float32).reshape(m, n)
    wide = np.zeros((m, n + 8), np.float32)
    c = wide[:, :n]
    c[...] = start
    product(a, b, c, np.empty(m * n, np.float32), accumulate)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.allclose(c, exact + start if accumulate else exact, rtol=1e-5, atol=1e-4)
    assert not wide[:, n:].any()
    is_turned = m in (16, 32) and n >= 96 and k > 1
    assert multiplied == [(n, k, m) if is_turned else (m, k, n)]


def test_rows_of_b_are_not_turned(multiplied: list[tuple[int, ...]]) -> None:
    a, b = operands(16, 96, 64)
    c = np.empty((16, 96), np.float32)
    product(a, np.ascontiguousarray(b), c, np.empty(16 * 96, np.float32), False)
    assert multiplied == [(16, 64, 96)]
