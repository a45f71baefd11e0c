"""
What every pass has in common.

A pass changes only what its name says, and leaves IR that verifies and computes the
same result. Options are fields, which make it a frozen dataclass, as xDSL wants it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from pyptoc.dialects.context import PyptocContext


@dataclass(frozen=True)
class PyptocPass(ModulePass):
    """A pass of the pipeline; `run` gets the context that carries the machine."""

    summary: ClassVar[str]
    """One line for `--list-passes`."""

    anchor: ClassVar[str] = "builtin.module"
    """The operation that it works on, `func.func` or `npu.kernel` one at a time."""

    counters: ClassVar[Mapping[str, str]] = {}
    """What it counts for `--pass-statistics`: names, and what each means."""

    reorders_float_sums: ClassVar[bool] = False
    """Whether float results may change by the order of a sum (see `--check-each`)."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found: object = self.run(cast(PyptocContext, ctx), op)
        if found is not None:
            what = type(found).__name__
            raise TypeError(f"run changes the module and returns None, no {what}")

    @abstractmethod
    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        """Rewrite `module` in place; raise `CompileError` on bad input."""
