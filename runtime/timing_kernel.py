"""
Kernels as functions of time: `npu.kernel` -> source that moves the clocks of pipes.

    tile.wait_flag [mte1 -> mte2, 0]              t = S[9]; S[9] = -1
                                                  if S[0] < t: S[0] = t
    tile.load %x[%r, 0] [%m, 256] into %a    ->   t = S[0]; d = g1(v3, 256, M[0], T)
                                                  S[0] = e = t + d; A[0] += d
    tile.set_flag [mte2 -> v, 0]                  S[12] = S[0]

An instruction starts when its pipe is free; waiting for a flag or a channel moves the
pipe to that time, a barrier all pipes of the core. The first instruction of a task that
writes a buffer also waits for the last one of the core's task before that used its
place. `S` are the times of a core and `A` its counters (`timing_layout.py`), `M` the
miss ratio of each array and `T` the traffic outside. Of data only scalars are read
that decide how long a task takes (the length of a sequence), not pages of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, cast

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.diagnostics import Diagnostic, RunError
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.pypto.scalars import DimOp
from pyptoc.dialects.tile_channel import ChannelOp, channel_type
from pyptoc.dialects.tile_flags import FlagOp, SetFlagOp
from pyptoc.dialects.tile_mixed import FreeOp, PopOp, PushOp, SectionOp
from pyptoc.dialects.tile_read import ReadOp
from pyptoc.runtime.codegen import Translator
from pyptoc.runtime.machine import Machine
from pyptoc.runtime.timing_channels import Channel
from pyptoc.runtime.timing_costs import Costs
from pyptoc.runtime.timing_instructions import Instructions
from pyptoc.runtime.timing_layout import TAIL, Layout
from pyptoc.runtime.timing_sections import Turn
from pyptoc.runtime.timing_slices import (
    Deciding,
    LoopKey,
    check_trips,
    slice_of,
    uses_channel,
    write_key,
)
from pyptoc.runtime.timing_state import FEW, Keys, Loop, Repeats

Recorder = Callable[[Operation, int, int, int], None]
"""Called with each instruction, its core's number, and its start and end."""


class KernelTimer(Translator):
    """Writes one kernel; `task` makes the generators of its cores."""

    def __init__(
        self, kernel: KernelOp, machine: Machine, recorder: Recorder | None = None
    ) -> None:
        """recorder: told of every instruction; no iteration is skipped then."""
        super().__init__()
        self.kernel, self.machine = kernel, machine
        self.unit = kernel.unit.data
        self.recorder = recorder
        self.costs = Costs(machine)
        self.deciding = Deciding(kernel)
        self.layouts = [
            Layout(unit, machine.pipes[unit], machine.event_ids) for unit in self._cores
        ][:2]
        self.layout = self.layouts[0]
        self.channels: list[Channel] = []
        self.sections: list[str] = []
        self.buffers: dict[SSAValue, int] = {
            value: n for n, value in enumerate(kernel.buffer_args)
        }
        self.half = "0"
        """In a section: the text of which vector core runs it (0: the cube core)."""
        self.touched: set[int] = set()
        self.counted: set[int] = set()
        self.instructions = Instructions(self)
        self.handlers |= {
            "pypto.dim": self._dim,
            "pypto.assert": lambda op: None,
            "scf.for": self._loop,
            "scf.if": self._branch,
            "tile.alloc": lambda op: None,
            "tile.slot": lambda op: None,
            "tile.read": lambda op: self._read(cast(ReadOp, op)),
            "tile.section": lambda op: self._section(cast(SectionOp, op)),
            "tile.channel": lambda op: self._channel(cast(ChannelOp, op)),
            "tile.push": lambda op: self._push(cast(PushOp, op)),
            "tile.pop": lambda op: self._pop(cast(PopOp, op)),
            "tile.free": lambda op: self._free(cast(FreeOp, op)),
            "tile.set_flag": self._flag,
            "tile.wait_flag": self._flag,
            "tile.barrier": self._barrier,
            **self.instructions.handlers(),
        }
        self.scope |= {"Keys": Keys, "Repeats": Repeats, "Turn": Turn}
        if recorder is not None:
            self.scope["R"] = recorder
        self._write()
        self.task: Callable[..., list[Any]] = self.compiled("task")
        self.classify: Callable[..., tuple[Any, ...]] = self.scope["classify"]

    @property
    def _cores(self) -> Sequence[str]:
        """The units of the cores that one task takes."""
        if self.unit == Unit.MIXED:
            return (Unit.CUBE.value, Unit.VECTOR.value, Unit.VECTOR.value)
        return (self.unit.value,)

    @property
    def core_count(self) -> int:
        return len(self._cores)

    def layout_of(self, core: int) -> Layout:
        """The layout of a core of a task; the second vector core has the first's."""
        return self.layouts[min(core, 1)]

    # The function.

    def _arguments(self) -> None:
        kernel = self.kernel
        for kind, args in (("grid", kernel.grid_args), ("scalars", kernel.scalar_args)):
            if args:
                names = "".join(f"{self.define(value)}, " for value in args)
                self.line(f"{names}= {kind}")

    def _write(self) -> None:
        kernel, block = self.kernel, self.kernel.block
        self.line("def classify(grid, scalars, shapes, read):")
        with self.indented():
            self._arguments()
            for op in slice_of(kernel, self.deciding.signature):
                self.operation(op)
            self.line(f"return {self.tuple_of(self.deciding.signature)}")
        self.names.clear()
        self.line("def task(Z, B, P, M, T, grid, scalars, shapes, read):")
        with self.indented():
            self._arguments()
            if self.unit == Unit.MIXED:
                self.block(block)
                self.line(f"return [{', '.join(self.sections)}]")
                return
            self.line("def section(c):")
            with self.indented():
                self._begin_section()
                self.block(block)
            self.line("return [section(0)]")

    def _begin_section(self) -> None:
        self.line("S, A, Q = Z[c], B[c], P[c]")
        self.line("if False: yield")
        self.instructions.begin_section()

    def _section(self, op: SectionOp) -> None:
        cube = op.unit.data == Unit.CUBE
        name = self.fresh("s")
        self.layout = self.layouts[0 if cube else 1]
        self.line(f"def {name}(c):")
        with self.indented():
            self._begin_section()
            self.half = "0" if cube else "(c - 1)"
            if not cube:
                self.line(f"{self.define(op.body.block.args[0])} = c - 1")
            self.block(op.body.block)
            self.op = op
        self.sections += [f"{name}(0)"] if cube else [f"{name}(1)", f"{name}(2)"]

    def _dim(self, op: Operation) -> None:
        dim = cast(DimOp, op)
        number, axis = self.buffers[dim.source], dim.axis.value.data
        self.line(f"{self.define(op.results[0])} = shapes[{number}][{axis}]")

    def _read(self, op: ReadOp) -> None:
        """A number that decides nothing, such as a page, is not asked for."""
        text = "0"
        if op in self.deciding.reads:
            number, place = self.buffers[op.source], self.tuple_of(op.mixed_offsets)
            text = f"read({self.bind(op)}, {number}, {place})"
        self.line(f"{self.define(op.result)} = {text}")

    # Control flow.

    def _branch(self, op: Operation) -> None:
        self.instructions.forget()
        super()._if(op)
        self.instructions.forget()

    def _loop(self, op: Operation) -> None:
        loop = cast(scf.ForOp, op)
        self.instructions.forget()
        with self._watching() as watched:
            key = self.deciding.of_loop(loop)
            if key is None or self.recorder is not None:
                self.write_for(loop)
            else:
                self._watched_loop(loop, key, watched)
        self.instructions.forget()

    @contextmanager
    def _watching(self) -> Generator[list[set[int]]]:
        """The entries and counters that lines in here touch."""
        before = self.touched, self.counted
        self.touched, self.counted = set(), set()
        yield [self.touched, self.counted]
        before[0].update(self.touched)
        before[1].update(self.counted)
        self.touched, self.counted = before

    def _watched_loop(
        self, loop: scf.ForOp, key: LoopKey, watched: list[set[int]]
    ) -> None:
        bounds = self.refs([loop.lb, loop.ub, loop.step])
        kept = {name: self.fresh() for name in ("r", "n", "w", "i", "k")}
        r, n, w, i, k = kept.values()
        name = self.fresh("g")
        self.line(f"{r} = range({bounds}); {n} = len({r}); {i} = 0; {w} = None")
        self.line(f"{self.bind(check_trips)}({self.bind(loop)}, {n})")
        write_key(self, loop, key, k)
        through = uses_channel(loop)
        watcher = "Turn" if through else "Repeats"
        self.line(f"if {n} > {FEW}: {w} = {watcher}({name}, Keys({r}, {k}), S, A)")
        self.line(f"while {i} < {n}:")
        with self.indented():
            self.line(f"{self.define(loop.body.block.args[0])} = {r}[{i}]")
            for inner in loop.body.block.ops:
                if not isinstance(inner, scf.YieldOp):
                    self.operation(inner)
            self.line(f"{i} += 1")
            self.line(f"if {w} is not None and {i} < {n}:")
            if through:
                self.line(f"    {w}.done = {i}; {i} += (yield {w}) or 0")
            else:
                self.line(f"    {i} += {w}.after({i})")
        self.scope[name] = Loop(tuple(sorted(watched[0])), tuple(sorted(watched[1])))

    # Order.

    def entry(self, index: int) -> str:
        """The text of an entry of the state, which is touched."""
        self.touched.add(index)
        return f"S[{index}]"

    def count(self, kind: str, name: object, text: str) -> None:
        """Add to a counter."""
        index = self.layout.counter(kind, name)
        self.counted.add(index)
        self.line(f"A[{index}] += {text}")

    def _flag(self, op: Operation) -> None:
        flag = cast(FlagOp, op)
        layout = self.layout
        source, target = (pipe.value for pipe in flag.pipes)
        try:
            place = layout.flag(source, target, flag.base)
        except IndexError:
            limit = f"flag ids are 0 to {layout.event_ids - 1} here"
            self.fail_to_translate(op, limit)
        if flag.index is None:
            text = self.entry(place)
        else:
            rest = layout.event_ids - flag.base
            self.touched.update(range(place, place + rest))
            text = f"S[{place} + {self.ref(flag.index)}]"
        if isinstance(flag, SetFlagOp):
            done = self.entry(layout.pipe(TAIL if source == "v" else source))
            self.line(f"{text} = {done}")
            return
        self.line(f"t = {text}; {text} = -1")
        self.line(f"if t < 0: {self.bind(_Unset(op))}()")
        self.hold(target)

    def hold(self, pipe: str) -> None:
        """Write that a pipe starts nothing before `t`."""
        self.instructions.waited(pipe)
        for name in (pipe, TAIL) if pipe == "v" else (pipe,):
            entry = self.entry(self.layout.pipe(name))
            self.line(f"if {entry} < t: {entry} = t")

    def _barrier(self, op: Operation) -> None:
        clocks = [self.entry(index) for index in self.layout.clocks()]
        self.line(f"{' = '.join(clocks)} = max({', '.join(clocks)})")
        self.instructions.forget()

    # Channels.

    def _channel(self, op: ChannelOp) -> None:
        kind = channel_type(op.channel)
        latency = self.machine.cross_core_cycles
        channel = Channel(kind, op.slot_count, latency)
        self.channels.append(channel)
        self.names[op.channel] = self.bind(channel)

    def _until(self, call: str) -> None:
        self.line("w = True")
        self.line(f"while (t := {call}({self.half})) < 0:")
        self.line("    yield w; w = False")

    def _push(self, op: PushOp) -> None:
        channel, kind = self.ref(op.channel), channel_type(op.channel)
        self._until(f"{channel}.may_push")
        self.hold(op.pipe.value)
        extents = self.refs(op.extents)
        cost = self.bind(self.costs.push(kind))
        self.instructions.write(op, f"{cost}({extents}, 0.0, T)")
        self.instructions.moved(op, op.extents, kind.pushed, kind.way_text)
        self.line(f"{channel}.push({self.half}, e, {extents})")

    def _pop(self, op: PopOp) -> None:
        channel, kind = self.ref(op.channel), channel_type(op.channel)
        self._until(f"{channel}.may_pop")
        self.hold(op.pipe.value)
        cost = self.costs.pop(kind)
        if cost is None:
            self.line(f"{channel}.pop({self.half})")
            return
        total = self.fresh()
        boxes = f"{channel}.pop({self.half})"
        self.line(f"{total} = sum({self.bind(cost)}(*b, 0.0, T) for b in {boxes})")
        self.instructions.write(op, total)

    def _free(self, op: FreeOp) -> None:
        pipe = op.pipe.value
        done = self.entry(self.layout.pipe(TAIL if pipe == "v" else pipe))
        self.line(f"{self.ref(op.channel)}.give_back({self.half}, {done})")


class _Unset:
    """Raises the error of a wait for a flag that nobody has set."""

    def __init__(self, op: Operation) -> None:
        self.op = op

    def __call__(self) -> NoReturn:
        source, target = cast(FlagOp, self.op).pipes
        message = f"deadlock: flag [{source} -> {target}] is not set before this wait"
        rule = "in program order a set_flag stands before its wait_flag"
        raise RunError([Diagnostic("PTO410", message, self.op.location, rule=rule)])
