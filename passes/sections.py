"""
Writing one section of a mixed kernel from a flat one.

The cube section gets its instructions as they are. A crossing becomes a push, or a pop
and, behind the last use of what was popped, a free:

    tile.move %acc[0, 0] [%m, %n] into %x       tile.push %acc [%m, %n] into %s
    tile.move %p[0, 0] [%m, %n] into %l1        %l1 = tile.pop %w ; .. ; tile.free %w

`vector_section.py` adds what is different where two cores share the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import Mixed
from pyptoc.dialects.tile import MoveOp
from pyptoc.dialects.tile_mixed import FreeOp, PopOp, PushOp
from pyptoc.passes.flat_kernels import Crossing
from pyptoc.passes.section_needs import Needs


@record(frozen=False)
class SectionWriter:
    """Clones what a side needs, block by block."""

    needs: Needs
    crossings: Mapping[MoveOp, Crossing]
    channels: Mapping[MoveOp, SSAValue]
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What each value of the flat kernel is in this section."""
    _pops: dict[Operation, list[Crossing]] = field(
        default_factory=dict[Operation, list[Crossing]], repr=False
    )
    """Operations of the flat kernel, and what is popped before them."""
    _frees: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]], repr=False
    )
    """Operations of the flat kernel, and the frees that follow them."""

    def write(self, source: Block, dest: Block) -> None:
        """Append to `dest` what is needed of `source`."""
        for op in source.ops:
            for crossing in self._pops.pop(op, ()):
                self._pop(crossing, dest)
            if op in self.needs.operations and not isinstance(op, scf.YieldOp):
                self.operation(op, dest)
            for free in self._frees.pop(op, ()):
                dest.add_op(free)

    def value(self, value: SSAValue) -> SSAValue:
        """A value of the flat kernel in this section; others stay as they are."""
        return self.values.get(value, value)

    def mixed(self, items: Sequence[Mixed]) -> list[Mixed]:
        return [i if isinstance(i, int) else self.value(i) for i in items]

    # -- operations

    def operation(self, op: Operation, dest: Block) -> None:
        if isinstance(op, MoveOp) and op in self.crossings:
            self._cross(self.crossings[op], dest)
        elif isinstance(op, scf.ForOp):
            self._loop(op, dest)
        elif isinstance(op, scf.IfOp):
            self._branch(op, dest)
        else:
            self.plain(op, dest)

    def plain(self, op: Operation, dest: Block) -> Operation:
        """An operation without blocks, on this section's values."""
        return self.add(op, op.clone(self.values), dest)

    def add(self, op: Operation, new: Operation, dest: Block) -> Operation:
        """Append `new`, which stands for `op`."""
        new.location = op.location
        for attribute, value in op.attributes.items():
            new.attributes.setdefault(attribute, value)
        for old, result in zip(op.results, new.results, strict=False):
            result.name_hint = old.name_hint
            self.values[old] = result
        dest.add_op(new)
        return new

    # -- crossings

    def _cross(self, crossing: Crossing, dest: Block) -> None:
        move, channel = crossing.move, self.channels[crossing.move]
        if crossing.producer == self.needs.unit:
            extents = self.pushed_extents(move)
            self.add(move, PushOp.make(self.value(move.source), extents, channel), dest)
        elif crossing.first is move:
            self._pop(crossing, dest)
        else:
            self._pops.setdefault(crossing.first, []).append(crossing)

    def _pop(self, crossing: Crossing, dest: Block) -> None:
        """Take the slot, as late as can be, and see to it that it is given back."""
        move, channel = crossing.move, self.channels[crossing.move]
        popped = self.add(move, PopOp.make(channel), dest).results[0]
        popped.name_hint = move.dest.name_hint
        free = FreeOp.make(channel)
        free.location = move.location
        if crossing.direct:
            self.values[move.dest] = popped
            self._frees.setdefault(crossing.last, []).append(free)
        else:
            self.copy(move, popped, dest)
            dest.add_op(free)

    def pushed_extents(self, move: MoveOp) -> list[Mixed]:
        return self.mixed(move.extents)

    def copy(self, move: MoveOp, popped: SSAValue, dest: Block) -> None:
        """Fill the destination of a crossing from what was popped."""
        raise AssertionError("a cube core copies nothing")

    # -- control flow

    def _loop(self, op: scf.ForOp, dest: Block) -> None:
        kept = self.needs.kept(op)
        arguments = op.body.block.args
        body = Block(arg_types=[arguments[i].type for i in (0, *(n + 1 for n in kept))])
        bounds = [self.value(v) for v in (op.lb, op.ub, op.step)]
        carried = [self.value(op.iter_args[n]) for n in kept]
        new = scf.ForOp.create(
            operands=[*bounds, *carried],
            result_types=[op.results[n].type for n in kept],
            regions=[Region(body)],
            attributes=dict(op.attributes),
        )
        old = [arguments[0], *(arguments[n + 1] for n in kept)]
        for argument, inside in zip(old, body.args, strict=True):
            inside.name_hint, inside.location = argument.name_hint, argument.location
            self.values[argument] = inside
        self._add_with_results(op, new, kept, dest)
        self._fill(op.body.block, body, kept)

    def _branch(self, op: scf.IfOp, dest: Block) -> None:
        kept = self.needs.kept(op)
        regions: list[Region] = []
        for region in op.regions:
            block = Block()
            if region.blocks:
                self._fill(region.block, block, kept)
            regions.append(Region(block))
        if not kept and len(list(regions[1].block.ops)) <= 1:
            regions[1] = Region()
        new = scf.IfOp.create(
            operands=[self.value(op.cond)],
            result_types=[op.results[n].type for n in kept],
            regions=regions,
            attributes=dict(op.attributes),
        )
        self._add_with_results(op, new, kept, dest)

    def _add_with_results(
        self, op: Operation, new: Operation, kept: Sequence[int], dest: Block
    ) -> None:
        new.location = op.location
        for number, result in zip(kept, new.results, strict=True):
            result.name_hint = op.results[number].name_hint
            self.values[op.results[number]] = result
        dest.add_op(new)

    def _fill(self, source: Block, dest: Block, kept: Sequence[int]) -> None:
        """The body of a loop or branch, with what it yields."""
        self.write(source, dest)
        last = source.last_op
        yielded = [] if last is None else [self.value(last.operands[n]) for n in kept]
        new = scf.YieldOp.create(operands=yielded)
        if last is not None:
            new.location = last.location
        dest.add_op(new)
