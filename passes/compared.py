"""Modelled times of one way of grouping ops and of another."""

from __future__ import annotations

from collections.abc import Sequence

from pyptoc.dialects.record import record
from pyptoc.passes.size_text import time_text


@record
class Compared:
    """The launches of a new way and of the one that it would replace, in seconds."""

    new: Sequence[float]
    old: Sequence[float]
    trips: int = 1
    """How often a loop launches the old ones, where the new way needs no loop."""

    @property
    def ratio(self) -> float:
        """The share of the old time that the new way takes."""
        return sum(self.new) / (self.trips * sum(self.old))

    @property
    def pays(self) -> bool:
        """Whether the new way is faster."""
        return self.ratio < 1

    def __str__(self) -> str:
        new, old = summed(self.new), summed(self.old, self.trips)
        return f"modelled {new} instead of {old}"


def summed(launches: Sequence[float], trips: int = 1) -> str:
    """`18.20 us (8.10 + 10.10)`"""
    total = time_text(trips * sum(launches))
    if len(launches) == 1 and trips == 1:
        return total
    each = " + ".join(f"{seconds * 1e6:.2f}" for seconds in launches)
    return f"{total} ({each})" if trips == 1 else f"{total} ({trips} * ({each}))"
