"""
The names in `pypto.cases`, checked when the file is read: a case may be run late.

Of a function they are its sizes and arguments, of the module those of any function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects.builtin import (
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    ShapedType,
    StringAttr,
)
from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import CompileError, Diagnostic, error, file_place
from pyptoc.dialects.literals import items
from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.subscripts import DYNAMIC

CASES = "pypto.cases"


def check_case_names(module: ModuleOp) -> None:
    """Raises `CompileError` PTO501 with each name that no size or argument has."""
    _check_module_keys(module)
    if not any(CASES in op.attributes for op in (module, *module.ops)):
        return
    names = {
        op: list(dict.fromkeys(_names(op)))
        for op in module.ops
        if "function_type" in op.properties
    }
    every = list(dict.fromkeys(name for own in names.values() for name in own))
    found = [*_unknown(module, every)]
    for op, own in names.items():
        found += _unknown(op, own)
    if found:
        raise CompileError(found)


def _check_module_keys(module: ModuleOp) -> None:
    """Raises PTO143: a misspelt attribute of a module would be ignored."""
    for key in module.attributes:
        if key.startswith("pypto.") and key != CASES:
            error(
                module,
                "PTO143",
                f"a module has no attribute '{key}'",
                rule=f"it has {CASES}",
                help=did_you_mean(key, [CASES]),
            )


def _names(function: Operation) -> Iterator[str]:
    """What a run can bind: arguments, and sizes by `pypto.dims` or as `x.0`."""
    type = function.properties["function_type"]
    assert isinstance(type, FunctionType)
    attributes = items(function.properties.get("arg_attrs")) or ()
    for kind, given in zip(type.inputs.data, attributes, strict=False):
        settings = cast(DictionaryAttr, given).data
        name = settings.get("pypto.name")
        if not isinstance(name, StringAttr):
            continue
        yield name.data
        dims = items(settings.get("pypto.dims"))
        if dims is not None:
            yield from (dim.data for dim in dims if isinstance(dim, StringAttr))
        elif isinstance(kind, ShapedType):
            shape = enumerate(kind.get_shape())
            yield from (f"{name.data}.{at}" for at, size in shape if size == DYNAMIC)


def _unknown(op: Operation, names: list[str]) -> Iterator[Diagnostic]:
    cases = op.attributes.get(CASES)
    if cases is None:
        return
    if not isinstance(cases, DictionaryAttr):
        message, rule = f"{CASES} is {cases}", "each case has a name and its bindings"
        help = f"{CASES} = {{decode = {{t = 8}}}}"
        error(op, "PTO143", message, rule=rule, help=help)
    for case, values in cases.data.items():
        bound = values.data if isinstance(values, DictionaryAttr) else ()
        for name in bound:
            if name not in names:
                yield Diagnostic(
                    "PTO501",
                    f"case '{case}': '{name}' names nothing",
                    file_place(op.location),
                    len(op.name.removeprefix("builtin.")),
                    help=did_you_mean(name, names)
                    or f"names: {', '.join(names) or 'none'}",
                )
