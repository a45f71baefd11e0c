"""
The bytes of HBM and L2 over time, averaged over each task.

A task loads evenly from its start until its core takes the next one, and stores evenly
from its start to its end; what L2 writes back to HBM while a wave loads moves as that
does. A curve of many steps is averaged over equal stretches: the area below it stays
the bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyptoc.dialects.record import record
from pyptoc.runtime.timing_launch import LaunchRun
from pyptoc.runtime.timing_result import Timeline

MOST_POINTS = 2000

Floats = NDArray[np.float64]

Part = tuple[int, int, float]
"""Bytes that move evenly from one cycle to another."""


@record
class Curve:
    """Levels from one time on until the next; after the last it is 0."""

    times: Floats
    """Cycles, one more than levels."""
    levels: Floats
    """Bytes a cycle."""


class _Moved(NamedTuple):
    """The bytes of a task."""

    missed: float
    """Loaded from HBM, by the miss ratios of its arrays."""
    loaded: int
    stored: int


def bandwidth(timeline: Timeline, points: int = MOST_POINTS) -> dict[str, Curve]:
    """The curves of `HBM` and `L2`, of at most so many levels each."""
    hbm: list[Part] = []
    l2: list[Part] = []
    for run in timeline.runs:
        _collect(run, hbm, l2)
    return {"HBM": _curve(hbm, points), "L2": _curve(l2, points)}


def _collect(run: LaunchRun, hbm: list[Part], l2: list[Part]) -> None:
    steps = {task.step.number: task.step for task in run.tasks}
    moved = {number: _moved(run, number) for number in steps}
    missed = [moved[task.step.number].missed for task in run.tasks]
    if not any(missed):
        # Misses that round to none: as if each task had as many.
        missed = [1.0] * len(run.tasks)
    lanes = len(run.lanes)
    share = run.hbm_bytes / max(sum(missed), 1e-9)
    for number, (task, part) in enumerate(zip(run.tasks, missed, strict=True)):
        taken, bytes_of = task.start + task.step.front, moved[task.step.number]
        wave = number // lanes
        size = min(lanes, len(run.tasks) - wave * lanes)
        hbm.append((task.start, taken, part * share + run.back[wave] / size))
        l2.append((task.start, taken, bytes_of.loaded))
        l2.append((task.start, task.end, bytes_of.stored))


def _moved(run: LaunchRun, number: int) -> _Moved:
    _, miss, _, _ = run.steps.inputs[number]
    loaded = stored = 0
    missed = 0.0
    counts = run.steps.named(run.steps.steps[number].counts)
    for (kind, array), size in counts.items():
        if kind == "load":
            loaded += size
            missed += size * miss[int(str(array))]
        elif kind == "store":
            stored += size
    return _Moved(missed, loaded, stored)


def _curve(parts: list[Part], points: int) -> Curve:
    parts = [part for part in parts if part[2] > 0]
    if not parts:
        return Curve(np.zeros(1), np.zeros(0))
    table = np.array(parts, np.float64)
    start: Floats = table[:, 0]
    end: Floats = np.maximum(table[:, 1], start + 1)
    rates: Floats = table[:, 2] / (end - start)
    times: Floats = np.unique(np.concatenate([start, end]))
    change = np.zeros(len(times))
    np.add.at(change, np.searchsorted(times, start), rates)
    np.add.at(change, np.searchsorted(times, end), -rates)
    levels: Floats = np.maximum(np.cumsum(change)[:-1], 0)
    # What rounding leaves where nothing moves is no traffic.
    levels[levels < 1e-9 * levels.max()] = 0
    if len(levels) <= points:
        return Curve(times, levels)
    moved: Floats = np.concatenate([[0.0], np.cumsum(levels * np.diff(times))])
    edges: Floats = np.linspace(float(times[0]), float(times[-1]), points + 1)
    below: Floats = np.interp(edges, times, moved)
    return Curve(edges, np.diff(below) / np.diff(edges))
