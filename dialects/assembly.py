"""What the hand-written assembly of the `npu` and `tile` dialects shares.

Sizes and offsets are *mixed*: each is an integer or an SSA value. In an operation they
are stored as in `tensor.extract_slice`: an array of integers where `DYNAMIC` means
"the next operand" (see `subscripts.py`). The trailing `: type, type` clause is optional
on input, since each operand is defined before it is used; it is always printed, and
checked where given.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects import subscripts
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.literals import ints, located, print_settings
from pyptoc.dialects.parse_errors import PoisonedError
from pyptoc.dialects.rejected import has_error
from pyptoc.dialects.subscripts import DYNAMIC as DYNAMIC
from pyptoc.dialects.subscripts import INDEX as INDEX
from pyptoc.dialects.subscripts import Mixed as Mixed
from pyptoc.dialects.subscripts import print_mixed as print_one_mixed

IntArray: TypeAlias = DenseArrayBase[IntegerType]

INT_ARRAY = DenseArrayBase.constr(i64)
UNIT = UnitAttr()


# Construction ------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def int_array(values: tuple[int, ...]) -> IntArray:
    """The shared `array<i64: ...>` of these values."""
    return DenseArrayBase.from_list(i64, values)


@lru_cache(maxsize=4096)
def segments(*sizes: int) -> IntArray:
    """The shared `operandSegmentSizes` of these group sizes."""
    return DenseArrayBase.from_list(i32, sizes)


@lru_cache(maxsize=1024)
def int_attr(value: int) -> IntegerAttr[IntegerType]:
    return IntegerAttr(value, i64)


def split_mixed(values: Iterable[Mixed]) -> tuple[list[SSAValue], IntArray]:
    """The operands among `values`, and all of them as a static array."""
    static, operands = subscripts.split_mixed(values)
    return operands, int_array(tuple(static))


def join_mixed(static: IntArray, operands: Sequence[SSAValue]) -> list[Mixed]:
    """The inverse of `split_mixed`."""
    return subscripts.join_mixed(unpack(static.data.data), operands)


@lru_cache(maxsize=4096)
def unpack(data: bytes) -> tuple[int, ...]:
    """The numbers of an integer array; xDSL decodes them anew at each access."""
    return struct.unpack(f"<{len(data) // 8}q", data)


def mixed_sizes(shape: Sequence[int], operands: Sequence[SSAValue]) -> list[Mixed]:
    """The sizes of a shaped type, whose `?` are given by `operands` in order."""
    return subscripts.join_mixed(shape, operands)


def count_dynamic(static: Iterable[int]) -> int:
    return sum(v == DYNAMIC for v in static)


# Parsing -----------------------------------------------------------------------------


def parse_value(parser: Parser) -> SSAValue:
    """`%x`, which must be defined already: its type is not written."""
    value, _ = located(parser).parse_value()
    if has_error(value):
        raise PoisonedError
    return value


def parse_optional_value(parser: Parser) -> SSAValue | None:
    is_value = located(parser).at(MLIRTokenKind.PERCENT_IDENT)
    return parse_value(parser) if is_value else None


def parse_one_mixed(parser: Parser) -> Mixed:
    """`%m` (of type index) or `256`"""
    return subscripts.parse_mixed(located(parser))


def parse_mixed(
    parser: Parser, delimiter: Parser.Delimiter = Parser.Delimiter.SQUARE
) -> list[Mixed]:
    """`[%m, 256]`"""
    return parser.parse_comma_separated_list(delimiter, lambda: parse_one_mixed(parser))


def parse_typed(parser: Parser, keyword: str) -> tuple[list[SSAValue], list[str]]:
    """`keyword(%a, %b : T, T)`, if present: the values and their names."""
    if parser.parse_optional_keyword(keyword) is None:
        return [], []
    values: list[SSAValue] = []
    names: list[str] = []

    def parse_named() -> None:
        start = parser.pos
        values.append(parse_value(parser))
        names.append(located(parser).span_from(start).text)

    with parser.in_parens():
        parser.parse_comma_separated_list(parser.Delimiter.NONE, parse_named)
        parse_types(parser, values)
    return values, names


def parse_types(parser: Parser, operands: Sequence[SSAValue]) -> None:
    """An optional `: T, ...`, the types of `operands`; checked when it is there."""
    if parser.parse_optional_punctuation(":") is None:
        return
    for number, operand in enumerate(operands):
        if number:
            parser.parse_punctuation(",")
        start = parser.pos
        given = parser.parse_type()
        if given != operand.type:
            parser.raise_error(
                f"operand {number} has type {operand.type}, not {given}",
                start,
                parser.pos,
            )


def parse_options(
    parser: Parser, allowed: Iterable[str]
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """An optional `{...}`: the properties among `allowed`, and the other attributes.

    `dims = [0, 1]` becomes the compact integer array in which it is stored.
    """
    given = parser.parse_optional_attr_dict()
    properties: dict[str, Attribute] = {}
    for name in allowed:
        if name in given:
            properties[name] = _compact(given.pop(name))
    return properties, given


def parse_options_before_region(parser: Parser) -> dict[str, Attribute]:
    """An optional `{...}` that stands before the `{` of a region."""
    start = located(parser).token.span.start
    try:
        attributes = parser.parse_optional_attr_dict()
        if located(parser).at(MLIRTokenKind.L_BRACE):
            return attributes
    except (ParseError, CompileError):
        pass
    parser._resume_from(start)  # pyright: ignore[reportPrivateUsage]
    return {}


def _compact(value: Attribute) -> Attribute:
    """A list of integers as it is stored; anything else as it is."""
    found = ints(value)
    return int_array(found) if found else value


# Printing ----------------------------------------------------------------------------


print_mixed = subscripts.print_mixed_list


def print_mixed_items(printer: Printer, values: Iterable[Mixed]) -> None:
    printer.print_list(values, lambda value: print_one_mixed(printer, value))


def print_typed(
    printer: Printer, keyword: str, values: Sequence[SSAValue]
) -> list[str]:
    """What `parse_typed` reads; the names that were printed."""
    names: list[str] = []
    if values:
        printer.print_string(f" {keyword}(")
        printer.print_list(
            values, lambda value: names.append(f"%{printer.print_ssa_value(value)}")
        )
        print_types(printer, values)
        printer.print_string(")")
    return names


def print_types(printer: Printer, operands: Iterable[SSAValue]) -> None:
    if getattr(printer, "short", False):
        return
    printer.print_string(" : ")
    printer.print_list(operands, lambda operand: printer.print_attribute(operand.type))


def print_options(printer: Printer, options: Mapping[str, Attribute]) -> None:
    """`{addr = 0, dims = [1, 0], trans}`, or nothing."""
    print_settings(printer, {key: _as_list(value) for key, value in options.items()})


def _as_list(value: Attribute) -> Attribute:
    if not isinstance(value, DenseArrayBase):
        return value
    return ArrayAttr(int_attr(v) for v in cast(IntArray, value).get_values())


def as_text(value: StringAttr | None) -> str | None:
    return None if value is None else value.data
