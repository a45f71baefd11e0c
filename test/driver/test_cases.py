"""`@NAME`, `--case`, `--write-inputs` and `--write-golden`, `--list-operators`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inprocess import call

import pyptoc
from pyptoc.operators import load, names, summary, text_of

FILE = """module attributes {pypto.cases = {
    decode = {t = 2, s = 0.5}, list = {t = 3}}} {
  func.func @scale(
      %x: tensor<?x8xf32> {pypto.dims = ["t"]},
      %g: tensor<2xi32>,
      %s: f32 {pypto.default = 2.0 : f32}) -> tensor<?x8xf32>
      attributes {pypto.cases = {wide = {t = 5, g = [1, 4]}}} {
    %y = pypto.mul %x, %s
    func.return %y : tensor<?x8xf32>
  }
}
"""


def test_lists_every_operator_with_its_first_sentence() -> None:
    code, out, _ = call("--list-operators")
    assert code == 0
    lines = out.splitlines()
    assert [line.split()[0] for line in lines] == [f"@{name}" for name in names()]
    for name, line in zip(names(), lines):
        assert len(summary(name)) > 10
        assert summary(name)[:60] in line


def test_a_word_selects_operators() -> None:
    _, out, _ = call("--list-operators", "gating")
    assert [line.split()[0] for line in out.splitlines()] == ["@moe_gating"]
    _, out, _ = call("--list-operators=nothing like it")
    assert out == "no operator has 'nothing like it' in it\n"


def test_listing_needs_neither_xdsl_nor_numpy() -> None:
    code = (
        "import sys, pyptoc.cli\n"
        "assert pyptoc.cli.main(['--list-operators']) == 0\n"
        "assert not {'xdsl', 'numpy', 'ml_dtypes'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_an_operator_compiles_like_its_file() -> None:
    text = text_of("moe_gating")
    assert call("@moe_gating")[:2] == call("-", stdin=text)[:2]
    assert pyptoc.compile("@moe_gating").text == pyptoc.compile(text).text
    assert call("@moe_gating", "--print-source") == (0, text, "")


def test_a_case_runs_against_its_golden() -> None:
    code, out, err = call("@moe_gating", "--case=tiny", "--run", "--check")
    assert (code, err) == (0, "")
    assert "logits f32[5,256]" in out
    assert "hazards checked: 0 races" in out
    assert out.splitlines()[-1] == "PASS"


def test_a_tolerance_for_the_golden_of_a_case() -> None:
    run = ("@moe_gating", "--case=tiny", "--run")
    code, out, _ = call(*run, "--tol=weights=0.0:1e-12")
    assert code == 1
    assert "|d| <= 1e-12*|ref|" in out
    assert out.splitlines()[-1] == "FAIL"


def test_a_wrong_result_of_a_case_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = load("moe_gating")
    right = operator.golden

    def golden(**inputs: np.ndarray) -> dict[str, np.ndarray]:
        return {name: value + 1 for name, value in right(**inputs).items()}

    monkeypatch.setattr(operator, "golden", golden)
    code, out, _ = call("@moe_gating", "--case=tiny", "--run")
    assert code == 1
    assert out.splitlines()[-1] == "FAIL"


def test_a_case_has_its_static_sizes() -> None:
    _, out, _ = call("@grouped_matmul_swiglu_quant", "--case=k_96", "--print-source")
    assert "%a: tensor<?x96xf8E4M3FN>" in out
    code, out, err = call("@grouped_matmul_swiglu_quant", "--case=k_96", "--simulate")
    assert (code, err) == (0, "")
    assert "assumed" not in out
    code, _, err = call("@grouped_matmul_swiglu_quant", "--case=k_96", "--check")
    assert (code, err) == (0, "")


def test_the_arrays_of_a_case_as_files(tmp_path: Path) -> None:
    given, golden = tmp_path / "in.npz", tmp_path / "golden.npz"
    writing = (f"--write-inputs={given}", f"--write-golden={golden}")
    assert call("@moe_gating", "--case=ties", *writing) == (0, "", "")
    operator = load("moe_gating")
    case = next(case for case in operator.CASES if str(case) == "ties")
    with np.load(given) as arrays, np.load(golden) as results:
        wanted = operator.inputs(case)
        assert sorted(arrays) == sorted(wanted)
        for name, array in wanted.items():
            assert arrays[name].tobytes() == array.tobytes()
        for name, array in operator.golden(**wanted).items():
            assert results[name].tobytes() == array.tobytes()
    files = (f"--inputs={given}", f"--expect={golden}")
    code, out, _ = call("@moe_gating", "--run", *files)
    assert code == 0
    assert out.splitlines()[-1] == "PASS"


def test_made_up_inputs_as_a_file(tmp_path: Path) -> None:
    """The file holds what a run with that seed would have."""
    random = ("--random-inputs=3", "--bind=n=100")
    assert call("@adamw", f"--write-inputs={tmp_path}/in.npz", *random) == (0, "", "")
    first, second = f"{tmp_path}/a.npz", f"{tmp_path}/b.npz"
    assert call("@adamw", "--run", *random, f"--outputs={first}")[0] == 0
    given = f"--inputs={tmp_path}/in.npz"
    assert call("@adamw", "--run", given, f"--outputs={second}")[0] == 0
    assert Path(first).read_bytes() == Path(second).read_bytes()


def test_cases_that_a_file_names() -> None:
    code, out, err = call("-", "--describe", stdin=FILE)
    assert (code, err) == (0, "")
    assert "cases: decode, list, wide\n" in out
    run = ("--run", "--random-inputs=0")
    _, out, err = call("-", *run, "--case=decode", stdin=FILE)
    assert "x f32[2,8]" in out, err
    assert "s f32 0.5" in out
    _, out, _ = call("-", *run, "--case=wide", stdin=FILE)
    assert "x f32[5,8]" in out
    assert "g i32 [1 4]" in out
    _, out, _ = call("-", *run, "--case=wide", "--bind=t=7", stdin=FILE)
    assert "x f32[7,8]" in out
    _, simulated, _ = call("-", "--simulate=json", "--case=wide", stdin=FILE)
    _, bound, _ = call("-", "--simulate=json", "--bind=t=5", stdin=FILE)
    assert simulated == bound


WRONG = (
    (["@moe_gatin"], "there is no operator @moe_gatin", "did you mean @moe_gating?"),
    (["@"], "there is no operator @", "pyptoc --list-operators names them"),
    (["@../adamw"], "there is no operator @../adamw", "did you mean @adamw?"),
    (["@adamw", "--case=twin"], "@adamw has no case 'twin'", "did you mean tiny?"),
    (["@adamw", "--case=x y"], "@adamw has no case 'x y'", "cases: "),
    (
        ["@adamw", "--case=tiny", "--inputs=f.npz", "--run"],
        "--case and --inputs exclude each other",
        "",
    ),
    (
        ["@adamw", "--case=tiny", "--random-inputs=1", "--run"],
        "a case of @adamw has inputs, no random ones",
        "",
    ),
    (["@adamw", "--write-golden=f.npz"], "--write-golden needs a case", "--outputs"),
    (["@adamw", "--write-inputs=f.npz"], "missing: 'p', 'm', 'v'", "--random-inputs"),
    (
        ["@adamw", "--case=tiny", "--write-inputs=f.npz", "--run"],
        "--write-inputs and --write-golden only write; they do not run",
        "",
    ),
    (["gate.mlir", "--case=tiny"], "--case of a file needs --run", "add --run"),
    (["@adamw", "--case=twin", "--sweep=vec=8"], "no case 'twin'", "mean tiny?"),
)


@pytest.mark.parametrize(
    ("argv", "message", "help"), WRONG, ids=[" ".join(argv) for argv, _, _ in WRONG]
)
def test_what_is_refused(argv: list[str], message: str, help: str) -> None:
    code, out, err = call(*argv)
    assert (code, out) == (1, "")
    assert message in err
    assert help in err
    assert not Path("f.npz").exists()


def times(*argv: str, stdin: str = "") -> tuple[float, list[float]]:
    """Seconds of `--simulate`, and of two points of a sweep, for the same arguments."""
    code, out, _ = call(*argv, "--simulate=json", stdin=stdin)
    assert code == 0
    machines = "--sweep=machine=ascend950,ascend910b"
    code, _, err = call(*argv, machines, "--sweep-json=s.json", "--jobs=1", stdin=stdin)
    assert (code, err) == (0, "")
    rows = json.loads(Path("s.json").read_text())
    return json.loads(out)["seconds"], [row["seconds"] for row in rows]


def test_a_sweep_of_a_case_of_a_file(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    small, swept = times("-", "--case=decode", stdin=FILE)
    assert swept[0] == small != swept[1]
    large, swept = times("-", "--case=decode", "--bind=t=4096", stdin=FILE)
    assert swept[0] == large > small
    argv = ("-", "--case=decode", "--sweep=bind.t=4096,8", "--sweep-json=s.json")
    assert call(*argv, "--jobs=1", stdin=FILE)[0] == 0
    rows = json.loads(Path("s.json").read_text())
    assert rows[0]["seconds"] == large


def test_a_sweep_of_a_case_of_the_corpus(tmp_path, monkeypatch) -> None:
    """It has the text and the inputs of the case, whose lists decide what is run."""
    monkeypatch.chdir(tmp_path)
    name = "@grouped_matmul_swiglu_quant"
    all_seconds = set()
    for case in ("first_empty", "skewed"):
        one, swept = times(name, f"--case={case}")
        assert swept[0] == one
        all_seconds.add(one)
    assert len(all_seconds) == 2
    code, _, err = call(name, "--case=skewed", "--sweep=bind.M=1,2")
    assert code == 1
    assert "bind.M is swept, and --case=skewed of" in err
    assert "help: leave out --case; other sizes by --bind" in err


def test_a_sweep_of_a_case_from_python() -> None:
    def seconds(source: str, **more: Any) -> float | None:
        axes = {"machine": ["ascend950"]}
        return pyptoc.sweep(source, axes, jobs=1, **more)[0].seconds

    small, given = (seconds(FILE, bind={"t": t}) for t in (2, 4096))
    assert small != given
    assert seconds(FILE, case="decode") == small
    assert seconds(FILE, case="decode", bind={"t": 4096}) == given
    name = "@grouped_matmul_swiglu_quant"
    one, two = (seconds(name, case=case) for case in ("first_empty", "skewed"))
    assert None not in (one, two)
    assert one != two


def test_cases_that_a_sweep_from_python_refuses() -> None:
    axes = {"bind.M": [1, 2]}
    with pytest.raises(pyptoc.CompileError) as failure:
        pyptoc.sweep("@grouped_matmul_swiglu_quant", axes, case="skewed")
    (found,) = failure.value.diagnostics
    assert found.message.startswith("bind.M is swept, and case='skewed' of")
    assert found.help == "leave out case=; other sizes by bind="
    with pytest.raises(pyptoc.CompileError, match="has no case 'decod'"):
        pyptoc.sweep(FILE, {"bind.t": [1]}, case="decod")


def test_a_case_that_the_file_does_not_name() -> None:
    code, _, err = call("-", "--run", "--random-inputs=0", "--case=decod", stdin=FILE)
    assert code == 1
    assert "- has no case 'decod'" in err
    assert "did you mean decode?" in err
    text = "func.func @f(%x: tensor<4xf32>) {\n  func.return\n}\n"
    code, _, err = call("-", "--simulate", "--case=decode", stdin=text)
    assert code == 1
    assert "help: a file names them: module attributes {pypto.cases = {" in err


ODD = """module attributes {pypto.cases = {
    yes = {t = 1, b = true, g = [false, true]}, text = {t = "4"}, inner = {t = {u = 1}},
    below = {t = -3}, float = {t = 2.0}, bool = {t = true},
    unit = {t}, number = 3, long = {t = 1, b = true, g = [true]}}} {
  func.func @f(%x: tensor<?x8xf32> {pypto.dims = ["t"]}, %g: tensor<2xi1>, %b: i1)
      -> (tensor<?x8xf32>, tensor<2xi1>) {
    %m = pypto.dim %x, 0
    %c = pypto.full %b[%m, 8] : i1 -> tensor<?x8xi1>
    %y = pypto.where %c, 3.0, %x
    %h = pypto.clone %g
    func.return %y, %h : tensor<?x8xf32>, tensor<2xi1>
  }
}
"""


def test_booleans_of_a_case_are_booleans(tmp_path: Path) -> None:
    out = f"--outputs={tmp_path}/out.npz"
    run = ("--run", "--random-inputs=0", "--case=yes", out)
    assert call("-", *run, stdin=ODD)[0] == 0
    with np.load(tmp_path / "out.npz") as results:
        assert results["result0"].tolist() == [[3.0] * 8]
        assert results["result1"].tolist() == [False, True]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("text", "case 'text': t = \"4\": no number, no list of them"),
        ("inner", "case 'inner': t = {u = 1 : i64}: no number, no list of them"),
        ("unit", "case 'unit': t = unit: no number, no list of them"),
        ("below", "case 'below': t = -3: a size is 0 to 2^63 - 1"),
        ("float", "case 'float': t = 2.0: a size is an integer"),
        ("bool", "case 'bool': t = true: a size is an integer"),
        ("number", "case 'number' is 3 : i64: no names and values"),
        ("long", "case 'long': g = [true]: has shape (1,)"),
    ],
)
def test_cases_of_a_file_that_bind_no_numbers(case: str, message: str) -> None:
    run = ("--run", "--random-inputs=0", f"--case={case}")
    code, out, err = call("-", *run, stdin=ODD)
    assert (code, out) == (1, "")
    assert err.startswith(f"<stdin>:1:1: error[PTO501]: {message}")


def test_what_is_bound_instead_of_a_case_is_told_as_bound() -> None:
    run = ("--run", "--random-inputs=0", "--case=long", "--bind=g=[true,true,true]")
    code, _, err = call("-", *run, stdin=ODD)
    assert code == 1
    assert err.startswith("error[PTO501]: --bind g=[True,True,True]: has shape (3,)")


@pytest.mark.parametrize(
    ("old", "new", "place", "message", "help"),
    [
        (
            "{t = 2",
            "{T = 2",
            "1:1",
            "case 'decode': 'T' names nothing",
            "did you mean t?",
        ),
        ("{t = 3", '{"t=3,b" = 1', "1:1", "case 'list': 't=3,b' names", "names: x, t"),
        ("{t = 5", "{tt = 5", "3:3", "case 'wide': 'tt' names nothing", "mean t?"),
        (
            "{t = 2, scale",
            "{t = 2, scal",
            "1:1",
            "case 'decode': 'scal' names",
            "mean scale?",
        ),
        (' {pypto.dims = ["t"]}', "", "1:1", "'t' names nothing", "names: x, x.0"),
    ],
)
def test_names_of_cases_are_checked_when_read(old, new, place, message, help) -> None:
    """Whatever is asked of the file, and whichever case is run."""
    text = FILE.replace("%s", "%scale").replace("s = 0.5", "scale = 0.5")
    assert old in text
    code, out, err = call("-", "--pipeline=", stdin=text.replace(old, new, 1))
    assert (code, out) == (1, "")
    head = err.splitlines()[0]
    assert head.startswith(f"<stdin>:{place}: error[PTO501]: ")
    assert message in head
    assert help in err


def test_sizes_without_names_in_a_case() -> None:
    text = FILE.replace(' {pypto.dims = ["t"]}', "").replace("{t =", '{"x.0" =')
    _, out, err = call("-", "--run", "--random-inputs=0", "--case=wide", stdin=text)
    assert "x f32[5,8]" in out, err


def test_two_files_of_a_case_have_two_names(tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    writing = (f"--write-inputs={file}", f"--write-golden={tmp_path}/./a.npz")
    code, _, err = call("@moe_gating", "--case=tiny", *writing)
    assert code == 1
    assert "--write-inputs and --write-golden name one file" in err
    assert not file.exists()
