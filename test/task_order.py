"""An independent check of the waits between tasks, by running a program.

A program runs on concrete inputs, every launch and every read of the orchestration is
recorded, and its tasks are enumerated: the boxes that each one declares, the boxes that
its instructions really touch, and the tasks that each of its waits selects. The order
of tasks is what the waits say and nothing else: no core, no order of launches. Then

- two tasks whose boxes conflict (the same elements, one of them written) must be
  ordered, and never belong to one launch; the same for a read of the orchestration;
  in one launch, where data decides, what the tasks really touch counts;
- what a task touches lies in what it declares, and it touches all of an exact box;
- an order that no conflict asks for is counted.

It shares no code with assemble-buffers: no expressions of tiles, no roots, no states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from task_record import Box, HostRead, Launch, RecordingExecutable, Step, Symbols
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from pyptoc.dialects.npu_attrs import AccessMode, Selector, SelectorKind
from pyptoc.runtime.machine import Machine


def record(
    module: ModuleOp, machine: Machine, inputs: Mapping[str, Any]
) -> tuple[TaskOrder, dict[str, np.ndarray]]:
    """The order of the tasks of one run, and its results."""
    executable = RecordingExecutable(module, machine)
    results = executable.run(inputs)
    return TaskOrder(executable.recorder.steps), results


# The order ---------------------------------------------------------------------------


class SameShape:
    """Boxes of one memref in one of its shapes, compared with another at once."""

    def __init__(self, boxes: list[tuple[int, Box]]) -> None:
        """boxes: each with the number of its task, in the order of the tasks."""
        tasks, self.boxes = zip(*boxes, strict=True)
        self.tasks = np.array(tasks)
        ranges = np.array([box.ranges for box in self.boxes], np.int64)
        self.ranges = ranges.reshape(len(boxes), -1, 2)
        self.modes = np.array([box.mode.value for box in self.boxes])

    def conflicting(self, task: int, box: Box) -> int:
        """Which tasks before `task` have a box that conflicts with this one."""
        count = int(np.searchsorted(self.tasks, task))
        first = self.boxes[0]
        if first.end <= box.start or box.end <= first.start:
            return 0
        if first.form != box.form:
            pairs = zip(self.tasks[:count].tolist(), self.boxes, strict=False)
            return bits_of({other for other, theirs in pairs if box.conflicts(theirs)})
        lo, hi = np.array(box.ranges, np.int64).reshape(-1, 2).T
        ranges = self.ranges[:count]
        meets = ((ranges[:, :, 0] < hi) & (lo < ranges[:, :, 1])).all(axis=1)
        if box.mode != AccessMode.WRITE:
            meets &= self.modes[:count] != box.mode.value
        return bits_of(set(self.tasks[:count][meets].tolist()))


def bits_of(tasks: Iterable[int]) -> int:
    """A set of tasks."""
    bits = 0
    for task in tasks:
        bits |= 1 << task
    return bits


Removed = tuple[Operation, int]
"""A wait that is left out: the launch or read, and the number of the wait."""


@dataclass
class TaskOrder:
    """What of a run must be ordered, and what is. Sets of tasks are bits of an int."""

    steps: list[Step]

    @cached_property
    def launches(self) -> list[Launch]:
        return [step for step in self.steps if isinstance(step, Launch)]

    @cached_property
    def conflicts(self) -> list[int]:
        """For each task the tasks before it whose declared boxes conflict with its."""
        boxes = [
            (task, box)
            for launch in self.launches
            for task, declared in zip(launch.tasks, launch.declared, strict=True)
            for box in declared
            if not box.empty
        ]
        groups: dict[int, dict[object, list[tuple[int, Box]]]] = {}
        for task, box in boxes:
            group = groups.setdefault(box.memory, {})
            group.setdefault(box.form, []).append((task, box))
        seen = {
            memory: [SameShape(group) for group in by_shape.values()]
            for memory, by_shape in groups.items()
        }
        found = [0] * sum(len(launch.tasks) for launch in self.launches)
        for task, box in boxes:
            for group in seen[box.memory]:
                found[task] |= group.conflicting(task, box)
        return found

    @cached_property
    def selected(self) -> dict[tuple[int, int], list[int]]:
        """By step and wait: for each task of the step, the tasks that it waits for."""
        found: dict[tuple[int, int], list[int]] = {}
        for number, step in enumerate(self.steps):
            indices = step.indices if isinstance(step, Launch) else [()]
            for wait, (events, selector) in enumerate(step.waits):
                found[number, wait] = [
                    self._select(step, index, task, events, selector)
                    for task, index in enumerate(indices)
                ]
        return found

    def _select(
        self,
        step: Step,
        index: tuple[int, ...],
        task: int,
        events: tuple[Launch, ...],
        selector: Selector,
    ) -> int:
        everything = 0
        for launch in events:
            everything |= ((1 << len(launch.tasks)) - 1) << launch.first
        if selector.kind == SelectorKind.ALL:
            return everything
        if selector.kind == SelectorKind.OVERLAPS:
            if isinstance(step, Launch):
                return everything & self.conflicts[step.first + task]
            return everything & self._writers(step)
        (producer,) = events
        symbols = step.symbols(index) if isinstance(step, Launch) else {}
        return box_of_grid(producer, selector, symbols)

    def _writers(self, read: HostRead) -> int:
        """The tasks before a read of the orchestration that write its element."""
        bits = 0
        for step in self.steps[: self.steps.index(read)]:
            if isinstance(step, Launch):
                for task, boxes in zip(step.tasks, step.declared, strict=True):
                    if any(box.conflicts(read.box) for box in boxes):
                        bits |= 1 << task
        return bits

    def closure(self, removed: Removed | None = None) -> tuple[list[int], list[int]]:
        """What is over when each task starts, and when each read does."""
        before: list[int] = []
        at_reads: list[int] = []
        known = 0
        for number, step in enumerate(self.steps):
            indices = step.indices if isinstance(step, Launch) else [()]
            done = [known] * len(indices)
            for wait in range(len(step.waits)):
                if removed == (step.op, wait):
                    continue
                for task, bits in enumerate(self.selected[number, wait]):
                    done[task] |= bits
            done = [with_past(bits, before) for bits in done]
            if isinstance(step, Launch):
                before += done
            else:
                known = done[0]
                at_reads.append(known)
        return before, at_reads

    def problems(self, removed: Removed | None = None) -> list[str]:
        """What is not ordered but must be."""
        before, at_reads = self.closure(removed)
        found: list[str] = []
        for launch in self.launches:
            mine = ((1 << len(launch.tasks)) - 1) << launch.first
            for task in launch.tasks:
                missing = self.conflicts[task] & ~before[task]
                for other in ones(missing):
                    same = "in one launch" if mine >> other & 1 else "not ordered"
                    if mine >> other & 1 and not launch.meet(task, other):
                        continue
                    found.append(f"{self.name(other)} and {self.name(task)}: {same}")
        reads = [step for step in self.steps if isinstance(step, HostRead)]
        for read, over in zip(reads, at_reads, strict=True):
            for other in ones(self._writers(read) & ~over):
                found.append(f"{self.name(other)} and {read.op}: not ordered")
        return found

    def undeclared(self) -> list[str]:
        """Transfers outside the declared boxes, and exact boxes not all touched."""
        return [text for launch in self.launches for text in check_declared(launch)]

    def waits(self) -> list[Removed]:
        """All waits of the run, each once."""
        found = [(s.op, n) for s in self.steps for n in range(len(s.waits))]
        return list(dict.fromkeys(found))

    def unneeded(self) -> list[str]:
        """Waits that can be removed and nothing is wrong."""
        return [
            f"wait {number} of {op}"
            for op, number in self.waits()
            if not self.problems((op, number))
        ]

    def needless(self) -> list[str]:
        """Pairs of tasks that are ordered, though no chain of conflicts orders them."""
        before, _ = self.closure()
        needed: list[int] = []
        known = 0
        for step in self.steps:
            if isinstance(step, HostRead):
                known |= with_past(self._writers(step), needed)
            else:
                needed += [
                    with_past(known | self.conflicts[task], needed)
                    for task in step.tasks
                ]
        return [
            f"{self.name(other)} before {self.name(task)}"
            for task, over in enumerate(before)
            for other in ones(over & ~needed[task])
        ]

    def name(self, task: int) -> str:
        launch = next(one for one in self.launches if task in one.tasks)
        return launch.name(task)


def box_of_grid(producer: Launch, selector: Selector, symbols: Symbols) -> int:
    """The tasks of `producer` in the ranges of `selector`, clipped to its grid."""
    assert len(selector.ranges) == len(producer.grid)
    ranges: list[range] = []
    for given, size in zip(selector.ranges, producer.grid, strict=True):
        lo, hi = (0, size) if given is None else (e.evaluate(symbols) for e in given)
        ranges.append(range(max(lo, 0), min(hi, size)))
    bits = 0
    for index in product(*ranges):
        bits |= 1 << producer.first + int(
            np.ravel_multi_index(index, producer.grid) if index else 0
        )
    return bits


def with_past(bits: int, before: list[int]) -> int:
    """`bits` and all that was over before one of them started."""
    found = bits
    for task in ones(bits):
        if task < len(before):
            found |= before[task]
    return found


def ones(bits: int) -> Iterator[int]:
    """The positions of the bits that are set."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def check_declared(launch: Launch) -> Iterator[str]:
    """Compares what the tasks of a launch touch with what its kernel declares."""
    accesses = launch.kernel.access_list
    open_boxes = [
        [np.zeros([hi - lo for lo, hi in box.ranges], bool) for box in boxes]
        if not any(box.empty for box in boxes)
        else []
        for boxes in launch.declared
    ]
    for task, buffer, touched in launch.touched:
        allowed = {touched.mode, AccessMode.ACCUMULATE}
        inside = False
        for number, access in enumerate(accesses):
            box = launch.declared[task][number]
            if access.buffer != buffer or access.mode not in allowed:
                continue
            if box.holds(touched):
                inside = True
                if open_boxes[task]:
                    starts = [lo for lo, _ in box.ranges]
                    ends = zip(touched.ranges, starts, strict=True)
                    key = tuple(slice(a - s, b - s) for (a, b), s in ends)
                    open_boxes[task][number][key] = True
        if not inside:
            name = launch.name(launch.first + task)
            yield f"{name} touches {touched}, which it does not declare"
    for task, masks in enumerate(open_boxes):
        for access, mask in zip(accesses, masks, strict=False):
            if access.exact and not mask.all():
                name = launch.name(launch.first + task)
                yield f"{name} leaves part of {access.mode} {access.box_text()}"
