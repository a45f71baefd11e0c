"""Row reductions, scans, conversions and copies of the executor, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from kernel_harness import (
    BF16,
    DTYPES,
    FLOATS,
    INTEGERS,
    Array,
    M,
    N,
    assert_rounded,
    random,
    run_kernel,
    vector,
    wide,
)


@pytest.mark.parametrize("element", [*FLOATS, "i32"])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_row_reduction(name: str, element: str) -> None:
    x = random(element, (M, N), 1)
    if name == "prod":
        x = np.sign(x.astype(np.float32)).astype(x.dtype)
    got = vector(f"row_{name} {{0}}", [(x, element, "full")], element, columns=1)
    reduce = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}[name]
    want = reduce(wide(x), axis=1, keepdims=True)
    if element == "i32":
        assert np.array_equal(got, want)
    else:
        assert_rounded(got, want, 0 if name in ("max", "min") else 1)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_row_sum_accumulates_in_f32(element: str) -> None:
    """In its own type the sum of 1 and many small numbers would stay 1."""
    x = np.full((M, N), 2.0**-12, DTYPES[element])
    x[:, 0] = 1
    got = vector("row_sum {0}", [(x, element, "full")], element, columns=1)
    assert_rounded(got, np.sum(wide(x), axis=1, keepdims=True), 0)
    assert (got.astype(np.float32) > 1).all()


def test_row_max_propagates_nan() -> None:
    x = random("f32", (M, N), 1)
    x[2, 5] = np.nan
    got = vector("row_max {0}", [(x, "f32", "full")], "f32", columns=1)
    assert np.isnan(got[2]).all()
    assert not np.isnan(got[[0, 1, 3, 4]]).any()


@pytest.mark.parametrize("element", [*FLOATS, "i32"])
def test_row_cumsum(element: str) -> None:
    x = random(element, (M, N), 1)
    got = vector("row_cumsum {0}", [(x, element, "full")], element)
    want = np.cumsum(wide(x), axis=1)
    if element == "i32":
        assert np.array_equal(got, want)
    else:
        assert_rounded(got, want, 64 if element == "f32" else 1)


@pytest.mark.parametrize("start", [0, -3, 100])
@pytest.mark.parametrize("element", ["i32", "i16", "i8"])
def test_arange(element: str, start: int) -> None:
    x = random(element, (M, N), 1)
    got = vector(f"arange {start}", [(x, element, "full")], element)
    assert np.array_equal(
        got, np.tile(np.arange(start, start + N), (M, 1)).astype(got.dtype)
    )


PLACED = """
npu.kernel @k () (%x: memref<{m}x{n}xf32, "gm">, %y: memref<{m}x{n}xf32, "gm">,
    %o: index) on vector {{
  %a = tile.alloc : !tile.buf<{m}x{n}xf32, ub>
  %s = tile.alloc : !tile.buf<{m}x{n}xf32, ub>
  tile.load %x[0, 0] [{m}, {n}] into %a
  tile.mask_causal %a, %o into %s [{m}, {n}]
  tile.store %s [{m}, {n}] into %y[0, 0]
}}
"""


@pytest.mark.parametrize("offset", [-100, -2, 0, 3, 100])
def test_mask_causal(offset: int) -> None:
    x = random("f32", (M, N), 1)
    y = np.zeros((M, N), np.float32)
    run_kernel(PLACED.format(m=M, n=N), (), [x, y], (offset,))
    rows, columns = np.indices((M, N))
    assert np.array_equal(y, np.where(columns > rows + offset, -np.inf, x))


EMPTY_REDUCTION = """
npu.kernel @k () (%y: memref<4x1xf32, "gm">, %n: index) on vector {{
  %a = tile.alloc : !tile.buf<4x16xf32, ub>
  %s = tile.alloc : !tile.buf<4x1xf32, ub>
  tile.row_{name} %a into %s [4, %n]
  tile.store %s [4, 1] into %y[0, 0]
}}
"""


@pytest.mark.parametrize(
    ("name", "identity"),
    [("sum", 0.0), ("prod", 1.0), ("max", -np.inf), ("min", np.inf)],
)
def test_reduction_of_nothing(name: str, identity: float) -> None:
    y = np.zeros((4, 1), np.float32)
    run_kernel(EMPTY_REDUCTION.format(name=name), (), [y], (0,))
    assert (y == identity).all()


# Conversions -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "mode", "golden"),
    [
        ("f32", "f16", "", lambda x: x.astype(np.float16)),
        ("f32", "bf16", "rint", lambda x: x.astype(BF16)),
        ("f16", "f32", "", lambda x: x.astype(np.float32)),
        ("bf16", "f32", "", lambda x: x.astype(np.float32)),
        ("f32", "i8", "rint", lambda x: np.clip(np.rint(x), -128, 127)),
        ("f32", "i8", "", lambda x: np.clip(np.trunc(x), -128, 127)),
        ("f32", "i32", "floor", np.floor),
        ("f32", "i32", "ceil", np.ceil),
        ("i32", "f32", "", lambda x: x.astype(np.float32)),
        ("i8", "f16", "", lambda x: x.astype(np.float16)),
        ("f16", "i8", "trunc", lambda x: np.clip(np.trunc(x), -128, 127)),
        ("i32", "i8", "", lambda x: np.clip(x, -128, 127)),
    ],
)
def test_cvt(
    source: str, target: str, mode: str, golden: Callable[[Array], Array]
) -> None:
    x = random(source, (M, N), 1)
    x = (x.astype(np.float32) * 60).astype(x.dtype) if source != "i8" else x
    options = f'{{mode = "{mode}"}}' if mode else ""
    got = vector("cvt {0}", [(x, source, "full")], target, options=options)
    assert np.array_equal(got, golden(x).astype(DTYPES[target]))


def test_cvt_wraps_without_saturation() -> None:
    x = np.full((M, N), 300.0, np.float16)
    got = vector("cvt {0}", [(x, "f16", "full")], "i8", options="{saturate = false}")
    assert (got == 44).all()


@pytest.mark.parametrize("element", [*FLOATS, *INTEGERS, "i1"])
def test_copy_and_fill(element: str) -> None:
    x = random(element, (M, N), 1)
    assert np.array_equal(vector("copy {0}", [(x, element, "full")], element), x)
    row = random(element, (M, 1), 2)
    got = vector("copy {0} row", [(row, element, "full")], element)
    assert np.array_equal(got, np.broadcast_to(row, (M, N)))
    zero = "0.0" if element in FLOATS else "false" if element == "i1" else "0"
    got = vector(f"fill {zero}", [], element)
    assert not got.astype(bool).any()
