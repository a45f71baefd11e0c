"""
Lowering the body of a task: what both units share.

A tile of the task level (a tensor of rank at most 2) becomes a buffer and a valid
extent of rows and columns. Buffers filled or drained inside a loop get two slots, so
that the next trip's transfer can run beside this trip's work; temporaries live within
one iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from pyptoc.dialects import tile
from pyptoc.dialects.expr import ZERO, Expr
from pyptoc.dialects.npu import KernelOp, LoadOp, StoreOp
from pyptoc.dialects.npu_attrs import MaxAttr
from pyptoc.dialects.pypto.scalars import DimOp
from pyptoc.dialects.pypto.shape import TransposeOp
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import Mixed
from pyptoc.passes.builder import Builder
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.typed import shape_of, tensor

SLOTS = 2
"""Slots of a buffer that a loop fills or drains."""


@record
class Drain:
    """What the store of an accumulator does to it: scales by column, then relu."""

    scale: SSAValue | None = None
    relu: bool = False


@record
class Tile:
    """A buffer and how much of it is valid."""

    buffer: SSAValue
    rows: Mixed
    columns: Mixed
    drain: Drain = Drain()
    bias: SSAValue | None = None
    """Where the sums of an accumulator start, for each column: in the bias table."""
    row: Expr = ZERO
    column: Expr = ZERO
    """Where it starts in the buffer."""

    @property
    def extents(self) -> list[Mixed]:
        return [self.rows, self.columns]


def bounds_of(type_: Attribute) -> tuple[int, int]:
    """Rows and columns that a tile needs room for."""
    sizes = list(shape_of(type_))
    encoding = tensor(type_).encoding
    if isinstance(encoding, MaxAttr):
        sizes = list(encoding.sizes)
    rows, columns = [1] * (2 - len(sizes)) + sizes
    return max(rows, 1), max(columns, 1)


def buffer_type_of(type_: Attribute, space: str) -> tile.BufType:
    """The buffer for a tile of a tensor type."""
    return tile.BufType(bounds_of(type_), tensor(type_).element_type, space)


@record(frozen=False)
class KernelBody:
    """Rewrites the ops of one kernel, block by block."""

    kernel: KernelOp
    shapes: Shapes = field(default_factory=Shapes)
    tiles: dict[SSAValue, Tile] = field(default_factory=dict[SSAValue, Tile])
    _lowered: list[Operation] = field(default_factory=list[Operation], repr=False)

    def run(self) -> None:
        """Lower the whole body; what was lowered is erased at the end, users first."""
        self.block(self.kernel.block)
        for op in reversed(self._lowered):
            op.detach()
            op.erase(safe_erase=False)

    def block(self, block: Block) -> None:
        """Lower one block."""
        for op in list(block.ops):
            if self.lower(op):
                self._lowered.append(op)

    def lower(self, op: Operation) -> bool:
        """Emit tile ops for `op`; False if it stays as it is."""
        raise NotImplementedError

    # -- buffers

    def allocate(self, at: Operation, type_: tile.BufType) -> SSAValue:
        """A buffer of one slot that lives in the block of `at`."""
        return Builder.before(at).value(tile.AllocOp.make(type_))

    def slotted(self, at: Operation, type_: tile.BufType) -> SSAValue:
        """This trip's slot of a buffer, if `at` is in a loop; else a plain buffer."""
        loop = at.parent_op()
        if not isinstance(loop, scf.ForOp):
            return self.allocate(at, type_)
        home = Builder(self.home(loop), at.location)
        alloc = home.value(tile.AllocOp.make(type_, SLOTS))
        build = Builder.before(at)
        return build.value(tile.SlotOp.make(alloc, self.trip_slot(loop)))

    def home(self, loop: scf.ForOp) -> InsertPoint:
        """Where a buffer of several slots is allocated that trips of `loop` take."""
        return InsertPoint.at_start(self.kernel.block)

    def trip_slot(self, loop: scf.ForOp) -> SSAValue:
        """The number of the trip modulo the slots."""
        counter = Expr.sym(loop.body.block.args[0])
        lower, step = self.bound(loop.lb), self.bound(loop.step)
        slot = (counter - lower).floordiv(step).mod(SLOTS)
        found = self._slots.get(loop)
        if found is None:
            first = loop.body.block.ops.first
            assert first is not None
            found = self._slots[loop] = Builder.before(first).index(slot, "slot")
        return found

    _slots: dict[scf.ForOp, SSAValue] = field(
        default_factory=dict[scf.ForOp, SSAValue], repr=False
    )

    def bound(self, value: SSAValue) -> Expr:
        """A loop bound as a constant or a symbol."""
        expr = self.shapes.expr(value)
        return expr if expr.is_const else Expr.sym(value)

    # -- transfers

    def load(self, op: LoadOp, space: str) -> None:
        """`tile.load` of the box that `op` reads; its transpose, if that is the use."""
        result = op.results[0]
        uses = [use.operation for use in result.uses]
        turned = len(uses) == 1 and isinstance(uses[0], TransposeOp)
        value = uses[0].results[0] if turned else result
        buffer = self.slotted(op, buffer_type_of(value.type, space))
        kept = [a for a in range(len(op.mixed_sizes)) if a not in op.dropped_dims]
        if turned:
            kept.reverse()
        sizes = [self._size(op, axis) for axis in kept]
        rows, columns = [1] * (2 - len(sizes)) + sizes
        row, column = [-1] * (2 - len(kept)) + kept
        dims = self._unless_default(op.source, (row, column))
        new = tile.LoadOp.make(
            op.source, op.mixed_offsets, [rows, columns], buffer, dims
        )
        Builder.before(op).emit(new)
        self.tiles[value] = Tile(buffer, rows, columns)

    def _size(self, op: LoadOp, axis: int) -> Mixed:
        size = op.mixed_sizes[axis]
        if size is not None:
            return size
        static = shape_of(op.source.type)[axis]
        if static >= 0:
            return static
        return Builder.before(op).value(DimOp.make(op.source, axis))

    def _unless_default(
        self, memory: SSAValue, dims: tuple[int, int]
    ) -> tuple[int, int] | None:
        rank = len(shape_of(memory.type))
        return None if dims == (rank - 2 if rank > 1 else -1, rank - 1) else dims

    def store(self, op: StoreOp) -> None:
        """`tile.store` of the tile that `op` writes."""
        source = self.tiles[op.source]
        combine = op.combine.data if op.combine is not None else None
        rank = len(op.mixed_offsets)
        tile_rank = len(shape_of(op.source.type))
        kept = list(range(rank - tile_rank, rank))
        row, column = [-1] * (2 - len(kept)) + kept
        dims = self._unless_default(op.dest, (row, column))
        new = tile.StoreOp.make(
            source.buffer,
            source.extents,
            op.dest,
            op.mixed_offsets,
            dims,
            combine,
            scale=source.drain.scale,
            relu=source.drain.relu,
        )
        Builder.before(op).emit(new)


def static_or(size: int, otherwise: Sequence[Mixed]) -> Mixed:
    """A static size, or the first dynamic extent among `otherwise`."""
    if size >= 0:
        return size
    return next(extent for extent in otherwise if not isinstance(extent, int))
