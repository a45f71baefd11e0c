"""
Our dialects and passes in xDSL's own tools: `xdsl-opt -p inline,decompose op.mlir`.

xDSL finds `UNIVERSE` by the entry point `xdsl.universe` of the installed package. It
has no `--machine`; each pass has an option for it, `infer-tiles{machine="m.toml"}`.
Remarks and warnings are not shown.

xDSL's parser knows nothing of our names and places until it meets one of our operations
(`dialects/adopted.py`), so functions before that one keep no names. Where a result is
named like an argument of such a function, that is updated in place, and passes refuse
to go on without the name. `xdsl-opt -f pypto` reads files with our parser from the
start, and reports all of their errors.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.exceptions import DiagnosticException, PassFailedException
from xdsl.utils.frontend import Frontend

OWN = ("pypto", "npu", "tile")
"""The dialects that are not xDSL's."""


def _dialect(name: str) -> Dialect:
    from pyptoc.dialects.context import DIALECTS, load

    return load(DIALECTS[name])


@dataclass(frozen=True)
class PyptoFrontend(Frontend):
    """Reads MLIR text with our parser."""

    name = "pypto"

    def parse(self, ctx: Context, input: IO[bytes], input_name: str) -> ModuleOp:
        from pyptoc.dialects.diagnostics import CompileError
        from pyptoc.dialects.parsing import parse_module

        try:
            return parse_module(input.read().decode(), input_name, ctx)
        except CompileError as problem:
            raise DiagnosticException(str(problem)) from None


def plugged(name: str) -> type[ModulePass]:
    """The pass `name` with the option `machine`, for a context of xDSL."""
    from pyptoc.dialects.context import PyptocContext, make_context
    from pyptoc.dialects.diagnostics import CompileError
    from pyptoc.passes import pass_class
    from pyptoc.runtime.machine import load_machine

    cls = pass_class(name)

    def apply(self: Any, ctx: Context, op: ModuleOp) -> None:
        _check_named(op)
        try:
            context: PyptocContext = make_context(load_machine(self.machine))
            self.run(context, op)
        except CompileError as problem:
            raise PassFailedException(str(problem)) from None

    return dataclasses.make_dataclass(
        cls.__name__,
        [("machine", str, dataclasses.field(default="ascend950"))],
        bases=(cls,),
        namespace={"apply": apply, "name": name},
        frozen=True,
    )


def _check_named(module: ModuleOp) -> None:
    """
    Refuse a function that has lost the name of an argument that it updates.

    Compiled as it is it would give another result: the update would go to a copy.
    """
    from xdsl.dialects.func import FuncOp

    for function in module.ops:
        if not isinstance(function, FuncOp) or not function.res_attrs:
            continue
        arguments = function.body.blocks[0].args if function.body.blocks else ()
        given = function.arg_attrs.data if function.arg_attrs else ()
        if any("pypto.name" in each.data for each in given):
            continue
        # A hint has lost the number at the end of a name.
        hints = {each.name_hint for each in arguments}
        for attributes in function.res_attrs:
            name = attributes.data.get("pypto.name")
            text = name.data if isinstance(name, StringAttr) else ""
            if text and re.sub(r"(_\d+)+$", "", text) in hints:
                raise PassFailedException(
                    f"@{function.sym_name.data} updates %{text} in place, but the "
                    "names of its arguments are lost: it stands before the first "
                    "operation that is not xDSL's. Read the file with: xdsl-opt -f "
                    "pypto"
                )


def _passes() -> dict[str, Callable[[], type[ModulePass]]]:
    from pyptoc.passes import PASSES

    return {name: partial(plugged, name) for name in PASSES}


UNIVERSE = Universe(
    all_dialects={name: partial(_dialect, name) for name in OWN},
    all_passes=_passes(),
    all_frontends={PyptoFrontend.name: lambda: PyptoFrontend},
)
