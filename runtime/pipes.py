"""
Running one task's instructions in an order that only its flags hold together.

The pipes of a core are in-order queues that run side by side. Here a task is first
issued as a whole: control flow runs, every instruction goes to the queue of its pipe.
Then the queues are drained one instruction at a time, adversarially: a seed gives an
order of preference, and the preferred pipe that is not held by a flag always goes on,
so that it runs as far ahead of the others as the flags allow. An order that the
program forgot to ask for thus shows as a wrong value for some seed.

A flag is a counter for a pair of pipes and an id. What is never set is a deadlock, what
is set twice without a wait or left over at the end is an error as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import NoReturn

from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import Diagnostic, Note, RunError

Flag = tuple[str, str, int]
"""Source pipe, target pipe, id."""


@dataclass(frozen=True)
class Issued:
    """One entry of a pipe's queue."""

    pipe: str
    op: Operation
    action: Callable[[], None] | None = None
    sets: Flag | None = None
    waits: Flag | None = None
    barrier: int = 0
    """The number of the barrier that this entry is, counted from 1."""


def show(flag: Flag) -> str:
    source, target, number = flag
    return f"[{source} -> {target}, {number}]"


class Pipes:
    """Runs tasks; each takes its preferences from the same seeded generator."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def seed(self, seed: int) -> None:
        self.random.seed(seed)

    def run(self, issued: Sequence[Issued]) -> None:
        _Drain(issued, self.random).run()


class _Drain:
    """The queues of one task."""

    def __init__(self, issued: Sequence[Issued], random: Random) -> None:
        names = sorted({entry.pipe for entry in issued if not entry.barrier})
        self.queues: dict[str, deque[Issued]] = {name: deque() for name in names}
        for entry in issued:
            for name in names if entry.barrier else (entry.pipe,):
                self.queues[name].append(entry)
        self.tokens: dict[Flag, Operation] = {}
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
            message = f"flag {show(flag)} is set at the end of the task"
            _fail("PTO412", message, op, "every set_flag needs a wait_flag")

    def _step(self, name: str) -> bool:
        """Run the head of a queue, if it may run."""
        entry = self.queues[name][0]
        if entry.barrier:
            return False
        if entry.waits is not None:
            if entry.waits not in self.tokens:
                return False
            del self.tokens[entry.waits]
        if entry.sets is not None:
            self._set(entry.sets, entry.op)
        if entry.action is not None:
            entry.action()
        self.queues[name].popleft()
        return True

    def _set(self, flag: Flag, op: Operation) -> None:
        if flag in self.tokens:
            message = f"flag {show(flag)} is set again before anything waited for it"
            first = Note("it was set here", self.tokens[flag].location)
            rule = "between two set_flag of a flag there is a wait_flag"
            _fail("PTO411", message, op, rule, first)
        self.tokens[flag] = op

    def _pass_barrier(self) -> bool:
        """All pipes stand before the same barrier: let them through."""
        heads = {queue[0].barrier if queue else 0 for queue in self.queues.values()}
        if len(heads) != 1 or 0 in heads:
            return False
        for queue in self.queues.values():
            queue.popleft()
        return True

    def _deadlock(self) -> NoReturn:
        coming = {entry.sets for queue in self.queues.values() for entry in queue}
        held = [queue[0] for queue in self.queues.values() if queue]
        waiting = [entry for entry in held if entry.waits is not None]
        # Where one waits for what nothing sets, the others wait for that one.
        waiting.sort(key=lambda entry: entry.waits in coming)
        first, *others = waiting
        why = "sets any more" if first.waits not in coming else "can set any more"
        message = f"deadlock: {_waits(first)}, which nothing {why}"
        notes = [Note(_waits(entry), entry.op.location) for entry in others]
        _fail("PTO410", message, first.op, "a wait_flag needs a set_flag", *notes)


def _waits(entry: Issued) -> str:
    assert entry.waits is not None
    return f"pipe {entry.pipe} waits for flag {show(entry.waits)}"


def _fail(code: str, message: str, op: Operation, rule: str, *notes: Note) -> NoReturn:
    raise RunError([Diagnostic(code, message, op.location, rule=rule, notes=notes)])
