"""Ctrl-C at any time: one line, exit code 130, and no file that is not whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from inprocess import call
from processes import ENVIRONMENT, SECONDS, files_in, start

LONG = """\
func.func @f(%x: tensor<4x4xf32>) -> (tensor<4x4xf32> {pypto.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 1000000 : index
  %y = scf.for %i = %c0 to %c2 step %c1 iter_args(%u = %x) -> (tensor<4x4xf32>) {
    %v = pypto.neg %u
    pypto.print "turn" %i : index
    scf.yield %v : tensor<4x4xf32>
  }
  func.return %y : tensor<4x4xf32>
}
"""
SHORT = """\
func.func @f(%x: tensor<4x4xf32>) -> (tensor<4x4xf32> {pypto.name = "y"}) {
  %y = pypto.neg %x
  func.return %y : tensor<4x4xf32>
}
"""
RUN = ("--run", "--random-inputs=1", "--outputs=out.npz")
WORK = {
    "parse": (("--pipeline=",), "xdsl.parser."),
    "compile": ((), "pyptoc.passes."),
    "interpret": (("--compile-to=tensor", *RUN), "pyptoc.runtime.reference"),
    "translate": (RUN, "pyptoc.runtime.translate"),
    "run": (RUN, "pyptoc.runtime.executor"),
    "simulate": (("--simulate", "--trace=out.json"), "pyptoc.runtime.timing"),
    "check": (("--check",), "pyptoc.runtime.hazards"),
}
"""What is interrupted, and in which modules that is."""


class Interrupting:
    """Sends an interrupt at one of the calls of functions of some modules."""

    def __init__(self, modules: str, at: int | None) -> None:
        self.modules, self.at, self.calls = modules, at, 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith(self.modules):
            self.calls += 1
            if self.calls == self.at:
                signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("kind", WORK)
def test_interrupt(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the work begins, in its middle, and at its end."""
    argv, modules = WORK[kind]

    def run(folder: str, at: int | None) -> tuple[int, dict[str, bytes]]:
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        hook = Interrupting(modules, at)
        sys.setprofile(hook)
        try:
            code, _, err = call("-", *argv, "-o", "out.mlir", stdin=SHORT)
        finally:
            sys.setprofile(None)
        assert code == (0 if at is None else 130)
        assert err.endswith("" if at is None else "interrupted\n")
        assert "Traceback" not in err
        return hook.calls, {name: Path(name).read_bytes() for name in files_in(Path())}

    run("first", None)  # What is defined or kept for later is.
    calls, whole = run("whole", None)
    assert "out.mlir" in whole
    for at in sorted({1, calls // 2, calls}):
        done, files = run(f"{at}", at)
        assert done == at
        assert files.items() <= whole.items()
        assert at > 1 or files == {}


def test_a_process(tmp_path: Path) -> None:
    """It prints more than a pipe holds: it cannot end before it is interrupted."""
    with start("-", *RUN, "-o", "out.mlir", cwd=tmp_path) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            process.stdin.write(LONG)
            process.stdin.close()
            assert process.stderr.readline().startswith("turn")
            process.send_signal(signal.SIGINT)
            err = process.stderr.read()
            assert process.wait(SECONDS) == 130
        finally:
            process.kill()
    assert err.endswith("interrupted\n")
    assert "Traceback" not in err
    assert files_in(tmp_path) == []


def test_sweep_in_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done is kept; no table and no half of one."""

    @contextmanager
    def progress() -> Iterator[Callable[[int, int], None]]:
        yield lambda done, _: signal.raise_signal(signal.SIGINT) if done == 2 else None

    monkeypatch.setattr("pyptoc.sweep_command._progress", progress)
    monkeypatch.chdir(tmp_path)
    sweep = ("--sweep=machine.clock_ghz=1,2,3", "--jobs=1", "--sweep-cache=c")
    code, out, err = call("-", *sweep, "--sweep-csv=out.csv", stdin=SHORT)
    assert (code, out) == (130, "")
    assert err == (
        "2 of 3 points done, kept in c: the same command goes on from there\n"
        "interrupted\n"
    )
    names = files_in(tmp_path)
    assert len(names) == 2
    assert all(name.startswith("c/") and name.endswith(".json") for name in names)


@pytest.mark.parametrize("old", [None, "old"])
def test_while_a_file_is_written(
    old: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace(*_: object) -> None:
        raise KeyboardInterrupt

    target = tmp_path / "out.mlir"
    if old is not None:
        target.write_text(old)
    monkeypatch.setattr(os, "replace", replace)
    text = "func.func @f() {\n  func.return\n}\n"
    code, out, err = call("-", "--pipeline=", "-o", str(target), stdin=text)
    assert (code, out, err) == (130, "", "interrupted\n")
    assert files_in(tmp_path) == ([] if old is None else ["out.mlir"])
    assert old is None or target.read_text() == old


class Interrupts:
    def __set_name__(self, *_: object) -> None:
        raise KeyboardInterrupt


def test_while_a_class_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 makes a RuntimeError of it."""

    def parse(*_: object) -> None:
        type("Made", (), {"field": Interrupts()})

    monkeypatch.setattr("pyptoc.dialects.parsing.parse_module", parse)
    text = "func.func @f() {\n  func.return\n}\n"
    assert call("-", "--pipeline=", stdin=text) == (130, "", "interrupted\n")


SHOW = "print(signal.getsignal(signal.SIGINT) is signal.{})"
ENDING = f"""
import signal, pyptoc.__main__
{SHOW.format("SIG_DFL")}
import pyptoc.cli
def main():
    {SHOW.format("default_int_handler")}
    return 0
pyptoc.cli.main = main
try:
    pyptoc.__main__.start()
except SystemExit:
    {SHOW.format("SIG_IGN")}
"""


def test_before_and_after_the_command() -> None:
    """Until it can answer an interrupt ends it silently; at the end it may finish."""
    text = subprocess.check_output(
        [sys.executable, "-c", ENDING], env=ENVIRONMENT, text=True
    )
    assert text == "True\nTrue\nTrue\n"
