"""
One vector group becomes one `npu.tasks` with a fused body.

Rows (and columns, where no row is folded) are divided over the grid; leading
dimensions are grid axes of their own. The ops are repeated on tiles in their order:

    %e = pypto.exp %x ; %y = pypto.mul %e, %g      x [M, 512], g [512], tile 16 x 256
    ->
    %y = npu.tasks (%i, %j) in (M ceildiv 16, 2) outs(%o = %y0) on vector {
      %xt = pypto.view %x[16 * %i +: %m, 256 * %j +: 256]
      %gt = pypto.view %g[256 * %j +: 256]
      %et = pypto.exp %xt ; %yt = pypto.mul %et, %gt
      npu.assemble %yt into %o[16 * %i, 256 * %j]
    }

A group that folds rows owns whole rows. If they are longer than the column tile, each
reduction is a loop over column tiles that carries its partial result, and a last loop
computes what is as wide as the row; elementwise work is repeated in each phase rather
than spilled:

    %m = scf.for %c = 0 to N step 256 iter_args(%acc = full -inf) {
      %xt = pypto.view ... ; %p = pypto.amax %xt axis -1 {keepdim}
      yield (pypto.maximum %acc, %p)
    }
    scf.for %c = 0 to N step 256 { reload, recompute, npu.assemble }

A scan of a longer row is one of each column tile, on top of what the tiles before it
sum up to, which the loop carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import ClassVar, Protocol

from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    AnyFloat,
    TensorType,
    f32,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from pyptoc.dialects.expr import ZERO, Expr
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.pypto.attrs import VecTileAttr
from pyptoc.dialects.pypto.elementwise import BINARY_OPS, CastOp
from pyptoc.dialects.pypto.reduce import CumsumOp, ReductionOp
from pyptoc.dialects.pypto.shape import (
    ArangeOp,
    AssembleOp,
    FullOp,
)
from pyptoc.dialects.pypto.structure import SUM
from pyptoc.dialects.record import record
from pyptoc.passes.builder import Builder
from pyptoc.passes.groups import FOLD, Domain, Group, domain_of, is_row_fold
from pyptoc.passes.nests import Nest
from pyptoc.passes.repeat import REPEATS, fold_parts, last_axis, numbers, repeat
from pyptoc.passes.shapes import Shapes, static_bound
from pyptoc.passes.structured import (
    LEAVES,
    fold_of,
    identity,
    is_one,
    is_row_value,
    tensor_operands,
)
from pyptoc.passes.task_builder import (
    SINGLE,
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
from pyptoc.passes.typed import element_type

Tiles = dict[SSAValue, SSAValue]
"""A value of the group (or outside of it) to its tile."""


@record(frozen=False)
class VectorTiler:
    """Tiles one vector group."""

    group: Group
    shapes: Shapes
    roots: Roots
    build: Builder
    nest: Nest = field(default_factory=Nest)
    domain: Domain = field(init=False)
    unit: ClassVar[Unit] = Unit.VECTOR

    def __post_init__(self) -> None:
        self.nest.bind_single_trips(self.shapes)
        self._find_domain()
        tile = self.group.ops[0].attributes[TILE]
        assert isinstance(tile, VecTileAttr)
        self.rows, self.columns = tile.sizes

    def _find_domain(self) -> None:
        domain = domain_of(self.group.ops, self.shapes)
        assert domain is not None
        self.domain = domain

    # -- the task loop

    def run(self) -> TasksFrame:
        """Emit the tasks and replace the group's outputs by their results."""
        outputs = self.group.outputs
        frame = open_tasks(
            self.build,
            self.shapes,
            self.roots,
            self._grid(),
            [self._initial(output) for output in outputs],
            self.unit,
        )
        self.nest.bind(self.shapes, frame.grid)
        self._find_domain()
        body = TaskBody(self, frame, outputs)
        body.run()
        for output, result in zip(outputs, frame.op.results, strict=True):
            replaced = self._final(output)
            result.name_hint = replaced.name_hint or output.name_hint
            replaced.replace_all_uses_with(result)
        return frame

    def _final(self, output: SSAValue) -> SSAValue:
        """What users see of an output: itself, or the result of the loops around."""
        if not self.nest.loops:
            return output
        assert isinstance(output.owner, AssembleOp)
        return self.nest.result(output.owner.dest)

    @property
    def cuts_columns(self) -> bool:
        """Whether the columns are divided over the grid."""
        return not self.domain.whole_rows

    @property
    def fits_row(self) -> bool:
        """Whether one column tile holds a whole row."""
        bound = static_bound(self.domain.columns)
        return bound is not None and bound <= self.columns

    def _grid(self) -> list[Expr]:
        outside = self.nest.outside
        grid = [*self.nest.trips(self.shapes), *map(outside, self.domain.leading)]
        if self.domain.rows is not None:
            grid.append(outside(self.domain.rows).ceildiv(self.rows))
        if self.cuts_columns:
            grid.append(outside(self.domain.columns).ceildiv(self.columns))
        return grid

    def _initial(self, output: SSAValue) -> SSAValue:
        if isinstance(output, OpResult) and isinstance(output.op, AssembleOp):
            return self.nest.initial(output.op.dest)
        return empty_like(output, self.build, self.shapes, self.roots)

    def prepare(self, scope: Scope) -> None:
        """Make the tiles that the ops of a straight body find ready."""


@record(frozen=False)
class TaskBody:
    """Emits the body of a vector group's tasks."""

    tiler: VectorTiler
    frame: TasksFrame
    outputs: Sequence[SSAValue]
    row_tiles: Tiles = field(default_factory=Tiles)

    def __post_init__(self) -> None:
        self.domain = self.tiler.domain
        self.shapes = self.tiler.shapes
        self.ops = self.tiler.group.ops
        loops = self.tiler.nest.loops
        self.clamp = bool(loops)
        grid = self.frame.grid[len(loops) :]
        lead = len(self.domain.leading)
        self.leading = [Extent(index, Expr.const(1), 1) for index in grid[:lead]]
        self.rows = SINGLE
        if self.domain.rows is not None:
            start = grid[lead] * self.tiler.rows
            self.rows = cut(start, self.tiler.rows, self.domain.rows, clamp=self.clamp)

    def run(self) -> None:
        """Straight through, or in phases where a row needs several column tiles."""
        total = self.domain.columns
        if self.tiler.cuts_columns:
            start = self.frame.grid[-1] * self.tiler.columns
            self._straight(cut(start, self.tiler.columns, total, clamp=self.clamp))
        elif self.tiler.fits_row:
            bound = static_bound(total)
            assert bound is not None
            self._straight(Extent(ZERO, total, max(bound, 1)))
        else:
            self._phases()

    def _straight(self, columns: Extent) -> None:
        scope = Scope(self, self.frame.body, columns, self.row_tiles)
        self.tiler.prepare(scope)
        for op in self.ops:
            scope.emit(op)

    def _phases(self) -> None:
        top = Scope(self, self.frame.body, SINGLE, self.row_tiles)
        for op in self.ops:
            if is_row_fold(op) and not self.is_row(op.operands[0]):
                top.define(op.results[0], self._reduce(op, top))
            elif self.is_row(self.main_value(op)):
                top.emit(op)
        wide = {v for v in self.outputs if not self.is_row(self.main_value(v.owner))}
        if wide:
            needed = self._slice(
                [v.owner for v in wide if isinstance(v.owner, Operation)]
            )
            _, scope = self._column_loop(top, needed, [])
            scope.close()

    def main_value(self, op: object) -> SSAValue:
        """The value that says how wide an op works."""
        assert isinstance(op, Operation)
        return op.operands[0] if isinstance(op, AssembleOp) else op.results[0]

    def is_row(self, value: SSAValue) -> bool:
        """Whether `value` has one element a row (and the domain has more)."""
        return is_row_value(self.shapes.dims(value))

    def _slice(self, roots: Sequence[Operation]) -> list[Operation]:
        """The full-width ops that `roots` need, themselves included, in order."""
        members = set(self.ops)
        needed: set[Operation] = set()
        stack = list(roots)
        while stack:
            op = stack.pop()
            if op in needed or op not in members:
                continue
            if op not in roots and self.is_row(self.main_value(op)):
                continue
            needed.add(op)
            stack += [v.op for v in op.operands if isinstance(v, OpResult)]
        return [op for op in self.ops if op in needed]

    def _column_loop(
        self, top: Scope, needed: Sequence[Operation], carried: Sequence[SSAValue]
    ) -> tuple[scf.ForOp, Scope]:
        """
        A loop over column tiles that emits `needed`.

        Row values are loaded before it, the other loads stand at the start of a trip,
        where one flag can say that all of them are there. What a scan has summed up
        so far is carried behind `carried`.
        """
        read = [value for op in needed for value in tensor_operands(op)]
        for value in filter(self.is_row, read):
            top.tile_of(value)
        total, step = self.domain.columns, self.tiler.columns
        scans = [op for op in needed if isinstance(op, CumsumOp)]
        carried = [*carried, *map(top.nothing, scans)]
        loop, inner = top.body.loop(ZERO, total, step, carried, name="c")
        start, *held = loop.body.block.args
        columns = cut(Expr.sym(start), step, total)
        sums: dict[CumsumOp, SSAValue] = {}
        sums.update(zip(scans, held[len(held) - len(scans) :], strict=True))
        scope = Scope(self, inner, columns, dict(self.row_tiles), sums)
        made = {result for op in needed for result in op.results}
        for value in read:
            if value not in made and not isinstance(value.owner, LEAVES):
                scope.tile_of(value)
        for op in needed:
            scope.emit(op)
        return loop, scope

    def _reduce(self, op: Operation, top: Scope) -> SSAValue:
        """Fold a long row: a loop over column tiles that carries the partial result."""
        monoid = fold_of(op)
        assert monoid is not None
        source = op.operands[0]
        element = element_type(op.results[0])
        wide = monoid is SUM and isinstance(element, AnyFloat)
        partial = f32 if wide else element
        type_ = bounded_type(top.extents(op.results[0])[-2:], partial)
        initial = top.full(identity(monoid, partial), type_)
        producer = [source.op] if isinstance(source, OpResult) else []
        needed = self._slice(producer) if producer and producer[0] in self.ops else []
        self._hoist_source(op, top)
        loop, scope = self._column_loop(top, needed, [initial])
        tile, build = scope.tile_of(source), scope.body.about(op).build
        if partial != element_type(tile):
            tile = build.value(CastOp.make(tile, partial))
        fold = type(op).create(
            operands=[tile], result_types=[type_], properties=last_axis(op)
        )
        part = build.value(fold)
        combine = BINARY_OPS[monoid.combine].make(loop.body.block.args[1], part)
        scope.close(build.value(combine))
        result: SSAValue = loop.results[0]
        if partial != element:
            result = top.body.about(op).build.value(CastOp.make(result, element))
        return result

    def _hoist_source(self, op: Operation, top: Scope) -> None:
        """A reduction of a broadcast row value needs its tile before the loop."""
        if self.is_row(op.operands[0]):
            top.tile_of(op.operands[0])


class Surroundings(Protocol):
    """What a piece of a body must know of the task."""

    @property
    def shapes(self) -> Shapes: ...
    @property
    def domain(self) -> Domain: ...
    @property
    def leading(self) -> Sequence[Extent]: ...
    @property
    def rows(self) -> Extent: ...
    @property
    def outputs(self) -> Sequence[SSAValue]: ...
    @property
    def frame(self) -> TasksFrame: ...


@record(frozen=False)
class Scope:
    """One straight-line piece of a body: a column tile and the tiles made so far."""

    task: Surroundings
    body: BodyBuilder
    columns: Extent
    tiles: Tiles
    sums: dict[CumsumOp, SSAValue] = field(default_factory=dict[CumsumOp, SSAValue])
    """What scans of long rows have summed up so far, one element a row."""

    def extents(self, value: SSAValue) -> list[Extent]:
        """The box of `value` that this task touches, an extent each dimension."""
        dims = self.task.shapes.dims(value)
        domain = [*self.task.leading, self.task.rows, self.columns]
        if self.task.domain.rows is None:
            domain = [*self.task.leading, self.columns]
        aligned = domain[len(domain) - len(dims) :]
        return [
            SINGLE if is_one(dims, axis) else extent
            for axis, extent in enumerate(aligned)
        ]

    def tile_of(self, value: SSAValue) -> SSAValue:
        """The tile of `value`: made here, or read from where the tensor lies."""
        tile = self.tiles.get(value)
        if tile is None:
            tile = self.tiles[value] = self._read(value)
        return tile

    def scalar(self, value: SSAValue) -> SSAValue:
        """A scalar operand."""
        return value

    def _read(self, value: SSAValue) -> SSAValue:
        extents = self.extents(value)
        type_ = bounded_type(extents[-2:], element_type(value))
        match value.owner:
            case FullOp() as op:
                tile = self.full(op.fill, type_)
                if isinstance(tile, OpResult):
                    tile.op.location = op.location
                return tile
            case ArangeOp():
                return numbers(self, type_, extents[-1].lo)
            case _:
                return self.body.tile(value, extents)

    def full(
        self, value: Attribute | SSAValue, type_: TensorType[Attribute]
    ) -> SSAValue:
        """A tile of one value."""
        sizes = self.sizes(type_)
        return self.body.build.value(FullOp.make(value, sizes, result_type=type_))

    def sizes(self, type_: TensorType[Attribute]) -> list[int | SSAValue]:
        shape = type_.get_shape()
        sizes = [self.task.rows.size, self.columns.size][-len(shape) :] if shape else []
        return [
            static if static >= 0 else self.body.index(size)
            for static, size in zip(shape, sizes, strict=True)
        ]

    def emit(self, op: Operation) -> None:
        """Repeat `op` on tiles; store what leaves the group."""
        if FOLD in op.attributes:
            assert isinstance(op, ReductionOp)
            fold_parts(self, op)
        else:
            REPEATS.get(type(op), repeat)(self, op)

    def nothing(self, op: CumsumOp) -> SSAValue:
        """The sum before the first column tile of a row."""
        element = element_type(op.result)
        type_ = bounded_type(self.extents(op.result)[-2:], element)
        return self.full(identity(SUM, element), type_)

    def close(self, *carried: SSAValue) -> None:
        """End the trip of a column loop; the sums of scans go on to the next."""
        self.body.build.yield_(*carried, *self.sums.values())

    def tile_type(self, value: SSAValue) -> TensorType[Attribute]:
        """The type of the tile of a value."""
        return bounded_type(self.extents(value)[-2:], element_type(value))

    def define(self, value: SSAValue, tile: SSAValue) -> None:
        """`tile` is the tile of `value`; store it if the value leaves the group."""
        self.tiles[value] = tile
        for output, out in zip(self.task.outputs, self.task.frame.outs, strict=True):
            if output is value:
                offsets = [extent.lo for extent in self.extents(value)]
                self.body.assemble(tile, out, offsets)
