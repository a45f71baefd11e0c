"""Errors, warnings and remarks as data; `pyptoc/diagnostics.py` renders them.

A `Diagnostic` says what is wrong, where, by which rule, with which numbers, and what
to write instead. Everything that can reject a program raises `CompileError` with one
or more of them, so that the driver has one thing to catch and one way to print.

Codes: PTO10x text, 11x operand types, 12x contractions, 13x subscripts and shapes,
14x clauses, 15x loops, 16x function signatures, 2xx compilation, 3xx warnings, 4xx at
run time, 5xx inputs and command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.lexer import Span

from pyptoc.dialects.record import record

MAX_ERRORS = 20
"""How many errors of one file are reported in full; the others are counted."""


@record
class Note:
    """A further fact about a diagnostic, perhaps at another place."""

    message: str
    location: Attribute | None = None

    def to_dict(self) -> dict[str, Any]:
        """The message and its place: for JSON."""
        file, line, column = _numbers(self.location)
        return {"message": self.message, "file": file, "line": line, "column": column}


@record
class Diagnostic:
    """One finding. Columns are 1-based; `length` is the width of the caret line."""

    code: str
    message: str
    location: Attribute | None = None
    """A FileLineColLoc; None for what has no place in a file (command line, .npz)."""
    length: int = 1
    severity: str = "error"
    """error, warning or remark."""
    label: str = ""
    """What the carets point at; printed after them."""
    rule: str = ""
    """The rule that is broken."""
    here: str = ""
    """The rule with this program's numbers."""
    notes: tuple[Note, ...] = ()
    help: str = ""
    """What to write instead; a fix that works."""
    at_run_time: bool = False
    source_line: str | None = None
    """The source line, where that is of no text that the driver has."""

    @property
    def file(self) -> str | None:
        """The name of the file it is about."""
        return _numbers(self.location)[0]

    @property
    def line(self) -> int | None:
        """The line in the file, from 1."""
        return _numbers(self.location)[1]

    @property
    def column(self) -> int | None:
        """The column in the line, from 1."""
        return _numbers(self.location)[2]

    def to_dict(self) -> dict[str, Any]:
        """Texts, numbers, lists and dicts: for JSON. Empty texts are there, too."""
        names = ("code", "severity", "file", "line", "column", "length", "message")
        names += ("label", "rule", "here", "help", "at_run_time")
        found: dict[str, Any] = {name: getattr(self, name) for name in names}
        found["notes"] = [note.to_dict() for note in self.notes]
        return found

    @property
    def headline(self) -> str:
        """`op.mlir:12:34: error[PTO101]: message`."""
        place = place_of(file_place(self.location))
        head = f"{self.severity}[{self.code}]" + " at run time" * self.at_run_time
        return f"{place}{': ' if place else ''}{head}: {self.message}"

    def details(self, indent: str) -> list[str]:
        """`rule:`, `here:`, `note:` and `help:`; further lines of one are aligned."""
        rows = [("rule", self.rule), ("here", self.here)]
        for note in self.notes:
            where = place_of(file_place(note.location))
            text = f"{note.message} ({where})" if where else note.message
            rows.append(("note", text))
        rows.append(("help", self.help))
        lines: list[str] = []
        for word, text in rows:
            if not text:
                continue
            first, *more = text.split("\n")
            lines.append(f"{indent}{word}: {first}")
            lines += [f"{indent}{' ' * (len(word) + 2)}{row}" for row in more]
        return lines

    def __str__(self) -> str:
        """All of it but the source line."""
        label = [f"    {self.label}"] if self.label else []
        return "\n".join([self.headline, *label, *self.details("   ")])


class CompileError(Exception):
    """A program (or a command line) was rejected."""

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics))

    def to_json(self) -> str:
        """The diagnostics as a JSON list, each as `Diagnostic.to_dict` gives it."""
        import json

        return json.dumps([each.to_dict() for each in self.diagnostics])


class RunError(CompileError):
    """A program broke a rule while it ran."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        super().__init__(replace(one, at_run_time=True) for one in diagnostics)


def error(
    at: Operation | Attribute | Span[str] | None,
    code: str,
    message: str,
    *,
    length: int = 1,
    label: str = "",
    rule: str = "",
    here: str = "",
    notes: Sequence[Note] = (),
    help: str = "",
) -> NoReturn:
    """Raise a CompileError at an operation, a location or a span of the source.

    A span also gives the length of the caret line.
    """
    if isinstance(at, Span):
        location: Attribute | None = location_of(at)
        length = max(length, len(at))
    elif isinstance(at, Operation):
        location = at.location
    else:
        location = at
    raise CompileError(
        [
            Diagnostic(
                code,
                message,
                location,
                length,
                label=label,
                rule=rule,
                here=here,
                notes=tuple(notes),
                help=help,
            )
        ]
    )


@lru_cache(maxsize=1024)
def _file_name(name: str) -> StringAttr:
    return StringAttr(name)


@lru_cache(maxsize=4096)
def _number(value: int) -> IntAttr:
    return IntAttr(value)


def file_location(name: str, line: int, column: int) -> FileLineColLoc:
    """The location `name:line:column`, both 1-based."""
    # What the constructor does, without asking whether these are a name and numbers:
    # a file has one for each operation and argument.
    made = object.__new__(FileLineColLoc)
    vars(made).update(
        filename=_file_name(name), line=_number(line), column=_number(column)
    )
    return made


def location_of(span: Span[str]) -> FileLineColLoc:
    """The location of the first character of a span."""
    text, start = span.input.content, span.start
    line = text.count("\n", 0, start) + 1
    return file_location(span.input.name, line, start - text.rfind("\n", 0, start))


def file_place(location: Attribute | None) -> FileLineColLoc | None:
    """The file, line and column inside a location of any kind, if there is one."""
    if isinstance(location, FileLineColLoc):
        return location
    if isinstance(location, NameLoc):
        return file_place(location.location)
    if isinstance(location, CallSiteLoc):
        return file_place(location.callee)
    if isinstance(location, FusedLoc):
        children = location.locations
        if not isinstance(children, ArrayAttr):
            return None
        items = cast("ArrayAttr[Attribute]", children).data
        found = (file_place(child) for child in items)
        return next((place for place in found if place is not None), None)
    return None


def _numbers(location: Attribute | None) -> tuple[str | None, int | None, int | None]:
    place = file_place(location)
    if place is None:
        return None, None, None
    return place.filename.data, place.line.data, place.column.data


def place_of(location: Attribute | None) -> str:
    """`op.mlir:12:34`, or the empty string where a location says nothing."""
    if isinstance(location, FileLineColLoc):
        return f"{location.filename.data}:{location.line.data}:{location.column.data}"
    return ""
