"""
What numbers of a kernel go with: axes of its grid, and its loops.

    npu.kernel @k (%i, %j) (.., %m)
      scf.for %t = 0 to %m step 16
        %r = pypto.index 64 * %i + %t

    of(%r) = {0, 2}: %i and the loop; axes are numbered as in the grid, loops from there
    last(%r) = 64 * %i + (%m - 1) floordiv 16 * 16
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from xdsl.dialects import scf
from xdsl.ir import Block, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.tile_mixed import SectionOp
from pyptoc.dialects.tile_read import ReadOp
from pyptoc.runtime.number_exprs import expr_of


class Movers:
    """Those of one kernel."""

    def __init__(self, kernel: KernelOp) -> None:
        args = list[SSAValue](kernel.grid_args)
        self.axes = len(args)
        loops = (op for op in kernel.walk() if isinstance(op, scf.ForOp))
        args += [loop.body.block.args[0] for loop in loops]
        self.numbers = {arg: number for number, arg in enumerate(args)}

    def of(
        self, numbers: Iterable[SSAValue | int], read: bool = True
    ) -> frozenset[int] | None:
        """What numbers are computed from; None if that takes more than a look.

        read: whether they may depend on what is read.
        """
        seen: set[SSAValue] = set()
        values = [value for value in numbers if isinstance(value, SSAValue)]
        while values:
            value = values.pop()
            if value in seen:
                continue
            seen.add(value)
            if self.numbers.get(value, self.axes) < self.axes:
                continue
            sources = _sources(value)
            if sources is None or (not read and isinstance(value.owner, ReadOp)):
                return None
            values += sources
        return frozenset(self.numbers[value] for value in seen if value in self.numbers)

    def axes_of(
        self, numbers: Iterable[SSAValue | int], read: bool = True
    ) -> frozenset[int] | None:
        """The axes of the grid among them."""
        found = self.of(numbers, read)
        if found is None:
            return None
        return frozenset(number for number in found if number < self.axes)


def last(value: SSAValue | int) -> Expr | None:
    """A number in the last trips of all loops, from the arguments of the kernel.

    None if that takes more than a look.
    """
    return expr_of(value, _last_of_argument)


def _last_of_argument(value: SSAValue) -> Expr | None:
    owner = value.owner
    if not isinstance(owner, Block):
        return None
    loop = owner.parent_op()
    if isinstance(loop, KernelOp):
        return Expr.sym(value)
    if not isinstance(loop, scf.ForOp) or value is not owner.args[0]:
        return None
    first, end, step = map(last, (loop.lb, loop.ub, loop.step))
    if first is None or end is None or step is None:
        return None
    return first + (end - first - 1).floordiv(step) * step


def _sources(value: SSAValue) -> Iterator[SSAValue] | None:
    """What a number is computed from; None if that takes more than a look."""
    owner = value.owner
    if isinstance(owner, Block):
        loop = owner.parent_op()
        if isinstance(loop, scf.ForOp) and value is owner.args[0]:
            return iter((loop.lb, loop.ub, loop.step))
        return iter(()) if isinstance(loop, KernelOp | SectionOp) else None
    return None if owner.regions else iter(cast("Any", owner).operands)
