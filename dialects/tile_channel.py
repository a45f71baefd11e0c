"""Channels: the type and the declaration of a queue of a mixed kernel.

What goes through one is in `tile_mixed.py`.
"""

from __future__ import annotations

from typing import Self, cast

from xdsl.dialects.builtin import NoneAttr, UnitAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    irdl_attr_definition,
    result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from pyptoc.dialects.assembly import UNIT, int_attr
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_move import CROSSINGS
from pyptoc.dialects.tile_types import (
    BufType,
    Pipe,
    Space,
)

HALVES = 2
"""The vector cores of a cube core."""


class Split(StrEnum):
    """Along which dimension the two vector cores share a tile."""

    ROWS = "rows"
    COLUMNS = "columns"


@irdl_attr_definition
class SplitAttr(EnumAttribute[Split], SpacedOpaqueSyntaxAttribute):
    name = "tile.split"


SPLITS = {split: SplitAttr(split) for split in Split}

_TAKES = {Space.UB: Pipe.V, Space.L1: Pipe.MTE1}
"""The pipe that uses what is in a memory: it pops what was moved straight there."""


@irdl_attr_definition
class ChannelType(ParametrizedAttribute, TypeAttribute):
    """`!tile.chan<128x64xf32, l0c -> ub, rows>`: a tile, its way, how it is shared.

    `l0c -> gm -> ub` is the way of a machine whose cores meet in memory only: what is
    pushed lies there until it is popped.
    """

    name = "tile.chan"

    source: BufType
    """What the cube core has, or the whole of what the vector cores have."""
    target: BufType
    split: SplitAttr
    stop: UnitAttr | NoneAttr
    """Whether it goes through gm."""

    @classmethod
    def of(
        cls,
        shape: tuple[int, int],
        element_type: Attribute,
        way: tuple[Space, Space],
        split: Split = Split.ROWS,
        through_gm: bool = False,
    ) -> Self:
        source, target = (BufType(shape, element_type, space) for space in way)
        return cls(source, target, SPLITS[split], UNIT if through_gm else NoneAttr())

    @property
    def way(self) -> tuple[Space, Space]:
        """From and to which memory."""
        return self.source.space, self.target.space

    @property
    def through_gm(self) -> bool:
        return isinstance(self.stop, UnitAttr)

    @property
    def way_text(self) -> str:
        """The way as it is written."""
        source, target = self.way
        return (
            f"{source} -> gm -> {target}"
            if self.through_gm
            else f"{source} -> {target}"
        )

    @property
    def push_pipe(self) -> Pipe:
        return CROSSINGS[self.way]

    @property
    def pop_pipe(self) -> Pipe:
        """The pipe that pops."""
        return Pipe.MTE2 if self.through_gm else self.free_pipe

    @property
    def free_pipe(self) -> Pipe:
        """The pipe that frees: it has used the slot, and a pop need not wait for it."""
        return _TAKES[self.target.space]

    @property
    def to_vector(self) -> bool:
        """Whether the cube core pushes and the vector cores pop."""
        return self.target.space == Space.UB

    @property
    def shape(self) -> tuple[int, int]:
        return self.target.shape

    @property
    def half_shape(self) -> tuple[int, int]:
        """What one vector core has of a tile."""
        rows, columns = self.shape
        if self.split.data == Split.ROWS:
            return -(-rows // HALVES), columns
        return rows, -(-columns // HALVES)

    @property
    def popped(self) -> BufType:
        """The type of a slot as who pops it sees it."""
        shape = self.half_shape if self.to_vector else self.shape
        return BufType(shape, self.target.element_type, self.target.space)

    @property
    def pushed(self) -> BufType:
        """The type of what is pushed."""
        shape = self.shape if self.to_vector else self.half_shape
        return BufType(shape, self.source.element_type, self.source.space)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            start = parser.pos
            dimensions, element_type = parser.parse_ranked_shape()
            if len(dimensions) != 2:
                parser.raise_error("a tile has rank 2", start, parser.pos)
            parser.parse_punctuation(",")
            source = parser.parse_str_enum(Space)
            parser.parse_punctuation("->")
            through_gm = parser.parse_optional_keyword("gm") is not None
            if through_gm:
                parser.parse_punctuation("->")
            target = parser.parse_str_enum(Space)
            parser.parse_punctuation(",")
            split = parser.parse_str_enum(Split)
        shape = (dimensions[0], dimensions[1])
        ends = (BufType(shape, element_type, space) for space in (source, target))
        return [*ends, SPLITS[split], UNIT if through_gm else NoneAttr()]

    def print_parameters(self, printer: Printer) -> None:
        rows, columns = self.shape
        with printer.in_angle_brackets():
            printer.print_string(f"{rows}x{columns}x")
            printer.print_attribute(self.target.element_type)
            printer.print_string(f", {self.way_text}, {self.split.data}")

    def verify(self) -> None:
        if self.way not in CROSSINGS:
            ways = " or ".join(f"{a} -> {b}" for a, b in CROSSINGS)
            raise VerifyException(f"a channel goes {ways}, not {self.way_text}")


def channel_type(value: SSAValue) -> ChannelType:
    """The type of a value that is known to be a channel."""
    return cast(ChannelType, value.type)


@op_definition
class ChannelOp(Allocation):
    """A queue of `slots` tiles between the sections of a mixed kernel.

    Its slots lie in the target's memory, from `addr` on: of each vector core its half.
    Through gm, each has a place in the memory of its core there as well.

        %s = tile.channel {slots = 2} : !tile.chan<128x128xf32, l0c -> ub, rows>
    """

    name = "tile.channel"

    channel = result_def(ChannelType)

    @classmethod
    def make(
        cls, type: ChannelType, slots: int = 2, address: int | None = None
    ) -> Self:
        properties: dict[str, Attribute] = {"slots": int_attr(slots)}
        if address is not None:
            properties["addr"] = int_attr(address)
        return cls.create(result_types=[type], properties=properties)

    @property
    def type(self) -> BufType:
        return channel_type(self.channel).popped
