"""
One indexing op becomes one `npu.tasks` that gathers, scatters, or puts in order.
What it makes is stored where the group's `assemble`, if there is one, puts it.

    %y = pypto.gather_rows %x at %i              x [R, 512], i [N], tile 64 x 512
    ->
    %y = npu.tasks (%t) in (N ceildiv 64) outs(%o = %y0) on vector {
      %it = pypto.view %i[64 * %t +: %m]
      %b = npu.gather %x[0, 0] of R at %it[64 * %t] [%m, 512] {per = "row", ..}
      npu.assemble %b into %o[64 * %t, 0]
    }

The memory that is gathered from is no tile: the task reaches into all of it. A scatter
keeps the order of its indices, because the last of equal ones wins, or sums round: one
task goes along the indices in a loop, the other dimensions are divided. The bodies of
top-k and argsort are in `tile_selection.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from xdsl.dialects.builtin import (
    IntegerAttr,
    StringAttr,
    UnitAttr,
    i1,
)
from xdsl.ir import Attribute, SSAValue

from pyptoc.dialects.expr import ZERO, Expr
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.npu_indexing import OneHotOp
from pyptoc.dialects.pypto import indexing, scatters
from pyptoc.dialects.pypto.attrs import VecTileAttr
from pyptoc.dialects.pypto.elementwise import OrOp
from pyptoc.dialects.pypto.shape import AssembleOp
from pyptoc.dialects.pypto.structure import Kind
from pyptoc.dialects.record import record
from pyptoc.passes.builder import Builder
from pyptoc.passes.groups import Group
from pyptoc.passes.index_shapes import (
    SCATTERS,
    SELECTIONS,
    Scatter,
)
from pyptoc.passes.index_tiles import indices_at_once, tiled_value
from pyptoc.passes.indexed_box import IndexedBox
from pyptoc.passes.nests import Nest
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import structure_of
from pyptoc.passes.task_builder import (
    SINGLE,
    BodyBuilder,
    Extent,
    Roots,
    TasksFrame,
    bounded_type,
    cut,
    empty_like,
    offsets_at,
    open_tasks,
)
from pyptoc.passes.tile_selection import SelectionBody, full
from pyptoc.passes.tile_settings import TILE


@record(frozen=False)
class IndexTiler:
    """Tiles one indexing op."""

    group: Group
    shapes: Shapes
    roots: Roots
    build: Builder
    nest: Nest = field(default_factory=Nest)

    def __post_init__(self) -> None:
        self.op = self.group.ops[0]
        self.stored = {
            op.source: op for op in self.group.ops if isinstance(op, AssembleOp)
        }
        tile = self.op.attributes[TILE]
        assert isinstance(tile, VecTileAttr)
        assert not self.nest.loops, "form-tasks marks no loop around an indexing op"
        self.steps = tile.sizes
        self.dims = self.shapes.dims(tiled_value(self.op))
        self.looped = self._looped_dims()

    def _looped_dims(self) -> set[int]:
        """The dimensions along which one task goes in a loop."""
        kinds = structure_of(self.op).kinds[: len(self.dims)]
        return {dim for dim, kind in enumerate(kinds) if kind is not Kind.INDEPENDENT}

    def step(self, dim: int) -> int:
        """The size of a tile along a dimension."""
        back = len(self.dims) - dim
        return self.steps[-back] if back <= 2 else 1

    def run(self) -> TasksFrame:
        """Emit the tasks and replace the results of the op by theirs."""
        used = [result for result in self.op.results if result.first_use is not None]
        grid = [
            size.ceildiv(self.step(dim))
            for dim, size in enumerate(self.dims)
            if dim not in self.looped
        ]
        outs = [self._initial(result) for result in used]
        frame = open_tasks(self.build, self.shapes, self.roots, grid, outs, Unit.VECTOR)
        body = Body(self, frame, dict(zip(used, frame.outs, strict=True)))
        body.run()
        for old, new in zip(used, frame.op.results, strict=True):
            stored = self.stored.get(old)
            value = old if stored is None else stored.results[0]
            new.name_hint = value.name_hint
            value.replace_all_uses_with(new)
        return frame

    def offsets(self, result: SSAValue, extents: Sequence[Extent]) -> list[Expr]:
        """Where a tile of a result goes in its destination."""
        stored = self.stored.get(result)
        if stored is None:
            return [extent.lo for extent in extents]
        base = tuple(map(self.shapes.mixed, stored.mixed_offsets))
        return offsets_at(extents, base)

    def _initial(self, result: SSAValue) -> SSAValue:
        if isinstance(self.op, SCATTERS):
            return self.op.dest
        if result in self.stored:
            return self.stored[result].dest
        return empty_like(result, self.build, self.shapes, self.roots)


@record(frozen=False)
class Body:
    """Emits the body of the tasks of one indexing op."""

    tiler: IndexTiler
    frame: TasksFrame
    outs: dict[SSAValue, SSAValue]
    """The results that somebody uses, and their destinations."""

    def __post_init__(self) -> None:
        self.op, self.shapes = self.tiler.op, self.tiler.shapes

    def run(self) -> None:
        """The tile of each task, with loops along the dimensions that are not cut."""
        op, body = self.op, self.frame.body
        extents: list[Extent] = []
        indices = iter(self.frame.grid)
        loops: list[BodyBuilder] = []
        for dim, total in enumerate(self.tiler.dims):
            step = self.tiler.step(dim)
            if dim not in self.tiler.looped:
                extents.append(self._tile(next(indices) * step, step, total))
            elif isinstance(op, SELECTIONS):
                extents.append(SINGLE)
            else:
                loop, body = body.loop(ZERO, total, step, name="t")
                loops.append(body)
                start = Expr.sym(loop.body.block.args[0])
                extents.append(self._tile(start, step, total))
        match op:
            case indexing.TopkOp() | indexing.ArgsortOp():
                used, step = list(self.outs), self.tiler.steps[-1]
                SelectionBody(
                    op, self.shapes, used, self.store, extents[:-1], step
                ).run(body)
            case indexing.OneHotOp():
                self._one_hot(op, extents)
            case _:
                self._move(body, extents)
        for inner in reversed(loops):
            inner.build.yield_()

    def _tile(self, start: Expr, step: int, total: Expr) -> Extent:
        return cut(start, step, total)

    def store(
        self,
        body: BodyBuilder,
        result: SSAValue,
        tile: SSAValue,
        extents: Sequence[Extent],
    ) -> None:
        """Assemble a tile of a result, if somebody uses it."""
        if result in self.outs:
            offsets = self.tiler.offsets(result, extents)
            body.assemble(tile, self.outs[result], offsets)

    # -- gathers and scatters

    def _move(self, body: BodyBuilder, extents: Sequence[Extent]) -> None:
        """One box, by the indices that go with it."""
        op, box = self.op, IndexedBox.of(body, self.op, extents)
        indices = box.index_tiles()
        if isinstance(op, SCATTERS):
            data = body.tile(op.source, extents)
            dest = self.outs.get(op.results[0])
            box.scatter(indices, data, dest, scatter_options(op))
        else:
            self.store(body, op.results[0], box.gather(indices), extents)

    # -- one-hot

    def _one_hot(self, op: indexing.OneHotOp, extents: Sequence[Extent]) -> None:
        """A tile of columns, from all the indices of its rows, some at a time."""
        body, total = self.frame.body, self.shapes.dims(op.source)[-1]
        type_ = bounded_type(extents[-2:], i1)
        box = [SINGLE] * (2 - len(extents)) + list(extents)
        sizes = [body.index(extent.size) for extent in box[-2:]]
        first = body.index(extents[-1].lo)
        step = indices_at_once(op, self.shapes)

        def hot(inner: BodyBuilder, part: Extent) -> SSAValue:
            indices = inner.tile(op.source, [*extents[:-1], part])
            return inner.build.value(OneHotOp.make(indices, first, sizes, type_))

        if total.is_const and 0 < total.value <= step:
            mask = hot(body, Extent(ZERO, total, total.value))
        else:
            none = full(body, IntegerAttr(0, i1), type_, sizes)
            loop, inner = body.loop(ZERO, total, step, [none], name="q")
            start = Expr.sym(loop.body.block.args[0])
            found = hot(inner, cut(start, step, total))
            both = OrOp.make(loop.body.block.args[1], found)
            inner.build.yield_(inner.build.value(both))
            mask = loop.results[0]
        self.store(body, op.results[0], mask, extents)


def scatter_options(op: Scatter) -> dict[str, Attribute]:
    """What a scatter says besides where."""
    match op:
        case scatters.ScatterRowsOp():
            return {} if op.unique is None else {"unique": UnitAttr()}
        case scatters.ScatterOp():
            adds = op.add is not None
        case scatters.IndexPutOp():
            adds = op.accumulate is not None
        case scatters.IndexAddOp():
            adds = True
    return {"combine": StringAttr("add")} if adds else {}
