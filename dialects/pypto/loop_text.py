"""The header of a loop: reading and printing `(%j +: %n = 0 to %len step 512) ..`."""

from __future__ import annotations

from xdsl.ir import BlockArgument, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.literals import i64_array
from pyptoc.dialects.parsing import LocParser
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.infer import show
from pyptoc.dialects.record import record
from pyptoc.dialects.rejected import has_error
from pyptoc.dialects.subscripts import (
    INDEX,
    Mixed,
    parse_mixed,
    print_mixed,
    split_mixed,
)

BOUNDS = ("lower", "upper", "step")


@record
class Axis:
    """One index of a loop."""

    index: BlockArgument
    tail: BlockArgument | None
    """The size of this piece, `%n` in `%j +: %n`."""
    lower: Mixed
    upper: Mixed
    step: Mixed


class LoopHeader:
    """What a loop's header says, while it is read."""

    def __init__(self, parser: LocParser) -> None:
        self.parser = parser
        self.bounds: list[tuple[Mixed, Mixed, Mixed]] = []
        self.tails: list[bool] = []
        self.inits: list[SSAValue] = []
        self.args: list[Parser.Argument] = []
        self.bound: list[Parser.Argument] = []

    def axis(self) -> None:
        """`%j +: %n = 0 to %len step 512`."""
        parser = self.parser
        self.args.append(self._name("an index such as %i"))
        tail = parser.parse_optional_punctuation("+") is not None
        if tail:
            parser.parse_punctuation(":")
            self.args.append(self._name("a name for the size of a piece"))
        parser.parse_punctuation("=")
        lower = parse_mixed(parser)
        parser.parse_keyword("to")
        upper = parse_mixed(parser)
        step: Mixed = 1
        if parser.parse_optional_keyword("step") is not None:
            start = parser.pos
            step = parse_mixed(parser)
            if isinstance(step, int) and step <= 0:
                span = parser.span_from(start)
                rule = "a step is at least 1"
                error(span, "PTO154", f"step {step} is not positive", rule=rule)
        self.bounds.append((lower, upper, step))
        self.tails.append(tail)

    def _name(self, what: str) -> Parser.Argument:
        parser = self.parser
        token = parser.token
        if token.kind == MLIRTokenKind.BARE_IDENT:
            said = "the name of a value begins with %"
            error(token.span, "PTO100", said, help=f"write %{token.span.text}")
        if not parser.at(MLIRTokenKind.PERCENT_IDENT):
            parser.raise_error(f"{what} is expected here", parser.token.span)
        return parser.Argument(parser.take().span, INDEX)

    def binding(self) -> None:
        """`%m = %m0`, with an optional type."""
        parser = self.parser
        argument = self._name("a name")
        parser.parse_punctuation("=")
        value, span = parser.parse_value()
        if parser.parse_optional_punctuation(":") is not None:
            type = parser.parse_type()
            if type != value.type and not has_error(value):
                error(
                    span,
                    "PTO141",
                    f"{span.text} is {show(value.type)}, not {show(type)}",
                )
        argument.type = value.type
        self.bound.append(argument)
        self.inits.append(value)


def store_header(
    call: Call,
    bounds: list[tuple[Mixed, Mixed, Mixed]],
    tails: list[bool],
    inits: list[SSAValue],
) -> None:
    """Put a header into the operands and properties of a call."""
    for position, name in enumerate(BOUNDS):
        static, dynamic = split_mixed(bound[position] for bound in bounds)
        call.properties[f"static_{name}s"] = i64_array(static)
        call.operands[f"{name}s"] = tuple(dynamic)
    call.properties["tails"] = i64_array([int(tail) for tail in tails])
    call.operands["inits"] = tuple(inits)


def print_axis(printer: Printer, axis: Axis) -> None:
    """Print `%j +: %n = 0 to %len step 512`; a step of 1 is left out."""
    printer.print_ssa_value(axis.index)
    if axis.tail is not None:
        printer.print_string(" +: ")
        printer.print_ssa_value(axis.tail)
    printer.print_string(" = ")
    print_mixed(printer, axis.lower)
    printer.print_string(" to ")
    print_mixed(printer, axis.upper)
    if not (isinstance(axis.step, int) and axis.step == 1):
        printer.print_string(" step ")
        print_mixed(printer, axis.step)


def print_binding(printer: Printer, arg: BlockArgument, init: SSAValue) -> None:
    """Print `%m = %m0 : tensor<..>`."""
    printer.print_ssa_value(arg)
    printer.print_string(" = ")
    printer.print_ssa_value(init)
    if not getattr(printer, "short", False):
        printer.print_string(" : ")
        printer.print_attribute(init.type)
