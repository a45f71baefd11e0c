"""
Workspaces share memory: those that are never alive together, and the trips of a loop.

    %a = npu.alloc[%m, 64] : f32       written by %t0, read by %t1
    %b = npu.alloc[%m, 64] : f32       written by %t2, which waits for %t1
    scf.for %i = 0 to %n step 1 {
      %w = npu.alloc[16, 64] : f32 }
    ->
    %a = npu.alloc[%m, 64] : f32       (%b is %a)
    %s = npu.alloc[8192] {policy = "slots", slots = 2} : i8
    scf.for %i = 0 to %n step 1 {
      %w = npu.place %s at 4096 * (%i mod 2)[16, 64] : f32 }

Two workspaces take the same memory if whatever touches the second is ordered behind all
that touches the first anyway: through what they read and write, or through a read of
the orchestration. What that leaves open between single tasks the waits order, which are
derived afterwards. Of sizes that differ the larger one counts, or their max.

A loop's workspaces move before the loop where their size has a bound there. Trips of a
sequential loop take turns in two slots, so that a trip may start before the one before
it is over; trips of a parallel loop in as many as keep the cores busy twice over. A
workspace that a trip hands on to the next has two slots. Where data decides how large a
workspace is, every trip keeps its own (`carried`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import i8
from xdsl.ir import Block, Operation

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.expr import (
    ONE,
    ZERO,
    Expr,
    Facts,
    bound_without,
    maximum,
    minimum,
    prove_le,
)
from pyptoc.dialects.memory import memory_type
from pyptoc.dialects.npu import AllocOp, PlaceOp, TasksOp
from pyptoc.dialects.npu_place import stored_bytes
from pyptoc.dialects.parallel import is_parallel
from pyptoc.dialects.record import record
from pyptoc.passes.buffer_roots import BufferRoots
from pyptoc.passes.builder import Builder
from pyptoc.passes.launch_order import LaunchOrder
from pyptoc.passes.overlap import note_sizes
from pyptoc.passes.shapes import Shapes, value_of
from pyptoc.passes.size_text import size_text
from pyptoc.passes.structured import defined_before, symbol_in
from pyptoc.passes.task_builder import Roots
from pyptoc.passes.task_form import replace_op

ALIGNMENT = 512
"""Workspaces in an arena start at a multiple of so many bytes."""

RATIO = 4
"""How many times as large as another a workspace may be that shares its memory."""

SHARE = 32
"""What is a smaller part of all workspaces is not worth a wait."""

NOMINAL = 1024
"""Every size that is not known, where sizes are only compared."""

TURNS = 2
"""Slots of a sequential loop, and how often the trips in flight fill the cores."""


@record
class Member:
    """An allocation, and the byte of its area where it begins."""

    alloc: AllocOp
    offset: Expr


@record(frozen=False)
class Area:
    """Memory for workspaces that are never alive together."""

    size: Expr
    """Bytes, in terms of what is known in the block it is for."""
    members: list[Member]
    nodes: int
    """What touches it, as bits of the launch order; 0: it is shared with nothing."""
    trip: Expr = ZERO
    """Which trip of the parallel loops around it is, so far without slots."""
    trips: Expr = ONE
    slots: int = 1


@record(frozen=False)
class Workspaces:
    """Plans the memory of one function in memory form, before its waits are derived."""

    context: PyptocContext
    function: func.FuncOp
    shapes: Shapes
    dims: Roots
    facts: Facts = field(default_factory=Facts)

    def run(self) -> None:
        """Share what can be shared, and say what it comes to."""
        self.roots = BufferRoots(self.function)
        self.order = LaunchOrder.of(self.function, self.roots)
        block = self.function.body.block
        end = block.last_op
        assert end is not None
        self.returned = {self.roots.root(value) for value in end.operands}
        self.given = {self.roots.root(argument) for argument in block.args}
        single = self._sizes()
        self.total = sum(map(nominal, single))
        areas = self._areas_in(block)
        for area in areas:
            self._settle(area, block)
        self._report(areas, single)

    def _is_workspace(self, alloc: AllocOp) -> bool:
        """Whether only this function needs it; in a loop all but the last result is."""
        root = self.roots.root(alloc.results[0])
        in_loop = alloc.parent is not self.function.body.block
        return root not in self.given and (in_loop or root not in self.returned)

    def _sizes(self) -> list[Expr]:
        """The bytes of each workspace."""
        allocs = (op for op in self.function.walk() if isinstance(op, AllocOp))
        return [self.size_of(op) for op in allocs if self._is_workspace(op)]

    def size_of(self, alloc: AllocOp) -> Expr:
        """The bytes of an allocation."""
        memory = alloc.results[0]
        total = Expr.const(stored_bytes(memory_type(memory).element_type))
        for dim in self.shapes.dims(memory):
            note_sizes(self.facts, dim)
            # Where it is allocated no size is negative; a bound of it may seem to be.
            nested = alloc.parent is not self.function.body.block
            total = total * (maximum(dim, 0) if nested and not dim.is_const else dim)
        return total

    # -- areas, from the inside out

    def _areas_in(self, block: Block) -> list[Area]:
        found: list[Area] = []
        for op in list(block.ops):
            match op:
                case AllocOp() if self._is_workspace(op):
                    root = self.roots.root(op.results[0])
                    alone = root in self.returned
                    nodes = 0 if alone else self.order.touching(root)
                    found.append(Area(self.size_of(op), [Member(op, ZERO)], nodes))
                case scf.ForOp():
                    lower, upper = self.shapes.expr(op.lb), self.shapes.expr(op.ub)
                    note_sizes(self.facts, upper)
                    self.facts.assume_range(op.body.block.args[0], lower, upper - 1)
                    for area in self._areas_in(op.body.block):
                        found += self._leave(area, op)
                case scf.IfOp():
                    for region in op.regions:
                        for inner in region.blocks:
                            for area in self._areas_in(inner):
                                found += self._leave(area, op)
                case _:
                    pass
        return self._shared(found, block)

    def _leave(self, area: Area, op: scf.ForOp | scf.IfOp) -> list[Area]:
        """The area as the block around `op` sees it; none if it has to stay inside."""
        home = area.members[0].alloc
        size = self._bound(area.size, op)
        kept = size is None
        if isinstance(op, scf.ForOp) and not kept:
            trips = self._bound(self._trips(op), op)
            kept = trips is None or not self._hands_on_once(area, op)
            if not kept and size is not None and trips is not None:
                area.size = size
                self._take_turns(area, op, trips)
        if kept or size is None:
            block = ancestor_block(home, op)
            if isinstance(op, scf.ForOp):
                reason = (
                    "the next trips hand it on" if size else "data decides its size"
                )
                name = home.results[0].name_hint or "a workspace"
                self.context.remark(
                    home,
                    f"'{name}' is kept for every trip of the loop: {reason}",
                    "PTO342",
                )
            self._settle(area, block)
            return []
        if isinstance(op, scf.IfOp):
            area.size = size
        return [area]

    def _hands_on_once(self, area: Area, loop: scf.ForOp) -> bool:
        """Whether what a trip yields of the area is used by the next trip at most."""
        end = loop.body.block.last_op
        assert end is not None
        made = [member.alloc.results[0] for member in area.members]
        roots = {self.roots.root(memory) for memory in made}
        handed = False
        for slot, value in enumerate(end.operands):
            if self.roots.root(value) not in roots:
                continue
            argument = loop.body.block.args[slot + 1]
            if value not in made or any(
                is_handed_on(u.operation) for u in argument.uses
            ):
                return False
            handed = True
        return handed or not roots & self.returned

    def _bound(self, e: Expr, op: scf.ForOp | scf.IfOp) -> Expr | None:
        """A bound of `e` in terms of what is defined before `op`."""
        inner = {key for key in e.symbols() if symbol_in(key, op)}
        return bound_without(e, inner, self.facts, upper=True) if inner else e

    def _trips(self, loop: scf.ForOp) -> Expr:
        lower, upper, step = map(self.shapes.expr, (loop.lb, loop.ub, loop.step))
        return (upper - lower).ceildiv(step)

    def _take_turns(self, area: Area, loop: scf.ForOp, trips: Expr) -> None:
        """Trips of `loop` use the slots of the area one after the other."""
        lower, step = self.shapes.expr(loop.lb), self.shapes.expr(loop.step)
        trip = (Expr.sym(loop.body.block.args[0]) - lower).floordiv(step)
        if not is_parallel(loop):
            self._rotate(area, trip, trips, TURNS)
            return
        area.trip = trip * area.trips + area.trip
        area.trips = trips * area.trips
        parent = loop.parent_op()
        if not is_parallel(parent) or self._bound(area.trips, parent) is None:
            self._rotate(area, area.trip, area.trips, self._slots(area))
            area.trip, area.trips = ZERO, ONE

    def _slots(self, area: Area) -> int:
        """How many trips keep all cores busy, twice over."""
        machine = self.context.machine
        cores = 64 if machine is None else machine.vector_cores
        tasks = max(map(tasks_of, self.order.launches(area.nodes)), default=1)
        return max(-(-TURNS * cores // tasks), TURNS)

    def _rotate(self, area: Area, trip: Expr, trips: Expr, slots: int) -> None:
        if trips.is_const:
            slots = max(min(slots, trips.value), 1)
        if slots == 1:
            return
        size = aligned(area.size)
        turn = trip if trips.is_const and trips.value <= slots else trip.mod(slots)
        area.members = [Member(m.alloc, m.offset + turn * size) for m in area.members]
        area.size = size * (minimum(slots, trips) if slots > TURNS else slots)
        area.slots *= slots

    # -- sharing

    def _shared(self, areas: Sequence[Area], block: Block) -> list[Area]:
        """Areas of one block, those together that may be."""
        kept: list[Area] = []
        for area in areas:
            fitting = [one for one in kept if self._may_share(one, area, block)]
            if not fitting:
                kept.append(area)
                continue
            best = min(fitting, key=lambda one: self._growth(one, area))
            if best.size != area.size:
                self._remark(best.members[0].alloc, area.members[0].alloc)
            best.size = self._larger(best.size, area.size)
            best.members += area.members
            best.nodes |= area.nodes
            best.slots = max(best.slots, area.slots)
        return kept

    def _remark(self, one: AllocOp, other: AllocOp) -> None:
        first, second = (op.results[0].name_hint or "a tensor" for op in (one, other))
        text = f"'{second}' takes the memory of '{first}' and waits for its readers"
        self.context.remark(other, text, "PTO341")

    def _may_share(self, one: Area, other: Area, block: Block) -> bool:
        """Whether all that touches `other` comes after all that touches `one`."""
        if (one.trip, one.trips) != (other.trip, other.trips):
            return False  # The loop around goes on counting, for each in its way.
        if not one.nodes or not other.nodes or not self._is_worth(one, other):
            return False
        first = self._position(one, block)
        return (
            self.order.are_inside(one.nodes | other.nodes, block)
            and self.order.comes_after(other.nodes, one.nodes, block)
            and all(
                value is None or defined_before(value, first)
                for value in map(value_of, (*other.size.symbols(), *one.size.symbols()))
            )
        )

    def _is_worth(self, one: Area, other: Area) -> bool:
        """Whether the smaller one saves enough: waits in a large one cost as well."""
        less, more = sorted(map(nominal, (one.size, other.size)))
        return more <= less * RATIO and self.total <= less * SHARE

    def _growth(self, one: Area, other: Area) -> int:
        """How welcome `other` is: where nothing grows, and nothing is left over."""
        if one.size == other.size:
            return 0
        if prove_le(other.size, one.size, self.facts):
            return 1
        return 2 if prove_le(one.size, other.size, self.facts) else 3

    def _larger(self, one: Expr, other: Expr) -> Expr:
        if prove_le(other, one, self.facts):
            return one
        return other if prove_le(one, other, self.facts) else maximum(one, other)

    def _position(self, area: Area, block: Block) -> Operation:
        """The op of `block` before which the memory is needed first."""
        found = [
            block.find_ancestor_op_in_block(member.alloc) for member in area.members
        ]
        return min(
            (op for op in found if op is not None), key=block.get_operation_index
        )

    # -- the result

    def _settle(self, area: Area, block: Block) -> None:
        """Give the members of an area their memory."""
        first, *others = area.members
        if not others and first.offset == ZERO:
            return
        if others and all(self._is_same(first, one, block) for one in others):
            for member in others:
                memory = member.alloc.results[0]
                memory.replace_all_uses_with(first.alloc.results[0])
                member.alloc.detach()
                member.alloc.erase()
            return
        build = Builder.before(self._position(area, block))
        size = build.index_or_int(self.dims.concrete(area.size))
        policy = ("slots", area.slots) if area.slots > 1 else ("single", None)
        arena = build.value(AllocOp.make([size], i8, *policy), "workspace")
        for member in area.members:
            alloc = member.alloc
            inner = Builder.before(alloc)
            offset = inner.index_or_int(self.dims.concrete(member.offset))
            element = memory_type(alloc.results[0]).element_type
            place = PlaceOp.make(arena, offset, alloc.mixed_sizes, element)
            place.location = alloc.location
            replace_op(alloc, place)

    def _is_same(self, first: Member, other: Member, block: Block) -> bool:
        """Whether one allocation can stand for the other as it is."""
        one, two = first.alloc, other.alloc
        return (
            first.offset == other.offset == ZERO
            and one.parent is two.parent is block
            and one.results[0].type == two.results[0].type
            and self.shapes.dims(one.results[0]) == self.shapes.dims(two.results[0])
        )

    def _report(self, areas: Sequence[Area], single: Sequence[Expr]) -> None:
        total = sum((area.size for area in areas), start=ZERO)
        if total == ZERO:
            return
        text = f"workspaces take {size_text(total, self.function)}"
        apart = sum(single, start=ZERO)
        if nominal(apart) > nominal(total):
            text += f", {size_text(apart, self.function)} if none shared memory"
        self.context.remark(self.function, text, "PTO340")


def nominal(size: Expr) -> int:
    """About how large a workspace is, to compare it with others."""
    try:
        return max(size.evaluate(dict.fromkeys(size.symbols(), NOMINAL)), 1)
    except (OverflowError, ZeroDivisionError):
        return 1


def aligned(size: Expr) -> Expr:
    """The least multiple of the alignment that holds so many bytes."""
    return size.ceildiv(ALIGNMENT) * ALIGNMENT


def tasks_of(tasks: TasksOp) -> int:
    """How many tasks a launch has at least, sizes that are not known being 1."""
    count = 1
    for size in tasks.grid:
        count *= size if isinstance(size, int) else 1
    return max(count, 1)


def is_handed_on(op: Operation) -> bool:
    """Whether `op` may let its operand live on in another value."""
    return isinstance(op, scf.YieldOp | scf.ForOp | scf.IfOp)


def ancestor_block(op: Operation, parent: Operation) -> Block:
    """The block of `parent` that `op` is in."""
    found: Iterable[Block] = (b for region in parent.regions for b in region.blocks)
    return next(block for block in found if block.is_ancestor(op))
