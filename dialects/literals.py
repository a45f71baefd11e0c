"""Numbers in the source: parsing, rounding to an element type, printing.

A literal operand is rounded once, to nearest even, to the element type of the tensor
it meets. It prints as the shortest decimal that rounds to the same value, and always
in MLIR's spelling (`1.0e-05`, never `1e-05`); `inf`, `-inf` and `nan` are words.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, TypedAttribute
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.parsing import LocParser


class Number(NamedTuple):
    """A literal as written, before it is rounded."""

    value: int | float
    span: Span[str] | None = None


def located(parser: Parser) -> LocParser:
    """The parser as this package's own, which hand-written formats rely on."""
    if isinstance(parser, LocParser):
        return parser
    # Somebody else's program reads our operations (`pyptoc/universe.py`).
    from pyptoc.dialects.adopted import adopt

    return adopt(parser)


def at_number(parser: LocParser) -> bool:
    """Whether the next token can start a literal."""
    token = parser.token
    if token.kind in (
        MLIRTokenKind.MINUS,
        MLIRTokenKind.INTEGER_LIT,
        MLIRTokenKind.FLOAT_LIT,
    ):
        return True
    return token.kind == MLIRTokenKind.BARE_IDENT and token.span.text in _WORDS


_WORDS = {"inf": math.inf, "nan": math.nan, "true": True, "false": False}


def parse_number(parser: LocParser, what: str = "a number") -> Number:
    """Parse `-1`, `2.0`, `-inf`, `nan`, `true`."""
    start = parser.pos
    negative = parser.parse_optional_punctuation("-") is not None
    token = parser.token
    value: int | float
    if token.kind == MLIRTokenKind.BARE_IDENT and token.span.text in _WORDS:
        value = _WORDS[token.span.text]
        parser.take()
    elif token.kind == MLIRTokenKind.INTEGER_LIT:
        value = parser.parse_integer(allow_negative=False, allow_boolean=False)
    elif token.kind == MLIRTokenKind.FLOAT_LIT:
        value = parser.parse_float(allow_negative=False)
    else:
        parser.raise_error(f"{what} is expected here", token.span)
    if _has_exponent_next(parser):
        parser.raise_error("not a number", parser.token.span)
    return Number(-value if negative else value, parser.span_from(start))


def _has_exponent_next(parser: LocParser) -> bool:
    """Whether the number just read runs on, as in `1e-3`."""
    token = parser.token
    previous = parser.text[token.span.start - 1 : token.span.start]
    return token.kind == MLIRTokenKind.BARE_IDENT and previous.isdigit()


NAME_RULE = (
    "arrays are members of .npz files by their names: 1 to 200 characters, none of "
    "them a slash, a backslash or a control character"
)


def names_an_array(name: str) -> bool:
    """Whether a file may hold an array of this name; see `NAME_RULE`."""
    return 0 < len(name) <= 200 and name.isprintable() and not set(name) & set("/\\")


def parse_integer(parser: LocParser, what: str = "an integer") -> int:
    """Parse an integer literal; a float is an error."""
    number = parse_number(parser, what)
    if not isinstance(number.value, int) or isinstance(number.value, bool):
        parser.raise_error(f"{what} is expected here", number.span)
    if not -(2**63) < number.value < 2**63:  # the least i64 stands for `?`
        error(
            number.span,
            "PTO145",
            f"{number.value} does not fit in 64 bits",
            rule="integers lie between -2^63 and 2^63, which are excluded",
        )
    return number.value


def as_element(number: Number, element: Attribute, what: str) -> Attribute:
    """The literal as a value of an element type; `what` names where it stands."""
    value = number.value
    if isinstance(element, IntegerType | IndexType):
        if isinstance(value, float):
            error(
                number.span,
                "PTO115",
                f"{format_float(value)} in {what} of {element} elements",
                rule="an integer tensor takes only integer literals",
                help=f"write {int(value)}" if value.is_integer() else "",
            )
        if isinstance(element, IntegerType):
            _check_range(number, int(value), cast("IntegerType", element))
        return IntegerAttr(int(value), cast("IntegerType | IndexType", element))
    if isinstance(element, AnyFloat):
        if isinstance(value, bool):
            error(
                number.span,
                "PTO115",
                f"{str(value).lower()} in {what} of {element} elements",
                help=f"write {float(value)}",
            )
        rounded = FloatAttr(float(value), element)
        if math.isinf(rounded.value.data) and not math.isinf(value):
            error(
                number.span,
                "PTO115",
                f"{format_float(value)} does not fit in {element}",
                rule="it would be rounded to inf",
            )
        return rounded
    error(number.span, "PTO115", f"{what} has elements {element}: no literal fits")


def _check_range(number: Number, value: int, element: IntegerType) -> None:
    low, high = element.value_range()
    if element.signedness.data == Signedness.SIGNLESS and element != i1:
        # xDSL also accepts the unsigned reading; this language's i8 is signed.
        high = -low
    if not low <= value < high:
        error(
            number.span,
            "PTO115",
            f"{value} does not fit in {element}",
            rule=f"{element} holds {low} to {high - 1}",
        )


def format_float(value: float, element: AnyFloat = f64) -> str:
    """The shortest decimal that rounds to `value` in the element type."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if math.isnan(value):
        return "nan"
    for digits in (6, 9, 17):
        text = f"{value:.{digits}g}"
        if element.round(float(text)) == value:
            break
    mantissa, _, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def format_literal(attribute: Attribute) -> str:
    """A literal attribute without its type."""
    if isinstance(attribute, FloatAttr):
        real = cast("FloatAttr[AnyFloat]", attribute)
        return format_float(real.value.data, real.type)
    if isinstance(attribute, IntegerAttr):
        if attribute.get_type() == i1:
            return "true" if attribute.value.data else "false"
        return str(attribute.value.data)
    raise TypeError(f"no literal: {attribute}")


STARTS_VALUE = (
    MLIRTokenKind.COLON,
    MLIRTokenKind.STRING_LIT,
    MLIRTokenKind.INTEGER_LIT,
    MLIRTokenKind.FLOAT_LIT,
    MLIRTokenKind.HASH_IDENT,
    MLIRTokenKind.L_SQUARE,
)
"""Behind the name of a setting: the = before its value is missing."""


def parse_setting(parser: LocParser) -> Attribute:
    """The value in `{key = value}`: as MLIR's, with `inf` and `nan`, and lists."""
    if at_number(parser):
        number = parse_number(parser)
        if isinstance(number.value, bool):
            return IntegerAttr.from_bool(number.value)
        default = i64 if isinstance(number.value, int) else f64
        type = parser.parse_type() if parser.parse_optional_punctuation(":") else None
        return as_element(number, type or default, "this attribute")
    if parser.at(MLIRTokenKind.L_SQUARE):
        return ArrayAttr(
            parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parse_setting(parser)
            )
        )
    return parser.parse_attribute()


def print_setting(printer: Printer, value: Attribute) -> None:
    """Print a value that `parse_setting` reads; i64 and f64 go without their type."""
    if isinstance(value, IntegerAttr | FloatAttr):
        type = cast(TypedAttribute, value).get_type()
        printer.print_string(format_literal(cast(Attribute, value)))
        if type not in (i64, f64, i1):
            printer.print_string(" : ")
            printer.print_attribute(type)
    elif (members := items(value)) is not None:
        with printer.in_square_brackets():
            printer.print_list(members, lambda item: print_setting(printer, item))
    else:
        printer.print_attribute(value)


def print_settings(printer: Printer, settings: dict[str, Attribute]) -> None:
    """Print ` {flag, key = value}`, or nothing."""
    if not settings:
        return

    def print_entry(entry: tuple[str, Attribute]) -> None:
        key, value = entry
        printer.print_identifier_or_string_literal(key)
        if not isinstance(value, UnitAttr):
            printer.print_string(" = ")
            print_setting(printer, value)

    printer.print_string(" ")
    with printer.in_braces():
        printer.print_list(settings.items(), print_entry)


def i64_array(values: list[int] | tuple[int, ...]) -> DenseArrayBase:
    """The property form of a list of integers."""
    return DenseArrayBase.from_list(i64, values)


@lru_cache(maxsize=4096)
def ints(attribute: Attribute | None) -> tuple[int, ...]:
    """The integers of a property; none when it is absent."""
    if isinstance(attribute, DenseArrayBase):
        return tuple(int(value) for value in attribute.iter_values())
    found = items(attribute) or ()
    return tuple(item.value.data for item in found if isinstance(item, IntegerAttr))


def items(attribute: Attribute | None) -> tuple[Attribute, ...] | None:
    """The members of an array attribute; None for anything else."""
    if not isinstance(attribute, ArrayAttr):
        return None
    return cast("ArrayAttr[Attribute]", attribute).data
