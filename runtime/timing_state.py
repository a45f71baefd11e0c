"""
Where a core stands in time, and loops whose iterations shift it alike.

A core's state is a list of cycles: when each of its pipes is free, when each flag was
set (-1: not set), when each buffer was last used. An instruction only ever takes the
largest of some of these and adds its cycles to it. So if two iterations of a loop do
the same and each moved all that the loop touches by the same number of cycles, the next
ones that do the same move it so as well: `Repeats` finds that and skips to the end.
What they do may come round in turns (slots, flag ids): then it looks at turns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from pyptoc.dialects.record import record

UNSET = -1
"""The time of a flag that nobody has set, or of a slot that is not in that state."""

TURNS = (1, 2, 3, 4, 6)
"""The lengths of turns that are looked for: the slots that programs have."""

KEPT = 2 * TURNS[-1] + 1
"""How many states are needed to see two of the longest turns."""

FEW = 8
"""Loops of fewer iterations are run as they are."""

State = list[int]


@record
class Loop:
    """What the translator knows of a loop."""

    touched: tuple[int, ...]
    """The entries of the core's state that its body reads or changes."""
    counted: tuple[int, ...]
    """The entries of the counters that its body changes."""


class Keys:
    """What each iteration does, as far as time depends on it."""

    def __init__(
        self, indices: Sequence[int], key: Callable[[int], Hashable] | None
    ) -> None:
        """key: None if all iterations do the same."""
        self.count = len(indices)
        self.keys = None if key is None else [key(index) for index in indices]
        self._runs: dict[int, list[int]] = {}

    def repeated(self, turn: int, at: int) -> int:
        """How many iterations from `at` on do what the one `turn` before does."""
        if self.keys is None:
            return self.count - at if at >= turn else 0
        if turn not in self._runs:
            keys, runs = self.keys, [0] * (self.count + 1)
            for place in range(self.count - 1, turn - 1, -1):
                same = keys[place] == keys[place - turn]
                runs[place] = runs[place + 1] + 1 if same else 0
            self._runs[turn] = runs
        return self._runs[turn][at]


def shift(old: Sequence[int], new: Sequence[int]) -> int | None:
    """By how much all entries moved, if by the same; unset ones must stay so."""
    found: int | None = None
    for before, after in zip(old, new, strict=True):
        if before == UNSET and after == UNSET:
            continue
        if before == UNSET or after == UNSET:
            return None
        if found is None:
            found = after - before
        elif after - before != found:
            return None
    return 0 if found is None else found


class Repeats:
    """Watches one run of a loop on one core."""

    def __init__(self, loop: Loop, keys: Keys, state: State, counters: State) -> None:
        self.loop, self.keys = loop, keys
        self.state, self.counters = state, counters
        self.seen: list[list[int]] = []
        self.counts: list[list[int]] = []

    def after(self, done: int) -> int:
        """Called after `done` iterations; skips some and returns how many."""
        state, counters, loop = self.state, self.counters, self.loop
        self.seen.append([state[index] for index in loop.touched])
        self.counts.append([counters[index] for index in loop.counted])
        del self.seen[:-KEPT], self.counts[:-KEPT]
        for turn in TURNS:
            if len(self.seen) <= 2 * turn:
                return 0
            left = self.keys.repeated(turn, done)
            if left < turn or self.keys.repeated(turn, done - turn) < turn:
                continue
            earlier, before, now = (self.seen[-1 - n * turn] for n in (2, 1, 0))
            moved = shift(before, now)
            if moved is None or moved != shift(earlier, before):
                continue
            times = left // turn
            for index in loop.touched:
                if state[index] != UNSET:
                    state[index] += times * moved
            for place, index in enumerate(loop.counted):
                more = self.counts[-1][place] - self.counts[-1 - turn][place]
                counters[index] += times * more
            self.seen.clear()
            self.counts.clear()
            return times * turn
        return 0
