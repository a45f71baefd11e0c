"""
Where a pass emits new operations, and with which location, tag and provenance.

    build = Builder.before(op, stamp={"npu.from": StringAttr("softmax")})
    m = build.index(Expr.sym(ub) - Expr.sym(lb))     # one pypto.index, or `ub` itself
    y = build.emit(MulOp.make(x, 2.0))[0]

Every emitted op takes the location of the op that the builder was made for and, if
it has none of that name itself, the attributes of `stamp`. Constants and sizes that
were emitted once are used again where they are visible.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field, replace
from typing import cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr, TensorType
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint

from pyptoc.dialects.expr import Compare, Expr
from pyptoc.dialects.parallel import mark_parallel
from pyptoc.dialects.pypto.brackets import shape_of
from pyptoc.dialects.pypto.scalars import AssertOp, DimOp, IndexOp
from pyptoc.dialects.pypto.shape import ReshapeOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import DYNAMIC
from pyptoc.passes.shapes import DimKey
from pyptoc.passes.typed import element_type

INDEX = IndexType()
"""The one `index` type: shared, because building an attribute costs microseconds."""


@record(frozen=False)
class Builder:
    """An insertion point that stamps what is emitted there."""

    point: InsertPoint
    location: LocationAttr
    stamp: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    known: dict[Hashable, SSAValue] = field(
        default_factory=dict[Hashable, SSAValue], repr=False
    )
    """Values at hand: a number's constant, the size that a `DimKey` stands for."""

    @classmethod
    def before(
        cls, op: Operation, stamp: Mapping[str, Attribute] | None = None
    ) -> Builder:
        """A builder that inserts before `op`, with its location."""
        return cls(InsertPoint.before(op), op.location, stamp or {})

    @classmethod
    def after(
        cls, op: Operation, stamp: Mapping[str, Attribute] | None = None
    ) -> Builder:
        """A builder that inserts after `op`, with its location."""
        return cls(InsertPoint.after(op), op.location, stamp or {})

    def at_end(self, block: Block) -> Builder:
        """The same stamps at the end of `block`, which lies behind this point."""
        return replace(self, point=InsertPoint.at_end(block), known=dict(self.known))

    def at_start(self, block: Block) -> Builder:
        """The same stamps at the start of `block`."""
        return replace(self, point=InsertPoint.at_start(block), known={})

    def emit(
        self, op: Operation, *, names: Sequence[str | None] = ()
    ) -> Sequence[OpResult]:
        """Insert `op`, stamped; its results, named after `names`."""
        for key, value in self.stamp.items():
            op.attributes.setdefault(key, value)
        for result, name in zip(op.results, names):
            result.name_hint = name
        return self._insert(op)

    def _insert(self, op: Operation) -> Sequence[OpResult]:
        op.location = self.location
        block, before = self.point.block, self.point.insert_before
        if before is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, before)
        return op.results

    def value(self, op: Operation, name: str | None = None) -> OpResult:
        """Insert `op`, stamped, and return its only result."""
        (result,) = self.emit(op, names=(name,))
        return result

    def reshaped(
        self,
        value: SSAValue,
        sizes: Sequence[Expr],
        type_: Attribute | None = None,
    ) -> SSAValue:
        """`value` with other sizes, of `type_` or with a `?` where one is no number."""
        given = [self.index_or_int(size) for size in sizes]
        shape = [size if isinstance(size, int) else DYNAMIC for size in given]
        type_ = type_ or TensorType(element_type(value), shape)
        reshape = ReshapeOp.make(value, given, result_type=type_)
        return self.value(reshape, value.name_hint)

    def retyped(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """
        `value` as a `type_` that agrees up to `?`: a view of all of it.

        Where `type_` states a size, `check-bounds` checks it.
        """
        if value.type == type_:
            return value
        whole = [None] * len(shape_of(value.type))
        view = ViewOp.make(value, whole, result_type=type_)
        return self.value(view, value.name_hint)

    # Integers. They belong to no composite and no tile, so they take no stamp.

    def constant(self, number: int) -> SSAValue:
        """`number` as an `index` value, shared with the ops around."""
        found = self.known.get(number)
        if found is not None:
            return found
        op = ConstantOp.create(
            result_types=[INDEX], properties={"value": IntegerAttr(number, INDEX)}
        )
        if number >= 0:
            op.results[0].name_hint = f"c{number}"
        self.known[number] = op.results[0]
        return self._insert(op)[0]

    def index(self, expr: Expr | int, name: str | None = None) -> SSAValue:
        """
        `expr`, whose symbols are `index` values or `DimKey`s, as one value.

        A constant becomes `arith.constant`, a lone value itself, a lone `DimKey` a
        `pypto.dim`, anything else one `pypto.index` over those.
        """
        if isinstance(expr, int):
            return self.constant(expr)
        if expr.is_const:
            return self.constant(expr.value)
        symbols = expr.symbols()
        if len(symbols) == 1 and expr == Expr.sym(symbols[0]):
            return self._root(symbols[0])
        return self._arithmetic(expr, name)

    def compare(self, comparison: Compare, name: str | None = None) -> SSAValue:
        """`comparison` of two expressions over `index` values, as an `i1`."""
        return self._arithmetic(comparison, name)

    def index_or_int(self, expr: Expr | int) -> SSAValue | int:
        """`expr` as an entry of a mixed list: an `int` where it is constant."""
        if isinstance(expr, int):
            return expr
        return expr.value if expr.is_const else self.index(expr)

    def require(
        self,
        comparison: Compare,
        message: str,
        args: Sequence[Expr],
        code: str,
        help: str = "",
    ) -> None:
        """
        A `pypto.assert` of `comparison`; `{0}`, .. in `message` and `help` show `args`.
        """
        condition = self._over_values(comparison)
        assert isinstance(condition, Compare)
        shown = [self.index(arg) for arg in args]
        self._insert(AssertOp.make(condition, message, shown, code=code, help=help))

    def _arithmetic(self, expr: Expr | Compare, name: str | None) -> SSAValue:
        """One `pypto.index`; dimensions among the symbols become values first."""
        op = IndexOp.of(self._over_values(expr))
        op.results[0].name_hint = name
        return self._insert(op)[0]

    def _over_values(self, expr: Expr | Compare) -> Expr | Compare:
        """`expr` with a value in the place of each dimension."""
        dims = [key for key in expr.symbols() if isinstance(key, DimKey)]
        return expr.subs({key: Expr.sym(self._root(key)) for key in dims})

    def _root(self, key: Hashable) -> SSAValue:
        """The value that a symbol stands for; `pypto.dim` for a dimension."""
        if isinstance(key, DimKey):
            found = self.known.get(key)
            if found is None:
                found = self._insert(DimOp.make(key.value, key.axis))[0]
                self.known[key] = found
            return found
        return cast("SSAValue", key)

    # Loops

    def loop(
        self,
        lower: Expr | int,
        upper: Expr | int,
        step: Expr | int,
        carried: Sequence[SSAValue] = (),
        *,
        parallel: bool = False,
        name: str | None = None,
    ) -> tuple[ForOp, Builder]:
        """
        An `scf.for` that carries `carried`, and a builder at the end of its body.

        The body's arguments are the loop index and one value for each entry of
        `carried`; the caller closes the body with `yield_`.
        """
        bounds = [self.index(bound) for bound in (lower, upper, step)]
        body = Block(arg_types=[INDEX, *(value.type for value in carried)])
        body.args[0].name_hint = name
        for argument, value in zip(body.args[1:], carried):
            argument.name_hint = value.name_hint
        for argument in body.args:
            argument.location = self.location
        op = ForOp.create(
            operands=[*bounds, *carried],
            result_types=[value.type for value in carried],
            regions=[Region(body)],
        )
        if parallel:
            mark_parallel(op)
        self.emit(op, names=[value.name_hint for value in carried])
        return op, self.at_end(body)

    def yield_(self, *values: SSAValue) -> None:
        """Close an scf body with the values that it hands on."""
        op = YieldOp.create(operands=values)
        op.location = self.location
        self.point.block.add_op(op)
