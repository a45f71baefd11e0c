"""
Hazards between tasks: every two that touch the same bytes, one writing, are ordered.

The regions that tasks touch are gone through in the order of the launches. For each
piece of memory is kept who wrote it last, who read it since, and who added to it since;
a region is checked against these and takes their place, as in the detectors of data
races that keep the last accesses of each address. A piece is as large as the edges of
all regions of an allocation allow, so that a row of tiles is few pieces.

- A read comes after the last write and all additions, a write after all of these.
- What is read was written: by a task or as an input, and since its arena's bytes were
  given to this array.
- What a task touches lies in what its kernel declares: waits go by that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import Diagnostic, Note, error
from pyptoc.dialects.npu_attrs import AccessMode
from pyptoc.runtime.hazards_order import HostRead, Launch, Order
from pyptoc.runtime.hazards_regions import Cut, Region, box_of, unit_of
from pyptoc.runtime.task_sets import NO_TASKS, Tasks, tasks_beside, with_task

NOTHING, INPUT, FIRST = 0, 1, 2
"""Who wrote a piece: nobody, the caller, or the touch of that number less FIRST."""

MOST_PIECES = 2**25
"""Each takes 12 bytes and a fraction of a microsecond."""

FEW = 64
"""So many numbers Python tells apart faster than numpy."""

MOST = 20
"""How many findings are collected."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A region that a task touched; task -1: a read of the orchestration."""

    task: int
    region: Region
    op: Operation
    launch: Launch | None
    over: int
    """What was over when the task started."""
    at: float
    """Where it stands among the tasks, in the order of the launches."""
    core: str = ""
    """Of a mixed task: `cube`, `vector 0` or `vector 1`."""


class _Pieces:
    """One allocation."""

    def __init__(self, touches: list[tuple[int, Touch]], given: bool) -> None:
        self.unit = gcd(*(unit_of(touch.region) for _, touch in touches))
        end = max(touch.region.place.end for _, touch in touches)
        self.size = -(-end // self.unit)
        if self.size > MOST_PIECES:
            error(
                touches[0][1].op.location,
                "PTO507",
                "memory is cut into too many pieces to check",
                rule=f"at most {MOST_PIECES} pieces (2^25) of one allocation",
                here=f"{self.size} of {self.unit} B, into which boxes cut "
                f"%{touches[0][1].region.place.name}",
                help="bind smaller sizes",
            )
        self.written = np.full(self.size, INPUT if given else NOTHING, np.int32)
        self.sets: dict[AccessMode, NDArray[Any]] = {}
        """Who has read, or added to, each piece since; as long as nobody has, none."""

    def tasks(self, mode: AccessMode) -> NDArray[Any]:
        if mode not in self.sets:
            self.sets[mode] = np.zeros(self.size, np.int32)
        return self.sets[mode]


@dataclass
class TaskHazards:
    """Collects the regions of a run, and says what is wrong with them."""

    order: Order = field(default_factory=Order)
    touches: list[Touch] = field(default_factory=list[Touch])
    given: set[int] = field(default_factory=set[int])
    """The allocations that the caller has filled."""
    found: list[Diagnostic] = field(default_factory=list[Diagnostic])
    _sets: list[Tasks] = field(default_factory=lambda: [NO_TASKS])
    _numbers: dict[Tasks, int] = field(default_factory=lambda: {NO_TASKS: 0})
    _seen: set[tuple[Any, ...]] = field(default_factory=set[tuple[Any, ...]])

    def touched(
        self, launch: Launch, task: int, region: Region, op: Operation, core: str = ""
    ) -> None:
        """A task touches a region, on one of its cores."""
        if region.empty:
            return
        over = self.order.before[task]
        self.touches.append(Touch(task, region, op, launch, over, task, core))

    def host_read(self, read: HostRead) -> int:
        """A read of the orchestration; what is over then."""
        over = self.order.read(read)
        at = len(self.order.before) - 0.5
        self.touches.append(Touch(-1, read.region, read.op, None, over, at))
        return over

    def check(self) -> list[Diagnostic]:
        """What is wrong."""
        self._check_cores()
        by_root: dict[int, list[tuple[int, Touch]]] = {}
        # Out of order, tasks touch later than they were launched.
        ordered = sorted(enumerate(self.touches), key=lambda item: item[1].at)
        for number, touch in ordered:
            root = touch.region.place.root
            by_root.setdefault(root, []).append((number, touch))
        for root, touches in by_root.items():
            pieces = _Pieces(touches, root in self.given)
            for number, touch in touches:
                if len(self.found) >= MOST:
                    return self.found
                self._step(pieces, number, touch)
        return self.found

    def _check_cores(self) -> None:
        """No order is known between what the cores of one mixed task do outside."""
        by_task: dict[tuple[int, int], list[Touch]] = {}
        for touch in self.touches:
            if touch.core:
                key = touch.task, touch.region.place.root
                by_task.setdefault(key, []).append(touch)
        for touches in by_task.values():
            for touch in touches:
                if touch.region.mode != AccessMode.READ:
                    for other in touches:
                        self._check_two_cores(other, touch)

    def _check_two_cores(self, before: Touch, touch: Touch) -> None:
        if before.core != touch.core and before.region.conflicts(touch.region):
            self._unordered(touch, before)

    def _step(self, pieces: _Pieces, number: int, touch: Touch) -> None:
        region, mode = touch.region, touch.region.mode
        mine = touch.over | (1 << touch.task if touch.task >= 0 else 0)
        self._check_declared(touch)
        cut = Cut(region, pieces.unit)
        written = cut.of(pieces.written)
        for last in _distinct(written):
            self._after_write(touch, last, mine)
        for other in (AccessMode.ACCUMULATE, AccessMode.READ):
            if other != mode and other in pieces.sets:
                self._after_all(touch, cut.of(pieces.sets[other]), mine)
        if mode == AccessMode.WRITE:
            written[...] = number + FIRST
            for sets in pieces.sets.values():
                cut.of(sets)[...] = 0
        elif touch.task >= 0:
            self._join(cut.of(pieces.tasks(mode)), touch.task)

    def _join(self, sets: NDArray[Any], task: int) -> None:
        """Add a task to the sets of all pieces of a box."""
        found = _distinct(sets)
        new = {old: self._number(with_task(self._sets[old], task)) for old in found}
        if len(found) == 1:
            sets[...] = new[found[0]]
            return
        before = sets.copy()
        for old, number in new.items():
            sets[before == old] = number

    def _number(self, tasks: Tasks) -> int:
        if tasks not in self._numbers:
            self._numbers[tasks] = len(self._sets)
            self._sets.append(tasks)
        return self._numbers[tasks]

    def _after_write(self, touch: Touch, last: int, mine: int) -> None:
        reads = touch.region.mode != AccessMode.WRITE
        if last >= FIRST:
            before = self.touches[last - FIRST]
            if not mine >> before.task & 1:
                self._unordered(touch, before)
            elif reads and before.region.place.serial != touch.region.place.serial:
                self._reused(touch, before)
        elif last == NOTHING and reads and touch.region.exact:
            self._unwritten(touch)

    def _after_all(self, touch: Touch, sets: NDArray[Any], mine: int) -> None:
        for number in _distinct(sets):
            for task in tasks_beside(self._sets[number], mine):
                before = next(
                    one
                    for one in self.touches
                    if one.task == task and one.region.conflicts(touch.region)
                )
                self._unordered(touch, before)
                break

    # What is wrong.

    def _once(self, *key: Any) -> bool:
        new = key not in self._seen
        self._seen.add(key)
        return new

    def _name(self, touch: Touch) -> str:
        if touch.launch is None:
            return "the orchestration"
        core = f"core {touch.core} of " if touch.core else ""
        return f"{core}task {touch.launch.name(touch.task)}"

    def _unordered(self, touch: Touch, before: Touch) -> None:
        same = touch.launch is before.launch
        if same and not (touch.region.exact and before.region.exact):
            return
        if not self._once("PTO421", touch.op, before.op, touch.launch, before.launch):
            return
        verb = {"read": "reads", "write": "writes", "accumulate": "adds to"}
        names = self._name(before), self._name(touch)
        notes = [
            Note(f"{names[0]} {verb[before.region.mode]} it", before.op.location),
            Note(f"{names[1]} {verb[touch.region.mode]} it", touch.op.location),
        ]
        for one in (before, touch):
            if one.launch is not None:
                text = f"@{one.launch.op.callee_name} is launched here"
                notes.append(Note(text, one.launch.op.location))
        help = (
            "the cores of a task run at once: what passes between them is pushed"
            if same and touch.task == before.task
            else "tasks of one launch run at once: they may not touch the same bytes"
            if same
            else "the later launch waits for the earlier one: after(%events overlaps)"
        )
        self._add(
            "PTO421",
            f"{names[0]} and {names[1]} touch the same memory, and nothing orders them",
            touch,
            rule="tasks that touch the same bytes, one of them writing, are ordered "
            "by waits",
            here=_shared(before.region, touch.region),
            notes=notes,
            help=help,
        )

    def _reused(self, touch: Touch, before: Touch) -> None:
        if not self._once("PTO423", touch.op, before.op):
            return
        self._add(
            "PTO423",
            f"{self._name(touch)} reads {touch.region.text}, whose bytes "
            f"{self._name(before)} wrote as %{before.region.place.name}",
            touch,
            rule="memory that is shared in turn is read only until it is given on",
            here=_shared(before.region, touch.region),
            notes=[Note("it was written here", before.op.location)],
        )

    def _unwritten(self, touch: Touch) -> None:
        if self._once("PTO425", touch.op):
            self._add(
                "PTO425",
                f"{self._name(touch)} reads {touch.region.text}, part of which no "
                "task has written",
                touch,
                rule="what a task reads was written before",
            )

    def _check_declared(self, touch: Touch) -> None:
        launch, region = touch.launch, touch.region
        if launch is None or not launch.accesses:
            return
        modes = {region.mode, AccessMode.ACCUMULATE}
        declared, parts = launch.declared(touch.task), list[Region]()
        for box in declared:
            same = box.place.form == region.place.form and box.mode in modes
            if same:
                if box.holds(region):
                    return
                parts.append(box)
        if parts and _cover(parts, region):
            return
        if self._once("PTO426", touch.op, launch.op):
            shown = [f"{box.mode} {box.text}" for box in declared]
            self._add(
                "PTO426",
                f"{self._name(touch)} touches {region.text} ({region.mode}), which "
                "its kernel does not declare",
                touch,
                rule="waits go by the accesses that a kernel declares",
                here=", ".join(shown),
            )

    def _add(self, code: str, message: str, touch: Touch, **more: Any) -> None:
        notes = tuple(more.pop("notes", ()))
        found = Diagnostic(code, message, touch.op.location, notes=notes, **more)
        self.found.append(found)


def _distinct(numbers: NDArray[Any]) -> list[int]:
    """The different numbers; mostly they are few, or one."""
    if numbers.size <= FEW:
        return sorted({*numbers.ravel().tolist()})
    first = int(numbers.flat[0])
    return [first] if (numbers == first).all() else np.unique(numbers).tolist()


def _cover(parts: list[Region], region: Region) -> bool:
    """Whether boxes of one array hold all of another one together."""
    unit = gcd(unit_of(region), *map(unit_of, parts))
    units = np.zeros(region.place.end // unit, np.bool_)
    for part in parts:
        if not part.empty:
            box_of(units, part, unit)[...] = True
    return bool(box_of(units, region, unit).all())


def _shared(one: Region, other: Region) -> str:
    """The overlap of two regions, in words."""
    if one.place.form == other.place.form:
        ranges = ", ".join(
            f"{max(a, c)} +: {min(b, d) - max(a, c)}"
            for (a, b), (c, d) in zip(one.ranges, other.ranges, strict=True)
        )
        name = other.place.name
        return f"both touch %{name}[{ranges}]"
    low = max(one.bounds[0], other.bounds[0])
    high = min(one.bounds[1], other.bounds[1])
    return f"{one.text} and {other.text} share bytes from {low} to {high - 1}"
