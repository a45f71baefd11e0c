"""Top-k, argsort, one-hot and bit patterns, against definitions in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from end_to_end.indexing_cases import DTYPES, Array, Case, check, program, same, values


def best(
    x: Array, k: int, lengths: Array | None, pad: tuple[float, int]
) -> tuple[Array, Array]:
    """The k greatest of each row by repeated search: NaN least, ties by position."""
    shape = (*x.shape[:-1], k)
    with np.errstate(all="ignore"):
        low = np.float32(pad[0])
        fill = x.dtype.type(np.iinfo(x.dtype).min if x.dtype.kind in "iu" else low)
    found, places = np.full(shape, fill), np.full(shape, pad[1], np.int32)
    for row in np.ndindex(x.shape[:-1]):
        numbers = x[row].astype(np.float64 if x.dtype.kind not in "iu" else np.int64)
        left = list(range(x.shape[-1] if lengths is None else int(lengths[row])))
        for place in range(min(k, len(left))):
            real = [n for n in left if not np.isnan(numbers[n])] or left[:1]
            top = (
                max(real, key=lambda n: (numbers[n], -n))
                if real != left[:1]
                else (real[0])
            )
            found[(*row, place)] = x[row][top]
            places[(*row, place)] = top
            left.remove(top)
    return found, places


TOPK = [
    # shape, k
    ((5, 64), 8),
    ((70, 9), 9),
    ((3, 5000), 6),
    ((2, 9000), 2048),
    ((2, 5000), 4500),
    ((100,), 10),
    ((2, 3, 40), 4),
    ((2, 2, 2, 2, 7), 1),
    ((4, 3), 0),
    ((0, 8), 2),
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("shape", "k"), TOPK)
def test_topk(shape: Any, k: int, dynamic: bool) -> None:
    draw = np.random.default_rng(k)
    x = values(draw, "f32", *shape)
    if k == 2048:  # Of 4500 many are equal.
        x = np.where(np.isnan(x), x, draw.random(shape, np.float32)).astype(x.dtype)
    order = np.argsort(-x, axis=-1, kind="stable")[..., :k].astype(np.int32)
    want = [np.take_along_axis(x, order, -1), order]
    if k < 100:
        assert all(map(same, best(x, k, None, (0, 0)), want)), "two definitions"
    inputs = {"x": x}
    body = f"%v, %i = pypto.topk %x k {k} axis -1"
    text = program(body, inputs, want, dynamic, results="%v, %i", fixed=1)
    check(Case(text, inputs, want))


TOPK_PADS = [
    *[("f32", length) for length in (0, 1, 5, 7, 3000)],
    *[(element, 5) for element in ("f16", "bf16", "i8", "ui8", "i32", "i64")],
    ("i64", 3000),
]


@pytest.mark.parametrize(("element", "length"), TOPK_PADS)
def test_topk_pads(element: str, length: int) -> None:
    """Fewer than k elements, dynamic lengths: pads, also beside real -inf and NaN."""
    draw = np.random.default_rng(length)
    x = values(draw, element, 6, length)
    want = [*best(x, 7, None, (-np.inf, -1))]
    inputs = {"x": x}
    body = "%v, %i = pypto.topk %x k 7 axis -1 {pad_index = -1}"
    text = program(body, inputs, want, True, results="%v, %i", fixed=1)
    check(Case(text, inputs, want))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("shape", [(40,), (9, 40), (3, 4, 40), (2, 2500)])
def test_topk_lengths(shape: Any, dynamic: bool) -> None:
    draw = np.random.default_rng(2)
    x = values(draw, "f16", *shape)
    n = draw.integers(0, shape[-1] + 1, shape[:-1]).astype(np.int32)
    want = [*best(x, 6, n, (0.5, 99))]
    inputs = {"x": x, "n": np.asarray(n)}
    body = """%v, %i = pypto.topk %x k 6 axis -1 lengths %n
      {pad_index = 99, pad_value = 0.5 : f32}"""
    text = program(body, inputs, want, dynamic, results="%v, %i", fixed=1)
    check(Case(text, inputs, want))


def test_topk_of_one_result() -> None:
    draw = np.random.default_rng(2)
    x = values(draw, "f32", 9, 40)
    found, places = best(x, 6, None, (0, 0))
    for name, want in (("%v", found), ("%i", places)):
        body = "%v, %i = pypto.topk %x k 6 axis -1"
        text = program(body, {"x": x}, [want], True, results=name, fixed=1)
        check(Case(text, {"x": x}, [want]))


@pytest.mark.parametrize("axis", [0, 1])
def test_topk_along_another_axis(axis: int) -> None:
    draw = np.random.default_rng(2)
    x = values(draw, "f32", 9, 10, 4)
    found, places = best(np.moveaxis(x, axis, -1), 3, None, (0, 0))
    want = [np.moveaxis(found, -1, axis), np.moveaxis(places, -1, axis)]
    body = f"%v, %i = pypto.topk %x k 3 axis {axis}"
    text = program(body, {"x": x}, want, False, results="%v, %i", fixed=1)
    check(Case(text, {"x": x}, want))


ONE_HOT = [((9, 4), 16), ((9, 700), 40), ((3, 4, 2), 9000), ((5,), 8), ((3, 0), 5)]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("shape", "size"), ONE_HOT)
def test_one_hot(shape: Any, size: int, dynamic: bool) -> None:
    draw = np.random.default_rng(size)
    index = ["i32", "i64"][len(shape) % 2]
    i = draw.integers(-3, size + 3, shape).astype(DTYPES[index])
    want = np.zeros((*shape[:-1], size), np.bool_)
    for place in np.ndindex(shape):
        if 0 <= i[place] < size:
            want[(*place[:-1], i[place])] = True
    body = f"%y = pypto.one_hot %i {size}"
    inputs = {"i": i}
    text = program(body, inputs, [want], dynamic, fixed=1)
    check(Case(text, inputs, [want]))


def sorted_places(x: Array, descending: bool) -> Array:
    """Positions of each row by an ordering of (value, position): NaN is the least."""
    found = np.zeros(x.shape, np.int32)
    wide = x.astype(np.float64) if x.dtype.kind not in "iu" else x.astype(object)
    for row in np.ndindex(x.shape[:-1]):
        numbers = wide[row]

        def key(n: int, numbers: Any = numbers) -> tuple[bool, Any, int]:
            number = numbers[n]
            if number != number:
                return descending, 0, n
            return not descending, -number if descending else number, n

        found[row] = sorted(range(x.shape[-1]), key=key)
    return found


ARGSORT = [
    # element, shape, axis, descending
    ("f32", (5, 64), -1, False),
    ("f32", (5, 64), -1, True),
    ("f32", (9, 30), 0, False),
    ("f32", (2, 3, 2, 4, 5), 2, True),
    ("f16", (100,), 0, False),
    ("bf16", (3, 700), 1, True),
    ("i8", (70, 9), -1, False),
    ("ui8", (4, 33), 1, True),
    ("i16", (2, 2, 20), -1, False),
    ("i64", (3, 4400), -1, True),
    ("f32", (2, 4500), -1, False),
    ("i32", (4, 1), -1, True),
    ("f32", (4, 0), 1, False),
    ("f32", (0, 6), 1, False),
]


@pytest.mark.parametrize(("element", "shape", "axis", "descending"), ARGSORT)
def test_argsort(element: str, shape: Any, axis: int, descending: bool) -> None:
    """Many elements are equal; dynamic sizes for every second case."""
    draw = np.random.default_rng(len(shape))
    x = values(draw, element, *shape)
    moved = sorted_places(np.moveaxis(x, axis, -1), descending)
    want = [np.moveaxis(moved, -1, axis)]
    flag = " {descending}" if descending else ""
    body = f"%y = pypto.argsort %x axis {axis}{flag}"
    text = program(body, {"x": x}, want, sum(shape) % 2 == 0)
    check(Case(text, {"x": x}, want))


@pytest.mark.parametrize("tile", [(1, 64), (8, 1024)])
def test_argsort_in_other_tiles(tile: tuple[int, int]) -> None:
    draw = np.random.default_rng(3)
    x = values(draw, "f32", 3, 2100)
    want = [sorted_places(x, False)]
    body = f"%y = pypto.argsort %x axis 1 {{tile = #pypto.vec<{tile[0]}, {tile[1]}>}}"
    check(Case(program(body, {"x": x}, want, True), {"x": x}, want))


PATTERNS = {
    "P0101": [0, 2],
    "P1010": [1, 3],
    "P0001": [0],
    "P0010": [1],
    "P0100": [2],
    "P1000": [3],
    "P1111": [0, 1, 2, 3],
}


@pytest.mark.parametrize(
    ("length", "dynamic"), [(0, False), (1, True), (8, False), (8, True), (403, False)]
)
def test_gather_mask(length: int, dynamic: bool) -> None:
    """All patterns at once: those of even sizes are views, others select."""
    draw = np.random.default_rng(length)
    x = values(draw, "f16", 2, 3, length)
    names = [f"%y{n}" for n in range(len(PATTERNS))]
    lines = [
        f"{name} = pypto.gather_mask %x pattern {pattern}"
        for name, pattern in zip(names, PATTERNS, strict=True)
    ]
    want = [
        np.ascontiguousarray(x[..., [n for n in range(length) if n % 4 in taken]])
        for taken in PATTERNS.values()
    ]
    text = program(
        "\n  ".join(lines), {"x": x}, want, dynamic, results=", ".join(names)
    )
    check(Case(text, {"x": x}, want))
