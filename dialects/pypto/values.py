"""Operands of one field, any number of them, which may be literals: `%x, 2.0`."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    ShapedType,
    UnitAttr,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects.literals import (
    Number,
    as_element,
    at_number,
    format_literal,
    parse_number,
)
from pyptoc.dialects.parse_errors import starts_line
from pyptoc.dialects.parsing import LocParser
from pyptoc.dialects.pypto.call import Call, merge_literals
from pyptoc.dialects.pypto.syntax import Element, Fields, Names, op_group, operand_name
from pyptoc.dialects.words import counted

if TYPE_CHECKING:
    from pyptoc.dialects.pypto.base import PyptoOp


class Values(Element):
    """`least` to `most` operands of one variadic field; they may be literals.

    Literals take the element type of the first tensor among the operands from `like`
    on, or of the first scalar if there is no tensor.
    """

    def __init__(
        self,
        name: str,
        least: int,
        most: int | None = -1,
        *,
        literals: bool = False,
        like: int = 0,
    ) -> None:
        self.name = name
        self.least = least
        self.most = least if most == -1 else most
        self.literals = literals
        self.like = like

    def fields(self) -> tuple[str, ...]:
        return (self.name,)

    def properties(self) -> tuple[str, ...]:
        return ("literals",) if self.literals else ()

    def parse(self, call: Call, parser: LocParser) -> None:
        values: list[SSAValue] = []
        while self.least or parser.at(MLIRTokenKind.PERCENT_IDENT):
            key = f"{self.name}.{len(call.written)}"
            if self.literals and at_number(parser):
                number = parse_number(parser)
                call.written.append((key, number))
                assert number.span is not None
                call.spans[key] = number.span
            else:
                value, call.spans[key] = parser.parse_value(
                    "a value or a number" if self.literals else "a value such as %x"
                )
                call.written.append((key, value))
                values.append(value)
            if parser.parse_optional_punctuation(",") is None:
                self._check_end(parser)
                break
        call.operands[self.name] = tuple(values)
        self._check_count(call)

    def _check_end(self, parser: LocParser) -> None:
        """Where there may be any number of values, none follows without a comma."""
        token = parser.token
        is_value = token.kind == MLIRTokenKind.PERCENT_IDENT
        if is_value and self.most is None and not starts_line(token.span):
            parser.parse_punctuation(",")

    def _check_count(self, call: Call) -> None:
        count = sum(key.startswith(f"{self.name}.") for key, _ in call.written)
        if count < self.least or (self.most is not None and count > self.most):
            wanted = counted(self.least, "operand")
            if self.most is None:
                wanted = f"at least {wanted}"
            elif self.most > self.least:
                wanted = f"{self.least} to {self.most} operands"
            have = f"this one has {count}"
            message = f"{call.short_name} takes {wanted}, {have}"
            call.error("PTO116", message, help=call.example())

    def print(self, op: PyptoOp, printer: Printer) -> None:
        values = call_group(op, self.name)
        args = merge_literals(values, op.properties.get("literals"))
        if args:
            printer.print_string(" ")

        def print_one(value: SSAValue | Attribute) -> None:
            if isinstance(value, SSAValue):
                printer.print_ssa_value(value)
            else:
                printer.print_string(format_literal(value))

        printer.print_list(args, print_one)

    def usage(self, names: Names) -> str:
        given = names.get(self.name, ())
        text = ", ".join(operand_name(names, self.name, i) for i in range(self.least))
        if self.most is None:
            first = operand_name(names, self.name)
            return f"{text}, .." if text else f"[{first}, ..]"
        for index in range(self.least, min(max(len(given), self.least), self.most)):
            text += f"[, {operand_name(names, self.name, index)}]"
        return text

    def accept(self, call: Call, args: deque[Any], fields: Fields) -> None:
        given: list[Any] = []
        if self.name in fields:
            given = list(fields.pop(self.name))
        elif args and isinstance(args[0], list | tuple):
            given = list(args.popleft())
        else:
            most = len(args) if self.most is None else self.most
            while args and len(given) < most and _is_argument(args[0]):
                given.append(args.popleft())
        values: list[SSAValue] = []
        for index, item in enumerate(given):
            key = f"{self.name}.{index}"
            if isinstance(item, int | float):
                call.written.append((key, Number(item)))
            elif isinstance(item, FloatAttr | IntegerAttr):
                call.written.append((key, cast(Attribute, item)))
            else:
                value = SSAValue.get(item)
                call.written.append((key, value))
                values.append(value)
        call.operands[self.name] = tuple(values)
        self._check_count(call)

    def recall(self, op: PyptoOp, call: Call) -> None:
        args = merge_literals(
            op_group(call, self.name), call.properties.get("literals")
        )
        call.written.extend((f"{self.name}.{i}", arg) for i, arg in enumerate(args))
        self._check_count(call)

    def resolve(self, call: Call) -> None:
        if all(isinstance(value, SSAValue) for _, value in call.written):
            return
        element = self._element(call)
        entries: list[Attribute] = []
        for index, (key, value) in enumerate(call.written):
            if isinstance(value, SSAValue):
                entries.append(UnitAttr())
                continue
            if index < self.like:
                call.error(
                    "PTO110",
                    f"operand {index + 1} of {call.short_name} is no number",
                    at=key,
                    rule="it is a tensor",
                    help=call.example(),
                )
            if isinstance(value, Number):
                value = as_element(value, element, call.short_name)
                call.written[index] = (key, value)
            entries.append(value)
        call.properties["literals"] = ArrayAttr(entries)

    def _element(self, call: Call) -> Attribute:
        scalar: Attribute | None = None
        for _, value in call.written[self.like :]:
            if isinstance(value, SSAValue):
                if isinstance(value.type, ShapedType):
                    return value.type.get_element_type()  # pyright: ignore
                scalar = scalar or value.type
        given = call.given[0] if call.given else None
        if self.like and isinstance(given, ShapedType):
            return given.get_element_type()  # pyright: ignore
        if scalar is None and self.like:
            call.error(
                "PTO142",
                f"{call.short_name} of two literals needs a result type",
                rule="a literal takes its type from a tensor beside it",
                help="write the type at the end: : tensor<..xf32>",
            )
        if scalar is None:
            call.error(
                "PTO116",
                f"{call.short_name} needs an operand that is no literal",
                rule="a literal takes its type from a tensor beside it",
            )
        return scalar

    def typed(self, operands: Mapping[str, tuple[SSAValue, ...]]) -> list[SSAValue]:
        return list(operands.get(self.name, ()))


def _is_argument(item: Any) -> bool:
    return isinstance(item, SSAValue | int | float | FloatAttr | IntegerAttr) or (
        hasattr(item, "results")
    )


def call_group(op: PyptoOp, name: str) -> tuple[SSAValue, ...]:
    """The SSA operands of a variadic field of an operation."""
    return tuple(getattr(op, name))
