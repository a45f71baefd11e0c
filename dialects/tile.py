"""The `tile` dialect: instructions of one core on buffers in named memory spaces.

Every instruction belongs to one pipe and carries its valid extent (`[%m, 256]`):
buffers have no hidden valid size. It writes a destination that is an operand, so slots
and reuse are visible. `reads()` and `writes()` list the buffers (and `gm` memrefs) that
an instruction touches: what liveness, flags and the executor go by.

    %a = tile.alloc {slots = 2} : !tile.buf<16x256xf32, ub>
    %s = tile.slot %a[%i] : !tile.buf<16x256xf32, ub>
    tile.load %x[%row, 0] [%m, 256] into %s : memref<?x256xf32, "gm">, !tile.buf<...>

Transfers are in `tile_transfer.py`, moves in `tile_move.py`, matrix products in
`tile_matmul.py`, vector instructions in `tile_vector.py`, gathers and top-k in
`tile_indexing.py`, scalar reads in `tile_read.py`, flags in `tile_flags.py`, the buffer
type in `tile_types.py`; all are importable from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from xdsl.dialects.builtin import (
    IntegerAttr,
    i64,
)
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    INDEX,
    Mixed,
    int_attr,
    parse_one_mixed,
    parse_types,
    parse_value,
    print_one_mixed,
    print_options,
    print_types,
)
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_channel import ChannelOp, ChannelType, SplitAttr
from pyptoc.dialects.tile_flags import BarrierOp, SetFlagOp, WaitFlagOp
from pyptoc.dialects.tile_in_place import check_entries
from pyptoc.dialects.tile_indexing import GatherOp, OneHotOp, ScatterOp, TopkOp
from pyptoc.dialects.tile_matmul import MatmulMxOp, MatmulOp
from pyptoc.dialects.tile_mixed import MIXED_OPS, FreeOp, PopOp, PushOp, SectionOp
from pyptoc.dialects.tile_move import MoveOp
from pyptoc.dialects.tile_read import ReadOp
from pyptoc.dialects.tile_transfer import LoadOp, StoreOp
from pyptoc.dialects.tile_types import (
    PIPES,
    SPACES,
    BufType,
    Instruction,
    Pipe,
    PipeAttr,
    Space,
    SpaceAttr,
    buffer_type,
    bytes_of,
)
from pyptoc.dialects.tile_vector import VECTOR_OPS, VectorOp
from pyptoc.dialects.words import counted

# Buffers -----------------------------------------------------------------------------


@op_definition
class AllocOp(Allocation):
    """A buffer of `slots` equal boxes, each of which `bytes_of` its type bytes large.

    Before plan-memory it has no address. Slot i lies at `addr + i * bytes_of(type)`.
    An allocation in a loop body lives within one iteration.

        %a = tile.alloc {addr = 0, slots = 2} : !tile.buf<16x256xf8E4M3FN, l1>
    """

    name = "tile.alloc"

    buffer = result_def(BufType)

    @classmethod
    def make(cls, type: BufType, slots: int = 1, address: int | None = None) -> Self:
        op = cls.create(result_types=[type])
        op.set_slots(slots)
        op.set_address(address)
        return op

    @property
    def type(self) -> BufType:
        return buffer_type(self.results[0])

    def set_slots(self, slots: int) -> None:
        if slots == 1:
            self.properties.pop("slots", None)
        else:
            self.properties["slots"] = int_attr(slots)

    def verify_(self) -> None:
        super().verify_()
        if self.slot_count > 1:
            for use in self.results[0].uses:
                if not isinstance(use.operation, SlotOp):
                    raise VerifyException(
                        f"has {counted(self.slot_count, 'slot')}, so "
                        f"{use.operation.name} must "
                        "use it through tile.slot"
                    )


@op_definition
class SlotOp(IRDLOperation):
    """One slot of an allocation. `%i` counts from 0 and is below its `slots`.

    %s = tile.slot %a[%i] : !tile.buf<16x256xf8E4M3FN, l1>
    """

    name = "tile.slot"

    source = operand_def(BufType)
    index = opt_operand_def(INDEX)
    static_index = opt_prop_def(IntegerAttr.constr(i64))
    buffer = result_def(BufType)

    traits = traits_def(Pure())

    @classmethod
    def make(cls, source: SSAValue, slot: Mixed) -> Self:
        if isinstance(slot, int):
            return cls.create(
                operands=[source],
                properties={"static_index": int_attr(slot)},
                result_types=[source.type],
            )
        return cls.create(operands=[source, slot], result_types=[source.type])

    @property
    def slot(self) -> Mixed:
        if self.static_index is not None:
            return self.static_index.value.data
        return self.operands[1]

    @property
    def alloc(self) -> AllocOp:
        owner = self.operands[0].owner
        assert isinstance(owner, AllocOp)
        return owner

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        with parser.in_square_brackets():
            slot = parse_one_mixed(parser)
        op = cls.make(source, slot)
        op.attributes = parser.parse_optional_attr_dict()
        parse_types(parser, op.results)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        with printer.in_square_brackets():
            print_one_mixed(printer, self.slot)
        print_options(printer, self.attributes)
        print_types(printer, self.results)

    def verify_(self) -> None:
        owner = self.source.owner
        if not isinstance(owner, AllocOp):
            raise VerifyException("takes a slot of what is no tile.alloc")
        if self.results[0].type != self.source.type:
            raise VerifyException("a slot has the type of its allocation")
        if (self.static_index is None) == (self.index is None):
            raise VerifyException("a slot has one index")
        if isinstance(self.slot, int) and not 0 <= self.slot < owner.slot_count:
            raise VerifyException(
                f"slot {self.slot} of an allocation of "
                f"{counted(owner.slot_count, 'slot')}"
            )


def allocation_of(buffer: SSAValue) -> Allocation:
    """The allocation that `buffer` is or is a slot of, or the channel it is from."""
    owner = buffer.owner
    if isinstance(owner, SlotOp):
        owner = owner.source.owner
    elif isinstance(owner, PopOp):
        owner = owner.channel.owner
    assert isinstance(owner, Allocation)
    return owner


def uses_of(alloc: Allocation) -> Iterator[tuple[Operation, SSAValue]]:
    """What uses a buffer or a slot of it, and which of these it names."""
    values = list[SSAValue](alloc.results)
    while values:
        value = values.pop()
        for use in value.uses:
            if isinstance(use.operation, SlotOp):
                values.append(use.operation.results[0])
            else:
                yield use.operation, value


Tile = Dialect(
    "tile",
    [
        AllocOp,
        SlotOp,
        LoadOp,
        StoreOp,
        MoveOp,
        ReadOp,
        GatherOp,
        ScatterOp,
        TopkOp,
        OneHotOp,
        MatmulOp,
        MatmulMxOp,
        SetFlagOp,
        WaitFlagOp,
        BarrierOp,
        *MIXED_OPS,
        *VECTOR_OPS.values(),
    ],
    [BufType, ChannelType, SpaceAttr, SplitAttr, PipeAttr],
)
check_entries(op.name for op in Tile.operations if issubclass(op, Instruction))

__all__ = [
    "PIPES",
    "SPACES",
    "VECTOR_OPS",
    "AllocOp",
    "Allocation",
    "BarrierOp",
    "BufType",
    "ChannelOp",
    "FreeOp",
    "GatherOp",
    "Instruction",
    "LoadOp",
    "MatmulMxOp",
    "MatmulOp",
    "MoveOp",
    "OneHotOp",
    "Pipe",
    "PipeAttr",
    "PopOp",
    "PushOp",
    "ReadOp",
    "ScatterOp",
    "SectionOp",
    "SetFlagOp",
    "SlotOp",
    "Space",
    "SpaceAttr",
    "StoreOp",
    "Tile",
    "TopkOp",
    "VectorOp",
    "WaitFlagOp",
    "allocation_of",
    "buffer_type",
    "bytes_of",
]
