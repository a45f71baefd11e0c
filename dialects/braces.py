"""A brace too many or too few, found by how lines are indented and how bodies end.

The parser takes any `}` for the end of the body that is open. Where one is missing or
too much, it complains about what follows, far from the mistake:

    %sum = pypto.for (%i = 0 to 4) iter(%acc = %zero) {
      pypto.yield %acc
    }}                       <- closes a body whose operation is indented less
    func.return %sum         error: %sum is not defined

A body ends on a line that is indented as the operation is that it belongs to, and what
follows is not indented deeper. Behind a terminator it has ended, however lines are
indented, a `func.return` stands in no other body than a function's, and an `else` right
behind a `}`. Where the text has as many `{` as `}`, nothing is said here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import FileLineColLoc

from pyptoc.dialects.diagnostics import Diagnostic, file_location
from pyptoc.dialects.parse_errors import NO_OPERATION
from pyptoc.dialects.parse_hints import lacks_body
from pyptoc.dialects.record import record

_PARTS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[{}()\[\]]|\n[ \t]*')
"""Texts and comments, which have no braces; brackets; the beginnings of lines."""
_CODE = re.compile(r"\n([ \t]*)(?=[^\s/])")
"""The beginning of a line that has more than a comment."""
_BELOW = re.compile(
    r"[ \t]*(?://[^\n]*)?(?:\n[ \t]*(?://[^\n]*)?)*\n([ \t]*)(?=[^\s/])"
)
"""What stands between the end of a line and the next with more than a comment."""
_BODY = re.compile(r"\{[ \t]*(?:[\n}]|//|$)")
"""A brace behind which no attributes stand: its line ends, or it is closed."""
_GOES_ON = re.compile(r"->|[:,={]|attributes\b")
"""How a line begins that belongs to the operation of the one before."""
_BEGINS = re.compile(r'%[^=\n]*=(?!=)|"|[a-z_]\w*\.\w|(?:func|return|else)\b')
"""How an operation begins, or an else."""
_RETURNS = re.compile(r"(?:func\.)?return\b")
_ELSE = re.compile(r"else\b(?!\.)")
_TERMINATES = re.compile(r"(?:[a-z_]\w*\.yield|(?:func\.)?return)\b")
_FUNCTION = re.compile(r"func(?:\.func)?\b")
_OPENING = {")": "(", "]": "[", "}": "{"}
_BODY_ENDS = ("PTO150", "PTO165")
"""A body or a function that does not end as it has to."""
NEVER_CLOSED = "this { is never closed"


@record
class _Open:
    """A bracket that is open."""

    kind: str
    position: int
    indent: int
    """How far the operation is indented that it belongs to."""
    line: int
    """Where its line begins."""
    operation: int
    """Where that operation begins."""
    is_body: bool


@record
class Brace:
    """The brace that is wrong."""

    position: int
    message: str
    help: str


def misplaced_brace(text: str) -> Brace | None:
    """The brace that is never closed or closes nothing; None where as many are."""
    braces = [part[0] for part in _PARTS.finditer(text) if part[0] in "{}"]
    excess = braces.count("}") - braces.count("{")
    if excess == 0:
        return None
    is_open: list[_Open] = []
    # Where this line begins, and how far it is indented.
    line, here = 0, len(text) - len(text.lstrip(" \t"))
    # How far the operation is indented that it belongs to, where that begins, and where
    # what stands before it does: an operation, or the end of a body.
    indent, operation, last = here, here, here
    for part in _PARTS.finditer(text):
        token = part[0]
        if token[0] == "\n":
            line, here = part.start() + 1, part.end() - part.start() - 1
            goes_on = is_open and not is_open[-1].is_body
            if not goes_on and _GOES_ON.match(text, part.end()) is None:
                indent, operation = here, part.end()
            if operation == part.end() and _BEGINS.match(text, operation):
                if excess < 0 and _has_ended(text, is_open, last, operation):
                    return _never_closed(text, is_open[-1], operation)
                last = operation
        elif token in "{([":
            is_body = _BODY.match(text, part.start()) is not None
            is_open.append(_Open(token, part.start(), indent, line, operation, is_body))
        elif token in ")]":
            if is_open and is_open[-1].kind == _OPENING[token]:
                is_open.pop()
        elif token == "}":
            while is_open and is_open[-1].kind != "{":
                is_open.pop()
            if not is_open:
                return _closes_nothing(part.start()) if excess > 0 else None
            opened = is_open.pop()
            if not opened.is_body:
                ends_body = not text[line : part.start()].strip()
                if excess < 0 and ends_body and opened.line != line:
                    return _never_closed(text, opened, _outside(text, opened))
                continue
            last = part.start()
            deepest = _next_indent(text, part.end())
            if opened.line != line:
                deepest = max(deepest, here)
            if excess > 0 and deepest > opened.indent:
                return _closes_nothing(part.start())
            if excess < 0 and here < opened.indent:
                return _never_closed(text, opened, _outside(text, opened))
    return None


def _has_ended(text: str, is_open: Sequence[_Open], last: int, operation: int) -> bool:
    """Whether the innermost body has, before an operation that follows the last one."""
    if not is_open:
        return False
    inner = is_open[-1]
    if _TERMINATES.match(text, last):
        return True
    if _ELSE.match(text, operation):
        return text[last] != "}"
    in_function = _FUNCTION.match(text, inner.operation) is not None
    return _RETURNS.match(text, operation) is not None and not in_function


def _next_indent(text: str, position: int) -> int:
    """How far the line below is indented; 0 where this one goes on."""
    found = _BELOW.match(text, position)
    return 0 if found is None else len(found[1])


def _closes_nothing(position: int) -> Brace:
    return Brace(position, "this } closes nothing", "leave it out")


def _outside(text: str, opened: _Open) -> int | None:
    """Where lines begin that are indented as if they stood behind a body."""
    for found in _CODE.finditer(text, opened.position):
        if len(found[1]) <= opened.indent:
            return found.end()
    return None


def _never_closed(text: str, opened: _Open, before: int | None) -> Brace:
    """With the line before which the brace was perhaps meant to stand."""
    if before is None:
        return Brace(opened.position, NEVER_CLOSED, "")
    number = text.count("\n", 0, before) + 1
    return Brace(opened.position, NEVER_CLOSED, f"write a }} before line {number}")


def without_cascade(
    errors: Sequence[Diagnostic], text: str, filename: str
) -> list[Diagnostic]:
    """
    The errors of a text, without those that come of a misplaced brace.

    What is said of its own line is about the mistake itself; else the brace is named.
    Where a body lacks its {, reading went on in it: all errors are of the text.
    """
    brace = None if any(map(lacks_body, errors)) else misplaced_brace(text)
    if brace is None:
        return list(errors)
    line = text.count("\n", 0, brace.position) + 1
    column = brace.position - text.rfind("\n", 0, brace.position)
    kept = [
        each
        for each in errors
        if _line(each) <= line
        and each.code not in _BODY_ENDS
        and each.message not in (NEVER_CLOSED, NO_OPERATION)
    ]
    if any(_line(each) == line for each in kept):
        return kept
    place = file_location(filename, line, column)
    found = Diagnostic("PTO100", brace.message, place, help=brace.help)
    return [*kept, found]


def _line(found: Diagnostic) -> int:
    place = found.location
    return place.line.data if isinstance(place, FileLineColLoc) else 0
