"""Gathers from text to values, against definitions in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from end_to_end.indexing_cases import (
    DTYPES,
    ELEMENTS,
    Case,
    check,
    gather_rows,
    program,
    values,
)

from pyptoc.api import compile
from pyptoc.pipeline_text import default_pipeline

GATHER_ROWS = [
    # rows, the shape of a row, the shape of the indices
    (10, (16,), (7,)),
    (10, (), (5,)),
    (300, (33,), (130,)),
    (10, (3, 5), (4,)),
    (6, (2, 3, 4), (2, 3)),
    (4, (9000,), (3,)),
    (4, (8,), ()),
    (4, (8,), (0,)),
    (4, (0,), (3,)),
    (5, (), (2, 2, 3)),
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("rows", "row", "shape"), GATHER_ROWS)
def test_gather_rows(rows: int, row: Any, shape: Any, dynamic: bool) -> None:
    draw = np.random.default_rng(rows + len(row))
    x, i = values(draw, "f32", rows, *row), draw.integers(0, rows, shape)
    inputs = {"x": x, "i": np.asarray(i, np.int32)}
    want = [gather_rows(x, i)]
    text = program("%y = pypto.gather_rows %x at %i", inputs, want, dynamic)
    check(Case(text, inputs, want))


@pytest.mark.parametrize("element", ELEMENTS)
def test_gather_rows_types(element: str) -> None:
    draw = np.random.default_rng(3)
    index = ["i32", "i64"][len(element) % 2]
    x, i = values(draw, element, 9, 40), draw.integers(-1, 9, 20)
    inputs = {"x": x, "i": i.astype(DTYPES[index])}
    want = [gather_rows(x, i, -1)]
    body = "%y = pypto.gather_rows %x at %i {pad = -1}"
    check(Case(program(body, inputs, want, True), inputs, want))


@pytest.mark.parametrize("count", [0, 1, 70])
@pytest.mark.parametrize("page", [1, 4, 128])
def test_page_table(page: int, count: int) -> None:
    draw = np.random.default_rng(page)
    index = ["i32", "i64"][(page + count) % 2]
    pool = values(draw, "i8", 12 * page, 24)
    table = draw.permutation(12)[:8]
    i = draw.integers(-1, 8 * page, count)
    inputs = {
        "x": pool,
        "i": i.astype(DTYPES[index]),
        "t": table.astype(DTYPES[index]),
    }
    rows = np.where(i < 0, -1, table[i // page] * page + i % page)
    want = [gather_rows(pool, rows, -1)]
    body = f"%y = pypto.gather_rows %x at %i through %t page {page} {{pad = -1}}"
    check(Case(program(body, inputs, want, True), inputs, want))


def test_page_table_of_a_view() -> None:
    """Tables, indices and pools may be windows of larger tensors, also turned ones."""
    draw = np.random.default_rng(5)
    x, t = values(draw, "f16", 40, 96), draw.permutation(10)[:6].astype(np.int32)
    tables = np.stack([t * 0 - 7, t, t * 0 - 7])
    i = draw.integers(0, 24, (17, 3)).astype(np.int32)
    inputs = {"x": x, "t": tables, "i": i}
    body = """%xv = pypto.view %x[:, 16 +: 48]
  %tt = pypto.transpose %t perm [1, 0]
  %tv = pypto.view %tt[:, 1]
  %iv = pypto.view %i[2 +: 15, 1]
  %y = pypto.gather_rows %xv at %iv through %tv page 4"""
    at = i[2:, 1]
    want = [gather_rows(x[:, 16:64], t[at // 4] * 4 + at % 4)]
    check(Case(program(body, inputs, want, False), inputs, want))


GATHER = [
    # shape, axis, size of the indices along it
    ((5, 64), -1, 8),
    ((3, 20000), 1, 5),
    ((70, 9), 0, 12),
    ((4, 5, 6), 1, 7),
    ((4, 5, 6), 0, 3),
    ((2, 3, 4, 5), 2, 9),
    ((2, 3, 2, 4, 5), 4, 6),
    ((11,), 0, 30),
    ((6, 1), 1, 4),
    ((3, 4), 1, 0),
    ((0, 4), 1, 2),
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("shape", "axis", "count"), GATHER)
def test_gather(shape: Any, axis: int, count: int, dynamic: bool) -> None:
    draw = np.random.default_rng(len(shape))
    x = values(draw, "f32", *shape)
    sizes = list(shape)
    sizes[axis] = count
    i = draw.integers(0, shape[axis], sizes).astype(np.int32)
    want = np.zeros(i.shape, x.dtype)
    for place in np.ndindex(i.shape):
        source = list(place)
        source[axis % len(shape)] = i[place]
        want[place] = x[tuple(source)]
    inputs = {"x": x, "i": i}
    body = f"%y = pypto.gather %x, %i axis {axis}"
    check(Case(program(body, inputs, [want], dynamic), inputs, [want]))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("perm", ["[1, 0]", "[0, 1]"])
def test_gather_of_a_turned_window(perm: str, axis: int) -> None:
    draw = np.random.default_rng(1)
    x = values(draw, "bf16", 100, 100)
    i = draw.integers(0, 90, (90, 90)).astype(np.int64)
    turned = x.T if perm == "[1, 0]" else x
    want = [np.take_along_axis(turned[2:92, 4:94], i.T, axis)]
    body = f"""%t = pypto.transpose %x perm {perm}
  %v = pypto.view %t[2 +: 90, 4 +: 90]
  %u = pypto.transpose %i perm [1, 0]
  %y = pypto.gather %v, %u axis {axis}"""
    inputs = {"x": x, "i": i}
    check(Case(program(body, inputs, want, False), inputs, want))


SELECT = [
    ((9, 33), 0, 5),
    ((9, 33), 1, 70),
    ((3, 9, 5), 1, 4),
    ((3, 9, 5), 0, 6),
    ((3, 9, 5), -1, 2),
    ((2, 3, 4, 5), 1, 6),
    ((7,), 0, 9),
    ((5, 6), 1, 0),
    ((4, 20000), 0, 3),
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("shape", "axis", "count"), SELECT)
def test_index_select(shape: Any, axis: int, count: int, dynamic: bool) -> None:
    draw = np.random.default_rng(len(shape))
    x = values(draw, "f16", *shape)
    i = draw.integers(0, shape[axis], count).astype(np.int64)
    parts = [np.take(x, [index], axis) for index in i]
    sizes = list(shape)
    sizes[axis] = 0
    want = [np.concatenate(parts or [np.zeros(sizes, x.dtype)], axis)]
    inputs = {"x": x, "i": i}
    body = f"%y = pypto.index_select %x at %i axis {axis}"
    check(Case(program(body, inputs, want, dynamic), inputs, want))


def test_assembled_results_are_stored_by_the_gathering_tasks() -> None:
    """Each result goes straight to its place, also in place and in a loop."""
    draw = np.random.default_rng(2)
    x, d = values(draw, "f32", 20, 24), values(draw, "f32", 3, 30, 60)
    i = draw.integers(0, 20, 17).astype(np.int32)
    body = """%g = pypto.gather_rows %x at %i
  %a = pypto.assemble %g into %d[1, 3, 30]
  %v, %k = pypto.topk %x k 5 axis -1
  %b = pypto.assemble %v into %a[2, 9, 0]
  %e = pypto.full 0[4, 20, 5] : tensor<4x20x5xi32>
  %z = pypto.for (%n = 0 to 3) iter(%f = %e) {
    %h = pypto.index_select %k at %i axis 0
    %o = pypto.assemble %h into %f[%n, 2, 0]
    pypto.yield %o
  }"""
    order = np.argsort(-x, axis=-1, kind="stable")[:, :5].astype(np.int32)
    want = [d.copy(), np.zeros((4, 20, 5), np.int32)]
    want[0][1, 3:20, 30:54] = gather_rows(x, i)
    want[0][2, 9:29, :5] = np.take_along_axis(x, order, -1)
    want[1][:3, 2:19] = order[i]
    inputs = {"x": x, "d": d, "i": i}
    text = program(body, inputs, want, False, results="%b, %z")
    check(Case(text, inputs, want))
    tasks = compile(text, pipeline=default_pipeline("tasks")).module
    tags = [
        op.attributes["tag"].data  # pyright: ignore
        for op in tasks.walk()
        if op.name == "npu.tasks"
    ]
    assert sorted(tags) == ["clone", "full", "gather_rows", "index_select", "topk"]
