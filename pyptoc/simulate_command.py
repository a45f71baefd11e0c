"""
`--simulate`: how long the compiled operator takes on the machine, as a table or JSON.

Sizes come from `--bind`, `--inputs` or the values given; arrays that decide what is
launched and are not given are made up, and the table says so.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pyptoc.manager import Timing
from pyptoc.options import Options
from pyptoc.run_command import show, table

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.dialects.diagnostics import Diagnostic
    from pyptoc.runtime.inputs import Inputs
    from pyptoc.runtime.machine import Machine
    from pyptoc.runtime.signature import Signature
    from pyptoc.runtime.timing_result import LaunchTime, PathStep, Timeline

PIPES = ("m", "mte1", "mte2", "fix", "v", "mte3")
LONGEST = 8
"""Instructions of the critical path that are shown."""


def sized_inputs(options: Options, module: ModuleOp) -> tuple[Signature, Inputs]:
    """The sizes and values of the command line; the rest stays unknown."""
    from pyptoc.runtime.bindings import parse_bindings
    from pyptoc.runtime.inputs import accept, load_npz
    from pyptoc.runtime.signature import read_signature

    signature = read_signature(module, options.entry)
    bound = parse_bindings(options.bind, signature)
    arrays = load_npz(options.inputs) if options.inputs is not None else {}
    source = options.inputs or "--bind"
    return signature, accept(signature, arrays, source, bound)


class SimulateCommand:
    """One simulation; inputs are read before the passes start."""

    def __init__(self, options: Options, module: ModuleOp, machine: Machine) -> None:
        self.options, self.machine = options, machine
        self.signature, self.inputs = sized_inputs(options, module)
        self.warnings: list[Diagnostic] = self.inputs.warnings

    def finish(self, module: ModuleOp, timing: Timing) -> None:
        """Simulates what the passes made and prints it."""
        from pyptoc.runtime.timing import simulate

        started = time.perf_counter()
        seed = self.options.random_inputs or 0
        timeline = simulate(module, self.machine, self.signature, self.inputs, seed)
        timing.add("simulate", time.perf_counter() - started)
        if self.options.simulate == "json":
            json.dump(timeline.to_json(), sys.stdout, indent=1)
            sys.stdout.write("\n")
        else:
            show(report(timeline))


def report(timeline: Timeline) -> list[str]:
    """The lines of the table."""
    machine = timeline.machine
    head = (
        f"{machine.name}, {machine.cube_cores} cube + {machine.vector_cores} vector "
        f"cores, {machine.clock_hz / 1e9:g} GHz"
    )
    near = ", ".join(
        f"{name} {100 * timeline.near(name):.0f} %"
        for name in sorted(timeline.roofs, key=timeline.near, reverse=True)
    )
    lines = [
        f"{head}   modelled, not measured (calibration: docs/timing.md)",
        f"total     {_time(timeline.seconds)}   bound: {_bound(timeline)}   "
        f"launch {_time(machine.launch_seconds)}",
        *table(_rows(timeline)),
        f"moved     {_moved(timeline)}",
        f"roofs     {near}   (of the time, at least needed for each)",
        f"path      {_path(timeline.path)}",
    ]
    if timeline.assumed:
        lines.append(f"assumed   values of {', '.join(timeline.assumed)} are made up")
    return lines


def _bound(timeline: Timeline) -> str:
    roof = timeline.roofs.get(timeline.bound)
    if roof is None:
        return timeline.bound
    return f"{timeline.bound} (at least {_time(roof)})"


def _moved(timeline: Timeline) -> str:
    moved = timeline.hbm_read + timeline.hbm_written + timeline.left_in_l2
    ratio = ""
    if timeline.compulsory_bytes:
        ratio = f" = {moved / timeline.compulsory_bytes:.2f} x compulsory"
    return (
        f"HBM read {_size(timeline.hbm_read)}, written {_size(timeline.hbm_written)} "
        f"and {_size(timeline.left_in_l2)} left in L2{ratio}   "
        f"workspace {_size(timeline.workspace_bytes)}"
    )


def _path(steps: Sequence[PathStep]) -> str:
    """The instructions that take longest of the path, in its order."""
    if not steps:
        return "-"
    longest = sorted(steps, key=lambda step: -step.cycles)[:LONGEST]
    kept = [step for step in steps if step in longest]
    texts = [
        f"{step.instruction} {step.cycles}"
        + (f" ({_line(step)})" if step.place else "")
        for step in kept
    ]
    return " -> ".join(texts) + " cycles"


def _line(step: PathStep) -> str:
    place = step.place.rsplit("/", 1)[-1]
    return f"{step.tag} {place}".strip()


def _rows(timeline: Timeline) -> list[tuple[str, ...]]:
    """One row a kernel: its launches together."""
    groups: dict[str, list[LaunchTime]] = {}
    for launch in timeline.launches:
        groups.setdefault(launch.kernel, []).append(launch)
    used = [
        pipe
        for pipe in PIPES
        if any(pipe in launch.busy for launch in timeline.launches)
    ]
    header = (
        *("tag", "kernel", "launches", "tasks", "cores", "waves", "time us", "bound"),
        *(f"{pipe} %" for pipe in used),
        *("read MB", "write MB", "L2 hit"),
    )
    return [header, *(_row(timeline, group, used) for group in groups.values())]


def _row(
    timeline: Timeline, group: Sequence[LaunchTime], used: Sequence[str]
) -> tuple[str, ...]:
    first = group[0]
    cycles = sum(launch.cycles for launch in group)
    start, end = min(each.start for each in group), max(each.end for each in group)
    loaded = sum(launch.loaded for launch in group)
    missed = sum(launch.hbm_read for launch in group)
    longest = max(group, key=lambda launch: launch.cycles)

    def busy(pipe: str) -> str:
        if pipe not in first.busy:
            return "-"
        share = sum(each.busy.get(pipe, 0.0) * each.cycles for each in group)
        return f"{100 * share / cycles:.1f}" if cycles else "0"

    return (
        first.tag or "-",
        first.kernel,
        str(len(group)),
        str(sum(launch.tasks for launch in group)),
        str(max(launch.lanes for launch in group)),
        str(max(launch.waves for launch in group)),
        f"{1e6 * timeline.seconds_of(end - start):.1f}",
        longest.bound,
        *(busy(pipe) for pipe in used),
        f"{loaded / 1e6:.2f}",
        f"{sum(launch.stored for launch in group) / 1e6:.2f}",
        f"{100 * (1 - missed / loaded):.0f} %" if loaded else "-",
    )


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e6:.1f} us"


def _size(size: float) -> str:
    units: Iterable[tuple[str, float]] = (("GB", 1e9), ("MB", 1e6), ("KB", 1e3))
    for unit, value in units:
        if size >= value:
            return f"{size / value:.2f} {unit}"
    return f"{size:.0f} B"
