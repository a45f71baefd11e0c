"""
Notes that point at what an error is about: the producer of a value, a given tile.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, OpResult
from xdsl.utils.lexer import Span

from pyptoc.dialects.diagnostics import Diagnostic, Note, location_of
from pyptoc.dialects.parse_errors import name_position

if TYPE_CHECKING:
    from pyptoc.dialects.context import PyptocContext
    from pyptoc.dialects.parsing import LocParser

MOST = 2
"""So many producers are noted: an operation rarely has more operands to compare."""

_NAMED = re.compile(r"%[A-Za-z0-9_$.]+")
_ALIAS = re.compile(r"tile\s*=\s*(#[\w$-]+)\s*$")


def with_producers(found: Diagnostic, parser: LocParser) -> Diagnostic:
    """Notes where the values that an error names are computed, on other lines."""
    words = _NAMED.findall(f"{found.message} {found.label}")
    notes: list[Note] = []
    for word in dict.fromkeys(words):
        (value, *_) = parser.ssa_values.get(word[1:], (None,))
        if not isinstance(value, OpResult):
            continue
        place = parser.definition(value)
        here = getattr(found.location, "line", None)
        told = any(word in note.message for note in found.notes)
        if place is not None and place.line != here and not told:
            notes.append(Note(f"{word} is computed here", place))
    return replace(found, notes=(*found.notes, *notes[:MOST]))


def note_tile(parser: LocParser, context: PyptocContext, written: Span[str]) -> None:
    """Remember where the tile of the operation that is being read is written."""
    at = parser.location_at(name_position(parser.text, parser.statement))
    text, place = "the tile is given here", location_of(written)
    if (alias := _ALIAS.match(written.text)) is not None:
        definition = re.compile(rf"^\s*({re.escape(alias[1])})\s*=", re.M)
        if (found := definition.search(parser.text)) is not None:
            text = f"the tile is {alias[1]}, which is defined here"
            place = location_of(Span(found.start(1), found.end(1), written.input))
    context.tiles[at] = Note(text, place)


def with_tile(found: Diagnostic, tiles: dict[Attribute, Note]) -> Diagnostic:
    """A note where the tile stands that the operation of an error was given."""
    if found.location is None or found.location not in tiles:
        return found
    return replace(found, notes=(*found.notes, tiles[found.location]))
