"""The buffers of a core: memory spaces, pipes, `!tile.buf`, and the size of a buffer.

A buffer is a rank-2 box in one memory space. How its elements lie there follows from
the space and is in no type. `bytes_of` is the only function that says how many bytes a
buffer takes: whoever chooses tiles and whoever places them must agree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import FixedBitwidthType, IndexType, IntAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import IRDLOperation, irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from pyptoc.dialects.subscripts import DYNAMIC


class Space(StrEnum):
    """Where a buffer lies. `gm` is a memref's memory space, not a buffer's."""

    L1 = "l1"
    L0A = "l0a"
    L0B = "l0b"
    L0C = "l0c"
    BIAS = "bias"
    FB = "fb"
    UB = "ub"
    SCALE_A = "scale_a"
    SCALE_B = "scale_b"


class Pipe(StrEnum):
    """An in-order queue of one core. Pipes are ordered among each other by flags only.

    mte2: gm to l1 or ub. mte1: l1 to l0. mte3: ub to gm or l1. m: matmul. v: vector.
    fix: l0c to gm or ub. s: scalar, which issues to all the others.
    """

    MTE1 = "mte1"
    MTE2 = "mte2"
    MTE3 = "mte3"
    M = "m"
    V = "v"
    FIX = "fix"
    S = "s"


@irdl_attr_definition
class SpaceAttr(EnumAttribute[Space], SpacedOpaqueSyntaxAttribute):
    name = "tile.space"


@irdl_attr_definition
class PipeAttr(EnumAttribute[Pipe], SpacedOpaqueSyntaxAttribute):
    name = "tile.pipe"


SPACES = {space: SpaceAttr(space) for space in Space}
PIPES = {pipe: PipeAttr(pipe) for pipe in Pipe}


@irdl_attr_definition
class BufType(ParametrizedAttribute, TypeAttribute):
    """`!tile.buf<16x256xf32, ub>`: rows, columns, element type, memory space."""

    name = "tile.buf"

    row_count: IntAttr
    column_count: IntAttr
    element_type: Attribute
    memory: SpaceAttr

    def __init__(
        self, shape: tuple[int, int], element_type: Attribute, space: Space | str
    ):
        super().__init__(
            IntAttr(shape[0]), IntAttr(shape[1]), element_type, SPACES[Space(space)]
        )

    @property
    def rows(self) -> int:
        return self.row_count.data

    @property
    def columns(self) -> int:
        return self.column_count.data

    @property
    def shape(self) -> tuple[int, int]:
        return self.row_count.data, self.column_count.data

    @property
    def space(self) -> Space:
        return self.memory.data

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            start = parser.pos
            dimensions, element_type = parser.parse_ranked_shape()
            if len(dimensions) != 2:
                parser.raise_error("a buffer has rank 2", start, parser.pos)
            parser.parse_punctuation(",")
            space = parser.parse_str_enum(Space)
        rows, columns = (IntAttr(size) for size in dimensions)
        return [rows, columns, element_type, SPACES[space]]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.rows}x{self.columns}x")
            printer.print_attribute(self.element_type)
            printer.print_string(f", {self.space}")

    def verify(self) -> None:
        if self.rows <= 0 or self.columns <= 0:
            shown = "x".join("?" if s == DYNAMIC else str(s) for s in self.shape)
            raise VerifyException(f"buffer sizes must be positive, got {shown}")
        if not isinstance(self.element_type, FixedBitwidthType):
            raise VerifyException(
                f"a buffer cannot hold elements of type {self.element_type}"
            )


def buffer_type(value: SSAValue) -> BufType:
    """The type of a value that is known to be a buffer."""
    return cast(BufType, value.type)


def element_bits(element_type: Attribute) -> int:
    """Bits of one element: i1 takes a byte, f4 half of one, index is kept as i64."""
    if isinstance(element_type, IndexType):
        return 64
    bits = cast(FixedBitwidthType, element_type).bitwidth
    return 8 if bits == 1 else bits


Sizes = Any
"""A number, or a numpy array of numbers."""
_S = TypeVar("_S", bound=Any)


def round_up(value: _S, multiple: int) -> _S:
    """`value`, or each of its numbers, rounded up to a multiple of `multiple`."""
    return -(-value // multiple) * multiple


def bytes_of(buffer: BufType) -> int:
    """Bytes that one slot of `buffer` takes, padding included (see `box_bytes`)."""
    return tile_bytes(buffer.shape, buffer.element_type, buffer.space)


def tile_bytes(shape: tuple[int, int], element: Attribute, space: Space | str) -> int:
    """Bytes that a buffer takes; passes ask this of many that are never made."""
    return box_bytes(*shape, element_bits(element), space)


def box_bytes(rows: Sizes, columns: Sizes, bits: int, space: Space | str) -> Sizes:
    """
    Bytes of a box of `rows` x `columns` elements of `bits` bits, padding included.

    ub, bias, fb: each row a multiple of 32 B. l1, l0a: whole fractals of 16 rows x
    32 B. l0b, which holds [k, n]: whole fractals of 32 B along k x 16 columns. l0c:
    whole fractals of 16 x 16 elements. scale_a, scale_b: whole fractals of 16 rows x
    2 scales, 32 B each. The sizes are numbers, or numpy arrays of them.
    """
    match space:
        case Space.L1 | Space.L0A:
            return round_up(rows, 16) * _row_bytes(columns, bits)
        case Space.L0B:
            return _row_bytes(rows, bits) * round_up(columns, 16)
        case Space.L0C:
            return round_up(rows, 16) * round_up(columns, 16) * bits // 8
        case Space.SCALE_A | Space.SCALE_B:
            return round_up(rows, 16) * round_up(columns, 2) * bits // 8
        case _:
            return rows * _row_bytes(columns, bits)


def row_bytes(buffer: BufType) -> int:
    """Bytes from one row of a ub buffer to the next."""
    return int(_row_bytes(buffer.columns, element_bits(buffer.element_type)))


def _row_bytes(elements: Sizes, bits: int) -> Sizes:
    return round_up(-(-elements * bits // 8), 32)


class Instruction(IRDLOperation, ABC):
    """An operation that one pipe of a core executes."""

    @property
    @abstractmethod
    def pipe(self) -> Pipe: ...

    @abstractmethod
    def reads(self) -> list[SSAValue]:
        """The buffers and `gm` memrefs that it reads."""

    @abstractmethod
    def writes(self) -> list[SSAValue]:
        """The buffers and `gm` memrefs that it writes."""


def check_space(what: str, value: SSAValue, *legal: Space) -> None:
    """A buffer operand must lie in one of these spaces."""
    space = buffer_type(value).space
    if space not in legal:
        raise VerifyException(
            f"{what} must be in {' or '.join(legal)}, but is in {space}"
        )


def check_extent(what: str, extent: int | SSAValue, limit: int) -> None:
    """A static extent (or offset + extent) must lie in 0 .. limit."""
    if isinstance(extent, int) and not 0 <= extent <= limit:
        raise VerifyException(f"{what} is {extent}, not 0 to {limit}")
