"""
Tiles through the whole pipeline: what is chosen can be placed, what is given is right.

Golden values are numpy's, in f64 or exact integers. Each class is one kind of mistake
that compilers of matmuls make: a K that no step divides, an accumulator whose padding
is forgotten, narrow right tiles of i8, a buffer that is exactly full.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import pyptoc
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.npu import kernels_of
from pyptoc.dialects.tile import AllocOp
from pyptoc.passes import tile_search
from pyptoc.passes.tile_search import Ranking
from pyptoc.pipeline_text import default_pipeline
from pyptoc.runtime.machine import load_machine

MACHINES = ("ascend950", "ascend910b")
DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "i8": np.int8,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
}


def matmul(
    m: int | str,
    n: int,
    k: int,
    element: str = "f16",
    attributes: str = "",
    to: str = "",
) -> str:
    """A function of one product; `m` may be "?"."""
    result = to or ("i32" if element == "i8" else "f32")
    flags = f" {{{attributes}}}" if attributes else ""
    a = f"{k}x{m}" if "a_trans" in attributes else f"{m}x{k}"
    b = f"{n}x{k}" if "b_trans" in attributes else f"{k}x{n}"
    return f"""func.func @f(%a: tensor<{a}x{element}>, %b: tensor<{b}x{element}>)
    -> tensor<{m}x{n}x{result}> {{
  %y = pypto.matmul %a, %b{f" to {to}" if to else ""}{flags}
  func.return %y : tensor<{m}x{n}x{result}>
}}
"""


def check(
    text: str,
    m: int,
    n: int,
    k: int,
    element: str,
    machines: Sequence[str] = MACHINES,
) -> None:
    """On the machines that have the type, exactly."""
    draw = np.random.default_rng(m * n + k)
    # Small integers: their products and sums are exact in every type.
    a, b = draw.integers(-3, 4, (m, k)), draw.integers(-3, 4, (k, n))
    want = a @ b
    dtype = DTYPES[element]
    given = {
        "a": (a.T if "a_trans" in text else a).astype(dtype),
        "b": (b.T if "b_trans" in text else b).astype(dtype),
    }
    for machine in machines[: 1 if element == "f8E4M3FN" else 2]:
        (found,) = pyptoc.compile(text, machine=machine).run(**given).values()
        assert np.array_equal(found, want), machine


# -- what is chosen can be placed ------------------------------------------------


def drawn(random: Random, number: int, machine: str) -> tuple[str, list[str], str]:
    """Arguments, lines and the result of a random product."""
    f8 = ["f8E4M3FN", "f8E5M2"] if machine == "ascend950" else []
    element = random.choice(["f16", "bf16", "f32", "i8", *f8])
    m, n, k = (int(2 ** random.uniform(0, 12)) for _ in range(3))
    rows = random.choice([str(m), "?"])
    names = [f"%{letter}{number}" for letter in "abst"]
    a, b, s, t = names
    scaled = element in f8 and random.random() < 0.6
    batch = "" if scaled else random.choice(["", "", "3x", "2x3x"])
    a_trans = rows != "?" and random.random() < 0.4
    b_trans = random.random() < 0.4
    sides = [f"{k}x{rows}" if a_trans else f"{rows}x{k}"]
    sides.append(f"{n}x{k}" if b_trans else f"{k}x{n}")
    shared = random.choice(["", batch])
    arguments = [f"{a}: tensor<{batch}{sides[0]}x{element}>"]
    arguments.append(f"{b}: tensor<{shared}{sides[1]}x{element}>")
    flags = [f for f, on in (("a_trans", a_trans), ("b_trans", b_trans)) if on]
    result, words = ("i32" if element == "i8" else "f32"), f"pypto.matmul {a}, {b}"
    if scaled:
        pairs = -(-k // 64)
        s_trans = random.random() < 0.5
        flags += ["scales_b_trans"] if s_trans else []
        arguments.append(f"{s}: tensor<{rows}x{pairs}x2xf8E8M0FNU>")
        lengths = f"{n}x{pairs}" if s_trans else f"{pairs}x{n}"
        arguments.append(f"{t}: tensor<{lengths}x2xf8E8M0FNU>")
        words = f"pypto.scaled_mm {a}, {b} scales {s}, {t}"
    elif random.random() < 0.4:
        result = random.choice(["f16", "bf16"])
        arguments.append(f"{s}: tensor<{n}xf32>")
        words += f" scale {s} to {result}"
        flags += random.choice([["relu"], []])
    attributes = f" {{{', '.join(flags)}}}" if flags else ""
    kind = f"tensor<{batch}{rows}x{n}x{result}>"
    return ", ".join(arguments), [f"  %y{number} = {words}{attributes}"], kind


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_chosen_can_be_placed(machine: str, monkeypatch: pytest.MonkeyPatch):
    """Random products up to plan-memory: no slot more or less than was counted on."""
    found: list[Ranking] = []

    def search(*arguments) -> Ranking:
        found.append(real(*arguments))
        return found[-1]

    real = tile_search.search
    monkeypatch.setattr(tile_search, "search", search)
    random = Random(machine)
    target = load_machine(machine)
    pipeline = (
        "partition,infer-tiles,tile,split-k,assemble-buffers,lower-to-tile,plan-memory"
    )
    for _ in range(6):
        found.clear()
        parts = [drawn(random, number, machine) for number in range(4)]
        lines = "\n".join(line for _, body, _ in parts for line in body)
        kinds = ", ".join(kind for *_, kind in parts)
        names = ", ".join(f"%y{number}" for number in range(len(parts)))
        text = f"""func.func @f({", ".join(part for part, *_ in parts)}) -> ({kinds}) {{
{lines}
  func.return {names} : {kinds}
}}
"""
        module = pyptoc.compile(text, machine=machine, pipeline=pipeline).module
        assert len(found) == len(parts)
        kernels = [k for k in kernels_of(module).values() if k.unit.data == "cube"]
        for kernel, ranking in zip(kernels, found, strict=True):
            slots: dict[str, int] = {}
            for op in kernel.body.walk():
                if not isinstance(op, AllocOp):
                    continue
                space = op.type.space.value
                assert op.address + op.total_bytes <= target.space(space).bytes
                slots[space] = min(op.slot_count, slots.get(space, 2))
            costs = ranking.costs
            c, tile = ranking.product.contraction, ranking.best
            # A row of scales is loaded outside of the loop over K, as is all of K.
            if not c.output_scales and tile.k_step < ranking.product.k:
                assert slots["l1"] >= costs.l1_slots[0], text
            if tile.k_step > tile.k0:
                assert min(slots["l0a"], slots["l0b"]) >= costs.l0_slots[0], text


# -- K that no step divides, and less of it than a fractal ------------------------

DEPTHS = [1, 15, 17, 31, 33, 100, 129, 200]


class TestDepth:
    @pytest.mark.parametrize("element", ["f16", "i8", "f32", "f8E4M3FN"])
    def test_tail_of_k(self, element: str):
        """Several depths in one program: chosen tiles, given ones, and split ones."""
        given = "tile = #pypto.cube<m = [16, 16], k = [32, 64], n = [32, 32]"
        split = "" if element == "f8E4M3FN" else ", split_k = 3"
        for k in DEPTHS[:: 2 if element == "f16" else 3]:
            check(matmul(18, 40, k, element), 18, 40, k, element)
            tile = given + (split if k > 100 else "") + ">"
            check(matmul(18, 40, k, element, tile), 18, 40, k, element)

    def test_tail_in_unequal_steps(self):
        """A in steps of 48, B in steps of 112, of a K that neither divides."""
        tile = "tile = #pypto.cube<m = [16, 32], k = [16, 48, 112], n = [16, 32]>"
        check(matmul(40, 40, 130, "f16", tile), 40, 40, 130, "f16")


# -- M = 16 with an accumulator that is larger than its result --------------------


class TestAccumulator:
    @pytest.mark.parametrize("m", [1, 16, 17])
    @pytest.mark.parametrize("a_trans", [False, True])
    def test_few_rows_of_i32(self, m: int, a_trans: bool):
        flags = "a_trans" if a_trans else ""
        check(matmul(m, 272, 96, "i8", flags), m, 272, 96, "i8")

    def test_padding_counts(self):
        """17 x 1920 sums of 4 B fit L0C, the 32 rows of their fractals do not."""
        tile = "tile = #pypto.cube<m = [32, 32], k = [32, 32], n = [{0}, {0}]>"
        check(matmul(17, 1920, 32, "i8"), 17, 1920, 32, "i8")
        check(matmul(17, 1920, 32, "i8", tile.format(1024)), 17, 1920, 32, "i8")
        assert load_machine("ascend910b").space("l0c").bytes > 17 * 1920 * 4
        text = matmul(17, 1920, 32, "i8", tile.format(1920))
        with pytest.raises(CompileError, match="does not fit L0C"):
            pyptoc.compile(text, machine="ascend910b")


# -- narrow right tiles of i8 ------------------------------------------------------


class TestNarrow:
    @pytest.mark.parametrize("n", [1, 15, 16, 17, 48])
    def test_columns_of_i8(self, n: int):
        """Boxes of 32 columns, of which the last one holds 16, 15, 1."""
        given = "tile = #pypto.cube<m = [16, 32], k = [32, 64], n = [32, 32]>"
        for attributes in ("", given, f"b_trans, {given}"):
            check(matmul(20, n, 70, "i8", attributes), 20, n, 70, "i8")


# -- buffers that are exactly full -------------------------------------------------


class TestExactlyFull:
    @pytest.mark.parametrize(
        ("machine", "n"), [("ascend950", 256), ("ascend910b", 128)]
    )
    def test_l0c(self, machine: str, n: int):
        """256 x n sums of 4 B are all of L0C, once; two tiles use it in turn."""
        tile = f"tile = #pypto.cube<m = [256, 256], k = [32, 32], n = [{n}, {2 * n}]>"
        text = matmul(256, 2 * n, 48, "f16", tile)
        check(text, 256, 2 * n, 48, "f16", [machine])
        capacity = load_machine(machine).space("l0c").bytes
        module = pyptoc.compile(text, machine=machine).module
        assert l0c_bytes(module) == capacity
        wider = tile.replace(f"n = [{n}, {2 * n}]", f"n = [{n + 16}, {n + 16}]")
        text = matmul(256, 2 * n, 48, "f16", wider)
        with pytest.raises(CompileError, match="does not fit L0C"):
            pyptoc.compile(text, machine=machine)


def l0c_bytes(module: ModuleOp) -> int:
    found = [op for op in module.walk() if isinstance(op, AllocOp)]
    return sum(op.total_bytes for op in found if op.type.space.value == "l0c")


# -- walks -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "walk", ["column", "snake", "blocked<2, 3>", "blocked<9, 1>, split_k = 2"]
)
def test_any_walk_visits_every_tile(walk: str):
    """Results are fully written, or the run fails; M is dynamic, with tails."""
    tile = (
        f"tile = #pypto.cube<m = [16, 16], k = [32, 32], n = [32, 32], walk = {walk}>"
    )
    text = matmul("?", 150, 64, "f16", tile)
    assert f"walk = {walk}"[:12] in text
    check(text, 70, 150, 64, "f16")


# -- splits that cannot be ---------------------------------------------------------

FORCED = {
    "a bias": ("%a, %b bias %s", "f32", ""),
    "relu": ("%a, %b", "f32", "relu, "),
    "an output scale": ("%a, %b scale %s to f16", "f16", ""),
    "a result of bf16": ("%a, %b to bf16", "bf16", ""),
}


@pytest.mark.parametrize("split", ["split_k", "split_k = 2"])
@pytest.mark.parametrize("what", FORCED)
def test_forced_split_is_an_error(what: str, split: str):
    words, result, flag = FORCED[what]
    cube = f"#pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64], {split}>"
    text = f"""func.func @f(%a: tensor<16x512xf16>, %b: tensor<512x64xf16>,
    %s: tensor<64xf32>) -> tensor<16x64x{result}> {{
  %y = pypto.matmul {words} {{{flag}tile = {cube}}}
  func.return %y : tensor<16x64x{result}>
}}
"""
    with pytest.raises(CompileError) as caught:
        pyptoc.compile(text)
    (found,) = caught.value.diagnostics
    assert found.code == "PTO214"
    # The pass's own option is no way round it.
    plain = text.replace(f", {split}", "")
    pipeline = "partition,infer-tiles,tile,split-k{factor=2}"
    with pytest.raises(CompileError) as caught:
        pyptoc.compile(plain, pipeline=pipeline)
    assert caught.value.diagnostics[0].code == "PTO214"


def test_sums_that_the_store_converts_are_not_split_by_choice():
    """i32 parts cannot be added in the f32 that the store makes of a whole sum."""
    text = """func.func @f(%a: tensor<64x8192xi8>, %b: tensor<8192x16xi8>)
    -> (tensor<64x16xf32> {pypto.name = "y"}) {
  %x = pypto.matmul %a, %b
  %f = pypto.cast %x to f32
  %y = pypto.neg %f
  func.return %y : tensor<64x16xf32>
}
"""
    rng = np.random.default_rng(7)
    a = rng.integers(-128, 128, (64, 8192), np.int8)
    b = rng.integers(-128, 128, (8192, 16), np.int8)
    want = -(a.astype(np.int64) @ b).astype(np.float32)
    apart = default_pipeline().replace(",partition,", ",partition{fuse=false},")
    for machine in ("ascend950", "ascend910b"):
        program = pyptoc.compile(text, machine=machine, pipeline=apart)
        np.testing.assert_array_equal(program.run(a=a, b=b)["y"], want)
