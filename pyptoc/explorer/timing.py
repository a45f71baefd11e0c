"""The modelled timeline: launches, and the tasks on each core."""

from __future__ import annotations

from typing import Any

from pyptoc.runtime.timing_result import LaunchTime, Timeline
from pyptoc.runtime.units import percent_text, size_text, time_text

MOST_TASKS = 20_000
"""What a page holds at most, so that a browser draws it at once."""

Data = dict[str, Any]


def timeline_data(timeline: Timeline) -> Data:
    """Times are cycles; a task stands on each of its cores."""
    tasks = timeline.tasks[:MOST_TASKS]
    lanes = [timeline.runs[task.launch].lanes[task.lane].cores for task in tasks]
    used = sorted({core for cores in lanes for core in cores})
    places = {core: place for place, core in enumerate(used)}
    cores = [timeline.cores[core] for core in used]
    return {
        "cycles": timeline.cycles,
        "clock": timeline.machine.clock_hz,
        "total": time_text(timeline.seconds),
        "bound": timeline.bound,
        "assumed": list(timeline.assumed),
        "recorded": list(timeline.recorded),
        "hbm": size_text(timeline.hbm_moved),
        "cores": [f"{core.unit} {core.number}" for core in cores],
        "launches": [_launch(timeline, launch) for launch in timeline.launches],
        "tasks": [
            [task.launch, task.start, task.end - task.start, *map(places.get, cores)]
            for task, cores in zip(tasks, lanes, strict=True)
        ],
        "left_out": len(timeline.tasks) - len(tasks),
    }


def _launch(timeline: Timeline, launch: LaunchTime) -> Data:
    busy = sorted(launch.busy.items(), key=lambda item: -item[1])[:3]
    return {
        "kernel": launch.kernel,
        "tag": launch.tag,
        "place": launch.place,
        "start": launch.start,
        "end": launch.end,
        "time": time_text(timeline.seconds_of(launch.cycles)),
        "tasks": launch.tasks,
        "lanes": launch.lanes,
        "waves": launch.waves,
        "bound": launch.bound,
        "busy": ", ".join(f"{pipe} {percent_text(share)}" for pipe, share in busy),
    }
