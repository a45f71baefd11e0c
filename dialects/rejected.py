"""What stands for a rejected operation, and where reading goes on behind it.

An operation that fails is replaced by one with results of `ErrorType`, so that the
names on its left are known to what follows: operations that use those are skipped
without a word (`PoisonedError`). Reading goes on where a line begins the next one,
or where the body ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition, var_result_def
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.parse_errors import (
    LexError,
    bare_target,
    closes_nothing,
    diagnose,
    line_end,
    starts_statement,
)

if TYPE_CHECKING:
    from pyptoc.dialects.parsing import LocParser


@irdl_attr_definition
class ErrorType(ParametrizedAttribute, TypeAttribute):
    """The type of what a rejected operation would have defined. Never in a module."""

    name = "pypto.error"


@op_definition
class ErrorOp(IRDLOperation):
    """Stands for a rejected operation while the rest of the file is parsed."""

    name = "pypto.rejected"

    res = var_result_def()


def has_error(value: SSAValue) -> bool:
    """Whether a value comes from an operation that was rejected."""
    return isinstance(value.type, ErrorType)


def recover(parser: LocParser, start: int, opened: int = 0) -> ErrorOp:
    """
    Skip a rejected operation that begins at `start`; what stands for it.

    opened: how many of its bodies lack their {, so that what follows is in them.
    """
    parser.go_to(start)
    names: list[tuple[str, int, Span[str]]] = []
    try:
        while parser.at(MLIRTokenKind.PERCENT_IDENT):
            span = parser.take().span
            count = 1
            if parser.parse_optional_punctuation(":"):
                count = parser.parse_optional_integer(allow_boolean=False) or 1
            names.append((span.text[1:], count, span))
            if not parser.parse_optional_punctuation(","):
                break
        if (span := bare_target(parser.token)) is not None:
            names.append((span.text, 1, span))
    except LexError as failure:
        _skip_line(parser, failure)
        _skip_statement(parser, moved=True, depth=opened)
    else:
        _skip_statement(parser, moved=bool(names), depth=opened)
    types = [ErrorType()] * sum(count for _, count, _ in names)
    op = ErrorOp.create(result_types=types)
    first = 0
    for name, count, span in names:
        if name not in parser.ssa_values:
            parser.define(name, op.results[first : first + count], span)
        first += count
    return op


def _skip_statement(parser: LocParser, moved: bool, depth: int) -> None:
    """Go to the next line that starts an operation or closes the region."""
    while not parser.at(MLIRTokenKind.EOF):
        token = parser.token
        if depth == 0 and moved and starts_statement(token):
            return
        if token.kind == MLIRTokenKind.L_BRACE:
            depth += 1
        elif token.kind == MLIRTokenKind.R_BRACE:
            if depth == 0 and not closes_nothing(token):
                return
            depth = max(depth - 1, 0)
        moved = True
        try:
            parser.take()
        except LexError as failure:
            _skip_line(parser, failure)


def _skip_line(parser: LocParser, failure: ParseError) -> None:
    """Go on in the line behind one that cannot be read to its end."""
    found = diagnose(failure)
    if found not in parser.errors:
        parser.errors.append(found)
    end = line_end(failure)
    if end is None:
        raise failure
    try:
        parser.go_to(end)
    except LexError as another:
        _skip_line(parser, another)
