"""Our operations in files that xDSL's own parser reads, as in `xdsl-opt`.

Hand-written formats need what `LocParser` knows beyond xDSL's parser. Where the first
of them comes up, the parser that is at work becomes one: it goes on from where it is.
What is wrong with the file is a `ParseError`, the first one only.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input

from pyptoc.dialects.parsing import LocParser


class AdoptedParser(LocParser):
    """Stops at the first error, as xDSL's callers expect."""

    waiting: Block | None = None
    """The body of the function that was being parsed when this parser took over."""

    def parse_optional_location(self) -> LocationAttr | None:
        found = super().parse_optional_location()
        # A location stands behind its operation: the function may be complete.
        function = None if self.waiting is None else self.waiting.parent_op()
        if isinstance(function, FuncOp):
            self.waiting = None
            self._check_function(function)
        return found

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
    next_token = parser.pos
    fresh = AdoptedParser(parser.ctx, source.content, source.name)
    state = {**vars(fresh), **vars(parser)}
    state["names"] = {
        value: name for name, values in parser.ssa_values.items() for value in values
    }
    arguments = [v for v in state["names"] if isinstance(v, BlockArgument)]
    state["waiting"] = arguments[0].block if arguments else None
    changed = cast("Any", parser)
    changed.__class__ = AdoptedParser
    vars(parser).update(state)
    # The tokens that follow, the next one included, are those of our lexer.
    changed._parser_state.lexer = fresh.lexer
    changed._resume_from(next_token)
    return changed
