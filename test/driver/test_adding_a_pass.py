"""docs/adding-a-pass.md: its pass is loaded, its commands give what the page shows."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from inprocess import ROOT, call, run_file

from pyptoc.user_modules import load

PAGE = (ROOT / "docs" / "adding-a-pass.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def blocks(kind: str) -> list[str]:
    return [text for each, text in BLOCKS if each == kind]


PASS, USE = blocks("python")
PROGRAM, TEST = blocks("mlir")


@pytest.fixture
def folder(tmp_path, monkeypatch, register) -> Path:
    """The files of the page; what is registered there is forgotten."""
    (tmp_path / "merge_reshapes.py").write_text(PASS)
    (tmp_path / "op.mlir").write_text(PROGRAM)
    (tmp_path / "merge-reshapes.mlir").write_text(TEST)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "merge_reshapes", raising=False)
    return tmp_path


@pytest.mark.parametrize("block", blocks("console"))
def test_commands_give_what_the_page_shows(block, folder) -> None:
    command, expected = block.removeprefix("$ ").split("\n", 1)
    program, *words = shlex.split(command)
    assert program == "pyptoc"
    code, out, err = call(*words)
    assert (code, out + err) == (0, expected)


def test_the_pass_stands_in_the_default_pipeline(folder) -> None:
    exec(USE, {})


def test_the_test_passes(folder, register) -> None:
    load("merge_reshapes.py")
    outcome = run_file(folder / "merge-reshapes.mlir")
    assert outcome.passed, outcome.log


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
