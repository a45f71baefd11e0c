"""Tasks that go through rows and are run several at once: the values of one by one."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import BF16, Array, parse_kernel, run_kernel

from pyptoc.dialects.diagnostics import RunError
from pyptoc.dialects.tile_vector import VectorOp
from pyptoc.runtime import merged_launch
from pyptoc.runtime.merged_tasks import merging

SOFTMAX = """
npu.kernel @k (%i, %j) (%x: memref<?x48xf32, "gm">, %b: memref<48xf32, "gm">,
    %y: memref<?x48xbf16, "gm">, %s: memref<?x1xf32, "gm">, %n: index) on vector {
  %r = pypto.index 4 * %i
  %m = pypto.index min(4, %n - 4 * %i)
  %a = tile.alloc {addr = 0} : !tile.buf<4x48xf32, ub>
  tile.load %x[%r, 0] [%m, 48] into %a
  %c = tile.alloc {addr = 1024} : !tile.buf<1x48xf32, ub>
  tile.load %b[0] [1, 48] into %c
  tile.add %a, %c col into %a [%m, 48]
  %o = pypto.index 4 * %i + 3
  %d = tile.alloc {addr = 2048} : !tile.buf<4x48xf32, ub>
  tile.mask_causal %a, %o into %d [%m, 48]
  %e = tile.alloc {addr = 3072} : !tile.buf<4x1xf32, ub>
  tile.row_max %d into %e [%m, 48]
  tile.sub %d, %e row into %a [%m, 48]
  tile.exp %a into %a [%m, 48]
  %f = tile.alloc {addr = 4096} : !tile.buf<4x1xf32, ub>
  tile.row_sum %a into %f [%m, 48]
  tile.store %f [%m, 1] into %s[%r, 0]
  %g = tile.alloc {addr = 5120} : !tile.buf<4x48xbf16, ub>
  tile.cvt %a into %g [%m, 48]
  tile.store %g [%m, 48] into %y[%r, 0]
}
"""
"""%j: other tasks that do the same."""

STATIC = """
npu.kernel @k (%j, %i) (%x: memref<2x64x32xf32, "gm">, %y: memref<2x64x32xf32, "gm">)
    on vector {
  %r = pypto.index 2 * %i
  %a = tile.alloc {addr = 0} : !tile.buf<2x16xf32, ub>
  scf.for %k = 0 to 32 step 16 {
    tile.load %x[%j, %r, %k] [2, 16] into %a
    BODY
    tile.store %a [2, 16] into %y[%j, %r, %k]
  }
}
""".replace(
    "scf.for %k = 0 to 32 step 16",
    "%zero = arith.constant 0 : index\n  %end = arith.constant 32 : index\n"
    "  %step = arith.constant 16 : index\n  scf.for %k = %zero to %end step %step",
)


def launched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How many tasks are run merged, and how many are left, of each launch."""
    found: list[tuple[int, int]] = []
    groups = merged_launch.Merging.groups

    def noted(*args: object) -> object:
        firsts, others = groups(*args)  # pyright: ignore[reportArgumentType]
        found.append((len(firsts), len(others)))
        return firsts, others

    monkeypatch.setattr(merged_launch.Merging, "groups", noted)
    return found


def softmax(rows: int, check: bool, grid: tuple[int, int]) -> list[Array]:
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((rows, 48)).astype(np.float32)
    x[rows // 2, 5], x[0, 0] = np.nan, np.inf
    b = rng.standard_normal(48).astype(np.float32)
    y, s = np.zeros((rows, 48), BF16), np.zeros((rows, 1), np.float32)
    run_kernel(SOFTMAX, grid, [x, b, y, s], (rows,), check=check)
    return [y.view(np.uint16), s.view(np.uint32)]


@pytest.mark.parametrize(
    ("rows", "merged", "left"),
    [(128, 2, 0), (131, 1, 1), (201, 1, 19), (63, 1, 8), (29, 1, 4), (25, 0, 0)],
)
def test_rows_are_what_they_are_one_by_one(
    rows: int, merged: int, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = launched(monkeypatch)
    count = -(-rows // 4)
    got = softmax(rows, check=False, grid=(count, 1))
    want = softmax(rows, check=True, grid=(count, 1))
    for one, other in zip(got, want, strict=True):
        assert np.array_equal(one, other)
    assert found == ([(merged, left)] if merged else [])


def test_equal_heights_are_one_number() -> None:
    """Or what is known of boxes alike is not known of merged ones: casts in a row."""
    found = merging(parse_kernel(SOFTMAX))
    assert found is not None
    ops = list(found.merged(2).kernel.walk())
    vectors = [op for op in ops if isinstance(op, VectorOp)]
    heights = {op.extents[0] for op in vectors}
    assert len(vectors) == 7
    assert len(heights) == 1


def test_along_the_second_axis_and_in_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    found = launched(monkeypatch)
    x = np.random.default_rng(0).standard_normal((2, 64, 32)).astype(np.float32)
    y = np.zeros_like(x)
    text = STATIC.replace("BODY", "tile.exp %a into %a [2, 16]")
    run_kernel(text, (2, 32), [x, y], check=False)
    want = np.zeros_like(x)
    run_kernel(text, (2, 32), [x, want], check=True)
    assert np.array_equal(y, want)
    assert found == [(2, 0)]


def test_in_place() -> None:
    text = STATIC.replace("BODY", "tile.add %a, 1.0 into %a [2, 16]")
    text = text.replace("%y[", "%x[")
    x = np.random.default_rng(0).standard_normal((2, 64, 32)).astype(np.float32)
    y, other = x.copy(), x.copy()
    run_kernel(text, (2, 32), [y, x], check=False)
    assert np.array_equal(y, other + np.float32(1))


GROUPS = """
npu.kernel @k (%i) (%x: memref<64x32xf32, "gm">, %s: memref<64x2xf32, "gm">,
    %y: memref<64x32xf32, "gm">) on vector {
  %r = pypto.index 2 * %i
  %a = tile.alloc {addr = 0} : !tile.buf<2x32xf32, ub>
  tile.load %x[%r, 0] [2, 32] into %a
  %c = tile.alloc {addr = 1024} : !tile.buf<2x8xf32, ub>
  tile.load %s[ROW, 0] [2, 2] into %c
  tile.mul %a, %c group into %a [2, 32] {group = 16, first = 0}
  tile.store %a [2, 32] into %y[%r, 0]
}
"""


@pytest.mark.parametrize(("row", "merged"), [("%r", [(1, 0)]), ("0", [])])
def test_numbers_for_groups(
    row: str, merged: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have rows as well; those that all tasks have are not enough for several."""
    found = launched(monkeypatch)
    x, s = (np.random.default_rng(0).uniform(1, 2, (64, n)) for n in (32, 2))
    y = np.zeros((64, 32), np.float32)
    text = GROUPS.replace("ROW", row)
    s = s.astype(np.float32)
    run_kernel(text, (32,), [x.astype(np.float32), s, y], check=False)
    rows = s if row == "%r" else np.tile(s[:2], (32, 1))
    assert np.array_equal(y, x.astype(np.float32) * rows.repeat(16, 1))
    assert found == merged


def test_nothing_is_merged_that_another_task_stores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each task doubles the rows that the one before it has stored."""
    found = launched(monkeypatch)
    text = STATIC.replace("BODY", "tile.mul %a, 2.0 into %a [2, 16]")
    memory = np.ones((1, 3 * 64 * 32), np.float32)
    flat = memory.reshape(-1)
    x, y = (flat[at : at + 4096].reshape(2, 64, 32) for at in (0, 64))
    run_kernel(text, (1, 32), [x, y], check=False)
    assert flat[2048] == 2.0**32
    assert not found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tile.store %a [2, 16] into %y[%j, %r, %k]", 'LOAD\n STORE {combine = "add"}'),
        ("[%j, %r, %k] [2, 16] into", "[%j, %i, %k] [2, 16] into"),
        ("[%j, %r, %k] [2, 16] into", "[%j, %r, %i] [2, 16] into"),
        ("tile.store %a [2, 16] into %y[%j, %r, %k]", "STORE"),
        ("BODY", "tile.arange %q into %a [2, 16]"),
        ("BODY", "tile.mask_causal %a, %i into %a [2, 16]"),
        ("BODY", "tile.mask_causal %a, %k into %a [2, 16]"),
    ],
)
def test_what_is_not_merged(old: str, new: str) -> None:
    """Boxes that overlap or move elsewhere, and what depends on the task otherwise."""
    plain = "tile.store %a [2, 16] into %y[%j, %r, %k]"
    if new == "STORE":
        new = plain.replace("%r", "0")
    if new.startswith("LOAD"):
        new = plain + ' {combine = "add"}'
    if "%q" in new:
        new = "%q = pypto.index 3 * %i\n" + "tile.mask_causal %a, %q into %a [2, 16]"
    text = STATIC.replace(old, new).replace("BODY", "tile.exp %a into %a [2, 16]")
    assert merging(parse_kernel(text)) is None
    kept = STATIC.replace(
        "BODY", "%q = pypto.index 2 * %i + %k\ntile.mask_causal %a, %q into %a [2, 16]"
    )
    assert merging(parse_kernel(kept)) is not None


def test_an_error_names_the_task() -> None:
    x = np.zeros((2, 64, 32), np.float32)
    text = STATIC.replace("BODY", "").replace("2x64x32xf32", "?x?x32xf32")
    with pytest.raises(RunError) as caught:
        run_kernel(text, (2, 40), [x, np.zeros_like(x)], check=False)
    (diagnostic,) = caught.value.diagnostics
    assert any("%i = 32" in note.message for note in diagnostic.notes)
