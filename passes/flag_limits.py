"""
What to do when a pair of pipes needs more flags than there are ids.

Two things can run short. Inside one loop, too many flags of a pair are in use at once:
the pair is planned at the next `Level`. Outside loops, an id would be free if only the
source knew that its last wait is over: an order back from the target is asked for,
which is a flag like any other, and if that cannot be, a barrier. Then all flags are
planned anew, so that what an order or a barrier makes redundant is gone.
"""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum

from pyptoc.dialects.record import record
from pyptoc.passes.needs import Pair


class Level(IntEnum):
    """How a pair of pipes is ordered, from the most overlap to the least."""

    FREE = 0
    """A carried flag for each group of buffers that is used together."""
    MERGED = 1
    """A carried flag for each block, from its first use to its last."""
    UNSLOTTED = 2
    """As if every allocation had one slot: one id for each flag."""
    BARRIER = 3
    """No flags; barriers instead."""


@record
class Order:
    """In the kernel's own block: `pair[1]` waits before one item until `pair[0]` has
    gone past another."""

    pair: Pair
    after_item: int
    before_item: int


@record(frozen=False, eq=False)
class Shortage:
    """Where ids ran out."""

    pairs: set[Pair] = field(default_factory=set[Pair])
    """Pairs that need too many inside one item of the kernel's own block."""
    orders: set[Order] = field(default_factory=set[Order])
    """Orders that would free ids."""
    barriers: set[int] = field(default_factory=set[int])
    """Items before which a barrier would free ids."""

    def __bool__(self) -> bool:
        return bool(self.pairs or self.orders or self.barriers)


@record(frozen=False, eq=False)
class Limits:
    """What running out of ids has taught so far."""

    levels: dict[Pair, Level] = field(default_factory=dict[Pair, Level])
    orders: set[Order] = field(default_factory=set[Order])
    barriers: set[int] = field(default_factory=set[int])

    def level(self, pair: Pair) -> Level:
        """How the pair is planned now."""
        return self.levels.get(pair, Level.FREE)

    def learn(self, shortage: Shortage) -> None:
        """Make the next plan need fewer ids than the one that ran short."""
        known = len(self.barriers), len(self.orders), sum(self.levels.values())
        self.barriers |= shortage.barriers
        # What did not help the first time will not the second.
        self.barriers |= {o.before_item for o in shortage.orders & self.orders}
        self.orders |= shortage.orders
        for pair in shortage.pairs:
            both = pair, (pair[1], pair[0])
            level = Level(min(max(map(self.level, both)) + 1, Level.BARRIER))
            for one in both if level < Level.BARRIER else (pair,):
                self.levels[one] = level
        now = len(self.barriers), len(self.orders), sum(self.levels.values())
        assert now != known, f"nothing new in {shortage}"
