"""Ctrl-C at any time: one line, exit code 130, and no file that is not whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from inprocess import ROOT, call
from processes import ENVIRONMENT, SECONDS, files_in, start

OPERATOR = str(ROOT / "test/operators/grouped_matmul_swiglu_quant.mlir")
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
DEEP = """\
func.func @f(%a: tensor<128x1073741824xf16>, %b: tensor<1073741824x128xf16>)
    -> tensor<128x128xf32> {
  %y = pypto.matmul %a, %b to f32
  func.return %y : tensor<128x128xf32>
}
"""
TYPES = ", ".join(["tensor<128x128xf32>"] * 24)
LOOPS = f"""\
func.func @f(%a: tensor<128x16777216xf16>, %b: tensor<16777216x128xf16>) -> ({TYPES}) {{
{"".join(f"  %y{n} = pypto.matmul %a, %b to f32{chr(10)}" for n in range(24))}
  func.return {", ".join(f"%y{n}" for n in range(24))} : {TYPES}
}}
"""
WIDE = "func.func @f(%x: tensor<4x4xf32>) {\n" + "".join(
    f"  %y{n} = pypto.exp %x\n" for n in range(100_000)
)
PASS = "// -----// IR Dump "
CASES = {
    "parse": (WIDE, ("-", "--pipeline="), ""),
    "compile": ("", ("@deepseek_decode", "--print-ir-after=infer-tiles,insert-sync"),
                PASS),
    "interpret": (LONG, ("-", "--compile-to=tensor", "--run", "--random-inputs=1",
                         "--outputs=out.npz"), "turn"),
    "run": (LONG, ("-", "--run", "--random-inputs=1", "--outputs=out.npz"), "turn"),
    "simulate": (DEEP, ("-", "--simulate", "--print-ir-after=schedule",
                        "--trace=out.json"), PASS),
    "check": (LOOPS, ("-", "--check", "--print-ir-after=schedule"), PASS),
}  # fmt: skip
"""What takes long, and what is on standard error when it has begun.

Each goes on for seconds, or prints more than a pipe holds: none is done before it is
interrupted, however fast the computer.
"""


@pytest.mark.parametrize("kind", CASES)
def test_interrupt(kind: str, tmp_path: Path) -> None:
    text, argv, begun = CASES[kind]
    with start(*argv, "-o", "out.mlir", cwd=tmp_path) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            # A process that reads more than a pipe holds has started.
            process.stdin.write(text)
            process.stdin.close()
            line = process.stderr.readline() if begun else ""
            assert line.startswith(begun)
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            err = process.stderr.read()
            assert process.wait(SECONDS) == 130
        finally:
            process.kill()
    assert err.endswith("interrupted\n")
    assert "Traceback" not in err
    assert files_in(tmp_path) == []


def test_sweep_in_one_process(tmp_path: Path) -> None:
    """What is done is kept; no table and no half of one."""
    sweep = ("--sweep=machine.clock_ghz=1.0..3.0+0.001", "--jobs=1", "--sweep-cache=c")
    process = start(
        OPERATOR, *sweep, "--bind=M=16", "--sweep-csv=out.csv", cwd=tmp_path
    )
    try:
        while not any(tmp_path.glob("c/*.json")):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, "")
    assert err.endswith("points done, kept in c: the same command goes on from "
                        "there\ninterrupted\n")  # fmt: skip
    names = files_in(tmp_path)
    assert names != []
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
