"""
Give every group the tile that its tasks will have (`npu.tile` on its ops).

A tile the user wrote is checked against the machine and kept (clamped to the tensor);
the nearest one counts: on the op, on a loop around it, on the function, on the module.
Without one, the tile is chosen that the machine's cost model says is fastest
(`tile_search.py`), with a split of K and a walk.

    %y = pypto.matmul %a, %b {npu.group = 0, tile = #pypto.cube<.., split_k>}
    ->
    %y = pypto.matmul %a, %b {npu.group = 0,
             npu.tile = #pypto.cube<m = [16, 16], .., split_k = 2>, tile = ..}

A bare `split_k` becomes the factor that is fastest, which may be 1; without a walk in
the tile the model chooses one (`row` is not written). Vector groups get
`#pypto.vec<rows, columns>`, no larger than a given tile: where whole rows do not fit
UB, the tile pass visits them in phases of `columns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import ClassVar, NoReturn

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp, StringAttr, f32, i32
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.attrs import CubeTileAttr, TilesAttr, VecTileAttr
from pyptoc.dialects.pypto.matmul import MatmulOp, ScaledMmOp
from pyptoc.dialects.pypto.shape import ViewOp
from pyptoc.dialects.pypto.tiles import check_cube_tile
from pyptoc.dialects.record import record
from pyptoc.dialects.walk import ROW
from pyptoc.passes import cube_tiles, index_tiles, tile_candidates
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.cube_cost import CubeWork
from pyptoc.passes.cube_tiles import Contraction, CubeTile
from pyptoc.passes.form_tasks import is_parallel, obstacle, perfect_nest
from pyptoc.passes.groups import (
    PARTIAL,
    UNIT,
    Domain,
    Group,
    blocks_of,
    domain_of,
    groups_in,
)
from pyptoc.passes.matmul_shape import contraction_of, matmul_shape
from pyptoc.passes.mixed_tiles import MixedChooser, results_of, split_units
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import defined_in
from pyptoc.passes.support import check_product
from pyptoc.passes.tile_search import Ranking, representative, search
from pyptoc.passes.tile_settings import TILE, nearest_tile
from pyptoc.passes.typed import element_type, tensor_rank
from pyptoc.passes.vector_tiles import VectorChooser, VectorTile
from pyptoc.runtime.machine import Machine


class InferTilesPass(PyptocPass):
    """Check the given tiles, choose the others."""

    name = "infer-tiles"
    summary: ClassVar[str] = (
        "check the tiles that were given, choose the others by the machine's costs"
    )

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        memory = Searches()
        for function in module.walk():
            if isinstance(function, func.FuncOp):
                shapes = Shapes()
                for group in in_order(function):
                    TileInference(ctx, group, shapes, memory).run()


def in_order(function: func.FuncOp) -> list[Group]:
    """The groups of a function: those that others' tiles depend on come first."""
    groups = [group for block in blocks_of(function) for group in groups_in(block)]

    def rank(group: Group) -> int:
        if group.unit in ("cube", "mixed"):
            return 0
        return 1 if any(PARTIAL in op.attributes for op in group.ops) else 2

    return sorted(groups, key=rank)


class Searches:
    """Searches of one module: equal matmuls have equal tiles."""

    def __init__(self) -> None:
        self.known: dict[tuple[CubeWork, CubeTile | None], Ranking] = {}

    def search(
        self, product: CubeWork, machine: Machine, given: CubeTile | None
    ) -> Ranking:
        """As `tile_search.search`, once for the same arguments."""
        key = (product, given)
        if key not in self.known:
            self.known[key] = search(product, machine, given)
        return self.known[key]


@record
class TileInference:
    """Decides the tile of one group."""

    context: PyptocContext
    group: Group
    shapes: Shapes
    memory: Searches

    @property
    def machine(self) -> Machine:
        return self.context.machine

    def run(self) -> None:
        """Attach `npu.tile` to each op of the group."""
        match self.group.unit:
            case "mixed":
                self._mixed()
                return
            case "cube":
                tile = self._cube()
            case "index":
                tile = self._index()
            case _:
                tile = self._vector()
        for op in self.group.ops:
            op.attributes[TILE] = tile

    def _cube(self) -> CubeTileAttr:
        op = self.group.ops[0]
        assert isinstance(op, MatmulOp | ScaledMmOp)
        check_product(op, self.machine)
        product = product_of(self.group, self.shapes)
        attribute = nearest_tile(op, CubeTileAttr, lambda tiles: tiles.cube)
        given = None
        if attribute is not None:
            check_cube_tile(attribute, op)
            c = product.contraction
            given = CubeTile.of(attribute).clamped(c)
            cube_tiles.check_fits(given, c, self.machine, op)
            self._remark_single(given, c, op)
        ranking = self.memory.search(product, self.machine, given)
        tile = ranking.best
        if given is not None:
            tile = replace(tile, assign=given.assign, atomic=given.atomic)
            if given.split > 1:
                steps = -(-max(product.k, 1) // given.k_step)
                known = product.contraction.k is not None
                factor = min(given.split, steps) if known else given.split
                tile = replace(tile, split=factor)
        chosen = tile_candidates.Chosen(ranking, tile, given)
        self.context.remark(op, chosen.remark())
        if self.context.candidates is not None:
            self.context.candidates.append(chosen.table(op, self.group.tag))
        if tile.walk == ROW and (given is None or given.walk is None):
            tile = replace(tile, walk=None)
        return tile.attribute()

    def _mixed(self) -> None:
        """One tile for all of the group; partition has seen that there is one."""
        products, part = split_units(self.group)
        bases = results_of(products)
        tile = MixedChooser(bases, part, self.shapes, self.machine).choose()
        assert tile is not None
        for op in products:
            op.attributes[TILE] = tile.attribute()
            self._remark_given(op, tile)
        for op in part.ops:
            op.attributes[TILE] = VecTileAttr([tile.m0, tile.n0])

    def _remark_given(self, op: Operation, tile: CubeTile) -> None:
        """Say so where a given tile was an upper bound only."""
        given = nearest_tile(op, CubeTileAttr, lambda tiles: tiles.cube)
        if given is not None and (tile.m0, tile.n0) < (given.m[1], given.n[1]):
            self.context.remark(
                op,
                f"the cube tile {list(given.m)} x {list(given.n)} became "
                f"{tile.m0} x {tile.n0}: vector cores read it from L0C, all that they "
                "read is live at once",
            )

    def _remark_single(self, tile: CubeTile, c: Contraction, op: Operation) -> None:
        for need in cube_tiles.needs(tile, c):
            if need.space != "l0c" and (
                2 * need.bytes > self.machine.space(need.space).bytes
            ):
                self.context.remark(
                    op,
                    f"the tile fits {need.space.upper()} only once: no double "
                    f"buffering ({need.bytes} B of "
                    f"{self.machine.space(need.space).bytes})",
                )

    def _vector(self) -> VecTileAttr:
        domain = domain_of(self.group.ops, self.shapes)
        assert domain is not None
        trips = trips_of(grid_loops(self.group), self.shapes)
        chooser = VectorChooser(self.group, domain, self.shapes, self.machine, trips)
        given = self._given_vector(domain.rank)
        found = chooser.candidates(given)
        if not found:
            self._no_vector_tile(chooser)
        tile = found[0].tile
        self._remark_smaller(given, tile, domain)
        if self.context.candidates is not None:
            table = tile_candidates.vector_table(chooser, found, given is not None)
            self.context.candidates.append(table)
        return VecTileAttr([tile.rows, tile.columns])

    def _index(self) -> VecTileAttr:
        op = self.group.ops[0]
        given = self._given_vector(tensor_rank(index_tiles.tiled_value(op)))
        tile = index_tiles.choose(op, self.shapes, self.machine, given)
        if tile is None:
            capacity = self.machine.space("ub").bytes
            error(
                op,
                "PTO217",
                f"no vector tile of {op.name} fits UB of {self.machine.name}",
                rule=f"one row, with its indices, fits UB, {capacity} B",
            )
        if self.context.candidates is not None:
            text = tile_candidates.index_text(self.group, tile, self.machine.name)
            self.context.candidates.append(text)
        return VecTileAttr([tile.rows, tile.columns])

    def _remark_smaller(
        self, given: tuple[int, ...] | None, tile: VectorTile, domain: Domain
    ) -> None:
        """Say so where a given tile was an upper bound only."""
        if not given:
            return
        asked = (1, *given)[-2:]
        sizes = (domain.rows or Expr.const(1), domain.columns)
        for got, most, size in zip(
            (tile.rows, tile.columns), asked, sizes, strict=True
        ):
            whole = size.is_const and got >= size.value
            if got < most and not whole:
                self.context.remark(
                    self.group.ops[0],
                    f"the vec tile {list(given)} became [{tile.rows}, {tile.columns}]: "
                    "what is live at once must fit UB",
                )
                return

    def _given_vector(self, rank: int) -> tuple[int, ...] | None:
        """The nearest vector tile, aligned with the trailing dimensions."""
        for op in self.group.ops:
            own = op.attributes.get("tile")
            if isinstance(own, VecTileAttr):
                if len(own.sizes) > rank:
                    self._surplus(op, own, rank)
                return own.sizes
        first = self.group.ops[0]
        default = nearest_tile(first, VecTileAttr, vec_default)
        return None if default is None else default.sizes[-rank:]

    def _surplus(self, op: Operation, tile: VecTileAttr, rank: int) -> None:
        error(
            op,
            "PTO215",
            f"a vector tile of {len(tile.sizes)} sizes on an op of rank {rank}",
            rule="a vec tile aligns with the trailing dimensions of the result",
            help=f"#pypto.vec<{', '.join(map(str, tile.sizes[-rank:]))}>",
        )

    def _no_vector_tile(self, chooser: VectorChooser) -> NoReturn:
        op = self.group.ops[0]
        unit = chooser.column_unit
        capacity = self.machine.space("ub").bytes
        need = chooser.peak(1, unit, phased=False)
        error(
            op,
            "PTO217",
            f"no vector tile fits UB of {self.machine.name}",
            rule=f"what is live at once fits UB, {capacity} B",
            here=f"{len(self.group.ops)} ops keep {need} B live with one row of "
            f"{unit} columns",
            help="store an intermediate value (pypto.clone) to cut the group",
        )


def vec_default(tiles: TilesAttr) -> VecTileAttr | None:
    """The default vector tile as an attribute."""
    return None if tiles.vec is None else VecTileAttr(tiles.vec)


def product_of(group: Group, shapes: Shapes) -> CubeWork:
    """The matmul of a group as its cost depends on it."""
    op = group.ops[0]
    assert isinstance(op, MatmulOp | ScaledMmOp)
    shape = matmul_shape(op, shapes)
    result = element_type(op.results[0])
    loops = grid_loops(group)
    inside = bool(loops) and defined_in(op.rhs, loops[0])
    # Parts are added before anything is done to the sum, in a tensor of their own.
    extras = (getattr(op, name, None) for name in ("bias", "scale", "relu"))
    alone = len(group.ops) == 1 and all(extra is None for extra in extras)
    return CubeWork(
        contraction_of(op, shapes),
        representative(shape.m),
        representative(shape.n),
        representative(shape.k),
        prod(map(representative, shape.batch)) * trips_of(loops, shapes),
        result,
        shared_rhs=tensor_rank(op.rhs) == 2 and not inside,
        may_split=alone and result in (f32, i32),
        summed_by_reader=read_by_vectors(op.results[0]),
    )


def grid_loops(group: Group) -> list[scf.ForOp]:
    """The loops around a group that form-tasks will make axes of its grid."""
    around: list[scf.ForOp] = []
    loop = group.ops[0].parent_op()
    while isinstance(loop, scf.ForOp) and is_parallel(loop):
        around.insert(0, loop)
        loop = loop.parent_op()
    for start in range(len(around)):
        nest = perfect_nest(around[start])
        if nest[-1] is around[-1] and obstacle(nest) is None:
            return nest
    return []


def trips_of(loops: Sequence[scf.ForOp], shapes: Shapes) -> int:
    """How often the body of a nest of loops runs, by `representative` sizes."""
    trips = 1
    for loop in loops:
        step = representative(shapes.expr(loop.step))
        trips *= -(-representative(shapes.expr(loop.ub) - shapes.expr(loop.lb)) // step)
    return trips


def read_by_vectors(value: SSAValue) -> bool:
    """Whether only vector tasks read `value`, perhaps parts of it."""
    users = [use.operation for use in value.uses]
    return bool(users) and all(
        read_by_vectors(user.results[0])
        if isinstance(user, ViewOp)
        else user.attributes.get(UNIT) == _VECTOR
        for user in users
    )


_VECTOR = StringAttr("vector")
