"""docs/comparison.md: what it says of pyptoc, a test that exists shows."""

from __future__ import annotations

import re

import pytest
from inprocess import ROOT, call

from pyptoc.passes import PASSES

TEXT = (ROOT / "docs/comparison.md").read_text()
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| feature")
]
FILES = {path.name: path for path in (ROOT / "test").rglob("*.*")}


def test_there_are_rows_with_all_cells() -> None:
    assert len(ROWS) >= 30
    assert {len(row) for row in ROWS} == {6}
    assert all(all(row) for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_test_of_a_row_exists(row: tuple[str, ...]) -> None:
    names = re.findall(r"`([\w.-]+)`", row[2])
    assert names
    for name in names:
        assert shows(name), name


def shows(name: str) -> bool:
    """Whether `name` is a test file, or a test in one."""
    if name in FILES:
        return name.endswith(".mlir") or name.startswith("test_")
    return any(
        re.search(rf"def {name}\(", path.read_text())
        for path in FILES.values()
        if path.name.startswith("test_") and path.suffix == ".py"
    )


def test_the_readme_has_some_of_them() -> None:
    text = (ROOT / "README.md").read_text().partition("## Beside other tools")[2]
    shown = [line for line in text.splitlines() if line.startswith("| ")][1:]
    short = [f"| {' | '.join((*row[:2], *row[3:]))} |" for row in ROWS]
    assert len(shown) > 10
    assert [line for line in shown if line not in short] == []


def test_a_wrong_name_is_found() -> None:
    assert not shows("test_no_such_thing")
    assert not shows("no-such.mlir")
    assert not shows("inprocess.py")


def test_our_options_exist() -> None:
    text = call("--help")[1]
    for row in ROWS:
        for option in re.findall(r"`(--[a-z][a-z-]+)", row[1]):
            assert option in text or option[2:] in PASSES, option
