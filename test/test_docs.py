"""The documentation: its programs parse, its commands and links exist."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from inprocess import ROOT, call

from pyptoc.dialects.context import make_context
from pyptoc.dialects.parsing import parse_module
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


def test_options_exist() -> None:
    text = call("--help")[1] + "".join(f"--{name} " for name in DEFAULT_PIPELINE)
    for page in PAGES:
        if page.stem == "comparison":
            continue  # other tools' options; test_comparison.py knows which are ours
        for option in set(
            re.findall(r"(?<![\w`-]{2})--[a-z][a-z-]+", page.read_text())
        ):
            assert option in text, f"{page.name} names {option}"


def test_the_table_of_passes_is_up_to_date() -> None:
    text = (ROOT / "docs/passes.md").read_text()
    found = re.search(r"^\| pass \|.*?^$", text, re.M | re.S)
    assert found is not None
    code, table, _ = call("--docs-passes")
    assert code == 0
    assert found[0] == table
    assert re.findall(r"^\| `([a-z0-9-]+)`", table, re.M) == list(DEFAULT_PIPELINE)


def test_the_example_pass_runs(tmp_path: Path) -> None:
    """The pass of "Adding a pass", as written there."""
    block = re.findall(
        r"   ```python\n(.*?)   ```", (ROOT / "docs/passes.md").read_text(), re.DOTALL
    )[0]
    source = "\n".join(line[3:] for line in block.splitlines())
    file = tmp_path / "drop_ones.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location("drop_ones", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["drop_ones"] = module
    spec.loader.exec_module(module)
    context = make_context()
    text = (
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %y = pypto.mul %x, 1.0\n  %z = pypto.mul %y, 2.0\n"
        "  func.return %z : tensor<4xf32>\n}\n"
    )
    program = parse_module(text, "op.mlir", context)
    module.DropOnesPass().run(context, program)
    names = [op.name for op in program.walk()]
    assert names.count("pypto.mul") == 1
