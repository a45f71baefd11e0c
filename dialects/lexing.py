"""MLIR's lexer with a short way for the commonest tokens.

xDSL's lexer goes from character to character in Python and is half the cost of reading
a file. One regular expression finds names, values and punctuation; all else (numbers,
strings, `->`, aliases) is left to xDSL. What is no token raises `LexError`, which tells
it from an error of the grammar.
"""

from __future__ import annotations

import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import (
    MLIRLexer,
    MLIRToken,
    MLIRTokenKind,
    StringLiteral,
)

from pyptoc.dialects.parse_errors import LexError

_BLANK = r"(?:[ \t\r\n]+|//[^\n]*(?:\n|\Z))*+"
"""Blanks and comments. Possessive: what was skipped is never tried as a token."""
_QUICK = re.compile(
    _BLANK + r"(?:([a-zA-Z_][a-zA-Z0-9_$.]*)"
    r"|(%(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*))"
    r"|([:,()}\[\]<>=+*?|]|/(?!/)))"
)
_PUNCTUATION = {
    ":": MLIRTokenKind.COLON,
    ",": MLIRTokenKind.COMMA,
    "(": MLIRTokenKind.L_PAREN,
    ")": MLIRTokenKind.R_PAREN,
    "}": MLIRTokenKind.R_BRACE,
    "[": MLIRTokenKind.L_SQUARE,
    "]": MLIRTokenKind.R_SQUARE,
    "<": MLIRTokenKind.LESS,
    ">": MLIRTokenKind.GREATER,
    "=": MLIRTokenKind.EQUAL,
    "+": MLIRTokenKind.PLUS,
    "/": MLIRTokenKind.SLASH,
    "*": MLIRTokenKind.STAR,
    "?": MLIRTokenKind.QUESTION,
    "|": MLIRTokenKind.VERTICAL_BAR,
}
_KINDS = (None, MLIRTokenKind.BARE_IDENT, MLIRTokenKind.PERCENT_IDENT)
_MAX_DIGITS = 20
"""Those of 2^64: what is longer is neither a size nor a constant of any type."""


class QuickLexer(MLIRLexer):
    """See the module."""

    # xDSL's, but possessive: an unclosed string took it time exponential in its length.
    _unescaped_characters_regex = re.compile(
        r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'
    )

    def lex(self) -> MLIRToken:
        found = _QUICK.match(self.input.content, self.pos)
        if found is None:
            return self._lex_other()
        group = found.lastindex or 0
        start, end = found.span(group)
        self.pos = end
        kind = _PUNCTUATION[found[3]] if group == 3 else _KINDS[group]
        assert kind is not None
        return Token(kind, Span(start, end, self.input))

    def _lex_other(self) -> MLIRToken:
        try:
            token = super().lex()
        except LexError:
            raise
        except ParseError as failure:
            raise LexError(failure.span, failure.msg) from None
        length = len(token.span)
        if token.kind == MLIRTokenKind.INTEGER_LIT and length > _MAX_DIGITS:
            raise LexError(token.span, f"A number of {length} digits is too long")
        if token.kind == MLIRTokenKind.BYTES_LIT and _is_text(token):
            return Token(MLIRTokenKind.STRING_LIT, token.span)
        return token


def _is_text(token: MLIRToken) -> bool:
    """Whether escaped bytes are UTF-8, as texts that are not ASCII are printed."""
    try:
        StringLiteral.from_span(token.span).bytes_contents.decode()
    except UnicodeDecodeError:
        return False
    return True
