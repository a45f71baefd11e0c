"""
Channels of a mixed kernel in time.

A slot is free or full from some cycle on, for each vector core's half. A push starts
when its slot is free, a pop when it is full; the other core learns of it
`cross_core_cycles` later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from pyptoc.dialects.record import record
from pyptoc.dialects.tile_channel import HALVES, ChannelType, Split
from pyptoc.runtime.timing_state import UNSET


@record(frozen=False)
class Channel:
    """One channel while a task is timed."""

    kind: ChannelType
    slots: int
    latency: int
    """Cycles until the other core knows."""
    full: list[int] = field(default_factory=list[int])
    free: list[int] = field(default_factory=list[int])
    """By slot and half: the cycle from which on, or UNSET."""
    counts: list[int] = field(default_factory=list[int])
    """Pushes, pops and frees of each half (of the cube core: the first)."""
    boxes: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Rows and columns that were pushed last into each slot and half."""

    def start(self, free: list[int] | None) -> None:
        """An empty channel, whose slots are free from these cycles on."""
        size = self.slots * HALVES
        self.full = [UNSET] * size
        self.free = [0] * size if free is None else list(free)
        self.counts = [0] * (3 * HALVES)
        self.boxes = [(0, 0)] * size

    def _halves(self, core: int, pushes: bool) -> range:
        alone = self.kind.to_vector == pushes
        return range(HALVES) if alone else range(core, core + 1)

    def _slot(self, kind: int, core: int) -> int:
        return self.counts[kind * HALVES + core] % self.slots

    def _time(self, times: list[int], slot: int, halves: range) -> int:
        found = [times[slot * HALVES + half] for half in halves]
        return UNSET if UNSET in found else max(found)

    def may_push(self, core: int) -> int:
        """From which cycle on the next slot is free; UNSET: not known yet."""
        slot = self._slot(0, core)
        return self._time(self.free, slot, self._halves(core, pushes=True))

    def may_pop(self, core: int) -> int:
        """From which cycle on the next slot is full; UNSET: not known yet."""
        slot = self._slot(1, core)
        return self._time(self.full, slot, self._halves(core, pushes=False))

    def push(self, core: int, end: int, rows: int, columns: int) -> None:
        """The push of a box ended."""
        slot = self._slot(0, core)
        for half in self._halves(core, pushes=True):
            place = slot * HALVES + half
            self.free[place], self.full[place] = UNSET, end + self.latency
            self.boxes[place] = self._share(half, rows, columns)
        self.counts[core] += 1

    def _share(self, half: int, rows: int, columns: int) -> tuple[int, int]:
        """The part of a whole tile that a vector core takes."""
        if not self.kind.to_vector:
            return rows, columns
        size = self.kind.half_shape
        if self.kind.split.data == Split.ROWS:
            return max(min(rows - half * size[0], size[0]), 0), columns
        return rows, max(min(columns - half * size[1], size[1]), 0)

    def pop(self, core: int) -> list[tuple[int, int]]:
        """Takes a slot; the boxes that are in it."""
        slot = self._slot(1, core)
        places = [slot * HALVES + h for h in self._halves(core, pushes=False)]
        for place in places:
            self.full[place] = UNSET
        self.counts[HALVES + core] += 1
        return [self.boxes[place] for place in places]

    def give_back(self, core: int, end: int) -> None:
        """The slot that was popped first is free again."""
        slot = self._slot(2, core)
        for half in self._halves(core, pushes=False):
            self.free[slot * HALVES + half] = end + self.latency
        self.counts[2 * HALVES + core] += 1

    def times(self) -> list[int]:
        """All times of the channel."""
        return [*self.full, *self.free]

    def skip(self, cycles: int, counts: Sequence[int]) -> None:
        """As if so many more pushes, pops and frees had happened in so many cycles."""
        for times in (self.full, self.free):
            times[:] = [t if t == UNSET else t + cycles for t in times]
        self.counts[:] = [a + b for a, b in zip(self.counts, counts, strict=True)]
