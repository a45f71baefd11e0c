"""Boxes of memory in the bodies of tasks.

    npu.assemble %t into %o[%a, %b] {combine = "max"}
    %v = npu.load %mem[%i, 0 +: %n] : memref<..> -> tensor<..>
    npu.store %t into %mem[%a, %b]

The first stands in the tensor form of a task, the others in the memory form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import (
    MemRefType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
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
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.lexer import Span

from pyptoc.dialects.assembly import (
    DYNAMIC,
    INDEX,
    INT_ARRAY,
    Mixed,
    int_array,
    parse_mixed,
    parse_options,
    parse_types,
    parse_value,
    print_mixed,
    print_options,
    print_types,
    segments,
    split_mixed,
)
from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.literals import located
from pyptoc.dialects.memory import (
    check_box,
    check_combine,
    check_gm,
    memory_type,
)
from pyptoc.dialects.npu_assembly import (
    parse_arrow,
    print_arrow,
)
from pyptoc.dialects.npu_attrs import (
    MaxAttr,
)
from pyptoc.dialects.npu_tasks import TasksOp
from pyptoc.dialects.op_definition import op_definition, verified_alone
from pyptoc.dialects.subscripts import (
    WHOLE,
    Offsets,
    Subscripted,
    Subscripts,
    parse_subscripts,
    print_subscripts,
)
from pyptoc.dialects.words import counted


class _BoxWriteOp(Offsets, IRDLOperation):
    """Writes the box of `source` at `mixed_offsets` of `dest`.

    The dimensions of the source are the trailing ones of the destination; the leading
    extents are 1. `combine` folds onto what is there: "add", "max" or "min".
    """

    source = operand_def(TensorType)
    dest = operand_def()
    offsets = var_operand_def(INDEX)
    static_offsets = prop_def(INT_ARRAY)
    combine = opt_prop_def(StringAttr)

    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def make(
        cls,
        source: SSAValue,
        dest: SSAValue,
        offsets: Sequence[Mixed],
        combine: str | None = None,
    ) -> Self:
        dynamic, static = split_mixed(offsets)
        properties: dict[str, Attribute] = {"static_offsets": static}
        if combine is not None:
            properties["combine"] = StringAttr(combine)
        return cls.create(operands=[source, dest, *dynamic], properties=properties)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        parser.parse_keyword("into")
        dest = parse_value(parser)
        op = cls.make(source, dest, parse_mixed(parser))
        properties, op.attributes = parse_options(parser, ("combine",))
        op.properties.update(properties)
        parse_types(parser, [source, dest])
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" into ")
        printer.print_ssa_value(self.dest)
        print_mixed(printer, self.mixed_offsets)
        options = {"combine": self.combine} if self.combine is not None else {}
        print_options(printer, {**options, **self.attributes})
        print_types(printer, [self.source, self.dest])

    @verified_alone
    def verify_(self) -> None:
        source = cast("TensorType[Attribute]", self.source.type)
        dest = cast("TensorType[Attribute]", self.dest.type)
        element = dest.element_type
        if source.element_type != element:
            raise VerifyException(
                f"stores {source.element_type} into elements of {element}"
            )
        check_combine(self.combine)
        shape, box = dest.get_shape(), source.get_shape()
        if len(box) > len(shape):
            raise VerifyException(f"a box of rank {len(box)} in rank {len(shape)}")
        sizes = [1] * (len(shape) - len(box)) + list(box)
        check_box(shape, self.mixed_offsets, sizes)


@op_definition
class AssembleOp(_BoxWriteOp):
    """In the tensor form of a task: writes a box of one of its destinations.

    `combine` folds onto the initial value, in ascending grid order.
    """

    name = "npu.assemble"

    @property
    def tasks(self) -> TasksOp:
        """The tasks whose destination it writes."""
        owner = self.dest.owner
        assert not isinstance(owner, Operation)
        return cast(TasksOp, owner.parent_op())

    def verify_(self) -> None:
        dest = self.dest
        tasks = dest.owner.parent_op() if isinstance(dest, BlockArgument) else None
        if not isinstance(tasks, TasksOp) or dest not in tasks.out_args:
            raise VerifyException("assembles into what is no destination of npu.tasks")
        super().verify_()


@op_definition
class StoreOp(_BoxWriteOp):
    """Writes a box of memory."""

    name = "npu.store"

    @verified_alone
    def verify_(self) -> None:
        check_gm(self.dest.type)
        super().verify_()


@op_definition
class LoadOp(Subscripted, IRDLOperation):
    """Reads a box of memory as a tensor; subscripts are those of `pypto.view`."""

    name = "npu.load"

    source = operand_def(MemRefType)
    offsets = var_operand_def(INDEX)
    sizes = var_operand_def(INDEX)
    static_offsets = prop_def(INT_ARRAY)
    static_sizes = prop_def(INT_ARRAY)
    dropped = prop_def(INT_ARRAY)
    result = result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())

    @classmethod
    def make(
        cls,
        source: SSAValue,
        items: Subscripts | Iterable[Any],
        result_type: Attribute | None = None,
        bounds: Sequence[int] | None = None,
    ) -> Self:
        """`items`: per dimension an index, (offset, size), or None for all of it.

        `bounds` are upper bounds of the dimensions of the result, needed if it has a
        `?` and no `result_type` is given.
        """
        subscripts = items if isinstance(items, Subscripts) else Subscripts.of(items)
        offsets, static_offsets = split_mixed(subscripts.offsets)
        sizes, static_sizes = split_mixed(subscripts.sizes)
        if result_type is None:
            result_type = _box_type(
                memory_type(source), subscripts.sizes, subscripts.dropped, bounds
            )
        return cls.create(
            operands=[source, *offsets, *sizes],
            result_types=[result_type],
            properties={
                "static_offsets": static_offsets,
                "static_sizes": static_sizes,
                "dropped": int_array(tuple(subscripts.dropped)),
                "operandSegmentSizes": segments(1, len(offsets), len(sizes)),
            },
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        start = parser.pos
        subscripts = parse_subscripts(located(parser))
        span = located(parser).span_from(start)
        attributes = parser.parse_optional_attr_dict()
        result_type: Attribute | None = None
        if parser.parse_optional_punctuation(":") is not None:
            result_type = parse_arrow(parser, source)
        if result_type is None:
            _check_rank(source, subscripts, span)
        op = cls.make(source, subscripts, result_type)
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        print_subscripts(
            printer, self.mixed_offsets, self.mixed_sizes, self.dropped_dims
        )
        print_options(printer, self.attributes)
        print_arrow(printer, self.source, self.results[0])

    @verified_alone
    def verify_(self) -> None:
        memory, sizes = check_gm(self.source.type), self.mixed_sizes
        if len(self.static_offsets) != len(sizes):
            raise VerifyException("has not as many sizes as offsets")
        check_box(memory.get_shape(), self.mixed_offsets, sizes)
        result = cast("TensorType[Attribute]", self.results[0].type)
        inferred = _box_type(memory, sizes, self.dropped_dims, None)
        same_shape = result.get_shape() == inferred.get_shape()
        if result.element_type != inferred.element_type or not same_shape:
            raise VerifyException(f"the result is {inferred}, not {result}")


def _check_rank(source: SSAValue, subscripts: Subscripts, span: Span[str]) -> None:
    """Without a written type the result follows from the memref: there must be one."""
    if not isinstance(source.type, MemRefType):
        error(span, "PTO131", f"subscripts of {source.type}, which is no memref")
    rank, given = memory_type(source).get_num_dims(), len(subscripts.offsets)
    if given != rank:
        error(
            span, "PTO131", f"{counted(given, 'subscript')} for a memref of rank {rank}"
        )


def _box_type(
    memory: MemRefType[Attribute],
    sizes: Sequence[Mixed | None],
    dropped: Sequence[int],
    bounds: Sequence[int] | None,
) -> TensorType[Attribute]:
    """The type of a loaded box; a size of None or WHOLE is a whole dimension."""
    shape: list[int] = []
    for axis, (dim, size) in enumerate(zip(memory.get_shape(), sizes, strict=True)):
        if axis in dropped:
            continue
        if size is None or (isinstance(size, int) and size == WHOLE):
            shape.append(dim)
        else:
            shape.append(size if isinstance(size, int) else DYNAMIC)
    if DYNAMIC in shape and bounds is not None:
        return TensorType(memory.element_type, shape, MaxAttr(bounds))
    return TensorType(memory.element_type, shape)
