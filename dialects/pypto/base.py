"""The base class of every pypto operation: fields, syntax, inference, `make`.

An operation is a few lines: its IRDL fields; `SYNTAX`, a tuple of elements (from
`syntax.py`, `values.py`, `properties.py`, `brackets.py`) in the order they are written;
and `infer`, from operands to result types. Parsing, printing, eliding types, checking
the `: ...` clause, building and verifying all follow from these.

    class ReductionOp(PyptoOp, ABC):
        source = operand_def(TensorType)
        axis = prop_def(IntegerAttr)
        keepdim = opt_prop_def(UnitAttr)            # no element: goes in `{keepdim}`
        target = opt_prop_def(TypeAttribute)
        result = result_def(TensorType)
        SYNTAX = (
            Operands("source"),
            Clause("axis", Int("axis")),                           # axis -1
            Clause("to", Type("target"), optional=True),           # to i32
        )
        traits = traits_def(Pure())

        @classmethod
        def infer(cls, call: Call) -> Sequence[Attribute]:
            source = call.tensor("source")
            return [reduction(call.site, source, call.int("axis"))]

    @op_definition
    class SumOp(ReductionOp):
        \"\"\"Sum over one axis; f16 and bf16 accumulate in f32, rounded once.\"\"\"
        name = "pypto.sum"

More clauses: `Clause("groups", Operands("groups"))`; `Clause("scales",
Operands("scale_lhs", "scale_rhs"), optional=True)`; `Clause("eps", Real("eps"))`;
`Clause("at", Operands("indices")), Clause("through", Operands("table"),
Clause("page", Int("page")), optional=True)`; `Clause("perm", Ints("perm"))`;
`Clause("mode", Word("mode", MODES), optional=True)`; `Text("equation")`. An operand of
index type, whose type is never written: `Operands("offset", typed=False)`.
Operands that may be literals: inherit from `LiteralOp` (fields `inputs`, `literals`,
property `args`) with `Values("inputs", 2, literals=True)`, where `like=1` skips the
first when the element type is looked for (`where`). `call.args("inputs")` merges.

Result types are checked against `infer` up to `?`. `call.site` is what `infer.py` and
its errors take; positions in it count the written operands, literals included.
"""

from __future__ import annotations

from abc import ABC
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import get_annotations
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    LocationAttr,
    StringAttr,
    UnitAttr,
    UnknownLoc,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VerificationContext,
    opt_prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.mlir_lexer import MLIRTokenKind

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import CompileError, error
from pyptoc.dialects.literals import (
    STARTS_VALUE,
    located,
    parse_setting,
    print_settings,
)
from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.op_definition import verified_alone
from pyptoc.dialects.op_docs import sample
from pyptoc.dialects.parse_errors import LexError, diagnose
from pyptoc.dialects.parsing import LocParser, PoisonedError
from pyptoc.dialects.pypto.attrs import TilesAttr, VecTileAttr
from pyptoc.dialects.pypto.call import Call, merge_literals
from pyptoc.dialects.pypto.class_fields import (
    SEGMENTS,
    has_segments,
    operand_fields,
    operands_by_field,
    setting_names,
)
from pyptoc.dialects.pypto.clause_errors import check_no_clause, check_no_setting
from pyptoc.dialects.pypto.infer import refine
from pyptoc.dialects.pypto.properties import setting_usage
from pyptoc.dialects.pypto.syntax import Element, clauses_of
from pyptoc.dialects.rejected import has_error
from pyptoc.dialects.related import note_tile
from pyptoc.dialects.words import counted

DISCARDABLE = ("tag", "tile")
"""Attributes every operation may carry; names with a dot are allowed as well."""


class PyptoOp(IRDLOperation, ABC):
    """See the module's docstring."""

    SYNTAX: ClassVar[tuple[Element, ...]] = ()
    USAGE: ClassVar[str] = ""
    """How the operation is written, for the documentation, where SYNTAX has it not."""
    TILES: ClassVar[tuple[type[Attribute], ...]] = (VecTileAttr,)
    """What `tile = ..` may be on this operation."""
    HIDDEN: ClassVar[tuple[str, ...]] = ()
    """Properties that are neither syntax nor settings (storage of subscripts)."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Mark the constants as such, or IRDL would take them for fields."""
        super().__init_subclass__(**arguments)
        constants = {name: "ClassVar" for name in cls.__dict__ if name.isupper()}
        cls.__annotations__ = {**constants, **get_annotations(cls)}

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        """The result types; raises CompileError where the operands do not fit."""
        return ()

    # -- building

    @classmethod
    def make(
        cls,
        *args: Any,
        result_type: Attribute | Sequence[Attribute] | None = None,
        location: LocationAttr | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        **fields: Any,
    ) -> Self:
        """Build the operation from what its syntax holds, in that order.

        Arguments are SSA values and Python values (numbers, types, strings, lists of
        subscripts); fields may also be given by name, flags as True. The result type
        is inferred; `result_type` overrides it where it agrees up to `?`.
        """
        call = Call(cls.name, location or UnknownLoc())
        if result_type is not None:
            single = isinstance(result_type, Attribute)
            call.given = (result_type,) if single else tuple(result_type)
        if attributes:
            call.attributes.update(attributes)
        queue = deque(args)
        for element in cls.SYNTAX:
            element.accept(call, queue, fields)
        if queue:
            raise TypeError(
                f"{cls.name}.make: {counted(len(queue), 'argument')} too many"
            )
        for key, value in fields.items():
            cls._set_field(call, key, value)
        for element in cls.SYNTAX:
            element.resolve(call)
        return cls.finish(call)

    @classmethod
    def _set_field(cls, call: Call, key: str, value: Any) -> None:
        target = call.attributes
        if key in cls.get_irdl_definition().properties:
            target = call.properties
        elif key not in DISCARDABLE:
            raise TypeError(f"{cls.name}.make has no field {key}")
        if value is True:
            target[key] = UnitAttr()
        elif isinstance(value, Attribute):
            target[key] = value
        elif isinstance(value, str):
            target[key] = StringAttr(value)
        elif value is not None and value is not False:
            raise TypeError(f"{cls.name}.make: {key} must be an attribute")

    @classmethod
    def finish(cls, call: Call) -> Self:
        """Infer, check the given result types and create the operation."""
        inferred = tuple(cls.infer(call))
        types = inferred
        if call.given is not None:
            types = cls.checked_types(call, inferred, call.given)
        return cls.create(
            operands=cls.flatten(call),
            result_types=types,
            properties=call.properties,
            attributes=call.attributes,
            location=call.location,
        )

    @classmethod
    def checked_types(
        cls, call: Call, inferred: Sequence[Attribute], given: Sequence[Attribute]
    ) -> tuple[Attribute, ...]:
        """The given result types, which must agree with the inferred up to `?`."""
        if len(given) != len(inferred):
            results = counted(len(inferred), "result")
            types = counted(len(given), "type")
            call.error(
                "PTO140",
                f"{call.short_name} has {results}, the clause gives {types}",
                at="types",
                rule="the clause has one type for each result, or none is written",
            )
        if tuple(given) == tuple(inferred):
            return tuple(given)
        site = replace(call.site, at=call.spans.get("types", call.place))
        for index, (mine, theirs) in enumerate(zip(inferred, given, strict=True)):
            refine(site, mine, theirs, index)
        return tuple(given)

    @classmethod
    def flatten(cls, call: Call) -> list[SSAValue]:
        """The operands in the order of their definitions; sets the segment sizes."""
        fields = operand_fields(cls)
        groups = [call.operands.get(name, ()) for name, _ in fields]
        if has_segments(cls):
            sizes = [len(group) for group in groups]
            call.properties[SEGMENTS] = DenseArrayBase.from_list(i32, sizes)
        return [value for group in groups for value in group]

    # -- verifying

    def call(self) -> Call:
        """The operation as `infer` sees it."""
        call = Call(self.name, self.location, op=self)
        call.properties = self.properties
        call.attributes = self.attributes
        call.given = tuple(result.type for result in self.results)
        call.operands = operands_by_field(self)
        for element in self.SYNTAX:
            element.recall(self, call)
        return call

    @verified_alone
    def verify_(self) -> None:
        call = self.call()
        assert call.given is not None
        for key, value in self.attributes.items():
            self._check_tile(call, key, value)
        self.checked_types(call, tuple(self.infer(call)), call.given)

    # -- parsing

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser = located(parser)
        call = Call.read(cls.name, parser)
        try:
            for element in cls.SYNTAX:
                element.parse(call, parser)
            check_no_clause(clauses_of(cls.SYNTAX), call, parser)
        except LexError:
            raise
        except ParseError as failure:
            found = diagnose(failure)
            raise CompileError(
                [replace(found, help=found.help or sample(cls))]
            ) from None
        cls.parse_settings(call, parser)
        cls.parse_types(call, parser)
        if any(has_error(v) for group in call.operands.values() for v in group):
            raise PoisonedError
        for element in cls.SYNTAX:
            element.resolve(call)
        op = cls.finish(call)
        parser.calls[op] = call
        return op

    @classmethod
    def parse_settings(cls, call: Call, parser: LocParser) -> None:
        """Parse the optional `{flag, key = value}` into properties and attributes."""
        if parser.parse_optional_punctuation("{") is None:
            check_no_setting((*setting_names(cls), *DISCARDABLE), parser)
            return
        if parser.parse_optional_punctuation("}") is not None:
            return
        while True:
            start = parser.pos
            key = parser.parse_identifier_or_str_literal()
            span = parser.span_from(start)
            value: Attribute = UnitAttr()
            if parser.parse_optional_punctuation("=") is not None:
                value = parse_setting(parser)
            elif parser.token.kind in STARTS_VALUE:
                parser.raise_error("'=' expected")
            if key in call.properties or key in call.attributes:
                rule = "each setting is given once"
                error(span, "PTO143", f"'{key}' is given twice", rule=rule)
            call.spans[key] = parser.span_from(start)
            if key == "tile" and isinstance(parser.ctx, PyptocContext):
                note_tile(parser, parser.ctx, call.spans[key])
            cls._check_setting(call, key, value, span)
            if parser.parse_optional_punctuation(",") is None:
                break
        parser.parse_punctuation("}")

    @classmethod
    def _check_setting(cls, call: Call, key: str, value: Attribute, span: Any) -> None:
        settings = setting_names(cls)
        if key in settings:
            constraint = cls.get_irdl_definition().properties[key].constr
            try:
                constraint.verify(value, VerificationContext())
            except VerifyException:
                text = call.spans[key].text.partition("=")[2].strip() or "left so"
                usage = setting_usage(key, constraint)
                error(
                    call.spans[key],
                    "PTO143",
                    f"{key} of {call.short_name} cannot be {text}",
                    rule=f"it is written {{{usage}}}",
                )
            call.properties[key] = value
            return
        known = (*settings, *DISCARDABLE)
        if key not in known and "." not in key:
            error(
                span,
                "PTO143",
                f"{call.short_name} has no attribute '{key}'",
                rule=f"it has {', '.join(known)}",
                help=did_you_mean(key, known),
            )
        if key == "tag" and not isinstance(value, StringAttr):
            error(
                call.spans[key],
                "PTO143",
                f"{key} of {call.short_name} cannot be {value}",
                rule='a tag is a text: {tag = "projection"}',
            )
        cls._check_tile(call, key, value)
        call.attributes[key] = value

    @classmethod
    def _check_tile(cls, call: Call, key: str, value: Attribute) -> None:
        """A tile of an operation is of the kind that its tasks have."""
        kinds = {"tile": cls.TILES, "pypto.tiles": (TilesAttr,)}.get(key)
        if kinds is not None and not isinstance(value, kinds):
            shown = " or ".join(f"#{kind.name}<..>" for kind in kinds)
            call.error(
                "PTO143",
                f"{key} of {call.short_name} cannot be {value}",
                at=key,
                rule=f"{key} of {call.short_name} is {shown}",
            )

    @classmethod
    def parse_types(cls, call: Call, parser: LocParser) -> None:
        """Parse the optional `: operand types -> result types` or `: result types`."""
        if parser.parse_optional_punctuation(":") is None:
            return
        start = parser.pos
        first = cls._parse_type_list(parser)
        span = parser.span_from(start)
        call.spans["types"] = span
        if parser.parse_optional_punctuation("->") is not None:
            start = parser.pos
            call.given = cls._parse_type_list(parser)
            call.spans["types"] = parser.span_from(start)
        elif cls.get_irdl_definition().results:
            call.given = first
            return
        values = [value for e in cls.SYNTAX for value in e.typed(call.operands)]
        actual = tuple(value.type for value in values)
        if actual != first and not any(has_error(value) for value in values):
            shown = ", ".join(map(str, actual))
            message = f"the operands of {call.short_name} are {shown}"
            rule = "the types before -> are those of the operands, in their order"
            error(span, "PTO141", message, rule=rule)

    @staticmethod
    def _parse_type_list(parser: LocParser) -> tuple[Attribute, ...]:
        delimiter = parser.Delimiter
        kind = delimiter.PAREN if parser.at(MLIRTokenKind.L_PAREN) else delimiter.NONE
        return tuple(parser.parse_comma_separated_list(kind, parser.parse_type))

    # -- printing

    def print(self, printer: Printer) -> None:
        for element in self.SYNTAX:
            element.print(self, printer)
        self.print_settings(printer)
        self.print_types(printer)

    def print_settings(self, printer: Printer) -> None:
        """Print ` {flag, key = value}` with properties in the order of definition."""
        mine = self.properties
        settings = {k: mine[k] for k in setting_names(type(self)) if k in mine}
        settings.update(self.attributes)
        print_settings(printer, settings)

    def print_types(self, printer: Printer) -> None:
        """Print ` : operand types -> result types`."""
        if getattr(printer, "short", False) and self.can_elide():
            return
        fields = operands_by_field(self)
        types = [v.type for e in self.SYNTAX for v in e.typed(fields)]
        results = self.results
        if not types and not results:
            return
        printer.print_string(" : ")
        printer.print_list(types, printer.print_attribute)
        if not results:
            return
        if types:
            printer.print_string(" -> ")
        if len(results) == 1:
            printer.print_attribute(results[0].type)
            return
        with printer.in_parens():
            printer.print_list(results, lambda r: printer.print_attribute(r.type))

    def can_elide(self) -> bool:
        """Whether the result types are those that would be inferred again."""
        given = tuple(result.type for result in self.results)
        call = self.call()
        call.given = None
        try:
            return tuple(self.infer(call)) == given
        except CompileError:  # it needs the clause (empty, full)
            return False


class LiteralOp(PyptoOp, ABC):
    """An operation whose operands may be literals: `pypto.mul %x, 2.0`."""

    inputs = var_operand_def()
    """The operands that are SSA values."""
    literals = opt_prop_def(ArrayAttr)
    """One entry for each written operand; UnitAttr where it is an SSA value."""

    @property
    def args(self) -> tuple[SSAValue | Attribute, ...]:
        """The operands in written order: SSA values and literal attributes."""
        return merge_literals(tuple(self.operands), self.properties.get("literals"))
