"""Numbers in texts agree with their nouns."""

from __future__ import annotations

import re

import pytest
from inprocess import ROOT, call

from pyptoc.dialects.words import counted, plural

NOUNS = "launches|tasks|kernels|points|remarks|cases|errors"


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("task", "tasks"),
        ("launch", "launches"),
        ("pass", "passes"),
        ("axis", "axes"),
        ("entry", "entries"),
        ("array", "arrays"),
        ("more error", "more errors"),
    ],
)
def test_plurals(noun: str, expected: str) -> None:
    assert plural(noun) == expected
    assert counted(0, noun) == f"0 {expected}"
    assert counted(1, noun) == f"1 {noun}"


def test_how_a_number_is_shown() -> None:
    assert counted(12345, "task", ",") == "12,345 tasks"


def test_no_text_has_a_plural_of_its_own() -> None:
    """`{n} tasks` is `1 tasks` some day; constants (`{MOST_TASKS}`) never are one."""
    found = [
        f"{file.relative_to(ROOT)}: {match}"
        for folder in ("pyptoc", "passes", "dialects", "runtime")
        for file in sorted((ROOT / folder).rglob("*.py"))
        for match in re.findall(
            rf"\{{(?!MOST_)[a-z_][^{{}}]*\}} (?:{NOUNS})\b", file.read_text()
        )
    ]
    assert found == []


def test_a_program_of_one_task() -> None:
    text = """\
func.func @f(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = pypto.exp %x
  func.return %y : tensor<8x64xf32>
}
"""
    code, out, _ = call("-", "--check", stdin=text)
    assert code == 0
    assert "(1 launch, 1 task of 1 kind)" in out
    argv = ("--pipeline=inline", "--check-each")
    code, _, err = call("-", *argv, stdin=text)
    assert (code, err) == (0, "check-each: 1 pass, every result as in the source\n")
