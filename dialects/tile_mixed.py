"""Mixed kernels: a cube core and its two vector cores, and channels between them.

A mixed kernel has one section for its cube core and one that both vector cores run,
each on its half of a tile. Sections meet in channels: queues of a few slots that lie
with whoever takes from them.

    %s = tile.channel {slots = 2} : !tile.chan<128x128xf32, l0c -> ub, rows>
    tile.section cube {
      ...
      tile.push %acc [%m, 128] into %s
    }
    tile.section vector (%half) {
      %b = tile.pop %s : !tile.buf<64x128xf32, ub>
      ...
      tile.free %s
    }

A vector core has one half of the rows (or columns) of what goes through: of the rows
0 to %m - 1 of a tile of 128 the first core has those below 64, the second one the rest,
which may be none; both pop and free all the same. `push` waits for a free slot, `pop`
for a full one; `free` gives back the one that was popped first. All three are in order
with the pipe that moves or uses the data, so a channel needs no flags:

    l0c -> ub   push on fix,  pop and free on v
    ub -> l1    push on mte3, pop and free on mte1

Where a machine has no such way, channels go through memory, and a pop loads from it,
while what was popped before is still in use:

    l0c -> gm -> ub    push on fix,  pop on mte2, free on v
    ub -> gm -> l1     push on mte3, pop on mte2, free on mte1

Before `split-mixed` a mixed kernel has no sections: it is flat, written as if one core
had all memories, and `tile.move` takes tiles across (`tile_move.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

from xdsl.ir import (
    Attribute,
    Block,
    Operation,
    Region,
    SSAValue,
)
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    INDEX,
    INT_ARRAY,
    Mixed,
    join_mixed,
    parse_mixed,
    parse_types,
    parse_value,
    print_mixed,
    print_options,
    print_types,
    split_mixed,
)
from pyptoc.dialects.npu_attrs import UNITS, Unit, UnitKindAttr
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.tile_channel import (
    ChannelOp,
    ChannelType,
    channel_type,
)
from pyptoc.dialects.tile_types import (
    BufType,
    Instruction,
    Pipe,
    Space,
    buffer_type,
    check_extent,
)


@op_definition
class SectionOp(IRDLOperation):
    """What one kind of core does in a mixed kernel.

    tile.section cube { ... }
    tile.section vector (%half) { ... }        run by both, with %half = 0 and 1
    """

    name = "tile.section"

    unit = prop_def(UnitKindAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    @classmethod
    def make(cls, unit: Unit | str, body: Region | None = None) -> Self:
        unit = Unit(unit)
        if body is None:
            arguments = [INDEX] if unit == Unit.VECTOR else []
            body = Region(Block(arg_types=arguments))
        return cls.create(properties={"unit": UNITS[unit]}, regions=[body])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        unit = parser.parse_str_enum(Unit)
        arguments: list[Parser.Argument] = []
        if unit == Unit.VECTOR:
            with parser.in_parens():
                half = parser.parse_argument(expect_type=False)
                arguments.append(half.resolve(INDEX))
        return cls.make(unit, parser.parse_region(arguments))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.unit.data} ")
        if self.unit.data == Unit.VECTOR:
            with printer.in_parens():
                printer.print_ssa_value(self.body.block.args[0])
            printer.print_string(" ")
        printer.print_region(
            self.body, print_entry_block_args=False, print_empty_block=False
        )

    def verify_(self) -> None:
        unit = self.unit.data
        if unit == Unit.MIXED:
            raise VerifyException("a section is for the cube or the vector cores")
        types = [argument.type for argument in self.body.block.args]
        if types != ([INDEX] if unit == Unit.VECTOR else []):
            raise VerifyException("a vector section has one argument, a cube none")
        kernel = self.parent_op()
        if kernel is None or kernel.properties.get("unit") != UNITS[Unit.MIXED]:
            raise VerifyException("stands in no kernel on mixed")
        before = self.prev_op
        while before is not None:
            if before.properties.get("unit") == self.unit:
                raise VerifyException(f"the kernel has two {unit} sections")
            before = before.prev_op
        for op in self.walk():
            for value in op.operands:
                if isinstance(value.type, BufType) and not self._holds(value):
                    raise VerifyException(
                        f"{op.name} uses a buffer from outside of the section"
                    )
            for value in op.results:
                self._verify_space(op, value.type)

    def _verify_space(self, op: Operation, type: Attribute) -> None:
        """Only vector cores have ub, and they have nothing else."""
        vector = self.unit.data == Unit.VECTOR
        if isinstance(type, BufType) and (type.space == Space.UB) != vector:
            raise VerifyException(
                f"{op.name} of a buffer in {type.space}; "
                f"a {self.unit.data} core has {'only' if vector else 'no'} ub"
            )

    def _holds(self, value: SSAValue) -> bool:
        owner = value.owner
        return isinstance(owner, Operation) and self.is_ancestor(owner)


def section_of(op: Operation) -> SectionOp | None:
    """The section that `op` stands in."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, SectionOp):
        parent = parent.parent_op()
    return parent


class _ChannelUse(Instruction):
    """An instruction on a channel, its first operand."""

    def _verify_side(self, pushes: bool) -> None:
        section = section_of(self)
        if section is None:
            raise VerifyException("stands in no section of a mixed kernel")
        cube = section.unit.data == Unit.CUBE
        if cube != (channel_type(self.operands[0]).to_vector == pushes):
            verb = "push" if pushes else "pop or free"
            raise VerifyException(
                f"the {section.unit.data} section does not {verb} "
                f"a channel {channel_type(self.operands[0]).way_text}"
            )


@op_definition
class PushOp(_ChannelUse):
    """Moves the top left corner of a buffer into the next slot, once it is free.

    A vector core pushes the corner of its half.

        tile.push %acc [%m, 128] into %s : !tile.buf<128x128xf32, l0c>, !tile.chan<..>
    """

    name = "tile.push"

    channel = operand_def(ChannelType)
    source = operand_def(BufType)
    dynamic_extents = var_operand_def(INDEX)
    static_extents = prop_def(INT_ARRAY)

    @classmethod
    def make(
        cls, source: SSAValue, extents: Sequence[Mixed], channel: SSAValue
    ) -> Self:
        dynamic, static = split_mixed(extents)
        return cls.create(
            operands=[channel, source, *dynamic], properties={"static_extents": static}
        )

    @property
    def extents(self) -> list[Mixed]:
        """Rows and columns."""
        return join_mixed(self.static_extents, self.dynamic_extents)

    @property
    def pipe(self) -> Pipe:
        return channel_type(self.channel).push_pipe

    def reads(self) -> list[SSAValue]:
        return [self.source]

    def writes(self) -> list[SSAValue]:
        return []

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        extents = parse_mixed(parser)
        parser.parse_keyword("into")
        channel = parse_value(parser)
        op = cls.make(source, extents, channel)
        op.attributes = parser.parse_optional_attr_dict()
        parse_types(parser, [source, channel])
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" ")
        print_mixed(printer, self.extents)
        printer.print_string(" into ")
        printer.print_ssa_value(self.channel)
        print_options(printer, self.attributes)
        print_types(printer, [self.source, self.channel])

    def verify_(self) -> None:
        self._verify_side(pushes=True)
        source, wanted = buffer_type(self.source), channel_type(self.channel).pushed
        if (source.element_type, source.space) != (wanted.element_type, wanted.space):
            raise VerifyException(f"pushes {source}, the channel takes {wanted}")
        names = ("rows", "columns")
        for name, extent, mine, other in zip(
            names, self.extents, source.shape, wanted.shape, strict=True
        ):
            check_extent(f"the number of {name}", extent, min(mine, other))


class _Taking(_ChannelUse, ABC):
    """An instruction of who takes from a channel."""

    channel = operand_def(ChannelType)

    @classmethod
    @abstractmethod
    def make(cls, channel: SSAValue) -> Self:
        """The instruction on `channel`."""

    def reads(self) -> list[SSAValue]:
        return []

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        channel = parse_value(parser)
        if not isinstance(channel.type, ChannelType):
            parser.raise_error(f"expected a channel, got {channel.type}")
        op = cls.make(channel)
        op.attributes = parser.parse_optional_attr_dict()
        parse_types(parser, [channel])
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.channel)
        print_options(printer, self.attributes)
        print_types(printer, [self.channel])


@op_definition
class PopOp(_Taking):
    """The slot that was filled first, once there is one.

    %b = tile.pop %s : !tile.chan<128x128xf32, l0c -> ub, rows>
    """

    name = "tile.pop"

    buffer = result_def(BufType)

    @classmethod
    def make(cls, channel: SSAValue) -> Self:
        return cls.create(
            operands=[channel], result_types=[channel_type(channel).popped]
        )

    @property
    def pipe(self) -> Pipe:
        return channel_type(self.channel).pop_pipe

    def writes(self) -> list[SSAValue]:
        return [self.buffer]

    def verify_(self) -> None:
        self._verify_side(pushes=False)
        if self.buffer.type != channel_type(self.channel).popped:
            raise VerifyException(
                f"gives {channel_type(self.channel).popped}, not {self.buffer.type}"
            )


@op_definition
class FreeOp(_Taking):
    """Gives back the slot that was popped first.

    tile.free %s : !tile.chan<128x128xf32, l0c -> ub, rows>
    """

    name = "tile.free"

    @classmethod
    def make(cls, channel: SSAValue) -> Self:
        return cls.create(operands=[channel])

    @property
    def pipe(self) -> Pipe:
        return channel_type(self.channel).free_pipe

    def writes(self) -> list[SSAValue]:
        return []

    def verify_(self) -> None:
        self._verify_side(pushes=False)


MIXED_OPS = (ChannelOp, SectionOp, PushOp, PopOp, FreeOp)
"""The ops of mixed kernels."""
