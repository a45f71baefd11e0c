"""
What of a flat mixed kernel one side needs.

A side needs its own instructions and the crossings, what these compute with, and the
loops and branches around them. A value that a loop carries is needed where something
needed reads it: each side keeps its own selection.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from pyptoc.dialects.npu import KernelOp
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.pypto.scalars import AssertOp
from pyptoc.dialects.tile import BufType, Instruction, MoveOp
from pyptoc.passes.flat_kernels import Crossing, crosses, unit_of


def common_scalars(kernel: KernelOp) -> list[Operation]:
    """What computes scalars in the kernel's own block: it stays outside of sections."""
    common: list[Operation] = []
    known: set[SSAValue] = set(kernel.block.args)
    for op in kernel.block.ops:
        plain = not op.regions and not isinstance(op, Instruction)
        scalar = not any(isinstance(v.type, BufType) for v in op.results)
        if plain and scalar and known.issuperset(op.operands):
            common.append(op)
            known.update(op.results)
    return common


class Needs:
    """The operations and carried values that one side of a flat kernel needs."""

    def __init__(
        self,
        kernel: KernelOp,
        unit: Unit,
        crossings: dict[MoveOp, Crossing],
        common: Iterable[Operation],
    ) -> None:
        self.kernel, self.unit = kernel, unit
        self.operations: set[Operation] = set()
        self.results: set[SSAValue] = set()
        """The results of loops and branches that are needed."""
        self._common = set(common)
        self._given = {result for op in self._common for result in op.results}
        self._popped = {
            crossing.move.dest
            for crossing in crossings.values()
            if crossing.direct and crossing.producer != unit
        }
        self._crossings = crossings
        self._waiting: list[SSAValue] = []
        for op in kernel.walk():
            if self._is_root(op):
                self._operation(op)
        while self._waiting:
            self._value(self._waiting.pop())

    def _is_root(self, op: Operation) -> bool:
        if isinstance(op, AssertOp):
            # What stands in no section is checked there, the rest once as well.
            return self.unit == Unit.CUBE and op not in self._common
        if not isinstance(op, Instruction):
            return False
        return crosses(op) or unit_of(op) == self.unit

    def _operation(self, op: Operation) -> None:
        """`op` is needed: so are what it computes with and what it stands in."""
        if op in self.operations:
            return
        self.operations.add(op)
        if isinstance(op, scf.ForOp):
            self._waiting += [op.lb, op.ub, op.step]
        elif isinstance(op, MoveOp) and op in self._crossings:
            self._waiting += self._of_crossing(self._crossings[op])
        else:
            self._waiting += op.operands
        parent = op.parent_op()
        if parent is not None and parent is not self.kernel:
            self._operation(parent)

    def _of_crossing(self, crossing: Crossing) -> list[SSAValue]:
        move = crossing.move
        if crossing.producer == self.unit:
            return [move.source, *move.extent_operands]
        return [] if crossing.direct else [move.dest, *move.extent_operands]

    def _value(self, value: SSAValue) -> None:
        if value in self._given or value in self._popped:
            return
        if isinstance(value, OpResult):
            if value.op.regions:
                self._result(value.op, value.index)
            else:
                self._operation(value.op)
            return
        assert isinstance(value, BlockArgument)
        loop = value.block.parent_op()
        if isinstance(loop, scf.ForOp):
            self._operation(loop)
            if value.index:
                self._result(loop, value.index - 1)

    def _result(self, op: Operation, number: int) -> None:
        """Result `number` of a loop or branch, and all that it comes from."""
        if op.results[number] in self.results:
            return
        self.results.add(op.results[number])
        self._operation(op)
        for region in op.regions:
            last = region.block.last_op
            assert isinstance(last, scf.YieldOp)
            self._waiting.append(last.operands[number])
        if isinstance(op, scf.ForOp):
            self._waiting.append(op.iter_args[number])

    def kept(self, op: Operation) -> list[int]:
        """The numbers of the results of a loop or branch that are needed."""
        return [n for n, value in enumerate(op.results) if value in self.results]
