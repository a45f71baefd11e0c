"""
The elementary steps that composites are made of, as one builder.

    step = Steps.replacing(op)               # at the op, with its location and tag
    e = step.exp(step.sub(x, m))             # values, or numbers as literals
    s = step.sum(e, axis=-1)                 # keeps the axis, with size 1
    step.finish([step.div(e, s)])            # the composite goes away

Each op that is emitted says which composite it belongs to (`npu.from`), and takes the
composite's tile if its result has the composite's shape.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from xdsl.dialects.builtin import IntegerAttr, StringAttr, f32
from xdsl.ir import Attribute, Operation, SSAValue

from pyptoc.dialects.expr import Compare, Expr
from pyptoc.dialects.pypto.attrs import VecTileAttr
from pyptoc.dialects.pypto.elementwise import (
    AddOp,
    CastOp,
    ClipOp,
    DivOp,
    EqOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    SubOp,
    WhereOp,
)
from pyptoc.dialects.pypto.reduce import AmaxOp, ReductionOp, SumOp
from pyptoc.dialects.pypto.scalar_expr import ScalarExpr
from pyptoc.dialects.pypto.scalars import ScalarOp
from pyptoc.dialects.pypto.shape import (
    AssembleOp,
    EmptyOp,
    ReshapeOp,
    TransposeOp,
    ViewOp,
)
from pyptoc.dialects.pypto.unary import AbsOp, ExpOp, LogOp, NegOp, RoundOp, SqrtOp
from pyptoc.dialects.record import record
from pyptoc.passes.builder import Builder
from pyptoc.passes.obligation import Obligation
from pyptoc.passes.ranges import Ranges
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.typed import element_type, shape_of, tensor_rank

Value = SSAValue | int | float
"""An operand: a tensor, an f32 scalar, or a number that is a literal."""

FROM = "npu.from"
"""The attribute that names the composite an op belongs to."""


@record(frozen=False)
class Steps:
    """Emits base ops in the place of one composite."""

    op: Operation
    build: Builder
    shapes: Shapes
    shape: tuple[int, ...]
    """The shape that the composite's tile is for."""
    tile: Attribute | None
    """The tile of ops of that shape."""
    order: list[int] | None = None
    """The order of dimensions while an axis is moved last; None: as they were."""

    @classmethod
    def replacing(cls, op: Operation, shapes: Shapes, main: SSAValue) -> Steps:
        """Steps at `op`, whose tile is for tensors of the shape of `main`."""
        stamp: dict[str, Attribute] = {FROM: StringAttr(op.name.split(".")[-1])}
        for key in ("tag", FROM, "pypto.tiles"):
            if key in op.attributes:
                stamp[key] = op.attributes[key]
        build, tile = Builder.before(op, stamp), op.attributes.get("tile")
        return cls(op, build, shapes, _shape(main), tile)

    def finish(self, results: Sequence[SSAValue]) -> None:
        """Replace the results of the composite, which keep their names; erase it."""
        for old, value in zip(self.op.results, results, strict=True):
            new = self.build.retyped(value, old.type)
            if old.name_hint is not None:
                new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        self.op.detach()
        self.op.erase()

    def owe(self, obligations: Iterable[Obligation]) -> None:
        """Assert what a reshape would hide, unless the sizes are equal anyway."""
        ranges = Ranges(self.shapes)
        for owed in obligations:
            if ranges.root(owed.lhs) != ranges.root(owed.rhs):
                condition = Compare(owed.relation, owed.lhs, owed.rhs)
                self.build.require(
                    condition, owed.message, owed.args, owed.code, owed.help
                )

    def emit(self, op: Operation) -> SSAValue:
        """Any op with one result."""
        result = self.build.value(op)
        if self.tile is not None:
            visited = op.operands[0] if isinstance(op, ReductionOp) else result
            shape, tile = self._moved()
            if _shape(visited) == shape:
                op.attributes["tile"] = tile
        return result

    def _moved(self) -> tuple[tuple[int, ...], Attribute]:
        """The shape that the tile is for, and the tile, where an axis is moved last."""
        tile, order = self.tile, self.order
        assert tile is not None
        if order is None:
            return self.shape, tile
        if isinstance(tile, VecTileAttr):
            sizes = (1,) * (len(order) - len(tile.sizes)) + tile.sizes
            if len(sizes) == len(order):
                tile = VecTileAttr([sizes[axis] for axis in order])
        return tuple(self.shape[axis] for axis in order), tile

    # Elementwise

    def add(self, a: Value, b: Value) -> SSAValue:
        return self.emit(AddOp.make(a, b))

    def sub(self, a: Value, b: Value) -> SSAValue:
        return self.emit(SubOp.make(a, b))

    def mul(self, a: Value, b: Value) -> SSAValue:
        return self.emit(MulOp.make(a, b))

    def div(self, a: Value, b: Value, *, zero_if_zero: bool = False) -> SSAValue:
        return self.emit(DivOp.make(a, b, zero_if_zero=zero_if_zero))

    def maximum(self, a: Value, b: Value) -> SSAValue:
        return self.emit(MaximumOp.make(a, b))

    def minimum(self, a: Value, b: Value) -> SSAValue:
        return self.emit(MinimumOp.make(a, b))

    def eq(self, a: Value, b: Value) -> SSAValue:
        return self.emit(EqOp.make(a, b))

    def clip(self, x: SSAValue, low: float, high: float) -> SSAValue:
        return self.emit(ClipOp.make(x, low, high))

    def where(self, condition: SSAValue, a: Value, b: Value) -> SSAValue:
        return self.emit(WhereOp.make(condition, a, b))

    def neg(self, x: Value) -> SSAValue:
        return self.emit(NegOp.make(x))

    def round(self, x: Value) -> SSAValue:
        return self.emit(RoundOp.make(x))

    def exp(self, x: Value) -> SSAValue:
        return self.emit(ExpOp.make(x))

    def log(self, x: Value) -> SSAValue:
        return self.emit(LogOp.make(x))

    def sqrt(self, x: Value) -> SSAValue:
        return self.emit(SqrtOp.make(x))

    def abs(self, x: Value) -> SSAValue:
        return self.emit(AbsOp.make(x))

    def cast(self, x: SSAValue, to: Attribute, mode: str | None = None) -> SSAValue:
        """`x` with elements of type `to`; `x` itself if it has them."""
        if element_type(x) == to and mode is None:
            return x
        return self.emit(CastOp.make(x, to, mode=mode))

    def f32(self, x: SSAValue) -> SSAValue:
        return self.cast(x, f32)

    # Reductions, and shapes: those compute nothing, so they have no tile

    def amax(self, x: SSAValue, axis: int) -> SSAValue:
        return self.reduce(AmaxOp, x, axis)

    def sum(self, x: SSAValue, axis: int) -> SSAValue:
        return self.reduce(SumOp, x, axis)

    def reduce(self, kind: type[ReductionOp], x: SSAValue, axis: int) -> SSAValue:
        """A reduction that keeps `axis`, with size 1."""
        return self.emit(kind.make(x, axis, keepdim=True))

    def mean(self, x: SSAValue, axis: int) -> SSAValue:
        """
        The mean of f32 values along an axis, which stays with size 1.

        The sum of x * (1 / n): scaling first keeps the sum from overflowing.
        """
        return self.sum(self.mul(x, self.inverse(self.shapes.dims(x)[axis])), axis)

    def inverse(self, size: Expr) -> Value:
        """1 / size in f32."""
        if size.is_const:
            rounded = f32.round(float(size.value))
            return 1.0 / rounded if rounded else math.inf
        one = ScalarExpr("number", value=1.0)
        ratio = ScalarExpr("/", (one, ScalarExpr("operand")))
        return self.build.value(ScalarOp.make(ratio, [self.build.index(size)]))

    def one_or_nan(self, size: Expr) -> Value:
        """1.0, or NaN where `size` is 0."""
        inverse = self.inverse(size)
        assert isinstance(inverse, SSAValue)
        zero = ScalarExpr("*", (ScalarExpr("operand"), ScalarExpr("number", value=0.0)))
        total = ScalarExpr("+", (zero, ScalarExpr("number", value=1.0)))
        return self.build.value(ScalarOp.make(total, [inverse]))

    def reshape(self, x: SSAValue, sizes: Sequence[Expr | int]) -> SSAValue:
        """`x` in another shape; sizes are expressions over roots."""
        known = [Expr.of(size) for size in sizes]
        unknown = [i for i, size in enumerate(known) if not size.is_const]
        if len(unknown) == 1 and Expr.const(0) not in known:
            known[unknown[0]] = Expr.const(-1)
        items = [self.build.index_or_int(size) for size in known]
        return self.build.value(ReshapeOp.make(x, items))

    def part(self, x: SSAValue, axis: int, offset: Expr | int, size: Expr) -> SSAValue:
        """The part of `x` along `axis` from `offset`, `size` long."""
        box = (self.build.index_or_int(offset), self.build.index_or_int(size))
        whole: list[object] = [None] * tensor_rank(x)
        whole[axis] = box
        return self.build.value(ViewOp.make(x, whole))

    def transpose(self, x: SSAValue, perm: Sequence[int]) -> SSAValue:
        """`x` with dimension `perm[i]` at place i; `x` itself if nothing moves."""
        if list(perm) == list(range(len(perm))):
            return x
        return self.build.value(TransposeOp.make(x, list(perm)))

    def to_last(self, x: SSAValue, axis: int) -> SSAValue:
        """`x` with `axis` moved behind the others, where tasks fold and scan."""
        order = list(range(tensor_rank(x)))
        order.append(order.pop(axis))
        if _shape(x) == self.shape:
            self.order = order
        return self.transpose(x, order)

    def from_last(self, x: SSAValue, axis: int) -> SSAValue:
        """`x` with its last axis at place `axis`: undoes `to_last`."""
        order = list(range(tensor_rank(x) - 1))
        order.insert(axis, tensor_rank(x) - 1)
        self.order = None
        return self.transpose(x, order)

    def join(self, parts: Sequence[SSAValue], axis: int, type_: Attribute) -> SSAValue:
        """Tensors one after the other along `axis`, each written to its place."""
        axis %= tensor_rank(parts[0])
        shapes = [self.shapes.dims(part) for part in parts]
        sizes = list(shapes[0])
        sizes[axis] = sum((dims[axis] for dims in shapes), start=Expr.const(0))
        items = [self.build.index_or_int(size) for size in sizes]
        joined = self.build.value(EmptyOp.make(items, result_type=type_))
        begin = Expr.const(0)
        for part, dims in zip(parts, shapes, strict=True):
            if dims[axis] != Expr.const(0):
                joined = self.write(part, joined, axis, begin)
            begin = begin + dims[axis]
        return joined

    def write(
        self, part: SSAValue, whole: SSAValue, axis: int, begin: Expr
    ) -> SSAValue:
        """`whole` with `part` in it, which starts at `begin` along `axis`."""
        offsets: list[int | SSAValue] = [0] * tensor_rank(whole)
        offsets[axis] = self.build.index_or_int(begin)
        return self.build.value(AssembleOp.make(part, whole, offsets))


class AlongAxis(Protocol):
    """An op that works along one axis."""

    @property
    def axis(self) -> IntegerAttr: ...

    @property
    def source(self) -> SSAValue: ...


def axis_of(op: AlongAxis) -> int:
    """The axis an op works along, counted from the front."""
    return op.axis.value.data % tensor_rank(op.source)


def is_last_axis(op: AlongAxis) -> bool:
    """Whether an op works along the last axis of its operand."""
    return axis_of(op) == tensor_rank(op.source) - 1


def replaced(dims: Sequence[Expr], axis: int, *sizes: Expr | int) -> list[Expr | int]:
    """`dims` with `sizes` in the place of `axis`."""
    axis %= len(dims)
    return [*dims[:axis], *sizes, *dims[axis + 1 :]]


def _shape(value: SSAValue) -> tuple[int, ...]:
    return shape_of(value.type)
