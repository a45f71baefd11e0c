"""Syntax elements that keep a value in one property: `axis -1`, `to bf16`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import AttrConstraint
from xdsl.printer import Printer

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.literals import (
    Number,
    format_float,
    format_literal,
    i64_array,
    ints,
    parse_integer,
    parse_number,
)
from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.parsing import LocParser
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.syntax import (
    Element,
    Fields,
    Names,
    keep_operand,
    op_group,
    operand_name,
    parse_operand,
    print_operand,
    take,
)

if TYPE_CHECKING:
    from pyptoc.dialects.pypto.base import PyptoOp


class Property(Element, ABC):
    """A value kept in one property."""

    PLACEHOLDER: ClassVar[str]
    """What stands for the value in the documentation."""

    def __init__(self, name: str) -> None:
        self.name = name

    def properties(self) -> tuple[str, ...]:
        return (self.name,)

    @abstractmethod
    def read(self, parser: LocParser) -> Attribute:
        """Parse the value."""

    @abstractmethod
    def show(self, value: Attribute, printer: Printer) -> None:
        """Print the value."""

    @abstractmethod
    def convert(self, value: Any) -> Attribute:
        """The property for a Python value given to `make`."""

    def usage(self, names: Names) -> str:
        return self.PLACEHOLDER

    def parse(self, call: Call, parser: LocParser) -> None:
        start = parser.pos
        call.properties[self.name] = self.read(parser)
        call.spans[self.name] = parser.span_from(start)

    def print(self, op: PyptoOp, printer: Printer) -> None:
        printer.print_string(" ")
        self.show(op.properties[self.name], printer)

    def accept(self, call: Call, args: deque[Any], fields: Fields) -> None:
        value = take(self.name, args, fields)
        if not isinstance(value, Attribute) or isinstance(self, Type):
            value = self.convert(value)
        call.properties[self.name] = value


class Int(Property):
    """An integer: `axis -1`."""

    PLACEHOLDER = "<int>"

    def read(self, parser: LocParser) -> Attribute:
        return IntegerAttr(parse_integer(parser), i64)

    def show(self, value: Attribute, printer: Printer) -> None:
        printer.print_string(format_literal(value))

    def convert(self, value: Any) -> Attribute:
        return IntegerAttr(int(value), i64)


class Real(Property):
    """A float, kept as f64: `eps 1.0e-5`."""

    PLACEHOLDER = "<float>"

    def read(self, parser: LocParser) -> Attribute:
        return FloatAttr(float(parse_number(parser).value), f64)

    def show(self, value: Attribute, printer: Printer) -> None:
        assert isinstance(value, FloatAttr)
        printer.print_string(format_float(value.value.data))

    def convert(self, value: Any) -> Attribute:
        return FloatAttr(float(value), f64)


class Ints(Property):
    """A list of integers in brackets: `perm [1, 0]`."""

    PLACEHOLDER = "[<int>, ..]"

    def read(self, parser: LocParser) -> Attribute:
        return i64_array(
            parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parse_integer(parser)
            )
        )

    def show(self, value: Attribute, printer: Printer) -> None:
        with printer.in_square_brackets():
            printer.print_list(ints(value), printer.print_int)

    def convert(self, value: Any) -> Attribute:
        return i64_array([int(item) for item in value])


class Text(Property):
    """A string in quotes: `einsum "ij,jk->ik"`."""

    PLACEHOLDER = '"<text>"'

    def read(self, parser: LocParser) -> Attribute:
        return StringAttr(parser.parse_str_literal())

    def show(self, value: Attribute, printer: Printer) -> None:
        assert isinstance(value, StringAttr)
        printer.print_string_literal(value.data)

    def convert(self, value: Any) -> Attribute:
        return StringAttr(value)


class Word(Property):
    """One of a few words, kept as a string: `mode rint`."""

    def __init__(self, name: str, choices: Collection[str]) -> None:
        super().__init__(name)
        self.choices = choices

    def read(self, parser: LocParser) -> Attribute:
        start = parser.token.span
        word = parser.take().span.text
        if word not in self.choices:
            error(
                start,
                "PTO143",
                f"{self.name} cannot be '{word}'",
                rule=f"{self.name} is one of {', '.join(self.choices)}",
                help=did_you_mean(word, self.choices),
            )
        return StringAttr(word)

    def show(self, value: Attribute, printer: Printer) -> None:
        assert isinstance(value, StringAttr)
        printer.print_string(value.data)

    def usage(self, names: Names) -> str:
        return " | ".join(self.choices)

    def convert(self, value: Any) -> Attribute:
        return StringAttr(value)


class Type(Property):
    """A type, kept as it is: `to bf16`."""

    PLACEHOLDER = "<type>"

    def read(self, parser: LocParser) -> Attribute:
        return parser.parse_type()

    def show(self, value: Attribute, printer: Printer) -> None:
        printer.print_attribute(value)

    def convert(self, value: Any) -> Attribute:
        assert isinstance(value, Attribute)
        return value

    def wants(self, args: deque[Any], fields: Fields) -> bool:
        by_position = bool(args) and isinstance(args[0], TypeAttribute)
        return by_position or super().wants(args, fields)


_SETTINGS: dict[str, Attribute] = {
    "": UnitAttr(),
    " = <int>": IntegerAttr(0, i64),
    " = true | false": IntegerAttr.from_bool(True),
    " = <float>": FloatAttr(0.0, f64),
    ' = "<text>"': StringAttr(""),
    " = [<int>, ..]": ArrayAttr(()),
}
"""What follows the name of a setting, with a value of the kind; the first counts."""


def setting_usage(name: str, constraint: AttrConstraint) -> str:
    """`pad_value = <float>`: how a setting in `{...}` is written."""
    return name + next(
        (text for text, value in _SETTINGS.items() if constraint.verifies(value)),
        " = <attribute>",
    )


class IntOrIndex(Int):
    """An integer kept in a property, or a value of type index: `offset %r`."""

    def __init__(self, name: str, operand: str) -> None:
        super().__init__(name)
        self.operand = operand

    def fields(self) -> tuple[str, ...]:
        return (self.operand,)

    def usage(self, names: Names) -> str:
        return f"{super().usage(names)} | {operand_name(names, self.operand)}"

    def parse(self, call: Call, parser: LocParser) -> None:
        if not parse_operand(self.operand, call, parser):
            super().parse(call, parser)

    def print(self, op: PyptoOp, printer: Printer) -> None:
        if not print_operand(self.operand, op, printer):
            super().print(op, printer)

    def accept(self, call: Call, args: deque[Any], fields: Fields) -> None:
        given = take(self.operand, args, fields)
        if isinstance(given, int):
            call.properties[self.name] = self.convert(given)
            return
        keep_operand(self.operand, call, given)


class Literal(Element):
    """A number kept in a property: `full 0.0[%m]`. `infer` gives it its type."""

    def __init__(self, name: str) -> None:
        self.name = name

    def properties(self) -> tuple[str, ...]:
        return (self.name,)

    def parse(self, call: Call, parser: LocParser) -> None:
        number = parse_number(parser)
        assert number.span is not None
        call.spans[self.name] = number.span
        call.written.append((self.name, number))

    def print(self, op: PyptoOp, printer: Printer) -> None:
        printer.print_string(f" {format_literal(op.properties[self.name])}")

    def usage(self, names: Names) -> str:
        return "<number>"

    def accept(self, call: Call, args: deque[Any], fields: Fields) -> None:
        value = take(self.name, args, fields)
        if isinstance(value, int | float):
            value = Number(value)
        else:
            call.properties[self.name] = value
        call.written.append((self.name, value))

    def recall(self, op: PyptoOp, call: Call) -> None:
        call.written.append((self.name, op.properties[self.name]))


class LiteralOrScalar(Literal):
    """A number kept in the property `name`, or an SSA scalar: the operand `scalar`."""

    def __init__(self, name: str, scalar: str) -> None:
        super().__init__(name)
        self.scalar = scalar

    def fields(self) -> tuple[str, ...]:
        return (self.scalar,)

    def usage(self, names: Names) -> str:
        return f"{super().usage(names)} | {operand_name(names, self.scalar)}"

    def parse(self, call: Call, parser: LocParser) -> None:
        if not parse_operand(self.scalar, call, parser):
            super().parse(call, parser)

    def print(self, op: PyptoOp, printer: Printer) -> None:
        if not print_operand(self.scalar, op, printer):
            super().print(op, printer)

    def accept(self, call: Call, args: deque[Any], fields: Fields) -> None:
        by_name = self.scalar in fields
        given = fields.get(self.scalar) if by_name else (args[0] if args else None)
        if not isinstance(given, SSAValue):
            super().accept(call, args, fields)
            return
        keep_operand(self.scalar, call, take(self.scalar, args, fields))

    def typed(self, operands: Mapping[str, tuple[SSAValue, ...]]) -> list[SSAValue]:
        return list(operands.get(self.scalar, ()))

    def recall(self, op: PyptoOp, call: Call) -> None:
        has_scalar = bool(op_group(call, self.scalar))
        if has_scalar == (self.name in op.properties):
            both = f"{self.name} and {self.scalar}"
            call.error("PTO142", f"{call.short_name} has one of {both}")
        if has_scalar:
            Element.recall(self, op, call)
        else:
            super().recall(op, call)
