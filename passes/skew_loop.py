"""
Writing a skewed loop: the stages of one trip, each on a trip of its own.

    scf.for %t = 0 to %n { A(%t) ; B(%t) }
    ->
    scf.for %t = 0 to %n + 1 {
      scf.if %t < %n  { A(%t) }
      scf.if %t >= 1 { B(%t - 1) } }

A buffer that one stage fills and a later one reads gets a slot for each trip that is on
its way between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from pyptoc.dialects.expr import Compare, Expr, minimum
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import AllocOp, SlotOp
from pyptoc.passes.builder import Builder
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.stage_values import Web
from pyptoc.passes.stages import Side


@record(frozen=False, eq=False)
class _Queue:
    """The slots of a buffer that goes from stage to stage."""

    alloc: AllocOp
    values: set[SSAValue]
    """What the buffer was in the old loop."""
    nodes: set[Operation]
    """Where it is meant."""


def skew_loop(side: Side) -> None:
    """Replace the loop of `side` by one whose stages are as late as planned."""
    if side.last:
        _Writer(side).run()


class _Writer:
    def __init__(self, side: Side) -> None:
        self.side, self.loop = side, side.loop
        shapes = Shapes()
        self.lower, self.upper, self.step = (
            e if (e := shapes.expr(value)).is_const else Expr.sym(value)
            for value in (self.loop.lb, self.loop.ub, self.loop.step)
        )
        self.build = Builder.before(self.loop)
        self.queues = [
            self._queue(web)
            for web in side.webs
            if web.alloc is not None and self._span(web)
        ]

    def run(self) -> None:
        old, last = self.loop, self.side.last
        counter = old.body.block.args[0]
        upper = self.build.index(self.upper + last * self.step, "trips")
        body = Block(arg_types=[counter.type])
        body.args[0].name_hint = counter.name_hint
        body.args[0].location = counter.location
        new = scf.ForOp.create(
            operands=[old.lb, upper, old.step],
            regions=[Region(body)],
            attributes=dict(old.attributes),
        )
        self.build.emit(new)
        inside = self.build.at_end(body)
        for number in range(last + 1):
            self._stage(number, body.args[0], inside)
        inside.yield_()
        old.detach()
        old.erase(safe_erase=False)

    def _span(self, web: Web) -> int:
        """The trips between the first and the last stage that uses a buffer."""
        late = [self.side.late[node] for node in web.users]
        return max(late) - min(late)

    def _queue(self, web: Web) -> _Queue:
        assert web.alloc is not None
        alloc = AllocOp.make(web.alloc.type, self._span(web) + 1)
        build = Builder.before(self.loop)
        build.location = web.alloc.location
        build.emit(alloc, names=[web.alloc.results[0].name_hint])
        return _Queue(alloc, web.values, set(web.users))

    # -- one stage

    def _stage(self, number: int, counter: SSAValue, build: Builder) -> None:
        nodes = [node for node in self.side.nodes if self.side.late[node] == number]
        if not nodes:
            return
        trip = Expr.sym(counter) - number * self.step
        body = Block()
        branch = scf.IfOp.create(
            operands=[build.compare(self._condition(number, trip), f"stage{number}")],
            regions=[Region(body), Region()],
        )
        build.emit(branch)
        inside = build.at_end(body)
        old = self.loop.body.block
        values: dict[SSAValue, SSAValue] = {}
        needed = self._needed(nodes)
        if old.args[0] in needed:
            name = None if number == 0 else old.args[0].name_hint
            values[old.args[0]] = inside.index(trip, name)
        slots = self._slots(nodes, trip, inside)
        for op in old.ops:
            if op in set(nodes):
                self._clone(op, values | slots.get(op, {}), values, body)
            elif any(result in needed for result in op.results):
                self._clone(op, values, values, body)
        inside.yield_()

    def _condition(self, number: int, trip: Expr) -> Compare:
        """Whether the trip of a stage is one of the loop's."""
        begun, rest = trip - self.lower, self.upper - 1 - trip
        if number == 0:
            return Compare("<", trip, self.upper)
        if number == self.side.last:
            moved = number * self.step
            return Compare(">=", trip + moved, self.lower + moved)
        return Compare(">=", minimum(begun, rest), Expr.const(0))

    def _needed(self, nodes: Iterable[Operation]) -> set[SSAValue]:
        """The values of the old body that the nodes of a stage use."""
        block = self.loop.body.block
        needed: set[SSAValue] = set()
        queued = {
            (node, value)
            for queue in self.queues
            for node in queue.nodes
            for value in queue.values
        }
        waiting = [
            operand
            for node in nodes
            for op in node.walk()
            for operand in op.operands
            if (node, operand) not in queued
        ]
        while waiting:
            value = waiting.pop()
            owner = value.owner
            own = owner is block or (
                isinstance(owner, Operation) and owner.parent is block
            )
            if own and value not in needed:
                needed.add(value)
                if isinstance(owner, Operation) and owner not in self.side.late:
                    waiting += owner.operands
        return needed

    def _slots(
        self, nodes: Iterable[Operation], trip: Expr, build: Builder
    ) -> Mapping[Operation, dict[SSAValue, SSAValue]]:
        """For each node, the slots that this trip has of what goes between stages."""
        found: dict[Operation, dict[SSAValue, SSAValue]] = {}
        for queue in self.queues:
            here = [node for node in nodes if node in queue.nodes]
            if not here:
                continue
            turn = (trip - self.lower).floordiv(self.step)
            slot = build.index(turn.mod(queue.alloc.slot_count), "slot")
            buffer = build.value(SlotOp.make(queue.alloc.buffer, slot))
            buffer.name_hint = queue.alloc.buffer.name_hint
            for node in here:
                found.setdefault(node, {}).update(dict.fromkeys(queue.values, buffer))
        return found

    def _clone(
        self,
        op: Operation,
        reads: dict[SSAValue, SSAValue],
        values: dict[SSAValue, SSAValue],
        body: Block,
    ) -> None:
        new = op.clone(reads)
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint
            values[old] = result
        body.add_op(new)
