"""
A part of an allocation that is used as a memref: how workspaces share memory.

    %w = npu.place %arena at 4096[%m, 64] : memref<?xi8, "gm"> -> memref<?x64xf32, "gm">
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import IntegerAttr, MemRefType, i8, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    DYNAMIC,
    INDEX,
    Mixed,
    count_dynamic,
    int_attr,
    mixed_sizes,
    parse_mixed,
    parse_one_mixed,
    parse_value,
    print_mixed,
    print_one_mixed,
    print_options,
    segments,
    split_mixed,
)
from pyptoc.dialects.memory import check_gm, gm_memref, memory_type
from pyptoc.dialects.npu_assembly import parse_arrow, print_arrow
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.pypto.infer_shape import element_bytes
from pyptoc.dialects.words import counted


def stored_bytes(element: Attribute) -> int:
    """Bytes of an element in memory: a truth value has a byte of its own."""
    return element_bytes(element) or 1


@op_definition
class PlaceOp(IRDLOperation):
    """Memory behind a byte of an arena, with a type and sizes of its own.

    Two places may share bytes: the waits between launches say who has them when.

        %w = npu.place %arena at %o[%m, 64]
            : memref<?xi8, "gm"> -> memref<?x64xf32, "gm">
    """

    name = "npu.place"

    arena = operand_def(MemRefType)
    dynamic_offset = opt_operand_def(INDEX)
    sizes = var_operand_def(INDEX)
    static_offset = prop_def(IntegerAttr.constr(i64))
    result = result_def(MemRefType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    @classmethod
    def make(
        cls, arena: SSAValue, offset: Mixed, sizes: Sequence[Mixed], element: Attribute
    ) -> Self:
        dynamic, static = split_mixed(sizes)
        type = gm_memref(element, static.get_values())
        at = [] if isinstance(offset, int) else [offset]
        return cls.create(
            operands=[arena, *at, *dynamic],
            result_types=[type],
            properties={
                "static_offset": int_attr(
                    offset if isinstance(offset, int) else DYNAMIC
                ),
                "operandSegmentSizes": segments(1, len(at), len(dynamic)),
            },
        )

    @property
    def offset(self) -> Mixed:
        """The first byte."""
        if self.dynamic_offset is not None:
            return self.dynamic_offset
        return self.static_offset.value.data

    @property
    def mixed_sizes(self) -> list[Mixed]:
        return mixed_sizes(memory_type(self.results[0]).get_shape(), self.sizes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        arena = parse_value(parser)
        parser.parse_keyword("at")
        offset = parse_one_mixed(parser)
        sizes = parse_mixed(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        given = parse_arrow(parser, arena)
        if not isinstance(given, MemRefType):
            parser.raise_error("a memref is expected here", start, parser.pos)
        element = cast("MemRefType[Attribute]", given).element_type
        op = cls.make(arena, offset, sizes, element)
        if op.results[0].type != given:
            parser.raise_error(f"the sizes are not those of {given}", start, parser.pos)
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.arena)
        printer.print_string(" at ")
        print_one_mixed(printer, self.offset)
        print_mixed(printer, self.mixed_sizes)
        print_options(printer, self.attributes)
        print_arrow(printer, self.arena, self.results[0])

    def verify_(self) -> None:
        arena, result = check_gm(self.arena.type), check_gm(self.results[0].type)
        if arena.element_type != i8 or arena.get_num_dims() != 1:
            raise VerifyException(f"an arena is a memref<?xi8>, not {arena}")
        wanted = count_dynamic(result.get_shape())
        if len(self.sizes) != wanted:
            raise VerifyException(f"{result} takes {counted(wanted, 'size')}")
        size = stored_bytes(result.element_type)
        offset = self.offset
        if not isinstance(offset, int):
            return
        if offset < 0:
            raise VerifyException(f"offset {offset} is negative")
        for dim in result.get_shape():
            size = -1 if dim == DYNAMIC else size * dim
            if size < 0:
                return
        (held,) = arena.get_shape()
        if held != DYNAMIC and offset + size > held:
            raise VerifyException(
                f"ends at byte {offset + size} of an arena of {held} bytes"
            )
