"""
The instructions of a kernel in the generated source of `timing_kernel.py`.

A pipe takes one instruction after the other. The vector pipe overlaps the tail of one
with the next, unless that needs its result: then, and after a wait, the next one starts
when the tail has passed, and pays its head. A product pays its head after a wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.tile import VECTOR_OPS, allocation_of
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_channel import ChannelOp
from pyptoc.dialects.tile_indexing import GatherOp, OneHotOp, ScatterOp, TopkOp
from pyptoc.dialects.tile_matmul import MatmulMxOp, MatmulOp
from pyptoc.dialects.tile_move import MoveOp
from pyptoc.dialects.tile_transfer import LoadOp, StoreOp
from pyptoc.dialects.tile_types import BufType, Instruction, buffer_type, element_bits
from pyptoc.dialects.tile_vector import VectorOp
from pyptoc.runtime.codegen import Handler, Value
from pyptoc.runtime.timing_layout import TAIL

if TYPE_CHECKING:
    from pyptoc.runtime.timing_kernel import KernelTimer


def allocation_or_none(value: SSAValue) -> Allocation | None:
    """The allocation of a buffer in the core's memory; None for channels and gm."""
    if not isinstance(value.type, BufType):
        return None
    found = allocation_of(value)
    return None if isinstance(found, ChannelOp) else found


class Instructions:
    """Writes instructions of one kernel."""

    def __init__(self, to: KernelTimer) -> None:
        self.to = to
        self.users = self._users()
        self._shared = {buffer: self._sharing(buffer) for buffer in self.users}
        self.between = {
            buffer
            for buffer, others in self._shared.items()
            if len(set[str]().union(*(self.users[other] for other in others))) > 1
        }
        """Buffers whose place more than one pipe uses."""
        self.begin_section()

    def handlers(self) -> dict[str, Handler]:
        names = {
            "load": self._load,
            "gather": self._gather,
            "store": self._store,
            "scatter": self._scatter,
            "move": self._move,
            "matmul": self._matmul,
            "matmul_mx": self._matmul,
            "topk": self._vector,
            "one_hot": self._vector,
            **dict.fromkeys(VECTOR_OPS, self._vector),
        }
        return {f"tile.{name}": handler for name, handler in names.items()}

    # What is in flight.

    def begin_section(self) -> None:
        """Another core's instructions follow."""
        self.met: set[Allocation] = set()
        self.forget()

    def forget(self) -> None:
        """It is not known here what stands before: it is waited for."""
        self.in_flight: set[Allocation] | None = None
        self.product_waits = True

    def waited(self, pipe: str) -> None:
        """A pipe stood still."""
        if pipe == "v":
            self.in_flight = None
        elif pipe == "m":
            self.product_waits = True

    # Buffers from one task to the next.

    def _users(self) -> dict[Allocation, set[str]]:
        """The pipes that use each buffer with an address."""
        users: dict[Allocation, set[str]] = {}
        for op in self.to.kernel.walk():
            if isinstance(op, Instruction):
                for value in (*op.reads(), *op.writes()):
                    found = allocation_or_none(value)
                    if found is not None and found.address is not None:
                        users.setdefault(found, set()).add(op.pipe.value)
        return users

    def _sharing(self, buffer: Allocation) -> list[Allocation]:
        """The buffers that lie where `buffer` lies, itself among them."""
        start = buffer.address or 0
        end, space, owner = start + buffer.total_bytes, buffer.type.space, _core(buffer)
        return [
            other
            for other in self.users
            if other.type.space == space
            and _core(other) is owner
            and other.address is not None
            and other.address < end
            and start < other.address + other.total_bytes
        ]

    def _before(self, op: Instruction) -> None:
        """Wait for the task before, where `op` is the first to write its place."""
        to, pipe = self.to, op.pipe.value
        for value in op.writes():
            buffer = allocation_or_none(value)
            if buffer is None or buffer in self.met:
                continue
            self.met.add(buffer)
            for other in self._shared.get(buffer, ()):
                if self.users[other] - {pipe}:
                    index = to.layout.use(other)
                    to.line(f"if t < Q[{index}]: t = Q[{index}]")

    def _after(self, op: Instruction, end: str) -> None:
        to = self.to
        for value in dict.fromkeys((*op.reads(), *op.writes())):
            buffer = allocation_or_none(value)
            if buffer is not None and buffer in self.between:
                entry = to.entry(to.layout.use(buffer))
                to.line(f"if {entry} < {end}: {entry} = {end}")

    def write(self, op: Instruction, cost: str) -> None:
        """Write an instruction that takes `cost` cycles of its pipe; it ends at `e`."""
        to, pipe = self.to, op.pipe.value
        entry = to.entry(to.layout.pipe(pipe))
        to.line(f"t = {entry}; d = {cost}")
        self._before(op)
        to.line(f"{entry} = e = t + d")
        self._finish(op, "t", "e")

    def _finish(self, op: Instruction, start: str, end: str) -> None:
        to = self.to
        to.count("busy", op.pipe.value, "d")
        self._after(op, end)
        if to.recorder is not None:
            to.line(f"R({to.bind(op)}, c, {start}, {end})")

    def moved(
        self, op: Operation, extents: Sequence[Value], kind: BufType, way: str
    ) -> None:
        """Count the bytes of a box."""
        rows, columns = map(self.to.ref, extents[:2])
        bits = element_bits(kind.element_type)
        self.to.count("bytes", way, f"{rows} * {columns} * {bits} // 8")

    # Transfers.

    def _load(self, op: Operation) -> None:
        load = cast(LoadOp, op)
        self._read(load, load.memory, load.dest, self.to.costs.load(load))

    def _gather(self, op: Operation) -> None:
        gather = cast(GatherOp, op)
        cost = self.to.costs.gather(gather)
        self._read(gather, gather.memory, gather.buffer, cost)

    def _read(
        self, op: LoadOp | GatherOp, memory: SSAValue, dest: SSAValue, cost: object
    ) -> None:
        to = self.to
        number, kind = to.buffers[memory], buffer_type(dest)
        box = to.refs(op.extents)
        self.write(op, f"{to.bind(cost)}({box}, M[{number}], T)")
        self.moved(op, op.extents, kind, f"gm -> {kind.space}")
        rows, columns = map(to.ref, op.extents)
        bits = element_bits(kind.element_type)
        to.count("load", number, f"{rows} * {columns} * {bits} // 8")

    def _store(self, op: Operation) -> None:
        store = cast(StoreOp, op)
        cost = self.to.costs.store(store)
        self._write_out(store, store.memory, buffer_type(store.source), cost)

    def _scatter(self, op: Operation) -> None:
        scatter = cast(ScatterOp, op)
        cost = self.to.costs.scatter(scatter)
        kind = buffer_type(scatter.buffer)
        self._write_out(scatter, scatter.memory, kind, cost)

    def _write_out(
        self, op: StoreOp | ScatterOp, memory: SSAValue, kind: BufType, cost: object
    ) -> None:
        to = self.to
        self.write(op, f"{to.bind(cost)}({to.refs(op.extents)}, 0.0, T)")
        number = to.buffers[memory]
        rows, columns = map(to.ref, op.extents)
        bits = element_bits(memory.type.element_type)  # pyright: ignore
        size = f"{rows} * {columns} * {bits} // 8"
        to.count("bytes", f"{kind.space} -> gm", size)
        to.count("store", number, size)

    def _move(self, op: Operation) -> None:
        move = cast(MoveOp, op)
        source, target = move.way
        cost = self.to.bind(self.to.costs.move(move))
        self.write(move, f"{cost}({self.to.refs(move.extents)})")
        kind = buffer_type(move.source)
        self.moved(move, move.extents, kind, f"{source} -> {target}")

    # Computing.

    def _matmul(self, op: Operation) -> None:
        to, product = self.to, cast("MatmulOp | MatmulMxOp", op)
        head, cycles = to.costs.matmul(product)
        m, n, k = map(to.ref, product.extents)
        cost = f"{to.bind(cycles)}({m}, {n}, {k})"
        if self.product_waits:
            cost += f" + {head}"
        self.write(product, cost)
        self.product_waits = False
        to.count("macs", str(buffer_type(product.lhs).element_type), f"{m} * {n} * {k}")

    def _vector(self, op: Operation) -> None:
        to, one = self.to, cast("VectorOp | TopkOp | OneHotOp", op)
        cost = to.costs.vector(one)
        rows, columns, *depth = map(to.ref, one.extents)
        if isinstance(one, OneHotOp):
            columns = f"{columns} * {depth[0]}"
        reads = {allocation_of(v) for v in one.reads() if isinstance(v.type, BufType)}
        writes = {allocation_of(v) for v in one.writes()}
        needs = self.in_flight is None or bool((reads | writes) & self.in_flight)
        issue = to.entry(to.layout.pipe("v"))
        tail = to.entry(to.layout.pipe(TAIL))
        to.line(f"t = {tail if needs else issue}")
        self._before(one)
        text = f"{to.bind(cost.cycles)}({rows}, {columns})"
        to.line(f"d = {text}" + (f" + {cost.head}" if needs else ""))
        to.line(f"{issue} = t + d; e = t + d + {cost.tail}")
        to.line(f"if {tail} < e: {tail} = e")
        self.in_flight = writes if needs else (self.in_flight or set()) | writes
        self._finish(one, "t", "e")


def _core(buffer: Allocation) -> Operation | None:
    """The section (or kernel) whose core has the buffer."""
    parent = buffer.parent_op()
    while parent is not None and parent.name not in ("tile.section", "npu.kernel"):
        parent = parent.parent_op()
    return parent
