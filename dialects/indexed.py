"""Boxes of memory whose place along one axis comes from data: gathers and scatters.

    npu.gather %x[0, %c] of %n at %i[%p] [%m, 64]
        {axis = 0, dims = [-1, 1], per = "row"}

The box has m rows and n columns. A tile of indices says where it lies along `axis`:
one index for each element, row or column of the box, or one for all of it (`per`).
`dims` are the dimensions of the memory along which rows and columns run, -1 where the
indices decide. So element (i, j) above is x[index i, %c + j].

- `%x[..]` are offsets, one for each dimension; along `axis` that of index 0.
- `of %n` is the number of legal indices; any other one stops the program (PTO408).
- `%i[%p]`: where the tile of indices begins in the tensor of indices, for that message.
- `through %table[..] of %pages` with `page = P`: index k means row table[k // P] * P +
  k mod P of the n; `table_axis` is the dimension of the table that is looked up.
- `missing = -1`: this index names nothing. A gather gives zeros, a scatter skips it.
- `at %i, %j[%p]` with `more_axes = [1]`: a tile of indices for each of several axes;
  the bounds after the first are the numbers of their legal indices.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
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
    Mixed,
    int_array,
    int_attr,
    join_mixed,
    parse_mixed,
    parse_one_mixed,
    parse_options,
    parse_types,
    parse_value,
    print_mixed,
    print_one_mixed,
    print_options,
    segments,
    split_mixed,
)
from pyptoc.dialects.words import counted

PER = ("element", "row", "column", "box")
"""What of the box each index is for. The tile of indices is [m, n], [1, m], [1, n] or
[1, 1]; a leading 1 may be left out."""


class IndexedAccess(IRDLOperation, ABC):
    """What all gathers and scatters share; see the module."""

    memory = operand_def()
    offsets = var_operand_def(INDEX)
    bounds = var_operand_def(INDEX)
    indices = operand_def()
    more_indices = var_operand_def()
    positions = var_operand_def(INDEX)
    extent_operands = var_operand_def(INDEX)
    table = opt_operand_def()
    table_offsets = var_operand_def(INDEX)
    data = opt_operand_def()
    static_offsets = prop_def(INT_ARRAY)
    static_bounds = prop_def(INT_ARRAY)
    static_positions = prop_def(INT_ARRAY)
    static_extents = prop_def(INT_ARRAY)
    static_table_offsets = opt_prop_def(INT_ARRAY)
    axis = prop_def(IntegerAttr)
    more_axes = opt_prop_def(INT_ARRAY)
    dims = prop_def(INT_ARRAY)
    per = prop_def(StringAttr)
    page = opt_prop_def(IntegerAttr)
    table_axis = opt_prop_def(IntegerAttr)
    missing = opt_prop_def(IntegerAttr)
    asked_by = opt_prop_def(StringAttr)
    asked_at = opt_prop_def(StringAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    DATA: ClassVar[str] = ""
    """Where the data operand stands: `source` (`%v into`), `dest` (`into %v`) or "" for
    a result."""
    OPTIONS: ClassVar[tuple[str, ...]] = (
        "axis",
        "more_axes",
        "dims",
        "per",
        "page",
        "table_axis",
        "missing",
        "asked_by",
        "asked_at",
    )

    @classmethod
    def of(
        cls,
        memory: SSAValue,
        offsets: Sequence[Mixed],
        limits: Sequence[Mixed],
        indices: Sequence[SSAValue],
        positions: Sequence[Mixed],
        extents: Sequence[Mixed],
        properties: Mapping[str, Attribute],
        *,
        table: tuple[SSAValue, Sequence[Mixed], Mixed] | None = None,
        data: SSAValue | None = None,
        result_type: Attribute | None = None,
    ) -> Self:
        """
        `limits`, `indices`: one for each axis. `table`: the tensor, offsets into it,
        and the number of its pages.
        """
        bounds = [*limits] if table is None else [*limits, table[2]]
        lists = [split_mixed(v) for v in (offsets, bounds, positions, extents)]
        (o, so), (b, sb), (p, sp), (e, se) = lists
        kept = dict(properties)
        kept |= {
            "static_offsets": so,
            "static_bounds": sb,
            "static_positions": sp,
            "static_extents": se,
        }
        looked: list[SSAValue] = []
        if table is not None:
            looked, static = split_mixed(table[1])
            kept["static_table_offsets"] = static
        more = len(indices) - 1
        counts = (1, len(o), len(b), 1, more, len(p), len(e), int(table is not None))
        kept["operandSegmentSizes"] = segments(
            *counts, len(looked), int(data is not None)
        )
        operands = [memory, *o, *b, *indices, *p, *e]
        operands += [] if table is None else [table[0], *looked]
        operands += [] if data is None else [data]
        return cls.create(
            operands=operands,
            properties=kept,
            result_types=[] if result_type is None else [result_type],
        )

    # -- what passes ask

    @property
    def mixed_offsets(self) -> list[Mixed]:
        return join_mixed(self.static_offsets, self.offsets)

    @property
    def limits(self) -> list[Mixed]:
        """The number of legal rows along each axis."""
        bounds = join_mixed(self.static_bounds, self.bounds)
        return bounds if self.table is None else bounds[:1]

    @property
    def all_indices(self) -> list[SSAValue]:
        """The tile of indices of each axis."""
        return [self.indices, *self.more_indices]

    @property
    def mixed_positions(self) -> list[Mixed]:
        return join_mixed(self.static_positions, self.positions)

    @property
    def extents(self) -> list[Mixed]:
        """[rows, columns] of the box."""
        return join_mixed(self.static_extents, self.extent_operands)

    @property
    def lookup(self) -> tuple[SSAValue, list[Mixed], Mixed] | None:
        """The page table, the offsets into it, the number of its pages."""
        if self.table is None or self.static_table_offsets is None:
            return None
        offsets = join_mixed(self.static_table_offsets, self.table_offsets)
        return self.table, offsets, join_mixed(self.static_bounds, self.bounds)[1]

    @property
    def axes(self) -> tuple[int, ...]:
        """The dimensions that the indices select."""
        more = () if self.more_axes is None else self.more_axes.get_values()
        return (self.axis.value.data, *more)

    @property
    def box_dims(self) -> tuple[int, int]:
        """The dimensions of rows and of columns, -1 for none."""
        row, column = self.dims.get_values()
        return row, column

    def copied_properties(self) -> dict[str, Attribute]:
        """The properties that do not depend on the form of the operation."""
        return {n: self.properties[n] for n in self.OPTIONS if n in self.properties}

    # -- assembly

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        data: SSAValue | None = None
        if cls.DATA == "source":
            data = parse_value(parser)
            parser.parse_keyword("into")
        memory = parse_value(parser)
        offsets = parse_mixed(parser)
        parser.parse_keyword("of")
        limits = [parse_one_mixed(parser)]
        while parser.parse_optional_punctuation(",") is not None:
            limits.append(parse_one_mixed(parser))
        parser.parse_keyword("at")
        indices = [parse_value(parser)]
        while parser.parse_optional_punctuation(",") is not None:
            indices.append(parse_value(parser))
        positions = parse_mixed(parser)
        extents = parse_mixed(parser)
        table: tuple[SSAValue, Sequence[Mixed], Mixed] | None = None
        if parser.parse_optional_keyword("through") is not None:
            value, at = parse_value(parser), parse_mixed(parser)
            parser.parse_keyword("of")
            table = (value, at, parse_one_mixed(parser))
        if cls.DATA == "dest":
            parser.parse_keyword("into")
            data = parse_value(parser)
        properties, attributes = parse_options(parser, cls.OPTIONS)
        typed = [v for v in (memory, *indices, table and table[0], data) if v]
        parse_types(parser, typed)
        result_type: Attribute | None = None
        if not cls.DATA:
            parser.parse_punctuation("->")
            result_type = parser.parse_type()
        op = cls.of(
            memory,
            offsets,
            limits,
            indices,
            positions,
            extents,
            properties,
            table=table,
            data=data,
            result_type=result_type,
        )
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if self.DATA == "source" and self.data is not None:
            printer.print_ssa_value(self.data)
            printer.print_string(" into ")
        _print_boxed(printer, self.memory, self.mixed_offsets, self.limits)
        printer.print_string(" at ")
        printer.print_list(self.all_indices, printer.print_ssa_value)
        print_mixed(printer, self.mixed_positions)
        printer.print_string(" ")
        print_mixed(printer, self.extents)
        if self.lookup is not None:
            printer.print_string(" through ")
            table, offsets, pages = self.lookup
            _print_boxed(printer, table, offsets, [pages])
        if self.DATA == "dest" and self.data is not None:
            printer.print_string(" into ")
            printer.print_ssa_value(self.data)
        print_options(printer, {**self.copied_properties(), **self.attributes})
        typed = [self.memory, *self.all_indices, self.table, self.data]
        printer.print_string(" : ")
        printer.print_list(
            [v for v in typed if v is not None],
            lambda value: printer.print_attribute(value.type),
        )
        if self.results:
            printer.print_string(" -> ")
            printer.print_attribute(self.results[0].type)

    # -- verification

    def verify_indexing(self, memory: Any, tile: Attribute) -> None:
        """Ranks, axes and the elements of the operands; sizes are the subclasses'."""
        rank = len(memory.get_shape())
        if len(self.static_offsets) != rank:
            raise VerifyException(
                f"takes {rank} offsets, got {len(self.static_offsets)}"
            )
        if len(self.static_extents) != 2:
            raise VerifyException(f"takes 2 extents, got {len(self.static_extents)}")
        self._verify_axes(rank)
        for indices in map(element_of, self.all_indices):
            if indices not in (i32, i64):
                raise VerifyException(f"indices are i32 or i64, not {indices}")
        wanted = len(self.axes) + (self.table is not None)
        if len(self.static_bounds) != wanted:
            raise VerifyException(f"takes {wanted} bounds")
        self._verify_table(None if self.table is None else element_of(self.table))
        if memory.element_type != tile:
            raise VerifyException(
                f"the tile holds {tile}, the memory {memory.element_type}"
            )

    def _verify_axes(self, rank: int) -> None:
        axes, box = self.axes, self.box_dims
        for axis in axes:
            if not 0 <= axis < rank:
                raise VerifyException(f"no axis {axis} in a memory of rank {rank}")
        if len(set(axes)) != len(axes):
            raise VerifyException(f"axes {list(axes)} name one dimension twice")
        if len(axes) != len(self.all_indices):
            raise VerifyException(
                f"has {counted(len(self.all_indices), 'tile of indices')} for "
                f"{counted(len(axes), 'axis')}"
            )
        if len(axes) > 1 and not (self.table is None is self.missing):
            raise VerifyException("several axes go with neither a table nor missing")
        if self.per.data not in PER:
            raise VerifyException(
                f'per is one of {", ".join(PER)}, not "{self.per.data}"'
            )
        for dim in box:
            if not -1 <= dim < rank or dim in axes:
                shown = ", ".join(map(str, axes))
                raise VerifyException(
                    f"dims {list(box)} are no dimensions beside axis {shown} of rank "
                    f"{rank}"
                )
        if box[0] == box[1] != -1:
            raise VerifyException(f"dims {list(box)} name one dimension twice")
        given = {"element": (0, 1), "row": (0,), "column": (1,)}.get(self.per.data, ())
        names = ("rows", "columns")
        for number, (dim, extent) in enumerate(zip(box, self.extents, strict=True)):
            if dim == -1 and number not in given and extent != 1:
                raise VerifyException(
                    f"{names[number]} have neither a dimension nor indices, so their "
                    "extent is 1"
                )

    def _verify_table(self, table: Attribute | None) -> None:
        if (table is None) != (self.page is None):
            raise VerifyException("page goes with a table")
        if table is None or self.page is None:
            return
        if table not in (i32, i64):
            raise VerifyException(f"a page table holds i32 or i64, not {table}")
        if self.page.value.data < 1:
            raise VerifyException(f"pages of {counted(self.page.value.data, 'row')}")
        offsets = self.static_table_offsets
        rank = 0 if offsets is None else len(offsets)
        axis = 0 if self.table_axis is None else self.table_axis.value.data
        if not 0 <= axis < rank:
            raise VerifyException(f"no table axis {axis} in rank {rank}")


class ScatterAccess(IndexedAccess, ABC):
    """Writes a box, in index order; see `npu.scatter`."""

    combine = opt_prop_def(StringAttr)
    unique = opt_prop_def(UnitAttr)

    DATA: ClassVar[str] = "source"
    OPTIONS: ClassVar[tuple[str, ...]] = (
        *IndexedAccess.OPTIONS,
        "combine",
        "unique",
    )

    def verify_scatter(self) -> None:
        """What only scatters must obey."""
        if self.combine is not None and self.combine != StringAttr("add"):
            raise VerifyException(
                f'a scatter can combine by "add" only, not {self.combine}'
            )
        if self.table is not None:
            raise VerifyException("a scatter goes through no page table")
        if self.unique is not None and self.per.data == "element":
            raise VerifyException("unique is for an index for each row, column or box")


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor, memref or buffer; of anything else its type."""
    return cast(Attribute, getattr(value.type, "element_type", value.type))


def _print_boxed(
    printer: Printer, value: SSAValue, offsets: Sequence[Mixed], sizes: Sequence[Mixed]
) -> None:
    """`%x[%o, 0] of %n`"""
    printer.print_ssa_value(value)
    print_mixed(printer, offsets)
    printer.print_string(" of ")
    printer.print_list(sizes, lambda size: print_one_mixed(printer, size))


def options_of(
    axes: Sequence[int],
    dims: Sequence[int],
    per: str,
    *,
    missing: int | None = None,
    asked_by: str = "",
    asked_at: str = "",
    page: int | None = None,
    table_axis: int = 0,
) -> dict[str, Attribute]:
    """The properties of an indexed access from plain values."""
    found: dict[str, Attribute] = {
        "axis": int_attr(axes[0]),
        "dims": int_array(tuple(dims)),
        "per": StringAttr(per),
    }
    if len(axes) > 1:
        found["more_axes"] = int_array(tuple(axes[1:]))
    if missing is not None:
        found["missing"] = int_attr(missing)
    if asked_by:
        found["asked_by"] = StringAttr(asked_by)
    if asked_at:
        found["asked_at"] = StringAttr(asked_at)
    if page is not None:
        found["page"] = int_attr(page)
        found["table_axis"] = int_attr(table_axis)
    return found
