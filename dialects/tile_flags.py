"""Flags and barriers: the only order between the pipes of one core.

A flag is a counter, one for each ordered pair of pipes and id. Setting adds a token
once the source pipe gets there, waiting holds the target pipe until it can take one.

    tile.set_flag [mte2 -> mte1, 3]
    tile.wait_flag [mte2 -> mte1, 2 + %slot]
"""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    opt_operand_def,
    prop_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    INDEX,
    int_attr,
    parse_optional_value,
    parse_value,
    print_options,
)
from pyptoc.dialects.op_definition import op_definition, verified_alone
from pyptoc.dialects.tile_types import PIPES, Instruction, Pipe, PipeAttr


class FlagOp(Instruction):
    """`[source -> target, id]`; the id is a number, or `base + %index`."""

    source = prop_def(PipeAttr)
    target = prop_def(PipeAttr)
    base_id = prop_def(IntegerAttr.constr(i64))
    index = opt_operand_def(INDEX)

    @classmethod
    def make(
        cls,
        source: Pipe | str,
        target: Pipe | str,
        base: int,
        index: SSAValue | None = None,
    ) -> Self:
        return cls.create(
            operands=[] if index is None else [index],
            properties={
                "source": PIPES[Pipe(source)],
                "target": PIPES[Pipe(target)],
                "base_id": int_attr(base),
            },
        )

    @property
    def pipes(self) -> tuple[Pipe, Pipe]:
        """Source and target."""
        return self.source.data, self.target.data

    @property
    def base(self) -> int:
        return self.base_id.value.data

    def reads(self) -> list[SSAValue]:
        return []

    def writes(self) -> list[SSAValue]:
        return []

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        with parser.in_square_brackets():
            source = parser.parse_str_enum(Pipe)
            parser.parse_punctuation("->")
            target = parser.parse_str_enum(Pipe)
            parser.parse_punctuation(",")
            base, index = 0, parse_optional_value(parser)
            if index is None:
                base = parser.parse_integer(allow_boolean=False)
                if parser.parse_optional_punctuation("+") is not None:
                    index = parse_value(parser)
        op = cls.make(source, target, base, index)
        op.attributes = parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        source, target = self.pipes
        printer.print_string(f" [{source} -> {target}, ")
        index = self.index
        if index is None:
            printer.print_string(str(self.base))
        else:
            printer.print_string(f"{self.base} + " if self.base else "")
            printer.print_ssa_value(index)
        printer.print_string("]")
        print_options(printer, self.attributes)

    @verified_alone
    def verify_(self) -> None:
        source, target = self.pipes
        if source == target:
            raise VerifyException(f"pipe {source} is in order with itself")
        if self.base < 0:
            raise VerifyException(f"flag id {self.base} is negative")


@op_definition
class SetFlagOp(FlagOp):
    """Gives a token when the source pipe has finished all that was issued before."""

    name = "tile.set_flag"

    @property
    def pipe(self) -> Pipe:
        return self.source.data


@op_definition
class WaitFlagOp(FlagOp):
    """Holds the target pipe until there is a token, and takes it."""

    name = "tile.wait_flag"

    @property
    def pipe(self) -> Pipe:
        return self.target.data


@op_definition
class BarrierOp(Instruction):
    """All pipes finish what was issued before any starts what is issued after."""

    name = "tile.barrier"

    @classmethod
    def make(cls) -> Self:
        return cls.create()

    @property
    def pipe(self) -> Pipe:
        return Pipe.S

    def reads(self) -> list[SSAValue]:
        return []

    def writes(self) -> list[SSAValue]:
        return []

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.create(attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        print_options(printer, self.attributes)
