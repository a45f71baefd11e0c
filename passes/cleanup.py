"""
Erasing what nobody uses: pure ops that a rewrite left behind.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.transforms.dead_code_elimination import is_trivially_dead


def erase_dead(root: Operation) -> None:
    """Erase unused ops inside `root` that have no effect, users before producers."""
    for op in reversed(list(root.walk())):
        if op is not root and op.results and is_trivially_dead(op):
            op.detach()
            op.erase()
