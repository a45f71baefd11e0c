"""The documentation: its programs parse, its commands and links exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from inprocess import ROOT, call

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


def test_options_exist() -> None:
    text = call("--help")[1]
    for page in PAGES:
        for option in set(
            re.findall(r"(?<![\w`-]{2})--[a-z][a-z-]+", page.read_text())
        ):
            assert option in text, f"{page.name} names {option}"
