"""
`--verify-diagnostics`: holds the diagnostics against comments in the file.

    %r = pypto.add %a, %b   // expected-error {{operand types differ}}
    // expected-error@+1 {{...}}    expected-warning@above {{...}}    expected-remark

The text in braces must occur in the diagnostic (its code counts too). Each error and
warning must be expected; remarks may be. `expected-note` looks in what stands below an
error: its label, rule, notes and help.
"""

from __future__ import annotations

import re
import sys
from dataclasses import field

from pyptoc.dialects.diagnostics import Diagnostic
from pyptoc.dialects.record import record
from pyptoc.report import Reporter

_COMMENT = re.compile(
    r"expected-(error|warning|remark|note)(?:@([+-]\d+|above|below|unknown))?"
    r"\s*\{\{(.*?)\}\}"
)


@record(frozen=False)
class Expectation:
    """One comment: a severity, a line (0 for no place) and a piece of the text."""

    severity: str
    line: int
    text: str
    written: int
    matched: bool = field(default=False)


def read_expectations(text: str) -> list[Expectation]:
    """The expectations of a file, in order."""
    found: list[Expectation] = []
    for number, line in enumerate(text.splitlines(), 1):
        for severity, offset, wanted in _COMMENT.findall(line):
            match offset:
                case "":
                    at = number
                case "above":
                    at = number - 1
                case "below":
                    at = number + 1
                case "unknown":
                    at = 0
                case _:
                    at = number + int(offset)
            found.append(Expectation(severity, at, wanted, number))
    return found


def _line(diagnostic: Diagnostic) -> int:
    from xdsl.dialects.builtin import FileLineColLoc

    at = diagnostic.location
    return at.line.data if isinstance(at, FileLineColLoc) else 0


def _matches(expectation: Expectation, diagnostic: Diagnostic) -> bool:
    if expectation.line != _line(diagnostic):
        return False
    if expectation.severity == "note":
        below = [diagnostic.label, diagnostic.rule, diagnostic.here, diagnostic.help]
        below += [note.message for note in diagnostic.notes]
        return any(expectation.text in text for text in below)
    text = f"[{diagnostic.code}] {diagnostic.message}"
    return expectation.severity == diagnostic.severity and expectation.text in text


def check_expected(reporter: Reporter, name: str, text: str) -> int:
    """Compares what was reported with the comments; 1 and a text if they differ."""
    expectations = read_expectations(text)
    unexpected: list[Diagnostic] = []
    for diagnostic in reporter.kept:
        matching = [e for e in expectations if _matches(e, diagnostic)]
        for expectation in matching:
            expectation.matched = True
        named = any(e.severity == diagnostic.severity for e in matching)
        if not named and diagnostic.severity != "remark":
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
