"""
Ids for flags: of each ordered pair of pipes a core has only so many.

Inside an outermost loop every flag of a pair has ids of its own, since one trip's flags
meet the next trip's. Outside loops an id may be used again once the source of the new
flag knows that the last wait for the old one is over. The ids of a flag that has one for
each slot are consecutive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyptoc.passes.clocks import UNKNOWN, after, before
from pyptoc.passes.flags import BlockPlan, Flag
from pyptoc.passes.hazards import BlockNode
from pyptoc.passes.needs import Pair


@dataclass(eq=False)
class Shortage:
    """Where ids ran out: pairs inside one loop, and items outside loops."""

    pairs: set[Pair] = field(default_factory=set[Pair])
    items: set[int] = field(default_factory=set[int])
    """Items of the kernel's own block that need a barrier before them."""


@dataclass(eq=False)
class _Unit:
    """Flags of a pair that need ids at the same time."""

    stage: int
    """The stage of the kernel's block at which the first of them is set."""
    item: int
    """An item before which a barrier would free all ids."""
    last_wait: int
    """The position of the last wait for one of them."""
    flags: list[Flag]


def assign_ids(
    root: BlockNode, plans: Mapping[BlockNode, BlockPlan], count: int
) -> Shortage:
    """Set the base of every flag; what is left without one is in the shortage."""
    units: dict[Pair, list[_Unit]] = {}
    plan = plans[root]
    for number, item in enumerate(root.items):
        inside: dict[Pair, list[Flag]] = {}
        for node in item.nodes:
            for inner in node.walk():
                for flag in plans[inner].flags:
                    inside.setdefault(flag.pair, []).append(flag)
        for pair, flags in inside.items():
            unit = _Unit(before(number), number, item.last + 1, flags)
            units.setdefault(pair, []).append(unit)
    for flag in plan.flags:
        stage, wait = after(flag.set_item), root.items[flag.wait_item].first - 1
        unit = _Unit(stage, flag.wait_item, wait, [flag])
        units.setdefault(flag.pair, []).append(unit)
    shortage = Shortage()
    for pair, members in units.items():
        _assign_pair(plan, pair, members, count, shortage)
    return shortage


def _assign_pair(
    plan: BlockPlan, pair: Pair, units: list[_Unit], count: int, shortage: Shortage
) -> None:
    source, target = pair
    free_from = [UNKNOWN] * count
    for unit in sorted(units, key=lambda unit: unit.stage):
        known = plan.clocks.at(source, unit.stage)[target]
        for item in shortage.items:
            if before(item) <= unit.stage:
                known = max(known, plan.node.items[item].first - 1)
        free = [known >= last for last in free_from]
        if not _place(unit, free, free_from):
            if sum(flag.width for flag in unit.flags) > count:
                shortage.pairs.add(pair)
            else:
                # With a barrier all of them are free; go on as if it were there.
                shortage.items.add(unit.item)
                free_from = [UNKNOWN] * count
                _place(unit, [True] * count, free_from)


def _place(unit: _Unit, free: list[bool], free_from: list[int]) -> bool:
    """Give each flag of a unit free consecutive ids, the widest first."""
    for flag in sorted(unit.flags, key=lambda flag: -flag.width):
        width = flag.width
        for base in range(len(free) - width + 1):
            if all(free[base : base + width]):
                break
        else:
            return False
        flag.base = base
        for number in range(base, base + width):
            free[number] = False
            free_from[number] = unit.last_wait
    return True
