"""
Products that share tasks with what reads them, and rows that are folded in steps.

`KINDS` are the ways in which compilers of this kind went wrong, each with a golden of
plain numpy. Random programs are held against their source after every pass, and the
finished one runs with its pipes far apart.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from random_fusion import fused
from random_stages import stages
from random_writer import Program

import pyptoc
from pyptoc.pipeline_text import default_pipeline

Array = NDArray[Any]
F32, BF16 = np.float32, ml_dtypes.bfloat16


def data(shape: tuple[int, ...], kind: Any = np.float16, low: int = -8) -> Array:
    """Small multiples of 1/4, so that products are exact; of integers, integers."""
    numbers = np.random.default_rng(sum(shape)).integers(low, 9, shape)
    scale = 1 if np.dtype(kind).kind == "i" else 4
    return (numbers / scale).astype(kind)


def f64(x: Array) -> Array:
    return x.astype(np.float64)


def check(
    text: str, inputs: dict[str, Array], golden: dict[str, Array], mixed: int = 1
) -> None:
    """Fused and apart, the results are the golden's; so many launches are mixed."""
    program = pyptoc.compile(text, pipeline=pipeline("force=true"))
    assert program.text.count("on mixed") == mixed, program.text
    apart = pyptoc.compile(text, pipeline=pipeline("fuse=false"))
    assert "on mixed" not in apart.text
    for one in (program, apart):
        found = one.run(**inputs)
        assert set(found) == set(golden)
        for name, want in golden.items():
            assert found[name].shape == want.shape
            got = found[name].astype(np.float64)
            np.testing.assert_allclose(got, want, rtol=1e-2, atol=1e-2, err_msg=name)


def pipeline(options: str) -> str:
    """The default pipeline, partition with options."""
    text = default_pipeline()
    assert ",partition," in text
    return text.replace(",partition,", f",partition{{{options}}},")


def function(arguments: str, results: str, body: str) -> str:
    """A function that returns `%r`, and `%s` if there are two results."""
    types = results.split(", ")
    named = ", ".join(
        f'{kind} {{pypto.name = "{name}"}}'
        for name, kind in zip("rs", types, strict=False)
    )
    values = ", ".join(["%r", "%s"][: len(types)])
    return (
        f"func.func @f({arguments}) -> ({named}) {{\n"
        f"{body}\n  func.return {values} : {results}\n}}"
    )


# Kinds of bugs ------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 40])
@pytest.mark.parametrize("flags", ["a_trans", "b_trans", "a_trans, b_trans"])
def test_transposed_operands(flags: str, n: int) -> None:
    """Also of a vector, and of columns that are cut out of a wider matrix."""
    m, k = 20, 48
    a = data((k, m) if "a_trans" in flags else (m, k))
    b = data((n, k) if "b_trans" in flags else (k, n))
    wide = np.concatenate([b, b[::-1]], axis=1)
    rows, columns = b.shape
    text = function(
        f"%a: tensor<{a.shape[0]}x{a.shape[1]}xf16>, "
        f"%b: tensor<{rows}x{2 * columns}xf16>",
        f"tensor<{m}x{n}xf32>",
        f"  %w = pypto.view %b[:, {columns} +: {columns}]\n"
        f"  %y = pypto.matmul %a, %w {{{flags}}}\n  %r = pypto.abs %y",
    )
    left = f64(a.T if "a_trans" in flags else a)
    right = f64(b[::-1].T if "b_trans" in flags else b[::-1])
    check(text, {"a": a, "b": wide}, {"r": np.abs(left @ right)})


def test_row_values_turned() -> None:
    """A value a row, [16, 1], becomes a value a column, [1, 16]."""
    a, b, x = data((16, 32)), data((32, 24)), data((16, 16), F32)
    text = function(
        "%a: tensor<16x32xf16>, %b: tensor<32x24xf16>, %x: tensor<16x16xf32>",
        "tensor<16x16xf32>, tensor<16x24xf32>",
        "  %y = pypto.matmul %a, %b\n  %e = pypto.abs %y\n"
        "  %m = pypto.amax %e axis -1 {keepdim}\n  %t = pypto.reshape %m[1, 16]\n"
        "  %r = pypto.add %x, %t\n  %s = pypto.sub %e, %m",
    )
    y = np.abs(f64(a) @ f64(b))
    most = y.max(axis=1)
    check(text, {"a": a, "b": b, "x": x}, {"r": f64(x) + most, "s": y - most[:, None]})


@pytest.mark.parametrize("taken", [0, 1])
def test_value_of_a_branch(taken: int) -> None:
    """A product in one branch, something else in the other: both can be read."""
    a, b, x = data((10, 16)), data((16, 8)), data((10, 8), F32)
    text = function(
        "%a: tensor<10x16xf16>, %b: tensor<16x8xf16>, "
        "%x: tensor<10x8xf32>, %n: tensor<1xi64>",
        "tensor<10x8xf32>",
        "  %p = pypto.read %n[0]\n  %c = pypto.index %p == 1\n"
        "  %y = scf.if %c -> (tensor<10x8xf32>) {\n    %z = pypto.matmul %a, %b\n"
        "    %q = pypto.neg %z\n    scf.yield %q : tensor<10x8xf32>\n  } else {\n"
        "    scf.yield %x : tensor<10x8xf32>\n  }\n  %r = pypto.abs %y",
    )
    want = np.abs(f64(a) @ f64(b)) if taken else np.abs(f64(x))
    inputs = {"a": a, "b": b, "x": x, "n": np.array([taken])}
    check(text, inputs, {"r": want})


@pytest.mark.parametrize("rows", [0, 1, 3, 5, 16, 21])
def test_ragged_rows(rows: int) -> None:
    """Two vector cores share 0 rows, an odd half, 5 of 16; columns leave a tail too."""
    text = function(
        '%a: tensor<?x32xi8> {pypto.dims = ["M"]}, %b: tensor<32x37xi8>, '
        '%s: tensor<?x1xf32> {pypto.dims = ["M"]}, %c: tensor<37xbf16>',
        "tensor<?x37xf32>, tensor<?x1xf32>",
        "  %y = pypto.matmul %a, %b {tile = "
        "#pypto.cube<m = [16, 16], k = [32, 32], n = [32, 32]>}\n"
        "  %f = pypto.cast %y to f32\n  %g = pypto.mul %f, %s\n"
        "  %d = pypto.cast %c to f32\n  %r = pypto.add %g, %d\n"
        "  %s1 = pypto.amax %r axis -1 {keepdim}",
    ).replace("%r, %s :", "%r, %s1 :")
    a, b = data((rows, 32), np.int8), data((32, 37), np.int8)
    s, c = data((rows, 1), F32, 1), data((37,), BF16) - BF16(500)
    want = f64(a) @ f64(b) * f64(s) + f64(c)
    most = want.max(axis=1, keepdims=True) if rows else np.zeros((0, 1))
    check(text, {"a": a, "b": b, "s": s, "c": c}, {"r": want, "s": most})


@pytest.mark.parametrize("reader", ["product", "caller", "vector ops apart"])
def test_two_readers(reader: str) -> None:
    """A result that is read elsewhere too is in memory, and its readers wait for it."""
    a, b = data((24, 16)), data((16, 16))
    lines = {
        "product": "  %h = pypto.matmul %a, %b to f16\n  %e = pypto.cast %h to f32\n"
        "  %r = pypto.matmul %h, %b\n  %s = pypto.abs %e",
        "caller": "  %r = pypto.mul %y, 1.0\n  %s = pypto.abs %y",
        "vector ops apart": "  %e = pypto.abs %y\n  %h = pypto.cast %e to f16\n"
        "  %z = pypto.matmul %h, %b\n  %r = pypto.add %z, %y\n  %s = pypto.neg %e",
    }
    text = function(
        "%a: tensor<24x16xf16>, %b: tensor<16x16xf16>",
        "tensor<24x16xf32>, tensor<24x16xf32>",
        f"  %y = pypto.matmul %a, %b\n{lines[reader]}",
    )
    y = f64(a) @ f64(b)
    goldens = {
        "product": {"r": y @ f64(b), "s": np.abs(y)},
        "caller": {"r": y, "s": np.abs(y)},
        "vector ops apart": {"r": np.abs(y) @ f64(b) + y, "s": -np.abs(y)},
    }
    mixed = {"product": 0, "caller": 1, "vector ops apart": 1}[reader]
    check(text, {"a": a, "b": b}, goldens[reader], mixed)


@pytest.mark.parametrize("kind", ["amax", "amin", "sum"])
def test_padding_is_no_data(kind: str) -> None:
    """Of 70 columns in tiles of 32; all are below zero for amax, above for amin."""
    sign = {"amax": -1, "amin": 1, "sum": 1}[kind]
    a, b = data((5, 16), low=1), data((16, 70), low=1) * np.float16(sign)
    text = function(
        "%a: tensor<5x16xf16>, %b: tensor<16x70xf16>",
        "tensor<5x70xf32>, tensor<5x1xf32>",
        "  %y = pypto.matmul %a, %b {tile = "
        "#pypto.cube<m = [16, 16], k = [16, 16], n = [32, 32]>}\n"
        f"  %e = pypto.mul %y, 0.5\n  %s = pypto.{kind} %e axis -1 {{keepdim}}\n"
        "  %r = pypto.sub %e, %s",
    )
    y = f64(a) @ f64(b) / 2
    fold: dict[str, Callable[..., Array]] = {
        "amax": np.max,
        "amin": np.min,
        "sum": np.sum,
    }
    row = fold[kind](y, axis=1, keepdims=True)
    check(text, {"a": a, "b": b}, {"r": y - row, "s": row})


# Rows in steps ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["softmax", "quantize", "sum"])
def test_few_long_rows(kind: str) -> None:
    """Two rows keep all vector cores busy: parts of each, then what is made of them."""
    x = data((2, 300001), F32)
    if kind == "softmax":
        e = np.exp(f64(x) - f64(x).max(axis=1, keepdims=True))
        golden = {"r": e / e.sum(axis=1, keepdims=True)}
        body, types = "  %r = pypto.softmax %x axis -1", "tensor<2x300001xf32>"
    elif kind == "quantize":
        scale = np.abs(f64(x)).max(axis=1, keepdims=True) / 127
        golden = {"r": np.rint(f64(x) / scale), "s": scale}
        body = "  %r, %s = pypto.quantize %x axis -1 to i8"
        types = "tensor<2x300001xi8>, tensor<2x1xf32>"
    else:
        golden = {"r": f64(x).sum(axis=1, keepdims=True)}
        body, types = "  %r = pypto.sum %x axis -1 {keepdim}", "tensor<2x1xf32>"
    program = pyptoc.compile(function("%x: tensor<2x300001xf32>", types, body))
    assert program.text.count("npu.launch") == {"sum": 2}.get(kind, 3)
    found = program.run(x=x)
    for name, want in golden.items():
        got = found[name].astype(np.float64)
        atol = 1 if got.dtype == np.int8 else 1e-6
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=atol)


def test_row_values_that_leave_the_group_they_are_needed_in() -> None:
    """%s is stored by one task, although each column tile of exp makes it, too; what
    four reductions in a row need of each other is made once in each group."""
    body = """
      %m = pypto.amax %x axis -1 {keepdim}
      %s = pypto.mul %m, 0.5
      %e = pypto.sub %x, %s
      %p = pypto.exp %e
      %c = pypto.sum %p axis -1 {keepdim}
      %h = pypto.mul %c, %s
      %d = pypto.sub %e, %h
      %t = pypto.amin %d axis -1 {keepdim}
      %g = pypto.mul %d, %t
      %u = pypto.sum %g axis -1 {keepdim}
      %r = pypto.add %u, %t"""
    types = "tensor<2x1xf32>, tensor<2x1xf32>"
    text = function("%x: tensor<2x300001xf32>", types, body)
    x = data((2, 300001), F32) * np.float32(0.01)
    s = f64(x).max(axis=1, keepdims=True) / 2
    d = f64(x) - s - s * np.exp(f64(x) - s).sum(axis=1, keepdims=True)
    t = d.min(axis=1, keepdims=True)
    golden = [(d * t).sum(axis=1, keepdims=True) + t, s]
    forced = pipeline("force=true")
    # Two tasks that store to one place are an error here.
    within = {"r": 1e-3, "s": 1e-3}
    source = Program(text, {"x": x}, within)
    program, _ = stages(source, "ascend950", 1, pipeline=forced)
    assert program.text.count("tile.row_max") == 5  # %m, and %s in four groups
    for got, want in zip(program.run(x=x).values(), golden, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4)


# Random programs ----------------------------------------------------------------------


@pytest.mark.parametrize("number", range(12))
def test_random_products(number: int) -> None:
    machine = "ascend910b" if number % 6 == 5 else "ascend950"
    random = Random(number)
    program = fused(random)
    while program.needs_mx and machine != "ascend950":
        program = fused(random)
    stages(program, machine, number + 1)


def test_what_a_loop_carries_is_multiplied() -> None:
    """The product may read where its readers store: each has a launch of its own."""
    text = """
    func.func @f(%x: tensor<16x64xf16>, %w: tensor<64x64xf16>) -> tensor<16x64xf16> {
      %z = pypto.for (%j = 0 to 4) iter(%d = %x) {
        %s = pypto.matmul %d, %w
        %e = pypto.abs %s
        %b = pypto.cast %e to f16
        pypto.yield %b
      }
      func.return %z : tensor<16x64xf16>
    }
    """
    w = np.roll(np.eye(64), 3, axis=1).astype(np.float16)
    x = np.arange(-512, 512).reshape(16, 64).astype(np.float16)
    (found,) = pyptoc.compile(text).run(x=x, w=w).values()
    assert np.array_equal(found, np.roll(np.abs(x), 12, axis=1))
