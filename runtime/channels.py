"""
Channels between the cores of a mixed kernel, and sections as coroutines.

In program order each section is a generator that stops where it would wait for a
channel; `run_sections` lets them take turns until all are done. Out of order
(`pipes.py`) the sections are issued one after the other, and tokens for each slot and
half, free or full, hold the pipes.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NoReturn

from numpy.typing import NDArray
from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import Diagnostic, Note, RunError
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_channel import HALVES, ChannelOp, Split, channel_type
from pyptoc.runtime.memory import Buffers
from pyptoc.runtime.pipes import SlotToken

Array = NDArray[Any]
Section = Generator["Waiting", None, None]


@record
class Waiting:
    """Where a section stands, and for what."""

    op: Operation
    what: str
    moved: bool
    """Whether it did anything since it stopped before."""


class Channel:
    """One channel of a task; whoever pushes or takes is known by its number."""

    def __init__(self, op: ChannelOp, cores: Sequence[Buffers]) -> None:
        """`cores`: the buffers of the cube and first vector core, and of the second."""
        kind = channel_type(op.channel)
        self.op, self.slots = op, op.slot_count
        self.to_vector = kind.to_vector
        self.by_rows = kind.split.data == Split.ROWS
        self.half = kind.half_shape[0 if self.by_rows else 1]
        takers = cores if self.to_vector else cores[:1]
        self.views = [core.views(op) for core in takers]
        self.pushed = [0] * (1 if self.to_vector else HALVES)
        self.popped = [0] * len(takers)
        self.freed = [0] * len(takers)
        self.parts: list[list[Array | None]] = [
            [None] * HALVES for _ in range(self.slots)
        ]
        """By slot and vector core: what fills it, if nothing ever writes to that."""

    def reset(self) -> None:
        """An empty channel, as at the start of a task."""
        for counts in (self.pushed, self.popped, self.freed):
            counts[:] = [0] * len(counts)

    @property
    def name(self) -> str:
        return f"%{self.op.channel.name_hint or 'channel'}"

    # Program order; the counts are looked at and changed in the generated code.

    def put(self, core: int, slot: int, box: Array, is_kept: object) -> None:
        """Fill a slot; is_kept: with what nothing writes to, and when it is read."""
        if is_kept:
            self.parts[slot][core] = box
        else:
            self.parts[slot][core] = None
            self.write(core, slot, box)

    def fill(self, slot: int) -> None:
        """Fill a slot with its parts."""
        for core, part in enumerate(self.parts[slot]):
            if part is not None:
                self.write(core, slot, part)

    def holds(self, slot: int, rows: int, columns: int) -> bool:
        """Whether the parts of a slot have all of its corner."""
        first, second = (
            (0, 0) if part is None else part.shape[:: 1 if self.by_rows else -1]
            for part in self.parts[slot]
        )
        along, across = (rows, columns) if self.by_rows else (columns, rows)
        if first[0] < self.half or second[0] == 0:
            return along <= first[0] and across <= first[1]
        return along <= self.half + second[0] and across <= min(first[1], second[1])

    # Both.

    def next_push(self, core: int) -> int:
        self.pushed[core] += 1
        return (self.pushed[core] - 1) % self.slots

    def next_pop(self, core: int) -> int:
        self.popped[core] += 1
        return (self.popped[core] - 1) % self.slots

    def next_free(self, core: int) -> int:
        if self.freed[core] == self.popped[core]:
            self._fail("PTO413", f"{self.name} is freed before it is popped")
        self.freed[core] += 1
        return (self.freed[core] - 1) % self.slots

    def write(self, core: int, slot: int, box: Array) -> None:
        """The corner of a tile, or of a half of it, into a slot."""
        if self.to_vector:
            for half, views in enumerate(self.views):
                part = self._part(box, half * self.half)
                views[slot][: part.shape[0], : part.shape[1]] = part
        else:
            target = self._part(self.views[0][slot], core * self.half)
            target[: box.shape[0], : box.shape[1]] = box

    def _part(self, box: Array, start: int) -> Array:
        end = start + self.half
        return box[start:end] if self.by_rows else box[:, start:end]

    def finish(self) -> None:
        """At the end of a task everything was taken and given back."""
        counts = {*self.pushed, *self.popped, *self.freed}
        if len(counts) > 1:
            pushed, popped, freed = (
                " and ".join(map(str, numbers))
                for numbers in (self.pushed, self.popped, self.freed)
            )
            self._fail(
                "PTO413",
                f"{self.name} has {pushed} pushes, {popped} pops, {freed} frees",
            )

    def _fail(self, code: str, message: str) -> NoReturn:
        rule = "each push has one pop and one free on every core that takes from it"
        raise RunError([Diagnostic(code, message, self.op.location, rule=rule)])

    # Out of order.

    def tokens(
        self, state: str, slot: int, core: int, pushes: bool
    ) -> tuple[SlotToken, ...]:
        """What `core`, which pushes or takes, needs or gives of a slot."""
        alone = self.to_vector == pushes
        halves = range(HALVES) if alone else (core,)
        return tuple(SlotToken(self.op, state, slot, half) for half in halves)

    def initial(self) -> list[SlotToken]:
        """All slots are free at first."""
        return [
            SlotToken(self.op, "free", slot, half)
            for slot in range(self.slots)
            for half in range(HALVES)
        ]


def run_sections(sections: Sequence[Section]) -> None:
    """Let sections take turns until all are done; none can go on: a deadlock."""
    waiting: dict[Section, Waiting] = {}
    running = list(sections)
    while running:
        progress = False
        for section in list(running):
            try:
                stopped = next(section)
            except StopIteration:
                running.remove(section)
                progress = True
                continue
            progress = progress or stopped.moved
            waiting[section] = stopped
        if not progress:
            _deadlock([waiting[section] for section in running])


def _deadlock(held: Sequence[Waiting]) -> NoReturn:
    first, *others = held
    notes = tuple(
        Note(f"another section waits for {w.what}", w.op.location) for w in others
    )
    message = f"deadlock: a section waits for {first.what}"
    rule = "each push needs a pop and a free, in the same order on all sides"
    raise RunError(
        [Diagnostic("PTO410", message, first.op.location, rule=rule, notes=notes)]
    )
