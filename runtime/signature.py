"""
What an operator takes and gives, read from its entry function.

Both forms of the function are understood: tensors in and out, and the memory form,
whose arguments and results are memrefs. Names come only from `pypto.name`, which the
parser stamps from the source: xDSL renames values when it prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    DictionaryAttr,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.pypto.attrs import DataAttr, DataRule, TolAttr
from pyptoc.dialects.record import record
from pyptoc.runtime.numerics import STORAGE

DYNAMIC = -(2**63)
"""How xDSL stores a `?`."""


@record
class Tolerance:
    """
    When a result is close enough: `|got - expected| <= atol + rtol * |expected|`.

    `outliers` is the share of elements that may lie outside. `codes` allows results
    that many representable values away (8-bit floats). With `as_sets` the rows of the
    last axis are compared as sets, and `misses` elements of each row may be missing.
    """

    atol: float = 0.0
    rtol: float = 0.0
    outliers: float = 0.0
    codes: int = 0
    as_sets: bool = False
    misses: int = 0

    def __str__(self) -> str:
        if self.as_sets:
            return f"as sets, {self.misses} may miss" if self.misses else "as sets"
        if self.codes:
            return f"{self.codes} code" + "s" * (self.codes != 1)
        if not self.atol and not self.rtol:
            return "exact"
        bound = " + ".join(
            text
            for value, text in (
                (self.atol, f"{self.atol:g}"),
                (self.rtol, f"{self.rtol:g}*|ref|"),
            )
            if value
        )
        spare = f", {100 * self.outliers:g} % outside" if self.outliers else ""
        return f"|d| <= {bound}{spare}"


@record
class Argument:
    """One input: a tensor, or a scalar where `shape` is None."""

    name: str
    element_type: Attribute
    shape: tuple[int | None, ...] | None
    """Sizes; None for a dynamic one."""
    dims: tuple[str, ...]
    """The names of the dynamic sizes, by axis; static axes have the empty string."""
    data: DataRule | None
    default: float | int | None
    location: Attribute | None
    type_text: str

    @property
    def is_scalar(self) -> bool:
        """Whether the input is a number and not an array."""
        return self.shape is None


@record
class Result:
    """One output; `in_place` when it is an argument's storage, updated."""

    name: str
    element_type: Attribute
    shape: tuple[int | None, ...] | None
    tolerance: Tolerance
    in_place: bool
    type_text: str


@record
class Signature:
    """The entry function's name, arguments and results."""

    name: str
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the dynamic sizes, each once, in order of appearance."""
        names = (dim for each in self.arguments for dim in each.dims if dim)
        return tuple(dict.fromkeys(names))

    def argument(self, name: str) -> Argument:
        """The argument of that name."""
        return next(each for each in self.arguments if each.name == name)


def type_name(element_type: Attribute) -> str:
    """`bf16`, `f8E4M3FN`, `i64`, `index`: the element type as MLIR spells it."""
    return str(element_type)


def find_entry(module: ModuleOp, entry: str | None = None) -> FuncOp:
    """
    The operator's function: `entry`, or the only public one.

    Raises `CompileError` PTO505 where there is none, or a choice.
    """
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    names = [op.sym_name.data for op in functions]
    if entry is not None:
        wanted = entry.removeprefix("@")
        for op in functions:
            if op.sym_name.data == wanted:
                return op
        listed = "functions: " + (", ".join(f"@{name}" for name in names) or "none")
        hint = did_you_mean(wanted, names, "@") or listed
        error(None, "PTO505", f"no function @{wanted} in this file", help=hint)
    public = [
        op
        for op in functions
        if op.sym_visibility is None or op.sym_visibility.data == "public"
    ]
    if len(public) == 1:
        return public[0]
    if not public:
        error(
            None,
            "PTO505",
            "this file has no public function with a body",
            help="an operator is written func.func @name(%x: tensor<...>) { ... }",
        )
    shown = ", ".join(f"@{op.sym_name.data}" for op in public)
    error(
        None,
        "PTO505",
        f"{len(public)} public functions: {shown}",
        rule="an operator is one public function; its helpers are func.func private",
        help=f"choose with --entry=@{public[0].sym_name.data}",
    )


def read_signature(module: ModuleOp, entry: str | None = None) -> Signature:
    """The signature of the entry function (see `find_entry`)."""
    function = find_entry(module, entry)
    kinds = list(function.function_type.inputs)
    locations = [argument.location for argument in function.body.block.args]
    arguments = tuple(
        _argument(index, kind, attributes, location)
        for index, (kind, attributes, location) in enumerate(
            zip(kinds, _attributes(function.arg_attrs, len(kinds)), locations)
        )
    )
    outputs = list(function.function_type.outputs)
    names = {each.name for each in arguments}
    results = tuple(
        _result(index, kind, attributes, names)
        for index, (kind, attributes) in enumerate(
            zip(outputs, _attributes(function.res_attrs, len(outputs)))
        )
    )
    return Signature(function.sym_name.data, arguments, results)


def _attributes(
    attributes: ArrayAttr[DictionaryAttr] | None, count: int
) -> Iterator[dict[str, Attribute]]:
    if attributes is None:
        yield from ({} for _ in range(count))
    else:
        yield from (dict(each.data) for each in attributes)


def _shape(kind: Attribute) -> tuple[Attribute, tuple[int | None, ...] | None]:
    if isinstance(kind, TensorType | MemRefType):
        shaped = cast(TensorType[Attribute], kind)
        sizes = shaped.get_shape()
        return shaped.element_type, tuple(None if s == DYNAMIC else s for s in sizes)
    return kind, None


def _check_type(what: str, element: Attribute, location: Attribute | None) -> None:
    if str(element) not in STORAGE:
        error(
            location,
            "PTO507",
            f"{what} has the type {element}, which no array of numpy holds",
            help=f"element types: {', '.join(STORAGE)}",
        )


def _type_text(element: Attribute, shape: tuple[int | None, ...] | None) -> str:
    if shape is None:
        return str(element)
    sizes = "".join(f"{'?' if size is None else size}x" for size in shape)
    return f"tensor<{sizes}{element}>"


def _text(attributes: dict[str, Attribute], key: str, default: str) -> str:
    value = attributes.get(key)
    return value.data if isinstance(value, StringAttr) else default


def _argument(
    index: int,
    kind: Attribute,
    attributes: dict[str, Attribute],
    location: Attribute | None,
) -> Argument:
    element, shape = _shape(kind)
    name = _text(attributes, "pypto.name", f"arg{index}")
    _check_type(f"%{name}", element, location)
    data = attributes.get("pypto.data")
    return Argument(
        name,
        element,
        shape,
        _dims(name, shape or (), attributes.get("pypto.dims")),
        data.data if isinstance(data, DataAttr) else None,
        _number(attributes.get("pypto.default")),
        location,
        _type_text(element, shape),
    )


def _dims(
    name: str, shape: tuple[int | None, ...], attribute: Attribute | None
) -> tuple[str, ...]:
    """
    The name of each dynamic size; `x.0` for axis 0 of an `x` without `pypto.dims`.

    The attribute names the `?`s in order, static sizes left out.
    """
    given: list[str] = []
    if isinstance(attribute, ArrayAttr):
        entries = cast(ArrayAttr[Attribute], attribute)
        given = [each.data for each in entries if isinstance(each, StringAttr)]
    named = iter(given)
    return tuple(
        next(named, f"{name}.{axis}") if size is None else ""
        for axis, size in enumerate(shape)
    )


def _number(attribute: Attribute | None) -> float | int | None:
    if isinstance(attribute, IntegerAttr):
        return cast("IntegerAttr[IntegerType | IndexType]", attribute).value.data
    return attribute.value.data if isinstance(attribute, FloatAttr) else None


def _result(
    index: int, kind: Attribute, attributes: dict[str, Attribute], arguments: set[str]
) -> Result:
    element, shape = _shape(kind)
    name = _text(attributes, "pypto.name", f"result{index}")
    _check_type(f"result '{name}'", element, None)
    tolerance = default_tolerance(element)
    given = attributes.get("pypto.tol")
    if isinstance(given, TolAttr):
        tolerance = _tolerance(given, tolerance)
    in_place = name in arguments
    return Result(name, element, shape, tolerance, in_place, _type_text(element, shape))


def _tolerance(attribute: TolAttr, default: Tolerance) -> Tolerance:
    given = attribute.data
    if given.as_sets:
        return Tolerance(as_sets=True, misses=given.misses)
    if given.atol is None and given.rtol is None:
        return replace(default, outliers=given.outliers)
    return Tolerance(given.atol or 0.0, given.rtol or 0.0, given.outliers)


def default_tolerance(element_type: Attribute) -> Tolerance:
    """The tolerance of a result without `pypto.tol`."""
    match element_type:
        case BFloat16Type():
            # Half a unit in the last place of 8 bits, twice over; sums may cancel.
            return Tolerance(atol=1e-4, rtol=2.0**-7, outliers=0.005)
        case Float16Type():
            return Tolerance(atol=1e-3, rtol=1e-3)
        case Float8E4M3FNType() | Float8E5M2Type() | Float8E8M0FNUType():
            return Tolerance(codes=1)
        case IntegerType() | IndexType():
            return Tolerance()
        case _:
            return Tolerance(atol=1e-5, rtol=1e-5)
