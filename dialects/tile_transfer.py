"""Transfers: boxes between `gm` and the buffers of a core.

    tile.load %gm[%r, %k] [%m, 256] into %buf {dims = [0, 1]}     gm -> ub, l1   mte2
    tile.store %buf [%m, %n] into %gm[%r, %c]                     ub -> gm       mte3
                                                                  l0c -> gm      fix

Offsets are one for each dimension of the memref, extents are [rows, columns] of the
box. Moves between buffers are in `tile_move.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import StringAttr, UnitAttr, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
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
    DYNAMIC,
    INDEX,
    INT_ARRAY,
    UNIT,
    Mixed,
    int_array,
    join_mixed,
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
from pyptoc.dialects.memory import check_combine, check_gm, memory_type
from pyptoc.dialects.op_definition import op_definition, verified_alone
from pyptoc.dialects.tile_types import (
    BufType,
    Instruction,
    Pipe,
    Space,
    buffer_type,
    check_extent,
    check_space,
)


class TransferOp(Instruction, ABC):
    """A box of `extents` elements at `mixed_offsets` of one of its two sides."""

    source = operand_def()
    offsets = var_operand_def(INDEX)
    extent_operands = var_operand_def(INDEX)
    dest = operand_def()
    static_offsets = prop_def(INT_ARRAY)
    static_extents = prop_def(INT_ARRAY)

    OPTIONS: ClassVar[tuple[str, ...]]
    """The properties that are written in braces."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def _make(
        cls,
        source: SSAValue,
        offsets: Sequence[Mixed],
        extents: Sequence[Mixed],
        dest: SSAValue,
        properties: dict[str, Attribute],
        scales: Sequence[SSAValue] | None = None,
    ) -> Self:
        """`scales` is what a store may read besides; others have no such field."""
        first = [] if scales is None else [len(scales)]
        dynamic_offsets, static_offsets = split_mixed(offsets)
        dynamic_extents, static_extents = split_mixed(extents)
        return cls.create(
            operands=[
                *(scales or ()),
                source,
                *dynamic_offsets,
                *dynamic_extents,
                dest,
            ],
            properties={
                "static_offsets": static_offsets,
                "static_extents": static_extents,
                "operandSegmentSizes": segments(
                    *first, 1, len(dynamic_offsets), len(dynamic_extents), 1
                ),
                **properties,
            },
        )

    @property
    def mixed_offsets(self) -> list[Mixed]:
        return join_mixed(self.static_offsets, self.offsets)

    @property
    def extents(self) -> list[Mixed]:
        """[rows, columns] of the box."""
        return join_mixed(self.static_extents, self.extent_operands)

    def reads(self) -> list[SSAValue]:
        return [self.source]

    def writes(self) -> list[SSAValue]:
        return [self.dest]

    def _check_counts(self, rank: int) -> None:
        offsets, extents = self.static_offsets, self.static_extents
        if len(offsets) != rank:
            raise VerifyException(f"takes {rank} offsets, got {len(offsets)}")
        if len(extents) != 2:
            raise VerifyException(f"takes 2 extents, got {len(extents)}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        offsets = parse_mixed(parser)
        extents = parse_mixed(parser)
        parser.parse_keyword("into")
        dest = parse_value(parser)
        properties, attributes = parse_options(parser, cls.OPTIONS)
        op = cls._make(source, offsets, extents, dest, properties)
        op.attributes = attributes
        parse_types(parser, [source, dest])
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        print_mixed(printer, self.mixed_offsets)
        printer.print_string(" ")
        print_mixed(printer, self.extents)
        printer.print_string(" into ")
        printer.print_ssa_value(self.dest)
        self._print_options(printer)

    def _print_options(self, printer: Printer) -> None:
        options = {n: self.properties[n] for n in self.OPTIONS if n in self.properties}
        print_options(printer, {**options, **self.attributes})
        print_types(printer, [*self.reads(), self.dest])


class _MemoryTransferOp(TransferOp, ABC):
    """A transfer from or to a memref.

    `dims` names the dimensions of the memref that are the rows and columns of the box,
    -1 for none (extent 1). By default they are the last two; of a vector, its elements
    are the columns. The box has extent 1 in all others.
    """

    dims = opt_prop_def(INT_ARRAY)

    @property
    @abstractmethod
    def memory(self) -> SSAValue:
        """The memref."""

    @property
    @abstractmethod
    def buffer(self) -> SSAValue:
        """The buffer of the core."""

    @property
    def box_dims(self) -> tuple[int, int]:
        """The memref dimensions of rows and columns, -1 for none."""
        if self.dims is not None:
            row, column = self.dims.get_values()
            return row, column
        rank = memory_type(self.memory).get_num_dims()
        return rank - 2 if rank > 1 else -1, rank - 1

    def _verify_memory(self) -> None:
        memory, buffer = check_gm(self.memory.type), self.buffer.type
        if not isinstance(buffer, BufType):
            raise VerifyException(f"expected a buffer, got {buffer}")
        shape = memory.get_shape()
        self._check_counts(len(shape))
        if self.dims is not None and len(self.dims) != 2:
            raise VerifyException("dims takes 2 numbers")
        box = self.box_dims
        if any(not -1 <= d < len(shape) for d in box) or box[0] == box[1] != -1:
            raise VerifyException(
                f"dims {list(box)} are no dimensions of a rank-{len(shape)} memref"
            )
        extents = self.extents
        for name, dim, extent, limit in zip(
            ("rows", "columns"), box, extents, buffer.shape, strict=True
        ):
            if dim == -1 and extent != 1:
                raise VerifyException(f"{name} have no dimension, so their extent is 1")
            check_extent(f"the number of {name}", extent, limit)
        for dim, (offset, size) in enumerate(
            zip(self.mixed_offsets, shape, strict=True)
        ):
            if not isinstance(offset, int):
                continue
            if offset < 0:
                raise VerifyException(f"offset {offset} is negative")
            extent = extents[box.index(dim)] if dim in box else 1
            if isinstance(extent, int) and size != DYNAMIC:
                check_extent(f"the end in dimension {dim}", offset + extent, size)


@op_definition
class LoadOp(_MemoryTransferOp):
    """Loads a box of memory into the top left corner of a ub or l1 buffer.

    `{dims = [1, 0]}` loads it transposed.

        tile.load %x[%r, 0] [%m, 256] into %b : memref<?x256xf32, "gm">, !tile.buf<..>
    """

    name = "tile.load"
    OPTIONS: ClassVar[tuple[str, ...]] = ("dims",)

    @classmethod
    def make(
        cls,
        source: SSAValue,
        offsets: Sequence[Mixed],
        extents: Sequence[Mixed],
        dest: SSAValue,
        dims: tuple[int, int] | None = None,
    ) -> Self:
        properties: dict[str, Attribute] = {}
        if dims is not None:
            properties["dims"] = int_array(dims)
        return cls._make(source, offsets, extents, dest, properties)

    @property
    def pipe(self) -> Pipe:
        return Pipe.MTE2

    @property
    def memory(self) -> SSAValue:
        return self.source

    @property
    def buffer(self) -> SSAValue:
        return self.dest

    @verified_alone
    def verify_(self) -> None:
        self._verify_memory()
        check_space("the destination", self.dest, Space.UB, Space.L1)
        memory = memory_type(self.source)
        if memory.element_type != buffer_type(self.dest).element_type:
            raise VerifyException(
                f"loads {memory.element_type} into a buffer of "
                f"{buffer_type(self.dest).element_type}"
            )


@op_definition
class StoreOp(_MemoryTransferOp):
    """Stores the top left corner of a ub or l0c buffer to memory.

    From l0c it converts f32 or i32 to the memory's element type, rounded once to
    nearest even. `combine` folds onto what is there: "add", "max" or "min".
    Also from l0c: `scale %f` multiplies each column by its f32 of a buffer in fb, of
    which 10 bits of mantissa count, and `relu` then makes what is below 0 to 0.

        tile.store %c [%m, 256] into %y[%r, %n] : !tile.buf<..>, memref<?x7168xbf16>
    """

    name = "tile.store"
    OPTIONS: ClassVar[tuple[str, ...]] = ("dims", "combine", "relu")

    scale = opt_operand_def(BufType)
    combine = opt_prop_def(StringAttr)
    relu = opt_prop_def(UnitAttr)

    @classmethod
    def make(
        cls,
        source: SSAValue,
        extents: Sequence[Mixed],
        dest: SSAValue,
        offsets: Sequence[Mixed],
        dims: tuple[int, int] | None = None,
        combine: str | None = None,
        scale: SSAValue | None = None,
        relu: bool = False,
    ) -> Self:
        properties: dict[str, Attribute] = {}
        if dims is not None:
            properties["dims"] = int_array(dims)
        if combine is not None:
            properties["combine"] = StringAttr(combine)
        if relu:
            properties["relu"] = UNIT
        scales = [] if scale is None else [scale]
        return cls._make(source, offsets, extents, dest, properties, scales)

    def reads(self) -> list[SSAValue]:
        return [self.source] if self.scale is None else [self.source, self.scale]

    @property
    def pipe(self) -> Pipe:
        in_l0c = buffer_type(self.source).space == Space.L0C
        return Pipe.FIX if in_l0c else Pipe.MTE3

    @property
    def memory(self) -> SSAValue:
        return self.dest

    @property
    def buffer(self) -> SSAValue:
        return self.source

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        extents = parse_mixed(parser)
        has_scale = parser.parse_optional_keyword("scale") is not None
        scales = [parse_value(parser)] if has_scale else []
        parser.parse_keyword("into")
        dest = parse_value(parser)
        offsets = parse_mixed(parser)
        properties, attributes = parse_options(parser, cls.OPTIONS)
        op = cls._make(source, offsets, extents, dest, properties, scales)
        op.attributes = attributes
        parse_types(parser, [*op.reads(), dest])
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" ")
        print_mixed(printer, self.extents)
        if self.scale is not None:
            printer.print_string(" scale ")
            printer.print_ssa_value(self.scale)
        printer.print_string(" into ")
        printer.print_ssa_value(self.dest)
        print_mixed(printer, self.mixed_offsets)
        self._print_options(printer)

    @verified_alone
    def verify_(self) -> None:
        self._verify_memory()
        check_space("the source", self.source, Space.UB, Space.L0C)
        check_combine(self.combine)
        self._verify_drain()
        memory = memory_type(self.dest)
        buffer = buffer_type(self.source)
        if buffer.space == Space.UB and memory.element_type != buffer.element_type:
            raise VerifyException(
                f"stores {buffer.element_type} to memory of {memory.element_type}"
            )

    def _verify_drain(self) -> None:
        """Scales and relu belong to the way out of l0c."""
        drains = self.scale is not None or self.relu is not None
        if drains and buffer_type(self.source).space != Space.L0C:
            raise VerifyException("scale and relu are for stores from l0c")
        if self.scale is None:
            return
        check_space("the scale", self.scale, Space.FB)
        kind = buffer_type(self.scale)
        if kind.element_type != f32 or kind.rows != 1:
            raise VerifyException(f"scales are a row of f32, not {kind}")
        check_extent("the number of columns", self.extents[1], kind.columns)
