"""Renders diagnostics for a terminal: place, message, source line, carets, what to do.

op.mlir:12:34: error[PTO101]: '1e-3' is not an MLIR number
 12 |   %y = pypto.rms_norm %x, %g eps 1e-3
    |                                  ^^^^
   help: write 1.0e-3
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
)
from xdsl.ir import Attribute

from pyptoc.dialects.diagnostics import Diagnostic, place_of

TAB = "    "


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
        items = children.data if isinstance(children, ArrayAttr) else ()
        found = (file_place(child) for child in items)
        return next((place for place in found if place is not None), None)
    return None


def render(diagnostic: Diagnostic, sources: Mapping[str, str]) -> str:
    """A diagnostic as text, without a newline at its end.

    `sources` maps file names to their texts; without the text of a file the source
    line and the carets are left out.
    """
    place = file_place(diagnostic.location)
    head = f"{diagnostic.severity}[{diagnostic.code}]"
    if diagnostic.at_run_time:
        head += " at run time"
    prefix = f"{place_of(place)}: " if place is not None else ""
    lines = [f"{prefix}{head}: {diagnostic.message}"]
    indent = 3
    if place is not None:
        gutter, excerpt = _excerpt(diagnostic, place, sources)
        indent = gutter if excerpt else indent
        lines += excerpt
    lines += _details(diagnostic, " " * indent)
    return "\n".join(lines)


def render_all(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> str:
    """Several diagnostics, each ending in a newline."""
    return "".join(render(one, sources) + "\n" for one in diagnostics)


def _excerpt(
    diagnostic: Diagnostic, place: FileLineColLoc, sources: Mapping[str, str]
) -> tuple[int, list[str]]:
    """The width of the gutter, and the source line with carets below."""
    text = sources.get(place.filename.data)
    line, column = place.line.data, place.column.data
    if text is None:
        return 0, _label_alone(diagnostic)
    source = text.split("\n")
    if not 0 < line <= len(source):
        return 0, _label_alone(diagnostic)
    written = source[line - 1].rstrip("\r")
    shown = written.expandtabs(len(TAB))
    start = len(written[: column - 1].expandtabs(len(TAB)))
    # An error at the end of a line still gets one caret, behind its last character.
    room = max(len(shown) - start, 1)
    carets = "^" * max(1, min(diagnostic.length, room))
    number = str(line)
    under = f" {' ' * len(number)} | {' ' * start}{carets}"
    if diagnostic.label:
        under += f"  {diagnostic.label}"
    return len(number) + 1, [f" {number} | {shown}", under]


def _label_alone(diagnostic: Diagnostic) -> list[str]:
    return [f"    {diagnostic.label}"] if diagnostic.label else []


def _details(diagnostic: Diagnostic, indent: str) -> list[str]:
    """`rule:`, `here:`, `note:` and `help:`; further lines of one are aligned."""
    rows = [("rule", diagnostic.rule), ("here", diagnostic.here)]
    for note in diagnostic.notes:
        where = place_of(file_place(note.location))
        rows.append(("note", f"{note.message} ({where})" if where else note.message))
    rows.append(("help", diagnostic.help))
    lines: list[str] = []
    for word, text in rows:
        if not text:
            continue
        first, *more = text.split("\n")
        lines.append(f"{indent}{word}: {first}")
        lines += [f"{indent}{' ' * (len(word) + 2)}{row}" for row in more]
    return lines
