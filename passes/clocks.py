"""
What each pipe of a core knows of the progress of each other pipe.

A row of a clock says for one pipe Q and every pipe P the position up to which Q knows
that P's instructions are done. Pipes learn by waiting for flags: a wait joins Q's row
with the row that P had when it set the flag, and with P's own position. Knowledge never
shrinks, so a row only changes at waits, and its history is short.

Time within a block is a *stage*: 2 t is just before item t, 2 t + 1 just after it.
"""

from __future__ import annotations

from bisect import bisect_right

from pyptoc.passes.hazards import PIPES

Row = tuple[int, ...]

UNKNOWN = -(1 << 40)
"""Nothing is known."""

TRIP = 1 << 30
"""Positions of the trip before are those of this trip minus `TRIP`."""

NOTHING: Row = (UNKNOWN,) * len(PIPES)


def before(item: int) -> int:
    """The stage just before an item."""
    return 2 * item


def after(item: int) -> int:
    """The stage just after an item."""
    return 2 * item + 1


class Clocks:
    """The rows of all pipes while one trip through a block goes on."""

    def __init__(self, start: list[Row] | None = None) -> None:
        self.now = list(start) if start else [NOTHING] * len(PIPES)
        self._stages: list[list[int]] = [[-1] for _ in PIPES]
        self._rows: list[list[Row]] = [[row] for row in self.now]

    def at(self, pipe: int, stage: int) -> Row:
        """The row that `pipe` has at a stage, waits at that stage included."""
        return self._rows[pipe][bisect_right(self._stages[pipe], stage) - 1]

    def learn(
        self, pipe: int, stage: int, row: Row, source: int, position: int
    ) -> None:
        """At `stage`, `pipe` learns what `source` knew, and where it was."""
        joined = list(map(max, self.now[pipe], row))
        joined[source] = max(joined[source], position)
        self._change(pipe, stage, tuple(joined))

    def barrier(self, stage: int, position: int) -> None:
        """At `stage`, every pipe learns that all are done up to `position`."""
        everything = (position,) * len(PIPES)
        for pipe in range(len(PIPES)):
            self._change(pipe, stage, everything)

    def _change(self, pipe: int, stage: int, row: Row) -> None:
        self.now[pipe] = row
        self._stages[pipe].append(stage)
        self._rows[pipe].append(row)

    def next_trip(self) -> list[Row]:
        """The rows with which the next trip starts, if this trip started with none."""
        return [shift(row) for row in self.now]


def shift(row: Row) -> Row:
    """A row of the trip before, in positions of this trip."""
    return tuple(value - TRIP if value >= 0 else UNKNOWN for value in row)
