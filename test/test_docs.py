"""The documentation: its programs parse, its commands and links exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import checked_runs
import numpy as np
import pytest
from inprocess import ROOT, call

import pyptoc
from pyptoc.passes import DEFAULT_PIPELINE

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def programs(page: Path) -> list[str]:
    """The programs of a page: `mlir` blocks with a function."""
    blocks = re.findall(r"```mlir\n(.*?)```", page.read_text(), re.DOTALL)
    return [block for block in blocks if re.search(r"^func\.func", block, re.M)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=f"{page.stem}-{index}")
        for page in PAGES
        if page.stem != "errors"  # half of them are wrong: test_explain.py runs them
        for index, text in enumerate(programs(page))
    ],
)
def test_programs_parse(text: str) -> None:
    code, out, err = call("-", "--pipeline=", stdin=text)
    assert code == 0, err
    assert call("-", "--pipeline=", stdin=out) == (0, out, "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_exist(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_headings_exist(page: Path) -> None:
    links = re.findall(r"\]\(([\w/.]*)#([\w-]+)\)", page.read_text())
    for file, heading in links:
        text = (page.parent / file).read_text() if file else page.read_text()
        titles = re.findall(r"^#+ (.*)$", text, re.M)
        names = [re.sub(r"[^\w -]", "", title).replace(" ", "-") for title in titles]
        assert heading in map(str.lower, names), f"{file}#{heading}"


TILE = ("m = [16, 16], k = [256, 256]", "m = [256, 256], k = [64, 256]")


def indented(text: str) -> list[str]:
    return [f"    {line}".rstrip() for line in text.splitlines()]


def but_for_last_bits(row: str) -> list[str]:
    """Cells of a row of results but `worst` and `equal`: sums depend on the BLAS."""
    cells = re.split(r" {2,}", row)
    return cells[:-3] + cells[-1:]


def test_the_readme_shows_what_is_printed(tmp_path: Path, monkeypatch) -> None:
    """The table of a case, an error, a simulation: as today's tree prints them.

    The error is that of the operator which the page itself shows.
    """
    page = (ROOT / "README.md").read_text()
    shown = page.splitlines()
    name = "@grouped_matmul_swiglu_quant"
    _, out, _ = call(name, "--case=given", "--run")
    at = next(at for at, line in enumerate(shown) if line.startswith("    result "))
    assert shown[at + 3] == indented(out)[-1] == "    PASS"
    for line, printed in zip(shown[at : at + 3], indented(out)[-4:-1], strict=True):
        assert but_for_last_bits(line) == but_for_last_bits(printed)
    text = page.partition("```mlir\n")[2].partition("```")[0]
    for old, new in (TILE, ("n = [256, 256]", "n = [512, 512]")):
        assert old in text
        text = text.replace(old, new)
    monkeypatch.chdir(tmp_path)
    Path("op.mlir").write_text(text)
    _, _, err = call("op.mlir")
    at = shown.index(indented(err)[0])
    assert shown[at : at + 6] == indented(err)[:6]
    _, out, _ = call("@flash_attention", "--simulate", "--bind=B=1,Sq=4096,Skv=4096")
    for line in indented(out):
        cut = [
            one for one in shown if one.endswith("...") and line.startswith(one[:-3])
        ]
        assert line in shown or cut, line


def test_a_run_of_tests_says_what_was_watched(tmp_path: Path) -> None:
    """What its workers tell is added, and shown."""
    test = tmp_path / "test_small.py"
    test.write_text(TWO_WATCHED)
    words = ("-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider")
    words += ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT))
    done = subprocess.run(
        [sys.executable, *words, "-p", "conftest", str(test)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'test'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "2 runs of compiled programs watched by --check" in done.stdout


def test_a_process_alone_says_what_it_has_watched(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = request.config.pluginmanager
    conftest = next(
        each
        for each in plugins.get_plugins()
        if getattr(each, "__file__", None) == str(ROOT / "test" / "conftest.py")
    )
    said: list[str] = []
    reporter = SimpleNamespace(write_line=said.append)
    for number, line in (
        (0, []),
        (1, ["1 run of compiled programs watched by --check"]),
    ):
        monkeypatch.setattr(checked_runs, "watched", number)
        conftest.pytest_terminal_summary(
            reporter, SimpleNamespace(stash=pytest.Stash())
        )
        assert said == line


TWO_WATCHED = """\
import sys
from types import SimpleNamespace

import pytest

sys.modules["checked_runs"] = SimpleNamespace(watched=0)


@pytest.mark.parametrize("number", range(2))
def test_runs(number):
    sys.modules["checked_runs"].watched += 1
"""
EXP = """\
func.func @f(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = pypto.exp %x
  func.return %y : tensor<8x64xf32>
}
"""


def test_the_first_run_of_a_program_is_watched() -> None:
    for most in (1, 2):
        program, before = pyptoc.compile(EXP), checked_runs.watched
        for _ in range(most):
            program.run(x=np.ones((8, 64), np.float32))
        assert checked_runs.watched == before + 1


def test_a_golden_of_ones_own(tmp_path: Path, monkeypatch) -> None:
    """The program, the script and the commands of the page."""
    page = (ROOT / "docs/language.md").read_text().split("## With a golden of")[1]
    monkeypatch.chdir(tmp_path)
    for mark, language in (("// ", "mlir"), ("# ", "python")):
        text = re.findall(rf"```{language}\n(.*?)```", page, re.S)[0]
        name = re.findall(rf"^{mark}([\w.]+)", text)[0]
        Path(name).write_text(text)
    commands = [line[2:].split() for line in page.splitlines() if line[:2] == "$ "]
    wrote, golden, compared = commands
    assert call(*wrote[1:])[0] == 0
    exec(Path(golden[1]).read_text(), {})
    code, out, _ = call(*compared[1:])
    assert code == 0
    assert out.splitlines()[-1] == "PASS"
    wrong = Path("gate.mlir").read_text().replace("pypto.tanh", "pypto.neg")
    Path("gate.mlir").write_text(wrong)
    code, out, _ = call(*compared[1:])
    assert code == 1
    assert out.splitlines()[-1] == "FAIL"


def test_options_exist() -> None:
    text = call("--help")[1] + "".join(f"--{name} " for name in DEFAULT_PIPELINE)
    for page in PAGES:
        if page.stem == "comparison":
            continue  # other tools' options; test_comparison.py knows which are ours
        # In a table beside other tools most options are theirs.
        beside = r"## Beside other tools.*?(?=\n## )"
        ours = re.sub(beside, "", page.read_text(), flags=re.DOTALL)
        for option in set(re.findall(r"(?<![\w`-]{2})--[a-z][a-z-]+", ours)):
            known = option in text or option == "--check-prefix"  # of filecheck
            assert known, f"{page.name} names {option}"


def test_the_table_of_passes_is_up_to_date() -> None:
    text = (ROOT / "docs/passes.md").read_text()
    found = re.search(r"^\| pass \|.*?^$", text, re.M | re.S)
    assert found is not None
    code, table, _ = call("--docs-passes")
    assert code == 0
    assert found[0] == table
    assert re.findall(r"^\| `([a-z0-9-]+)`", table, re.M) == list(DEFAULT_PIPELINE)
