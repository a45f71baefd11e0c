"""The Python API: stages, pipelines, passes of one's own, arrays, errors, notebooks."""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import ml_dtypes
import numpy as np
import pytest

import pyptoc
from pyptoc.passes import REGISTERED

TEXT = """\
func.func @scale(%x: tensor<?x64xf32> {pypto.dims = ["M"]}, %s: tensor<64xf32>)
    -> (tensor<?x64xf32> {pypto.name = "y"}) {
  %y = pypto.mul %x, %s
  func.return %y : tensor<?x64xf32>
}
"""
HALF = """\
func.func @half(%x: tensor<2x8xbf16>) -> (tensor<2x8xbf16> {pypto.name = "y"}) {
  %y = pypto.mul %x, 0.5
  func.return %y : tensor<2x8xbf16>
}
"""
X = np.arange(3 * 64, dtype=np.float32).reshape(3, 64)
S = np.linspace(-1, 1, 64, dtype=np.float32)


@pytest.fixture
def mine(register):
    """A registry of one's own for the test."""
    return REGISTERED


# Stages ------------------------------------------------------------------------------


def test_stages() -> None:
    program = pyptoc.compile(TEXT)
    assert program.stages[:5] == ("source", "tensor", "tasks", "kernels", "program")
    assert program.stages[5:] == tuple(pyptoc.Pipeline().names)
    assert program.ir("program") == program.ir() == program.ir("schedule")
    assert program.ir() == program.text
    assert program.ir("source") == program.ir("tensor")
    assert "pypto.mul %x, %s" in program.ir("source")
    assert "npu.tasks" in program.ir("tasks")
    assert "npu.kernel" not in program.ir("tasks")
    assert program.ir("tasks") == program.ir("assemble-buffers")
    assert "tile.alloc {addr" not in program.ir("kernels")
    assert "tile.alloc {addr" in program.ir("plan-memory")


def test_stages_of_a_module_that_is_changed_later() -> None:
    from pyptoc.command import Unit, parse
    from pyptoc.dialects.context import make_context

    module = parse(Unit("op.mlir", TEXT), make_context())
    program = pyptoc.compile(module, pipeline="inline,desugar")
    before = program.ir("source")
    function = module.body.block.first_op
    assert function is not None
    function.detach()
    assert program.ir("source") == before
    assert program.ir("desugar") == program.text


def test_a_stage_that_there_is_not() -> None:
    program = pyptoc.compile(TEXT, pipeline="inline,desugar")
    for stage in ("desuger", "tasks"):
        with pytest.raises(ValueError, match=f"no stage '{stage}'; "):
            program.ir(stage)


# Pipelines ---------------------------------------------------------------------------


def test_pipelines_are_lists_of_passes() -> None:
    pipeline = pyptoc.Pipeline()
    assert pipeline.names == pyptoc.Pipeline.known()[: len(pipeline)]
    pipeline.remove("skew").insert("plan-memory{slots=3}", before="plan-memory")
    at = pipeline.names.index("plan-memory")
    assert pipeline.names[at - 1 : at + 2] == ["split-mixed", *["plan-memory"] * 2]
    pipeline.insert("inline", after="plan-memory")
    assert pipeline.names[at + 2] == "inline"
    assert pipeline.append("inline,desugar").names[-2:] == ["inline", "desugar"]
    assert pyptoc.Pipeline(str(pipeline)) == pipeline != pyptoc.Pipeline()
    assert eval(repr(pipeline), {"Pipeline": pyptoc.Pipeline}) == pipeline
    assert len(pyptoc.Pipeline("")) == 0
    assert str(pyptoc.Pipeline(["inline", *pyptoc.Pipeline("skew")])) == "inline,skew"


def test_pipelines_run() -> None:
    from pyptoc.command import Unit, parse
    from pyptoc.dialects.context import make_context
    from pyptoc.printing import module_text

    module = parse(Unit("op.mlir", TEXT), make_context())
    remarks = pyptoc.Pipeline().run(module, machine="ascend910b")
    program = pyptoc.compile(TEXT, machine="ascend910b", pipeline=pyptoc.Pipeline())
    assert module_text(module) == program.text
    assert remarks == program.remarks
    np.testing.assert_array_equal(program.run(x=X, s=S)["y"], X * S)


def test_pipelines_refuse_what_they_have_not() -> None:
    pipeline = pyptoc.Pipeline("inline,desugar")
    with pytest.raises(ValueError, match="no pass 'skew' in the pipeline"):
        pipeline.remove("skew")
    with pytest.raises(ValueError, match=r"did you mean desugar\?"):
        pipeline.insert("skew", before="desuger")
    with pytest.raises(ValueError, match="not both"):
        pipeline.insert("skew", before="inline", after="inline")
    with pytest.raises(pyptoc.CompileError, match="unknown pass 'skw'"):
        pipeline.append("skw")
    with pytest.raises(ValueError, match=r"before= or after= .* append\(\) puts"):
        pipeline.insert("skew")
    assert str(pipeline) == "inline,desugar"


# Passes of one's own -----------------------------------------------------------------


def double(**changes: object) -> type:
    """A class that is nearly a pass."""
    run = {"run": lambda self, ctx, module: None}
    fields = {"name": "my-double", "summary": "nothing", **run, **changes}
    return type("DoublePass", (pyptoc.Pass,), fields)


def test_a_registered_pass_runs(mine, capsys) -> None:
    @pyptoc.register_pass
    @dataclass(frozen=True)
    class RenamePass(pyptoc.Pass):
        name = "my-rename"
        summary: ClassVar[str] = "renames functions"
        to: str = "renamed"

        def run(self, ctx, module) -> None:
            for op in module.ops:
                ctx.remark(op, f"now @{self.to}")
                op.properties["sym_name"] = type(op.sym_name)(self.to)

    program = pyptoc.compile(TEXT, pipeline="inline,my-rename{to=other}")
    assert "func.func @other(" in program.text
    assert [each.code for each in program.remarks] == ["PTO300"]
    assert "my-rename" in pyptoc.Pipeline.known()
    assert pyptoc.main(["--list-passes"]) == 0
    assert "renames functions" in capsys.readouterr().out


def test_what_is_no_pass_is_not_registered(mine) -> None:
    register = pyptoc.register_pass
    for wrong, text in (
        (int, "no subclass of pyptoc.Pass"),
        (double(name=None), "needs a name and a summary"),
        (double(run=abstractmethod(lambda self: None)), "has no method run"),
        (double(summary=None), "needs a name and a summary"),
        (double(__annotations__={"depth": "int"}, depth=1), "write @dataclass"),
    ):
        with pytest.raises(TypeError, match=text):
            register(wrong)  # type: ignore[arg-type]
    for name, text in (("schedule", "of its own"), ("a,b", "no name of a pass")):
        with pytest.raises(ValueError, match=text):
            register(double(name=name))
    assert "my-double" not in mine
    register(double())
    assert register(double(summary="again")).summary == "again"


MODULE = """\
import pyptoc

@pyptoc.register_pass
class MinePass(pyptoc.Pass):
    name = "mine"
    summary = "says hello"

    def run(self, ctx, module):
        for op in module.ops:
            ctx.remark(op, "hello")
"""


def test_a_module_is_loaded_for_one_command(tmp_path, capsys) -> None:
    (tmp_path / "op.mlir").write_text(TEXT)
    (tmp_path / "mine.py").write_text(MODULE)
    words = [str(tmp_path / "op.mlir"), "--pipeline=mine", "--remarks"]
    assert pyptoc.main([*words, f"--load-module={tmp_path / 'mine.py'}"]) == 0
    assert "remark[PTO300]: hello" in capsys.readouterr().err
    assert pyptoc.main(words) == 1
    assert "unknown pass 'mine'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("mine.py", "x = 1\ny = 1 / 0\n", "mine.py:2: ZeroDivisionError: division"),
        ("mine.py", "import sys\nsys.exit()\n", "mine.py:2: it called sys.exit()"),
        ("mine.py", "\nexit(3)\n", "mine.py:2: it called sys.exit(3)"),
        (
            "mine.py",
            MODULE + MODULE.replace("class ", "class Other"),
            "OtherMinePass and MinePass are both named 'mine'",
        ),
        ("mine.py", "\nraise ValueError\n", "mine.py:2: ValueError"),
        ("mine.py", "x = (\n", "mine.py:1: SyntaxError: "),
        ("mine.txt", MODULE, "mine.txt is no Python file"),
        ("mine.py", None, "error[PTO502]: cannot read "),
    ],
)
def test_a_module_that_cannot_be_loaded(name, text, expected, tmp_path, capsys) -> None:
    (tmp_path / "op.mlir").write_text(TEXT)
    if text is not None:
        (tmp_path / name).write_text(text)
    words = [str(tmp_path / "op.mlir"), f"--load-module={tmp_path / name}"]
    assert pyptoc.main(words) == 1
    assert expected in capsys.readouterr().err


def test_two_modules_with_one_class_name(tmp_path, capsys) -> None:
    files = [tmp_path / "a.py", tmp_path / "b.py"]
    for file in files:
        file.write_text(MODULE)
    (tmp_path / "op.mlir").write_text(TEXT)
    words = [str(tmp_path / "op.mlir"), *(f"--load-module={file}" for file in files)]
    assert pyptoc.main(words) == 1
    said = "pyptoc_user_b.MinePass and pyptoc_user_a.MinePass are both named 'mine'"
    assert said in capsys.readouterr().err


# Arrays ------------------------------------------------------------------------------


class Lent:
    """An array of another library, which lends its memory in one way only."""

    def __init__(self, array: np.ndarray, way: str) -> None:
        self._array = array
        if way == "__array_interface__":
            self.__array_interface__ = array.__array_interface__


class Packed:
    """An array that offers DLPack, and the interface of a tensor where it needs it."""

    device = (1, 0)

    def __init__(self, array: np.ndarray, dtype: str = "") -> None:
        self._array = array
        self.dtype = dtype or f"lib.{array.dtype}"

    def __dlpack__(self, **options: object) -> object:
        if "float8" in self.dtype or "bfloat16" in self.dtype:
            raise BufferError("no such type in DLPack")
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def view(self, dtype: str) -> Packed:
        return Packed(self._array.view(dtype), f"lib.{dtype}")


class Far(Packed):
    device = (2, 0)


def test_arrays_of_other_libraries() -> None:
    program = pyptoc.compile(TEXT)
    expected = X * S
    for x in (X, Lent(X, "__array_interface__"), Packed(X)):
        np.testing.assert_array_equal(program.run(x=x, s=Packed(S))["y"], expected)


def test_bits_of_types_that_dlpack_does_not_know() -> None:
    x = np.linspace(-2, 2, 16, dtype=np.float32).reshape(2, 8)
    narrow = x.astype(ml_dtypes.bfloat16)
    expected = (narrow.astype(np.float32) * 0.5).astype(ml_dtypes.bfloat16)
    tensor = Packed(narrow.view(np.int16), "lib.bfloat16")
    for given in (narrow, narrow.view(np.uint16), tensor):
        got = pyptoc.compile(HALF).run(x=given)["y"]
        np.testing.assert_array_equal(got, expected)


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")
    program = pyptoc.compile(TEXT)
    x = torch.from_numpy(X).requires_grad_()
    np.testing.assert_array_equal(program.run(x=x, s=torch.from_numpy(S))["y"], X * S)
    half = torch.linspace(-2, 2, 16).reshape(2, 8).to(torch.bfloat16)
    got = pyptoc.compile(HALF).run(x=half)["y"]
    np.testing.assert_array_equal(got.astype(np.float32), (half * 0.5).float().numpy())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Far(S), r"'s' is a Far, no array: it lies on device 2:0"),
        (Lent(S, ""), r"'s' is a Lent, no array: it offers neither"),
        ({"a": 1}, r"'s' is a dict, no array"),
        ([[1.0], [1.0, 2.0]], r"'s' is a list, no array"),
    ],
)
def test_what_is_no_array(value, text) -> None:
    with pytest.raises(pyptoc.CompileError, match=text) as found:
        pyptoc.compile(TEXT).run(x=X, s=value)
    assert found.value.diagnostics[0].code == "PTO501"


def test_a_terminal_shows_one_line() -> None:
    program = pyptoc.compile("@softmax")
    assert repr(program) == "<Program @softmax for ascend950: 1 kernel, 1 launch>"
    shown = repr(program.simulate(t=4))
    assert re.fullmatch(
        r"<Timeline of @softmax on ascend950: [\d.]+ us modelled, bound: \w+>", shown
    )
