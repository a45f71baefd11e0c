"""Launches of kernels whose tasks are run several at once (see `merged_tasks.py`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import inf, prod
from typing import TYPE_CHECKING, Any

from pyptoc.dialects.diagnostics import RunError
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.runtime.memory import Memory
from pyptoc.runtime.merged_tasks import Merging, merging

if TYPE_CHECKING:
    from pyptoc.runtime.translate import KernelTranslator

FEW_TASKS = {Unit.VECTOR: 8, Unit.MIXED: 32}
"""Fewer are not worth another translation, which is longer of a mixed kernel."""


class MergedTasks:
    """The tasks of a kernel that are run several at once (`merged_tasks.py`)."""

    def __init__(self, to: KernelTranslator) -> None:
        self.to = to
        self.few = FEW_TASKS.get(Unit(to.kernel.unit.data), inf)
        """Of fewer than these each is run by itself."""
        self.kernels: dict[int, KernelTranslator] = {}
        """By how many tasks are one."""

    @cached_property
    def merging(self) -> Merging | None:
        """How they are; None: they are not."""
        return merging(self.to.kernel)

    @cached_property
    def whole(self) -> Callable[..., bool] | None:
        """What tells whether a task has all its rows."""
        return None if self.merging is None else self.merging.whole()

    def launch(
        self,
        grid: tuple[int, ...],
        memories: tuple[Memory, ...],
        scalars: tuple[Any, ...],
    ) -> list[tuple[int, ...]] | None:
        """Run what can be merged; the tasks that are left. None: all of them."""
        if prod(grid) < self.few or (merging := self.merging) is None:
            return None
        whole = self.whole
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
            merged, core = merging.merged(factor), self.to.core.larger(factor)
            kernel = type(self.to)(merged.kernel, core, merged.products)
            self.kernels[factor] = kernel
        return self.kernels[factor]
