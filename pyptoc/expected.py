"""
`--verify-diagnostics`: holds the diagnostics against comments in the file.

    %r = pypto.add %a, %b   // expected-error {{operand types differ}}
    // expected-error@+1 {{...}}    expected-warning@above {{...}}    expected-remark
    // expected-error-re {{tile of {{[0-9]+}} rows}}    expected-error@unknown {{...}}

The text in braces must occur in the diagnostic (its code counts too); with `-re` what
stands in inner braces is a regular expression. `@above` and `@below` are the nearest
lines without such comments, `@unknown` is no place at all. Each error and warning must
be expected; remarks may be, and with `only-expected` all may be. `expected-note` looks
in what stands below a diagnostic: its label, rule, notes and help, at its line or at
that of the note itself. A comment that starts like one of these and is none is an
error, and so is a word before braces that is nearly one of these: nothing is left
unchecked by a slip.
"""

from __future__ import annotations

import re
import sys
from dataclasses import field
from typing import TYPE_CHECKING

from pyptoc.dialects.diagnostics import Diagnostic, file_place
from pyptoc.dialects.near import nearest
from pyptoc.dialects.record import record
from pyptoc.report import Reporter
from pyptoc.usage import UsageError

if TYPE_CHECKING:
    from xdsl.ir import Attribute

_START = re.compile(r"\bexpected-(?:error|warning|remark|note)\w*")
_COMMENT = re.compile(
    r"expected-(error|warning|remark|note)(-re)?"
    r"\s*(?:@([+-]\d+|above|below|unknown))?\s*\{\{"
)
_WORD = re.compile(r"\b\w[\w-]*(?=\s*(?:@\S*?)?\s*\{\{)")
"""A word before braces, where an expectation would stand."""
_WORDS = [
    f"expected-{severity}{kind}"
    for severity in ("error", "warning", "remark", "note")
    for kind in ("", "-re")
]
_ALIKE = 0.8
"""From here on a word was meant to be one of them; `expected` alone is not."""


@record(frozen=False)
class Expectation:
    """One comment: a severity, a line (0 for no place) and a piece of the text."""

    severity: str
    line: int
    text: str
    """As it was written."""
    pattern: re.Pattern[str]
    written: int
    matched: bool = field(default=False)


def read_expectations(name: str, text: str) -> list[Expectation]:
    """The expectations of a file, in order; raises `UsageError` for a broken one."""
    found: list[Expectation] = []
    plain = 0
    """The last line without expectations."""
    below: list[Expectation] = []
    for number, line in enumerate(text.splitlines(), 1):
        starts = _starts(line) if "//" in line else []
        if not starts:
            plain = number
            for expectation in below:
                expectation.line = number
            below = []
        end = 0
        for start in starts:
            if start < end:
                continue  # inside the braces of the one before
            offset, expectation, end = _read_one(name, number, line, start)
            found.append(expectation)
            match offset:
                case None:
                    expectation.line = number
                case "above":
                    expectation.line = plain
                case "below":
                    below.append(expectation)
                case "unknown":
                    expectation.line = 0
                case _:
                    expectation.line = number + int(offset)
    return found


def _starts(line: str) -> list[int]:
    """Where expectations begin, and words that were meant to be some."""
    found = {match.start() for match in _START.finditer(line)}
    for word in _WORD.finditer(line):
        meant = word[0].startswith("expected-")
        if meant or nearest(word[0], _WORDS, _ALIKE) is not None:
            found.add(word.start())
    return sorted(found)


def _read_one(
    name: str, number: int, line: str, start: int
) -> tuple[str | None, Expectation, int]:
    """Where the expectation at `start` looks, itself, and where it ends."""
    head = _COMMENT.match(line, start)
    close = -1 if head is None else _closing(line, head.end(), bool(head[2]))
    word = _WORD.match(line, start)
    near = None if word is None else nearest(word[0], _WORDS, _ALIKE)
    if word is not None and near is not None and near != word[0]:
        raise UsageError(
            f"{name}:{number}:{start + 1}: '{word[0]}' expects nothing",
            f"did you mean {near}?",
        )
    if head is None or close < 0:
        raise UsageError(
            f"{name}:{number}:{start + 1}: this expectation cannot be read",
            "write expected-error {{text}}, expected-note@+1 {{text}}, "
            "expected-error-re@below {{text {{regex}} text}}",
        )
    wanted = line[head.end() : close]
    try:
        pattern = re.compile(_regex(wanted) if head[2] else re.escape(wanted))
    except re.error as problem:
        raise UsageError(f"{name}:{number}:{start + 1}: {wanted}: {problem}") from None
    return head[3], Expectation(head[1], 0, wanted, pattern, number), close + 2


def _closing(line: str, start: int, nested: bool) -> int:
    """Where the braces are closed that were opened before `start`; -1 if nowhere."""
    at = start
    while True:
        close = line.find("}}", at)
        inner = line.find("{{", at) if nested else -1
        if close < 0 or inner < 0 or close < inner:
            return close
        at = line.find("}}", inner)
        if at < 0:
            return -1
        at += 2


def _regex(text: str) -> str:
    """Text with regular expressions in double braces, as one regular expression."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(
        f"(?:{part})" if index % 2 else re.escape(part)
        for index, part in enumerate(parts)
    )


def _line(location: Attribute | None) -> int:
    at = file_place(location)
    return 0 if at is None else at.line.data


def _matches(expectation: Expectation, diagnostic: Diagnostic) -> bool:
    search = expectation.pattern.search
    here = expectation.line == _line(diagnostic.location)
    if expectation.severity == "note":
        below = [diagnostic.label, diagnostic.rule, diagnostic.here, diagnostic.help]
        return (here and any(map(search, below))) or any(
            (here or (note.location and expectation.line == _line(note.location)))
            and search(note.message)
            for note in diagnostic.notes
        )
    text = f"[{diagnostic.code}] {diagnostic.message}"
    return here and expectation.severity == diagnostic.severity and bool(search(text))


def check_expected(
    reporter: Reporter, name: str, text: str, *, only_expected: bool = False
) -> int:
    """
    Compares what was reported with the comments; 1 and a text if they differ.

    only_expected: what no comment expects may be reported as well.
    """
    expectations = read_expectations(name, text)
    unexpected: list[Diagnostic] = []
    for diagnostic in reporter.kept:
        matching = [e for e in expectations if _matches(e, diagnostic)]
        for expectation in matching:
            expectation.matched = True
        named = any(e.severity == diagnostic.severity for e in matching)
        optional = only_expected or diagnostic.severity == "remark"
        if not named and not optional:
            unexpected.append(diagnostic)
    missing = [e for e in expectations if not e.matched]
    for expectation in missing:
        sys.stderr.write(
            f"{name}:{expectation.written}: expected {expectation.severity} "
            f'"{expectation.text}" was not reported\n'
        )
    if unexpected:
        sys.stderr.write("not expected:\n")
        reporter.keep = False
        reporter.report(unexpected)
    return int(bool(missing or unexpected))
