"""
What a task waits for: the tasks before it that touch the same bytes, one writing.

    %t0 = npu.tasks (%i, %j) ... write %y[16 * %i, 256 * %j] [16, 256]
    %t1 = npu.tasks (%i, %j) ... read %y[64 * %i, 256 * %j] [64, 256]
    ->  %t1 waits after(%t0[4 * %i : 4 * %i + 4, %j])

Where the producer cuts a dimension evenly by a grid index, the consumer's box selects a
range of that index. Where data decides, or the producer is a loop's worth of tasks, the
wait is `%e overlaps`: the launch compares the declared boxes. Loops carry events: in a
sequential loop a trip may depend on the trips before, in a parallel one it does not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, Region, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.interval import Interval
from pyptoc.dialects.npu import JoinOp, NoEventsOp, PrintOp, ReadOp, TasksOp
from pyptoc.dialects.npu_attrs import ALL, EVENTS, OVERLAPS, Selector
from pyptoc.passes.accesses import BoxAccess, accesses_of
from pyptoc.passes.buffer_roots import BufferRoots
from pyptoc.passes.builder import Builder
from pyptoc.passes.shapes import Shapes, static_bound
from pyptoc.passes.task_builder import Roots
from pyptoc.passes.task_form import declare, replace_op

ControlFlow = TypeVar("ControlFlow", scf.ForOp, scf.IfOp)

Wait = tuple[SSAValue, Selector]


@dataclass(frozen=True)
class Pending:
    """Tasks that were launched: their events and what they touch of one root."""

    events: SSAValue
    tasks: TasksOp | None
    """The one op behind the events; None for a loop's worth."""
    writes: bool


State = dict[SSAValue, list[Pending]]
"""Root to the tasks that have touched it so far."""


@dataclass
class WaitDeriver:
    """Adds events, accesses and waits to one function in memory form."""

    function: func.FuncOp
    shapes: Shapes
    dims: Roots
    roots: BufferRoots = field(init=False)
    accesses: dict[TasksOp, list[BoxAccess]] = field(
        default_factory=dict[TasksOp, list[BoxAccess]]
    )

    def __post_init__(self) -> None:
        self.roots = BufferRoots(self.function)

    def run(self) -> None:
        """Thread events through the whole function."""
        self._block(self.function.body.block, {})

    def _block(self, block: Block, state: State) -> list[SSAValue]:
        """Process a block; the events of everything it launches."""
        launched: list[SSAValue] = []
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

    def _tasks(self, op: TasksOp, state: State) -> SSAValue:
        """Declare what `op` touches and waits for; its events."""
        waits: dict[Wait, None] = {}
        mine = accesses_of(op, self.shapes)
        for access in mine:
            root = self.roots.root(access.buffer)
            for pending in state.get(root, ()):
                if pending.writes or access.writes:
                    for selector in self._selectors(op, access, pending, root):
                        waits[pending.events, selector] = None
        declared = declare(op, mine, simplified(waits), self.dims)
        self.accesses[declared] = mine
        for root in dict.fromkeys(self.roots.root(access.buffer) for access in mine):
            touched = [a for a in mine if self.roots.root(a.buffer) is root]
            writes = any(access.writes for access in touched)
            pending = Pending(declared.events, declared, writes)
            state.setdefault(root, []).append(pending)
        return declared.events

    def _selectors(
        self, op: TasksOp, access: BoxAccess, pending: Pending, root: SSAValue
    ) -> Iterable[Selector]:
        """The tasks of `pending` whose boxes meet `access` of `op`."""
        if pending.tasks is None:
            yield OVERLAPS
            return
        ranges = {**grid_ranges(op), **grid_ranges(pending.tasks)}
        for other in self.accesses[pending.tasks]:
            if self.roots.root(other.buffer) is not root:
                continue
            if not (other.writes or access.writes):
                continue
            if other.buffer is not access.buffer:
                yield OVERLAPS
            elif not are_apart(other, access, ranges):
                yield selector_of(pending.tasks, other, access)

    def _read(self, op: ReadOp | PrintOp, state: State) -> None:
        root = self.roots.root(op.source)
        events = [p.events for p in state.get(root, ()) if p.writes]
        waits = list(dict.fromkeys(events))
        if waits:
            op.set_waits(waits)

    # -- control flow

    def _loop(self, loop: scf.ForOp, state: State) -> list[SSAValue]:
        touched = self._touched(loop)
        if not touched:
            self._block(loop.body.block, copy_of(state))
            return []
        parallel = "npu.parallel" in loop.attributes
        build = Builder.before(loop)
        start = build.value(NoEventsOp.make())
        loop = self._renew(loop, with_carried(loop, start))
        carried = loop.body.block.args[-1]
        inner = copy_of(state)
        if not parallel:
            for root, writes in touched.items():
                inner.setdefault(root, []).append(Pending(carried, None, writes))
        launched = self._block(loop.body.block, inner)
        end = loop.body.block.ops.last
        assert end is not None
        joined = Builder.before(end).value(JoinOp.make([carried, *launched]))
        end.operands = [*end.operands, joined]
        result = loop.results[-1]
        for root, writes in touched.items():
            state.setdefault(root, []).append(Pending(result, None, writes))
        return [result]

    def _branches(self, op: scf.IfOp, state: State) -> list[SSAValue]:
        touched = self._touched(op)
        if not touched:
            for region in op.regions:
                for block in region.blocks:
                    self._block(block, copy_of(state))
            return []
        op = self._renew(op, with_events(op))
        for region in op.regions:
            block = region.block
            launched = self._block(block, copy_of(state))
            end = block.ops.last
            assert end is not None
            build = Builder.before(end)
            every = JoinOp.make(launched) if launched else NoEventsOp.make()
            joined = build.value(every)
            end.operands = [*end.operands, joined]
        result = op.results[-1]
        for root, writes in touched.items():
            state.setdefault(root, []).append(Pending(result, None, writes))
        return [result]

    def _renew(self, old: ControlFlow, new: ControlFlow) -> ControlFlow:
        """Put `new` in the place of `old`; its results point where the old ones did."""
        for before, after in zip(old.results, new.results, strict=False):
            self.roots.alias(before, after)
        replace_op(old, new)
        return new

    def _touched(self, op: Operation) -> dict[SSAValue, bool]:
        """The roots that tasks inside `op` touch, and whether any writes."""
        found: dict[SSAValue, bool] = {}
        for inner in op.walk():
            if isinstance(inner, TasksOp):
                for access in accesses_of(inner, self.shapes):
                    root = self.roots.root(access.buffer)
                    found[root] = found.get(root, False) or access.writes
        return found


def simplified(waits: Iterable[Wait]) -> tuple[list[SSAValue], list[Selector]]:
    """Waits without those that another one on the same events includes."""
    by_events: dict[SSAValue, list[Selector]] = {}
    for events, selector in waits:
        by_events.setdefault(events, []).append(selector)
    values: list[SSAValue] = []
    selectors: list[Selector] = []
    for events, chosen in by_events.items():
        if ALL in chosen:
            chosen = [ALL]
        elif OVERLAPS in chosen:
            chosen = [OVERLAPS]
        values += [events] * len(chosen)
        selectors += chosen
    return values, selectors


def grid_ranges(tasks: TasksOp) -> dict[Hashable, Interval]:
    """Where the grid indices of `tasks` lie."""
    return {
        index: Interval(0, size - 1 if isinstance(size, int) else None)
        for index, size in zip(tasks.grid_args, tasks.grid, strict=True)
    }


def are_apart(
    one: BoxAccess, other: BoxAccess, ranges: Mapping[Hashable, Interval]
) -> bool:
    """Whether no task's `one` meets any task's `other`: columns side by side."""
    for lo, size, lo2, size2 in zip(
        one.lo, one.size, other.lo, other.size, strict=True
    ):
        for gap in (lo2 - lo - size, lo - lo2 - size2):
            least = gap.interval(ranges).lo
            if least is not None and least >= 0:
                return True
    return False


def selector_of(tasks: TasksOp, theirs: BoxAccess, mine: BoxAccess) -> Selector:
    """The range of each grid index of `tasks` whose box can meet `mine`."""
    ranges: list[tuple[Expr, Expr] | None] = []
    for index in tasks.grid_args:
        dims = [d for d, lo in enumerate(theirs.lo) if index in lo.symbols()]
        if not dims:
            ranges.append(None)
            continue
        if len(dims) > 1:
            return OVERLAPS
        found = index_range(index, tasks, theirs, mine, dims[0])
        if found is None:
            return OVERLAPS
        ranges.append(found)
    return ALL if all(r is None for r in ranges) else Selector.box(*ranges)


def index_range(
    index: SSAValue, tasks: TasksOp, theirs: BoxAccess, mine: BoxAccess, dim: int
) -> tuple[Expr, Expr] | None:
    """With boxes at `base + step * index` of at most `step`: the indices that meet."""
    lo = theirs.lo[dim]
    step = lo.subs({index: Expr.sym(index) + 1}) - lo
    bound = static_bound(theirs.size[dim])
    if not step.is_const or bound is None or not bound <= step.value:
        return None
    base = lo - step * Expr.sym(index)
    grid = set(tasks.grid_args)
    if any(key in grid for key in base.symbols()):
        return None
    start = mine.lo[dim] - base
    return start.floordiv(step.value), (start + mine.size[dim]).ceildiv(step.value)


def copy_of(state: State) -> State:
    """The state as a nested block may extend it."""
    return {root: list(pending) for root, pending in state.items()}


def with_carried(loop: scf.ForOp, start: SSAValue) -> scf.ForOp:
    """`loop` with one more carried value; its yield still lacks it."""
    body = loop.detach_region(loop.body)
    body.block.insert_arg(start.type, len(body.block.args))
    return scf.ForOp.create(
        operands=[*loop.operands, start],
        result_types=[*(r.type for r in loop.results), start.type],
        attributes=loop.attributes,
        properties=loop.properties,
        regions=[body],
        location=loop.location,
    )


def with_events(op: scf.IfOp) -> scf.IfOp:
    """`op` with an events result and both branches; their yields still lack it."""
    regions = [op.detach_region(region) for region in list(op.regions)]
    for index, region in enumerate(regions):
        if not region.blocks:
            regions[index] = Region(Block([scf.YieldOp()]))
    return scf.IfOp.create(
        operands=list(op.operands),
        result_types=[*(r.type for r in op.results), EVENTS],
        attributes=op.attributes,
        properties=op.properties,
        regions=regions,
        location=op.location,
    )
