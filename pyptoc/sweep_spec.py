"""
The text of one `--sweep`: a key and the values that it takes.

    tile.m=64,128,256            a list; [64, 256] is one value of two numbers
    plan-memory.slots=1..4       1, 2, 3, 4
    machine.clock_ghz=1.0..2.0+0.25
    bind.M=16..4096*2            16, 32, 64, .. 4096

Every part knows its place in the text, so that errors point at it: as if all texts were
the lines of a file called `--sweep`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NoReturn

from pyptoc.argument_types import expect
from pyptoc.dialects.diagnostics import CompileError, Diagnostic, file_location
from pyptoc.dialects.record import record

CODE = "PTO512"
FILE = "--sweep"
"""What places in sweeps have as their file's name."""

MOST_VALUES = 10_000
"""Of one key."""

Value = Any
"""int, float, bool, str, or a list of them."""

_NUMBER = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:([+*])({_NUMBER}))?")
_INTEGER = re.compile(r"[+-]?\d+")
_HELP = "KEY=1,2,4  KEY=1..4  KEY=1.0..2.0+0.25  KEY=16..4096*2"


@record
class Span:
    """A part of a sweep's text."""

    text: str
    line: int
    """Which `--sweep` it is, from 1."""
    start: int
    end: int

    @property
    def written(self) -> str:
        return self.text[self.start : self.end]

    def after(self, text: str) -> Span:
        """What comes behind `text`, with which this part begins."""
        return Span(self.text, self.line, self.start + len(text), self.end)

    def fail(
        self, message: str, *, rule: str = "", here: str = "", help: str = ""
    ) -> NoReturn:
        """Raise an error that points at this part."""
        raise CompileError(
            [
                Diagnostic(
                    CODE,
                    message,
                    file_location(FILE, self.line, self.start + 1),
                    max(self.end - self.start, 1),
                    rule=rule,
                    here=here,
                    help=help,
                    source_line=self.text,
                )
            ]
        )


@record
class Axis:
    """A key with its values, each of which stands somewhere in the text."""

    key: Span
    values: tuple[Value, ...]
    spans: tuple[Span, ...]

    @property
    def name(self) -> str:
        return self.key.written


def parse_axes(texts: Sequence[str]) -> list[Axis]:
    """All sweeps of a command line; raises `CompileError` (PTO512)."""
    axes: list[Axis] = []
    for line, text in enumerate(texts, 1):
        axis = parse_axis(text, line)
        if axis.name in [other.name for other in axes]:
            axis.key.fail(f"'{axis.name}' is swept twice", rule="a key has one list")
        axes.append(axis)
    return axes


def parse_axis(text: str, line: int = 1) -> Axis:
    """One sweep."""
    key, equals, rest = text.partition("=")
    span = _stripped(Span(text, line, 0, len(key)))
    if not span.written:
        span.fail("a sweep begins with a key", help=_HELP)
    if not equals:
        end = Span(text, line, len(text), len(text))
        end.fail("the values are missing", help=_HELP)
    values: list[Value] = []
    spans: list[Span] = []
    at = len(key) + 1
    for item in _split(rest):
        part = _stripped(Span(text, line, at, at + len(item)))
        at += len(item) + 1
        for value in _values(part):
            if (type(value), value) not in [(type(v), v) for v in values[-64:]]:
                values.append(value)
                spans.append(part)
        if len(values) > MOST_VALUES:
            part.fail(
                f"'{span.written}' has more than {MOST_VALUES} values",
                rule=f"a key has at most {MOST_VALUES}",
            )
    return Axis(span, tuple(values), tuple(spans))


def axis_of(name: str, values: str | Iterable[Value], line: int = 1) -> Axis:
    """A sweep that a program gives: values, or a text as on the command line."""
    expect(name, str, "a key of a sweep is a text")
    if isinstance(values, str):
        return parse_axis(f"{name}={values}", line)
    expect(values, Iterable, f"the values of '{name}' are a list or a text")
    given = tuple(_plain(value) for value in values)
    text = f"{name}={','.join(map(show, given))}"
    spans: list[Span] = []
    at = len(name) + 1
    for value in given:
        spans.append(Span(text, line, at, at + len(show(value))))
        at += len(show(value)) + 1
    key = Span(text, line, 0, len(name))
    if not given:
        key.fail(f"'{name}' has no values")
    return Axis(key, given, tuple(spans))


def show(value: Value) -> str:
    """A value as it is written."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{','.join(map(show, value))}]"
    return value if isinstance(value, str) else f"{value!r}"


def _plain(value: Value) -> Value:
    """Numbers of numpy and tuples as what a text would give."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def _split(text: str) -> list[str]:
    """The parts between the commas outside brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "[<") - (character in "]>")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _stripped(span: Span) -> Span:
    written = span.written
    left = len(written) - len(written.lstrip())
    start = min(span.start + left, span.end)
    return Span(span.text, span.line, start, start + len(written.strip()))


def _values(span: Span) -> list[Value]:
    text = span.written
    if not text:
        span.fail("a value is missing here", help=_HELP)
    if ".." in text:
        return _range(span)
    return [_value(span)]


def _value(span: Span) -> Value:
    from pyptoc.runtime.bindings import parse_value

    text = span.written
    try:
        return parse_value(text)
    except ValueError:
        if re.fullmatch(r'"[^"]*"', text):
            return text[1:-1]
        # What is no number is a word: `atomic`, `row`, `blocked<6, 4>`, `my.toml`.
        if text[0] not in "[]{}<>+" and not re.match(r"[.-]?\d[\d.]*(?![\w.])", text):
            return text
        if text.startswith("[") and re.fullmatch(r"\[[\w, -]+\]", text):
            return [word.strip() for word in text[1:-1].split(",")]
        span.fail(f"'{text}' is neither a number nor a word", help=_HELP)


def _range(span: Span) -> list[Value]:
    """The values of `a..b`, `a..b+step` or `a..b*factor`; b is one if it is met."""
    match = _RANGE.fullmatch(span.written)
    if match is None:
        span.fail(f"'{span.written}' is not a range", help=_HELP)
    first, last, sign, by = match.groups()
    texts = [text for text in (first, last, by) if text is not None]
    whole = all(_INTEGER.fullmatch(text) for text in texts)
    start, end = Decimal(first), Decimal(last)
    step = Decimal(by) if by is not None else Decimal(1)
    if sign is None and not whole:
        span.fail("a range of fractions has a step", help=f"{first}..{last}+0.25")
    if end < start:
        span.fail("the range ends below its start", here=f"{last} < {first}")
    if sign == "*":
        if step <= 1 or start <= 0:
            rule = "a factor is above 1 and the start above 0"
            span.fail("the range never ends", rule=rule)
    elif step <= 0:
        span.fail("the range never ends", rule="a step is above 0")
    values: list[Value] = []
    while start <= end:
        values.append(int(start) if whole else float(start))
        if len(values) > MOST_VALUES:
            rule = f"a key has at most {MOST_VALUES}"
            span.fail(f"more than {MOST_VALUES} values", rule=rule)
        start = start * step if sign == "*" else start + step
    return values
