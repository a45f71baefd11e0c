"""The quick lexer finds the same tokens as xDSL's."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from many import for_each
from xdsl.dialects.builtin import StringAttr
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

import pyptoc
from pyptoc.dialects.lexing import QuickLexer
from pyptoc.dialects.parse_errors import LexError
from pyptoc.printing import module_text

FILES = sorted(Path(__file__).parent.parent.glob("**/*.mlir"))
PIECES = [*'%#@!^ab_1.$-/+:*\n \t\f{}[]()<>=,|?"é', "//", "-> ", "{-#", "#-}", "..."]


def tokens(lexer_class: type[MLIRLexer], text: str) -> list[object]:
    """The tokens of a text, and the error that ends it."""
    lexer = lexer_class(Input(text, "text"))
    found: list[object] = []
    try:
        while not found or found[-1][0] != MLIRTokenKind.EOF:
            token = lexer.lex()
            found.append((token.kind, token.span.start, token.span.end))
    except ParseError as failure:
        found.append((failure.span.start, failure.msg))
    return found


@for_each(FILES)
def test_files(path: Path) -> None:
    text = path.read_text()
    assert tokens(QuickLexer, text) == tokens(MLIRLexer, text)


def test_any_text() -> None:
    choose = random.Random(1)
    for _ in range(5000):
        text = "".join(choose.choice(PIECES) for _ in range(choose.randint(1, 14)))
        assert tokens(QuickLexer, text) == tokens(MLIRLexer, text), repr(text)


def test_long_blanks_before_what_is_no_quick_token() -> None:
    text = " " * 20000 + "// " * 2000 + "\n" + '"text"'
    assert tokens(QuickLexer, text) == tokens(MLIRLexer, text)


@pytest.mark.parametrize("opening", ['"', '@"'])
def test_an_unclosed_string_takes_no_time(opening: str) -> None:
    """xDSL's own expression for strings takes 2^200 steps here."""
    with pytest.raises(LexError):
        QuickLexer(Input(opening + "a" * 200, "text")).lex()


def test_more_digits_than_python_reads() -> None:
    """`int` raises a ValueError for 4300 digits, in the midst of the parser."""
    with pytest.raises(LexError, match="number of 5000 digits"):
        QuickLexer(Input("1" * 5000, "text")).lex()


@pytest.mark.parametrize("text", ["größe", "日本", "\u202e", 'a"\\\n\x1b\x7f'])
def test_texts_are_read_as_they_are_printed(text: str) -> None:
    """xDSL prints what is not ASCII as bytes, and takes these for no text."""
    source = "func.func @f(%x: tensor<4xf32>) {\n  func.return\n}\n"
    module = pyptoc.compile(source, pipeline="").module
    module.attributes["note"] = StringAttr(text)
    again = pyptoc.compile(module_text(module), pipeline="").module
    assert again.attributes["note"] == StringAttr(text)


def test_bytes_stay_bytes() -> None:
    token, _ = tokens(QuickLexer, r'"\FF\C3"')
    assert token[0] == MLIRTokenKind.BYTES_LIT
