"""Syntax elements in brackets: subscripts `[%i, 0 +: %n]`, offsets, sizes `[%m, 4]`."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ContainerType, ShapedType
from xdsl.ir import Attribute
from xdsl.printer import Printer

from pyptoc.dialects.literals import i64_array, ints
from pyptoc.dialects.parsing import LocParser
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.syntax import Element, Fields, Names, take
from pyptoc.dialects.subscripts import (
    Mixed,
    Offsets,
    Sizes,
    Subscripted,
    SubscriptError,
    Subscripts,
    check_subscripts,
    join_mixed,
    mixed_from,
    parse_mixed_list,
    parse_offsets,
    parse_subscripts,
    print_mixed_list,
    print_subscripts,
    split_mixed,
)
from pyptoc.dialects.words import counted

if TYPE_CHECKING:
    from pyptoc.dialects.pypto.base import PyptoOp

STORAGE = ("static_offsets", "static_sizes", "dropped")


class SubscriptList(Element):
    """`[%i, :, %o +: %n]` of an operation that is `Subscripted`."""

    def properties(self) -> tuple[str, ...]:
        return STORAGE

    def fields(self) -> tuple[str, ...]:
        return ("offsets", "sizes")

    def parse(self, call: Call, parser: LocParser) -> None:
        start = parser.pos
        found = parse_subscripts(parser)
        found.store(call.operands, call.properties)
        call.spans["subscripts"] = parser.span_from(start)
        for axis, span in enumerate(found.spans):
            call.spans[f"subscripts.{axis}"] = span

    def print(self, op: PyptoOp, printer: Printer) -> None:
        target = cast(Subscripted, op)
        print_subscripts(
            printer, target.mixed_offsets, target.mixed_sizes, target.dropped_dims
        )

    def usage(self, names: Names) -> str:
        return "[<index>, :, <offset> +: <size>, ..]"

    def accept(self, call: Call, args: deque[Any], fields: Fields) -> None:
        items = take("subscripts", args, fields)
        found = items if isinstance(items, Subscripts) else Subscripts.of(items)
        found.store(call.operands, call.properties)

    def recall(self, op: PyptoOp, call: Call) -> None:
        pass


class OffsetList(Element):
    """`[%i, 0]`: an offset for each dimension, of an operation with `Offsets`."""

    def properties(self) -> tuple[str, ...]:
        return ("static_offsets",)

    def fields(self) -> tuple[str, ...]:
        return ("offsets",)

    def parse(self, call: Call, parser: LocParser) -> None:
        start = parser.pos
        offsets, spans = parse_offsets(parser)
        self._store(call, offsets)
        call.spans["subscripts"] = parser.span_from(start)
        for axis, span in enumerate(spans):
            call.spans[f"subscripts.{axis}"] = span

    def _store(self, call: Call, offsets: list[Mixed]) -> None:
        static, dynamic = split_mixed(offsets)
        call.properties["static_offsets"] = i64_array(static)
        call.operands["offsets"] = tuple(dynamic)

    def print(self, op: PyptoOp, printer: Printer) -> None:
        print_mixed_list(printer, cast(Offsets, op).mixed_offsets)

    def usage(self, names: Names) -> str:
        return "[<offset>, ..]"

    def accept(self, call: Call, args: deque[Any], fields: Fields) -> None:
        items = take("offsets", args, fields)
        self._store(call, [mixed_from(item) for item in items])

    def recall(self, op: PyptoOp, call: Call) -> None:
        pass


class SizeList(Element):
    """`[%m, 4]` of an operation with `Sizes`; -1 is allowed where `rest` is."""

    def __init__(self, *, rest: bool = False) -> None:
        self.rest = rest

    def properties(self) -> tuple[str, ...]:
        return ("static_sizes",)

    def fields(self) -> tuple[str, ...]:
        return ("sizes",)

    def parse(self, call: Call, parser: LocParser) -> None:
        start = parser.pos
        sizes = parse_mixed_list(parser)
        call.spans["sizes"] = parser.span_from(start)
        self._store(call, sizes)
        self._check(call)

    def _check(self, call: Call) -> None:
        least = -1 if self.rest else 0
        for size in join_mixed(ints(call.properties["static_sizes"]), call_sizes(call)):
            if isinstance(size, int) and size < least:
                rule = "sizes are at least 0" + ", and -1 is what is left" * self.rest
                call.error("PTO133", f"{size} is not a size", at="sizes", rule=rule)

    def _store(self, call: Call, sizes: list[Mixed]) -> None:
        static, dynamic = split_mixed(sizes)
        call.properties["static_sizes"] = i64_array(static)
        call.operands["sizes"] = tuple(dynamic)

    def print(self, op: PyptoOp, printer: Printer) -> None:
        print_mixed_list(printer, cast(Sizes, op).mixed_sizes)

    def usage(self, names: Names) -> str:
        return "[<size>, ..]"

    def accept(self, call: Call, args: deque[Any], fields: Fields) -> None:
        items = take("sizes", args, fields)
        self._store(call, [mixed_from(item) for item in items])
        self._check(call)

    def recall(self, op: PyptoOp, call: Call) -> None:
        self._check(call)


def call_sizes(call: Call) -> tuple[Any, ...]:
    """The SSA sizes of a call."""
    return call.operands.get("sizes", ())


def mixed_offsets(call: Call) -> list[Mixed]:
    """The offsets of a call, one for each subscript."""
    return join_mixed(call.ints("static_offsets"), call.operands.get("offsets", ()))


def mixed_sizes(call: Call) -> list[Mixed]:
    """The sizes of a call; WHOLE (-1) for `:`, or what -1 means in a reshape."""
    return join_mixed(call.ints("static_sizes"), call.operands.get("sizes", ()))


def sizes_of(call: Call) -> list[int | None]:
    """The sizes of a call; None for an SSA value."""
    return [size if isinstance(size, int) else None for size in mixed_sizes(call)]


def most_sizes(call: Call, rank: int) -> Sequence[int | None]:
    """The bounds of `{max = [..]}`, one for each dimension of the result."""
    most = call.ints("max")
    if not call.has("max"):
        return [None] * rank
    if len(most) != rank:
        call.error(
            "PTO131",
            f"max has {counted(len(most), 'bound')}, the result has rank {rank}",
            at="max",
            rule="one bound for each dimension of the result",
        )
    for bound in most:
        if bound < 0:
            rule = "sizes are at least 0"
            call.error("PTO133", f"bound {bound} is negative", at="max", rule=rule)
    return most


def check_bounds(
    call: Call, field: str, offsets: list[Mixed], sizes: list[Mixed]
) -> None:
    """Check subscripts against the shape of operand `field`; errors show the text."""
    type = call.type(field)
    shape = shape_of(type)
    try:
        check_subscripts(shape, offsets, sizes, call.name_of(field))
    except SubscriptError as wrong:
        at = field if wrong.axis is None else f"subscripts.{wrong.axis}"
        call.error(
            wrong.code,
            wrong.message,
            at=at,
            label=str(type) if wrong.axis is None else "",
            rule=wrong.rule,
            help=wrong.help,
        )


def shape_of(type: Attribute) -> tuple[int, ...]:
    """The shape of a tensor or memref type."""
    shape = shape_or_none(type)
    assert shape is not None
    return shape


def shape_or_none(type: Attribute) -> tuple[int, ...] | None:
    """The shape of a tensor or memref type; None for other types."""
    # A type keeps its shape, beside its fields: xDSL makes a tuple at each call.
    shape = type.__dict__.get("_pyptoc_shape")
    if shape is None and isinstance(type, ShapedType):
        shape = vars(type)["_pyptoc_shape"] = tuple(type.get_shape())
    return shape


def element_of(type: Attribute) -> Attribute:
    """The element type of a tensor or memref type."""
    return cast("ContainerType[Attribute]", type).get_element_type()
