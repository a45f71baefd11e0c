"""Attributes and types of the `npu` dialect, around plain Python facts.

    !npu.events                                     a set of tasks that were launched
    #npu.max<16, 256>                               a bound for each dimension
    #npu.expr<min(16, s0 - 16 * d0)>                an integer expression
    #npu.access<read, buffer = 0, [16 * d0, 0] [16, 512], exact>
    #npu.select<[4 * d0 : 4 * d0 + 4, *]>           which tasks a launch waits for

In expressions `s0, s1, ..` are the scalars of the operation (its operands) and
`d0, d1, ..` its grid indices. In the assembly of an operation they have their names.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeAlias

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Data,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    TypeAttribute,
)
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRTokenKind
from xdsl.utils.str_enum import StrEnum

from pyptoc.dialects.expr import Compare, Expr, ExprSyntaxError, parse_expr
from pyptoc.dialects.record import record

Names: TypeAlias = Callable[[Hashable], str]
"""How a symbol is written."""

Symbols: TypeAlias = Callable[[str], Expr]
"""What a written name means."""


class Unit(StrEnum):
    """What executes a task: a cube core, a vector core, or both together."""

    CUBE = "cube"
    VECTOR = "vector"
    MIXED = "mixed"


@irdl_attr_definition
class UnitKindAttr(EnumAttribute[Unit], SpacedOpaqueSyntaxAttribute):
    name = "npu.unit"


UNITS = {unit: UnitKindAttr(unit) for unit in Unit}


@irdl_attr_definition
class EventsType(ParametrizedAttribute, TypeAttribute):
    """A set of launched tasks, to wait for."""

    name = "npu.events"


EVENTS = EventsType()


@irdl_attr_definition
class MaxAttr(Data[tuple[int, ...]]):
    """A static upper bound for each dimension, in the encoding of a tensor type."""

    name = "npu.max"

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__(tuple(sizes))

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.data

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, ...]:
        return tuple(
            parser.parse_comma_separated_list(
                parser.Delimiter.ANGLE,
                lambda: parser.parse_integer(allow_boolean=False, allow_negative=False),
            )
        )

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(map(str, self.data)))


# Expressions -------------------------------------------------------------------------

_COMPARE_WORDS = {"==": "eq", "ne": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_COMPARES = {word: op for op, word in _COMPARE_WORDS.items()}


class ParserTokens:
    """The tokens of an xDSL parser, as the expression parser reads them."""

    def __init__(self, parser: AttrParser) -> None:
        self._parser = parser

    def peek(self) -> str | None:
        token = self._parser._current_token  # pyright: ignore[reportPrivateUsage]
        return None if token.kind == MLIRTokenKind.EOF else token.text

    def take(self) -> str:
        parser = self._parser
        token = parser._consume_token()  # pyright: ignore[reportPrivateUsage]
        following = parser._current_token  # pyright: ignore[reportPrivateUsage]
        if (
            token.kind == MLIRTokenKind.PERCENT_IDENT
            and following.kind == MLIRTokenKind.HASH_IDENT
        ):
            parser._consume_token()  # pyright: ignore[reportPrivateUsage]
            return token.text + following.text
        return token.text


def parse_infix(parser: AttrParser, symbol: Symbols = Expr.sym) -> Expr:
    """An integer expression in the text; it ends before what cannot continue it."""
    start = parser.pos
    try:
        return parse_expr(ParserTokens(parser), symbol)
    except ExprSyntaxError as failure:
        parser.raise_error(str(failure), start, parser.pos)


def parse_infix_list(parser: AttrParser, symbol: Symbols) -> tuple[Expr, ...]:
    """`[16 * d0, 0]`"""
    return tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parse_infix(parser, symbol)
        )
    )


@irdl_attr_definition
class ExprAttr(Data[Expr | Compare]):
    """An integer expression, or a compare of two, over `s0, ..` and `d0, ..`.

    A compare is written with `eq ne lt le gt ge`, since `>` ends an attribute.
    """

    name = "npu.expr"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Expr | Compare:
        with parser.in_angle_brackets():
            lhs = parse_infix(parser)
            word = parser.parse_optional_keyword_in(_COMPARES)
            if word is None:
                return lhs
            return Compare(_COMPARES[word], lhs, parse_infix(parser))

    def print_parameter(self, printer: Printer) -> None:
        value = self.data
        if isinstance(value, Compare):
            word = _COMPARE_WORDS[value.op]
            text = f"{value.lhs.to_string()} {word} {value.rhs.to_string()}"
        else:
            text = value.to_string()
        with printer.in_angle_brackets():
            printer.print_string(text)


# Accesses ----------------------------------------------------------------------------


class AccessMode(StrEnum):
    """What a task does with a box. Accumulating tasks may go in any order."""

    READ = "read"
    WRITE = "write"
    ACCUMULATE = "accumulate"


def _list_text(expressions: Iterable[Expr], name: Names) -> str:
    return "[" + ", ".join(e.to_string(name) for e in expressions) + "]"


@record
class Access:
    """The box of a buffer that one task touches, by its grid indices and scalars.

    Not `exact`: data decides, and the box holds everything that may be touched.
    """

    mode: AccessMode
    buffer: int
    """Position among the buffers of the operation."""
    lo: tuple[Expr, ...]
    size: tuple[Expr, ...]
    exact: bool = True

    def symbols(self) -> tuple[Hashable, ...]:
        found = (key for e in (*self.lo, *self.size) for key in e.symbols())
        return tuple(dict.fromkeys(found))

    def box_text(self, name: Names = str) -> str:
        """`[16 * d0, 0] [16, 512]`"""
        return f"{_list_text(self.lo, name)} {_list_text(self.size, name)}"

    @property
    def writes(self) -> bool:
        return self.mode != AccessMode.READ


@irdl_attr_definition
class AccessAttr(Data[Access]):
    """One `Access`: `#npu.access<read, buffer = 0, [16 * d0] [16], exact>`."""

    name = "npu.access"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Access:
        with parser.in_angle_brackets():
            mode = parser.parse_str_enum(AccessMode)
            parser.parse_punctuation(",")
            parser.parse_keyword("buffer")
            parser.parse_punctuation("=")
            buffer = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            lo = parse_infix_list(parser, Expr.sym)
            size = parse_infix_list(parser, Expr.sym)
            parser.parse_punctuation(",")
            exact = parser.parse_keyword_in(("exact", "inexact")) == "exact"
        return Access(mode, buffer, lo, size, exact)

    def print_parameter(self, printer: Printer) -> None:
        access = self.data
        certainty = "exact" if access.exact else "inexact"
        with printer.in_angle_brackets():
            printer.print_string(
                f"{access.mode}, buffer = {access.buffer}, {access.box_text()}, "
                f"{certainty}"
            )


# Selectors ---------------------------------------------------------------------------


class SelectorKind(StrEnum):
    ALL = "all"
    OVERLAPS = "overlaps"
    BOX = "box"


@record
class Selector:
    """Which members of an events value a task waits for.

    all: every one. overlaps: those whose accesses conflict with the task's. box: those
    in half-open ranges of their grid, None for a whole axis.
    """

    kind: SelectorKind
    ranges: tuple[tuple[Expr, Expr] | None, ...] = ()

    @staticmethod
    def box(*ranges: tuple[Expr | int, Expr | int] | Expr | int | None) -> Selector:
        """Of `(lo, hi)`, a single index, or None for each axis."""
        return Selector(SelectorKind.BOX, tuple(map(_range, ranges)))

    def symbols(self) -> tuple[Hashable, ...]:
        ends = (end for r in self.ranges if r is not None for end in r)
        return tuple(dict.fromkeys(key for end in ends for key in end.symbols()))

    def box_text(self, name: Names = str) -> str:
        """`[4 * d0 : 4 * d0 + 4, *]`"""
        return "[" + ", ".join(_range_text(r, name) for r in self.ranges) + "]"


def _range(
    given: tuple[Expr | int, Expr | int] | Expr | int | None,
) -> tuple[Expr, Expr] | None:
    if given is None:
        return None
    if isinstance(given, tuple):
        return Expr.of(given[0]), Expr.of(given[1])
    return Expr.of(given), Expr.of(given) + 1


def _range_text(range: tuple[Expr, Expr] | None, name: Names) -> str:
    if range is None:
        return "*"
    lo, hi = range
    single = hi == lo + 1
    return (
        lo.to_string(name)
        if single
        else f"{lo.to_string(name)} : " + (hi.to_string(name))
    )


ALL = Selector(SelectorKind.ALL)
OVERLAPS = Selector(SelectorKind.OVERLAPS)


def parse_selector_box(parser: AttrParser, symbol: Symbols = Expr.sym) -> Selector:
    """`[4 * d0 : 4 * d0 + 4, *]`"""

    def one() -> tuple[Expr | int, Expr | int] | Expr | None:
        if parser.parse_optional_punctuation("*") is not None:
            return None
        lo = parse_infix(parser, symbol)
        if parser.parse_optional_punctuation(":") is None:
            return lo
        return lo, parse_infix(parser, symbol)

    return Selector.box(
        *parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one)
    )


@irdl_attr_definition
class SelectorAttr(Data[Selector]):
    """One `Selector`: `#npu.select<all>`, `<overlaps>` or `<[lo : hi, i, *]>`."""

    name = "npu.select"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Selector:
        with parser.in_angle_brackets():
            if parser.parse_optional_keyword("all") is not None:
                return ALL
            if parser.parse_optional_keyword("overlaps") is not None:
                return OVERLAPS
            return parse_selector_box(parser)

    def print_parameter(self, printer: Printer) -> None:
        selector = self.data
        is_box = selector.kind == SelectorKind.BOX
        with printer.in_angle_brackets():
            printer.print_string(selector.box_text() if is_box else selector.kind)
