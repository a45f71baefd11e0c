"""xDSL's parser with short ways for what it does at each token, and for types.

What the methods do is xDSL's; these are as many steps shorter as they are often called.
Types are the greater part of a file's text, and a file writes the same few again and
again: each is read once. Aliases are not: these are names, not types.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, TypeAttribute
from xdsl.parser import Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind, PunctuationSpelling

from pyptoc.dialects.lexing import QuickLexer, QuickToken

_T = TypeVar("_T")

# A member of an enumeration takes as long as a call where it is looked up in the class.
_BARE, _INTEGER, _MINUS, _EXCLAMATION = (
    MLIRTokenKind.BARE_IDENT,
    MLIRTokenKind.INTEGER_LIT,
    MLIRTokenKind.MINUS,
    MLIRTokenKind.EXCLAMATION_IDENT,
)
_DELIMITERS = {each: each.value or ("", "") for each in Parser.Delimiter}

_PLAIN = r'(?:[^<>#!"/\\\n-]|->|-|"[^"\\\n]*")*+'
"""Within brackets: no alias and no comment."""
_TYPE = re.compile(
    rf"(?:tensor|memref|vector|![a-z_]\w*+\.[\w.]++)<{_PLAIN}(?:<{_PLAIN}>{_PLAIN})*+>"
    r"|(?:index|[if][0-9]\w*+|bf16)(?![\w.$<])"
)
"""A type that can be told from its text alone."""
_BUILTIN: dict[str, TypeAttribute] = {}
"""Those that do not depend on which dialects there are, of all files."""
_MOST_TYPES = 4096

_PLAIN_INTEGER = re.compile(r"[0-9]++(?=[,\]}])")
"""An attribute of type i64: its type would follow."""


@lru_cache(maxsize=1024)
def _integer(value: int) -> Attribute:
    return IntegerAttr(value, i64)


class QuickParser(Parser):
    """See the module."""

    text: str
    """The whole source."""

    def __init__(self, ctx: Context, text: str, filename: str) -> None:
        super().__init__(ctx, "", filename)
        self.text = text
        self._types: dict[str, TypeAttribute] = {}
        """Those of dialects."""
        self._parser_state = ParserState(QuickLexer(Input(text, filename)))

    def parse_optional_type(self) -> TypeAttribute | None:
        state = self._parser_state
        token = state.current_token
        if token.kind is not _BARE and token.kind is not _EXCLAMATION:
            return super().parse_optional_type()
        written = _TYPE.match(self.text, self.pos)
        if written is None:
            return super().parse_optional_type()
        types = _BUILTIN if token.kind is _BARE else self._types
        known = types.get(written[0])
        if known is None:
            known = super().parse_optional_type()
            between = self.text[written.end() : self.pos]
            if known is not None and not between.strip():
                if len(types) >= _MOST_TYPES:
                    types.clear()
                types[written[0]] = known
            return known
        state.lexer.pos = written.end()
        state.current_token = state.lexer.lex()
        return known

    def _parse_optional_builtin_attr(self) -> Attribute | None:
        if self._parser_state.current_token.kind is _INTEGER:
            plain = _PLAIN_INTEGER.match(self.text, self.pos)
            if plain is not None:
                self._consume_token()
                return _integer(int(plain[0]))
        return super()._parse_optional_builtin_attr()

    # -- tokens

    @property
    def token(self) -> QuickToken:
        """The next token, not yet consumed."""
        return cast(QuickToken, self._parser_state.current_token)

    @property
    def pos(self) -> int:
        return cast(QuickToken, self._parser_state.current_token).start

    def span_from(self, start: int) -> Span[str]:
        """From `start` to the end of the last token consumed."""
        text = self.text
        end = self.pos
        while end > start and text[end - 1].isspace():
            end -= 1
        return Span(start, end, self.lexer.input)

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> MLIRToken:
        state = self._parser_state
        token = state.current_token
        assert expected_kind is None or token.kind is expected_kind
        state.current_token = state.lexer.lex()
        return token

    def _parse_optional_token(self, expected_kind: MLIRTokenKind) -> MLIRToken | None:
        state = self._parser_state
        token = state.current_token
        if token.kind is not expected_kind:
            return None
        state.current_token = state.lexer.lex()
        return token

    def parse_optional_characters(self, text: str) -> str | None:
        state = self._parser_state
        if state.current_token.text != text:
            return None
        state.current_token = state.lexer.lex()
        return text

    def parse_optional_punctuation(
        self, punctuation: PunctuationSpelling
    ) -> PunctuationSpelling | None:
        # No token of another kind has such a text.
        state = self._parser_state
        if state.current_token.text != punctuation:
            return None
        state.current_token = state.lexer.lex()
        return punctuation

    def parse_punctuation(
        self, punctuation: PunctuationSpelling, context_msg: str = ""
    ) -> PunctuationSpelling:
        if self.parse_optional_punctuation(punctuation) is None:
            self.raise_error(f"Expected '{punctuation}'{context_msg}")
        return punctuation

    def parse_optional_keyword(self, keyword: str) -> str | None:
        state = self._parser_state
        token = state.current_token
        if token.kind is not _BARE or token.text != keyword:
            return None
        state.current_token = state.lexer.lex()
        return keyword

    def parse_optional_integer(
        self, allow_boolean: bool = True, allow_negative: bool = True
    ) -> int | None:
        token = self._parser_state.current_token
        if token.kind is not _INTEGER:
            return super().parse_optional_integer(allow_boolean, allow_negative)
        text = self._consume_token().text
        return int(text, 16 if text[:2] in ("0x", "0X") else 10)

    # -- lists

    def parse_list(
        self,
        delimiter: Parser.Delimiter,
        parse: Callable[[], _T],
        separator: str = ",",
        context_msg: str = "",
    ) -> list[_T]:
        left, right = _DELIMITERS[delimiter]
        if left:
            self.parse_characters(left, context_msg)
            if self.parse_optional_characters(right) is not None:
                return []
        elements = [parse()]
        while self.parse_optional_characters(separator) is not None:
            elements.append(parse())
        if right:
            self.parse_characters(right, context_msg)
        return elements

    def parse_optional_comma_separated_list(
        self,
        delimiter: Parser.Delimiter,
        parse: Callable[[], Any],
        context_msg: str = "",
    ) -> list[Any] | None:
        left = _DELIMITERS[delimiter][0]
        if not left or self._parser_state.current_token.text != left:
            return super().parse_optional_comma_separated_list(
                delimiter, parse, context_msg
            )
        return self.parse_list(delimiter, parse, ",", context_msg)
