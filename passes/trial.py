"""
A copy of a group on which a rewrite is tried: what it makes is measured, then dropped.

    with Trial(group.ops) as trial:                copies in a block of their own
        cut = Cut(trial.ops, shapes)
        cut.apply(..)
        .. the times of cut.first and cut.rest

Copies read what the group reads, and something behind them uses what others use of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.passes.groups import Group


class Trial:
    """A block with copies of some ops of one block."""

    def __init__(self, ops: Sequence[Operation]) -> None:
        self.block = Block()
        copies: dict[SSAValue, SSAValue] = {}
        self.ops: list[Operation] = []
        for op in ops:
            copy = op.clone(value_mapper=copies)
            copy.location = op.location
            self.block.add_op(copy)
            self.ops.append(copy)
        outputs = Group(0, "vector", list(ops)).outputs
        self.block.add_op(scf.YieldOp(*(copies[value] for value in outputs)))

    def __enter__(self) -> Trial:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing of it is left, not even as a use of a value."""
        for op in reversed(list(self.block.ops)):
            op.detach()
            op.erase(safe_erase=False)
