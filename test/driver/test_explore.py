"""--explore: what the page holds, held against what other options print."""

from __future__ import annotations

import html.parser
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from inprocess import call
from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import file_location
from pyptoc.explorer import page as page_module
from pyptoc.explorer import recorder, timing
from pyptoc.explorer.located import places_of as places_in
from pyptoc.passes.base import PyptocPass

OPERATOR = "@grouped_matmul_swiglu_quant"
SIZES = "--bind=M=16,group_list=[7,9]"
EVIL = "</script ><script>window.evil = 1</script><!--<b>&amp;'\""
BAD_TILE = """\
#cube = #pypto.cube<m = [256, 256], k = [128, 256], n = [512, 512]>
func.func @f(%a: tensor<512x512xf16>, %b: tensor<512x512xf16>) -> tensor<512x512xf32> {
  %y = pypto.matmul %a, %b to f32 {tile = #cube}
  func.return %y : tensor<512x512xf32>
}
"""
REPEATED = """\
func.func @f(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %y = scf.for %t = %c0 to %c4 step %c1 iter_args(%z = %x) -> (tensor<64x512xf32>) {
    %s = pypto.softmax %z axis -1 {tag = "soft"}
    scf.yield %s : tensor<64x512xf32>
  }
  func.return %y : tensor<64x512xf32>
}
"""


class Scripts(html.parser.HTMLParser):
    """The scripts of a page, and the text of the data."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.data = ""
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self.count += 1
            self.inside = dict(attrs).get("id") == "data"

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.data += data
            self.inside = False


def explored(path: Path) -> dict[str, Any]:
    """The data of a page, whose scripts are the page's own and no text of the input."""
    scripts = Scripts()
    scripts.feed(path.read_text())
    assert scripts.count == len(page_module.SCRIPTS) + 1
    assert not set("<>&") & set(scripts.data)
    return json.loads(scripts.data)


def text_of(data: dict[str, Any], step: dict[str, Any]) -> str:
    dump = data["dumps"][step["dump"]]
    return "".join(data["lines"][line] + "\n" for line in dump["lines"])


def places_of(data: dict[str, Any], step: dict[str, Any], row: int) -> set[Any]:
    """The places of a line of a step's text."""
    numbers = data["sets"][data["dumps"][step["dump"]]["sets"][row]]
    return {tuple(data["places"][number]) for number in numbers}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The page of an operator with sizes."""
    path = tmp_path_factory.mktemp("page") / "out.html"
    code, out, err = call(OPERATOR, "--explore", str(path), SIZES)
    assert (code, err) == (0, "")
    assert re.fullmatch(
        rf"explore   {re.escape(str(path))}: 19 passes, \d+ changed the IR\n", out
    )
    return explored(path)


def explore_text(text: str, tmp_path: Path, *words: str) -> dict[str, Any]:
    """The page of a program that compiles."""
    path = tmp_path / "out.html"
    code, _, err = call("-", "--explore", str(path), *words, stdin=text)
    assert (code, err) == (0, "")
    return explored(path)


class TestPasses:
    def test_texts_are_those_of_the_tree(self, data: Any, tmp_path: Path) -> None:
        assert call(OPERATOR, f"--print-ir-tree-dir={tmp_path}")[0] == 0
        files = sorted(tmp_path.iterdir())
        steps = data["steps"][1:]
        assert [file.stem[3:] for file in files] == [
            "source" if step["kind"] == "parse" else step["name"] for step in steps
        ]
        for file, step in zip(files, steps, strict=True):
            assert text_of(data, step) == file.read_text(), file.name

    def test_the_source_is_as_it_was_written(self, data: Any) -> None:
        source = call(OPERATOR, "--print-source")[1]
        assert text_of(data, data["steps"][0]) == source

    def test_a_text_is_kept_once(self, data: Any) -> None:
        assert len(set(data["lines"])) == len(data["lines"])
        texts = [text_of(data, {"dump": at}) for at in range(len(data["dumps"]))]
        assert 3 < len(set(texts)) < len(data["steps"])
        before = text_of(data, data["steps"][1])
        for step in data["steps"][2:]:
            assert step["changed"] == (text_of(data, step) != before), step["name"]
            before = text_of(data, step)

    def test_places_are_those_of_debuginfo(self, data: Any) -> None:
        lines = call(OPERATOR, "--print-debuginfo")[1].splitlines()
        last = data["steps"][-1]
        pattern = re.compile(r' loc\("[^"]*":(\d+):(\d+)\)$')
        checked = 0
        for row, line in enumerate(lines):
            found = pattern.search(line)
            if found and row < len(lines) - 1 and "{" not in line:
                place = (int(found[1]), int(found[2]))
                assert places_of(data, last, row) == {place}, line
                checked += 1
        assert checked > 150

    def test_a_line_of_the_source_has_its_operations(self, data: Any) -> None:
        source = text_of(data, data["steps"][0]).splitlines()
        for row, line in enumerate(source):
            lines = {line for line, _ in places_of(data, data["steps"][0], row)}
            if " = pypto." in line:
                assert lines == {row + 1}, line
            if line in ("", "}") or line.startswith("//"):
                assert lines == set(), line

    def test_counts_are_those_of_the_generic_form(self, data: Any) -> None:
        for pipeline, step in (
            ("", data["steps"][1]),
            (None, data["steps"][-1]),
        ):
            words = [] if pipeline is None else [f"--pipeline={pipeline}"]
            text = call(OPERATOR, "--print-op-generic", *words)[1]
            found = re.findall(r'^\s*(?:%[^"=]*= )?"([a-z]+\.[\w.]+)"', text, re.M)
            assert sum(step["ops"].values()) == len(found)
            assert step["ops"] == {op: found.count(op) for op in step["ops"]}

    def test_seconds_are_those_of_a_pass(
        self,
        register: Callable[..., None],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        from dataclasses import dataclass

        now = 0.0
        monkeypatch.setattr("time.perf_counter", lambda: now)

        @dataclass(frozen=True)
        class Slow(PyptocPass):
            name = "slow"
            summary: ClassVar[str] = "takes long"
            ms: int = 0

            def run(self, ctx: PyptocContext, module: Any) -> None:
                nonlocal now
                now += self.ms / 1000

        register(Slow)
        words = "--pipeline=slow{ms=500},slow{ms=250},inline"
        steps = explore_text(REPEATED, tmp_path, words)["steps"][2:]
        assert [step["seconds"] for step in steps] == [0.5, 0.25, 0.0]
        assert steps[1]["options"] == "{ms=250}"
        assert steps[1]["summary"] == "takes long"

    def test_remarks_stand_with_their_pass(self, data: Any) -> None:
        printed = call(OPERATOR, "--remarks", "-o", "/dev/null")[2].splitlines()
        steps = data["steps"]
        remarks = [one for step in steps for one in step["remarks"]]
        said = [f"{one['place']}: remark[{one['code']}]: " for one in remarks]
        assert len(said) > 5
        for line, start in zip(
            [line for line in printed if "remark[" in line], said, strict=True
        ):
            assert line.startswith(start)
        by_pass = {step["name"]: len(step["remarks"]) for step in steps}
        assert by_pass["infer-tiles"] > 0 == by_pass["inline"]

    def test_printing_follows_the_options(self, tmp_path: Path) -> None:
        data = explore_text(REPEATED, tmp_path, "--print-short", "--pipeline=inline")
        assert (
            text_of(data, data["steps"][-1])
            == (call("-", "--print-short", "--pipeline=inline", stdin=REPEATED)[1])
        )

    def test_places_through_calls_and_fusions(self) -> None:
        def at(line: int, file: str = "a.mlir") -> FileLineColLoc:
            return file_location(file, line, 5)

        parts = ArrayAttr([at(1), UnknownLoc(), at(2, "b.mlir"), at(3)])
        fused = FusedLoc(parts, NoneAttr())
        call = CallSiteLoc(NameLoc(StringAttr("n"), fused), at(4))
        assert list(places_in(call, "a.mlir")) == [(1, 5), (3, 5), (4, 5)]
        assert list(places_in(call, "b.mlir")) == [(2, 5)]
        assert list(places_in(None, "a.mlir")) == []


class TestProgram:
    def test_buffers_are_those_of_the_text(self, data: Any) -> None:
        lines = text_of(data, data["steps"][-1]).splitlines()
        seen = 0
        for kernel in data["memory"]:
            assert f"npu.kernel @{kernel['name']} " in lines[kernel["row"]]
            for space in kernel["spaces"]:
                for buffer in space["buffers"]:
                    line = lines[buffer["row"]]
                    assert f"addr = {buffer['address']}" in line
                    assert line.split()[0] == buffer["name"]
                    slots = re.search(r"slots = (\d+)", line)
                    assert buffer["slots"] == int(slots[1] if slots else 1)
                    assert 0 <= buffer["start"] <= buffer["end"] < kernel["length"]
                    assert buffer["address"] + buffer["bytes"] <= space["bytes"]
                    seen += 1
        text = "\n".join(lines)
        assert seen == len(re.findall(r"= tile\.(?:alloc|channel)\b", text)) > 20

    def test_buffers_that_live_at_once_share_no_byte(self, data: Any) -> None:
        for kernel in data["memory"]:
            for space in kernel["spaces"]:
                for one in space["buffers"]:
                    for other in space["buffers"]:
                        apart = (
                            one is other
                            or one["end"] <= other["start"]
                            or other["end"] <= one["start"]
                            or one["address"] + one["bytes"] <= other["address"]
                            or other["address"] + other["bytes"] <= one["address"]
                        )
                        assert apart, (one, other)

    def test_launches_and_waits(self, data: Any) -> None:
        nodes, edges = data["launches"]["nodes"], data["launches"]["edges"]
        assert [(node["kind"], node["name"]) for node in nodes] == [
            ("read", "read %group_list"),
            ("launch", "gmm_0"),
            ("launch", "quant_1"),
        ]
        assert [node["grid"] for node in nodes] == [
            "",
            "(%rows ceildiv 16) x 14",
            "%0 ceildiv 16",
        ]
        assert [node["tag"] for node in nodes] == ["", "gmm", "quant"]
        loop = [[0, "for %e"]]
        assert [node["loops"] for node in nodes] == [loop, loop, []]
        assert edges == [{"from": 1, "to": 2, "text": "overlaps", "carried": False}]

    def test_a_wait_for_an_earlier_trip(self, tmp_path: Path) -> None:
        launches = explore_text(REPEATED, tmp_path)["launches"]
        names = [node["name"] for node in launches["nodes"]]
        edges = {
            (names[edge["from"]], names[edge["to"]], edge["carried"])
            for edge in launches["edges"]
        }
        (soft,) = [name for name in names if name.startswith("soft")]
        assert (soft, soft, True) in edges
        assert (soft, soft, False) not in edges

    def test_tasks_in_memory_form_have_waits(self, tmp_path: Path) -> None:
        data = explore_text(REPEATED, tmp_path, "--compile-to=tasks")
        assert {node["kind"] for node in data["launches"]["nodes"]} == {"tasks"}
        assert any(edge["carried"] for edge in data["launches"]["edges"])
        assert data["memory"] == []
        assert "reason" in data["timeline"]

    def test_timeline_is_that_of_simulate(self, data: Any) -> None:
        words = ("--simulate=json", SIZES)
        wanted = json.loads(call(OPERATOR, *words)[1])
        time = data["timeline"]
        assert time["cycles"] == wanted["cycles"]
        assert [launch["kernel"] for launch in time["launches"]] == [
            launch["kernel"] for launch in wanted["launches"]
        ]
        tasks = sum(launch["tasks"] for launch in wanted["launches"])
        assert (len(time["tasks"]), time["left_out"]) == (tasks, 0)
        for launch, start, cycles, *cores in time["tasks"]:
            within = time["launches"][launch]
            assert within["start"] <= start <= start + cycles <= within["end"]
            assert cores
            assert max(cores) < len(time["cores"])

    def test_without_sizes_the_page_says_what_to_give(self, tmp_path: Path) -> None:
        path = tmp_path / "out.html"
        assert call(OPERATOR, "--explore", str(path))[0] == 0
        assert "--bind=M=" in explored(path)["timeline"]["reason"]

    def test_a_case_gives_the_sizes(self, tmp_path: Path) -> None:
        path = tmp_path / "out.html"
        code, _, err = call("@softmax", "--case=tiny", "--explore", str(path))
        assert (code, err) == (0, "")
        assert explored(path)["timeline"]["cycles"] > 0


class TestErrors:
    def explore(self, text: str, path: Path) -> tuple[str, dict[str, Any]]:
        code, out, err = call("-", "--explore", str(path), stdin=text)
        assert code == 1
        assert f"explore   {path}: " in out
        return err, explored(path)

    def test_a_pass_that_refuses(self, tmp_path: Path) -> None:
        err, data = self.explore(BAD_TILE, tmp_path / "out.html")
        assert err.startswith("<stdin>:3:8: error[PTO210]: cube tile does not fit")
        *before, last = data["steps"]
        assert (last["kind"], last["name"]) == ("failed", "infer-tiles")
        assert last["dump"] == before[-1]["dump"]
        assert before[-1]["name"] == "partition"
        (error,) = data["errors"]
        assert (error["line"], error["column"], error["code"]) == (3, 8, "PTO210")
        assert any(line.startswith("help: this fits") for line in error["details"])
        assert "pypto.matmul" in text_of(data, last)

    def test_a_text_that_does_not_parse(self, tmp_path: Path) -> None:
        text = REPEATED.replace("pypto.softmax", "pypto.sofmax")
        err, data = self.explore(text, tmp_path / "out.html")
        assert "error[PTO105]" in err
        assert [(s["kind"], s["name"]) for s in data["steps"]] == [
            ("source", "source"),
            ("failed", "parse"),
        ]
        assert data["errors"][0]["line"] == 6
        assert text_of(data, data["steps"][0]) == text

    def test_an_internal_error(
        self, register: Callable[..., None], tmp_path: Path
    ) -> None:
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class Broken(PyptocPass):
            name = "broken"
            summary: ClassVar[str] = "has a bug"

            def run(self, ctx: PyptocContext, module: Any) -> None:
                raise KeyError(EVIL)

        register(Broken)
        path = tmp_path / "out.html"
        words = ("--explore", str(path), "--pipeline=inline,broken,desugar")
        code, _, err = call("-", *words, stdin=REPEATED)
        assert code == 2
        assert "error[PTO515]" in err
        data = explored(path)
        kinds = ["source", "parse", "pass", "failed"]
        assert [step["kind"] for step in data["steps"]] == kinds
        assert data["errors"][0]["message"].startswith("internal error: KeyError")

    def test_sizes_that_the_operator_does_not_have(self, tmp_path: Path) -> None:
        words = ("--explore", str(tmp_path / "out.html"), "--bind=Q=3")
        code, _, err = call(OPERATOR, *words)
        assert code == 1
        assert "error[PTO501]" in err

    @pytest.mark.parametrize(
        "word",
        [
            *("--run", "--simulate", "--split-input-file", "--timing"),
            *("--print-source", "--sweep=bind.M=16"),
            *("--show-tiles", "--pass-statistics"),
        ],
    )
    def test_other_work_is_refused(self, word: str, tmp_path: Path) -> None:
        path = tmp_path / "out.html"
        code, _, err = call(OPERATOR, "--explore", str(path), word)
        assert code == 1
        name = word.partition("=")[0]
        assert f"error[PTO500]: --explore and {name} exclude each other" in err
        assert not path.exists()

    def test_a_page_takes_its_name_when_it_is_complete(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "out.html"
        path.write_text("before")
        monkeypatch.setattr(
            "pyptoc.explorer.command.page", lambda _: 1 // 0, raising=True
        )
        assert call(OPERATOR, "--explore", str(path))[0] == 2
        assert [file.read_text() for file in tmp_path.iterdir()] == ["before"]
        missing = tmp_path / "no" / "out.html"
        monkeypatch.undo()
        code, _, err = call(OPERATOR, "--explore", str(missing))
        assert code == 1
        assert err.startswith(f"error[PTO502]: cannot write {missing}")


class TestBounds:
    def test_rows(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recorder, "MOST_ROWS", 7)
        data = explore_text(REPEATED, tmp_path)
        parsed = data["dumps"][data["steps"][1]["dump"]]
        assert (len(parsed["lines"]), parsed["left_out"]) == (7, 5)

    def test_characters(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recorder, "MOST_CHARACTERS", 2000)
        data = explore_text(REPEATED, tmp_path)
        kept = sum(map(len, data["lines"]))
        assert 500 < kept < 3000
        assert data["dumps"][data["steps"][-1]["dump"]]["left_out"] > 10

    def test_a_long_line(self, tmp_path: Path) -> None:
        values = ", ".join(["1.5", "2.5"] * 2000)
        text = (
            "func.func @f() -> tensor<4000xf32> {\n"
            f"  %y = arith.constant dense<[{values}]> : tensor<4000xf32>\n"
            "  func.return %y : tensor<4000xf32>\n}\n"
        )
        data = explore_text(text, tmp_path, "--pipeline=")
        longest = max(map(len, data["lines"]))
        assert recorder.LONGEST_LINE < longest < recorder.LONGEST_LINE + 40
        assert any(line.endswith("characters more") for line in data["lines"])

    def test_tasks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(timing, "MOST_TASKS", 3)
        time = explore_text(REPEATED, tmp_path)["timeline"]
        tasks = sum(launch["tasks"] for launch in time["launches"])
        assert (len(time["tasks"]), time["left_out"]) == (3, tasks - 3)


def test_texts_of_the_input_are_only_data(tmp_path: Path) -> None:
    text = REPEATED.replace('"soft"', json.dumps(EVIL))
    path = tmp_path / "a<b>&'\".mlir"
    path.write_text(text)
    page = tmp_path / "out.html"
    assert call(str(path), "--explore", str(page))[0] == 0
    data = explored(page)
    assert "window.evil" in text_of(data, data["steps"][-1])
    written = page.read_text()
    assert "<script>window.evil" not in written
    assert "<b>" not in written
    assert data["name"] == str(path)


def test_the_program_goes_to_a_file(tmp_path: Path) -> None:
    program = tmp_path / "program.mlir"
    words = ("--explore", str(tmp_path / "out.html"), "-o", str(program))
    assert call("-", *words, stdin=REPEATED)[0] == 0
    assert program.read_text() == call("-", stdin=REPEATED)[1]
