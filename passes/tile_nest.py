"""
A nest whose body is one task (`whole_nests.py`) becomes one `npu.tasks`.

    scf.for %i = 0 to %M step 128 iter_args(%o = %o0) {            {npu.whole = "mixed"}
      %x = pypto.view %q[%i +: %m, :]
      %acc = scf.for %j .. iter_args(%a = %a0) {
        %s = pypto.matmul %x, %k ; %p = pypto.exp %s ; ..
      }
      %o1 = pypto.assemble %acc into %o[%i, 0]
    }
    ->
    npu.tasks (%i) in (%M ceildiv 128) outs(%o = %o0) on mixed {
      %acc = scf.for %j .. iter_args(%a = %a0 : tensor<?x64xf32, #npu.max<128, 64>>) {
        %c = scf.for %k .. { pypto.mma }                     as in `tile_cube.py`
        %p = pypto.exp %c
        ..
      }
      npu.assemble %acc into %o[128 * %i, 0]
    }

Inner loops and branches stay, without the destinations that they handed on. Ops are
repeated on whole tiles; where columns are cut into pieces, once for each piece, and a
row's reduction combines those of its pieces. A product reads the pieces of a tile one
after the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field

from xdsl.dialects import scf
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, IndexType, TensorType, UnitAttr, f32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from pyptoc.dialects.expr import ZERO, Compare, Expr
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.elementwise import BINARY_OPS, CastOp
from pyptoc.dialects.pypto.matmul import MatmulOp, ScaledMmOp
from pyptoc.dialects.pypto.reduce import CumsumOp
from pyptoc.dialects.pypto.scalars import IndexOp, ReadOp, ScalarOp
from pyptoc.dialects.pypto.shape import (
    AssembleOp,
    EmptyOp,
    TransposeOp,
    ViewOp,
)
from pyptoc.dialects.pypto.structure import SUM, Monoid
from pyptoc.dialects.record import record
from pyptoc.passes.builder import Builder
from pyptoc.passes.cube_tiles import CubeTile
from pyptoc.passes.groups import Domain
from pyptoc.passes.index_shapes import GATHERS
from pyptoc.passes.indexed_box import IndexedBox
from pyptoc.passes.nest_tiles import kept_operands, widths_of
from pyptoc.passes.nests import Nest
from pyptoc.passes.repeat import last_axis
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import LEAVES, fold_of, identity
from pyptoc.passes.task_builder import (
    SINGLE,
    BodyBuilder,
    Extent,
    Roots,
    TasksFrame,
    bounded_type,
    cut,
    offsets_at,
    open_tasks,
)
from pyptoc.passes.tile_cube import Accumulation
from pyptoc.passes.tile_product import ProductTiler
from pyptoc.passes.tile_settings import TILE, WHOLE
from pyptoc.passes.tile_vector import Scope
from pyptoc.passes.typed import element_type
from pyptoc.passes.whole_nests import NestBody
from pyptoc.passes.windows import read_place
from pyptoc.runtime.machine import Machine


@record(frozen=False)
class NestTiler:
    """Makes the tasks of one nest."""

    nest: Nest
    machine: Machine
    roots: Roots
    build: Builder
    shapes: Shapes = field(default_factory=Shapes)
    tiles: dict[SSAValue, list[SSAValue]] = field(
        default_factory=dict[SSAValue, list[SSAValue]]
    )
    """The tile of a value, in pieces."""
    floats: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What f32 scalars of the nest are in the tasks."""

    def __post_init__(self) -> None:
        self.body = NestBody(self.nest.loops, self.machine)
        self.body.check()
        self.products = {
            op: CubeTile.of(tile)
            for op in self.body.products
            if isinstance(tile := op.attributes[TILE], CubeTileAttr)
        }
        self.body.products = self.products
        self.widths = widths_of(self.body)
        self.kept = kept_operands(self.body, self.products, self.widths)
        self.kept_tiles: dict[SSAValue, SSAValue] = {}
        self.index_tiles: dict[SSAValue, SSAValue] = {}
        self.scaled = {
            op: Accumulation(
                op,
                tile,
                self.shapes,
                self.build,
                self.roots,
                on_chip=True,
                own_tile=tile.attribute(),
            )
            for op, tile in self.products.items()
            if isinstance(op, ScaledMmOp)
        }
        """How products with MX scales are summed up."""

    def run(self) -> TasksFrame:
        """Emit the tasks and replace the results of the nest."""
        nest, block = self.nest, self.body.block
        nest.bind_single_trips(self.shapes)
        dests = block.args[1:]
        self.frame = open_tasks(
            self.build,
            self.shapes,
            self.roots,
            nest.trips(self.shapes),
            [nest.initial(dest) for dest in dests],
            self.body.unit,
        )
        nest.bind(self.shapes, self.frame.grid)
        self.frame.op.attributes[WHOLE] = UnitAttr()
        self._outer_tiles()
        self._block(block, self.frame.body)
        for dest, made in zip(dests, self.frame.op.results, strict=True):
            result = nest.result(dest)
            made.name_hint = result.name_hint
            result.replace_all_uses_with(made)
        return self.frame

    def _outer_tiles(self) -> None:
        """Whole outer tensors that vector ops read are loaded first."""
        read = (*self.body.sizes, *self.kept, *self.body.indices)
        for value in dict.fromkeys(read):
            if not self.body.is_inside(value):
                self._window(value, self.frame.body)

    # -- extents

    def rows(self, value: SSAValue) -> Extent:
        """The rows of a value; one for a vector."""
        dims = self.shapes.dims(value)
        if len(dims) < 2:
            return SINGLE
        return Extent(ZERO, dims[-2], self.body.sizes[value].most_rows)

    def pieces(self, value: SSAValue) -> list[Extent]:
        """The columns of a value, piece by piece."""
        dims = self.shapes.dims(value)
        size = self.body.sizes[value]
        total, most = dims[-1] if dims else Expr.const(1), size.most_columns
        width = self.widths.get(size.columns, most)
        if width >= most:
            return [Extent(ZERO, total, most)]
        starts = map(Expr.const, range(0, most, width))
        return [cut(start, width, total, clamp=True) for start in starts]

    def places(self, value: SSAValue, columns: Extent) -> list[Extent]:
        """The box of a value, an extent for each of its dimensions."""
        rank = len(self.shapes.dims(value))
        return [SINGLE, SINGLE, SINGLE, self.rows(value), columns][5 - rank :]

    # -- ops

    def _block(self, block: Block, body: BodyBuilder) -> None:
        for op in block.ops:
            match op:
                case ReadOp():
                    self._read(op, body)
                case ScalarOp():
                    inputs = [self.scalar(value, body) for value in op.inputs]
                    new = ScalarOp.make(op.expr.data, inputs)
                    self.floats[op.result] = body.build.value(new)
                case ViewOp() | TransposeOp():
                    self._window(op.results[0], body)
                case EmptyOp():
                    self.tiles[op.result] = []
                case AssembleOp():
                    self._assemble(op, body)
                case MatmulOp() | ScaledMmOp():
                    ProductTiler(self, op, body.about(op)).run()
                case _ if isinstance(op, GATHERS):
                    self._gather(op, body.about(op))
                case scf.ForOp():
                    self._loop(op, body)
                case scf.IfOp():
                    self._branch(op, body)
                case _ if op in self.body.sums.additions:
                    product = self.body.sums.additions[op].product
                    self.tiles[op.results[0]] = self.tiles[product.result]
                case _ if any(result in self.body.sizes for result in op.results):
                    self._compute(op, body)
                case _:
                    pass

    def _window(self, value: SSAValue, body: BodyBuilder) -> None:
        if value in self.body.columns.parts:
            self._part(value)
            return
        if value in self.body.indices:
            most = Extent(ZERO, self.shapes.dims(value)[0], self.body.indices[value])
            self.index_tiles[value] = body.tile(value, [most])
        if value in self.kept:
            *_, most_rows, most_columns = self.body.windows[value]
            rows, columns = self.shapes.dims(value)[-2:]
            box = [Extent(ZERO, rows, most_rows), Extent(ZERO, columns, most_columns)]
            rank = len(self.shapes.dims(value))
            self.kept_tiles[value] = body.tile(value, [SINGLE] * (rank - 2) + box)
        if value not in self.body.sizes:
            return
        if isinstance(value.owner, LEAVES):
            self._compute(value.owner, body)
            return
        self.tiles[value] = [
            body.tile(value, self.places(value, columns))
            for columns in self.pieces(value)
        ]

    def _part(self, value: SSAValue) -> None:
        """The pieces of a tile that a view of its columns has."""
        source, first = self.body.columns.parts[value]
        starts = [extent.lo for extent in self.pieces(source)]
        at = starts.index(Expr.const(first))
        self.tiles[value] = self.tiles[source][at : at + len(self.pieces(value))]

    def _gather(self, op: Operation, body: BodyBuilder) -> None:
        """Rows of a memory, by the indices of a window, a gather for each piece."""
        result = op.results[0]
        self.tiles[result] = []
        for columns in self.pieces(result):
            box = IndexedBox.of(body, op, self.places(result, columns))
            indices = [self.index_tiles[value] for value in box.access.indices]
            self.tiles[result].append(box.gather(indices))

    def _assemble(self, op: AssembleOp, body: BodyBuilder) -> None:
        if op.result in self.body.columns.joined:
            self.tiles[op.result] = self.tiles[op.dest] + self.tiles[op.source]
            return
        if op.source.owner in self.body.drained:
            return  # its product stores each piece
        for columns, tile in zip(
            self.pieces(op.source), self.tiles[op.source], strict=True
        ):
            self.store(op, tile, columns, body)

    def store(
        self, op: AssembleOp, tile: SSAValue, columns: Extent, body: BodyBuilder
    ) -> None:
        """Store a piece where `op` assembles the whole tile."""
        base = tuple(self.shapes.mixed(offset) for offset in op.mixed_offsets)
        places = self.places(op.source, columns)
        out = self.frame.outs[self.body.dests[op.dest]]
        body.assemble(tile, out, offsets_at(places, base))

    def _compute(self, op: Operation, body: BodyBuilder) -> None:
        """A vector op, once for each piece."""
        values = [*op.operands, *op.results]
        tensors = [v for v in values if isinstance(v.type, TensorType)]
        tall = max(tensors, key=lambda v: self.rows(v).static != 1)
        wide = max(tensors, key=lambda v: not self._is_row(v))
        scopes = [
            NestScope(
                Place(self.shapes, self.rows(tall), self.frame),
                body,
                columns,
                {},
                nest=self,
                index=index,
            )
            for index, columns in enumerate(self.pieces(wide))
        ]
        if len(scopes) > 1 and fold_of(op) is not None:
            self._fold(op, scopes)
            return
        if len(scopes) > 1 and isinstance(op, CumsumOp):
            element = element_type(op.result)
            type_ = bounded_type([self.rows(op.result), SINGLE], element)
            sums = {op: scopes[0].full(identity(SUM, element), type_)}
            for scope in scopes:
                scope.sums = sums
        for scope in scopes:
            scope.emit(op)

    def _is_row(self, value: SSAValue) -> bool:
        return self.pieces(value) == [SINGLE]

    def _fold(self, op: Operation, scopes: Sequence[NestScope]) -> None:
        """A reduction of a row, from those of its pieces."""
        monoid, source, result = fold_of(op), op.operands[0], op.results[0]
        assert monoid is not None
        element = element_type(result)
        partial = partial_type(monoid, element)
        build = scopes[0].body.about(op).build
        type_ = bounded_type(scopes[0].extents(result)[-2:], partial)
        total: SSAValue | None = None
        for scope in scopes:
            tile = scope.tile_of(source)
            if partial != element_type(tile):
                tile = build.value(CastOp.make(tile, partial))
            part = type(op).create(
                operands=[tile], result_types=[type_], properties=last_axis(op)
            )
            found = build.value(part)
            if total is None:
                total = found
            else:
                total = build.value(BINARY_OPS[monoid.combine].make(total, found))
        assert total is not None
        if partial != element:
            total = build.value(CastOp.make(total, element))
        scopes[0].define(result, total)

    def _read(self, op: ReadOp, body: BodyBuilder) -> None:
        """Each task reads an element of an outer tensor, through its views."""
        base, place = read_place(op, self.shapes)
        type_ = op.result.type
        new = ReadOp.make(base, list(map(body.index, place)), result_type=type_)
        made = body.build.value(new, op.result.name_hint)
        if isinstance(type_, IndexType):
            self.shapes.bind(op.result, Expr.sym(made))
        else:
            self.floats[op.result] = made

    # -- loops and branches

    def _carried(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The tiles of values, without destinations."""
        tiles = [self.tiles[v] for v in values if v not in self.body.dests]
        return [tile for pieces in tiles for tile in pieces]

    def _receive(self, values: Sequence[SSAValue], made: Iterator[SSAValue]) -> None:
        for value in values:
            if value not in self.body.dests:
                self.tiles[value] = [next(made) for _ in self.pieces(value)]

    def _loop(self, op: scf.ForOp, body: BodyBuilder) -> None:
        bounds = [
            self.roots.concrete(self.shapes.expr(bound))
            for bound in (op.lb, op.ub, op.step)
        ]
        counter, *arguments = op.body.block.args
        lower, upper, step = bounds
        carried = self._carried(op.iter_args)
        new, build = body.build.loop(
            lower, upper, step, carried, name=counter.name_hint
        )
        inner = body.inside(build)
        self.shapes.bind(counter, Expr.sym(new.body.block.args[0]))
        self._receive(arguments, iter(new.body.block.args[1:]))
        self._block(op.body.block, inner)
        last = op.body.block.last_op
        assert last is not None
        inner.build.yield_(*self._carried(last.operands))
        self._receive(op.results, iter(new.results))

    def _branch(self, op: scf.IfOp, body: BodyBuilder) -> None:
        regions: list[Region] = []
        types: list[Attribute] = []
        for region in op.regions:
            block = Block()
            inner = body.inside(body.build.at_end(block))
            last = region.block.last_op if region.blocks else None
            if last is not None:
                self._block(region.block, inner)
                carried = self._carried(last.operands)
                types = [tile.type for tile in carried]
                inner.build.yield_(*carried)
            regions.append(Region(block) if last is not None else Region())
        new = scf.IfOp.create(
            operands=[self._condition(op.cond, body)],
            result_types=types,
            regions=regions,
        )
        body.build.emit(new)
        self._receive(op.results, iter(new.results))

    def _condition(self, value: SSAValue, body: BodyBuilder) -> SSAValue:
        comparison = value.owner
        if not isinstance(comparison, IndexOp) or not self.body.is_inside(value):
            return value
        expr = comparison.value_expr
        assert isinstance(expr, Compare)
        known: dict[Hashable, Expr | int] = {
            operand: self.shapes.expr(operand) for operand in comparison.operands
        }
        expr = expr.subs(known)
        return body.build.compare(
            Compare(expr.op, *map(self.roots.concrete, (expr.lhs, expr.rhs)))
        )

    def scalar(self, value: SSAValue, body: BodyBuilder) -> SSAValue:
        """A scalar operand, as the body sees it."""
        if not self.body.is_inside(value):
            return value
        if isinstance(value.owner, ConstantOp):
            return body.build.value(value.owner.clone())
        if value in self.floats:
            return self.floats[value]
        found = body.index(self.shapes.expr(value))
        return body.build.constant(found) if isinstance(found, int) else found


def partial_type(monoid: Monoid, element: Attribute) -> Attribute:
    """The type in which parts of a row are combined."""
    return f32 if monoid is SUM and isinstance(element, AnyFloat) else element


@record(frozen=False)
class Place:
    """Where the tiles of an op lie, as `Scope` asks of a task."""

    shapes: Shapes
    rows: Extent
    frame: TasksFrame
    leading: Sequence[Extent] = (SINGLE, SINGLE, SINGLE)
    outputs: Sequence[SSAValue] = ()

    @property
    def domain(self) -> Domain:
        return Domain((), self.rows.size, Expr.const(1), whole_rows=True)


@record(frozen=False, kw_only=True)
class NestScope(Scope):
    """One op on one piece of its columns."""

    nest: NestTiler
    index: int

    def tile_of(self, value: SSAValue) -> SSAValue:
        found = self.nest.tiles.get(value, [])
        if self.index < len(found):
            return found[self.index]
        if len(found) == 1 and len(self.nest.pieces(value)) == 1:
            return found[0]
        return self._read(value)

    def define(self, value: SSAValue, tile: SSAValue) -> None:
        self.nest.tiles.setdefault(value, []).append(tile)

    def scalar(self, value: SSAValue) -> SSAValue:
        return self.nest.scalar(value, self.body)

    def extents(self, value: SSAValue) -> list[Extent]:
        pieces = self.nest.pieces(value)
        return self.nest.places(value, pieces[min(self.index, len(pieces) - 1)])
