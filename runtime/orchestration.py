"""
The orchestration function as a Python function: sizes, scalars, allocations, launches.

It runs once a call, so the operations on gm arrays are closures that the generated code
calls; what counts is that loops over hundreds of launches cost microseconds a trip.
Events only order tasks, and tasks run in their launch's order, launch after launch: an
event is None here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import Any, Literal, cast

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from pyptoc.dialects.npu_kernel import LaunchOp
from pyptoc.dialects.npu_memory import AllocOp, ReadOp, ReshapeOp
from pyptoc.dialects.npu_place import PlaceOp
from pyptoc.dialects.npu_print import PrintOp as NpuPrintOp
from pyptoc.dialects.pypto.claims import ClaimOp, ClaimsOp
from pyptoc.dialects.pypto.debug import PrintOp
from pyptoc.dialects.pypto.scalars import DimOp
from pyptoc.runtime.claims import Claims
from pyptoc.runtime.codegen import Translator, to_f32
from pyptoc.runtime.failures import (
    raise_beyond_arena,
    raise_conflict,
    raise_out_of_bounds,
)
from pyptoc.runtime.memory import Memory
from pyptoc.runtime.numerics import storage_dtype
from pyptoc.runtime.show import show_value
from pyptoc.runtime.translate import KernelTranslator


class Aliases:
    """Which memrefs of a function may be the same memory (sets of values)."""

    def __init__(self, function: func.FuncOp) -> None:
        self._leader: dict[SSAValue, SSAValue] = {}
        for op in function.walk():
            if op.name in ("npu.place", "npu.reshape", "npu.reinterpret"):
                self._join(op.results[0], op.operands[0])
            elif isinstance(op, scf.ForOp):
                body = op.body.block
                self._join_all(op.results, op.iter_args, body.args[1:])
                self._join_all(op.results, _yielded(body.last_op))
            elif isinstance(op, scf.IfOp):
                for region in op.regions:
                    if region.blocks:
                        self._join_all(op.results, _yielded(region.block.last_op))

    def _join_all(self, *columns: Iterable[SSAValue]) -> None:
        for first, *others in zip(*columns, strict=True):
            for other in others:
                self._join(first, other)

    def _join(self, one: SSAValue, other: SSAValue) -> None:
        self._leader[self.leader(one)] = self.leader(other)

    def leader(self, value: SSAValue) -> SSAValue:
        """The value that stands for all that may be this memory."""
        while value in self._leader and self._leader[value] is not value:
            value = self._leader[value]
        return value

    def leaders(self, values: Iterable[SSAValue]) -> set[SSAValue]:
        return {self.leader(value) for value in values}


def _yielded(terminator: Operation | None) -> Iterable[SSAValue]:
    return () if terminator is None else terminator.operands


class Orchestration(Translator):
    """Writes one function; its `run` takes and returns Memory and numbers."""

    def __init__(
        self, function: func.FuncOp, kernels: dict[str, KernelTranslator]
    ) -> None:
        super().__init__()
        self.function = function
        self.kernels = kernels
        self.aliases = Aliases(function)
        returned = function.get_return_op()
        assert returned is not None
        self.return_op = returned
        self.returned = self.aliases.leaders(returned.operands)
        self.written = self.aliases.leaders(self._launched_with("stored"))
        self.read = self.aliases.leaders([*self._launched_with("read"), *self._seen()])
        self.handlers |= {
            "func.return": self._return,
            "npu.alloc": self._alloc,
            "npu.place": self._place,
            "npu.reshape": self._reshape,
            "npu.reinterpret": self._reinterpret,
            "npu.read": self._read,
            "npu.print": self._print,
            "pypto.print": self._print,
            "pypto.claims": self._claims,
            "pypto.claim": self._claim,
            "npu.launch": self._launch,
            "npu.no_events": self._events,
            "npu.join": self._events,
            "pypto.dim": self._dim,
        }
        arguments = function.body.block.args
        self.line(f"def run({', '.join(map(self.define, arguments))}):")
        with self.indented():
            self.block(function.body.block)
        self.run: Callable[..., tuple[Any, ...]] = self.compiled("run")

    def _launched_with(self, use: Literal["stored", "read"]) -> Iterator[SSAValue]:
        """The memrefs that some launch stores to, or reads."""
        for op in self.function.walk():
            if op.name == "npu.launch":
                launch = cast(LaunchOp, op)
                numbers = getattr(self.kernels[launch.callee_name], use)
                for number, buffer in enumerate(launch.buffers):
                    if number in numbers:
                        yield buffer

    def _seen(self) -> Iterator[SSAValue]:
        """What the orchestration itself reads."""
        for op in self.function.walk():
            if op.name not in ("npu.launch", "func.return"):
                yield from op.operands

    def call(self, args: list[Any]) -> tuple[Any, ...]:
        """Run the function."""
        return self.guarded(self.run, *args)

    def is_written(self, argument: SSAValue) -> bool:
        """Whether the function may change this argument's memory."""
        return self.aliases.leader(argument) in self.written

    def _return(self, op: Operation) -> None:
        self.line(f"return {self.tuple_of(op.operands)}")

    # Memory.

    def _alloc(self, op: Operation) -> None:
        result = op.results[0]
        element = cast("MemRefType[Attribute]", result.type).element_type
        leader = self.aliases.leader(result)
        marked, read = leader in self.returned, leader in self.read
        # Marks tell of what was returned and never written.
        read = read or not marked

        def allocate(*sizes: int) -> Memory:
            if min(sizes, default=0) < 0:
                shown = ", ".join(map(str, sizes))
                raise_out_of_bounds(op, f"an allocation of sizes [{shown}]")
            return Memory.uninitialised(sizes, element, marked, read)

        self._call(op, allocate, cast(AllocOp, op).mixed_sizes)

    def _place(self, op: Operation) -> None:
        placing = cast(PlaceOp, op)
        memory = cast("MemRefType[Attribute]", op.results[0].type)
        dtype = storage_dtype(memory.element_type)

        def place(arena: Memory, offset: int, *sizes: int) -> Memory:
            found = arena.placed(offset, sizes, dtype)
            if found is None:
                raise_beyond_arena(op, sizes, offset, arena.array.size)
            return found

        self._call(op, place, [placing.arena, placing.offset, *placing.mixed_sizes])

    def _reshape(self, op: Operation) -> None:
        def reshape(memory: Memory, *sizes: int) -> Memory:
            if prod(sizes) != memory.array.size or min(sizes, default=0) < 0:
                shown = ", ".join(map(str, sizes))
                raise_out_of_bounds(
                    op, f"{list(memory.array.shape)} reshaped to [{shown}]"
                )
            return memory.reshaped(sizes)

        reshaping = cast(ReshapeOp, op)
        self._call(op, reshape, [reshaping.source, *reshaping.mixed_sizes])

    def _reinterpret(self, op: Operation) -> None:
        memory = cast("MemRefType[Attribute]", op.results[0].type)
        dtype = storage_dtype(memory.element_type)

        def reinterpret(memory: Memory) -> Memory:
            return memory.reinterpreted(dtype)

        self._call(op, reinterpret, op.operands)

    def _read(self, op: Operation) -> None:
        reading = cast(ReadOp, op)
        name = f"%{reading.source.name_hint or 'memory'}"
        convert = int if isinstance(op.results[0].type, IndexType) else to_f32

        def read(memory: Memory, *place: int) -> int | float:
            for dim, (index, size) in enumerate(
                zip(place, memory.array.shape, strict=True)
            ):
                if not 0 <= index < size:
                    raise_out_of_bounds(
                        op,
                        f"read of {name}[{', '.join(map(str, place))}]: index {index}"
                        f" of dimension {dim}, {name} has {size} there",
                    )
            return convert(memory.array[place])

        self._call(op, read, [reading.source, *reading.mixed_offsets])

    def expression(self, op: Operation) -> str:
        """Sizes can come from data, so results are checked to fit in 64 bits."""
        text = super().expression(op)
        return f"fits({text})" if op.name == "pypto.index" else text

    def _dim(self, op: Operation) -> None:
        axis = cast(DimOp, op).axis.value.data
        source = self.ref(op.operands[0])
        self.line(f"{self.define(op.results[0])} = {source}.array.shape[{axis}]")

    def _call(
        self, op: Operation, function: Callable[..., object], args: Iterable[Any]
    ) -> None:
        call = f"{self.bind(function)}({self.refs(list(args))})"
        self.line(f"{self.define(op.results[0])} = {call}")

    def _print(self, op: Operation) -> None:
        printed = cast(PrintOp | NpuPrintOp, op)
        label = printed.label.data

        def show(value: Memory | float) -> None:
            show_value(label, value.array if isinstance(value, Memory) else value)

        self.line(f"{self.bind(show)}({self.ref(printed.source)})")

    def _claims(self, op: Operation) -> None:
        made = cast(ClaimsOp, op)
        name = made.label.data

        def new(*sizes: int) -> Claims:
            return Claims(name, sizes)

        self._call(op, new, made.mixed_sizes)

    def _claim(self, op: Operation) -> None:
        claim = cast(ClaimOp, op)
        rank = len(claim.mixed_offsets)
        index = f"%{claim.iteration.name_hint or 'i'}"

        def check(claims: Claims, value: int, *box: int) -> None:
            found = claims.conflict(index, value, box[:rank], box[rank:])
            if found is not None:
                raise_conflict(op, *found)

        box = [*claim.mixed_offsets, *claim.mixed_sizes]
        args = self.refs([claim.claims, claim.iteration, *box])
        self.line(f"{self.bind(check)}({args})")

    # Launches.

    def _events(self, op: Operation) -> None:
        self.line(f"{self.define(op.results[0])} = None")

    def _launch(self, op: Operation) -> None:
        launch = cast(LaunchOp, op)
        kernel, walk = self.kernels[launch.callee_name], launch.task_order

        def run(
            grid: tuple[int, ...],
            memories: tuple[Memory, ...],
            scalars: tuple[Any, ...],
        ) -> None:
            if min(grid, default=1) < 0:
                raise_out_of_bounds(op, f"a launch of grid {list(grid)}")
            kernel.launch(grid, memories, scalars, walk)

        groups = (launch.grid, launch.buffers, launch.scalars)
        call = f"{self.bind(run)}({', '.join(map(self.tuple_of, groups))})"
        self.line(f"{self.define(op.results[0])} = {call}")
