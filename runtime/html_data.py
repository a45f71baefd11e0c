"""
What the plots of a report are drawn from, as plain numbers, texts, lists and dicts.

A task is a few numbers; its instructions are those of its step, once for all tasks of
that step, and the page puts them in time. `bounds` says what was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pyptoc.dialects.diagnostics import place_of
from pyptoc.dialects.tile_types import Instruction
from pyptoc.dialects.words import counted
from pyptoc.runtime.bandwidth import bandwidth
from pyptoc.runtime.machine_keys import PIPES
from pyptoc.runtime.occupancy import residences
from pyptoc.runtime.timing_detail import by_interest
from pyptoc.runtime.timing_launch import LaunchRun
from pyptoc.runtime.timing_path import tag_of
from pyptoc.runtime.timing_record import Records, TaskRecord
from pyptoc.runtime.timing_result import LaunchTime, Timeline

MOST_TASKS = 50_000
MOST_RECORDS = 64
MOST_INSTRUCTIONS = 60_000
MOST_ROWS = 200
"""What a page holds at most, so that a browser draws it at once."""

Data = dict[str, Any]


def page_data(timeline: Timeline) -> Data:
    """All of it."""
    machine = timeline.machine
    details = _Details(timeline)
    return {
        "cycles": timeline.cycles,
        "clock": machine.clock_hz,
        "pipes": list(PIPES),
        "roofs": [
            {"name": name, "seconds": seconds, "near": timeline.near(name)}
            for name, seconds in timeline.roofs.items()
        ],
        "cores": [
            {
                "name": f"{core.unit} {core.number}",
                "unit": core.unit,
                "tasks": core.tasks,
                "busy": {
                    pipe: core.busy.get(pipe, 0) / max(timeline.cycles, 1)
                    for pipe in machine.pipes[core.unit]
                    if pipe != "s"
                },
            }
            for core in timeline.cores
        ],
        "launches": [
            {"name": named(launch), "start": launch.start, "end": launch.end}
            for launch in timeline.launches
        ],
        "lanes": [[lane.cores for lane in run.lanes] for run in timeline.runs],
        "spaces": {
            name: space.bytes for name, space in machine.spaces.items() if space.bytes
        },
        "tasks": _tasks(timeline, details),
        "ops": details.ops,
        "records": details.records,
        "bandwidth": {
            name: {
                "cycles": [round(cycle) for cycle in curve.times.tolist()],
                "rates": [
                    round(level * machine.clock_hz / 1e9, 2)
                    for level in (*curve.levels.tolist(), 0.0)
                ],
            }
            for name, curve in bandwidth(timeline, 1000).items()
        },
        "paths": timeline.bytes,
        "roofline": _roofline(timeline),
        "core": _critical_core(timeline),
    }


def bounds(timeline: Timeline, data: Data) -> list[str]:
    """What of the timeline the page does not hold, for people; may be empty."""
    found: list[str] = []
    rows = (("stretches", len(timeline.chain)), ("instructions", len(timeline.path)))
    for what, count in rows:
        if count > MOST_ROWS:
            found.append(f"{what} of the critical path are the last {MOST_ROWS:,}")
    every, some = len(timeline.tasks), len(data["tasks"]["launch"])
    if some < every:
        found.append(f"tasks are the first {some:,} of {every:,}")
    shown = sum(record >= 0 for record in data["tasks"]["record"])
    if shown < some:
        found.append(f"instructions are of {shown:,} of {counted(some, 'task', ',')}")
    return found


def named(launch: LaunchTime) -> str:
    """The kernel of a launch and its tag."""
    return f"{launch.kernel} [{launch.tag}]" if launch.tag else launch.kernel


def _tasks(timeline: Timeline, details: _Details) -> Data:
    """One list a property; `record` is -1 where a task has no instructions."""
    tasks = timeline.tasks[:MOST_TASKS]
    return {
        "launch": [task.launch for task in tasks],
        "lane": [task.lane for task in tasks],
        "start": [task.start for task in tasks],
        "cycles": [task.end - task.start for task in tasks],
        "grid": [",".join(map(str, task.place)) for task in tasks],
        "record": [
            details.numbers.get(_key(timeline.runs[task.launch], task.step.number), -1)
            for task in tasks
        ],
    }


def _key(run: LaunchRun, step: int) -> tuple[int, int]:
    return id(run.steps), step


class _Details:
    """The instructions of the steps that matter most."""

    def __init__(self, timeline: Timeline) -> None:
        self.numbers: dict[tuple[int, int], int] = {}
        self.records: list[Data] = []
        self.ops: list[Data] = []
        self._ops: dict[Instruction, int] = {}
        records, left = Records(MOST_INSTRUCTIONS), MOST_INSTRUCTIONS
        for number in by_interest(timeline):
            task = timeline.tasks[number]
            run = timeline.runs[task.launch]
            key = _key(run, task.step.number)
            if key in self.numbers:
                continue
            if len(self.records) >= MOST_RECORDS or left < 0:
                break
            record = records.of(run, task)
            if record is None:
                self.numbers[key] = -1
                continue
            left -= len(record.executed)
            self.numbers[key] = len(self.records)
            self.records.append(self._record(record))

    def _record(self, record: TaskRecord) -> Data:
        """
        Instructions as [op, core, start, cycles, sizes]; what lies in buffers as [core,
        space, address, bytes, start, cycles, name, writer, number of the buffer].
        """
        held = residences(record)
        buffers = dict.fromkeys(one.buffer for one in held)
        numbers = {buffer: number for number, buffer in enumerate(buffers)}
        return {
            "instructions": [
                [
                    self._op(one.op),
                    one.core,
                    one.start,
                    one.end - one.start,
                    " x ".join(map(str, one.sizes)),
                ]
                for one in record.executed
            ],
            "buffers": [
                [
                    *(one.core, one.space, one.address, one.bytes, one.start),
                    *(one.end - one.start, one.name, one.writer, numbers[one.buffer]),
                ]
                for one in held
            ],
        }

    def _op(self, op: Instruction) -> int:
        if op not in self._ops:
            self._ops[op] = len(self.ops)
            self.ops.append(
                {
                    "name": op.name.partition(".")[2],
                    "pipe": op.pipe.value,
                    "tag": tag_of(op),
                    "line": short_place(place_of(op.location)),
                }
            )
        return self._ops[op]


def short_place(place: str) -> str:
    """`folder/op.mlir:3:5` without the folders and the column."""
    return place.rsplit("/", 1)[-1].rpartition(":")[0]


def _critical_core(timeline: Timeline) -> int:
    """The core on which the program ends."""
    last = max(timeline.tasks, key=lambda task: task.end, default=None)
    if last is None:
        return 0
    return timeline.runs[last.launch].lanes[last.lane].cores[0]


# The roofline.


def _roofline(timeline: Timeline) -> Data:
    """
    Points of the kernels over HBM and over L2 bytes, and the roofs.

    cube: operations (two a multiply-add) a byte, and operations a second. vector:
    cycles of the vector pipe a byte, and how many vector cores are busy.
    """
    machine, memory = timeline.machine, timeline.machine.memory
    clock = machine.clock_hz
    macs: Counter[str] = Counter()
    cube: list[Data] = []
    vector: list[Data] = []
    for kernel in timeline.kernels:
        launches, name = kernel.ran, named(kernel.longest)
        counts = _counts(timeline.runs[launch.number] for launch in launches)
        cycles = _covered(launches)
        hbm = sum(launch.hbm_read + launch.hbm_written for launch in launches)
        l2 = sum(launch.loaded + launch.stored for launch in launches)
        ours = {str(n): size for (kind, n), size in counts.items() if kind == "macs"}
        macs.update(ours)
        point = {"name": name, "hbm": hbm, "l2": l2}
        operations = 2 * sum(ours.values())
        if operations:
            rate = operations * clock / cycles
            cube.append(point | {"work": operations, "rate": rate})
        busy = counts.get(("busy", "v"), 0)
        if busy:
            vector.append(point | {"work": busy, "rate": busy / cycles})
    hbm_rate = memory.hbm_bytes_per_second
    l2_rate = hbm_rate * memory.l2_to_hbm_ratio
    peaks = {
        f"cube, {name}": 2.0 * machine.macs_per_cycle[name] * machine.cube_cores * clock
        for name in macs
    }
    return {
        "cube": {"points": cube, "peaks": peaks, "hbm": hbm_rate, "l2": l2_rate},
        "vector": {
            "points": vector,
            "peaks": {"vector cores": machine.vector_cores},
            "hbm": hbm_rate / clock,
            "l2": l2_rate / clock,
        },
    }


def _covered(launches: Iterable[LaunchTime]) -> int:
    """Cycles in which any of the launches ran, at least 1."""
    total, until = 0, 0
    for launch in sorted(launches, key=lambda each: each.start):
        total += max(launch.end - max(launch.start, until), 0)
        until = max(until, launch.end)
    return max(total, 1)


def _counts(runs: Iterable[LaunchRun]) -> Counter[tuple[str, object]]:
    total: Counter[tuple[str, object]] = Counter()
    for run in runs:
        steps = {task.step.number: task.step for task in run.tasks}
        times = Counter(task.step.number for task in run.tasks)
        for number, step in steps.items():
            for name, size in run.steps.named(step.counts).items():
                total[name] += times[number] * size
    return total
