"""
A timeline as a file for Perfetto (https://ui.perfetto.dev): Chrome's trace events.

    process `chip`     launches, HBM and L2 bandwidth
    process a core     its tasks, a thread a pipe, what of its memories is in use
    arrows             set_flag to wait_flag, push to pop, launches to those that wait

Instructions are shown for the tasks of `Detail`, the others are slices without. Slices
carry cycles as well as times: `start_cycle` and `cycles` are exact, times are rounded
to nanoseconds. Slices of one thread never overlap: tasks that do are on two threads.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from math import inf, nextafter
from typing import IO, Any

from pyptoc.dialects.diagnostics import place_of
from pyptoc.runtime.bandwidth import bandwidth
from pyptoc.runtime.machine_keys import PIPES
from pyptoc.runtime.occupancy import residences, steps
from pyptoc.runtime.timing_detail import Detail
from pyptoc.runtime.timing_launch import TaskTime
from pyptoc.runtime.timing_path import tag_of
from pyptoc.runtime.timing_record import Recorded

Event = dict[str, Any]

CHIP = 1
"""The process of what all cores share; cores follow."""

TASKS, PIPE_THREADS = 1, 100
"""The first thread of tasks, and of pipes."""

MOST_TASKS = 200_000
"""Tasks that have a slice."""


def write_trace(stream: IO[bytes], detail: Detail) -> None:
    """Write all events as JSON, one a line."""
    timeline = detail.timeline
    about = {
        "operator": timeline.operator,
        "machine": timeline.machine.name,
        "cycles": timeline.cycles,
        "shown": trace_note(detail),
        "assumed": ", ".join(timeline.assumed),
        "recorded": ", ".join(timeline.recorded),
    }
    head = json.dumps(about)
    stream.write(b'{"displayTimeUnit":"ns","otherData":' + head.encode())
    stream.write(b',"traceEvents":[\n')
    separator, encode = "", json.JSONEncoder(separators=(",", ":")).encode
    for event in _Trace(detail).events():
        stream.write((separator + encode(event)).encode())
        separator = ",\n"
    stream.write(b"\n]}\n")


def trace_note(detail: Detail) -> str:
    """What of the timeline a trace shows, for people."""
    tasks = len(detail.timeline.tasks)
    if tasks > MOST_TASKS:
        return f"{detail.note}, {MOST_TASKS:,} tasks as slices, none of the others"
    if len(detail.records) < tasks:
        return f"{detail.note}, the others as slices (--trace-tasks=N for more)"
    return detail.note


class _Trace:
    def __init__(self, detail: Detail) -> None:
        self.detail, self.timeline = detail, detail.timeline
        self.machine = detail.timeline.machine
        self.scale = 1e9 / self.machine.clock_hz
        self.flows = 0
        self.launch_threads: dict[int, int] = {}
        self.threads: dict[tuple[int, int], list[int]] = {}
        """By process and first thread: when each of its threads is free."""
        self.levels: dict[tuple[int, str], list[tuple[int, int]]] = {}
        """By process and space: changes of the bytes in use."""

    def events(self) -> Iterator[Event]:
        yield from self._launches()
        yield from self._bandwidth()
        yield from self._tasks()
        yield from self._memories()
        yield from self._names()

    # Parts.

    def _launches(self) -> Iterator[Event]:
        timeline = self.timeline
        for launch in timeline.launches:
            if not launch.tasks:
                continue
            thread = self._free_thread(CHIP, TASKS, launch.start, launch.end)
            self.launch_threads[launch.number] = thread
            args = {
                "tag": launch.tag,
                "line": launch.place,
                "grid": " x ".join(map(str, launch.grid)),
                "tasks": launch.tasks,
                "cores": launch.lanes,
                "waves": launch.waves,
                "bound": launch.bound,
                "loaded_bytes": launch.loaded,
                "stored_bytes": launch.stored,
                "l2_hit": round(launch.l2_hit, 4),
            }
            where = (CHIP, thread)
            yield self._slice(
                where, launch.start, launch.end, _named(launch.kernel, launch.tag), args
            )
        for later in timeline.runs:
            waited = {event for events, _ in later.launch.waits for event in events}
            for event in sorted(waited):
                before = timeline.runs[event]
                if later.tasks and before.tasks and later.start > before.start:
                    source = self._launch_slice(event), before.start, before.end
                    target = self._launch_slice(later.launch.number), later.start
                    yield from self._flow("launch", source, target)

    def _launch_slice(self, number: int) -> tuple[int, int]:
        return CHIP, self.launch_threads[number]

    def _bandwidth(self) -> Iterator[Event]:
        clock = self.machine.clock_hz
        for name, curve in bandwidth(self.timeline).items():
            values = [*(curve.levels * clock / 1e9).tolist(), 0.0]
            for cycle, value in zip(curve.times.tolist(), values, strict=True):
                args = {"GB/s": round(value, 3)}
                yield self._counter(CHIP, cycle, f"{name} bandwidth", args)

    def _tasks(self) -> Iterator[Event]:
        """Tasks, their instructions and what they waited for."""
        ends = [sorted((t.end, t) for t in run.tasks) for run in self.timeline.runs]
        where: dict[tuple[int, tuple[int, ...]], tuple[int, int]] = {}
        for number, task in enumerate(self.timeline.tasks[:MOST_TASKS]):
            launch = self.timeline.launches[task.launch]
            shown = number in self.detail.records
            args = {
                "tag": launch.tag,
                "line": launch.place,
                "launch": task.launch,
                "grid": list(task.place),
                "instructions": "shown" if shown else "not shown",
            }
            name = _named(launch.kernel, launch.tag)
            for core in self.detail.cores(task):
                process = _process(core)
                thread = self._free_thread(process, TASKS, task.start, task.end)
                where.setdefault((task.launch, task.place), (process, thread))
                place = (process, thread)
                yield self._slice(place, task.start, task.end, name, args)
            if task.cause >= 0:
                before = ends[task.cause]
                at = bisect_right(before, task.start, key=lambda pair: pair[0])
                other = before[at - 1][1] if at else None
                source = other and where.get((other.launch, other.place))
                if other is not None and source is not None:
                    span = (source, other.start, other.end)
                    target = (where[task.launch, task.place], task.start)
                    yield from self._flow("wait", span, target)
            if shown:
                yield from self._instructions(number, task)

    def _instructions(self, number: int, task: TaskTime) -> Iterator[Event]:
        record, cores = self.detail.records[number], self.detail.cores(task)

        def thread(one: Recorded) -> tuple[int, int]:
            pipe = PIPE_THREADS + PIPES.index(one.pipe)
            self.threads.setdefault((_process(cores[one.core]), pipe), [])
            return _process(cores[one.core]), pipe

        for one in record.executed:
            start, end = task.start + one.start, task.start + one.end
            tag = tag_of(one.op)
            args: Event = {"tag": tag, "line": place_of(one.op.location)}
            args["size"] = " x ".join(map(str, one.sizes))
            args["task"] = list(task.place)
            name = _named(one.op.name.partition(".")[2], tag)
            yield self._slice(thread(one), start, end, name, args)
        for arrow in record.arrows:
            source, target = (record.executed[n] for n in arrow[:2])
            begin, end = task.start + source.start, task.start + source.end
            span = (thread(source), begin, end)
            point = (thread(target), task.start + target.start)
            yield from self._flow(arrow.through, span, point)
        for held in residences(record):
            key = (_process(cores[held.core]), held.space)
            changes = self.levels.setdefault(key, [])
            changes.append((task.start + held.start, held.bytes))
            changes.append((task.start + held.end, -held.bytes))

    def _memories(self) -> Iterator[Event]:
        for (process, space), changes in sorted(self.levels.items()):
            size = self.machine.space(space).bytes / 1024
            for cycle, level in steps(changes):
                args = {"KiB": level / 1024}
                yield self._counter(process, cycle, f"{space} of {size:g} KiB", args)

    def _names(self) -> Iterator[Event]:
        """What processes and threads are called, and in which order they stand."""
        for process in sorted({process for process, _ in self.threads}):
            name = "chip"
            if process != CHIP:
                core = self.timeline.cores[process - CHIP - 1]
                name = f"{core.unit} {core.number}"
            yield _meta("process_name", process, 0, {"name": name})
            yield _meta("process_sort_index", process, 0, {"sort_index": process})
        for (process, first), free in sorted(self.threads.items()):
            if first >= PIPE_THREADS:
                names = [(first, PIPES[first - PIPE_THREADS])]
            else:
                word = "launches" if process == CHIP else "tasks"
                names = [(first + n, word) for n in range(len(free))]
            for thread, name in names:
                yield _meta("thread_name", process, thread, {"name": name})
                index = {"sort_index": thread}
                yield _meta("thread_sort_index", process, thread, index)

    # Events.

    def _free_thread(self, process: int, first: int, start: int, end: int) -> int:
        """A thread that has no slice from `start` on; slices come in order of start."""
        free = self.threads.setdefault((process, first), [])
        for number, until in enumerate(free):
            if until <= start:
                free[number] = end
                return first + number
        free.append(end)
        return first + len(free) - 1

    def _nanoseconds(self, cycle: float) -> int:
        return round(cycle * self.scale)

    def _slice(
        self, where: tuple[int, int], start: int, end: int, name: str, args: Event
    ) -> Event:
        begin = self._nanoseconds(start)
        args = {name: value for name, value in args.items() if value != ""}
        args |= {"start_cycle": start, "cycles": end - start}
        return {
            "ph": "X",
            "name": name,
            "pid": where[0],
            "tid": where[1],
            "ts": _microseconds(begin),
            "dur": _microseconds(self._nanoseconds(end) - begin),
            "args": args,
        }

    def _flow(
        self,
        name: str,
        source: tuple[tuple[int, int], int, int],
        target: tuple[tuple[int, int], int],
    ) -> Iterator[Event]:
        """An arrow from the end of a slice to the start of another one."""
        (process, thread), start, end = source
        self.flows += 1
        common = {"name": name, "cat": name.partition(" ")[0], "id": self.flows}
        # An arrow belongs to the slice around its time, which the end is not.
        begin, after = self._nanoseconds(start), self._nanoseconds(target[1])
        leave = min(max(self._nanoseconds(end) - 1, begin), after)
        at = {"ts": _microseconds(leave), "pid": process, "tid": thread}
        yield {"ph": "s", **common, **at}
        at = {"ts": _microseconds(after), "pid": target[0][0], "tid": target[0][1]}
        yield {"ph": "f", "bp": "e", **common, **at}

    def _counter(self, process: int, cycle: float, name: str, args: Event) -> Event:
        at = _microseconds(self._nanoseconds(cycle))
        return {
            "ph": "C",
            "name": name,
            "pid": process,
            "tid": 0,
            "ts": at,
            "args": args,
        }


def _process(core: int) -> int:
    return CHIP + 1 + core


def _named(what: str, tag: str) -> str:
    return f"{what} [{tag}]" if tag else what


def _meta(name: str, process: int, thread: int, args: Event) -> Event:
    return {"ph": "M", "name": name, "pid": process, "tid": thread, "args": args}


def _microseconds(nanoseconds: int) -> float:
    """As a number that does not fall below when it is made nanoseconds again."""
    value = nanoseconds / 1000
    return value if int(value * 1000) >= nanoseconds else nextafter(value, inf)
