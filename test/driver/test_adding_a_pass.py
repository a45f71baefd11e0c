"""docs/adding-a-pass.md: its pass is loaded, its commands give what the page shows."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from inprocess import ROOT, call, run_file

from pyptoc.user_modules import load

PAGE = (ROOT / "docs" / "adding-a-pass.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def blocks(kind: str) -> list[str]:
    return [text for each, text in BLOCKS if each == kind]


PASS, USE, MAKES = blocks("python")
PROGRAM, TEST, MAKES_TEST = blocks("mlir")
BROKEN = """\
import pyptoc


@pyptoc.register_pass
class BrokenPass(pyptoc.Pass):
    name, summary = "broken", "takes every operation to have a tile"

    def run(self, ctx, module):
        for op in module.ops:
            op.attributes["tile"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, register) -> Path:
    """The files of the page; what is registered there is forgotten."""
    (tmp_path / "merge_reshapes.py").write_text(PASS)
    (tmp_path / "op.mlir").write_text(PROGRAM)
    (tmp_path / "merge-reshapes.mlir").write_text(TEST)
    (tmp_path / "sub_to_add.py").write_text(MAKES)
    (tmp_path / "sub-to-add.mlir").write_text(MAKES_TEST)
    (tmp_path / "broken.py").write_text(BROKEN)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "merge_reshapes", raising=False)
    return tmp_path


@pytest.mark.parametrize("block", blocks("console"))
def test_commands_give_what_the_page_shows(block, folder) -> None:
    command, expected = block.removeprefix("$ ").split("\n", 1)
    if "|" in command:
        test = folder / "run.mlir"
        test.write_text(f"// RUN: {command}\n")
        assert (run_file(test).log, expected) == ("", "")
        return
    program, *words = shlex.split(command)
    assert program == "pyptoc"
    code, out, err = call(*words)
    said = re.sub(r"\S+/pyptoc-\S+\.mlir", "FILE", out + err)
    assert (code, said) == (2 if "error[" in expected else 0, expected)


def test_the_pass_stands_in_the_default_pipeline(folder) -> None:
    exec(USE, {})


def test_the_test_passes(folder, register) -> None:
    load("merge_reshapes.py")
    outcome = run_file(folder / "merge-reshapes.mlir")
    assert outcome.passed, outcome.log


def test_the_test_of_made_operations(folder) -> None:
    outcome = run_file(folder / "sub-to-add.mlir")
    assert outcome.passed, outcome.log


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (", stamp=op.attributes", ""),
        ("AddOp.make(x, negative,", "AddOp.make(negative, x,"),
        ("len(op.inputs) == 2 and", "op.inputs and"),
        (" and has_negative(op)", ""),
    ],
)
def test_that_test_fails_for_a_broken_pass(old, new, folder) -> None:
    assert old in MAKES
    (folder / "sub_to_add.py").write_text(MAKES.replace(old, new))
    assert not run_file(folder / "sub-to-add.mlir").passed


def test_made_operations_have_the_place_and_the_values(folder) -> None:
    argv = ("sub-to-add.mlir", "--load-module=sub_to_add.py", "--pipeline=sub-to-add")
    _, out, _ = call(*argv, "--print-debuginfo")
    line = 1 + MAKES_TEST.split("\n").index('  %z = pypto.sub %x, %y {tag = "d"}')
    for name in ("neg", "add"):
        assert re.search(rf'pypto\.{name} .*loc\("sub-to-add.mlir":{line}:8\)', out)
    argv += ("--entry=@left_alone",)
    assert call(*argv, "--check-each", "-o", "out.mlir")[0] == 0


def test_the_tools_are_those_of_the_tests() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^tools: \$\(VENV\)/\.installed-for-tests$", makefile, re.M)
    assert "install -q -e '.[test]'" in makefile
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tools = " ".join(project["optional-dependencies"]["test"])
    assert all(tool in tools for tool in ("filecheck", "lit", "pytest"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" or not is_static(first)", ""),
        ("not alone and not self.shared", "False"),
        ("            if alone:\n", "            if False:\n"),
    ],
)
def test_the_test_fails_for_a_broken_pass(old, new, folder, register) -> None:
    assert old in PASS
    (folder / "merge_reshapes.py").write_text(PASS.replace(old, new))
    load("merge_reshapes.py")
    assert not run_file(folder / "merge-reshapes.mlir").passed
