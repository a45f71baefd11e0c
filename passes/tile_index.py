"""
One indexing op becomes one `npu.tasks` that gathers, scatters, or keeps the best.

    %y = pypto.gather_rows %x at %i              x [R, 512], i [N], tile 64 x 512
    ->
    %y = npu.tasks (%t) in (N ceildiv 64) outs(%o = %y0) on vector {
      %it = pypto.view %i[64 * %t +: %m]
      %b = npu.gather %x[0, 0] of R at %it[64 * %t] [%m, 512] {per = "row", ..}
      npu.assemble %b into %o[64 * %t, 0]
    }

The memory that is gathered from is no tile: the task reaches into all of it. A scatter
keeps the order of its indices, because the last of equal ones wins, or sums round: one
task goes along the indices in a loop, the other dimensions are divided. A top-k carries
its lists through a loop over the columns:

    %v, %i = scf.for %c = 0 to L step 2048 iter_args(%v0 = full 0, %i0 = full -1) {
      %t = pypto.view %x[.., %c +: %n] ; npu.topk %t from %c of L into %v0, %i0 }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import (
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.indexed import options_of
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.npu_indexing import GatherOp, OneHotOp, ScatterOp
from pyptoc.dialects.npu_indexing import TopkOp as MergeOp
from pyptoc.dialects.pypto import indexing
from pyptoc.dialects.pypto.attrs import VecTileAttr
from pyptoc.dialects.pypto.elementwise import LtOp, OrOp, WhereOp
from pyptoc.dialects.pypto.shape import ExpandOp, FullOp
from pyptoc.dialects.subscripts import Mixed
from pyptoc.passes.builder import Builder
from pyptoc.passes.groups import Group
from pyptoc.passes.index_shapes import SCATTERS, Indexed, indexed, per_of
from pyptoc.passes.index_tiles import indices_at_once, tiled_value
from pyptoc.passes.nests import Nest
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import element_type, is_one
from pyptoc.passes.task_builder import (
    ONE,
    ZERO,
    BodyBuilder,
    Extent,
    Roots,
    TasksFrame,
    bounded_type,
    cut,
    empty_like,
    open_tasks,
)
from pyptoc.passes.tile_settings import TILE
from pyptoc.passes.typed import constant
from pyptoc.passes.windows import window_of


@dataclass
class IndexTiler:
    """Tiles one indexing op."""

    group: Group
    shapes: Shapes
    roots: Roots
    build: Builder
    nest: Nest = field(default_factory=Nest)

    def __post_init__(self) -> None:
        (self.op,) = self.group.ops
        tile = self.op.attributes[TILE]
        assert isinstance(tile, VecTileAttr)
        assert not self.nest.loops, "form-tasks marks no loop around an indexing op"
        self.steps = tile.sizes
        self.dims = self.shapes.dims(tiled_value(self.op))
        self.looped = self._looped_dims()

    def _looped_dims(self) -> set[int]:
        """The dimensions along which one task goes in a loop."""
        op, last = self.op, len(self.dims) - 1
        if isinstance(op, indexing.TopkOp):
            return {last}
        if not isinstance(op, SCATTERS):
            return set()
        return {
            dim for dim, own in enumerate(indexed(op).index_dims) if own is not None
        }

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
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        return frame

    def _initial(self, result: SSAValue) -> SSAValue:
        if isinstance(self.op, SCATTERS):
            return self.op.dest
        return empty_like(result, self.build, self.shapes, self.roots)


@dataclass
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
            elif isinstance(op, indexing.TopkOp):
                extents.append(ONE)
            else:
                loop, body = body.loop(ZERO, total, step, name="t")
                loops.append(body)
                start = Expr.sym(loop.body.block.args[0])
                extents.append(self._tile(start, step, total))
        match op:
            case indexing.TopkOp():
                Selection(self, op, extents[:-1]).run()
            case indexing.OneHotOp():
                self._one_hot(op, extents)
            case _:
                self._move(body, indexed(op), extents)
        for inner in reversed(loops):
            inner.build.yield_()

    def _tile(self, start: Expr, step: int, total: Expr) -> Extent:
        return cut(start, step, total)

    def store(
        self, result: SSAValue, tile: SSAValue, extents: Sequence[Extent]
    ) -> None:
        """Assemble a tile of a result that somebody uses."""
        if result in self.outs:
            offsets = [extent.lo for extent in extents]
            self.frame.body.assemble(tile, self.outs[result], offsets)

    # -- gathers and scatters

    def _move(
        self, body: BodyBuilder, access: Indexed, extents: Sequence[Extent]
    ) -> None:
        """One box, by the indices that go with it."""
        index_extents = self._index_extents(access, extents)
        indices = body.tile(access.indices, index_extents)
        positions = [body.index(extent.lo) for extent in index_extents]
        box = [ONE] * (2 - len(extents)) + list(extents)
        sizes = [body.index(extent.size) for extent in box[-2:]]
        memory, offsets, dims, axis = self._place(body, access, extents)
        limit = body.index(self.shapes.dims(access.memory)[access.axis])
        table, table_axis = self._table(body, access)
        options = options_of(
            axis,
            dims,
            per_of(access),
            missing=access.missing,
            asked_by=self.op.name.partition(".")[2],
            asked_at=f"%{access.indices.name_hint or 'indices'}",
            page=access.page,
            table_axis=table_axis,
        )
        common = (memory, offsets, limit, indices, positions, sizes)
        op = self.op
        if isinstance(op, SCATTERS):
            options |= scatter_options(op)
            data = body.tile(op.source, extents)
            body.build.emit(ScatterOp.of(*common, options, data=data))
            return
        type_ = bounded_type(extents[-2:], element_type(op.results[0]))
        gather = GatherOp.of(*common, options, table=table, result_type=type_)
        tile = body.build.value(gather)
        self.store(op.results[0], tile, extents)

    def _index_extents(
        self, access: Indexed, extents: Sequence[Extent]
    ) -> list[Extent]:
        """The part of the tensor of indices that a box needs."""
        rank = sum(own is not None for own in access.index_dims)
        found = [ONE] * rank
        for extent, own in zip(extents, access.index_dims, strict=True):
            if own is not None:
                found[own] = extent
        return found

    def _place(
        self, body: BodyBuilder, access: Indexed, extents: Sequence[Extent]
    ) -> tuple[SSAValue, list[Mixed], list[int], int]:
        """The memory, offsets into it, the dimensions of the box, and the axis."""
        window = window_of(access.memory, self.shapes)
        offsets = list(window.offsets)
        dims = [-1] * max(0, 2 - len(extents))
        for extent, dim in zip(extents, access.memory_dims, strict=True):
            if dim is not None:
                offsets[window.dims[dim]] += extent.lo
            dims.append(-1 if dim is None else window.dims[dim])
        base = window.base
        if isinstance(self.op, SCATTERS):
            base = self.outs.get(self.op.results[0], base)
        mixed = [body.index(offset) for offset in offsets]
        return base, mixed, dims[-2:], window.dims[access.axis]

    def _table(
        self, body: BodyBuilder, access: Indexed
    ) -> tuple[tuple[SSAValue, list[Mixed], Mixed] | None, int]:
        """The page table as it lies in its tensor, and the dimension of its pages."""
        if access.table is None:
            return None, 0
        window = window_of(access.table, self.shapes)
        offsets = [body.index(offset) for offset in window.offsets]
        pages = body.index(self.shapes.dims(access.table)[0])
        return (window.base, offsets, pages), window.dims[0]

    # -- one-hot

    def _one_hot(self, op: indexing.OneHotOp, extents: Sequence[Extent]) -> None:
        """A tile of columns, from all the indices of its rows, some at a time."""
        body, total = self.frame.body, self.shapes.dims(op.source)[-1]
        type_ = bounded_type(extents[-2:], i1)
        box = [ONE] * (2 - len(extents)) + list(extents)
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
        self.store(op.results[0], mask, extents)


@dataclass
class Selection:
    """The body of a top-k: lists of the best, merged with tile after tile."""

    task: Body
    op: indexing.TopkOp
    outer: Sequence[Extent]
    """The extents of all dimensions but the last."""

    def run(self) -> None:
        task, op = self.task, self.op
        body, shapes = task.frame.body, task.shapes
        k, total = op.k.value.data, shapes.dims(op.source)[-1]
        kept = Extent(ZERO, Expr.const(k), max(k, 1))
        extents = [*self.outer, kept]
        if k:
            values, indices = self._lists(body, extents, total)
            values, indices = self._padded(body, extents, values, indices)
            task.store(op.values, values, extents)
            task.store(op.indices, indices, extents)

    def _lists(
        self, body: BodyBuilder, extents: Sequence[Extent], total: Expr
    ) -> tuple[SSAValue, SSAValue]:
        element, step = element_type(self.op.source), self.task.tiler.steps[-1]
        box = list(extents)[-2:]
        sizes = [body.index(extent.size) for extent in box]
        values = full(body, constant(0, element), bounded_type(box, element), sizes)
        indices = full(body, constant(-1, i32), bounded_type(box, i32), sizes)
        lengths = self._lengths(body)
        if total.is_const and 0 < total.value <= step:
            whole = Extent(ZERO, total, total.value)
            return self._merge(body, whole, total, (values, indices), lengths)
        loop, inner = body.loop(ZERO, total, step, [values, indices], name="c")
        start = Expr.sym(loop.body.block.args[0])
        part = cut(start, step, total)
        _, held, places = loop.body.block.args
        merged = self._merge(inner, part, total, (held, places), lengths)
        inner.build.yield_(*merged)
        return loop.results[0], loop.results[1]

    def _merge(
        self,
        body: BodyBuilder,
        part: Extent,
        total: Expr,
        lists: tuple[SSAValue, SSAValue],
        lengths: SSAValue | None,
    ) -> tuple[SSAValue, SSAValue]:
        """The lists with a tile of columns."""
        tile = body.tile(self.op.source, [*self.outer, part])
        first, size = body.index(part.lo), body.index(total)
        strict = self.op.pad_index is None and lengths is not None
        merge = MergeOp.make(tile, first, size, *lists, lengths, strict)
        values, indices = body.build.emit(merge)
        return values, indices

    def _lengths(self, body: BodyBuilder) -> SSAValue | None:
        """The lengths of the rows of a tile, one for each row."""
        op = self.op
        if op.lengths is None:
            return None
        dims = self.task.shapes.dims(op.lengths)
        aligned = list(self.outer)[len(self.outer) - len(dims) :]
        extents = [
            ONE if is_one(dims, axis) else extent for axis, extent in enumerate(aligned)
        ]
        lengths = body.tile(op.lengths, extents)
        rows = self.outer[-1] if self.outer else ONE
        if rows.bound == 1 or (extents and extents[-1] is rows):
            return lengths
        type_ = bounded_type([rows], element_type(op.lengths))
        return body.build.value(
            ExpandOp.make(lengths, [body.index(rows.size)], result_type=type_)
        )

    def _padded(
        self,
        body: BodyBuilder,
        extents: Sequence[Extent],
        values: SSAValue,
        indices: SSAValue,
    ) -> tuple[SSAValue, SSAValue]:
        """Places without an element get the pad's value and index."""
        op = self.op
        if op.pad_index is None:
            return values, indices
        element, pad = element_type(op.source), op.pad_index.value.data
        needs_values = op.values in self.task.outs
        if not needs_values and pad == -1:
            return values, indices
        none = body.build.value(LtOp.make(indices, 0))
        if needs_values:
            value = float("-inf") if op.pad_value is None else op.pad_value.value.data
            chosen = WhereOp.make(none, constant(value, element), values)
            values = body.build.value(chosen)
        if pad != -1:
            indices = body.build.value(WhereOp.make(none, pad, indices))
        return values, indices


def scatter_options(
    op: indexing.IndexAddOp | indexing.ScatterRowsOp,
) -> dict[str, Attribute]:
    """What a scatter says besides where."""
    if isinstance(op, indexing.IndexAddOp):
        return {"combine": StringAttr("add")}
    return {} if op.unique is None else {"unique": UnitAttr()}


def full(
    body: BodyBuilder,
    value: Attribute,
    type_: TensorType[Attribute],
    sizes: Sequence[Mixed],
) -> SSAValue:
    """A tile of one value."""
    shape = type_.get_shape()
    given = list(sizes)[len(sizes) - len(shape) :]
    mixed = [
        static if static >= 0 else size
        for static, size in zip(shape, given, strict=True)
    ]
    return body.build.value(FullOp.make(value, mixed, result_type=type_))
