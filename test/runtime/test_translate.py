"""Vector instructions and transfers of the executor against independent numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_harness import Array, run_kernel

from pyptoc.dialects.diagnostics import RunError
from pyptoc.dialects.tile_vector import VECTOR_FAMILIES
from pyptoc.runtime import numerics
from pyptoc.runtime.decode import decoder

BF16 = ml_dtypes.bfloat16
DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": BF16,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "i1": np.bool_,
}
FLOATS = ("f32", "f16", "bf16")
INTEGERS = ("i32", "i16", "i8")
ROWS, COLUMNS = 8, 48
M, N = 5, 37
"""The extents used: a tail in both directions of an 8 x 48 buffer."""


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


def random(element: str, shape: tuple[int, int], seed: int, low: float = -4) -> Array:
    generator = np.random.default_rng(seed)
    if element == "i1":
        return generator.integers(0, 2, shape).astype(bool)
    if element in INTEGERS:
        return generator.integers(-100, 100, shape).astype(DTYPES[element])
    return generator.uniform(low, 4, shape).astype(DTYPES[element])


def wide(array: Array) -> Array:
    """Exact values: f64, or i64."""
    is_integer = array.dtype.kind in "iub"
    return array.astype(np.int64 if is_integer else np.float64)


FORM_SHAPES = {"full": (M, N), "row": (M, 1), "col": (1, N), "one": (1, 1)}


def vector(
    instruction: str,
    inputs: list[tuple[Array, str, str]],
    result: str,
    *,
    options: str = "",
    columns: int = COLUMNS,
    seed: int | None = None,
) -> Array:
    """Run `tile.<instruction>` on inputs (array, element type, form).

    `{0}`, `{1}`, .. in the instruction stand for the inputs. Returns the destination,
    which held ones before, [ROWS, columns].
    """
    parameters = [
        f'%x{i}: memref<?x?x{element}, "gm">' for i, (_, element, _) in enumerate(inputs)
    ]
    parameters.append(f'%y: memref<{ROWS}x{columns}x{result}, "gm">')
    lines: list[str] = []
    names: list[str] = []
    for i, (array, element, form) in enumerate(inputs):
        rows, width = array.shape
        lines += [
            f"%b{i} = tile.alloc : !tile.buf<{ROWS}x{COLUMNS}x{element}, ub>",
            f"tile.load %x{i}[0, 0] [{rows}, {width}] into %b{i}",
        ]
        names.append(f"%b{i}" + ("" if form == "full" else f" {form}"))
    one = "1.0" if result in FLOATS else "true" if result == "i1" else "1"
    text = f"""
    npu.kernel @k () ({", ".join(parameters)}, %m: index, %n: index) on vector {{
      {chr(10).join(lines)}
      %d = tile.alloc : !tile.buf<{ROWS}x{columns}x{result}, ub>
      tile.fill {one} into %d [{ROWS}, {columns}]
      tile.barrier
      tile.{instruction.format(*names)} into %d [%m, %n] {options}
      tile.barrier
      tile.store %d [{ROWS}, {columns}] into %y[0, 0]
    }}
    """
    out = np.zeros((ROWS, columns), DTYPES[result])
    run_kernel(text, (), [*(array for array, _, _ in inputs), out], (M, N), seed=seed)
    box = (M, 1 if instruction.startswith("row_") and columns == 1 else N)
    outside = np.ones(out.shape, bool)
    outside[: box[0], : box[1]] = False
    assert (out[outside] == 1).all(), "wrote outside its extents"
    return out[: box[0], : box[1]]


def assert_rounded(got: Array, exact: Array, ulps: float) -> None:
    """`got` is `exact` (f64) rounded to its type, but for `ulps` in the last place."""
    want = exact.astype(np.float32).astype(got.dtype)
    if ulps == 0:
        assert np.array_equal(got, want, equal_nan=True)
        return
    step = {np.float16: 2.0**-10, np.float32: 2.0**-23}.get(got.dtype.type, 2.0**-7)
    np.testing.assert_allclose(
        got.astype(np.float64), want.astype(np.float64), rtol=ulps * step, atol=1e-6
    )


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
        ("div %a, %b into {}", "{zero_if_zero}", "%b", lambda x, y: np.where(y == 0, 0, x / np.where(y == 0, 1, y))),
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


# Reductions --------------------------------------------------------------------------


@pytest.mark.parametrize("element", [*FLOATS, "i32"])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_row_reduction(name: str, element: str) -> None:
    x = random(element, (M, N), 1)
    if name == "prod":
        x = np.sign(x.astype(np.float32)).astype(x.dtype)
    got = vector(f"row_{name} {{0}}", [(x, element, "full")], element, columns=1)
    reduce = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}[name]
    want = reduce(wide(x), axis=1, keepdims=True)
    if element == "i32":
        assert np.array_equal(got, want)
    else:
        assert_rounded(got, want, 0 if name in ("max", "min") else 1)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_row_sum_accumulates_in_f32(element: str) -> None:
    """In its own type the sum of 1 and many small numbers would stay 1."""
    x = np.full((M, N), 2.0**-12, DTYPES[element])
    x[:, 0] = 1
    got = vector("row_sum {0}", [(x, element, "full")], element, columns=1)
    assert_rounded(got, np.sum(wide(x), axis=1, keepdims=True), 0)
    assert (got.astype(np.float32) > 1).all()


def test_row_max_propagates_nan() -> None:
    x = random("f32", (M, N), 1)
    x[2, 5] = np.nan
    got = vector("row_max {0}", [(x, "f32", "full")], "f32", columns=1)
    assert np.isnan(got[2]).all()
    assert not np.isnan(got[[0, 1, 3, 4]]).any()


@pytest.mark.parametrize("element", [*FLOATS, "i32"])
def test_row_cumsum(element: str) -> None:
    x = random(element, (M, N), 1)
    got = vector("row_cumsum {0}", [(x, element, "full")], element)
    want = np.cumsum(wide(x), axis=1)
    if element == "i32":
        assert np.array_equal(got, want)
    else:
        assert_rounded(got, want, 64 if element == "f32" else 1)


EMPTY_REDUCTION = """
npu.kernel @k () (%y: memref<4x1xf32, "gm">, %n: index) on vector {{
  %a = tile.alloc : !tile.buf<4x16xf32, ub>
  %s = tile.alloc : !tile.buf<4x1xf32, ub>
  tile.row_{name} %a into %s [4, %n]
  tile.store %s [4, 1] into %y[0, 0]
}}
"""


@pytest.mark.parametrize(
    ("name", "identity"),
    [("sum", 0.0), ("prod", 1.0), ("max", -np.inf), ("min", np.inf)],
)
def test_reduction_of_nothing(name: str, identity: float) -> None:
    y = np.zeros((4, 1), np.float32)
    run_kernel(EMPTY_REDUCTION.format(name=name), (), [y], (0,))
    assert (y == identity).all()


# Conversions -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "mode", "golden"),
    [
        ("f32", "f16", "", lambda x: x.astype(np.float16)),
        ("f32", "bf16", "rint", lambda x: x.astype(BF16)),
        ("f16", "f32", "", lambda x: x.astype(np.float32)),
        ("bf16", "f32", "", lambda x: x.astype(np.float32)),
        ("f32", "i8", "rint", lambda x: np.clip(np.rint(x), -128, 127)),
        ("f32", "i8", "", lambda x: np.clip(np.trunc(x), -128, 127)),
        ("f32", "i32", "floor", np.floor),
        ("f32", "i32", "ceil", np.ceil),
        ("i32", "f32", "", lambda x: x.astype(np.float32)),
        ("i8", "f16", "", lambda x: x.astype(np.float16)),
        ("f16", "i8", "trunc", lambda x: np.clip(np.trunc(x), -128, 127)),
        ("i32", "i8", "", lambda x: np.clip(x, -128, 127)),
    ],
)
def test_cvt(
    source: str, target: str, mode: str, golden: Callable[[Array], Array]
) -> None:
    x = random(source, (M, N), 1)
    x = (x.astype(np.float32) * 60).astype(x.dtype) if source != "i8" else x
    options = f'{{mode = "{mode}"}}' if mode else ""
    got = vector("cvt {0}", [(x, source, "full")], target, options=options)
    assert np.array_equal(got, golden(x).astype(DTYPES[target]))


def test_cvt_wraps_without_saturation() -> None:
    x = np.full((M, N), 300.0, np.float16)
    got = vector(
        "cvt {0}", [(x, "f16", "full")], "i8", options="{saturate = false}"
    )
    assert (got == 44).all()


@pytest.mark.parametrize("element", [*FLOATS, *INTEGERS, "i1"])
def test_copy_and_fill(element: str) -> None:
    x = random(element, (M, N), 1)
    assert np.array_equal(vector("copy {0}", [(x, element, "full")], element), x)
    row = random(element, (M, 1), 2)
    got = vector("copy {0} row", [(row, element, "full")], element)
    assert np.array_equal(got, np.broadcast_to(row, (M, N)))
    zero = "0.0" if element in FLOATS else "false" if element == "i1" else "0"
    got = vector(f"fill {zero}", [], element)
    assert not got.astype(bool).any()


def test_every_family_is_tested() -> None:
    tested = {*FLOAT_UNARY, *FLOAT_BINARY, *INTEGER_UNARY, *INTEGER_BINARY, *COMPARES}
    tested |= {"clip", "where", "copy", "fill", "cvt", "row_cumsum", "logical_not"}
    tested |= {"row_sum", "row_prod", "row_max", "row_min"}
    assert tested == set(VECTOR_FAMILIES)


# Transfers ---------------------------------------------------------------------------

TRANSFER = """
npu.kernel @k (%i) (%x: memref<{shape}xbf16, "gm">, %y: memref<{shape}xbf16, "gm">,
    %r: index, %c: index, %m: index, %n: index) on vector {{
  %a = tile.alloc : !tile.buf<8x32xbf16, ub>
  tile.load %x[{offsets}] [{extents}] into %a {{dims = [{dims}]}}
  tile.barrier
  tile.store %a [{extents}] into %y[{offsets}] {{dims = [{dims}]}}
}}
"""


@pytest.mark.parametrize(
    ("shape", "offsets", "extents", "dims", "box"),
    [
        ("?x?", "%r, %c", "%m, %n", "0, 1", np.s_[2:7, 3:9]),
        ("?x?", "%r, %c", "%n, %m", "1, 0", np.s_[2:7, 3:9]),
        ("?x3x?", "%r, 1, %c", "%m, %n", "0, 2", np.s_[2:7, 1, 3:9]),
        ("?x3x?", "%r, 1, %c", "%n, %m", "2, 0", np.s_[2:7, 1, 3:9]),
        ("?", "%c", "1, %n", "-1, 0", np.s_[3:9]),
        ("?", "%c", "%m, 1", "0, -1", np.s_[3:8]),
        ("?x?", "%r, %c", "1, 1", "-1, -1", np.s_[2:3, 3:4]),
    ],
)
def test_transfer(shape: str, offsets: str, extents: str, dims: str, box: Any) -> None:
    sizes = [int(s) if s != "?" else 12 for s in shape.split("x")]
    count = math.prod(sizes)
    x = np.arange(count, dtype=np.float32).astype(BF16).reshape(sizes)
    y = np.zeros_like(x)
    want = y.copy()
    want[box] = x[box]
    text = TRANSFER.format(shape=shape, offsets=offsets, extents=extents, dims=dims)
    run_kernel(text, (1,), [x, y], (2, 3, 5, 6))
    assert np.array_equal(y, want)


@pytest.mark.parametrize("combine", ["add", "max", "min"])
def test_combining_store(combine: str) -> None:
    text = f"""
    npu.kernel @k (%i) (%x: memref<2x8xf32, "gm">, %y: memref<?x8xf32, "gm">) on vector {{
      %a = tile.alloc : !tile.buf<2x8xf32, ub>
      tile.load %x[0, 0] [2, 8] into %a
      tile.barrier
      tile.store %a [2, 8] into %y[1, 0] {{combine = "{combine}"}}
    }}
    """
    x, y = random("f32", (2, 8), 1), random("f32", (4, 8), 2)
    want = y.copy()
    fold = {"add": np.add, "max": np.maximum, "min": np.minimum}[combine]
    want[1:3] = fold(want[1:3], x)
    if combine == "add":
        want[1:3] = fold(want[1:3], x)
    run_kernel(text, (2,), [x, y])
    assert np.array_equal(y, want)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((-1, 0, 4, 8), r"load of %x rows -1 \+: 4 starts before 0"),
        ((9, 0, 4, 8), r"load of %x rows 9 \+: 4 ends at 13, %x has 12 rows"),
        ((0, 9, 4, 8), r"load of %x columns 9 \+: 8 ends at 17, %x has 12 columns"),
        ((0, 0, 9, 8), "rows is 9, but lies in 0 to 8"),
        ((0, 0, 4, -1), "columns is -1, but lies in 0 to 32"),
    ],
)
@pytest.mark.parametrize("seed", [None, 1])
def test_out_of_bounds(
    numbers: tuple[int, ...], message: str, seed: int | None
) -> None:
    text = TRANSFER.format(shape="?x?", offsets="%r, %c", extents="%m, %n", dims="0, 1")
    x = np.zeros((12, 12), BF16)
    with pytest.raises(RunError, match=message) as caught:
        run_kernel(text, (1,), [x, x.copy()], numbers, seed=seed)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "PTO402"
    assert diagnostic.at_run_time
    assert ":5:3" in str(diagnostic.location) or "5" in str(diagnostic)
    assert "in task (%i = 0) of @k" in diagnostic.notes[-1].message


# Decoding ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E8M0FNU"])
def test_decoding_all_codes(name: str) -> None:
    """Every code, in boxes with and without infinities, contiguous or not."""
    dtype = numerics.storage_dtype(name)
    codes = np.arange(256**dtype.itemsize, dtype=f"u{dtype.itemsize}")
    values = codes.view(dtype)
    finite = values[np.isfinite(values.astype(np.float32))]
    for chosen in (values, finite):
        for columns in (2, 7, len(chosen) // 2):
            rows = len(chosen) // columns
            box = chosen[: rows * columns].reshape(rows, columns)
            for view in (box, box[:, : columns - 1], box.T):
                scratch = np.empty(view.size, np.float32)
                got = decoder(dtype)(view, scratch)
                assert np.array_equal(got, view.astype(np.float32), equal_nan=True)
                assert np.array_equal(np.signbit(got), np.signbit(view.astype(np.float32)))
