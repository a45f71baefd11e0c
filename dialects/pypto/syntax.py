"""The pieces an operation's text is made of. `base.py` shows how they are combined.

Each element can parse itself into a Call, print itself from an operation, and take its
part of the arguments of `make`. Operands that may be literals are in `values.py`,
values kept in properties (numbers, words, types) in `properties.py`, subscripts in
`brackets.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Operation, SSAValue
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.op_docs import clause_sample
from pyptoc.dialects.parse_errors import starts_line
from pyptoc.dialects.parsing import LocParser
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.clause_errors import check_no_clause
from pyptoc.dialects.words import counted

if TYPE_CHECKING:
    from pyptoc.dialects.pypto.base import PyptoOp

Fields = dict[str, Any]
Names = Mapping[str, Sequence[str]]
"""What an example calls the operands of each field, without `%`."""


def operand_name(names: Names, field: str, index: int = 0) -> str:
    """`%x`: what the documentation calls an operand; the field where it has none."""
    given = names.get(field, ())
    return f"%{given[index] if index < len(given) else field}"


class Element(ABC):
    """One piece of an operation's syntax."""

    @abstractmethod
    def parse(self, call: Call, parser: LocParser) -> None:
        """Read the element into `call`."""

    @abstractmethod
    def print(self, op: PyptoOp, printer: Printer) -> None:
        """Write the element, with the blank or comma before it."""

    @abstractmethod
    def usage(self, names: Names) -> str:
        """How the element is written: `axis <int>`; `names` has those of operands."""

    @abstractmethod
    def accept(self, call: Call, args: deque[Any], fields: Fields) -> None:
        """Take this element's arguments of `make` into `call`."""

    def wants(self, args: deque[Any], fields: Fields) -> bool:
        """Whether the arguments of `make` hold this element, if it is optional."""
        names = (*self.properties(), *self.fields())
        return any(fields.get(name) is not None for name in names)

    def properties(self) -> tuple[str, ...]:
        """The properties this element writes."""
        return ()

    def fields(self) -> tuple[str, ...]:
        """The operand fields this element writes."""
        return ()

    def typed(self, operands: Mapping[str, tuple[SSAValue, ...]]) -> list[SSAValue]:
        """The operands whose types stand in the `: ...` clause."""
        return []

    def recall(self, op: PyptoOp, call: Call) -> None:
        """Put this element's operands into `call.written`, from an existing op."""
        for name in self.fields():
            call.written.extend((name, value) for value in op_group(call, name))

    def resolve(self, call: Call) -> None:  # noqa: B027
        """Finish what needs all operands (the element types of literals)."""


def op_group(call: Call, name: str) -> tuple[SSAValue, ...]:
    """The SSA operands of a field."""
    return call.operands.get(name, ())


def take(name: str, args: deque[Any], fields: Fields) -> Any:
    """The argument of `make` for a field: by name, else the next by position."""
    if name in fields:
        return fields.pop(name)
    if not args:
        raise TypeError(f"make: no argument for {name}")
    return args.popleft()


def keep_operand(field: str, call: Call, given: SSAValue | Operation) -> None:
    """Take a value as the operand `field`."""
    value = SSAValue.get(given)
    call.operands[field] = (value,)
    call.written.append((field, value))


def parse_operand(field: str, call: Call, parser: LocParser) -> bool:
    """Read `%x` as the operand `field`, if there is one."""
    if not parser.at(MLIRTokenKind.PERCENT_IDENT):
        return False
    value, call.spans[field] = parser.parse_value()
    keep_operand(field, call, value)
    return True


def print_operand(field: str, op: PyptoOp, printer: Printer) -> bool:
    """Write the operand `field`, if the op has it."""
    value = getattr(op, field)
    if value is None:
        return False
    printer.print_string(" ")
    printer.print_ssa_value(value)
    return True


class Operands(Element):
    """SSA operands, one for each field, with commas: `%a, %b`."""

    def __init__(self, *names: str, typed: bool = True) -> None:
        self.names = names
        self.is_typed = typed

    def fields(self) -> tuple[str, ...]:
        return self.names

    def parse(self, call: Call, parser: LocParser) -> None:
        for index, name in enumerate(self.names):
            if index and parser.parse_optional_punctuation(",") is None:
                wanted = len(self.names)
                error(
                    call.place,
                    "PTO116",
                    f"{call.short_name} takes {counted(wanted, 'operand')} here, "
                    f"this one has {index}",
                    length=len(call.name),
                    help=call.example(),
                )
            value, call.spans[name] = parser.parse_value()
            keep_operand(name, call, value)

    def print(self, op: PyptoOp, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(
            [getattr(op, name) for name in self.names], printer.print_ssa_value
        )

    def usage(self, names: Names) -> str:
        return ", ".join(operand_name(names, name) for name in self.names)

    def accept(self, call: Call, args: deque[Any], fields: Fields) -> None:
        for name in self.names:
            keep_operand(name, call, take(name, args, fields))

    def wants(self, args: deque[Any], fields: Fields) -> bool:
        by_position = bool(args) and isinstance(args[0], SSAValue)
        return by_position or super().wants(args, fields)

    def typed(self, operands: Mapping[str, tuple[SSAValue, ...]]) -> list[SSAValue]:
        if not self.is_typed:
            return []
        return [value for name in self.names for value in operands.get(name, ())]


class Comma(Element):
    """A comma between two elements: `dim %x, 0`."""

    def parse(self, call: Call, parser: LocParser) -> None:
        parser.parse_punctuation(",")

    def print(self, op: PyptoOp, printer: Printer) -> None:
        printer.print_string(",")

    def usage(self, names: Names) -> str:
        return ","

    def accept(self, call: Call, args: deque[Any], fields: Fields) -> None:
        pass


def clauses_of(syntax: Sequence[Element]) -> list[Clause]:
    """The clauses of an operation, in their order."""
    return [element for element in syntax if isinstance(element, Clause)]


class Clause(Element):
    """A keyword and what follows it: `scales %a, %b`."""

    def __init__(
        self, keyword: str, *elements: Element, optional: bool = False
    ) -> None:
        self.keyword = keyword
        self.elements = elements
        self.optional = optional

    def properties(self) -> tuple[str, ...]:
        return tuple(name for e in self.elements for name in e.properties())

    def fields(self) -> tuple[str, ...]:
        return tuple(name for e in self.elements for name in e.fields())

    def parse(self, call: Call, parser: LocParser) -> None:
        if parser.parse_optional_keyword(self.keyword) is None:
            if self.optional:
                return
            self._missing(call, parser)
        for element in self.elements:
            element.parse(call, parser)

    def _missing(self, call: Call, parser: LocParser) -> None:
        token = parser.token
        kind = parser.ctx.get_optional_op(call.name)
        shown = ""
        if kind is not None:
            syntax = cast("type[PyptoOp]", kind).SYNTAX
            check_no_clause(clauses_of(syntax), call, parser, self.keyword)
            shown = clause_sample(kind, self.keyword)
        # Where something else stands in its place, that is where it is missing.
        ends = (MLIRTokenKind.L_BRACE, MLIRTokenKind.COLON, MLIRTokenKind.EOF)
        is_here = token.kind not in ends and not starts_line(token.span)
        error(
            token.span if is_here else call.place,
            "PTO142",
            f"{call.short_name} needs '{self.keyword} ...'",
            help=f"write {shown or self.keyword}",
        )

    def print(self, op: PyptoOp, printer: Printer) -> None:
        if self.optional and not self.present(op):
            return
        printer.print_string(f" {self.keyword}")
        for element in self.elements:
            element.print(op, printer)

    def usage(self, names: Names) -> str:
        text = join_usage([element.usage(names) for element in self.elements])
        text = f"{self.keyword} {text}"
        return f"[{text}]" if self.optional else text

    def present(self, op: PyptoOp) -> bool:
        """Whether an operation has this clause."""
        if any(name in op.properties for name in self.properties()):
            return True
        return any(_filled(getattr(op, name)) for name in self.fields())

    def accept(self, call: Call, args: deque[Any], fields: Fields) -> None:
        if self.optional and not self.wants(args, fields):
            for name in (*self.properties(), *self.fields()):
                fields.pop(name, None)
            return
        for element in self.elements:
            element.accept(call, args, fields)

    def wants(self, args: deque[Any], fields: Fields) -> bool:
        return any(element.wants(args, fields) for element in self.elements)

    def typed(self, operands: Mapping[str, tuple[SSAValue, ...]]) -> list[SSAValue]:
        return [v for element in self.elements for v in element.typed(operands)]

    def recall(self, op: PyptoOp, call: Call) -> None:
        for element in self.elements:
            element.recall(op, call)

    def resolve(self, call: Call) -> None:
        for element in self.elements:
            element.resolve(call)


def _filled(value: SSAValue | Iterable[SSAValue] | None) -> bool:
    if value is None or isinstance(value, SSAValue):
        return value is not None
    return any(True for _ in value)


def join_usage(parts: Iterable[str]) -> str:
    """The usage of elements in a row, with blanks where the printed text has them."""
    text = ""
    for part in parts:
        is_tight = part.startswith((",", "[<index>", "[<offset>", "[<size>"))
        text += part if is_tight or not text or not part else f" {part}"
    return text
