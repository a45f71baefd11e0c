"""
Running one task's instructions in an order that only its flags hold together.

The pipes of a core are in-order queues that run side by side. Here a task is first
issued as a whole: control flow runs, every instruction goes to the queue of its pipe.
Then the queues are drained one instruction at a time, adversarially: a seed gives an
order of preference, and the preferred pipe that is not held by a flag always goes on,
so that it runs as far ahead of the others as the flags allow. An order that the
program forgot to ask for thus shows as a wrong value for some seed.

A flag is a counter for a pair of pipes and an id. What is never set is a deadlock, what
is set twice without a wait or left over at the end is an error as well. Between the
cores of a mixed kernel there are no flags: the slots of a channel are free or full.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import NoReturn

from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import Diagnostic, Note, RunError
from pyptoc.dialects.record import record


@record
class Flag:
    """A flag of one core."""

    source: str
    target: str
    number: int
    core: str = ""

    def __str__(self) -> str:
        of = f" of the {self.core} core" if self.core else ""
        return f"flag [{self.source} -> {self.target}, {self.number}]{of}"


@record
class SlotToken:
    """What one vector core has to do with a slot of a channel: it is free, or full."""

    channel: Operation
    state: str
    slot: int
    half: int

    def __str__(self) -> str:
        name = self.channel.results[0].name_hint or "channel"
        return f"slot {self.slot} of %{name} to be {self.state} (vector {self.half})"


Token = Flag | SlotToken


@record
class Issued:
    """One entry of a pipe's queue."""

    pipe: str
    op: Operation
    action: Callable[[], None] | None = None
    sets: tuple[Token, ...] = ()
    waits: tuple[Token, ...] = ()
    barrier: int = 0
    """The number of the barrier that this entry is, counted from 1."""
    core: str = ""
    """The core of a mixed kernel: `cube`, `vector 0` or `vector 1`."""


class Pipes:
    """Runs tasks; each takes its preferences from the same seeded generator."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def seed(self, seed: int) -> None:
        self.random.seed(seed)

    def run(self, issued: Sequence[Issued], slots: Sequence[SlotToken] = ()) -> None:
        """Run a task; `slots` are free at first."""
        _Drain(issued, slots, self.random).run()


class _Drain:
    """The queues of one task, by core and pipe."""

    def __init__(
        self, issued: Sequence[Issued], slots: Sequence[SlotToken], random: Random
    ) -> None:
        found = {(entry.core, entry.pipe) for entry in issued if not entry.barrier}
        names = sorted(found)
        self.queues = {name: deque[Issued]() for name in names}
        for entry in issued:
            own = ((entry.core, entry.pipe),)
            for name in names if entry.barrier else own:
                if name[0] == entry.core:
                    self.queues[name].append(entry)
        self.tokens: dict[Token, Operation] = {slot: slot.channel for slot in slots}
        self.random = random
        random.shuffle(names)
        self.preference = names
        # Some tasks keep one preference throughout, in others it drifts.
        self.drift = random.choice((0.0, 0.0, 0.05, 0.5))

    def run(self) -> None:
        while any(self.queues.values()):
            if self.random.random() < self.drift:
                self.random.shuffle(self.preference)
            for name in self.preference:
                if self.queues[name] and self._step(name):
                    break
            else:
                if not self._pass_barrier():
                    self._deadlock()
        for flag, op in self.tokens.items():
            if isinstance(flag, Flag):
                message = f"{flag} is set at the end of the task"
                _fail("PTO412", message, op, "every set_flag needs a wait_flag")

    def _step(self, name: tuple[str, str]) -> bool:
        """Run the head of a queue, if it may run."""
        entry = self.queues[name][0]
        if entry.barrier or not self.tokens.keys() >= set(entry.waits):
            return False
        for token in entry.waits:
            del self.tokens[token]
        for token in entry.sets:
            self._set(token, entry.op)
        if entry.action is not None:
            entry.action()
        self.queues[name].popleft()
        return True

    def _set(self, flag: Token, op: Operation) -> None:
        if flag in self.tokens:
            message = f"{flag} is set again before anything waited for it"
            first = Note("it was set here", self.tokens[flag].location)
            rule = "between two set_flag of a flag there is a wait_flag"
            _fail("PTO411", message, op, rule, first)
        self.tokens[flag] = op

    def _pass_barrier(self) -> bool:
        """All pipes of a core stand before the same barrier: let them through."""
        passed = False
        for core in {name[0] for name in self.queues}:
            own = [queue for name, queue in self.queues.items() if name[0] == core]
            heads = {queue[0].barrier if queue else 0 for queue in own}
            if len(heads) == 1 and 0 not in heads:
                passed = True
                for queue in own:
                    queue.popleft()
        return passed

    def _deadlock(self) -> NoReturn:
        coming = {
            token
            for queue in self.queues.values()
            for entry in queue
            for token in entry.sets
        }
        held = [queue[0] for queue in self.queues.values() if queue]
        waiting = [(entry, self._missing(entry)) for entry in held if entry.waits]
        # Where one waits for what nothing sets, the others wait for that one.
        waiting.sort(key=lambda item: item[1] in coming)
        (first, missing), *others = waiting
        why = "sets any more" if missing not in coming else "can set any more"
        message = f"deadlock: {_waits(first, missing)}, which nothing {why}"
        notes = [Note(_waits(*other), other[0].op.location) for other in others]
        _fail("PTO410", message, first.op, "a wait_flag needs a set_flag", *notes)

    def _missing(self, entry: Issued) -> Token:
        return next(token for token in entry.waits if token not in self.tokens)


def _waits(entry: Issued, token: Token) -> str:
    core = f"{entry.core} " if entry.core else ""
    return f"{core}pipe {entry.pipe} waits for {token}"


def _fail(code: str, message: str, op: Operation, rule: str, *notes: Note) -> NoReturn:
    raise RunError([Diagnostic(code, message, op.location, rule=rule, notes=notes)])
