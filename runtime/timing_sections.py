"""
The cores of a mixed kernel side by side in time, and their loops' repetitions.

Each section is a generator. It yields True where it begins to wait for a channel, False
where it still does, and a `Turn` after each iteration of a loop that uses channels.
When all sections stand after an iteration, what all of them and the channels moved
since they last stood so is compared: as in one core (`timing_state.py`), turns that
move everything by the same number of cycles repeat, and all cores skip them at once.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from pyptoc.dialects.diagnostics import Diagnostic, RunError
from pyptoc.dialects.record import record
from pyptoc.runtime.timing_channels import Channel
from pyptoc.runtime.timing_state import KEPT, TURNS, Keys, Loop, State, shift


@record(frozen=False)
class Turn:
    """A section stands after an iteration of a loop."""

    loop: Loop
    keys: Keys
    state: State
    counters: State
    done: int = 0


Section = Generator["bool | Turn", "int | None", None]


@record
class _Snapshot:
    """All cores and channels where all sections stand after an iteration."""

    turns: tuple[Turn, ...]
    done: tuple[int, ...]
    times: tuple[list[int], ...]
    counters: tuple[list[int], ...]
    channel_times: tuple[list[int], ...]
    channel_counts: tuple[list[int], ...]
    boxes: tuple[list[tuple[int, int]], ...]

    @staticmethod
    def of(turns: Sequence[Turn], channels: Sequence[Channel]) -> _Snapshot:
        return _Snapshot(
            tuple(turns),
            tuple(turn.done for turn in turns),
            tuple([turn.state[i] for i in turn.loop.touched] for turn in turns),
            tuple([turn.counters[i] for i in turn.loop.counted] for turn in turns),
            tuple(channel.times() for channel in channels),
            tuple(list(channel.counts) for channel in channels),
            tuple(list(channel.boxes) for channel in channels),
        )


def run_sections(sections: Sequence[Section], channels: Sequence[Channel]) -> None:
    """Run the sections of a task to their ends."""
    standing: dict[Section, Turn | None] = dict.fromkeys(sections)
    history: list[_Snapshot] = []
    while standing:
        if _advance(standing):
            continue
        turns = [turn for turn in standing.values() if turn is not None]
        skips = [0] * len(turns)
        if not turns:
            message = "deadlock: all sections wait for a channel"
            raise RunError([Diagnostic("PTO410", message)])
        if len(turns) == len(standing):
            skips = _skips(history, turns, channels)
        for section, turn in list(standing.items()):
            if turn is not None:
                standing[section] = None
                _resume(standing, section, skips.pop(0))


def _advance(standing: dict[Section, Turn | None]) -> bool:
    """Let sections go on that do not stand after an iteration; whether any did."""
    moved = False
    for section, turn in list(standing.items()):
        if turn is None:
            moved = _resume(standing, section, 0) or moved
    return moved


def _resume(
    standing: dict[Section, Turn | None], section: Section, skipped: int
) -> bool:
    """Run a section until it stops; whether it did anything."""
    try:
        stopped = section.send(skipped or None)
    except StopIteration:
        del standing[section]
        return True
    if isinstance(stopped, Turn):
        standing[section] = stopped
        return True
    return stopped


def _skips(
    history: list[_Snapshot], turns: Sequence[Turn], channels: Sequence[Channel]
) -> list[int]:
    """How many iterations each section may skip; all is moved as if it had not."""
    now = _Snapshot.of(turns, channels)
    if history and any(a is not b for a, b in zip(history[-1].turns, turns)):
        history.clear()
    history.append(now)
    for turn in TURNS:
        if len(history) <= 2 * turn:
            break
        before, earlier = history[-1 - turn], history[-1 - 2 * turn]
        moved = _moved(before, now, channels)
        if moved is None or moved != _moved(earlier, before, channels):
            continue
        times = min(_times(t, b) for t, b in zip(turns, before.done, strict=True))
        if times < 1:
            continue
        return _skip(before, now, moved, times, channels, history)
    del history[:-KEPT]
    return [0] * len(turns)


def _times(turn: Turn, before: int) -> int:
    """How many more turns do what the last one did."""
    length = turn.done - before
    if length < 1 or turn.keys.repeated(length, turn.done - length) < length:
        return 0
    return turn.keys.repeated(length, turn.done) // length


def _moved(old: _Snapshot, new: _Snapshot, channels: Sequence[Channel]) -> int | None:
    """By how many cycles everything moved, if all by the same."""
    if old.boxes != new.boxes:
        return None
    moves = {
        shift(before, after)
        for before, after in zip(old.times, new.times, strict=True)
        if before
    }
    for number, channel in enumerate(channels):
        counts = [
            b - a
            for a, b in zip(
                old.channel_counts[number], new.channel_counts[number], strict=True
            )
        ]
        steps = {count for count in counts if count}
        if len(steps) > 1 or any(step % channel.slots for step in steps):
            return None
        before, after = old.channel_times[number], new.channel_times[number]
        if not steps:
            if before != after:
                return None
            continue
        moves.add(shift(before, after))
    return moves.pop() if len(moves) == 1 else None


def _skip(
    before: _Snapshot,
    now: _Snapshot,
    moved: int,
    times: int,
    channels: Sequence[Channel],
    history: list[_Snapshot],
) -> list[int]:
    cycles = times * moved
    for number, turn in enumerate(now.turns):
        for index in turn.loop.touched:
            if turn.state[index] >= 0:
                turn.state[index] += cycles
        for place, index in enumerate(turn.loop.counted):
            more = now.counters[number][place] - before.counters[number][place]
            turn.counters[index] += times * more
    for number, channel in enumerate(channels):
        old, new = before.channel_counts[number], now.channel_counts[number]
        counts = [times * (b - a) for a, b in zip(old, new, strict=True)]
        if any(counts):
            channel.skip(cycles, counts)
    history.clear()
    return [
        times * (done - was) for done, was in zip(now.done, before.done, strict=True)
    ]
