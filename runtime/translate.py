"""
Kernels as Python functions: `npu.kernel` -> source over numpy views -> function.

    npu.kernel @k (%i) (%x: memref<?x64xf32, "gm">,
        %y: memref<?x64xf32, "gm">) on vector {       def kernel(tasks, memories, ..):
      %a = tile.alloc : !tile.buf<16x64xf32, ub>        b0 = memories[0].array; ...
      %r = pypto.index %i * 16                          for (v0,) in tasks:
      tile.load %x[%r, 0] [16, 64] into %a        ->      v1 = 16 * v0
      tile.exp %a into %a [16, 64]                        if v1 < 0 or ..: g1(..)
      tile.store %a [16, 64] into %y[%r, 0]               g0[...] = b0[v1:v1 + 16, :]
    }                                                     exp(g0, out=g0)
                                                          b1[v1:v1 + 16, :] = g0

The grid loop is part of the function, views of whole buffers are made once, and what
is left for a task is slicing and numpy calls. Bounds of gm and of buffers are checked
where they are not static. In program order flags do nothing; with `pipes` each task is
issued as closures first, which `pipes.py` runs in an order of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.pypto.scalars import DimOp, IndexOp
from pyptoc.dialects.tile import AllocOp, SlotOp, allocation_of
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_channel import HALVES
from pyptoc.dialects.tile_flags import FlagOp, SetFlagOp
from pyptoc.dialects.tile_types import BufType, Instruction, buffer_type
from pyptoc.dialects.walk import ROW, Walk
from pyptoc.runtime import (
    translate_cube,
    translate_indexing,
    translate_mixed,
    translate_moved,
    translate_repeated,
    translate_transfer,
    translate_vector,
)
from pyptoc.runtime.cast_chains import cast_chains
from pyptoc.runtime.channels import run_sections
from pyptoc.runtime.codegen import Translator, Value
from pyptoc.runtime.core import Core
from pyptoc.runtime.failures import raise_out_of_bounds
from pyptoc.runtime.hazards_boxes import numbers_of
from pyptoc.runtime.hazards_numbers import watched
from pyptoc.runtime.kernel_buffers import read_buffers, stored_buffers
from pyptoc.runtime.memory import Buffers, Memory
from pyptoc.runtime.merged_launch import MergedTasks
from pyptoc.runtime.pipes import Flag, Issued

_LOCAL = re.compile(r"\bv\d+\b")
"""The name of an SSA value in the generated source (see `Translator.fresh`)."""


class KernelTranslator(Translator):
    """Writes one kernel; its `run` is the function."""

    def __init__(
        self,
        kernel: KernelOp,
        core: Core,
        products: Mapping[Operation, int] | None = None,
    ) -> None:
        """
        products: of a kernel whose tasks are several (`merged_tasks.py`) the matmuls of
        their rows, and how many of the rows are of one product. None: it is none.
        """
        super().__init__()
        self.kernel = kernel
        self.core = core
        self.products = products or {}
        merges = products is None and core.is_plain
        self.merged = MergedTasks(self) if merges else None
        self.limits: dict[SSAValue, int] = {}
        """Values known to lie in 0 .. limit, from checks that were written before."""
        self.boxes: dict[str, str] = {}
        """Locals that hold a slice, by its text."""
        self.follows: dict[Allocation, set[str]] = {}
        """Which of these hold only until a buffer is written, by the buffer."""
        self.stand_ins: dict[SSAValue, str] = {}
        """Locals that hold the box in gm of a buffer (`in_place.py`)."""
        self.at_launch: list[Callable[[], None]] = []
        """What to do before each launch: forget what a launch checks as a whole."""
        self.before_tasks: set[Operation] = set()
        self.channels: list[str] = []
        self.sections: list[str] = []
        """Of a mixed kernel: the globals of its channels, the calls of its sections."""
        self.half, self.cores = "", ("",)
        """In a section: which vector core runs it (0: the cube core), and the names of
        the cores that do."""
        self.handlers |= {
            "scf.for": self._loop,
            "pypto.index": self._kept_index,
            "tile.alloc": self._alloc,
            "tile.slot": self._slot,
            "tile.set_flag": self._flag,
            "tile.wait_flag": self._flag,
            "tile.barrier": self._barrier,
            "pypto.dim": self._dim,
            **translate_transfer.handlers(self),
            **translate_cube.handlers(self),
            **translate_vector.handlers(self),
            **translate_indexing.handlers(self),
            **translate_mixed.handlers(self),
        }
        self.casts = cast_chains(kernel) if core.is_plain else {}
        self.repeated = translate_repeated.RepeatedWork(self)
        self.cube = translate_cube.Groups(self)
        self.moves = translate_moved.MovedImages(self)
        self.in_place = translate_transfer.InPlaceTransfers(self)
        self._write()
        self.run: Callable[..., None] = self.compiled("kernel")

    # The function.

    @cached_property
    def stored(self) -> set[int]:
        """The numbers of the buffer arguments that some instruction stores to."""
        return stored_buffers(self.kernel)

    @cached_property
    def read(self) -> set[int]:
        """The numbers of the buffer arguments that anything but a plain store uses."""
        return read_buffers(self.kernel)

    def launch(
        self,
        grid: tuple[int, ...],
        memories: tuple[Memory, ...],
        scalars: tuple[Any, ...],
        walk: Walk = ROW,
    ) -> None:
        """Run all tasks of a grid, in the order of `walk`."""
        tasks = None
        if self.merged is not None:
            tasks = self.merged.launch(grid, memories, scalars)
        if tasks is None:
            tasks = walk.tasks(grid)
        self.run_tasks(grid, tasks, memories, scalars)

    def run_tasks(
        self,
        grid: tuple[int, ...],
        tasks: Iterable[tuple[int, ...]],
        memories: tuple[Memory, ...],
        scalars: tuple[Any, ...],
    ) -> None:
        """Run some tasks of a grid."""
        for prepare in self.at_launch:
            prepare()
        self.guarded(self.run, grid, tasks, memories, scalars)
        self.cube.forget()
        self.repeated.store.forget()

    def place(self, op: Operation | None, values: dict[str, Any]) -> str:
        """`in task (%i = 0) of @k, in loop (%k = 256)`"""
        grid = self.show(self.kernel.grid_args, values)
        loop = super().place(op, values)
        task = f"in task ({grid}) of @{self.kernel.sym_name.data}"
        return f"{task}, {loop}" if loop else task

    def _write(self) -> None:
        kernel = self.kernel
        self.scope |= {"S": self.core.scratch, "np": np, "Issued": Issued, "Flag": Flag}
        self.line("def kernel(grid, tasks, memories, scalars):")
        with self.indented():
            for number, buffer in enumerate(kernel.buffer_args):
                self._memory(number, buffer)
            for number, scalar in enumerate(kernel.scalar_args):
                self.line(f"{self.define(scalar)} = scalars[{number}]")
            self.cube.begin_launch()
            self.in_place.begin_launch()
            self.repeated.begin_launch()
            self._same_for_all_tasks(kernel)
            names = "".join(f"{self.define(index)}," for index in kernel.grid_args)
            self.line(f"for ({names}) in tasks:")
            self.loops += [(self.names[index], index) for index in kernel.grid_args]
            with self.indented():
                self._task(kernel.body.block)

    def _same_for_all_tasks(self, kernel: KernelOp) -> None:
        """Compute numbers once that no task's place in the grid changes."""
        for op in kernel.body.block.ops:
            if not isinstance(op, IndexOp) or op.expr.data.divides():
                continue  # a division could fail where there is no task
            if all(value in self.names for value in op.operands):
                super().operation(op)
                self.before_tasks.add(op)

    def _memory(self, number: int, buffer: BlockArgument) -> None:
        """Locals for an array in gm: itself, its marks, its dynamic sizes."""
        self.names[buffer] = f"b{number}"
        self.line(f"b{number} = memories[{number}].array")
        self.line(f"w{number} = memories[{number}].written")
        self.line(f"strides{number} = b{number}.strides")
        for dim, size in enumerate(memory_shape(buffer)):
            if size == DYNAMIC_INDEX:
                self.line(f"d{number}_{dim} = b{number}.shape[{dim}]")

    def size_of(self, memory: SSAValue, dim: int) -> str:
        """The text of a size of a gm array."""
        size = memory_shape(memory)[dim]
        if size != DYNAMIC_INDEX:
            return str(size)
        return f"d{self.names[memory][1:]}_{dim}"

    def _task(self, block: Block) -> None:
        self.line("pass")
        if self.core.check or self.core.pipes is not None:
            self.line(f"{self.bind(self.core.begin_kernel())}()")
        if self.core.pipes is not None:
            self.line("issued = []")
        if self.repeated.pieces or self.cube.keeps:
            self.line(f"{self.bind(self.repeated.store.begin_task)}()")
        self.block(block)
        self.op = None
        if self.core.pipes is not None:
            free = " + ".join(f"{name}.initial()" for name in self.channels)
            self.line(f"{self.bind(self.core.pipes.run)}(issued, {free or '()'})")
        elif self.sections:
            calls = ", ".join(self.sections)
            self.line(f"{self.bind(run_sections)}(({calls},))")
        for name in self.channels:
            self.line(f"{name}.finish()")

    # Control flow.

    def loop_body(self, block: Block) -> None:
        with self.branch():
            if block in self.cube.steps:
                self.cube.loop_body(block)
            else:
                super().loop_body(block)

    @contextmanager
    def branch(self) -> Generator[None]:
        """What is known in here, or kept in locals, is not known behind it."""
        limits, boxes = dict(self.limits), dict(self.boxes)
        yield
        self.limits, self.boxes = limits, boxes

    def _loop(self, op: Operation) -> None:
        block = cast(scf.ForOp, op).body.block
        limits, boxes = dict(self.limits), dict(self.boxes)
        collects = self.cube.begin_loop(block)
        self.write_for(op)
        if collects:
            self.cube.end_loop(block)
            # Some of it may be in a branch.
            self.limits, self.boxes = limits, boxes

    def operation(self, op: Operation) -> None:
        if op not in self.before_tasks and not self.repeated.takes(op):
            self.perform(op)

    def perform(self, op: Operation) -> None:
        """Write one operation."""
        self._forget_written(op)
        if not self.cube.belongs_to_group(op):
            self.in_place.before(op)
            super().operation(op)
            self.moves.after(op)

    def until_written(self, buffer: SSAValue, text: str) -> None:
        """A local, of that text, holds until something writes the buffer."""
        self.follows.setdefault(allocation_of(buffer), set()).add(text)

    def _forget_written(self, op: Operation) -> None:
        if not self.follows:
            return
        changed = list(self.follows)
        if not op.regions:
            written = op.writes() if isinstance(op, Instruction) else ()
            buffers = [v for v in written if isinstance(v.type, BufType)]
            changed = list(map(allocation_of, buffers))
        for alloc in changed:
            for text in self.follows.pop(alloc, ()):
                self.boxes.pop(text, None)

    @contextmanager
    def in_section(self, half: str, cube: bool) -> Generator[None]:
        """Lines in here are of one section; `half` is the text of its core's number."""
        names = ("cube",) if cube else tuple(f"vector {n}" for n in range(HALVES))
        before = self.half, self.cores, dict(self.limits), dict(self.boxes)
        self.half, self.cores = half, names
        yield
        self.half, self.cores, self.limits, self.boxes = before

    def _core(self) -> str:
        """The text of the name of the core that runs this; empty if it is alone."""
        if self.cores == ("",):
            return ""
        return f"{self.bind(self.cores)}[{self.half}]"

    # Instructions.

    @contextmanager
    def instruction(self, op: Instruction, tokens: str = "") -> Generator[None]:
        """Lines in here are one instruction: run at once, or issued to its pipe."""
        if self.core.pipes is None:
            with self._watching(op):
                yield
            return
        start = len(self.lines)
        with self.indented():
            yield
        # Locals change before the pipe gets here, so their values go along.
        found = {*_LOCAL.findall("\n".join(self.lines[start:]))}
        found.update(_LOCAL.findall(self.half))
        kept = ", ".join(f"{name}={name}" for name in sorted(found))
        self.lines.insert(start, "    " * self.depth + f"def action({kept}):")
        self.line_ops.insert(start, op)
        self.issue(op, f"action, {tokens}" if tokens else "action")

    @contextmanager
    def _watching(self, op: Instruction) -> Generator[None]:
        """Lines in here run between two looks at the numbers of an instruction."""
        kind = self.core.numbers
        watch = None if kind is None else watched(op, kind)
        if watch is None:
            yield
            return
        name = self.bind(watch)
        arrays = self.tuple_of([*op.reads(), *op.writes()])
        numbers = self.tuple_of(numbers_of(op))
        self.line(f"{name}.before({arrays}, {numbers})")
        yield
        self.line(f"{name}.after({arrays}, {numbers})")

    def issue(self, op: Instruction, details: str) -> None:
        """Append an entry to the queue of the instruction's pipe."""
        pipe, site, core = self.bind(op.pipe.value), self.bind(op), self._core()
        details += f", core={core}" if core else ""
        self.line(f"issued.append(Issued({pipe}, {site}, {details}))")

    def _flag(self, op: Operation) -> None:
        flag = cast(FlagOp, op)
        if self.core.pipes is None:
            return
        source, target = flag.pipes
        number = str(flag.base)
        if flag.index is not None:
            number += f" + {self.ref(flag.index)}"
        kind = "sets" if isinstance(flag, SetFlagOp) else "waits"
        pair = f"{self.bind(source.value)}, {self.bind(target.value)}"
        core = self._core() or "''"
        self.issue(flag, f"{kind}=(Flag({pair}, {number}, {core}),)")

    def _barrier(self, op: Operation) -> None:
        if self.core.pipes is not None:
            # Barriers in a loop pass in order, so their numbers need not differ.
            self.issue(cast(Instruction, op), "barrier=1")

    # Buffers.

    def _alloc(self, op: Operation) -> None:
        alloc = cast(AllocOp, op)
        contents = [
            views[0] if alloc.slot_count == 1 else views
            for views in (core.views(alloc) for core in self._own_buffers())
        ]
        if len(contents) == 1:
            self.names[op.results[0]] = self.bind(contents[0])
        else:
            name = self.define(op.results[0])
            self.line(f"{name} = {self.bind(contents)}[{self.half}]")

    def _own_buffers(self) -> Sequence[Buffers]:
        """The memory of the cores that run this section."""
        return self.core.all_buffers if len(self.cores) > 1 else (self.core.buffers,)

    def _slot(self, op: Operation) -> None:
        slot = cast(SlotOp, op)
        count = slot.alloc.slot_count
        if isinstance(slot.slot, int) and len(self.cores) == 1:
            view = self.core.buffers.views(slot.alloc)[slot.slot]
            self.names[op.results[0]] = self.bind(view)
            return
        index = self.ref(slot.slot)
        self.check_limit("slot", slot.slot, count - 1)
        source = self.ref(slot.source)
        if count == 1:
            self.line(f"{self.define(op.results[0])} = {source}")
        else:
            self.line(f"{self.define(op.results[0])} = {source}[{index}]")

    def corner(self, buffer: SSAValue, rows: Value, columns: Value) -> str:
        """The text of the top left box of a buffer."""
        if buffer in self.stand_ins:
            return self.stand_ins[buffer]
        text = self.slice(buffer, rows, columns)
        return text if text == self.ref(buffer) else self.kept(text)

    def slice(self, buffer: SSAValue, rows: Value, columns: Value) -> str:
        """The text that cuts it out."""
        name = self.ref(buffer)
        kind = buffer_type(buffer)
        if rows == kind.rows and columns == kind.columns:
            return name
        if columns == kind.columns:
            return f"{name}[:{self.ref(rows)}]"
        first = "" if rows == kind.rows else self.ref(rows)
        return f"{name}[:{first}, :{self.ref(columns)}]"

    def kept(self, text: str) -> str:
        """A local with the value of `text`, written once in a scope."""
        return text if self.core.pipes is not None else self.named(text)

    def named(self, text: str) -> str:
        """The same for what stands outside of the actions of pipes."""
        if text not in self.boxes:
            self.boxes[text] = self.fresh()
            self.line(f"{self.boxes[text]} = {text}")
        return self.boxes[text]

    def _kept_index(self, op: Operation) -> None:
        """A number; what is computed alike in this scope is there already."""
        text = self.expression(op)
        for known, name in self.boxes.items():
            if known in text and known != text and _is_call(known):
                text = re.sub(rf"\b{re.escape(known)}", name, text)
        self.names[op.results[0]] = self.named(text)

    def _dim(self, op: Operation) -> None:
        dim = cast(DimOp, op)
        self.names[op.results[0]] = self.size_of(dim.source, dim.axis.value.data)

    # Checks.

    def check_extents(self, buffer: SSAValue, rows: Value, columns: Value) -> None:
        """The box lies in the buffer: static extents are the verifier's business."""
        kind = buffer_type(buffer)
        self.check_limit("rows", rows, kind.rows)
        self.check_limit("columns", columns, kind.columns)

    def check_limit(self, what: str, value: Value, limit: int) -> None:
        """Write a check of 0 <= value <= limit, unless one is known to hold."""
        if isinstance(value, int) or self.limits.get(value, limit + 1) <= limit:
            return
        self.limits[value] = limit
        op = self.op
        assert op is not None

        def fail(number: int) -> NoReturn:
            raise_out_of_bounds(op, f"{what} is {number}, but lies in 0 to {limit}")

        text = self.ref(value)
        self.line(f"if not 0 <= {text} <= {limit}: {self.bind(fail)}({text})")


def _is_call(text: str) -> bool:
    """Whether it is `min(..)` or `max(..)` as a whole."""
    inside = text[4:-1]
    depth = 0
    for character in inside:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return text[:4] in ("min(", "max(") and text[-1] == ")"


def memory_shape(memory: SSAValue) -> Sequence[int]:
    return cast("MemRefType[Attribute]", memory.type).get_shape()
