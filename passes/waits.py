"""
What a task waits for: the tasks before it that touch the same bytes, one writing.

    %t0 = npu.tasks (%i, %j) ... write %y[16 * %i, 256 * %j] [16, 256]
    %t1 = npu.tasks (%i, %j) ... read %y[64 * %i, 256 * %j] [64, 256]
    ->  %t1 waits after(%t0[4 * %i : 4 * %i + 4, %j])

`overlap.py` finds the ranges. Where data decides, or the producer is a loop's worth of
tasks, the wait is `%e overlaps`: the launch compares the declared boxes. A launch that
touches all of a buffer hides what touched it before: its own waits order that.

Loops carry the events of what outlives a trip. In a sequential loop a trip waits for
trips before it, unless each trip keeps to a stretch of its own. Trips of a parallel
loop wait for each other only where they take turns in a workspace (`npu.place`).
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Sequence
from dataclasses import field

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, Region, SSAValue

from pyptoc.dialects.expr import Expr, Facts
from pyptoc.dialects.npu import (
    JoinOp,
    NoEventsOp,
    PlaceOp,
    PrintOp,
    ReadOp,
    ReinterpretOp,
    ReshapeOp,
    TasksOp,
)
from pyptoc.dialects.npu_attrs import ALL, EVENTS, OVERLAPS, AccessMode, Selector
from pyptoc.dialects.parallel import is_parallel
from pyptoc.dialects.pypto.scalars import AssertOp
from pyptoc.dialects.record import record
from pyptoc.passes.accesses import BoxAccess, accesses_of
from pyptoc.passes.buffer_roots import BufferRoots
from pyptoc.passes.builder import Builder
from pyptoc.passes.overlap import Selection, are_apart, grid_facts
from pyptoc.passes.ranges import Ranges
from pyptoc.passes.reach import (
    Reach,
    certainly_apart,
    covers,
    in_conflict,
    keeps_to_its_trip,
    over_trips,
    shared_coordinates,
)
from pyptoc.passes.selectors import Wait, merged
from pyptoc.passes.shapes import Dims, Shapes, value_of
from pyptoc.passes.structured import defined_before, defined_in
from pyptoc.passes.task_builder import Roots
from pyptoc.passes.task_form import declare, replace_op


@record
class Pending:
    """Tasks that were launched: their events, and what they touch of one root."""

    events: SSAValue
    reaches: tuple[Reach, ...]
    """Of one task; of a loop's worth, of all of them together."""
    tasks: TasksOp | None = None
    """The one op behind the events; None for a loop's worth."""
    trips: scf.ForOp | None = None
    """The loop around, if these are the tasks of the trips before."""


State = dict[SSAValue, list[Pending]]
"""Root to the tasks that have touched it so far."""

Touched = dict[SSAValue, tuple[Reach, ...]]
"""Root to what tasks touch of it."""


@record
class Launched:
    """What a block launched: the events, and what these tasks touch."""

    events: SSAValue
    touched: Touched


@record(frozen=False)
class WaitDeriver:
    """Adds events, accesses and waits to one function in memory form."""

    function: func.FuncOp
    shapes: Shapes
    dims: Roots
    roots: BufferRoots = field(init=False)
    facts: Facts = field(default_factory=Facts)
    boxes: dict[TasksOp, list[BoxAccess]] = field(
        default_factory=dict[TasksOp, list[BoxAccess]]
    )
    touched: dict[TasksOp, Touched] = field(default_factory=dict[TasksOp, Touched])
    grids: dict[SSAValue, Dims] = field(default_factory=dict[SSAValue, Dims])
    """By events: the sizes of the grid."""
    _order: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Events in the order in which they come up: waits are in that order."""
    _covers: dict[tuple[SSAValue, Reach], bool] = field(
        default_factory=dict[tuple[SSAValue, Reach], bool]
    )

    def run(self) -> None:
        """Thread events through the whole function, which carries some (none yet)."""
        block = self.function.body.block
        self.roots = BufferRoots(self.function)
        self._survey(block)
        self._block(block, {})

    def _survey(self, block: Block) -> None:
        """Note what each task touches, and where indices and counters lie."""
        for op in block.ops:
            if isinstance(op, TasksOp):
                grid = tuple(map(self.shapes.mixed, op.grid))
                grid_facts(self.facts, op, grid)
                self.grids[op.events] = grid
                self.boxes[op] = accesses_of(op, self.shapes)
                self.touched[op] = self._by_root(map(Reach.of, self.boxes[op]))
                continue
            if isinstance(op, AssertOp) and block is self.function.body.block:
                Ranges(self.shapes, self.facts).pass_assert(op)
            if isinstance(op, scf.ForOp):
                lower, upper = self.shapes.expr(op.lb), self.shapes.expr(op.ub)
                self.facts.assume_range(op.body.block.args[0], lower, upper - 1)
            for region in op.regions:
                for inner in region.blocks:
                    self._survey(inner)

    def _by_root(self, reaches: Iterator[Reach]) -> Touched:
        found: dict[SSAValue, dict[Reach, None]] = {}
        for reach in reaches:
            found.setdefault(self.roots.root(reach.buffer), {})[reach] = None
        return {root: tuple(known) for root, known in found.items()}

    def _block(self, block: Block, state: State) -> list[Launched]:
        """Process a block; what it launches."""
        launched: list[Launched] = []
        for op in list(block.ops):
            match op:
                case TasksOp():
                    launched.append(self._tasks(op, state))
                case ReadOp() | PrintOp():
                    self._read(op, state)
                case scf.ForOp():
                    launched += self._loop(op, state)
                case scf.IfOp():
                    launched += self._branches(op, state)
                case _:
                    pass
        return launched

    # -- one launch

    def _tasks(self, op: TasksOp, state: State) -> Launched:
        """Declare what `op` touches and waits for; its events."""
        waits: dict[Wait, None] = {}
        touched = self.touched[op]
        for root, reaches in touched.items():
            for reach in reaches:
                for events, selector in self._waits(reach, state.get(root, ()), waits):
                    # What an assert further on equates may not be known yet.
                    known = all(is_known(key, op) for key in selector.symbols())
                    waits[events, selector if known else OVERLAPS] = None
        found = sorted(waits, key=lambda wait: self._order[wait[0]])
        declared = declare(op, self.boxes[op], merged(found, self.grids), self.dims)
        self.touched[declared] = touched
        self.grids[declared.events] = self.grids[op.events]
        for root, reaches in touched.items():
            self._add(Pending(declared.events, reaches, declared), root, state)
        return Launched(declared.events, touched)

    def _waits(
        self,
        mine: Reach,
        pendings: Sequence[Pending],
        known: Container[Wait] = frozenset(),
    ) -> Iterator[Wait]:
        """What a task that touches `mine` waits for but for `known`, the last first."""
        covered: list[Reach] = []
        for number, pending in reversed(list(enumerate(pendings))):
            if (pending.events, OVERLAPS) in known:
                continue
            for theirs in pending.reaches:
                if not in_conflict(theirs.mode, mine.mode):
                    continue
                if any(is_between(theirs, cover, mine) for cover in covered):
                    continue
                selector = self._selector(mine, theirs, pending)
                if selector is not None:
                    yield pending.events, selector
            if number and pending.tasks is not None:
                covered += self._covering(pending.tasks, pending.reaches)

    def _covering(self, tasks: TasksOp, reaches: Sequence[Reach]) -> Iterator[Reach]:
        """What all tasks together touch of all of its buffer."""
        for reach in reaches:
            key = tasks.events, reach
            if key not in self._covers:
                dims = self.shapes.dims(reach.buffer)
                grid = self.grids[tasks.events]
                self._covers[key] = covers(tasks, reach, grid, dims, self.facts)
            if self._covers[key]:
                yield reach

    def _selector(
        self, mine: Reach, theirs: Reach, pending: Pending
    ) -> Selector | None:
        """The tasks of `pending` that touch `mine` in `theirs`; None: none of them."""
        if pending.trips is not None:
            if not mine.overwrites and is_of_one_trip(mine.buffer, pending.trips):
                return None
            apart = keeps_to_its_trip(
                mine, theirs, pending.trips, self.shapes, self.facts
            )
            return None if apart else OVERLAPS
        if pending.tasks is None:
            apart = certainly_apart(mine, theirs, self.shapes, self.facts)
            return None if apart else OVERLAPS
        common = shared_coordinates(theirs, mine, self.shapes, self.facts)
        if common is None:
            return OVERLAPS
        first, second, exact = common
        if are_apart(first, second, self.facts):
            return None
        if not exact:
            return OVERLAPS
        grid = self.grids[pending.events]
        return Selection(pending.tasks, grid, self.facts).selector(first, second)

    def _read(self, op: ReadOp | PrintOp, state: State) -> None:
        """The orchestration waits for what writes the element, or all of the buffer."""
        waits: dict[Wait, None] = {}
        if isinstance(op, ReadOp):
            lo = tuple(map(self.shapes.mixed, op.mixed_offsets))
            size = (Expr.const(1),) * len(lo)
        else:
            size = self.shapes.dims(op.source)
            lo = (Expr.const(0),) * len(size)
        box = Reach.of(BoxAccess(op.source, AccessMode.READ, lo, size, exact=True))
        for events, selector in self._waits(
            box, state.get(self.roots.root(op.source), ())
        ):
            is_fixed = not selector.symbols()
            if isinstance(op, PrintOp) and selector == OVERLAPS:
                selector = ALL
            waits[events, selector if is_fixed else OVERLAPS] = None
        if waits:
            op.set_waits(*merged(reversed(waits), self.grids))

    # -- control flow

    def _loop(self, loop: scf.ForOp, state: State) -> list[Launched]:
        inside = self._touched_in(loop)
        touched = self._outside(inside, loop)
        inner = copy_of(state)
        if not inside:
            self._block(loop.body.block, inner)
            return []
        carried = loop.body.block.args[-1]
        parallel = is_parallel(loop)
        for root, reaches in inside.items():
            if root in touched and (not parallel or self._is_rotating(reaches, loop)):
                self._add(Pending(carried, reaches, trips=loop), root, inner)
        launched = self._block(loop.body.block, inner)
        end = loop.body.block.ops.last
        assert end is not None
        lasting = [
            one.events
            for one in launched
            if any(root in touched for root in one.touched)
        ]
        if lasting:
            every = JoinOp.make([carried, *lasting])
            last = Builder.before(end).value(every)
            end.operands = [*end.operands[:-1], last]
        return [self._finish(loop.results[-1], touched, state)]

    def _is_rotating(self, reaches: Sequence[Reach], loop: scf.ForOp) -> bool:
        """Whether trips of `loop` take turns in memory that was there before it."""
        return any(defined_in(reach.buffer, loop) for reach in reaches)

    def _branches(self, op: scf.IfOp, state: State) -> list[Launched]:
        touched = self._outside(self._touched_in(op), op)
        for region in op.regions:
            for block in region.blocks:
                launched = self._block(block, copy_of(state))
                if launched:
                    end = block.ops.last
                    assert end is not None
                    every = JoinOp.make([one.events for one in launched])
                    last = Builder.before(end).value(every)
                    end.operands = [*end.operands[:-1], last]
        return [self._finish(op.results[-1], touched, state)] if touched else []

    def _finish(self, result: SSAValue, touched: Touched, state: State) -> Launched:
        """Behind control flow its tasks are known by one value."""
        for root, reaches in touched.items():
            self._add(Pending(result, reaches), root, state)
        return Launched(result, touched)

    def _add(self, pending: Pending, root: SSAValue, state: State) -> None:
        """From here on `root` has been touched by these tasks as well."""
        self._order.setdefault(pending.events, len(self._order))
        state.setdefault(root, []).append(pending)

    def _touched_in(self, op: Operation) -> Touched:
        """What tasks inside `op` touch, as each of them does."""
        return self._by_root(
            reach
            for tasks, touched in self.touched.items()
            if tasks.parent is not None and defined_in(tasks.events, op)
            for reaches in touched.values()
            for reach in reaches
        )

    def _outside(self, inside: Touched, op: scf.ForOp | scf.IfOp) -> Touched:
        """What of it is memory that lasts longer than `op`, as all tasks touch it."""
        handed_on = {self.roots.root(result) for result in op.results}
        return {
            root: tuple(
                dict.fromkeys(
                    over_trips(reach, op, self.shapes, self.facts) for reach in reaches
                )
            )
            for root, reaches in inside.items()
            if root in handed_on
            or not all(defined_in(one, op) for one in self.roots.origins(root))
        }


def is_of_one_trip(buffer: SSAValue, loop: scf.ForOp) -> bool:
    """
    Whether what is in `buffer` was written in this trip of `loop`.

    Then only that writer has to wait for the trips before.
    """
    if is_parallel(loop):
        return True
    while isinstance(buffer.owner, ReshapeOp | ReinterpretOp):
        buffer = buffer.owner.source
    return isinstance(buffer.owner, PlaceOp) and defined_in(buffer, loop)


def is_between(theirs: Reach, cover: Reach, mine: Reach) -> bool:
    """
    Whether tasks that touch a whole buffer come after `theirs` and before `mine`.

    Where the two meet, one of them being in that buffer, some task of the cover is.
    """
    return (
        (cover.buffer is theirs.buffer or cover.buffer is mine.buffer)
        and in_conflict(theirs.mode, cover.mode)
        and in_conflict(cover.mode, mine.mode)
    )


def copy_of(state: State) -> State:
    """The state as a nested block may extend it."""
    return {root: list(pending) for root, pending in state.items()}


def carry_events(block: Block) -> None:
    """Loops and branches around tasks hand on events, none so far."""
    for op in list(block.ops):
        if not isinstance(op, scf.ForOp | scf.IfOp):
            continue
        for region in op.regions:
            for inner in region.blocks:
                carry_events(inner)
        if any(isinstance(inner, TasksOp) for inner in op.walk()):
            replace_op(
                op, with_carried(op) if isinstance(op, scf.ForOp) else with_events(op)
            )


def with_carried(loop: scf.ForOp) -> scf.ForOp:
    """`loop` with one more carried value, which its trips hand on as it is."""
    start = Builder.before(loop).value(NoEventsOp.make())
    body = loop.detach_region(loop.body)
    carried = body.block.insert_arg(start.type, len(body.block.args))
    end = body.block.last_op
    assert end is not None
    end.operands = [*end.operands, carried]
    return scf.ForOp.create(
        operands=[*loop.operands, start],
        result_types=[*(r.type for r in loop.results), start.type],
        attributes=loop.attributes,
        properties=loop.properties,
        regions=[body],
        location=loop.location,
    )


def with_events(op: scf.IfOp) -> scf.IfOp:
    """`op` with one more result, which is no events in both branches."""
    regions = [op.detach_region(region) for region in list(op.regions)]
    for index, region in enumerate(regions):
        if not region.blocks:
            region = regions[index] = Region(Block([scf.YieldOp()]))
        end = region.block.last_op
        assert end is not None
        none = Builder.before(end).value(NoEventsOp.make())
        end.operands = [*end.operands, none]
    return scf.IfOp.create(
        operands=list(op.operands),
        result_types=[*(r.type for r in op.results), EVENTS],
        attributes=op.attributes,
        properties=op.properties,
        regions=regions,
        location=op.location,
    )


def is_known(key: Hashable, tasks: TasksOp) -> bool:
    """Whether a symbol of a selector is a grid index, or has its value by then."""
    value = value_of(key)
    return value is None or value in tasks.grid_args or defined_before(value, tasks)
