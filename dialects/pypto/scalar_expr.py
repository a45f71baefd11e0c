"""The float expressions of `pypto.scalar`: a small tree, its text, its attribute.

    sum     := product (("+" | "-") product)*
    product := unary (("*" | "/") unary)*
    unary   := "-" unary | number | %name | "(" sum ")" | function "(" sum, .. ")"

The tree is evaluated as written, in f32, each operation rounded once: no reordering.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import f32
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.literals import (
    Number,
    at_number,
    format_float,
    located,
    parse_number,
)
from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.parse_errors import end_before
from pyptoc.dialects.parsing import LocParser
from pyptoc.dialects.record import record
from pyptoc.dialects.words import counted

FUNCTIONS = {"pow": 2, "sqrt": 1, "exp": 1, "log": 1, "abs": 1, "min": 2, "max": 2}
"""Functions and how many arguments they take."""

MAX_DEPTH = 60


@record
class ScalarExpr:
    """One node: `number` (value), `operand` (value is its position), or an operation.

    Operations are `+ - * /` of two arguments, `neg` of one, and FUNCTIONS.
    """

    op: str
    args: tuple[ScalarExpr, ...] = ()
    value: float | int = 0

    def to_string(self, name: Callable[[int], str], level: int = 0) -> str:
        """Infix text; `name` gives an operand's. Parentheses only where needed."""
        if self.op == "number":
            text = format_float(float(self.value), f32)
            return f"({text})" if text.startswith("-") and level > 0 else text
        if self.op == "operand":
            return name(int(self.value))
        if self.op in FUNCTIONS:
            inner = ", ".join(arg.to_string(name) for arg in self.args)
            return f"{self.op}({inner})"
        if self.op == "neg":
            return f"(-{self.args[0].to_string(name, 3)})"
        mine = 1 if self.op in "+-" else 2
        left = self.args[0].to_string(name, mine)
        right = self.args[1].to_string(name, mine + 1)
        text = f"{left} {self.op} {right}"
        return f"({text})" if level > mine else text


class _Reader:
    """Reads an expression; `operand` reads `%x` and gives its position."""

    def __init__(self, parser: LocParser, operand: Callable[[], int]) -> None:
        self.parser = parser
        self.operand = operand
        self.depth = 0

    def sum(self) -> ScalarExpr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            error(self.parser.token.span, "PTO108", "parentheses nest too deep here")
        result = self.product()
        while (op := self._operator("+", "-")) is not None:
            result = ScalarExpr(op, (result, self.product()))
        self.depth -= 1
        return result

    def product(self) -> ScalarExpr:
        result = self.unary()
        while (op := self._operator("*", "/")) is not None:
            result = ScalarExpr(op, (result, self.unary()))
        return result

    def _operator(self, *choices: Any) -> str | None:
        for choice in choices:
            if self.parser.parse_optional_punctuation(choice) is not None:
                return choice
        return None

    def unary(self) -> ScalarExpr:
        parser = self.parser
        start = parser.token.span
        end = end_before(parser.text, start.start)
        if end is not None and parser.text[end - 1] not in "(,":
            last = Span(end - 1, end, start.input)
            error(last, "PTO145", "the expression ends too early")
        if parser.parse_optional_punctuation("(") is not None:
            result = self.sum()
            parser.parse_punctuation(")")
            return result
        if parser.parse_optional_punctuation("-") is not None:
            if at_number(parser) and not parser.at(MLIRTokenKind.MINUS):
                return _number(parse_number(parser), -1)
            self.depth += 1
            if self.depth > MAX_DEPTH:
                error(parser.token.span, "PTO108", "signs nest too deep here")
            result = ScalarExpr("neg", (self.unary(),))
            self.depth -= 1
            return result
        if at_number(parser):
            return _number(parse_number(parser), 1)
        if parser.at(MLIRTokenKind.BARE_IDENT) and not _is_argument(parser):
            return self.function()
        return ScalarExpr("operand", (), self.operand())

    def function(self) -> ScalarExpr:
        token = self.parser.take()
        name = token.span.text
        if name not in FUNCTIONS:
            error(
                token.span,
                "PTO145",
                f"there is no function {name} here",
                rule=f"the functions are {', '.join(FUNCTIONS)}",
                help=did_you_mean(name, FUNCTIONS),
            )
        args = self.parser.parse_comma_separated_list(
            self.parser.Delimiter.PAREN, self.sum
        )
        if len(args) != FUNCTIONS[name]:
            error(
                token.span,
                "PTO145",
                f"{name} takes {counted(FUNCTIONS[name], 'argument')}, not {len(args)}",
                help=f"write {name}({', '.join(['%a', '%b'][: FUNCTIONS[name]])})",
            )
        return ScalarExpr(name, tuple(args))


def _number(number: Number, sign: int) -> ScalarExpr:
    return ScalarExpr("number", (), f32.round(sign * float(number.value)))


def _is_argument(parser: LocParser) -> bool:
    text = parser.token.span.text
    return text[0] == "s" and text[1:].isdecimal()


def parse_scalar(parser: LocParser, operand: Callable[[], int]) -> ScalarExpr:
    """Parse an expression; `operand` reads the next token as an operand."""
    return _Reader(parser, operand).sum()


@irdl_attr_definition
class ScalarExprAttr(Data[ScalarExpr]):
    """A float expression over the operands s0, s1, ..: `#pypto.expr<1.0 - s0>`."""

    name = "pypto.expr"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ScalarExpr:
        assert isinstance(parser, LocParser)
        own = located(parser)

        def operand() -> int:
            name = own.parse_identifier()  # s0, s1, ..: nothing else gets here
            return int(name[1:])

        with own.in_angle_brackets():
            return parse_scalar(own, operand)

    def print_parameter(self, printer: Printer) -> None:
        text = self.data.to_string(lambda position: f"s{position}")
        printer.print_string(f"<{text}>")
