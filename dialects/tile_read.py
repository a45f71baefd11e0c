"""Scalars from memory, in a kernel.

    %p = tile.read %table[%b, %j] : memref<?x?xi32, "gm"> -> index

The scalar pipe of a core reads one element by itself and issues what follows to the
other pipes, so nothing waits for it by a flag. It is no instruction of theirs: like
index arithmetic, it is done by each core that needs the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import Float32Type, IndexType, IntegerType, MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    INDEX,
    INT_ARRAY,
    Mixed,
    parse_mixed,
    parse_value,
    print_mixed,
    print_options,
    split_mixed,
)
from pyptoc.dialects.memory import check_box, check_gm
from pyptoc.dialects.npu_assembly import parse_arrow, print_arrow
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.subscripts import Offsets


@op_definition
class ReadOp(Offsets, IRDLOperation):
    """Reads one element of memory as a scalar: an integer as an index, or as f32.

    The memory is none that the kernel stores to.

        %p = tile.read %table[%b, %j] : memref<?x?xi32, "gm"> -> index
    """

    name = "tile.read"

    source = operand_def(MemRefType)
    offsets = var_operand_def(INDEX)
    static_offsets = prop_def(INT_ARRAY)
    result = result_def(IndexType | Float32Type)

    traits = traits_def(MemoryReadEffect())

    @classmethod
    def make(
        cls, source: SSAValue, offsets: Sequence[Mixed], result_type: Attribute = INDEX
    ) -> Self:
        dynamic, static = split_mixed(offsets)
        return cls.create(
            operands=[source, *dynamic],
            properties={"static_offsets": static},
            result_types=[result_type],
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        offsets = parse_mixed(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls.make(source, offsets, parse_arrow(parser, source))
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        print_mixed(printer, self.mixed_offsets)
        print_options(printer, self.attributes)
        print_arrow(printer, self.source, self.results[0])

    def verify_(self) -> None:
        memory = check_gm(self.source.type)
        shape = memory.get_shape()
        check_box(shape, self.mixed_offsets, [1] * len(shape))
        is_index = isinstance(self.results[0].type, IndexType)
        if is_index and not isinstance(memory.element_type, IntegerType):
            raise VerifyException(f"reads {memory.element_type} as an index")
