"""docs/architecture.md is true: the passes in their order, the files, the imports."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from inprocess import ROOT

from pyptoc.passes import DEFAULT_PIPELINE, LEVELS

PAGE = (ROOT / "docs" / "architecture.md").read_text()
DRAWN = PAGE.split("```")[1]
ALLOWED = {
    "dialects": {"dialects"},
    "runtime": {"dialects", "runtime"},
    "passes": {"dialects", "runtime", "passes"},
}


def test_the_drawing_has_every_pass_in_order() -> None:
    words = [
        word
        for line in DRAWN.splitlines()
        if line.startswith("     |   ")
        for word in re.split(r"\s{3,}", line.strip("| "))[0].split()
        if word in DEFAULT_PIPELINE
    ]
    assert tuple(words) == DEFAULT_PIPELINE


def test_levels_stand_behind_their_last_pass() -> None:
    for level, last in LEVELS.items():
        at = re.search(rf"^  {level}  ", DRAWN, re.M)
        assert at is not None, level
        before = re.findall(r"[a-z]+(?:-[a-z]+)*", DRAWN[: at.start()])
        passes = [word for word in before if word in DEFAULT_PIPELINE]
        assert passes[-1:] == ([last] if last else []), level


def test_files_exist() -> None:
    files = re.findall(r"\b(?:dialects|passes|runtime|pyptoc|test)/[\w/.]*", PAGE)
    assert len(files) > 25
    for file in files:
        name = file.rstrip(".").replace("NAME", "tile")
        assert (ROOT / name).exists(), file


def imports(file: Path) -> set[str]:
    """The packages of pyptoc that a file imports, also inside of functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.module == "pyptoc":
                names = [f"pyptoc.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {n.split(".")[1] if "." in n else "pyptoc" for n in names if _own(n)}
    return found


def _own(name: str) -> bool:
    return name == "pyptoc" or name.startswith("pyptoc.")


def test_imports_run_one_way() -> None:
    wrong = {
        str(file.relative_to(ROOT)): sorted(imports(file) - allowed)
        for folder, allowed in ALLOWED.items()
        for file in sorted((ROOT / folder).rglob("*.py"))
        if imports(file) - allowed
    }
    assert wrong == {}


def test_passes_ask_the_runtime_for_machines_only() -> None:
    text = "".join(file.read_text() for file in sorted((ROOT / "passes").glob("*.py")))
    asked = set(re.findall(r"pyptoc\.runtime\.(\w+) import", text))
    assert asked == {"machine", "claims"}
