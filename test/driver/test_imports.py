"""What a compilation loads in a new process: most of its time goes there."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from inprocess import ROOT

from pyptoc.dialects.context import DIALECTS, load
from pyptoc.passes.decompose import DECOMPOSITIONS
from pyptoc.passes.lower_to_tile import BODIES
from pyptoc.passes.tile import TILERS

PASSES = "pyptoc.passes"
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
from pyptoc.dialects.context import DIALECTS, load

paths = (DIALECTS[name] for name in ("arith", "func", "scf", "npu", "pypto", "tile"))
ops = [op for path in paths for op in load(path).operations]
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


CUBE = {"tile_cube", "decompose_einsum"}
VECTOR = {"tile_vector", "lower_vector", "vector_tiles", "decompose_normal", "fuse"}
OTHERS = {"tile_index", "tile_mixed", "tile_nest", "mark_nests"}
"""Modules of passes for some kind of group, or of loops."""


def test_passes_load_what_groups_need() -> None:
    for text, needed in ((MATMUL, CUBE), (SOFTMAX, VECTOR)):
        modules = loaded(text)["modules"]
        found = {
            name for name in CUBE | VECTOR | OTHERS if f"{PASSES}.{name}" in modules
        }
        assert found == needed


@pytest.mark.parametrize("table", [DECOMPOSITIONS, TILERS, BODIES], ids=len)
def test_tables_name_what_there_is(table: dict[str, str]) -> None:
    assert all(callable(load(f"{PASSES}.{path}")) for path in table.values())


def test_what_is_decomposed_is_an_operation() -> None:
    names = {op.name for op in load(DIALECTS["pypto"]).operations}
    assert set(DECOMPOSITIONS) <= names


def test_only_operations_that_occur_are_defined() -> None:
    """There are some 300, those of xDSL's dialects among them."""
    defined = loaded(MATMUL)["defined"]
    occur = {"pypto.matmul", "npu.kernel", "tile.matmul", "func.func", "scf.for"}
    assert occur | {"arith.constant"} <= set(defined)
    assert {"pypto.softmax", "arith.mulf", "scf.while"}.isdisjoint(defined)
    assert len(defined) < 34


ENDING = """
import gc, json, sys
from pyptoc.cli import console_main

generations = []
gc.callbacks.append(lambda phase, info: generations.append(info["generation"]))
sys.argv[1:] = ["-", "-o", sys.argv[1]]
try:
    console_main()
except SystemExit as done:
    gc.callbacks.clear()
    json.dump({"code": done.code, "generations": generations}, sys.stdout)
"""


def test_the_command_never_looks_for_cycles(tmp_path: Path) -> None:
    """Not at its end either, among all that it has made."""
    command = [sys.executable, "-c", ENDING, str(tmp_path / "program.mlir")]
    done = subprocess.run(
        command, cwd=ROOT, input=MATMUL, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"code": 0, "generations": []}
