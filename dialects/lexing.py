"""MLIR's lexer with a short way for the commonest tokens.

xDSL's lexer goes from character to character in Python and is half the cost of reading
a file. One regular expression finds nearly all tokens; the rest (hexadecimal numbers,
strings with escapes, `...`, letters that are not ASCII) is left to xDSL. What is no
token raises `LexError`, which tells it from an error of the grammar.
"""

from __future__ import annotations

import re
from typing import Any

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRLexer,
    MLIRToken,
    MLIRTokenKind,
    StringLiteral,
)

from pyptoc.dialects.parse_errors import LexError

_MAX_DIGITS = 20
"""Those of 2^64: what is longer is neither a size nor a constant of any type."""

_BLANK = r"(?:[ \t\r\n]+|//[^\n]*(?:\n|\Z))*+"
"""Blanks and comments. Possessive: what was skipped is never tried as a token."""
_SUFFIX = r"(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)"
"""What follows `%`, `#`, `!` or `^`."""
_TOKENS = (
    (MLIRTokenKind.BARE_IDENT, r"[a-zA-Z_][a-zA-Z0-9_$.]*"),
    (None, r"[:,()}\[\]<>=+*?|]|->?|/(?!/)|\{(?!-\#)"),
    (MLIRTokenKind.PERCENT_IDENT, f"%{_SUFFIX}"),
    (MLIRTokenKind.FLOAT_LIT, r"[0-9]++\.[0-9]*(?:[eE][+-]?[0-9]+)?"),
    (MLIRTokenKind.INTEGER_LIT, rf"(?!0x)[0-9]{{1,{_MAX_DIGITS}}}+(?![0-9])"),
    (MLIRTokenKind.EXCLAMATION_IDENT, f"!{_SUFFIX}"),
    (MLIRTokenKind.STRING_LIT, r'"[^"\\\n\v\f]*+"'),
    (MLIRTokenKind.HASH_IDENT, rf"\#(?!-\}}){_SUFFIX}"),
    (MLIRTokenKind.AT_IDENT, r"@[a-zA-Z_][a-zA-Z0-9_$.]*"),
    (MLIRTokenKind.CARET_IDENT, rf"\^{_SUFFIX}"),
)
"""The quick ones, the commonest first; None: the text tells the kind."""
_QUICK = re.compile(_BLANK + f"(?:{'|'.join(f'({text})' for _, text in _TOKENS)})")
_KINDS = (None, *(kind for kind, _ in _TOKENS))
"""By the number of the group."""
_PUNCTUATION: dict[str, MLIRTokenKind] = dict(KIND_BY_PUNCTUATION_SPELLING)


class QuickToken(Token[MLIRTokenKind, str]):
    """A token that keeps its text, and makes its span when somebody wants it."""

    __slots__ = ("end", "input", "start", "text")
    text: str

    def __init__(
        self, kind: MLIRTokenKind, text: str, start: int, end: int, input: Input[str]
    ) -> None:
        self.kind = kind
        self.text = text  # pyright: ignore[reportIncompatibleMethodOverride]
        self.start = start
        self.end = end
        self.input = input

    def __getattr__(self, name: str) -> Any:
        if name != "span":
            raise AttributeError(name)
        is_string = self.text.startswith('"')
        self.span = (StringLiteral if is_string else Span)(
            self.start, self.end, self.input
        )
        return self.span


class QuickLexer(MLIRLexer):
    """See the module."""

    # xDSL's, but possessive: an unclosed string took it time exponential in its length.
    _unescaped_characters_regex = re.compile(
        r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'
    )

    def lex(self) -> QuickToken:
        found = _QUICK.match(self.input.content, self.pos)
        if found is None:
            return self._lex_other()
        group = found.lastindex or 0
        text = found[group]
        self.pos = end = found.end()
        kind = _KINDS[group] or _PUNCTUATION[text]
        return QuickToken(kind, text, end - len(text), end, self.input)

    def _lex_other(self) -> QuickToken:
        try:
            token = super().lex()
        except LexError:
            raise
        except ParseError as failure:
            raise LexError(failure.span, failure.msg) from None
        length = len(token.span)
        if token.kind == MLIRTokenKind.INTEGER_LIT and length > _MAX_DIGITS:
            raise LexError(token.span, f"A number of {length} digits is too long")
        kind, span = token.kind, token.span
        if kind == MLIRTokenKind.BYTES_LIT and _is_text(token):
            kind = MLIRTokenKind.STRING_LIT
        return QuickToken(kind, span.text, span.start, span.end, self.input)


def _is_text(token: MLIRToken) -> bool:
    """Whether escaped bytes are UTF-8, as texts that are not ASCII are printed."""
    try:
        StringLiteral.from_span(token.span).bytes_contents.decode()
    except UnicodeDecodeError:
        return False
    return True
