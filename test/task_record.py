"""What the tasks of a program do, recorded while it runs on concrete inputs.

Each launch and each read of the orchestration becomes a step, with the boxes that its
tasks declare, the boxes that they really touch, and its waits. `task_order.py` checks
them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, product
from typing import Any, cast

import numpy as np
from xdsl.ir import Operation

from pyptoc.dialects.npu import KernelOp, LaunchOp, ReadOp
from pyptoc.dialects.npu_attrs import AccessMode, Selector
from pyptoc.dialects.npu_kernel import kernels_of
from pyptoc.runtime.core import Core
from pyptoc.runtime.executor import Executable, Program
from pyptoc.runtime.matmul import Scratch
from pyptoc.runtime.memory import Buffers, Memory
from pyptoc.runtime.orchestration import Orchestration
from pyptoc.runtime.pipes import Pipes
from pyptoc.runtime.signature import find_entry
from pyptoc.runtime.translate import KernelTranslator

Range = tuple[int, int]
Symbols = dict[Hashable, int]


# Boxes -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Box:
    """Elements of one allocation, as a box of one of its shapes and types."""

    memory: int
    """The address of the allocation, the same for all its parts."""
    start: int
    """The address of the memref: of an arena it may be a part."""
    shape: tuple[int, ...]
    ranges: tuple[Range, ...]
    mode: AccessMode
    width: int
    """Bytes of an element."""
    exact: bool = True

    @property
    def empty(self) -> bool:
        return any(lo >= hi for lo, hi in self.ranges)

    @cached_property
    def elements(self) -> frozenset[int]:
        """The addresses of all bytes."""
        axes = [np.arange(lo, hi) for lo, hi in self.ranges]
        grid = np.meshgrid(*axes, indexing="ij")
        if not axes:
            return frozenset(range(self.start, self.start + self.width))
        flat = np.ravel_multi_index([axis.ravel() for axis in grid], self.shape)
        every = self.start + flat[:, None] * self.width + np.arange(self.width)
        return frozenset(every.ravel().tolist())

    def holds(self, other: Box) -> bool:
        """Whether `other`, of the same shape, lies in this box."""
        pairs = zip(self.ranges, other.ranges, strict=True)
        return other.empty or all(a <= c and d <= b for (a, b), (c, d) in pairs)

    def meets(self, other: Box) -> bool:
        """Whether the boxes share a byte."""
        if self.memory != other.memory or self.empty or other.empty:
            return False
        if self.form == other.form:
            pairs = zip(self.ranges, other.ranges, strict=True)
            return all(a < d and c < b for (a, b), (c, d) in pairs)
        if self.end <= other.start or other.end <= self.start:
            return False
        return not self.elements.isdisjoint(other.elements)

    @property
    def form(self) -> tuple[int, tuple[int, ...], int]:
        """What boxes agree in that compare by their ranges."""
        return self.start, self.shape, self.width

    @property
    def end(self) -> int:
        """The address behind the memref."""
        return self.start + int(np.prod(self.shape)) * self.width

    def conflicts(self, other: Box) -> bool:
        """Whether the order matters; accumulating may happen in any order."""
        modes = {self.mode, other.mode}
        harmless = modes in ({AccessMode.READ}, {AccessMode.ACCUMULATE})
        return not harmless and self.meets(other)


def box_of_key(array: np.ndarray, key: Any, mode: AccessMode) -> Box:
    """The box around `array[key]`: indices, ranges and arrays of indices only."""
    keys = key if isinstance(key, tuple) else (key,)
    ranges: list[Range] = []
    for axis, size in enumerate(array.shape):
        one = keys[axis] if axis < len(keys) else slice(None)
        if isinstance(one, slice):
            lo, hi, step = one.indices(size)
            assert step == 1
            ranges.append((lo, hi))
        elif isinstance(one, np.ndarray):
            found = (int(one.min()), int(one.max()) + 1) if one.size else (0, 0)
            ranges.append(found)
        else:
            assert 0 <= one < size
            ranges.append((int(one), int(one) + 1))
    places = allocation(array), address(array)
    return Box(*places, array.shape, tuple(ranges), mode, array.itemsize)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def allocation(array: np.ndarray) -> int:
    """The address of the array that this one is a part of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return address(array)


# What happens ------------------------------------------------------------------------


@dataclass
class Launch:
    """One launch with all its tasks, numbered from `first` in the order of the grid."""

    op: LaunchOp
    kernel: KernelOp
    first: int
    grid: tuple[int, ...]
    shapes: list[tuple[int, int, tuple[int, ...], int]]
    """Allocation, address, shape and bytes of an element of each buffer."""
    scalars: tuple[Any, ...]
    waits: list[tuple[tuple[Launch, ...], Selector]]
    touched: list[tuple[int, int, Box]] = field(default_factory=list)
    """Task in this launch, buffer and box of each transfer."""
    declared: list[list[Box]] = field(default_factory=list)
    """For each task, one box for each access of the kernel."""

    def __post_init__(self) -> None:
        self.indices = list(product(*map(range, self.grid)))
        self.declared = [self._boxes(index) for index in self.indices]

    @property
    def tasks(self) -> range:
        return range(self.first, self.first + len(self.indices))

    def symbols(self, index: tuple[int, ...]) -> Symbols:
        """The values of `d0, ..` and `s0, ..` in one task."""
        named: Symbols = {f"d{axis}": value for axis, value in enumerate(index)}
        for number, value in enumerate(self.scalars):
            if isinstance(value, int):
                named[f"s{number}"] = value
        return named

    def _boxes(self, index: tuple[int, ...]) -> list[Box]:
        symbols = self.symbols(index)
        boxes: list[Box] = []
        for access in self.kernel.access_list:
            memory, first, shape, width = self.shapes[access.buffer]
            ranges: list[Range] = []
            for lo, size, limit in zip(access.lo, access.size, shape, strict=True):
                start = lo.evaluate(symbols)
                end = start + size.evaluate(symbols)
                ranges.append((max(start, 0), min(end, limit)))
            place = memory, first, shape, tuple(ranges)
            box = Box(*place, access.mode, width, access.exact)
            boxes.append(box)
        return boxes

    def meet(self, one: int, other: int) -> bool:
        """Whether two tasks conflict in exact boxes, or in what they touch."""
        first, second = (
            [box for number, _, box in self.touched if number == task - self.first]
            + [box for box in self.declared[task - self.first] if box.exact]
            for task in (one, other)
        )
        return any(box.conflicts(another) for box in first for another in second)

    def name(self, task: int) -> str:
        index = ", ".join(map(str, self.indices[task - self.first]))
        return f"@{self.op.callee_name}[{index}]"


@dataclass
class HostRead:
    """A read of the orchestration; launches that follow start after it."""

    op: ReadOp
    box: Box
    waits: list[tuple[tuple[Launch, ...], Selector]]


Step = Launch | HostRead


# Recording ---------------------------------------------------------------------------


class Traced(np.ndarray):
    """An array that tells which boxes of it are read and written."""

    told: Callable[[Any, AccessMode], None]

    def __getitem__(self, key: Any) -> Any:
        self.told(key, AccessMode.READ)
        return self.view(np.ndarray)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.told(key, AccessMode.WRITE)
        self.view(np.ndarray)[key] = value


class CountingBuffers(Buffers):
    """Knows which task of a launch runs: each one starts by poisoning the buffers."""

    task = -1

    def poison(self, seen: object) -> None:
        self.task += 1


class Recorder(Orchestration):
    """Runs a function and remembers its launches, its reads and their waits."""

    def __init__(self, function: Any, kernels: Any, buffers: CountingBuffers) -> None:
        self.steps: list[Step] = []
        self.kept: list[Memory] = []
        """Keeps every allocation alive, so that an address means one."""
        self.buffers = buffers
        super().__init__(function, kernels)

    def _events(self, op: Operation) -> None:
        def join(*sets: tuple[Launch, ...]) -> tuple[Launch, ...]:
            return tuple({id(one): one for one in chain(*sets)}.values())

        self._call(op, join, op.operands)

    def _read(self, op: Operation) -> None:
        super()._read(op)
        reading = cast(ReadOp, op)
        selectors = [selector for _, selector in reading.wait_list]

        def record(memory: Memory, place: tuple[int, ...], sets: Any) -> None:
            box = box_of_key(memory.array, place, AccessMode.READ)
            self.kept.append(memory)
            waits = list(zip(sets, selectors, strict=True))
            self.steps.append(HostRead(reading, box, waits))

        groups = self.tuple_of(reading.mixed_offsets), self.tuple_of(reading.waits)
        self.line(
            f"{self.bind(record)}({self.ref(reading.source)}, {groups[0]}, {groups[1]})"
        )

    def _launch(self, op: Operation) -> None:
        launch = cast(LaunchOp, op)
        translator = self.kernels[launch.callee_name]
        selectors = [selector for _, selector in launch.wait_list]

        def run(grid: Any, memories: Any, scalars: Any, sets: Any) -> Any:
            done = sum(len(s.indices) for s in self.steps if isinstance(s, Launch))
            record = Launch(
                launch,
                translator.kernel,
                done,
                grid,
                [
                    (
                        allocation(m.array),
                        address(m.array),
                        m.array.shape,
                        m.array.itemsize,
                    )
                    for m in memories
                ],
                scalars,
                list(zip(sets, selectors, strict=True)),
            )
            self.kept.extend(memories)
            self.steps.append(record)
            self._run(translator, record, memories)
            return (record,)

        groups = (launch.grid, launch.buffers, launch.scalars, list(launch.waits))
        call = f"{self.bind(run)}({', '.join(map(self.tuple_of, groups))})"
        self.line(f"{self.define(op.results[0])} = {call}")

    def _run(self, translator: KernelTranslator, record: Launch, memories: Any) -> None:
        self.buffers.task = -1
        traced: list[Memory] = []
        for number, memory in enumerate(memories):
            array = memory.array.view(Traced)

            def told(
                key: Any, mode: AccessMode, number: int = number, array: Any = array
            ) -> None:
                box = box_of_key(array, key, mode)
                record.touched.append((self.buffers.task, number, box))

            array.told = told
            traced.append(Memory(array, memory.written))
        translator.launch(record.grid, tuple(traced), record.scalars)
        assert self.buffers.task + 1 == len(record.indices)


class RecordingExecutable(Executable):
    """An executable whose program records."""

    recorder: Recorder

    def prepare(self, name: str, ordered: bool = True) -> Program:
        buffers = CountingBuffers(self.machine)
        core = Core(buffers, Scratch(), fuse=False, check=True)
        kernels = {
            name: KernelTranslator(kernel, core)
            for name, kernel in kernels_of(self.module).items()
        }
        self.recorder = Recorder(find_entry(self.module, name), kernels, buffers)
        return Program(self.recorder, Pipes(0))
