"""Loops over tensors: `for` carries values, `forall` fills write-only destinations.

    %r = pypto.for (%j +: %n = 0 to %len step 512) iter(%m = %m0) {tag = "kv"} {
      ..
      pypto.yield %m1
    }
    %o = pypto.forall (%b = 0 to %B, %i +: %m = 0 to %S step 128) outs(%d = %o0) {
      ..
      pypto.store %t into %d[%b, %i]
    }

`%i +: %m` also gives the size of the last, ragged piece: min(step, upper - i).
"""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    LocationAttr,
    TensorType,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue, Use
from xdsl.irdl import (
    AttrSizedOperandSegments,
    lazy_traits_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsTerminator,
    NoTerminator,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects.diagnostics import CompileError, Note, error
from pyptoc.dialects.literals import located
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.parsing import LocParser
from pyptoc.dialects.pypto.attrs import CubeTileAttr, TilesAttr, VecTileAttr
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.infer import refine, show
from pyptoc.dialects.pypto.loop_text import (
    Axis,
    LoopHeader,
    print_axis,
    print_binding,
    store_header,
)
from pyptoc.dialects.pypto.scalars import (
    AssertOp,
    DimOp,
    IndexOp,
    ReadOp,
    ScalarOp,
)
from pyptoc.dialects.pypto.shape import StoreOp
from pyptoc.dialects.pypto.values import Values
from pyptoc.dialects.rejected import ErrorOp, has_error
from pyptoc.dialects.subscripts import (
    INDEX,
    Mixed,
    ints,
    join_mixed,
)
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
        call = Call(cls.name, _unknown())
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


def _unknown() -> LocationAttr:
    return UnknownLoc()


@op_definition
class YieldOp(PyptoOp):
    """The values of the next iteration of a `for`.

    One value for each `iter`, of its type up to `?` (PTO150, PTO151).

    Example:
        func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
          %y = pypto.for (%i = 0 to 2) iter(%a = %x) {
            %b = pypto.add %a, %a
            pypto.yield %b
          }
          func.return %y : tensor<4xf32>
        }
    """

    name = "pypto.yield"

    inputs = var_operand_def()

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(ForOp)))
    SYNTAX = (Values("inputs", 0, None),)

    @classmethod
    def of(cls, values: Sequence[SSAValue] = ()) -> Self:
        """The terminator of a loop body; of one without values, too."""
        return cls.create(operands=list(values))

    def verify_(self) -> None:
        pass


@op_definition
class ForOp(LoopOp):
    """Iterations one after the other that carry values.

    From the lower bound up to the upper one, which is excluded; none where it is not
    greater. `%i +: %n` also gives the size of the last, ragged piece: %n = min(step,
    upper - %i). The step is positive (PTO154). The results are what the last `yield`
    has, or the initial values where nothing ran.

    Example:
        func.func @sum(%x: tensor<?x64xf32>, %zero: tensor<1x64xf32>)
            -> tensor<1x64xf32> {
          %m = pypto.dim %x, 0
          %s = pypto.for (%i +: %n = 0 to %m step 32) iter(%a = %zero) {tag = "rows"} {
            %block = pypto.view %x[%i +: %n, :]
            %part = pypto.sum %block axis 0 {keepdim}
            %b = pypto.add %a, %part
            pypto.yield %b
          }
          func.return %s : tensor<1x64xf32>
        }
    """

    name = "pypto.for"
    USAGE = (
        "(%i [+: %n] = <lower> to <upper> [step <step>]) "
        "[iter(%x = %init, ..)] [{settings}] {body}"
    )

    traits = traits_def(RecursiveMemoryEffect())
    BINDING = "iter"
    ONE_AXIS = True

    @property
    def lower(self) -> Mixed:
        return self.mixed_lowers[0]

    @property
    def upper(self) -> Mixed:
        return self.mixed_uppers[0]

    @property
    def step(self) -> Mixed:
        return self.mixed_steps[0]

    @classmethod
    def _finish_body(cls, body: Region, call: Call) -> None:
        last = body.block.last_op
        if call.operands["inits"] or isinstance(last, YieldOp | ErrorOp):
            return
        body.block.add_op(YieldOp.of())

    def check_body(self, parser: LocParser | None) -> None:
        last = self.body.block.last_op
        if isinstance(last, ErrorOp):
            return
        if not isinstance(last, YieldOp):
            error(
                last or self,
                "PTO150",
                "the body of a for ends with pypto.yield",
                help="pypto.yield with one value for each iter",
            )
        call = parser.calls.get(last) if parser else None
        call = call or last.call()
        args, values = self.bound_args, tuple(last.inputs)
        if len(args) != len(values):
            call.error(
                "PTO150",
                f"yield has {counted(len(values), 'value')}, the loop carries "
                f"{len(args)}",
                rule="one value for each iter",
            )
        for index, (arg, value) in enumerate(zip(args, values, strict=True)):
            if has_error(arg) or has_error(value):
                continue
            _check_yield(call, index, arg.type, value.type)


def _check_yield(call: Call, index: int, carried: Attribute, given: Attribute) -> None:
    try:
        refine(call.site, carried, given, index)
    except CompileError:
        call.error(
            "PTO151",
            f"yield of {show(given)}, the loop carries {show(carried)}",
            at=f"inputs.{index}",
            rule="value and initial value have the same type, up to ?",
        )


@op_definition
class ForallOp(LoopOp):
    """Independent iterations that store into write-only `outs`.

    Several indices make a grid; bounds, steps and `+: %n` are as in `for`. The results
    are the initial values with what was stored. Reading an `outs` is an error (PTO153),
    and so is storing the same element in two iterations. Inner loops may store into an
    outer forall's `outs`.

    Example:
        func.func @silu(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
          %m = pypto.dim %x, 0
          %d = pypto.empty[%m, 64] : tensor<?x64xf32>
          %y = pypto.forall (%i +: %n = 0 to %m step 32) outs(%o = %d) {
            %block = pypto.view %x[%i +: %n, :]
            %s = pypto.silu %block
            pypto.store %s into %o[%i, 0]
          }
          func.return %y : tensor<?x64xf32>
        }
    """

    name = "pypto.forall"
    USAGE = (
        "(%i [+: %n] = <lower> to <upper> [step <step>], ..) "
        "[outs(%x = %init, ..)] [{settings}] {body}"
    )

    traits = traits_def(NoTerminator())
    BINDING = "outs"

    @property
    def outs(self) -> tuple[BlockArgument, ...]:
        """The destinations inside the body."""
        return self.bound_args

    def check_body(self, parser: LocParser | None) -> None:
        last = self.body.block.last_op
        if isinstance(last, YieldOp):
            error(
                last,
                "PTO150",
                "the body of a forall has no pypto.yield",
                rule="its iterations carry nothing: they store into outs",
                help="pypto.store %t into %o[...], or carry values with pypto.for",
            )
        for out in self.outs:
            if not isinstance(out.type, TensorType) and not has_error(out):
                error(
                    out.location,
                    "PTO110",
                    f"outs of a forall are tensors, %{out.name_hint or 'o'} is "
                    f"{out.type}",
                    rule="an iteration stores its part of a tensor",
                )
            for use in out.uses:
                store = isinstance(use.operation, StoreOp)
                if store and use.operation.operands[use.index] is out and use.index:
                    continue
                if not isinstance(use.operation, ErrorOp):
                    _raise_read(out, use, parser)


def _raise_read(out: BlockArgument, use: Use, parser: LocParser | None) -> None:
    op = use.operation
    place: Operation | Span[str] = op
    name = f"%{out.name_hint or 'o'}"
    if parser is not None:
        name = parser.name_of(out)
        call = parser.calls.get(op)
        keys = [key for key, value in call.written if value is out] if call else []
        if call is not None and keys:
            place = call.spans.get(keys[0], op)
    error(
        place,
        "PTO153",
        f"{name} cannot be read: it is write-only in the forall",
        notes=(Note("an iteration sees nothing of what the others store"),),
        help="read the initial value instead, or carry a value with pypto.for",
    )


CONTROL_OPS = (ForOp, ForallOp, YieldOp)
"""Loops and their terminator."""

__all__ = [
    "CONTROL_OPS",
    "AssertOp",
    "Axis",
    "DimOp",
    "ForOp",
    "ForallOp",
    "IndexOp",
    "LoopOp",
    "ReadOp",
    "ScalarOp",
    "YieldOp",
]
