"""
Ids for flags: of each ordered pair of pipes a core has only so many.

Inside an outermost loop every flag of a pair has ids of its own, since one trip's flags
meet the next trip's. Outside loops an id may be used again once the source of the new
flag knows that the last wait for the old one is over. The ids of a flag that has one
for each slot are consecutive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyptoc.dialects.record import record
from pyptoc.passes.clocks import UNKNOWN, after, before
from pyptoc.passes.flag_limits import Order, Shortage
from pyptoc.passes.flags import BlockPlan, Flag
from pyptoc.passes.hazards import BlockNode
from pyptoc.passes.needs import Pair


@record(frozen=False, eq=False)
class _Unit:
    """Flags of a pair that need ids at the same time."""

    stage: int
    """The stage of the kernel's block at which the first of them is set."""
    set_before: int
    """An item before which none of them is set yet."""
    barrier: int
    """An item such that a barrier before it ends what is on the way until then, or
    makes the flag needless."""
    last_item: int
    """An item after which the last of them was waited for."""
    last_wait: int
    """The position of that wait."""
    flags: list[Flag]

    @property
    def width(self) -> int:
        return sum(flag.width for flag in self.flags)


def assign_ids(
    root: BlockNode, plans: Mapping[BlockNode, BlockPlan], count: int
) -> Shortage:
    """Set the base of every flag; the result says where that was not possible."""
    units: dict[Pair, list[_Unit]] = {}
    for pair, unit in _units(root, plans):
        units.setdefault(pair, []).append(unit)
    shortage = Shortage()
    for pair, members in units.items():
        members.sort(key=lambda unit: unit.stage)
        _assign_pair(plans[root], pair, members, count, shortage)
    return shortage


def _units(
    root: BlockNode, plans: Mapping[BlockNode, BlockPlan]
) -> Iterator[tuple[Pair, _Unit]]:
    for number, item in enumerate(root.items):
        inside: dict[Pair, list[tuple[Flag, int]]] = {}
        for node in item.nodes:
            for inner in node.walk():
                for flag in plans[inner].flags:
                    # Carried flags are taken back when the loop is over.
                    wait = inner.items[flag.wait_item].first - 1
                    last = item.last + 1 if flag.carried or flag.closing else wait
                    inside.setdefault(flag.pair, []).append((flag, last))
        for pair, flags in inside.items():
            last = max(last for _, last in flags)
            members = [flag for flag, _ in flags]
            yield pair, _Unit(before(number), number, number, number, last, members)
    for flag in plans[root].flags:
        first, wait = flag.set_item, flag.wait_item
        position = root.items[wait].first - 1
        yield flag.pair, _Unit(after(first), first, wait, wait, position, [flag])


def _assign_pair(
    plan: BlockPlan, pair: Pair, units: list[_Unit], count: int, shortage: Shortage
) -> None:
    source, target = pair
    free_from = [UNKNOWN] * count
    asked = UNKNOWN
    for number, unit in enumerate(units):
        known = max(asked, plan.clocks.at(source, unit.stage)[target])
        for item in shortage.barriers:
            if before(item) <= unit.stage:
                known = max(known, plan.node.items[item].first - 1)
        if _place(unit, [known >= last for last in free_from], free_from):
            continue
        if unit.width > count:
            shortage.pairs.add(pair)
            continue
        # Go on as if what is asked for were there, to ask for all of it at once.
        for order in _orders_back(pair, unit, units[:number]):
            over = max(known, plan.node.items[order.after_item].last + 1)
            if _place(unit, [over >= last for last in free_from], free_from):
                shortage.orders.add(order)
                asked = over
                break
        else:
            shortage.barriers.add(unit.barrier)
            free_from = [UNKNOWN] * count
            _place(unit, [True] * count, free_from)


def _orders_back(pair: Pair, unit: _Unit, earlier: list[_Unit]) -> Iterator[Order]:
    """Ways to let the source know that a wait for one of its older flags is over."""
    recent = sorted(one.last_item for one in earlier if one.last_item < unit.set_before)
    recent = recent[-8:]
    # The middle one frees half of the ids and leaves the other half in flight.
    for needed in {recent[len(recent) // 2]: 0, recent[-1]: 0} if recent else ():
        yield Order((pair[1], pair[0]), needed, unit.set_before)


def _place(unit: _Unit, free: list[bool], free_from: list[int]) -> bool:
    """Give each flag of a unit free consecutive ids, the widest first, or none any."""
    bases: dict[Flag, int] = {}
    for flag in sorted(unit.flags, key=lambda flag: -flag.width):
        width = flag.width
        for base in range(len(free) - width + 1):
            if all(free[base : base + width]):
                break
        else:
            return False
        bases[flag] = base
        free[base : base + width] = [False] * width
    for flag, base in bases.items():
        flag.base = base
        free_from[base : base + flag.width] = [unit.last_wait] * flag.width
    return True
