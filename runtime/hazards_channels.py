"""
The channels of a mixed task: pushes, pops and frees of its three cores must meet.

A core waits where a channel is full or empty, and nothing else holds one core for
another. What each does is fixed before, so if they can all go to their ends in one
order they can in every order (a network of queues); if not, they hang in every order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import Note
from pyptoc.dialects.tile_channel import HALVES, ChannelOp, Split, channel_type
from pyptoc.runtime.hazards_text import fail, name_of


class Push(NamedTuple):
    """A core pushes a corner."""

    channel: ChannelOp
    op: Operation
    rows: int
    columns: int


class Pop(NamedTuple):
    """A core takes a slot."""

    channel: ChannelOp
    op: Operation


class Free(NamedTuple):
    """A core gives back a slot, of which it read a corner."""

    channel: ChannelOp
    op: Operation
    rows: int
    columns: int
    reader: Operation | None


Moves: TypeAlias = list["Push | Pop | Free"]


@dataclass
class _Queue:
    """A channel while the cores go on."""

    op: ChannelOp
    pushed: list[list[Push]] = field(init=False)
    popped: list[int] = field(init=False)
    freed: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.kind = channel_type(self.op.channel)
        takers = HALVES if self.kind.to_vector else 1
        self.pushed = [[] for _ in range(1 if self.kind.to_vector else HALVES)]
        self.popped, self.freed = [0] * takers, [0] * takers

    def move(self, move: Push | Pop | Free, core: int) -> bool:
        """Do it, if that is possible now. core: 0 of the cube, else the half."""
        if isinstance(move, Push):
            if len(self.pushed[core]) - min(self.freed) >= self.op.slot_count:
                return False
            self.pushed[core].append(move)
        elif isinstance(move, Pop):
            if min(map(len, self.pushed)) <= self.popped[core]:
                return False
            self.popped[core] += 1
        else:
            self._check_read(move, core)
            self.freed[core] += 1
        return True

    def _check_read(self, free: Free, core: int) -> None:
        number = self.freed[core]
        valid = self._valid(number, core)
        if free.rows <= valid[0] and free.columns <= valid[1]:
            return
        at = free.reader or free.op
        pushes = [own[number] for own in self.pushed]
        fail(
            "PTO422",
            f"{at.name} reads [{free.rows}, {free.columns}] of the tile of "
            f"{name_of((self.op, 0))}, of which [{valid[0]}, {valid[1]}] was pushed",
            at,
            rule="what an instruction reads was written before",
            notes=[Note("it was pushed here", push.op.location) for push in pushes],
        )

    def _valid(self, number: int, core: int) -> tuple[int, int]:
        """Rows and columns of what came in a slot."""
        by_rows = self.kind.split.data == Split.ROWS
        size = self.kind.half_shape[0 if by_rows else 1]
        pushes = [own[number] for own in self.pushed]
        if self.kind.to_vector:
            (push,) = pushes
            whole = push.rows if by_rows else push.columns
            mine = max(min(whole - core * size, size), 0)
            return (mine, push.columns) if by_rows else (push.rows, mine)
        along = [push.rows if by_rows else push.columns for push in pushes]
        across = [push.columns if by_rows else push.rows for push in pushes]
        full = along[0] + (along[1] if along[0] == size else 0)
        other = min(a for a, b in zip(across, along) if b or not full)
        return (full, other) if by_rows else (other, full)


def check_moves(cores: Sequence[Moves]) -> None:
    """Let the cores go on until all are at their ends; raises RunError."""
    queues: dict[ChannelOp, _Queue] = {}
    for moves in cores:
        for move in moves:
            queues.setdefault(move.channel, _Queue(move.channel))
    at = [0] * len(cores)
    going = True
    while going:
        going = False
        for number, moves in enumerate(cores):
            core = max(number - 1, 0) if len(cores) > 1 else 0
            while at[number] < len(moves):
                move = moves[at[number]]
                if not queues[move.channel].move(move, core):
                    break
                at[number] += 1
                going = True
    held = [moves[n] for n, moves in zip(at, cores, strict=True) if n < len(moves)]
    if held:
        _deadlock(held)
    for queue in queues.values():
        counts = {*map(len, queue.pushed), *queue.popped, *queue.freed}
        if len(counts) > 1:
            pushed, popped, freed = (
                " and ".join(map(str, numbers))
                for numbers in (map(len, queue.pushed), queue.popped, queue.freed)
            )
            fail(
                "PTO413",
                f"{name_of((queue.op, 0))} has {pushed} pushes, {popped} pops, "
                f"{freed} frees",
                queue.op,
                rule="each push has one pop and one free on every core that takes "
                "from it",
            )


def _deadlock(held: Sequence[Push | Pop | Free]) -> None:
    texts = [
        f"{move.op.name} waits for a {'free' if isinstance(move, Push) else 'full'} "
        f"slot of {name_of((move.channel, 0))}"
        for move in held
    ]
    fail(
        "PTO410",
        f"deadlock between cores: {texts[0]}",
        held[0].op,
        rule="each push needs a pop and a free, in the same order on all sides",
        notes=[
            Note(f"another core: {text}", move.op.location)
            for text, move in zip(texts[1:], held[1:], strict=True)
        ],
    )
