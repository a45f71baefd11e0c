"""One use of an operation as inference sees it, whether parsed, made or verified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.lexer import Span

from pyptoc.dialects.diagnostics import Note, error
from pyptoc.dialects.literals import Number, format_float, format_literal, ints, items
from pyptoc.dialects.op_docs import sample
from pyptoc.dialects.parsing import LocParser
from pyptoc.dialects.pypto.infer import Site, Tensor, want_tensor
from pyptoc.dialects.subscripts import TOO_FEW

Written = SSAValue | Attribute | Number


class Call:
    """The operands and properties of an operation, and where they are written.

    `operands` and `properties` are by field; `written` has the operands in the order
    of the text, literals included, each with the key of its span; `given` holds the
    result types of the `: ...` clause. Spans exist only while parsing: errors point
    at operands then, and at the operation otherwise.
    """

    __slots__ = (
        "_site",
        "attributes",
        "given",
        "location",
        "name",
        "op",
        "operands",
        "parser",
        "place",
        "properties",
        "spans",
        "written",
    )

    def __init__(
        self, name: str, location: LocationAttr, op: Operation | None = None
    ) -> None:
        self.name = name
        self.location = location
        self.op = op
        self.operands: dict[str, tuple[SSAValue, ...]] = {}
        self.properties: dict[str, Attribute] = {}
        self.attributes: dict[str, Attribute] = {}
        self.given: tuple[Attribute, ...] | None = None
        self.written: list[tuple[str, Written]] = []
        self.spans: dict[str, Span[str]] = {}
        self.parser: LocParser | None = None
        self.place: Span[str] | Operation | Attribute = op or location
        self._site: Site | None = None

    @staticmethod
    def read(name: str, parser: LocParser) -> Call:
        """The call that `parser` is about to read; the operation's name is read."""
        start = max(parser.text.rfind(name, parser.statement, parser.pos), 0)
        call = Call(name, parser.location_at(start))
        call.parser = parser
        source = parser.lexer.input
        call.place = Span(start, start + len(name), source)
        return call

    @property
    def short_name(self) -> str:
        """The operation without its dialect, as messages name it."""
        return self.name.partition(".")[2]

    def example(self) -> str:
        """A help text with an example of the operation, while it is parsed."""
        kind = self.parser and self.parser.ctx.get_optional_op(self.name)
        return sample(kind) if kind else ""

    # -- what infer asks for

    def value(self, field: str, index: int = 0) -> SSAValue:
        """An SSA operand."""
        return self.operands[field][index]

    def type(self, field: str, index: int = 0) -> Attribute:
        """The type of an SSA operand."""
        return self.operands[field][index].type

    def types(self, field: str) -> tuple[Attribute, ...]:
        """The types of all SSA operands of a field."""
        return tuple(value.type for value in self.operands.get(field, ()))

    def tensor(self, field: str, index: int = 0) -> Tensor:
        """The type of an operand that must be a tensor."""
        value = self.operands[field][index]
        position = next(
            (i for i, (_, w) in enumerate(self.written) if w is value), index
        )
        return want_tensor(self.site, value.type, position)

    def has(self, field: str) -> bool:
        """Whether an optional operand or property is there; a flag is set."""
        return field in self.properties or bool(self.operands.get(field))

    def args(self, field: str) -> tuple[SSAValue | Attribute, ...]:
        """The operands of a field that may hold literals."""
        return merge_literals(
            self.operands.get(field, ()), self.properties.get("literals")
        )

    def int(self, field: str) -> int:
        """An integer property."""
        attribute = self.properties[field]
        assert isinstance(attribute, IntegerAttr)
        return attribute.value.data

    def real(self, field: str) -> float:
        """A float property."""
        attribute = self.properties[field]
        assert isinstance(attribute, FloatAttr)
        return attribute.value.data

    def ints(self, field: str) -> tuple[int, ...]:
        """A list of integers; empty when absent."""
        attribute = self.properties.get(field)
        found = ints(attribute)
        if len(found) != len(items(attribute) or found):
            self.error(
                "PTO143",
                f"{field} of {self.short_name} cannot be {attribute}",
                at=field,
                rule=f"{field} is a list of integers",
            )
        return found

    def text(self, field: str) -> str:
        """A string property; empty when absent."""
        attribute = self.properties.get(field)
        return attribute.data if isinstance(attribute, StringAttr) else ""

    # -- errors

    @property
    def site(self) -> Site:
        """What `infer.py` takes to name and point at operands."""
        if self._site is None:
            self._site = Site(
                self.short_name,
                self.place,
                tuple(self._name(key, value) for key, value in self.written),
                tuple(self.spans.get(key) for key, _ in self.written),
            )
        return self._site

    def _name(self, key: str, value: Written) -> str:
        span = self.spans.get(key)
        if span is not None:
            return span.text
        if isinstance(value, SSAValue):
            return f"%{value.name_hint}" if value.name_hint else ""
        if isinstance(value, Number):
            number = value.value
            return format_float(number) if isinstance(number, float) else str(number)
        return format_literal(value)

    def name_of(self, field: str) -> str:
        """`%x`, as the source has it where there is one."""
        span = self.spans.get(field, self.spans.get(f"{field}.0"))
        if span is not None:
            return span.text
        value = self.operands[field][0]
        if self.parser is not None:
            return self.parser.name_of(value)
        return f"%{value.name_hint}" if value.name_hint else "operand 1"

    def error(
        self,
        code: str,
        message: str,
        *,
        at: str = "",
        label: str = "",
        rule: str = "",
        here: str = "",
        notes: Sequence[Note] = (),
        help: str = "",
    ) -> NoReturn:
        """Raise a CompileError at a field's text if there is one, else at the op.

        `at` is the name of a field, or `field.1` for the second of several.
        """
        error(
            self.spans.get(at, self.place),
            code,
            message,
            label=label,
            rule=rule,
            here=here,
            notes=notes,
            help=help,
        )


def merge_literals(
    values: Sequence[SSAValue], literals: Attribute | None
) -> tuple[SSAValue | Attribute, ...]:
    """Put literals back between the SSA operands they were written with."""
    if not isinstance(literals, ArrayAttr):
        return tuple(values)
    rest = iter(values)
    items = cast("tuple[Attribute, ...]", literals.data)
    try:
        return tuple([next(rest) if isinstance(i, UnitAttr) else i for i in items])
    except StopIteration:
        raise VerifyException(TOO_FEW) from None
