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
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import (
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
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
    UNIT,
    Mixed,
    join_mixed,
    parse_mixed,
    parse_one_mixed,
    parse_options,
    parse_value,
    print_mixed,
    print_one_mixed,
    print_options,
    segments,
    split_mixed,
)
from pyptoc.dialects.indexed import IndexedAccess
from pyptoc.dialects.npu_assembly import parse_arrow, print_arrow

Tensor = TensorType[Attribute]


def _shaped(value: SSAValue, what: str) -> Any:
    if not isinstance(value.type, TensorType | MemRefType):
        raise VerifyException(f"{what} is a tensor or a memref, not {value.type}")
    return cast("TensorType[Attribute] | MemRefType[Attribute]", value.type)


def _verify_tile(op: IndexedAccess, tile: Attribute) -> None:
    """The tile of the box: element type, at most rank 2, and the static extents."""
    memory = _shaped(op.memory, "the memory")
    indices = _shaped(op.indices, "the tile of indices")
    table = None if op.table is None else _shaped(op.table, "a page table").element_type
    op.verify_indexing(memory, indices.element_type, table)
    if not isinstance(tile, TensorType):
        raise VerifyException(f"the tile of a box is a tensor, not {tile}")
    tensor = cast("TensorType[Attribute]", tile)
    if tensor.element_type != memory.element_type:
        raise VerifyException(
            f"the tile holds {tensor.element_type}, the memory {memory.element_type}"
        )
    shape = list(tensor.get_shape())
    if len(shape) > 2:
        raise VerifyException(f"a tile has rank 2 at most, not {len(shape)}")
    for size, extent in zip([1] * (2 - len(shape)) + shape, op.extents, strict=True):
        if isinstance(extent, int) and size >= 0 and size != extent:
            raise VerifyException(f"a box of {extent} in a tile of {size}")


@irdl_op_definition
class GatherOp(IndexedAccess):
    """Reads a box whose place along one axis comes from indices."""

    name = "npu.gather"

    result = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())

    def verify_(self) -> None:
        _verify_tile(self, self.results[0].type)


@irdl_op_definition
class ScatterOp(IndexedAccess):
    """Writes a box whose place along one axis comes from indices, in index order.

    `combine = "add"` adds onto what is there; else the last of equal indices wins.
    `unique`: no index may repeat within the tasks.
    """

    name = "npu.scatter"

    combine = opt_prop_def(StringAttr)
    unique = opt_prop_def(UnitAttr)

    traits = traits_def(MemoryWriteEffect())
    DATA: ClassVar[str] = "source"
    OPTIONS: ClassVar[tuple[str, ...]] = (
        *IndexedAccess.OPTIONS,
        "combine",
        "unique",
    )

    def verify_(self) -> None:
        if self.data is None:
            raise VerifyException("scatters nothing")
        _verify_tile(self, self.data.type)
        verify_scatter(self)


def verify_scatter(op: IndexedAccess) -> None:
    """What only scatters must obey."""
    combine = op.properties.get("combine")
    if combine is not None and combine != StringAttr("add"):
        raise VerifyException(f'a scatter can combine by "add" only, not {combine}')
    if op.per.data == "element":
        raise VerifyException("a scatter has an index for each row, column or box")
    if op.table is not None:
        raise VerifyException("a scatter goes through no page table")


@irdl_op_definition
class TopkOp(IRDLOperation):
    """Merges a tile of rows into descending lists of values and their indices.

    The columns of the tile have the indices %first, %first + 1, ...; those that the
    lists hold are lower. An index of -1 in a list is a place without an element. NaN is
    the least element. `lengths`, one for each row, says how much of the %n elements of
    each row counts; `strict`: no list may stay with empty places.

        %v1, %i1 = npu.topk %x from %c of %n lengths %l into %v, %i : ..
    """

    name = "npu.topk"

    source = operand_def(TensorType)
    bounds = var_operand_def(INDEX)
    lengths = opt_operand_def(TensorType)
    values = operand_def(TensorType)
    indices = operand_def(TensorType)
    static_bounds = prop_def(INT_ARRAY)
    strict = opt_prop_def(UnitAttr)
    new_values = result_def(TensorType)
    new_indices = result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    @classmethod
    def make(
        cls,
        source: SSAValue,
        first: Mixed,
        size: Mixed,
        values: SSAValue,
        indices: SSAValue,
        lengths: SSAValue | None = None,
        strict: bool = False,
    ) -> Self:
        dynamic, static = split_mixed([first, size])
        extra = [] if lengths is None else [lengths]
        properties: dict[str, Attribute] = {
            "static_bounds": static,
            "operandSegmentSizes": segments(1, len(dynamic), len(extra), 1, 1),
        }
        if strict:
            properties["strict"] = UNIT
        return cls.create(
            operands=[source, *dynamic, *extra, values, indices],
            properties=properties,
            result_types=[values.type, indices.type],
        )

    @property
    def first(self) -> Mixed:
        """The index of the first column."""
        return join_mixed(self.static_bounds, self.bounds)[0]

    @property
    def size(self) -> Mixed:
        """The number of elements of the whole row."""
        return join_mixed(self.static_bounds, self.bounds)[1]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        parser.parse_keyword("from")
        first = parse_one_mixed(parser)
        parser.parse_keyword("of")
        size = parse_one_mixed(parser)
        lengths: SSAValue | None = None
        if parser.parse_optional_keyword("lengths") is not None:
            lengths = parse_value(parser)
        parser.parse_keyword("into")
        values = parse_value(parser)
        parser.parse_punctuation(",")
        indices = parse_value(parser)
        properties, attributes = parse_options(parser, ("strict",))
        op = cls.make(
            source, first, size, values, indices, lengths, "strict" in properties
        )
        op.attributes = attributes
        if parser.parse_optional_punctuation(":") is not None:
            for type_ in (source.type, values.type, indices.type):
                start = parser.pos
                if parser.parse_type() != type_:
                    parser.raise_error(f"the type is {type_}", start, parser.pos)
                parser.parse_optional_punctuation(",")
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" from ")
        print_one_mixed(printer, self.first)
        printer.print_string(" of ")
        print_one_mixed(printer, self.size)
        if self.lengths is not None:
            printer.print_string(" lengths ")
            printer.print_ssa_value(self.lengths)
        printer.print_string(" into ")
        printer.print_list([self.values, self.indices], printer.print_ssa_value)
        options: dict[str, Attribute] = {} if self.strict is None else {"strict": UNIT}
        print_options(printer, {**options, **self.attributes})
        printer.print_string(" : ")
        typed = [self.source, self.values, self.indices]
        printer.print_list(typed, lambda value: printer.print_attribute(value.type))

    def verify_(self) -> None:
        source, values, indices = (
            cast(Tensor, value.type)
            for value in (self.source, self.values, self.indices)
        )
        if values.element_type != source.element_type:
            raise VerifyException(
                f"merges {source.element_type} into lists of {values.element_type}"
            )
        if indices.element_type != i32:
            raise VerifyException(f"indices are i32, not {indices.element_type}")
        if values.get_shape() != indices.get_shape():
            raise VerifyException("the lists of values and indices differ in shape")
        if [r.type for r in self.results] != [self.values.type, self.indices.type]:
            raise VerifyException("the results have the types of the lists")


@irdl_op_definition
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
        source, result = (
            cast(Tensor, value.type) for value in (self.source, self.results[0])
        )
        if source.element_type not in (i32, i64):
            raise VerifyException(f"indices are i32 or i64, not {source.element_type}")
        if result.element_type != i1:
            raise VerifyException(f"the result holds i1, not {result.element_type}")
        if len(self.static_bounds) != 3:
            raise VerifyException("takes a first column and 2 extents")
