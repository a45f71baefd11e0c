"""What a compilation loads in a new process: most of its time goes there."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

import pytest
from inprocess import ROOT

MACHINE_READING = {"machine", "machine_checks", "machine_file", "machine_keys"}
MATMUL = """\
func.func @f(%a: tensor<256x256xf16>, %b: tensor<256x256xf16>) -> tensor<256x256xf32> {
  %y = pypto.matmul %a, %b
  func.return %y : tensor<256x256xf32>
}
"""
SOFTMAX = """\
func.func @f(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %y = pypto.softmax %x axis -1
  func.return %y : tensor<64x512xf32>
}
"""
SCRIPT = """
import io, json, sys
from pyptoc.cli import main

output, sys.stdout = sys.stdout, io.StringIO()
sys.stdin = io.TextIOWrapper(io.BytesIO(sys.argv[1].encode()))
code = main(["-"])
modules = list(sys.modules)
from pyptoc.dialects.context import load

paths = ("npu:Npu", "pypto:Pypto", "tile:Tile")
ops = [op for p in paths for op in load(f"pyptoc.dialects.{p}").operations]
waiting = "_TraitsToCome"
defined = [op.name for op in ops if type(vars(op)["traits"]).__name__ != waiting]
json.dump({"code": code, "modules": modules, "defined": defined}, output)
"""


@cache
def loaded(text: str) -> dict[str, list[str]]:
    """The modules and the operations' definitions that compiling `text` needs."""
    command = [sys.executable, "-c", SCRIPT, text]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["code"] == 0
    return found


@pytest.mark.parametrize("text", [MATMUL, SOFTMAX], ids=["matmul", "softmax"])
def test_modules(text: str) -> None:
    modules = loaded(text)["modules"]
    for package, wanted in (
        # Nothing that runs a program.
        ("pyptoc.runtime", MACHINE_READING),
        ("xdsl.dialects", {"arith", "builtin", "func", "scf", "utils"}),
        # Not xDSL's canonicalisation, interpreter or command.
        ("xdsl.transforms", {"dead_code_elimination"}),
    ):
        inside = [m.split(".")[2] for m in modules if m.startswith(f"{package}.")]
        assert set(inside) == wanted
    others = ("ml_dtypes", "rich", "xdsl.xdsl_opt_main", "xdsl.interpreter")
    assert [m for m in modules if m.startswith(others)] == []


def test_only_the_search_for_cube_tiles_needs_numpy() -> None:
    assert "numpy" in loaded(MATMUL)["modules"]
    assert "numpy" not in loaded(SOFTMAX)["modules"]


def test_only_operations_that_occur_are_defined() -> None:
    """There are some 200."""
    defined = loaded(MATMUL)["defined"]
    assert {"pypto.matmul", "npu.kernel", "tile.matmul"} <= set(defined)
    assert "pypto.softmax" not in defined
    assert len(defined) < 30
