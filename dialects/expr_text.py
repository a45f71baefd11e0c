"""Integer expressions as text: infix, Python source, and the parser of the infix form.

compare := sum (("==" | "ne" | "<" | "<=" | ">" | ">=") sum)?
sum     := product (("+" | "-") product)*
product := unary (("*" | "floordiv" | "ceildiv" | "mod") unary)*
unary   := "-" unary | integer | name | "(" sum ")"
         | ("min" | "max") "(" sum ("," sum)* ")"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, Protocol

from pyptoc.dialects.expr_atoms import Atom, Call, Product, Symbol
from pyptoc.dialects.expr_core import Expr, apply
from pyptoc.dialects.interval import Interval
from pyptoc.dialects.record import record

Name = Callable[[Hashable], str]

COMPARES: Final = ("==", "ne", "<", "<=", ">", ">=")
_DIVISIONS: Final = ("floordiv", "ceildiv", "mod")


@record
class Compare:
    """A truth value: `lhs op rhs` with an `op` out of `COMPARES`."""

    op: str
    lhs: Expr
    rhs: Expr

    def symbols(self) -> tuple[Hashable, ...]:
        return tuple(dict.fromkeys((*self.lhs.symbols(), *self.rhs.symbols())))

    def divides(self) -> bool:
        return self.lhs.divides() or self.rhs.divides()

    def subs(self, mapping: Mapping[Hashable, Expr | int]) -> Compare:
        return Compare(self.op, self.lhs.subs(mapping), self.rhs.subs(mapping))

    def evaluate(self, values: Mapping[Hashable, int]) -> bool:
        a, b = self.lhs.evaluate(values), self.rhs.evaluate(values)
        return {
            "==": a == b,
            "ne": a != b,
            "<": a < b,
            "<=": a <= b,
            ">": a > b,
            ">=": a >= b,
        }[self.op]

    def decide(self, ranges: Mapping[Hashable, Interval]) -> bool | None:
        """True or False where facts or ranges prove it, else None."""
        from pyptoc.dialects import expr_facts as facts  # it builds on this module

        a, b = self.lhs, self.rhs
        if self.op in (">", ">="):
            a, b = b, a
        if self.op in ("<", ">"):
            holds, fails = facts.prove_lt(a, b, ranges), facts.prove_le(b, a, ranges)
        elif self.op in ("<=", ">="):
            holds, fails = facts.prove_le(a, b, ranges), facts.prove_lt(b, a, ranges)
        else:
            holds = facts.prove_eq(a, b, ranges)
            fails = facts.prove_lt(a, b, ranges) or facts.prove_lt(b, a, ranges)
            if self.op == "ne":
                holds, fails = fails, holds
        return True if holds else False if fails else None

    def to_string(self, name: Name = str) -> str:
        return f"{self.lhs.to_string(name)} {self.op} {self.rhs.to_string(name)}"


def to_text(e: Expr, name: Name) -> str:
    """Infix text; terms are ordered by their text, so equal expressions print alike."""
    return _sum_text(e, name, python=False)


def to_python(e: Expr | Compare, name: Name = str) -> str:
    """A Python expression with the same value; every operand is parenthesised."""
    if isinstance(e, Compare):
        op = "!=" if e.op == "ne" else e.op
        return f"{to_python(e.lhs, name)} {op} {to_python(e.rhs, name)}"
    return _sum_text(e, name, python=True)


def _sum_text(e: Expr, name: Name, python: bool) -> str:
    if not e.terms:
        return str(e.constant)
    parts: list[tuple[bool, str]] = []
    alone = len(e.terms) == 1 and not e.constant
    for atom, coefficient in e.terms.items():
        if coefficient in (1, -1):
            loose = alone and coefficient == 1
            text = _atom_text(atom, name, python, loose)
        else:
            text = f"{abs(coefficient)} * {_atom_text(atom, name, python, False)}"
        parts.append((coefficient < 0, text))
    parts.sort()
    constant = [(e.constant < 0, str(abs(e.constant)))] if e.constant else []
    if parts[0][0] and constant and not constant[0][0]:
        parts = constant + parts
    else:
        parts += constant
    first_negative, text = parts[0]
    text = f"-{text}" if first_negative else text
    for negative, part in parts[1:]:
        text += f" - {part}" if negative else f" + {part}"
    return text


def _atom_text(atom: Atom, name: Name, python: bool, loose: bool) -> str:
    """`loose`: the atom stands alone, so a division needs no parentheses."""
    if isinstance(atom, Symbol):
        return name(atom.key)
    if isinstance(atom, Product):
        factors: list[str] = []
        for factor, power in atom.factors.items():
            factors += [_atom_text(factor, name, python, False)] * power
        return " * ".join(sorted(factors))
    assert isinstance(atom, Call)
    if atom.op in ("min", "max"):
        args = sorted(_sum_text(arg, name, python) for arg in atom.args)
        return f"{atom.op}({', '.join(args)})"
    a, b = (_operand_text(arg, name, python) for arg in atom.args)
    if python and atom.op == "ceildiv":
        return f"(-(-{a} // {b}))"
    op = {"floordiv": "//", "mod": "%"}[atom.op] if python else atom.op
    return f"{a} {op} {b}" if loose else f"({a} {op} {b})"


def _operand_text(e: Expr, name: Name, python: bool) -> str:
    text = _sum_text(e, name, python)
    simple = e.constant >= 0 if e.is_const else False
    if len(e.terms) == 1 and not e.constant:
        ((atom, coefficient),) = e.terms.items()
        named = isinstance(atom, Symbol)
        extreme = isinstance(atom, Call) and atom.op in ("min", "max")
        simple = coefficient == 1 and (named or extreme)
    return text if simple else f"({text})"


class TokenStream(Protocol):
    """Where the parser reads from: a list of tokens, or an MLIR lexer behind it."""

    def peek(self) -> str | None:
        """The next token's text, None at the end."""
        ...

    def take(self) -> str:
        """The next token's text, consumed."""
        ...


class ExprSyntaxError(ValueError):
    """Text that is no integer expression."""


class _Tokens:
    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens = list(tokens)
        self.position = 0

    def peek(self) -> str | None:
        at_end = self.position == len(self.tokens)
        return None if at_end else self.tokens[self.position]

    def take(self) -> str:
        token = self.peek()
        if token is None:
            raise ExprSyntaxError("the expression ends too early")
        self.position += 1
        return token


_TOKEN = re.compile(r"\s*(%?[A-Za-z_$.][\w$.]*|%\d+|\d+|==|<=|>=|[-+*(),<>])")


def tokenize(text: str) -> list[str]:
    """The tokens of infix text; raises ExprSyntaxError on other characters."""
    tokens: list[str] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ExprSyntaxError(f"unexpected {text[position:].lstrip()[0]!r}")
        tokens.append(found.group(1))
        position = found.end()
    return tokens


def parse_expr(
    source: str | Iterable[str] | TokenStream,
    symbol: Callable[[str], Expr] = Expr.sym,
) -> Expr:
    """Reads one sum; `symbol` gives the meaning of a name (default: a symbol).

    Text and token lists must be used up; a TokenStream is left at the first token
    that cannot continue the expression.
    """
    stream, whole = _stream(source)
    result = _parse_sum(stream, symbol)
    if whole and stream.peek() is not None:
        raise ExprSyntaxError(f"unexpected {stream.peek()!r}")
    return result


def parse_compare(
    source: str | Iterable[str] | TokenStream,
    symbol: Callable[[str], Expr] = Expr.sym,
) -> Expr | Compare:
    """As `parse_expr`, and a compare of two sums is allowed."""
    stream, whole = _stream(source)
    result: Expr | Compare = _parse_sum(stream, symbol)
    if stream.peek() in COMPARES:
        op = stream.take()
        result = Compare(op, result, _parse_sum(stream, symbol))
    if whole and stream.peek() is not None:
        raise ExprSyntaxError(f"unexpected {stream.peek()!r}")
    return result


def _stream(source: str | Iterable[str] | TokenStream) -> tuple[TokenStream, bool]:
    if isinstance(source, str):
        return _Tokens(tokenize(source)), True
    if isinstance(source, Iterable):
        return _Tokens(source), True
    return source, False


def _parse_sum(stream: TokenStream, symbol: Callable[[str], Expr]) -> Expr:
    result = _parse_product(stream, symbol)
    while stream.peek() in ("+", "-"):
        negative = stream.take() == "-"
        term = _parse_product(stream, symbol)
        result = result - term if negative else result + term
    return result


def _parse_product(stream: TokenStream, symbol: Callable[[str], Expr]) -> Expr:
    result = _parse_unary(stream, symbol)
    while (op := stream.peek()) in ("*", *_DIVISIONS):
        stream.take()
        operand = _parse_unary(stream, symbol)
        result = result * operand if op == "*" else apply(op or "", [result, operand])
    return result


def _parse_unary(stream: TokenStream, symbol: Callable[[str], Expr]) -> Expr:
    token = stream.take()
    if not token:
        raise ExprSyntaxError("the expression ends too early")
    if token == "-":
        return -_parse_unary(stream, symbol)
    if token == "(":
        result = _parse_sum(stream, symbol)
        _expect(stream, ")")
        return result
    if token in ("min", "max"):
        return _parse_call(token, stream, symbol)
    if token.isdecimal():
        return Expr.const(int(token))
    if token[0].isalpha() or token[0] in "%_$.":
        if token in _DIVISIONS or token == "ne":
            raise ExprSyntaxError(f"'{token}' needs an operand on its left")
        return symbol(token)
    raise ExprSyntaxError(f"unexpected {token!r}")


def _parse_call(op: str, stream: TokenStream, symbol: Callable[[str], Expr]) -> Expr:
    _expect(stream, "(")
    args = [_parse_sum(stream, symbol)]
    while stream.peek() == ",":
        stream.take()
        args.append(_parse_sum(stream, symbol))
    _expect(stream, ")")
    return apply(op, args)


def _expect(stream: TokenStream, token: str) -> None:
    if stream.peek() != token:
        found = stream.peek()
        what = "the end" if found is None else repr(found)
        raise ExprSyntaxError(f"expected '{token}', found {what}")
    stream.take()
