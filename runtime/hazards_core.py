"""
Hazards within the cores of a task: a kernel as a function that walks its instructions.

    scf.for %k = %c0 to %n step %c1 {           for v3 in C.trips(range(v1), k4, g9):
      tile.wait_flag [mte1 -> mte2, %s]     ->    C.wait(g5, 0 + v6)
      tile.load %x[%r, 0] [%m, 256] into %as      C.run(g7, (K[0], v8), (v9, 256))

`CoreState` judges every step (`hazards_state.py`); no data is touched. Tasks whose
deciding values are equal (extents, slots, flag ids, conditions, bounds of loops) do the
same and are walked once. So are iterations of a loop: when the state before one and its
deciding values were there before, what it does is known. There are finitely many
states, so the walk does not grow with the trips: only looking up does.

Each core of a mixed kernel is walked by itself: between pop and free a slot is its own,
and the channel orders the rest. That pushes, pops and frees meet, and that nobody reads
more than was pushed, is checked on their order at the end (`hazards_channels.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, cast

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.pypto.scalars import DimOp
from pyptoc.dialects.tile import AllocOp, SlotOp
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_channel import HALVES, ChannelOp
from pyptoc.dialects.tile_flags import FlagOp, SetFlagOp
from pyptoc.dialects.tile_mixed import FreeOp, PopOp, PushOp, SectionOp, section_of
from pyptoc.dialects.tile_read import ReadOp
from pyptoc.dialects.tile_types import Instruction
from pyptoc.dialects.tile_vector import VectorOp
from pyptoc.runtime.codegen import Translator
from pyptoc.runtime.failures import raise_out_of_bounds
from pyptoc.runtime.hazards_boxes import BoxFunction, boxes_of, numbers_of, values_of
from pyptoc.runtime.hazards_channels import Free, Moves, Pop, Push, check_moves
from pyptoc.runtime.hazards_places import check_places, slots_of
from pyptoc.runtime.hazards_state import NUMBER, CoreState, Key, Slots, State
from pyptoc.runtime.hazards_text import fail, name_of, place_text
from pyptoc.runtime.machine import Machine
from pyptoc.runtime.timing_slices import (
    Deciding,
    check_trips,
    deciding_values,
    slice_of,
    write_key,
)

Loops = dict[Operation, list[Any]]
"""Of each loop the numbers of its trips, and how many were walked at most."""

FEW = 3
"""Loops of no more iterations are walked as they are."""


def hazard_values(op: Operation) -> list[SSAValue]:
    """The values that decide what is ordered and what is valid."""
    found = deciding_values(op)
    if isinstance(op, SlotOp) and isinstance(op.slot, SSAValue):
        found.append(op.slot)
    if isinstance(op, Instruction) and not isinstance(op, FlagOp):
        found += values_of(op)
    return found


class Site:
    """An instruction of the kernel, and what is known of it beforehand."""

    def __init__(self, op: Instruction) -> None:
        self.op, self.pipe = op, NUMBER[op.pipe.value]
        self.boxes: BoxFunction = boxes_of(op)
        self.later = _later_set(op) if isinstance(op, FlagOp) else None
        self.source = self.target = 0
        if isinstance(op, FlagOp):
            source, target = op.pipes
            self.source, self.target = NUMBER[source.value], NUMBER[target.value]


def _later_set(op: FlagOp) -> Operation | None:
    """What sets a flag of this pair of pipes behind `op`, in the program's text."""
    root = section_of(op) or op
    while not isinstance(root, SectionOp | KernelOp):
        parent = root.parent_op()
        if parent is None:
            return None
        root = parent
    behind = False
    for one in root.walk():
        behind = behind or one is op
        if behind and isinstance(one, SetFlagOp) and one.pipes == op.pipes:
            return one
    return None


class Walker:
    """Walks the instructions of one core of one task."""

    def __init__(
        self, slots: Slots, used: Sequence[int], ids: int, loops: Loops
    ) -> None:
        self.core = CoreState(slots, used, ids)
        self.moves: Moves = []
        self.loops = loops

    def trips(
        self, indices: range, key: Callable[[int], Hashable] | None, loop: Operation
    ) -> Iterator[int]:
        """The iterations of a loop that are walked; the others are looked up.

        key: what decides an iteration, from its index; None: nothing does.
        """
        check_trips(loop, len(indices))
        seen = self.loops.setdefault(loop, [set(), 0])
        seen[0].add(len(indices))
        if len(indices) <= FEW:
            seen[1] = max(seen[1], len(indices))
            yield from indices
            return
        core, numbers = self.core, dict[Hashable, int]()
        states: list[State] = []
        known: dict[tuple[int, Hashable], tuple[int, Moves]] = {}

        def now() -> int:
            canonical = core.state.canonical(core.used)
            number = numbers.setdefault(canonical, len(states))
            if number == len(states):
                states.append(core.state.copy())
            return number

        at, ahead = now(), False
        for index in indices:
            deciding = None if key is None else key(index)
            found = known.get((at, deciding))
            if found is not None:
                at, moves = found
                self.moves += moves
                ahead = True
                continue
            if ahead:
                core.state, ahead = states[at].copy(), False
            before = len(self.moves)
            seen[1] = max(seen[1], len(known) + 1)
            yield index
            after = now()
            known[at, deciding] = after, self.moves[before:]
            at = after
        if ahead:
            core.state = states[at].copy()

    def run(self, site: Site, keys: Sequence[Key], numbers: Sequence[int]) -> None:
        """Any instruction that is not one of the others."""
        boxes = site.boxes(numbers)
        _check_in_place(site.op, keys, len(boxes[0]), self.core.slots)
        self.core.run(site.op, site.pipe, keys, boxes)

    def set(self, site: Site, number: int) -> None:
        self.core.set_flag(site.op, (site.source, site.target, number))

    def wait(self, site: Site, number: int) -> None:
        flag = site.source, site.target, number
        self.core.wait_flag(site.op, flag, site.later)

    def push(
        self, site: Site, channel: ChannelOp, key: Key, numbers: tuple[int, int]
    ) -> None:
        self.core.run(site.op, site.pipe, (key,), site.boxes(numbers))
        self.moves.append(Push(channel, site.op, *numbers))

    def pop(self, site: Site, channel: ChannelOp) -> Key:
        self.moves.append(Pop(channel, site.op))
        return self.core.pop(site.op, site.pipe, channel, channel.slot_count)

    def free(self, site: Site, channel: ChannelOp) -> None:
        slots = channel.slot_count
        needed, reader = self.core.free(site.op, site.pipe, channel, slots)
        self.moves.append(Free(channel, site.op, *needed, reader))

    def slot(self, keys: Sequence[Key], number: int, op: Operation) -> Key:
        if not 0 <= number < len(keys):
            message = f"slot is {number}, but lies in 0 to {len(keys) - 1}"
            raise_out_of_bounds(op, message)
        return keys[number]


def _check_in_place(
    op: Instruction, keys: Sequence[Key], reads: int, slots: Slots
) -> None:
    """What an instruction writes is not what it still reads."""
    for written in keys[reads:]:
        shared = slots.others(written)
        for place, key in enumerate(keys[:reads]):
            if key not in shared:
                continue
            begins = slots.ranges[key][1] == slots.ranges[written][1]
            if begins and isinstance(op, VectorOp) and op.may_take(op.reads()[place]):
                continue
            fail(
                "PTO423",
                f"{op.name} writes {name_of(written)} over {name_of(key)}, which it "
                "still reads",
                op,
                rule="a result may take the bytes of an input only where the "
                "instruction is elementwise and they begin at one address",
                here=place_text(slots.ranges, written, key),
            )


class HazardKernel(Translator):
    """Writes one kernel; `check` walks a task of it, once for each kind of task."""

    def __init__(self, kernel: KernelOp, machine: Machine) -> None:
        """Raises RunError for addresses that no task can use."""
        super().__init__()
        self.kernel, self.machine = kernel, machine
        self.unit = kernel.unit.data
        self.deciding = Deciding(kernel, hazard_values)
        self.reads_data = bool(self.deciding.reads)
        """Whether what its tasks do depends on scalars that they read from memory."""
        check_places(kernel, machine)
        self.slots = {unit: slots_of(kernel, unit) for unit in Unit}
        self.buffers: dict[SSAValue, int] = {
            value: n for n, value in enumerate(kernel.buffer_args)
        }
        self.calls: list[str] = []
        self.loop_trips: Loops = {}
        self.tasks = self.walked = 0
        self._known: set[Hashable] = set()
        self.handlers |= {
            "pypto.dim": self._dim,
            "pypto.assert": lambda op: None,
            "scf.for": self._loop,
            "tile.alloc": lambda op: self._alloc(cast(AllocOp, op)),
            "tile.slot": lambda op: self._slot(cast(SlotOp, op)),
            "tile.channel": lambda op: None,
            "tile.section": lambda op: self._section(cast(SectionOp, op)),
            "tile.push": lambda op: self._push(cast(PushOp, op)),
            "tile.pop": lambda op: self._pop(cast(PopOp, op)),
            "tile.free": lambda op: self._free(cast(FreeOp, op)),
            "tile.read": lambda op: self._read(cast(ReadOp, op)),
            "tile.set_flag": lambda op: self._flag(cast(FlagOp, op), "set"),
            "tile.wait_flag": lambda op: self._flag(cast(FlagOp, op), "wait"),
            "tile.barrier": lambda op: self.line("C.core.barrier()"),
        }
        self._write()
        self.task: Callable[..., Any] = self.compiled("task")
        self.classify: Callable[..., tuple[Any, ...]] = self.scope["classify"]

    def check(
        self,
        grid: tuple[int, ...],
        scalars: Sequence[Any],
        shapes: Sequence[tuple[int, ...]],
        roots: Sequence[int],
        data: Sequence[Any] | None = None,
    ) -> None:
        """Check one task; roots: a number for each array, the same for the same memory.

        data: the arrays, for a kernel that reads scalars of them. Raises RunError.
        """
        self.tasks += 1
        if not self.reads_data:
            kind = self.classify(grid, scalars, shapes), tuple(roots)
            if kind in self._known:
                return
            self._known.add(kind)
        self.walked += 1
        moves = self.guarded(self.task, data, roots, grid, scalars, shapes)
        check_moves(moves)

    # The function.

    def operation(self, op: Operation) -> None:
        if isinstance(op, Instruction) and op.name not in self.handlers:
            self.op = op
            self._instruction(op)
        else:
            super().operation(op)

    def _arguments(self) -> None:
        kernel = self.kernel
        for kind, args in (("grid", kernel.grid_args), ("scalars", kernel.scalar_args)):
            if args:
                names = "".join(f"{self.define(value)}, " for value in args)
                self.line(f"{names}= {kind}")
        for value, number in self.buffers.items():
            self.names[value] = f"K[{number}]"

    def _write(self) -> None:
        kernel, block = self.kernel, self.kernel.block
        self.line("def classify(grid, scalars, shapes):")
        with self.indented():
            self._arguments()
            if not self.reads_data:
                for op in slice_of(kernel, self.deciding.signature):
                    self.operation(op)
                self.line(f"return {self.tuple_of(self.deciding.signature)}")
        self.names.clear()
        self.line("def task(D, K, grid, scalars, shapes):")
        with self.indented():
            self._arguments()
            self.loops += [(self.names[index], index) for index in kernel.grid_args]
            if self.unit == Unit.MIXED:
                self.block(block)
                self.line(f"return [{', '.join(self.calls)}]")
                return
            self.line(f"C = {self._walker(kernel, self.unit)}")
            self.block(block)
            self.line("C.core.finish()")
            self.line("return [C.moves]")

    def _walker(self, root: Operation, unit: Unit) -> str:
        """The text of a new walker of the cores that run `root`."""
        found = {
            NUMBER[pipe.value]
            for op in root.walk()
            if isinstance(op, Instruction)
            for pipe in (op.pipes if isinstance(op, FlagOp) else (op.pipe,))
            if op.name != "tile.barrier"
        }
        pipes, ids = tuple(sorted(found)), self.machine.event_ids
        arguments = self.slots[unit], pipes, ids, self.loop_trips
        return f"{self.bind(Walker)}(*{self.bind(arguments)})"

    def place(self, op: Operation | None, values: dict[str, Any]) -> str:
        """Also the task's grid indices."""
        loops = super().place(op, values)
        grid = self.show(self.kernel.grid_args, values)
        name = self.kernel.sym_name.data
        task = f"in task ({grid}) of @{name}" if grid else f"in @{name}"
        return f"{task}, {loops}" if loops else task

    def _section(self, op: SectionOp) -> None:
        unit = op.unit.data
        name, cube = self.fresh("s"), unit == Unit.CUBE
        half = "" if cube else self.define(op.body.block.args[0])
        self.line(f"def {name}({half}):")
        with self.indented():
            self.line(f"C = {self._walker(op, unit)}")
            self.block(op.body.block)
            self.op = op
            self.line("C.core.finish()")
            self.line("return C.moves")
        self.calls += [f"{name}()"] if cube else [f"{name}({n})" for n in range(HALVES)]

    # Control flow and values.

    def _loop(self, op: Operation) -> None:
        loop = cast(scf.ForOp, op)
        key = self.deciding.of_loop(loop)
        if key is None:
            self.write_for(loop)
            return
        name = self.fresh("k")
        write_key(self, loop, key, name)
        block = loop.body.block
        bounds = self.refs([loop.lb, loop.ub, loop.step])
        variable = self.define(block.args[0])
        self.loops.append((variable, block.args[0]))
        trips = f"C.trips(range({bounds}), {name}, {self.bind(loop)})"
        self.line(f"for {variable} in {trips}:")
        with self.indented():
            self.line("pass")
            self.loop_body(block)

    def _dim(self, op: Operation) -> None:
        dim = cast(DimOp, op)
        number, axis = self.buffers[dim.source], dim.axis.value.data
        self.line(f"{self.define(op.results[0])} = shapes[{number}][{axis}]")

    def _read(self, op: ReadOp) -> None:
        if not self.reads_data:
            # A place in memory, which decides nothing here.
            self.names[op.results[0]] = "1"
            return
        number, place = self.buffers[op.source], self.tuple_of(op.mixed_offsets)
        self.line(f"{self.define(op.results[0])} = D[{number}][{place}].item()")

    # Buffers.

    def _keys(self, allocation: Allocation) -> list[Key]:
        return [(allocation, n) for n in range(allocation.slot_count)]

    def _alloc(self, op: AllocOp) -> None:
        keys = self._keys(op)
        self.names[op.buffer] = self.bind(keys if len(keys) > 1 else keys[0])
        if isinstance(op.parent_op(), scf.ForOp | scf.IfOp):
            self.line(f"C.core.forget({self.bind(keys)})")

    def _slot(self, op: SlotOp) -> None:
        keys = self._keys(op.alloc)
        if isinstance(op.slot, int):
            self.names[op.buffer] = self.bind(keys[op.slot])
            return
        arguments = f"{self.bind(keys)}, {self.ref(op.slot)}, {self.bind(op)}"
        self.line(f"{self.define(op.buffer)} = C.slot({arguments})")

    # Instructions.

    def _site(self, op: Instruction) -> str:
        return self.bind(Site(op))

    def _instruction(self, op: Instruction) -> None:
        keys = self.tuple_of([*op.reads(), *op.writes()])
        numbers = self.tuple_of(numbers_of(op))
        self.line(f"C.run({self._site(op)}, {keys}, {numbers})")

    def _flag(self, op: FlagOp, what: str) -> None:
        number = str(op.base)
        if op.index is not None:
            number += f" + {self.ref(op.index)}"
        self.line(f"C.{what}({self._site(op)}, {number})")

    def _push(self, op: PushOp) -> None:
        channel = self.bind(op.channel.owner)
        numbers = self.tuple_of(numbers_of(op))
        key = self.ref(op.source)
        self.line(f"C.push({self._site(op)}, {channel}, {key}, {numbers})")

    def _pop(self, op: PopOp) -> None:
        channel = self.bind(op.channel.owner)
        self.line(f"{self.define(op.buffer)} = C.pop({self._site(op)}, {channel})")

    def _free(self, op: FreeOp) -> None:
        self.line(f"C.free({self._site(op)}, {self.bind(op.channel.owner)})")
