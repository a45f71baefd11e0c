"""The command line: options, files, exit codes. Bad input never gives a traceback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from inprocess import ROOT, call
from processes import SECONDS

EMPTY = ""
FUNCTION = """\
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "op.mlir"
    path.write_text(FUNCTION)
    return str(path)


def process(*argv: str, **options) -> subprocess.CompletedProcess[str]:
    """Runs pyptoc as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "pyptoc", *argv],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        **options,
    )


class TestVersion:
    def test_text(self) -> None:
        import pyptoc

        assert call("--version") == (0, f"pyptoc {pyptoc.__version__}\n", "")

    def test_imports_nothing_heavy(self) -> None:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "pyptoc", "--version"],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=True,
        )
        names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "pyptoc.cli" in names
        heavy = ("numpy", "ml_dtypes", "xdsl", "rich", "pyptoc.dialects")
        assert [n for n in names if n.startswith(heavy)] == []

    def test_starts_fast(self) -> None:
        def seconds() -> float:
            before = os.times()
            process("--version")
            after = os.times()
            return (after.children_user + after.children_system) - (
                before.children_user + before.children_system
            )

        assert min(seconds() for _ in range(3)) <= 0.35


class TestUsage:
    @pytest.mark.parametrize(
        ("argv", "expected"),
        [
            ([], "no input file"),
            (["--pipelin=a", "f"], "did you mean --pipeline?"),
            (["--zzz", "f"], "unknown option '--zzz'"),
            (["a", "b"], "'b' is one too many"),
            (["f", "--compile-to=task"], "invalid choice: 'task'"),
            (["f", "--random-inputs=x"], "'x' is not a seed"),
            (["f", "--random-inputs=-1"], "'-1' is not a seed"),
            (["f", "--verify-each=maybe"], "neither true nor false"),
            (["f", "--pipeline=", "--compile-to=tasks"], "exclude each other"),
            (["f", "--outputs=a.npz"], "--outputs needs --run"),
            (["f", "--expect=a.npz"], "--expect needs --run"),
            (["f", "--tol=a=1"], "--tol needs --run"),
            (["f", "--trace=a.json"], "--trace needs --simulate"),
            (["f", "--report=a.html"], "--report needs --simulate"),
            (["f", "--simulate", "--trace-tasks=1"], "--trace-tasks needs --trace"),
            (["f", "--simulate", "--trace-tasks=x"], "'x' is not a count"),
            (["f", "--run", "--tol=a=1"], "--tol needs --expect"),
            (["f", "--bind=M=1"], "need --run, --simulate, --check"),
            (["f", "--bind=M=1", "--trace=a"], "--trace needs --simulate"),
            (["f", "--bind=M=1", "--report=a"], "--report needs --simulate"),
            (["f", "--simulate", "json"], "help: --simulate=json"),
            (["f", "--run", "--check", "nan"], "help: --check=nan"),
            (["f", "--run", "--split-input-file"], "--run takes one module"),
            (
                ["f", "--pipeline"],
                "--pipeline needs a value\n   help: --pipeline=PASSES",
            ),
            (["f", "--random-inputs", "--run"], "help: --random-inputs=SEED"),
            (["f", "--timing=yes"], "--timing takes no value, and not 'yes'"),
            (["f", "--color=blue"], "--color: invalid choice: 'blue' (choose from"),
            (
                ["f", "--machine=ascend950", "--machine=ascend910b"],
                "--machine is given twice: 'ascend950' and 'ascend910b'",
            ),
            (["f", "--pipeline=a", "--pass-pipeline=b"], "is given twice: 'a' and 'b'"),
            (["f", "-o", "a", "-o", "b"], "-o is given twice: 'a' and 'b'"),
            (["--explain", "PTO112", "PTO113"], "--explain takes one code"),
            (["--explain=XY"], "there is no error code 'XY'"),
        ],
    )
    def test_errors(self, argv: list[str], expected: str) -> None:
        code, out, err = call(*argv)
        assert code == 1
        assert out == ""
        assert err.startswith("error[PTO500]: ")
        assert expected in err

    @pytest.mark.parametrize(
        ("words", "pipeline"),
        [
            (["--split-silu"], "split-silu"),
            (["--inline", "--split-silu=by=2"], "'inline,split-silu{by=2}'"),
        ],
    )
    def test_passes_of_ones_own_are_no_options(
        self, words: list[str], pipeline: str, tmp_path: Path, source: str
    ) -> None:
        file = tmp_path / "mine.py"
        load = f"--load-module={file}"
        code, _, err = call(source, load, *words)
        assert code == 1
        missing = f"error[PTO502]: cannot read {file}: No such file or directory\n"
        assert err == missing
        file.write_text('raise SystemExit("this is not run")\nname = "split-silu"\n')
        code, _, err = call(source, load, *words)
        assert (code, err.splitlines()) == (
            1,
            [
                "error[PTO500]: unknown option '--split-silu': "
                "a pass of yours is no option",
                f"   help: --pipeline={pipeline}",
            ],
        )
        file.write_text('name = "split-silus"\n')
        assert "did you mean --split-k?" in call(source, load, "--split-silu")[2]

    def test_the_same_value_twice_is_no_mistake(self, source: str) -> None:
        words = ("--machine=ascend950", "--pipeline=", "--pipeline=")
        assert call(source, *words, words[0])[0] == 0
        # Each command line starts anew.
        assert call(source, "--machine=ascend910b")[0] == 0

    def test_lists_of_passes_add_up(self, source: str) -> None:
        words = ("--print-ir-after=inline", "--print-ir-after=desugar")
        _, _, err = call(source, *words, "--pipeline=inline,decompose,desugar")
        assert re.findall(r"IR Dump After (\w+)", err) == ["inline", "desugar"]
        code, _, err = call(source, "--print-ir-after=zebra", "--pipeline=inline,tile")
        assert code == 1
        assert (
            "no pass 'zebra' in the pipeline\n   help: its passes: inline, tile\n"
            in err
        )

    @pytest.mark.parametrize("text", ["", "\n\n", "// nothing\n", "  // at all"])
    def test_nothing_to_compile(self, text: str) -> None:
        code, out, err = call("-", stdin=text)
        assert (code, out) == (1, "")
        head = "<stdin>:1:1: error[PTO100]: there is no operation in this text\n"
        assert err.startswith(head)
        assert "help: an operator is written func.func @name" in err

    def test_help_names_every_option(self) -> None:
        code, out, _ = call("--help")
        assert code == 0
        for option in ("--pipeline", "--check-each", "--random-inputs", "--explain"):
            assert option in out

    @pytest.mark.parametrize(
        "argv",
        [
            ["--mlir-print-debuginfo"],
            ["-mlir-print-debuginfo"],
            ["--print-debuginfo"],
        ],
    )
    def test_mlir_spellings(self, argv: list[str], source: str) -> None:
        code, out, _ = call(source, "--pipeline=", *argv)
        assert code == 0
        assert "loc(" in out

    @pytest.mark.parametrize("spelling", ["--verify-each", "--verify-each=0"])
    def test_optional_value(self, spelling: str, source: str) -> None:
        code, out, _ = call("--pipeline=", spelling, source)
        assert code == 0
        assert "@f" in out


class TestReading:
    def test_stdin(self) -> None:
        code, out, _ = call("-", "--pipeline=", stdin=FUNCTION)
        assert code == 0
        assert "func.func @f" in out

    def test_stdin_is_named_in_errors(self) -> None:
        code, _, err = call("-", "--pipeline=", stdin="func.func @f(")
        assert code == 1
        assert err.startswith("<stdin>:1:")

    def test_python_is_no_input(self, tmp_path: Path) -> None:
        file = tmp_path / "golden.py"
        file.write_text("import numpy as np\n\ndef f(x):\n    return x\n")
        for more in ((), (f"--explore={tmp_path}/o.html",), ("--sweep=tile.m=64",)):
            code, out, err = call(str(file), *more)
            assert (code, out) == (1, "")
            assert err.splitlines() == [
                f"error[PTO500]: {file} is Python, not MLIR",
                "   help: for the passes that it registers: "
                f"pyptoc FILE.mlir --load-module={file}",
            ]

    def test_line_ends_and_mark(self) -> None:
        text = b"\xef\xbb\xbf" + FUNCTION.replace("\n", "\r\n").encode()
        code, out, err = call("-", "--pipeline=", stdin=text)
        assert (code, err) == (0, "")
        assert "\r" not in out

    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            (b"func\n  \xff", "<stdin>:2:3: byte 0xff, not UTF-8"),
            (b"a\0b", "<stdin>:1:2: a NUL byte"),
            (b"\0\xff", "<stdin>:1:1: a NUL byte"),
            (b"\xff\xfef\0", "<stdin>:1:1: byte 0xff, not UTF-8"),
        ],
    )
    def test_no_text(self, data: bytes, expected: str) -> None:
        code, out, err = call("-", "--pipeline=", stdin=data)
        assert (code, out) == (1, "")
        assert f"error[PTO502]: {expected}" in err

    def test_files(self, tmp_path: Path) -> None:
        for name in (str(tmp_path / "no"), str(tmp_path), "a\0b"):
            code, _, err = call(name, "--pipeline=")
            assert code == 1
            assert err.startswith("error[PTO502]: cannot read ")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
    def test_forbidden(self, source: str) -> None:
        Path(source).chmod(0)
        code, _, err = call(source, "--pipeline=")
        assert code == 1
        assert "Permission denied" in err

    @pytest.mark.parametrize("argv", [[], ["--split-input-file"]])
    def test_empty_file(self, argv: list[str]) -> None:
        code, _, err = call("-", "--pipeline=", *argv, stdin="\n")
        assert code == 1
        assert "there is no operation in this text" in err

    def test_deep_nesting(self) -> None:
        text = "scf.if %c {" * 2000
        code, _, err = call("-", "--pipeline=", stdin=f"func.func @f(%c: i1) {{{text}")
        assert code == 1
        assert "Traceback" not in err


class TestWriting:
    def test_file(self, source: str, tmp_path: Path) -> None:
        target = tmp_path / "out.mlir"
        code, out, _ = call(source, "--pipeline=", "-o", str(target))
        assert (code, out) == (0, "")
        assert "func.func @f" in target.read_text()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["op.mlir", "out.mlir"]

    def test_an_error_leaves_the_old_file(self, tmp_path: Path) -> None:
        target = tmp_path / "out.mlir"
        target.write_text("old")
        code, _, _ = call("-", "--pipeline=", "-o", str(target), stdin="nonsense")
        assert code == 1
        assert target.read_text() == "old"

    def test_links_and_modes_stay(self, source: str, tmp_path: Path) -> None:
        target = tmp_path / "real.mlir"
        target.write_text("old")
        target.chmod(0o640)
        link = tmp_path / "link.mlir"
        link.symlink_to("real.mlir")
        assert call(source, "--pipeline=", "-o", str(link))[0] == 0
        assert link.is_symlink()
        assert "func.func @f" in target.read_text()
        assert target.stat().st_mode & 0o777 == 0o640

    def test_new_files_have_the_usual_mode(self, source: str, tmp_path: Path) -> None:
        mask = os.umask(0o027)
        try:
            call(source, "--pipeline=", "-o", str(tmp_path / "new"))
        finally:
            os.umask(mask)
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640

    def test_devices(self, source: str) -> None:
        assert call(source, "--pipeline=", "-o", "/dev/null")[0] == 0
        code, _, err = call(source, "--pipeline=", "-o", "/dev/full")
        assert code == 1
        assert "cannot write /dev/full: No space left on device" in err

    def test_no_such_folder(self, source: str, tmp_path: Path) -> None:
        code, _, err = call(source, "--pipeline=", "-o", str(tmp_path / "no/out"))
        assert code == 1
        assert "error[PTO502]: cannot write" in err

    def test_a_folder(self, source: str, tmp_path: Path) -> None:
        code, _, err = call(source, "--pipeline=", "-o", str(tmp_path))
        assert code == 1
        assert "Is a directory" in err

    def test_standard_output_full(self, source: str) -> None:
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "pyptoc", source, "--pipeline="],
                env=ENVIRONMENT,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert done.returncode == 1
        assert done.stderr == (
            "error[PTO502]: cannot write the output: No space left on device\n"
        )


class TestSignals:
    def test_closed_pipe(self, source: str) -> None:
        read, write = os.pipe()
        os.close(read)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pyptoc", source, "--pipeline="],
                env=ENVIRONMENT,
                stdout=write,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        finally:
            os.close(write)
        assert done.returncode == 1
        assert done.stderr == ""

    def test_interrupt(self) -> None:
        running = subprocess.Popen(
            [sys.executable, "-m", "pyptoc", "-", "--pipeline="],
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert running.stdin is not None
        running.stdin.write("// more than a pipe holds: read before this ends\n" * 9999)
        running.stdin.flush()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=SECONDS)
        assert running.returncode == 130
        assert err == "interrupted\n"


class TestAsking:
    def test_machines(self) -> None:
        code, out, _ = call("--list-machines")
        assert code == 0
        assert [line.split()[0] for line in out.splitlines()] == [
            "ascend910b",
            "ascend950",
        ]

    def test_passes(self) -> None:
        from pyptoc.passes import DEFAULT_PIPELINE

        code, out, _ = call("--list-passes")
        assert code == 0
        named = [line.split()[0] for line in out.splitlines() if line[0] != " "]
        assert tuple(named) == DEFAULT_PIPELINE
        option = out.index("    factor: int | None = none")
        assert "Split every matmul into so many parts" in out[option:].splitlines()[1]

    def test_every_option_of_a_pass_has_a_meaning(self) -> None:
        from xdsl.passes import get_pass_option_infos

        from pyptoc.pass_page import option_docs
        from pyptoc.passes import DEFAULT_PIPELINE, pass_class

        for cls in map(pass_class, DEFAULT_PIPELINE):
            options = {option.name for option in get_pass_option_infos(cls)}
            assert options == set(option_docs(cls)), cls.name

    def test_ops(self) -> None:
        code, out, _ = call("--list-ops")
        assert code == 0
        assert "pypto.matmul" in out
        assert "tile.load" in out
        code, some, _ = call("--list-ops", "softmax")
        assert code == 0
        assert "pypto.softmax" in some
        assert "pypto.matmul" not in some
        # Not in a name or summary, but in what is said of it.
        assert (
            "pypto.scatter_rows" in call("--list-ops=asserts that no index repeats")[1]
        )
        assert call("--list-ops=zebra")[1] == "no op has 'zebra' in it\n"

    @pytest.mark.parametrize("word", ["matmul", "pypto.matmul", "store"])
    def test_an_op_is_in_full_among_many(self, word: str) -> None:
        name = word if "." in word else f"pypto.{word}"
        out = call("--list-ops", word)[1]
        assert out.startswith(f"{name}\n\n    ")
        assert "Example:" in out
        _, _, others = out.rpartition("\n\n")
        assert name not in others
        if word == "matmul":
            assert re.search(r"^pypto.grouped_matmul +Consecutive", others, re.M)

    @pytest.mark.parametrize(
        ("option", "word", "said"),
        [
            (
                "--list-ops",
                "matmull",
                "no op has 'matmull' in it; did you mean matmul?",
            ),
            ("--list-ops", "pypto.sofmax", "did you mean pypto.softmax?"),
            ("--list-operators", "atention", "did you mean attention?"),
            ("--list-operators", "sofmax", "did you mean softmax?"),
        ],
    )
    def test_a_misspelt_word(self, option: str, word: str, said: str) -> None:
        assert call(option, word)[1].endswith(f"{said}\n")

    def test_every_op_has_a_summary(self) -> None:
        lines = call("--list-ops")[1].splitlines()
        assert [line for line in lines if len(line.split()) < 3] == []

    def test_explain(self) -> None:
        assert "pypto.cast" in call("--explain=PTO112")[1]
        assert call("--explain", "pto112")[1] == call("--explain=112")[1]

    def test_unknown_entry(self, source: str) -> None:
        code, out, err = call(source, "--entry=@g")
        assert (code, out) == (1, "")
        assert "@g" in err

    def test_unknown_machine(self, source: str) -> None:
        code, _, err = call(source, "--machine=ascend95")
        assert code == 1
        assert "error[PTO510]: unknown machine 'ascend95'" in err
        code, _, err = call(source, "--machine=no.toml")
        assert code == 1
        assert "error[PTO511]" in err
