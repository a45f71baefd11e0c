"""
Loops that `form-tasks` marked: their indices are the first axes of a tasks' grid.

    scf.for %b = 0 to %B step 1 iter_args(%o = %o0) { ... } {npu.grid}
    ->  npu.tasks (%b, ...) in (%B, ...) outs(%o = %o0) { ... }

Inside the new tasks the loop counter is `lower + step * index`; sizes that follow the
counter (a tail) have a static bound, and tiles beyond the tail are empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.record import record
from pyptoc.passes.form_tasks import GRID, mentions
from pyptoc.passes.shapes import Shapes, static_bound


@record
class Nest:
    """Marked loops around one group, outermost first; perhaps none."""

    loops: tuple[scf.ForOp, ...] = ()

    @staticmethod
    def at(loop: scf.ForOp) -> Nest:
        """The marked loops that start with `loop`."""
        loops = [loop]
        while True:
            inner = [op for op in loops[-1].body.block.ops if is_marked(op)]
            if not inner:
                return Nest(tuple(loops))
            assert isinstance(inner[0], scf.ForOp)
            loops.append(inner[0])

    def trips(self, shapes: Shapes) -> list[Expr]:
        """The number of iterations of each loop."""
        return [
            (shapes.expr(loop.ub) - shapes.expr(loop.lb)).ceildiv(
                shapes.expr(loop.step)
            )
            for loop in self.loops
        ]

    def bind_single_trips(self, shapes: Shapes) -> None:
        """The counter of a loop that runs once is its lower bound, also in sizes."""
        for loop, trips in zip(self.loops, self.trips(shapes), strict=True):
            if trips.is_const and trips.value == 1:
                shapes.bind(loop.body.block.args[0], shapes.expr(loop.lb))

    def bind(self, shapes: Shapes, indices: Sequence[Expr]) -> None:
        """Let the loop counters be expressions of the grid indices."""
        for loop, index in zip(self.loops, indices, strict=False):
            counter = shapes.expr(loop.lb) + shapes.expr(loop.step) * index
            shapes.bind(loop.body.block.args[0], counter)

    def outside(self, size: Expr) -> Expr:
        """`size`, or its bound where it follows a counter."""
        if not self.loops or not mentions(size, self.loops[0]):
            return size
        bound = static_bound(size)
        assert bound is not None, "form-tasks lets no other size through"
        return Expr.const(bound)

    def initial(self, destination: SSAValue) -> SSAValue:
        """The tensor from outside that a carried destination starts as."""
        for loop in reversed(self.loops):
            assert isinstance(destination, BlockArgument)
            destination = loop.iter_args[destination.index - 1]
        return destination

    def result(self, destination: SSAValue) -> SSAValue:
        """The outermost loop's result for a carried destination."""
        for loop in reversed(self.loops[1:]):
            assert isinstance(destination, BlockArgument)
            destination = loop.iter_args[destination.index - 1]
        assert isinstance(destination, BlockArgument)
        return self.loops[0].results[destination.index - 1]


def is_marked(op: Operation | None) -> bool:
    """Whether `op` is a loop that becomes a grid axis."""
    return isinstance(op, scf.ForOp) and GRID in op.attributes
