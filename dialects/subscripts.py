"""Subscripts and lists of sizes that mix numbers with SSA values: `[%i, 3, 0 +: %n]`.

Storage is as in MLIR's tensor.extract_slice: an array of integers, `DYNAMIC` where the
next SSA operand stands. A size of `WHOLE` is a `:`; `dropped` lists the dimensions
whose subscript is a bare index, which the result does not have.

    %x[%i, :, 8 +: %n]   offsets [%i], sizes [%n]
                         static_offsets [DYNAMIC, 0, 8]
                         static_sizes [1, WHOLE, DYNAMIC], dropped [0]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.literals import at_number, i64_array, ints, parse_integer
from pyptoc.dialects.parsing import LocParser
from pyptoc.dialects.record import record
from pyptoc.dialects.rejected import has_error
from pyptoc.dialects.words import counted

DYNAMIC = -(2**63)
"""In a static array: the next SSA operand stands here."""
TOO_FEW = "there are fewer operands than places for them"
WHOLE = -1
"""In `static_sizes`: the whole dimension, `:`."""

Mixed: TypeAlias = int | SSAValue
"""A number, or an SSA value of index type."""
_DIVIDED = re.compile(r"//[ \t]*[0-9%]")
"""A comment that begins with an operand: Python divides so."""
INDEX = IndexType()


def split_mixed(values: Iterable[Mixed]) -> tuple[list[int], list[SSAValue]]:
    """A static array and the SSA operands, from a mixed list."""
    static: list[int] = []
    dynamic: list[SSAValue] = []
    for value in values:
        if isinstance(value, int):
            static.append(value)
        else:
            static.append(DYNAMIC)
            dynamic.append(value)
    return static, dynamic


def join_mixed(static: Iterable[int], dynamic: Iterable[SSAValue]) -> list[Mixed]:
    """A mixed list from a static array and the SSA operands."""
    rest = iter(dynamic)
    try:
        return [next(rest) if value == DYNAMIC else value for value in static]
    except StopIteration:
        raise VerifyException(TOO_FEW) from None


def mixed_from(value: Any) -> Mixed:
    """An argument of `make` (a number, an SSA value or a one-result op) as Mixed."""
    if isinstance(value, int):
        return value
    return SSAValue.get(cast("SSAValue | Operation", value))


@record(frozen=False)
class Subscripts:
    """What stands between the brackets of `%x[...]`."""

    offsets: list[Mixed] = field(default_factory=list[Mixed])
    sizes: list[Mixed] = field(default_factory=list[Mixed])
    """WHOLE for `:`, 1 for a bare index."""
    dropped: list[int] = field(default_factory=list[int])
    spans: list[Span[str]] = field(default_factory=list[Span[str]])

    def add(self, offset: Mixed, size: Mixed | None) -> None:
        """Append one subscript; without a size it is a bare index."""
        if size is None:
            self.dropped.append(len(self.offsets))
        self.offsets.append(offset)
        self.sizes.append(1 if size is None else size)

    @staticmethod
    def of(items: Iterable[Any]) -> Subscripts:
        """From Python: an index; (offset, size); `...`, None or slice(None) for `:`."""
        found = Subscripts()
        for item in items:
            if item is None or item is ... or item == slice(None):
                found.add(0, WHOLE)
            elif isinstance(item, tuple):
                offset, size = cast("tuple[Any, Any]", item)
                found.add(mixed_from(offset), mixed_from(size))
            else:
                found.add(mixed_from(item), None)
        return found

    def store(
        self,
        operands: dict[str, tuple[SSAValue, ...]],
        properties: dict[str, Attribute],
    ) -> None:
        """Put the subscripts into operand groups and properties."""
        static, dynamic = split_mixed(self.offsets)
        properties["static_offsets"] = i64_array(static)
        operands["offsets"] = tuple(dynamic)
        static, dynamic = split_mixed(self.sizes)
        properties["static_sizes"] = i64_array(static)
        operands["sizes"] = tuple(dynamic)
        properties["dropped"] = i64_array(self.dropped)


class Offsets:
    """An operation with fields `offsets` and `static_offsets`."""

    if TYPE_CHECKING:
        properties: dict[str, Attribute]
        offsets: Any

    @property
    def mixed_offsets(self) -> list[Mixed]:
        """One offset for each dimension."""
        static = ints(self.properties["static_offsets"])
        return join_mixed(static, self.offsets if DYNAMIC in static else ())


class Sizes:
    """An operation with fields `sizes` and `static_sizes`."""

    if TYPE_CHECKING:
        properties: dict[str, Attribute]
        sizes: Any

    @property
    def mixed_sizes(self) -> list[Mixed]:
        """One size for each dimension; in a reshape or expand -1 has its meaning."""
        static = ints(self.properties["static_sizes"])
        return join_mixed(static, self.sizes if DYNAMIC in static else ())


class Subscripted(Offsets):
    """An operation with `%x[subscripts]`: also `sizes`, `static_sizes`, `dropped`."""

    if TYPE_CHECKING:
        sizes: Any

    @property
    def mixed_sizes(self) -> list[Mixed | None]:
        """One size for each dimension of the source; None for a whole dimension."""
        static = ints(self.properties["static_sizes"])
        sizes = join_mixed(static, self.sizes if DYNAMIC in static else ())
        return [
            None if isinstance(size, int) and size == WHOLE else size for size in sizes
        ]

    @property
    def dropped_dims(self) -> tuple[int, ...]:
        """The dimensions of the source that the result does not have."""
        return ints(self.properties["dropped"])


# -- parsing


def parse_mixed(parser: LocParser, what: str = "a number or a value") -> Mixed:
    """Parse `3` or `%n`; a value must be of index type."""
    if at_number(parser):
        return parse_integer(parser, what)
    value, span = parser.parse_value(what)
    if value.type != INDEX and not has_error(value):
        error(
            span,
            "PTO134",
            f"{span.text} is {value.type}, not index",
            rule="subscripts, sizes and bounds are numbers or of type index",
        )
    return value


def parse_mixed_list(parser: LocParser) -> list[Mixed]:
    """Parse `[%m, 3]`."""
    return parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parse_mixed(parser)
    )


def parse_subscripts(parser: LocParser) -> Subscripts:
    """Parse `[%i, :, %o +: %n]`."""
    found = Subscripts()

    def one() -> None:
        start = parser.pos
        if parser.parse_optional_punctuation(":") is not None:
            found.add(0, WHOLE)
        else:
            offset = _offset(parser, start)
            found.add(offset, _size(parser, start))
        found.spans.append(parser.span_from(start))

    parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one)
    return found


def parse_offsets(parser: LocParser) -> tuple[list[Mixed], list[Span[str]]]:
    """Parse `[%i, 0]`: one offset for each dimension, and where each stands."""
    spans: list[Span[str]] = []

    def one() -> Mixed:
        start = parser.pos
        offset = _offset(parser, start)
        spans.append(parser.span_from(start))
        _no_arithmetic(parser, start)
        return offset

    offsets = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one)
    return offsets, spans


def _offset(parser: LocParser, start: int) -> Mixed:
    offset = parse_mixed(parser, "an index, a range such as 0 +: %n, or :")
    if isinstance(offset, int) and offset < 0:
        error(
            parser.span_from(start),
            "PTO133",
            f"offset {offset} is negative",
            rule="offsets count from 0",
        )
    return offset


def _size(parser: LocParser, start: int) -> Mixed | None:
    """The size after `+:`; None where there is none."""
    if parser.parse_optional_punctuation("+") is None:
        _no_arithmetic(parser, start)
        return None
    if parser.parse_optional_punctuation(":") is None:
        _raise_arithmetic(parser, start)
    size_start = parser.pos
    size = parse_mixed(parser, "a size")
    if isinstance(size, int) and size < 0:
        span = parser.span_from(size_start)
        rule = "sizes are at least 0"
        error(span, "PTO133", f"size {size} is negative", rule=rule)
    return size


def _no_arithmetic(parser: LocParser, start: int) -> None:
    token = parser.token
    if token.kind in (MLIRTokenKind.COMMA, MLIRTokenKind.R_SQUARE):
        return
    divided = _DIVIDED.search(parser.span_from(start).text)
    if divided or token.kind in (
        MLIRTokenKind.BARE_IDENT,
        MLIRTokenKind.PLUS,
        MLIRTokenKind.MINUS,
        MLIRTokenKind.STAR,
        MLIRTokenKind.SLASH,
    ):
        _raise_arithmetic(parser, start)
    if token.kind == MLIRTokenKind.COLON:
        written = parser.span_from(start).text
        error(
            token.span,
            "PTO133",
            "a range is offset +: size here, not begin : end",
            help=f"write {written} +: and the number of elements",
        )


def _raise_arithmetic(parser: LocParser, start: int) -> None:
    text = parser.text
    end = next((i for i in range(start, len(text)) if text[i] in ",]\n"), len(text))
    written = text[start:end].strip()
    span = Span(start, start + len(written), parser.token.span.input)
    computed = written.partition("+:")[0].strip().replace("//", "/")
    computed = computed.replace("/", "floordiv")
    error(
        span,
        "PTO133",
        "subscripts hold no arithmetic",
        help=f"compute it first: %o = pypto.index {computed}",
    )


# -- printing


def print_mixed(printer: Printer, value: Mixed) -> None:
    """Print `3` or `%n`."""
    if isinstance(value, int):
        printer.print_string(str(value))
    else:
        printer.print_ssa_value(value)


def print_mixed_list(printer: Printer, values: Iterable[Mixed]) -> None:
    """Print `[%m, 3]`."""
    with printer.in_square_brackets():
        printer.print_list(values, lambda value: print_mixed(printer, value))


def print_subscripts(
    printer: Printer,
    offsets: Sequence[Mixed],
    sizes: Sequence[Mixed | None],
    dropped: Sequence[int],
) -> None:
    """Print `[%i, :, %o +: %n]`; a size of None is a whole dimension."""

    def one(entry: tuple[int, Mixed, Mixed | None]) -> None:
        axis, offset, size = entry
        if size is None:
            printer.print_string(":")
            return
        print_mixed(printer, offset)
        if axis not in dropped:
            printer.print_string(" +: ")
            print_mixed(printer, size)

    rows = zip(range(len(offsets)), offsets, sizes, strict=True)
    with printer.in_square_brackets():
        printer.print_list(rows, one)


# -- checking


@record
class SubscriptError(Exception):
    """What is wrong with subscripts: message, dimension, and what to write."""

    code: str
    message: str
    axis: int | None = None
    help: str = ""
    rule: str = ""


Show: TypeAlias = Callable[[], str]


def check_subscripts(
    shape: Sequence[int], offsets: Sequence[Mixed], sizes: Sequence[Mixed], name: str
) -> None:
    """Raise a SubscriptError where subscripts leave `shape` (DYNAMIC for `?`)."""
    if len(offsets) != len(shape):
        raise SubscriptError(
            "PTO131",
            f"{counted(len(offsets), 'subscript')} for a tensor of rank {len(shape)}",
            help=_right_count(len(offsets), len(shape), name),
        )
    for axis, (dim, offset, size) in enumerate(zip(shape, offsets, sizes, strict=True)):
        if dim == DYNAMIC or not isinstance(offset, int) or not isinstance(size, int):
            continue
        if size != WHOLE and offset + size > dim:
            end = offset + size
            raise SubscriptError(
                "PTO132",
                f"{offset} +: {size} ends at {end}, dimension {axis} of {name} has "
                f"{counted(dim, 'element')}",
                axis,
                rule="offset + size <= size of the dimension",
            )


def _right_count(have: int, want: int, name: str) -> str:
    if have >= want:
        return ""
    filled = ", ".join(["%i" if want > 1 else ":", *[":"] * (want - 1)])
    rest = " drops the first dimension and keeps the rest" if want > 1 else ""
    return f"{name}[{filled}]{rest}"
