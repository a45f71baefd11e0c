"""
From placed launches to a `Timeline`: what was busy, what moved, and what limits.

A launch is bound by its busiest pipe: m is cube, v is vector, mte1 is L1, the pipes to
memory are HBM if what misses takes longer than what hits, else L2. If no pipe works
half of the time the tasks wait for each other: dependency. A program is bound as the
launches are that take most of its time, or by dispatch if starting it takes longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from pyptoc.dialects.diagnostics import place_of
from pyptoc.runtime.timing_launch import BY_CORE, BY_ISSUE, Chip, LaunchRun, TaskTime
from pyptoc.runtime.timing_path import instruction_path
from pyptoc.runtime.timing_program import Array, Launch, Steering
from pyptoc.runtime.timing_result import ChainStep, CoreTime, LaunchTime, Timeline
from pyptoc.runtime.timing_steps import Step, outside_bytes

OF_PIPE = {"m": "cube", "v": "vector", "mte1": "L1"}
"""What a busy pipe means."""

HALF = 0.5
"""A launch whose busiest pipe works less than this share waits for dependencies."""

Counts = dict[tuple[str, object], int]


class Summary:
    """Sums up the runs of a chip."""

    def __init__(
        self,
        chip: Chip,
        launches: Sequence[Launch],
        results: Sequence[Array],
        steering: Steering,
    ) -> None:
        self.chip, self.machine = chip, chip.machine
        self.launches, self.results, self.steering = launches, results, steering
        self.busy: dict[int, Counter[str]] = {}
        """By core: cycles of its pipes."""
        self.tasks: Counter[int] = Counter()
        """By core: how many tasks it had."""
        self.counts = [self._count(run) for run in chip.runs]

    def timeline(self) -> Timeline:
        """The result."""
        chip, runs = self.chip, self.chip.runs
        end = max((run.end for run in runs), default=0)
        end = max(end, chip.cycles(self.machine.launch_seconds))
        times = [
            self._launch_time(run, counts)
            for run, counts in zip(runs, self.counts, strict=True)
        ]
        chain, tasks = self._chain()
        return Timeline(
            operator=self.steering.signature.name,
            machine=self.machine,
            cycles=end,
            bound=self._bound(times, chain, end),
            launches=tuple(times),
            cores=tuple(self._cores()),
            tasks=tuple(task for run in runs for task in run.tasks),
            roofs=self._roofs(times),
            compulsory_bytes=self._compulsory(),
            hbm_read=sum(run.hbm_bytes for run in runs),
            hbm_written=chip.l2.written_back,
            left_in_l2=chip.l2.dirty,
            workspace_bytes=self._workspace(),
            chain=chain,
            assumed=tuple(self.steering.assumed),
            recorded=tuple(self.steering.recorded),
            runs=tuple(runs),
            _path=partial(instruction_path, runs, tasks),
        )

    # Counting.

    def _count(self, run: LaunchRun) -> Counts:
        """The counters of all tasks of a launch; those of cores are kept as well."""
        steps: dict[int, Step] = {}
        by_lane: Counter[tuple[int, int]] = Counter()
        for task in run.tasks:
            steps[task.step.number] = task.step
            by_lane[task.lane, task.step.number] += 1
        total: Counts = {}
        for (lane, number), times in by_lane.items():
            step = steps[number]
            for position, core in enumerate(run.lanes[lane].cores):
                named = run.steps.named(step.counts, position)
                self.tasks[core] += times
                pipes = self.busy.setdefault(core, Counter())
                for (kind, name), value in named.items():
                    total[kind, name] = total.get((kind, name), 0) + times * value
                    if kind == "busy":
                        pipes[str(name)] += times * value
        return total

    def _launch_time(self, run: LaunchRun, counts: Counts) -> LaunchTime:
        launch, kernel = run.launch, run.steps.kernel
        lanes = Counter(task.lane for task in run.tasks)
        kinds = _by_kind(counts)
        busy = self._shares(run, kinds.get("busy", {}), len(lanes))
        tag = kernel.attributes.get("tag")
        place = place_of(launch.op.location) or place_of(kernel.location) or ""
        loaded = sum(kinds.get("load", {}).values())
        return LaunchTime(
            number=launch.number,
            kernel=launch.kernel,
            tag=str(getattr(tag, "data", "")),
            unit=str(run.steps.timer.unit),
            place=place,
            grid=launch.grid,
            tasks=len(run.tasks),
            lanes=len(lanes),
            waves=max(lanes.values(), default=0),
            issued=run.issued,
            start=run.start,
            end=run.end,
            busy=busy,
            bytes={str(name): n for name, n in kinds.get("bytes", {}).items()},
            loaded=loaded,
            stored=sum(kinds.get("store", {}).values()),
            hbm_read=run.hbm_bytes,
            hbm_written=run.written_back,
            macs=sum(kinds.get("macs", {}).values()),
            bound=self._launch_bound(busy, run.hbm_bytes, loaded),
        )

    def _shares(
        self, run: LaunchRun, busy: Mapping[object, int], lanes: int
    ) -> dict[str, float]:
        """Of start to end, over the cores of the lanes with tasks."""
        cycles, timer = run.end - run.start, run.steps.timer
        shares: dict[str, float] = {}
        for pipe, value in busy.items():
            cores = sum(
                pipe in self.machine.pipes[timer.layout_of(core).unit]
                for core in range(timer.core_count)
            )
            shares[str(pipe)] = value / (cores * lanes * cycles) if cycles else 0.0
        return shares

    def _cores(self) -> list[CoreTime]:
        cube = self.machine.cube_cores
        return [
            CoreTime(
                unit="cube" if core < cube else "vector",
                number=core if core < cube else core - cube,
                tasks=self.tasks[core],
                busy=dict(self.busy.get(core, {})),
                finish=finish,
            )
            for core, finish in enumerate(self.chip.free)
        ]

    # Limits.

    def _launch_bound(
        self, busy: Mapping[str, float], missed: float, loaded: int
    ) -> str:
        if not busy or max(busy.values()) < HALF:
            return "dependency"
        pipe = max(busy, key=lambda name: busy[name])
        if pipe in OF_PIPE:
            return OF_PIPE[pipe]
        memory = self.machine.memory
        near = (loaded - missed) / memory.l2_read_bytes_per_cycle_per_core
        far = missed / self.machine.route("gm", "l1").bytes_per_cycle
        return "HBM" if pipe == "mte2" and far > near else "L2"

    def _bound(
        self, launches: Sequence[LaunchTime], chain: Sequence[ChainStep], end: int
    ) -> str:
        issued = [step.start for step in chain if step.cause == "issue"]
        if max(issued, default=0) > end / 2:
            return "dispatch"
        shares: Counter[str] = Counter()
        for launch in launches:
            if launch.tasks:
                shares[launch.bound] += launch.cycles
        return max(shares, key=lambda name: shares[name], default="dispatch")

    def _roofs(self, launches: Sequence[LaunchTime]) -> dict[str, float]:
        machine, clock = self.machine, self.machine.clock_hz
        macs: Counter[str] = Counter()
        for counts in self.counts:
            for (kind, name), value in counts.items():
                if kind == "macs":
                    macs[str(name)] += value
        pipes: Counter[str] = Counter()
        for busy in self.busy.values():
            pipes.update(busy)
        cube = sum(n / machine.macs_per_cycle[name] for name, n in macs.items())
        memory = machine.memory
        outside = sum(map(outside_bytes, self.counts))
        hbm = self.chip.l2.written_back + sum(run.hbm_bytes for run in self.chip.runs)
        issues = max(len(launches) - 1, 0) * machine.next_launch_seconds
        return {
            "cube": cube / machine.cube_cores / clock,
            "vector": pipes["v"] / machine.vector_cores / clock,
            "L1": pipes["mte1"] / machine.cube_cores / clock,
            "L2": outside / (memory.hbm_bytes_per_second * memory.l2_to_hbm_ratio),
            "HBM": hbm / memory.hbm_bytes_per_second,
            "dispatch": machine.launch_seconds + issues,
        }

    # Bytes.

    def _compulsory(self) -> int:
        """Arguments that are loaded, once each, and results."""
        loaded: Counter[int] = Counter()
        arrays: dict[int, Array] = {}
        for run, counts in zip(self.chip.runs, self.counts, strict=True):
            for (kind, number), value in counts.items():
                if kind == "load":
                    array = run.launch.arrays[int(str(number))]
                    loaded[array.root] += value
                    arrays[array.root] = array
        given = self.steering.roots
        read = sum(
            min(size, given[root]) for root, size in loaded.items() if root in given
        )
        written = {array.root: array.bytes for array in self.results}
        return read + sum(written.values())

    def _workspace(self) -> int:
        """The arrays that are neither arguments nor results."""
        known = {*self.steering.roots, *(array.root for array in self.results)}
        sizes: dict[int, int] = {}
        for launch in self.launches:
            for array in launch.arrays:
                if array.root not in known:
                    end = array.offset + array.bytes
                    sizes[array.root] = max(sizes.get(array.root, 0), end)
        return sum(sizes.values())

    # The way to the end.

    def _chain(self) -> tuple[tuple[ChainStep, ...], list[TaskTime]]:
        """The tasks that the end waited for, by launch, and one task of each."""
        runs = self.chip.runs
        last = max(
            (task for run in runs for task in run.tasks),
            key=lambda task: task.end,
            default=None,
        )
        steps: list[ChainStep] = []
        examples: list[TaskTime] = []
        while last is not None:
            run = runs[last.launch]
            own = [task for task in run.tasks if task.lane == last.lane]
            before = [task for task in own if task.start <= last.start]
            first = len(before) - 1
            while first and before[first].cause == BY_CORE:
                first -= 1
            head = before[first]
            steps.append(
                ChainStep(
                    last.launch,
                    len(before) - first,
                    head.start,
                    last.end,
                    _cause(head),
                )
            )
            examples.append(before[first + (len(before) - first) // 2])
            last = self._before(head)
        return tuple(reversed(steps)), list(reversed(examples))

    def _before(self, task: TaskTime) -> TaskTime | None:
        """The task of another launch that this one waited for."""
        runs = self.chip.runs
        if task.cause == BY_ISSUE:
            return None
        if task.cause >= 0:
            ends = [t for t in runs[task.cause].tasks if t.end <= task.start]
            return max(ends, key=lambda t: t.end, default=None)
        return runs[task.launch].lanes[task.lane].before


def _cause(task: TaskTime) -> str:
    if task.cause == BY_ISSUE:
        return "issue"
    return "core" if task.cause == BY_CORE else f"launch {task.cause}"


def _by_kind(counts: Counts) -> dict[str, dict[object, int]]:
    kinds: dict[str, dict[object, int]] = {}
    for (kind, name), value in counts.items():
        kinds.setdefault(kind, {})[name] = value
    return kinds
