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

from xdsl.ir import SSAValue
from xdsl.irdl import (
    operand_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    INDEX,
    INT_ARRAY,
    Mixed,
    join_mixed,
    parse_mixed,
    parse_one_mixed,
    parse_types,
    parse_value,
    print_mixed,
    print_one_mixed,
    print_options,
    print_types,
    split_mixed,
)
from pyptoc.dialects.indexed import IndexedAccess, ScatterAccess
from pyptoc.dialects.memory import check_gm
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.selection import Merge, verify_indices, verify_mask
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
        return [*self.all_indices, *([] if self.table is None else [self.table])]

    def verify_(self) -> None:
        if self.data is None:
            raise VerifyException("has no buffer")
        for value in (*self.all_indices, self.data):
            if not isinstance(value.type, BufType):
                raise VerifyException(f"expected a buffer, got {value.type}")
        memory = check_gm(self.memory.type)
        check_space("the box", self.data, Space.UB)
        if self.table is not None:
            check_gm(self.table.type)
        box = buffer_type(self.data)
        self.verify_indexing(memory, box.element_type)
        rows, columns = self.extents
        check_extent("the number of rows", rows, box.rows)
        check_extent("the number of columns", columns, box.columns)
        for indices in self.all_indices:
            check_space("the indices", indices, Space.UB)
            self._verify_indices(buffer_type(indices), rows, columns)

    def _verify_indices(self, indices: BufType, rows: Mixed, columns: Mixed) -> None:
        """There is an index for each element, row or column."""
        per = self.per.data
        if per == "element":
            check_extent("the number of rows of indices", rows, indices.rows)
            check_extent("the number of columns of indices", columns, indices.columns)
        elif per != "box":
            wanted = rows if per == "row" else columns
            check_extent("the number of indices", wanted, indices.columns)


@op_definition
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


@op_definition
class ScatterOp(ScatterAccess, IndexedTransfer):
    """Stores a box whose place along one axis comes from indices, in index order."""

    name = "tile.scatter"

    @property
    def pipe(self) -> Pipe:
        return Pipe.MTE3

    def reads(self) -> list[SSAValue]:
        return [self.buffer, *self._lookups()]

    def writes(self) -> list[SSAValue]:
        return [self.memory]

    def verify_(self) -> None:
        IndexedTransfer.verify_(self)
        self.verify_scatter()


@op_definition
class TopkOp(Merge, Instruction):
    """Merges rows into lists of values and indices, in place; see `selection.py`.

    Extents are [rows, columns of the source, columns of the lists]. `%t` is a buffer to
    work in: `scratch_columns` words in one row.

        tile.topk %x from %c of %n into %v, %i using %t [%m, 256, 8] lengths %l
    """

    name = "tile.topk"

    @property
    def pipe(self) -> Pipe:
        return Pipe.V

    def reads(self) -> list[SSAValue]:
        extra = [] if self.lengths is None else [self.lengths]
        return [self.source, *self.lists, *extra, *self.after]

    def writes(self) -> list[SSAValue]:
        return [*self.lists, *([] if self.scratch is None else [self.scratch])]

    def verify_(self) -> None:
        if self.scratch is None or len(self.extents) != 3:
            raise VerifyException("takes a scratch and 3 extents [m, n, k]")
        for what, value in (
            ("the source", self.source),
            ("the values", self.values),
            ("the indices", self.indices),
            ("the scratch", self.scratch),
            *(("a list before", value) for value in self.after),
        ):
            check_space(what, value, Space.UB)
        self.verify_merge()
        source, values = buffer_type(self.source), buffer_type(self.values)
        rows, columns, kept = self.extents
        check_extent("the number of rows", rows, source.rows)
        check_extent("the number of rows of the lists", rows, values.rows)
        check_extent("the number of columns", columns, source.columns)
        check_extent("the number of columns of the lists", kept, values.columns)
        wanted = scratch_columns(values.columns, source.columns)
        scratch = buffer_type(self.scratch)
        check_extent("the width of the scratch", wanted, scratch.columns)
        if self.lengths is not None:
            lengths = buffer_type(self.lengths)
            check_extent("the number of lengths", rows, lengths.columns)


def scratch_columns(k: int, columns: int) -> int:
    """Words to merge a row in: pairs of value and index, twice, in runs of 32."""
    return 4 * (-(-k // 32) + -(-columns // 32)) * 32


@op_definition
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
        verify_indices("indices", self.source)
        verify_mask("the destination", self.dest)
        if len(self.static_bounds) != 4:
            raise VerifyException("takes 3 extents [m, n, q]")
        rows, columns, count = self.extents
        check_extent("m", rows, dest.rows)
        check_extent("n", columns, dest.columns)
        check_extent("the number of rows of indices", rows, source.rows)
        check_extent("q", count, source.columns)
