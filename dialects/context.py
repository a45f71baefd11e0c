"""The context of one compilation: the dialects, the machine, the remarks.

Dialects are registered by name and loaded at the first mention of one of their names,
so that a tensor-level file never pays for the tile dialect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from importlib import import_module
from typing import Any

from xdsl.context import Context
from xdsl.ir import Attribute, Dialect, Operation

from pyptoc.dialects.diagnostics import Diagnostic, Note
from pyptoc.dialects.op_definition import defined_when_used
from pyptoc.dialects.record import record

with defined_when_used():
    # Of their 70 operations a program has a handful.
    for name in ("arith", "func", "scf"):
        import_module(f"xdsl.dialects.{name}")

DIALECTS: dict[str, str] = {
    "builtin": "xdsl.dialects.builtin:Builtin",
    "func": "xdsl.dialects.func:Func",
    "arith": "xdsl.dialects.arith:Arith",
    "scf": "xdsl.dialects.scf:Scf",
    "math": "xdsl.dialects.math:Math",
    "pypto": "pyptoc.dialects.pypto:Pypto",
    "npu": "pyptoc.dialects.npu:Npu",
    "tile": "pyptoc.dialects.tile:Tile",
}
"""Every dialect a file may use: `module:object`."""


@record(frozen=False)
class PyptocContext(Context):
    """An xDSL context that carries the target machine and collects remarks."""

    machine: Any = None
    """The machine description (`pyptoc.runtime.machine.Machine`), if one is chosen."""
    remarks: list[Diagnostic] = field(default_factory=list[Diagnostic])
    """What passes had to say: things not done, and why."""
    candidates: list[str] | None = None
    """Tables of the tiles that infer-tiles looked at; None: nobody wants them."""

    tiles: dict[Attribute, Note] = field(default_factory=dict[Attribute, Note])
    """Where the tile of an operation is written, by the operation's location."""
    statistics: dict[str, int] | None = None
    """What the current pass has counted; None: nobody wants to know."""

    searches: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """The tiles that were searched for already (`pyptoc.passes.tile_search.Found`)."""

    def remark(
        self, at: Operation | Attribute | None, text: str, code: str = "PTO300"
    ) -> None:
        """
        Record that a pass refused or changed something the author may ask about.

        Each kind of remark of our own passes has a code; PTO300 is left to others.
        """
        self.report("remark", code, at, text)

    def count(self, name: str, number: int = 1) -> None:
        """Count for `--pass-statistics`; `name` is one of the pass's `counters`."""
        if self.statistics is not None:
            self.statistics[name] = self.statistics.get(name, 0) + number

    def report(
        self,
        severity: str,
        code: str,
        at: Operation | Attribute | None,
        message: str,
        *,
        rule: str = "",
        help: str = "",
    ) -> None:
        """Record a warning or a remark, once; it does not stop the compilation."""
        location = at.location if isinstance(at, Operation) else at
        found = Diagnostic(
            code, message, location, severity=severity, rule=rule, help=help
        )
        if found not in self.remarks:
            self.remarks.append(found)

    def clone(self) -> PyptocContext:
        copy = make_context(self.machine)
        copy.allow_unregistered = self.allow_unregistered
        copy.remarks = list(self.remarks)
        return copy


def make_context(machine: Any = None) -> PyptocContext:
    """A context with all dialects registered, none but builtin loaded."""
    context = PyptocContext(machine=machine)
    for name, path in DIALECTS.items():
        context.register_dialect(name, _loader(path))
    context.load_registered_dialect("builtin")
    return context


def load(path: str) -> Any:
    """The object named by `module:object`, importing the module when called."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _loader(path: str) -> Callable[[], Dialect]:
    return lambda: load(path)
