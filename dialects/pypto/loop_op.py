"""What loops have in common: a header with indices, bounds and bindings, and a body.

The text of the header is in `loop_text.py`, the loops are in `control.py`.
"""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, IndexType, UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    prop_def,
    region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.literals import located
from pyptoc.dialects.parsing import LocParser
from pyptoc.dialects.pypto.attrs import CubeTileAttr, TilesAttr, VecTileAttr
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.loop_text import (
    Axis,
    LoopHeader,
    print_axis,
    print_binding,
    store_header,
)
from pyptoc.dialects.subscripts import INDEX, Mixed, ints, join_mixed
from pyptoc.dialects.words import counted

_BLANK = r"(?:\s|//[^\n]*\n)*"
_SETTINGS_NEXT = re.compile(
    rf"\{{{_BLANK}(?:(?:[A-Za-z_][\w.$]*|\"[^\"\n]*\"){_BLANK}"
    rf"(?:[=,]|\}}{_BLANK}\{{)|\}}{_BLANK}\{{)"
)
"""`{tag = "q"} {`: the first of two braces holds settings, not the body."""


class LoopOp(PyptoOp, ABC):
    """A loop header with indices, bounds and bindings, and a body of one block.

    Block arguments: for each axis its index and, where `tails` is 1, its tail size;
    then one for each of `inits`.
    """

    BINDING: ClassVar[str]
    """The keyword before the bindings."""
    ONE_AXIS: ClassVar[bool] = False

    lowers = var_operand_def(IndexType)
    uppers = var_operand_def(IndexType)
    steps = var_operand_def(IndexType)
    inits = var_operand_def()
    static_lowers = prop_def(DenseArrayBase)
    static_uppers = prop_def(DenseArrayBase)
    static_steps = prop_def(DenseArrayBase)
    tails = prop_def(DenseArrayBase)
    res = var_result_def()
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    TILES = (CubeTileAttr, VecTileAttr, TilesAttr)
    HIDDEN = ("static_lowers", "static_uppers", "static_steps", "tails")

    # -- domain

    @property
    def mixed_lowers(self) -> list[Mixed]:
        return join_mixed(ints(self.static_lowers), self.lowers)

    @property
    def mixed_uppers(self) -> list[Mixed]:
        return join_mixed(ints(self.static_uppers), self.uppers)

    @property
    def mixed_steps(self) -> list[Mixed]:
        return join_mixed(ints(self.static_steps), self.steps)

    @property
    def axes(self) -> list[Axis]:
        """The indices of the loop with their bounds."""
        args = iter(self.body.block.args)
        rows = zip(
            ints(self.tails),
            self.mixed_lowers,
            self.mixed_uppers,
            self.mixed_steps,
            strict=True,
        )
        return [
            Axis(next(args), next(args) if tail else None, lower, upper, step)
            for tail, lower, upper, step in rows
        ]

    @property
    def bound_args(self) -> tuple[BlockArgument, ...]:
        """The block arguments that stand for the bindings."""
        count = len(self.inits)
        args = tuple(self.body.block.args)
        return args[len(args) - count :] if count else ()

    # -- building

    @classmethod
    def make(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls,
        bounds: Sequence[tuple[Mixed, Mixed, Mixed]],
        inits: Sequence[SSAValue] = (),
        *,
        tails: Sequence[bool] | None = None,
        body: Region | None = None,
        attributes: dict[str, Attribute] | None = None,
    ) -> Self:
        """A loop over (lower, upper, step) triples; an empty body if none is given."""
        call = Call(cls.name, UnknownLoc())
        call.attributes.update(attributes or {})
        given = [bool(tail) for tail in tails or [False] * len(bounds)]
        store_header(call, list(bounds), given, list(inits))
        if body is None:
            types = [INDEX] * (len(bounds) + sum(given))
            body = Region(Block(arg_types=[*types, *(v.type for v in inits)]))
        return cls._create(call, body)

    @classmethod
    def _create(cls, call: Call, body: Region) -> Self:
        operands = cls.flatten(call)
        return cls.create(
            operands=operands,
            result_types=[value.type for value in call.operands["inits"]],
            properties=call.properties,
            attributes=call.attributes,
            location=call.location,
            regions=[body],
        )

    # -- text

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser = located(parser)
        call = Call.read(cls.name, parser)
        header = LoopHeader(parser)
        start = parser.pos
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, header.axis)
        if cls.ONE_AXIS and len(header.bounds) != 1:
            error(
                parser.span_from(start),
                "PTO154",
                f"{call.short_name} has one index",
                rule="only forall has several: its iterations are independent",
            )
        cls._parse_bindings(header)
        store_header(call, header.bounds, header.tails, header.inits)
        if _SETTINGS_NEXT.match(parser.text, parser.pos):
            cls.parse_settings(call, parser)
        body = parser.parse_region([*header.args, *header.bound])
        cls._finish_body(body, call)
        op = cls._create(call, body)
        parser.calls[op] = call
        op.check_body(parser)
        return op

    @classmethod
    def _parse_bindings(cls, header: LoopHeader) -> None:
        parser = header.parser
        if parser.parse_optional_keyword(cls.BINDING) is not None:
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, header.binding)
            if cls.BINDING == "outs":
                parser.out_positions.update(arg.name.start for arg in header.bound)
        elif parser.at(MLIRTokenKind.BARE_IDENT):
            error(
                parser.token.span,
                "PTO154",
                f"'{parser.token.span.text}' cannot follow here",
                help=f"{cls.name.partition('.')[2]} has {cls.BINDING}(%x = %init)",
            )

    @classmethod
    def _finish_body(cls, body: Region, call: Call) -> None:
        """Add what the text leaves out."""

    def check_body(self, parser: LocParser | None) -> None:
        """Check what stands in the body against the header."""

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.axes, lambda axis: print_axis(printer, axis))
        inits = tuple(self.inits)
        if inits:
            printer.print_string(f" {self.BINDING}")
            pairs = zip(self.bound_args, inits, strict=True)
            with printer.in_parens():
                printer.print_list(pairs, lambda pair: print_binding(printer, *pair))
        self.print_settings(printer)
        printer.print_string(" ")
        printer.print_region(
            self.body,
            print_entry_block_args=False,
            print_empty_block=False,
            print_block_terminators=bool(inits),
        )

    def verify_(self) -> None:
        count = len(ints(self.tails))
        expected = count + sum(ints(self.tails)) + len(self.inits)
        if len(self.body.block.args) != expected:
            raise VerifyException(f"the body has {counted(expected, 'argument')}")
        if tuple(r.type for r in self.res) != tuple(v.type for v in self.inits):
            raise VerifyException("results have the types of the initial values")
        for step in self.mixed_steps:
            if isinstance(step, int) and step <= 0:
                rule = "a step is at least 1"
                error(self, "PTO154", f"step {step} is not positive", rule=rule)
        self.check_body(None)
