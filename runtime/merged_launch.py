"""Launches of kernels whose tasks are run several at once (see `merged_tasks.py`)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from pyptoc.dialects.diagnostics import RunError
from pyptoc.runtime.memory import Memory
from pyptoc.runtime.merged_tasks import Merging, merging

if TYPE_CHECKING:
    from pyptoc.runtime.translate import KernelTranslator

FEW_TASKS = 8
"""Fewer are not worth another translation."""


class MergedTasks:
    """The tasks of a kernel that are run several at once (`merged_tasks.py`)."""

    def __init__(self, to: KernelTranslator) -> None:
        self.to = to
        self.merging = merging(to.kernel)
        self.whole = None if self.merging is None else self.merging.whole()
        self.kernels: dict[int, KernelTranslator] = {}
        """By how many tasks are one."""

    def launch(
        self,
        grid: tuple[int, ...],
        memories: tuple[Memory, ...],
        scalars: tuple[Any, ...],
    ) -> list[tuple[int, ...]] | None:
        """Run what can be merged; the tasks that are left. None: all of them."""
        merging, whole = self.merging, self.whole
        if merging is None or prod(grid) < FEW_TASKS:
            return None
        factor = merging.factor(grid[merging.axis])
        if factor == 1 or not merging.is_safe(memories):
            return None

        def is_whole(task: tuple[int, ...]) -> bool:
            assert whole is not None
            return whole(task, memories, scalars)

        try:
            test = None if whole is None else is_whole
            firsts, others = merging.groups(grid, factor, test)
            if firsts:
                kernel = self._kernel(merging, factor)
                kernel.run_tasks(grid, firsts, memories, scalars)
        except (RunError, ArithmeticError):
            # Task by task it fails as well, and says which.
            return None
        return others

    def _kernel(self, merging: Merging, factor: int) -> KernelTranslator:
        if factor not in self.kernels:
            core = self.to.core.larger(factor)
            kernel = merging.merged(factor)
            self.kernels[factor] = type(self.to)(kernel, core, merge=False)
        return self.kernels[factor]
