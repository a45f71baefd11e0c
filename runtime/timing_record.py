"""
A task in full: each instruction in time, what it waited for and what it touched.

The kernel is written once more (`timing_kernel.py`) with lines that tell a recorder
what happens; no iteration is skipped. Nothing of this runs unless a trace or a report
is asked for.

    tile.load %x[%r, 0] [%m, 256] into %a    ->   (the lines of the load)
                                                  R(load, c, start, end)
                                                  RX(load, (v3, 256), (v7,))
    tile.set_flag [mte2 -> v, 0]             ->   RF(set_flag, c, 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, NamedTuple, cast

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.record import record
from pyptoc.dialects.tile import SlotOp
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_channel import HALVES, ChannelOp, channel_type
from pyptoc.dialects.tile_flags import FlagOp, SetFlagOp
from pyptoc.dialects.tile_mixed import FreeOp, PopOp, PushOp
from pyptoc.dialects.tile_types import Instruction, Pipe
from pyptoc.runtime.codegen import Handler
from pyptoc.runtime.timing_instructions import allocation_or_none
from pyptoc.runtime.timing_kernel import KernelTimer
from pyptoc.runtime.timing_launch import LaunchRun, TaskTime

MOST = 200_000
"""Instructions of a task that are recorded; a longer one has no record."""


class Touch(NamedTuple):
    """One slot of a buffer that an instruction uses."""

    buffer: Allocation
    slot: int
    reads: bool
    writes: bool


@record(frozen=False)
class Recorded:
    """One instruction in time, in cycles from the task's start."""

    op: Instruction
    core: int
    """Of the task's cores: the cube core first."""
    start: int
    end: int
    """When its pipe is free again."""
    done: int
    """When others see its result: later for vector instructions, by their tail."""
    sizes: tuple[int, ...] = ()
    touches: tuple[Touch, ...] = ()

    @property
    def pipe(self) -> str:
        return self.op.pipe.value


class Arrow(NamedTuple):
    """What an instruction waited for: numbers of instructions, and by what."""

    source: int
    target: int
    through: str


class Message(NamedTuple):
    """A slot of a channel in the memory of the core that takes from it."""

    channel: ChannelOp
    slot: int
    core: int
    start: int
    """When the push began to fill it."""
    end: int
    """When it was given back."""


@record(frozen=False)
class TaskRecord:
    """All of one task."""

    executed: list[Recorded] = field(default_factory=list[Recorded])
    arrows: list[Arrow] = field(default_factory=list[Arrow])
    messages: list[Message] = field(default_factory=list[Message])


class TooLongError(Exception):
    """A task has more instructions than are recorded."""


class Records:
    """Records tasks; those of one step are one record."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._timers: dict[int, _RecordingTimer] = {}
        self._found: dict[tuple[int, int], TaskRecord | None] = {}

    def of(self, run: LaunchRun, task: TaskTime) -> TaskRecord | None:
        """The record of a task; None if it is too long for one."""
        key = (id(run.steps), task.step.number)
        if key not in self._found:
            self._found[key] = self._record(run, task)
        return self._found[key]

    def __len__(self) -> int:
        return len(self._found)

    def has(self, run: LaunchRun, task: TaskTime) -> bool:
        """Whether the record of a task is there already."""
        return (id(run.steps), task.step.number) in self._found

    def _record(self, run: LaunchRun, task: TaskTime) -> TaskRecord | None:
        steps = run.steps
        timer = self._timers.get(id(steps))
        if timer is None:
            timer = self._timers[id(steps)] = _RecordingTimer(run)
        watch = timer.watch
        watch.begin(self.most)
        try:
            steps.execute(timer, *steps.inputs[task.step.number])
        except TooLongError:
            return None
        return watch.record


class _Watch:
    """What the generated lines call."""

    def __init__(self, run: LaunchRun) -> None:
        self.tails: dict[Operation, int] = {}
        self.timer = run.steps.timer
        self.begin(MOST)

    def begin(self, most: int) -> None:
        """Another task follows."""
        self.most = most
        self.record = TaskRecord()
        self.last: dict[tuple[int, str], int] = {}
        self.flags: dict[tuple[int, str, str, int], int | None] = {}
        self.waiting: dict[tuple[int, str], list[tuple[int, str]]] = {}
        self.pushed: dict[tuple[ChannelOp, int], list[int]] = {}
        self.taken: dict[tuple[ChannelOp, int], int] = {}
        self.freed: dict[tuple[ChannelOp, int], int] = {}

    def instruction(self, op: Operation, core: int, start: int, end: int) -> None:
        """R: an instruction ran."""
        executed = self.record.executed
        number = len(executed)
        if number >= self.most:
            raise TooLongError
        one = cast(Instruction, op)
        tail = self._tail(one)
        executed.append(Recorded(one, core, start, end - tail, end))
        queue = (core, one.pipe.value)
        self.last[queue] = number
        for source, through in self.waiting.pop(queue, ()):
            self.record.arrows.append(Arrow(source, number, through))

    def _tail(self, op: Instruction) -> int:
        if op.pipe != Pipe.V or isinstance(op, PopOp):
            return 0
        if op not in self.tails:
            self.tails[op] = self.timer.costs.vector(cast(Any, op)).tail
        return self.tails[op]

    def touched(
        self, op: Operation, sizes: tuple[int, ...], slots: tuple[int, ...]
    ) -> None:
        """RX: sizes of the last instruction, and the slots of its buffers."""
        one = self.record.executed[-1]
        reads, writes = set(one.op.reads()), set(one.op.writes())
        one.sizes = sizes
        one.touches = tuple(
            Touch(cast(Allocation, allocation_or_none(value)), slot, *used)
            for (value, slot) in zip(buffers_of(one.op), slots, strict=True)
            if (used := (value in reads, value in writes))
        )

    def flag(self, op: Operation, core: int, number: int) -> None:
        """RF: a flag was set or waited for."""
        flag = cast(FlagOp, op)
        source, target = (pipe.value for pipe in flag.pipes)
        key = (core, source, target, number)
        if isinstance(flag, SetFlagOp):
            self.flags[key] = self.last.get((core, source))
            return
        setter = self.flags.pop(key, None)
        if setter is not None:
            self._wait(core, target, setter, f"flag {source} -> {target}, {number}")

    def _wait(self, core: int, pipe: str, source: int, through: str) -> None:
        self.waiting.setdefault((core, pipe), []).append((source, through))

    def push(self, op: Operation, core: int) -> None:
        """RP: a push ran."""
        channel, number = _channel(op), self.last[core, cast(PushOp, op).pipe.value]
        for taker in self._takers(channel, core):
            self.pushed.setdefault((channel, taker), []).append(number)

    def _takers(self, channel: ChannelOp, core: int) -> Sequence[int]:
        """Keys of queues: the vector core's number for what it takes or gives."""
        to_vector = channel_type(channel.channel).to_vector
        return range(1, 1 + HALVES) if to_vector else (core,)

    def pop(self, op: Operation, core: int) -> None:
        """RO: a pop ran, or only waited."""
        channel, pop = _channel(op), cast(PopOp, op)
        pipe = pop.pipe.value
        through = channel_type(channel.channel)
        for taker in (core,) if through.to_vector else range(1, 1 + HALVES):
            key = (channel, taker)
            number = self.taken.get(key, 0)
            self.taken[key] = number + 1
            source = self.pushed[key][number]
            text = f"channel {through.way_text}"
            if through.through_gm:
                arrow = Arrow(source, self.last[core, pipe], text)
                self.record.arrows.append(arrow)
            else:
                self._wait(core, pipe, source, text)

    def free(self, op: Operation, core: int) -> None:
        """RG: a slot was given back."""
        channel, free = _channel(op), cast(FreeOp, op)
        to_vector = channel_type(channel.channel).to_vector
        number = self.freed.get((channel, core), 0)
        self.freed[channel, core] = number + 1
        executed = self.record.executed
        key = (channel, core if to_vector else 1)
        start = executed[self.pushed[key][number]].start
        last = self.last.get((core, free.pipe.value))
        end = start if last is None else max(start, executed[last].done)
        slot = number % channel.slot_count
        self.record.messages.append(Message(channel, slot, core, start, end))


def _channel(op: Operation) -> ChannelOp:
    return cast(ChannelOp, cast("PushOp | PopOp | FreeOp", op).channel.owner)


def buffers_of(op: Instruction) -> list[SSAValue]:
    """The buffers of the core that an instruction uses, each once; no channels."""
    values = dict.fromkeys((*op.reads(), *op.writes()))
    return [value for value in values if allocation_or_none(value) is not None]


class _RecordingTimer(KernelTimer):
    """A timer whose lines also tell a `_Watch`."""

    def __init__(self, run: LaunchRun) -> None:
        self.watch = _Watch(run)
        steps = run.steps
        super().__init__(steps.kernel, steps.machine, self.watch.instruction)

    def _write(self) -> None:
        watch = self.watch
        self.scope |= {"RX": watch.touched, "RF": watch.flag}
        self.scope |= {"RP": watch.push, "RO": watch.pop, "RG": watch.free}
        for name in (*self.instructions.handlers(), "tile.push"):
            self.handlers[name] = self._telling(self.handlers[name])
        super()._write()

    def _telling(self, handler: Handler) -> Handler:
        def tell(op: Operation) -> None:
            handler(op)
            one = cast(Instruction, op)
            extents = cast("Sequence[Any]", getattr(op, "extents", ()))
            slots = "".join(f"{self._slot(value)}, " for value in buffers_of(one))
            sizes = self.tuple_of(extents)
            self.line(f"RX({self.bind(op)}, {sizes}, ({slots}))")

        return tell

    def _slot(self, value: SSAValue) -> str:
        owner = value.owner
        return self.ref(owner.slot) if isinstance(owner, SlotOp) else "0"

    def _flag(self, op: Operation) -> None:
        super()._flag(op)
        flag = cast(FlagOp, op)
        number = str(flag.base)
        if flag.index is not None:
            number += f" + {self.ref(flag.index)}"
        self.line(f"RF({self.bind(op)}, c, {number})")

    def _push(self, op: PushOp) -> None:
        super()._push(op)
        self.line(f"RP({self.bind(op)}, c)")

    def _pop(self, op: PopOp) -> None:
        super()._pop(op)
        self.line(f"RO({self.bind(op)}, c)")

    def _free(self, op: FreeOp) -> None:
        super()._free(op)
        self.line(f"RG({self.bind(op)}, c)")
