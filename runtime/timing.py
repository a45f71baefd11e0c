"""
How long a scheduled program takes on a machine, and why.

    timeline = simulate(module, machine, signature, inputs)

    timing_program     the launches, with their sizes: from sizes and what is known of
                       data; what results decide is recorded in a run (recorded_reads)
    timing_kernel      a kernel as a function that moves the clocks of its pipes
    timing_steps       a task as a step from one state of a core to the next
    timing_misses      what a wave of tasks finds in L2 (timing_l2)
    timing_traffic     how the cores share HBM and L2
    timing_launch      tasks on cores
    timing_summary     what of all that limits the program (timing_result)

docs/timing.md has the formulas and where each number is from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.diagnostics import RunError
from pyptoc.dialects.npu_attrs import SelectorKind
from pyptoc.dialects.npu_kernel import kernels_of
from pyptoc.runtime.inputs import Input, Inputs
from pyptoc.runtime.machine import Machine
from pyptoc.runtime.signature import Signature
from pyptoc.runtime.timing_accesses import (
    LaunchBoxes,
    Regions,
    box_function,
    declared,
)
from pyptoc.runtime.timing_l2 import L2
from pyptoc.runtime.timing_launch import Chip, Placing
from pyptoc.runtime.timing_program import Launch, Steering, launches_of
from pyptoc.runtime.timing_result import Timeline
from pyptoc.runtime.timing_steps import KernelSteps
from pyptoc.runtime.timing_summary import Summary

if TYPE_CHECKING:
    from pyptoc.runtime.recorded_reads import RecordedReads


def simulate(
    module: ModuleOp,
    machine: Machine,
    signature: Signature,
    inputs: Inputs,
    seed: int | None = None,
) -> Timeline:
    """
    The time of one call of the operator.

    inputs: what is known of the inputs, at least the sizes; see `timing_program.py`.
    Where sizes come from what kernels compute, the program is run once, which needs all
    inputs.
    seed: of the values that are made up. None: only those are that sizes come from, not
    inputs for a run.
    Raises `CompileError` for a module that is no scheduled program or inputs that are
    missing, `RunError` where the orchestration or the run breaks a rule.
    """

    def run(inputs: Mapping[str, Input]) -> RecordedReads:
        # Most programs need no run, and the executor takes a while to load.
        from pyptoc.runtime.recorded_reads import record_reads

        try:
            return record_reads(module, machine, inputs, signature.name)
        except RunError as failure:
            raise _FailedRunError(failure) from failure

    steering = Steering(signature, inputs, seed, run)
    try:
        launches, results = launches_of(module, steering)
        chip = place(module, machine, launches)
        return Summary(chip, launches, results, steering).timeline()
    except _FailedRunError as problem:
        raise problem.failure from None


class _FailedRunError(Exception):
    """Carries the error of a run past those who add where the simulation is to it."""

    def __init__(self, failure: RunError) -> None:
        super().__init__(failure)
        self.failure = failure


def place(module: ModuleOp, machine: Machine, launches: Sequence[Launch]) -> Chip:
    """All launches on the cores."""
    kernels = kernels_of(module)
    steps = {
        name: KernelSteps(kernels[name], machine)
        for name in dict.fromkeys(launch.kernel for launch in launches)
    }
    accesses = {
        name: (declared(kernels[name]), box_function(kernels[name])) for name in steps
    }
    boxes = [LaunchBoxes(each, *accesses[each.kernel]) for each in launches]
    chip = Chip(machine, Regions(boxes), L2(machine.memory.l2_kept_bytes))
    waited = _waited(launches)
    for launch, own in zip(launches, boxes, strict=True):
        placing = Placing(chip, launch, steps[launch.kernel], own)
        chip.runs.append(placing.run(waited[launch.number]))
    return chip


def _waited(launches: Sequence[Launch]) -> list[set[SelectorKind]]:
    """How later launches wait for each one."""
    found: list[set[SelectorKind]] = [set() for _ in launches]
    for launch in launches:
        for events, selector in launch.waits:
            for event in events:
                found[event].add(selector.kind)
    return found
