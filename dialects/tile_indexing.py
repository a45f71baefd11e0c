"""Instructions whose places come from data: gather, scatter, top-k, one-hot.

    tile.gather %x[0, %c] of %n at %i[%r] [%m, 64] into %b {axis = 0, ..}    mte2
    tile.scatter %b into %y[0, %c] of %n at %i[%r] [%m, 64] {axis = 0, ..}   mte3
    tile.topk %x from %c of %n into %v, %i using %t [%m, 256]                v
    tile.one_hot %i from %c into %d [%m, 64, 8]                              v

Gathers and scatters correspond to MGATHER and MSCATTER: the transfer pipe reads the
indices in ub itself, which orders it after whatever made them. top-k is the sort of 32
element runs and their merge, with a buffer of value and index pairs to work in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import StringAttr, UnitAttr, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
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
    parse_types,
    parse_value,
    print_mixed,
    print_one_mixed,
    print_options,
    print_types,
    segments,
    split_mixed,
)
from pyptoc.dialects.indexed import IndexedAccess
from pyptoc.dialects.memory import check_gm
from pyptoc.dialects.npu_indexing import verify_scatter
from pyptoc.dialects.tile_types import (
    BufType,
    Instruction,
    Pipe,
    Space,
    buffer_type,
    check_extent,
    check_space,
)


class IndexedTransfer(IndexedAccess, Instruction):
    """A gather or scatter between gm and a ub buffer, by indices in ub."""

    @property
    def buffer(self) -> SSAValue:
        """The buffer of the box."""
        assert self.data is not None
        return self.data

    def _lookups(self) -> list[SSAValue]:
        return [self.indices, *([] if self.table is None else [self.table])]

    def verify_(self) -> None:
        if self.data is None:
            raise VerifyException("has no buffer")
        for value in (self.indices, self.data):
            if not isinstance(value.type, BufType):
                raise VerifyException(f"expected a buffer, got {value.type}")
        memory = check_gm(self.memory.type)
        check_space("the indices", self.indices, Space.UB)
        check_space("the box", self.data, Space.UB)
        table = None if self.table is None else check_gm(self.table.type).element_type
        indices, box = buffer_type(self.indices), buffer_type(self.data)
        self.verify_indexing(memory, indices.element_type, table)
        if memory.element_type != box.element_type:
            raise VerifyException(
                f"moves {memory.element_type} by a buffer of {box.element_type}"
            )
        rows, columns = self.extents
        check_extent("the number of rows", rows, box.rows)
        check_extent("the number of columns", columns, box.columns)
        self._verify_indices(indices, rows, columns)

    def _verify_indices(self, indices: BufType, rows: Mixed, columns: Mixed) -> None:
        """There is an index for each element, row or column."""
        per = self.per.data
        if per == "element":
            check_extent("the number of rows of indices", rows, indices.rows)
            check_extent("the number of columns of indices", columns, indices.columns)
        elif per != "box":
            wanted = rows if per == "row" else columns
            check_extent("the number of indices", wanted, indices.columns)


@irdl_op_definition
class GatherOp(IndexedTransfer):
    """Loads a box whose place along one axis comes from indices."""

    name = "tile.gather"

    DATA: ClassVar[str] = "dest"

    @property
    def pipe(self) -> Pipe:
        return Pipe.MTE2

    def reads(self) -> list[SSAValue]:
        return [self.memory, *self._lookups()]

    def writes(self) -> list[SSAValue]:
        return [self.buffer]


@irdl_op_definition
class ScatterOp(IndexedTransfer):
    """Stores a box whose place along one axis comes from indices, in index order."""

    name = "tile.scatter"

    combine = opt_prop_def(StringAttr)
    unique = opt_prop_def(UnitAttr)

    DATA: ClassVar[str] = "source"
    OPTIONS: ClassVar[tuple[str, ...]] = (
        *IndexedAccess.OPTIONS,
        "combine",
        "unique",
    )

    @property
    def pipe(self) -> Pipe:
        return Pipe.MTE3

    def reads(self) -> list[SSAValue]:
        return [self.buffer, *self._lookups()]

    def writes(self) -> list[SSAValue]:
        return [self.memory]

    def verify_(self) -> None:
        super().verify_()
        verify_scatter(self)


@irdl_op_definition
class TopkOp(Instruction):
    """Merges rows into descending lists of values and indices, in place.

    Of the lists (k columns each) an index of -1 marks a place without an element. See
    `npu.topk`. `%t` is a buffer to work in: `scratch_columns` f32 in one row.

        tile.topk %x from %c of %n into %v, %i using %t [%m, 256] lengths %l {strict}
    """

    name = "tile.topk"

    source = operand_def(BufType)
    bounds = var_operand_def(INDEX)
    values = operand_def(BufType)
    indices = operand_def(BufType)
    scratch = operand_def(BufType)
    extent_operands = var_operand_def(INDEX)
    lengths = opt_operand_def(BufType)
    static_bounds = prop_def(INT_ARRAY)
    static_extents = prop_def(INT_ARRAY)
    strict = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def make(
        cls,
        source: SSAValue,
        bounds: Sequence[Mixed],
        lists: Sequence[SSAValue],
        scratch: SSAValue,
        extents: Sequence[Mixed],
        lengths: SSAValue | None = None,
        strict: bool = False,
    ) -> Self:
        """`bounds`: the index of the first column, the size of the whole row."""
        given, static_bounds = split_mixed(bounds)
        dynamic, static = split_mixed(extents)
        extra = [] if lengths is None else [lengths]
        sizes = (1, len(given), 1, 1, 1, len(dynamic), len(extra))
        properties: dict[str, Attribute] = {
            "static_bounds": static_bounds,
            "static_extents": static,
            "operandSegmentSizes": segments(*sizes),
        }
        if strict:
            properties["strict"] = UNIT
        return cls.create(
            operands=[source, *given, *lists, scratch, *dynamic, *extra],
            properties=properties,
        )

    @property
    def pipe(self) -> Pipe:
        return Pipe.V

    @property
    def mixed_bounds(self) -> list[Mixed]:
        """The index of the first column, the size of the whole row."""
        return join_mixed(self.static_bounds, self.bounds)

    @property
    def extents(self) -> list[Mixed]:
        """[rows, columns] of the source."""
        return join_mixed(self.static_extents, self.extent_operands)

    @property
    def k(self) -> int:
        return buffer_type(self.values).columns

    def reads(self) -> list[SSAValue]:
        extra = [] if self.lengths is None else [self.lengths]
        return [self.source, self.values, self.indices, *extra]

    def writes(self) -> list[SSAValue]:
        return [self.values, self.indices, self.scratch]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        parser.parse_keyword("from")
        first = parse_one_mixed(parser)
        parser.parse_keyword("of")
        size = parse_one_mixed(parser)
        parser.parse_keyword("into")
        values = parse_value(parser)
        parser.parse_punctuation(",")
        indices = parse_value(parser)
        parser.parse_keyword("using")
        scratch = parse_value(parser)
        extents = parse_mixed(parser)
        lengths: SSAValue | None = None
        if parser.parse_optional_keyword("lengths") is not None:
            lengths = parse_value(parser)
        properties, attributes = parse_options(parser, ("strict",))
        op = cls.make(
            source,
            [first, size],
            [values, indices],
            scratch,
            extents,
            lengths,
            "strict" in properties,
        )
        op.attributes = attributes
        parse_types(parser, op._typed())
        return op

    def _typed(self) -> list[SSAValue]:
        return [self.source, self.values, self.indices, self.scratch]

    def print(self, printer: Printer) -> None:
        first, size = self.mixed_bounds
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" from ")
        print_one_mixed(printer, first)
        printer.print_string(" of ")
        print_one_mixed(printer, size)
        printer.print_string(" into ")
        printer.print_list([self.values, self.indices], printer.print_ssa_value)
        printer.print_string(" using ")
        printer.print_ssa_value(self.scratch)
        printer.print_string(" ")
        print_mixed(printer, self.extents)
        if self.lengths is not None:
            printer.print_string(" lengths ")
            printer.print_ssa_value(self.lengths)
        options: dict[str, Attribute] = {} if self.strict is None else {"strict": UNIT}
        print_options(printer, {**options, **self.attributes})
        print_types(printer, self._typed())

    def verify_(self) -> None:
        for what, value in (
            ("the source", self.source),
            ("the values", self.values),
            ("the indices", self.indices),
            ("the scratch", self.scratch),
        ):
            check_space(what, value, Space.UB)
        source, values = buffer_type(self.source), buffer_type(self.values)
        indices = buffer_type(self.indices)
        if values.element_type != source.element_type or source.element_type == i1:
            raise VerifyException(
                f"merges {source.element_type} into lists of {values.element_type}"
            )
        if indices.element_type != i32 or indices.shape != values.shape:
            raise VerifyException("indices are i32, in a buffer shaped as the values")
        rows, columns = self.extents
        check_extent("the number of rows", rows, source.rows)
        check_extent("the number of rows of the lists", rows, values.rows)
        check_extent("the number of columns", columns, source.columns)
        wanted = scratch_columns(values.columns, source.columns)
        scratch = buffer_type(self.scratch)
        check_extent("the width of the scratch", wanted, scratch.columns)
        if self.lengths is not None:
            lengths = buffer_type(self.lengths)
            if lengths.element_type not in (i32, i64):
                raise VerifyException("lengths are i32 or i64")
            check_extent("the number of lengths", rows, lengths.columns)


def scratch_columns(k: int, columns: int) -> int:
    """Words to merge a row in: pairs of value and index, twice, in runs of 32."""
    return 4 * (-(-k // 32) + -(-columns // 32)) * 32


@irdl_op_definition
class OneHotOp(Instruction):
    """d[i, j] = whether any of the indices of row i is %first + j.

    Of the extents [m, n, q], m and n are those of the result, q the indices a row.

        tile.one_hot %i from %first into %d [%m, 64, 8]
    """

    name = "tile.one_hot"

    source = operand_def(BufType)
    bounds = var_operand_def(INDEX)
    dest = operand_def(BufType)
    static_bounds = prop_def(INT_ARRAY)

    @classmethod
    def make(
        cls, source: SSAValue, first: Mixed, dest: SSAValue, extents: Sequence[Mixed]
    ) -> Self:
        dynamic, static = split_mixed([first, *extents])
        return cls.create(
            operands=[source, *dynamic, dest], properties={"static_bounds": static}
        )

    @property
    def pipe(self) -> Pipe:
        return Pipe.V

    @property
    def first(self) -> Mixed:
        return join_mixed(self.static_bounds, self.bounds)[0]

    @property
    def extents(self) -> list[Mixed]:
        """[rows, columns, indices a row]"""
        return join_mixed(self.static_bounds, self.bounds)[1:]

    def reads(self) -> list[SSAValue]:
        return [self.source]

    def writes(self) -> list[SSAValue]:
        return [self.dest]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        parser.parse_keyword("from")
        first = parse_one_mixed(parser)
        parser.parse_keyword("into")
        dest = parse_value(parser)
        op = cls.make(source, first, dest, parse_mixed(parser))
        op.attributes = parser.parse_optional_attr_dict()
        parse_types(parser, [source, dest])
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" from ")
        print_one_mixed(printer, self.first)
        printer.print_string(" into ")
        printer.print_ssa_value(self.dest)
        printer.print_string(" ")
        print_mixed(printer, self.extents)
        print_options(printer, self.attributes)
        print_types(printer, [self.source, self.dest])

    def verify_(self) -> None:
        check_space("the indices", self.source, Space.UB)
        check_space("the destination", self.dest, Space.UB)
        source, dest = buffer_type(self.source), buffer_type(self.dest)
        if source.element_type not in (i32, i64):
            raise VerifyException(f"indices are i32 or i64, not {source.element_type}")
        if dest.element_type != i1:
            raise VerifyException(f"the destination holds i1, not {dest.element_type}")
        if len(self.static_bounds) != 4:
            raise VerifyException("takes 3 extents [m, n, q]")
        rows, columns, count = self.extents
        check_extent("m", rows, dest.rows)
        check_extent("n", columns, dest.columns)
        check_extent("the number of rows of indices", rows, source.rows)
        check_extent("q", count, source.columns)
