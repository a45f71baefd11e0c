"""
How memory outside the cores is shared: the traffic of a wave of tasks.

Cores that transfer at the same time ask for `bytes / time` together. Where that is more
than HBM (or L2) gives, each byte takes longer, until what they ask for in the longer
time is what there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil

from pyptoc.runtime.machine import Machine
from pyptoc.runtime.timing_costs import ALONE, Traffic
from pyptoc.runtime.timing_steps import KernelSteps, Work, outside_bytes

LEVELS = 16
"""Traffic is a multiple of one by this: tasks under equal traffic are timed once."""

ROUNDS = 24
CLOSE = 1.005
"""When it is good enough: half a percent over what there is."""

Kind = tuple[Work, tuple[float, ...], float]
"""A class of tasks, its miss ratios and its bytes from and to HBM."""


class Sharing:
    """The traffic of waves of one kernel's tasks."""

    def __init__(self, steps: KernelSteps, machine: Machine) -> None:
        self.steps = steps
        memory = machine.memory
        self.hbm = memory.hbm_bytes_per_second / machine.clock_hz
        self.l2 = self.hbm * memory.l2_to_hbm_ratio
        self._found: dict[tuple[object, ...], Traffic] = {}

    def of(self, kinds: Counter[Kind], lasting: bool) -> Traffic:
        """
        The traffic while these tasks run together.

        lasting: whether each is followed by more of its kind.
        """
        key = (frozenset(kinds.items()), lasting)
        if key not in self._found:
            self._found[key] = self._solve(kinds, lasting)
        return self._found[key]

    def _solve(self, kinds: Mapping[Kind, int], lasting: bool) -> Traffic:
        traffic = ALONE
        for _ in range(ROUNDS):
            hbm, l2 = self._asked(kinds, traffic, lasting)
            over_hbm, over_l2 = hbm / self.hbm, l2 / self.l2
            if over_hbm <= CLOSE and over_l2 <= CLOSE:
                break
            traffic = Traffic(
                _raised(traffic.hbm, over_hbm), _raised(traffic.l2, over_l2)
            )
        return traffic

    def _asked(
        self, kinds: Mapping[Kind, int], traffic: Traffic, lasting: bool
    ) -> tuple[float, float]:
        """Bytes a cycle of HBM and of L2."""
        hbm = l2 = 0.0
        for (work, miss, from_hbm), count in kinds.items():
            if lasting:
                cycles = max(self.steps.pace(work, miss, traffic), 1)
            else:
                cycles = max(self.steps.step(work, miss, traffic, None).finish, 1)
            moved = outside_bytes(self.steps.totals(work))
            hbm += count * from_hbm / cycles
            l2 += count * moved / cycles
        return hbm, l2


def _raised(level: float, over: float) -> float:
    """The next level if one is asked for too much."""
    return level if over <= CLOSE else ceil(level * over * LEVELS) / LEVELS
