"""
What a program reads of its own results, recorded in a run.

    %end = npu.launch @cumsum ..
    scf.for %e = %c0 to %c2 step %c1 {        .host    [7, 3, 7, 4, ..]  in order
      %n = npu.read %end[%e] after(%end)  ->
      npu.launch @expert[%n] (%end, ..)       .tables  {(launch 1, buffer 0): [3, 7]}
    }

Sizes of launches and trips of loops in kernels can come from what earlier kernels
compute. Only a run knows it: the executor runs the program once, and who follows the
orchestration without data, as the timing model does, meets the same reads and launches
in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from pyptoc.dialects.npu_kernel import LaunchOp
from pyptoc.dialects.record import record
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import Machine
from pyptoc.runtime.memory import Memory
from pyptoc.runtime.orchestration import Orchestration
from pyptoc.runtime.timing_slices import Deciding
from pyptoc.runtime.translate import KernelTranslator


@record
class RecordedReads:
    """The numbers that steered a run."""

    host: list[int | float] = field(default_factory=list[int | float])
    """What each `npu.read` gave, in the order in which they ran."""
    tables: dict[tuple[int, int], NDArray[Any]] = field(
        default_factory=dict[tuple[int, int], NDArray[Any]]
    )
    """By the numbers of a launch and of a buffer of it: what was in the buffer at that
    time, if its elements decide how long tasks take and kernels may have stored it."""


def record_reads(
    module: ModuleOp, machine: Machine, inputs: Mapping[str, Any], entry: str
) -> RecordedReads:
    """
    Run a program once.

    inputs: all of them, as for `Executable.run`. Raises RunError.
    """
    executable = _Recording(module, machine)
    executable.run(inputs, entry)
    return executable.reads


class _Recording(Executable):
    """An executable for one run, which is recorded."""

    def __init__(self, module: ModuleOp, machine: Machine) -> None:
        super().__init__(module, machine)
        self.reads = RecordedReads()

    def orchestration(
        self, function: func.FuncOp, kernels: dict[str, KernelTranslator]
    ) -> Orchestration:
        return _RecordedOrchestration(function, kernels, self.reads)


class _RecordedOrchestration(Orchestration):
    """Runs a function and notes what it reads, and what its launches may read."""

    def __init__(
        self,
        function: func.FuncOp,
        kernels: dict[str, KernelTranslator],
        reads: RecordedReads,
    ) -> None:
        self.reads = reads
        self.launches = 0
        self.kept: dict[tuple[str, int], NDArray[Any]] = {}
        """The last table of a kernel's buffer."""
        self.steering = {
            name: Deciding(each.kernel).steering for name, each in kernels.items()
        }
        super().__init__(function, kernels)

    def _read(self, op: Operation) -> None:
        super()._read(op)
        note = self.bind(self.reads.host.append)
        self.line(f"{note}({self.ref(op.results[0])})")

    def _launch(self, op: Operation) -> None:
        launch = cast(LaunchOp, op)
        arguments = self.aliases.leaders(self.function.body.block.args)
        given = arguments - self.written
        numbers = [
            number
            for number in self.steering[launch.callee_name]
            if self.aliases.leader(launch.buffers[number]) not in given
        ]

        def note(*memories: Memory) -> None:
            for number, memory in zip(numbers, memories, strict=True):
                self._keep(launch.callee_name, number, memory.array)
            self.launches += 1

        buffers = self.refs([launch.buffers[number] for number in numbers])
        self.line(f"{self.bind(note)}({buffers})")
        super()._launch(op)

    def _keep(self, kernel: str, number: int, array: NDArray[Any]) -> None:
        before = self.kept.get((kernel, number))
        # Launches in a loop mostly read one table.
        if before is None or not np.array_equal(before, array):
            self.kept[kernel, number] = array.copy()
        self.reads.tables[self.launches, number] = self.kept[kernel, number]
