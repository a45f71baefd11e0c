"""Turns what xDSL's parser complains about into diagnostics that say what to write.

xDSL reports where it got stuck. The author's mistake often lies a few characters
before: a number such as `1e-3`, a `%` meant as modulo, `%a-1` read as one name. These
are recognised in the source text around the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn

from xdsl.context import Context
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

from pyptoc.dialects.diagnostics import Diagnostic, error, location_of
from pyptoc.dialects.near import did_you_mean, nearest
from pyptoc.dialects.other_names import OTHER_NAMES
from pyptoc.dialects.words import counted

_PYTHON_FLOAT = re.compile(r"(?<![\w.%@#!$])\d+[eE][+-]?\d+")
_BARE_POINT = re.compile(r"(?<![\w.)\]])\.\d+([eE][+-]?\d+)?")
_TOKEN = re.compile(r"[%#@!]?[\w.$]+|\S")
_QUOTED = re.compile(r"^undefined symbol alias '(.+)'|^'(.+)' is not registered")
NO_OPERATION = "an operation is expected here"
"""Also what is said of a brace too many."""
_KNOWN = {"Could not parse entire input!": NO_OPERATION}
_RESULTS = re.compile(r"Operation has (\d+) results, but was given (\d+) to bind")
_RETURN = re.compile(r"\breturn [^\n:]*$")
_CLOSING = re.compile(r"'[)\]}>]' is expected here")
_ITEM = re.compile(r"[\w%#!\"@]|-\d")
"""How an item of a list begins; a comma may be missing before it."""
_EXPECTED = re.compile(r"Expected ('.+?')|('.+?') expected$")
_FLOATS = ("f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E8M0FNU")
ATTRIBUTES = ("pypto.cube", "pypto.vec", "pypto.tiles", "pypto.tol", "pypto.data")
"""The attributes with a syntax of their own that a program may name."""
ELEMENTS = (*_FLOATS, "i8", "ui8", "i16", "i32", "i64", "i1")
"""The element types of tensors, as they are written."""
_CLEARER = {
    "Expected shape type.": "a size, ? or an element type is expected here",
    "string literal expected": "a text in quotes is expected here",
    "type expected": "a type is expected here",
    "attribute expected": "an attribute is expected here",
    "operand expected": "a value such as %x is expected here",
    "Expected region!": "a body { ... } is expected here",
    "Expected integer literal": "an integer is expected here",
    "Expected an integer literal or `?`": "a size or ? is expected here",
    "Expected SSA value tuple size": "the number of results is expected here",
    "operation name expected": "the name of an operation is expected here",
    "expect symbol name": "a name such as @f is expected here",
    "Expected argument or type": "an argument such as %x: tensor<..> is expected here",
    "identifier or string literal expected": "the name of a setting is expected here",
    "Expected bare-id or string-literal here as part of attribute entry!": (
        "the name of an attribute is expected here"
    ),
}


_QUOTES = "'`"
"""What is taken for a double quote."""
_LETTERS = "names have letters a to z and A to Z, digits, _, $, . and -"
_QUOTED_TEXT = 'a text stands in double quotes: "text"'
_FOREIGN_HELP = {
    **dict.fromkeys("\u2018\u2019\u201c\u201d", _QUOTED_TEXT),
    **dict.fromkeys("\u00a0\u2007\u202f\u3000", "write a plain blank"),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", "leave out what is not seen"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "write -"),
    "\u2192": "write ->",
    "\u00d7": "write x in a type, * in an expression",
}
"""What is meant by characters that come with text from documents."""
_NAME = r"%[\w.$-]+(?::\d+)?"
_TARGETS = re.compile(rf"{_NAME}(?:\s*,\s*{_NAME})*\s*=\s*(?=[\"A-Za-z_])")
"""`%a, %b = ` before the name of an operation."""


def name_position(text: str, start: int) -> int:
    """Where the name of the operation stands whose text begins at `start`."""
    targets = _TARGETS.match(text, start)
    return start if targets is None else targets.end()


def starts_line(span: Span[str]) -> bool:
    """Whether only blanks stand before it on its line."""
    text = span.input.content
    return not text[text.rfind("\n", 0, span.start) + 1 : span.start].strip()


def starts_statement(token: MLIRToken) -> bool:
    """Whether a token is the first of its line and begins `%x, .. =` or `a.b`."""
    text, start = token.span.input.content, token.span.start
    if not starts_line(token.span):
        return False
    if token.kind == MLIRTokenKind.BARE_IDENT:
        return "." in token.span.text
    if token.kind != MLIRTokenKind.PERCENT_IDENT:
        return False
    return name_position(text, start) != start


_NOT_READ = re.compile(r'"[^"\n]*"|//.*')
"""Texts and comments: what braces in them say nothing about."""


def bare_target(token: MLIRToken) -> Span[str] | None:
    """The name of a value that lacks its %: `a` of `a = ..`, first on its line."""
    follows = re.compile(r"\s*=(?!=)").match(token.span.input.content, token.span.end)
    is_name = token.kind == MLIRTokenKind.BARE_IDENT and starts_line(token.span)
    return token.span if is_name and follows else None


def closes_nothing(brace: MLIRToken) -> bool:
    """Whether a } of a rejected operation closes no body.

    Something stands before it on its line, but no {, and the text has too many }.
    """
    text, start = brace.span.input.content, brace.span.start
    before = text[text.rfind("\n", 0, start) + 1 : start]
    if not before.strip() or before.count("{") > before.count("}"):
        return False
    read = _NOT_READ.sub("", text)
    return read.count("}") > read.count("{")


def line_end(failure: ParseError) -> int | None:
    """Where its line ends; None if a body begins or ends in what is left of that."""
    span, text = failure.span, failure.span.input.content
    assert isinstance(text, str)
    end = text.find("\n", span.start)
    rest = text[span.start : end].partition("//")[0]
    return None if end < 0 or rest.count("{") != rest.count("}") else end


class LexError(ParseError):
    """The text holds something that is no token: what follows on its line is lost."""


class PoisonedError(Exception):
    """An operand comes from an operation that was rejected: say nothing more."""


def diagnose(error: ParseError) -> Diagnostic:
    """The diagnostic for a parse error of xDSL or of this package."""
    source = error.span.input
    assert isinstance(source.content, str)
    text, start = source.content, error.span.start
    if (found := _bad_number(text, start)) is not None:
        first, last, written = found
        return Diagnostic(
            "PTO101",
            f"'{text[first:last]}' is not an MLIR number",
            location_of(Span(first, last, Input(text, source.name))),
            last - first,
            help=f"write {written} (a float literal needs a digit, then a point)",
        )
    length = error.span.end - start
    here = Span(start, error.span.end, Input(text, source.name))
    if isinstance(error, LexError) or not text[start : start + 1].isascii():
        return _lexical(error, here)
    message = error.msg.splitlines()[0] if error.msg else "cannot be parsed"
    known = _KNOWN.get(message)
    if (counts := _RESULTS.match(message)) is not None:
        results, names = int(counts[1]), int(counts[2])
        known = f"{counted(results, 'result')}, but {names} before the ="
    is_type = message in ("Expected shape type.", "type expected")
    if is_type and (unknown := _unknown_type(here, message)) is not None:
        return unknown
    message, near = _clearer(message), ""
    goes_on = end_before(text, start) is None and _ITEM.match(text, start)
    if goes_on and _CLOSING.fullmatch(message):
        message = f"',' or {message}"
    if known is None and (end := end_before(text, start)) is not None:
        # What is missing belongs at the end of the line before.
        start, length = end - 1, 1
        message = f"{message} at the end of this line".replace(" here at", " at")
    elif text.startswith("=", start) and _starts_line(text, start):
        known = "a new operation begins here, the one before it is not complete"
        start, length = text.rfind("\n", 0, start) + 1, 1
        start += len(text[start:]) - len(text[start:].lstrip())
    elif (quoted := _QUOTED.search(message)) is not None:
        # xDSL has read past the word it complains about.
        word = quoted[1] or quoted[2]
        at = text.rfind(word, 0, start)
        start, length = (start, 1) if at < 0 else (at, len(word))
        message, near = f"there is no {word}", did_you_mean(word, ATTRIBUTES, "#")
    if length == 0:
        token = _TOKEN.match(text, start)
        length = len(token.group()) if token else 1
    place = location_of(Span(start, start + length, Input(text, source.name)))
    help = near
    if "':' is expected" in message and _RETURN.search(text, 0, start + 1):
        help = "write the types: func.return %x, %y : tensor<..>, tensor<..>"
    if message.startswith("'x' is expected"):
        help = "sizes and the element type are joined by x: tensor<4x8xf32>"
    return Diagnostic("PTO100", known or message, place, max(length, 1), help=help)


def _starts_line(text: str, start: int) -> bool:
    """Whether only the results of an operation stand before it on the line."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return re.fullmatch(rf"\s*{_NAME}(?:\s*,\s*{_NAME})*\s*", before) is not None


def _unknown_type(span: Span[str], message: str) -> Diagnostic | None:
    """A word that names no type, with the nearest that does."""
    text = span.input.content
    word = re.compile(r"[A-Za-z_]\w*").match(text, span.start)
    if word is None or end_before(text, span.start) is not None:
        return None
    what, known = "type", (*ELEMENTS, "index", "tensor")
    if message == "Expected shape type.":
        what, known = "element type", ELEMENTS
    return Diagnostic(
        "PTO100",
        f"there is no {what} {word[0]}",
        location_of(Span(word.start(), word.end(), span.input)),
        len(word[0]),
        rule=f"{what}s are {', '.join(known)}",
        help=did_you_mean(word[0], known),
    )


def _clearer(message: str) -> str:
    """xDSL's message in our words: what is expected, in lower case."""
    if message in _CLEARER:
        return _CLEARER[message]
    if (found := _EXPECTED.match(message)) is not None:
        return f"{found[1] or found[2]} is expected here"
    return message


def end_before(text: str, position: int) -> int | None:
    """If `position` is the first thing on its line: the end of the text before it."""
    line_start = text.rfind("\n", 0, position) + 1
    if line_start == 0 or text[line_start:position].strip():
        return None
    lines = text[:line_start].split("\n")
    end = line_start
    for line in reversed(lines):
        code = line.partition("//")[0].rstrip()
        if code:
            return end - len(line) + len(code)
        end -= len(line) + 1
    return None


def _lexical(error: ParseError, span: Span[str]) -> Diagnostic:
    text, start = span.input.content, span.start
    char = text[start : start + 1]
    message, help = error.msg[:1].lower() + error.msg[1:], ""
    code = "PTO102"
    following = text[start + 1 : start + 2]
    if char == "%" and not following.isascii():
        message, help = f"{_foreign(following)} in a name", _LETTERS
    elif char.isalpha() and not char.isascii():
        message, help = f"{_foreign(char)} in a name", _LETTERS
    elif text.startswith("%%", start):
        name = re.compile(r"%+([\w.$-]*)").match(text, start)
        message = "the name of a value begins with one %"
        help = f"write %{name[1]}" if name is not None and name[1] else ""
    elif char == "%":
        code = "PTO107"
        message = "% is not an operator: it starts the name of a value"
        help = "for the remainder write %a mod %b"
    elif not char.isascii():
        message, help = _foreign(char)
    elif text.startswith("!=", start):
        code, message, help = "PTO107", "there is no operator !=", "write ne"
    elif char == '"':
        message = "this string does not end on its line"
    elif text.startswith("```", start):
        help = "leave out the fence of Markdown"
    elif char in _QUOTES:
        help = _QUOTED_TEXT
    elif char == ";":
        help = "nothing ends an operation but the end of its line"
    elif char == "#" and text[start + 1 : start + 2].isspace():
        message, help = f"a name is expected after {char}", "comments begin with //"
    elif char in ("#", "!", "^", "@"):
        message = f"a name is expected after {char}"
    return Diagnostic(code, message, location_of(span), max(len(span), 1), help=help)


def _foreign(char: str) -> tuple[str, str]:
    """
    `unexpected character U+00A0 (NO-BREAK SPACE)`: some cannot be seen; and the help.

    What is an ASCII character of another width is meant for it.
    """
    import unicodedata  # only here, and large

    name = unicodedata.name(char, "")
    shown = f" ({name})" if name else ""
    seen = f" {char}" if char.isprintable() else ""
    plain = unicodedata.normalize("NFKC", char)
    help = f"write {plain}" if plain.isascii() and plain.strip() else ""
    message = f"unexpected character{seen} U+{ord(char):04X}{shown}"
    return message, _FOREIGN_HELP.get(char, help)


def _bad_number(text: str, position: int) -> tuple[int, int, str] | None:
    """A number in Python's spelling that begins or ends at `position`."""
    first = text.rfind("\n", 0, position) + 1
    last = text.find("\n", position)
    line = text[first : last if last >= 0 else len(text)]
    for pattern, repair in ((_PYTHON_FLOAT, _with_point), (_BARE_POINT, _with_zero)):
        for match in pattern.finditer(line):
            if match.start() <= position - first <= match.end():
                return first + match.start(), first + match.end(), repair(match[0])
    return None


def _with_point(number: str) -> str:
    digits, exponent = re.split("[eE]", number, maxsplit=1)
    return f"{digits}.0e{exponent}"


def _with_zero(number: str) -> str:
    return f"0{number}"


def no_such_operation(context: Context, name: str, span: Span[str]) -> NoReturn:
    """PTO105 for an operation, or a dialect, that is not known."""
    for own in ("func", "pypto"):
        context.get_optional_dialect(own)
    dialect, _, _ = name.partition(".")
    names = sorted(context.registered_dialect_names)
    if "." in name and context.get_optional_dialect(dialect) is None:
        error(
            span,
            "PTO105",
            f"there is no dialect '{dialect}'",
            rule=f"operations come from {', '.join(names)}",
            help=did_you_mean(dialect.lower(), names),
        )
    known_ops = [op.name for op in context.loaded_ops]
    if name in names and f"{name}.{name}" not in known_ops:
        hint = f"{name} is a dialect; its operations are {name}.NAME"
    else:
        hint = _meant(name, known_ops)
    error(span, "PTO105", f"there is no operation {name}", help=hint)


def _meant(name: str, known: list[str]) -> str:
    """A help text with what `dialect.end`, or an end alone, was perhaps meant to be."""
    dialect, dot, end = name.rpartition(".")
    if dialect in ("", "pypto") and end in OTHER_NAMES:
        return f"did you mean {OTHER_NAMES[end]}?"
    # What stands before the end is right, and makes no two names alike. Without it an
    # operation of an operator is meant, whatever else the file has loaded by then.
    for starts in (f"{dialect}.",) if dot else (("pypto.", "func."), ""):
        within = [each for each in known if each.startswith(starts)]
        ends = {each.rpartition(".")[2]: each for each in reversed(within)}
        near = nearest(end, ends) or _begins(end, ends)
        if near:
            return f"did you mean {ends[near]}?"
    return ""


def _begins(end: str, known: Iterable[str]) -> str:
    """The longest name that another one begins with: `mul` of `multiply`."""
    return max((each for each in known if end.startswith(each)), key=len, default="")
