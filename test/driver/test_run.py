"""--run, --check-each and the Python API, at the tensor level."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import ml_dtypes
import numpy as np
import pytest
from inprocess import call
from xdsl.dialects.builtin import FloatAttr, f32

import pyptoc
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.passes.base import PyptocPass

SCALE = """\
func.func @scale(
    %x: tensor<?x4xf32> {pypto.dims = ["n"]},
    %k: i32 {pypto.default = 3 : i32})
    -> (tensor<?x4xf32> {pypto.name = "y"}, tensor<?x4xi32> {pypto.name = "q"}) {
  %y = pypto.mul %x, 2.0
  %z = pypto.mul %y, 10.0
  %q = pypto.cast %z to i32
  func.return %y, %q : tensor<?x4xf32>, tensor<?x4xi32>
}
"""
UPDATE = """\
func.func @update(%x: tensor<4xf32>) -> (tensor<4xf32> {pypto.name = "x"}) {
  %y = pypto.add %x, 1.0
  func.return %y : tensor<4xf32>
}
"""


SMALL = """\
func.func @small(%x: tensor<2x64xf32>) -> (tensor<2x64xbf16> {pypto.name = "y"},
    tensor<2x64xf8E5M2> {pypto.name = "e"}, tensor<2x64xf32> {pypto.name = "z"}) {
  %y = pypto.cast %x to bf16
  %e = pypto.cast %x to f8E5M2
  %z = pypto.exp %x
  func.return %y, %e, %z : tensor<2x64xbf16>, tensor<2x64xf8E5M2>, tensor<2x64xf32>
}
"""
TAKES = """\
func.func @takes(%y: tensor<2x64xbf16>, %e: tensor<2x64xf8E5M2>, %z: tensor<2x64xf32>)
    -> (tensor<2x64xf32> {pypto.name = "a"}, tensor<2x64xf32> {pypto.name = "b"}) {
  %a = pypto.cast %y to f32
  %b = pypto.cast %e to f32
  func.return %a, %b : tensor<2x64xf32>, tensor<2x64xf32>
}
"""


def run(*argv: str, text: str = SCALE) -> tuple[int, str, str]:
    return call("-", "--pipeline=", "--run", *argv, stdin=text)


@pytest.fixture
def x() -> np.ndarray:
    return np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.fixture
def inputs(tmp_path: Path, x: np.ndarray) -> str:
    np.savez(tmp_path / "in.npz", x=x)
    return str(tmp_path / "in.npz")


class TestRun:
    def test_inputs_and_outputs(self, inputs: str, x, tmp_path: Path) -> None:
        name = str(tmp_path / "out.npz")
        code, out, err = run("--inputs", inputs, "--outputs", name)
        assert (code, err) == (0, "")
        results = np.load(name)
        assert np.array_equal(results["y"], 2 * x)
        assert np.array_equal(results["q"], 20 * x)
        assert not list(tmp_path.glob("out.npz?*"))
        lines = out.splitlines()
        assert lines[0].startswith("compiled  scale  for ascend950")
        assert lines[0].endswith("interpreted at the tensor level")
        assert lines[1] == "inputs    x f32[2,4]  k i32 3"
        assert lines[2].startswith("run       ")
        assert lines[3] == f"outputs   {name}"
        assert lines[4].split() == ["result", "type", "min", "max", "mean"]
        assert lines[5].split() == ["y", "f32[2,4]", "0", "14", "7"]
        assert lines[6].split() == ["q", "i32[2,4]", "0", "140", "70"]

    def test_random(self) -> None:
        first = run("--random-inputs=1", "--bind=n=3")
        assert first[0] == 0
        assert "seed 1" in first[1]
        assert "x f32[3,4]" in first[1]

    def test_no_program_is_printed(self, inputs: str) -> None:
        assert "func.func" not in run("--inputs", inputs)[1]

    def test_program_goes_to_a_file(self, inputs: str, tmp_path: Path) -> None:
        name = tmp_path / "program.mlir"
        code, out, _ = run("--inputs", inputs, "-o", str(name))
        assert code == 0
        assert "func.func @scale" in name.read_text()
        assert "func.func" not in out

    @pytest.mark.parametrize(
        ("argv", "expected"),
        [
            ([], "error[PTO501]: inputs: missing: 'x'"),
            (["--inputs=no.npz"], "error[PTO502]: cannot read no.npz"),
            (["--random-inputs=1"], "error[PTO503]: sizes to choose: n"),
            (["--bind=m=1"], "help: names: n, x, k"),
            (["--entry=scal"], "did you mean @scale?"),
            (
                ["--random-inputs=1", "--bind=n=3", "--tol=z=1:1"],
                "--tol needs --expect",
            ),
        ],
    )
    def test_errors(self, argv: list[str], expected: str) -> None:
        code, out, err = run(*argv)
        assert (code, out) == (1, "")
        assert expected in err
        assert "Traceback" not in err

    def test_wrong_input(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "in.npz", x=np.zeros((2, 4)))
        code, _, err = run("--inputs", str(tmp_path / "in.npz"))
        assert code == 1
        assert "'x' has shape (2, 4) float64; %x is tensor<?x4xf32>" in err
        assert "(<stdin>:2:5)" in err
        assert "help: x.astype(np.float32)" in err

    def test_an_error_at_run_time_has_its_line(self) -> None:
        text = (
            "func.func @f(%x: tensor<4xf32>, %n: index) -> tensor<?xf32> {\n"
            "  %y = pypto.view %x[2 +: %n]\n"
            "  func.return %y : tensor<?xf32>\n}\n"
        )
        code, _, err = run("--random-inputs=1", "--bind=n=3", text=text)
        assert code == 1
        assert "<stdin>:2:" in err
        assert "] at run time:" in err

    def test_outputs_of_one_program_are_inputs_of_another(self, tmp_path: Path) -> None:
        file = str(tmp_path / "out.npz")
        code, out, _ = call(
            "-", "--run", "--random-inputs=1", f"--outputs={file}", stdin=SMALL
        )
        assert code == 0
        said = "y: uint16, .view(ml_dtypes.bfloat16); "
        said += "e: uint8, .view(ml_dtypes.float8_e5m2)"
        assert f"outputs   {file}   {said}" in out.splitlines()
        given = np.load(file)
        assert [given[name].dtype for name in given] == [
            np.uint16,
            np.uint8,
            np.float32,
        ]
        code, out, err = call(
            "-", "--run", f"--inputs={file}", f"--outputs={file}", stdin=TAKES
        )
        assert (code, err) == (0, "")
        assert f"outputs   {file}" in out.splitlines()
        again = np.load(file)
        values = given["y"].view(ml_dtypes.bfloat16).astype(np.float32)
        assert values.any()
        assert np.array_equal(again["a"], values)
        values = given["e"].view(ml_dtypes.float8_e5m2).astype(np.float32)
        assert np.array_equal(again["b"], values)

    def test_failing_runs_write_no_outputs(self, tmp_path: Path) -> None:
        name = tmp_path / "out.npz"
        code, _, _ = run("--outputs", str(name))
        assert code == 1
        assert not name.exists()


class TestExpect:
    def golden(self, tmp_path: Path, **arrays: np.ndarray) -> str:
        name = str(tmp_path / "golden.npz")
        np.savez(name, **arrays)
        return name

    def test_pass(self, inputs: str, x, tmp_path: Path) -> None:
        name = self.golden(tmp_path, y=2 * x, q=(20 * x).astype(np.int32))
        code, out, err = run("--inputs", inputs, "--expect", name)
        assert (code, err) == (0, "")
        assert out.splitlines()[-1] == "PASS"
        assert out.count("100.00 %  ok") == 2

    def test_fail(self, inputs: str, x, tmp_path: Path) -> None:
        wrong = 2 * x
        wrong[1, 2] += 1
        name = self.golden(tmp_path, y=wrong, q=(20 * x).astype(np.int32))
        code, out, err = run("--inputs", inputs, "--expect", name)
        assert code == 1
        assert out.splitlines()[-1] == "FAIL"
        row = next(line for line in out.splitlines() if line.startswith("y "))
        assert "1 at [1, 2] (got 12, ref 13)" in row
        assert "87.50 %" in row
        assert row.endswith("FAIL")
        assert "--check-each" in err
        code, out, _ = run("--inputs", inputs, "--expect", name, "--tol=y=1:0")
        assert code == 0
        assert "|d| <= 1 " in out

    def test_golden_that_does_not_fit(self, inputs: str, x, tmp_path: Path) -> None:
        name = self.golden(tmp_path, y=2 * x)
        code, _, err = run("--inputs", inputs, "--expect", name)
        assert code == 1
        assert "no expected value for the result 'q'" in err

    def test_spare_keys_warn(self, inputs: str, x, tmp_path: Path) -> None:
        name = self.golden(tmp_path, y=2 * x, q=(20 * x).astype(np.int32), p=x)
        code, _, err = run("--inputs", inputs, "--expect", name)
        assert code == 0
        assert "warning[PTO301]" in err
        assert "'p' names no result" in err


def _constants(module):
    for op in module.walk():
        if op.name == "pypto.mul":
            yield op


def _scale_literal(op, factor: float) -> None:
    from xdsl.dialects.builtin import ArrayAttr

    literals = op.properties["literals"]
    op.properties["literals"] = ArrayAttr(
        FloatAttr(each.value.data * factor, f32)
        if isinstance(each, FloatAttr)
        else each
        for each in literals
    )


@dataclass(frozen=True)
class Nothing(PyptocPass):
    name = "test-nothing"
    summary: ClassVar[str] = "changes nothing"

    def run(self, ctx, module) -> None:
        pass


@dataclass(frozen=True)
class Wrong(PyptocPass):
    name = "test-wrong"
    summary: ClassVar[str] = "changes a factor a little"
    by: float = 1.0000001

    def run(self, ctx, module) -> None:
        _scale_literal(next(_constants(module)), self.by)


@dataclass(frozen=True)
class Sums(Wrong):
    name = "test-sums"
    summary: ClassVar[str] = "changes a factor, as another order of sums might"
    reorders_float_sums: ClassVar[bool] = True


@dataclass(frozen=True)
class Fails(PyptocPass):
    name = "test-fails"
    summary: ClassVar[str] = "makes the program fail at run time"

    def run(self, ctx, module) -> None:
        for op in list(module.walk()):
            if op.name == "pypto.view":
                op.properties["static_offsets"] = type(
                    op.properties["static_offsets"]
                ).from_list(op.properties["static_offsets"].elt_type, [3])


class TestCheckEach:
    @pytest.fixture(autouse=True)
    def passes(self, register) -> None:
        register(Nothing, Wrong, Sums, Fails)

    def check(self, pipeline: str, *argv: str, text: str = SCALE):
        given = argv or ("--random-inputs=1", "--bind=n=8")
        return call("-", f"--pipeline={pipeline}", "--check-each", *given, stdin=text)

    def test_all_the_same(self) -> None:
        code, out, err = self.check("test-nothing,test-nothing")
        assert (code, err) == (
            0,
            "check-each: 2 passes, every result as in the source\n",
        )
        assert "func.func @scale" in out

    def test_sizes_are_all_that_is_asked_for(self, tmp_path: Path) -> None:
        """What the help of the error says is enough; arrays are made up."""
        code, _, err = self.check("test-nothing", "--color=never")
        assert (code, err.splitlines()[-1].strip()) == (1, "help: --bind=n=4")
        code, _, err = self.check("test-nothing", "--bind=n=4")
        assert (code, err[:11]) == (0, "check-each:")
        case = "attributes {pypto.cases = {few = {n = 4}}} "
        text = f"module {case}{{\n{SCALE}}}\n"
        code, _, err = self.check("test-nothing", "--case=few", text=text)
        assert (code, err[:11]) == (0, "check-each:")
        # Arrays that are given are to be complete.
        np.savez(tmp_path / "in.npz")
        argv = ("--bind=n=4", f"--inputs={tmp_path}/in.npz")
        code, _, err = self.check("test-nothing", *argv)
        assert "missing: 'x'" in err

    def test_the_pass_is_named(self) -> None:
        code, out, err = self.check("test-nothing,test-wrong,test-nothing")
        assert (code, out) == (1, "")
        assert "error[PTO506]: pass 'test-wrong' changes result 'y'" in err
        assert "this pass must keep every bit" in err
        assert "--print-ir-before=test-wrong" in err

    def test_with_run(self) -> None:
        code, out, err = self.check(
            "test-nothing", "--run", "--random-inputs=1", "--bind=n=2"
        )
        assert code == 0
        assert "compiled  scale" in out
        assert "check-each: 1 pass," in err

    def test_other_sums_may_differ_a_little(self) -> None:
        assert self.check("test-sums")[0] == 0
        code, _, err = self.check("test-sums{by=1.00001}")
        assert code == 1
        assert "pass 'test-sums' changes result 'y'" in err
        assert "a tenth of the result's tolerance" in err

    @pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
    def test_other_sums_of_long_rows(self, element: str) -> None:
        text = (
            "func.func @f(%x: tensor<32x2048xf16>, %w: tensor<2048x64xf16>)\n"
            f"    -> tensor<32x64x{element}> {{\n"
            f"  %y = pypto.matmul %x, %w to {element}\n"
            f"  func.return %y : tensor<32x64x{element}>\n}}\n"
        )
        code, _, err = call("-", "--check-each", "--random-inputs=1", stdin=text)
        assert (code, "every result as in the source" in err) == (0, True)

    @pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 7), (7, 1)])
    @pytest.mark.parametrize("flag", ["", "a_trans", "b_trans"])
    def test_vectors(self, m: int, n: int, flag: str) -> None:
        """A library may add up a vector in an order that depends on its stride."""
        a = f"129x{m}" if flag == "a_trans" else f"{m}x129"
        b = f"{n}x129" if flag == "b_trans" else f"129x{n}"
        text = (
            f"func.func @f(%a: tensor<{a}xf32>, %b: tensor<{b}xf32>)\n"
            f"    -> tensor<{m}x{n}xf32> {{\n"
            f"  %y = pypto.matmul %a, %b {{{flag}}}\n"
            f"  func.return %y : tensor<{m}x{n}xf32>\n}}\n"
        )
        code, _, err = call("-", "--check-each", "--random-inputs=1", stdin=text)
        assert (code, "every result as in the source" in err) == (0, True), err

    def test_integers_may_seldom_differ(self) -> None:
        # Within the tolerance, but in more than one element of a hundred.
        text = SCALE.replace('"q"', '"q", pypto.tol = #pypto.tol<atol = 1.0>')
        loose = text.replace('"y"', '"y", pypto.tol = #pypto.tol<rtol = 1.0>')
        code, _, err = self.check("test-sums{by=1.02}", text=loose)
        assert code == 1
        assert "changes result 'q'" in err
        assert "and 99 % equal" in err
        assert self.check("test-sums{by=1.00001}", text=loose)[0] == 0

    def test_after_such_a_pass_bits_count_again(self) -> None:
        assert self.check("test-sums,test-nothing")[0] == 0
        code, _, err = self.check("test-sums,test-wrong")
        assert code == 1
        assert "pass 'test-wrong'" in err

    def test_small_differences_do_not_add_up(self) -> None:
        pipeline = ",".join(["test-sums{by=1.0000005}"] * 8)
        code, _, err = self.check(pipeline)
        assert code == 1
        assert "pass 'test-sums' changes result 'y'" in err

    def test_seed_0_without_inputs(self) -> None:
        text = SCALE.replace("?", "8").replace(' {pypto.dims = ["n"]}', "")
        code, _, _ = call("-", "--pipeline=test-nothing", "--check-each", stdin=text)
        assert code == 0

    def test_a_pass_that_makes_it_fail(self) -> None:
        text = (
            "func.func @f(%x: tensor<4xf32>) -> tensor<2xf32> {\n"
            "  %y = pypto.view %x[2 +: 2]\n"
            "  func.return %y : tensor<2xf32>\n}\n"
        )
        code, _, err = self.check(
            "test-fails", "--random-inputs=1", "--verify-each=0", text=text
        )
        assert code == 1
        assert "pass 'test-fails' breaks the program" in err

    def test_an_operator_that_updates_its_input(self) -> None:
        code, _, err = self.check(
            "test-nothing,test-nothing", "--random-inputs=1", text=UPDATE
        )
        assert (code, err.startswith("check-each: 2")) == (0, True)

    def test_the_program_s_own_error(self) -> None:
        code, _, err = self.check("test-nothing", "--bind=m=2")
        assert code == 1
        assert "error[PTO501]" in err


class TestPython:
    def test_text_and_path(self, tmp_path: Path, x) -> None:
        path = tmp_path / "op.mlir"
        path.write_text(SCALE)
        for source in (SCALE, str(path), path):
            program = pyptoc.compile(source, pipeline="")
            assert np.array_equal(program.run(x=x)["y"], 2 * x)
            assert "func.func @scale" in program.text
            assert program.machine.name == "ascend950"

    def test_a_module_is_left_alone(self, register, x) -> None:
        register(Nothing, Wrong)
        module = pyptoc.compile(SCALE, pipeline="").module
        program = pyptoc.compile(module, pipeline="test-wrong{by=2}")
        assert np.array_equal(program.run(x=x)["y"], 4 * x)
        again = pyptoc.compile(module, pipeline="")
        assert np.array_equal(again.run(x=x)["y"], 2 * x)

    def test_numbers_and_small_floats(self) -> None:
        text = SCALE.replace("f32", "bf16")
        program = pyptoc.compile(text, pipeline="")
        ones = np.ones((1, 4), ml_dtypes.bfloat16)
        for given in (ones, ones.view(np.uint16)):
            result = program.run(x=given, k=4)["y"]
            assert result.dtype == ml_dtypes.bfloat16
            assert (result.astype(np.float32) == 2).all()

    def test_the_caller_s_arrays_stay(self) -> None:
        x = np.zeros(4, np.float32)
        program = pyptoc.compile(UPDATE, pipeline="")
        assert (program.run(x=x)["x"] == 1).all()
        assert (x == 0).all()

    def test_errors(self, x) -> None:
        with pytest.raises(CompileError, match="PTO504"):
            pyptoc.compile(SCALE, pipeline="zebra")
        with pytest.raises(CompileError, match="<string>:1:1"):
            pyptoc.compile("{")
        with pytest.raises(CompileError, match="PTO510"):
            pyptoc.compile(SCALE, machine="zebra")
        program = pyptoc.compile(SCALE, pipeline="")
        with pytest.raises(CompileError, match="missing: 'x'"):
            program.run()
        with pytest.raises(TypeError, match="did you mean x"):
            program.run(xx=x)
        with pytest.raises(CompileError, match="has shape"):
            program.run(x=x[0])

    def test_an_error_as_text_has_all_of_it(self) -> None:
        text = SCALE.replace("(tensor<?x4xf32> {", "(tensor<9x4xf32> {", 1)
        with pytest.raises(CompileError) as failure:
            pyptoc.compile(text, pipeline="")
        first, *more = str(failure.value).splitlines()
        assert first.startswith("<string>:")
        assert "error[PTO165]: result 0 is " in first
        assert more[0].startswith("   note: the function is declared at <string>:")

    def test_unknown_attribute(self) -> None:
        with pytest.raises(AttributeError):
            _ = pyptoc.nothing
