"""
A matmul task's body becomes staging through L1 and L0, and matrix instructions.

    %acc = scf.for %k = 0 to %K step 256 iter_args(%c = full 0) {
      %a = npu.load ; %b = npu.load ; yield (pypto.mma %c, %a, %b) }
    npu.store %acc into %y[..]
    ->
    %c = tile.alloc : !tile.buf<128x256xf32, l0c>
    scf.for %k = 0 to max(%K, 1) step 256 {
      tile.load .. into %la[%slot] ; tile.load .. into %lb[%slot]          L1, 2 slots
      scf.for %k0 = 0 to max(%kn, 1) step 64 {
        tile.move %la[0, %k0] .. into %a0 ; tile.move %lb[%k0, 0] .. into %b0
        tile.matmul %a0, %b0 into %c [%m, %n, %kk] accumulate (%k + %k0 > 0) } }
    tile.store %c [%m, %n] into %y[..]

The loops run at least once: with K = 0 a matmul of no products writes the zeros. A cast
of the accumulator is the store's, and so is an epilogue: scales by column, relu.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from pyptoc.dialects import tile
from pyptoc.dialects.expr import Compare, Expr, maximum, minimum
from pyptoc.dialects.npu import LoadOp, StoreOp
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.elementwise import CastOp
from pyptoc.dialects.pypto.matmul import EpilogueOp, MmaOp
from pyptoc.dialects.pypto.shape import ExpandOp, FullOp, TransposeOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import Mixed
from pyptoc.dialects.tile_types import round_up
from pyptoc.passes.builder import Builder
from pyptoc.passes.cube_tiles import MX_BLOCK, CubeTile
from pyptoc.passes.kernel_body import Drain, KernelBody, Tile, bounds_of, buffer_type_of
from pyptoc.passes.tile_settings import TILE
from pyptoc.passes.typed import as_expr, element_type


@record(frozen=False)
class CubeBody(KernelBody):
    """Lowers the body of a cube kernel."""

    products: set[scf.ForOp] = field(default_factory=set[scf.ForOp])
    """The loops over K that were made."""
    empty: set[SSAValue] = field(default_factory=set[SSAValue])
    """Accumulators to which nothing was added yet."""
    k_loops: list[scf.ForOp] = field(default_factory=list[scf.ForOp])
    """The loops over K around the op that is lowered, outer ones first."""

    def lower(self, op: Operation) -> bool:
        match op:
            case LoadOp():
                self.load(op, "l1")
            case TransposeOp():
                assert op.results[0] in self.tiles, "only loads are transposed"
            case StoreOp():
                self.store(op)
            case FullOp():
                rows, columns = op.mixed_sizes
                buffer = self.allocate(op, buffer_type_of(op.results[0].type, "l0c"))
                self.tiles[op.results[0]] = Tile(buffer, rows, columns)
                self.empty.add(op.results[0])
            case ExpandOp():
                self._start_at_bias(op)
            case ViewOp():
                self._slice(op)
            case CastOp():
                self.tiles[op.results[0]] = self.tiles[op.source]
            case EpilogueOp():
                self._epilogue(op)
            case MmaOp():
                self._multiply(op)
            case scf.ForOp() if op.iter_args:
                self._k_loop(op)
            case scf.ForOp():
                self.block(op.body.block)
                return False
            case _:
                return False
        return True

    def _start_at_bias(self, op: ExpandOp) -> None:
        """An accumulator whose first product adds onto a row of the bias table."""
        rows, columns = op.mixed_sizes
        buffer = self.allocate(op, buffer_type_of(op.results[0].type, "l0c"))
        bias = self._row(op, op.source, "bias")
        self.tiles[op.results[0]] = Tile(buffer, rows, columns, bias=bias)
        self.empty.add(op.results[0])

    def _slice(self, op: ViewOp) -> None:
        """A box of a tile that is in L1 already."""
        whole = self.tiles[op.source]
        row, column = map(as_expr, op.mixed_offsets)
        rows, columns = op.mixed_sizes
        assert rows is not None
        assert columns is not None
        self.tiles[op.results[0]] = Tile(
            whole.buffer,
            rows,
            columns,
            row=whole.row + row,
            column=whole.column + column,
        )

    def _row(self, at: Operation, value: SSAValue, space: str) -> SSAValue:
        """A row that lies in L1, moved to a table of the cube core."""
        staged = self.tiles[value]
        shape = (1, bounds_of(value.type)[1])
        row = self.slotted(at, tile.BufType(shape, element_type(value), space))
        move = tile.MoveOp.make(staged.buffer, [0, 0], staged.extents, row)
        Builder.before(at).emit(move)
        return row

    def _epilogue(self, op: EpilogueOp) -> None:
        """What the store does: its scales go from L1 to the fixpipe's buffer."""
        tile_ = self.tiles[op.acc]
        scale = None if op.scale is None else self._row(op, op.scale, "fb")
        drain = Drain(scale, op.relu is not None)
        self.tiles[op.results[0]] = replace(tile_, drain=drain)

    def _k_loop(self, op: scf.ForOp) -> None:
        """A loop over L1 steps, without carried values and with at least one trip."""
        lower, upper = self.bound(op.lb), self.bound(op.ub)
        build = Builder.before(op)
        at_least = maximum(upper, lower + 1)
        argument = op.body.block.args[1]
        initial = op.iter_args[0]
        self.tiles[argument] = self.tiles[initial]
        if initial in self.empty:
            self.empty.add(argument)
        new = scf.ForOp.create(
            operands=[op.lb, build.index(at_least), op.step],
            regions=[op.detach_region(op.body)],
            location=op.location,
        )
        build.emit(new)
        block = new.body.block
        last = block.ops.last
        assert isinstance(last, scf.YieldOp)
        made = last.operands[0]
        last.operands = []
        self.products.add(new)
        self.k_loops.append(new)
        self.block(block)
        self.k_loops.pop()
        self.tiles[op.results[0]] = self.tiles[made]
        block.erase_arg(argument, safe_erase=False)
        op.add_region(Region(Block()))

    def _multiply(self, op: MmaOp) -> None:
        """Move kL0-wide pieces of the L1 tiles and multiply them."""
        self.tiles[op.results[0]] = self.tiles[op.acc]
        first = self._progress(op)
        left = self.tiles[op.lhs]
        depth = left.rows if op.a_trans is not None else left.columns
        step = self.tile_of(op).k0
        if k_bound(op) <= step:
            Piece(self, op, Expr.const(0), depth, first, op).emit()
            return
        build = Builder.before(op)
        total = as_expr(depth)
        inner, body = build.loop(0, maximum(total, 1), step)
        body.yield_()
        self.products.add(inner)
        offset = Expr.sym(inner.body.block.args[0])
        last = inner.body.block.ops.last
        assert last is not None
        size = build_size(Builder.before(last), step, total, offset)
        Piece(self, op, offset, size, first + offset, last).emit()

    def _progress(self, op: MmaOp) -> Expr:
        """How far the sum is before `op`: zero only for its first product."""
        if op.acc not in self.empty:
            return Expr.const(1)
        done = Expr.const(0)
        for loop in self.k_loops:
            done = done + Expr.sym(loop.body.block.args[0]) - self.bound(loop.lb)
        return done

    def tile_of(self, op: MmaOp) -> CubeTile:
        """The cube tile that infer-tiles decided for a product."""
        attribute = op.attributes.get(TILE, self.kernel.attributes.get(TILE))
        assert isinstance(attribute, CubeTileAttr)
        return CubeTile.of(attribute)


@record(frozen=False)
class Piece:
    """One kL0-deep product of an L1 step."""

    body: CubeBody
    op: MmaOp
    offset: Expr
    depth: Mixed
    progress: Expr
    """Zero only for the first product of the task."""
    at: Operation

    def emit(self) -> None:
        """Emit the moves and the product before `at`."""
        op, body = self.op, self.body
        acc = body.tiles[op.acc]
        left = self._operand(
            op.lhs, "l0a", op.a_trans is not None, acc.rows, first=True
        )
        right = self._operand(
            op.rhs, "l0b", op.b_trans is not None, acc.columns, first=False
        )
        build = Builder.before(self.at)
        scales = self._scales(acc)
        accumulate: bool | SSAValue = self.progress != Expr.const(0)
        if not self.progress.is_const:
            accumulate = build.compare(Compare(">", self.progress, Expr.const(0)))
        extents = [acc.rows, acc.columns, self.depth]
        if scales:
            product = tile.MatmulMxOp.make(
                left, right, scales[0], scales[1], acc.buffer, extents, accumulate
            )
        else:
            product = tile.MatmulOp.make(
                left, right, acc.buffer, extents, accumulate, bias=acc.bias
            )
        build.emit(product)

    def _k0(self) -> int:
        """Room along k, in whole alignment units."""
        step = self.body.tile_of(self.op).k0
        return min(step, round_up(max(k_bound(self.op), 1), 16))

    def _operand(
        self, value: SSAValue, space: str, trans: bool, other: Mixed, *, first: bool
    ) -> SSAValue:
        rows, columns = bounds_of(value.type)
        along = (rows if trans else columns) if first else (columns if trans else rows)
        side = (columns if trans else rows) if first else (rows if trans else columns)
        along = min(along, self._k0())
        shape = (side, along) if first else (along, side)
        type_ = tile.BufType(shape, element_type(value), space)
        dest = self.body.slotted(self.at, type_)
        k_is_row = trans if first else not trans
        zero = Expr.const(0)
        at = (self.offset, zero) if k_is_row else (zero, self.offset)
        extents: list[Mixed] = [self.depth, other] if k_is_row else [other, self.depth]
        self._move(value, at, extents, dest, trans=trans)
        return dest

    def _move(
        self,
        value: SSAValue,
        at: tuple[Expr, Expr],
        extents: Sequence[Mixed],
        dest: SSAValue,
        **flags: bool,
    ) -> None:
        """Move the box of a tile that starts at `at`."""
        source, build = self.body.tiles[value], Builder.before(self.at)
        offsets = [
            build.index_or_int(start + offset)
            for start, offset in zip((source.row, source.column), at, strict=True)
        ]
        build.emit(tile.MoveOp.make(source.buffer, offsets, extents, dest, **flags))

    def _scales(self, acc: Tile) -> list[SSAValue]:
        op = self.op
        if op.scale_lhs is None or op.scale_rhs is None:
            return []
        left_grouped = op.scales_a_trans is None
        right_grouped = op.scales_b_trans is not None
        return [
            self._scale(op.scale_lhs, "scale_a", acc.rows, left_grouped),
            self._scale(op.scale_rhs, "scale_b", acc.columns, right_grouped),
        ]

    def _scale(
        self, value: SSAValue, space: str, side: Mixed, grouped: bool
    ) -> SSAValue:
        """Scales as [m or n, 2 * blocks]; grouped: they lie in L1 that way."""
        rows, columns = bounds_of(value.type)
        wide = 2 * -(-self._k0() // MX_BLOCK)
        shape = (rows, min(columns, wide)) if grouped else (columns // 2, wide)
        type_ = tile.BufType(shape, element_type(value), space)
        dest = self.body.slotted(self.at, type_)
        build = Builder.before(self.at)
        block, zero = self.offset.floordiv(MX_BLOCK), Expr.const(0)
        count = as_expr(self.depth).ceildiv(MX_BLOCK)
        at = (zero, block * 2) if grouped else (block, zero)
        extents: list[Mixed] = (
            [side, build.index_or_int(count * 2)]
            if grouped
            else [build.index_or_int(count), build.index_or_int(as_expr(side) * 2)]
        )
        self._move(value, at, extents, dest, pairs=not grouped)
        return dest


def k_bound(op: MmaOp) -> int:
    """The most elements of K that one L1 step holds."""
    rows, columns = bounds_of(op.lhs.type)
    return rows if op.a_trans is not None else columns


def build_size(build: Builder, step: int, total: Expr, offset: Expr) -> Mixed:
    """The size of the piece at `offset`: a constant where the step divides."""
    if total.is_const and total.value % step == 0:
        return step
    return build.index_or_int(minimum(step, total - offset))
