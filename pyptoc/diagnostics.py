"""Renders diagnostics for a terminal: place, message, source line, carets, what to do.

op.mlir:12:34: error[PTO101]: '1e-3' is not an MLIR number
 12 |   %y = pypto.rms_norm %x, %g eps 1e-3
    |                                  ^^^^
   help: write 1.0e-3
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from xdsl.dialects.builtin import FileLineColLoc

from pyptoc.dialects.diagnostics import Diagnostic, file_place

TAB = "    "
_OPERATION = re.compile(r"[a-z]+(\.\w+)+")
"""The name of an operation: what is wrong with all of it stands under its name."""


def render(diagnostic: Diagnostic, sources: Mapping[str, str]) -> str:
    """A diagnostic as text, without a newline at its end.

    `sources` maps file names to their texts; without the text of a file, or the line in
    the diagnostic itself, the source line and the carets are left out.
    """
    place = file_place(diagnostic.location)
    excerpt = _excerpt(diagnostic, place, sources) if place is not None else None
    if excerpt is None:
        return str(diagnostic)
    gutter, lines = excerpt
    details = diagnostic.details(" " * gutter)
    return "\n".join([diagnostic.headline, *lines, *details])


def _excerpt(
    diagnostic: Diagnostic, place: FileLineColLoc, sources: Mapping[str, str]
) -> tuple[int, list[str]] | None:
    """The width of the gutter, and the source line with carets below."""
    text = sources.get(place.filename.data)
    line, column = place.line.data, place.column.data
    source = text.split("\n") if text is not None else []
    own = diagnostic.source_line
    if own is None and not 0 < line <= len(source):
        return None
    written = (source[line - 1] if own is None else own).rstrip("\r")
    shown = written.expandtabs(len(TAB))
    start = len(written[: column - 1].expandtabs(len(TAB)))
    # An error at the end of a line still gets one caret, behind its last character.
    room = max(len(shown) - start, 1)
    length = diagnostic.length
    if length == 1 and (name := _OPERATION.match(written, column - 1)) is not None:
        length = len(name[0])
    carets = "^" * max(1, min(length, room))
    number = str(line)
    under = f" {' ' * len(number)} | {' ' * start}{carets}"
    if diagnostic.label:
        under += f"  {diagnostic.label}"
    return len(number) + 1, [f" {number} | {shown}", under]
