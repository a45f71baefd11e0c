"""
The tasks of a launch on the cores, in time.

    static     task t of the walk on lane t modulo the number of lanes
    dynamic    the next task on the lane that is free first, which costs a dispatch

A lane is a core, or of a mixed kernel a cube core with its two vector cores. A task
starts when its lane has taken it (`timing_steps.py`) and the tasks that it waits for
are done; launches may overlap. Cycles count from the start of the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from heapq import heapify, heapreplace
from itertools import islice
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import StringAttr

from pyptoc.dialects.expr import to_python
from pyptoc.dialects.npu_attrs import Selector, SelectorKind, Unit
from pyptoc.dialects.record import record
from pyptoc.runtime.machine import Machine
from pyptoc.runtime.timing_accesses import LaunchBoxes, Regions
from pyptoc.runtime.timing_l2 import L2
from pyptoc.runtime.timing_misses import Misses, WaveMisses
from pyptoc.runtime.timing_program import Events, Launch
from pyptoc.runtime.timing_steps import Carried, KernelSteps, Step, Work, outside_bytes
from pyptoc.runtime.timing_traffic import Kind, Sharing

BY_CORE, BY_ISSUE = -1, -2
"""What a task waited for that is no launch: its core, or its own launch's issue."""

ROUNDING = 1e-6
"""Cycles that a product of two floats may be too large."""


class TaskTime(NamedTuple):
    """One task in time."""

    launch: int
    place: tuple[int, ...]
    """Its grid indices."""
    lane: int
    start: int
    end: int
    """When all of it has finished, in cycles of the program."""
    step: Step
    cause: int
    """The number of the launch that it waited for, or BY_CORE or BY_ISSUE."""


@record(frozen=False)
class Lane:
    """One core, or a cube core with two vector cores."""

    cores: tuple[int, ...]
    """Numbers of cores: cube cores first, then vector cores."""
    ready: int
    """When it may take a task."""
    finish: int
    carried: Carried | None = None
    before: TaskTime | None = None
    """The last task of its cores in an earlier launch."""
    last: TaskTime | None = None
    """Its last task."""


@record(frozen=False)
class LaunchRun:
    """A launch that was placed."""

    launch: Launch
    steps: KernelSteps
    lanes: list[Lane]
    tasks: list[TaskTime]
    hbm_bytes: float = 0.0
    written_back: float = 0.0
    """Bytes that L2 wrote to HBM meanwhile."""
    back: list[float] = field(default_factory=list[float])
    """The same by waves of one task a lane."""
    issued: int = 0
    start: int = 0
    """When the first task started."""
    end: int = 0
    """When the last one was done, and HBM and L2 can have moved all of the bytes."""
    ends: NDArray[np.int64] | None = None
    """The end of each task by grid index, where others wait for some."""


@record(frozen=False)
class Burst:
    """Launches that overlap in time, and what they move together."""

    start: int = 0
    end: int = 0
    hbm: float = 0.0
    outside: int = 0
    """Bytes to and from L2 or HBM."""

    def join(self, run: LaunchRun, outside: int) -> None:
        """Take in a launch, as the first one if those before have ended."""
        if run.start >= self.end:
            self.start, self.hbm, self.outside = run.start, 0.0, 0
        self.hbm += run.hbm_bytes + run.written_back
        self.outside += outside

    def over(self, sharing: Sharing) -> int:
        """When HBM and L2 have moved all of it, at the earliest."""
        return self.start + ceil(max(self.hbm / sharing.hbm, self.outside / sharing.l2))


@record(frozen=False)
class Chip:
    """The cores and what lies in L2, while a program runs on them."""

    machine: Machine
    regions: Regions
    l2: L2
    free: list[int] = field(default_factory=list[int])
    """When each core is idle; cube cores first."""
    last: dict[int, TaskTime] = field(default_factory=dict[int, TaskTime])
    """The last task of each core."""
    runs: list[LaunchRun] = field(default_factory=list[LaunchRun])
    written: dict[int, int] = field(default_factory=dict[int, int])
    """Cells to when the last task that writes them ends."""
    read: dict[int, int] = field(default_factory=dict[int, int])
    roots: dict[int, int] = field(default_factory=dict[int, int])
    """Allocations to when the last task that touches them ends."""
    burst: Burst = field(default_factory=Burst)
    delay: int = 0
    """How much later launches are issued since the orchestration waited to read."""

    def __post_init__(self) -> None:
        self.free = [0] * (self.machine.cube_cores + self.machine.vector_cores)

    def cores_of(self, unit: Unit) -> list[tuple[int, ...]]:
        """The cores of each lane for kernels of a unit."""
        cube, vector = self.machine.cube_cores, self.machine.vector_cores
        if unit == Unit.CUBE:
            return [(n,) for n in range(cube)]
        if unit == Unit.VECTOR:
            return [(cube + n,) for n in range(vector)]
        pairs = range(min(cube, vector // 2))
        return [(n, cube + 2 * n, cube + 2 * n + 1) for n in pairs]

    def lanes(self, unit: Unit) -> list[Lane]:
        """The lanes for kernels of a unit, as the cores are now."""
        return [
            Lane(
                cores,
                ready := max(self.free[core] for core in cores),
                ready,
                before=max(
                    (self.last[core] for core in cores if core in self.last),
                    key=lambda task: task.end,
                    default=None,
                ),
            )
            for cores in self.cores_of(unit)
        ]

    def cycles(self, seconds: float) -> int:
        """As whole cycles; what is one but for rounding stays one."""
        return ceil(seconds * self.machine.clock_hz - ROUNDING)


class Placing:
    """Places the tasks of one launch."""

    def __init__(
        self, chip: Chip, launch: Launch, steps: KernelSteps, boxes: LaunchBoxes
    ) -> None:
        machine = chip.machine
        self.chip, self.launch, self.steps = chip, launch, steps
        self.lanes = chip.lanes(steps.timer.unit)
        self.misses = WaveMisses(boxes, chip.regions, chip.l2)
        self.sharing = Sharing(steps, machine)
        assign = launch.op.attributes.get("assign")
        self.static = isinstance(assign, StringAttr) and assign.data == "static"
        self.dispatch = 0 if self.static else chip.cycles(machine.task_seconds)
        self.waits = Waits(chip, launch)
        self.issued, self.issued_by = self._issue()

    def _issue(self) -> tuple[int, int]:
        """The cycle at which the launch is issued, and what it waited for."""
        chip, machine = self.chip, self.chip.machine
        seconds = machine.launch_seconds
        seconds += self.launch.number * machine.next_launch_seconds
        issued = chip.cycles(seconds) + chip.delay
        end, launch = self.waits.latest_of(self.launch.held)
        held = end + self.waits.latency if self.launch.held else 0
        if held <= issued:
            return issued, BY_ISSUE
        chip.delay += held - issued
        return held, launch

    def run(self, waited: Iterable[str]) -> LaunchRun:
        """
        Place all tasks.

        waited: how later launches wait for these tasks (`SelectorKind`).
        """
        launch, lanes = self.launch, self.lanes
        run = LaunchRun(launch, self.steps, lanes, [], issued=self.issued)
        kinds = set(waited)
        if SelectorKind.BOX in kinds:
            run.ends = np.zeros(launch.grid, np.int64)
        walk = launch.op.task_order.tasks(launch.grid)
        queue = [(lane.ready, number) for number, lane in enumerate(lanes)]
        heapify(queue)
        number, count = 0, int(np.prod(launch.grid, dtype=np.int64))
        for wave in _waves(walk, len(lanes)):
            works = [
                self.steps.work(
                    launch.shapes, task, launch.scalars, launch.read, launch.contents
                )
                for task in wave
            ]
            found = self._misses(run, wave, works)
            lasting = count > len(lanes)
            kinds_of = Counter[Kind](
                (work, miss.ratios, miss.hbm_bytes + self.back)
                for work, miss in zip(works, found, strict=True)
            )
            traffic = self.sharing.of(kinds_of, lasting)
            for task, work, miss in zip(wave, works, found, strict=True):
                place = number % len(lanes) if self.static else queue[0][1]
                lane = lanes[place]
                start, cause = self._start(lane, task, miss)
                step = self.steps.step(work, miss.ratios, traffic, lane.carried)
                end = start + step.finish
                lane.ready, lane.carried = start + step.front, step.carried
                lane.finish = max(lane.finish, end)
                if not self.static:
                    heapreplace(queue, (lane.ready, place))
                lane.last = TaskTime(
                    launch.number, task, place, start, end, step, cause
                )
                run.tasks.append(lane.last)
                number += 1
                if run.ends is not None:
                    run.ends[task] = end
                if SelectorKind.OVERLAPS in kinds:
                    self._note(miss, end)
        self._leave(run)
        return run

    def _leave(self, run: LaunchRun) -> None:
        """Set when the launch lasts; take the chip to where it is after it."""
        run.start = min((task.start for task in run.tasks), default=self.issued)
        run.end = max((task.end for task in run.tasks), default=self.issued)
        if run.tasks:
            burst = self.chip.burst
            burst.join(run, self._outside(run))
            run.end = max(run.end, burst.over(self.sharing))
            burst.end = max(burst.end, run.end)
        for lane in run.lanes:
            if lane.last is None:
                continue
            for core in lane.cores:
                self.chip.free[core] = max(self.chip.free[core], lane.finish)
                self.chip.last[core] = lane.last

    def _outside(self, run: LaunchRun) -> int:
        """The bytes that all tasks move from and to L2 or HBM."""
        times = Counter(task.step.number for task in run.tasks)
        moved = 0
        for number, count in times.items():
            named = self.steps.named(self.steps.steps[number].counts)
            moved += count * outside_bytes(named)
        return moved

    def _misses(
        self, run: LaunchRun, wave: Sequence[tuple[int, ...]], works: Sequence[Work]
    ) -> list[Misses]:
        l2, arrays = self.chip.l2, len(self.launch.arrays)
        before = l2.written_back
        loaded = [
            [self.steps.totals(work).get(("load", n), 0) for n in range(arrays)]
            for work in works
        ]
        found = self.misses.wave(wave, loaded)
        back = l2.written_back - before
        run.written_back += back
        run.back.append(back)
        run.hbm_bytes += sum(miss.hbm_bytes for miss in found)
        # Rounded, so that waves that write back about as much have one traffic.
        self.back = float(ceil(back / max(len(wave), 1) / 1024) * 1024)
        return found

    def _start(
        self, lane: Lane, task: tuple[int, ...], miss: Misses
    ) -> tuple[int, int]:
        """When a lane starts a task, and what for it waited."""
        ready, cause = lane.ready + self.dispatch, BY_CORE
        if self.issued > ready:
            ready, cause = self.issued, self.issued_by
        waited, launch = self.waits.of(task, miss, ready)
        if waited > ready:
            ready, cause = waited, launch
        later = ready - lane.ready
        if lane.carried is not None and later:
            lane.carried = tuple(
                tuple(max(time - later, 0) for time in core) for core in lane.carried
            )
        return ready, cause

    def _note(self, miss: Misses, end: int) -> None:
        """Keep when cells were touched last."""
        chip = self.chip
        for cell, writes in miss.touched:
            times = chip.written if writes else chip.read
            if times.get(cell, 0) < end:
                times[cell] = end
        for array in self.launch.arrays:
            if array.root in chip.regions.shared:
                chip.roots[array.root] = max(chip.roots.get(array.root, 0), end)


class Waits:
    """When the tasks are done that a task waits for."""

    def __init__(self, chip: Chip, launch: Launch) -> None:
        self.chip, self.launch = chip, launch
        self.latency = chip.cycles(chip.machine.wait_seconds)
        self.waits = [
            (events, selector, range_function(launch, selector))
            for events, selector in launch.waits
            if events
        ]
        self.latest, self.last = self.latest_of(
            event for events, _, _ in self.waits for event in events
        )

    def latest_of(self, events: Iterable[int]) -> tuple[int, int]:
        """The end of the last task of some launches, and its launch."""
        ends = [(self.chip.runs[event].end, event) for event in events]
        return max(ends, default=(0, BY_CORE))

    def of(self, task: tuple[int, ...], miss: Misses, ready: int) -> tuple[int, int]:
        """The cycle, and the launch of the last of them. Not beyond `ready` matters."""
        if not self.waits or self.latest + self.latency <= ready:
            return 0, BY_CORE
        found = (0, BY_CORE)
        for events, selector, ranges in self.waits:
            if selector.kind == SelectorKind.ALL:
                found = max(found, self.latest_of(events))
            elif selector.kind == SelectorKind.OVERLAPS:
                found = max(found, (self._overlapping(events, miss), events[-1]))
            else:
                boxes = ranges(*task, *self.launch.scalars)
                for event in events:
                    found = max(found, (self._selected(event, boxes), event))
        end, launch = found
        return (end + self.latency, launch) if end else (0, BY_CORE)

    def _selected(self, event: int, ranges: Sequence[tuple[int, int] | None]) -> int:
        ends = self.chip.runs[event].ends
        assert ends is not None
        box = tuple(
            slice(None) if r is None else slice(max(r[0], 0), max(r[1], 0))
            for r in ranges
        )
        chosen = ends[box]
        return int(chosen.max()) if chosen.size else 0

    def _overlapping(self, events: Events, miss: Misses) -> int:
        chip, end = self.chip, 0
        for cell, writes in miss.touched:
            end = max(end, chip.written.get(cell, 0))
            if writes:
                end = max(end, chip.read.get(cell, 0))
        for array in self.launch.arrays:
            end = max(end, chip.roots.get(array.root, 0))
        return min(end, self.latest_of(events)[0])


def range_function(launch: Launch, selector: Selector) -> Any:
    """A function of grid indices and scalars: the ranges of a selector's box."""
    if selector.kind != SelectorKind.BOX:
        return None
    texts = [
        "None" if r is None else f"({to_python(r[0], str)}, {to_python(r[1], str)})"
        for r in selector.ranges
    ]
    names = [f"d{n}" for n in range(len(launch.grid))]
    names += [f"s{n}" for n in range(len(launch.scalars))]
    scope: dict[str, Any] = {}
    exec(f"def ranges({', '.join(names)}): return [{', '.join(texts)}]", scope)
    return scope["ranges"]


def _waves(
    tasks: Iterator[tuple[int, ...]], size: int
) -> Iterator[list[tuple[int, ...]]]:
    while wave := list(islice(tasks, size)):
        yield wave
