"""
Every form of quantisation and its way back, against loops over lines of elements.

`by_range` and `by_amax` are the definitions, one line at a time in f32; the source, the
tasks and the compiled program give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import pyptoc

Array = NDArray[Any]
F32 = np.float32
ELEMENTS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
INF, NAN = np.inf, np.nan


def saturated(number: float) -> int:
    return 0 if np.isnan(number) else int(min(max(number, -128), 127))


def by_range(line: Array) -> tuple[list[int], Any, int]:
    """Values, scale and zero point of one line, from its range, which holds 0."""
    if np.isnan(line).any():
        return [0] * len(line), F32(NAN), 0
    low, high = F32(0), F32(0)
    for x in line:
        low, high = (x if x < low else low), (x if x > high else high)
    scale = (high - low) / F32(255)
    if scale == 0:
        return [0] * len(line), scale, 0
    zero = saturated(np.rint(F32(-128) - low / scale))
    return [saturated(np.rint(x / scale) + zero) for x in line], scale, zero


def by_amax(line: Array) -> tuple[list[int], Any]:
    """Values and scale of one line, from its greatest magnitude."""
    ratio = F32(127) / np.max(np.abs(line), initial=F32(-INF))
    scale = F32(1) / ratio
    if np.isinf(ratio):
        return [0] * len(line), scale
    return [saturated(np.rint(x * ratio)) for x in line], scale


def lines_of(
    x: Array, axis: int | None, group: int | None
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Where each line is that shares a scale, and where its scale is."""
    if axis is None:
        yield (..., *[slice(None)] * x.ndim), (0,) * x.ndim
        return
    axis %= x.ndim
    counts = list(x.shape)
    size = group or x.shape[axis]
    counts[axis] = x.shape[axis] // group if group else 1
    for place in np.ndindex(*counts):
        key: list[Any] = list(place)
        start = place[axis] * size
        key[axis] = slice(start, start + size)
        yield tuple(key), place


def defined(
    rule: Callable[[Array], tuple[Any, ...]],
    x: Array,
    axis: int | None,
    group: int | None = None,
) -> list[Array]:
    """All results of quantising `x` by a rule for one line."""
    shape = [1] * x.ndim if axis is None else list(x.shape)
    if axis is not None:
        shape[axis] = x.shape[axis] // group if group else 1
    results = [np.zeros(x.shape, np.int8), np.zeros(shape, F32)]
    results.append(np.zeros(shape, np.int32))
    with np.errstate(all="ignore"):
        for key, place in lines_of(x, axis, group):
            line = x[key].astype(F32)
            values, *parameters = rule(line.reshape(-1))
            results[0][key] = np.array(values, np.int8).reshape(line.shape)
            for result, parameter in zip(results[1:], parameters, strict=False):
                result[place] = parameter
    return results if rule is by_range else results[:2]


def type_of(shape: tuple[int, ...], element: str, fixed: bool) -> str:
    sizes = "".join(f"{n}x" if fixed or n == 1 else "?x" for n in shape)
    return f"tensor<{sizes}{element}>"


def check(text: str, inputs: dict[str, Array], want: list[Array], machine: str) -> None:
    """Equal bits at the tensor level and compiled; every NaN is one."""
    for pipeline in ("", None):
        program = pyptoc.compile(text, machine=machine, pipeline=pipeline)
        found = list(program.run(**inputs).values())
        for number, (got, expected) in enumerate(zip(found, want, strict=True)):
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(
                got.astype(F32), expected.astype(F32), f"result {number} of {text}"
            )


def special(draw: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Lines of all kinds: zeros, one sign, tiny, huge, NaN, infinities."""
    x = draw.normal(size=shape).astype(F32) * F32(3)
    kinds = (0.0, 1e-45, 1e-38, NAN, INF, -INF, 3e38, -3e38)
    for row, kind in zip(x, kinds, strict=False):
        row.reshape(-1)[:1] = kind
        if kind == 0 or abs(kind) < 1e-30:
            row.reshape(-1)[1:] = 0
    x[-1:] = np.abs(x[-1:])
    return x


CASES = [
    ((11, 24), "f32", -1, None, "ascend950"),
    ((11, 24), "f32", None, None, "ascend910b"),
    ((4, 24), "bf16", 0, None, "ascend910b"),
    ((11, 24), "f32", -1, 8, "ascend910b"),
    ((10, 3), "f32", 0, 2, "ascend950"),
    ((2, 5, 9), "f16", 1, None, "ascend950"),
    ((3, 1, 2, 2, 6), "f16", None, None, "ascend950"),
    ((33,), "bf16", None, None, "ascend950"),
    ((), "f32", None, None, "ascend950"),
    ((3, 0), "f32", None, None, "ascend950"),
    ((3, 0), "f32", -1, None, "ascend950"),
]


@pytest.mark.parametrize(("shape", "element", "axis", "group", "machine"), CASES)
def test_quantize_and_back(
    shape: tuple[int, ...],
    element: str,
    axis: int | None,
    group: int | None,
    machine: str,
) -> None:
    """Both rules in one program; without groups values are brought back, too."""
    draw = np.random.default_rng(len(shape))
    is_special = len(shape) == 2 and axis is not None and element == "f32"
    x = special(draw, shape) if is_special else draw.normal(size=shape)
    x = np.asarray(x).astype(ELEMENTS[element])
    ranged, folded = (defined(rule, x, axis, group) for rule in (by_range, by_amax))
    want = [*ranged, *folded]
    clause = f" axis {axis}" if axis is not None else ""
    clause += f" group {group}" if group else ""
    fixed = axis == 0 or len(shape) < 2
    names = ("i8", "f32", "i32", "i8", "f32")
    types = [type_of(w.shape, e, fixed) for w, e in zip(want, names, strict=True)]
    results = ["%q", "%d", "%z", "%p", "%e"]
    body = (
        f"  %q, %d, %z = pypto.quantize %x{clause} to i8 {{asymmetric}}"
        f" : {', '.join(types[:3])}\n"
        f"  %p, %e = pypto.quantize %x{clause} to i8 : {', '.join(types[3:])}\n"
    )
    if group is None:
        body += "  %b = pypto.dequantize %q scales %d zero_point %z to f32\n"
        results.append("%b")
        types.append(type_of(x.shape, "f32", fixed))
        q, d, z = ranged
        with np.errstate(all="ignore"):
            want.append((q.astype(F32) - z.astype(F32)) * d)
    text = (
        f"func.func @f(%x: {type_of(x.shape, element, fixed)}) ->"
        f" ({', '.join(types)}) {{\n{body}"
        f"  func.return {', '.join(results)} : {', '.join(types)}\n}}\n"
    )
    check(text, {"x": x}, want, machine)


def test_special_rows_are_as_documented() -> None:
    """Zero, NaN and infinite rows: the numbers of the docstring."""
    x = [[0, 0, 0], [1, NAN, 2], [1, INF, -2], [-1, -INF, 2], [0, 51, 204], [-51, 0, 0]]
    q, scale, zero = defined(by_range, np.array(x, F32), -1)
    text = """
    func.func @f(%x: tensor<?x3xf32>)
        -> (tensor<?x3xi8>, tensor<?x1xf32>, tensor<?x1xi32>) {
      %q, %s, %z = pypto.quantize %x axis -1 to i8 {asymmetric}
      func.return %q, %s, %z : tensor<?x3xi8>, tensor<?x1xf32>, tensor<?x1xi32>
    }
    """
    check(text, {"x": np.array(x, F32)}, [q, scale, zero], "ascend950")
    assert zero[:, 0].tolist() == [0, 0, -128, 0, -128, 127]
    assert q.tolist() == [
        [0, 0, 0],
        [0, 0, 0],
        [-128, 0, -128],
        [0, 0, 0],
        [-128, -64, 127],
        [-128, 127, 127],
    ]
    np.testing.assert_array_equal(
        scale[:, 0], np.array([0, NAN, INF, INF, 0.8, 0.2], F32)
    )


def test_given_scales() -> None:
    """A scale of all, of rows, of columns, with and without zero points."""
    draw = np.random.default_rng(7)
    x = draw.normal(size=(9, 40)).astype(F32) * F32(40)
    x[0, :4] = NAN, INF, -INF, 0.5
    row = draw.uniform(0.1, 1, (9, 1)).astype(F32)
    row[2] = 0
    column = draw.uniform(0.1, 1, 40).astype(ml_dtypes.bfloat16)
    zero = draw.integers(-128, 128, (9, 1)).astype(np.int8)
    one = np.array([0.5], F32)
    shift = draw.integers(-500, 500, 40).astype(np.int32)
    text = """
    func.func @f(%x: tensor<?x40xf32> {pypto.dims = ["M"]},
                 %row: tensor<?x1xf32> {pypto.dims = ["M"]}, %column: tensor<40xbf16>,
                 %zero: tensor<?x1xi8> {pypto.dims = ["M"]}, %one: tensor<1xf32>,
                 %shift: tensor<40xi32>)
        -> (tensor<?x40xi8>, tensor<?x40xi8>, tensor<?x40xi8>, tensor<?x40xbf16>) {
      %a = pypto.quantize %x scale %row zero_point %zero to i8
      %b = pypto.quantize %x scale %column to i8
      %c = pypto.quantize %x scale %one zero_point %shift to i8
      %d = pypto.dequantize %a scales %row, %column zero_point %zero to bf16
      func.return %a, %b, %c, %d
          : tensor<?x40xi8>, tensor<?x40xi8>, tensor<?x40xi8>, tensor<?x40xbf16>
    }
    """
    with np.errstate(all="ignore"):
        parts = [
            np.rint(x / row) + zero.astype(F32),
            np.rint(x / column.astype(F32)),
            np.rint(x / one) + shift.astype(F32),
        ]
    want = [np.vectorize(saturated)(part).astype(np.int8) for part in parts]
    back = (want[0].astype(F32) - zero.astype(F32)) * row * column.astype(F32)
    want.append(back.astype(ml_dtypes.bfloat16))
    given = {"x": x, "row": row, "column": column, "zero": zero, "one": one}
    for machine in ("ascend950", "ascend910b"):
        check(text, {**given, "shift": shift}, want, machine)
