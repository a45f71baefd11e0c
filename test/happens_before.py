"""An independent check of a kernel's flags, by running its control flow.

The kernel is unrolled for given scalars: each instruction becomes an event on its pipe,
with the bytes that it reads and writes. In program order, vector clocks say which
events of other pipes each one certainly comes after: a pipe is in order, a wait comes
after its set, a barrier after everything. Then

- two accesses to the same bytes on different pipes, one of them a write, must be
  ordered;
- a flag must not be set again before its last wait is over, nor be waited for when it
  was not set, nor be left set at the end.

It shares no code with insert-sync: no blocks, no needs, no slot algebra.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.scf import ForOp, IfOp
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.expr import Compare
from pyptoc.dialects.npu import KernelOp
from pyptoc.dialects.pypto.scalars import IndexOp
from pyptoc.dialects.tile import (
    AllocOp,
    BarrierOp,
    FreeOp,
    Instruction,
    Pipe,
    PopOp,
    SectionOp,
    SetFlagOp,
    SlotOp,
    WaitFlagOp,
    bytes_of,
)

Clock = dict[Pipe, int]
"""How many events of each pipe are known to be over."""


@dataclass
class _Touched:
    start: int
    end: int
    pipe: Pipe
    count: int
    write: bool
    op: Operation


@dataclass(frozen=True)
class Event:
    """An instruction that ran."""

    op: Instruction
    count: int
    """The how manieth of its pipe it is."""
    known: Clock
    """What is certainly over when it begins."""
    written: frozenset[Any]
    """Where it writes: the memory, and the first byte."""

    def may_overlap(self, later: Event) -> bool:
        """Whether `later` may begin before this one is over."""
        return later.known[self.op.pipe] < self.count


@dataclass
class Checker:
    """Runs a kernel's control flow; `problems` says what is not ordered."""

    values: dict[SSAValue, Any] = field(default_factory=dict)
    clocks: dict[Pipe, Clock] = field(
        default_factory=lambda: {pipe: dict.fromkeys(Pipe, 0) for pipe in Pipe}
    )
    memory: dict[Any, list[_Touched]] = field(default_factory=dict)
    tokens: dict[tuple[Pipe, Pipe, int], Clock] = field(default_factory=dict)
    waits: dict[tuple[Pipe, Pipe, int], int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    events: int = 0
    history: list[Event] = field(default_factory=list)
    branches: Random | None = None
    """Conditions are true at random: a flag is for all ways through a kernel."""
    popped: dict[SSAValue, int] = field(default_factory=dict)
    freed: dict[SSAValue, int] = field(default_factory=dict)
    """How many tiles were taken from each channel, and given back. Each is a place of
    its own, which what gives it back writes to."""

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.run(op)

    def run(self, op: Operation) -> None:
        if isinstance(op, ConstantOp):
            self.values[op.results[0]] = op.value.value.data
        elif isinstance(op, IndexOp):
            names = {f"s{i}": int(self.values[v]) for i, v in enumerate(op.operands)}
            self.values[op.results[0]] = op.expr.data.evaluate(names)
            if self.branches is not None and isinstance(op.expr.data, Compare):
                self.values[op.results[0]] = self.branches.randint(0, 1)
        elif isinstance(op, AllocOp):
            self.values[op.results[0]] = _slot_bytes(op, 0)
        elif isinstance(op, SlotOp):
            slot = op.slot if isinstance(op.slot, int) else self.values[op.slot]
            assert 0 <= slot < op.alloc.slot_count
            self.values[op.results[0]] = _slot_bytes(op.alloc, slot)
        elif isinstance(op, SectionOp):
            self.section(op)
        elif isinstance(op, ForOp):
            low, high, step = (self.values[v] for v in (op.lb, op.ub, op.step))
            for value in range(low, high, step):
                self.values[op.body.block.args[0]] = value
                self.block(op.body.block)
        elif isinstance(op, IfOp):
            region = op.true_region if self.values[op.cond] else op.false_region
            for block in region.blocks:
                self.block(block)
        elif isinstance(op, SetFlagOp | WaitFlagOp):
            number = op.base + (0 if op.index is None else self.values[op.index])
            self.flag(op, (*op.pipes, number))
        elif isinstance(op, BarrierOp):
            joined = {p: max(c[p] for c in self.clocks.values()) for p in Pipe}
            self.clocks = {pipe: dict(joined) for pipe in Pipe}
        elif isinstance(op, Instruction):
            self.instruction(op)

    def flag(self, op: SetFlagOp | WaitFlagOp, key: tuple[Pipe, Pipe, int]) -> None:
        _, target, number = key
        assert number < 8, f"flag id {number}"
        clock = self.clocks[op.pipe]
        clock[op.pipe] += 1
        if isinstance(op, SetFlagOp):
            if key in self.tokens:
                self.problems.append(f"{key} is set twice")
            if clock[target] < self.waits.get(key, 0):
                self.problems.append(f"{key} may be set again before its wait is over")
            self.tokens[key] = dict(clock)
        elif key not in self.tokens:
            self.problems.append(f"{key} is waited for, but not set")
        else:
            token = self.tokens.pop(key)
            for pipe in Pipe:
                clock[pipe] = max(clock[pipe], token[pipe])
            self.waits[key] = clock[target]

    def instruction(self, op: Instruction) -> None:
        self.events += 1
        clock = self.clocks[op.pipe]
        clock[op.pipe] += 1
        if isinstance(op, PopOp):
            number = self.popped[op.channel] = self.popped.get(op.channel, 0) + 1
            self.values[op.buffer] = ((op.channel, number), 0, 1)
        places = [(self.values[v], False) for v in op.reads()]
        places += [(self.values[v], True) for v in op.writes()]
        if isinstance(op, FreeOp):
            number = self.freed[op.channel] = self.freed.get(op.channel, 0) + 1
            assert number <= self.popped.get(op.channel, 0), "freed before popped"
            places.append((((op.channel, number), 0, 1), True))
        written = frozenset(place[:2] for place, write in places if write)
        self.history.append(Event(op, clock[op.pipe], dict(clock), written))
        for (place, start, end), write in places:
            entry = _Touched(start, end, op.pipe, clock[op.pipe], write, op)
            self.compare(entry, self.memory.setdefault(place, []), clock)

    def section(self, op: SectionOp) -> None:
        """A core, or two: what they have in common is ordered by the channels."""
        for half in range(2) if op.body.block.args else (0,):
            core = Checker(dict(self.values), branches=self.branches)
            core.values |= dict.fromkeys(op.body.block.args, half)
            core.block(op.body.block)
            self.problems += core.finish()
            self.events += core.events

    def compare(self, new: _Touched, before: list[_Touched], clock: Clock) -> None:
        for old in before:
            if old.end <= new.start or new.end <= old.start or old.pipe == new.pipe:
                continue
            if (old.write or new.write) and clock[old.pipe] < old.count:
                self.problems.append(f"{old.op} and {new.op} are not ordered")
        before.append(new)

    def finish(self) -> list[str]:
        self.problems += [f"{key} is left set" for key in self.tokens]
        return self.problems


def _slot_bytes(alloc: AllocOp, slot: int) -> tuple[Any, int, int]:
    """Where a slot lies: the space, or the allocation if it has no address."""
    size = bytes_of(alloc.type)
    start = (alloc.address or 0) + slot * size
    place = alloc if alloc.address is None else alloc.type.space
    return place, start, start + size


def problems_of(
    kernel: KernelOp, scalars: Mapping[str, int], branches: Random | None = None
) -> list[str]:
    """What is wrong with the flags of `kernel`; grid indices are 0."""
    return _run(kernel, scalars, branches).finish()


def history_of(kernel: KernelOp, scalars: Mapping[str, int]) -> list[Event]:
    """The instructions of a kernel of one core, in program order."""
    return _run(kernel, scalars, None).history


def _run(
    kernel: KernelOp, scalars: Mapping[str, int], branches: Random | None
) -> Checker:
    checker = Checker(branches=branches)
    for argument in kernel.block.args:
        if isinstance(argument.type, MemRefType):
            checker.values[argument] = (argument, 0, 1)
        else:
            checker.values[argument] = scalars.get(argument.name_hint or "", 0)
    checker.block(kernel.block)
    return checker
