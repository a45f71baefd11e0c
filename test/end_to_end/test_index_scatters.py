"""Scatters from text to values, against definitions in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from end_to_end.indexing_cases import (
    ELEMENTS,
    Array,
    Case,
    check,
    gather_rows,
    program,
    same,
    values,
)


def scatter_rows(dest: Array, leading: int, at: Array, rows: Array) -> Array:
    want = dest.copy()
    flat = want.reshape(-1, *dest.shape[leading:])
    source = rows.reshape(at.size, *dest.shape[leading:])
    for number, index in enumerate(at.reshape(-1)):
        if index != -1:
            flat[index] = source[number]
    return want


SCATTER_ROWS = [
    # destination, leading dimensions, shape of the indices
    ((10, 16), 1, (7,)),
    ((3, 4, 1, 16), 3, (30,)),
    ((40, 3, 5), 1, (130,)),
    ((6, 9000), 1, (9,)),
    ((9,), 1, (5,)),
    ((5, 8), 1, (2, 3)),
    ((5, 8), 1, (0,)),
    ((2, 3, 4), 2, (3, 2, 2)),
]


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("shape", "leading", "count"), SCATTER_ROWS)
def test_scatter_rows(
    shape: Any, leading: int, count: Any, dynamic: bool, in_place: bool
) -> None:
    draw = np.random.default_rng(len(shape))
    c = values(draw, "f32", *shape)
    total = int(np.prod(shape[:leading]))
    i = draw.integers(-1, total, count).astype(np.int64)
    x = values(draw, "f32", *count, *shape[leading:])
    want = [scatter_rows(c, leading, i, x)]
    rows = list(range(leading))
    body = f"%y = pypto.scatter_rows %x into %c at %i {{rows = {rows}, skip = -1}}"
    inputs = {"x": x, "c": c, "i": i}
    named = "c" if in_place else ""
    text = program(body, inputs, want, dynamic, named=named)
    kept = c.copy()
    check(Case(text, inputs, want))
    assert same(c, kept), "the input was changed"


@pytest.mark.parametrize("element", ELEMENTS)
def test_scatter_rows_types(element: str) -> None:
    draw = np.random.default_rng(7)
    c, x = values(draw, element, 20, 24), values(draw, element, 12, 24)
    i = draw.permutation(20)[:12].astype(np.int32)
    want = [scatter_rows(c, 1, i, x)]
    inputs = {"x": x, "c": c, "i": i}
    body = "%y = pypto.scatter_rows %x into %c at %i {unique}"
    check(Case(program(body, inputs, want, True), inputs, want))


def test_scatter_chain_reads_what_was_written() -> None:
    """A second scatter and a gather see the first one's rows."""
    draw = np.random.default_rng(8)
    c, x = values(draw, "f32", 20, 24), values(draw, "f32", 70, 24)
    i, j = (draw.integers(0, 20, 70).astype(np.int32) for _ in range(2))
    body = """%a = pypto.scatter_rows %x into %c at %i
  %z = pypto.mul %a, 2.0
  %b = pypto.scatter_rows %x into %a at %j
  %y = pypto.gather_rows %b at %i"""
    first = scatter_rows(c, 1, i, x)
    second = scatter_rows(first, 1, j, x)
    want = [first * np.float32(2), second, gather_rows(second, i)]
    inputs = {"x": x, "c": c, "i": i, "j": j}
    text = program(body, inputs, want, True, results="%z, %b, %y")
    check(Case(text, inputs, want))


def test_scatter_leaves_the_old_value() -> None:
    """Who reads the destination later finds what was there before."""
    draw = np.random.default_rng(9)
    c, x = values(draw, "f32", 20, 24), values(draw, "f32", 70, 24)
    i, j = (draw.integers(0, 20, 70).astype(np.int32) for _ in range(2))
    body = """%d = pypto.mul %c, 2.0
  %a = pypto.scatter_rows %x into %d at %i
  %b = pypto.scatter_rows %x into %d at %j
  %s = pypto.index_add %x into %c at %i axis 0
  %e = pypto.mul %c, 3.0"""
    doubled, total = c * np.float32(2), c.copy()
    with np.errstate(all="ignore"):
        for number, index in enumerate(i):
            total[index] += x[number]
    want = [
        scatter_rows(doubled, 1, i, x),
        scatter_rows(doubled, 1, j, x),
        total,
        c * np.float32(3),
    ]
    inputs = {"x": x, "c": c, "i": i, "j": j}
    text = program(body, inputs, want, True, results="%a, %b, %s, %e")
    check(Case(text, inputs, want))


INDEX_ADD = [
    ((9, 33), 0, 50),
    ((9, 33), 1, 70),
    ((3, 9, 5), 1, 20),
    ((3, 9, 5), 0, 6),
    ((3, 9, 5), -1, 12),
    ((2, 3, 4, 5), 1, 6),
    ((7,), 0, 90),
    ((5, 6), 1, 0),
    ((4, 20000), 0, 6),
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("shape", "axis", "count"), INDEX_ADD)
def test_index_add(shape: Any, axis: int, count: int, dynamic: bool) -> None:
    draw = np.random.default_rng(len(shape) + count)
    check(index_add_case(draw, "f32", shape, axis, count, dynamic))


@pytest.mark.parametrize("element", ["f32", "f16", "bf16", "i8", "i16", "i32", "i64"])
def test_index_add_types(element: str) -> None:
    draw = np.random.default_rng(4)
    check(index_add_case(draw, element, (5, 40), 0, 90, True))


def index_add_case(
    draw: np.random.Generator,
    element: str,
    shape: Any,
    axis: int,
    count: int,
    dynamic: bool,
) -> Case:
    c = values(draw, element, *shape)
    sizes = list(shape)
    sizes[axis] = count
    x = values(draw, element, *sizes)
    if element in ("f32", "f16", "bf16"):
        # Sums that round, so that the order shows.
        x = (x.astype(np.float32) + draw.random(x.shape, np.float32)).astype(x.dtype)
    i = draw.integers(0, shape[axis], count).astype(np.int32)
    wide = c.astype(np.float32) if c.dtype.kind not in "iu" else c.copy()
    total, parts = np.moveaxis(wide, axis, 0), np.moveaxis(x, axis, 0)
    with np.errstate(all="ignore"):
        for number, index in enumerate(i):
            total[index] += parts[number].astype(wide.dtype)
        want = [wide.astype(c.dtype)]
    inputs = {"x": x, "c": c, "i": i}
    body = f"%y = pypto.index_add %x into %c at %i axis {axis}"
    return Case(program(body, inputs, want, dynamic), inputs, want)


def put(c: Array, places: Any, parts: Array, adds: bool) -> Array:
    """`c` with parts at places, one after the other; a sum of bf16 rounds once."""
    wide = c.astype(np.float32) if adds and c.dtype.kind not in "iu" else c.copy()
    with np.errstate(all="ignore"):
        for place, part in zip(places, parts, strict=True):
            wide[place] = wide[place] + part.astype(wide.dtype) if adds else part
        return wide.astype(c.dtype)


SCATTER = [
    # element, shape, axis, size of the indices along it, add
    ("f32", (5, 64), -1, 8, False),
    ("f32", (5, 64), 1, 90, True),
    ("f32", (3, 20000), 1, 5, False),
    ("bf16", (70, 9), 0, 120, True),
    ("f16", (70, 9), 0, 120, False),
    ("f32", (4, 5, 6), 1, 17, True),
    ("i8", (4, 5, 6), 0, 9, True),
    ("f32", (2, 3, 2, 4, 5), 4, 16, False),
    ("i1", (2, 3, 4), 2, 3, False),
    ("i64", (11,), 0, 100, False),
    ("f32", (3, 4), 1, 0, True),
    ("f32", (0, 4), 1, 2, False),
]


@pytest.mark.parametrize(("element", "shape", "axis", "count", "adds"), SCATTER)
def test_scatter(element: str, shape: Any, axis: int, count: int, adds: bool) -> None:
    """Equal indices are many; dynamic sizes and i64 for every second case."""
    draw = np.random.default_rng(count)
    dynamic = count % 2 == 0
    sizes = list(shape)
    sizes[axis] = count
    c, x = values(draw, element, *shape), values(draw, element, *sizes)
    i = draw.integers(0, shape[axis], sizes).astype(np.int64 if dynamic else np.int32)
    places = [list(place) for place in np.ndindex(*sizes)]
    for place in places:
        place[axis] = i[tuple(place)]
    want = [put(c, map(tuple, places), x.reshape(-1), adds)]
    flag = " {add}" if adds else ""
    body = f"%y = pypto.scatter %x into %c at %i axis {axis}{flag}"
    inputs = {"x": x, "c": c, "i": i}
    named = "c" if count == 8 else ""
    check(Case(program(body, inputs, want, dynamic, named=named), inputs, want))


INDEX_PUT = [
    # element, shape, leading dimensions with indices, count, accumulate
    ("f32", (9, 33), 1, 70, False),
    ("f32", (3, 5, 40), 2, 90, True),
    ("bf16", (3, 5, 4, 6), 2, 30, True),
    ("f16", (4, 3, 2, 9), 1, 40, False),
    ("i32", (4, 6), 2, 130, True),
    ("i8", (7,), 1, 20, False),
    ("f32", (2, 3, 2, 3, 4), 5, 60, False),
    ("f32", (2, 3, 2, 3, 40), 4, 61, True),
    ("f32", (3, 4, 9000), 2, 5, False),
    ("f32", (3, 4), 1, 0, False),
    ("f32", (3, 0), 1, 4, True),
]


@pytest.mark.parametrize(("element", "shape", "leading", "count", "adds"), INDEX_PUT)
def test_index_put(
    element: str, shape: Any, leading: int, count: int, adds: bool
) -> None:
    draw = np.random.default_rng(count)
    c = values(draw, element, *shape)
    x = values(draw, element, count, *shape[leading:])
    kinds = [np.int32, np.int64]
    at = [
        draw.integers(0, size, count).astype(kinds[number % 2])
        for number, size in enumerate(shape[:leading])
    ]
    want = [put(c, zip(*at, strict=True), x, adds)]
    names = [f"i{number}" for number in range(leading)]
    inputs = {"x": x, "c": c, **dict(zip(names, at, strict=True))}
    flag = " {accumulate}" if adds else ""
    shown = ", ".join(f"%{name}" for name in names)
    body = f"%y = pypto.index_put %x into %c at {shown}{flag}"
    check(Case(program(body, inputs, want, count % 2 == 0), inputs, want))


def test_scatter_in_place_waits_for_a_fused_reader() -> None:
    """An op of a group reads the old value although the group follows the scatter."""
    draw = np.random.default_rng(6)
    c, x = values(draw, "f32", 20, 24), values(draw, "f32", 70, 24)
    i = draw.integers(0, 20, 70).astype(np.int32)
    body = """%z = pypto.mul %c, 3.0
  %y = pypto.scatter_rows %x into %c at %i
  %s = pypto.add %z, %y"""
    new = scatter_rows(c, 1, i, x)
    with np.errstate(all="ignore"):
        want = [new, c * np.float32(3) + new]
    inputs = {"x": x, "c": c, "i": i}
    text = program(body, inputs, want, False, results="%y, %s", named="c")
    first = text.index("-> (") + 4
    head, _, rest = text[first:].partition(', tensor<20x24xf32> {pypto.name = "c"}')
    check(Case(f"{text[:first]}{head}, tensor<20x24xf32>{rest}", inputs, want))


def test_scatters_of_windows() -> None:
    """Sources and indices may be turned or cut windows of larger tensors."""
    draw = np.random.default_rng(12)
    x, c = values(draw, "f32", 30, 40), values(draw, "f32", 9, 20)
    i, j = (draw.integers(0, 9, (30, 40)).astype(np.int32) for _ in range(2))
    body = """%xt = pypto.transpose %x perm [1, 0]
  %xv = pypto.view %xt[3 +: 30, 5 +: 20]
  %it = pypto.transpose %i perm [1, 0]
  %iv = pypto.view %it[3 +: 30, 5 +: 20]
  %y = pypto.scatter %xv into %c at %iv axis 0
  %jv = pypto.view %j[7, :]
  %w = pypto.view %x[:, 2]
  %k = pypto.view %i[1, 0 +: 30]
  %l = pypto.view %jv[10 +: 30]
  %z = pypto.index_put %w into %c at %k, %l {accumulate}"""
    rows, at = x.T[3:33, 5:25], i.T[3:33, 5:25]
    places = [(at[place], place[1]) for place in np.ndindex(*at.shape)]
    first = put(c, places, rows.reshape(-1), False)
    second = put(c, zip(i[1, :30], j[7, 10:], strict=True), x[:, 2], True)
    inputs = {"x": x, "c": c, "i": i, "j": j}
    text = program(body, inputs, [first, second], False, results="%y, %z")
    check(Case(text, inputs, [first, second]))
