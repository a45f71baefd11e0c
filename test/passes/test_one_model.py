"""
What a remark says of ways of grouping is what `--print-tile-candidates` shows of them.

The numbers of a remark are looked up in the tables of the program as it was grouped,
and in those of the same program with the other way forced.
"""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import f16

from pyptoc.command import Unit, parse
from pyptoc.dialects.context import make_context
from pyptoc.manager import run_passes
from pyptoc.passes.cube_cost import CubeWork
from pyptoc.passes.cube_tiles import Contraction, CubeTile
from pyptoc.passes.mixed_cost import MixedWork, mixed_costs
from pyptoc.passes.vector_cost import Moved, VectorWork
from pyptoc.pipeline_text import parse_pipeline
from pyptoc.runtime.machine import load_machine

GELU = """
func.func @f(%a: tensor<512x256xf16>, %b: tensor<256x1024xf16>)
    -> tensor<512x1024xf32> {
  %y = pypto.matmul %a, %b
  %z = pypto.gelu %y
  func.return %z : tensor<512x1024xf32>
}
"""
SWIGLU = """
func.func @f(%a: tensor<?x512xf16>, %b: tensor<512x2048xf16>) -> tensor<?x1024xf32>
    attributes {pypto.tiles = #pypto.tiles<cube = #pypto.cube<m = [64, 64],
      k = [64, 256], n = [128, 128]>>} {
  %y = pypto.matmul %a, %b
  %z = pypto.swiglu %y
  func.return %z : tensor<?x1024xf32>
}
"""
LOOP = """
func.func @f(%a: tensor<8x128x64xf16>, %b: tensor<64x256xf16>)
    -> tensor<8x128x256xf32> {
  %o0 = pypto.empty[8, 128, 256] : tensor<8x128x256xf32>
  %o = pypto.forall (%i = 0 to 8) outs(%c = %o0) {
    %x = pypto.view %a[%i, :, :]
    %y = pypto.matmul %x, %b
    %z = pypto.gelu %y
    pypto.store %z into %c[%i, 0, 0]
  }
  func.return %o : tensor<8x128x256xf32>
}
"""
ROW = """
func.func @f(%x: tensor<1x1000000xf32>) -> tensor<1x1xf32> {
  %s = pypto.sum %x axis -1 {keepdim}
  func.return %s : tensor<1x1xf32>
}
"""
US = r"(\d+\.\d\d)"


def chosen(text: str, options: str) -> tuple[list[str], list[float]]:
    """The remarks of partition, and the first time of each table."""
    context = make_context(load_machine("ascend950"))
    context.candidates = []
    module = parse(Unit("f.mlir", text), context)
    passes = f"desugar,decompose,partition{{{options}}},infer-tiles"
    run_passes(parse_pipeline(passes), context, module)
    rows = [table.splitlines()[1:3] for table in context.candidates]
    times: list[float] = []
    for head, first in rows:
        names = re.split(r"\s{2,}", head.strip())
        values = re.split(r"\s{2,}", first.strip())[1:]
        times.append(float(values[names.index("us")]))
    return [remark.message for remark in context.remarks], times


@pytest.mark.parametrize(
    ("text", "apart"),
    [(GELU, 1), (SWIGLU, 1), (LOOP, 8)],
    ids=["gelu", "swiglu", "loop"],
)
def test_fused_and_apart(text: str, apart: int) -> None:
    """A launch together against a launch each, `apart` times."""
    remarks, together = chosen(text, "nests=false")
    said = next(r for r in remarks if "share its tasks" in r)
    found = re.search(f"modelled {US} us instead of {US} us .*?{US} \\+ {US}\\)", said)
    assert found, said
    now, before, *parts = map(float, found.groups())
    assert together == [now]
    _, separate = chosen(text, "nests=false fuse=false")
    assert sorted(separate) == sorted(parts)
    assert before == pytest.approx(apart * sum(parts), abs=0.02 * apart)


def test_rows_cut_and_whole() -> None:
    remarks, launches = chosen(ROW, "")
    said = next(r for r in remarks if "folded in column tiles" in r)
    found = re.search(f"{US} us \\({US} \\+ {US}\\) instead of {US} us", said)
    assert found, said
    total, *parts, whole = map(float, found.groups())
    assert launches == parts
    assert total == pytest.approx(sum(parts), abs=0.02)
    assert chosen(ROW, "cut=false")[1] == [whole]


def test_refused_with_the_times_of_both() -> None:
    """40 rows of 1000 are done before a second launch could start."""
    text = ROW.replace("1x1000000", "40x1000").replace("1x1xf32", "40x1xf32")
    remarks, launches = chosen(text, "")
    said = next(r for r in remarks if "rows are not cut" in r)
    found = re.search(f"instead of {US} us", said)
    assert found, said
    assert launches == [float(found[1])]


def test_the_shorter_side_hides_but_for_one_wave() -> None:
    """One wave of tasks is a tile made, then read; of two, one is read meanwhile."""
    machine = load_machine("ascend950")
    wide = Moved(True, True, 4.0)
    seen: list[int] = []
    for rows in (128 * machine.cube_cores, 256 * machine.cube_cores):
        contraction = Contraction(f16, f16, rows, 128, 256, False, False)
        product = CubeWork(contraction, rows, 128, 256, on_chip=True)
        vector = VectorWork(1, rows, 128, (), (wide,), (("exp", wide),), 0, False)
        tile = CubeTile(128, 128, 64, 256, 256, 128, 128)
        (cost,) = mixed_costs(MixedWork((product,), (1,), vector), [tile], machine)
        sides = sorted((cost.cube, cost.vector))
        both = cost.seconds - machine.launch_seconds
        assert both == pytest.approx(sides[1] + sides[0] / cost.waves)
        seen.append(cost.waves)
    assert seen == [1, 2]
