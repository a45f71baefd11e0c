"""
The critical path in instructions: what the last instruction of a task waited for.

One task of each stretch of the way to the end is recorded (`timing_record.py`). From
its last instruction backwards, what was done when an instruction started is what it
waited for (on another core: a crossing earlier), else what its own pipe did before.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import place_of
from pyptoc.dialects.tile_types import Instruction
from pyptoc.runtime.timing_launch import LaunchRun, TaskTime
from pyptoc.runtime.timing_record import Recorded, Records
from pyptoc.runtime.timing_result import PathStep


def instruction_path(
    runs: Sequence[LaunchRun], tasks: Sequence[TaskTime]
) -> tuple[PathStep, ...]:
    """The path through the given tasks, one of each stretch; none in very long ones."""
    steps: list[PathStep] = []
    records, known = Records(), dict[tuple[str, int], list[Recorded]]()
    for task in tasks:
        run = runs[task.launch]
        key = (run.launch.kernel, task.step.number)
        if key not in known:
            record = records.of(run, task)
            known[key] = [] if record is None else _backwards(record.executed, run)
        steps += _merged(run, known[key])
    return tuple(steps)


def _backwards(executed: Sequence[Recorded], run: LaunchRun) -> list[Recorded]:
    """The path of one task, first to last."""
    latency = run.steps.machine.cross_core_cycles
    by_end: dict[int, list[int]] = {}
    for number, one in enumerate(executed):
        by_end.setdefault(one.done, []).append(number)
    before: dict[int, int] = {}
    last: dict[tuple[int, str], int] = {}
    for number, one in enumerate(executed):
        queue = (one.core, one.op.pipe.value)
        if queue in last:
            before[number] = last[queue]
        last[queue] = number
    path: list[Recorded] = []
    at = max(range(len(executed)), key=lambda n: executed[n].done, default=None)
    while at is not None:
        one = executed[at]
        path.append(one)
        same = [n for n in by_end.get(one.start, ()) if executed[n].core == one.core]
        far = [
            n
            for n in by_end.get(one.start - latency, ())
            if executed[n].core != one.core
        ]
        nearer = [n for n in (*same, *far) if executed[n].start < one.start]
        at = nearer[-1] if nearer else before.get(at)
    path.reverse()
    return path


def _merged(run: LaunchRun, path: Sequence[Recorded]) -> list[PathStep]:
    """One step for each instruction of the text."""
    cycles: dict[tuple[Instruction, int], int] = {}
    times: dict[tuple[Instruction, int], int] = {}
    end = 0
    for one in path:
        key = (one.op, one.core)
        cycles[key] = cycles.get(key, 0) + one.done - max(one.start, end)
        times[key] = times.get(key, 0) + 1
        end = max(end, one.done)
    timer = run.steps.timer
    return [
        PathStep(
            launch=run.launch.number,
            instruction=op.name.partition(".")[2],
            pipe=op.pipe.value,
            core=timer.layout_of(core).unit,
            tag=tag_of(op),
            place=place_of(op.location) or "",
            cycles=total,
            times=times[op, core],
        )
        for (op, core), total in cycles.items()
    ]


def tag_of(op: Operation) -> str:
    """The tag of an instruction, or of what is around it."""
    found: Operation | None = op
    while found is not None:
        tag = found.attributes.get("tag")
        if tag is not None:
            return str(getattr(tag, "data", tag))
        found = found.parent_op()
    return ""
