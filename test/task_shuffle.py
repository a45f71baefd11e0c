"""Runs the tasks of a program in a random order that its waits allow.

Every task runs alone, on one core, when all tasks that its waits select are over, and
all that those came after. What the waits forget then shows as a wrong value: so does a
workspace that is written while another still needs its memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from task_order import TaskOrder, ones
from task_record import Launch, Recorder, RecordingExecutable
from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.npu_kernel import kernels_of
from pyptoc.dialects.record import record
from pyptoc.dialects.walk import Walk
from pyptoc.runtime.core import Core
from pyptoc.runtime.executor import Program
from pyptoc.runtime.machine import Machine
from pyptoc.runtime.matmul import Scratch
from pyptoc.runtime.memory import Buffers, Memory
from pyptoc.runtime.pipes import Pipes
from pyptoc.runtime.signature import find_entry
from pyptoc.runtime.translate import KernelTranslator


@record
class OneTask(Walk):
    """A walk of a grid that is one of its tasks."""

    index: tuple[int, ...] = ()

    def tasks(self, grid: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [self.index]


@dataclass
class Postponed:
    """A launch whose tasks have not run yet."""

    launch: Launch
    kernel: KernelTranslator
    memories: tuple[Memory, ...]

    def run(self, task: int) -> None:
        walk = OneTask(index=self.launch.indices[task - self.launch.first])
        launch = self.launch
        self.kernel.launch(launch.grid, self.memories, launch.scalars, walk)


class Shuffler(Recorder):
    """Runs no task before the whole program has been launched."""

    random: np.random.Generator

    def call(self, args: list[Any]) -> tuple[Any, ...]:
        self.postponed: list[Postponed] = []
        values = super().call(args)
        order = TaskOrder(self.steps)
        before, reads = order.closure()
        assert not reads, "what the orchestration reads must be there when it runs"
        by_task = [one for one in self.postponed for _ in one.launch.tasks]
        left = set(range(len(before)))
        done = 0
        while left:
            ready = sorted(task for task in left if not before[task] & ~done)
            task = int(self.random.choice(ready))
            by_task[task].run(task)
            left.remove(task)
            done |= 1 << task
        assert sum(1 for _ in ones(done)) == len(before)
        return values

    def _run(self, translator: KernelTranslator, record: Launch, memories: Any) -> None:
        self.postponed.append(Postponed(record, translator, memories))


class ShufflingExecutable(RecordingExecutable):
    """An executable whose tasks run in a random order."""

    seed = 0

    def prepare(self, name: str, ordered: bool = True) -> Program:
        core = Core(Buffers(self.machine), Scratch(), fuse=False, check=True)
        kernels = {
            name: KernelTranslator(kernel, core)
            for name, kernel in kernels_of(self.module).items()
        }
        self.recorder = Shuffler(find_entry(self.module, name), kernels, core.buffers)  # pyright: ignore[reportArgumentType]
        self.recorder.random = np.random.default_rng(self.seed)
        return Program(self.recorder, Pipes(0))


def run_shuffled(
    module: ModuleOp, machine: Machine, inputs: Mapping[str, Any], seed: int
) -> dict[str, np.ndarray]:
    """The results of one run."""
    executable = ShufflingExecutable(module, machine)
    executable.seed = seed
    return executable.run(inputs)
