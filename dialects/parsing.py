"""The parser: MLIR text to a module, with places, source names and all errors at once.

On top of xDSL's parser it gives every operation and block argument the location of its
name in the source; keeps the names of function arguments as `pypto.name` (xDSL strips
numeric suffixes: `%scale_1` and `%scale` would trade places after one print); and does
not stop at the first error: an operation that fails is replaced by one that stands for
it (`rejected.py`).

Structured control flow needs no forward references, so a name that is not defined yet
is an error at once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, ModuleOp, UnknownLoc
from xdsl.ir import (
    Attribute,
    BlockArgument,
    Operation,
    Region,
    SSAValue,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

from pyptoc.dialects.braces import NEVER_CLOSED, without_cascade
from pyptoc.dialects.diagnostics import (
    MAX_ERRORS,
    CompileError,
    Diagnostic,
    Note,
    error,
    file_location,
    place_of,
)
from pyptoc.dialects.error_list import limited
from pyptoc.dialects.parse_errors import (
    LexError,
    PoisonedError,
    diagnose,
    line_end,
    name_position,
    no_such_operation,
)
from pyptoc.dialects.parse_hints import (
    check_begins,
    has_no_body,
    hinted,
    lacks_body,
    undefined,
)
from pyptoc.dialects.rejected import has_error, recover
from pyptoc.dialects.related import with_producers
from pyptoc.dialects.type_limits import LimitedParser

MAX_NESTING = 40
"""How deep regions may nest; Python's own stack ends a few levels further."""

_T = TypeVar("_T", bound=Attribute)


_NOTHING = re.compile(r"(?:\s|//[^\n]*)*+")
"""Blanks and comments."""
_FOLLOWS = (
    MLIRTokenKind.PERCENT_IDENT,
    MLIRTokenKind.BARE_IDENT,
    MLIRTokenKind.STRING_LIT,
    MLIRTokenKind.R_BRACE,
    MLIRTokenKind.EOF,
    MLIRTokenKind.CARET_IDENT,
    MLIRTokenKind.HASH_IDENT,
    MLIRTokenKind.EXCLAMATION_IDENT,
    MLIRTokenKind.FILE_METADATA_BEGIN,
)
"""What may stand after a complete operation."""


class LocParser(LimitedParser):
    """The parser with locations, source names and all errors (see the module)."""

    errors: list[Diagnostic]
    names: dict[SSAValue, str]
    """The name of each value in the source, without `%`."""
    calls: dict[Operation, Any]
    """Where the operands of an operation stand, for checks that need its parent."""
    statement: int
    """Where the operation that is being parsed begins, its results included."""
    out_positions: set[int]
    """Where the write-only destinations of foralls are named."""
    outs: set[SSAValue]
    """These destinations, for checks before the forall itself exists."""

    def __init__(self, ctx: Context, text: str, filename: str = "<unknown>") -> None:
        super().__init__(ctx, text, filename)
        self.errors = []
        self.names = {}
        self.calls = {}
        self.statement = 0
        self._definitions: dict[SSAValue, int] = {}
        self.out_positions = set()
        self.outs = set()
        self._location: LocationAttr | None = None
        self._module: Operation | None = None
        self._nesting = 0
        self._limit = MAX_NESTING
        self._unknown: set[Operation] = set()
        self._filename = filename
        self._line_starts = [0]
        for line in text.splitlines(keepends=True):
            self._line_starts.append(self._line_starts[-1] + len(line))

    # -- what the dialects' hand-written `parse` methods use

    def take(self) -> MLIRToken:
        """Consume the next token."""
        return self._consume_token()

    def go_to(self, position: int) -> None:
        """Read on from a position of the source."""
        self._resume_from(position)

    def at(self, kind: MLIRTokenKind) -> bool:
        """Whether the next token is of this kind."""
        return self._parser_state.current_token.kind is kind

    def parse_value(self, what: str = "a value such as %x") -> tuple[SSAValue, Span]:
        """Parse `%x` (or `%x#1`), which must be defined already."""
        if not self.at(MLIRTokenKind.PERCENT_IDENT):
            self.raise_error(f"{what} is expected here", self._current_token.span)
        operand = self.parse_unresolved_operand()
        return self.lookup(operand), operand.span

    def lookup(self, operand: UnresolvedOperand) -> SSAValue:
        """The value an operand names; an error if it is not defined here."""
        values = self.ssa_values.get(operand.operand_name)
        if values is None:
            undefined(self, operand.span)
        if operand.index >= len(values):
            error(
                operand.span,
                "PTO103",
                f"{operand.span.text} has no #{operand.index}",
                rule=f"it has #0 to #{len(values) - 1}",
            )
        return values[operand.index]

    def name_of(self, value: SSAValue) -> str:
        """`%x`, as the source has it."""
        return f"%{self.names.get(value) or value.name_hint or '?'}"

    def place_of(self, value: SSAValue) -> str:
        """Where a value is named first: `op.mlir:3:5`."""
        return place_of(self.definition(value))

    def definition(self, value: SSAValue) -> FileLineColLoc | None:
        """The location of where a value is named first."""
        place = self._definitions.get(value)
        return None if place is None else self.location_at(place)

    def location_at(self, position: int) -> FileLineColLoc:
        """The location of a position in the source."""
        line = bisect_right(self._line_starts, position)
        return file_location(
            self._filename, line, position - self._line_starts[line - 1] + 1
        )

    # -- names

    def resolve_operand(self, operand: UnresolvedOperand, type: _T) -> SSAValue[_T]:
        value: SSAValue[Any] = self.lookup(operand)
        if value.type != type and not has_error(value):
            defined = self.place_of(value)
            error(
                operand.span,
                "PTO141",
                f"{operand.span.text} is {value.type}, not {type}",
                notes=(Note(f"{operand.span.text} is defined at {defined}"),),
            )
        return value

    def define(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        """Let `%name` stand for the values, without a place of its own."""
        super()._register_ssa_definition(name, values, span)

    def _register_ssa_definition(
        self, name: str, values: Sequence[SSAValue], span: Span
    ) -> None:
        if name in self.ssa_values:
            place = self.place_of(self.ssa_values[name][0])
            error(
                span,
                "PTO104",
                f"%{name} is defined twice",
                notes=(Note(f"the other definition is at {place}"),),
            )
        super()._register_ssa_definition(name, values, span)
        location = None
        if span.start in self.out_positions:
            self.outs.update(values)
        for value in values:
            self.names[value] = name
            self._definitions[value] = span.start
            # xDSL drops one suffix at a time: `%x_0_1` would be `%x_0`, when read again
            # `%x`; and `%_1` leaves an empty hint, which it does not take back.
            while hint := value.name_hint:
                value.name_hint = hint
                if value.name_hint == hint:
                    break
            else:
                value.name_hint = None
            if isinstance(value, BlockArgument) and isinstance(
                value.location, UnknownLoc
            ):
                location = location or self.location_at(span.start)
                value.location = location

    # -- operations

    def parse_operation(self) -> Operation:
        start = self._current_token.span
        depth = len(self._parser_state.dialect_stack)
        found: tuple[Diagnostic, ...] = ()
        self.statement = start.start
        try:
            op = super().parse_operation()
            if self._location is None:
                op.location = self.location_at(name_position(self.text, start.start))
            elif isinstance(self._location, UnknownLoc):
                self._unknown.add(op)
            self._place_terminators(op)
            if op.name == "builtin.module":
                self._module = op
            if self._current_token.kind not in _FOLLOWS:
                shown = self._current_token.span.text
                self.raise_error(f"'{shown}' cannot follow here")
            if not (op.regions and op.regions[0].blocks) and has_no_body(
                op.name, self._current_token
            ):
                self.raise_error("Expected region!")
            if op.name == "func.func":
                self._check_function(op)
            return op
        except PoisonedError:
            pass
        except ParseError as failure:
            if isinstance(failure, LexError) and line_end(failure) is None:
                raise
            found = (diagnose(failure),)
        except CompileError as failure:
            found = tuple(with_producers(one, self) for one in failure.diagnostics)
        except VerifyException as failure:
            place = self.location_at(name_position(self.text, start.start))
            found = (Diagnostic("PTO170", str(failure).splitlines()[0], place),)
        found = tuple(hinted(one, self) for one in found)
        self.errors.extend(found)
        del self._parser_state.dialect_stack[depth:]
        return recover(self, start.start, opened=int(any(map(lacks_body, found))))

    def _place_terminators(self, op: Operation) -> None:
        """Terminators that the text leaves out stand where their operation does."""
        for region in op.regions:
            for block in region.blocks:
                last = block.last_op
                if last is None or last in self._unknown:
                    continue
                if isinstance(last.location, UnknownLoc):
                    last.location = op.location

    def parse_optional_location(self) -> LocationAttr | None:
        # The last one read is that of the operation just parsed, if it has one.
        self._location = super().parse_optional_location()
        return self._location

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        module = super().parse_module(allow_implicit_module)
        if module is not self._module:
            module.location = self.location_at(0)
        return module

    def _check_function(self, op: Operation) -> None:
        from pyptoc.dialects.signatures import check_function

        check_function(op, self)

    def parse_optional_region(
        self, arguments: Sequence[Parser.Argument] | None = None
    ) -> Region | None:
        if not self.at(MLIRTokenKind.L_BRACE):
            return None
        if self._nesting == 0:
            # A module around the functions, as it is printed, does not count.
            in_module = self._parser_state.dialect_stack[-1:] == ["builtin"]
            self._limit = MAX_NESTING + in_module
        if self._nesting == self._limit:
            error(
                self._current_token.span,
                "PTO108",
                f"bodies nest more than {MAX_NESTING} deep",
            )
        outside = dict(self.ssa_values)
        blocks, forward_blocks = self.blocks, self.forward_block_references
        self._nesting += 1
        brace = self._current_token.span
        complete = False
        try:
            region = super().parse_optional_region(arguments)
            complete = True
            return region
        except ParseError:
            if not self.at(MLIRTokenKind.EOF):
                raise
            if self.errors:  # an operation that was skipped took the brace with it
                raise PoisonedError from None
            error(brace, "PTO100", NEVER_CLOSED, help="write a } where it ends")
        finally:
            self._nesting -= 1
            if not complete:
                self.ssa_values = outside
                self.blocks = blocks
                self.forward_block_references = forward_blocks

    def _get_op_by_name(self, name: str) -> type[Operation]:
        stack = self._parser_state.dialect_stack
        if op := self.ctx.get_optional_op(name, dialect_stack=stack):
            return op
        text = self.text
        end = text.rfind(name, 0, self._current_token.span.start) + len(name)
        span = Span(end - len(name), end, Input(text, self._filename))
        check_begins(name, span, self)
        no_such_operation(self.ctx, name, span)


def parse_module(text: str, filename: str, context: Context) -> ModuleOp:
    """Parse a file. Raises CompileError with every error found, at most 20 and a count.

    Every op and block argument of the module has a location; every function argument
    has `pypto.name`, its name in this text; every function result has one, too.
    """
    if _NOTHING.fullmatch(text):
        place = file_location(filename, 1, 1)
        help = "an operator is written func.func @name(%x: tensor<...>) { ... }"
        nothing = "there is no operation in this text"
        raise CompileError([Diagnostic("PTO100", nothing, place, help=help)])
    parser = LocParser(context, "", filename)
    module: ModuleOp | None = None
    try:
        parser = LocParser(context, text, filename)
        module = parser.parse_module()
    except CompileError as failure:
        parser.errors.extend(failure.diagnostics)
    except ParseError as failure:
        parser.errors.append(diagnose(failure))
    except VerifyException as failure:
        # Of an alias: what stands in an operation is found there.
        place = parser.location_at(parser.pos)
        message = str(failure).splitlines()[0]
        parser.errors.append(Diagnostic("PTO170", message, place))
    except RecursionError:
        place = parser.location_at(parser.pos)
        parser.errors.append(
            Diagnostic("PTO108", "brackets or bodies nest too deep here", place)
        )
    if parser.errors or module is None:
        errors = without_cascade(parser.errors, text, filename)
        raise CompileError(limited(errors, MAX_ERRORS))
    return module
