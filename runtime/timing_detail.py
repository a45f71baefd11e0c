"""
Which tasks of a timeline are shown with their instructions, and those.

A trace or a page of all instructions of a large program would be of no use, so there
is a bound. First come the tasks on the way to the end, then the first wave of each
launch, then the others in order, until the bound is reached.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyptoc.dialects.record import record
from pyptoc.runtime.timing_launch import LaunchRun, TaskTime
from pyptoc.runtime.timing_record import Records, TaskRecord
from pyptoc.runtime.timing_result import Timeline

MOST_INSTRUCTIONS = 40_000
"""How many are shown unless a number of tasks is asked for."""

MOST_RECORDS = 64
"""How many different steps are recorded for that: each is run once more."""


@record(eq=False)
class Detail:
    """A timeline with the instructions of some of its tasks."""

    timeline: Timeline
    records: dict[int, TaskRecord]
    """By the number of the task in `timeline.tasks`."""

    @property
    def note(self) -> str:
        """How many tasks have instructions, for people."""
        some, every = len(self.records), len(self.timeline.tasks)
        of = "" if some == every else f" of {every:,}"
        return f"instructions of {some:,}{of} task{'s' * (every != 1)}"

    @property
    def instructions(self) -> int:
        """How many instructions are shown."""
        return sum(len(record.executed) for record in self.records.values())

    def cores(self, task: TaskTime) -> tuple[int, ...]:
        """The cores of a task: cube cores are counted first, then vector cores."""
        return self.timeline.runs[task.launch].lanes[task.lane].cores


def detail(timeline: Timeline, tasks: int | None = None) -> Detail:
    """
    Record tasks.

    tasks: how many at most; None: as many as `MOST_INSTRUCTIONS` allows.
    """
    records, found, left = Records(), dict[int, TaskRecord](), MOST_INSTRUCTIONS
    for number in by_interest(timeline):
        task = timeline.tasks[number]
        run = timeline.runs[task.launch]
        if (
            tasks is None
            and not records.has(run, task)
            and len(records) >= MOST_RECORDS
        ):
            continue
        if tasks is not None and len(found) >= tasks:
            break
        record = records.of(run, task)
        if record is None:
            continue
        if tasks is None:
            left -= len(record.executed)
            if left < 0 and found:
                break
        found[number] = record
    return Detail(timeline, dict(sorted(found.items())))


def by_interest(timeline: Timeline) -> Iterator[int]:
    """Numbers of tasks, each once."""
    seen: set[int] = set()
    for number in _candidates(timeline):
        if number not in seen:
            seen.add(number)
            yield number


def _candidates(timeline: Timeline) -> Iterator[int]:
    yield from way_to_the_end(timeline)
    for run, first in zip(timeline.runs, _firsts(timeline)):
        yield from range(first, first + min(len(run.lanes), len(run.tasks)))
    yield from range(len(timeline.tasks))


def _firsts(timeline: Timeline) -> list[int]:
    """The number of the first task of each launch."""
    firsts, count = list[int](), 0
    for run in timeline.runs:
        firsts.append(count)
        count += len(run.tasks)
    return firsts


def way_to_the_end(timeline: Timeline) -> list[int]:
    """The numbers of the tasks that the end of the program waited for, last first."""
    firsts, found = _firsts(timeline), list[int]()
    for step in reversed(timeline.chain):
        run = timeline.runs[step.launch]
        last = next(n for n, task in enumerate(run.tasks) if task.end == step.end)
        own = _lane(run, last)
        found += [firsts[step.launch] + n for n in reversed(own[-step.tasks :])]
    return found


def _lane(run: LaunchRun, last: int) -> list[int]:
    """The tasks on the lane of task `last` of the launch, up to it."""
    lane = run.tasks[last].lane
    return [n for n in range(last + 1) if run.tasks[n].lane == lane]
