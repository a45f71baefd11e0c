"""
A task as a step: the state of its core in, the state after it out.

Times are cycles from the task's start. Tasks whose deciding values, miss ratios,
traffic and start state are equal are one step, which is worked out once and kept: in a
large grid nearly all tasks are one of a few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.record import record
from pyptoc.runtime.machine import Machine
from pyptoc.runtime.timing_costs import ALONE, Traffic
from pyptoc.runtime.timing_kernel import KernelTimer
from pyptoc.runtime.timing_sections import run_sections

Carried = tuple[tuple[int, ...], ...]
"""What one task leaves to the next on its cores: times of each core, then the times at
which the slots of each channel are free."""

FRONT = ("mte2", "v", "mte1", "m", "mte3", "fix")
"""A core takes its next task when the first of these that the kernel has is done."""


class Work(NamedTuple):
    """A class of tasks: those of one kernel with equal deciding values and sizes."""

    launch: object
    """What tells the shapes, and data that is read, of one launch from another's."""
    values: tuple[Any, ...]


@record(eq=False)
class Step:
    """What a task does to its cores."""

    number: int
    """Counts the steps of a kernel."""
    front: int
    """When the cores may take the next task."""
    finish: int
    """When everything of the task has finished."""
    carried: Carried
    """For a next task that starts at `front`."""
    counts: tuple[tuple[int, ...], ...]
    """The counters of each core."""


def outside_bytes(counts: Mapping[tuple[str, object], int]) -> int:
    """Bytes from and to L2: loads, stores, and channels through gm both ways."""
    total = 0
    for (kind, name), value in counts.items():
        if kind in ("load", "store"):
            total += value
        elif kind == "bytes" and "-> gm ->" in str(name):
            total += 2 * value
    return total


class KernelSteps:
    """The steps of one kernel on one machine."""

    def __init__(self, kernel: KernelOp, machine: Machine) -> None:
        self.timer = KernelTimer(kernel, machine)
        self.kernel, self.machine = kernel, machine
        self.steering = self.timer.deciding.steering
        self.steps: list[Step] = []
        self.inputs: list[tuple[Work, tuple[float, ...], Traffic, Carried | None]] = []
        """What each step was worked out for."""
        self._found: dict[tuple[Any, ...], Step] = {}
        self._examples: dict[Work, tuple[Any, ...]] = {}
        self._paces: dict[tuple[Any, ...], int] = {}
        self._totals: dict[Work, dict[tuple[str, object], int]] = {}
        self.front = self._front()

    def _front(self) -> tuple[int, int]:
        """The core and the entry that say when the next task is taken."""
        for name in FRONT:
            for core, layout in enumerate(self.timer.layouts):
                if name in layout.used_pipes:
                    return core, layout.pipe(name)
        return 0, 0

    def work(
        self,
        shapes: tuple[Any, ...],
        grid: tuple[int, ...],
        scalars: tuple[Any, ...],
        read: Callable[..., Any] | None = None,
        contents: Sequence[Any] = (),
    ) -> Work:
        """The class of a task, by its grid indices.

        read: elements of the launch's arrays (`Launch.read`); contents: what tells them
        from those of others. Both are for kernels that read scalars.
        """
        data = tuple(contents[number] for number in self.steering)
        values = self.timer.guarded(self.timer.classify, grid, scalars, shapes, read)
        work = Work((shapes, data), values)
        if work not in self._examples:
            self._examples[work] = (grid, scalars, shapes, read)
        return work

    def step(
        self,
        work: Work,
        miss: tuple[float, ...],
        traffic: Traffic,
        carried: Carried | None,
    ) -> Step:
        """What a task of this class does."""
        key = (work, miss, traffic, carried)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._run(work, miss, traffic, carried)
            self.steps.append(found)
            self.inputs.append(key)
        return found

    def pace(self, work: Work, miss: tuple[float, ...], traffic: Traffic) -> int:
        """The cycles of a task among many of its kind: of the third in a row.

        No stream of tasks is faster than its busiest pipe, which in a mixed kernel may
        be one that the core that takes the tasks does not wait for so soon.
        """
        key = (work, miss, traffic)
        if key not in self._paces:
            step = self.step(work, miss, traffic, None)
            for _ in range(2):
                step = self.step(work, miss, traffic, step.carried)
            self._paces[key] = max(step.front, self._busiest(step))
        return self._paces[key]

    def _busiest(self, step: Step) -> int:
        """The cycles that the busiest pipe of all cores works."""
        return max(
            (
                cycles
                for number in range(len(step.counts))
                for (kind, _), cycles in self.named(step.counts, number).items()
                if kind == "busy"
            ),
            default=0,
        )

    def totals(self, work: Work) -> dict[tuple[str, object], int]:
        """The counters of a task, over its cores; busy cycles without misses."""
        if work not in self._totals:
            miss = (0.0,) * len(self.kernel.buffer_args)
            counts = self.step(work, miss, ALONE, None).counts
            self._totals[work] = self.named(counts)
        return self._totals[work]

    def named(
        self, counts: Sequence[Sequence[int]], core: int | None = None
    ) -> dict[tuple[str, object], int]:
        """Counters by name, of all cores or of one."""
        named: dict[tuple[str, object], int] = {}
        for number, values in enumerate(counts):
            if core is not None and core != number:
                continue
            names = self.timer.layout_of(number).counts
            for name, value in zip(names, values, strict=True):
                named[name] = named.get(name, 0) + value
        return named

    def _run(
        self,
        work: Work,
        miss: tuple[float, ...],
        traffic: Traffic,
        carried: Carried | None,
    ) -> Step:
        states, counts = self.execute(self.timer, work, miss, traffic, carried)
        core, place = self.front
        front = states[core][place]
        layouts = [self.timer.layout_of(n) for n in range(len(states))]
        finish = max(
            max(state[index] for index in layout.clocks())
            for layout, state in zip(layouts, states, strict=True)
        )
        left = [
            tuple(max(state[index] - front, 0) for index in layout.carried)
            for layout, state in zip(layouts, states, strict=True)
        ]
        for channel in self.timer.channels:
            left.append(tuple(max(time - front, 0) for time in channel.free))
        return Step(
            len(self.steps),
            front,
            finish,
            tuple(left),
            tuple(map(tuple, counts)),
        )

    def execute(
        self,
        timer: KernelTimer,
        work: Work,
        miss: tuple[float, ...],
        traffic: Traffic,
        carried: Carried | None,
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Run a task of this class with a timer: the states and counters after it."""
        layouts = [timer.layout_of(n) for n in range(timer.core_count)]
        before = [None] * len(layouts) if carried is None else carried[: len(layouts)]
        states = [
            layout.start(left) for layout, left in zip(layouts, before, strict=True)
        ]
        counts = [[0] * len(layout.counts) for layout in layouts]
        for number, channel in enumerate(timer.channels):
            free = None if carried is None else list(carried[len(layouts) + number])
            channel.start(free)
        kept = [list(state) for state in states]
        sections = timer.guarded(
            timer.task, states, counts, kept, miss, traffic, *self._examples[work]
        )
        timer.guarded(run_sections, sections, timer.channels)
        return states, counts
