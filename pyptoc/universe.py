"""
Our dialects and passes in xDSL's own tools: `xdsl-opt -p inline,decompose op.mlir`.

xDSL finds `UNIVERSE` by the entry point `xdsl.universe` of the installed package. It
has no `--machine`; each pass has an option for it, `infer-tiles{machine="m.toml"}`.
Remarks and warnings are not shown.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.exceptions import PassFailedException

OWN = ("pypto", "npu", "tile")
"""The dialects that are not xDSL's."""


def _dialect(name: str) -> Dialect:
    from pyptoc.dialects.context import DIALECTS, load

    return load(DIALECTS[name])


def plugged(name: str) -> type[ModulePass]:
    """The pass `name` with the option `machine`, for a context of xDSL."""
    from pyptoc.dialects.context import PyptocContext, make_context
    from pyptoc.dialects.diagnostics import CompileError
    from pyptoc.passes import pass_class
    from pyptoc.runtime.machine import load_machine

    cls = pass_class(name)

    def apply(self: Any, ctx: Context, op: ModuleOp) -> None:
        try:
            context: PyptocContext = make_context(load_machine(self.machine))
            self.run(context, op)
        except CompileError as problem:
            raise PassFailedException(str(problem)) from problem

    return dataclasses.make_dataclass(
        cls.__name__,
        [("machine", str, dataclasses.field(default="ascend950"))],
        bases=(cls,),
        namespace={"apply": apply, "name": name},
        frozen=True,
    )


def _passes() -> dict[str, Callable[[], type[ModulePass]]]:
    from pyptoc.passes import PASSES

    return {name: partial(plugged, name) for name in PASSES}


UNIVERSE = Universe(
    all_dialects={name: partial(_dialect, name) for name in OWN}, all_passes=_passes()
)
