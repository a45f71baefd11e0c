"""
`--simulate`: how long the compiled operator takes on the machine, as a table or JSON.

Sizes come from `--bind`, `--inputs` or the values given; arrays that decide what is
launched and are not given are made up, and the table says so. If kernels compute sizes,
the program is run once, with `--inputs`, a case or `--random-inputs`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyptoc.dialects.words import counted
from pyptoc.made_up import origin_lines
from pyptoc.options import Options
from pyptoc.runtime.units import size_text, time_text
from pyptoc.step_times import Timing
from pyptoc.tables import show, table
from pyptoc.timeline_files import check_files, write_files

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.dialects.diagnostics import Diagnostic
    from pyptoc.runtime.inputs import Inputs
    from pyptoc.runtime.machine import Machine
    from pyptoc.runtime.signature import Signature
    from pyptoc.runtime.timing_result import KernelTime, PathStep, Timeline

PIPES = ("m", "mte1", "mte2", "fix", "v", "mte3")
NEAR = 0.7
"""A program that reaches this share of a roof needs no word on what limits it."""
LONGEST = 8
"""Instructions of the critical path that are shown."""

STYLES = {
    r"^(total|moved|roofs|path|assumed|recorded|trace|report)\b": "bold cyan",
    r"(?<=^total     )[\d.]+ \w+": "bold",
    r"(?<=bound: )\w+": "bold yellow",
    r"^tag  .*": "bold",
    r"modelled, not measured.*|\(of the time.*\)|\([^()]*:\d+:\d+\)": "dim",
}
"""How a terminal shows the table, by patterns."""


def sized_inputs(options: Options, module: ModuleOp) -> tuple[Signature, Inputs]:
    """The sizes and values of the command line; the rest stays unknown."""
    from pyptoc.cases import read_given
    from pyptoc.runtime.signature import read_signature

    signature = read_signature(module, options.entry)
    return signature, read_given(options, module, signature).inputs


class SimulateCommand:
    """One simulation; inputs are read before the passes start."""

    def __init__(self, options: Options, module: ModuleOp, machine: Machine) -> None:
        check_files(options)
        self.options, self.machine = options, machine
        self.signature, self.inputs = sized_inputs(options, module)
        self.warnings: list[Diagnostic] = self.inputs.warnings

    def finish(
        self, module: ModuleOp, timing: Timing, sources: Mapping[str, str]
    ) -> None:
        """
        Simulates what the passes made, prints it and writes the files asked for.

        sources: the texts of source files by the names that locations have.
        """
        from pyptoc.runtime.timing import simulate

        started = time.perf_counter()
        seed = self.options.random_inputs
        timeline = simulate(module, self.machine, self.signature, self.inputs, seed)
        timing.add("simulate", seconds=time.perf_counter() - started)
        started = time.perf_counter()
        written = write_files(self.options, timeline, sources)
        if written:
            timing.add("trace and report", seconds=time.perf_counter() - started)
        if self.options.simulate == "json":
            json.dump(timeline.to_json(), sys.stdout, indent=1)
            sys.stdout.write("\n")
            sys.stderr.write("".join(f"{line}\n" for line in written))
        else:
            show([*report(timeline), *written], STYLES)


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
    return [
        f"{head}   modelled, not measured (calibration: docs/timing.md)",
        f"total     {time_text(timeline.seconds)}   bound: {_bound(timeline)}   "
        f"launch {time_text(machine.launch_seconds)}",
        *table(_rows(timeline)),
        f"moved     {_moved(timeline)}",
        f"roofs     {near}   (of the time, at least needed for each)",
        *_limited(timeline),
        f"path      {_path(timeline.path)}",
        *origin_lines(timeline.assumed, timeline.recorded),
    ]


def _bound(timeline: Timeline) -> str:
    roof = timeline.roofs.get(timeline.bound)
    if roof is None:
        return timeline.bound
    return f"{timeline.bound} (at least {time_text(roof)})"


def nearest_roof(timeline: Timeline) -> tuple[str, float]:
    """The roof of the work itself that is nearest, and the share of it that is reached;
    issuing launches is no work."""
    shares = {
        name: timeline.near(name) for name in timeline.roofs if name != "dispatch"
    }
    roof = max(shares, key=lambda name: shares[name])
    return roof, shares[roof]


def limits(timeline: Timeline) -> str:
    """The kernel in which most time goes, and what its busiest pipe does meanwhile."""
    most = max(timeline.kernels, key=lambda kernel: kernel.cycles)
    total = sum(kernel.cycles for kernel in timeline.kernels)
    number, busy = len(most.launches), most.busy
    launches = "launch" if number == 1 else "launches"
    pipe = max(busy, key=lambda pipe: busy[pipe])
    return (
        f"{most.launches[0].kernel} takes {100 * most.cycles / total:.0f} % in "
        f"{number} {launches} on {counted(most.lanes, 'core')}, "
        f"{pipe} busy {100 * busy[pipe]:.0f} %"
    )


def _limited(timeline: Timeline) -> list[str]:
    """A line for a program that is far from each roof."""
    if not any(launch.tasks for launch in timeline.launches):
        return []
    roof, reached = nearest_roof(timeline)
    if reached >= NEAR:
        return []
    return [
        f"limited   {100 * reached:.0f} % of the {roof} roof: {timeline.bound}; "
        f"{limits(timeline)}"
    ]


def _moved(timeline: Timeline) -> str:
    moved = timeline.hbm_moved
    ratio = ""
    if timeline.compulsory_bytes:
        ratio = f" = {moved / timeline.compulsory_bytes:.2f} x compulsory"
    return (
        f"HBM read {size_text(timeline.hbm_read)}, "
        f"written {size_text(timeline.hbm_written)} and "
        f"{size_text(timeline.left_in_l2)} left in L2{ratio}   "
        f"workspace {size_text(timeline.workspace_bytes)}"
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
    kernels = timeline.kernels
    busy = [kernel.busy for kernel in kernels]
    used = [pipe for pipe in PIPES if any(pipe in shares for shares in busy)]
    header = (
        *("tag", "kernel", "launches", "tasks", "cores", "waves", "time us", "bound"),
        *(f"{pipe} %" for pipe in used),
        *("read MB", "write MB", "L2 hit"),
    )
    return [header, *(_row(timeline, kernel, used) for kernel in kernels)]


def _row(
    timeline: Timeline, kernel: KernelTime, used: Sequence[str]
) -> tuple[str, ...]:
    longest, busy = kernel.longest, kernel.busy
    return (
        longest.tag or "-",
        longest.kernel,
        str(len(kernel.launches)),
        str(kernel.tasks),
        str(kernel.lanes),
        str(kernel.waves),
        f"{1e6 * timeline.seconds_of(kernel.cycles):.1f}",
        longest.bound,
        *(f"{100 * busy[pipe]:.1f}" if pipe in busy else "-" for pipe in used),
        f"{kernel.loaded / 1e6:.2f}",
        f"{kernel.stored / 1e6:.2f}",
        f"{100 * kernel.l2_hit:.0f} %" if kernel.loaded else "-",
    )
