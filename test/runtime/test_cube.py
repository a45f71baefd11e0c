"""Matmuls of the executor: element types, MX scales, products at once or in steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from element_types import DTYPES
from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.context import make_context
from pyptoc.dialects.parsing import parse_module
from pyptoc.runtime import operand, operand_images
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.images import Images
from pyptoc.runtime.machine import load_machine

MACHINE = load_machine("ascend950")
KERNEL = (Path(__file__).parent / "handwritten" / "matmul_kernel.mlir").read_text()


def parse(text: str) -> ModuleOp:
    module = parse_module(text, "test.mlir", make_context())
    module.verify()
    return module


@pytest.mark.parametrize(
    ("element", "accumulator"),
    [
        ("f16", "f32"),
        ("bf16", "f32"),
        ("f32", "f32"),
        ("i8", "i32"),
        ("f8E4M3FN", "f32"),
    ],
)
def test_element_types(element: str, accumulator: str) -> None:
    """Fused and not, every matmul type; integers exactly, at K above 1024."""
    text = KERNEL.replace("xf16", f"x{element}")
    text = text.replace("xf32", f"x{accumulator}")
    dtype = DTYPES[element]
    generator = np.random.default_rng(3)
    low, high, depth = (-128, 128, 3000) if element == "i8" else (-4, 4, 331)
    a = generator.integers(low, high, (70, depth)).astype(dtype)
    b = generator.integers(low, high, (depth, 90)).astype(dtype)
    wide = np.int64 if element == "i8" else np.float64
    want = a.astype(wide) @ b.astype(wide)
    for fuse in (True, False):
        program = Executable(parse(text), MACHINE, fuse=fuse)
        assert np.array_equal(program.run({"a": a, "b": b})["c"], want)


def test_wide_integer_step_is_exact() -> None:
    """One matmul with K = 4096: f32 alone could not hold the sum of products."""
    text = KERNEL.replace("xf16", "xi8").replace("xf32", "xi32")
    for old, new in (("128", "4096"), ("64x32x", "64x4096x"), ("32x64x", "4096x64x")):
        text = text.replace(old, new)
    text = text.replace("constant 32 ", "constant 4096 ")
    text = text.replace("min(32,", "min(4096,")
    generator = np.random.default_rng(1)
    a = generator.integers(100, 128, (3, 4096)).astype(np.int8)
    b = generator.integers(100, 128, (4096, 5)).astype(np.int8)
    for fuse in (True, False):
        program = Executable(parse(text), MACHINE, fuse=fuse)
        got = program.run({"a": a, "b": b})["c"]
        assert np.array_equal(got, a.astype(np.int64) @ b.astype(np.int64))


# MX ----------------------------------------------------------------------------------

MX = """
func.func @mx(%a: memref<?x?xf8E4M3FN, "gm"> {{pypto.name = "a"}},
    %b: memref<?x?xf8E4M3FN, "gm"> {{pypto.name = "b"}},
    %sa: memref<?x?xf8E8M0FNU, "gm"> {{pypto.name = "sa"}},
    %sb: memref<?x?xf8E8M0FNU, "gm"> {{pypto.name = "sb"}},
    %m: index {{pypto.name = "m"}}, %n: index {{pypto.name = "n"}},
    %k: index {{pypto.name = "k"}}) -> (memref<?x?xbf16, "gm"> {{pypto.name = "c"}}) {{
  %c = npu.alloc[%m, %n] : memref<?x?xbf16, "gm">
  %t = npu.launch @mx_0[1] (%a, %b, %sa, %sb, %c, %m, %n, %k)
  func.return %c : memref<?x?xbf16, "gm">
}}
npu.kernel @mx_0 (%i) (%a: memref<?x?xf8E4M3FN, "gm">, %b: memref<?x?xf8E4M3FN, "gm">,
    %sa: memref<?x?xf8E8M0FNU, "gm">, %sb: memref<?x?xf8E8M0FNU, "gm">,
    %c: memref<?x?xbf16, "gm">, %m: index, %n: index, %k: index) on cube {{
  %al = tile.alloc : !tile.buf<{a_l1}xf8E4M3FN, l1>
  %bl = tile.alloc : !tile.buf<{b_l1}xf8E4M3FN, l1>
  %sal = tile.alloc : !tile.buf<{sa_l1}xf8E8M0FNU, l1>
  %sbl = tile.alloc : !tile.buf<{sb_l1}xf8E8M0FNU, l1>
  %l = tile.alloc : !tile.buf<32x64xf8E4M3FN, l0a>
  %r = tile.alloc : !tile.buf<64x32xf8E4M3FN, l0b>
  %sl = tile.alloc : !tile.buf<32x2xf8E8M0FNU, scale_a>
  %sr = tile.alloc : !tile.buf<32x2xf8E8M0FNU, scale_b>
  %acc = tile.alloc : !tile.buf<32x32xf32, l0c>
  %zero = arith.constant 0 : index
  %step = arith.constant 64 : index
  %blocks = pypto.index %k ceildiv 64
  %groups = pypto.index %blocks * 2
  %m2 = pypto.index %m * 2
  %n2 = pypto.index %n * 2
  tile.load %a[0, 0] [{a_box}] into %al
  tile.load %b[0, 0] [{b_box}] into %bl
  tile.load %sa[0, 0] [{sa_box}] into %sal
  tile.load %sb[0, 0] [{sb_box}] into %sbl
  scf.for %k0 = %zero to %k step %step {{
    %kb = pypto.index %k0 floordiv 64
    %kg = pypto.index %kb * 2
    %k1 = pypto.index min(64, %k - %k0)
    %more = pypto.index %k0 > 0
    tile.move %al[{a_at}] [{a_step}] into %l {a_how}
    tile.move %bl[{b_at}] [{b_step}] into %r {b_how}
    tile.move %sal[{sa_at}] [{sa_step}] into %sl {sa_how}
    tile.move %sbl[{sb_at}] [{sb_step}] into %sr {sb_how}
    tile.matmul_mx %l, %r, %sl, %sr into %acc [%m, %n, %k1] accumulate %more
  }}
  tile.store %acc [%m, %n] into %c[0, 0]
}}
"""
SIDES = {
    # (side, transposed): L1 shape, loaded box, box of a step, how it is moved
    ("a", False): ("32x256", "%m, %k", "0, %k0", "%m, %k1", ""),
    ("a", True): ("256x32", "%k, %m", "%k0, 0", "%k1, %m", "{trans}"),
    ("b", False): ("256x32", "%k, %n", "%k0, 0", "%k1, %n", ""),
    ("b", True): ("32x256", "%n, %k", "0, %k0", "%n, %k1", "{trans}"),
    # scales in rows [m, 2 * kb], or in pairs [kb, 2 * m]
    ("sa", False): ("32x8", "%m, %groups", "0, %kg", "%m, 2", ""),
    ("sa", True): ("4x64", "%blocks, %m2", "%kb, 0", "1, %m2", "{pairs}"),
    ("sb", False): ("32x8", "%n, %groups", "0, %kg", "%n, 2", ""),
    ("sb", True): ("4x64", "%blocks, %n2", "%kb, 0", "1, %n2", "{pairs}"),
}


def mx_fields(sides: dict[str, bool]) -> dict[str, str]:
    """The parts of MX for operands that are transposed, scales that are in pairs."""
    fields: dict[str, str] = {}
    for side, flag in sides.items():
        names = (f"{side}_l1", f"{side}_box", f"{side}_at", f"{side}_step")
        fields |= dict(zip((*names, f"{side}_how"), SIDES[side, flag], strict=True))
    return fields


def mx_inputs(
    m: int, n: int, k: int, sides: dict[str, bool]
) -> tuple[dict[str, Any], Any]:
    """Inputs in the form that MX takes, and the product in f64."""
    generator = np.random.default_rng(k)
    blocks = -(-k // 64)
    f8, e8m0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
    a = generator.uniform(-4, 4, (m, k)).astype(f8)
    b = generator.uniform(-4, 4, (k, n)).astype(f8)
    sa = generator.integers(124, 130, (m, 2 * blocks)).astype(np.uint8).view(e8m0)
    sb = generator.integers(124, 130, (n, 2 * blocks)).astype(np.uint8).view(e8m0)
    want = (a.astype(np.float64) * np.repeat(sa.astype(np.float64), 32, 1)[:, :k]) @ (
        b.astype(np.float64) * np.repeat(sb.astype(np.float64), 32, 1).T[:k]
    )

    def paired(scales: Any) -> Any:
        rows = len(scales)
        return scales.reshape(rows, blocks, 2).swapaxes(0, 1).reshape(blocks, 2 * rows)

    given = {
        "a": a.T.copy() if sides["a"] else a,
        "b": b.T.copy() if sides["b"] else b,
        "sa": paired(sa) if sides["sa"] else sa,
        "sb": paired(sb) if sides["sb"] else sb,
    }
    return given, want


@pytest.mark.parametrize("k", [64, 256, 200, 96, 40, 31])
@pytest.mark.parametrize("other_scales", [False, True])
@pytest.mark.parametrize("a_trans", [False, True])
@pytest.mark.parametrize("b_trans", [False, True])
def test_mx(a_trans: bool, b_trans: bool, other_scales: bool, k: int) -> None:
    m, n = 19, 30
    sides = {"a": a_trans, "b": b_trans, "sa": other_scales, "sb": not other_scales}
    module = parse(MX.format(**mx_fields(sides)))
    given, want = mx_inputs(m, n, k, sides)
    for fuse in (True, False):
        program = Executable(module, MACHINE, fuse=fuse, check=True)
        got = program.run({**given, "m": m, "n": n, "k": k})["c"]
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=2**-8, atol=1e-2)


# Products at once --------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["%kb * 0", "%kb - %kb floordiv 2"])
@pytest.mark.parametrize("pairs", [False, True])
def test_scales_that_do_not_follow(wrong: str, pairs: bool) -> None:
    """The scales of a step are those that it moved, not those of its K."""
    m, n, k = 16, 16, 256
    sides = {"a": False, "b": False, "sa": pairs, "sb": not pairs}
    text = MX.format(**mx_fields(sides)).replace(
        "%kg = pypto.index %kb * 2",
        f"%kx = pypto.index {wrong}\n%kg = pypto.index %kx * 2",
    )
    text = text.replace("[%kb, 0]", "[%kx, 0]")
    module = parse(text)
    given, _ = mx_inputs(m, n, k, sides)
    results = [
        Executable(module, MACHINE, fuse=fuse, check=True).run(
            {**given, "m": m, "n": n, "k": k}
        )["c"]
        for fuse in (True, False)
    ]
    assert np.array_equal(results[0], results[1])


STEPS = """
func.func @f(%a: memref<16x128xf16, "gm"> {{pypto.name = "a"}},
    %b: memref<128x16xf16, "gm"> {{pypto.name = "b"}})
    -> (memref<16x16xf32, "gm"> {{pypto.name = "c"}}) {{
  %c = npu.alloc[16, 16] : memref<16x16xf32, "gm">
  %t = npu.launch @steps[1] (%a, %b, %c)
  func.return %c : memref<16x16xf32, "gm">
}}
npu.kernel @steps (%i) (%a: memref<16x128xf16, "gm">, %b: memref<128x16xf16, "gm">,
    %c: memref<16x16xf32, "gm">) on cube {{
  %al = tile.alloc : !tile.buf<16x128xf16, l1>
  %bl = tile.alloc : !tile.buf<128x16xf16, l1>
  %l = tile.alloc : !tile.buf<16x32xf16, l0a>
  %r = tile.alloc : !tile.buf<32x16xf16, l0b>
  %acc = tile.alloc : !tile.buf<16x16xf32, l0c>
  %begin = arith.constant 0 : index
  %end = arith.constant 128 : index
  %step = arith.constant 32 : index
  tile.load %a[0, 0] [16, 128] into %al
  tile.load %b[0, 0] [128, 16] into %bl
  scf.for %k = %begin to %end step %step {{
    {body}
  }}
  tile.store %acc [16, 16] into %c[0, 0]
}}
"""
SIMPLE = """
    %ka = pypto.index {ka}
    %kb = pypto.index {kb}
    %more = pypto.index {more}
    tile.move %al[0, %ka] [16, 32] into %l
    tile.move %bl[%kb, 0] [32, 16] into %r
    tile.matmul %l, %r into %acc [16, 16, 32] accumulate %more
"""


def in_both_ways(body: str) -> Any:
    """The results at once and step by step, which must agree."""
    module = parse(STEPS.format(body=body))
    generator = np.random.default_rng(0)
    a = generator.integers(-4, 4, (16, 128)).astype(np.float16)
    b = generator.integers(-4, 4, (128, 16)).astype(np.float16)
    given = {"a": a, "b": b}
    results = [
        Executable(module, MACHINE, fuse=fuse, check=check).run(given)["c"]
        for fuse, check in ((False, True), (True, True), (True, False))
    ]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])
    return results[0], a.astype(np.float32), b.astype(np.float32)


@pytest.mark.parametrize(
    ("ka", "kb", "more", "golden"),
    [
        ("%k", "%k", "%k > 0", lambda a, b: a @ b),
        # Slices in another order, of which B's do not follow A's, or reset the sum.
        ("96 - %k", "96 - %k", "%k > 0", lambda a, b: a @ b),
        ("%k", "0", "%k > 0", lambda a, b: a @ np.tile(b[:32], (4, 1))),
        ("0", "%k", "%k > 0", lambda a, b: np.tile(a[:, :32], (1, 4)) @ b),
        ("%k", "%k", "%k > 32", lambda a, b: a[:, 32:] @ b[32:]),
        (
            "%k",
            "%k",
            "min((%k - 64) * (%k - 64), %k) > 0",  # neither 0 nor 64
            lambda a, b: a[:, 64:] @ b[64:],
        ),
    ],
)
def test_slices(ka: str, kb: str, more: str, golden: Any) -> None:
    body = SIMPLE.format(ka=ka, kb=kb, more=more)
    got, a, b = in_both_ways(body)
    assert np.array_equal(got, golden(a, b))


def test_operand_of_two_matmuls() -> None:
    """B stays in L0 for a second matmul: its move is real."""
    body = """
    %more = pypto.index %k > 0
    tile.move %al[0, %k] [16, 32] into %l
    tile.move %bl[%k, 0] [32, 16] into %r
    tile.matmul %l, %r into %acc [16, 16, 32] accumulate %more
    tile.move %al[0, 0] [16, 32] into %l
    tile.matmul %l, %r into %acc [16, 16, 32] accumulate
"""
    got, a, b = in_both_ways(body)
    assert np.array_equal(got, a @ b + np.tile(a[:, :32], (1, 4)) @ b)


def test_load_between_move_and_matmul() -> None:
    """What was moved is multiplied, though L1 has changed since."""
    body = """
    %more = pypto.index %k > 0
    tile.move %al[0, 0] [16, 32] into %l
    tile.move %bl[%k, 0] [32, 16] into %r
    tile.load %a[0, %k] [16, 32] into %al
    tile.matmul %l, %r into %acc [16, 16, 32] accumulate %more
"""
    got, a, b = in_both_ways(body)
    want = a[:, :32] @ b[:32] + a[:, :96] @ b[32:]
    assert np.array_equal(got, want)


def test_larger_matmul_than_move() -> None:
    """A matmul of rows that no move of this step filled is not done from L1."""
    body = """
    %m = pypto.index 16 - %k floordiv 8
    %more = pypto.index %k > 0
    tile.move %al[0, %k] [%m, 32] into %l
    tile.move %bl[%k, 0] [32, 16] into %r
    tile.matmul %l, %r into %acc [16, 16, 32] accumulate %more
"""
    in_both_ways(body)


# Loads that are not made ------------------------------------------------------------


def test_rows_of_an_earlier_load() -> None:
    """What a later, smaller load leaves in L1 is multiplied."""
    body = """
    %more = pypto.index %k > 0
    %m = pypto.index 16 - %k floordiv 8
    tile.load %a[0, 0] [%m, 128] into %al
    tile.load %a[4, 0] [4, 128] into %al
    tile.move %al[0, %k] [16, 32] into %l
    tile.move %bl[%k, 0] [32, 16] into %r
    tile.matmul %l, %r into %acc [16, 16, 32] accumulate %more
"""
    got, a, b = in_both_ways(body)
    assert np.array_equal(got, np.vstack([a[4:8], a[4:]]) @ b)


def test_memory_that_tasks_store_to() -> None:
    """The second task multiplies what the first one stored."""
    text = STEPS.format(body=SIMPLE.format(ka="%k", kb="%k", more="%k > 0"))
    for old, new in (
        ('  %c = npu.alloc[16, 16] : memref<16x16xf32, "gm">\n', ""),
        ("@steps[1] (%a, %b, %c)", "@steps[3] (%a, %b, %a)"),
        ("return %c : memref<16x16xf32", "return %a : memref<16x128xf16"),
        ("-> (memref<16x16xf32", "-> (memref<16x128xf16"),
        ("%c: memref<16x16xf32", "%c: memref<16x128xf16"),
    ):
        assert old in text
        text = text.replace(old, new)
    generator = np.random.default_rng(0)
    a = generator.integers(0, 2, (16, 128)).astype(np.float16)
    b = generator.integers(-1, 2, (128, 16)).astype(np.float16)
    want = a.astype(np.float32)
    for _ in range(3):
        want[:, :16] = (want @ b.astype(np.float32)).astype(np.float16)
    for fuse in (True, False):
        got = Executable(parse(text), MACHINE, fuse=fuse).run({"a": a, "b": b})["c"]
        assert np.array_equal(got, want)


@pytest.mark.parametrize(("k", "products", "images"), [(200, 6, 2 + 3), (512, 1, 2)])
def test_all_of_k_is_one_product(
    k: int, products: int, images: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K in steps of L1 and L0, and each box decoded once for all tasks; of much K all
    tasks are one product, too."""
    calls = {"product": 0, "image": 0, "keep": 0}

    def count(where: Any, name: str) -> None:
        real = getattr(where, name)

        def counted(*args: Any) -> Any:
            calls[name] += 1
            return real(*args)

        monkeypatch.setattr(where, name, counted)

    count(operand_images, "product")
    count(operand.Side, "image")
    count(Images, "keep")
    ones = np.ones((128, k), np.float16), np.ones((k, 192), np.float16)
    got = Executable(parse(KERNEL), MACHINE).run(dict(zip("ab", ones)))["c"]
    assert (got == k).all()
    # What is one product needs no image for other tasks.
    kept = 0 if products == 1 else images
    assert calls == {"product": products, "image": images, "keep": kept}


def test_loop_becomes_one_product() -> None:
    """The short cut is taken where it should be."""
    module = parse(STEPS.format(body=SIMPLE.format(ka="%k", kb="%k", more="%k > 0")))
    for fuse, calls in ((True, 1), (False, 0)):
        program = Executable(module, MACHINE, fuse=fuse).prepare("f")
        lines = program.orchestration.kernels["steps"].lines
        assert sum("steps" in line and " = []" in line for line in lines) == calls
