"""
Sizes as integer expressions: what a tensor's dimensions are, in terms of a few roots.

A *root* is an SSA value that no integer op defines (a loop counter, a scalar that was
read, a grid index) or a `DimKey`, a dynamic dimension of a function argument. Two
dimensions are equal when their expressions are, so `%m` from `pypto.dim %a, 0`, the
rows of a view of size `%m` and a second argument whose dimension has the same name all
compare equal:

    %m = pypto.dim %a, 0                                   expression  dim(a, 0)
    %v = pypto.view %a[0 +: %m, :]   : tensor<?x64xf32>    dims        (dim(a, 0), 64)
    %w = pypto.exp %v                : tensor<?x64xf32>    dims        (dim(a, 0), 64)

The analysis only reads the IR. `passes.builder` turns an expression back into ops.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, cast

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from pyptoc.dialects.expr import ONE, Expr, Interval
from pyptoc.dialects.npu import AllocOp, LoadOp, PlaceOp, TasksOp
from pyptoc.dialects.npu import ReinterpretOp as MemoryReinterpretOp
from pyptoc.dialects.npu import ReshapeOp as MemoryReshapeOp
from pyptoc.dialects.pypto.composite import SoftmaxOp
from pyptoc.dialects.pypto.infer_shape import element_bytes
from pyptoc.dialects.pypto.matmul import EpilogueOp, MmaOp
from pyptoc.dialects.pypto.scalars import DimOp, IndexOp
from pyptoc.dialects.pypto.shape import (
    ArangeOp,
    AssembleOp,
    ConcatOp,
    EmptyOp,
    ExpandOp,
    FullOp,
    ReinterpretOp,
    ReshapeOp,
    TransposeOp,
    ViewOp,
)
from pyptoc.dialects.pypto.structure import WHOLE, Access, Structured
from pyptoc.dialects.subscripts import ints
from pyptoc.passes import index_shapes
from pyptoc.passes.typed import shape_of

Dims = tuple[Expr, ...]
_SIZE = Interval(0, None)
Shaped = TensorType[Attribute] | MemRefType[Attribute]


class DimKey(NamedTuple):
    """A dynamic dimension as a root: dimension `axis` of `value`."""

    value: SSAValue
    axis: int


def value_of(key: Hashable) -> SSAValue | None:
    """The SSA value that a symbol is, or is a size of; None for any other symbol."""
    value: object = key.value if isinstance(key, DimKey) else key
    return cast("SSAValue", value) if isinstance(value, SSAValue) else None


def is_shaped(value: SSAValue) -> bool:
    """Whether `value` is a tensor or a memref."""
    return isinstance(value.type, TensorType | MemRefType)


class Shapes:
    """Dimensions and integer values of one function, computed on demand."""

    def __init__(self) -> None:
        self._dims: dict[SSAValue, Dims] = {}
        self._exprs: dict[SSAValue, Expr] = {}
        self._spaces: dict[Operation, Dims] = {}
        self._bound: set[SSAValue] = set()
        self._roots: dict[Operation, dict[tuple[int, int], DimKey]] = {}

    def dims(self, value: SSAValue) -> Dims:
        """The dimensions of a tensor or memref, one expression each."""
        known = self._dims.get(value)
        if known is None:
            known = self._dims[value] = self._compute(value)
        return known

    def expr(self, value: SSAValue) -> Expr:
        """The integer `value` as an expression over roots."""
        known = self._exprs.get(value)
        if known is None:
            known = self._exprs[value] = self._expr(value)
        return known

    def bind(self, value: SSAValue, expr: Expr) -> None:
        """From now on `value` is `expr`; what was derived before is forgotten."""
        bound = {key: e for key, e in self._exprs.items() if key in self._bound}
        self._bound.add(value)
        self._exprs, self._dims, self._spaces = {**bound, value: expr}, {}, {}

    def mixed(self, item: int | SSAValue) -> Expr:
        """A mixed static/dynamic list entry as an expression."""
        return Expr.const(item) if isinstance(item, int) else self.expr(item)

    def _expr(self, value: SSAValue) -> Expr:
        owner = value.owner
        match owner:
            case IndexOp() if isinstance(value.type, IndexType):
                known: dict[Hashable, Expr | int] = {
                    operand: self.expr(operand) for operand in owner.operands
                }
                expr = owner.value_expr
                assert isinstance(expr, Expr)
                return expr.subs(known)
            case DimOp():
                return self.dims(owner.source)[owner.axis.value.data]
            case arith.ConstantOp(value=IntegerAttr() as attr):
                return Expr.const(attr.value.data)
            case _:
                return Expr.sym(value)

    def _compute(self, value: SSAValue) -> Dims:
        shape = shape_of(value.type)
        if all(size >= 0 for size in shape):
            return tuple(Expr.const(size) for size in shape)
        found = self._dynamic(value)
        return tuple(
            Expr.const(size) if size >= 0 else dim
            for size, dim in zip(shape, found, strict=True)
        )

    def _dynamic(self, value: SSAValue) -> Dims:
        if isinstance(value, BlockArgument):
            return self._argument(value)
        assert isinstance(value, OpResult)
        op = value.op
        rule = _RULES.get(type(op))
        if rule is not None:
            return rule(self, op)
        if isinstance(op, scf.ForOp):
            return self.dims(op.iter_args[value.index])
        if isinstance(op, scf.IfOp):
            return self._branches(op, value)
        if isinstance(op, TasksOp):
            return self.dims(op.outs[value.index])
        return self._from_operands(op, value)

    def _argument(self, value: BlockArgument) -> Dims:
        parent = value.block.parent_op()
        if isinstance(parent, scf.ForOp) and value.index > 0:
            return self.dims(parent.iter_args[value.index - 1])
        if isinstance(parent, TasksOp):
            return self.dims(parent.outs[value.index - len(parent.grid)])
        rank = len(value.type.get_shape())  # pyright: ignore
        if isinstance(parent, func.FuncOp):
            return tuple(
                Expr.sym(self._root(parent, value, axis)) for axis in range(rank)
            )
        return tuple(Expr.sym(DimKey(value, axis)) for axis in range(rank))

    def _root(self, function: func.FuncOp, value: BlockArgument, axis: int) -> DimKey:
        """The root of an argument's dimension: those of equal names are one root."""
        roots = self._roots.get(function)
        if roots is None:
            roots = self._roots[function] = named_dimensions(function)
        return roots.get((value.index, axis)) or DimKey(value, axis)

    def _branches(self, op: scf.IfOp, value: OpResult) -> Dims:
        """What both branches agree on; a root where they differ."""
        ends = [region.block.last_op for region in op.regions]
        yields = [end for end in ends if isinstance(end, scf.YieldOp)]
        then, other = (self.dims(end.operands[value.index]) for end in yields)
        return tuple(
            a if a == b else Expr.sym(DimKey(value, axis))
            for axis, (a, b) in enumerate(zip(then, other, strict=True))
        )

    def _from_operands(self, op: Operation, value: SSAValue) -> Dims:
        """Of a structured op, the sizes of its axes; else each is a root of its own."""
        if isinstance(op, Structured):
            space = self.space(op)
            written = next(a for a in op.structure().writes if a.value is value)
            return tuple(ONE if axis is None else space[axis] for axis in written.axes)
        rank = len(value.type.get_shape())  # pyright: ignore
        return tuple(Expr.sym(DimKey(value, axis)) for axis in range(rank))

    def space(self, op: Structured) -> Dims:
        """
        The sizes of the axes of an op; of equal ones, a static one is preferred.

        What no operand lies along is as long as the result.
        """
        assert isinstance(op, Operation)
        known = self._spaces.get(op)
        if known is None:
            structure = op.structure()
            sizes: list[Expr | None] = [None] * structure.rank
            self._measure(structure.reads, sizes)
            if None in sizes:
                self._measure(structure.writes, sizes)
            known = self._spaces[op] = tuple(size or ONE for size in sizes)
        return known

    def _measure(self, found: Sequence[Access], sizes: list[Expr | None]) -> None:
        """Note how long the axes are that tensors lie along."""
        for access in found:
            for axis, size in zip(access.axes, self.dims(access.value), strict=True):
                if axis is None or axis == WHOLE:
                    continue
                known = sizes[axis]
                if known is None or (size.is_const and not known.is_const):
                    sizes[axis] = size


def static_bound(expr: Expr) -> int | None:
    """A constant that a size never exceeds: 32 for `min(%n, 32)`; None if it has none.

    Dimensions are not negative, nothing else is known of symbols.
    """
    if expr.is_const:
        return expr.value
    sizes: dict[Hashable, Interval] = {
        key: _SIZE for key in expr.symbols() if isinstance(key, DimKey)
    }
    return expr.interval(sizes).hi


def broadcast(shapes: list[Dims]) -> Dims:
    """Right-aligned broadcast; of equal sizes, a static one is preferred."""
    result: list[Expr] = []
    for back in range(max(map(len, shapes), default=0), 0, -1):
        sizes = [dims[-back] for dims in shapes if len(dims) >= back]
        wide = [size for size in sizes if not (size.is_const and size.value == 1)]
        fixed = [size for size in wide if size.is_const]
        result.append((fixed or wide or sizes)[0])
    return tuple(result)


def named_dimensions(function: func.FuncOp) -> dict[tuple[int, int], DimKey]:
    """By argument and dimension: the root of the dynamic dimensions that have names."""
    arguments = function.body.block.args
    first: dict[str, DimKey] = {}
    found: dict[tuple[int, int], DimKey] = {}
    for key, name in sorted(argument_dimension_names(function).items()):
        position, axis = key
        found[key] = first.setdefault(name, DimKey(arguments[position], axis))
    return found


def argument_dimension_names(function: func.FuncOp) -> dict[tuple[int, int], str]:
    """By argument and dimension: the names that `pypto.dims` gives."""
    names: dict[tuple[int, int], str] = {}
    if function.arg_attrs is None:
        return names
    for position, attributes in enumerate(function.arg_attrs.data):
        names.update(_names_of(function, position, attributes))
    return names


def _names_of(
    function: func.FuncOp, position: int, attributes: DictionaryAttr
) -> dict[tuple[int, int], str]:
    dims = attributes.data.get("pypto.dims")
    if not isinstance(dims, ArrayAttr):
        return {}
    type_ = function.function_type.inputs.data[position]
    dynamic = [axis for axis, size in enumerate(shape_of(type_)) if size < 0]
    names = cast("ArrayAttr[Attribute]", dims).data
    return {
        (position, axis): name.data
        for axis, name in zip(dynamic, names, strict=False)
        if isinstance(name, StringAttr)
    }


def _subscripted(shapes: Shapes, op: ViewOp | LoadOp) -> Dims:
    source = shapes.dims(op.source)
    sizes = [
        source[axis] if size is None else shapes.mixed(size)
        for axis, size in enumerate(op.mixed_sizes)
    ]
    target = op.target if isinstance(op, ViewOp) else None
    if target is not None:
        sizes[-1] = in_elements(sizes[-1], op.source, target)
    dropped = set(op.dropped_dims)
    return tuple(size for axis, size in enumerate(sizes) if axis not in dropped)


def in_elements(size: Expr, source: SSAValue, target: Attribute) -> Expr:
    """How many elements of `target` the bytes of `size` elements of `source` hold."""
    assert isinstance(source.type, TensorType | MemRefType)
    element = cast("Shaped", source.type).element_type
    have, want = element_bytes(element), element_bytes(target)
    return (size * have).floordiv(want)


def _reinterpreted(shapes: Shapes, op: ReinterpretOp | MemoryReinterpretOp) -> Dims:
    target = cast("Shaped", op.results[0].type).element_type
    *lead, last = shapes.dims(op.source)
    return (*lead, in_elements(last, op.source, target))


def _sized(shapes: Shapes, op: EmptyOp | FullOp | ArangeOp | AllocOp | PlaceOp) -> Dims:
    return tuple(shapes.mixed(size) for size in op.mixed_sizes)


def _reshaped(shapes: Shapes, op: ReshapeOp | MemoryReshapeOp) -> Dims:
    total = Expr.const(1)
    for dim in shapes.dims(op.source):
        total = total * dim
    sizes: list[Expr | None] = [
        None if isinstance(size, int) and size < 0 else shapes.mixed(size)
        for size in op.mixed_sizes
    ]
    known = Expr.const(1)
    for size in sizes:
        known = known if size is None else known * size
    return tuple(total.floordiv(known) if size is None else size for size in sizes)


def _destination(shapes: Shapes, op: AssembleOp) -> Dims:
    return shapes.dims(op.dest)


def _kept(shapes: Shapes, op: SoftmaxOp) -> Dims:
    return shapes.dims(op.source)


def _accumulated(shapes: Shapes, op: MmaOp | EpilogueOp) -> Dims:
    return shapes.dims(op.acc)


def _transposed(shapes: Shapes, op: TransposeOp) -> Dims:
    dims = shapes.dims(op.source)
    return tuple(dims[axis] for axis in ints(op.perm))


def _expanded(shapes: Shapes, op: ExpandOp) -> Dims:
    dims = shapes.dims(op.source)
    sizes = list(op.mixed_sizes)
    lead = len(sizes) - len(dims)
    return tuple(
        dims[axis - lead] if size == -1 else shapes.mixed(size)
        for axis, size in enumerate(sizes)
    )


def _joined(shapes: Shapes, op: ConcatOp) -> Dims:
    first, *rest = (shapes.dims(value) for value in op.inputs)
    axis = op.axis.value.data % len(first)
    total = sum((dims[axis] for dims in rest), start=first[axis])
    return (*first[:axis], total, *first[axis + 1 :])


_RULES: dict[type[Operation], Callable[[Shapes, Operation], Dims]] = {
    ViewOp: _subscripted,
    LoadOp: _subscripted,
    EmptyOp: _sized,
    FullOp: _sized,
    ArangeOp: _sized,
    AllocOp: _sized,
    PlaceOp: _sized,
    ReinterpretOp: _reinterpreted,
    MemoryReinterpretOp: _reinterpreted,
    ReshapeOp: _reshaped,
    MemoryReshapeOp: _reshaped,
    AssembleOp: _destination,
    MmaOp: _accumulated,
    EpilogueOp: _accumulated,
    TransposeOp: _transposed,
    ConcatOp: _joined,
    ExpandOp: _expanded,
    SoftmaxOp: _kept,
    **index_shapes.RULES,
}  # pyright: ignore
