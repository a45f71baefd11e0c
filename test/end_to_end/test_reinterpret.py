"""
Bytes read as another type, from text to values, against numpy's `view`.

Every program runs in the interpreter at the tensor and at the task level, and compiled
for both machines, in program order and with the pipes of a core as far apart as its
flags allow; what its tasks wait for is checked byte by byte.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from task_order import record

from pyptoc.api import compile
from pyptoc.dialects.diagnostics import CompileError, RunError
from pyptoc.pipeline_text import default_pipeline
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.reference import interpret

Array = NDArray[Any]
BF16 = ml_dtypes.bfloat16
PACKED = """
func.func @packed(%cache: tensor<?x16x1x656xi8> {pypto.dims = ["blocks"]},
                  %at: tensor<?xi32> {pypto.dims = ["n"]}, %table: tensor<?xi32>)
    -> tensor<?x576xbf16> {
  %rows = pypto.reshape %cache[-1, 656]
  %row = pypto.gather_rows %rows at %at through %table page 16
  %k8 = pypto.view %row[:, 0 +: 512]
  %k4 = pypto.reshape %k8[-1, 4, 128]
  %s = pypto.view %row[:, 640 +: 16] to f32
  %s4 = pypto.reshape %s[-1, 4, 1]
  %kd = pypto.dequantize %k4 scales %s4 to bf16
  %kn = pypto.reshape %kd[-1, 512]
  %kr = pypto.view %row[:, 512 +: 128] to bf16
  %k = pypto.concat %kn, %kr axis -1
  func.return %k : tensor<?x576xbf16>
}
"""


compile_once = lru_cache(compile)


def runs(text: str, inputs: dict[str, Any], orders: bool = True) -> list[list[Array]]:
    """The results of every level, machine and order; the waits are right."""
    found = [interpret(compile_once(text, pipeline="").module, inputs)]
    tasks = compile_once(text, pipeline=default_pipeline("tasks"))
    found.append(interpret(tasks.module, inputs))
    for machine in ("ascend950", "ascend910b") if orders else ("ascend950",):
        program = compile_once(text, machine=machine).module
        order, results = record(program, load_machine(machine), inputs)
        assert order.problems() == []
        assert order.undeclared() == []
        found.append(results)
        if orders:
            executable = Executable(program, load_machine(machine), check=True)
            found += [executable.run(inputs, order=number) for number in (1, 2)]
    return [list(results.values()) for results in found]


def check(text: str, inputs: dict[str, Any], *want: Array, orders: bool = True) -> None:
    """Every run gives these bytes."""
    for results in runs(text, inputs, orders):
        for got, expected in zip(results, want, strict=True):
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
            assert got.tobytes() == expected.tobytes(), text


def packed_rows(draw: np.random.Generator, count: int) -> tuple[Array, Array]:
    """Rows of 512 i8, 64 bf16 and 4 f32, and what they stand for in bf16."""
    q = draw.integers(-128, 128, (count, 512)).astype(np.int8)
    rope = draw.normal(size=(count, 64)).astype(BF16)
    scales = draw.uniform(0.001, 0.1, (count, 4)).astype(np.float32)
    parts = [part.view(np.int8) for part in (q, rope, scales)]
    dequantised = q.astype(np.float32) * np.repeat(scales, 128, axis=1)
    meaning = np.concatenate([dequantised.astype(BF16), rope], axis=1)
    return np.concatenate(parts, axis=1), meaning


@pytest.mark.parametrize("count", [0, 1, 37, 150])
def test_packed_cache(count: int) -> None:
    draw = np.random.default_rng(count)
    rows, meaning = packed_rows(draw, 12 * 16)
    table = draw.permutation(12)[:9].astype(np.int32)
    at = draw.integers(0, 9 * 16, count).astype(np.int32)
    want = meaning[table[at // 16] * 16 + at % 16]
    inputs = {"cache": rows.reshape(12, 16, 1, 656), "at": at, "table": table}
    check(PACKED, inputs, want, orders=count == 37)


WRITE = """
func.func @pack(%q: tensor<?x512xi8> {pypto.dims = ["t"]},
                %r: tensor<?x64xbf16> {pypto.dims = ["t"]},
                %s: tensor<?x4xf32> {pypto.dims = ["t"]}, %slot: tensor<?xi64>,
                %cache: tensor<?x656xi8>)
    -> (tensor<?x656xi8> {pypto.name = "cache"}, tensor<?xf32>) {
  %s2 = pypto.mul %s, 2.0
  %r8 = pypto.view %r[:, :] to i8
  %s8 = pypto.view %s2[:, :] to i8
  %row = pypto.concat %q, %r8, %s8 axis -1
  %new = pypto.scatter_rows %row into %cache at %slot
  %back = pypto.view %new[:, 644 +: 4] to f32
  %last = pypto.reshape %back[-1]
  func.return %new, %last : tensor<?x656xi8>, tensor<?xf32>
}
"""


def test_rows_are_packed_in_place() -> None:
    draw = np.random.default_rng(0)
    rows, _ = packed_rows(draw, 23)
    cache = draw.integers(-128, 128, (40, 656)).astype(np.int8)
    slot = draw.permutation(40)[:23].astype(np.int64)
    q, r = rows[:, :512].copy(), rows[:, 512:640].copy().view(BF16)
    s = rows[:, 640:].copy().view(np.float32)
    want = cache.copy()
    want[slot, :640] = rows[:, :640]
    want[slot, 640:] = (s * np.float32(2)).view(np.int8)
    last = want[:, 644:648].copy().view(np.float32).reshape(-1)
    inputs = {"q": q, "r": r, "s": s, "slot": slot, "cache": cache}
    check(WRITE, inputs, want, last)


LOOP = """
func.func @loop(%pool: tensor<?xi8>, %first: tensor<?xi32> {pypto.dims = ["n"]})
    -> tensor<?x64xf32> {
  %n = pypto.dim %first, 0
  %y0 = pypto.empty[%n, 64] : tensor<?x64xf32>
  %y = pypto.forall (%i = 0 to %n) outs(%o = %y0) {
    %f = pypto.read %first[%i]
    %b = pypto.index %f * 2
    %r = pypto.view %pool[%b +: 128] to bf16
    %c = pypto.cast %r to f32
    pypto.store %c into %o[%i, 0]
  }
  func.return %y : tensor<?x64xf32>
}
"""


def test_offsets_are_read_in_a_loop() -> None:
    draw = np.random.default_rng(1)
    pool = draw.normal(size=500).astype(BF16).view(np.int8)[:-1].copy()
    first = draw.integers(0, 435, 9).astype(np.int32)
    want = np.stack([pool[2 * f : 2 * f + 128].copy().view(BF16) for f in first])
    inputs = {"pool": pool, "first": first}
    check(LOOP, inputs, want.astype(np.float32), orders=False)


SHAPES = {
    "rank 5": ("%x[:, %o, 1 +: 2, :, 2 +: 4] to i16", (3, 4, 3, 2, 8)),
    "all of it": ("%x[:, :] to f32", (5, 12)),
    "one byte": ("%x[%o +: 1, :] to ui8", (3, 1)),
    "empty": ("%x[:, 4 +: 0] to f32", (7, 8)),
    "no rows": ("%x[0 +: 0, :] to f32", (7, 8)),
    "wide row": ("%x[%o +: 2, 8 +: 40000] to i32", (4, 40016)),
}


@pytest.mark.parametrize(
    ("name", "computed"),
    [*((name, False) for name in SHAPES), ("rank 5", True), ("wide row", True)],
)
def test_shapes(name: str, computed: bool) -> None:
    """i8 as wider integers and floats, and back, of arguments and of results."""
    view, shape = SHAPES[name]
    x = np.random.default_rng(2).integers(-9, 9, shape).astype(np.int8)
    o = 1
    dtype = {"i16": "<i2", "f32": "<f4", "ui8": "u1", "i32": "<i4"}[view.split()[-1]]
    picks = view.replace("%x[", "").partition("]")[0].split(", ")
    data = np.maximum(x, 0) if computed else x
    keys: list[slice | int] = []
    for pick in picks:
        lo, _, size = pick.replace("%o", str(o)).partition(" +: ")
        if pick == ":":
            keys.append(slice(None))
        else:
            keys.append(slice(int(lo), int(lo) + int(size)) if size else int(lo))
    part = np.ascontiguousarray(data[tuple(keys)]).view(dtype)
    back = np.ascontiguousarray(part).view(np.int8)
    element = view.split()[-1]
    sizes = "x".join("?" for _ in shape)
    kinds = [
        f"tensor<{'x'.join('?' for _ in part.shape)}x{e}>" for e in (element, "i8")
    ]
    start = "%z = pypto.maximum %x, 0" if computed else "%z = pypto.reshape %x"
    text = (
        f"func.func @f(%x: tensor<{sizes}xi8>, %o: index) -> ({', '.join(kinds)}) {{\n"
        + (f"  {start}\n" if computed else "")
        + f"  %a = pypto.view {view.replace('%x', '%z') if computed else view}"
        + f" : {kinds[0]}\n"
        + f"  %b = pypto.reinterpret %a to i8 : {kinds[1]}\n"
        + f"  func.return %a, %b : {', '.join(kinds)}\n}}\n"
    )
    check(text, {"x": x, "o": o}, part, back, orders=False)


def test_a_column_is_copied_first() -> None:
    """Bytes that do not lie side by side, or not where an element may start."""
    text = """
    func.func @f(%x: tensor<6x8xi8>, %o: index) -> (tensor<8x3xi16>, tensor<6x2xi16>) {
      %t = pypto.transpose %x perm [1, 0]
      %a = pypto.view %t[:, :] to i16
      %u = pypto.view %x[:, %o +: 4]
      %b = pypto.view %u[:, :] to i16
      func.return %a, %b : tensor<8x3xi16>, tensor<6x2xi16>
    }
    """
    x = np.arange(48, dtype=np.int8).reshape(6, 8)
    turned = np.ascontiguousarray(x.T).view(np.int16)
    odd = np.ascontiguousarray(x[:, 3:7]).view(np.int16)
    check(text, {"x": x, "o": 3}, turned, odd, orders=False)


def test_an_aligned_view_is_not_copied() -> None:
    """The kernel reads the bytes where they are."""
    text = """
    func.func @f(%x: tensor<?x656xi8>) -> tensor<?x64xf32> {
      %v = pypto.view %x[:, 512 +: 144]
      %a = pypto.view %v[:, 0 +: 128] to bf16
      %y = pypto.cast %a to f32
      func.return %y : tensor<?x64xf32>
    }
    """
    program = compile(text)
    assert program.text.count("npu.kernel") == 1
    assert "tile.load %x[%1, 256]" in program.text


def test_what_is_overwritten_is_read_before() -> None:
    """Tasks that write bytes follow those that read them under another type."""
    text = """
    func.func @f(%x: tensor<40x64xi8>) -> (tensor<40x64xi8>, tensor<40x32xf32>) {
      %a = pypto.maximum %x, 1
      %h = pypto.reinterpret %a to f16
      %y = pypto.cast %h to f32
      %b = pypto.cast %h to i8
      %c = pypto.assemble %b into %a[0, 0]
      func.return %c, %y : tensor<40x64xi8>, tensor<40x32xf32>
    }
    """
    x = np.random.default_rng(5).integers(-128, 128, (40, 64)).astype(np.int8)
    a = np.maximum(x, 1).astype(np.int8)
    half = a.view(np.float16)
    c = a.copy()
    known = np.nan_to_num(half.astype(np.float32), nan=0.0)
    c[:, :32] = np.clip(np.trunc(known), -128, 127).astype(np.int8)
    check(text, {"x": x}, c, half.astype(np.float32), orders=False)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"o": 6}, "offset of 6 elements of 1 B is no multiple of 4 B"),
        ({"n": 7}, "size of 7 elements of 1 B is no multiple of 4 B"),
        ({"x": 18}, "row of 18 elements of 1 B is no multiple of 4 B"),
        ({"o": 16}, "ends at 24"),
    ],
)
def test_run_time_errors(inputs: dict[str, int], message: str) -> None:
    text = """
    func.func @f(%x: tensor<?x?xi8>, %o: index, %n: index) -> tensor<?x?xf32> {
      %a = pypto.view %x[:, %o +: %n] to f32
      func.return %a : tensor<?x?xf32>
    }
    """
    given = {"o": 4, "n": 8, "x": 20} | inputs
    given["x"] = np.zeros((3, given["x"]), np.int8)
    for pipeline in ("", None):
        program = compile(text, pipeline=pipeline)
        with pytest.raises((RunError, CompileError)) as caught:
            program.run(**given)
        assert "PTO402" in str(caught.value)
        assert message in str(caught.value)


def test_reinterpreting_a_part_of_an_element() -> None:
    text = """
    func.func @f(%x: tensor<?x?xi8>) -> tensor<?x?xf32> {
      %a = pypto.reinterpret %x to f32
      func.return %a : tensor<?x?xf32>
    }
    """
    for pipeline in ("", None):
        with pytest.raises(RunError) as caught:
            compile(text, pipeline=pipeline).run(x=np.zeros((4, 7), np.int8))
        (found,) = caught.value.diagnostics
        assert found.code == "PTO402"
        assert found.message == (
            "reinterpret of %x: size of 7 elements of 1 B is no multiple of 4 B"
        )


def test_unwritten_bytes_are_unwritten_elements() -> None:
    text = """
    func.func @f(%x: tensor<2x6xi8>) -> tensor<2x4xi16> {
      %e = pypto.empty[2, 8] : tensor<2x8xi8>
      %a = pypto.assemble %x into %e[0, 0]
      %v = pypto.view %a[:, 0 +: 6] to i16
      %w = pypto.add %v, 1
      %y = pypto.reinterpret %a to i16
      func.return %y : tensor<2x4xi16>
    }
    """
    program = compile(text, pipeline="")
    with pytest.raises((RunError, CompileError), match="PTO405"):
        program.run(x=np.zeros((2, 6), np.int8))


MADE = """
func.func @made(%x: tensor<?x656xi8> {pypto.dims = ["n"]}) -> tensor<?x1xf32> {
  %rows = pypto.bitwise_not %x
  %s = pypto.view %rows[:, 640 +: 16] to f32
  %c = pypto.view %s[:, 1 +: 1]
  %y = pypto.add %c, 1.0
  func.return %y : tensor<?x1xf32>
}
"""


@pytest.mark.parametrize("n", [1, 2, 130])
def test_bytes_read_as_another_type_are_checked_where_they_lie(n: int) -> None:
    """Sizes alone: a row of 656 i8 has 164 f32, and each was written."""
    assert compile_once(MADE).check(n=n).launches == 2
