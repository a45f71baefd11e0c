"""
Which memrefs may be the same memory.

Loops carry memrefs as pointers, so `%w` inside a loop may be its initial buffer or what
an earlier trip yielded. Values that may point into one allocation or argument share a
root; two values with different roots never overlap.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.npu import AllocOp, PlaceOp, ReinterpretOp, ReshapeOp


class BufferRoots:
    """Classes of memrefs of one function (union-find over pointer flow)."""

    def __init__(self, function: func.FuncOp) -> None:
        self._parent: dict[SSAValue, SSAValue] = {}
        self._memory: list[SSAValue] = list(function.body.block.args)
        self._origins: dict[SSAValue, list[SSAValue]] | None = None
        for op in function.walk():
            self._follow(op)

    def root(self, value: SSAValue) -> SSAValue:
        """The representative of everything `value` may point into."""
        path: list[SSAValue] = []
        while (parent := self._parent.get(value)) is not None:
            path.append(value)
            value = parent
        for visited in path[:-1]:
            self._parent[visited] = value
        return value

    def origins(self, root: SSAValue) -> list[SSAValue]:
        """The arguments and allocations with that root."""
        if self._origins is None:
            self._origins = {}
            for memory in self._memory:
                self._origins.setdefault(self.root(memory), []).append(memory)
        return self._origins.get(root, [root])

    def alias(self, known: SSAValue, new: SSAValue) -> None:
        """`new` points where `known` does."""
        if isinstance(known.type, MemRefType):
            self._unite(known, new)

    def _unite(self, one: SSAValue, other: SSAValue) -> None:
        a, b = self.root(one), self.root(other)
        if a is not b:
            self._parent[b] = a

    def _follow(self, op: Operation) -> None:
        match op:
            case AllocOp():
                self._memory.append(op.results[0])
            case ReshapeOp() | ReinterpretOp():
                self._unite(op.source, op.results[0])
            case PlaceOp():
                self._unite(op.arena, op.results[0])
            case scf.ForOp():
                arguments = op.body.block.args[1:]
                yielded = op.body.block.ops.last
                assert yielded is not None
                for group in zip(
                    op.iter_args, arguments, yielded.operands, op.results, strict=True
                ):
                    self._unite_all(list(group))
            case scf.IfOp():
                for region in op.regions:
                    last = region.blocks[0].ops.last if region.blocks else None
                    for result, value in zip(
                        op.results, last.operands if last else (), strict=False
                    ):
                        self._unite_all([result, value])
            case _:
                pass

    def _unite_all(self, values: list[SSAValue]) -> None:
        if isinstance(values[0].type, MemRefType):
            for other in values[1:]:
                self._unite(values[0], other)
