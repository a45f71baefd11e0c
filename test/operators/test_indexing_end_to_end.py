"""
Indexing ops from text to values, against definitions in numpy.

Each case is a program, random inputs for it, and what its results should be by a
definition that loops over indices. It runs in the interpreter at the tensor level and
at the task level, and compiled for both machines: in program order, and with the pipes
of each core as far apart as the flags allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from task_order import record

from pyptoc.api import compile
from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError, RunError
from pyptoc.dialects.parsing import parse_module
from pyptoc.pipeline import default_pipeline
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.reference import interpret

Array = NDArray[Any]
Inputs = dict[str, Any]
MACHINES = ("ascend950", "ascend910b")
ORDERS = (1, 2, 3)
DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "i8": np.int8,
    "ui8": np.uint8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "i1": np.bool_,
}


@dataclass(frozen=True)
class Case:
    """A program, its inputs, and its results by definition."""

    text: str
    inputs: Inputs
    want: list[Array]
    name: str = field(default="", compare=False)


def values(draw: np.random.Generator, element: str, *shape: int) -> Array:
    """Numbers of which several are equal; floats with NaN, infinities and -0.0."""
    whole = draw.integers(-9, 10, shape)
    if element == "i1":
        return whole > 0
    if element.startswith(("i", "ui")):
        return (np.abs(whole) if element == "ui8" else whole).astype(DTYPES[element])
    number = whole.astype(np.float32) / 4
    special = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)
    hit = draw.random(shape) < 0.1
    number = np.where(hit, draw.choice(special, shape), number)
    with np.errstate(all="ignore"):
        return number.astype(DTYPES[element])


def same(got: Array, want: Array) -> bool:
    """Equal bits, every NaN being one."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype.kind in "iub":
        return bool((got == want).all())
    a, b = got.astype(np.float64), want.astype(np.float64)
    nan = np.isnan(a) & np.isnan(b)
    return bool((nan | ((a == b) & (np.signbit(a) == np.signbit(b)))).all())


def type_of(array: Array, dynamic: bool, fixed: int = 0) -> str:
    """`tensor<?x4xf32>`; all dimensions but the last `fixed` ones `?`, or none."""
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    free = array.ndim - fixed if dynamic else 0
    sizes = ["?"] * free + [str(size) for size in array.shape[free:]]
    return f"tensor<{'x'.join([*sizes, names[array.dtype]])}>"


def program(
    body: str,
    inputs: dict[str, Array],
    want: list[Array],
    dynamic: bool,
    results: str = "%y",
    named: str = "",
    fixed: int = 0,
) -> str:
    """A function of the inputs; of the results the last dimensions may be fixed."""
    arguments = ", ".join(
        f"%{name}: {type_of(array, dynamic)}" for name, array in inputs.items()
    )
    name = f' {{pypto.name = "{named}"}}' if named else ""
    types = ", ".join(type_of(array, dynamic, fixed) + name for array in want)
    plain = ", ".join(type_of(array, dynamic, fixed) for array in want)
    return (
        f"func.func @f({arguments}) -> ({types}) {{\n  {body}\n"
        f"  func.return {results} : {plain}\n}}\n"
    )


def results_of(found: dict[str, Array]) -> list[Array]:
    return list(found.values())


def check(case: Case) -> None:
    """Every level, both machines, every order."""
    module = parse_module(case.text, "op.mlir", make_context())
    module.verify()
    expect("the source", interpret(module, case.inputs), case)
    for machine in MACHINES:
        tasks = compile(case.text, machine=machine, pipeline=default_pipeline("tasks"))
        expect("tasks", interpret(tasks.module, case.inputs), case)
        program = compile(case.text, machine=machine)
        executable = Executable(program.module, load_machine(machine), check=True)
        for order in (None, *ORDERS):
            found = executable.run(case.inputs, order=order)
            expect(f"{machine}, order {order}", found, case)


def expect(what: str, found: dict[str, Array], case: Case) -> None:
    got = results_of(found)
    assert len(got) == len(case.want)
    for number, (a, b) in enumerate(zip(got, case.want, strict=True)):
        if not same(a, b):
            pytest.fail(f"{what}: result {number} is\n{a}\nnot\n{b}\n{case.text}")


# Gathers ------------------------------------------------------------------------------


def gather_rows(x: Array, at: Array, pad: int | None = None) -> Array:
    want = np.zeros((*at.shape, *x.shape[1:]), x.dtype)
    for place in np.ndindex(at.shape):
        if at[place] != pad:
            want[place] = x[at[place]]
    return want


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


@pytest.mark.parametrize("element", [*DTYPES])
@pytest.mark.parametrize("index", ["i32", "i64"])
def test_gather_rows_types(element: str, index: str) -> None:
    draw = np.random.default_rng(3)
    x, i = values(draw, element, 9, 40), draw.integers(-1, 9, 20)
    inputs = {"x": x, "i": i.astype(DTYPES[index])}
    want = [gather_rows(x, i, -1)]
    body = "%y = pypto.gather_rows %x at %i {pad = -1}"
    check(Case(program(body, inputs, want, True), inputs, want))


@pytest.mark.parametrize("index", ["i32", "i64"])
@pytest.mark.parametrize("count", [0, 1, 70])
@pytest.mark.parametrize("page", [1, 4, 128])
def test_page_table(page: int, count: int, index: str) -> None:
    draw = np.random.default_rng(page)
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


# Scatters -----------------------------------------------------------------------------


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


@pytest.mark.parametrize("element", [*DTYPES])
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


# Top-k and one-hot --------------------------------------------------------------------


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
    if k == 2048:
        x = np.where(np.isnan(x), x, draw.random(shape, np.float32)).astype(x.dtype)
    order = np.argsort(-x, axis=-1, kind="stable")[..., :k].astype(np.int32)
    want = [np.take_along_axis(x, order, -1), order]
    if k < 100:
        assert all(map(same, best(x, k, None, (0, 0)), want)), "two definitions"
    inputs = {"x": x}
    body = f"%v, %i = pypto.topk %x k {k} axis -1"
    text = program(body, inputs, want, dynamic, results="%v, %i", fixed=1)
    check(Case(text, inputs, want))


@pytest.mark.parametrize("length", [0, 1, 5, 7, 3000])
@pytest.mark.parametrize("element", ["f32", "f16", "bf16", "i8", "ui8", "i32", "i64"])
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
@pytest.mark.parametrize("index", ["i32", "i64"])
@pytest.mark.parametrize(("shape", "size"), ONE_HOT)
def test_one_hot(shape: Any, size: int, index: str, dynamic: bool) -> None:
    draw = np.random.default_rng(size)
    i = draw.integers(-3, size + 3, shape).astype(DTYPES[index])
    want = np.zeros((*shape[:-1], size), np.bool_)
    for place in np.ndindex(shape):
        if 0 <= i[place] < size:
            want[(*place[:-1], i[place])] = True
    body = f"%y = pypto.one_hot %i {size}"
    inputs = {"i": i}
    text = program(body, inputs, [want], dynamic, fixed=1)
    check(Case(text, inputs, [want]))


# Order --------------------------------------------------------------------------------

CHAINS = {
    "scatter": """%a = pypto.scatter_rows %r into %x at %i
  %b = pypto.scatter_rows %s into %a at %i {unique}
  %y = pypto.gather_rows %b at %i""",
    "add": """%a = pypto.index_add %r into %x at %i axis 0
  %b = pypto.index_add %s into %a at %i axis 0
  %y = pypto.index_select %b at %i axis 1""",
    "page": """%a = pypto.mul %x, 2.0
  %b = pypto.gather_rows %a at %i through %t page 4
  %u = pypto.add %t, 0
  %c = pypto.gather_rows %b at %i through %u page 4
  %y = pypto.index_add %c into %b at %i axis 0""",
    "top": """%a = pypto.mul %x, 2.0
  %v, %k = pypto.topk %a k 12 axis -1
  %p = pypto.gather %a, %k axis -1
  %h = pypto.one_hot %k 24
  %z = pypto.where %h, %a, 0.0
  %w, %l = pypto.topk %z k 12 axis -1
  %m = pypto.add %p, %v
  %y = pypto.add %m, %w""",
}


@pytest.mark.parametrize("name", CHAINS)
def test_tasks_wait_for_what_they_touch(name: str) -> None:
    """No two tasks that may meet are without an order, and none does what it hides."""
    inputs = failing_inputs()
    inputs["s"] = inputs["r"][::-1].copy()
    inputs["i"] = np.arange(20, dtype=np.int32)
    inputs["r"], inputs["s"] = inputs["r"][:20], inputs["s"][:20]
    kind = "tensor<?x12xf32>" if name == "top" else "tensor<?x?xf32>"
    small = "attributes {pypto.tiles = #pypto.tiles<vec = [8, 8]>}"
    text = whole_program(CHAINS[name], inputs, kind, small)
    module = compile(text).module
    order, _ = record(module, load_machine("ascend950"), inputs)
    assert len(order.launches) >= 3
    assert order.problems() == []
    assert order.undeclared() == []


# What indexing must not do ------------------------------------------------------------


ERRORS: list[tuple[str, str, Callable[[Inputs], None], str, str]] = [
    (
        "gather_rows",
        "%y = pypto.gather_rows %x at %i",
        lambda v: v["i"].__setitem__(67, 20),
        "gather_rows: index 20 at position 67 of %i",
        "valid indices are 0 to 19",
    ),
    (
        "negative",
        "%y = pypto.gather_rows %x at %i",
        lambda v: v["i"].__setitem__(3, -1),
        "gather_rows: index -1 at position 3 of %i",
        "valid indices are 0 to 19",
    ),
    (
        "page",
        "%y = pypto.gather_rows %x at %i through %t page 4",
        lambda v: v["t"].__setitem__(2, 5),
        "is in page 5",
        "pages are 0 to 4",
    ),
    (
        "table",
        "%y = pypto.gather_rows %x at %i through %t page 4",
        lambda v: v["i"].__setitem__(66, 24),
        "gather_rows: index 24 at position 66 of %i",
        "valid indices are 0 to 23",
    ),
    (
        "gather",
        "%y = pypto.gather %x, %g axis 0",
        lambda v: v["g"].__setitem__((65, 5), 20),
        "gather: index 20 at position [65, 5] of %g",
        "valid indices are 0 to 19",
    ),
    (
        "index_select",
        "%y = pypto.index_select %x at %i axis 1",
        lambda v: v["i"].__setitem__(69, 24),
        "index_select: index 24 at position 69 of %i",
        "valid indices are 0 to 23",
    ),
    (
        "scatter_rows",
        "%y = pypto.scatter_rows %r into %x at %i {skip = -2}",
        lambda v: v["i"].__setitem__(68, -1),
        "scatter_rows: index -1 at position 68 of %i",
        "valid indices are 0 to 19",
    ),
    (
        "index_add",
        "%y = pypto.index_add %r into %x at %i axis 0",
        lambda v: v["i"].__setitem__(0, 2**31 - 1),
        "index_add: index 2147483647 at position 0 of %i",
        "valid indices are 0 to 19",
    ),
]


def failing_inputs() -> Inputs:
    draw = np.random.default_rng(0)
    return {
        "x": values(draw, "f32", 20, 24),
        "r": values(draw, "f32", 70, 24),
        "i": draw.integers(0, 20, 70).astype(np.int32),
        "g": draw.integers(0, 20, (70, 24)).astype(np.int32),
        "t": np.array([1, 0, 2, 4, 3, 2], np.int32),
    }


@pytest.mark.parametrize("level", ["source", "tasks", *MACHINES])
@pytest.mark.parametrize(
    ("body", "spoil", "message", "rule"),
    [case[1:] for case in ERRORS],
    ids=[case[0] for case in ERRORS],
)
def test_illegal_index(
    level: str,
    body: str,
    spoil: Callable[[Inputs], None],
    message: str,
    rule: str,
) -> None:
    """PTO408 at the op, with the index, its position and what would be legal."""
    inputs = failing_inputs()
    if level == "source":
        inputs["x"] = inputs["x"].copy()
    text = whole_program(body, inputs)
    run_at(level, text, inputs)
    spoil(inputs)
    (found,) = failure_of(level, text, inputs)
    assert found.code == "PTO408"
    assert message in found.message
    assert found.rule == rule
    assert found.location is not None
    assert found.location.line.data == 2  # pyright: ignore


def whole_program(
    body: str, inputs: Inputs, kind: str = "tensor<?x?xf32>", attributes: str = ""
) -> str:
    """A function of `inputs`, all sizes dynamic, whose body defines %y."""
    arguments = ", ".join(
        f"%{name}: {type_of(array, True)}" for name, array in inputs.items()
    )
    return (
        f"func.func @f({arguments}) -> {kind} {attributes} {{\n"
        f"  {body}\n  func.return %y : {kind}\n}}\n"
    )


def run_at(level: str, text: str, inputs: Inputs) -> Any:
    if level == "source":
        return interpret(parse_module(text, "op.mlir", make_context()), inputs)
    if level == "tasks":
        tasks = compile(text, pipeline=default_pipeline("tasks"))
        return interpret(tasks.module, inputs)
    return compile(text, machine=level).run(**inputs)


def failure_of(level: str, text: str, inputs: Inputs) -> tuple[Any, ...]:
    with pytest.raises(RunError) as failure:
        run_at(level, text, inputs)
    return failure.value.diagnostics


@pytest.mark.parametrize("level", ["source", "tasks", *MACHINES])
def test_unique(level: str) -> None:
    inputs = failing_inputs()
    inputs["i"] = np.arange(70, dtype=np.int32) % 20
    inputs["x"] = np.zeros((70, 24), np.float32)
    text = whole_program("%y = pypto.scatter_rows %r into %x at %i {unique}", inputs)
    (found,) = failure_of(level, text, inputs)
    assert found.code == "PTO408"
    inputs["i"] = np.arange(70, dtype=np.int32)[::-1].copy()
    assert same(run_at(level, text, inputs)["result0"], inputs["r"][::-1])


@pytest.mark.parametrize("level", ["source", "tasks", *MACHINES])
def test_topk_of_too_few(level: str) -> None:
    inputs = {"x": np.zeros((3, 5), np.float32), "n": np.array([4, 5, 3], np.int32)}
    for clause, k in (("", 6), (" lengths %n", 4)):
        body = f"%v, %y = pypto.topk %x k {k} axis -1{clause}"
        text = whole_program(body, inputs, f"tensor<?x{k}xi32>")
        (found,) = failure_of(level, text, inputs)
        assert found.code in ("PTO404", "PTO402"), found
        assert found.location is not None


def test_topk_of_too_few_is_known_when_compiling() -> None:
    text = """func.func @f(%x: tensor<3x5xf32>) -> tensor<3x6xi32> {
  %v, %i = pypto.topk %x k 6 axis -1
  func.return %i : tensor<3x6xi32>
}
"""
    with pytest.raises(CompileError):
        compile(text)
