"""Vector instructions: one table, one class for each row.

    tile.add %a, %b row into %d [%m, 256]        d[i, j] = a[i, j] + b[i, 0]
    tile.mul %a, 2.0 into %a [%m, 256]           in place
    tile.mul %a, %b group into %d [%m, 256] {group = 128, first = 0}
                                 d[i, j] = a[i, j] * b[i, j floordiv 128]
    tile.row_sum %a into %s [%m, 256]            s[i, 0] = sum of a[i, :]
    tile.cvt %a into %d [%m, 256] {mode = "rint"}
    tile.arange 0 into %d [%m, 256]              d[i, j] = 0 + j
    tile.mask_causal %a, %o into %d [%m, 256]    d[i, j] = a[i, j] (j <= i + %o), -inf

All run on pipe v, on ub buffers, and write `dest`. Each input is a literal, an SSA
scalar, or a buffer in one of the forms `full` (default), `row` = [m, 1] along the
columns, `col` = [1, n] along the rows, `one` = [1, 1] everywhere. `mul` has a form of
its own, `group` = [m, k]: one for each `group` columns of a known number of them, from
number `first` on. The destination may be an input itself, or begin where one begins,
where the instruction is elementwise and no remainder, the input full, its elements and
rows as wide (`tile_in_place.py`).
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BoolAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    f32,
    i1,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    INDEX,
    INT_ARRAY,
    Mixed,
    join_mixed,
    parse_mixed,
    parse_optional_value,
    parse_options,
    parse_types,
    parse_value,
    print_mixed,
    print_options,
    print_types,
    segments,
    split_mixed,
)
from pyptoc.dialects.literals import (
    Number,
    as_element,
    format_literal,
    located,
    parse_number,
)
from pyptoc.dialects.op_definition import op_definition, verified_alone
from pyptoc.dialects.tile_in_place import may_take
from pyptoc.dialects.tile_types import (
    BufType,
    Instruction,
    Pipe,
    Space,
    buffer_type,
    check_extent,
    check_space,
)
from pyptoc.dialects.vector_families import (
    FORM_NAMES,
    FORMS,
    VECTOR_FAMILIES,
    WRITTEN_FORMS,
    Family,
    Form,
    Result,
    Shape,
)

VectorArg: TypeAlias = tuple[SSAValue, Form] | Attribute
"""An SSA input with its form, or a literal."""


class VectorOp(Instruction, ABC):
    """A vector instruction; `family` is its row in the table."""

    arguments = var_operand_def()
    dest = operand_def(BufType)
    extent_operands = var_operand_def(INDEX)
    inputs = prop_def(ArrayAttr)
    static_extents = prop_def(INT_ARRAY)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    FAMILY: ClassVar[Family]

    @classmethod
    def make(
        cls,
        inputs: Sequence[SSAValue | tuple[SSAValue, Form | str] | Attribute],
        dest: SSAValue,
        extents: Sequence[Mixed],
        **options: Attribute,
    ) -> Self:
        """`inputs`: SSA values, values with a form, or literal attributes."""
        values: list[SSAValue] = []
        described: list[Attribute] = []
        for given in inputs:
            if isinstance(given, Attribute):
                described.append(given)
                continue
            value, form = given if isinstance(given, tuple) else (given, Form.FULL)
            if not isinstance(value.type, BufType):
                form = Form.SCALAR
            values.append(value)
            described.append(FORMS[Form(form)])
        dynamic, static = split_mixed(extents)
        return cls.create(
            operands=[*values, dest, *dynamic],
            properties={
                "inputs": _described(tuple(described)),
                "static_extents": static,
                "operandSegmentSizes": segments(len(values), 1, len(dynamic)),
                **options,
            },
        )

    @property
    def family(self) -> Family:
        return self.FAMILY

    @property
    def pipe(self) -> Pipe:
        return Pipe.V

    @property
    def args(self) -> tuple[VectorArg, ...]:
        """The inputs in written order."""
        values = iter(self.arguments)
        return tuple(
            (next(values), Form(one.data)) if isinstance(one, StringAttr) else one
            for one in self.inputs
        )

    @property
    def extents(self) -> list[Mixed]:
        """[m, n]: the box that is computed (of a reduction, the box that is read)."""
        return join_mixed(self.static_extents, self.extent_operands)

    def box_of(self, form: Form) -> tuple[int, Mixed, Mixed]:
        """What is read of an input of a form: the first column, rows, columns."""
        rows, columns = self.extents
        if form is Form.GROUP:
            first, count = self.groups
            return first, rows, count
        rows = 1 if form in (Form.COL, Form.ONE, Form.SCALAR) else rows
        columns = 1 if form in (Form.ROW, Form.ONE, Form.SCALAR) else columns
        return 0, rows, columns

    @property
    def groups(self) -> tuple[int, int]:
        """The first group of the columns, and how many there are of `group_size`."""
        columns = self.extents[1]
        assert isinstance(columns, int)
        first = cast("IntegerAttr[Any]", self.properties["first"]).value.data
        return first, -(-columns // self.group_size)

    @property
    def group_size(self) -> int:
        """The columns for which a `group` input has one number."""
        return cast("IntegerAttr[Any]", self.properties["group"]).value.data

    def reads(self) -> list[SSAValue]:
        return [value for value in self.arguments if isinstance(value.type, BufType)]

    def may_take(self, value: SSAValue) -> bool:
        """Whether the destination may begin where this input begins."""
        given = [arg for arg in self.args if isinstance(arg, tuple)]
        in_full = all(form is Form.FULL for one, form in given if one is value)
        source, dest = buffer_type(value), buffer_type(self.dest)
        return may_take(self.family.name, in_full, source, dest)

    def writes(self) -> list[SSAValue]:
        return [self.dest]

    # -- assembly

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        given = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, lambda: _parse_input(parser)
        )
        parser.parse_keyword("into")
        dest = parse_value(parser)
        if not isinstance(dest.type, BufType):
            parser.raise_error(f"the destination is a buffer, not {dest.type}")
        element = _literal_element(given, dest.type.element_type)
        inputs: list[tuple[SSAValue, Form] | Attribute] = [
            as_element(one, element, "a buffer") if isinstance(one, Number) else one
            for one in given
        ]
        extents = parse_mixed(parser)
        options, attributes = parse_options(parser, cls.FAMILY.options)
        op = cls.make(inputs, dest, extents, **options)
        op.attributes = attributes
        parse_types(parser, [*op.arguments, dest])
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.args, lambda arg: _print_input(printer, arg))
        printer.print_string(" into ")
        printer.print_ssa_value(self.dest)
        printer.print_string(" ")
        print_mixed(printer, self.extents)
        names = self.family.options
        options = {n: self.properties[n] for n in names if n in self.properties}
        print_options(printer, {**options, **self.attributes})
        print_types(printer, [*self.arguments, self.dest])

    # -- verification

    @verified_alone
    def verify_(self) -> None:
        self._verify_forms()
        family, args, extents = self.family, self.args, self.extents
        if len(args) != family.arity:
            raise VerifyException(f"takes {family.arity} inputs, got {len(args)}")
        if len(extents) != 2:
            raise VerifyException(f"takes 2 extents [m, n], got {len(extents)}")
        dest = buffer_type(self.dest)
        check_space("the destination", self.dest, Space.UB)
        rows, columns = extents
        if family.shape is Shape.ROW_REDUCTION:
            columns = 1
        check_extent("m", rows, dest.rows)
        check_extent("n", columns, dest.columns)
        for arg in args:
            if isinstance(arg, tuple):
                self._verify_input(arg[0], arg[1], extents, dest)
        self._verify_elements(args, dest.element_type)

    def _verify_forms(self) -> None:
        forms = [one.data for one in self.inputs if isinstance(one, StringAttr)]
        if len(forms) != len(self.arguments):
            raise VerifyException(
                f"{len(forms)} inputs are values, but there are {len(self.arguments)}"
            )
        for form in forms:
            if form not in FORM_NAMES:
                raise VerifyException(f'no form "{form}"')
        self._verify_groups(Form.GROUP in forms)

    def _verify_groups(self, grouped: bool) -> None:
        """An input by groups says of which, and there is a known number of them."""
        names = [name for name in ("group", "first") if name in self.properties]
        if len(names) != 2 * grouped:
            raise VerifyException("group and first are for an input by groups")
        if grouped and not isinstance(self.extents[1], int):
            raise VerifyException("an input by groups needs a known number of columns")
        if grouped and (self.group_size < 1 or self.groups[0] < 0):
            raise VerifyException("group is at least 1, and first at least 0")

    def _verify_input(
        self, value: SSAValue, form: Form, extents: Sequence[Mixed], dest: BufType
    ) -> None:
        type = value.type
        if (form is Form.SCALAR) == isinstance(type, BufType):
            raise VerifyException(f"an input of type {type} has no form {form}")
        if not isinstance(type, BufType):
            return
        if self.family.name in ("fill", "arange"):
            raise VerifyException(f"{self.family.name} takes a literal or a scalar")
        check_space("an input", value, Space.UB)
        first, rows, columns = self.box_of(form)
        columns = first + columns if isinstance(columns, int) else columns
        check_extent(f"the number of rows of a {form} input", rows, type.rows)
        check_extent(f"the number of columns of a {form} input", columns, type.columns)
        if not self.family.is_elementwise and form is not Form.FULL:
            raise VerifyException(f"the input is read in full, not as {form}")
        if value is self.dest and not self.may_take(value):
            raise VerifyException(
                "in place, an instruction is elementwise, no remainder, its input full"
            )

    def _verify_scalar(self, type: Attribute, element: Attribute) -> None:
        if not self.family.index_scalar:
            _check_scalar(type, element)
        elif not isinstance(type, IndexType):
            raise VerifyException(f"{self.family.name} takes a position of type index")

    def _verify_elements(self, args: Sequence[VectorArg], dest: Attribute) -> None:
        family = self.family
        if family.name == "where":
            if _element(args[0]) != i1:
                raise VerifyException("the condition of where is a buffer of i1")
            args = args[1:]
        elements = [e for arg in args if (e := _element(arg)) is not None]
        element = elements[0] if elements else dest
        for other in elements:
            if other != element:
                raise VerifyException(f"element types differ: {element} and {other}")
        if not family.elements.holds(element):
            raise VerifyException(
                f"{family.name} of {element}; it takes {family.elements.value}"
            )
        expected = {Result.SAME: element, Result.TRUTH: i1}.get(family.result, dest)
        if dest != expected:
            raise VerifyException(f"the destination holds {dest}, not {expected}")
        for arg in args:
            if isinstance(arg, tuple) and arg[1] is Form.SCALAR:
                self._verify_scalar(arg[0].type, element)


@lru_cache(maxsize=1024)
def _described(inputs: tuple[Attribute, ...]) -> ArrayAttr[Attribute]:
    """The shared array of these inputs."""
    return ArrayAttr(inputs)


def _check_scalar(type: Attribute, element: Attribute) -> None:
    """As in pypto: f32 beside floats, i32 or index beside integers, i1 beside i1."""
    if element == i1:
        fits = type == i1
    elif isinstance(element, IntegerType):
        fits = type == i32 or isinstance(type, IndexType)
    else:
        fits = type == f32
    if not fits:
        raise VerifyException(f"a scalar of {type} beside {element} elements")


def _element(arg: VectorArg) -> Attribute | None:
    """The element type of a buffer or a literal, None for a scalar."""
    if isinstance(arg, tuple):
        type = arg[0].type
        return type.element_type if isinstance(type, BufType) else None
    if isinstance(arg, FloatAttr | IntegerAttr):
        return cast("FloatAttr[AnyFloat] | IntegerAttr[IntegerType]", arg).type
    raise VerifyException(f"{arg} is no literal")


def _literal_element(
    given: Sequence[tuple[SSAValue, Form] | Number], dest: Attribute
) -> Attribute:
    """A literal has the element type of the last buffer beside it, else of `dest`."""
    types = [one[0].type for one in given if not isinstance(one, Number)]
    buffers = [type for type in types if isinstance(type, BufType)]
    values = [b.element_type for b in buffers if len(given) < 3 or b.element_type != i1]
    return values[-1] if values else dest


def _parse_input(parser: Parser) -> tuple[SSAValue, Form] | Number:
    value = parse_optional_value(parser)
    if value is None:
        return parse_number(located(parser), "a value such as %x, or a number")
    if not isinstance(value.type, BufType):
        return value, Form("scalar")
    word = parser.parse_optional_keyword_in(WRITTEN_FORMS)
    return value, Form(word or "full")


def _print_input(printer: Printer, arg: VectorArg) -> None:
    if not isinstance(arg, tuple):
        printer.print_string(format_literal(arg))
        return
    value, form = arg
    printer.print_ssa_value(value)
    if form not in (Form.FULL, Form.SCALAR):
        printer.print_string(f" {form}")


_OPTIONS: dict[str, Any] = {
    "mode": StringAttr,
    "saturate": BoolAttr,
    "checked": UnitAttr,
    "zero_if_zero": UnitAttr,
    "group": IntegerAttr,
    "first": IntegerAttr,
}


def _define(family: Family) -> type[VectorOp]:
    title = "".join(word.capitalize() for word in family.name.split("_"))
    namespace: dict[str, Any] = {
        "__doc__": f"{family.shape.value.capitalize()}: {family.name} of the inputs.",
        "__module__": __name__,
        "__annotations__": {"FAMILY": ClassVar[Family]},
        "name": f"tile.{family.name}",
        "FAMILY": family,
    }
    for option in family.options:
        namespace[option] = opt_prop_def(_OPTIONS[option])
    return op_definition(type(f"{title}Op", (VectorOp,), namespace))


VECTOR_OPS: dict[str, type[VectorOp]] = {
    name: _define(family) for name, family in VECTOR_FAMILIES.items()
}
"""The class of each vector instruction, by its name without `tile.`."""


def vector_op(
    name: str,
    inputs: Sequence[SSAValue | tuple[SSAValue, Form | str] | Attribute],
    dest: SSAValue,
    extents: Sequence[Mixed],
    **options: Attribute,
) -> VectorOp:
    """The instruction `tile.<name>`."""
    return VECTOR_OPS[name].make(inputs, dest, extents, **options)
