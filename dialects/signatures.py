"""Names and rules of function arguments and results, stamped and checked when read.

pypto.name     the name of an input or output; by default that in the source text,
               result0, result1, .. for results. A result with an argument's name
               *is* that argument, updated in place.
pypto.dims     names for the `?` of an argument, in order; equal names are equal sizes
pypto.default  the value of a scalar argument that is not given
pypto.data     how random inputs are made;  pypto.tol  how results are compared
pypto.tiles    of the function itself: the tiles of operations that name none
pypto.cases    of the function or the module: sizes and scalars of runs, by name
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ShapedType,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, TypedAttribute

from pyptoc.dialects.diagnostics import Note, error, place_of
from pyptoc.dialects.literals import NAME_RULE, items, names_an_array
from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.parsing import LocParser
from pyptoc.dialects.rejected import ErrorOp, has_error
from pyptoc.dialects.subscripts import DYNAMIC
from pyptoc.dialects.words import counted

ARGUMENT_KEYS = ("pypto.name", "pypto.dims", "pypto.data", "pypto.default")
RESULT_KEYS = ("pypto.name", "pypto.dims", "pypto.tol")
FUNCTION_KEYS = ("pypto.tiles", "pypto.cases")

Settings = dict[str, Attribute]


def check_function(op: Operation, parser: LocParser) -> None:
    """Stamp `pypto.name` on every argument and result of a func.func; check the rest.

    Raises CompileError at the argument, or at the function for a result.
    """
    type = op.properties["function_type"]
    assert isinstance(type, FunctionType)
    _check_own_keys(op)
    block = op.regions[0].blocks.first
    if block is None:
        return
    if len(block.args) != len(type.inputs.data):
        error(
            op,
            "PTO165",
            f"{counted(len(type.inputs.data), 'argument')} without names",
            length=len(op.name),
            rule="a function with a body names its arguments: (%x: tensor<4xf32>)",
        )
    arguments = _settings(op, "arg_attrs", len(type.inputs.data))
    for index, (argument, settings) in enumerate(
        zip(block.args, arguments, strict=True)
    ):
        written = parser.names.get(argument, "")
        name = f"arg{index}" if written.isdecimal() or not written else written
        _stamp(settings, name)
        place, length = argument.location, len(written) + 1
        _check_keys(place, length, f"%{written}", settings, ARGUMENT_KEYS)
        _check_dims(place, length, f"%{written}", argument.type, settings)
        _check_default(place, length, f"%{written}", argument.type, settings)
    results = _settings(op, "res_attrs", len(type.outputs.data))
    for index, settings in enumerate(results):
        _stamp(settings, f"result{index}")
        _check_keys(op.location, 1, f"result {index}", settings, RESULT_KEYS)
    names = _check_names(op, arguments, results)
    _check_in_place(op, type, names, results)
    op.properties["arg_attrs"] = ArrayAttr(DictionaryAttr(one) for one in arguments)
    op.properties["res_attrs"] = ArrayAttr(DictionaryAttr(one) for one in results)
    _check_return(op, block.last_op, type.outputs.data)


def _check_own_keys(op: Operation) -> None:
    """A misspelt attribute of a function would be ignored."""
    for key, value in op.attributes.items():
        own = [known.removeprefix("pypto.") for known in FUNCTION_KEYS]
        near = did_you_mean(key.removeprefix("pypto."), own, "pypto.")
        if key not in FUNCTION_KEYS and (near or key.startswith("pypto.")):
            error(
                op,
                "PTO143",
                f"a function has no attribute '{key}'",
                length=len(op.name),
                rule=f"it has {', '.join(FUNCTION_KEYS)}",
                help=near,
            )
        if key == "pypto.tiles" and value.name != key:
            error(
                op,
                "PTO143",
                f"{key} of a function is {value}",
                length=len(op.name),
                rule="it is #pypto.tiles<cube = .., vec = ..>",
            )


def _settings(op: Operation, field: str, number: int) -> list[Settings]:
    found = items(op.properties.get(field))
    if found is None:
        return [{} for _ in range(number)]
    return [dict(cast(DictionaryAttr, item).data) for item in found]


def _stamp(settings: Settings, name: str) -> None:
    if "pypto.name" not in settings:
        rest = dict(settings)
        settings.clear()
        settings["pypto.name"] = StringAttr(name)
        settings.update(rest)


def name_of(settings: Settings) -> str:
    """The `pypto.name` of an argument or result."""
    name = settings["pypto.name"]
    return name.data if isinstance(name, StringAttr) else ""


def _check_keys(
    place: Attribute, length: int, what: str, settings: Settings, known: Sequence[str]
) -> None:
    if not isinstance(settings["pypto.name"], StringAttr):
        error(place, "PTO161", f"pypto.name of {what} is a string", length=length)
    if not names_an_array(name_of(settings)):
        error(
            place,
            "PTO161",
            f"pypto.name of {what} is {settings['pypto.name']}",
            length=length,
            rule=NAME_RULE,
        )
    for key, value in settings.items():
        if key in ("pypto.data", "pypto.tol") and value.name != key:
            error(
                place,
                "PTO143",
                f"{key} of {what} is {value}",
                length=length,
                rule=f"it is #{key}<..>",
            )
        full = f"pypto.{key.removeprefix('pypto.')}"
        if key not in known and (key.startswith("pypto.") or full in known):
            error(
                place,
                "PTO143",
                f"{what} has no attribute '{key}'",
                length=length,
                rule=f"it has {', '.join(known)}",
                help=did_you_mean(full, known),
            )


def _check_dims(
    place: Attribute, length: int, what: str, type: Attribute, settings: Settings
) -> None:
    dims = settings.get("pypto.dims")
    if dims is None:
        return
    shape = type.get_shape() if isinstance(type, ShapedType) else ()
    dynamic = sum(size == DYNAMIC for size in shape)
    names = items(dims)
    if names is None or not all(isinstance(name, StringAttr) for name in names):
        error(place, "PTO163", f"pypto.dims of {what} is a list of strings")
    if StringAttr("") in names:
        error(place, "PTO163", f"pypto.dims of {what} has a name of no letters")
    if len(names) != dynamic:
        error(
            place,
            "PTO163",
            f"pypto.dims of {what} has {counted(len(names), 'name')}, "
            f"the type has {dynamic} ?",
            length=length,
            label=str(type),
            rule="one name for each ?, in order",
        )


def _check_default(
    place: Attribute, length: int, what: str, type: Attribute, settings: Settings
) -> None:
    default = settings.get("pypto.default")
    if default is None:
        return
    given = default.get_type() if isinstance(default, TypedAttribute) else None
    if given != type:
        error(
            place,
            "PTO164",
            f"pypto.default of {what} is {given or default}, the argument is {type}",
            length=length,
            help=f"write the type: pypto.default = 1.0 : {type}",
        )


def _check_names(
    op: Operation, arguments: list[Settings], results: list[Settings]
) -> list[str]:
    names = [name_of(settings) for settings in arguments]
    for what, found in (
        ("arguments", names),
        ("results", [name_of(settings) for settings in results]),
    ):
        twice = next((name for name in found if found.count(name) > 1), None)
        if twice is not None:
            error(op, "PTO161", f"two {what} have the name '{twice}'")
    return names


def _check_in_place(
    op: Operation, type: FunctionType, names: list[str], results: list[Settings]
) -> None:
    """A result with an argument's name has its type."""
    for settings, result in zip(results, type.outputs.data, strict=True):
        name = name_of(settings)
        if name not in names:
            continue
        argument = type.inputs.data[names.index(name)]
        if argument != result:
            error(
                op,
                "PTO162",
                f"result '{name}' is {result}, the argument it updates is {argument}",
                rule="a result with the name of an argument is that argument, in place",
                help="give the result a name of its own with pypto.name",
            )


def _check_return(
    op: Operation, last: Operation | None, types: Sequence[Attribute]
) -> None:
    if last is None or last.name != "func.return":
        if any(isinstance(each, ErrorOp) for each in op.regions[0].block.ops):
            return
        names = ", ".join(f"%{index}" for index in range(len(types)))
        shown = f" {names} : {', '.join(map(str, types))}" if types else ""
        error(
            op,
            "PTO165",
            "the function does not end with func.return",
            length=len(op.name),
            notes=(Note(f"it ends with {last.name}", last.location),) if last else (),
            help=f"func.return{shown}",
        )
    if any(has_error(value) for value in last.operands):
        return
    values = tuple(last.operands)
    where = (Note(f"the function is declared at {place_of(op.location)}"),)
    if len(values) != len(types):
        have = counted(len(values), "value")
        message = f"{have} returned, the function has {counted(len(types), 'result')}"
        error(last, "PTO165", message, length=len("func.return"), notes=where)
    for index, (value, type) in enumerate(zip(values, types, strict=True)):
        if value.type != type:
            error(
                last,
                "PTO165",
                f"result {index} is {value.type}, the function declares {type}",
                length=len("func.return"),
                notes=where,
            )
