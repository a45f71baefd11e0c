"""
How two vector cores share the tiles of a mixed kernel.

Each `ub` buffer is shared along its rows, along its columns, or not at all; then each
core has all of it. What crosses from or to the cube core is shared. The rest follows
from the instructions (`half_axes.py`).

Rows are tried first, then columns, for each set of buffers that belong together. If
neither will do, or if the cores would meet in memory (`half_memory.py`), the first core
does all the work on them, and the second only keeps the messages in step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.ir import Operation

from pyptoc.dialects.npu import KernelOp
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import (
    Instruction,
    ScatterOp,
    Space,
    StoreOp,
    allocation_of,
    buffer_type,
)
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_channel import HALVES
from pyptoc.passes.flat_kernels import Crossing, buffers_of, crosses, unit_of
from pyptoc.passes.half_axes import Axes, Axis, relate
from pyptoc.passes.half_memory import met_in_memory
from pyptoc.passes.share import Halves, Share

_MOST_TRIES = 1000


def ub_buffers(op: Operation) -> list[Allocation]:
    """The allocations in ub that an instruction touches."""
    values = buffers_of(op)
    return [allocation_of(v) for v in values if buffer_type(v).space == Space.UB]


def share_tiles(
    kernel: KernelOp, crossings: Iterable[Crossing], aliases: Mapping[int, int]
) -> Halves:
    """
    Who has what of each `ub` buffer of a flat kernel.

    `aliases`: as for `flat_kernels.obstacles`.
    """
    axes, decision = Axes(), Halves()
    instructions = [
        op
        for op in kernel.walk()
        if isinstance(op, Instruction) and unit_of(op) == Unit.VECTOR
    ]
    for op in instructions:
        relate(op, axes)
    for crossing in crossings:
        if not crossing.to_vector:
            (buffer,) = ub_buffers(crossing.move)
            for axis, size in enumerate(buffer_type(crossing.move.dest).shape):
                axes.at_least((buffer, axis), size)
    groups = _groups(instructions)
    for group in groups:
        _decide(group, axes, decision)
    while groups:
        met = met_in_memory(kernel, instructions, decision, aliases)
        groups = [g for g in groups if not met.isdisjoint(g.instructions)]
        groups = [g for g in groups if not decision.alone.issuperset(g.own)]
        for group in groups:
            _give_to_first(group, axes, decision)
    return decision


@record(frozen=False)
class _Group:
    """Buffers that instructions use together, and these instructions."""

    buffers: dict[Allocation, None]
    instructions: list[Instruction]

    @property
    def own(self) -> list[Instruction]:
        """Those that do not cross."""
        return [op for op in self.instructions if not crosses(op)]

    @property
    def crossing(self) -> dict[Allocation, Instruction]:
        """The buffers that cross, each with a move that says so."""
        found: dict[Allocation, Instruction] = {}
        for op in self.instructions:
            if crosses(op):
                (buffer,) = ub_buffers(op)
                found.setdefault(buffer, op)
        return found


def _groups(instructions: Sequence[Instruction]) -> list[_Group]:
    groups: dict[Allocation, _Group] = {}
    for op in instructions:
        buffers = dict.fromkeys(ub_buffers(op))
        found = {id(groups[b]): groups[b] for b in buffers if b in groups}
        target, *others = found.values() or [_Group({}, [])]
        for other in others:
            target.buffers |= other.buffers
            target.instructions += other.instructions
            groups.update(dict.fromkeys(other.buffers, target))
        target.buffers |= buffers
        target.instructions.append(op)
        groups.update(dict.fromkeys(buffers, target))
    return list({id(group): group for group in groups.values()}.values())


def _decide(group: _Group, axes: Axes, decision: Halves) -> None:
    chosen = _Search(group, axes).run()
    if chosen is None:
        _give_to_first(group, axes, decision)
        return
    for buffer in group.buffers:
        for axis in (0, 1):
            if axes.find((buffer, axis)) in chosen:
                decision.shares[buffer] = Share(axis, axes.size((buffer, axis)))
    for op in group.instructions:
        stores = isinstance(op, StoreOp | ScatterOp)
        if stores and decision.share(op.buffer) is None:
            decision.alone.add(op)


def _give_to_first(group: _Group, axes: Axes, decision: Halves) -> None:
    """The first core does all the work of a group."""
    decision.alone |= set(group.own)
    for buffer in group.buffers:
        decision.shares.pop(buffer, None)
    for buffer in group.crossing:
        # A tile of twice the rows, of which the first core has all there are.
        decision.shares[buffer] = Share(0, HALVES * axes.size((buffer, 0)))
    decision.unshared.append(group.instructions[0])


class _Search:
    """The dimensions to share: one of a buffer that crosses, at most one of others."""

    def __init__(self, group: _Group, axes: Axes) -> None:
        self.group, self.axes = group, axes
        self.pairs = [
            (axes.find((buffer, 0)), axes.find((buffer, 1))) for buffer in group.buffers
        ]
        self.tries = 0

    def run(self) -> frozenset[Axis] | None:
        """The dimensions that are shared; None if it cannot be done."""
        chosen = self._cross(list(self.group.crossing), frozenset())
        if chosen is None:
            return None
        # What is free is shared as well: no work is done twice that need not be.
        for buffer in self.group.buffers:
            for axis in self._wanted(buffer):
                with_it = chosen | {self.axes.find((buffer, axis))}
                if self.axes.size((buffer, axis)) > 1 and self._holds(with_it):
                    chosen = with_it
                    break
        return chosen

    def _cross(
        self, buffers: Sequence[Allocation], chosen: frozenset[Axis]
    ) -> frozenset[Axis] | None:
        if not buffers:
            return chosen
        for axis in self._wanted(buffers[0]):
            self.tries += 1
            with_it = chosen | {self.axes.find((buffers[0], axis))}
            if self.tries < _MOST_TRIES and self._holds(with_it):
                found = self._cross(buffers[1:], with_it)
                if found is not None:
                    return found
        return None

    def _wanted(self, buffer: Allocation) -> tuple[int, ...]:
        """Rows first, unless there is only one."""
        return (1, 0) if self.axes.size((buffer, 0)) == 1 else (0, 1)

    def _holds(self, chosen: frozenset[Axis]) -> bool:
        return all(map(self.axes.can_share, chosen)) and not any(
            rows in chosen and columns in chosen for rows, columns in self.pairs
        )
