"""Pipelines as text, the pass manager and what watches it, with passes made up here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from inprocess import call
from xdsl.dialects.builtin import StringAttr

from pyptoc.dialects.diagnostics import CompileError, error
from pyptoc.passes import DEFAULT_PIPELINE
from pyptoc.passes.base import PyptocPass
from pyptoc.pipeline_text import default_pipeline, parse_pipeline, print_pipeline

FUNCTION = """\
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
"""


def reproducer_of(err: str) -> Path:
    """The file that an internal error names."""
    found = re.search(r"note: (\S+) holds the input and the traceback", err)
    assert found is not None, err
    return Path(found[1])


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Options(PyptocPass):
    name = "test-options"
    summary: ClassVar[str] = "has options of all kinds"
    flag: bool = False
    number: int = 0
    ratio: float = 1.0
    word: str = "a"
    maybe: int | None = None
    sizes: tuple[int, ...] = ()
    choice: Literal["one", "two"] = "one"

    def run(self, ctx, module) -> None:
        pass


@dataclass(frozen=True)
class Required(PyptocPass):
    name = "test-required"
    summary: ClassVar[str] = "needs an option"
    size: int
    colour: Colour = Colour.RED

    def run(self, ctx, module) -> None:
        pass


@dataclass(frozen=True)
class Mark(PyptocPass):
    name = "test-mark"
    summary: ClassVar[str] = "renames the function"

    def run(self, ctx, module) -> None:
        for op in module.ops:
            op.properties["sym_name"] = StringAttr("marked")


@dataclass(frozen=True)
class Crash(PyptocPass):
    name = "test-crash"
    summary: ClassVar[str] = "has a bug"

    def run(self, ctx, module) -> None:
        raise KeyError("a bug")


@dataclass(frozen=True)
class Refuse(PyptocPass):
    name = "test-refuse"
    summary: ClassVar[str] = "rejects its input"

    def run(self, ctx, module) -> None:
        error(next(iter(module.ops)), "PTO220", "this machine cannot")


@dataclass(frozen=True)
class Break(PyptocPass):
    name = "test-break"
    summary: ClassVar[str] = "leaves IR that does not verify"

    def run(self, ctx, module) -> None:
        for op in module.ops:
            op.body.block.last_op.operands = []


@dataclass(frozen=True)
class Remark(PyptocPass):
    name = "test-remark"
    summary: ClassVar[str] = "says something"

    def run(self, ctx, module) -> None:
        ctx.remark(next(iter(module.ops)), "nothing was done")


FAKES = (Options, Required, Mark, Crash, Refuse, Break, Remark)


@pytest.fixture(autouse=True)
def fakes(register) -> None:
    register(*FAKES)


def compiled(*argv: str, text: str = FUNCTION) -> tuple[int, str, str]:
    return call("-", *argv, stdin=text)


class TestText:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("test-options", Options()),
            (" test-options { } ", Options()),
            ("test-options{flag}", Options(flag=True)),
            ("test-options{flag=false}", Options()),
            ("test-options{number=-3}", Options(number=-3)),
            ("test-options{ratio=2}", Options(ratio=2.0)),
            ("test-options{ratio=1e-3 word=b}", Options(ratio=1e-3, word="b")),
            ('test-options{word="b c"}', Options(word="b c")),
            ("test-options{maybe=4}", Options(maybe=4)),
            ("test-options{sizes=1,2,3}", Options(sizes=(1, 2, 3))),
            ("test-options{sizes=1}", Options(sizes=(1,))),
            ("test-options{choice=two}", Options(choice="two")),
            ("test-required{size=1 colour=blue}", Required(1, Colour.BLUE)),
        ],
    )
    def test_options(self, text: str, expected: PyptocPass) -> None:
        assert parse_pipeline(text) == [expected]

    def test_several(self) -> None:
        passes = parse_pipeline("test-mark,test-options{number=2},test-mark")
        assert passes == [Mark(), Options(number=2), Mark()]
        assert parse_pipeline("") == parse_pipeline(" ") == []

    def test_printed_pipelines_read_back(self) -> None:
        passes = [Mark(), Options(True, 3, 0.5, "x", 1, (1, 2), "two"), Required(4)]
        assert parse_pipeline(print_pipeline(passes)) == passes

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("test-opt", "unknown pass 'test-opt'"),
            ("test-marks", "did you mean test-mark?"),
            ("zebra", "--list-passes"),
            ("test-mark test-mark", "expected a comma at 'test-mark'"),
            (",", "expected the name of a pass at ','"),
            ("test-options{number=}", "expected the value of an option"),
            ("test-options{number", "unexpected end at its end"),
            ("test-options{=1}", "expected an option's name at '=1}'"),
            ("test-options{numbr=1}", "did you mean number?"),
            ("test-mark{a=1}", "its options: none"),
            ("test-options{number=x}", "'x' is not an integer"),
            ("test-options{number=1,2}", "takes one value, got 2"),
            ("test-options{number}", "takes one value, got 0"),
            ("test-options{flag=maybe}", "none of true, false"),
            ("test-options{choice=three}", "none of one, two"),
            ("test-required{size=1 colour=green}", "none of red, blue"),
            ("test-required", "needs its option 'size'"),
            ("test-mark;", "expected a comma at ';'"),
        ],
    )
    def test_errors(self, text: str, expected: str) -> None:
        with pytest.raises(CompileError) as raised:
            parse_pipeline(text)
        (found,) = raised.value.diagnostics
        assert found.code == "PTO504"
        assert expected in f"{found.message} {found.help}"
        code, out, err = compiled(f"--pipeline={text}")
        assert (code, out) == (1, "")
        assert "error[PTO504]" in err

    def test_levels(self) -> None:
        assert default_pipeline("tensor") == ""
        assert default_pipeline("tasks").endswith(",assemble-buffers")
        assert default_pipeline("program").startswith(default_pipeline("kernels"))
        assert default_pipeline("program", "plan-memory").startswith("plan-memory,")
        assert default_pipeline("tasks", "plan-memory") == ""


class TestDumps:
    def test_after_all(self) -> None:
        code, out, err = compiled(
            "--pipeline=test-options,test-mark", "--print-ir-after-all"
        )
        assert code == 0
        assert "@marked" in out
        assert "IR Dump" not in out
        first, second = err.split("// -----// IR Dump After ")[1:]
        assert first.startswith("test-options //----- //\n")
        assert "@f" in first
        assert "@marked" in second

    def test_before_all(self) -> None:
        _, _, err = compiled(
            "--pipeline=test-mark,test-options", "--print-ir-before-all"
        )
        first, second = err.split("// -----// IR Dump Before ")[1:]
        assert first.startswith("test-mark")
        assert "@f" in first
        assert "@marked" in second

    def test_some(self) -> None:
        _, _, err = compiled(
            "--pipeline=test-options,test-mark,test-remark",
            "--print-ir-before=test-mark",
            "--print-ir-after=test-options,test-mark",
        )
        headers = [line for line in err.splitlines() if "IR Dump" in line]
        assert [header.split()[4:6] for header in headers] == [
            ["After", "test-options"],
            ["Before", "test-mark"],
            ["After", "test-mark"],
        ]

    def test_after_change(self) -> None:
        _, _, err = compiled(
            "--pipeline=test-options,test-mark,test-options",
            "--print-ir-after-change",
        )
        headers = [line for line in err.splitlines() if "IR Dump" in line]
        assert len(headers) == 1
        assert "test-mark" in headers[0]

    def test_a_pass_that_is_not_there(self) -> None:
        code, _, err = compiled("--pipeline=test-mark", "--print-ir-after=test-marc")
        assert code == 1
        assert "--print-ir-after: no pass 'test-marc'" in err
        assert "did you mean test-mark?" in err

    def test_tree(self, tmp_path: Path) -> None:
        folder = tmp_path / "a" / "tree"
        code, _, _ = compiled(
            "--pipeline=test-options,test-mark", f"--print-ir-tree-dir={folder}"
        )
        assert code == 0
        names = sorted(path.name for path in folder.iterdir())
        assert names == ["00_source.mlir", "01_test-options.mlir", "02_test-mark.mlir"]
        assert "@f" in (folder / names[0]).read_text()
        assert "@marked" in (folder / names[2]).read_text()

    def test_tree_in_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        code, _, err = compiled(
            "--pipeline=", f"--print-ir-tree-dir={tmp_path / 'file'}"
        )
        assert code == 1
        assert "error[PTO502]: cannot create" in err

    def test_timing(self) -> None:
        _, out, err = compiled("--pipeline=test-mark", "--timing")
        assert "seconds" not in out
        steps = [line.split()[0] for line in err.splitlines()]
        assert steps == [
            *("step", "parse", "verify", "load", "passes", "test-mark", "verify"),
            *("print", "rest", "total"),
        ]

    def test_pipeline(self) -> None:
        text = "test-mark,test-options{number=3}"
        code, out, err = compiled(f"--pipeline={text}", "--dump-pass-pipeline")
        assert (code, err) == (0, f"{text}\n")
        assert "@marked" in out
        code, out, err = call(f"--pipeline={text}", "--dump-pass-pipeline")
        assert (code, out, err) == (0, f"{text}\n", "")

    def test_forms(self) -> None:
        _, generic, _ = compiled("--pipeline=", "--print-op-generic")
        assert '"func.func"() <{' in generic
        _, located, _ = compiled("--pipeline=", "--print-debuginfo")
        assert 'loc("<stdin>":1:1)' in located


class TestFailures:
    def test_stays_with_expected_diagnostics(self) -> None:
        code, _, err = compiled("--pipeline=test-crash", "--verify-diagnostics")
        assert code == 2
        reproducer_of(err).unlink()

    def test_an_internal_error_exits_2_with_a_reproducer(self) -> None:
        code, out, err = compiled("--pipeline=test-mark,test-crash")
        assert (code, out) == (2, "")
        assert "error[PTO515]: your pass 'test-crash' failed: KeyError: 'a bug'" in err
        assert err.splitlines()[-1].endswith(" --pipeline=test-mark,test-crash")
        assert "Traceback" not in err
        name = reproducer_of(err)
        text = Path(name).read_text()
        Path(name).unlink()
        first = text.splitlines()[0]
        assert first == "// configuration: --pipeline=test-mark,test-crash"
        assert "func.func @f" in text
        assert "// KeyError: 'a bug'" in text
        assert call("-", "--pipeline=test-mark", stdin=text)[0] == 0

    def test_crash_reproducer_has_the_ir_before_the_pass(self, tmp_path: Path) -> None:
        name = tmp_path / "crash.mlir"
        code, _, err = compiled(
            "--pipeline=test-mark,test-crash,test-options",
            f"--crash-reproducer={name}",
        )
        assert code == 2
        text = name.read_text()
        first = text.splitlines()[0]
        assert first == "// configuration: --pipeline=test-crash,test-options"
        assert "func.func @marked" in text
        assert f"{name} holds the IR before the pass" in err

    def test_crash_reproducer_for_a_rejected_program(self, tmp_path: Path) -> None:
        name = tmp_path / "crash.mlir"
        code, _, _ = compiled(
            "--pipeline=test-mark,test-refuse", f"--crash-reproducer={name}"
        )
        assert code == 1
        assert "--pipeline=test-refuse" in name.read_text()

    def test_no_reproducer_without_a_failure(self, tmp_path: Path) -> None:
        name = tmp_path / "crash.mlir"
        assert compiled("--pipeline=test-mark", f"--crash-reproducer={name}")[0] == 0
        assert not name.exists()

    def test_a_pass_rejects_its_input(self) -> None:
        code, out, err = compiled("--pipeline=test-refuse")
        assert (code, out) == (1, "")
        assert "<stdin>:1:1: error[PTO220]: this machine cannot" in err

    def test_verify_each_finds_broken_ir(self) -> None:
        code, _, err = compiled("--pipeline=test-break,test-options")
        assert code == 2
        assert "your pass 'test-break' left IR that does not verify" in err
        reproducer_of(err).unlink()
        code, _, _ = compiled("--pipeline=test-break,test-options", "--verify-each=0")
        assert code == 0

    def test_remarks_are_shown_on_request(self) -> None:
        assert "nothing was done" not in compiled("--pipeline=test-remark")[2]
        code, out, err = compiled("--pipeline=test-remark", "--remarks")
        assert code == 0
        assert "remark[PTO300]: nothing was done" in err
        assert "nothing was done" not in out

    def test_after_an_error_the_process_is_as_fresh_as_before(self) -> None:
        before = compiled("--pipeline=test-mark")
        for pipeline in ("test-refuse", "test-break", "zebra"):
            compiled(f"--pipeline={pipeline}")
        compiled("--pipeline=", text="func.func @f(%x")
        assert compiled("--pipeline=test-mark") == before


MATMUL = """\
func.func @f(%x: tensor<?x640xf16>, %w: tensor<640x64xf16>) -> tensor<?x64xf32> {
  %y = pypto.matmul %x, %w {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64],
    split_k = 2>}
  func.return %y : tensor<?x64xf32>
}
"""
SCALARS = """\
func.func @f(%x: tensor<?x64xf32>) -> index {
  %m = pypto.dim %x, 0
  func.return %m : index
}
"""


@cache
def complete(text: str) -> tuple[int, str, str]:
    """What the default pipeline makes of a text."""
    return compiled(text=text)


class TestOrder:
    """Passes at the wrong place: an error that says so, or nothing is done."""

    @pytest.mark.parametrize(
        ("without", "expected"),
        [
            ("infer-tiles", "2:8: error[PTO504]: 'pypto.matmul' has no tile yet"),
            ("assemble-buffers", "error[PTO504]: these tasks are on tensors"),
        ],
    )
    def test_one_is_missing(self, without: str, expected: str) -> None:
        names = [name for name in DEFAULT_PIPELINE if name != without]
        code, _, err = compiled(f"--pipeline={','.join(names)}", text=MATMUL)
        assert code == 1
        assert expected in err

    @pytest.mark.parametrize("factor", [0, -1])
    def test_a_split_into_nothing(self, factor: int) -> None:
        code, out, err = compiled(f"--pipeline=split-k{{factor={factor}}}", text=MATMUL)
        assert code == 1
        assert not out
        assert "K has at least one part" in err

    @pytest.mark.parametrize("text", [MATMUL, SCALARS])
    @pytest.mark.parametrize("name", DEFAULT_PIPELINE)
    def test_one_comes_late(self, name: str, text: str) -> None:
        names = [*DEFAULT_PIPELINE, name]
        assert compiled(f"--pipeline={','.join(names)}", text=text) == complete(text)

    @pytest.mark.parametrize("text", [MATMUL, SCALARS])
    @pytest.mark.parametrize("name", DEFAULT_PIPELINE)
    def test_one_comes_twice(self, name: str, text: str) -> None:
        names = list(DEFAULT_PIPELINE)
        names.insert(names.index(name), name)
        assert compiled(f"--pipeline={','.join(names)}", text=text) == complete(text)

    @pytest.mark.parametrize("count", range(DEFAULT_PIPELINE.index("plan-memory") + 1))
    def test_the_rest_is_found(self, count: int) -> None:
        half = compiled(f"--pipeline={','.join(DEFAULT_PIPELINE[:count])}", text=MATMUL)
        assert compiled(text=half[1]) == complete(MATMUL)

    @pytest.mark.parametrize("text", [MATMUL, SCALARS])
    def test_a_program_is_complete(self, text: str) -> None:
        done = compiled(text=text)
        assert compiled(text=done[1]) == done

    @pytest.mark.parametrize("late", ["split-k", "assemble-buffers"])
    def test_no_work_is_left(self, late: str) -> None:
        names = [name for name in DEFAULT_PIPELINE if name != "split-k"]
        names.insert(names.index("lower-to-tile") + (late != "split-k"), late)
        assert compiled(f"--pipeline={','.join(names)}", text=MATMUL)[0] == 0


class TestSplit:
    TEXT = f"{FUNCTION}// -----\nnonsense\n// -----\n{FUNCTION}"

    def test_one_bad_module_does_not_hide_the_next(self) -> None:
        code, out, err = compiled("--pipeline=", "--split-input-file", text=self.TEXT)
        assert code == 1
        assert out.count("func.func @f") == 2
        assert out.count("// -----\n") == 1
        assert err.startswith("<stdin>:5:1: error[")

    def test_output_splits_again(self) -> None:
        text = f"{FUNCTION}// -----\n{FUNCTION}"
        first = compiled("--pipeline=", "--split-input-file", text=text)
        again = compiled("--pipeline=", "--split-input-file", text=first[1])
        assert first == again

    def test_tree(self, tmp_path: Path) -> None:
        text = f"{FUNCTION}// -----\n{FUNCTION}"
        compiled(
            "--pipeline=test-mark",
            "--split-input-file",
            f"--print-ir-tree-dir={tmp_path}",
            text=text,
        )
        assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]
