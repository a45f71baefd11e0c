"""
What simulating a program gives: the `Timeline` and its parts.

Times are cycles of the machine's clock from the start of the program, or seconds where
the name says so; shares are of 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pyptoc.runtime.machine import Machine
from pyptoc.runtime.timing_launch import LaunchRun, TaskTime

BOUNDS = ("cube", "vector", "L1", "L2", "HBM", "dispatch", "dependency")
"""What may limit a program."""


def hit_share(missed: float, loaded: int) -> float:
    """The share of the loaded bytes that did not come from HBM; 0 where none were."""
    return 1 - missed / loaded if loaded else 0.0


@dataclass(frozen=True)
class LaunchTime:
    """One launch."""

    number: int
    kernel: str
    tag: str
    unit: str
    place: str
    """`file:line:column` of the launch."""
    grid: tuple[int, ...]
    tasks: int
    lanes: int
    """Cores (or cube cores with their vector cores) that had a task."""
    waves: int
    """The most tasks of one lane."""
    issued: int
    start: int
    """When its first task started."""
    end: int
    busy: Mapping[str, float]
    """Share of start to end that each pipe worked, over the cores with tasks."""
    bytes: Mapping[str, int]
    """By path, as `gm -> l1`."""
    loaded: int
    """Bytes from memory outside (L2 or HBM)."""
    stored: int
    hbm_read: float
    hbm_written: float
    macs: int
    bound: str

    @property
    def cycles(self) -> int:
        return self.end - self.start

    @property
    def l2_hit(self) -> float:
        """The share of the loaded bytes that was in L2."""
        return hit_share(self.hbm_read, self.loaded)


@dataclass(frozen=True)
class KernelTime:
    """The launches of one kernel together."""

    launches: tuple[LaunchTime, ...]

    @property
    def ran(self) -> tuple[LaunchTime, ...]:
        """The launches that had tasks; all of them if none had."""
        return tuple(each for each in self.launches if each.tasks) or self.launches

    @property
    def longest(self) -> LaunchTime:
        return max(self.ran, key=lambda launch: launch.cycles)

    @property
    def cycles(self) -> int:
        """From the start of the first to the end of the last."""
        ends = (launch.end for launch in self.ran)
        return max(ends) - min(launch.start for launch in self.ran)

    @property
    def tasks(self) -> int:
        return sum(launch.tasks for launch in self.launches)

    @property
    def lanes(self) -> int:
        """The most that one launch had."""
        return max(launch.lanes for launch in self.launches)

    @property
    def waves(self) -> int:
        """The most of one launch."""
        return max(launch.waves for launch in self.launches)

    @property
    def busy(self) -> dict[str, float]:
        """Share of the cycles of all launches that each pipe worked."""
        total = max(sum(launch.cycles for launch in self.launches), 1)
        busy: dict[str, float] = {}
        for launch in self.launches:
            for pipe, share in launch.busy.items():
                busy[pipe] = busy.get(pipe, 0.0) + share * launch.cycles / total
        return busy

    @property
    def loaded(self) -> int:
        return sum(launch.loaded for launch in self.launches)

    @property
    def stored(self) -> int:
        return sum(launch.stored for launch in self.launches)

    @property
    def l2_hit(self) -> float:
        """The share of the loaded bytes that was in L2."""
        missed = sum(launch.hbm_read for launch in self.launches)
        return hit_share(missed, self.loaded)


@dataclass(frozen=True)
class CoreTime:
    """One core."""

    unit: str
    number: int
    """Among the cores of its unit."""
    tasks: int
    busy: Mapping[str, int]
    """Cycles that each pipe worked."""
    finish: int


@dataclass(frozen=True)
class PathStep:
    """A stretch of the critical path: one instruction, as often as it is on it."""

    launch: int
    instruction: str
    pipe: str
    core: str
    tag: str
    place: str
    """`file:line:column`."""
    cycles: int
    times: int


@dataclass(frozen=True)
class ChainStep:
    """Tasks of one launch that followed each other on the way to the end."""

    launch: int
    tasks: int
    start: int
    end: int
    cause: str
    """What its first task waited for: `issue`, `core` or `launch N`."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """How long a program takes, and why."""

    operator: str
    machine: Machine
    cycles: int
    """From the call to the end of the last task."""
    bound: str
    """One of `BOUNDS`."""
    launches: tuple[LaunchTime, ...]
    cores: tuple[CoreTime, ...]
    tasks: tuple[TaskTime, ...]
    """Every task, in the order in which they were placed."""
    roofs: Mapping[str, float]
    """Seconds that the program takes at least, by what limits it."""
    compulsory_bytes: int
    """What must come from and go to HBM at least: inputs once, results once."""
    hbm_read: float
    hbm_written: float
    left_in_l2: float
    """Written bytes that were still in L2 at the end."""
    workspace_bytes: int
    chain: tuple[ChainStep, ...]
    """The launches on the way to the end, first to last."""
    assumed: tuple[str, ...]
    """Arguments whose values were made up to know what is launched."""
    recorded: tuple[str, ...]
    """What kernels compute and later sizes come from: arrays of which elements were
    recorded in a run."""
    runs: tuple[LaunchRun, ...] = field(repr=False)
    """The launches as they were placed, for traces and reports."""
    _path: Callable[[], tuple[PathStep, ...]] = field(repr=False)

    @property
    def seconds(self) -> float:
        return self.cycles / self.machine.clock_hz

    def seconds_of(self, cycles: float) -> float:
        """Cycles as seconds."""
        return cycles / self.machine.clock_hz

    def near(self, roof: str) -> float:
        """How near a roof the time is: 1 is on it."""
        return self.roofs[roof] / self.seconds if self.cycles else 0.0

    @property
    def hbm_moved(self) -> float:
        """Bytes from and to HBM, with what is still to be written back."""
        return self.hbm_read + self.hbm_written + self.left_in_l2

    @property
    def macs(self) -> int:
        return sum(launch.macs for launch in self.launches)

    @property
    def loaded(self) -> int:
        return sum(launch.loaded for launch in self.launches)

    @property
    def stored(self) -> int:
        return sum(launch.stored for launch in self.launches)

    @property
    def l2_hit(self) -> float:
        """The share of the loaded bytes that was in L2."""
        return hit_share(self.hbm_read, self.loaded)

    @cached_property
    def kernels(self) -> tuple[KernelTime, ...]:
        """The launches by kernel, in the order of the first of each."""
        groups: dict[str, list[LaunchTime]] = {}
        for launch in self.launches:
            groups.setdefault(launch.kernel, []).append(launch)
        return tuple(KernelTime(tuple(group)) for group in groups.values())

    @cached_property
    def bytes(self) -> dict[str, int]:
        """Bytes by path."""
        total: dict[str, int] = {}
        for launch in self.launches:
            for path, size in launch.bytes.items():
                total[path] = total.get(path, 0) + size
        return total

    @cached_property
    def busy(self) -> dict[str, float]:
        """Share of the time that each pipe worked, `cube mte2`, over all its cores."""
        total: dict[str, float] = {}
        for core in self.cores:
            count = sum(other.unit == core.unit for other in self.cores)
            for pipe, cycles in core.busy.items():
                name = f"{core.unit} {pipe}"
                share = cycles / (count * self.cycles) if self.cycles else 0.0
                total[name] = total.get(name, 0.0) + share
        return total

    @cached_property
    def path(self) -> tuple[PathStep, ...]:
        """The critical path in instructions, in the order of the first of each."""
        return self._path()

    def __repr__(self) -> str:
        return f"<Timeline of {self._title}>"

    @property
    def _title(self) -> str:
        return (
            f"@{self.operator} on {self.machine.name}: {1e6 * self.seconds:.2f} us "
            f"modelled, bound: {self.bound}"
        )

    def _repr_html_(self) -> str:
        from pyptoc.runtime.notebook import table_html, title_html

        title = self._title
        rows = [
            (
                *(kernel.ran[0].tag, kernel.ran[0].kernel, len(kernel.ran)),
                *(kernel.tasks, f"{1e6 * self.seconds_of(kernel.cycles):.2f}"),
                kernel.longest.bound,
            )
            for kernel in self.kernels
        ]
        head = ("tag", "kernel", "launches", "tasks", "time us", "bound")
        return title_html(title) + table_html(head, rows)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, texts, lists and dicts: what `--simulate=json` prints."""
        launches = [
            {
                **{
                    name: getattr(launch, name)
                    for name in (
                        *("number", "kernel", "tag", "unit", "place", "tasks", "lanes"),
                        *("waves", "loaded", "stored", "hbm_read", "hbm_written"),
                        *("macs", "bound", "l2_hit"),
                    )
                },
                "grid": list(launch.grid),
                "busy": dict(launch.busy),
                "bytes": dict(launch.bytes),
                "start_seconds": self.seconds_of(launch.start),
                "end_seconds": self.seconds_of(launch.end),
            }
            for launch in self.launches
        ]
        return {
            "operator": self.operator,
            "machine": self.machine.name,
            "seconds": self.seconds,
            "cycles": self.cycles,
            "bound": self.bound,
            "roof_seconds": dict(self.roofs),
            "near_roof": {name: self.near(name) for name in self.roofs},
            "busy": self.busy,
            "bytes": self.bytes,
            "hbm_read": self.hbm_read,
            "hbm_written": self.hbm_written,
            "left_in_l2": self.left_in_l2,
            "l2_hit": self.l2_hit,
            "compulsory_bytes": self.compulsory_bytes,
            "workspace_bytes": self.workspace_bytes,
            "macs": self.macs,
            "launches": launches,
            "cores": [vars(core) | {"busy": dict(core.busy)} for core in self.cores],
            "chain": [vars(step) for step in self.chain],
            "path": [vars(step) for step in self.path],
            "assumed": list(self.assumed),
            "recorded": list(self.recorded),
        }
