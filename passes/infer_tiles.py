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

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NoReturn

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.error_list import ErrorList
from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.attrs import CubeTileAttr, VecTileAttr
from pyptoc.dialects.pypto.matmul import Product
from pyptoc.dialects.record import record
from pyptoc.dialects.related import with_tile
from pyptoc.dialects.walk import ROW
from pyptoc.dialects.words import counted
from pyptoc.passes import cube_tiles, tile_candidates
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.choices import Choices, given_sizes
from pyptoc.passes.cube_tiles import Contraction, CubeTile
from pyptoc.passes.group_work import grid_loops, trips_of
from pyptoc.passes.groups import PARTIAL, Domain, Group, blocks_of, groups_in
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.support import check_product
from pyptoc.passes.tile_settings import TILE, nearest_tile
from pyptoc.passes.typed import tensor_rank
from pyptoc.runtime.machine import Machine

if TYPE_CHECKING:
    from pyptoc.passes.vector_tiles import Candidate, VectorChooser


class InferTilesPass(PyptocPass):
    """Check the given tiles, choose the others."""

    name = "infer-tiles"
    anchor: ClassVar[str] = "func.func"
    summary: ClassVar[str] = (
        "check the tiles that were given, choose the others by the machine's costs"
    )
    counters: ClassVar[Mapping[str, str]] = {
        "tiles": "groups that got a tile",
    }

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        errors = ErrorList()
        for function in module.walk():
            if isinstance(function, func.FuncOp):
                shapes = Shapes()
                for group in in_order(function):
                    with errors.kept():
                        TileInference(ctx, group, shapes).run()
                        ctx.count("tiles")
        errors.found = [with_tile(each, ctx.tiles) for each in errors.found]
        errors.check()


def in_order(function: func.FuncOp) -> list[Group]:
    """The groups of a function: those that others' tiles depend on come first."""
    groups = [group for block in blocks_of(function) for group in groups_in(block)]

    def rank(group: Group) -> int:
        if group.unit in ("cube", "mixed"):
            return 0
        return 1 if any(PARTIAL in op.attributes for op in group.ops) else 2

    return sorted(groups, key=rank)


@record
class TileInference:
    """Decides the tile of one group."""

    context: PyptocContext
    group: Group
    shapes: Shapes

    @property
    def machine(self) -> Machine:
        return self.context.machine

    @property
    def choices(self) -> Choices:
        return Choices(self.context, self.shapes)

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
        assert isinstance(op, Product)
        check_product(op, self.machine)
        chosen = self.choices.cube(self.group.ops, grid_loops(op))
        tile, given = chosen.tile, chosen.given
        if given is not None:
            self._remark_single(given, chosen.ranking.product.contraction, op)
        self.context.remark(op, chosen.remark(), "PTO324")
        if self.context.candidates is not None:
            self.context.candidates.append(chosen.table(op, self.group.tag))
        if tile.walk == ROW and (given is None or given.walk is None):
            tile = replace(tile, walk=None)
        return tile.attribute()

    def _mixed(self) -> None:
        """One tile for all of the group; partition has seen that there is one."""
        from pyptoc.passes.mixed_tiles import MixedChooser, results_of, split_units

        products, part = split_units(self.group)
        trips = trips_of(grid_loops(self.group.ops[0]), self.shapes)
        bases = results_of(products)
        chooser = MixedChooser(bases, part, self.shapes, self.machine, trips)
        best = chooser.best
        assert best is not None
        tile = best.tile
        self.context.remark(
            products[0], tile_candidates.mixed_remark(chooser), "PTO324"
        )
        if self.context.candidates is not None:
            table = tile_candidates.mixed_table(self.group, chooser)
            self.context.candidates.append(table)
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
                "PTO325",
            )
        if given is not None and given.walk is not None:
            self.context.remark(
                op,
                f"the walk '{given.walk}' is not used: tasks that vector ops share are "
                "walked by rows",
                "PTO325",
            )
        if given is not None and given.split_k not in (0, 1):
            self.context.remark(
                op, "K is not split: its sums are read on chip", "PTO327"
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
                    "PTO326",
                )

    def _vector(self) -> VecTileAttr:
        chooser = self.choices.chooser(self.group, grid_loops(self.group.ops[0]))
        given = self._given_vector(chooser.domain.rank)
        found = chooser.candidates(given)
        if not found:
            self._no_vector_tile(chooser)
        tile = found[0].tile
        self._remark_smaller(given, found, chooser.domain)
        if self.context.candidates is not None:
            table = tile_candidates.vector_table(chooser, found, given is not None)
            self.context.candidates.append(table)
        return VecTileAttr([tile.rows, tile.columns])

    def _index(self) -> VecTileAttr:
        from pyptoc.passes import index_tiles

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
        self, given: tuple[int, ...] | None, found: Sequence[Candidate], domain: Domain
    ) -> None:
        """Say so where a given tile was an upper bound only."""
        if not given:
            return
        tile, asked = found[0].tile, (1, *given)[-2:]
        sizes = (domain.rows or Expr.const(1), domain.columns)
        for got, most, size in zip(
            (tile.rows, tile.columns), asked, sizes, strict=True
        ):
            whole = size.is_const and got >= size.value
            if got < most and not whole:
                larger = [c.cost.seconds for c in found if c.tile.rows == asked[0]]
                reason = "what is live at once must fit UB"
                if larger:
                    from pyptoc.passes.compared import Compared

                    reason = str(Compared([found[0].cost.seconds], larger))
                self.context.remark(
                    self.group.ops[0],
                    f"the vec tile {list(given)} became [{tile.rows}, {tile.columns}]: "
                    f"{reason}",
                    "PTO325",
                )
                return

    def _given_vector(self, rank: int) -> tuple[int, ...] | None:
        """The nearest vector tile, aligned with the trailing dimensions."""
        for op in self.group.ops:
            own = op.attributes.get("tile")
            if isinstance(own, VecTileAttr) and len(own.sizes) > rank:
                self._surplus(op, own, rank)
        return given_sizes(self.group.ops, rank)

    def _surplus(self, op: Operation, tile: VecTileAttr, rank: int) -> None:
        error(
            op,
            "PTO215",
            f"a vector tile of {counted(len(tile.sizes), 'size')} on an op of "
            f"rank {rank}",
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
            here=f"{need} B are live in {counted(len(self.group.ops), 'op')} with "
            f"one row of {counted(unit, 'column')}",
            help="store an intermediate value (pypto.clone) to cut the group",
        )
