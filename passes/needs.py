"""
What has to be ordered in one block: for each item and pipe, after what of which others.

A *need* of item t says: before pipe Q starts on t, pipe P must have reached a position.
Forward needs are between two items of one trip through the block. Carried needs are
from a later item of one trip to an earlier one of a later trip (the other direction
follows: P is in order, and the forward flag of the later trip is set after both). They
are kept by the slot value that decides which trips meet; None if any two may.

Needs that hold anyway are left out: where a composite item has flags inside that come
before each of its accesses (`Access.entered`) or after each (`Access.left`). The pipes
of these flags are kept in the other needs, since it is enough if one of them is
ordered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.scf import IfOp

from pyptoc.dialects.record import record
from pyptoc.passes.hazards import (
    Access,
    BlockNode,
    Hazards,
    Item,
    SlotKey,
    Tenancy,
    common_slot,
    conflict,
    summarize,
)

Pair = tuple[int, int]
"""Source and target pipe."""


@record
class Need:
    """What must be over before an item starts on a pipe."""

    position: int
    """What the source must have reached,"""
    item: int
    """and the item in which that is."""
    left: int
    """Pipes (bits) that know it themselves once that item is over."""
    entered: int
    """Pipes (bits) for which the target waits inside its item before it starts."""


ItemNeeds = dict[Pair, Need]


@record(frozen=False, eq=False)
class Needs:
    """The needs of each item of a block."""

    forward: list[ItemNeeds]
    carried: dict[SlotKey | None, list[ItemNeeds]] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class _Seen:
    """The latest access of a kind so far."""

    access: Access
    item: int
    last: int
    left: int


_Table = dict[int, dict[tuple[int, SlotKey | int | None, bool], _Seen]]


def find_needs(
    node: BlockNode, hazards: Hazards, slotted: Callable[[Pair], bool]
) -> Needs:
    """
    The needs of a block whose items have their accesses.

    `slotted(pair)`: whether trips that use different slots may be told apart.
    """
    finder = _Finder(node, hazards, slotted)
    forward = [finder.forward(number, item) for number, item in enumerate(node.items)]
    needs = Needs(forward)
    if node.loop is not None:
        for number, item in enumerate(node.items):
            finder.carried(needs, number, item)
    return needs


class _Finder:
    def __init__(
        self, node: BlockNode, hazards: Hazards, slotted: Callable[[Pair], bool]
    ) -> None:
        self.node = node
        self.neighbours = hazards.neighbours
        self.slotted = slotted
        self.table: _Table = {}

    def forward(self, number: int, item: Item) -> ItemNeeds:
        """The needs of an item, which is then entered into the table."""
        needs: ItemNeeds = {}
        outside = self.node.loop is None
        for access in item.accesses:
            known = access.entered | (access.primed if outside else 0)
            for seen in self._conflicting(access):
                _add(needs, access.pipe, known, seen)
        for access in item.accesses:
            self._enter(access, number)
        return needs

    def carried(self, needs: Needs, number: int, item: Item) -> None:
        """Add the needs of an item to the trip before, of which the table is full."""
        for access in item.accesses:
            for seen in self._conflicting(access):
                if seen.item > number:
                    self._carry(needs, number, access, seen)
        if isinstance(item.op, IfOp) and len(item.nodes) == 2:
            self._branches(needs, number, item)

    def _branches(self, needs: Needs, number: int, item: Item) -> None:
        """One trip may take one branch, and the next trip the other."""
        halves = [Item(item.op, 0, 0, 0, 0, [], [node]) for node in item.nodes]
        for half in halves:
            summarize(half)
        for half, other in (halves, reversed(halves)):
            finder = _Finder(
                self.node, Hazards(self.node, self.neighbours), self.slotted
            )
            for access in half.accesses:
                finder._enter(access, number)
            for access in other.accesses:
                for seen in finder._conflicting(access):
                    self._carry(needs, number, access, seen)

    def _carry(self, needs: Needs, number: int, access: Access, seen: _Seen) -> None:
        slot = None
        if self.slotted((seen.access.pipe, access.pipe)):
            slot = common_slot(seen.access, access, self.node)
        group = needs.carried.setdefault(slot, [{} for _ in self.node.items])
        _add(group[number], access.pipe, access.entered, seen)

    def _conflicting(self, access: Access) -> list[_Seen]:
        """What the table holds on other pipes that may touch the same bytes."""
        if access.tenancy == Tenancy.BEGINS:
            return []
        pipe = access.pipe
        found = [
            seen
            for seen in self.table.get(access.resource, {}).values()
            if seen.access.pipe != pipe and conflict(seen.access, access)
        ]
        for resource in self.neighbours.get(access.resource, ()):
            for seen in self.table.get(resource, {}).values():
                if seen.access.pipe != pipe and (seen.access.write or access.write):
                    found.append(seen)
        return found

    def _enter(self, access: Access, number: int) -> None:
        if access.tenancy == Tenancy.ENDS:
            return
        kinds = self.table.setdefault(access.resource, {})
        kind = access.pipe, access.slot, access.write
        seen = kinds.get(kind)
        left = access.left | (access.drained if self.node.loop is None else 0)
        if seen is not None:
            left &= seen.left
        kinds[kind] = _Seen(access, number, access.last, left)


def _add(needs: ItemNeeds, target: int, entered: int, seen: _Seen) -> None:
    """Add that `target` must come after what was seen, unless it does anyway."""
    source = seen.access.pipe
    if entered >> source & 1 or seen.left >> target & 1:
        return
    pair = source, target
    need = Need(seen.last, seen.item, seen.left, entered)
    needs[pair] = latest(needs.get(pair), need)


def latest(one: Need | None, other: Need) -> Need:
    """The need that covers both."""
    if one is None:
        return other
    end = max((one.position, one.item), (other.position, other.item))
    return Need(*end, one.left & other.left, one.entered & other.entered)


def runs_of(items: Sequence[Item]) -> list[int]:
    """
    For each item the number of its run.

    A run is a stretch of single instructions on one pipe; a composite item is a run of
    its own.
    """
    runs: list[int] = []
    for number, item in enumerate(items):
        same = (
            number > 0
            and item.is_single
            and items[number - 1].is_single
            and item.pipes == items[number - 1].pipes
        )
        runs.append(runs[-1] + (not same) if runs else 0)
    return runs
