"""What is said of a clause that stands where the syntax of its op has none.

    pypto.dequantize %x scales %s zero_point %z axis -1 group 128 to f32
                                                ^^^^ 'axis' stands before 'zero_point'

Clauses have an order, and each is there once. Another word is taken for a slip of one
that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.parse_errors import starts_line

if TYPE_CHECKING:
    from pyptoc.dialects.parsing import LocParser
    from pyptoc.dialects.pypto.call import Call
    from pyptoc.dialects.pypto.syntax import Clause

LOCATION = "loc"
"""The word that is no slip: `loc(..)` stands behind any operation."""


def check_no_clause(
    clauses: Sequence[Clause], call: Call, parser: LocParser, wanted: str = ""
) -> None:
    """
    Raises PTO143 where a clause, or a slip of one, is the next thing in the text.

    clauses: those of the op, in their order. wanted: the one that has to come here.
    """
    token = parser.token
    if token.kind != MLIRTokenKind.BARE_IDENT:
        return
    word, names = token.span.text, [each.keyword for each in clauses]
    given = [each.keyword for each in clauses if _is_read(each, call)]
    if word in given:
        rule = f"{call.short_name} has each clause once"
        error(token.span, "PTO143", f"'{word}' is given twice", rule=rule)
    if word in names:
        behind = names[names.index(word) + 1 :]
        first = next((each for each in behind if each in given), "")
        if first:
            _misplaced(token.span, word, first, names)
        if later := _on_this_line(token.span, wanted):
            _misplaced(later, wanted, word, names)
    elif not starts_line(token.span) and "." not in word and word != LOCATION:
        hint = did_you_mean(word, [each for each in names if each not in given])
        message = f"{call.short_name} has no clause '{word}'"
        if hint:
            error(token.span, "PTO143", message, help=hint)


def check_no_setting(names: Sequence[str], parser: LocParser) -> None:
    """Raises PTO100 where a setting of the op's stands without its braces."""
    token = parser.token
    word = token.span.text
    is_word = token.kind == MLIRTokenKind.BARE_IDENT and not starts_line(token.span)
    if is_word and word in names:
        has_value = parser.text[token.span.end :].lstrip().startswith("=")
        help = f"attributes stand in braces: {{{word}{' = ..' if has_value else ''}}}"
        error(token.span, "PTO100", f"'{word}' cannot follow here", help=help)


def _is_read(clause: Clause, call: Call) -> bool:
    return any(call.has(name) for name in (*clause.properties(), *clause.fields()))


def _on_this_line(span: Span[str], word: str) -> Span[str] | None:
    """Where a clause stands in what is left of a line."""
    text = span.input.content
    end = text.find("\n", span.end)
    rest = re.compile(rf"(?<=\s){re.escape(word)}(?=\s)") if word else None
    found = rest and rest.search(text, span.end, len(text) if end < 0 else end)
    return Span(found.start(), found.end(), span.input) if found else None


def _misplaced(
    span: Span[str], word: str, first: str, names: Sequence[str]
) -> NoReturn:
    error(
        span,
        "PTO143",
        f"'{word}' stands before '{first}'",
        rule=f"the order is {', '.join(names)}",
    )
