"""Infix integer expressions in an operation's text: `min(%a - 1, %b floordiv 2)`."""

from __future__ import annotations

import re
from typing import NoReturn

from xdsl.ir import SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.expr import Compare, Expr, ExprSyntaxError, parse_compare
from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.parse_errors import end_before
from pyptoc.dialects.parsing import LocParser, PoisonedError
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.rejected import has_error
from pyptoc.dialects.subscripts import INDEX

_DIVISIONS = "write floordiv (rounds down) or ceildiv (rounds up)"
MAX_DEPTH = 60
WORDS = ("floordiv", "ceildiv", "mod", "min", "max", "ne")
_EOF, _INTEGER, _VALUE = (
    MLIRTokenKind.EOF,
    MLIRTokenKind.INTEGER_LIT,
    MLIRTokenKind.PERCENT_IDENT,
)
_DIVIDED = r"[ \t]*//[ \t]*(?:[0-9]+|%[\w.$-]+)"
_QUOTIENT = re.compile(_DIVIDED + r"[ \t]*(?=\n|//|:[ \t]*index\b|$)")
"""A comment that is an operand: Python divides so."""
_UNFINISHED = re.compile(r'[^"/\n]*' + _DIVIDED)
"""An expression with a comment that begins with an operand."""
_PAIRS = {"=": "==", "<": "<=", ">": ">="}


class InfixTokens:
    """The parser's tokens; `==`, `<=` and `>=`, which MLIR reads as two, are one."""

    def __init__(self, parser: LocParser) -> None:
        self.parser = parser
        self.last_token = parser.token
        self.depth = 0

    @property
    def last(self) -> Span[str]:
        """Where the last token stands that was taken."""
        return self.last_token.span

    def peek(self) -> str | None:
        token = self.parser.token
        if token.kind is _EOF:
            return None
        text = token.text
        if text in _PAIRS and self.parser.text.startswith("=", token.end):
            return _PAIRS[text]
        return text

    def take(self) -> str:
        token = self.parser.token
        text = self.peek()
        if text is None:
            raise ExprSyntaxError("the expression ends too early")
        if text == "(":
            self.depth += 1
            if self.depth > MAX_DEPTH:
                error(token.span, "PTO108", "parentheses nest too deep here")
        elif text == ")":
            self.depth -= 1
        self.last_token = token
        if token.kind is _INTEGER and int(text, 0) >= 2**63:
            error(token.span, "PTO145", f"{text} does not fit in 64 bits")
        self.parser.take()
        if text in ("==", "<=", ">="):
            self.parser.take()
        if token.kind is _VALUE:
            following = self.parser.token
            number = following.text[1:]
            if following.kind is MLIRTokenKind.HASH_IDENT and number.isdecimal():
                self.parser.take()
                return f"{text}#{number}"
        return text


def parse_infix(call: Call, parser: LocParser) -> Expr | Compare:
    """Parse an expression or a compare; its symbols are SSA values of type index."""
    tokens = InfixTokens(parser)
    start, poisoned = parser.pos, False

    def symbol(text: str) -> Expr:
        nonlocal poisoned
        _check_same_line(parser, tokens.last_token.start)
        if not text.startswith("%"):
            error(
                tokens.last,
                "PTO145",
                f"'{text}' is no operator or function here",
                rule=f"there are + - * {' '.join(WORDS)}",
                help=did_you_mean(text, WORDS),
            )
        value = _value(text, parser, tokens.last)
        if has_error(value):
            poisoned = True
        elif value.type != INDEX:
            error(
                tokens.last,
                "PTO134",
                f"{text} is {value.type}, not index",
                rule="integer expressions are over values of type index",
            )
        return Expr.sym(value)

    try:
        expr = parse_compare(tokens, symbol)
    except ExprSyntaxError as wrong:
        _check_comment(_UNFINISHED, start, parser)
        _raise_syntax(parser, tokens, str(wrong))
    _check_constants(call, expr)
    _check_comment(_QUOTIENT, tokens.last.end, parser)
    _check_end(call, parser)
    if poisoned:
        raise PoisonedError
    return expr


def _check_same_line(parser: LocParser, start: int) -> None:
    """Refuse to take the next operation for an operand that was left out."""
    end = end_before(parser.text, start)
    if end is not None and parser.text[end - 1] not in "(,":
        last = Span(end - 1, end, parser.lexer.input)
        rule = "an operator has an operand on both sides"
        error(last, "PTO145", "the expression ends too early", rule=rule)


def _value(text: str, parser: LocParser, span: Span[str]) -> SSAValue:
    _, _, index = text.partition("#")
    return parser.lookup(UnresolvedOperand(span, int(index or 0)))


def _raise_syntax(parser: LocParser, tokens: InfixTokens, message: str) -> NoReturn:
    at = parser.token.span
    if _is_float(tokens.last.text):
        at = tokens.last
    _check_same_line(parser, at.start)
    found = re.match(r"unexpected '(.+)'", message)
    if found is not None and tokens.last.text == found[1]:
        at = tokens.last
    if at.text == "/" or tokens.last.text == "/":
        message = "there is no / for integers"
    if _is_float(at.text):
        message = f"{at.text} is no integer"
    error(at, "PTO145", message, help=_hint(at.text))


def _is_float(text: str) -> bool:
    return text[:1].isdigit() and "." in text


def _hint(text: str) -> str:
    if text == "/":
        return "write floordiv or ceildiv"
    if _is_float(text):
        return "write an integer here; floats are computed with pypto.scalar"
    return "for example %n = pypto.index min(%a - %b, 2048)"


def _check_constants(call: Call, expr: Expr | Compare) -> None:
    """Constants that were folded must still fit."""
    sides = (expr.lhs, expr.rhs) if isinstance(expr, Compare) else (expr,)
    for side in sides:
        if not -(2**63) <= side.constant < 2**63:
            call.error("PTO145", f"{side.constant} does not fit in 64 bits")


def _check_comment(pattern: re.Pattern[str], start: int, parser: LocParser) -> None:
    """`%n // 2` is not silently `%n`."""
    if pattern.match(parser.text, start) is not None:
        at = parser.text.index("//", start)
        error(
            Span(at, at + 2, parser.lexer.input),
            "PTO145",
            "there is no // for integers: it begins a comment",
            help=_DIVISIONS,
        )


def _check_end(call: Call, parser: LocParser) -> None:
    """What follows on the same line must be `,`, `:` or `{`, not more expression."""
    token = parser.token
    line = parser.text.rfind("\n", 0, token.start) + 1
    begins_line = line and not parser.text[line : token.start].strip(" \t")
    if begins_line or token.kind == MLIRTokenKind.EOF:
        return
    if token.kind == MLIRTokenKind.PERCENT_IDENT:
        name = token.span.text
        error(
            Span(token.span.start, token.span.start + 1, token.span.input),
            "PTO107",
            "% is not an operator: it starts the name of a value",
            help=f"for the remainder write mod {name.lstrip('%')}",
        )
    written = token.span.text
    if token.kind == MLIRTokenKind.SLASH:
        error(
            token.span,
            "PTO145",
            "there is no / for integers",
            help=_DIVISIONS,
        )
    known = token.kind == MLIRTokenKind.BARE_IDENT and written != "loc"
    if known and "." not in written:
        error(
            token.span,
            "PTO145",
            f"'{written}' is no operator",
            rule=f"{call.short_name} has + - * {' '.join(WORDS)} == < <= > >=",
            help=did_you_mean(written, WORDS),
        )
