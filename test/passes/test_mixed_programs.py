"""
Small programs on which a pass or the interpreter once went wrong, after every pass.

Each says in its name what is special about it. `stages` compares with the source after
every pass, and the finished program in program order and with the pipes far apart.
"""

from __future__ import annotations

from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from end_to_end import goldens
from front_programs import body
from random_ops import MACHINES
from random_stages import stages
from random_writer import Program, data

import pyptoc
from pyptoc.pipeline_text import default_pipeline

Given = dict[str, Any]


def given(element: str, *shape: int) -> np.ndarray:
    """The same data every time."""
    return data(Random(0), shape, element)


CARRIED = "%x: tensor<8xf32>, %y: tensor<8xf32>, %t: tensor<2xf32>, %n: tensor<1xi32>"
INPUTS: Given = {
    "x": given("f32", 8),
    "y": given("f32", 8)[::-1].copy(),
    "t": np.array([0.5, 0.25], np.float32),
    "n": np.array([3], np.int32),
}


def exchanged(first: str, second: str) -> tuple[str, Given]:
    """Two carried tensors change places; the one in the first place is changed."""
    lines = (
        "  %a = pypto.neg %x\n  %m = pypto.read %n[0]\n"
        f"  %d, %e = pypto.for (%i = 0 to %m) iter(%p = %{first}, %q = %{second}) {{\n"
        "    %s = pypto.assemble %t into %p[%i]\n    pypto.yield %q, %s\n  }\n"
        "  %f = pypto.sub %d, %e\n  %g = pypto.mul %f, 2.0\n  %r = pypto.add %g, %y"
    )
    return body(CARRIED, "tensor<8xf32>", lines), INPUTS


PROGRAMS: dict[str, tuple[str, Given]] = {
    "parts of a K that only the run knows": (
        body(
            '%x: tensor<?x?xf16> {pypto.dims = ["M", "K"]}, '
            '%y: tensor<?x9xf16> {pypto.dims = ["K"]}',
            "tensor<?x9xf32>",
            "  %r = pypto.matmul %x, %y {tile = #pypto.cube<m = [16, 32], "
            "k = [32, 32], n = [16, 16], split_k>}",
        ),
        {"x": given("f16", 5, 70), "y": given("f16", 70, 9)},
    ),
    "a reshape of a size that was read": (
        body(
            "%x: tensor<4x4xf32>, %n: tensor<2xi64>",
            "tensor<?x2xf32>",
            "  %m = pypto.read %n[1]\n  %v = pypto.view %x[0 +: %m, :]\n"
            "  %e = pypto.neg %v\n  %q = pypto.reshape %e[-1, 2, 2]\n"
            "  %w = pypto.view %q[:, 0, :]\n  %d = pypto.dim %w, 0\n"
            '  pypto.assert %d ne 3, "three rows"\n  %r = pypto.mul %w, 2.0',
        ),
        {"x": given("f32", 4, 4), "n": np.array([4, 2], np.int64)},
    ),
    "a forall whose output has no dimension": (
        body(
            "%x: tensor<7xf32>",
            "tensor<f32>",
            "  %e = pypto.empty[] : tensor<f32>\n"
            "  %r = pypto.forall (%i +: %n = 0 to 7 step 8) outs(%o = %e) {\n"
            "    %v = pypto.view %x[%i +: %n]\n    %s = pypto.amax %v axis 0\n"
            "    pypto.store %s into %o[]\n  }",
        ),
        {"x": given("f32", 7)},
    ),
    "an assemble into a tensor of no dimension": (
        body(
            "%x: tensor<i32>, %y: tensor<i32>",
            "tensor<i32>",
            "  %z = pypto.add %x, 1\n  %v = pypto.assemble %y into %z[]\n"
            "  %r = pypto.mul %v, 3",
        ),
        {"x": np.array(4, np.int32), "y": np.array(5, np.int32)},
    ),
    "a scalar read from a tensor of no dimension": (
        body(
            "%x: tensor<f32>, %y: tensor<5xf32>",
            "tensor<5xf32>",
            "  %s = pypto.read %x[]\n  %r = pypto.mul %y, %s",
        ),
        {"x": np.array(0.5, np.float32), "y": given("f32", 5)},
    ),
    "numbers that count on, column tile by column tile": (
        body(
            '%x: tensor<?x?xi16> {pypto.dims = ["M", "N"]}',
            "tensor<?x?xi32>",
            "  %m = pypto.dim %x, 0\n  %n = pypto.dim %x, 1\n"
            "  %r = pypto.arange[%m, %n] : tensor<?x?xi32>",
        ),
        {"x": given("i16", 3, 9000)},
    ),
    "one row of a tensor repeated": (
        body(
            '%x: tensor<?x3xf32> {pypto.dims = ["M"]}, '
            '%y: tensor<?xf32> {pypto.dims = ["N"]}',
            "tensor<?x?x2xf32>",
            "  %m = pypto.dim %x, 0\n  %n = pypto.dim %y, 0\n"
            "  %v = pypto.view %x[:, 1 +: 2]\n  %w = pypto.reshape %v[%m, 1, 2]\n"
            "  %r = pypto.expand %w[-1, %n, -1]",
        ),
        {"x": given("f32", 5, 3), "y": given("f32", 7)},
    ),
    "a forall that replaces rows of an argument that it reads": (
        body(
            "%x: tensor<5x3xf32>",
            "tensor<5x3xf32>",
            "  %r = pypto.forall (%i = 1 to 4) outs(%o = %x) {\n"
            "    %v = pypto.view %x[%i, :]\n    %w = pypto.neg %v\n"
            "    pypto.store %w into %o[%i, 0]\n  }",
        ),
        {"x": given("f32", 5, 3)},
    ),
    "a forall whose loops inside store into an argument": (
        body(
            "%x: tensor<5x3x8xf32>",
            "tensor<5x3x8xf32>",
            "  %r = pypto.forall (%i = 0 to 4) outs(%o = %x) {\n"
            "    pypto.for (%j = 0 to 2) {\n"
            "      %v = pypto.view %x[%i, %j, :]\n      %w = pypto.neg %v\n"
            "      %p = pypto.index %j + 1\n"
            "      pypto.store %w into %o[%i, %p, 0]\n    }\n  }",
        ),
        {"x": given("f32", 5, 3, 8)},
    ),
    "carried tensors that change places, one an argument": exchanged("a", "y"),
    "carried tensors that change places, both an argument": exchanged("x", "y"),
    "carried tensors that begin as one": exchanged("a", "a"),
    "two outputs that begin as one empty tensor": (
        body(
            "%x: tensor<8x4xf32>",
            "tensor<8x4xf32>",
            "  %e = pypto.empty[8, 4] : tensor<8x4xf32>\n"
            "  %y, %z = pypto.forall (%i = 0 to 8) outs(%a = %e, %b = %e) {\n"
            "    %v = pypto.view %x[%i, :]\n    %n = pypto.neg %v\n"
            "    pypto.store %n into %a[%i, 0]\n    %m = pypto.abs %v\n"
            "    pypto.store %m into %b[%i, 0]\n  }\n  %r = pypto.sub %y, %z",
        ),
        {"x": given("f32", 8, 4)},
    ),
    "the error function": (
        body(
            "%x: tensor<40x30xf32>",
            "tensor<40x30xf32>",
            "  %y = pypto.gelu %x\n  %r = pypto.erf %y",
        ),
        {"x": given("f32", 40, 30)},
    ),
    "numbers that count on, in a narrow type": (
        body(
            '%x: tensor<?x?xf16> {pypto.dims = ["M", "N"]}',
            "tensor<?x?xf16>",
            "  %m = pypto.dim %x, 0\n  %n = pypto.dim %x, 1\n"
            "  %a = pypto.arange[%m, %n] : tensor<?x?xf16>\n"
            "  %r = pypto.add %a, %x",
        ),
        {"x": given("f16", 3, 1900)},
    ),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, machine: str) -> None:
    text, inputs = PROGRAMS[name]
    stages(Program(text, inputs), machine, 1)


def test_what_a_loop_changes_is_copied_once() -> None:
    """Before the loop: a copy in each trip would cost a tensor a trip."""
    text = body(
        "%x: tensor<64x16xf32>, %n: tensor<1xi32>",
        "tensor<64x16xf32>",
        "  %m = pypto.read %n[0]\n"
        "  %r = pypto.for (%i = 0 to %m) iter(%c = %x) {\n"
        "    %v = pypto.view %x[%i, :]\n    %w = pypto.neg %v\n"
        "    %d = pypto.assemble %w into %c[%i, 0]\n    pypto.yield %d\n  }",
    )
    pipeline = default_pipeline("tasks")
    loop = pyptoc.compile(text, pipeline=pipeline).text.partition("scf.for")[2]
    assert loop.count("npu.tasks") == 1
    assert "clone" not in loop


def test_batches_of_mx_products() -> None:
    """Scales have the batch of their matrix; one right side serves the whole batch."""
    rng = np.random.default_rng(0)
    f8, e8m0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
    a = (rng.integers(-8, 9, (3, 5, 70)) / 8).astype(f8)
    b = (rng.integers(-8, 9, (70, 9)) / 8).astype(f8)
    sa = (2.0 ** rng.integers(-2, 3, (3, 5, 2, 2))).astype(e8m0)
    sb = (2.0 ** rng.integers(-2, 3, (2, 9, 2))).astype(e8m0)
    text = (
        "func.func @f(%a: tensor<3x5x70xf8E4M3FN>, %b: tensor<70x9xf8E4M3FN>,\n"
        "    %sa: tensor<3x5x2x2xf8E8M0FNU>, %sb: tensor<2x9x2xf8E8M0FNU>)"
        " -> tensor<3x5x9xf32> {\n"
        "  %r = pypto.scaled_mm %a, %b scales %sa, %sb\n"
        "  func.return %r : tensor<3x5x9xf32>\n}\n"
    )
    inputs = {"a": a, "b": b, "sa": sa, "sb": sb}
    stages(Program(text, inputs, {"result0": 1e-5}), "ascend950", 1)
    left = (
        goldens.f64(a) * np.repeat(goldens.f64(sa).reshape(3, 5, 4), 32, -1)[..., :70]
    )
    by_column = goldens.f64(sb).transpose(1, 0, 2).reshape(9, 4)
    right = goldens.f64(b) * np.repeat(by_column, 32, -1)[:, :70].T
    got = pyptoc.compile(text).run(**inputs)["result0"]
    assert np.allclose(got, left @ right, rtol=1e-5, atol=1e-5)


def test_scales_that_do_not_lie_as_they_are_read() -> None:
    """Turned scales, given and from quant_mx along the rows, are copied first."""
    rng = np.random.default_rng(1)
    f8, e8m0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
    a, b = (
        (rng.integers(-8, 9, shape) / 8).astype(f8) for shape in ((5, 128), (128, 9))
    )
    x = (rng.integers(-8, 9, (128, 7)) / 8).astype(np.float32)
    sa = (2.0 ** rng.integers(-2, 3, (5, 2, 2))).astype(e8m0)
    sb = (2.0 ** rng.integers(-2, 3, (9, 2, 2))).astype(e8m0)
    text = (
        "func.func @f(%a: tensor<5x128xf8E4M3FN>, %b: tensor<128x9xf8E4M3FN>,\n"
        "    %x: tensor<128x7xf32>, %sa: tensor<5x2x2xf8E8M0FNU>,\n"
        "    %sb: tensor<9x2x2xf8E8M0FNU>) -> (tensor<5x9xf32>, tensor<5x7xf32>) {\n"
        "  %t = pypto.transpose %sb perm [1, 0, 2]\n"
        "  %y = pypto.scaled_mm %a, %b scales %sa, %t\n"
        "  %q, %sq = pypto.quant_mx %x axis -2 to f8E4M3FN\n"
        "  %z = pypto.scaled_mm %a, %q scales %sa, %sq\n"
        "  func.return %y, %z : tensor<5x9xf32>, tensor<5x7xf32>\n}\n"
    )
    inputs = {"a": a, "b": b, "x": x, "sa": sa, "sb": sb}
    got = pyptoc.compile(text).run(**inputs)
    left = goldens.f64(a) * np.repeat(goldens.f64(sa).reshape(5, 4), 32, -1)
    right = goldens.f64(b) * np.repeat(goldens.f64(sb).reshape(9, 4), 32, -1).T
    assert np.allclose(got["result0"], left @ right, rtol=1e-5, atol=1e-5)
    # Numbers of three bits are exact in f8 behind any scale.
    assert np.allclose(got["result1"], left @ x, rtol=1e-5, atol=1e-5)
