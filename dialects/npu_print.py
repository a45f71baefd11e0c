"""Printing memory from the orchestration: `npu.print "scores" %mem after(%e)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import ArrayAttr, MemRefType, StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect

from pyptoc.dialects.assembly import (
    parse_types,
    parse_value,
    print_options,
    print_types,
    segments,
)
from pyptoc.dialects.memory import check_gm
from pyptoc.dialects.npu_assembly import (
    Spelling,
    check_selectors,
    parse_waits,
    print_waits,
    selectors_attr,
    wait_list,
)
from pyptoc.dialects.npu_attrs import EVENTS, Selector, SelectorAttr
from pyptoc.dialects.op_definition import op_definition


@op_definition
class PrintOp(IRDLOperation):
    """Shows a buffer on the terminal, once the tasks it waits for are done.

    npu.print "scores" %mem after(%e) : memref<?x64xf32, "gm">
    """

    name = "npu.print"

    source = operand_def(MemRefType)
    waits = var_operand_def(EVENTS)
    label = prop_def(StringAttr)
    selectors = opt_prop_def(ArrayAttr[SelectorAttr])

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def make(cls, label: str, source: SSAValue) -> Self:
        return cls.create(
            operands=[source],
            properties={
                "label": StringAttr(label),
                "operandSegmentSizes": segments(1, 0),
            },
        )

    def set_waits(
        self, waits: Sequence[SSAValue], selectors: Sequence[Selector] | None = None
    ) -> None:
        """Wait for these tasks, all of them by default, instead of the present ones."""
        self.operands = [self.source, *waits]
        self.properties["operandSegmentSizes"] = segments(1, len(waits))
        self.properties["selectors"] = selectors_attr(waits, selectors)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = parser.parse_str_literal()
        op = cls.make(label, parse_value(parser))
        waits, selectors = parse_waits(parser, Spelling())
        if waits:
            op.set_waits(waits, selectors)
        op.attributes = parser.parse_optional_attr_dict()
        parse_types(parser, [op.source])
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.label.data)
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        print_waits(printer, wait_list(self.waits, self.selectors), Spelling())
        print_options(printer, self.attributes)
        print_types(printer, [self.source])

    def verify_(self) -> None:
        check_gm(self.source.type)
        check_selectors(self.waits, self.selectors, 0, 0)
