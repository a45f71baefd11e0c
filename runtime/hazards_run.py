"""
A run that proves itself free of hazards: `--run --check`.

    program = CheckedExecutable(module, machine)
    results = program.run(inputs)            RunError with all that is wrong

The program runs as the executor runs it, with poisoned buffers before each task and
every array outside the cores told of what is read and written. Each launch and read of
the orchestration gives the order of tasks (`hazards_order.py`); what the tasks touch is
held against it at the end (`hazards_tasks.py`); each kind of task is walked
(`hazards_core.py`) before it runs.

With a seed, no task runs before all is launched or a read needs it. Then they run one
after the other in a random order that the waits allow, and the pipes of each one in an
adversarial order (`pipes.py`): what is not ordered shows as other values too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.diagnostics import RunError
from pyptoc.dialects.npu_attrs import AccessMode, Unit
from pyptoc.dialects.npu_kernel import KernelOp, LaunchOp, kernels_of
from pyptoc.dialects.npu_memory import ReadOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_mixed import SectionOp
from pyptoc.dialects.tile_transfer import StoreOp
from pyptoc.dialects.walk import Walk
from pyptoc.runtime.core import Core
from pyptoc.runtime.executor import Executable, Program
from pyptoc.runtime.hazards import Checked
from pyptoc.runtime.hazards_core import HazardKernel
from pyptoc.runtime.hazards_order import HostRead, Launch
from pyptoc.runtime.hazards_regions import Place, Region
from pyptoc.runtime.hazards_tasks import TaskHazards
from pyptoc.runtime.machine import Machine
from pyptoc.runtime.matmul import Scratch
from pyptoc.runtime.memory import Buffers, Memory
from pyptoc.runtime.orchestration import Orchestration
from pyptoc.runtime.pipes import Pipes
from pyptoc.runtime.signature import find_entry
from pyptoc.runtime.translate import KernelTranslator

Array = NDArray[Any]


@record
class OneTask(Walk):
    """A walk of a grid that is one of its tasks."""

    index: tuple[int, ...] = ()

    def tasks(self, grid: Sequence[int]) -> Iterator[tuple[int, ...]]:
        yield self.index


class Traced(np.ndarray):
    """An array that tells which boxes of it are read and written."""

    told: Callable[[Any, AccessMode], None]

    def __getitem__(self, key: Any) -> Any:
        self.told(key, AccessMode.READ)
        return self.view(np.ndarray)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.told(key, AccessMode.WRITE)
        self.view(np.ndarray)[key] = value


@dataclass(eq=False)
class Pending:
    """A launch with what its tasks need to run."""

    launch: Launch
    kernel: KernelTranslator
    memories: tuple[Memory, ...]

    def __post_init__(self) -> None:
        self.data = [memory.array.view(np.ndarray) for memory in self.memories]
        self.shapes = [array.shape for array in self.data]
        roots = [place.root for place in self.launch.places]
        self.numbers = [roots.index(root) for root in roots]
        """For each buffer the first that lies in the same allocation."""

    def run(self, task: int) -> None:
        launch = self.launch
        walk = OneTask(index=launch.index_of(task))
        self.kernel.launch(launch.grid, self.memories, launch.scalars, walk)


class Watch:
    """Knows what one task at a time touches."""

    def __init__(self, hazards: TaskHazards) -> None:
        self.hazards = hazards
        self.task = 0
        self.launch: Launch | None = None
        self.open: dict[Any, Region] = {}
        """By array, what is done, operation and core: the last box, which may grow."""

    def begin(self, task: int) -> None:
        self.flush()
        self.task = task

    def flush(self) -> None:
        launch = self.launch
        for (_, _, op, core), region in self.open.items():
            assert launch is not None
            self.hazards.touched(launch, self.task, region, op, core)
        self.open.clear()

    def tell(self, number: int, region: Region, op: Operation, core: str) -> None:
        """The task that runs touches a box of its array `number`."""
        key = (number, region.mode, op, core)
        before = self.open.get(key)
        if before is not None:
            joined = before.joined(region)
            if joined is None:
                assert self.launch is not None
                self.hazards.touched(self.launch, self.task, before, op, core)
                joined = region
            region = joined
        self.open[key] = region


class CountingBuffers(Buffers):
    """Tells which task of a launch runs: each one begins by poisoning the buffers."""

    begun: Callable[[], None]

    def poison(self, seen: Mapping[object, int]) -> None:
        super().poison(seen)
        self.begun()


class CheckedOrchestration(Orchestration):
    """Runs a function and checks its launches."""

    def __init__(
        self,
        function: Any,
        kernels: dict[str, KernelTranslator],
        buffers: CountingBuffers,
        machine: Machine,
    ) -> None:
        self.machine, self.seed = machine, None
        self.checks: dict[str, HazardKernel] = {}
        self.buffers = buffers
        buffers.begun = self._begun
        super().__init__(function, kernels)

    seed: int | None

    def call(self, args: list[Any]) -> tuple[Any, ...]:
        """Run the function; raises RunError with all that is wrong."""
        self.hazards = TaskHazards()
        self.watch = Watch(self.hazards)
        self.kept: list[Memory] = []
        self.pending: dict[int, Pending] = {}
        self.done = 0
        self.ran: list[int] = []
        """Of a run in a random order: the tasks, as they ran."""
        self.random = np.random.default_rng(self.seed)
        for value in args:
            if isinstance(value, Memory):
                self.kept.append(value)
                self.hazards.given.add(allocation(value.array))
        values = super().call(args)
        self._run_until(-1)
        self.watch.flush()
        problems = self.hazards.check()
        if problems:
            raise RunError(problems)
        return values

    @property
    def checked(self) -> Checked:
        """How much the last run checked."""
        order = self.hazards.order
        kinds = sum(check.walked for check in self.checks.values())
        return Checked(len(order.before), kinds, len(order.launches))

    # What the generated code calls.

    def _events(self, op: Operation) -> None:
        def join(*sets: tuple[Launch, ...]) -> tuple[Launch, ...]:
            return tuple({id(one): one for one in chain(*sets)}.values())

        self._call(op, join, op.operands)

    def _read(self, op: Operation) -> None:
        reading = cast(ReadOp, op)
        selectors = [selector for _, selector in reading.wait_list]
        name = reading.source.name_hint or "memory"

        def note(memory: Memory, place: tuple[int, ...], sets: Any) -> None:
            self.kept.append(memory)
            shape = memory.array.shape
            if all(0 <= i < size for i, size in zip(place, shape, strict=True)):
                ranges = tuple((i, i + 1) for i in place)
                region = Region(place_of(memory, name), ranges, AccessMode.READ)
                waits = tuple(zip(sets, selectors, strict=True))
                over = self.hazards.host_read(HostRead(reading, region, waits))
                self._run_until(over)

        places, sets = map(self.tuple_of, (reading.mixed_offsets, reading.waits))
        self.line(f"{self.bind(note)}({self.ref(reading.source)}, {places}, {sets})")
        super()._read(op)

    def _print(self, op: Operation) -> None:
        self.line(f"{self.bind(self._run_until)}(-1)")
        super()._print(op)

    def _launch(self, op: Operation) -> None:
        launch = cast(LaunchOp, op)
        translator = self.kernels[launch.callee_name]
        selectors = [selector for _, selector in launch.wait_list]
        names = [value.name_hint or "memory" for value in launch.buffers]

        def run(grid: Any, memories: Any, scalars: Any, sets: Any) -> Any:
            places = tuple(map(place_of, memories, names))
            waits = tuple(zip(sets, selectors, strict=True))
            first = len(self.hazards.order.before)
            if min(grid, default=1) < 0:
                translator.launch(grid, memories, scalars)
            made = Launch(
                launch, translator.kernel, first, grid, places, scalars, waits
            )
            self.hazards.order.add(made)
            self.kept.extend(memories)
            self._start(made, translator, memories)
            return (made,)

        groups = (launch.grid, launch.buffers, launch.scalars, list(launch.waits))
        call = f"{self.bind(run)}({', '.join(map(self.tuple_of, groups))})"
        self.line(f"{self.define(op.results[0])} = {call}")

    # Tasks.

    def _check_of(self, translator: KernelTranslator) -> HazardKernel:
        name = translator.kernel.sym_name.data
        if name not in self.checks:
            self.checks[name] = HazardKernel(translator.kernel, self.machine)
        return self.checks[name]

    def _start(
        self, launch: Launch, translator: KernelTranslator, memories: Any
    ) -> None:
        """Check the tasks of a launch; run them, or keep them for later."""
        traced = self._traced(launch, translator, memories)
        pending = Pending(launch, translator, traced)
        if self.seed is not None:
            self.pending |= dict.fromkeys(launch.tasks, pending)
            return
        for task in launch.tasks:
            self._check(pending, task)
        self._begin(launch, launch.first - 1)
        translator.launch(launch.grid, traced, launch.scalars)
        self.watch.flush()

    def _check(self, pending: Pending, task: int) -> None:
        launch = pending.launch
        self._check_of(pending.kernel).check(
            launch.index_of(task),
            launch.scalars,
            pending.shapes,
            pending.numbers,
            pending.data,
        )

    def _begin(self, launch: Launch, task: int) -> None:
        self.watch.flush()
        self.watch.launch, self.watch.task = launch, task

    def _begun(self) -> None:
        self.watch.begin(self.watch.task + 1)

    def _run_until(self, wanted: int) -> None:
        """Run pending tasks in a random order, at least those of a set (-1: all)."""
        while self.pending and (wanted < 0 or wanted & ~self.done):
            before = self.hazards.order.before
            ready = [task for task in self.pending if not before[task] & ~self.done]
            task = int(self.random.choice(ready))
            pending = self.pending.pop(task)
            self._check(pending, task)
            self._begin(pending.launch, task - 1)
            pending.run(task)
            self.watch.flush()
            self.done |= 1 << task
            self.ran.append(task)

    def _traced(
        self, launch: Launch, translator: KernelTranslator, memories: Any
    ) -> tuple[Memory, ...]:
        adds = adding(translator.kernel)
        found: list[Memory] = []
        sections: dict[Operation, SectionOp | None] = {}
        for number, memory in enumerate(memories):
            array = memory.array.view(Traced)
            place = launch.places[number]

            def told(
                key: Any,
                mode: AccessMode,
                number: int = number,
                place: Place = place,
                added: bool = number in adds,
            ) -> None:
                mode = AccessMode.ACCUMULATE if added else mode
                region = region_of_key(place, key, mode)
                self.watch.tell(number, region, *caller_of(translator, sections))

            array.told = told
            found.append(Memory(array, memory.written, memory.serial))
        return tuple(found)


def caller_of(
    translator: KernelTranslator, sections: dict[Operation, SectionOp | None]
) -> tuple[Operation, str]:
    """The operation of the kernel that runs now, and the core of a mixed one.

    sections: which section operations are in, as far as that was asked before.
    """
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_code.co_filename == translator.file:
            op = translator.line_ops[frame.f_lineno - 1] or translator.kernel
            if op not in sections:
                sections[op] = _section_of(op)
            return op, _core_of(sections[op], translator.names, frame.f_locals)
        frame = frame.f_back
    return translator.kernel, ""


def _section_of(op: Operation) -> SectionOp | None:
    while not isinstance(op, SectionOp | KernelOp):
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op if isinstance(op, SectionOp) else None


def _core_of(
    section: SectionOp | None, names: Mapping[SSAValue, str], values: Mapping[str, Any]
) -> str:
    if section is None:
        return ""
    if section.unit.data == Unit.CUBE:
        return "cube"
    return f"vector {values[names[section.body.block.args[0]]]}"


def adding(kernel: KernelOp) -> set[int]:
    """The arrays that a kernel only adds to: the order of that does not matter."""
    found: set[int] = set()
    for number, value in enumerate(kernel.buffer_args):
        uses = [use.operation for use in SSAValue.get(value).uses]
        stores = [op for op in uses if isinstance(op, StoreOp) and op.combine]
        if stores and all(op in stores or op.name == "pypto.dim" for op in uses):
            found.add(number)
    return found


def region_of_key(place: Place, key: Any, mode: AccessMode) -> Region:
    """The box around `array[key]`: indices, ranges and arrays of indices."""
    keys = cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))
    ranges: list[tuple[int, int]] = []
    exact = True
    for axis, size in enumerate(place.shape):
        one = keys[axis] if axis < len(keys) else slice(None)
        if isinstance(one, slice):
            lo, hi, step = one.indices(size)
            assert step == 1
            ranges.append((lo, hi))
        elif isinstance(one, np.ndarray):
            exact = False
            found = (int(one.min()), int(one.max()) + 1) if one.size else (0, 0)
            ranges.append(found)
        else:
            ranges.append((int(one), int(one) + 1))
    return Region(place, tuple(ranges), mode, exact)


def place_of(memory: Memory, name: str) -> Place:
    """Where an array lies."""
    array = memory.array
    root = allocation(array)
    start = address(array) - root
    return Place(root, start, array.shape, array.itemsize, memory.serial, name)


def address(array: Array) -> int:
    return array.__array_interface__["data"][0]


def allocation(array: Array) -> int:
    """The address of the array that this one is a part of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return address(array)


@dataclass
class CheckedExecutable(Executable):
    """An executable whose program checks itself."""

    module: ModuleOp
    machine: Machine
    numbers: str | None = None
    """Also look for `nan` or `overflow`, in program order."""
    checked: Checked | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        super().__init__(self.module, self.machine, fuse=False, check=True)

    def run(
        self,
        inputs: Mapping[str, Any],
        entry: str | None = None,
        order: int | None = None,
    ) -> dict[str, Array]:
        """The results by name; order: a seed for the order of tasks and pipes."""
        name = find_entry(self.module, entry).sym_name.data
        program = self.prepare(name, ordered=order is None)
        orchestration = cast(CheckedOrchestration, program.orchestration)
        orchestration.seed = order
        results = super().run(inputs, entry, order)
        self.checked = orchestration.checked
        return results

    def translated(self, name: str, pipes: Pipes | None) -> Program:
        """The entry function and all kernels."""
        buffers = CountingBuffers(self.machine)
        core = Core(buffers, Scratch(), False, True, pipes, self.numbers)
        kernels = {
            name: KernelTranslator(kernel, core)
            for name, kernel in kernels_of(self.module).items()
        }
        function = find_entry(self.module, name)
        made = CheckedOrchestration(function, kernels, buffers, self.machine)
        return Program(made, pipes or Pipes(0))
