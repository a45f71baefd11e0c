"""
What one instruction takes on its pipe, in cycles of its core.

    load        start-up + (bytes + lines * extra) * ((1 - miss) / L2 + miss / HBM)
    store       start-up + max(bytes / route, (bytes + lines * extra) / L2 write)
    move        start-up + bytes / route, of whole fractals
    matmul      head + the products of whole fractals / multiply-adds a cycle
    vector      head + repeats of 256 B * slope, and a tail until it has finished

`miss` is the share of a task's bytes of that array that are not in L2; a line is what
lies side by side in memory. An instruction takes whole cycles. Every number is the
machine's (`machines/*.toml`); docs/timing.md names the sources.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import NamedTuple, cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from pyptoc.dialects.record import record
from pyptoc.dialects.tile_channel import ChannelType
from pyptoc.dialects.tile_indexing import GatherOp, OneHotOp, ScatterOp, TopkOp
from pyptoc.dialects.tile_matmul import MatmulMxOp, MatmulOp
from pyptoc.dialects.tile_move import MoveOp
from pyptoc.dialects.tile_transfer import LoadOp, StoreOp
from pyptoc.dialects.tile_types import Space, box_bytes, buffer_type, element_bits
from pyptoc.dialects.tile_vector import Shape, VectorOp
from pyptoc.runtime.machine import Machine, Route

BLOCK_BYTES = 32
"""The vector unit addresses blocks of this size; a repeat holds some of them."""

PAIR_BITS = 64
"""What a sort goes through: a value and its index."""


class Traffic(NamedTuple):
    """How the memory outside answers a task."""

    hbm: float = 1.0
    """How much longer a byte from HBM takes because cores share it."""
    l2: float = 1.0
    """The same for a byte from or to L2."""


ALONE = Traffic()
MemoryCost = Callable[[int, int, float, Traffic], int]
"""Cycles of a box of rows and columns, for a miss ratio and a traffic."""
BoxCost = Callable[..., int]
"""Cycles of a box, by its extents."""


@record
class VectorTiming:
    """A vector instruction: what it adds where it must wait for earlier results, and
    what passes after its last repeat until others see its result."""

    head: int
    tail: int
    cycles: BoxCost


class Costs:
    """The costs of a machine's instructions."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.memory = machine.memory

    # -- memory outside

    def load(self, op: LoadOp) -> MemoryCost:
        """Of a load, for its extents."""
        space = buffer_type(op.dest).space
        lines = _lines(op.memory, op.box_dims, contiguous=space == Space.UB)
        return self.read("gm", space, _bits(op.memory), lines)

    def gather(self, op: GatherOp) -> MemoryCost:
        """Of a gather: rows (or elements) lie apart."""
        lines = _scattered if op.per.data == "element" else _by_row
        return self.read("gm", Space.UB, _bits(op.memory), lines)

    def read(
        self, source: str, target: str, bits: int, lines: Callable[[int, int], int]
    ) -> MemoryCost:
        """Of any read from memory into `target`."""
        route = self.machine.route(source, target)
        extra = self.memory.row_overhead_bytes
        l2 = self.memory.l2_read_bytes_per_cycle_per_core
        hbm = min(route.bytes_per_cycle, l2)

        def cycles(rows: int, columns: int, miss: float, traffic: Traffic) -> int:
            if rows <= 0 or columns <= 0:
                return 0
            moved = rows * columns * bits / 8 + lines(rows, columns) * extra
            near = (1 - miss) * traffic.l2 / l2
            return ceil(
                route.startup_cycles + moved * (near + miss * traffic.hbm / hbm)
            )

        return cycles

    def store(self, op: StoreOp) -> MemoryCost:
        """Of a store; from L0C what leaves it counts, converted or not."""
        space = buffer_type(op.source).space
        lines = _lines(op.memory, op.box_dims, contiguous=space == Space.UB)
        return self.write(self.machine.route(space, "gm"), _bits(op.memory), lines)

    def scatter(self, op: ScatterOp) -> MemoryCost:
        """Of a scatter, which writes row by row."""
        route = self.machine.route("ub", "gm")
        return self.write(route, _bits(op.memory), _by_row)

    def write(
        self, route: Route, bits: int, lines: Callable[[int, int], int]
    ) -> MemoryCost:
        """Of any write to memory."""
        extra = self.memory.row_overhead_bytes
        l2 = self.memory.l2_write_bytes_per_cycle_per_core

        def cycles(rows: int, columns: int, miss: float, traffic: Traffic) -> int:
            if rows <= 0 or columns <= 0:
                return 0
            size = rows * columns * bits / 8
            outside = (size + lines(rows, columns) * extra) * traffic.l2 / l2
            moving = max(size / route.bytes_per_cycle, outside)
            return ceil(route.startup_cycles + moving)

        return cycles

    # -- inside a core, and between cores

    def move(self, op: MoveOp) -> BoxCost:
        """Of a move between buffers."""
        source, target = op.way
        bits = element_bits(buffer_type(op.source).element_type)
        return self._inside(self.machine.route(source, target), source, bits)

    def push(self, channel: ChannelType) -> MemoryCost:
        """Of a push: into the other core's memory, or through memory outside."""
        source, target = channel.way
        bits = element_bits(channel.pushed.element_type)
        if channel.through_gm:
            route = self.machine.route(source, "gm")
            return self.write(route, bits, _by_row)
        inside = self._inside(self.machine.route(source, target), source, bits)
        return lambda rows, columns, miss, traffic: inside(rows, columns)

    def pop(self, channel: ChannelType) -> MemoryCost | None:
        """Of a pop, which loads where the channel goes through memory (and L2)."""
        if not channel.through_gm:
            return None
        _, target = channel.way
        bits = element_bits(channel.popped.element_type)
        return self.read("gm", target, bits, _by_row)

    def _inside(self, route: Route, space: str, bits: int) -> BoxCost:
        def cycles(rows: int, columns: int) -> int:
            if rows <= 0 or columns <= 0:
                return 0
            moved = box_bytes(rows, columns, bits, space)
            return ceil(route.startup_cycles + moved / route.bytes_per_cycle)

        return cycles

    # -- computing

    def matmul(self, op: MatmulOp | MatmulMxOp) -> tuple[int, BoxCost]:
        """The head of a product that waited, and the cycles for [m, n, k]."""
        element = buffer_type(op.lhs).element_type
        macs = self.machine.macs_per_cycle[str(element)]
        unit = self.machine.fractal_row_bytes * 8 // element_bits(element)
        side = self.machine.fractal_rows

        def cycles(m: int, n: int, k: int) -> int:
            whole = _up(m, side) * _up(n, side) * _up(k, unit)
            return ceil(whole / macs)

        return ceil(self.machine.matmul_head_cycles), cycles

    def vector(self, op: VectorOp | TopkOp | OneHotOp) -> VectorTiming:
        """Of a vector instruction, for [rows, columns] of its box."""
        name = op.name.partition(".")[2]
        cost = self.machine.vector_cost(name)
        reads = [value for value in op.reads() if hasattr(value.type, "rows")]
        folds = isinstance(op, VectorOp) and op.family.shape is Shape.ROW_REDUCTION
        dests = [] if folds else op.writes()
        widths = [
            element_bits(buffer_type(value).element_type) for value in (*reads, *dests)
        ]
        bits, size = max(widths, default=32), self.machine.vector_bytes
        sorts = isinstance(op, TopkOp)
        if sorts:
            bits = PAIR_BITS

        def cycles(rows: int, columns: int) -> int:
            if rows <= 0 or columns <= 0:
                return 0
            line = columns * bits / 8
            blocks = rows * ceil(line / BLOCK_BYTES)
            repeats = ceil(blocks * BLOCK_BYTES / size)
            repeats *= _sort_passes(columns) if sorts else 1
            ragged = self.machine.vector_ragged_cycles if line % size else 0
            return ceil(repeats * cost.per_repeat + ragged)

        return VectorTiming(ceil(cost.head), ceil(cost.tail), cycles)


def _by_row(rows: int, columns: int) -> int:
    """The lines of a box whose rows lie apart."""
    return rows


def _scattered(rows: int, columns: int) -> int:
    """The lines of a box whose elements lie apart."""
    return rows * columns


def _sort_passes(columns: int) -> int:
    """Merges of four sorted runs each, from runs of 32 elements on."""
    passes, run = 1, BLOCK_BYTES
    while run < columns:
        passes, run = passes + 1, run * 4
    return passes


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _bits(memory: SSAValue) -> int:
    return element_bits(cast("MemRefType[Attribute]", memory.type).element_type)


def _lines(
    memory: SSAValue, box_dims: tuple[int, int], contiguous: bool
) -> Callable[[int, int], int]:
    """How many lines a box has: pieces that lie side by side in memory.

    contiguous: whether a box of whole lines is one piece; into L1 each row goes to
    other fractals.
    """
    shape = cast("MemRefType[Attribute]", memory.type).get_shape()
    last = len(shape) - 1
    row, column = box_dims
    if column == last:
        size = shape[last] if contiguous and row == last - 1 else None
        return lambda rows, columns: 1 if columns == size else rows
    if row == last:
        return lambda rows, columns: columns
    return _scattered
