"""
How many of a task's bytes come from HBM: tasks in waves of one a lane, through L2.

The tasks of a wave start together, so a panel that several of them want and that is not
in L2 comes once, and each of them waits for its share of it. What a task loads again
and again of its own boxes comes from HBM once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from math import prod

from pyptoc.dialects.record import record
from pyptoc.runtime.timing_accesses import INEXACT_SHARE, LaunchBoxes, Regions, Touch
from pyptoc.runtime.timing_l2 import L2

MISS_CLASSES = 256
"""Miss ratios are multiples of one by this: tasks of one ratio are timed once."""


@record(frozen=False)
class Misses:
    """What a task finds of its arrays."""

    ratios: tuple[float, ...]
    """Of the bytes that it loads of each array, the share from HBM."""
    hbm_bytes: float
    touched: list[tuple[int, bool]] = field(default_factory=list["tuple[int, bool]"])
    """The cells, and whether they are written."""


@record(frozen=False)
class _Wanted:
    """What a task of the wave wants of one array."""

    region: float = 0.0
    missing: float = 0.0
    at_random: bool = False


class WaveMisses:
    """Works out the misses of a launch, wave by wave."""

    def __init__(self, boxes: LaunchBoxes, regions: Regions, l2: L2) -> None:
        self.boxes, self.l2 = boxes, l2
        self.arrays = boxes.launch.arrays
        self.cells = [regions.cells[array] for array in self.arrays]
        self.reads = Counter(buffer for buffer, writes, _ in boxes.kinds if not writes)
        """How many boxes of each array a task reads."""

    def wave(
        self, tasks: Sequence[tuple[int, ...]], loaded: Sequence[Sequence[int]]
    ) -> list[Misses]:
        """loaded: the bytes that each task loads of each array."""
        fresh: dict[int, tuple[float, list[_Wanted]]] = {}
        wanted: list[list[_Wanted]] = []
        found: list[list[tuple[int, bool]]] = []
        for task, bytes_loaded in zip(tasks, loaded, strict=True):
            mine = [_Wanted() for _ in self.arrays]
            touched: list[tuple[int, bool]] = []
            for touch in self.boxes.boxes(task):
                self._touch(touch, bytes_loaded, mine, fresh, touched)
            wanted.append(mine)
            found.append(touched)
        for missing, sharers in fresh.values():
            for one in sharers:
                one.missing += missing / len(sharers)
        return [
            self._result(mine, bytes_loaded, touched)
            for mine, bytes_loaded, touched in zip(wanted, loaded, found, strict=True)
        ]

    def _touch(
        self,
        touch: Touch,
        loaded: Sequence[int],
        mine: list[_Wanted],
        fresh: dict[int, tuple[float, list[_Wanted]]],
        touched: list[tuple[int, bool]],
    ) -> None:
        number = touch.buffer
        cells, one = self.cells[number], mine[number]
        part = self._part(touch, loaded[number])
        if part < INEXACT_SHARE:
            if not one.at_random:
                one.at_random, one.region = True, float(loaded[number])
                array = self.arrays[number]
                one.missing = self.l2.read_at_random(array, loaded[number])
            touched += [
                (cell, False) for cell, _ in cells.covered(touch.lo, touch.size)
            ]
            return
        for cell, box in cells.covered(touch.lo, touch.size):
            size = box * part
            touched.append((cell, touch.writes))
            one.region += size
            known = part == 1.0 and not touch.writes and cell in fresh
            if known and fresh[cell][0] >= size:
                fresh[cell][1].append(one)
                continue
            whole = max(cells.cell_bytes, box)
            missing = self.l2.touch(cell, size, whole, touch.writes)
            if missing and not touch.writes and not one.at_random:
                before, sharers = fresh.get(cell, (0.0, list[_Wanted]()))
                fresh[cell] = (before + missing, [*sharers, one])

    def _part(self, touch: Touch, loaded: int) -> float:
        """The share of an inexact box that a task loads; of others, all."""
        if touch.exact or touch.writes:
            return 1.0
        region = prod(touch.size) * self.arrays[touch.buffer].bits / 8
        return min(loaded / (region * self.reads[touch.buffer]), 1.0)

    def _result(
        self,
        mine: Sequence[_Wanted],
        loaded: Sequence[int],
        touched: list[tuple[int, bool]],
    ) -> Misses:
        ratios: list[float] = []
        total = 0.0
        for one, count in zip(mine, loaded, strict=True):
            if not one.missing:
                ratios.append(0.0)
                continue
            from_hbm = min(one.missing, count)
            if one.region > self.l2.capacity:
                # What it loads again is gone by then.
                from_hbm = one.missing / one.region * count
            total += from_hbm
            ratio = from_hbm / count if count else 0.0
            ratios.append(round(ratio * MISS_CLASSES) / MISS_CLASSES)
        return Misses(tuple(ratios), total, touched)
