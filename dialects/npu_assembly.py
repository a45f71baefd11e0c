"""Assembly of what tasks, kernels and launches share: waits, accesses, their names.

Inside the operation, expressions are over `d0, ..` and `s0, ..`; the text has the names
of the grid indices and scalars:

    after(%t0[4 * %i : 4 * %i + 4, *], %p overlaps, %q)
    accesses(read %a[%begin + 16 * %i, 0] [16, 512], write %y[..] [..] inexact)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects.assembly import parse_value
from pyptoc.dialects.expr import Expr, ExprSyntaxError
from pyptoc.dialects.literals import located
from pyptoc.dialects.npu_attrs import (
    ALL,
    OVERLAPS,
    Access,
    AccessAttr,
    AccessMode,
    Selector,
    SelectorAttr,
    SelectorKind,
    parse_infix_list,
    parse_selector_box,
)


class Spelling:
    """How the symbols of one operation are written, and what is written means."""

    def __init__(self) -> None:
        self.texts: dict[Hashable, str] = {}
        self.keys: dict[str, str] = {}

    def add(self, kind: str, texts: Iterable[str]) -> None:
        """The names of the grid indices (kind d) or of the scalars (kind s)."""
        for position, text in enumerate(texts):
            key = f"{kind}{position}"
            self.texts[key] = text
            self.keys.setdefault(text, key)
            self.keys[key] = key

    def name(self, key: Hashable) -> str:
        return self.texts.get(key, str(key))

    def symbol(self, text: str) -> Expr:
        key = self.keys.get(text)
        if key is None:
            raise ExprSyntaxError(
                f"{text} is no grid index or scalar of this operation"
            )
        return Expr.sym(key)


# Types -------------------------------------------------------------------------------


def parse_arrow(parser: Parser, source: SSAValue) -> Attribute:
    """`T -> R` or `R`, after the `:`; T is checked against the source."""
    start = parser.pos
    first = parser.parse_type()
    end = parser.pos
    if parser.parse_optional_punctuation("->") is None:
        return first
    if first != source.type:
        parser.raise_error(f"operand 0 has type {source.type}, not {first}", start, end)
    return parser.parse_type()


def print_arrow(printer: Printer, source: SSAValue, result: SSAValue) -> None:
    """Always printed: the bounds and the conversion of the result are nowhere else."""
    printer.print_string(" : ")
    printer.print_attribute(source.type)
    printer.print_string(" -> ")
    printer.print_attribute(result.type)


# Waits -------------------------------------------------------------------------------


def parse_waits(
    parser: Parser, spelling: Spelling
) -> tuple[list[SSAValue], list[Selector]]:
    """`after(%e, %e overlaps, %e[box])`, if present."""
    if parser.parse_optional_keyword("after") is None:
        return [], []
    waits = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: _parse_wait(parser, spelling)
    )
    return [value for value, _ in waits], [selector for _, selector in waits]


def _parse_wait(parser: Parser, spelling: Spelling) -> tuple[SSAValue, Selector]:
    value = parse_value(parser)
    if parser.parse_optional_keyword("overlaps") is not None:
        return value, OVERLAPS
    if located(parser).at(MLIRTokenKind.L_SQUARE):
        return value, parse_selector_box(parser, spelling.symbol)
    return value, ALL


def print_waits(
    printer: Printer, waits: Iterable[tuple[SSAValue, Selector]], spelling: Spelling
) -> None:
    waits = tuple(waits)
    if not waits:
        return

    def print_wait(wait: tuple[SSAValue, Selector]) -> None:
        value, selector = wait
        printer.print_ssa_value(value)
        if selector.kind == SelectorKind.OVERLAPS:
            printer.print_string(" overlaps")
        elif selector.kind == SelectorKind.BOX:
            printer.print_string(selector.box_text(spelling.name))

    printer.print_string(" after(")
    printer.print_list(waits, print_wait)
    printer.print_string(")")


def selectors_attr(
    waits: Sequence[SSAValue], selectors: Sequence[Selector] | None
) -> ArrayAttr[SelectorAttr]:
    """One selector for each wait; all of each by default."""
    chosen = [ALL] * len(waits) if selectors is None else selectors
    if len(chosen) != len(waits):
        raise ValueError(f"{len(chosen)} selectors for {len(waits)} waits")
    return ArrayAttr(map(SelectorAttr, chosen))


def wait_list(
    waits: Iterable[SSAValue], selectors: ArrayAttr[SelectorAttr] | None
) -> list[tuple[SSAValue, Selector]]:
    if selectors is None:
        return []
    return list(zip(waits, (one.data for one in selectors), strict=True))


# Accesses ----------------------------------------------------------------------------


def parse_accesses(
    parser: Parser, buffers: Mapping[str, int], spelling: Spelling
) -> list[Access]:
    """`accesses(read %a[lo] [size], write %b[lo] [size] inexact)`, if present."""
    if parser.parse_optional_keyword("accesses") is None:
        return []

    def parse_access() -> Access:
        mode = parser.parse_str_enum(AccessMode)
        span = parser.parse_unresolved_operand().span
        buffer = buffers.get(span.text)
        if buffer is None:
            parser.raise_error(f"{span.text} is no buffer of this operation", span)
        lo = parse_infix_list(parser, spelling.symbol)
        size = parse_infix_list(parser, spelling.symbol)
        exact = parser.parse_optional_keyword("inexact") is None
        return Access(mode, buffer, lo, size, exact)

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_access)


def print_accesses(
    printer: Printer,
    accesses: Iterable[Access],
    buffers: Sequence[str],
    spelling: Spelling,
) -> None:
    names = dict(enumerate(buffers))
    texts = [
        f"{access.mode} {names.get(access.buffer, '?')}"
        f"{access.box_text(spelling.name)}{'' if access.exact else ' inexact'}"
        for access in accesses
    ]
    if texts:
        printer.print_string(f" accesses({', '.join(texts)})")


def accesses_attr(accesses: Iterable[Access]) -> ArrayAttr[AccessAttr]:
    return ArrayAttr(map(AccessAttr, accesses))


def access_list(accesses: ArrayAttr[AccessAttr] | None) -> list[Access]:
    return [] if accesses is None else [access.data for access in accesses]


# Verification ------------------------------------------------------------------------


def check_accesses(
    accesses: Iterable[Access], buffers: Sequence[Attribute], rank: int, scalars: int
) -> None:
    """Buffers and symbols exist, and boxes have the rank of their buffer."""
    for access in accesses:
        if access.buffer >= len(buffers):
            raise VerifyException(
                f"an access of buffer {access.buffer} of {len(buffers)}"
            )
        type = buffers[access.buffer]
        dims = cast("MemRefType[Attribute]", type).get_num_dims()
        if len(access.lo) != dims or len(access.size) != dims:
            raise VerifyException(
                f"an access of rank {len(access.lo)} x {len(access.size)} to {type}"
            )
        check_symbols(access.symbols(), rank, scalars)


def check_selectors(
    waits: Sequence[SSAValue],
    selectors: ArrayAttr[SelectorAttr] | None,
    rank: int,
    scalars: int,
) -> None:
    if len(waits) != (0 if selectors is None else len(selectors)):
        raise VerifyException(f"{len(waits)} waits need as many selectors")
    for selector in selectors or ():
        check_symbols(selector.data.symbols(), rank, scalars)


def check_symbols(symbols: Iterable[Hashable], rank: int, scalars: int) -> None:
    limits = {"d": rank, "s": scalars}
    for symbol in symbols:
        kind, number = str(symbol)[:1], str(symbol)[1:]
        if not number.isdecimal() or int(number) >= limits.get(kind, 0):
            raise VerifyException(
                f"{symbol} is no grid index below d{rank} or scalar below s{scalars}"
            )
