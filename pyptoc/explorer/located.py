"""
Printing IR with the source places of every line.

An operation marks the line on which it begins and, where it has regions, the line of
its last brace. The text is what `print_module` gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    ModuleOp,
    NameLoc,
)
from xdsl.ir import Attribute, Operation

from pyptoc.dialects.printing import PyptocPrinter
from pyptoc.dialects.record import record

if TYPE_CHECKING:
    from pyptoc.options import Options

Place = tuple[int, int]
"""Line and column in the source, both 1-based."""


@record(frozen=False)
class LocatedText:
    """The text of a module, line by line."""

    lines: list[str]
    places: list[tuple[Place, ...]]
    """The places of the operations that begin or end on each line, sorted."""
    rows: dict[Operation, int]
    """The line on which an operation begins, from 0."""


class _CountingStream(StringIO):
    """Knows how many lines are complete."""

    row = 0

    def write(self, s: str, /) -> int:
        self.row += s.count("\n")
        return super().write(s)


class _LocatedPrinter(PyptocPrinter):
    def __init__(self, *, short: bool, generic: bool) -> None:
        self.written = _CountingStream()
        super().__init__(self.written, short=short, generic=generic)
        self.spans: dict[Operation, tuple[int, int]] = {}

    def print_op(self, op: Operation) -> None:
        start = self.written.row
        super().print_op(op)
        self.spans[op] = (start, self.written.row)


def located_text(module: ModuleOp, file: str, options: Options) -> LocatedText:
    """
    The module in the form that the options ask for, with places in `file`.

    Places in other files, and that of the module itself, are left out.
    """
    printer = _LocatedPrinter(
        short=options.print_short, generic=options.print_op_generic
    )
    printer.print_op(module)
    lines = printer.written.getvalue().split("\n")
    found: list[set[Place]] = [set() for _ in lines]
    for op, rows in printer.spans.items():
        if op is not module:
            places = set(places_of(op.location, file))
            for row in rows:
                found[row] |= places
    places = [tuple(sorted(each)) for each in found]
    rows = {op: start for op, (start, _) in printer.spans.items()}
    return LocatedText(lines, places, rows)


def places_of(location: Attribute | None, file: str) -> Iterator[Place]:
    """Every place in `file` that a location names, through calls and fusions."""
    if isinstance(location, FileLineColLoc):
        if location.filename.data == file:
            yield location.line.data, location.column.data
    elif isinstance(location, NameLoc):
        yield from places_of(location.location, file)
    elif isinstance(location, CallSiteLoc):
        yield from places_of(location.callee, file)
        yield from places_of(location.caller, file)
    elif isinstance(location, FusedLoc) and isinstance(location.locations, ArrayAttr):
        for each in cast("ArrayAttr[Attribute]", location.locations).data:
            yield from places_of(each, file)
