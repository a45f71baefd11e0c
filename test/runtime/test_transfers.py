"""Transfers between gm and buffers, their checks, and the decoding of boxes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from kernel_harness import (
    BF16,
    random,
    run_kernel,
)

from pyptoc.dialects.diagnostics import RunError
from pyptoc.runtime import numerics
from pyptoc.runtime.decode import decoder

TRANSFER = """
npu.kernel @k (%i) (%x: memref<{shape}xbf16, "gm">, %y: memref<{shape}xbf16, "gm">,
    %r: index, %c: index, %m: index, %n: index) on vector {{
  %a = tile.alloc : !tile.buf<8x32xbf16, ub>
  tile.load %x[{offsets}] [{extents}] into %a {{dims = [{dims}]}}
  tile.barrier
  tile.store %a [{extents}] into %y[{offsets}] {{dims = [{dims}]}}
}}
"""


@pytest.mark.parametrize(
    ("shape", "offsets", "extents", "dims", "box"),
    [
        ("?x?", "%r, %c", "%m, %n", "0, 1", np.s_[2:7, 3:9]),
        ("?x?", "%r, %c", "%n, %m", "1, 0", np.s_[2:7, 3:9]),
        ("?x3x?", "%r, 1, %c", "%m, %n", "0, 2", np.s_[2:7, 1, 3:9]),
        ("?x3x?", "%r, 1, %c", "%n, %m", "2, 0", np.s_[2:7, 1, 3:9]),
        ("?", "%c", "1, %n", "-1, 0", np.s_[3:9]),
        ("?", "%c", "%m, 1", "0, -1", np.s_[3:8]),
        ("?x?", "%r, %c", "1, 1", "-1, -1", np.s_[2:3, 3:4]),
    ],
)
def test_transfer(shape: str, offsets: str, extents: str, dims: str, box: Any) -> None:
    sizes = [int(s) if s != "?" else 12 for s in shape.split("x")]
    count = math.prod(sizes)
    x = np.arange(count, dtype=np.float32).astype(BF16).reshape(sizes)
    y = np.zeros_like(x)
    want = y.copy()
    want[box] = x[box]
    text = TRANSFER.format(shape=shape, offsets=offsets, extents=extents, dims=dims)
    run_kernel(text, (1,), [x, y], (2, 3, 5, 6))
    assert np.array_equal(y, want)


@pytest.mark.parametrize("combine", ["add", "max", "min"])
def test_combining_store(combine: str) -> None:
    text = f"""
    npu.kernel @k (%i)
        (%x: memref<2x8xf32, "gm">, %y: memref<?x8xf32, "gm">) on vector {{
      %a = tile.alloc : !tile.buf<2x8xf32, ub>
      tile.load %x[0, 0] [2, 8] into %a
      tile.barrier
      tile.store %a [2, 8] into %y[1, 0] {{combine = "{combine}"}}
    }}
    """
    x, y = random("f32", (2, 8), 1), random("f32", (4, 8), 2)
    want = y.copy()
    fold = {"add": np.add, "max": np.maximum, "min": np.minimum}[combine]
    want[1:3] = fold(want[1:3], x)
    if combine == "add":
        want[1:3] = fold(want[1:3], x)
    run_kernel(text, (2,), [x, y])
    assert np.array_equal(y, want)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((-1, 0, 4, 8), r"load of %x rows -1 \+: 4 starts before 0"),
        ((9, 0, 4, 8), r"load of %x rows 9 \+: 4 ends at 13, %x has 12 rows"),
        ((0, 9, 4, 8), r"load of %x columns 9 \+: 8 ends at 17, %x has 12 columns"),
        ((0, 0, 9, 8), "rows is 9, but lies in 0 to 8"),
        ((0, 0, 4, -1), "columns is -1, but lies in 0 to 32"),
    ],
)
@pytest.mark.parametrize("seed", [None, 1])
def test_out_of_bounds(
    numbers: tuple[int, ...], message: str, seed: int | None
) -> None:
    text = TRANSFER.format(shape="?x?", offsets="%r, %c", extents="%m, %n", dims="0, 1")
    x = np.zeros((12, 12), BF16)
    with pytest.raises(RunError, match=message) as caught:
        run_kernel(text, (1,), [x, x.copy()], numbers, seed=seed)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "PTO402"
    assert diagnostic.at_run_time
    assert ":5:3" in str(diagnostic.location) or "5" in str(diagnostic)
    assert "in task (%i = 0) of @k" in diagnostic.notes[-1].message


WITHIN = """
npu.kernel @k (%i) (%x: memref<4x8xf32, "gm">, %y: memref<4x8xf32, "gm">,
    %s: index) on cube {{
  %a = tile.alloc {{slots = 2}} : !tile.buf<16x16xf16, l1>
  %b = tile.alloc : !tile.buf<16x16xf16, l0a>
  {body}
}}
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%t = tile.slot %a[%s]", "slot is 9, but lies in 0 to 1"),
        (
            "%t = tile.slot %a[0]\ntile.move %t[%s, 0] [8, 16] into %b",
            "rows end at 17, the buffer has 16",
        ),
        ("%t = tile.slot %a[0]\ntile.move %t[0, 1] [1, %s] into %b", None),
        (
            "%t = tile.slot %a[0]\ntile.move %t[0, 8] [1, %s] into %b",
            "columns end at 17, the buffer has 16",
        ),
    ],
)
def test_bounds_within_a_core(body: str, message: str | None) -> None:
    x = np.zeros((4, 8), np.float32)
    if message is None:
        run_kernel(WITHIN.format(body=body), (1,), [x, x], (9,))
        return
    with pytest.raises(RunError) as caught:
        run_kernel(WITHIN.format(body=body), (1,), [x, x], (9,))
    assert caught.value.diagnostics[0].message == message


LEFTOVER = """
npu.kernel @k (%i) (%x: memref<4x8xf32, "gm">, %y: memref<4x8xf32, "gm">) on vector {
  %a = tile.alloc {addr = 0} : !tile.buf<1x8xf32, ub>
  %first = pypto.index %i == 0
  scf.if %first {
    tile.load %x[0, 0] [1, 8] into %a
  }
  tile.store %a [1, 8] into %y[%i, 0]
}
"""


def test_poison_between_tasks() -> None:
    """With `check` a task cannot live on what another left in a buffer."""
    x, y = np.ones((4, 8), np.float32), np.zeros((4, 8), np.float32)
    run_kernel(LEFTOVER, (4,), [x, y], check=False)
    assert (y == 1).all()
    run_kernel(LEFTOVER, (4,), [x, y], check=True)
    assert (y[0] == 1).all()
    assert np.isnan(y[1:]).all()


def test_sizes_and_asserts_in_a_kernel() -> None:
    text = """
    npu.kernel @k (%i) (%x: memref<?x8xf32, "gm">) on vector {
      %a = tile.alloc : !tile.buf<1x8xf32, ub>
      %m = pypto.dim %x, 0
      %last = pypto.index %m - 1
      pypto.assert %last == 3, "{0} rows before the last, not {1}"
      tile.fill 1.0 into %a [1, 8]
      tile.store %a [1, 8] into %x[%last, 0]
    }
    """
    x = np.zeros((4, 8), np.float32)
    run_kernel(text, (1,), [x])
    assert np.array_equal(x.sum(axis=1), [0, 0, 0, 8])
    with pytest.raises(RunError, match="4 rows before the last, not 3"):
        run_kernel(text, (1,), [np.zeros((5, 8), np.float32)])


def test_barrier() -> None:
    """A barrier orders the pipes; without it some order is wrong."""
    text = TRANSFER.format(shape="?x?", offsets="%r, %c", extents="%m, %n", dims="0, 1")
    x = np.arange(144, dtype=np.float32).astype(BF16).reshape(12, 12)
    for barrier in (True, False):
        right: list[bool] = []
        for seed in range(8):
            y = np.zeros_like(x)
            given = text if barrier else text.replace("tile.barrier", "")
            run_kernel(given, (1,), [x, y], (2, 3, 5, 6), seed=seed)
            right.append(np.array_equal(y[2:7, 3:9], x[2:7, 3:9]))
        assert all(right) == barrier


SCALED = """
npu.kernel @k () (%a: memref<16x16xf16, "gm">, %s: memref<16xf32, "gm">,
    %c: memref<16x16xi8, "gm">) on cube {
  %la = tile.alloc : !tile.buf<16x16xf16, l1>
  %ls = tile.alloc : !tile.buf<1x16xf32, l1>
  %fs = tile.alloc : !tile.buf<1x16xf32, fb>
  %za = tile.alloc : !tile.buf<16x16xf16, l0a>
  %zb = tile.alloc : !tile.buf<16x16xf16, l0b>
  %acc = tile.alloc : !tile.buf<16x16xf32, l0c>
  tile.load %a[0, 0] [16, 16] into %la
  tile.load %s[0] [1, 16] into %ls
  tile.move %ls[0, 0] [1, 16] into %fs
  tile.move %la[0, 0] [16, 16] into %za
  tile.move %la[0, 0] [16, 16] into %zb
  tile.matmul %za, %zb into %acc [16, 16, 16]
  tile.store %acc [16, 16] scale %fs into %c[0, 0] {combine = "add"}
}
"""


@pytest.mark.parametrize("check", [False, True])
def test_a_scaled_sum_is_rounded_before_it_is_added(check: bool) -> None:
    """To what is there: 60.5 to 60, and 100 + 60 is too much for i8."""
    a = 11 * np.eye(16, dtype=np.float16)
    c = np.full((16, 16), 100, np.int8)
    run_kernel(SCALED, (), [a, np.full(16, 0.5, np.float32), c], check=check)
    assert np.array_equal(np.diag(c), np.full(16, 160 - 256))
    assert c.sum(dtype=np.int64) == 16 * (160 - 256) + 240 * 100


@pytest.mark.parametrize("name", ["f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E8M0FNU"])
def test_decoding_all_codes(name: str) -> None:
    """Every code, in boxes with and without infinities, contiguous or not."""
    dtype = numerics.storage_dtype(name)
    codes = np.arange(256**dtype.itemsize, dtype=f"u{dtype.itemsize}")
    values = codes.view(dtype)
    finite = values[np.isfinite(values.astype(np.float32))]
    for chosen in (values, finite):
        for columns in (2, 7, len(chosen) // 2):
            rows = len(chosen) // columns
            box = chosen[: rows * columns].reshape(rows, columns)
            for view in (box, box[:, : columns - 1], box.T):
                scratch = np.empty(view.size, np.float32)
                got = decoder(dtype)(view, scratch)
                want = view.astype(np.float32)
                assert np.array_equal(got, want, equal_nan=True)
                assert np.array_equal(np.signbit(got), np.signbit(want))
