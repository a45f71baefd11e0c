"""
Products for several tasks at once have the bits of each on its own.

Floats are whole numbers here: sums of their products are exact in any order, so that it
holds with any library, and a product of other boxes is seen.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from element_types import DTYPES
from kernel_harness import parse_kernel, translate

import pyptoc
from pyptoc.dialects.tile_transfer import LoadOp
from pyptoc.runtime import ahead
from pyptoc.runtime.ahead import Ahead
from pyptoc.runtime.memory import Memory
from pyptoc.runtime.movers import Movers, last
from pyptoc.runtime.operand import Operand

E8M0 = ml_dtypes.float8_e8m0fnu
Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The shapes of what is computed for several tasks, from now on."""
    shapes: list[tuple[int, int]] = []
    whole = ahead.Whole

    def recorded(left: Operand, right: Operand, *rest: Any) -> ahead.Whole:
        shapes.append((left.extent, right.extent))
        return whole(left, right, *rest)

    monkeypatch.setattr(ahead, "Whole", recorded)
    return shapes


def alone(text: str, given: dict[str, Array], monkeypatch: pytest.MonkeyPatch) -> Array:
    """The result when each task computes its own product."""
    with monkeypatch.context() as patch:
        patch.setattr(Ahead, "_compute", lambda *_: None)
        (found,) = pyptoc.compile(text, machine="ascend950").run(**given).values()
    return found


def together(text: str, given: dict[str, Array]) -> Array:
    (found,) = pyptoc.compile(text, machine="ascend950").run(**given).values()
    return found


def floats(element: str, *shape: int) -> Array:
    draw = np.random.default_rng(sum(shape))
    return draw.integers(-8, 9, shape).astype(np.float32).astype(DTYPES[element])


def product(
    element: str, b_trans: bool, walk: str = "row", k: int = 520, more: str = ""
) -> str:
    tile = f"#pypto.cube<m = [64, 64], k = [128, 128], n = [64, 64], walk = {walk}>"
    return f"""
func.func @f(%a: tensor<?x{k}x{element}> {{pypto.dims = ["M"]}},
    %b: tensor<{f"330x{k}" if b_trans else f"{k}x330"}x{element}>,
    %c: tensor<330xf32>) -> tensor<?x330xf32> {{
  %y = pypto.matmul %a, %b {more} {{{"b_trans, " if b_trans else ""}tile = {tile}}}
  func.return %y : tensor<?x330xf32>
}}
"""


def operands(element: str, b_trans: bool, k: int = 520, m: int = 150) -> dict[str, Any]:
    b = floats(element, k, 330)
    return {
        "a": floats(element, m, k),
        "b": np.ascontiguousarray(b.T) if b_trans else b,
        "c": floats("f32", 330),
    }


@pytest.mark.parametrize("walk", ["row", "column", "snake", "blocked<2, 2>"])
@pytest.mark.parametrize("b_trans", [False, True])
@pytest.mark.parametrize("element", ["f32", "bf16", "f8E4M3FN"])
def test_bits_of_floats(
    element: str,
    b_trans: bool,
    walk: str,
    computed: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last rows and columns are few, and not taken from it."""
    text, given = product(element, b_trans, walk), operands(element, b_trans)
    want = alone(text, given, monkeypatch)
    assert not computed
    assert np.array_equal(together(text, given), want)
    assert computed == [(150, 330)]


@pytest.mark.parametrize("bias", ["", "bias %c"])
def test_what_sums_start_at(
    bias: str, computed: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bias, and more of K than is multiplied at once."""
    monkeypatch.setattr("pyptoc.runtime.fused_matmul.LARGEST", 64 * 600)
    text, given = (
        product("bf16", False, k=1500, more=bias),
        operands("bf16", False, 1500),
    )
    want = given["a"].astype(np.float32) @ given["b"].astype(np.float32)
    want += given["c"] if bias else 0
    assert np.array_equal(alone(text, given, monkeypatch), want)
    assert np.array_equal(together(text, given), want)
    assert len(computed) > 1


def test_what_is_left_alone(computed: list[tuple[int, int]]) -> None:
    """Little K, small tiles, and one row go to other routines of a library; of few rows
    nothing is gained."""
    for k, m in ((250, 150), (520, 1), (1024, 20)):
        together(product("f32", False, k=k), operands("f32", False, k, m))
    small = product("f32", False).replace("[64, 64]", "[32, 32]")
    together(small, operands("f32", False))
    assert not computed


SCALED = """
func.func @f(%a: tensor<?x{m}xf8E4M3FN> {{pypto.dims = ["K"]}},
    %b: tensor<?x330xf8E4M3FN> {{pypto.dims = ["K"]}},
    %sa: tensor<{sa}xf8E8M0FNU> {{pypto.dims = ["P"]}},
    %sb: tensor<{sb}xf8E8M0FNU> {{pypto.dims = ["P"]}}) -> tensor<{m}x330xf32> {{
  %y = pypto.scaled_mm %a, %b scales %sa, %sb {{a_trans, {flags}
    tile = #pypto.cube<m = [64, 64], k = [128, 128], n = [64, 64]>}}
  func.return %y : tensor<{m}x330xf32>
}}
"""


@pytest.mark.parametrize("a_pairs", [False, True])
@pytest.mark.parametrize("b_pairs", [False, True])
def test_scales_go_along(
    a_pairs: bool,
    b_pairs: bool,
    computed: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    m, k, n = 150, 520, 330
    pairs = -(-k // 64)
    flags = ("scales_a_trans, " if a_pairs else "") + (
        "" if b_pairs else "scales_b_trans, "
    )
    text = SCALED.format(
        m=m,
        sa=f"?x{m}x2" if a_pairs else f"{m}x?x2",
        sb=f"?x{n}x2" if b_pairs else f"{n}x?x2",
        flags=flags,
    )
    draw = np.random.default_rng(5)

    def scales(rows: int, by_pair: bool) -> Array:
        shape = (pairs, rows, 2) if by_pair else (rows, pairs, 2)
        return draw.integers(126, 129, shape, np.uint8).view(E8M0)

    given = {
        "a": floats("f8E4M3FN", k, m),
        "b": floats("f8E4M3FN", k, n),
        "sa": scales(m, a_pairs),
        "sb": scales(n, b_pairs),
    }
    want = alone(text, given, monkeypatch)
    assert np.array_equal(together(text, given), want)
    assert computed == [(m, n)]


def test_a_row_of_a_tile_is_left_alone(
    computed: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last tile has one row, and as much to multiply as others."""
    k = 2**20 // 64
    text, given = product("f32", False, k=k), operands("f32", False, k, 65)
    given["b"][:, 64:] = 0
    want = alone(text, given, monkeypatch)
    assert np.array_equal(together(text, given), want)
    assert computed


@pytest.mark.parametrize("slab", [330 * 200, 2**30])
def test_integers_of_many_columns(
    slab: int, computed: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoded in slabs: of a part of the K that is exact, or all of that."""
    monkeypatch.setattr(ahead, "SLAB", slab)
    text = product("i8", False, k=2500).replace("330xf32", "330xi32")
    draw = np.random.default_rng(0)
    # Sums of more than 1024 of these are not all exact in f32.
    a = np.full((150, 2500), 127, np.int8)
    b = draw.integers(100, 128, (2500, 330), np.int8)
    given = {"a": a, "b": b, "c": np.zeros(330, np.int32)}
    want = a.astype(np.int64) @ b.astype(np.int64)
    assert np.array_equal(together(text, given), want)
    assert computed[0] == (128, 330)


def test_what_is_of_no_use(
    computed: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where results are forgotten before they are taken, fewer rows are computed."""
    monkeypatch.setattr(ahead, "MOST_KEPT", 150 * 128)
    monkeypatch.setattr(ahead, "FLOATS", ahead.Most(1024, 128, 2**21))
    text, given = product("f32", False), operands("f32", False)
    want = alone(text, given, monkeypatch)
    assert np.array_equal(together(text, given), want)
    assert computed == [(150, 128)] * 2 + [(64, 74)] + [(64, 128)] * 2 + [(64, 74)]


def test_columns_of_no_use(
    computed: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks go down first, and what lies beside is forgotten until they come there."""
    monkeypatch.setattr(ahead, "MOST_KEPT", 128 * 400)
    monkeypatch.setattr(ahead, "FLOATS", ahead.Most(128, 1024, 2**21))
    text, given = product("f32", False, "column"), operands("f32", False, m=256)
    want = alone(text, given, monkeypatch)
    assert np.array_equal(together(text, given), want)
    assert computed[:2] == [(128, 330)] * 2
    assert set(computed[2:]) == {(128, 64)}


def test_operands_are_not_too_large(
    computed: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "FLOATS", ahead.Most(1024, 1024, 520 * 130))
    together(product("f32", False), operands("f32", False))
    assert max(computed) == (128, 128)


def test_a_snake_comes_back(
    computed: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is gone through backwards is computed from its end."""
    monkeypatch.setattr(ahead, "FLOATS", ahead.Most(64, 1024, 2**21))
    text, given = product("f32", False, "snake"), operands("f32", False, m=192)
    want = alone(text, given, monkeypatch)
    assert np.array_equal(together(text, given), want)
    # The second row ends with a small tile, which tells nothing of where it goes on.
    assert computed == [(64, 330), (64, 64 + 10), (64, 256), (64, 330)]


LOOPS = """
npu.kernel @k (%i, %j) (%x: memref<?x?xf32, "gm">, %y: memref<?x?xf32, "gm">, %m: index)
    on cube {{
  %zero = arith.constant 0 : index
  %step = arith.constant 16 : index
  %end = pypto.index {end}
  %first = pypto.index 64 * %i
  scf.for %t = %zero to %end step %step {{
    %row = pypto.index %first + %t
    %a = tile.alloc : !tile.buf<16x16xf32, l1>
    tile.load %x[%row, 0] [16, 16] into %a
  }}
}}
"""


@pytest.mark.parametrize(
    ("end", "goes_with", "rows"),
    [
        ("40", {0, 2}, 64 * 3 + 48),
        ("min(64, %m - 64 * %i)", {0, 2}, 64 * 3 + 32),
        ("min(64, %m - %j)", {0, 1, 2}, 64 * 3 + 64),
        ("0", {0, 2}, 64 * 3),
    ],
)
def test_what_moves_a_load(end: str, goes_with: set[int], rows: int) -> None:
    """What its first row is computed from, bounds of loops, too; where its last row
    ends."""
    kernel = parse_kernel(LOOPS.format(end=end))
    (load,) = (op for op in kernel.walk() if isinstance(op, LoadOp))
    movers = Movers(kernel)
    assert movers.of(load.mixed_offsets[:1]) == goes_with
    assert movers.of((0,)) == set()
    first = last(load.mixed_offsets[0])
    assert first is not None
    i, j = kernel.grid_args
    (m,) = kernel.scalar_args
    assert first.evaluate({i: 3, j: 1, m: 64 * 3 + 20}) + 16 == rows


IN_A_TASK = """
npu.kernel @k (%i) (%a: memref<?x512xf16, "gm">, %b: memref<512x192xf16, "gm">,
    %c: memref<?x192xf32, "gm">, %z: index) on cube {{
  %la = tile.alloc : !tile.buf<64x512xf16, l1>
  %lb = tile.alloc : !tile.buf<512x64xf16, l1>
  %za = tile.alloc : !tile.buf<64x512xf16, l0a>
  %zb = tile.alloc : !tile.buf<512x64xf16, l0b>
  %acc = tile.alloc : !tile.buf<64x64xf32, l0c>
  %zero = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = pypto.index {end}
  %row = pypto.index 64 * %i
  scf.for %n = %zero to %end step %step {{
    tile.load %a[%row, 0] [64, 512] into %la
    tile.load %b[0, %n] [512, 64] into %lb
    tile.move %la[0, 0] [64, 512] into %za
    tile.move %lb[0, 0] [512, 64] into %zb
    tile.matmul %za, %zb into %acc [64, 64, 512]
    tile.store %acc [64, 64] into %c[%row, %n]
  }}
}}
"""


@pytest.mark.parametrize(
    ("end", "shapes"),
    [
        ("192", [(128, 192)]),
        ("384 floordiv %z", [(128, 192)]),
        # A triangle: how many columns there are goes with the rows.
        ("min(192, 64 + 64 * %i)", []),
    ],
)
def test_loops_of_a_task(
    end: str, shapes: list[tuple[int, int]], computed: list[tuple[int, int]]
) -> None:
    a, b = floats("f16", 128, 512), floats("f16", 512, 192)
    c = np.zeros((128, 192), np.float32)
    arrays = tuple(map(Memory, (a, b, c)))
    translated = translate(IN_A_TASK.format(end=end), check=False)
    translated.launch((2,), arrays, (2,))
    assert computed == shapes
    # Memory may change before the next launch.
    assert not translated.cube.ahead.wholes
    want = a.astype(np.float32) @ b.astype(np.float32)
    if "%i" in end:
        want[:64, 64:] = want[64:, 128:] = 0
    assert np.array_equal(c, want)


def test_a_launch_without_tasks_divides_by_nothing() -> None:
    given = np.ones((3, 1, 1), np.float16)
    text = IN_A_TASK.format(end="384 floordiv %z")
    translate(text, check=False).launch((0,), tuple(map(Memory, given)), (0,))
    assert np.all(given == 1)


GROUP = """
func.func @f(%a: tensor<?x512xbf16> {pypto.dims = ["M"]},
    %b: tensor<3x512x192xbf16>, %g: tensor<3xi64>) -> tensor<?x192xf32> {
  %y = pypto.grouped_matmul %a, %b groups %g
    {tile = #pypto.cube<m = [64, 64], k = [128, 128], n = [64, 64]>}
  func.return %y : tensor<?x192xf32>
}
"""


def test_rows_of_other_groups(computed: list[tuple[int, int]]) -> None:
    """As many rows as are multiplied by the same, though more lie behind them."""
    given = {
        "a": floats("bf16", 400, 512),
        "b": floats("bf16", 3, 512, 192),
        "g": np.array([150, 70, 180]),
    }
    together(GROUP, given)
    assert computed == [(150, 192), (70, 192), (180, 192)]


ALIKE = """
npu.kernel @k (%i) (%a: memref<256x16xi8, "gm">, %b: memref<16x32xi8, "gm">,
    %b2: memref<16x32xi8, "gm">, %c: memref<5x256x32xi32, "gm">) on cube {{
  %row = pypto.index 16 * %i
  %la = tile.alloc : !tile.buf<16x16xi8, l1>
  %lb = tile.alloc : !tile.buf<16x32xi8, l1>
  %lb2 = tile.alloc : !tile.buf<16x32xi8, l1>
  tile.load %a[%row, 0] [16, 16] into %la
  tile.load %b[0, 0] [16, 32] into %lb
  tile.load %b2[0, 0] [16, 32] into %lb2
  {products}
}}
"""
ONE_OF_THEM = """
  %za{n} = tile.alloc : !tile.buf<16x16xi8, l0a>
  %zb{n} = tile.alloc : !tile.buf<16x32xi8, l0b>
  %acc{n} = tile.alloc : !tile.buf<16x32xi32, l0c>
  tile.move %la[0, {k}] [16, {depth}] into %za{n} {turned}
  tile.move %{b}[{kb}, 0] [{depth}, 32] into %zb{n}
  tile.matmul %za{n}, %zb{n} into %acc{n} [16, 32, {depth}]
  tile.store %acc{n} [16, 32] into %c[{n}, %row, 0] {{dims = [1, 2]}}
"""


def test_products_that_begin_alike(computed: list[tuple[int, int]]) -> None:
    """As it lies, transposed, by another matrix, of a half of K, another half of A."""
    kinds = (
        ("lb", 0, 0, 16, ""),
        ("lb", 0, 0, 16, "{trans}"),
        ("lb2", 0, 0, 16, ""),
        ("lb", 0, 0, 8, ""),
        ("lb", 8, 0, 8, ""),
    )
    products = [
        ONE_OF_THEM.format(n=n, b=b, k=k, kb=kb, depth=depth, turned=turned)
        for n, (b, k, kb, depth, turned) in enumerate(kinds)
    ]
    draw = np.random.default_rng(0)
    a = draw.integers(-128, 128, (256, 16), np.int8)
    b, b2 = draw.integers(-128, 128, (2, 16, 32), np.int8)
    c = np.zeros((5, 256, 32), np.int32)
    text = ALIKE.format(products="".join(products))
    translate(text, check=False).launch((16,), tuple(map(Memory, (a, b, b2, c))), ())
    wide, other = b.astype(np.int32), b2.astype(np.int32)
    squares = a.reshape(16, 16, 16).astype(np.int32)
    turned = (squares.transpose(0, 2, 1) @ wide).reshape(256, 32)
    want = (a @ wide, turned, a @ other, a[:, :8] @ wide[:8], a[:, 8:] @ wide[:8])
    for got, expected in zip(c, want, strict=True):
        assert np.array_equal(got, expected)
    assert (128, 32) in computed
