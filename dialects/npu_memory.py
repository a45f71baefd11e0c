"""What the orchestration does with memory, and with sets of tasks.

%w = npu.alloc[%m, 7168] {policy = "carried"} : memref<?x7168xf32, "gm">
%r = npu.reshape %mem[%m, 64] : memref<..> -> memref<..>
%r = npu.reinterpret %mem to bf16 : memref<..> -> memref<..>
%n = npu.read %mem[%i] after(%e) : memref<..> -> index
%e = npu.no_events        %j = npu.join %e, %f
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Self

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    Float32Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ShapedType,
    StringAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, Pure
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    DYNAMIC,
    INDEX,
    INT_ARRAY,
    Mixed,
    as_text,
    count_dynamic,
    int_attr,
    mixed_sizes,
    parse_mixed,
    parse_options,
    parse_value,
    print_mixed,
    print_options,
    segments,
    split_mixed,
)
from pyptoc.dialects.memory import (
    AllocatesResult,
    check_box,
    check_gm,
    gm_memref,
    memory_type,
)
from pyptoc.dialects.npu_assembly import (
    Spelling,
    check_selectors,
    parse_arrow,
    parse_waits,
    print_arrow,
    print_waits,
    selectors_attr,
    wait_list,
)
from pyptoc.dialects.npu_attrs import (
    EVENTS,
    EventsType,
    Selector,
    SelectorAttr,
)
from pyptoc.dialects.op_definition import op_definition, verified_alone
from pyptoc.dialects.pypto.infer_shape import element_bytes
from pyptoc.dialects.subscripts import (
    Offsets,
)
from pyptoc.dialects.words import counted

POLICIES = ("single", "carried", "slots")
"""single: one buffer. carried: the rows of all iterations, side by side. slots: a few
that rotate, `slots = d`."""


@op_definition
class AllocOp(IRDLOperation):
    """A buffer in memory; one operand for each `?` of its type.

    In a loop the `policy` says how the buffers of its iterations relate: "single" (the
    default), "carried" or "slots".

        %w = npu.alloc[%m, 7168] {policy = "carried"} : memref<?x7168xf32, "gm">
    """

    name = "npu.alloc"

    sizes = var_operand_def(INDEX)
    policy = opt_prop_def(StringAttr)
    slots = opt_prop_def(IntegerAttr.constr(i64))
    memory = result_def(MemRefType)

    traits = traits_def(AllocatesResult())

    @classmethod
    def make(
        cls,
        sizes: Sequence[Mixed],
        element: Attribute,
        policy: str | None = None,
        slots: int | None = None,
    ) -> Self:
        properties: dict[str, Attribute] = {}
        if policy is not None:
            properties["policy"] = StringAttr(policy)
        if slots is not None:
            properties["slots"] = int_attr(slots)
        dynamic, static = split_mixed(sizes)
        return cls.create(
            operands=dynamic,
            result_types=[gm_memref(element, static.get_values())],
            properties=properties,
        )

    @property
    def mixed_sizes(self) -> list[Mixed]:
        return mixed_sizes(memory_type(self.results[0]).get_shape(), self.sizes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        dynamic, static = split_mixed(parse_mixed(parser))
        properties, attributes = parse_options(parser, ("policy", "slots"))
        type = _parse_shaped(parser, static.get_values(), start)
        return cls.create(
            operands=dynamic,
            result_types=[type],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        print_mixed(printer, self.mixed_sizes)
        written = {n: self.properties[n] for n in _ALLOC if n in self.properties}
        print_options(printer, {**written, **self.attributes})
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)

    def verify_(self) -> None:
        memory = check_gm(self.results[0].type)
        wanted = count_dynamic(memory.get_shape())
        if len(self.sizes) != wanted:
            raise VerifyException(f"{memory} takes {counted(wanted, 'size')}")
        if self.policy is not None and self.policy.data not in POLICIES:
            raise VerifyException(
                f'no policy "{self.policy.data}": it is one of {", ".join(POLICIES)}'
            )
        if (self.slots is not None) != (as_text(self.policy) == "slots"):
            raise VerifyException('slots = d goes with policy = "slots"')


_ALLOC = ("policy", "slots")


def _parse_shaped(parser: Parser, sizes: Sequence[int], start: int) -> Attribute:
    """`: memref<..>`, whose sizes must be those that are written before it."""
    end = parser.pos
    parser.parse_punctuation(":")
    type = parser.parse_type()
    if isinstance(type, ShapedType) and tuple(sizes) != type.get_shape():
        parser.raise_error(f"the sizes are not those of {type}", start, end)
    return type


@op_definition
class ReshapeOp(IRDLOperation):
    """The same memory in another shape. The elements are contiguous, their number is
    the same.

        %r = npu.reshape %a[%m, 64] : memref<?x8x8xf32, "gm"> -> memref<?x64xf32, "gm">
    """

    name = "npu.reshape"

    source = operand_def(MemRefType)
    sizes = var_operand_def(INDEX)
    result = result_def(MemRefType)

    traits = traits_def(Pure())

    @classmethod
    def make(cls, source: SSAValue, sizes: Sequence[Mixed]) -> Self:
        dynamic, static = split_mixed(sizes)
        type = gm_memref(memory_type(source).element_type, static.get_values())
        return cls.create(operands=[source, *dynamic], result_types=[type])

    @property
    def mixed_sizes(self) -> list[Mixed]:
        return mixed_sizes(memory_type(self.results[0]).get_shape(), self.sizes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        op = cls.make(source, parse_mixed(parser))
        op.attributes = parser.parse_optional_attr_dict()
        _check_given(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        print_mixed(printer, self.mixed_sizes)
        print_options(printer, self.attributes)
        print_arrow(printer, self.source, self.results[0])

    def verify_(self) -> None:
        source, result = check_gm(self.source.type), check_gm(self.results[0].type)
        if source.element_type != result.element_type:
            raise VerifyException("a reshape keeps the element type")
        wanted = count_dynamic(result.get_shape())
        if len(self.sizes) != wanted:
            raise VerifyException(f"{result} takes {counted(wanted, 'size')}")
        shapes = source.get_shape(), result.get_shape()
        if DYNAMIC not in shapes[0] + shapes[1] and prod(shapes[0]) != prod(shapes[1]):
            raise VerifyException(
                f"reshapes {counted(prod(shapes[0]), 'element')} to {prod(shapes[1])}"
            )


@op_definition
class ReinterpretOp(IRDLOperation):
    """The same memory as elements of another type; it is only read.

    The last dimension holds as many of them as fit.

        %r = npu.reinterpret %a to bf16 : memref<?x8xi8, "gm"> -> memref<?x4xbf16, "gm">
    """

    name = "npu.reinterpret"

    source = operand_def(MemRefType)
    result = result_def(MemRefType)

    traits = traits_def(Pure())

    @classmethod
    def make(cls, source: SSAValue, target: Attribute) -> Self:
        memory = memory_type(source)
        have, want = element_bytes(memory.element_type), element_bytes(target)
        *lead, last = memory.get_shape()
        last = last if last == DYNAMIC or not want else last * have // want
        return cls.create(
            operands=[source], result_types=[gm_memref(target, [*lead, last])]
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        parser.parse_keyword("to")
        op = cls.make(source, parser.parse_type())
        op.attributes = parser.parse_optional_attr_dict()
        _check_given(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" to ")
        printer.print_attribute(memory_type(self.results[0]).element_type)
        print_options(printer, self.attributes)
        print_arrow(printer, self.source, self.results[0])

    def verify_(self) -> None:
        source, result = check_gm(self.source.type), check_gm(self.results[0].type)
        elements = source.element_type, result.element_type
        if not all(map(element_bytes, elements)) or not source.get_shape():
            raise VerifyException(f"{source} cannot be read as {result.element_type}")
        wanted = self.make(self.source, result.element_type).results[0].type
        if result != wanted:
            raise VerifyException(f"the result is {wanted}, not {result}")


def _check_given(parser: Parser, op: ReshapeOp | ReinterpretOp) -> None:
    """A type that is written after an op is that of its result."""
    if parser.parse_optional_punctuation(":") is None:
        return
    start = parser.pos
    given = parse_arrow(parser, op.source)
    if given != op.results[0].type:
        parser.raise_error(f"the result is {op.results[0].type}", start, parser.pos)


@op_definition
class ReadOp(Offsets, IRDLOperation):
    """Reads one element into the orchestration, once the tasks it waits for are done.

    Launches that follow start after it. An integer becomes an index, or f32 where the
    result type says so. In the body of tasks each task reads for itself: what it waits
    for the tasks do, since the element is among their accesses.

        %n = npu.read %mem[%i] after(%e) : memref<?xi64, "gm"> -> index
    """

    name = "npu.read"

    source = operand_def(MemRefType)
    offsets = var_operand_def(INDEX)
    waits = var_operand_def(EVENTS)
    static_offsets = prop_def(INT_ARRAY)
    selectors = opt_prop_def(ArrayAttr[SelectorAttr])
    result = result_def(IndexType | Float32Type)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())

    @classmethod
    def make(
        cls,
        source: SSAValue,
        offsets: Sequence[Mixed],
        waits: Sequence[SSAValue] = (),
        selectors: Sequence[Selector] | None = None,
        result_type: Attribute | None = None,
    ) -> Self:
        dynamic, static = split_mixed(offsets)
        properties: dict[str, Attribute] = {
            "static_offsets": static,
            "operandSegmentSizes": segments(1, len(dynamic), len(waits)),
        }
        if waits:
            properties["selectors"] = selectors_attr(waits, selectors)
        if result_type is None:
            element = memory_type(source).element_type
            result_type = f32 if isinstance(element, AnyFloat) else INDEX
        return cls.create(
            operands=[source, *dynamic, *waits],
            result_types=[result_type],
            properties=properties,
        )

    def set_waits(
        self, waits: Sequence[SSAValue], selectors: Sequence[Selector] | None = None
    ) -> None:
        """Wait for these tasks, all of them by default, instead of the present ones."""
        kept = [self.source, *self.offsets]
        self.operands = [*kept, *waits]
        self.properties["operandSegmentSizes"] = segments(1, len(kept) - 1, len(waits))
        self.properties["selectors"] = selectors_attr(waits, selectors)

    @property
    def wait_list(self) -> list[tuple[SSAValue, Selector]]:
        return wait_list(self.waits, self.selectors)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        offsets = parse_mixed(parser)
        waits, selectors = parse_waits(parser, Spelling())
        attributes = parser.parse_optional_attr_dict()
        result_type: Attribute | None = None
        if parser.parse_optional_punctuation(":") is not None:
            result_type = parse_arrow(parser, source)
        op = cls.make(source, offsets, waits, selectors, result_type)
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        print_mixed(printer, self.mixed_offsets)
        print_waits(printer, self.wait_list, Spelling())
        print_options(printer, self.attributes)
        print_arrow(printer, self.source, self.results[0])

    def verify_(self) -> None:
        memory = check_gm(self.source.type)
        shape = memory.get_shape()
        check_box(shape, self.mixed_offsets, [1] * len(shape))
        if isinstance(self.results[0].type, IndexType) and not isinstance(
            memory.element_type, IntegerType
        ):
            raise VerifyException(f"reads {memory.element_type} as an index")
        check_selectors(self.waits, self.selectors, 0, 0)


# Events ------------------------------------------------------------------------------


@op_definition
class NoEventsOp(IRDLOperation):
    """The empty set of tasks."""

    name = "npu.no_events"

    events = result_def(EventsType)

    traits = traits_def(Pure())

    @classmethod
    def make(cls) -> Self:
        return cls.create(result_types=[EVENTS])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op = cls.make()
        op.attributes = parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        print_options(printer, self.attributes)


@op_definition
class JoinOp(IRDLOperation):
    """The union of sets of tasks."""

    name = "npu.join"

    sets = var_operand_def(EventsType)
    events = result_def(EventsType)

    traits = traits_def(Pure())

    @classmethod
    def make(cls, sets: Sequence[SSAValue]) -> Self:
        return cls.create(operands=sets, result_types=[EVENTS])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        sets = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, lambda: parse_value(parser)
        )
        op = cls.make(sets)
        op.attributes = parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.sets, printer.print_ssa_value)
        print_options(printer, self.attributes)

    @verified_alone
    def verify_(self) -> None:
        if not self.sets:
            raise VerifyException("joins nothing: npu.no_events is the empty set")
