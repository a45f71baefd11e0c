"""Work that several tasks repeat is done once, with the same values and errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_harness import BF16, translate

from pyptoc.dialects.diagnostics import RunError
from pyptoc.runtime import kept_work, operand_images
from pyptoc.runtime.channels import Channel
from pyptoc.runtime.fused_matmul import FusedMatmul
from pyptoc.runtime.indexed import Access
from pyptoc.runtime.matmul import product
from pyptoc.runtime.memory import Memory
from pyptoc.runtime.moved import Imaging

Array = np.ndarray
ROWS, PAGE = 24, 4
GRID = 3, 4

GATHERS = """
  %a = tile.alloc : !tile.buf<1x8xi32, ub>
  tile.load %idx[%i, 0] [1, 8] into %a {dims = [-1, 1]}
  %b = tile.alloc : !tile.buf<8x16xi8, ub>
  tile.gather %x[0, 0] of %n at %a[0] [8, 16] through %table[0] of 6 into %b
    {axis = 0, dims = [-1, 1], per = "row", page = 4, table_axis = 0,
     asked_by = "gather_rows", asked_at = "%idx"}
  %c = tile.alloc : !tile.buf<8x1xf32, ub>
  tile.gather %s[0, 0] of %n at %a[0] [8, 1] through %table[0] of 6 into %c
    {axis = 0, dims = [-1, 1], per = "row", page = 4, table_axis = 0}
  %h = tile.alloc : !tile.buf<8x16xf16, ub>
  tile.cvt %b into %h [8, 16]
  %f = tile.alloc : !tile.buf<8x16xf32, ub>
  tile.cvt %h into %f [8, 16]
  tile.mul %f, %c row into %f [8, 16]
"""
KERNEL = """
npu.kernel @k ({grid}) (%x: memref<?x16xi8, "gm">, %s: memref<?x1xf32, "gm">,
    %idx: memref<?x8xi32, "gm">, %table: memref<6xi32, "gm">,
    %q: memref<?x16xf32, "gm">, %y: memref<?x?x8x16xf32, "gm">, %n: index)
    on vector {{
  {gathers}
  %w = tile.alloc : !tile.buf<1x16xf32, ub>
  tile.load %q[%j, 0] [1, 16] into %w
  %g = tile.alloc : !tile.buf<8x16xf32, ub>
  tile.fill 0.0 into %g [8, 16]
  {use}
  tile.store %g [8, 16] into %y[%i, %j, 0, 0] {{dims = [2, 3]}}
}}
"""
USES = {
    "whole": "tile.mul %f, %w col into %g [8, 16]",
    "part": "tile.mul %f, %w col into %g [5, 7]",
    "in place": "tile.mul %f, %w col into %f [8, 16]\ntile.copy %f into %g [8, 16]",
    "kept on": "tile.add %f, %w col into %g [8, 16]\ntile.fill 1.0 into %f [8, 16]",
}


def operands() -> list[Array]:
    """Index 5 of a task is row 1 of its page 1."""
    draw = np.random.default_rng(1)
    return [
        draw.integers(-128, 128, (ROWS, 16), np.int8),
        draw.uniform(-2, 2, (ROWS, 1)).astype(np.float32),
        draw.integers(0, ROWS, (GRID[0], 8), np.int32),
        draw.permutation(ROWS // PAGE).astype(np.int32),
        draw.uniform(-2, 2, (GRID[1], 16)).astype(np.float32),
        np.zeros((*GRID, 8, 16), np.float32),
    ]


def kernel(use: str = "whole", grid: str = "%i, %j", **options: Any) -> Any:
    text = KERNEL.format(grid=grid, gathers=GATHERS, use=USES[use])
    return translate(text, **{"check": False, **options})


def launched(translator: Any, arrays: list[Array], grid: tuple[int, ...] = GRID) -> Any:
    memories = tuple(Memory(array) for array in arrays)
    with np.errstate(all="ignore"):
        translator.launch(grid, memories, (ROWS,))
    return arrays[-1]


@pytest.fixture
def located(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """An entry for each time that indices are looked up."""
    found: list[object] = []
    locate = Access.locate

    def recorded(self: Access, *args: Any) -> Any:
        found.append(self)
        return locate(self, *args)

    monkeypatch.setattr(Access, "locate", recorded)
    return found


@pytest.mark.parametrize("use", USES)
def test_tasks_gather_once(use: str, located: list[object]) -> None:
    """However the others read or change what is left of it."""
    want = launched(kernel(use, check=True), operands())
    assert want.any()
    assert len(located) == 2 * 12
    located.clear()
    assert np.array_equal(launched(kernel(use), operands()), want)
    # Both gathers of a task look the same indices up.
    assert len(located) == 3


def test_memory_changes_between_launches() -> None:
    translator, checked = kernel(), kernel(check=True)
    for step in range(3):
        arrays = operands()
        arrays[0] += np.int8(step)
        arrays[2][:] = np.roll(arrays[2], step, axis=1)
        want = launched(checked, [array.copy() for array in arrays])
        assert np.array_equal(launched(translator, arrays), want)


def test_what_is_stored_to_is_read_again(located: list[object]) -> None:
    """The scales lie where the first task stores."""
    results: list[Array] = []
    for check in (True, False):
        arrays = operands()
        arrays[1] = arrays[-1].reshape(-1, 1)[:ROWS]
        arrays[1][:] = operands()[1]
        located.clear()
        results.append(launched(kernel(check=check), arrays))
    assert np.array_equal(*results)
    assert len(located) == 12


@pytest.mark.parametrize("index", [ROWS, -1, 2**31 - 1])
@pytest.mark.parametrize("wrong", ["index", "page"])
def test_errors_stay(wrong: str, index: int) -> None:
    """Text, place and task of the error."""
    messages: list[str] = []
    for options in ({"check": True}, {}):
        arrays = operands()
        if wrong == "index":
            arrays[2][1, 6] = index
        else:
            arrays[3][arrays[2][2, 4] // PAGE] = index
        with pytest.raises(RunError) as caught:
            launched(kernel(**options), arrays)
        (problem,) = caught.value.diagnostics
        assert problem.code == "PTO408"
        messages.append(f"{problem.message} {problem.rule} {problem.notes}")
    assert messages[0] == messages[1]
    assert "in task (%i = " in messages[0]


def test_a_box_beyond_the_memory() -> None:
    messages: list[str] = []
    for check in (True, False):
        arrays = operands()
        arrays[1] = arrays[1][:-1].copy()
        with pytest.raises(RunError) as caught:
            launched(kernel(check=check), arrays)
        (problem,) = caught.value.diagnostics
        messages.append(f"{problem.code} {problem.message} {problem.notes}")
    assert messages[0] == messages[1]
    assert "dimension 0, 0 +: 24 of a memory of 23" in messages[0]


def test_few_are_kept(located: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is old is forgotten; what is not taken is not kept any more."""
    want = launched(kernel(check=True), operands())
    located.clear()
    monkeypatch.setattr(kept_work, "MOST_BYTES", 600)
    translator = kernel()
    assert np.array_equal(launched(translator, operands()), want)
    assert len(located) == 3
    assert translator.repeated.store.free
    located.clear()
    # The tasks of a row all have other indices: of these only the first are kept.
    translator = kernel(grid="%j, %i")
    assert np.array_equal(launched(translator, operands(), GRID[::-1]), want)
    assert len(located) == 6
    assert not translator.repeated.store.pieces[0].is_on


def test_a_task_that_makes_too_much(
    located: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    want = launched(kernel(check=True), operands())
    located.clear()
    monkeypatch.setattr(kept_work, "MOST_OF_A_TASK", -1)
    assert np.array_equal(launched(kernel(), operands()), want)
    assert len(located) == 12


# Mixed kernels ----------------------------------------------------------------------

MIXED = """
npu.kernel @k (%i, %j) (%x: memref<?x64xi8, "gm">, %idx: memref<?x96xi32, "gm">,
    %q: memref<?x16x64xbf16, "gm">, %y: memref<?x?x16x96xf32, "gm">, %n: index)
    on mixed {{
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %d = tile.channel {{slots = 2}} : !tile.chan<32x64xbf16, ub -> l1, {split}>
  tile.section cube {{
    %l = tile.alloc : !tile.buf<16x64xbf16, l1>
    tile.load %q[%j, 0, 0] [16, 64] into %l {{dims = [1, 2]}}
    scf.for %t = %c0 to %n step %c32 {{
      %m = pypto.index min(32, %n - %t)
      %acc = tile.alloc : !tile.buf<16x32xf32, l0c>
      {multiply}
      tile.store %acc [16, %m] into %y[%i, %j, 0, %t] {{dims = [2, 3]}}
    }}
  }}
  tile.section vector (%half) {{
    scf.for %t = %c0 to %n step %c32 {{
      %m = pypto.index min(32, %n - %t)
      {mine}
      %r = tile.alloc : !tile.buf<1x32xi32, ub>
      tile.load %idx[%i, %at] [1, %rows] into %r {{dims = [-1, 1]}}
      %b = tile.alloc : !tile.buf<32x64xi8, ub>
      tile.gather %x[0, %left] of 50 at %r[%at] [%rows, {columns}] into %b
        {{axis = 0, dims = [-1, 1], per = "row"}}
      %h = tile.alloc : !tile.buf<32x64xf16, ub>
      tile.cvt %b into %h [%rows, {columns}]
      %f = tile.alloc : !tile.buf<32x64xf32, ub>
      tile.cvt %h into %f [%rows, {columns}]
      tile.mul %f, 0.5 into %f [%rows, {columns}]
      %k = tile.alloc : !tile.buf<{half}xbf16, ub>
      tile.cvt %f into %k [%rows, {columns}]
      tile.push %k [%rows, {columns}] into %d
    }}
  }}
}}
"""
BY_ROWS = """
      %first = pypto.index min(%m, 16 * %half)
      %rows = pypto.index min(16, max(%m - 16 * %half, 0))
      %at = pypto.index %t + %first
      %left = arith.constant 0 : index"""
BY_COLUMNS = """
      %rows = pypto.index %m
      %at = pypto.index %t
      %left = pypto.index 32 * %half"""
APART = """
      %a = tile.alloc : !tile.buf<16x64xbf16, l0a>
      tile.move %l[0, 0] [16, 64] into %a
      %p = tile.pop %d
      %b = tile.alloc : !tile.buf<64x32xbf16, l0b>
      tile.move %p[0, 0] [%m, 64] into %b {trans}
      tile.free %d
      tile.matmul %a, %b into %acc [16, %m, 64]"""
TWICE = """
      %p = tile.pop %d
      %o = tile.alloc : !tile.buf<64x32xbf16, l0b>
      tile.move %p[0, 0] [%m, 64] into %o {trans}
      %u = tile.alloc : !tile.buf<16x64xbf16, l0a>
      tile.move %l[0, 0] [16, 64] into %u
      %v = tile.alloc : !tile.buf<16x64xbf16, l0a>
      tile.move %l[0, 0] [16, 64] into %v
      %w = tile.alloc : !tile.buf<64x32xbf16, l0b>
      tile.move %p[0, 0] [%m, 64] into %w {trans}
      tile.free %d
      tile.matmul %u, %o into %acc [16, %m, 64]
      tile.matmul %v, %w into %acc [16, %m, 64] accumulate"""
LOOP = """
      %p = tile.pop %d
      scf.for %z = %c0 to %c64 step %c32 {
        %a = tile.alloc : !tile.buf<16x32xbf16, l0a>
        tile.move %l[0, %z] [16, 32] into %a
        %b = tile.alloc : !tile.buf<32x32xbf16, l0b>
        tile.move %p[0, %z] [%m, 32] into %b {trans}
        %more = pypto.index %z > 0
        tile.matmul %a, %b into %acc [16, %m, 32] accumulate %more
      }
      tile.free %d"""
WAYS = {"apart": APART, "twice": TWICE, "loop": LOOP}
HEADS = 3


def operands_of_mixed(n: int, results: int = 1, queries: Any = BF16) -> list[Array]:
    draw = np.random.default_rng(n)
    return [
        draw.integers(-8, 8, (50, 64), np.int8),
        draw.integers(0, 50, (2, 96), np.int32),
        draw.integers(-8, 8, (HEADS, 16, 64)).astype(queries),
        *(np.zeros((2, HEADS, 16, 96), np.float32) for _ in range(results)),
    ]


def product_of_mixed(arrays: list[Array], n: int) -> Array:
    """Of each task, of factors of 0.5."""
    rows = arrays[0][arrays[1][:, :n]].astype(np.float32) / 2
    return np.einsum("jmk,ink->ijmn", arrays[2].astype(np.float32), rows)


def mixed(way: str, split: str, n: int, wide: bool = False, **options: Any) -> Array:
    """Small integers, so that no sum is rounded. wide: f32 in place of bf16."""
    by_rows = split == "rows"
    text = MIXED.format(
        split=split,
        multiply=WAYS[way],
        mine=BY_ROWS if by_rows else BY_COLUMNS,
        columns=64 if by_rows else 32,
        half="16x64" if by_rows else "32x32",
    )
    if wide:
        text = text.replace("tile.cvt %f", "tile.copy %f").replace("bf16", "f32")
    arrays = operands_of_mixed(n, queries=np.float32 if wide else BF16)
    kernel = translate(text, **{"check": False, **options})
    kernel.launch((2, HEADS), tuple(map(Memory, arrays)), (n,))
    want = product_of_mixed(arrays, n) * (2 if way == "twice" else 1)
    assert np.array_equal(arrays[-1][..., :n], want)
    return arrays[-1]


@pytest.mark.parametrize("n", [1, 16, 17, 32, 90, 96])
@pytest.mark.parametrize("split", ["rows", "columns"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wide", [False, True])
def test_cube_cores_take_what_is_kept(way: str, split: str, n: int, wide: bool) -> None:
    """Slots of channels that are not filled: whole and partly, by rows and columns."""
    want = mixed(way, split, n, wide, check=True)
    assert np.array_equal(mixed(way, split, n, wide), want)
    assert np.array_equal(mixed(way, split, n, wide, fuse=False), want)


@pytest.mark.parametrize("way", ["apart", "twice"])
def test_images_are_made_once(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    imaging = Imaging.__call__

    def recorded(self: Imaging, box: Array) -> Array:
        made.append(box)
        return imaging(self, box)

    monkeypatch.setattr(Imaging, "__call__", recorded)
    mixed(way, "rows", 96)
    # Three tiles of each row of tasks; the query of each task, and move.
    queries = 2 * HEADS * (2 if way == "twice" else 1)
    assert len(made) == 2 * 3 + queries


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("n", [17, 90])
def test_products_are_made_once(
    same: bool, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two loops of a task multiply the same, or the second has other factors."""
    multiplied: list[object] = []

    def recorded(*operands: Any) -> None:
        multiplied.append(operands)
        product(*operands)

    monkeypatch.setattr(operand_images, "product", recorded)
    text = MIXED.format(
        split="rows", multiply=LOOP, mine=BY_ROWS, columns=64, half="16x64"
    )
    head, cube, between, vector, tail = re.split(
        r"(    scf\.for %t .*?\n    \}\n)", text, flags=re.DOTALL
    )
    channel = next(line for line in head.splitlines(True) if "tile.channel" in line)
    head = head.replace(channel, channel + channel.replace("%d", "%e"))
    head = head.replace("%y:", '%y2: memref<?x?x16x96xf32, "gm">, %y:')
    cube += cube.replace("%d", "%e").replace("%y", "%y2")
    factor = "0.5" if same else "2.0"
    vector += vector.replace("%d", "%e").replace("0.5", factor)
    text = "".join((head, cube, between, vector, tail))
    arrays = operands_of_mixed(n, 2)
    translate(text, check=False).launch((2, HEADS), tuple(map(Memory, arrays)), (n,))
    want = product_of_mixed(arrays, n)
    assert np.array_equal(arrays[4][..., :n], want)
    assert np.array_equal(arrays[3][..., :n], want if same else 4 * want)
    loops = 1 if same else 2
    assert len(multiplied) == loops * 2 * HEADS * -(-n // 32)


def test_steps_of_a_loop_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[object] = []
    plan = FusedMatmul._plan

    def recorded(self: FusedMatmul, *args: Any) -> Any:
        planned.append(args)
        return plan(self, *args)

    monkeypatch.setattr(FusedMatmul, "_plan", recorded)
    mixed("loop", "rows", 90)
    # One for 32 columns, one for the 26 of the tail.
    assert len(planned) == 2


@pytest.mark.parametrize("split", ["rows", "columns"])
def test_what_parts_hold(split: str) -> None:
    """Of a slot of 32 x 32: the first core has its first 16 rows, or columns."""
    channel, turn = _channel(split), 1 if split == "rows" else -1
    for first, second, corner, holds in (
        ((16, 32), (10, 32), (26, 32), True),
        ((16, 32), (10, 32), (27, 1), False),
        ((16, 32), (10, 30), (17, 31), False),
        ((9, 32), (0, 32), (9, 32), True),
        ((9, 32), (0, 32), (10, 32), False),
        ((9, 32), (3, 32), (12, 32), False),
        ((16, 30), (0, 30), (16, 31), False),
    ):
        channel.parts[1] = [np.empty(first[::turn]), np.empty(second[::turn])]
        assert channel.holds(1, *corner[::turn]) == holds
    channel.parts[1] = [np.empty((16, 16)), None]
    assert not channel.holds(1, 17, 17)


def _channel(split: str) -> Channel:
    text = f"""
    npu.kernel @k () (%y: memref<1xf32, "gm">) on mixed {{
      %d = tile.channel {{slots = 2}} : !tile.chan<32x32xbf16, ub -> l1, {split}>
      tile.section cube {{ }}
      tile.section vector (%half) {{ }}
    }}
    """
    kernel = translate(text)
    return kernel.scope[kernel.channels[0]]


def test_indices_that_change_between_gathers() -> None:
    """In the block itself, and in a loop in it."""
    gather = """
      tile.gather %x[0, 0] of 24 at %a[0] [8, 16] into %b
        {axis = 0, dims = [-1, 1], per = "row"}
      tile.store %b [8, 16] into %y[NUMBER, 0, 0] {dims = [1, 2]}"""
    text = f"""
    npu.kernel @k () (%x: memref<24x16xi8, "gm">, %idx: memref<4x8xi32, "gm">,
        %y: memref<6x8x16xi8, "gm">) on vector {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %a = tile.alloc : !tile.buf<1x8xi32, ub>
      %b = tile.alloc : !tile.buf<8x16xi8, ub>
      tile.load %idx[0, 0] [1, 8] into %a
      {gather.replace("NUMBER", "0")}
      tile.load %idx[1, 0] [1, 8] into %a
      {gather.replace("NUMBER", "1")}
      scf.for %t = %c1 to %c3 step %c1 {{
        %n = pypto.index %t + 1
        {gather.replace("NUMBER", "%n")}
        tile.load %idx[%n, 0] [1, 8] into %a
      }}
      {gather.replace("NUMBER", "4")}
      {gather.replace("NUMBER", "5")}
    }}
    """
    draw = np.random.default_rng(1)
    x = draw.integers(-128, 128, (24, 16), np.int8)
    indices = draw.integers(0, 24, (4, 8), np.int32)
    found = np.zeros((6, 8, 16), np.int8)
    translate(text, check=False).launch((), tuple(map(Memory, (x, indices, found))), ())
    assert np.array_equal(found, x[indices[[0, 1, 1, 2, 3, 3]]])
