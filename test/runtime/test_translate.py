"""Elementwise vector instructions of the executor against independent numpy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from kernel_harness import (
    FLOATS,
    FORM_SHAPES,
    INTEGERS,
    Array,
    M,
    N,
    assert_rounded,
    random,
    run_kernel,
    vector,
    wide,
)

from pyptoc.dialects.diagnostics import RunError
from pyptoc.dialects.tile_vector import VECTOR_FAMILIES


def each(function: Callable[..., float]) -> Callable[..., Array]:
    """A scalar function of Python floats, applied to every element."""

    def apply(*arrays: Array) -> Array:
        arrays = tuple(np.asarray(array, np.float64) for array in arrays)
        return np.frompyfunc(function, len(arrays), 1)(*arrays).astype(np.float64)

    return apply


def sigmoid(x: float) -> float:
    if x == -math.inf:
        return 0.0
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def silu(x: float) -> float:
    return -0.0 if x == -math.inf else x * sigmoid(x)


def relu(x: float) -> float:
    return x if math.isnan(x) or x > 0 else 0.0


def nan_extreme(pick: Callable[[float, float], float]) -> Callable[..., float]:
    def extreme(x: float, y: float) -> float:
        return math.nan if math.isnan(x) or math.isnan(y) else pick(x, y)

    return extreme


# Each golden takes the inputs as float64 (floats) or int64 (integers).
FLOAT_UNARY: dict[str, Callable[..., Array]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": each(sigmoid),
    "silu": each(silu),
    "gelu": each(lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2),
    "tanh": np.tanh,
    "reciprocal": lambda x: 1 / x,
    "sin": np.sin,
    "cos": np.cos,
    "erf": each(math.erf),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "neg": lambda x: -x,
    "abs": np.abs,
    "relu": each(relu),
}
FLOAT_BINARY: dict[str, Callable[..., Array]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "maximum": each(nan_extreme(max)),
    "minimum": each(nan_extreme(min)),
    "rem": np.fmod,
    "pow": lambda x, y: np.abs(x) ** y,
}
INTEGER_UNARY: dict[str, Callable[..., Array]] = {
    "neg": lambda x: -x,
    "abs": np.abs,
    "relu": lambda x: x * (x > 0),
    "bitwise_not": lambda x: -1 - x,
}
INTEGER_BINARY: dict[str, Callable[..., Array]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "maximum": lambda x, y: x * (x >= y) + y * (x < y),
    "minimum": lambda x, y: x * (x <= y) + y * (x > y),
    "floordiv": lambda x, y: np.array(
        [[int(a) // int(b) for a, b in zip(r, s)] for r, s in zip(x, y)]
    ),
    "rem": lambda x, y: np.array(
        [[int(math.fmod(a, b)) for a, b in zip(r, s)] for r, s in zip(x, y)]
    ),
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
}
COMPARES: dict[str, Callable[..., Array]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
EXACT = {"add", "sub", "mul", "div", "maximum", "minimum", "floor", "ceil", "trunc"}
EXACT |= {"round", "neg", "abs", "relu", "reciprocal", "rem", "sqrt"}


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("name", FLOAT_UNARY)
def test_float_unary(name: str, element: str) -> None:
    low = 0.1 if name in ("log", "sqrt", "rsqrt") else -4
    x = random(element, (M, N), 1, low)
    got = vector(f"{name} {{0}}", [(x, element, "full")], element)
    assert_rounded(got, FLOAT_UNARY[name](wide(x)), 0 if name in EXACT else 4)


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_float_binary(name: str, element: str) -> None:
    x, y = random(element, (M, N), 1), random(element, (M, N), 2)
    if name == "pow":
        x = np.abs(x)
    got = vector(
        f"{name} {{0}}, {{1}}", [(x, element, "full"), (y, element, "full")], element
    )
    assert_rounded(got, FLOAT_BINARY[name](wide(x), wide(y)), 0 if name in EXACT else 4)


@pytest.mark.parametrize("form", ["row", "col", "one"])
@pytest.mark.parametrize("element", ["f32", "bf16", "i32"])
def test_forms(form: str, element: str) -> None:
    x, y = random(element, (M, N), 1), random(element, FORM_SHAPES[form], 2)
    for given in (f"sub {{0}}, {{1}} {form}", f"sub {{1}} {form}, {{0}}"):
        inputs = [(x, element, "full"), (y, element, "full")]
        got = vector(given, inputs, element)
        first, second = (x, y) if given.index("{0}") < given.index("{1}") else (y, x)
        want = wide(first) - wide(second)
        if element == "i32":
            assert np.array_equal(got, want)
        else:
            assert_rounded(got, want, 0)


def test_literal_and_scalar() -> None:
    x = random("bf16", (M, N), 1)
    got = vector("sub 1.5, {0}", [(x, "bf16", "full")], "bf16")
    assert_rounded(got, 1.5 - wide(x), 0)
    x = random("i8", (M, N), 1)
    got = vector("maximum {0}, -7", [(x, "i8", "full")], "i8")
    assert np.array_equal(got, np.maximum(x, -7))
    text = """
    npu.kernel @k () (%x: memref<4x8xf32, "gm">, %s: f32) on vector {
      %a = tile.alloc : !tile.buf<4x8xf32, ub>
      tile.load %x[0, 0] [4, 8] into %a
      tile.mul %a, %s into %a [4, 8]
      tile.store %a [4, 8] into %x[0, 0]
    }
    """
    y = random("f32", (4, 8), 2)
    want = y * np.float32(0.3)
    run_kernel(text, (), [y], (0.3,))
    assert np.array_equal(y, want)


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize("name", INTEGER_UNARY)
def test_integer_unary(name: str, element: str) -> None:
    x = random(element, (M, N), 1)
    x[0, 0] = np.iinfo(x.dtype).min
    got = vector(f"{name} {{0}}", [(x, element, "full")], element)
    assert np.array_equal(got, INTEGER_UNARY[name](wide(x)).astype(x.dtype))


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_integer_binary(name: str, element: str) -> None:
    x, y = random(element, (M, N), 1), random(element, (M, N), 2)
    y[y == 0] = 3
    inputs = [(x, element, "full"), (y, element, "full")]
    got = vector(f"{name} {{0}}, {{1}}", inputs, element)
    want = INTEGER_BINARY[name](wide(x), wide(y))
    assert np.array_equal(got, want.astype(x.dtype))


@pytest.mark.parametrize("element", INTEGERS)
def test_shifts(element: str) -> None:
    x = random(element, (M, N), 1)
    low, width = np.iinfo(x.dtype).min, x.dtype.itemsize * 8
    count = np.arange(M * N).reshape(M, N) % (width + 6) - (3 if low else 0)
    y = count.astype(x.dtype)
    inputs = [(x, element, "full"), (y, element, "full")]
    left = vector("shift_left {0}, {1}", inputs, element)
    right = vector("shift_right {0}, {1}", inputs, element)
    for place in np.ndindex(M, N):
        number, places = int(x[place]), int(count[place])
        inside = 0 <= places < width
        up = (number << places) % 2**width if inside else 0
        assert int(left[place]) % 2**width == up
        assert right[place] == number >> (places if inside else width)


@pytest.mark.parametrize("element", INTEGERS)
def test_checked_add(element: str) -> None:
    x = random(element, (M, N), 1)
    limits = np.iinfo(x.dtype)
    x[0, 0], x[0, 1] = limits.max - 5, limits.min + 5
    y = np.zeros_like(x)
    y[0, 0], y[0, 1] = 5, -5
    inputs = [(x, element, "full"), (y, element, "full")]
    options = " {checked}"
    got = vector("add {0}, {1}", inputs, element, options=options)
    assert np.array_equal(got, wide(x) + wide(y))
    for place, step in (((0, 0), 1), ((0, 1), -1)):
        y[place] += step
        with pytest.raises(RunError, match=f"a sum does not fit in {element}"):
            vector("add {0}, {1}", inputs, element, options=options)
        y[place] -= step


@pytest.mark.parametrize("name", ["floordiv", "rem"])
def test_division_by_zero(name: str) -> None:
    x = np.ones((M, N), np.int32)
    x[M - 1, N - 1] = 0
    with pytest.raises(RunError, match="division by zero"):
        vector(f"{name} 7, {{0}}", [(x, "i32", "full")], "i32")


@pytest.mark.parametrize(("number", "fits"), [(127, True), (128, False), (-129, False)])
def test_integer_scalar_must_fit(number: int, fits: bool) -> None:
    text = """
    npu.kernel @k () (%x: memref<4x8xi8, "gm">, %s: index) on vector {
      %a = tile.alloc : !tile.buf<4x8xi8, ub>
      tile.fill %s into %a [4, 8]
      tile.store %a [4, 8] into %x[0, 0]
    }
    """
    y = np.zeros((4, 8), np.int8)
    if fits:
        run_kernel(text, (), [y], (number,))
        assert (y == number).all()
        return
    with pytest.raises(RunError, match=f"{number} does not fit in i8"):
        run_kernel(text, (), [y], (number,))


@pytest.mark.parametrize("name", ["and", "or", "xor", "logical_not"])
def test_truth(name: str) -> None:
    x, y = random("i1", (M, N), 1), random("i1", (M, N), 2)
    if name == "logical_not":
        got, want = vector(f"{name} {{0}}", [(x, "i1", "full")], "i1"), ~x
    else:
        inputs = [(x, "i1", "full"), (y, "i1", "full")]
        got = vector(f"{name} {{0}}, {{1}}", inputs, "i1")
        want = {"and": x & y, "or": x | y, "xor": x ^ y}[name]
    assert np.array_equal(got, want)


@pytest.mark.parametrize("element", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("name", COMPARES)
def test_compare(name: str, element: str) -> None:
    x, y = random(element, (M, N), 1), random(element, (M, N), 2)
    y[:, ::3] = x[:, ::3]
    if element in FLOATS:
        x[0, 0] = y[1, 1] = np.nan
    inputs = [(x, element, "full"), (y, element, "full")]
    got = vector(f"{name} {{0}}, {{1}}", inputs, "i1")
    assert np.array_equal(got, COMPARES[name](wide(x), wide(y)))


@pytest.mark.parametrize("element", ["f32", "bf16", "i32"])
def test_clip(element: str) -> None:
    x, low = random(element, (M, N), 1), random(element, (M, 1), 2)
    if element != "i32":
        x[0, 0] = np.nan
    high = "2" if element == "i32" else "2.0"
    inputs = [(x, element, "full"), (low, element, "row")]
    got = vector(f"clip {{0}}, {{1}}, {high}", inputs, element)
    want = np.minimum(np.maximum(wide(x), wide(low)), 2)
    assert np.array_equal(wide(got), want, equal_nan=element != "i32")


@pytest.mark.parametrize("element", ["f32", "f16", "bf16", "i8"])
def test_where(element: str) -> None:
    c = random("i1", (M, N), 1)
    x, y = random(element, (M, N), 2), random(element, (1, N), 3)
    inputs = [(c, "i1", "full"), (x, element, "full"), (y, element, "col")]
    got = vector("where {0}, {1}, {2}", inputs, element)
    assert np.array_equal(got, np.where(c, x, y))


def div_zero_if_zero(x: Array, y: Array) -> Array:
    return np.where(y == 0, 0, x / np.where(y == 0, 1, y))


IN_PLACE = """
npu.kernel @k () (%p: memref<4x16xf32, "gm">, %q: memref<4x16xf32, "gm">) on vector {{
  %a = tile.alloc {at0} : !tile.buf<4x16xf32, ub>
  %b = tile.alloc {at1} : !tile.buf<4x16xf32, ub>
  %c = tile.alloc {at2} : !tile.buf<4x16xi1, ub>
  %d = tile.alloc {at3} : !tile.buf<4x16xf32, ub>
  tile.load %p[0, 0] [4, 16] into %a
  tile.load %q[0, 0] [4, 16] into %b
  tile.barrier
  tile.gt %a, %b into %c [4, 16]
  tile.{op} [4, 16] {options}
  tile.barrier
  tile.store {result} [4, 16] into %p[0, 0]
}}
"""


@pytest.mark.parametrize("shared", ["same buffer", "same address"])
@pytest.mark.parametrize(
    ("op", "options", "place", "golden"),
    [
        ("where %c, %a, %b into {}", "", "%a", lambda x, y: np.where(x > y, x, y)),
        ("where %c, %b, %a into {}", "", "%a", lambda x, y: np.where(x > y, y, x)),
        ("where %c, %a, %b into {}", "", "%b", lambda x, y: np.where(x > y, x, y)),
        ("clip %a, -1.0, %b into {}", "", "%b", lambda x, y: np.clip(x, -1, y)),
        ("clip %a, %b, 1.0 into {}", "", "%a", lambda x, y: np.clip(x, y, 1)),
        ("div %a, %b into {}", "{zero_if_zero}", "%b", div_zero_if_zero),
        ("silu %a into {}", "", "%a", lambda x, y: x / (1 + np.exp(-x))),
        ("gelu %a into {}", "", "%a", FLOAT_UNARY["gelu"]),
        ("sub %a, %b into {}", "", "%b", lambda x, y: x - y),
    ],
)  # fmt: skip
def test_in_place(
    op: str, options: str, place: str, golden: Callable[..., Array], shared: str
) -> None:
    """A destination that is an input, by name or by its address."""
    if shared == "same address":
        ats = [f"{{addr = {1024 * i}}}" for i in range(3)]
        ats.append(ats[0] if place == "%a" else ats[1])
        dest = "%d"
    else:
        ats, dest = [""] * 4, place
    text = IN_PLACE.format(
        op=op.format(dest),
        options=options,
        result=dest,
        **{f"at{i}": at for i, at in enumerate(ats)},
    )
    x, y = random("f32", (4, 16), 1), random("f32", (4, 16), 2)
    y[1] = 0
    want = golden(x) if op.startswith("gelu") else golden(x, y)
    run_kernel(text, (), [x, y])
    np.testing.assert_allclose(x, want, rtol=1e-5, atol=1e-6)


def test_silu_and_sigmoid_of_infinities() -> None:
    x = np.full((M, N), -np.inf, np.float32)
    x[0], x[1], x[2] = np.inf, -1e4, np.nan
    got = vector("silu {0}", [(x, "f32", "full")], "f32")
    assert (got[0] == np.inf).all()
    assert np.isnan(got[2]).all()
    assert (got[[1, 3]] == 0).all()
    assert np.signbit(got[[1, 3]]).all()
    got = vector("sigmoid {0}", [(x, "f32", "full")], "f32")
    assert (got[0] == 1).all()
    assert (got[[1, 3]] == 0).all()


def test_div_zero_if_zero() -> None:
    for element in FLOATS:
        x, y = random(element, (M, N), 1), random(element, (M, 1), 2)
        y[1] = 0
        x[1, 0] = np.nan
        inputs = [(x, element, "full"), (y, element, "row")]
        got = vector("div {0}, {1} row", [inputs[0], (y, element, "full")], element,
                     options="{zero_if_zero}")  # fmt: skip
        with np.errstate(all="ignore"):
            want = wide(x) / wide(y)
        want[1] = 0
        assert_rounded(got, want, 0)


def test_every_family_is_tested() -> None:
    tested = {*FLOAT_UNARY, *FLOAT_BINARY, *INTEGER_UNARY, *INTEGER_BINARY, *COMPARES}
    tested |= {"clip", "where", "copy", "fill", "cvt", "row_cumsum", "logical_not"}
    tested |= {"shift_left", "shift_right"}
    tested |= {"row_sum", "row_prod", "row_max", "row_min", "arange", "mask_causal"}
    assert tested == set(VECTOR_FAMILIES)
