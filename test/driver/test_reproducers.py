"""`--crash-reproducer`, `--run-reproducer` and what a failed pass leaves."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from inprocess import call

from pyptoc.passes.base import PyptocPass

TWO = """\
func.func @f(%a: tensor<64x8192xf16>, %b: tensor<8192x64xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %b
  %s = pypto.softmax %y axis -1
  func.return %s : tensor<64x64xf32>
}
"""


@dataclass(frozen=True)
class Crash(PyptocPass):
    name = "test-crash"
    summary: ClassVar[str] = "has a bug"

    def run(self, ctx, module) -> None:
        next(iter(module.ops)).detach()
        raise KeyError("a bug")


@dataclass(frozen=True)
class Other(PyptocPass):
    name = "test-other"
    summary: ClassVar[str] = "gives another result"

    def run(self, ctx, module) -> None:
        for op in module.walk():
            if op.name == "func.return":
                op.operands[0] = op.parent.args[0]


EXP = """\
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = pypto.exp %x
  func.return %y : tensor<4xf32>
}
"""


class TestFailures:
    @pytest.fixture(autouse=True)
    def fakes(self, register) -> None:
        register(Crash)

    def test_a_dump_of_what_a_crash_left(self) -> None:
        code, _, err = call(
            "-",
            "--pipeline=decompose,test-crash",
            "--print-ir-after-failure",
            stdin=TWO,
        )
        assert code == 2
        head = "// -----// IR Dump After test-crash Failed //----- //\nbuiltin.module"
        assert err.startswith(head)
        assert "func.func" not in err
        kept(err).unlink()

    def test_the_reproducer_of_a_crash_runs_itself(self, tmp_path: Path) -> None:
        file = tmp_path / "crash.mlir"
        argv = ("--pipeline=decompose,test-crash,tile", "--machine=ascend910b")
        first = kept(call("-", *argv, stdin=TWO)[2])
        code, _, err = call("-", *argv, f"--crash-reproducer={file}", stdin=TWO)
        assert code == 2
        for name in (file, first):
            code, _, err = call(str(name), "--run-reproducer")
            assert code == 2
            assert "your pass 'test-crash' failed: KeyError: 'a bug'" in err
            kept(err).unlink()
        first.unlink()
        shown = call(str(file), "--run-reproducer", "--dump-pass-pipeline")[2]
        assert shown.startswith("test-crash,tile\n")
        kept(shown).unlink()

    def test_one_file_is_left(self, tmp_path: Path, monkeypatch) -> None:
        """That of --crash-reproducer; where it cannot be written, the other one."""
        (tmp_path / "own").mkdir()
        monkeypatch.chdir(tmp_path / "own")
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        Path("m.py").touch()
        argv = ("--pipeline=decompose,test-crash", "--load-module=m.py")
        _, _, err = call("-", *argv, "--crash-reproducer=c d.mlir", stdin=TWO)
        assert err.splitlines()[-2:] == [
            "   note: c d.mlir holds the IR before the pass and the traceback",
            "   help: pyptoc 'c d.mlir' --run-reproducer --load-module=m.py",
        ]
        assert not list(tmp_path.glob("*.mlir"))
        assert "// KeyError: 'a bug'" in Path("c d.mlir").read_text()
        _, _, err = call("-", *argv, "--crash-reproducer=no/c.mlir", stdin=TWO)
        assert err.startswith("error[PTO502]: cannot write no/c.mlir")
        assert kept(err).exists()
        assert "no/c.mlir holds" not in err


def kept(err: str) -> Path:
    """The file that an internal error names."""
    found = re.search(r"(\S+) holds the input and the traceback", err)
    assert found is not None
    return Path(found[1])


class TestReproducers:
    def run(self, line: str, *argv: str, text: str = TWO) -> tuple[int, str, str]:
        return call("-", "--run-reproducer", *argv, stdin=f"{line}\n{text}")

    def test_what_it_says_is_done(self) -> None:
        text = (
            "// configuration: --machine=ascend910b --pipeline='decompose, infer-tiles'"
        )
        code, out, _ = self.run(text)
        assert code == 0
        argv = ("--machine=ascend910b", "--pipeline=decompose,infer-tiles")
        assert out == call("-", *argv, stdin=TWO)[1]
        code, out, _ = self.run("// configuration: --compile-to=tasks")
        assert out == call("-", "--compile-to=tasks", stdin=TWO)[1]

    def test_another_machine(self) -> None:
        code, out, _ = self.run("// configuration: ", "--machine=ascend910b")
        assert code == 0
        assert out == call("-", "--machine=ascend910b", stdin=TWO)[1]

    def test_spellings_of_mlir(self) -> None:
        line = "// configuration: -pass-pipeline='builtin.module(func.func(decompose))'"
        assert self.run(line)[1] == call("-", "--pipeline=decompose", stdin=TWO)[1]

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("", "<stdin> has no line '// configuration: ..'"),
            ("// configuration: -o x", "<stdin>:1: a configuration has no 'output'"),
            ("// configuration: --run", "a configuration has no 'run'"),
            ("// configuration: --no-such", "<stdin>:1: unknown option '--no-such'"),
            ("// configuration: 'a", "<stdin>:1: No closing quotation"),
            ("// configuration: a", "a configuration has no 'input'"),
        ],
    )
    def test_errors(self, line: str, expected: str) -> None:
        code, out, err = self.run(line)
        assert (code, out) == (1, "")
        assert err.startswith("error[PTO500]: ")
        assert expected in err

    def test_a_result_that_is_not_the_same(self, register, tmp_path: Path) -> None:
        """What --check-each finds behind a pass: the pass is in the reproducer."""
        register(Other)
        file = tmp_path / "crash.mlir"
        argv = ("--pipeline=inline,test-other", "--check-each")
        code, _, err = call("-", *argv, f"--crash-reproducer={file}", stdin=EXP)
        assert code == 1
        assert "test-other" in err
        shown = call(str(file), "--run-reproducer", "--dump-pass-pipeline")[2]
        assert shown == "test-other\n"
        code, _, err = call(str(file), "--run-reproducer", "--check-each")
        assert code == 1
        assert "test-other" in err

    def test_a_file_cannot_write_files(self, tmp_path: Path) -> None:
        target = tmp_path / "out"
        quoted = shlex.quote(f"--print-ir-tree-dir={target}")
        assert self.run(f"// configuration: {quoted}")[0] == 1
        assert not target.exists()
