"""
Loads into L1 that need not be made, since what they load lies in gm for the launch.

Nothing in the launch is stored to what they read, only fused matmuls read what they
write, only loads write there, and no other buffer shares its bytes while it is in use:
what is wrong with addresses still shows.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import uses_of
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_mixed import SectionOp
from pyptoc.dialects.tile_transfer import LoadOp
from pyptoc.dialects.tile_types import Space
from pyptoc.runtime.memory import Apart, Memory, sharing_in
from pyptoc.runtime.movers import Movers, last


@record
class DirectLoad:
    """A load that need not be made."""

    number: int
    """Of the buffer argument that it reads."""
    dims: tuple[int, int]
    """The dimensions of rows and columns there, -1 for none."""
    used: frozenset[int] | None
    """The axes of the grid and loops that its box depends on; None: any."""
    moves: tuple[frozenset[int], frozenset[int]]
    """Those that its first row, and its first column, go with."""
    stored: frozenset[int]
    """The numbers of the buffer arguments that the kernel stores to."""
    again: bool
    """Whether it is multiplied in a loop that it is not in itself."""
    ends: tuple[Expr | None, Expr | None]
    """Where its rows, and its columns, end at last, by the kernel's arguments; axes
    of the grid stand for their last index."""

    def is_safe(self, memories: Sequence[Memory]) -> bool:
        """Whether nothing is stored to what it loads."""
        return Apart(self.number, self.stored)(memories)

    def kind(self, axes: int) -> Hashable:
        """What it has in common with loads whose boxes may lie beside its own: also
        with those before and behind a loop, so without the loops."""
        grid = range(axes)
        used = None if self.used is None else self.used.intersection(grid)
        moves = tuple(along.intersection(grid) for along in self.moves)
        return self.number, self.dims, used, moves, self.again

    def free(self, grid: Sequence[int]) -> frozenset[int]:
        """The axes along which several tasks load the same box."""
        if self.used is None:
            return frozenset()
        axes = {axis for axis, size in enumerate(grid) if size > 1}
        return frozenset(axes) - self.used


def direct_loads(
    kernel: KernelOp, moves: Container[Operation], stored: frozenset[int]
) -> dict[Operation, DirectLoad]:
    """The loads into L1 buffers that are only read by `moves`, as far as they qualify.

    moves: those of fused matmuls.
    """
    facts = _Loads(kernel, stored)
    found: dict[Operation, DirectLoad] = {}
    for alloc, near in sharing_in(kernel).items():
        if alloc.type.space != Space.L1 or any(_meet(alloc, other) for other in near):
            continue
        for load in _only_loads(alloc, moves) or ():
            if facts.numbers[load.memory] not in stored:
                again = any(
                    user in moves and load.parent and is_in_loop_of(user, load.parent)
                    for user, _ in uses_of(alloc)
                )
                found[load] = facts.of(load, again)
    return found


class _Loads:
    """What the loads of a kernel depend on."""

    def __init__(self, kernel: KernelOp, stored: frozenset[int]) -> None:
        self.stored = stored
        arguments = enumerate(kernel.buffer_args)
        self.numbers = {SSAValue.get(value): number for number, value in arguments}
        self.movers = Movers(kernel)

    def of(self, load: LoadOp, again: bool) -> DirectLoad:
        offsets, dims = load.mixed_offsets, load.box_dims
        row, column = (offsets[dim] if dim >= 0 else 0 for dim in dims)
        return DirectLoad(
            self.numbers[load.memory],
            (dims[0], dims[1]),
            self.movers.of((*offsets, *load.extents)),
            (self._moves(row), self._moves(column)),
            self.stored,
            again,
            (_end(row, load.extents[0]), _end(column, load.extents[1])),
        )

    def _moves(self, start: SSAValue | int) -> frozenset[int]:
        """What a start goes with: nothing where it depends on what the kernel reads,
        since then it is not known where the next load starts."""
        return self.movers.of((start,), read=False) or frozenset()


def _end(start: SSAValue | int, extent: SSAValue | int) -> Expr | None:
    first, size = last(start), last(extent)
    return None if first is None or size is None else first + size


def is_in_loop_of(op: Operation, block: Block) -> bool:
    """Whether an operation is in a loop, at some depth, of a block."""
    inside = False
    while op.parent is not block:
        parent = op.parent_op()
        if parent is None:
            return False
        inside = inside or isinstance(parent, scf.ForOp)
        op = parent
    return inside


def _meet(alloc: Allocation, other: Allocation) -> bool:
    """Whether a task may use one of two buffers before it is done with the other."""
    first, second = (
        [_step(user) for user, _ in uses_of(each)] for each in (alloc, other)
    )
    blocks = {step.parent for step in (*first, *second)}
    if len(blocks) != 1:
        return bool(first) and bool(second)
    (block,) = blocks
    assert block is not None
    order = {step: number for number, step in enumerate(block.ops)}
    one, two = ([order[step] for step in steps] for steps in (first, second))
    return bool(one and two) and min(two) <= max(one) and min(one) <= max(two)


def _step(op: Operation) -> Operation:
    """What of a kernel, or of a section of it, the operation lies in."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, KernelOp | SectionOp):
        op, parent = parent, parent.parent_op()
    return op


def _only_loads(alloc: Allocation, moves: Container[Operation]) -> list[LoadOp] | None:
    """The loads into a buffer; None if anything but `moves` uses it, too."""
    users = [user for user, _ in uses_of(alloc)]
    if any(not isinstance(user, LoadOp) and user not in moves for user in users):
        return None
    return [user for user in users if isinstance(user, LoadOp)]
