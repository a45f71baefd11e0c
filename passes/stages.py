"""
How many trips late each operation of a pair of loops runs, so that cores overlap.

The cube core works on a tile, the vector cores on what comes of it, the cube core on
what comes of that: whenever the work of a trip comes back to the side where it began,
that side goes on one trip later, and takes up the next tile meanwhile.

    cube    push scores          0        vector  pop scores, push weights    0
            pop weights, push y  1                pop y, add it up            1

What depends on something is not earlier than that. What a buffer carries from trip to
trip stays in one stage, as do a popped tile and its uses. If that makes a stage later
than itself, the loops cannot be skewed. What only serves a later stage runs as late as
that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.pypto.scalars import AssertOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import Instruction
from pyptoc.dialects.tile_mixed import PopOp, PushOp
from pyptoc.passes.messages import LoopPair, Message, messages_in, stands_still
from pyptoc.passes.stage_values import Web, find_webs

_SIMULATED = 8
"""Trips that are simulated behind the first ones, which fill the stages."""


@record
class Stuck:
    """Why two loops cannot be skewed: at `op`, which would have to be after itself."""

    op: Operation
    reason: str


@record(frozen=False)
class Side:
    """The operations of one loop of a pair that do something."""

    loop: scf.ForOp
    nodes: list[Operation]
    webs: list[Web]
    late: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """How many trips late each node runs."""

    @property
    def last(self) -> int:
        return max(self.late.values(), default=0)

    def in_order(self) -> list[Operation]:
        """The nodes as one trip of the skewed loop runs them."""
        return sorted(self.nodes, key=lambda node: self.late[node])


def _side(loop: scf.ForOp) -> Side:
    nodes = [op for op in loop.body.block.ops if any(map(_acts, op.walk()))]
    return Side(loop, nodes, find_webs(loop, nodes))


def _acts(op: Operation) -> bool:
    """Whether an operation does more than compute scalars, which may be done again."""
    return isinstance(op, Instruction | AssertOp)


def plan_stages(pair: LoopPair) -> dict[Unit, Side] | Stuck:
    """The stages of both loops, with as few as can be; or why there are none."""
    plans: list[dict[Unit, Side]] = []
    stuck: Stuck | None = None
    for leader in (Unit.CUBE, Unit.VECTOR):
        sides = {unit: _side(loop) for unit, loop in pair.loops.items()}
        found = _Solver(sides, leader).run()
        if found is None and not _stops(sides):
            plans.append(sides)
        stuck = stuck or found
    if not plans:
        return stuck or Stuck(pair.cube, "a channel would need more than one slot")
    return min(plans, key=lambda sides: sum(side.last for side in sides.values()))


def _stops(sides: dict[Unit, Side]) -> bool:
    """Whether the skewed loops would come to a deadlock."""
    trips = max(side.last for side in sides.values()) + _SIMULATED
    return stands_still([_trace(side, trips) for side in sides.values()])


def _trace(side: Side, trips: int) -> list[Message]:
    order = side.in_order()
    inside = {node: messages_in(node) for node in order}
    return [
        message
        for turn in range(trips + side.last)
        for node in order
        if 0 <= turn - side.late[node] < trips
        for message in inside[node]
    ]


class _Solver:
    """Finds how late each node is, on both sides at once."""

    def __init__(self, sides: dict[Unit, Side], leader: Unit) -> None:
        self.sides, self.leader = sides, leader
        self.parent: dict[Operation, Operation] = {}
        self.place: dict[Operation, int] = {}
        """Where each node stands in its loop."""
        self.carried: dict[Operation, str] = {}
        self.popped: dict[Operation, str] = {}
        """For nodes that a buffer ties to others: why."""
        self.edges: list[tuple[Operation, Operation, int]] = []
        self.channels: dict[SSAValue, dict[bool, list[Operation]]] = {}
        for side in sides.values():
            for number, node in enumerate(side.nodes):
                self.parent[node], self.place[node] = node, number
            for node in side.nodes:
                self._tie([node, *self._readers(node)])
            for web in side.webs:
                self._web(web)
            self._messages(side)
        self._across()

    def run(self) -> Stuck | None:
        """Set `late` of both sides."""
        late = dict.fromkeys(self.parent, 0)
        # Past `enough`, stages go round in a circle; a while later all of it is past.
        enough = len(self.channels) + 1
        changed = True
        while changed:
            changed = False
            for source, target, more in self.edges:
                a, b = self._find(source), self._find(target)
                if late[a] + more > late[b]:
                    late[b] = late[a] + more
                    changed = True
                    if late[b] > 2 * enough:
                        return self._stuck({n for n in late if late[n] > enough})
        self._sink(late)
        for side in self.sides.values():
            found = {node: late[self._find(node)] for node in side.nodes}
            least = min(found.values(), default=0)
            side.late = {node: number - least for node, number in found.items()}
        return None

    def _stuck(self, roots: set[Operation]) -> Stuck:
        """Which of the ties in a circle to name: what is carried, if anything is."""
        circle = [node for node in self.parent if self._find(node) in roots]
        for reasons in (self.carried, self.popped):
            for node in circle:
                if node in reasons:
                    return Stuck(node, reasons[node])
        return Stuck(circle[0], "it has messages of two stages")

    # -- what ties nodes, and what orders them

    def _find(self, node: Operation) -> Operation:
        while self.parent[node] is not node:
            node = self.parent[node]
        return node

    def _tie(self, nodes: Sequence[Operation]) -> None:
        for node in nodes:
            self.parent[self._find(node)] = self._find(nodes[0])

    def _readers(self, node: Operation) -> set[Operation]:
        """The nodes that need a scalar which a loop or branch gives."""
        found: set[Operation] = set()
        waiting = list(node.results) if node.regions else []
        while waiting:
            for use in waiting.pop().uses:
                user = use.operation
                while user.parent is not node.parent:
                    parent = user.parent_op()
                    assert parent is not None
                    user = parent
                if user in self.parent:
                    found.add(user)
                else:
                    waiting += user.results
        return found

    def _web(self, web: Web) -> None:
        users = web.users
        if web.carried:
            self._tie(users)
            for node in users:
                self.carried[node] = f"{_name(web)} is carried from trip to trip"
        elif web.alloc is None:
            self._tie(users)
            for node in users:
                self.popped[node] = f"{_name(web)} is used in two stages"
        else:
            written = set(web.writes)
            users.sort(key=self.place.__getitem__)
            for number, node in enumerate(users):
                for later in users[number + 1 :]:
                    if node in written or later in written:
                        self.edges.append((node, later, 0))

    def _messages(self, side: Side) -> None:
        popped: dict[SSAValue, Operation] = {}
        pushed: dict[SSAValue, Operation] = {}
        for node in side.nodes:
            for message in messages_in(node):
                pushes = isinstance(message, PushOp)
                if isinstance(message, PushOp):
                    # A tile that goes twice waits where it goes to.
                    first = pushed.setdefault(message.source, node)
                    if node.prev_op is first:
                        self._tie([first, node])
                ends = self.channels.setdefault(message.channel, {})
                ends.setdefault(pushes, []).append(node)
                if isinstance(message, PopOp):
                    popped[message.channel] = node
                elif not pushes and message.channel in popped:
                    self._tie([popped[message.channel], node])

    def _across(self) -> None:
        """A pop is as late as the push, and one later where the work began."""
        for ends in self.channels.values():
            pushing, popping = ends.get(True, []), ends.get(False, [])
            self._tie(pushing)
            self._tie(popping)
            if pushing and popping:
                back = popping[0] in self.sides[self.leader].nodes
                self.edges.append((pushing[0], popping[0], int(back)))

    def _sink(self, late: dict[Operation, int]) -> None:
        """What serves later stages only runs as late as they allow."""
        changed = True
        while changed:
            changed = False
            most: dict[Operation, int] = {}
            for source, target, more in self.edges:
                a, b = self._find(source), self._find(target)
                if a is not b:
                    most[a] = min(most.get(a, late[b] - more), late[b] - more)
            for node, bound in most.items():
                if bound > late[node]:
                    late[node] = bound
                    changed = True


def _name(web: Web) -> str:
    if web.alloc is not None:
        return f"%{web.alloc.results[0].name_hint or 'a buffer'}"
    value = next(iter(web.values))
    return f"%{value.name_hint or 'memory'}"
