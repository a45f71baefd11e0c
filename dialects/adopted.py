"""Our operations in files that xDSL's own parser reads, as in `xdsl-opt`.

Hand-written formats need what `LocParser` knows beyond xDSL's parser. Where the first
of them comes up, the parser that is at work becomes one: it goes on from where it is.
What is wrong with the file is a `ParseError`, the first one only.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input

from pyptoc.dialects.parsing import LocParser


class AdoptedParser(LocParser):
    """Stops at the first error, as xDSL's callers expect."""

    def parse_operation(self) -> Operation:
        op = super().parse_operation()
        if self.errors:
            found = self.errors[0]
            text = "\n".join([found.message, *found.details("  ")])
            raise ParseError(self._current_token.span, f"[{found.code}] {text}")
        return op


def adopt(parser: Parser) -> LocParser:
    """Makes `parser` one of this package, in place."""
    source: Input[Any] = parser.lexer.input
    fresh = AdoptedParser(parser.ctx, source.content, source.name)
    state = {**vars(fresh), **vars(parser)}
    state["names"] = {
        value: name for name, values in parser.ssa_values.items() for value in values
    }
    changed = cast("Any", parser)
    changed.__class__ = AdoptedParser
    vars(parser).update(state)
    return changed
