"""
Which tasks are over when a task starts: what the waits of the launches say.

Tasks are numbered as they are launched; sets of them are the bits of a number. Neither
cores nor the order of launches count. `e overlaps` selects the tasks whose declared
boxes conflict with the task's; a read of the orchestration holds all later launches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.npu_attrs import AccessMode, Selector, SelectorKind
from pyptoc.dialects.npu_kernel import KernelOp, LaunchOp
from pyptoc.dialects.npu_memory import ReadOp
from pyptoc.runtime.hazards_regions import Place, Region
from pyptoc.runtime.timing_accesses import box_function
from pyptoc.runtime.timing_launch import range_function

MOST_TASKS = 2**16
"""Which of them is over when each starts takes a bit for each pair, at worst."""


@dataclass(eq=False)
class Launch:
    """One launch; its tasks are numbered from `first` in the order of the grid."""

    op: LaunchOp
    kernel: KernelOp
    first: int
    grid: tuple[int, ...]
    places: tuple[Place, ...]
    """Where each of its arrays lies."""
    scalars: tuple[Any, ...]
    waits: tuple[tuple[tuple[Launch, ...], Selector], ...]
    past: int = 0
    """All that is over when all of its tasks are, and they themselves."""
    _declared: dict[int, list[Region]] = field(default_factory=dict[int, list[Region]])

    @property
    def count(self) -> int:
        return prod(self.grid)

    @property
    def tasks(self) -> range:
        return range(self.first, self.first + self.count)

    @cached_property
    def _spans(self) -> dict[int, tuple[int, int]]:
        """By allocation, the bytes between which all declared boxes lie."""
        found: dict[int, tuple[int, int]] = {}
        for table in self.tables:
            for region in table.regions:
                if not region.empty:
                    low, high = region.bounds
                    first, last = found.get(table.place.root, (low, high))
                    found[table.place.root] = min(first, low), max(last, high)
        return found

    def may_meet(self, spans: Sequence[tuple[int, int, int]]) -> bool:
        """Whether any of some allocations' bytes lies where it has boxes."""
        mine = self._spans
        for root, low, high in spans:
            bounds = mine.get(root)
            if bounds is not None and low < bounds[1] and bounds[0] < high:
                return True
        return False

    @cached_property
    def own(self) -> int:
        """Its tasks, as a set."""
        return (1 << self.count) - 1 << self.first

    def indices(self) -> Iterator[tuple[int, ...]]:
        return product(*map(range, self.grid))

    def index_of(self, task: int) -> tuple[int, ...]:
        """The grid indices of a task."""
        if not self.grid:
            return ()
        left, found = task - self.first, list[int]()
        for size in reversed(self.grid):
            left, index = divmod(left, size)
            found.append(index)
        return tuple(reversed(found))

    def declared(self, task: int) -> list[Region]:
        """The boxes that the kernel says a task touches; one for each access."""
        if task not in self._declared:
            found: list[Region] = []
            boxes = self._boxes(*self.index_of(task), *self.scalars)
            for access, (lo, size) in zip(self.accesses, boxes, strict=True):
                place = self.places[access.buffer]
                ranges = tuple(
                    (max(start, 0), min(start + extent, limit))
                    for start, extent, limit in zip(lo, size, place.shape, strict=True)
                )
                found.append(Region(place, ranges, access.mode, access.exact))
            self._declared[task] = found
        return self._declared[task]

    def __post_init__(self) -> None:
        self._boxes = box_function(self.kernel)
        self.accesses = self.kernel.access_list

    @cached_property
    def tables(self) -> list[Table]:
        """The declared boxes of all tasks, access by access."""
        every = [self.declared(task) for task in self.tasks]
        return [
            Table(self.places[access.buffer], access.mode, self.first, list(regions))
            for access, regions in zip(
                self.accesses, zip(*every, strict=True), strict=False
            )
        ]

    def name(self, task: int) -> str:
        """`@gmm_0 (%i = 1, %j = 4)`"""
        names = [f"%{arg.name_hint or 'i'}" for arg in self.kernel.grid_args]
        pairs = zip(names, self.index_of(task), strict=True)
        index = ", ".join(f"{name} = {value}" for name, value in pairs)
        return f"@{self.op.callee_name} ({index})"


@dataclass
class HostRead:
    """A read of the orchestration."""

    op: ReadOp
    region: Region
    waits: tuple[tuple[tuple[Launch, ...], Selector], ...]


@dataclass
class Order:
    """What is over when each task starts; launches and reads are added in order."""

    before: list[int] = field(default_factory=list[int])
    """By task: the tasks that are over."""
    launches: list[Launch] = field(default_factory=list[Launch])
    known: int = 0
    """What every later launch comes after."""

    def add(self, launch: Launch) -> None:
        """A launch, whose number is the count of tasks before it.

        Raises `CompileError` PTO507 for more tasks than can be compared.
        """
        if launch.tasks.stop > MOST_TASKS:
            error(
                launch.op.location,
                "PTO507",
                "too many tasks to check",
                rule=f"at most {MOST_TASKS} tasks (2^16) of all launches together",
                here=f"{launch.tasks.stop} with this launch",
                help="bind smaller sizes; a larger tile makes fewer tasks",
            )
        mine = 0
        fixed = self.known
        chosen: list[Any] = []
        for events, selector in launch.waits:
            if selector.kind == SelectorKind.ALL:
                for event in events:
                    fixed |= event.past
            elif events:
                chosen.append((events, selector, range_function(launch, selector)))  # pyright: ignore[reportArgumentType]
        kept: dict[Any, int] = {}
        for task, index in zip(launch.tasks, launch.indices(), strict=True):
            over = fixed
            for events, selector, ranges in chosen:
                if selector.kind == SelectorKind.OVERLAPS:
                    over |= self._overlapping(launch.declared(task), events)
                    continue
                box = tuple(ranges(*index, *launch.scalars))
                for event in events:
                    key = (id(event), box)
                    if key not in kept:
                        kept[key] = self._past(_members(event, box))
                    over |= kept[key]
            self.before.append(over)
            mine |= over | 1 << task
        launch.past = mine
        self.launches.append(launch)

    def read(self, read: HostRead) -> int:
        """What is over at a read; later launches come after that."""
        over = self.known
        for events, selector in read.waits:
            if selector.kind == SelectorKind.ALL:
                for event in events:
                    over |= event.past
            elif selector.kind == SelectorKind.OVERLAPS:
                over |= self._overlapping([read.region], events)
            else:
                ranges = range_function_of_read(selector)
                for event in events:
                    over |= self._past(_members(event, ranges))
        self.known = over
        return over

    def launch_of(self, task: int) -> Launch:
        return next(one for one in self.launches if task in one.tasks)

    def _past(self, tasks: Sequence[int]) -> int:
        found = 0
        # What a task came after is over as well, so most of the others are there.
        for task in sorted(tasks, reverse=True):
            if not found >> task & 1:
                found |= self.before[task] | 1 << task
        return found

    def _overlapping(self, regions: Sequence[Region], events: Sequence[Launch]) -> int:
        over = 0
        spans = [(one.place.root, *one.bounds) for one in regions if not one.empty]
        # The last one of a loop has most of the others behind it.
        for event in reversed(events):
            if event.may_meet(spans) and event.own & ~over:
                over |= self._past(_conflicting(event, regions))
        return over


@dataclass
class Table:
    """One access of all tasks of a launch: regions that compare at once."""

    place: Place
    mode: AccessMode
    first: int
    regions: list[Region]

    def __post_init__(self) -> None:
        shape = len(self.regions), len(self.place.shape), 2
        ranges = np.array([one.ranges for one in self.regions], np.int64)
        ranges = ranges.reshape(shape)
        self.lo, self.hi = ranges[:, :, 0], ranges[:, :, 1]
        self.some = (self.lo < self.hi).all(axis=1)

    @cached_property
    def bounds(self) -> Any:
        """The bytes that each region lies in."""
        return np.array([one.bounds for one in self.regions], np.int64)

    def conflicting(self, region: Region) -> list[int]:
        """The tasks whose region conflicts with this one."""
        if self.mode == region.mode != AccessMode.WRITE:
            return []
        if self.place.form == region.place.form:
            lo, hi = np.array(region.ranges, np.int64).reshape(-1, 2).T
            meets = self.some & ((self.lo < hi) & (lo < self.hi)).all(axis=1)
            return (np.flatnonzero(meets) + self.first).tolist()
        low, high = region.bounds
        if self.place.end <= low or high <= self.place.start:
            return []
        near = self.some & (self.bounds[:, 0] < high) & (low < self.bounds[:, 1])
        return [
            self.first + int(number)
            for number in np.flatnonzero(near)
            if self.regions[number].shares(region)
        ]


def _conflicting(event: Launch, regions: Sequence[Region]) -> list[int]:
    """The tasks of a launch whose declared boxes conflict with these regions."""
    found: set[int] = set()
    for table in event.tables:
        for region in regions:
            if region.place.root == table.place.root and not region.empty:
                found.update(table.conflicting(region))
    return list(found)


def range_function_of_read(selector: Selector) -> list[tuple[int, int] | None]:
    """The ranges of a selector that depends on nothing."""
    return [
        None if r is None else (r[0].evaluate({}), r[1].evaluate({}))
        for r in selector.ranges
    ]


def _members(launch: Launch, ranges: Sequence[tuple[int, int] | None]) -> Sequence[int]:
    """The tasks of a launch in half-open ranges of its grid, clipped to it."""
    box = [
        range(size) if r is None else range(max(r[0], 0), min(r[1], size))
        for r, size in zip(ranges, launch.grid, strict=True)
    ]
    if not launch.grid:
        return [launch.first]
    strides = [prod(launch.grid[axis + 1 :]) for axis in range(len(launch.grid))]
    return [
        launch.first + sum(i * stride for i, stride in zip(index, strides, strict=True))
        for index in product(*box)
    ]
