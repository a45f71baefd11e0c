"""Errors of the Python API: their parts, and that they speak Python."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from driver.test_api import HALF, TEXT, S, X

import pyptoc
from pyptoc.explain import explanations

BAD = """\
// The alias
// of the tile.
#t = #pypto.cube<m = [16, 16], k = [64, 64], n = [24, 24]>
func.func @f(%a: tensor<64x64xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %a {tile = #t}
  func.return %y : tensor<64x64xf32>
}
"""


def failure(text: str, **options: object) -> pyptoc.CompileError:
    with pytest.raises(pyptoc.CompileError) as found:
        pyptoc.compile(text, **options)  # type: ignore[arg-type]
    return found.value


def test_diagnostics_have_parts() -> None:
    error = failure(BAD)
    (one,) = error.diagnostics
    assert (one.code, one.severity) == ("PTO213", "error")
    assert (one.file, one.line, one.column) == ("<string>", 5, 8)
    (data,) = json.loads(error.to_json())
    assert data["code"] == "PTO213"
    assert (data["file"], data["line"], data["column"]) == ("<string>", 5, 8)
    assert data["message"] == "nL0 = 24 of a cube tile"
    assert data["rule"] == one.rule
    assert data["here"] == "24 = 1 * 16 + 8"
    assert data["help"] == "nL0 = 32"
    assert data["notes"] == [
        {
            "message": "the tile is #t, which is defined here",
            "file": "<string>",
            "line": 3,
            "column": 1,
        }
    ]


def test_what_has_no_place_has_none_in_json() -> None:
    (data,) = json.loads(failure(TEXT, machine="ascend95").to_json())
    assert data["code"] == "PTO510"
    assert data["file"] is data["line"] is data["column"] is None


def test_a_file_that_is_not_there_is_a_compile_error(tmp_path) -> None:
    error = failure(str(tmp_path / "no.mlir"))
    assert error.diagnostics[0].code == "PTO502"


@pytest.mark.parametrize("call", ["run", "check", "simulate"])
def test_inputs_are_given_by_name(call: str) -> None:
    program = pyptoc.compile(TEXT)
    with pytest.raises(TypeError, match=rf"by name.*: {call}\(\*\*inputs\)$"):
        getattr(program, call)({"x": X})


def test_a_file_of_python_is_no_program(tmp_path) -> None:
    (tmp_path / "golden.py").write_text("import numpy\n")
    (one,) = failure(str(tmp_path / "golden.py")).diagnostics
    assert one.message.endswith("golden.py is Python, not MLIR")
    assert one.help == "for the passes that it registers, import it"


def test_errors_of_a_run_are_run_errors() -> None:
    text = HALF.replace(
        "%y = pypto.mul %x, 0.5",
        "%z = pypto.empty[2, 8] : "
        "tensor<2x8xbf16>\n  %v = pypto.view %x[0, :]\n  %w = pypto.reshape %v[1, 8]\n"
        "  %y = pypto.assemble %w into %z[0, 0]",
    )
    with pytest.raises(pyptoc.RunError) as found:
        pyptoc.compile(text).run(x=np.ones((2, 8), np.uint16))
    (data,) = json.loads(found.value.to_json())
    assert (data["code"], data["at_run_time"]) == ("PTO405", True)


def examples() -> list[str]:
    return [
        code
        for code, each in explanations().items()
        if each.wrong is not None and "op.mlir" in each.wrong.files
    ]


@pytest.mark.parametrize("code", examples())
def test_no_error_of_a_call_names_an_option(code) -> None:
    """Whatever is wrong with these programs, they are called from Python."""
    example = explanations()[code].wrong
    assert example is not None
    machine = "ascend910b" if "910b" in example.command else "ascend950"
    text = ""
    try:
        program = pyptoc.compile(example.files["op.mlir"], machine=machine)
        program.simulate()
        program.check()
        program.run()
    except pyptoc.CompileError as problem:
        text = str(problem).replace("-" * 70, "")  # an example that nests signs
    assert "--" not in text


def test_what_is_missing_is_said_in_python() -> None:
    program = pyptoc.compile(TEXT)
    with pytest.raises(pyptoc.CompileError) as found:
        program.run(x=X)
    assert found.value.diagnostics[0].help == (
        "give them as arguments: run(name=array, ..)"
    )
    with pytest.raises(pyptoc.CompileError) as found:
        program.simulate()
    assert found.value.diagnostics[0].help == "simulate(M=4)"
    two = TEXT + TEXT.replace("@scale", "@other")
    assert failure(two).diagnostics[0].help == "choose with entry='@scale'"
    assert pyptoc.compile(two, entry="@scale").signature.name == "scale"
    assert "pyptoc.Pipeline.known()" in str(failure(TEXT, pipeline="zzz"))


def test_sweeps_speak_python() -> None:
    for source, axes, text in (
        (TEXT, {"bind.Q": [1]}, "error[PTO512]: 'Q' names nothing"),
        (TEXT, {"bind.M": "9..1"}, "error[PTO512]: "),
        ("no.mlir", {"bind.M": [1]}, "error[PTO502]: cannot read no.mlir"),
    ):
        with pytest.raises(pyptoc.CompileError) as found:
            pyptoc.sweep(source, axes, jobs=1)
        assert str(found.value).startswith(text)
        assert "--" not in str(found.value)


@pytest.mark.parametrize(
    ("shape", "hint"),
    [
        ((64, 3), False),
        ((3, 65), False),
        ((1, 3 * 64), False),
        ((3 * 64,), True),
        ((3, 8, 8), True),
        ((3, 8, 9), False),
    ],
)
def test_reshape_is_suggested_only_where_it_is_meant(shape, hint) -> None:
    x = np.ones(shape, np.float32)
    with pytest.raises(pyptoc.CompileError) as found:
        pyptoc.compile(TEXT).run(x=x, s=S)
    text = str(found.value)
    assert ("np.reshape(x, (3, 64))" in text) == hint, text
    assert ("reshape" in text) == hint, text


# Notebooks ---------------------------------------------------------------------------


class Reader(HTMLParser):
    """The elements that are open, and whether all are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text += data


HOSTILE = TEXT.replace(
    "pypto.mul %x, %s", 'pypto.mul %x, %s {tag = "<script>alert(1)</script>"}'
)


def test_notebooks_show_programs_timelines_and_sweeps() -> None:
    program = pyptoc.compile(HOSTILE)
    timeline = program.simulate(M=16)
    rows = pyptoc.sweep(HOSTILE, {"bind.M": [16, 32]}, jobs=1)
    shown = [Reader(each._repr_html_()) for each in (program, timeline, rows)]
    for each in shown:
        assert "script" not in each.tags
        assert "table" in each.tags
    one, time, swept = (each.text for each in shown)
    assert "@scale for ascend950" in one
    assert "tensor<?x64xf32>" in one
    assert "<script>alert(1)</script>" in one
    assert "<script>alert(1)</script>" in time
    assert f"{1e6 * timeline.seconds:.2f} us" in time
    assert swept.count(f"{1e6 * rows[0].seconds:.2f}") >= 1
    assert "bind.M" in swept


@pytest.mark.parametrize("wrong", [None, 3, b"func.func", ["func.func"]])
def test_what_is_no_source(wrong) -> None:
    name = type(wrong).__name__
    with pytest.raises(TypeError, match=f"a path, MLIR text or a module, no {name}"):
        pyptoc.compile(wrong)


def test_what_no_task_computes() -> None:
    text = TEXT.replace("pypto.mul %x, %s", "pypto.softmax %x axis -1")
    with pytest.raises(pyptoc.CompileError) as failure:
        pyptoc.compile(text, pipeline="legalize-casts")
    (found,) = failure.value.diagnostics
    assert found.message == "'pypto.softmax' is not lowered yet"
    assert found.help == 'pipeline="" and run() interpret it'


def test_an_empty_text_is_no_path() -> None:
    with pytest.raises(pyptoc.CompileError, match="there is no operation in this text"):
        pyptoc.compile("")


@pytest.mark.parametrize(
    ("wrong", "what"),
    [(3, "int"), ([None], "NoneType"), ([pyptoc.Pass], "the class PyptocPass")],
)
def test_what_is_no_pipeline(wrong, what: str) -> None:
    said = f"a pipeline is a text, or passes and texts with their names, no {what}"
    with pytest.raises(TypeError, match=said):
        pyptoc.Pipeline(wrong)
    with pytest.raises(TypeError, match="a pipeline is a text"):
        pyptoc.Pipeline("").append(wrong)


@pytest.mark.parametrize("wrong", [3, ["tile"], pyptoc.Pass])
def test_what_is_no_name_of_a_pass_or_stage(wrong) -> None:
    name = type(wrong).__name__
    pipeline = pyptoc.Pipeline()
    for call in (
        lambda: pipeline.insert("inline", before=wrong),
        lambda: pipeline.insert("inline", after=wrong),
        lambda: pipeline.remove(wrong),
    ):
        with pytest.raises(TypeError, match=f"is given by its name, no {name}"):
            call()
    assert pipeline == pyptoc.Pipeline()
    with pytest.raises(TypeError, match=f"ir takes the name of a stage, no {name}"):
        pyptoc.compile(TEXT, pipeline="").ir(wrong)


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("sweep takes a path, MLIR text or a module, no int", {"source": 3}),
        ("sweep takes a dict of keys and their values, no str", {"axes": "bind.M=4"}),
        (
            "the values of 'bind.M' are a list or a text, no int",
            {"axes": {"bind.M": 4}},
        ),
        ("bind is a dict of names and their values, no list", {"bind": ["M=4"]}),
        ("jobs is a number of processes, no str", {"jobs": "2"}),
        ("case is a name, no int", {"case": 3}),
        ("case is a name, no list", {"case": ["decode"]}),
        ("machine is a name or a path, no int", {"machine": 950}),
        ("a key of a sweep is a text, no int", {"axes": {3: [4]}}),
    ],
)
def test_what_a_sweep_does_not_take(said: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"^{said}$"):
        pyptoc.sweep(**({"source": TEXT, "axes": {"bind.M": [4]}} | arguments))


@pytest.mark.parametrize("wrong", [950, None, ["ascend950"]])
def test_what_is_no_machine(wrong) -> None:
    said = f"a machine is a name, a path or a Machine, no {type(wrong).__name__}"
    with pytest.raises(TypeError, match=said):
        pyptoc.compile(TEXT, machine=wrong)


def test_a_pipeline_runs_on_a_module() -> None:
    with pytest.raises(TypeError, match="takes a module, no str"):
        pyptoc.Pipeline("").run("func.func")  # pyright: ignore[reportArgumentType]


def test_numbers_and_short_words_in_the_help() -> None:
    from pyptoc.python_words import in_python
    from pyptoc.usage import UsageError

    with pytest.raises(pyptoc.CompileError) as failure, in_python("run"):
        raise UsageError("--executor=x is none", "--bind=M=16,lr=1e-3,g=[7,9]")
    (found,) = failure.value.diagnostics
    assert found.message == "executor='x' is none"
    assert found.help == "run(M=16, lr=1e-3, g=[7, 9])"
