"""Passes of the user's that fail: the message is about their code, not about ours."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import processes
import pytest
from inprocess import call

PROGRAM = """\
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = pypto.neg %x
  %z = pypto.exp %y
  func.return %z : tensor<4xf32>
}
"""
HEAD = """\
import pyptoc
from xdsl.pattern_rewriter import PatternRewriteWalker, RewritePattern

@pyptoc.register_pass
class MinePass(pyptoc.Pass):
    name = "mine"
    summary = "fails"

    def run(self, ctx, module):
"""
PLAIN = """\
        for op in module.walk():
            if op.name == "pypto.exp":
                größe = {}[op.name]
"""
HELPER = """\
        list(map(helper, [op for op in module.walk() if op.name == "pypto.exp"]))


def helper(each):
    return each.attributes["no"].data
"""
PATTERN = """\
        PatternRewriteWalker(Negated()).rewrite_module(module)


class Negated(RewritePattern):
    def match_and_rewrite(self, op, rewriter):
        if op.name == "pypto.exp":
            rewriter.erase_op(op)
"""
BUILDS = """\
        from pyptoc.dialects.pypto.elementwise import MulOp
        from pyptoc.dialects.pypto.shape import ReshapeOp, TransposeOp
        for op in module.walk():
            if op.name == "pypto.exp":
                made = MAKE
"""
NO_OPERATION = """\
        raise ValueError
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a program; files that failures leave are kept here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "op.mlir").write_text(PROGRAM)
    return tmp_path


def failing(body: str, *argv: str) -> tuple[int, list[str]]:
    Path("mine.py").write_text(HEAD + body)
    words = ("op.mlir", "--load-module=mine.py", "--pipeline=inline,mine", *argv)
    code, out, err = call(*words)
    assert out == ""
    assert "Traceback" not in err
    return code, err.splitlines()


@pytest.mark.parametrize(
    ("body", "place", "said", "carets"),
    [
        (PLAIN, "12:25", "KeyError: 'pypto.exp'", "{}[op.name]"),
        (HELPER, "14:12", "KeyError: 'no'", 'each.attributes["no"]'),
    ],
)
def test_the_line_and_the_operation(body, place, said, carets, folder) -> None:
    code, lines = failing(body)
    assert code == 2
    head = f"mine.py:{place}: error[PTO515]: your pass 'mine' failed: {said}"
    assert lines[0] == head
    assert lines[1].index(carets) == lines[2].index("^" * len(carets))
    assert lines[2].strip(" |") == "^" * len(carets)
    assert lines[3].strip() == "note: while it looked at pypto.exp (op.mlir:3:8)"


LEAVING = {
    "sys.exit()": "it called sys.exit()",
    "sys.exit(3)": "it called sys.exit(3)",
    "sys.exit('no')": "it called sys.exit('no')",
    "raise GeneratorExit": "it raised GeneratorExit",
    "raise BaseException('no\\nmore')": "it raised BaseException: no",
}
"""What leaves by no `Exception`, and what is said of it."""


@pytest.mark.parametrize(("line", "said"), LEAVING.items())
def test_a_pass_that_leaves(line, said, folder) -> None:
    code, lines = failing(f"        import sys\n        {line}\n")
    assert code == 2
    head = "mine.py:11:9: error[PTO515]: your pass 'mine' failed: "
    assert lines[0] == head + said
    assert "help: a pass returns, or raises" in "\n".join(lines)


def test_an_error_of_the_system_in_a_pass(folder) -> None:
    """Not one of ours that reads or writes."""
    code, lines = failing('        open("no.txt")\n')
    assert code == 2
    said = "FileNotFoundError: [Errno 2] No such file or directory: 'no.txt'"
    assert lines[0] == f"mine.py:10:9: error[PTO515]: your pass 'mine' failed: {said}"


@pytest.mark.parametrize("fails", ["ValueError", "SystemExit"])
def test_an_exception_whose_text_fails(fails, folder) -> None:
    body = f"""\
        raise Silent


class Silent(KeyError):
    def __str__(self):
        raise {fails}
"""
    code, lines = failing(body)
    assert code == 2
    said = "your pass 'mine' failed: Silent: its text cannot be made"
    assert lines[0] == f"mine.py:10:9: error[PTO515]: {said}"


def test_a_text_that_no_file_can_hold(folder) -> None:
    """So Python tells bytes of a file's name that are no UTF-8."""
    body = "        raise ValueError('caf\\udce9' if ctx else '')\n"
    Path("mine.py").write_text(HEAD + body)
    words = ("op.mlir", "--load-module=mine.py", "--pipeline=mine")
    code, _, err = processes.run(*words, "--crash-reproducer=crash.mlir")
    assert code == 2
    assert "your pass 'mine' failed: ValueError: caf\\udce9" in err
    assert "// ValueError: caf\\udce9" in Path("crash.mlir").read_text()


@pytest.mark.parametrize(("line", "said"), LEAVING.items())
def test_a_module_that_leaves(line, said, folder) -> None:
    Path("mine.py").write_text(f"import sys\n{line}\n")
    code, out, err = call("op.mlir", "--load-module=mine.py")
    assert (code, out, err) == (1, "", f"error[PTO514]: mine.py:2: {said}\n")


def test_an_interrupt_in_code_of_theirs_is_one(folder) -> None:
    Path("mine.py").write_text("raise KeyboardInterrupt\n")
    assert call("op.mlir", "--load-module=mine.py")[0] == 130
    Path("mine.py").write_text(HEAD + "        raise KeyboardInterrupt\n")
    argv = ("op.mlir", "--load-module=mine.py", "--pipeline=mine")
    assert call(*argv)[0] == 130


def test_a_pass_that_returns_a_module(folder) -> None:
    code, lines = failing("        return module.clone()\n")
    said = "TypeError: run changes the module and returns None, no ModuleOp"
    assert code == 2
    assert lines[0] == f"mine.py:4:1: error[PTO515]: your pass 'mine' failed: {said}"


def test_a_module_of_two_blocks(folder) -> None:
    body = """\
        from xdsl.ir import Block
        module.body.add_block(Block())
"""
    code, lines = failing(body)
    assert code == 2
    assert "your pass 'mine' left IR that does not verify" in lines[0]
    assert "note: builtin.module has 1 region of 2 blocks" in "\n".join(lines)


def test_in_code_that_theirs_calls(folder) -> None:
    """xDSL raises it; the line is the innermost of theirs."""
    code, lines = failing(PATTERN)
    assert code == 2
    assert lines[0].startswith("mine.py:16:13: error[PTO515]: your pass 'mine' failed")
    assert lines[1].endswith("rewriter.erase_op(op)")
    assert any("while it looked at pypto.exp (op.mlir:3:8)" in line for line in lines)


def test_without_an_operation(folder) -> None:
    code, lines = failing(NO_OPERATION)
    assert code == 2
    assert lines[0].endswith("your pass 'mine' failed: ValueError")
    assert not any("looked at" in line for line in lines)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        ('MulOp.make(op.operands[0], "q")', "[PTO116] mul takes 2 operands, this"),
        ("ReshapeOp.make(op.operands[0], [7])", "[PTO130] "),
        ("TransposeOp.make(op.operands[0], [1, 0])", "[PTO139] perm [1, 0] does"),
    ],
)
def test_an_operation_that_cannot_be_built(make, said, folder) -> None:
    """Our diagnostic of it has no place: the line of Python is the place."""
    code, lines = failing(BUILDS.replace("MAKE", make))
    assert code == 2
    head = "mine.py:14:24: error[PTO515]: your pass 'mine' failed: "
    assert lines[0].startswith(head + said)
    assert lines[1].index(make) == lines[2].index("^" * len(make))
    assert lines[2].strip(" |") == "^" * len(make)
    notes = [line.strip() for line in lines[3:]]
    assert "note: while it looked at pypto.exp (op.mlir:3:8)" in notes


def test_ir_that_does_not_verify(folder) -> None:
    body = PLAIN.replace("größe = {}[op.name]", "op.detach()")
    code, lines = failing(body)
    assert code == 2
    head = "error[PTO515]: your pass 'mine' left IR that does not verify"
    assert re.fullmatch(r"\S*mine.py:4:1: " + re.escape(head), lines[0])
    note = "note: func.return uses %z where it is not defined (op.mlir:4:3)"
    assert note in map(str.strip, lines)


def test_ir_of_which_the_verification_fails(folder) -> None:
    body = """\
        from xdsl.dialects.builtin import UnitAttr
        for op in module.ops:
            op.properties["function_type"] = UnitAttr()
"""
    code, lines = failing(body)
    assert code == 2
    assert "your pass 'mine' left IR that does not verify" in lines[0]
    # Who has defined func.func first, xDSL or we, decides who of both complains.
    told = ("the verification of func.func failed: Attrib", "func.func: unit should be")
    assert lines[1].removeprefix("   note: ").startswith(told)
    assert lines[1].endswith(" (op.mlir:1:1)")


def test_the_file_that_is_left_has_the_traceback(folder) -> None:
    _, lines = failing(PLAIN)
    name = next(re.findall(r"note: (\S+) holds", line)[0] for line in lines[4:])
    assert "KeyError: 'pypto.exp'" in Path(name).read_text()
    assert lines[-1].strip().startswith(f"help: pyptoc {name} --load-module=mine.py")


def test_a_reproducer_runs_in_a_new_process(folder) -> None:
    failing(PLAIN, "--crash-reproducer=again.mlir")
    (folder / "elsewhere").mkdir()
    command = ("../again.mlir", "--run-reproducer")
    code, _, err = processes.run(*command, cwd=folder / "elsewhere")
    assert code == 1
    assert "../again.mlir needs passes of yours" in err
    again = shlex.split(err.split("help: pyptoc ")[1])
    assert again == [*command, f"--load-module={folder}/mine.py"]
    code, _, err = processes.run(*again, cwd=folder / "elsewhere")
    assert code == 2
    assert "your pass 'mine' failed: KeyError: 'pypto.exp'" in err
    # The mended pass is tried in its place.
    (folder / "elsewhere" / "mine.py").write_text(HEAD + "        pass\n")
    command += ("--load-module=mine.py",)
    code, out, err = processes.run(*command, cwd=folder / "elsewhere")
    assert (code, err) == (0, "")
    assert "pypto.exp" in out


def test_a_reproducer_runs_no_code(folder) -> None:
    """Of a file from elsewhere; only what the command line names is run."""
    line = "// configuration: --load-module=mine.py\n"
    Path("mine.py").write_text("open('ran', 'w')\n" + HEAD + "        pass\n")
    Path("op.mlir").write_text(line + PROGRAM)
    assert call("op.mlir", "--pipeline=inline")[0] == 0
    assert not Path("ran").exists()
    assert call("op.mlir", "--run-reproducer")[0] == 1
    assert not Path("ran").exists()
    assert call("op.mlir", "--run-reproducer", "--load-module=mine.py")[0] == 0
    assert Path("ran").exists()


def test_what_else_a_reproducer_needs(folder) -> None:
    Path("slow.toml").write_text('base = "ascend950"\n')
    options = ("--machine=slow.toml", "--verify-each=false")
    failing(PLAIN, *options, "--crash-reproducer=again.mlir")
    line = Path("again.mlir").read_text().splitlines()[0]
    words = f"--machine={folder}/slow.toml --verify-each=false --pipeline=mine"
    assert line.endswith(f"--load-module={folder}/mine.py {words}")
    again = ("again.mlir", "--run-reproducer", "--load-module=mine.py")
    assert call(*again)[0] == 2


REMARKING = """\
        from pyptoc.dialects.diagnostics import error

        for op in module.walk():
            if op.name == "pypto.neg":
                ctx.report("warning", "PTO301", op, "slow")
                ctx.remark(op, "left alone")
            if op.name == "pypto.exp":
                error(op, "PTO220", "refused")
"""


def test_what_was_said_before_an_error_is_printed(folder) -> None:
    code, lines = failing(REMARKING, "--remarks")
    heads = [line for line in lines if line.startswith("op.mlir:")]
    assert code == 1
    assert heads == [
        "op.mlir:2:8: warning[PTO301]: slow",
        "op.mlir:2:8: remark[PTO300]: left alone",
        "op.mlir:3:8: error[PTO220]: refused",
    ]
    heads = [line for line in failing(REMARKING)[1] if line.startswith("op.mlir:")]
    assert [line.split("[")[0] for line in heads] == [
        "op.mlir:2:8: warning",
        "op.mlir:3:8: error",
    ]
