"""
The fewest flags that meet the needs of each block of a kernel.

Blocks are planned from the inside out, each by itself (see `hazards`). Within one:

1. Forward. In program order, keep what each pipe knows of the others (`clocks`). Where
   a need is not known to be met, add a flag: set after the source's item, waited for
   before the target's. What a flag brings is everything its source knew, so the latest
   need is served first and often covers the others. One flag serves a whole load group:
   the run of instructions that needs it and the run that it needs.
2. Carried, for a block in a loop. The same over a second trip, in which the waits of
   step 1 are there and the knowledge of the first trip. A need of the trip before that
   is not met becomes a carried flag: waited for in one trip, set in an earlier one, one
   token for each slot. The token is there before the first trip (set before the
   outermost loop) and is taken back after the last, so that every block leaves each
   flag as it found it, whether it runs no time, once or often. With n slots, n trips
   may be under way: two trips need order only if their slot is the same, so it is
   enough to look at those.
3. Guards. A flag may not be set again before it was waited for. For a forward flag the
   next trip's set must know of this trip's wait: from carried flags, which also say how
   many trips can be under way, and so whether it takes one id or one for each slot. For
   a carried flag, the wait and the set of one trip must be ordered, which can fail if
   one of them goes with a branch. Where a guard fails, another flag is added for it.

A pair of pipes that ran out of flag ids is planned with fewer (`flag_limits`).
"""

from __future__ import annotations

from dataclasses import field

from pyptoc.dialects.record import record
from pyptoc.passes.clocks import TRIP, Clocks, after, before, shift
from pyptoc.passes.flag_limits import Level, Limits
from pyptoc.passes.hazards import (
    PIPES,
    BlockNode,
    Hazards,
    Item,
    SlotKey,
    bits,
    forget,
    summarize,
)
from pyptoc.passes.needs import (
    ItemNeeds,
    Need,
    Needs,
    Pair,
    find_needs,
    latest,
    runs_of,
)


@record(frozen=False, eq=False)
class Flag:
    """A set_flag and a wait_flag (or one for each slot) for a pair of pipes."""

    pair: Pair
    set_item: int
    """It is set just after this item (`closing`: just before)."""
    wait_item: int
    """It is waited for just before this item (`closing`: just after)."""
    carried: bool
    slot: SlotKey | None = None
    closing: bool = False
    """It tells the source of a carried flag that this trip's wait is over."""
    base: int = -1
    """Its first id."""

    @property
    def width(self) -> int:
        """How many ids it takes."""
        return 1 if self.slot is None else self.slot.slots


@record(frozen=False, eq=False)
class BlockPlan:
    """The flags and barriers of one block, and what its pipes know in one trip."""

    node: BlockNode
    flags: list[Flag] = field(default_factory=list[Flag])
    barriers: set[int] = field(default_factory=set[int])
    """Items that have a barrier before them."""
    clocks: Clocks = field(default_factory=Clocks)
    drained: dict[int, list[tuple[Flag, int]]] = field(default_factory=dict)
    """Outside loops: the carried flags taken back after an item, and the position that
    their sources have reached then."""

    @property
    def carried(self) -> list[Flag]:
        return [flag for flag in self.flags if flag.carried]


def plan_flags(hazards: Hazards, limits: Limits) -> dict[BlockNode, BlockPlan]:
    """A plan for each node of the kernel, inner ones first."""
    plans: dict[BlockNode, BlockPlan] = {}
    tokens: dict[Item, list[tuple[Flag, int]]] = {}
    for node in hazards.root.walk():
        for item in node.items:
            if item.nodes:
                summarize(item)
            else:
                forget(item)
        plan = BlockPlan(node)
        if node is hazards.root:
            plan.barriers |= limits.barriers
        if node.loop is None:
            plan.drained = {
                number: tokens[item]
                for number, item in enumerate(node.items)
                if item in tokens
            }
        _Planner(plan, hazards, limits).run()
        if node.loop is not None:
            tokens.setdefault(node.loop, []).extend(
                (flag, _reached(node, node.loop, flag)) for flag in plan.carried
            )
        plans[node] = plan
    return plans


def _reached(node: BlockNode, loop: Item, flag: Flag) -> int:
    """What the source of a carried flag has reached when the loop gives it back.

    Every trip sets it if it is set in the body of the loop itself. An inner loop may
    have run no time in the last trip: then all that is sure is what was before.
    """
    if node.block.parent_op() is loop.op:
        return node.items[flag.set_item].last
    return loop.first - 1


class _Planner:
    """Plans one block."""

    def __init__(self, plan: BlockPlan, hazards: Hazards, limits: Limits) -> None:
        self.plan = plan
        self.items = plan.node.items
        self.limits = limits
        self.hazards = hazards
        self.runs = runs_of(self.items)

    def run(self) -> None:
        needs = find_needs(
            self.plan.node,
            self.hazards,
            lambda pair: self.limits.level(pair) < Level.UNSLOTTED,
        )
        if self.plan.node is self.hazards.root:
            for order in self.limits.orders:
                over = self.items[order.after_item].last + 1
                asked = Need(over, order.after_item, 0, 0)
                wanted = needs.forward[order.before_item]
                wanted[order.pair] = latest(wanted.get(order.pair), asked)
        self.plan.clocks = self.first_trip(needs.forward)
        if self.plan.node.loop is not None:
            self.carry(needs)
            while self.guard():
                self.plan.clocks = self.first_trip()
        self.publish()

    # Trips ---------------------------------------------------------------------------

    def first_trip(self, needs: list[ItemNeeds] | None = None) -> Clocks:
        """What is known in a trip of which nothing went before; adds forward flags."""
        return _Trip(self, Clocks(), None, None).run(needs)

    def later_trip(
        self, slot: SlotKey | None, needs: list[ItemNeeds] | None = None
    ) -> Clocks:
        """What is known in a trip after one that used the same `slot`."""
        first = self.plan.clocks
        return _Trip(self, Clocks(first.next_trip()), first, slot).run(needs)

    def carry(self, needs: Needs) -> None:
        """Step 2; the flags that hold for any two trips come first."""
        groups = sorted(needs.carried, key=lambda slot: slot.number if slot else -1)
        for slot in groups:
            self.later_trip(slot, needs.carried[slot])
            # A barrier may have been added, which is known in the first trip too.
            self.plan.clocks = self.first_trip()

    # Guards --------------------------------------------------------------------------

    def guard(self) -> bool:
        """Step 3; whether it had to add something, so that it must run again."""
        return self.guard_carried() or self.guard_forward()

    def guard_carried(self) -> bool:
        added = False
        for flag in self.plan.carried:
            source, target = flag.pair
            known = self.plan.clocks.at(source, after(flag.set_item))[target]
            if known >= self.items[flag.wait_item].first - 1:
                continue
            added = True
            back = target, source
            if self.limits.level(back) == Level.BARRIER:
                self.plan.flags.remove(flag)
                self.plan.barriers.add(flag.wait_item)
            else:
                closing = Flag(
                    back, flag.wait_item, flag.set_item, False, flag.slot, True
                )
                self.plan.flags.append(closing)
        return added

    def guard_forward(self) -> bool:
        slots: list[SlotKey | None] = [None]
        slots += {flag.slot: 0 for flag in self.plan.carried if flag.slot}
        trips = [(slot, self.later_trip(slot)) for slot in slots]
        for flag in self.plan.flags:
            if flag.carried or flag.closing:
                continue
            source, target = flag.pair
            waited = self.items[flag.wait_item].first - 1 - TRIP
            for slot, clocks in trips:
                usable = slot is None or slot.number < self.items[flag.set_item].number
                known = clocks.at(source, after(flag.set_item))[target]
                if usable and known >= waited:
                    flag.slot = slot
                    break
            else:
                self.order_back(flag)
                return True
        return False

    def order_back(self, flag: Flag) -> None:
        """Let the source of a forward flag know that the trip before waited for it."""
        back = flag.pair[1], flag.pair[0]
        if self.limits.level(back) == Level.BARRIER:
            self.plan.barriers.add(flag.set_item)
        else:
            self.plan.flags.append(Flag(back, flag.wait_item, flag.set_item, True))

    # Result --------------------------------------------------------------------------

    def publish(self) -> None:
        """Say for each access what is known around it, for the blocks further out."""
        clocks = self.plan.clocks
        end = clocks.now
        for number, item in enumerate(self.items):
            primed: dict[int, int] = {}
            drained: dict[int, int] = {}
            for flag in self.plan.carried:
                source, target = flag.pair
                if flag.wait_item <= number:
                    primed[target] = primed.get(target, 0) | 1 << source
                if flag.set_item >= number:
                    drained[source] = drained.get(source, 0) | 1 << target
            for access in item.accesses:
                row = clocks.at(access.pipe, before(number))
                for pipe in range(len(PIPES)):
                    access.entered |= (row[pipe] >= 0) << pipe
                    access.left |= (end[pipe][access.pipe] >= access.last) << pipe
                access.primed |= primed.get(access.pipe, 0)
                access.drained |= drained.get(access.pipe, 0)


class _Trip:
    """One trip through a block: what becomes known, and flags for what does not."""

    def __init__(
        self,
        planner: _Planner,
        clocks: Clocks,
        earlier: Clocks | None,
        slot: SlotKey | None,
    ) -> None:
        self.plan = planner.plan
        self.items = planner.items
        self.limits = planner.limits
        self.runs = planner.runs
        self.clocks = clocks
        self.earlier = earlier
        self.slot = slot
        self.waits: dict[int, list[Flag]] = {}
        self.needs: list[ItemNeeds] = []

    def run(self, needs: list[ItemNeeds] | None) -> Clocks:
        """`needs`: what the trip must meet; None if it only looks."""
        self.needs = needs or []
        for flag in self.plan.flags:
            if flag.carried and self.earlier is None:
                continue
            stage = after(flag.wait_item) if flag.closing else before(flag.wait_item)
            self.waits.setdefault(stage, []).append(flag)
        for number, item in enumerate(self.items):
            self.take(before(number))
            if number in self.plan.barriers:
                self.clocks.barrier(before(number), item.first - 1)
            if self.needs and self.needs[number]:
                self.meet(number)
            self.take(after(number))
            for flag, position in self.plan.drained.get(number, ()):
                row = self.clocks.at(flag.pair[0], before(number))
                self.learn(flag, after(number), row, position)
        return self.clocks

    def take(self, stage: int) -> None:
        for flag in self.waits.get(stage, ()):
            self.wait(flag, stage)

    def wait(self, flag: Flag, stage: int) -> None:
        """The target of a flag learns what the source knew when it set it."""
        source = flag.pair[0]
        item = self.items[flag.set_item]
        if flag.closing:
            row = self.clocks.at(source, before(flag.set_item))
            self.learn(flag, stage, row, item.first - 1)
        elif not flag.carried:
            row = self.clocks.at(source, after(flag.set_item))
            self.learn(flag, stage, row, item.last + 2)
        elif self.earlier is not None and flag.slot in (None, self.slot):
            row = shift(self.earlier.at(source, after(flag.set_item)))
            self.learn(flag, stage, row, item.last + 2 - TRIP)

    def learn(
        self, flag: Flag, stage: int, row: tuple[int, ...], position: int
    ) -> None:
        source, target = flag.pair
        self.clocks.learn(target, stage, row, source, position)

    def meet(self, number: int) -> None:
        """Add what the needs of an item lack, the latest first."""
        needs = self.needs[number]
        for pair in sorted(needs, key=lambda pair: (-needs[pair].position, pair)):
            if self.is_met(pair, needs[pair]):
                continue
            if self.limits.level(pair) == Level.BARRIER:
                self.plan.barriers.add(number)
                self.clocks.barrier(before(number), self.items[number].first - 1)
                return
            item = self.extended(number, pair).item
            carried = self.earlier is not None
            flag = Flag(pair, item, number, carried, self.slot if carried else None)
            self.plan.flags.append(flag)
            self.wait(flag, before(number))

    def is_met(self, pair: Pair, need: Need) -> bool:
        """Whether the target, or a pipe it waits for, knows of the source, or of one
        that waited for it."""
        source, target = pair
        trip = TRIP if self.earlier is not None else 0
        rows = self.clocks.now
        for knowing in bits(need.entered | 1 << target):
            row = rows[knowing]
            if row[source] >= need.position - trip:
                return True
            if need.left:
                over = self.items[need.item].last + 1 - trip
                if any(row[pipe] >= over for pipe in bits(need.left)):
                    return True
        return False

    def extended(self, number: int, pair: Pair) -> Need:
        """The need of the whole group that an item begins, for one flag."""
        need = self.needs[number][pair]
        merge = self.earlier is not None and self.limits.level(pair) >= Level.MERGED
        for later in range(number + 1, len(self.items)):
            if not merge and self.runs[later] != self.runs[number]:
                break
            other = self.needs[later].get(pair)
            if other is None or other.position <= need.position:
                continue
            if merge or self.runs[other.item] == self.runs[need.item]:
                need = other
        return need
