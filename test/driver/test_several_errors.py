"""
One mistake does not hide the next; what an error is about has a note with its place.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from inprocess import call

from pyptoc.explain import explanations
from pyptoc.pipeline_text import default_pipeline

CODES = explanations()
ONE_BY_ONE = re.compile(r"pyptoc op\.mlir( --(machine|pipeline)=\S+)*")
NOT_TWICE = {
    "PTO504": "the pipeline is one",
    "PTO510": "the machine is one",
    "PTO511": "the machine is one",
}


def compile_errors() -> list[str]:
    """The codes whose example is a file that is compiled and no more."""
    return [
        code
        for code, found in CODES.items()
        if code not in NOT_TWICE
        and found.wrong is not None
        and "op.mlir" in found.wrong.files
        and ONE_BY_ONE.fullmatch(found.wrong.command)
    ]


@pytest.mark.parametrize("code", compile_errors())
def test_both_of_two_mistakes_are_reported(code, tmp_path) -> None:
    example = CODES[code].wrong
    assert example is not None
    text = example.files["op.mlir"]
    again = re.sub(r"@(\w+)", r"@\1_again", re.sub(r"^#.*\n", "", text, flags=re.M))
    for name, other in (example.files | {"op.mlir": text + again}).items():
        (tmp_path / name).write_text(other)
    words = [
        word.replace("op.mlir", str(tmp_path / "op.mlir")).replace(
            "=small.toml", f"={tmp_path / 'small.toml'}"
        )
        for word in shlex.split(example.command)[1:]
    ]
    _, _, err = call(*words)
    lines = re.findall(rf"op\.mlir:(\d+):\d+: \w+\[{code}\]", err)
    assert len(set(lines)) >= 2, err


def errors(tmp_path: Path, text: str, *words: str) -> str:
    file = tmp_path / "op.mlir"
    file.write_text(text)
    code, _, err = call(str(file), *words)
    assert code == 1
    return err.replace(f"{tmp_path}/", "")


TILES = """\
#t = #pypto.cube<m = [16, 16], k = [64, 64], n = [24, 24]>
func.func @f(%a: tensor<64x64xf16>, %x: tensor<8x32xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<8x32xf32>) {
  %k = pypto.matmul %a, %a {tile = #t}
  %l = pypto.matmul %a, %a {b_trans,
    tile = #pypto.cube<m = [16, 24], k = [64, 64], n = [64, 64]>}
  %y = pypto.exp %x {tile = #pypto.vec<2, 8, 32>}
  func.return %k, %l, %y : tensor<64x64xf32>, tensor<64x64xf32>, tensor<8x32xf32>
}
"""


def test_every_tile_of_a_function_is_looked_at_and_pointed_at(tmp_path) -> None:
    err = errors(tmp_path, TILES)
    assert re.findall(r"^(op\.mlir:\S+) error\[(\w+)\]", err, re.M) == [
        ("op.mlir:4:8:", "PTO213"),
        ("op.mlir:5:8:", "PTO212"),
        ("op.mlir:7:8:", "PTO215"),
    ]
    assert "note: the tile is #t, which is defined here (op.mlir:1:1)" in err
    assert "note: the tile is given here (op.mlir:6:5)" in err
    assert "note: the tile is given here (op.mlir:7:22)" in err


def test_casts_and_products_that_a_machine_lacks_are_reported_together(
    tmp_path,
) -> None:
    text = """\
func.func @f(%a: tensor<16x64xf8E4M3FN>, %b: tensor<64x32xf8E4M3FN>)
    -> (tensor<16x64xf32>, tensor<16x32xf32>, tensor<64x32xf32>) {
  %v = pypto.cast %a to f32
  %y = pypto.matmul %a, %b
  %w = pypto.cast %b to f32
  func.return %v, %y, %w : tensor<16x64xf32>, tensor<16x32xf32>, tensor<64x32xf32>
}
"""
    err = errors(tmp_path, text, "--machine=ascend910b")
    assert re.findall(r"^op\.mlir:(\d+):8: error\[(\w+)\]", err, re.M) == [
        ("3", "PTO221"),
        ("4", "PTO220"),
        ("5", "PTO221"),
    ]


TWO_TASKS = """\
func.func @f(%a: tensor<64x8192xf16>, %b: tensor<8192x64xf16>)
    -> (tensor<64x64xf16>, tensor<64x64xbf16>) {
  %y = pypto.matmul %a, %b to f16
  %z = pypto.matmul %a, %b to bf16
  func.return %y, %z : tensor<64x64xf16>, tensor<64x64xbf16>
}
"""
UNTILED = """\
func.func @f(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %y = pypto.exp %x {npu.group = 0 : i64, npu.unit = "vector"}
  %z = pypto.log %x {npu.group = 1 : i64, npu.unit = "vector"}
  func.return %y, %z : tensor<8x64xf32>, tensor<8x64xf32>
}
"""
KERNELS = """\
npu.kernel @k () () on vector {
  scf.execute_region {
    scf.yield
  }
}
npu.kernel @l () () on vector {
  scf.execute_region {
    scf.yield
  }
}
"""
ON_TENSORS = "decompose,partition{fuse=false},infer-tiles,form-tasks,tile,lower-to-tile"
SEVERAL = """\
func.func @f(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %y = pypto.exp %x
  %z = pypto.log %x
  func.return %y, %z : tensor<8x64xf32>, tensor<8x64xf32>
}
"""


@pytest.mark.parametrize(
    ("text", "pipeline", "found"),
    [
        (TWO_TASKS, default_pipeline().replace("split-k", "split-k{factor=2}"), "3 4"),
        (UNTILED, "tile", "2 3"),
        (UNTILED.replace("0 : i64", "1 : i64"), "tile", "2"),
        (SEVERAL, ON_TENSORS, "2 3"),
        (KERNELS, "insert-sync", "2 7"),
    ],
)
def test_a_pass_goes_on_behind_what_it_refuses(text, pipeline, found, tmp_path) -> None:
    """Independent tasks, groups and kernels of one function."""
    err = errors(tmp_path, text, f"--pipeline={pipeline}")
    lines = re.findall(r"^op\.mlir:(\d+):\d+: error\[PTO(?:213|214|504)\]", err, re.M)
    assert lines == found.split(), err


def test_boxes_in_loops_are_all_looked_at(tmp_path) -> None:
    text = """\
func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %e = pypto.full 0.0[2, 8] : tensor<2x8xf32>
  %r = pypto.for (%i = 0 to 2) iter(%k = %e) {
    %j = pypto.index %i + 3
    %v = pypto.view %x[%j +: 2, :]
    %w = pypto.view %y[%j +: 2, :]
    %s = pypto.add %v, %w
    pypto.yield %s
  }
  func.return %r : tensor<2x8xf32>
}
"""
    err = errors(tmp_path, text)
    assert re.findall(r"^op\.mlir:(\d+):10: error\[(\w+)\]", err, re.M) == [
        ("5", "PTO402"),
        ("6", "PTO402"),
    ]


def test_producers_are_noted(tmp_path) -> None:
    text = """\
func.func @f(%x: tensor<4x8xf32>, %h: tensor<4x8xbf16>) {
  %c = pypto.cast %h to f16
  %y = pypto.add %x, %c
  func.return
}
"""
    err = errors(tmp_path, text)
    assert "op.mlir:3:18: error[PTO112]" in err
    assert "note: %c is computed here (op.mlir:2:3)" in err
    assert "%x is computed" not in err  # an argument: the signature shows it


def test_more_errors_than_are_shown_are_counted(tmp_path) -> None:
    casts = "".join(f"  %v{i} = pypto.cast %a to f32\n" for i in range(25))
    text = f"func.func @f(%a: tensor<16x64xf8E4M3FN>) {{\n{casts}  func.return\n}}\n"
    err = errors(tmp_path, text, "--machine=ascend910b")
    assert err.count("error[PTO221]") == 20
    assert "error[PTO109]: 5 more errors" in err
