"""
Whether two vector cores that share tiles meet in memory.

A core has a part of each box that is loaded or stored, and nothing orders the two of
them. Where memory is written, each element must belong to one core in all of the
kernel: the boxes are shared along one dimension of the memory, and start a multiple of
their whole size apart.

    tile.store %x [%m, 64] into %y[%row + 16 * %t, 0]      rows, 16 of them: 8 and 8
    tile.store %s [%m, 1] into %y[%row, 64]                the same rows: the same cores
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, SSAValue

from pyptoc.dialects.expr import Expr, prove_multiple
from pyptoc.dialects.npu import KernelOp
from pyptoc.dialects.tile import (
    GatherOp,
    Instruction,
    LoadOp,
    ScatterOp,
    StoreOp,
)
from pyptoc.passes.flat_kernels import memory_root
from pyptoc.passes.shapes import DimKey, Shapes
from pyptoc.passes.share import Halves, Share


def met_in_memory(
    kernel: KernelOp,
    instructions: Iterable[Instruction],
    halves: Halves,
    aliases: Mapping[int, int],
) -> set[Instruction]:
    """The instructions on memory that the cores would not share element by element."""
    parameters = list[SSAValue](kernel.parameters)
    numbers = {value: n for n, value in enumerate(parameters)}
    by_memory: dict[int, list[Instruction]] = {}
    written: set[int] = set()
    for op in instructions:
        for value in {*op.reads(), *op.writes()}:
            if isinstance(value.type, MemRefType):
                number = numbers[memory_root(value)]
                number = aliases.get(number, number)
                by_memory.setdefault(number, []).append(op)
                if value in op.writes():
                    written.add(number)
    judge = _Judge(kernel, halves)
    return {
        op
        for number in written
        if not judge.is_in_order(by_memory[number])
        for op in by_memory[number]
    }


@dataclass(frozen=True)
class _Place:
    """Along which dimension of a memory the cores share a box, and where it starts."""

    dim: int
    share: Share
    offset: Expr


class _Judge:
    """Compares all accesses to one memory."""

    def __init__(self, kernel: KernelOp, halves: Halves) -> None:
        self.fixed = set[SSAValue](kernel.block.args)
        self.halves, self.shapes = halves, Shapes()

    def is_in_order(self, accesses: Sequence[Instruction]) -> bool:
        """Whether each element belongs to one core, or to the first one alone."""
        if all(op in self.halves.alone for op in accesses):
            return True
        places = [self._place(op) for op in accesses]
        first = places[0]
        return first is not None and all(
            place is not None
            and (place.dim, place.share.whole) == (first.dim, first.share.whole)
            and self._are_apart(first.offset, place.offset, first.share.whole)
            for place in places
        )

    def _place(self, op: Instruction) -> _Place | None:
        if op in self.halves.alone or not isinstance(
            op, LoadOp | StoreOp | GatherOp | ScatterOp
        ):
            return None
        share = self.halves.share(op.buffer)
        dim = -1 if share is None else op.box_dims[share.axis]
        if share is None or dim < 0:
            return None
        return _Place(dim, share, self.shapes.mixed(op.mixed_offsets[dim]))

    def _are_apart(self, one: Expr, other: Expr, whole: int) -> bool:
        """Whether two offsets, each in any trip, are a multiple of `whole` apart."""
        difference = self._in_trip(one, "one") - self._in_trip(other, "other")
        return prove_multiple(difference, whole, {})

    def _in_trip(self, offset: Expr, trip: str) -> Expr:
        """`offset` with symbols of its own for what changes from trip to trip."""
        symbols = cast("tuple[SSAValue | DimKey, ...]", offset.symbols())
        return offset.subs({key: self._named(key, trip) for key in symbols})

    def _named(self, key: SSAValue | DimKey, trip: str) -> Expr:
        if isinstance(key, DimKey) or key in self.fixed:
            return Expr.sym(key)
        number = Expr.sym((key, trip))
        loop = key.owner.parent_op() if isinstance(key.owner, Block) else None
        if isinstance(loop, scf.ForOp) and key is loop.body.block.args[0]:
            lower, step = self.shapes.expr(loop.lb), self.shapes.expr(loop.step)
            if step.is_const and set(lower.symbols()) <= self.fixed:
                return lower + step * number
        return number
