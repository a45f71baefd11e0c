"""
Building the body of one `npu.tasks`: index arithmetic, tiles of tensors, stores.

A body is written with expressions; this turns them into ops. Dimensions of arguments
(`DimKey`) become `pypto.dim` once a function, other expressions one `pypto.index` each
in the block where they are needed, and boxes of tensors become views whose sizes are
static where they can be and bounded (`#npu.max`) where they cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from xdsl.dialects import func
from xdsl.dialects.builtin import NoneAttr, TensorType
from xdsl.dialects.scf import ForOp
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue
from xdsl.rewriter import InsertPoint

from pyptoc.dialects.expr import ONE, ZERO, Expr, minimum
from pyptoc.dialects.npu import AssembleOp, TasksOp
from pyptoc.dialects.npu_attrs import MaxAttr, Unit
from pyptoc.dialects.pypto.scalars import DimOp
from pyptoc.dialects.pypto.shape import EmptyOp, TransposeOp, ViewOp
from pyptoc.dialects.pypto.structure import WHOLE, Access
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import DYNAMIC
from pyptoc.passes.builder import Builder
from pyptoc.passes.shapes import DimKey, Dims, Shapes
from pyptoc.passes.typed import element_type
from pyptoc.passes.windows import Window, window_of


@record
class Extent:
    """Where a tile lies along one dimension: start, size and the size's bound."""

    lo: Expr
    size: Expr
    bound: int

    @property
    def static(self) -> int:
        """The size as tensor types write it."""
        return self.size.value if self.size.is_const else DYNAMIC


SINGLE = Extent(ZERO, ONE, 1)
"""All of a dimension of one element."""


def cut(lo: Expr, step: int, total: Expr, *, clamp: bool = False) -> Extent:
    """
    The tile of at most `step` elements that starts at `lo`.

    `clamp`: `lo` may lie beyond the end; the tile is empty then.
    """
    step = min(step, max(total.value, 1)) if total.is_const else step
    if clamp and not total.is_const and lo != ZERO:
        lo = minimum(lo, total)
    rest = total - lo
    divides = total.is_const and total.value > 0 and total.value % step == 0
    size = Expr.const(step) if divides else minimum(step, rest)
    return Extent(lo, size, step)


def box_of(
    access: Access, places: Sequence[Extent], whole: Extent = SINGLE
) -> list[Extent]:
    """The box of a tensor that a box of the iteration space touches."""
    return [
        SINGLE if axis is None else whole if axis == WHOLE else places[axis]
        for axis in access.axes
    ]


def bounded_type(
    extents: Sequence[Extent], element: Attribute
) -> TensorType[Attribute]:
    """The tensor type of a tile: bounds are written only where a size is dynamic."""
    sizes = [extent.static for extent in extents]
    dynamic = any(size == DYNAMIC for size in sizes)
    bounds = MaxAttr([e.bound for e in extents]) if dynamic else NoneAttr()
    return TensorType(element, sizes, bounds)


@record(frozen=False)
class Roots:
    """The `pypto.dim` ops of a function, one for each dimension that is needed."""

    function: func.FuncOp
    _known: dict[DimKey, SSAValue] = field(default_factory=dict[DimKey, SSAValue])

    def __post_init__(self) -> None:
        for op in self.function.body.block.ops:
            if not isinstance(op, DimOp):
                break
            key = DimKey(op.source, op.axis.value.data)
            self._known.setdefault(key, op.results[0])

    def concrete(self, expr: Expr) -> Expr:
        """`expr` with every `DimKey` replaced by an index value."""
        keys = [key for key in expr.symbols() if isinstance(key, DimKey)]
        return expr.subs({key: Expr.sym(self._dim(key)) for key in keys})

    def _dim(self, key: DimKey) -> SSAValue:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._emit(key)
        return found

    def _emit(self, key: DimKey) -> SSAValue:
        value = key.value
        if isinstance(value, BlockArgument):
            point = InsertPoint.at_start(value.block)
        else:
            point = InsertPoint.after(value.owner)  # pyright: ignore
        build = Builder(point, self.function.location)
        return build.value(DimOp.make(value, key.axis))


@record(frozen=False)
class BodyBuilder:
    """Emits into one block of a task's body."""

    build: Builder
    shapes: Shapes
    roots: Roots
    _values: dict[Expr, SSAValue] = field(default_factory=dict[Expr, SSAValue])

    def inside(self, build: Builder) -> BodyBuilder:
        """A builder for a nested block, which sees the values of this one."""
        return replace(self, build=build, _values=dict(self._values))

    def about(self, op: Operation) -> BodyBuilder:
        """The same place; what is emitted has the location of `op`."""
        return replace(self, build=replace(self.build, location=op.location))

    def index(self, expr: Expr) -> int | SSAValue:
        """`expr` as an entry of a mixed list."""
        expr = self.roots.concrete(expr)
        if expr.is_const:
            return expr.value
        value = self._values.get(expr)
        if value is None:
            value = self._values[expr] = self.build.index(expr)
        return value

    def tile(self, value: SSAValue, extents: Sequence[Extent]) -> SSAValue:
        """The box `extents` of `value`, one each of its dimensions, as a view."""
        return self.tile_of(window_of(value, self.shapes), extents)

    def tile_of(self, window: Window, extents: Sequence[Extent]) -> SSAValue:
        """
        The box of a window; all but the last two dimensions are dropped.

        Rows and columns that lie the other way round in the tensor are transposed.
        """
        subscripts: list[object] = list(map(self.index, window.offsets))
        kept = range(max(len(extents) - 2, 0), len(extents))
        for axis, extent in enumerate(extents):
            dim = window.dims[axis]
            lo = self.index(window.offsets[dim] + extent.lo)
            keeps = axis in kept
            subscripts[dim] = (lo, self.index(extent.size)) if keeps else lo
        order = sorted(kept, key=lambda axis: window.dims[axis])
        type_ = bounded_type([extents[a] for a in order], element_type(window.base))
        view = ViewOp.make(window.base, subscripts, result_type=type_)
        tile = self.build.value(view)
        if order == list(kept):
            return tile
        return self.build.value(TransposeOp.make(tile, [1, 0]))

    def assemble(
        self,
        tile: SSAValue,
        dest: SSAValue,
        offsets: Sequence[Expr],
    ) -> None:
        """Store `tile` into an out of the tasks at `offsets`."""
        mixed = [self.index(offset) for offset in offsets]
        self.build.emit(AssembleOp.make(tile, dest, mixed))

    def loop(
        self,
        lower: Expr,
        upper: Expr,
        step: int,
        carried: Sequence[SSAValue] = (),
        name: str | None = None,
    ) -> tuple[ForOp, BodyBuilder]:
        """A loop of the body and the builder of its body."""
        bounds = [self.roots.concrete(bound) for bound in (lower, upper)]
        op, build = self.build.loop(bounds[0], bounds[1], step, carried, name=name)
        return op, self.inside(build)


@record
class TasksFrame:
    """A new `npu.tasks` without a body yet."""

    op: TasksOp
    body: BodyBuilder

    @property
    def grid(self) -> list[Expr]:
        """The grid indices as expressions; 0 along an axis of one task."""
        return [
            ZERO if size == 1 else Expr.sym(index)
            for index, size in zip(self.op.grid_args, self.op.grid, strict=True)
        ]

    @property
    def outs(self) -> list[SSAValue]:
        """The destinations as the body sees them."""
        return list(self.op.out_args)


def open_tasks(
    build: Builder,
    shapes: Shapes,
    roots: Roots,
    grid: Sequence[Expr],
    outs: Sequence[SSAValue],
    unit: Unit,
) -> TasksFrame:
    """Emit an `npu.tasks` over `grid` that assembles into `outs`."""
    sizes = [build.index_or_int(roots.concrete(size)) for size in grid]
    op = TasksOp.make(sizes, unit, outs=outs)
    build.emit(op)
    block: Block = op.body.block
    for argument, name in zip(op.grid_args, "ijklmn", strict=False):
        argument.name_hint = name
    for argument in op.out_args:
        argument.name_hint = "out"
    return TasksFrame(op, BodyBuilder(build.at_end(block), shapes, roots))


def empty_like(
    value: SSAValue, build: Builder, shapes: Shapes, roots: Roots
) -> SSAValue:
    """A fresh destination of the sizes and type of `value`."""
    dims = shapes.dims(value)
    sizes = [build.index_or_int(roots.concrete(dim)) for dim in dims]
    empty = EmptyOp.make(sizes, result_type=value.type)
    return build.value(empty, value.name_hint)


def offsets_at(extents: Sequence[Extent], base: Dims) -> list[Expr]:
    """Where a tile goes in a destination whose trailing dimensions it aligns with."""
    lead = len(base) - len(extents)
    return [
        offset + (extents[axis - lead].lo if axis >= lead else 0)
        for axis, offset in enumerate(base)
    ]
