"""What the author left out or misspelt, seen from the token where reading stopped.

`parse_errors.py` says what the grammar expects there. Here are the mistakes behind it
that are told by what stands around: a comma between two values, a value without its %,
attributes without their braces, types without the arrow before them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

from pyptoc.dialects.diagnostics import Diagnostic, error, location_of
from pyptoc.dialects.near import nearest
from pyptoc.dialects.parse_errors import name_position, starts_statement

if TYPE_CHECKING:
    from pyptoc.dialects.parsing import LocParser

_OPERAND = re.compile(r"(?:%[\w.$-]+(?:#\d+)?|[\w.]*\d)[ \t]+$")
"""A value or a number, and the blanks behind it."""
_NUMBERS = (MLIRTokenKind.INTEGER_LIT, MLIRTokenKind.FLOAT_LIT)
_LIST_GOES_ON = re.compile(r"^'[,)\]}>]' is expected|^',' or ")
_LIST_ENDS = re.compile(r"^'[)\]}>]' is expected at the end of this line$")
_RETURN = re.compile(r"\breturn %[^\n:]*$")
_UNFINISHED = re.compile(r"is expected here$|cannot follow here$")
_MISSING_BODY = "a body { ... } is expected"
_OUTER = ("func.func", "builtin.module", "module")
"""What stands in a module, and so behind a function."""


def hinted(found: Diagnostic, parser: LocParser) -> Diagnostic:
    """The diagnostic of the operation that is being read, with what it comes from."""
    token = parser.token
    if (comma := _missing_comma(found, token)) is not None:
        return comma
    if _ends_early(found, token):
        return replace(found, message="a comma is missing at the end of this line")
    text, at = parser.text, parser.statement
    if (
        text.startswith("%", at)
        and name_position(text, at) == at
        and _follows(text, at)
    ):
        value = re.compile(r"%[\w.$-]+").match(text, at)
        assert value is not None
        span = Span(at, value.end(), token.span.input)
        message = f"'{span.text}' cannot follow here"
        return Diagnostic("PTO100", message, location_of(span), len(span))
    if found.code != "PTO100" or not _UNFINISHED.search(found.message):
        return found
    if found.location != location_of(token.span):
        return found
    help = _help(found.message, token, parser)
    return replace(found, help=help or found.help)


def lacks_body(found: Diagnostic) -> bool:
    """Whether the { is missing, so that what follows is the body."""
    return found.message.startswith(_MISSING_BODY)


def has_no_body(name: str, token: MLIRToken) -> bool:
    """Whether what follows a function without a body can only be its body."""
    is_value = token.kind == MLIRTokenKind.PERCENT_IDENT
    is_op = token.kind == MLIRTokenKind.BARE_IDENT and token.span.text not in _OUTER
    return name == "func.func" and (is_value or is_op) and starts_statement(token)


def _missing_comma(found: Diagnostic, token: MLIRToken) -> Diagnostic | None:
    """Two operands side by side, where there is room for both."""
    source = token.span.input
    before = source.content[: token.span.start]
    operand = None
    if token.kind == MLIRTokenKind.PERCENT_IDENT:
        # Behind the operands of a return stand their types.
        returns = found.message.startswith("':'") and _RETURN.search(before)
        goes_on = _LIST_GOES_ON.search(found.message)
        if found.code == "PTO116" or goes_on or returns:
            operand = _OPERAND.search(before)
    elif token.kind in _NUMBERS and found.code == "PTO116":
        operand = _OPERAND.search(before)
    if operand is None:
        return None
    first = operand[0].rstrip()
    gap = operand.start() + len(first)
    return Diagnostic(
        "PTO100",
        f"a comma is missing between {first} and {token.span.text}",
        location_of(Span(gap, gap + 1, source)),
        help=found.help if found.code == "PTO116" else "",
    )


def _ends_early(found: Diagnostic, token: MLIRToken) -> bool:
    """Whether the next line goes on with a list that a bracket would close here."""
    if not _LIST_ENDS.search(found.message) or starts_statement(token):
        return False
    is_type = token.span.input.content.startswith("tensor<", token.span.start)
    return is_type or token.kind == MLIRTokenKind.PERCENT_IDENT


def _help(message: str, token: MLIRToken, parser: LocParser) -> str:
    text, word = parser.text, token.span.text
    if message.endswith("cannot follow here"):
        return _help_following(token.span, parser)
    if token.kind in _NUMBERS and text.startswith("scf.", _name_at(parser)):
        return "scf takes values, as arith.constant makes them; pypto.for takes numbers"
    if token.kind != MLIRTokenKind.BARE_IDENT:
        return ""
    if message.startswith("an argument such as"):
        return f"write %{word}"
    is_named = re.match(r"\s*=(?!=)", text[token.span.end :])
    if is_named and message.startswith("',' or ')'"):
        return f"attributes stand in braces: {{{word} = ..}}"
    if message.startswith("an attribute is"):
        if text.startswith("(", token.span.end):
            return f"names of functions begin with @: @{word}"
        return f'a text stands in double quotes: "{word}"'
    if _RETURN.search(text[: token.span.start].rstrip(" ,")):
        return "types stand behind a colon: func.return %x : tensor<..>"
    if word in parser.ssa_values and message.startswith("a value"):
        return f"did you mean %{word}?"
    return ""


def _name_at(parser: LocParser) -> int:
    """Where the name of the operation stands that is being read."""
    return name_position(parser.text, parser.statement)


def _follows(text: str, position: int) -> bool:
    """Whether what begins there stands behind an operation on the same line."""
    before = text[text.rfind("\n", 0, position) + 1 : position].strip()
    return bool(before) and before[-1] not in "={:"


def _help_following(span: Span[str], parser: LocParser) -> str:
    """Help for what stands behind a complete operation."""
    text = parser.text
    before = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    if re.search(r"\bfunc\.func\b", before) and before.rstrip().endswith(")"):
        return "the types of the results stand behind ->, then the body in { }"
    if span.text == "->":
        return "types stand behind a colon: tensor<..> -> tensor<..>"
    if re.match(r"\s*=(?!=)", text[span.end :]):
        return f"attributes stand in braces: {{{span.text} = ..}}"
    return f"did you mean %{span.text}?" if span.text in parser.ssa_values else ""


def check_begins(name: str, span: Span[str], parser: LocParser) -> None:
    """PTO100 for a word that is no operation, but a slip of what was meant."""
    if "." in name:
        return
    if _follows(parser.text, span.start):
        help = _help_following(span, parser)
        error(span, "PTO100", f"'{name}' cannot follow here", help=help)
    if parser.at(MLIRTokenKind.EQUAL):
        help = f"write %{name} = .."
        error(span, "PTO100", "the name of a value begins with %", help=help)


def undefined(parser: LocParser, span: Span[str]) -> NoReturn:
    """PTO103, PTO106 or PTO100 for an operand that nothing defines."""
    name = span.text[1:]
    if starts_statement(MLIRToken(MLIRTokenKind.PERCENT_IDENT, span)):
        end = len(parser.text[: span.start].rstrip())
        error(
            Span(end - 1, end, span.input),
            "PTO100",
            "an operand is missing after this",
        )
    head = name.split("-", 1)[0]
    if "-" in name and (head in parser.ssa_values or head == ""):
        spaced = f"%{name}".replace("-", " - ")
        error(
            span,
            "PTO106",
            f"{span.text} is not defined: - is a letter of names here",
            help=f"write {spaced} (operators need spaces)",
        )
    hint, near = "", nearest(name, parser.ssa_values)
    ended = [value for value, known in parser.names.items() if known == name]
    if ended:
        place = parser.place_of(ended[-1])
        hint = f"it ended with the body it is in ({place}), which can hand it on"
    elif near is not None:
        place = parser.place_of(parser.ssa_values[near][0])
        hint = f"did you mean %{near} ({place})?" if place else f"did you mean %{near}?"
    error(span, "PTO103", f"{span.text} is not defined here", help=hint)
