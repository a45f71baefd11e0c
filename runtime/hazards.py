"""
What hardware would corrupt or hang on, as errors: `--check`.

    check_program(module, machine, signature, inputs)      sizes are enough, no data
    CheckedExecutable(module, machine).run(inputs)         on a run (hazards_run)

    hazards_core       the instructions of a task: flags, slots, valid boxes
    hazards_state      the order of the pipes of one core, and what its memory holds
    hazards_places     addresses, alignment, capacity
    hazards_channels   pushes, pops and frees of a mixed task
    hazards_order      which tasks are over when one starts
    hazards_tasks      the memory that tasks share

docs/checking.md says what is proven, and why it is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.diagnostics import Diagnostic, RunError
from pyptoc.dialects.npu_kernel import KernelOp, kernels_of
from pyptoc.dialects.words import counted
from pyptoc.runtime.hazards_core import HazardKernel
from pyptoc.runtime.hazards_order import Launch
from pyptoc.runtime.hazards_regions import Place
from pyptoc.runtime.hazards_tasks import TaskHazards
from pyptoc.runtime.inputs import Inputs
from pyptoc.runtime.machine import Machine
from pyptoc.runtime.signature import Signature
from pyptoc.runtime.timing_program import Array, Steering, launches_of
from pyptoc.runtime.timing_program import Launch as Sized


@dataclass(frozen=True)
class Checked:
    """How much was checked."""

    tasks: int
    kinds: int
    """Tasks that were walked; the others do what one of these does."""
    launches: int
    unseen: tuple[str, ...] = ()
    """Kernels whose tasks were not walked, since data steers them."""
    loops: tuple[tuple[int, int], ...] = ()
    """For each loop of a kernel: its most trips, and how many were walked at most."""

    @property
    def text(self) -> str:
        """One line."""
        found = (
            "hazards checked: 0 races, 0 uninitialised, 0 out of bounds   "
            f"({counted(self.launches, 'launch')}, "
            f"{counted(self.tasks, 'task')} of {counted(self.kinds, 'kind')})"
        )
        if self.unseen:
            found += f"   needs --run: {', '.join(f'@{name}' for name in self.unseen)}"
        return found


def check_program(
    module: ModuleOp,
    machine: Machine,
    signature: Signature,
    inputs: Inputs,
    known: dict[str, HazardKernel] | None = None,
) -> Checked:
    """
    Check all launches for sizes alone: kernels as they would run, and what they declare
    to touch. A kernel that reads scalars from memory is named in `unseen`.

    inputs: what is known of the inputs, at least the sizes. known: the kernels of this
    module that had no hazard in earlier checks, by name; those without one in this
    check are added. Raises RunError with all that is wrong, CompileError for a module
    that is no scheduled program.
    """
    launches, _ = launches_of(module, Steering(signature, inputs), "check")
    kernels = kernels_of(module)
    hazards = TaskHazards()
    checks = {} if known is None else known
    problems: list[Diagnostic] = []
    wrong: set[str] = set()
    made: list[Launch] = []
    inputs_count = sum(not argument.is_scalar for argument in signature.arguments)
    hazards.given.update(range(1, inputs_count + 1))
    for sized in launches:
        launch = _launch(sized, kernels, made, len(hazards.order.before))
        made.append(launch)
        hazards.order.add(launch)
        try:
            if sized.kernel not in checks:
                checks[sized.kernel] = HazardKernel(kernels[sized.kernel], machine)
            _walk(checks[sized.kernel], sized, launch)
        except RunError as failure:
            problems += failure.diagnostics
            wrong.add(sized.kernel)
        for task in launch.tasks:
            for region in launch.declared(task):
                hazards.touched(launch, task, region, launch.op)
    problems += hazards.check()
    for name in wrong:
        checks.pop(name, None)
    if problems:
        raise RunError(dict.fromkeys(problems))
    kinds = sum(check.walked for check in checks.values())
    unseen = tuple(name for name, check in checks.items() if check.reads_data)
    loops = tuple(
        (max(trips), walked)
        for check in checks.values()
        for trips, walked in check.loop_trips.values()
    )
    return Checked(len(hazards.order.before), kinds, len(made), unseen, loops)


def _walk(check: HazardKernel, sized: Sized, launch: Launch) -> None:
    roots = [array.root for array in sized.arrays]
    numbers = [roots.index(root) for root in roots]
    if not check.reads_data:
        for index in launch.indices():
            check.check(index, sized.scalars, sized.shapes, numbers)


def _launch(
    sized: Sized, kernels: dict[str, KernelOp], made: list[Launch], first: int
) -> Launch:
    names = [value.name_hint or "memory" for value in sized.op.buffers]
    places = tuple(map(_place, sized.arrays, names))
    waits = tuple(
        (tuple(made[event] for event in events), selector)
        for events, selector in sized.waits
    )
    kernel = kernels[sized.kernel]
    return Launch(sized.op, kernel, first, sized.grid, places, sized.scalars, waits)


def _place(array: Array, name: str) -> Place:
    width = max(array.bits // 8, 1)
    return Place(array.root, array.offset, array.shape, width, 0, name)
