"""
Where one core stands in the order of its instructions, and what its memory holds.

Program order is walked once; a clock for each pipe says how many instructions of every
pipe are certainly over: a pipe is in order, a wait comes after its set, a barrier after
everything. Two accesses to the same bytes on different pipes, one of them a write, must
be ordered by these clocks. Bytes count by whole slots.

A slot holds the boxes that were written to it; what is read must lie in one of them.
Writing a slot ends what other slots of the same bytes hold.

`canonical` renames counts by their rank. Nothing but comparisons and maxima of the
counts of one pipe is ever used, and a new count is larger than all that there are, so
two states with equal ranks go the same way from there on. There are finitely many:
which is why a loop can stop being walked once a state comes back.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn, TypeAlias

from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import Note
from pyptoc.dialects.tile_types import Instruction, Pipe
from pyptoc.runtime.hazards_boxes import Box
from pyptoc.runtime.hazards_text import fail, name_of, ordered_by, place_text

Key: TypeAlias = Hashable
"""A slot, as (allocation, number); or a number, of memory outside the core."""

PIPES = tuple(pipe.value for pipe in Pipe)
NUMBER = {name: number for number, name in enumerate(PIPES)}

Flag: TypeAlias = tuple[int, int, int]
"""Source and target pipe by number, and the id."""


@dataclass(frozen=True)
class Slots:
    """The slots of a kernel, and which share bytes; the same for all its tasks."""

    ranges: Mapping[Key, tuple[str, int, int]]
    """Space, first byte and end of a slot that has an address."""
    overlaps: Mapping[Key, tuple[Key, ...]]
    """The other slots that share bytes with each."""

    def others(self, key: Key) -> tuple[Key, ...]:
        return self.overlaps.get(key, ())


class Held(NamedTuple):
    """What a slot holds."""

    boxes: tuple[tuple[int, int], ...]
    """Corners (rows, columns) that were written."""
    writer: Operation
    read: bool = False
    """Whether it was read since it was written."""
    lost: Operation | None = None
    """What wrote to the same bytes as another slot."""
    needed: tuple[int, int] | None = None
    """Of a slot that was popped: what was read of the tile that came in it."""
    reader: Operation | None = None
    """What read the most of it."""


class Touch(NamedTuple):
    """The last access of one kind of a pipe."""

    number: int
    """How many instructions of the pipe there were then."""
    op: Operation


class Token(NamedTuple):
    """A flag that is set."""

    known: tuple[int, ...]
    op: Operation


@dataclass
class State:
    """All that decides how a core goes on."""

    clocks: list[list[int]] = field(
        default_factory=lambda: [[0] * len(PIPES) for _ in PIPES]
    )
    tokens: dict[Flag, Token] = field(default_factory=dict[Flag, Token])
    waits: dict[Flag, Touch] = field(default_factory=dict[Flag, Touch])
    touched: dict[tuple[Key, int, bool], Touch] = field(default_factory=dict)
    held: dict[Key, Held] = field(default_factory=dict[Key, Held])
    turns: dict[Key, tuple[int, int]] = field(default_factory=dict)
    """Of each channel: pops modulo its slots, and slots that are not freed."""

    def copy(self) -> State:
        return State(
            [list(clock) for clock in self.clocks],
            dict(self.tokens),
            dict(self.waits),
            dict(self.touched),
            dict(self.held),
            dict(self.turns),
        )

    def canonical(self, used: Sequence[int]) -> Hashable:
        """Rename counts by their ranks, in place, and give what stands for the state.

        used: the pipes of the core; what they all know to be over is forgotten.
        """
        clocks = self.clocks
        for place, touch in list(self.touched.items()):
            pipe = place[1]
            if all(clocks[p][pipe] >= touch.number for p in used):
                del self.touched[place]
        for flag, wait in list(self.waits.items()):
            if all(clocks[p][flag[1]] >= wait.number for p in used):
                del self.waits[flag]
        counts: list[set[int]] = [{0} for _ in PIPES]
        for pipe in used:
            counts[pipe].update(clocks[other][pipe] for other in used)
            counts[pipe].update(token.known[pipe] for token in self.tokens.values())
        for (_, pipe, _), touch in self.touched.items():
            counts[pipe].add(touch.number)
        for flag, wait in self.waits.items():
            counts[flag[1]].add(wait.number)
        ranks = [{c: rank for rank, c in enumerate(sorted(found))} for found in counts]
        self.clocks = [
            [ranks[q].get(count, 0) for q, count in enumerate(clock)]
            for clock in clocks
        ]
        self.tokens = {
            flag: Token(tuple(ranks[q].get(c, 0) for q, c in enumerate(t.known)), t.op)
            for flag, t in self.tokens.items()
        }
        self.waits = {
            flag: Touch(ranks[flag[1]][wait.number], wait.op)
            for flag, wait in self.waits.items()
        }
        self.touched = {
            place: Touch(ranks[place[1]][touch.number], touch.op)
            for place, touch in self.touched.items()
        }
        return (
            tuple(map(tuple, self.clocks)),
            frozenset(self.tokens.items()),
            frozenset(self.waits.items()),
            frozenset(self.touched.items()),
            frozenset(self.held.items()),
            frozenset(self.turns.items()),
        )


class CoreState:
    """One core on its way through a task; errors are raised where they occur."""

    def __init__(self, slots: Slots, used: Sequence[int], ids: int) -> None:
        """used: the pipes that occur; ids: how many flags a pair of pipes has."""
        self.slots, self.used, self.ids = slots, used, ids
        self.state = State()

    # Order.

    def set_flag(self, op: Instruction, flag: Flag) -> None:
        """`op` sets a flag."""
        self._check_id(op, flag)
        state, (source, target, _) = self.state, flag
        clock = state.clocks[source]
        clock[source] += 1
        before = state.tokens.get(flag)
        rule = "between two set_flag of one id there is its wait_flag"
        if before is not None:
            fail(
                "PTO411",
                f"{flag_text(flag)} is set again before anything waited for it",
                op,
                rule=rule,
                notes=[Note("it was set here", before.op.location)],
                help="wait for it in between, or use another id",
            )
        wait = state.waits.get(flag)
        if wait is not None and clock[target] < wait.number:
            fail(
                "PTO411",
                f"{flag_text(flag)} may be set again before its last wait is over",
                op,
                rule=f"{rule}, and pipe {PIPES[source]} must know that it is over",
                notes=[Note("the last wait", wait.op.location)],
                help=f"wait for a flag from {PIPES[target]} before it, "
                "or use another id",
            )
        state.tokens[flag] = Token(tuple(clock), op)

    def wait_flag(self, op: Instruction, flag: Flag, later: Operation | None) -> None:
        """`op` waits for a flag; `later`: what sets it further on in the program."""
        self._check_id(op, flag)
        state, target = self.state, flag[1]
        clock = state.clocks[target]
        clock[target] += 1
        token = state.tokens.pop(flag, None)
        if token is None:
            self._deadlock(op, flag, later)
        known = token.known
        state.clocks[target] = [max(pair) for pair in zip(clock, known)]
        state.waits[flag] = Touch(clock[target], op)

    def _deadlock(
        self, op: Instruction, flag: Flag, later: Operation | None
    ) -> NoReturn:
        source, target, _ = flag
        notes = [Note(f"pipe {PIPES[target]} stands here", op.location)]
        if later is None:
            notes.append(Note(f"pipe {PIPES[source]} never sets it"))
        else:
            notes.append(
                Note(f"pipe {PIPES[source]} sets it only after this", later.location)
            )
            notes.append(Note(f"which comes after the wait of pipe {PIPES[target]}"))
        fail(
            "PTO410",
            f"deadlock: pipe {PIPES[target]} waits for {flag_text(flag)}, "
            "which is not set",
            op,
            rule="each wait_flag takes the token of one set_flag before it",
            notes=notes,
            help=f"set it on {PIPES[source]} before this, or leave the wait out",
        )

    def _check_id(self, op: Instruction, flag: Flag) -> None:
        if not 0 <= flag[2] < self.ids:
            fail(
                "PTO424",
                f"{flag_text(flag)} does not exist",
                op,
                rule=f"flag ids of a pair of pipes are 0 to {self.ids - 1}",
            )

    def barrier(self) -> None:
        """Everything is over."""
        clocks = self.state.clocks
        joined = [max(column) for column in zip(*clocks)]
        self.state.clocks = [list(joined) for _ in clocks]

    def touch(self, op: Instruction, pipe: int, key: Key, write: bool) -> None:
        """An access to a slot: all that it conflicts with must be over."""
        touched, clock = self.state.touched, self.state.clocks[pipe]
        for other in (key, *self.slots.others(key)):
            for q in self.used:
                if q == pipe:
                    continue
                for kind in (True, False) if write else (True,):
                    before = touched.get((other, q, kind))
                    if before is not None and clock[q] < before.number:
                        self._unordered(op, pipe, key, write, before.op, q, other, kind)
        touched[key, pipe, write] = Touch(clock[pipe], op)

    def _unordered(
        self,
        op: Operation,
        pipe: int,
        key: Key,
        write: bool,
        before: Operation,
        q: int,
        other: Key,
        wrote: bool,
    ) -> None:
        first = "writes" if wrote else "reads"
        second = "writes" if write else "reads"
        fail(
            "PTO420",
            f"{op.name} on pipe {PIPES[pipe]} {second} what {before.name} on pipe "
            f"{PIPES[q]} {first}, and nothing orders them",
            op,
            rule="accesses of two pipes to the same bytes, one of them a write, are "
            "ordered by flags",
            here=place_text(self.slots.ranges, other, key),
            notes=[Note(f"{before.name} stands here", before.location)],
            help=ordered_by(PIPES[q], PIPES[pipe]),
        )

    def run(
        self,
        op: Instruction,
        pipe: int,
        keys: Sequence[Key],
        boxes: tuple[Sequence[Box | None], Sequence[Box | None]],
    ) -> None:
        """An instruction: keys of what it reads and then of what it writes."""
        self.state.clocks[pipe][pipe] += 1
        reads, writes = boxes
        count = len(reads)
        for key, box in zip(keys[:count], reads, strict=True):
            self.touch(op, pipe, key, False)
            if box is not None:
                self._read(op, key, box)
        read = set(keys[:count])
        for key, box in zip(keys[count:], writes, strict=True):
            self.touch(op, pipe, key, True)
            if not isinstance(key, int):
                self._write(op, key, box, key in read)

    # Memory.

    def _read(self, op: Operation, key: Key, box: Box) -> None:
        row, column, rows, columns = box
        if rows <= 0 or columns <= 0:
            return
        held = self.state.held.get(key)
        end, right = row + rows, column + columns
        what = f"rows {row} to {end - 1}, columns {column} to {right - 1}"
        if held is None:
            fail(
                "PTO422",
                f"{op.name} reads {name_of(key)}, which nothing has written",
                op,
                rule="what an instruction reads was written before",
                here=f"{what}; {place_text(self.slots.ranges, key)}",
            )
        if held.lost is not None:
            fail(
                "PTO423",
                f"{op.name} reads {name_of(key)}, whose bytes were written as those "
                "of another buffer",
                op,
                rule="buffers that share bytes are not live at once",
                here=f"{what}; {place_text(self.slots.ranges, key)}",
                notes=[
                    Note("it was written here", held.writer.location),
                    Note(f"{held.lost.name} took its bytes", held.lost.location),
                ],
            )
        inside = any(end <= r and right <= c for r, c in held.boxes)
        if not inside and held.needed is None:
            shown = " and ".join(f"[{r}, {c}]" for r, c in held.boxes)
            fail(
                "PTO422",
                f"{op.name} reads {what} of {name_of(key)}, of which {shown} is valid",
                op,
                rule="what an instruction reads was written before",
                here=place_text(self.slots.ranges, key),
                notes=[Note("it was written here", held.writer.location)],
            )
        if not inside and held.needed is not None:
            more = (max(held.needed[0], end), max(held.needed[1], right))
            reader = op if more != held.needed else held.reader
            held = held._replace(needed=more, reader=reader)
        self.state.held[key] = held._replace(read=True)

    def _write(self, op: Operation, key: Key, box: Box | None, reads: bool) -> None:
        """`reads`: whether the same instruction reads this slot."""
        held = self.state.held
        for other in self.slots.others(key):
            one = held.get(other)
            if one is not None and one.lost is None:
                held[other] = one._replace(lost=op)
        new = (1 << 30, 1 << 30) if box is None else (box[2], box[3])
        if 0 in new:
            return
        before = held.get(key)
        if before is None or before.lost is not None or (before.read and not reads):
            needed = None if before is None else before.needed
            reader = None if before is None else before.reader
            held[key] = Held((new,), op, needed=needed, reader=reader)
            return
        kept = [b for b in before.boxes if not (b[0] <= new[0] and b[1] <= new[1])]
        if any(new[0] <= r and new[1] <= c for r, c in kept):
            held[key] = before
        else:
            held[key] = before._replace(boxes=(*kept, new), writer=op)

    def forget(self, keys: Sequence[Key]) -> None:
        """An allocation begins: its slots hold nothing."""
        for key in keys:
            self.state.held.pop(key, None)

    # Channels.

    def pop(self, op: Instruction, pipe: int, channel: Operation, slots: int) -> Key:
        """The slot that is taken; the channel orders it behind what was in it."""
        state = self.state
        turn, left = state.turns.get(channel, (0, 0))
        state.turns[channel] = ((turn + 1) % slots, left + 1)
        key = (channel, turn)
        state.clocks[pipe][pipe] += 1
        for place in [place for place in state.touched if place[0] == key]:
            del state.touched[place]
        state.touched[key, pipe, True] = Touch(state.clocks[pipe][pipe], op)
        state.held[key] = Held((), op, needed=(0, 0))
        return key

    def free(
        self, op: Instruction, pipe: int, channel: Operation, slots: int
    ) -> tuple[tuple[int, int], Operation | None]:
        """Gives back a slot; what was read of what came in it, and by what."""
        state = self.state
        turn, left = state.turns.get(channel, (0, 0))
        if left == 0:
            fail(
                "PTO413",
                f"{name_of((channel, 0))} is freed before it is popped",
                op,
                rule="each push has one pop and one free on every core that takes",
            )
        state.turns[channel] = (turn, left - 1)
        key = (channel, (turn - left) % slots)
        state.clocks[pipe][pipe] += 1
        self.touch(op, pipe, key, True)
        held = state.held.pop(key)
        return held.needed or (0, 0), held.reader

    def finish(self) -> None:
        """At the end no flag is set."""
        for flag, token in self.state.tokens.items():
            fail(
                "PTO412",
                f"{flag_text(flag)} is set at the end of the task",
                token.op,
                rule="every set_flag needs a wait_flag",
                help=f"wait for it on pipe {PIPES[flag[1]]}, or leave it out",
            )


def flag_text(flag: Flag) -> str:
    source, target, number = flag
    return f"flag [{PIPES[source]} -> {PIPES[target]}, {number}]"
