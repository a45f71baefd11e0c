"""Scalars beside tensors: index arithmetic, float arithmetic, reads, sizes, asserts."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from io import StringIO
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float32Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnknownLoc,
    f32,
    i1,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    EqAttrConstraint,
    base,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect

from pyptoc.dialects.expr import Compare, Expr
from pyptoc.dialects.literals import located
from pyptoc.dialects.npu_attrs import ExprAttr
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.parsing import LocParser, PoisonedError
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.brackets import (
    OffsetList,
    check_bounds,
    element_of,
    mixed_offsets,
    shape_of,
)
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.infix import parse_infix
from pyptoc.dialects.pypto.properties import Int
from pyptoc.dialects.pypto.scalar_expr import ScalarExpr, ScalarExprAttr, parse_scalar
from pyptoc.dialects.pypto.syntax import Comma, Operands
from pyptoc.dialects.rejected import has_error
from pyptoc.dialects.subscripts import INDEX, Mixed, Offsets
from pyptoc.dialects.words import counted

SHAPED = base(TensorType) | base(MemRefType)


def _positions(
    expr: Expr | Compare,
) -> tuple[Expr | Compare, list[SSAValue]]:
    """An expression over SSA values as one over s0, s1, .., and the values."""
    values = [cast(SSAValue, key) for key in expr.symbols()]
    names: dict[Hashable, Expr | int] = {
        value: Expr.sym(f"s{i}") for i, value in enumerate(values)
    }
    return expr.subs(names), values


def _over(expr: Expr | Compare, values: Sequence[SSAValue]) -> Expr | Compare:
    """An expression over s0, s1, .. as one over SSA values."""
    return expr.subs({f"s{i}": Expr.sym(value) for i, value in enumerate(values)})


_KEPT = "_pyptoc_expr"
"""Where an op keeps its expression and what that was found from, beside its fields."""


class WithExpr:
    """An operation with an integer expression `expr` over its index operands."""

    @property
    def value_expr(self) -> Expr | Compare:
        """The expression with SSA values as symbols, kept for those who ask again."""
        op = cast("IndexOp | AssertOp", self)
        now = op.expr, op.inputs
        kept = vars(op).get(_KEPT)
        if kept is None or kept[0] != now:
            kept = vars(op)[_KEPT] = now, _over(op.expr.data, op.inputs)
        return kept[1]

    def expr_text(self, printer: Printer) -> str:
        """The infix text, with the names the printer gives the operands."""
        op = cast("IndexOp | AssertOp", self)
        names = {f"s{i}": _name(printer, value) for i, value in enumerate(op.inputs)}
        return op.expr.data.to_string(lambda key: names[str(key)])


def _name(printer: Printer, value: SSAValue) -> str:
    """The printed name of a value that the printer has printed already."""
    names = printer._ssa_values  # pyright: ignore[reportPrivateUsage]
    if value not in names:
        # str(op) of an operation alone: the printer has not met the value yet.
        scratch = Printer(StringIO())
        for field in ("_ssa_values", "_ssa_names", "_next_valid_name_id"):
            setattr(scratch, field, getattr(printer, field))
        scratch.print_ssa_value(value)
    return "%" + names[value]


@op_definition
class IndexOp(PyptoOp, WithExpr):
    """Integer arithmetic: `index min(max(%act - %s1 + 1, 0), 2048)`.

    Operators are `+ - * floordiv ceildiv mod min max`; one compare (`== ne < <= > >=`)
    at the root gives an i1. floordiv and mod round toward minus infinity; a zero
    divisor and a result outside 64 bits are errors at run time (PTO403). Operators need
    blanks: `%a-1` is one name.

    Example:
        %n = pypto.index min(%len - %i, 2048) : index
        %c = pypto.index %len mod 4 == 0 : i1
    """

    name = "pypto.index"
    USAGE = "<integer expression>"

    inputs = var_operand_def(IndexType)
    expr = prop_def(ExprAttr)
    result = result_def(base(IndexType) | base(IntegerType))

    traits = traits_def(NoMemoryEffect())
    HIDDEN = ("expr",)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expr = cast(ExprAttr, call.properties["expr"]).data
        _check_symbols(call, expr)
        return [i1 if isinstance(expr, Compare) else INDEX]

    @classmethod
    def of(
        cls,
        expr: Expr | Compare,
        location: LocationAttr | None = None,
    ) -> Self:
        """The operation that computes an expression whose symbols are SSA values."""
        call = Call(cls.name, location or UnknownLoc())
        _set_expr(call, expr)
        return cls.finish(call)

    @classmethod
    def make(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls, expr: Expr | Compare, *, location: LocationAttr | None = None
    ) -> Self:
        return cls.of(expr, location)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser = located(parser)
        call = Call.read(cls.name, parser)
        _set_expr(call, parse_infix(call, parser))
        cls.parse_settings(call, parser)
        cls.parse_types(call, parser)
        return cls.finish(call)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.expr_text(printer)}")
        self.print_settings(printer)
        self.print_types(printer)


def _set_expr(call: Call, expr: Expr | Compare) -> None:
    placed, values = _positions(expr)
    call.properties["expr"] = ExprAttr(placed)
    call.operands["inputs"] = tuple(values)


def _check_symbols(call: Call, expr: Expr | Compare) -> None:
    known = {f"s{i}" for i in range(len(call.operands["inputs"]))}
    unknown = [str(key) for key in expr.symbols() if key not in known]
    if unknown:
        call.error(
            "PTO145",
            f"expr names {unknown[0]}, but has {counted(len(known), 'operand')}",
        )


@op_definition
class ScalarOp(PyptoOp):
    """Float arithmetic on scalars: `scalar sqrt(1.0 - pow(%beta, %t)) : f32`.

    Operators are `+ - * /`, functions `pow sqrt exp log abs min max`; each rounds once
    to f32, in the order written. An operand that is an index or an i32 is rounded to
    f32 first. NaN and inf come as in elementwise ops.

    Example:
        %s = pypto.scalar sqrt(1.0 - pow(%beta, %t)) / 2.0 : f32
    """

    name = "pypto.scalar"
    USAGE = "<float expression>"

    inputs = var_operand_def(
        base(Float32Type) | base(IndexType) | EqAttrConstraint(i32)
    )
    expr = prop_def(ScalarExprAttr)
    result = result_def(Float32Type)

    traits = traits_def(NoMemoryEffect())
    HIDDEN = ("expr",)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expr = cast(ScalarExprAttr, call.properties["expr"]).data
        most = len(call.operands["inputs"])
        if _highest(expr) >= most:
            call.error(
                "PTO145",
                f"expr names s{_highest(expr)}, but has {counted(most, 'operand')}",
            )
        return [f32]

    @classmethod
    def make(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls,
        expr: ScalarExpr,
        inputs: Sequence[SSAValue],
        *,
        location: LocationAttr | None = None,
    ) -> Self:
        call = Call(cls.name, location or UnknownLoc())
        call.properties["expr"] = ScalarExprAttr(expr)
        call.operands["inputs"] = tuple(inputs)
        return cls.finish(call)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser = located(parser)
        call = Call.read(cls.name, parser)
        values: list[SSAValue] = []

        def operand() -> int:
            value, span = parser.parse_value()
            if has_error(value):
                raise PoisonedError
            if value.type not in (f32, INDEX, i32):
                call.spans["operand"] = span
                call.error(
                    "PTO110",
                    f"scalar takes f32, index or i32 operands, {span.text} is "
                    f"{value.type}",
                    at="operand",
                    rule="scalar expressions are over values of type f32, index or i32",
                )
            if value not in values:
                values.append(value)
            return values.index(value)

        expr = parse_scalar(parser, operand)
        call.properties["expr"] = ScalarExprAttr(expr)
        call.operands["inputs"] = tuple(values)
        cls.parse_settings(call, parser)
        cls.parse_types(call, parser)
        return cls.finish(call)

    def print(self, printer: Printer) -> None:
        names = [_name(printer, value) for value in self.inputs]
        printer.print_string(" " + self.expr.data.to_string(names.__getitem__))
        self.print_settings(printer)
        self.print_types(printer)


def _highest(expr: ScalarExpr) -> int:
    if expr.op == "operand":
        return int(expr.value)
    return max((_highest(arg) for arg in expr.args), default=-1)


@op_definition
class ReadOp(PyptoOp, Offsets):
    """One element as a scalar: `read %x[%i]`.

    An integer gives an index (sign-extended), or f32 with `: f32`; i1 gives 0 or 1; f32
    gives f32. Narrower floats are cast first. An offset outside the tensor is an error:
    PTO132, or PTO402 at run time.

    Example:
        %n = pypto.read %x[%i, 0] : tensor<?x4xi32> -> index
    """

    name = "pypto.read"

    source = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase)
    result = result_def(base(IndexType) | base(Float32Type))

    traits = traits_def(NoMemoryEffect())
    SYNTAX = (Operands("source"), OffsetList())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        source = call.tensor("source")
        offsets = mixed_offsets(call)
        sizes: list[Mixed] = [1] * len(offsets)
        check_bounds(call, "source", offsets, sizes)
        return [read_type(call, element_of(source))]


def read_type(call: Call, element: Attribute) -> Attribute:
    """What a read of such an element gives: index, or f32 if the clause says so."""
    given = call.given[0] if call.given else None
    if isinstance(element, IntegerType):
        return f32 if given == f32 else INDEX
    if element != f32:
        call.error(
            "PTO111",
            f"{call.short_name} of {element} elements",
            at="source",
            rule="elements are integers or f32",
            help=f"cast {call.name_of('source')} to f32 first",
        )
    return f32


@op_definition
class DimOp(PyptoOp):
    """The size of a dimension: `dim %x, 0`; of a tensor or a buffer.

    The axis is counted from 0 and is not negative (PTO135).

    Example:
        %m = pypto.dim %x, 0 : tensor<?x64xf32> -> index
    """

    name = "pypto.dim"

    source = operand_def(SHAPED)
    axis = prop_def(IntegerAttr)
    result = result_def(IndexType)

    traits = traits_def(NoMemoryEffect())
    SYNTAX = (Operands("source"), Comma(), Int("axis"))

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        type = call.type("source")
        if not isinstance(type, MemRefType):
            call.tensor("source")
        rank = len(shape_of(call.type("source")))
        if not 0 <= call.int("axis") < rank:
            last = f"dimensions 0 to {rank - 1}" if rank else "no dimension"
            call.error(
                "PTO135",
                f"dim {call.int('axis')} of a tensor of rank {rank}",
                at="axis",
                label=f"{call.name_of('source')} has {last}",
            )
        return [INDEX]


@op_definition
class AssertOp(PyptoOp, WithExpr):
    """A condition checked at run time: `assert %a == %b, "{0} {1}"`.

    Where it is false the run stops with the text (PTO401). `{0}` and `{1}` are the two
    sides of the compare, unless further operands follow the text: then they count from
    the first of those.

    Example:
        pypto.assert %a == %b, "groups sum to {0}, not {1}"
        pypto.assert %p >= 0, "page {0} of {1} is negative", %a, %b
    """

    name = "pypto.assert"
    USAGE = '<compare>, "<text>"[, %value, ..]'

    inputs = var_operand_def(IndexType)
    values = var_operand_def(IndexType)
    """What `{0}`, `{1}` in the text stand for, if not the two sides."""
    expr = prop_def(ExprAttr)
    message = prop_def(StringAttr)
    code = opt_prop_def(StringAttr)
    """The code to report, where a pass made this assert."""
    help = opt_prop_def(StringAttr)
    """What would work, with `{0}`, `{1}` as in the text."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    HIDDEN: ClassVar[tuple[str, ...]] = ("expr", "message")

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expr = cast(ExprAttr, call.properties["expr"]).data
        _check_symbols(call, expr)
        if not isinstance(expr, Compare):
            call.error(
                "PTO145",
                "assert needs a compare",
                rule="a compare is one of == ne < <= > >=",
            )
        shown = len(call.operands.get("values", ())) or 2
        for number in re.findall(r"\{(\d+)\}", call.text("message")):
            if int(number) >= shown:
                call.error(
                    "PTO143",
                    f"the text of assert names {{{number}}}, but has "
                    f"{counted(shown, 'value')}",
                    rule="{0} and {1} are the two sides, or operands after the text",
                )
        return []

    @classmethod
    def make(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls,
        expr: Compare,
        message: str,
        values: Sequence[SSAValue] = (),
        *,
        code: str | None = None,
        help: str = "",
        location: LocationAttr | None = None,
    ) -> Self:
        call = Call(cls.name, location or UnknownLoc())
        _set_expr(call, expr)
        call.operands["values"] = tuple(values)
        call.properties["message"] = StringAttr(message)
        if code is not None:
            call.properties["code"] = StringAttr(code)
        if help:
            call.properties["help"] = StringAttr(help)
        return cls.finish(call)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser = located(parser)
        call = Call.read(cls.name, parser)
        _set_expr(call, parse_infix(call, parser))
        parser.parse_punctuation(",")
        call.properties["message"] = StringAttr(parser.parse_str_literal())
        values: list[SSAValue] = []
        while parser.parse_optional_punctuation(",") is not None:
            values.append(_index_value(call, parser))
        call.operands["values"] = tuple(values)
        cls.parse_settings(call, parser)
        return cls.finish(call)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.expr_text(printer)}, ")
        printer.print_string_literal(self.message.data)
        for value in self.values:
            printer.print_string(", ")
            printer.print_ssa_value(value)
        self.print_settings(printer)


def _index_value(call: Call, parser: LocParser) -> SSAValue:
    value, span = parser.parse_value()
    if has_error(value):
        raise PoisonedError
    if value.type != INDEX:
        call.spans["values"] = span
        message = f"{span.text} is {value.type}, not index"
        rule = "the values that a text shows are of type index"
        call.error("PTO134", message, at="values", rule=rule)
    return value


SCALAR_OPS = (IndexOp, ScalarOp, ReadOp, DimOp, AssertOp)
"""The whole family."""
