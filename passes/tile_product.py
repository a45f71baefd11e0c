"""
A product in a nest that is one task: on whole tiles, for each piece of its columns.

    %v = pypto.matmul %p, %w          %p in two pieces along K, kL1 = 64
    ->
    %s = scf.for %k .. step 64 iter_args(%c = full 0) {
      %pk = pypto.view %p0[0 +: %m, %k +: 64] ; %wk = pypto.view %w[%k +: 64, :]
      yield (pypto.mma %c, %pk, %wk) }
    %v = scf.for %k .. step 64 iter_args(%c = %s) { the same of %p1 }

What memory holds comes kL1 at a time; a tile of the body, and what L1 keeps for an
inner loop, is cut where it lies. A product that only stores read is stored as soon as a
piece is done. One with MX scales is summed up as in a cube task (`tile_cube.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from pyptoc.dialects.expr import ZERO, Expr
from pyptoc.dialects.pypto.elementwise import CastOp
from pyptoc.dialects.pypto.matmul import EpilogueOp, MatmulOp, MmaOp, Product
from pyptoc.dialects.pypto.shape import AssembleOp, ExpandOp, FullOp, ViewOp
from pyptoc.dialects.pypto.unary import ReluOp
from pyptoc.dialects.record import record
from pyptoc.passes.task_builder import (
    SINGLE,
    BodyBuilder,
    Extent,
    bounded_type,
    cut,
)
from pyptoc.passes.tile_cube import TRANSPOSES, has_epilogue
from pyptoc.passes.tile_settings import TILE
from pyptoc.passes.typed import constant, element_type, tensor_rank

if TYPE_CHECKING:
    from pyptoc.passes.tile_nest import NestTiler


@record(frozen=False)
class ProductTiler:
    """A product on whole tiles: for each piece of columns a sum over K."""

    nest: NestTiler
    op: Product
    body: BodyBuilder

    def run(self) -> None:
        """Emit the product; store it, or leave it as the tile of its value."""
        result = self.op.result
        stores = (
            [u.operation for u in result.uses]
            if self.op in self.nest.body.drained
            else []
        )
        tiles: list[SSAValue] = []
        kept = self.nest.body.sums.products.get(self.op)
        starts = [] if kept is None else self.nest.tiles[kept.argument]
        for columns, start in zip_longest(self.nest.pieces(result), starts):
            tile = self._tile(columns, start)
            for store in stores:
                assert isinstance(store, AssembleOp)
                self.nest.store(store, tile, columns, self.body)
            tiles.append(tile)
        self.nest.tiles[result] = tiles

    def _tile(self, columns: Extent, start: SSAValue | None) -> SSAValue:
        """A piece of the result, on top of what a loop carries, if it does."""
        op = self.op
        if isinstance(op, MatmulOp):
            return self._finish(op, self._sum(op, columns, start), columns)
        product = self.nest.scaled[op]
        product.open()
        batch = [SINGLE] * (tensor_rank(op.result) - 2)
        rows = self.nest.rows(op.result)
        return product.run(self.body, [*batch, rows, columns, product.depth])

    def _sum(self, op: MatmulOp, columns: Extent, start: SSAValue | None) -> SSAValue:
        total = self._start(op, columns) if start is None else start
        for part in self._depth():
            total = self._part(total, self.nest.rows(op.result), columns, part)
        return total

    def _start(self, op: MatmulOp, columns: Extent) -> SSAValue:
        """Zeros, or the bias."""
        nest, body = self.nest, self.body
        accumulator = nest.body.contraction(op).accumulator
        rows = nest.rows(op.result)
        type_ = bounded_type([rows, columns], accumulator)
        sizes = [body.index(rows.size), body.index(columns.size)]
        if op.bias is None:
            zeros = constant(0, accumulator)
            return body.build.value(FullOp.make(zeros, sizes, result_type=type_))
        row = body.tile(op.bias, [columns])
        return body.build.value(ExpandOp.make(row, sizes, result_type=type_))

    def _depth(self) -> list[Extent]:
        """K, in the pieces of an operand that lies in pieces along it."""
        nest, op = self.nest, self.op
        for value, along_rows in (
            (op.lhs, op.a_trans is not None),
            (op.rhs, op.b_trans is None),
        ):
            if nest.body.is_tile(value) and not along_rows:
                found = nest.pieces(value)
                if len(found) > 1:
                    return found
        most = nest.body.contraction(op).k
        bound = 0 if most is None else max(most, 1)
        return [Extent(ZERO, nest.shapes.space(op)[-1], bound)]

    def _part(
        self, total: SSAValue, rows: Extent, columns: Extent, part: Extent
    ) -> SSAValue:
        """Add the products along one piece of K, kL1 at a time where it is loaded."""
        op, body = self.op, self.body
        step = self.nest.products[op].k1
        if part.bound:
            step = min(step, part.bound)
        at_once = part.size.is_const and 0 < part.size.value <= step
        if at_once or (part.bound and all(map(self._is_near, (op.lhs, op.rhs)))):
            whole = Extent(ZERO, part.size, part.bound)
            return self._mma(body, total, (rows, columns, part), whole)
        loop, inner = body.loop(ZERO, part.size, step, [total], name="k")
        counter, carried = loop.body.block.args
        within = cut(Expr.sym(counter), step, part.size)
        made = self._mma(inner, carried, (rows, columns, part), within)
        inner.build.yield_(made)
        return loop.results[0]

    def _is_near(self, value: SSAValue) -> bool:
        """Whether nothing of an operand is to be loaded for a product."""
        return value in self.nest.kept or self.nest.body.is_tile(value)

    def _mma(
        self,
        body: BodyBuilder,
        acc: SSAValue,
        places: tuple[Extent, Extent, Extent],
        within: Extent,
    ) -> SSAValue:
        """Add the product of one step, which lies `within` a piece of K."""
        op = self.op
        rows, columns, part = places
        lhs = self._operand(body, op.lhs, op.a_trans is not None, rows, part, within)
        rhs = self._operand(body, op.rhs, op.b_trans is None, columns, part, within)
        flags: dict[str, Any] = {
            name: op.properties[name] for name in TRANSPOSES if name in op.properties
        }
        mma = MmaOp.make(acc, lhs, rhs, result_type=acc.type, **flags)
        mma.attributes[TILE] = op.attributes[TILE]
        return body.build.value(mma)

    def _operand(
        self,
        body: BodyBuilder,
        value: SSAValue,
        k_is_row: bool,
        side: Extent,
        part: Extent,
        within: Extent,
    ) -> SSAValue:
        """A tile of an operand: of memory, or of a tile."""
        nest = self.nest
        deep = Extent(part.lo + within.lo, within.size, within.bound)
        box = [deep, side] if k_is_row else [side, deep]
        if value in nest.kept:
            return self._cut(body, nest.kept_tiles[value], box)
        if not nest.body.is_tile(value):
            rank = len(nest.shapes.dims(value))
            return body.tile(value, [SINGLE] * (rank - 2) + box)
        pieces = nest.pieces(value)
        index = 0
        if len(pieces) > 1:
            along = side if k_is_row else part
            index = next(i for i, one in enumerate(pieces) if one.lo == along.lo)
            inside = Extent(ZERO if k_is_row else within.lo, box[1].size, box[1].bound)
            box[1] = inside
        return self._cut(body, nest.tiles[value][index], box)

    def _cut(
        self, body: BodyBuilder, tile: SSAValue, box: Sequence[Extent]
    ) -> SSAValue:
        """A box of a tile, or all of it."""
        dims = self.nest.shapes.dims(tile)
        if all(e.lo == ZERO and e.size == d for e, d in zip(box, dims, strict=True)):
            return tile
        subscripts = [(body.index(e.lo), body.index(e.size)) for e in box]
        type_ = bounded_type(box, element_type(tile))
        return body.build.value(ViewOp.make(tile, subscripts, result_type=type_))

    def _finish(self, op: MatmulOp, total: SSAValue, columns: Extent) -> SSAValue:
        """The epilogue, or the cast to the type of the result."""
        build = self.body.build
        wanted = element_type(op.result)
        if op.relu is not None and op not in self.nest.body.drained:
            total = build.value(ReluOp.make(total))
        elif has_epilogue(op):
            scale = [] if op.scale is None else [self.body.tile(op.scale, [columns])]
            relu = op.relu is not None
            return build.value(EpilogueOp.make(total, *scale, target=wanted, relu=relu))
        if wanted != element_type(total):
            return build.value(CastOp.make(total, wanted))
        return total
