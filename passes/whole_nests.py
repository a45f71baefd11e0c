"""
Independent loops whose body is one task: the loops of the user's are the tiling.

    scf.for %i = 0 to %M step 128 iter_args(%o = %o0) {            {npu.parallel}
      %m = pypto.index min(128, %M - %i)
      %acc = scf.for %j = 0 to %N step 256 iter_args(%a = ..) {
        %s = pypto.matmul %q, %k ; %p = pypto.exp %s ; %v = pypto.matmul %p, ..
      }
      pypto.assemble %acc into %o[%i, 0]
    }

Nothing that the body makes has to leave the core: each value has a static bound (128
rows, 256 columns), inner loops carry tiles, and products and vector ops hand tiles to
each other. What such a body keeps in each memory is in `working_set.py`, how columns
are cut so that it fits in `nest_tiles.py`. Loops for which all that holds are marked
with the unit of their tasks, and the products inside with their tile:

    {npu.whole = "mixed", npu.parallel}       npu.tile = #pypto.cube<m = [128, 128], ..>

A product's nL0 says in how many pieces its columns, and all that is as wide, are cut:
so many that they fit.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import NamedTuple

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue

from pyptoc.dialects.expr import ONE, Expr, Interval
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.matmul import MatmulOp, Product, ScaledMmOp
from pyptoc.dialects.pypto.quantising import MulGroupsOp
from pyptoc.dialects.pypto.scalars import DimOp, IndexOp, ReadOp, ScalarOp
from pyptoc.dialects.pypto.shape import AssembleOp, EmptyOp, TransposeOp, ViewOp
from pyptoc.dialects.pypto.tiles import check_cube_tile
from pyptoc.dialects.record import record
from pyptoc.passes import cube_tiles
from pyptoc.passes.column_pieces import ColumnPieces
from pyptoc.passes.cube_tiles import Contraction, CubeTile
from pyptoc.passes.form_tasks import bound_obstacle
from pyptoc.passes.index_shapes import GATHERS, indexed, per_of
from pyptoc.passes.kept_sums import KeptSums
from pyptoc.passes.matmul_shape import contraction_of, matmul_shape, scales_of
from pyptoc.passes.ownership import root_of
from pyptoc.passes.shapes import DimKey, Shapes
from pyptoc.passes.structured import LEAVES, defined_in, is_constant, unit_of
from pyptoc.passes.tile_settings import nearest_tile
from pyptoc.passes.typed import name_of, tensor_rank
from pyptoc.passes.unfit import UnfitError
from pyptoc.passes.windows import window_of
from pyptoc.runtime.machine import Machine


class Size(NamedTuple):
    """Rows and columns of a value, and what they never exceed."""

    rows: Expr
    columns: Expr
    most_rows: int
    most_columns: int


@record(frozen=False)
class NestBody:
    """The body of perfectly nested independent loops, as one task would run it."""

    loops: Sequence[scf.ForOp]
    machine: Machine
    shapes: Shapes = field(default_factory=Shapes)
    sizes: dict[SSAValue, Size] = field(default_factory=dict[SSAValue, Size])
    """Of each tensor that the body makes, and of each window that it reads."""
    dests: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Each value that stands for a destination, and which one."""
    products: dict[Product, CubeTile] = field(default_factory=dict[Product, CubeTile])
    windows: dict[SSAValue, Size] = field(default_factory=dict[SSAValue, Size])
    """Operands of products that lie in memory and have static bounds."""
    again: set[SSAValue] = field(default_factory=set[SSAValue])
    """Operands that an inner loop reads in each trip."""
    _written: set[SSAValue] = field(default_factory=set[SSAValue])
    given: set[Operation] = field(default_factory=set[Operation])
    """The products whose tile is the user's."""
    vector: bool = False
    """Whether a vector op computes something."""
    _ranges: dict[Hashable, Interval] = field(default_factory=dict[Hashable, Interval])
    _stores: list[AssembleOp] = field(default_factory=list[AssembleOp])
    grouped: dict[MulGroupsOp, int] = field(default_factory=dict[MulGroupsOp, int])
    """The ops with a scale for each group of columns, and how many columns."""
    drained: set[Operation] = field(default_factory=set[Operation])
    """The products that go straight to memory."""
    columns: ColumnPieces = field(init=False)
    indices: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The windows that hold the indices of gathers, and their most elements."""
    pinned: dict[Expr, int] = field(default_factory=dict[Expr, int])
    """The widths of pieces where columns are joined, or parts of them read."""

    def __post_init__(self) -> None:
        self.columns = ColumnPieces(self.shapes)

    @cached_property
    def sums(self) -> KeptSums:
        """The sums that L0C keeps for loops, once all of the body is known."""
        return KeptSums.of(self.products)

    def drains(self, value: SSAValue) -> bool:
        """Whether stores take a sum of a loop from L0C to memory, perhaps cast."""
        kept = self.sums.carried.get(value)
        if kept is None:
            return False
        uses = kept.drained_to()
        stores = [op for op in uses if isinstance(op, AssembleOp)]
        dests = {self.dests.get(op.dest) for op in stores}
        others = {self.dests[op.dest] for op in self._stores if op not in stores}
        return len(stores) == len(uses) and None not in dests and not dests & others

    @property
    def block(self) -> Block:
        """The body of the innermost loop."""
        return self.loops[-1].body.block

    def check(self) -> None:
        """Raise `UnfitError` unless every op of the body can be part of one task."""
        reason = bound_obstacle(list(self.loops))
        if reason is not None:
            raise UnfitError(reason, outside=True)
        self._hand_on_outside()
        self._written = {root_of(value) for value in self.loops[0].iter_args}
        for index, argument in enumerate(self.block.args[1:]):
            self.dests[argument] = index
        self._block(self.block)
        self._handed_on(self.block, range(len(self.block.args) - 1))
        self._drain()
        self.pinned = self.columns.widths()
        self._rows()

    @property
    def unit(self) -> Unit:
        """The cores that run the body."""
        if not self.products:
            return Unit.VECTOR
        return Unit.MIXED if self.vector else Unit.CUBE

    # -- destinations

    def _hand_on_outside(self) -> None:
        """Each loop but the innermost hands on what the one inside gives."""
        for loop, inner in zip(self.loops, self.loops[1:], strict=False):
            end = loop.body.block.last_op
            assert end is not None
            for argument, value in zip(
                loop.body.block.args[1:], end.operands, strict=True
            ):
                good = isinstance(value, OpResult) and (
                    value.op is inner and inner.iter_args[value.index] is argument
                )
                if not good:
                    reason = "a loop carries more than its destinations"
                    raise UnfitError(reason, outside=True)

    def _handed_on(self, block: Block, wanted: Sequence[int | None]) -> None:
        """The block yields the destinations `wanted`; None is any tile."""
        end = block.last_op
        assert isinstance(end, scf.YieldOp)
        for value, index in zip(end.operands, wanted, strict=True):
            if self.dests.get(value) != index:
                raise UnfitError("a loop carries more than its destinations")

    def _is_dest_use(self, op: Operation, value: SSAValue) -> bool:
        return (
            isinstance(op, scf.YieldOp)
            or (isinstance(op, scf.ForOp) and value in op.iter_args)
            or (isinstance(op, AssembleOp) and op.source is not value)
        )

    # -- the ops

    def _block(self, block: Block) -> None:
        for op in block.ops:
            for value in op.operands:
                written = value in self.dests or root_of(value) in self._written
                if written and not self._is_dest_use(op, value):
                    raise UnfitError("it reads a tensor that it stores into")
            self._op(op)

    def _op(self, op: Operation) -> None:
        match op:
            case arith.ConstantOp() | IndexOp() | DimOp() | scf.YieldOp():
                pass
            case ReadOp():
                if self.is_inside(window_of(op.source, self.shapes).base):
                    raise UnfitError("it reads an element of what the body makes")
            case ScalarOp():
                if not all(map(self._is_known, op.inputs)):
                    raise UnfitError("a scalar is computed from data")
            case ViewOp() | TransposeOp():
                self._window(op.results[0])
            case EmptyOp():
                self.columns.begin(op)
            case AssembleOp():
                self._assemble(op)
            case MatmulOp() | ScaledMmOp():
                self._product(op)
            case MulGroupsOp():
                self._compute(op)
                self.grouped[op] = self.sizes[op.result].columns.value
            case _ if isinstance(op, GATHERS):
                self._gather(op)
            case scf.ForOp():
                self._loop(op)
            case scf.IfOp():
                self._branch(op)
            case _:
                self._compute(op)

    def _compute(self, op: Operation) -> None:
        """A vector op."""
        unit = unit_of(op)
        if unit == "index":
            raise UnfitError("its body holds an indexing op")
        if unit != "vector":
            raise UnfitError(f"its body holds '{op.name}'")
        for value in op.operands:
            if isinstance(value.type, TensorType):
                self._measure(value)
            elif not self._is_known(value):
                raise UnfitError("a scalar operand is computed in the body")
        for value in op.results:
            self._measure(value)
        self.vector = self.vector or not isinstance(op, LEAVES)

    def _is_known(self, value: SSAValue) -> bool:
        """Whether a scalar is an expression, is read, or comes from outside."""
        index = isinstance(value.owner, IndexOp) and isinstance(value.type, IndexType)
        made = index or isinstance(value.owner, ReadOp | ScalarOp)
        return made or is_constant(value) or not self.is_inside(value)

    def is_inside(self, value: SSAValue) -> bool:
        """Whether the nest defines `value`."""
        return defined_in(value, self.loops[0])

    def is_tile(self, value: SSAValue) -> bool:
        """Whether the body makes `value`; a window of an outer tensor it reads."""
        window = isinstance(value.owner, ViewOp | TransposeOp)
        return self.is_inside(value) and (not window or value in self.columns.parts)

    def _window(self, value: SSAValue) -> None:
        base = window_of(value, self.shapes).base
        if base in self.dests or not self.is_inside(base):
            return
        view = value.owner
        if not isinstance(view, ViewOp) or not self.columns.part(view):
            raise UnfitError("it takes a part of a tensor that the body makes")
        self._measure(view.source)
        self._measure(value)

    def _gather(self, op: Operation) -> None:
        """A box of rows, an index for each."""
        access = indexed(op)
        if per_of(access) != "row" or access.memory_dims != (None, 1):
            raise UnfitError("its body holds an indexing op that gathers no rows")
        for value in (access.memory, *access.indices, access.table):
            base = value and window_of(value, self.shapes).base
            if base and self.is_inside(base):
                how = "from" if value is access.memory else "by"
                raise UnfitError(f"it gathers {how} {name_of(base)}, made in the body")
        self._measure(op.results[0])
        most = self.sizes[op.results[0]].most_rows
        self.indices |= dict.fromkeys(access.indices, most)
        self.vector = True

    def _assemble(self, op: AssembleOp) -> None:
        if op.dest in self.columns.joined and self.columns.join(op):
            self._measure(op.source)
            return
        if op.dest not in self.dests:
            raise UnfitError("it assembles into a tensor that the body makes")
        self._measure(op.source)
        self._stores.append(op)
        self.dests[op.result] = self.dests[op.dest]

    def _product(self, op: Product) -> None:
        self._measure(op.result)
        scaled = isinstance(op, ScaledMmOp)
        for value in (op.lhs, op.rhs):
            if self.is_tile(value):
                if scaled:
                    raise UnfitError("the body makes a matrix that has MX scales")
                self._measure(value)
            elif any(dim != ONE for dim in self.shapes.dims(value)[:-2]):
                raise UnfitError(f"it multiplies tensors of rank {tensor_rank(value)}")
            elif not scaled:
                self._keep(value, op)
        if any(map(self.is_tile, scales_of(op))):
            raise UnfitError("the body makes the bias or the scales of a product")
        self.products[op] = self._tile(op)

    def _keep(self, value: SSAValue, op: MatmulOp) -> None:
        """Note an operand that L1 could hold."""
        owner = value.owner
        inside = isinstance(owner, Operation) and self.is_inside(value)
        home = owner.parent if inside and isinstance(owner, Operation) else self.block
        dims = self.shapes.dims(value)
        if len(dims) < 2:
            return
        if home is not op.parent:
            self.again.add(value)
        rows, columns = dims[-2:]
        most = [size.interval(self._ranges).hi for size in (rows, columns)]
        if most[0] is not None and most[1] is not None:
            self.windows[value] = Size(rows, columns, max(most[0], 1), max(most[1], 1))

    def _drain(self) -> None:
        """Which products go straight to memory: where only such ones are stored."""
        self.drained = {op for op in self.products if self._is_stored(op)}
        while True:
            by_vector = {
                self.dests[op.dest]
                for op in self._stores
                if op.source.owner not in self.drained
            }
            met = {
                op.source.owner
                for op in self._stores
                if self.dests[op.dest] in by_vector
            } & self.drained
            if not met:
                break
            self.drained -= met
        for op in self.products:
            if isinstance(op, ScaledMmOp) or op.scale is None:
                continue
            if op not in self.drained:
                raise UnfitError("the body reads a product that has scales")
        self.vector = (
            self.vector or bool(by_vector) or len(self.drained) < len(self.products)
        )

    def _is_stored(self, op: Product) -> bool:
        """Whether only stores behind a product read it."""
        return all(
            isinstance(store := use.operation, AssembleOp)
            and store.parent is op.parent
            and store.dest in self.dests
            for use in op.result.uses
        )

    def _loop(self, op: scf.ForOp) -> None:
        counter, *arguments = op.body.block.args
        lower, upper = self.shapes.expr(op.lb), self.shapes.expr(op.ub)
        last = upper.interval(self._ranges).hi
        self._ranges[counter] = Interval(
            lower.interval(self._ranges).lo, None if last is None else last - 1
        )
        for bound in (op.lb, op.ub, op.step):
            if not self._is_known(bound):
                raise UnfitError("a bound of a loop is computed from data")
        wanted = [self.dests.get(value) for value in op.iter_args]
        self._enter(arguments, op.iter_args, wanted)
        self._block(op.body.block)
        self._handed_on(op.body.block, wanted)
        self._enter(op.results, op.iter_args, wanted)
        end = op.body.block.last_op
        assert end is not None
        for value, argument in zip(end.operands, arguments, strict=True):
            self._same_size(value, argument)

    def _enter(
        self,
        values: Sequence[SSAValue],
        initial: Sequence[SSAValue],
        wanted: Sequence[int | None],
    ) -> None:
        for value, start, index in zip(values, initial, wanted, strict=True):
            if not isinstance(value.type, TensorType):
                raise UnfitError("a loop carries a scalar")
            if index is None:
                self._measure(start)
                self._measure(value)
            else:
                self.dests[value] = index

    def _branch(self, op: scf.IfOp) -> None:
        comparison = op.cond.owner
        if not isinstance(comparison, IndexOp) and self.is_inside(op.cond):
            raise UnfitError("a condition is computed from data")
        for region in op.regions:
            for block in region.blocks:
                self._block(block)
        if not op.results:
            return
        then, other = (region.block.last_op for region in op.regions)
        assert then is not None
        assert other is not None
        wanted = [self.dests.get(value) for value in then.operands]
        self._handed_on(op.regions[1].block, wanted)
        for result, one, two, index in zip(
            op.results, then.operands, other.operands, wanted, strict=True
        ):
            if not isinstance(result.type, TensorType):
                raise UnfitError("a branch gives a scalar")
            if index is None:
                self._same_size(one, two)
                self._measure(result)
            else:
                self.dests[result] = index

    def _same_size(self, one: SSAValue, two: SSAValue) -> None:
        if one in self.dests:
            return
        self._measure(one)
        if self.shapes.dims(one) != self.shapes.dims(two):
            raise UnfitError("a tile changes its size")

    # -- sizes

    def _measure(self, value: SSAValue) -> None:
        if value in self.sizes:
            return
        if value in self.columns.joined and not self.columns.is_whole(value):
            raise UnfitError("it reads a tensor that it fills later")
        dims = self.shapes.dims(value)
        lead = dims[:-2]
        if any(dim != ONE for dim in lead):
            raise UnfitError(f"it works on a tensor of rank {len(dims)}")
        rows, columns = (ONE, ONE, *dims)[-2:]
        most_rows, most_columns = (
            self._most(size, f"the {what} of {name_of(value)}")
            for size, what in ((rows, "rows"), (columns, "columns"))
        )
        self.sizes[value] = Size(rows, columns, most_rows, most_columns)

    def _most(self, size: Expr, what: str) -> int:
        for key in size.symbols():
            if isinstance(key, DimKey):
                self._ranges.setdefault(key, Interval(0, None))
        most = size.interval(self._ranges).hi
        if most is None:
            raise UnfitError(f"{what} have no static bound")
        return max(most, 1)

    def _rows(self) -> None:
        """Two vector cores share the rows of all tiles, or each has all of a row."""
        if self.unit != Unit.MIXED:
            return
        rows = {
            size.rows
            for value, size in self.sizes.items()
            if self.in_vector(value) and size.rows != ONE
        }
        crossing = [value for op in self.products for value in (op.lhs, op.rhs)]
        stored = [
            op.source for op in self._stores if op.source.owner not in self.drained
        ]
        shared = [v for v in (*stored, *crossing) if v in self.sizes]
        if rows and any(self.sizes[v].rows == ONE for v in shared):
            raise UnfitError("two vector cores cannot share the rows of all its tiles")

    def in_vector(self, value: SSAValue) -> bool:
        """Whether a tile of `value` lies in UB."""
        return value.owner not in self.drained

    # -- products

    def contraction(self, op: Product) -> Contraction:
        """A product with the most of each of its sizes."""
        k = matmul_shape(op, self.shapes).k.interval(self._ranges).hi
        _, _, m, n = self.sizes[op.result]
        return replace(contraction_of(op, self.shapes), m=m, n=n, k=k)

    def _tile(self, op: Product) -> CubeTile:
        """The given tile, no larger than what the body needs, or one of all of it."""
        contraction = self.contraction(op)
        given = nearest_tile(op, CubeTileAttr, lambda tiles: tiles.cube)
        if given is None:
            return cube_tiles.whole_tile(contraction)
        check_cube_tile(given, op)
        self.given.add(op)
        tile = CubeTile.of(given).clamped(contraction)
        cube_tiles.check_fits(tile, contraction, self.machine, op)
        return tile
