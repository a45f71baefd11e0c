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

from collections.abc import Hashable, Iterable, Mapping, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from pyptoc.dialects.expr import Expr, prove_multiple
from pyptoc.dialects.npu import KernelOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import (
    GatherOp,
    Instruction,
    LoadOp,
    ScatterOp,
    StoreOp,
)
from pyptoc.passes.flat_kernels import memory_root
from pyptoc.passes.shapes import Shapes, value_of
from pyptoc.passes.share import Halves, Share
from pyptoc.passes.typed import values_in


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
    judge = _Judge(halves)
    return {
        op
        for number in written
        if not judge.is_in_order(by_memory[number])
        for op in by_memory[number]
    }


@record
class _Place:
    """Along which dimension of a memory the cores share a box, and where it starts."""

    dim: int
    share: Share
    offset: Expr


class _Judge:
    """Compares all accesses to one memory."""

    def __init__(self, halves: Halves) -> None:
        self.halves, self.shapes = halves, Shapes()

    def is_in_order(self, accesses: Sequence[Instruction]) -> bool:
        """Whether each element belongs to one core, or to the first one alone."""
        if all(op in self.halves.alone for op in accesses):
            return True
        if len(accesses) == 1 and not _is_repeated(accesses[0]):
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
        first, second = (
            expr.subs({key: self._in_trip(key, trip, whole) for key in expr.symbols()})
            for trip, expr in enumerate((one, other))
        )
        return prove_multiple(first - second, whole, {})

    def _in_trip(self, key: Hashable, trip: int, whole: int) -> Expr:
        """A symbol, or one of its own for what changes from trip to trip."""
        value = value_of(key)
        if value is None or value is not key or not _is_repeated(value.owner):
            return Expr.sym(key)
        number = Expr.sym((key, trip))
        loop = value.owner.parent_op() if isinstance(value.owner, Block) else None
        if not isinstance(loop, scf.ForOp) or not isinstance(value, BlockArgument):
            return number
        if value.index == 0:
            begin, step = self.shapes.expr(loop.lb), self.shapes.expr(loop.step)
        else:
            last = loop.body.block.last_op
            assert isinstance(last, scf.YieldOp)
            begin = self.shapes.expr(loop.iter_args[value.index - 1])
            step = self.shapes.expr(last.operands[value.index - 1]) - Expr.sym(key)
        begins = values_in(begin)
        if any(_is_repeated(one.owner) for one in begins):
            return number
        if step.is_const:
            return begin + step * number
        return begin + whole * number if prove_multiple(step, whole, {}) else number


def _is_repeated(at: Operation | Block) -> bool:
    """Whether it stands in a loop of the kernel."""
    parent = at.parent_op()
    while parent is not None and not isinstance(parent, scf.ForOp):
        parent = parent.parent_op()
    return parent is not None
