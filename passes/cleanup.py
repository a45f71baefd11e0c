"""
Erasing what nobody uses: pure ops, and storage, that a rewrite left behind.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.traits import MemoryAllocEffect
from xdsl.transforms.dead_code_elimination import is_trivially_dead


def erase_dead(root: Operation) -> None:
    """Erase unused ops inside `root` that have no effect, users before producers."""
    for op in reversed(list(root.walk())):
        if op is not root and op.results and _is_dead(op):
            op.detach()
            op.erase()


def _is_dead(op: Operation) -> bool:
    """Whether nothing is lost without `op`; xDSL keeps what allocates."""
    if op.has_trait(MemoryAllocEffect):
        return all(not result.uses for result in op.results)
    return is_trivially_dead(op)
