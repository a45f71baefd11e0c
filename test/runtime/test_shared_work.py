"""Work that the executor does once for several tasks, against each task on its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_harness import DTYPES, run_kernel, translate
from many import for_each

import pyptoc
from pyptoc.dialects.diagnostics import RunError
from pyptoc.runtime import merged_tasks, numerics, panels
from pyptoc.runtime.ahead import Ahead
from pyptoc.runtime.cast_tables import SMALL, SmallIntegers, cast_table
from pyptoc.runtime.fused_matmul import FusedMatmul
from pyptoc.runtime.images import Images
from pyptoc.runtime.matmul import Scratch
from pyptoc.runtime.operand import Side

PRODUCT = """
func.func @f(%a: tensor<?x{k}xi8> {{pypto.dims = ["M"]}}, %b: tensor<{shape}xi8>)
    -> tensor<?x{n}xi32> {{
  %y = pypto.matmul %a, %b
    {{{options}tile = #pypto.cube<m = [16, 16], k = [64, 128], n = [32, 32]>}}
  func.return %y : tensor<?x{n}xi32>
}}
"""  # fmt: skip


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-128, 128, shape, np.int8)


def product(m: int, k: int, n: int, transposed: bool, **options: Any) -> np.ndarray:
    """Of `draw(m, k)` and `draw(k, n)`."""
    text = PRODUCT.format(
        k=k,
        n=n,
        shape=f"{n}x{k}" if transposed else f"{k}x{n}",
        options="b_trans, " if transposed else "",
    )
    b = draw(k, n)
    given = {"a": draw(m, k), "b": np.ascontiguousarray(b.T) if transposed else b}
    (found,) = (
        pyptoc.compile(text, machine="ascend950").run(**given, **options).values()
    )
    return found


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 64, 32), (16, 200, 64), (50, 1500, 70), (33, 2100, 1100)]
)
def test_products_ahead(
    m: int, k: int, n: int, transposed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole tiles, edges, more than one exact piece of K, more than are kept."""
    want = draw(m, k).astype(np.int64) @ draw(k, n).astype(np.int64)
    assert np.array_equal(product(m, k, n, transposed), want)
    assert np.array_equal(product(m, k, n, transposed, check=True), want)
    monkeypatch.setattr("pyptoc.runtime.ahead.MOST_KEPT", 2000)
    assert np.array_equal(product(m, k, n, transposed), want)


def calls(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[object]:
    """The results of a method, as it is called from now on."""
    found: list[object] = []
    method = getattr(owner, name)

    def recorded(*args: Any) -> object:
        found.append(method(*args))
        return found[-1]

    monkeypatch.setattr(owner, name, recorded)
    return found


def test_each_tile_ahead_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = calls(monkeypatch, Ahead, "_compute")
    taken = calls(monkeypatch, Ahead, "product")
    product(48, 128, 128, False)
    assert (len(computed), len(taken)) == (1, 12)


def test_loops_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the tasks of the same extents; the last row and column have other ones."""
    replayed = calls(monkeypatch, FusedMatmul, "replay")
    want = draw(50, 384).astype(np.int64) @ draw(384, 70).astype(np.int64)
    assert np.array_equal(product(50, 384, 70, False), want)
    assert len(replayed) == 4 * 3 - 4


def test_what_the_next_launch_reads_may_have_changed() -> None:
    """Products, plans and panels are of one launch."""
    text = PRODUCT.format(k=256, n=64, shape="256x64", options="")
    program = pyptoc.compile(text, machine="ascend950")
    a, b = draw(40, 256), draw(256, 64)
    for _ in range(2):
        (found,) = program.run(a=a, b=b).values()
        assert np.array_equal(found, a.astype(np.int32) @ b.astype(np.int32))
        a, b = a[::-1].copy(), b[::-1].copy()
        b[0] += 1


def test_rooms_are_used_again() -> None:
    images = Images()
    first, second = images.room(100), images.room(100)
    assert not np.may_share_memory(first, second)
    images.clear()
    images.kept["image"] = first
    images.clear()
    assert images.room(100) is first
    assert images.room(50).size == 50


TRANSPOSED = """
npu.kernel @k (%i) (%x: memref<{rows}x{columns}x{type}, "gm">,
    %y: memref<{columns}x{rows}x{type}, "gm">) on vector {{
  %c = pypto.index 8 * %i
  %n = pypto.index min(8, {columns} - 8 * %i)
  %a = tile.alloc {{addr = 0}} : !tile.buf<8x{rows}x{type}, ub>
  tile.load %x[0, %c] [%n, {rows}] into %a {{dims = [1, 0]}}
  tile.store %a [%n, {rows}] into %y[%c, 0]
}}
"""


@pytest.mark.parametrize("element", ["f32", "bf16", "i8"])
@pytest.mark.parametrize(("rows", "columns"), [(64, 2052), (192, 1030), (32, 2048)])
def test_transposed_loads(
    rows: int, columns: int, element: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A task of several takes a panel of its own.
    monkeypatch.setattr(merged_tasks, "MOST_ELEMENTS", 0)
    filled = calls(monkeypatch, panels.Panels, "_fill")
    x = np.arange(rows * columns).reshape(rows, columns)
    x = ((x * 37 + x // 7) % 251 - 125).astype(DTYPES[element])
    text = TRANSPOSED.format(rows=rows, columns=columns, type=element)
    for check in (False, True):
        for grid in (-(-columns // 8), 1):
            y = np.zeros((columns, rows), x.dtype)
            run_kernel(text, (grid,), [x, y], check=check)
            assert np.array_equal(y[: 8 * grid], x.T[: 8 * grid])
    width = 256 // x.itemsize
    many = rows >= 64 and columns * x.itemsize >= 1024
    # One task alone needs no panel, nor does a checked run make any.
    assert len(filled) == (-(-columns // width) if many else 0)


def test_a_panel_is_of_memory_that_nothing_is_stored_to() -> None:
    """A task turns what the one before it has stored."""
    text = TRANSPOSED.format(rows=512, columns=512, type="f32")
    x = np.random.default_rng(0).random((512, 512), np.float32)
    results: list[np.ndarray] = []
    for check in (False, True):
        memory = x.copy()
        run_kernel(text, (64,), [memory, memory], check=check)
        results.append(memory)
    assert np.array_equal(*results)
    assert not np.array_equal(results[0], x.T)


CASTS = [
    (source, target, mode, saturate)
    for source in ("f16", "bf16", "i8", "f8E4M3FN", "f8E5M2", "i16")
    for target in ("f32", "f16", "bf16", "i8", "i32", "f8E4M3FN")
    for mode in (None, "rint", "floor", "trunc")
    for saturate in (None, True, False)
    if source != target
    and numerics.supports(
        numerics.STORAGE[source], numerics.STORAGE[target], mode or "none"
    )
]


@for_each(CASTS)
def test_cast_tables(
    source: str, target: str, mode: str | None, saturate: bool | None
) -> None:
    kinds = numerics.STORAGE[source], numerics.STORAGE[target]
    table = cast_table(*kinds, mode, saturate)
    codes = np.random.default_rng(1).integers(0, len(table), 500)
    values = codes.astype(f"u{kinds[0].itemsize}").view(kinds[0])
    want = numerics.cast(values, kinds[1], mode, saturate)
    assert table[codes].tobytes() == want.tobytes()


@pytest.mark.parametrize("target", ["f16", "bf16"])
@pytest.mark.parametrize("source", ["i32", "i64", "i16"])
def test_small_integers(source: str, target: str) -> None:
    kinds = numerics.STORAGE[source], numerics.STORAGE[target]
    small = SmallIntegers(*kinds, None, None)
    values = np.arange(-SMALL, SMALL + 1).astype(kinds[0])[None]
    out = np.zeros(values.shape, kinds[1])
    assert small(values, out)
    assert out.tobytes() == numerics.cast(values, kinds[1]).tobytes()
    for beyond in (-SMALL - 1, SMALL + 1):
        untouched = out.copy()
        assert not small(np.array([[0, beyond]], kinds[0]), out[:, :2])
        assert out.tobytes() == untouched.tobytes()
    assert small(values[:, :0], out[:, :0])


HALVES = """
npu.kernel @k (%i) (%x: memref<8x64xi8, "gm">, %y: memref<8x64xf32, "gm">,
    %z: memref<8x64xf16, "gm">) on vector {{
  %a = tile.alloc {{addr = 0}} : !tile.buf<8x64xi8, ub>
  %b = tile.alloc {{addr = {half}}} : !tile.buf<8x64xf16, ub>
  %c = tile.alloc {{addr = 8192}} : !tile.buf<8x64xf32, ub>
  tile.load %x[0, 0] [8, 64] into %a
  tile.cvt %a into %b [8, 64]
  {between}
  tile.cvt %b into %c [8, 64]
  tile.store %c [8, 64] into %y[0, 0]
  tile.store %b [8, 64] into %z[0, 0]
}}
"""


@pytest.mark.parametrize("half", [4096, 0])
@pytest.mark.parametrize("between", ["", "tile.mul %b, 2.0 into %b [8, 64]"])
def test_f32_of_integers_by_way_of_f16(half: int, between: str) -> None:
    """Also where f16 takes the place of the integers, or something else is done."""
    x = draw(8, 64)
    y, z = np.zeros((8, 64), np.float32), np.zeros((8, 64), np.float16)
    text = HALVES.format(half=half, between=between)
    run_kernel(text, (1,), [x, y, z], check=False)
    assert np.array_equal(y, x * (2.0 if between else 1.0))
    assert np.array_equal(z, y)


TWO = """
npu.kernel @k (%i) (%a: memref<16x64xi8, "gm">, %b: memref<64x32xi8, "gm">,
    %y: memref<16x32xi32, "gm">, %z: memref<16x32xi32, "gm">) on cube {{
  %la = tile.alloc {{addr = 0}} : !tile.buf<16x64xi8, l0a>
  %lb = tile.alloc {{addr = 0}} : !tile.buf<64x32xi8, l0b>
  %c = tile.alloc {{addr = 0}} : !tile.buf<16x32xi32, l0c>
  %x0 = tile.alloc {{addr = 0}} : !tile.buf<16x64xi8, l1>
  %y0 = tile.alloc {{addr = {b}}} : !tile.buf<64x32xi8, l1>
  tile.load %a[0, 0] [16, 64] into %x0
  tile.load %b[0, 0] [64, 32] into %y0
  tile.move %x0[0, 0] [16, 64] into %la
  tile.move %y0[0, 0] [64, 32] into %lb
  tile.matmul %la, %lb into %c [16, 32, 64]
  tile.store %c [16, 32] into %y[0, 0]
  %x1 = tile.alloc {{addr = 0}} : !tile.buf<16x64xi8, l1>
  %y1 = tile.alloc {{addr = 2048}} : !tile.buf<64x32xi8, l1>
  tile.load %a[0, 0] [16, 64] into %x1
  tile.load %b[0, 0] [64, 32] into %y1
  tile.move %x1[0, 0] [16, 64] into %la
  tile.move %y1[0, 0] [64, 32] into %lb
  tile.matmul %la, %lb into %c [16, 32, 64]
  tile.store %c [16, 32] into %z[0, 0]
}}
"""


def test_buffers_of_l1_one_after_the_other() -> None:
    """They may share bytes; those of one product may not: what is wrong shows."""
    right, wrong = TWO.format(b=2048), TWO.format(b=512)
    assert len(translate(right, check=False).cube.direct) == 4
    # The second product has bytes of its own.
    assert len(translate(wrong, check=False).cube.direct) == 2
    a, b = draw(16, 64), draw(64, 32)
    exact = a.astype(np.int32) @ b.astype(np.int32)
    for text, fine in ((right, True), (wrong, False)):
        y, z = np.zeros((2, 16, 32), np.int32)
        run_kernel(text, (1,), [a, b, y, z], check=False)
        assert np.array_equal(y, exact) == fine
        assert np.array_equal(z, exact)


LOOP = """
npu.kernel @k (%i) (%a: memref<?x128xi8, "gm">, %b: memref<128x32xi8, "gm">,
    %y: memref<32x32xi32, "gm">) on cube {
  %la = tile.alloc {addr = 0} : !tile.buf<16x64xi8, l0a>
  %lb = tile.alloc {addr = 0} : !tile.buf<64x32xi8, l0b>
  %c = tile.alloc {addr = 0} : !tile.buf<16x32xi32, l0c>
  %x = tile.alloc {addr = 0} : !tile.buf<16x64xi8, l1>
  %z = tile.alloc {addr = 2048} : !tile.buf<64x32xi8, l1>
  %r = pypto.index 16 * %i
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  scf.for %k = %c0 to %c128 step %c64 {
    tile.load %a[%r, %k] [16, 64] into %x
    tile.load %b[%k, 0] [64, 32] into %z
    tile.move %x[0, 0] [16, 64] into %la
    tile.move %z[0, 0] [64, 32] into %lb
    %more = pypto.index %k > 0
    tile.matmul %la, %lb into %c [16, 32, 64] accumulate %more
  }
  tile.store %c [16, 32] into %y[%r, 0]
}
"""


def test_a_replay_stays_in_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second task does what the first has done, and then the error of a load."""
    replayed = calls(monkeypatch, FusedMatmul, "replay")
    a, b, y = draw(32, 128), draw(128, 32), np.zeros((32, 32), np.int32)
    run_kernel(LOOP, (2,), [a, b, y], check=False)
    assert np.array_equal(y, a.astype(np.int32) @ b.astype(np.int32))
    assert len(replayed) == 1
    with pytest.raises(RunError, match="has 24 rows"):
        run_kernel(LOOP, (2,), [a[:24].copy(), b, y], check=False)


TWICE = """
func.func @f(%a: tensor<?x128xbf16> {pypto.dims = ["M"]}, %b: tensor<128x256xbf16>)
    -> tensor<?x256xf32> {
  %y = pypto.matmul %a, %b
    {tile = #pypto.cube<m = [16, 16], k = [128, 128], n = [64, 256]>}
  func.return %y : tensor<?x256xf32>
}
"""


def test_what_a_room_holds_is_forgotten_when_it_is_asked_for() -> None:
    scratch = Scratch()
    room = scratch.room("a", 8)
    assert scratch.held("a", 1) is None
    scratch.hold("a", 1, room)
    assert scratch.held("a", 1) is room
    assert scratch.held("a", 2) is None
    scratch.room("b", 8)
    assert scratch.held("a", 1) is room
    scratch.room("a", 4)
    assert scratch.held("a", 1) is None
    scratch.hold("a", 1, room)
    scratch.forget()
    assert scratch.held("a", 1) is None


def test_an_operand_in_common_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of n multiplies the same rows; another run has others."""
    program = pyptoc.compile(TWICE, machine="ascend950")
    made = calls(monkeypatch, Side, "image")
    rng = np.random.default_rng(0)
    b = rng.standard_normal((128, 256)).astype(DTYPES["bf16"])
    wide = b.astype(np.float32)
    for _ in range(2):
        a = rng.standard_normal((16, 128)).astype(b.dtype)
        made.clear()
        (found,) = program.run(a=a, b=b).values()
        # Once the rows, and four times columns.
        assert len(made) == 5
        assert np.allclose(found, a.astype(np.float32) @ wide, rtol=1e-5, atol=1e-4)
        (checked,) = program.run(check=True, a=a, b=b).values()
        assert np.array_equal(found, checked)
