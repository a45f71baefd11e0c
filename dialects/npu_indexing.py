"""In the bodies of tasks: gathers, scatters, top-k and one-hot, whose places are data.

    %t = npu.gather %x[0, %c] of %n at %i[%r] [%m, 64] {axis = 0, ..} : .. -> tensor<..>
    npu.scatter %t into %y[0, %c] of %n at %i[%r] [%m, 64] {axis = 0, ..}
    %v1, %i1 = npu.topk %x from %c of %n into %v, %i
    %h = npu.one_hot %i from %c [%m, 64] : tensor<..> -> tensor<..>

Gathers and scatters read and write tensors (destinations of the tasks) in the tensor
form and memrefs in the memory form; `indexed.py` says how they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import (
    MemRefType,
    TensorType,
)
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
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    INDEX,
    INT_ARRAY,
    Mixed,
    join_mixed,
    parse_mixed,
    parse_one_mixed,
    parse_value,
    print_mixed,
    print_one_mixed,
    print_options,
    split_mixed,
)
from pyptoc.dialects.indexed import IndexedAccess, ScatterAccess
from pyptoc.dialects.npu_assembly import parse_arrow, print_arrow
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.selection import Merge, verify_indices, verify_mask


def _verify_tile(op: IndexedAccess, tile: Attribute) -> None:
    """The tile of the box: element type, at most rank 2, and the static extents."""
    named = [("the memory", op.memory), ("a page table", op.table)]
    named += [("the tile of indices", value) for value in op.all_indices]
    for what, value in named:
        if value is not None and not isinstance(value.type, TensorType | MemRefType):
            raise VerifyException(f"{what} is a tensor or a memref, not {value.type}")
    if not isinstance(tile, TensorType):
        raise VerifyException(f"the tile of a box is a tensor, not {tile}")
    tensor = cast("TensorType[Attribute]", tile)
    op.verify_indexing(op.memory.type, tensor.element_type)
    shape = list(tensor.get_shape())
    if len(shape) > 2:
        raise VerifyException(f"a tile has rank 2 at most, not {len(shape)}")
    for size, extent in zip([1] * (2 - len(shape)) + shape, op.extents, strict=True):
        if isinstance(extent, int) and size >= 0 and size != extent:
            raise VerifyException(f"a box of {extent} in a tile of {size}")


@op_definition
class GatherOp(IndexedAccess):
    """Reads a box whose place along one axis comes from indices."""

    name = "npu.gather"

    result = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())

    def verify_(self) -> None:
        _verify_tile(self, self.results[0].type)


@op_definition
class ScatterOp(ScatterAccess):
    """Writes a box whose place along one axis comes from indices, in index order.

    `combine = "add"` adds onto what is there; else the last of equal indices wins.
    `unique`: no index may repeat within the tasks.
    """

    name = "npu.scatter"

    traits = traits_def(MemoryWriteEffect())

    def verify_(self) -> None:
        if self.data is None:
            raise VerifyException("scatters nothing")
        _verify_tile(self, self.data.type)
        self.verify_scatter()


@op_definition
class TopkOp(Merge):
    """Merges a tile of rows into new lists of values and indices; see `selection.py`.

    %v1, %i1 = npu.topk %x from %c of %n into %v, %i lengths %l {at_least = 8} : ..
    """

    name = "npu.topk"

    new_values = result_def(TensorType)
    new_indices = result_def(TensorType)

    traits = traits_def(Pure())

    @classmethod
    def made_of(cls, lists: Sequence[SSAValue]) -> list[Attribute]:
        return [value.type for value in lists]

    def verify_(self) -> None:
        self.verify_merge()
        if [r.type for r in self.results] != [v.type for v in self.lists]:
            raise VerifyException("the results have the types of the lists")


@op_definition
class OneHotOp(IRDLOperation):
    """True in column j of row i where any index of row i is %first + j.

    %h = npu.one_hot %i from %first [%m, %n] : tensor<?x8xi32> -> tensor<?x64xi1>
    """

    name = "npu.one_hot"

    source = operand_def(TensorType)
    bounds = var_operand_def(INDEX)
    static_bounds = prop_def(INT_ARRAY)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    @classmethod
    def make(
        cls,
        source: SSAValue,
        first: Mixed,
        extents: Sequence[Mixed],
        result_type: Attribute,
    ) -> Self:
        dynamic, static = split_mixed([first, *extents])
        return cls.create(
            operands=[source, *dynamic],
            properties={"static_bounds": static},
            result_types=[result_type],
        )

    @property
    def first(self) -> Mixed:
        return join_mixed(self.static_bounds, self.bounds)[0]

    @property
    def extents(self) -> list[Mixed]:
        """[rows, columns] of the result."""
        return join_mixed(self.static_bounds, self.bounds)[1:]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        parser.parse_keyword("from")
        first = parse_one_mixed(parser)
        extents = parse_mixed(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls.make(source, first, extents, parse_arrow(parser, source))
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" from ")
        print_one_mixed(printer, self.first)
        printer.print_string(" ")
        print_mixed(printer, self.extents)
        print_options(printer, self.attributes)
        print_arrow(printer, self.source, self.results[0])

    def verify_(self) -> None:
        verify_indices("indices", self.source)
        verify_mask("the result", self.results[0])
        if len(self.static_bounds) != 3:
            raise VerifyException("takes a first column and 2 extents")
