"""Turns what xDSL's parser complains about into diagnostics that say what to write.

xDSL reports where it got stuck. The author's mistake often lies a few characters
before: a number such as `1e-3`, a `%` meant as modulo, `%a-1` read as one name. These
are recognised in the source text around the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span

from pyptoc.dialects.diagnostics import Diagnostic, location_of

_PYTHON_FLOAT = re.compile(r"(?<![\w.%@#!$])\d+[eE][+-]?\d+")
_BARE_POINT = re.compile(r"(?<![\w.)\]])\.\d+([eE][+-]?\d+)?")
_CLEARER = {
    "Could not parse entire input!": "an operation is expected here",
    "operand expected": "a value such as %x is expected here",
    "Expected region!": "a body { ... } is expected here",
}


class LexError(ParseError):
    """The text holds something that is no token; nothing after it can be read."""


class PoisonedError(Exception):
    """An operand comes from an operation that was rejected: say nothing more."""


def diagnose(error: ParseError) -> Diagnostic:
    """The diagnostic for a parse error of xDSL or of this package."""
    start, end = error.span.start, max(error.span.end, error.span.start)
    source = error.span.input
    assert isinstance(source.content, str)
    text = source.content
    if (found := _bad_number(text, start)) is not None:
        first, last, written = found
        span = Span(first, last, _text_input(source.name, text))
        return Diagnostic(
            "PTO101",
            f"'{text[first:last]}' is not an MLIR number",
            location_of(span),
            last - first,
            help=f"write {written} (a float literal needs a digit, then a point)",
        )
    span = Span(start, end, _text_input(source.name, text))
    if isinstance(error, LexError):
        return _lexical(error, span)
    length = end - start
    if length == 0:
        token = re.compile(r"[%#@!]?[\w.$]+|\S").match(text, start)
        length = len(token.group()) if token else 1
    message = error.msg.splitlines()[0] if error.msg else "cannot be parsed"
    return Diagnostic(
        "PTO100", _CLEARER.get(message, message), location_of(span), max(length, 1)
    )


def _lexical(error: LexError, span: Span[str]) -> Diagnostic:
    text, start = span.input.content, span.start
    if text[start : start + 1] == "%":
        return Diagnostic(
            "PTO107",
            "% is not an operator: it starts the name of a value",
            location_of(span),
            help="for the remainder write %a mod %b",
        )
    if text[start : start + 1] == '"':
        return Diagnostic(
            "PTO102", "this string does not end on its line", location_of(span)
        )
    message = error.msg[:1].lower() + error.msg[1:]
    return Diagnostic("PTO102", message, location_of(span), max(len(span), 1))


def _bad_number(text: str, position: int) -> tuple[int, int, str] | None:
    """A number in Python's spelling that begins or ends at `position`."""
    first = text.rfind("\n", 0, position) + 1
    last = text.find("\n", position)
    line = text[first : last if last >= 0 else len(text)]
    for pattern, repair in ((_PYTHON_FLOAT, _with_point), (_BARE_POINT, _with_zero)):
        for match in pattern.finditer(line):
            if match.start() <= position - first <= match.end():
                return first + match.start(), first + match.end(), repair(match[0])
    return None


def _with_point(number: str) -> str:
    digits, exponent = re.split("[eE]", number, maxsplit=1)
    return f"{digits}.0e{exponent}"


def _with_zero(number: str) -> str:
    return f"0{number}"


def _text_input(name: str, text: str) -> Input[str]:
    return Input(text, name)


def limited(diagnostics: Iterable[Diagnostic], most: int) -> list[Diagnostic]:
    """At most `most` diagnostics in source order, and a count of the others."""
    found = list(diagnostics)
    shown = found[:most]
    if len(found) > most:
        last = shown[-1]
        count = len(found) - most
        plural = "" if count == 1 else "s"
        shown.append(Diagnostic("PTO109", f"{count} more error{plural}", last.location))
    return shown
