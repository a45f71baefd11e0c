"""
`--pass-statistics`: the operations before and after each pass, how many of them are new
or gone, and what the pass counts (its `counters`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptoc.manager import Watcher
from pyptoc.tables import table

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from pyptoc.dialects.context import PyptocContext
    from pyptoc.passes.base import PyptocPass


class Statistics(Watcher):
    """Counts while the passes run."""

    def __init__(self, context: PyptocContext) -> None:
        self.context = context
        self.ops: set[Operation] = set()
        self.rows: list[tuple[str, ...]] = []

    def start(self, module: ModuleOp) -> None:
        """The operations of the source."""
        self.ops = set(module.walk())

    def before(self, each: PyptocPass, module: ModuleOp) -> None:
        """The pass starts counting at nothing."""
        self.context.statistics = {}

    def after(self, each: PyptocPass, module: ModuleOp) -> None:
        """A row for the pass."""
        # Operations are compared by identity, and the old ones are kept until here.
        now = set(module.walk())
        counted = self.context.statistics or {}
        numbers = (len(self.ops), len(now), len(now - self.ops), len(self.ops - now))
        counts = ", ".join(f"{counted.get(n, 0)} {n}" for n in each.counters)
        self.rows.append((each.name, *map(str, numbers), counts))
        self.ops = now

    def report(self) -> str:
        """The table, for standard error."""
        header = ("pass", "before", "after", "created", "erased", "counted")
        return "\n".join(table([header, *self.rows])) + "\n"
