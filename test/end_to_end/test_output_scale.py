"""
Products that are scaled and cut off at 0 while they are stored, against numpy.

The scale keeps 10 bits of mantissa; sums of small integers are exact, so everything is
compared bit by bit, in the interpreter, at the task level and compiled, in program
order and with the pipes of a core as far apart as the flags allow.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from task_order import record

from pyptoc.api import compile
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.pipeline_text import default_pipeline
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.reference import interpret

Array = NDArray[Any]
F32 = np.float32


def kept(scale: Array) -> Array:
    """The scale without its low 13 bits."""
    bits = [int(b) // 8192 * 8192 for b in scale.view(np.uint32)]
    return np.array(bits, np.uint32).view(F32)


def to_i8(x: Array) -> Array:
    return np.clip(np.rint(x), -128, 127).astype(np.int8)


def check(text: str, inputs: dict[str, Any], *want: Array) -> None:
    results = [interpret(compile(text, pipeline="").module, inputs)]
    tasks = compile(text, pipeline=default_pipeline("tasks"))
    results.append(interpret(tasks.module, inputs))
    for name, source in (("ascend950", tasks.module), ("ascend910b", text)):
        machine, program = load_machine(name), compile(source, machine=name).module
        order, found = record(program, machine, inputs)
        assert order.problems() == []
        assert order.undeclared() == []
        executable = Executable(program, machine, check=True)
        results += [found, executable.run(inputs, order=1)]
    for found in results:
        for got, expected in zip(found.values(), want, strict=True):
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
            assert got.tobytes() == expected.tobytes()


def test_integer_products() -> None:
    """i8 x i8 -> i32 -> scaled i8, f16, f32 in one task; tails, one scale for all."""
    text = """
    func.func @f(%a: tensor<?x70xi8>, %b: tensor<?x70xi8> {pypto.dims = ["N"]},
                 %s: tensor<?xf32> {pypto.dims = ["N"]}, %o: tensor<1xf32>)
        -> (tensor<?x?xi8>, tensor<?x?xf16>, tensor<?x?xf32>, tensor<?x?xi32>) {
      %x = pypto.matmul %a, %b scale %s to i8 {b_trans}
      %y = pypto.matmul %a, %b scale %s to f16 {b_trans, relu}
      %z = pypto.matmul %a, %b scale %o {b_trans}
      %w = pypto.matmul %a, %b {b_trans, relu}
      func.return %x, %y, %z, %w
          : tensor<?x?xi8>, tensor<?x?xf16>, tensor<?x?xf32>, tensor<?x?xi32>
    }
    """
    draw = np.random.default_rng(0)
    a, b = (draw.integers(-128, 128, (n, 70)).astype(np.int8) for n in (37, 300))
    s = draw.uniform(0.0001, 0.01, 300).astype(F32)
    o = np.array([0.0123], F32)
    acc = a.astype(np.int32) @ b.astype(np.int32).T
    y = acc.astype(F32) * kept(s)
    assert (y != acc.astype(F32) * s).any()
    z = acc.astype(F32) * kept(o)
    half = np.maximum(y, 0).astype(np.float16)
    inputs = {"a": a, "b": b, "s": s, "o": o}
    check(text, inputs, to_i8(y), half, z, np.maximum(acc, 0))
    kernels = compile(text).text.count("npu.kernel")
    assert kernels == 5, "four products, and the scale for all repeated by column"


def test_float_products_in_batches() -> None:
    """bf16 -> f32 -> scaled i8 and bf16, batches, several steps of K and tiles of N."""
    text = """
    #tile = #pypto.cube<m = [16, 32], k = [32, 64], n = [32, 64]>
    func.func @f(%a: tensor<2x33x130xbf16>, %b: tensor<2x130x70xbf16>,
                 %s: tensor<70xf32>)
        -> (tensor<2x33x70xi8>, tensor<2x33x70xbf16>) {
      %x = pypto.matmul %a, %b scale %s to i8 {tile = #tile}
      %y = pypto.matmul %a, %b scale %s to bf16 {relu, tile = #tile}
      func.return %x, %y : tensor<2x33x70xi8>, tensor<2x33x70xbf16>
    }
    """
    draw = np.random.default_rng(1)
    bf16 = ml_dtypes.bfloat16
    a, b = (draw.integers(-8, 9, s).astype(bf16) for s in ((2, 33, 130), (2, 130, 70)))
    s = draw.uniform(0.01, 0.5, 70).astype(F32)
    acc = np.matmul(a.astype(F32), b.astype(F32)) * kept(s)
    inputs = {"a": a, "b": b, "s": s}
    check(text, inputs, to_i8(acc), np.maximum(acc, 0).astype(bf16))


def test_ops_behind_a_product() -> None:
    """bias, relu and a cast that stand behind a product are one task with it."""
    text = """
    #tile = #pypto.cube<m = [16, 32], k = [32, 64], n = [32, 64]>
    func.func @f(%a: tensor<2x?x?xbf16> {pypto.dims = ["M", "K"]},
                 %b: tensor<?x70xbf16> {pypto.dims = ["K"]}, %s: tensor<70xf32>,
                 %c: tensor<?x?xi8> {pypto.dims = ["P", "Q"]},
                 %d: tensor<?x?xi8> {pypto.dims = ["Q", "R"]},
                 %t: tensor<1x?xi32> {pypto.dims = ["R"]})
        -> (tensor<2x?x70xbf16>, tensor<?x?xf16>, tensor<?x?xi32>) {
      %x = pypto.matmul %a, %b {tile = #tile}
      %xs = pypto.add %s, %x
      %xr = pypto.relu %xs
      %xh = pypto.cast %xr to bf16
      %y = pypto.matmul %c, %d
      %yt = pypto.add %y, %t
      %yh = pypto.cast %yt to f16
      %yr = pypto.relu %yh
      %z = pypto.matmul %c, %d
      %zt = pypto.add %z, %t
      func.return %xh, %yr, %zt : tensor<2x?x70xbf16>, tensor<?x?xf16>, tensor<?x?xi32>
    }
    """
    draw = np.random.default_rng(2)
    bf16 = ml_dtypes.bfloat16
    assert compile(text).text.count("npu.kernel") == 3
    for m, k, q, r in (
        (33, 130, 70, 300),
        (1, 1, 0, 3),
        (5, 0, 2000, 17),
        (0, 3, 1, 0),
    ):
        a, b = (draw.integers(-8, 9, s).astype(bf16) for s in ((2, m, k), (k, 70)))
        s = draw.integers(-50, 51, 70).astype(F32)
        c, d = (draw.integers(-128, 128, s).astype(np.int8) for s in ((m, q), (q, r)))
        t = draw.integers(-(2**20), 2**20, (1, r)).astype(np.int32)
        x = np.maximum(np.matmul(a.astype(F32), b.astype(F32)) + s, 0)
        y = c.astype(np.int32) @ d.astype(np.int32) + t
        with np.errstate(over="ignore"):
            half = np.maximum(y.astype(F32).astype(np.float16), 0)
        inputs = {"a": a, "b": b, "s": s, "c": c, "d": d, "t": t}
        check(text, inputs, x.astype(bf16), half, y)


@pytest.mark.parametrize(("size", "message"), [(7, "7, not 8"), (9, "9, not 8")])
def test_a_scale_for_each_column(size: int, message: str) -> None:
    text = """
    func.func @f(%a: tensor<4x16xi8>, %b: tensor<16x?xi8>, %s: tensor<?xf32>)
        -> tensor<4x?xi8> {
      %x = pypto.matmul %a, %b scale %s to i8
      func.return %x : tensor<4x?xi8>
    }
    """
    inputs = {"a": np.ones((4, 16), np.int8), "b": np.ones((16, 8), np.int8)}
    with pytest.raises(CompileError, match=message):
        compile(text).run(**inputs, s=np.ones(size, F32))
