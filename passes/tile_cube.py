"""
One matmul becomes one `npu.tasks`: a task an output tile, a loop over K in each.

    %y = pypto.matmul %a, %b          [M, K] @ [K, N], tile m1 = 128, n1 = 256, k1 = 256
    ->
    %y = npu.tasks (%i, %j) in (M ceildiv 128, N ceildiv 256) outs(%o = %y0) on cube {
      %zero = pypto.full 0.0[%m, %n]
      %acc = scf.for %k = 0 to K step 256 iter_args(%c = %zero) {
        %at = pypto.view %a[128 * %i +: %m, %k +: %kn]
        %bt = pypto.view %b[%k +: %kn, 256 * %j +: %n]
        %c1 = pypto.mma %c, %at, %bt
        scf.yield %c1
      }
      npu.assemble %acc into %o[128 * %i, 256 * %j]
    }

Batch dimensions are grid axes. An L1 tile larger than the L0 tile becomes loops over
L0 tiles inside the task. Scales [.., K/64, 2] are read as [.., 2 * K/64]: two scales of
64 elements lie side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import (
    TensorType,
)
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.elementwise import CastOp
from pyptoc.dialects.pypto.matmul import EpilogueOp, MatmulOp, MmaOp, ScaledMmOp
from pyptoc.dialects.pypto.shape import AssembleOp, FullOp, ReshapeOp
from pyptoc.dialects.subscripts import DYNAMIC
from pyptoc.passes.builder import Builder
from pyptoc.passes.cube_tiles import MX_BLOCK, CubeTile
from pyptoc.passes.groups import Group
from pyptoc.passes.matmul_shape import MatmulShape, contraction_of, matmul_shape
from pyptoc.passes.nests import Nest
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.task_builder import (
    ZERO,
    BodyBuilder,
    Extent,
    Roots,
    TasksFrame,
    bounded_type,
    box_of,
    cut,
    empty_like,
    offsets_at,
    open_tasks,
)
from pyptoc.passes.tile_settings import TILE
from pyptoc.passes.typed import constant, element_type
from pyptoc.passes.windows import Window, window_of

TRANSPOSES = ("a_trans", "b_trans", "scales_a_trans", "scales_b_trans")


Product = MatmulOp | ScaledMmOp


@dataclass
class Accumulation:
    """Emits the loop over K that makes one output tile of a matmul."""

    op: Product
    tile: CubeTile
    shapes: Shapes
    build: Builder
    """Before the tasks: where scales are flattened."""
    roots: Roots

    def __post_init__(self) -> None:
        self.flat = list(map(self._flatten, self._scales()))
        self.windows: list[Window] = []

    def open(self) -> None:
        """Look through views, once the loops around are bound to the grid."""
        self.windows = list(map(self._flat_window, self._scales(), self.flat))

    def _scales(self) -> list[SSAValue]:
        if not isinstance(self.op, ScaledMmOp):
            return []
        return [self.op.scale_lhs, self.op.scale_rhs]

    def _flatten(self, scale: SSAValue) -> SSAValue:
        """The tensor behind `scale` with its last two dimensions made one."""
        base = window_of(scale, self.shapes).base
        dims = self.shapes.dims(base)
        flat = [*dims[:-2], dims[-2] * dims[-1]]
        sizes = [self.build.index_or_int(self.roots.concrete(dim)) for dim in flat]
        shape = [size if isinstance(size, int) else DYNAMIC for size in sizes]
        type_ = TensorType(element_type(base), shape)
        reshape = ReshapeOp.make(base, sizes, result_type=type_)
        return self.build.value(reshape, base.name_hint)

    def _flat_window(self, scale: SSAValue, flat: SSAValue) -> Window:
        """The window of `scale` in the flattened tensor."""
        window = window_of(scale, self.shapes)
        pair = self.shapes.dims(window.base)[-1]
        offset = window.offsets[-2] * pair + window.offsets[-1]
        return Window(flat, (*window.offsets[:-2], offset), window.dims[:-1])

    def run(self, body: BodyBuilder, places: list[Extent]) -> SSAValue:
        """The loop over K for one output tile, at `places` along the other axes."""
        accumulator = contraction_of(self.op, self.shapes).accumulator
        m, n = places[-2:]
        type_ = bounded_type([m, n], accumulator)
        zero = constant(0, accumulator)
        sizes = [body.index(m.size), body.index(n.size)]
        initial = body.build.value(FullOp.make(zero, sizes, result_type=type_))
        total = matmul_shape(self.op, self.shapes).k
        loop, inner = body.loop(ZERO, total, self.tile.k1, [initial], name="k")
        carried = loop.body.block.args[1]
        k = cut(Expr.sym(loop.body.block.args[0]), self.tile.k1, total)
        operands = self._operand_tiles(inner, [*places, k])
        inner.build.yield_(inner.build.value(self._mma(carried, operands)))
        result: SSAValue = loop.results[0]
        wanted = element_type(self.op.results[0])
        if isinstance(self.op, MatmulOp) and has_epilogue(self.op):
            scale = [] if self.op.scale is None else [body.tile(self.op.scale, [n])]
            relu = self.op.relu is not None
            last = EpilogueOp.make(result, *scale, target=wanted, relu=relu)
            return body.build.value(last)
        if wanted != accumulator:
            result = body.build.value(CastOp.make(result, wanted))
        return result

    def _mma(self, carried: SSAValue, operands: list[SSAValue]) -> MmaOp:
        flags: dict[str, Any] = {
            name: self.op.properties[name]
            for name in TRANSPOSES
            if name in self.op.properties
        }
        return MmaOp.make(carried, *operands, result_type=carried.type, **flags)

    def _operand_tiles(self, body: BodyBuilder, places: list[Extent]) -> list[SSAValue]:
        """The tiles of both matrices and of their scales."""
        k = places[-1]
        blocks = Extent(
            k.lo.floordiv(MX_BLOCK),
            k.size.ceildiv(MX_BLOCK),
            -(-k.bound // MX_BLOCK),
        )
        left, right, *scaled = self.op.structure().reads
        tiles = [body.tile(a.value, box_of(a, places)) for a in (left, right)]
        # An output scale is for the whole sum: no part of a step.
        scaled = scaled if self.windows else []
        for window, access in zip(self.windows, scaled, strict=True):
            *box, last, _ = box_of(access, places, whole=blocks)
            tiles.append(body.tile_of(window, [*box, doubled(last)]))
        return tiles


@dataclass
class CubeTiler:
    """Tiles one matmul, with the assemble that stores it if there is one."""

    group: Group
    shapes: Shapes
    roots: Roots
    build: Builder
    nest: Nest = field(default_factory=Nest)
    op: MatmulOp | ScaledMmOp = field(init=False)

    def __post_init__(self) -> None:
        op = self.group.ops[0]
        assert isinstance(op, MatmulOp | ScaledMmOp)
        self.op = op
        self.nest.bind_single_trips(self.shapes)
        self.shape: MatmulShape = matmul_shape(op, self.shapes)
        tile = op.attributes[TILE]
        assert isinstance(tile, CubeTileAttr)
        self.attribute, self.tile = tile, CubeTile.of(tile)

    def run(self) -> TasksFrame:
        """Emit the tasks and replace what the group computed."""
        stored = self.group.ops[-1]
        result = stored.results[0]
        outside = self.nest.outside
        grid = [
            *self.nest.trips(self.shapes),
            *map(outside, self.shape.batch),
            outside(self.shape.m).ceildiv(self.tile.m1),
            outside(self.shape.n).ceildiv(self.tile.n1),
        ]
        destination = self._destination(stored)
        product = Accumulation(self.op, self.tile, self.shapes, self.build, self.roots)
        frame = open_tasks(
            self.build, self.shapes, self.roots, grid, [destination], Unit.CUBE
        )
        frame.op.attributes[TILE] = self.attribute
        self.nest.bind(self.shapes, frame.grid)
        self.shape = matmul_shape(self.op, self.shapes)
        product.open()
        self._body(frame, product, self._base(stored))
        if self.nest.loops:
            assert isinstance(stored, AssembleOp)
            result = self.nest.result(stored.dest)
        frame.op.results[0].name_hint = result.name_hint
        result.replace_all_uses_with(frame.op.results[0])
        return frame

    def _base(self, stored: Operation) -> Dims:
        """The offsets of the result in its destination."""
        if isinstance(stored, AssembleOp):
            return tuple(self.shapes.mixed(offset) for offset in stored.mixed_offsets)
        return (ZERO,) * len(self.shapes.dims(self.op.results[0]))

    def _destination(self, stored: Operation) -> SSAValue:
        """Where the result goes."""
        if isinstance(stored, AssembleOp):
            return self.nest.initial(stored.dest)
        result = self.op.results[0]
        return empty_like(result, self.build, self.shapes, self.roots)

    # -- the body of a task

    def _body(self, frame: TasksFrame, product: Accumulation, base: Dims) -> None:
        tile, shape = self.tile, self.shape
        row, column = frame.grid[-2:]
        clamp = bool(self.nest.loops)
        m1 = cut(row * tile.m1, tile.m1, shape.m, clamp=clamp)
        n1 = cut(column * tile.n1, tile.n1, shape.n, clamp=clamp)
        body = frame.body
        loops: list[BodyBuilder] = []
        m0, n0 = m1, n1
        if tile.m1 > tile.m0:
            body, m0 = self._inner(body, m1, tile.m0, loops)
        if tile.n1 > tile.n0:
            body, n0 = self._inner(body, n1, tile.n0, loops)
        batch = [
            Extent(i, Expr.const(1), 1) for i in frame.grid[len(self.nest.loops) : -2]
        ]
        result = product.run(body, [*batch, m0, n0])
        offsets = offsets_at([*batch, m0, n0], base)
        body.assemble(result, frame.outs[0], offsets)
        for nested in loops:
            nested.build.yield_()

    def _inner(
        self, body: BodyBuilder, outer: Extent, step: int, loops: list[BodyBuilder]
    ) -> tuple[BodyBuilder, Extent]:
        """A loop over the L0 tiles of an L1 tile."""
        loop, inner = body.loop(ZERO, outer.size, step)
        loops.append(inner)
        within = cut(Expr.sym(loop.body.block.args[0]), step, outer.size)
        return inner, Extent(outer.lo + within.lo, within.size, within.bound)


def has_epilogue(op: MatmulOp) -> bool:
    """Whether the result is scaled or cut off at 0 while it is stored."""
    return op.scale is not None or op.relu is not None


def doubled(extent: Extent) -> Extent:
    """Two scales for each block: the extent in elements of the flattened dimension."""
    return Extent(extent.lo * 2, extent.size * 2, extent.bound * 2)
