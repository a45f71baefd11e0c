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
L0 tiles inside the task. Where A and B come to L1 in different steps of K, there is a
loop for each, the longer steps outside; what holds all of K is loaded once for all L0
tiles of the other side. Scales [.., K/64, 2] are read as [.., 2 * K/64]: two scales of
64 elements lie side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

from xdsl.dialects.builtin import (
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from pyptoc.dialects.expr import ZERO, Expr
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.elementwise import CastOp
from pyptoc.dialects.pypto.matmul import EpilogueOp, MatmulOp, MmaOp, ScaledMmOp
from pyptoc.dialects.pypto.shape import AssembleOp, ExpandOp, FullOp, ViewOp
from pyptoc.dialects.pypto.unary import ReluOp
from pyptoc.dialects.record import record
from pyptoc.passes.builder import Builder
from pyptoc.passes.cube_tiles import MX_BLOCK, CubeTile
from pyptoc.passes.groups import Group
from pyptoc.passes.matmul_shape import MatmulShape, contraction_of, matmul_shape
from pyptoc.passes.nests import Nest
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.task_builder import (
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


@record(frozen=False)
class Accumulation:
    """Emits the loops over K that make one output tile of a matmul."""

    op: MatmulOp | ScaledMmOp
    tile: CubeTile
    shapes: Shapes
    build: Builder
    """Before the tasks: where scales are flattened."""
    roots: Roots
    on_chip: bool = False
    """Whether vector ops read the result, and not a store."""
    own_tile: CubeTileAttr | None = None
    """The tile of this product, where it is not that of the whole kernel."""

    def __post_init__(self) -> None:
        self.flat = list(map(self._flatten, self._scales()))
        self.open()

    def open(self) -> None:
        """Look through views again, once the loops around are bound to the grid."""
        windows = list(map(self._flat_window, self._scales(), self.flat))
        self.staging = Staging(self.op, self.shapes, windows)

    @property
    def depth(self) -> Extent:
        """All of K."""
        k = matmul_shape(self.op, self.shapes).k
        return Extent(ZERO, k, k_bound(k))

    def _scales(self) -> list[SSAValue]:
        if not isinstance(self.op, ScaledMmOp):
            return []
        return [self.op.scale_lhs, self.op.scale_rhs]

    def _flatten(self, scale: SSAValue) -> SSAValue:
        """The tensor behind `scale` with its last two dimensions made one."""
        base = window_of(scale, self.shapes).base
        dims = self.shapes.dims(base)
        flat = [*dims[:-2], dims[-2] * dims[-1]]
        return self.build.reshaped(base, [self.roots.concrete(dim) for dim in flat])

    def _flat_window(self, scale: SSAValue, flat: SSAValue) -> Window:
        """The window of `scale` in the flattened tensor."""
        window = window_of(scale, self.shapes)
        pair = self.shapes.dims(window.base)[-1]
        offset = window.offsets[-2] * pair + window.offsets[-1]
        return Window(flat, (*window.offsets[:-2], offset), window.dims[:-1])

    def run(
        self, body: BodyBuilder, places: list[Extent], held: Held | None = None
    ) -> SSAValue:
        """The loops over K for one output tile, at `places` along the axes."""
        body = body.about(self.op)
        accumulator = contraction_of(self.op, self.shapes).accumulator
        m, n = places[-3:-1]
        type_ = bounded_type([m, n], accumulator)
        sizes = [body.index(m.size), body.index(n.size)]
        bias = self.op.bias if isinstance(self.op, MatmulOp) else None
        if bias is None:
            start = FullOp.make(constant(0, accumulator), sizes, result_type=type_)
        else:
            start = ExpandOp.make(body.tile(bias, [n]), sizes, result_type=type_)
        initial = body.build.value(start)
        result = self._k_loops(body, places, held or {}, initial)
        return self._finish(body, result, n)

    def _finish(self, body: BodyBuilder, result: SSAValue, n: Extent) -> SSAValue:
        """What is left to do for the result, on the way to memory or to UB."""
        wanted = element_type(self.op.results[0])
        if isinstance(self.op, MatmulOp) and self.on_chip and self.op.relu is not None:
            result = body.build.value(ReluOp.make(result))
        elif isinstance(self.op, MatmulOp) and has_epilogue(self.op):
            scale = [] if self.op.scale is None else [body.tile(self.op.scale, [n])]
            relu = self.op.relu is not None
            last = EpilogueOp.make(result, *scale, target=wanted, relu=relu)
            return body.build.value(last)
        if wanted != element_type(result):
            result = body.build.value(CastOp.make(result, wanted))
        return result

    def _k_loops(
        self,
        body: BodyBuilder,
        places: list[Extent],
        held: Held,
        acc: SSAValue,
    ) -> SSAValue:
        """A loop for each cadence in which operands come to L1, long steps outside."""
        steps = {s: (self.tile.ka1, self.tile.kb1)[s] for s in (0, 1) if s not in held}
        if not steps:
            operands = self.staging.slices(body, held, places)
            return body.build.value(self._mma(acc, operands))
        step, k = max(steps.values()), places[-1]
        loop, inner = body.loop(ZERO, k.size, step, [acc], name="k")
        within = cut(Expr.sym(loop.body.block.args[0]), step, k.size)
        now = [*places[:-1], Extent(k.lo + within.lo, within.size, within.bound)]
        loaded = dict(held)
        for side, length in steps.items():
            if length == step:
                loaded |= self.staging.load(inner, side, now)
        carried = loop.body.block.args[1]
        result = self._k_loops(inner, now, loaded, carried)
        inner.build.yield_(result)
        return loop.results[0]

    def _mma(self, carried: SSAValue, operands: list[SSAValue]) -> MmaOp:
        flags: dict[str, Any] = {
            name: self.op.properties[name]
            for name in TRANSPOSES
            if name in self.op.properties
        }
        mma = MmaOp.make(carried, *operands, result_type=carried.type, **flags)
        if self.own_tile is not None:
            mma.attributes[TILE] = self.own_tile
        return mma


@record(frozen=False)
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
        frame.op.attributes |= self._schedule(len(grid))
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

    def _schedule(self, rank: int) -> dict[str, Attribute]:
        """How the launch goes through the tiles, which are the last two axes so far."""
        found: dict[str, Attribute] = {}
        walk, assign = self.attribute.walk, self.attribute.assign
        if walk is not None:
            found |= replace(walk, axes=(rank - 2, rank - 1)).attributes()
        if assign is not None:
            found["assign"] = StringAttr(assign)
        return found

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
        batch = [
            Extent(i, Expr.const(1), 1) for i in frame.grid[len(self.nest.loops) : -2]
        ]
        places = [
            *batch,
            cut(row * tile.m1, tile.m1, shape.m, clamp=clamp),
            cut(column * tile.n1, tile.n1, shape.n, clamp=clamp),
            product.depth,
        ]
        body = frame.body
        loops: list[BodyBuilder] = []
        held: Held = {}
        first, second = self._order()
        for side in (first, second):
            step = (tile.m0, tile.n0)[side]
            axis = len(batch) + side
            if (tile.m1, tile.n1)[side] > step:
                body, places[axis] = self._inner(body, places[axis], step, loops)
            if side == first and self._resident(side):
                held |= product.staging.load(body, side, places)
        result = product.run(body, places, held)
        offsets = offsets_at(places[:-1], base)
        body.assemble(result, frame.outs[0], offsets)
        for nested in loops:
            nested.build.yield_()

    def _order(self) -> tuple[int, int]:
        """Which of rows (0, A's) and columns (1, B's) of L0 tiles change last."""
        rows_only = self.tile.m1 > self.tile.m0 and self.tile.n1 == self.tile.n0
        columns_first = self._resident(1) and (rows_only or not self._resident(0))
        return (1, 0) if columns_first else (0, 1)

    def _resident(self, side: int) -> bool:
        """Whether L1 holds all of K of A (0) or B (1) for the other's L0 tiles."""
        tile, k = self.tile, self.shape.k
        inner = (tile.n1 > tile.n0, tile.m1 > tile.m0)[side]
        whole = k.is_const and k.value <= (tile.ka1, tile.kb1)[side]
        return inner and whole and tile.split == 1

    def _inner(
        self, body: BodyBuilder, outer: Extent, step: int, loops: list[BodyBuilder]
    ) -> tuple[BodyBuilder, Extent]:
        """A loop over the L0 tiles of an L1 tile."""
        loop, inner = body.loop(ZERO, outer.size, step)
        loops.append(inner)
        within = cut(Expr.sym(loop.body.block.args[0]), step, outer.size)
        return inner, Extent(outer.lo + within.lo, within.size, within.bound)


@record
class Tile:
    """What L1 holds of one side: the matrix, its scales, and where it lies along K."""

    parts: list[SSAValue]
    k: Extent


Held = dict[int, Tile]
"""A (0) and B (1), as far as they are in L1."""


@record
class Staging:
    """Brings boxes of A, B and their scales to L1, and cuts slices of them."""

    op: MatmulOp | ScaledMmOp
    shapes: Shapes
    scales: list[Window]

    def load(self, body: BodyBuilder, side: int, places: Sequence[Extent]) -> Held:
        """The tiles of a side at `places`, K last."""
        parts = [
            body.tile_of(window, box)
            for window, box in zip(
                self._windows(side), self._boxes(side, places), strict=True
            )
        ]
        return {side: Tile(parts, places[-1])}

    def slices(
        self, body: BodyBuilder, held: Held, places: Sequence[Extent]
    ) -> list[SSAValue]:
        """Both matrices at `places`, then their scales, each cut from what is held."""
        cut_ = [self._cut(body, side, held[side], places) for side in (0, 1)]
        return [part for parts in zip(*cut_, strict=True) for part in parts]

    def _cut(
        self, body: BodyBuilder, side: int, held: Tile, places: Sequence[Extent]
    ) -> list[SSAValue]:
        k = places[-1]
        if k == held.k:
            return held.parts
        local = [Extent(ZERO, place.size, place.bound) for place in places[:-1]]
        local.append(Extent(k.lo - held.k.lo, k.size, k.bound))
        return [
            body.build.value(
                ViewOp.make(
                    part,
                    [(body.index(e.lo), body.index(e.size)) for e in box[-2:]],
                    result_type=bounded_type(box[-2:], element_type(part)),
                )
            )
            for part, box in zip(held.parts, self._boxes(side, local), strict=True)
        ]

    def _windows(self, side: int) -> list[Window]:
        matrix = (self.op.lhs, self.op.rhs)[side]
        return [window_of(matrix, self.shapes), *self.scales[side : side + 1]]

    def _boxes(self, side: int, places: Sequence[Extent]) -> list[list[Extent]]:
        """The boxes of a matrix and of its scales; of these the last two are one."""
        k = places[-1]
        blocks = Extent(
            k.lo.floordiv(MX_BLOCK),
            k.size.ceildiv(MX_BLOCK),
            -(-k.bound // MX_BLOCK),
        )
        reads = self.op.structure().reads
        boxes = [box_of(reads[side], places)]
        if self.scales:
            *box, last, _ = box_of(reads[side + 2], places, whole=blocks)
            boxes.append([*box, doubled(last)])
        return boxes


def k_bound(k: Expr) -> int:
    """The bound of all of K; 0 where it is dynamic, and never in L1 as a whole."""
    return max(k.value, 1) if k.is_const else 0


def has_epilogue(op: MatmulOp) -> bool:
    """Whether the result is scaled or cut off at 0 while it is stored."""
    return op.scale is not None or op.relu is not None


def doubled(extent: Extent) -> Extent:
    """Two scales for each block: the extent in elements of the flattened dimension."""
    return Extent(extent.lo * 2, extent.size * 2, extent.bound * 2)
