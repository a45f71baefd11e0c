"""
Finds misspelt FileCheck directives: filecheck ignores `CHECK-NXT:` and the test passes.

Every comment that starts with a word in capitals and a colon must be RUN or a directive
with a prefix that one of the file's RUN lines uses.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from inprocess import run_lines
from many import for_each

HERE = Path(__file__).parent
FILES = sorted(p for p in HERE.rglob("*.mlir") if "Inputs" not in p.parts)
_WORD = re.compile(r"//\s*([A-Z][A-Z0-9_-]*[^\s:(]*)\s*:")
_PREFIXES = re.compile(r"--?check-prefix(?:es)?[= ]\s*(\S+)")
_SUFFIX = re.compile(
    r"(-(NEXT|SAME|EMPTY|NOT|DAG|LABEL|COUNT-[1-9][0-9]*))?(\{LITERAL\})?"
)


def prefixes(text: str) -> set[str]:
    """The directive prefixes that the RUN lines of a test use."""
    found: set[str] = set()
    for line in run_lines(text):
        for command in line.split("|"):
            if re.match(r"\s*(not\s+)?filecheck\b", command):
                names = _PREFIXES.findall(command)
                found.update(*(n.split(",") for n in names)) if names else found.add(
                    "CHECK"
                )
    return found


def misspelt(text: str) -> list[str]:
    """What is wrong with the directives of a test, one line a finding."""
    known = prefixes(text)
    used: set[str] = set()
    findings: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        for word in _WORD.findall(line):
            owner = [p for p in known if word.startswith(p)]
            if word == "RUN" or not (owner or re.match(r"[A-Z]{2}", word)):
                continue
            right = [p for p in owner if _SUFFIX.fullmatch(word[len(p) :])]
            used.update(right)
            if not right:
                findings.append(f"{number}: {word}: is no directive of {known}")
            elif re.search(re.escape(word) + r"\s+:", line):
                findings.append(f"{number}: {word}: has a space before the colon")
    findings += [f"no {p}: line, but RUN uses it" for p in sorted(known - used)]
    return findings


@for_each(FILES)
def test_directives(path: Path) -> None:
    assert misspelt(path.read_text()) == []


@pytest.mark.parametrize(
    "line",
    [
        "// CHECK-NXT: a",
        "// CHEK: a",
        "// CHECK_NEXT: a",
        "// CHECK : a",
        "// CHECK-COUNT: a",
        "// OTHER: a",
        "x // CHECK-LABLE: a",
    ],
)
def test_misspelt_is_found(line: str) -> None:
    text = "// RUN: pyptoc %s | filecheck %s\n// CHECK: b\n"
    assert misspelt(text) == []
    assert misspelt(text + line) != []


def test_prefix_without_lines_is_found() -> None:
    text = "// RUN: pyptoc %s | filecheck %s --check-prefix=ERR\n// CHECK: b\n"
    assert len(misspelt(text)) == 2
