"""Tasks of a mixed kernel that are run several at once: the values of one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_harness import BF16, Array, parse_kernel, run_kernel

from pyptoc.dialects.npu_attrs import Unit
from pyptoc.runtime import (
    merged_launch,
    merged_tasks,
    operand_images,
    translate_cube,
)
from pyptoc.runtime.core import Core
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.matmul import Scratch, product
from pyptoc.runtime.memory import Buffers
from pyptoc.runtime.merged_tasks import merging

ATTENTION = """
npu.kernel @k (%i, %j) (%q: memref<2x64x32xbf16, "gm">, %n: memref<2xi32, "gm">,
    %p: memref<2x48xi32, "gm">, %k: memref<100x32xi8, "gm">,
    %s: memref<32xf32, "gm">, %e: memref<64x16xf32, "gm">,
    %y: memref<2x64x32xf32, "gm">) on mixed {
  %r = pypto.index ROW
  %zero = arith.constant 0 : index
  %end = tile.read %n[LENGTH] : memref<2xi32, "gm"> -> index
  %step = arith.constant 16 : index
  %a = tile.channel {addr = 0, slots = 2} : !tile.chan<16x32xbf16, ub -> l1, rows>
  %b = tile.channel {addr = 0, slots = 2} : !tile.chan<16x16xf32, l0c -> ub, rows>
  %d2 = tile.channel {addr = 2048, slots = 2} : !tile.chan<16x16xf32, l0c -> ub, rows>
  %c = tile.channel {addr = 4096, slots = 2} : !tile.chan<16x16xbf16, ub -> l1, rows>
  tile.section cube {
    %l1 = tile.alloc {addr = 8192} : !tile.buf<17x32xbf16, l1>
    tile.load %q[%i, %r, 0] [16, 32] into %l1
    %o = tile.alloc {addr = 0} : !tile.buf<16x32xf32, l0c>
    %none = tile.alloc {addr = 8192} : !tile.buf<16x16xbf16, l0a>
    %v0 = tile.alloc {addr = 8192} : !tile.buf<16x32xbf16, l0b>
    tile.matmul %none, %v0 into %o [16, 32, 0]
    scf.for %t = %zero to %end step %step {
      %w = pypto.index min(16, %end - %t)
      %kl = tile.pop %a
      %la = tile.alloc {addr = 0} : !tile.buf<16x32xbf16, l0a>
      tile.move %l1[AT, 0] [16, 32] into %la
      %lb = tile.alloc {addr = 0} : !tile.buf<32x16xbf16, l0b>
      tile.move %kl[0, 0] [%w, 32] into %lb {trans}
      %x = tile.alloc {addr = 4096} : !tile.buf<16x16xf32, l0c>
      tile.matmul %la, %lb into %x [16, %w, 32]
      tile.push %x [16, %w] into %b
      CUBE
      %pl = tile.pop %c
      %pa = tile.alloc {addr = 4096} : !tile.buf<16x16xbf16, l0a>
      tile.move %pl[0, 0] [16, %w] into %pa
      %vb = tile.alloc {addr = 4096} : !tile.buf<16x32xbf16, l0b>
      tile.move %kl[0, 0] [%w, 32] into %vb
      tile.matmul %pa, %vb into %o [16, 32, %w] accumulate
      tile.free %c
      tile.free %a
    }
    tile.store %o [16, 32] into %y[%i, %r, 0] COMBINE
  }
  tile.section vector (%half) {
    %is_first = pypto.index %half == 0 : i1
    %number = pypto.index 2 * %half
    %m = tile.alloc {addr = 16384} : !tile.buf<8x1xf32, ub>
    tile.fill 1.0 into %m [8, 1]
    %d = tile.alloc {addr = 16640} : !tile.buf<1x32xf32, ub>
    tile.load %s[0] [1, 32] into %d
    %f = tile.alloc {addr = 16896} : !tile.buf<1x16xf32, ub>
    tile.fill 2.0 into %f [1, 16]
    scf.for %t = %zero to %end step %step {
      %w = pypto.index min(16, %end - %t)
      %mine = pypto.index min(8, max(%w - 8 * %half, 0))
      %at = pypto.index %t + min(%w, 8 * %half)
      %ids = tile.alloc {addr = 17408} : !tile.buf<1x8xi32, ub>
      tile.load %p[%i, %at] [1, %mine] into %ids {dims = [-1, 1]}
      %g = tile.alloc {addr = 17664} : !tile.buf<8x32xi8, ub>
      %g0 = tile.alloc {addr = 18176} : !tile.buf<8x32xf16, ub>
      %h = tile.alloc {addr = 18688} : !tile.buf<8x32xf32, ub>
      %k16 = tile.alloc {addr = 19712} : !tile.buf<8x32xbf16, ub>
      tile.gather %k[0, 0] of 100 at %ids[%at] [%mine, 32] into %g
          {axis = 0, dims = [-1, 1], per = "row"}
      tile.cvt %g into %g0 [%mine, 32]
      tile.cvt %g0 into %h [%mine, 32]
      tile.mul %h, %d col into %h [%mine, 32]
      tile.cvt %h into %k16 [%mine, 32]
      tile.push %k16 [%mine, 32] into %a
      %x = tile.pop %b
      tile.mul %x, 0.0625 into %x [8, %w]
      tile.add %x, %f col into %x [8, %w]
      BODY
      %u = tile.alloc {addr = 20480} : !tile.buf<8x1xf32, ub>
      tile.row_max %x into %u [8, %w]
      tile.maximum %m, %u into %m [8, 1]
      tile.sub %x, %m row into %x [8, %w]
      tile.exp %x into %x [8, %w]
      %z = tile.alloc {addr = 20736} : !tile.buf<8x16xbf16, ub>
      tile.cvt %x into %z [8, %w]
      tile.free %b
      tile.push %z [8, %w] into %c
    }
  }
}
"""
"""Weights by the greatest score so far: what a row gives depends on all that it had."""
PLAIN = {
    "ROW": "16 * %j",
    "AT": "0",
    "COMBINE": "",
    "BODY": "",
    "CUBE": "",
    "LENGTH": "%i",
}


def text_of(changed: dict[str, str]) -> str:
    text = ATTENTION
    for name, part in {**PLAIN, **changed}.items():
        text = text.replace(name, part)
    return text


def attention(
    lengths: tuple[int, int], few: int, body: str = "", check: bool = False
) -> Array:
    rng = np.random.default_rng(sum(lengths))
    q = rng.standard_normal((2, 64, 32)).astype(BF16)
    places = rng.permutation(100)[:96].reshape(2, 48).astype(np.int32)
    k = rng.integers(-9, 10, (100, 32), np.int8)
    s = rng.uniform(0.5, 1, 32).astype(np.float32)
    e, y = np.zeros((64, 16), np.float32), np.zeros((2, 64, 32), np.float32)
    arrays = [q, np.array(lengths, np.int32), places, k, s, e, y]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(merged_launch.FEW_TASKS, Unit.MIXED, few)
        run_kernel(text_of({"BODY": body}), (2, 4), arrays, check=check)
    return y


FILLED = """%f0 = tile.alloc {addr = 32768} : !tile.buf<8x16xf32, ub>
      tile.fill 0.5 into %f0 [8, 16]
      %f1 = tile.alloc {addr = 33280} : !tile.buf<8x16xf32, ub>
      tile.mul %f0, 2.0 into %f1 [8, 16]
      tile.add %x, %f1 into %x [8, %w]"""


@pytest.mark.parametrize("body", ["", FILLED], ids=["plain", "filled"])
@pytest.mark.parametrize("lengths", [(48, 48), (33, 5), (0, 20), (1, 9)])
def test_values(
    lengths: tuple[int, int], body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every bit is that of tasks one by one; with `check` sums have another order."""
    each: set[int] = set()

    def noted(*args: Any) -> None:
        each.add(args[5] if len(args) > 5 else 0)
        product(*args)

    for module in (operand_images, translate_cube):
        monkeypatch.setattr(module, "product", noted)
    one_by_one = attention(lengths, 9, body)
    assert each == {0}
    each.clear()
    got = attention(lengths, 8, body)
    assert each == {16}
    assert got.tobytes() == one_by_one.tobytes()
    checked = attention(lengths, 8, body, check=True)
    np.testing.assert_allclose(got, checked, rtol=1e-5, atol=1e-5)


def test_what_is_merged() -> None:
    found = merging(parse_kernel(text_of({})))
    assert found is not None
    assert (found.axis, found.found.rows, found.factor(4)) == (1, 16, 4)
    merged = found.merged(4)
    merged.kernel.verify()
    rows = [product.extents[0] for product in merged.products]  # pyright: ignore
    assert rows == [64] * 3
    assert set(merged.products.values()) == {16}
    # Row by row of the result, which shares no bytes with anything that is read.
    (apart,) = found.found.apart
    assert (apart.number, apart.others) == (6, {0, 1, 2, 3, 4})


@pytest.mark.parametrize(
    ("of_vectors", "of_products", "most"),
    [(4 * 8 * 32, 2**20, 8), (2**20, 2 * 17 * 32, 2), (2**20, 17 * 32, None)],
)
def test_how_many(
    of_vectors: int, of_products: int, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest buffer of rows has [17, 32] of a cube core, [8, 16] of vectors."""
    monkeypatch.setattr(merged_tasks, "MOST_ELEMENTS", of_vectors)
    monkeypatch.setattr(merged_tasks, "MOST_OF_PRODUCTS", of_products)
    found = merging(parse_kernel(text_of({})))
    assert (None if found is None else found.most) == most


def test_both_vector_cores_have_more_memory() -> None:
    core = Core(Buffers(load_machine("ascend950")), Scratch()).larger(4)
    assert [buffers.times for buffers in core.all_buffers] == [4, 4]


ONE_ROW = "%v = tile.alloc {addr = 32768} : !tile.buf<1x16xf32, ub>\n"
ROWS = ONE_ROW.replace("<1x16", "<8x16")
INDICES = """%ix = tile.alloc {addr = 34816} : !tile.buf<1x8xi32, ub>
  tile.load %p[%i, 0] [1, 8] into %ix {dims = [-1, 1]}
"""
ADD = "\n tile.add %x, %v {} into %x [8, %w]"
BRANCH = "scf.if %is_first {\n tile.mul %x, 2.0 into %x [8, %w]\n }"
LOOP = "scf.for %l = %zero to {} step %step {{\n {}\n }}"
SHARED = """%sa = tile.alloc {addr = 6144} : !tile.buf<16x32xbf16, l0a>
  tile.move %kl[0, 0] [16, 32] into %sa
  %sx = tile.alloc {addr = 6144} : !tile.buf<16x16xf32, l0c>
  tile.matmul %sa, %lb into %sx [16, 16, 32]
  tile.push %sx [16, 16] into %d2"""
TURNED = """%tq = tile.alloc {addr = 6144} : !tile.buf<32x16xbf16, l0b>
  tile.move %l1[0, 0] [16, 32] into %tq {trans}
  %sx = tile.alloc {addr = 6144} : !tile.buf<16x16xf32, l0c>
  tile.matmul %la, %tq into %sx [16, 16, 32]"""
RIGHT = TURNED.replace(" {trans}", "").replace("32x16xbf16", "16x32xbf16")
RIGHT = RIGHT.replace("16x16xf32", "16x32xf32").replace("[16, 16, 32]", "[16, 32, 16]")
TASK = {
    "a box of it": {"AT": "1"},
    "rows of two tasks": {"ROW": "8 * %j"},
    "rows that end": {"ROW": "16 * min(%j, 1)"},
    "a sum in memory": {"COMBINE": '{combine = "add"}'},
    "another place": {
        "CUBE": "%r1 = pypto.index 16 * %j + 16\n"
        "tile.store %o [16, 32] into %y[%i, %r1, 0]"
    },
    "what is stored": {
        "BODY": INDICES + ROWS + "tile.gather %y[0, 0, 0] of 64 at %ix[0] [8, 16] "
        'into %v {axis = 1, dims = [-1, 2], per = "row"}'
    },
    "a row of the task": {"BODY": ONE_ROW + "tile.load %s[%j] [1, 16] into %v"},
    "a number of the task": {
        "BODY": "%v = tile.alloc {addr = 32768} : !tile.buf<8x16xi32, ub>\n"
        "tile.arange %j into %v [8, 16]"
    },
    "a length": {"LENGTH": "%j"},
    "a branch": {"BODY": "%last = pypto.index %j == 3 : i1\n" + BRANCH},
    "a loop": {"BODY": LOOP.format("%r", "tile.exp %x into %x [8, %w]")},
    "a number that a loop gives": {
        "BODY": "%c9 = scf.for %l = %zero to %end step %step iter_args(%c8 = %zero) -> "
        "(index) {\n scf.yield %j : index\n }\n"
        + ONE_ROW
        + "tile.load %s[%c9] [1, 16] into %v"
    },
    "a turned operand": {"CUBE": TURNED},
    "the right operand": {"CUBE": RIGHT},
    "turned rows": {"[16, %w] into %pa": "[16, 16] into %pa {trans}"},
    "a row for all": {
        "BODY": ROWS + "tile.mul %x, 2.0 into %v [8, %w]" + ADD.format("col")
    },
    "gathered rows": {
        "BODY": INDICES + ROWS + "tile.gather %e[0, 0] of 64 at %ix[0] [8, 16] "
        'into %v {axis = 0, dims = [-1, 1], per = "row"}' + ADD.format("")
    },
}
"""What depends on the task, but for rows that go down with it."""
HALF = {
    "a mask of the half": {"BODY": "tile.mask_causal %x, %number into %x [8, %w]"},
    "a mask": {"BODY": "tile.mask_causal %x, %r into %x [8, %w]"},
    "rows for both": {
        "BODY": ROWS + "tile.load %e[%r, 0] [8, 16] into %v" + ADD.format("")
    },
    "a branch": {"BODY": BRANCH},
    "a row": {
        "BODY": ONE_ROW + "tile.load %s[%number] [1, 16] into %v" + ADD.format("col")
    },
    "a slot": {
        "BODY": """%v = tile.alloc {addr = 32768, slots = 2} : !tile.buf<8x16xf32, ub>
        %v0 = tile.slot %v[%half]
        tile.mul %x, 2.0 into %v0 [8, %w]"""
    },
    "a loop": {
        "BODY": ONE_ROW
        + LOOP.format("%number", "tile.fill 1.0 into %v [1, 16]")
        + ADD.format("col")
    },
    "part of the keys": {
        "BODY": ONE_ROW + "tile.copy %h into %v [1, 16]" + ADD.format("col")
    },
    "part of a product": {
        "CUBE": SHARED,
        "BODY": "%v = tile.pop %d2" + ADD.format("col") + "\n tile.free %d2",
    },
    "more rows than tasks have": {"<16x16xf32, l0c -> ub": "<32x16xf32, l0c -> ub"},
}
"""What depends on which vector core has a row."""


@pytest.mark.parametrize(
    "changed",
    [*TASK.values(), *HALF.values()],
    ids=[*TASK, *(f"{k}, half" for k in HALF)],
)
def test_what_is_not_merged(changed: dict[str, str]) -> None:
    assert merging(parse_kernel(text_of(changed))) is None


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("sizes", [(32, 96, 64), (1, 40, 33), (16, 1, 20), (24, 24, 0)])
def test_products_of_tasks_are_those_of_each(
    sizes: tuple[int, int, int], turned: bool, accumulate: bool
) -> None:
    """Bit for bit, whatever the library does with more rows."""
    rows, columns, depth = sizes
    rng = np.random.default_rng(0)
    a = rng.standard_normal((3 * rows, depth)).astype(np.float32)
    b = rng.standard_normal((depth, columns)).astype(np.float32)
    if turned:
        b = np.ascontiguousarray(b.T).T
    c = rng.standard_normal((3 * rows, columns + 1)).astype(np.float32)[:, :columns]
    want = c.copy()
    part = np.empty(c.size, np.float32)
    for start in range(0, 3 * rows, rows):
        task = slice(start, start + rows)
        product(a[task], b, want[task], part, accumulate)
    product(a, b, c, part, accumulate, rows)
    assert c.tobytes() == want.tobytes()
