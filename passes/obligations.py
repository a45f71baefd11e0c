"""
What must hold for an op to be meaningful: boxes inside tensors, sizes that agree.

Each op of the tensor level owes some comparisons of integer expressions, with a text
for the user in which `{0}`, `{1}`, ... stand for values:

    %v = pypto.view %a[%r +: %n, :]     0 <= r, 0 <= n, r + n <= dim(a, 0)
    %s = pypto.add %x, %y               dim(x, i) == dim(y, i), unless one is a static 1
    %z = pypto.reshape %x[%m, 64]       m * 64 == the number of elements of x

`check-bounds` proves them or turns them into asserts. Types have been checked before,
so comparisons of two static sizes are not owed again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.base import LiteralOp
from pyptoc.dialects.pypto.matmul import MatmulOp, ScaledMmOp
from pyptoc.dialects.pypto.scalars import ReadOp
from pyptoc.dialects.pypto.shape import (
    AssembleOp,
    ConcatOp,
    EmptyOp,
    ExpandOp,
    FullOp,
    ReshapeOp,
    ViewOp,
)
from pyptoc.dialects.subscripts import ints
from pyptoc.passes.ranges import Ranges
from pyptoc.passes.shapes import DimKey, Dims, broadcast, is_shaped


@dataclass(frozen=True)
class Obligation:
    """`lhs relation rhs` must hold; else `message` with `args` says what is wrong."""

    relation: str
    """`<=` or `==`."""
    lhs: Expr
    rhs: Expr
    message: str
    args: tuple[Expr, ...]


def obligations(op: Operation, ranges: Ranges) -> Iterator[Obligation]:
    """What `op` owes at the point where `ranges` hold."""
    rule = _RULES.get(type(op))
    if rule is not None:
        yield from rule(op, ranges)
    elif isinstance(op, LiteralOp):
        yield from _broadcast(op, ranges)


def value_name(value: SSAValue) -> str:
    """`%a`: the name of an argument in the source, else the name of the value."""
    parent = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    if isinstance(value, BlockArgument) and isinstance(parent, FuncOp):
        attributes = parent.arg_attrs.data[value.index] if parent.arg_attrs else None
        name = attributes.data.get("pypto.name") if attributes else None
        if isinstance(name, StringAttr):
            return f"%{name.data}"
    return f"%{value.name_hint}" if value.name_hint else "the tensor"


def root_name(key: Hashable) -> str:
    """How a symbol of an expression is shown in a message."""
    if isinstance(key, DimKey):
        return f"dim({value_name(key.value)}, {key.axis})"
    return value_name(key) if isinstance(key, SSAValue) else str(key)


def _units(rank: int, axis: int) -> tuple[str, str]:
    """What the positions along an axis are called: one of them, and several."""
    if rank == 1:
        return "element", "elements"
    if rank == 2:
        return (("row", "rows"), ("column", "columns"))[axis]
    return f"dimension {axis}", f"in dimension {axis}"


def box_in_dimension(
    what: str,
    value: SSAValue,
    axis: int,
    rank: int,
    box: tuple[Expr, Expr],
    dim: Expr,
) -> Iterator[Obligation]:
    """0 <= offset, 0 <= size, offset + size <= dim, for the box (offset, size)."""
    offset, size = box
    _, many = _units(rank, axis)
    name = value_name(value)
    zero = Expr.const(0)
    yield Obligation(
        "<=",
        zero,
        offset,
        f"{what} {name}: {many} start at {{0}}",
        (offset,),
    )
    yield Obligation(
        "<=", zero, size, f"{what} {name}: {many} {{0}} +: {{1}}", (offset, size)
    )
    yield Obligation(
        "<=",
        offset + size,
        dim,
        f"{what} {name} {many} {{0}} +: {{1}} ends at {{2}}, {name} has {{3}} {many}",
        (offset, size, offset + size, dim),
    )


def _position(
    what: str, value: SSAValue, axis: int, rank: int, offset: Expr, dim: Expr
) -> Iterator[Obligation]:
    """0 <= offset < dim, for an index that takes one position."""
    one, many = _units(rank, axis)
    name = value_name(value)
    message = f"{what} {name}: {one} {{0}} of {{1}} {many}"
    yield Obligation("<=", Expr.const(0), offset, message, (offset, dim))
    yield Obligation("<=", offset + 1, dim, message, (offset, dim))


def _view(op: ViewOp, ranges: Ranges) -> Iterator[Obligation]:
    dims = ranges.dims(op.source)
    rank = len(dims)
    dropped = set(op.dropped_dims)
    sizes: list[Expr] = []
    entries = zip(op.mixed_offsets, op.mixed_sizes, dims, strict=True)
    for axis, (offset, size, dim) in enumerate(entries):
        start = ranges.expr(offset)
        if axis in dropped:
            yield from _position("view of", op.source, axis, rank, start, dim)
            continue
        sizes.append(dim if size is None else ranges.expr(size))
        if size is not None:
            yield from box_in_dimension(
                "view of", op.source, axis, rank, (start, sizes[-1]), dim
            )
    yield from _refined(op, sizes)
    yield from _limited(op, sizes)


def _refined(op: Operation, sizes: Sequence[Expr]) -> Iterator[Obligation]:
    """A size that the result's type states must be the size that there is."""
    type_ = op.results[0].type
    assert isinstance(type_, TensorType)
    for axis, (size, stated) in enumerate(zip(sizes, type_.get_shape(), strict=True)):
        if stated >= 0 and not size.is_const:
            message = f"dimension {axis} of the result is {{0}}, its type says {stated}"
            yield Obligation("==", size, Expr.const(stated), message, (size,))


def _limited(
    op: ViewOp | EmptyOp | FullOp, sizes: Sequence[Expr]
) -> Iterator[Obligation]:
    """The bounds of `{max = [..]}` hold."""
    for axis, (size, limit) in enumerate(zip(sizes, ints(op.max), strict=False)):
        message = f"dimension {axis} is {{0}}, at most {limit} by {{{{max}}}}"
        yield Obligation("<=", size, Expr.const(limit), message, (size,))


def _assemble(op: AssembleOp, ranges: Ranges) -> Iterator[Obligation]:
    dims = ranges.dims(op.dest)
    source = ranges.dims(op.source)
    rank, missing = len(dims), len(dims) - len(source)
    for axis, (offset, dim) in enumerate(zip(op.mixed_offsets, dims, strict=True)):
        start = ranges.expr(offset)
        if axis < missing:
            yield from _position("store to", op.dest, axis, rank, start, dim)
        else:
            size = source[axis - missing]
            yield from box_in_dimension(
                "store to", op.dest, axis, rank, (start, size), dim
            )


def _read(op: ReadOp, ranges: Ranges) -> Iterator[Obligation]:
    dims = ranges.dims(op.source)
    for axis, (offset, dim) in enumerate(zip(op.mixed_offsets, dims, strict=True)):
        start = ranges.expr(offset)
        yield from _position("read of", op.source, axis, len(dims), start, dim)


def _sized(op: EmptyOp | FullOp, ranges: Ranges) -> Iterator[Obligation]:
    sizes = [ranges.expr(size) for size in op.mixed_sizes]
    yield from _not_negative(sizes)
    yield from _refined(op, sizes)
    yield from _limited(op, sizes)


def _not_negative(sizes: Sequence[Expr]) -> Iterator[Obligation]:
    for axis, size in enumerate(sizes):
        message = f"dimension {axis} is {{0}}"
        yield Obligation("<=", Expr.const(0), size, message, (size,))


def _expand(op: ExpandOp, ranges: Ranges) -> Iterator[Obligation]:
    """A dimension that is not repeated keeps its size."""
    source = ranges.dims(op.source)
    missing = len(op.mixed_sizes) - len(source)
    sizes = [
        source[axis - missing] if size == -1 else ranges.expr(size)
        for axis, size in enumerate(op.mixed_sizes)
    ]
    yield from _not_negative(sizes)
    for axis, dim in enumerate(source):
        if not _is_one(dim):
            yield _same(op.source, axis, dim, sizes[missing + axis])
    yield from _refined(op, sizes)


def _reshape(op: ReshapeOp, ranges: Ranges) -> Iterator[Obligation]:
    total = Expr.const(1)
    for dim in ranges.dims(op.source):
        total = total * dim
    known, inferred = Expr.const(1), False
    for size in op.mixed_sizes:
        if isinstance(size, int) and size < 0:
            inferred = True
            continue
        extent = ranges.expr(size)
        if not extent.is_const:
            yield Obligation(
                "<=", Expr.const(0), extent, "a dimension is {0}", (extent,)
            )
        known = known * extent
    name = value_name(op.source)
    if inferred:
        message = f"reshape: the {{0}} elements of {name} are no multiple of {{1}}"
        rest = total - known * total.floordiv(known)
        if not (known.is_const and total.mod(known) == Expr.const(0)):
            yield Obligation("==", rest, Expr.const(0), message, (total, known))
    else:
        message = f"reshape: {name} has {{0}} elements, the result {{1}}"
        yield Obligation("==", total, known, message, (total, known))


def _same(value: SSAValue, axis: int, have: Expr, want: Expr) -> Obligation:
    message = f"dimension {axis} of {value_name(value)} is {{0}}, not {{1}}"
    return Obligation("==", have, want, message, (have, want))


def _pair(
    a: SSAValue, axis_a: int, b: SSAValue, axis_b: int, sizes: tuple[Expr, Expr]
) -> Obligation:
    """Two dimensions of two tensors are equal."""
    name_a, name_b = value_name(a), value_name(b)
    message = (
        f"dimension {axis_a} of {name_a} is {{0}}, dimension {axis_b} of {name_b} is "
        "{1} (a dynamic size of 1 does not broadcast)"
    )
    return Obligation("==", *sizes, message, sizes)


def _broadcast(op: Operation, ranges: Ranges) -> Iterator[Obligation]:
    """Right-aligned sizes are equal, unless one of them is a static 1."""
    tensors = [value for value in op.operands if is_shaped(value)]
    shapes = [ranges.dims(value) for value in tensors]
    yield from _aligned(tensors, shapes)
    if not op.results:
        return
    yield from _refined(op, broadcast(shapes))


def _aligned(
    tensors: Sequence[SSAValue], shapes: Sequence[Dims]
) -> Iterator[Obligation]:
    rank = max((len(dims) for dims in shapes), default=0)
    for back in range(1, rank + 1):
        first: tuple[SSAValue, int, Expr] | None = None
        for value, dims in zip(tensors, shapes, strict=True):
            if len(dims) < back or _is_one(dims[-back]):
                continue
            here = (value, len(dims) - back, dims[-back])
            if first is None:
                first = here
            elif first[2] != here[2]:
                sizes = (first[2], here[2])
                yield _pair(first[0], first[1], here[0], here[1], sizes)


def _is_one(dim: Expr) -> bool:
    return dim.is_const and dim.value == 1


def _matmul(op: MatmulOp | ScaledMmOp, ranges: Ranges) -> Iterator[Obligation]:
    a, b = ranges.dims(op.lhs), ranges.dims(op.rhs)
    k_a = len(a) - (2 if op.a_trans else 1)
    k_b = len(b) - (1 if op.b_trans else 2)
    yield _pair(op.lhs, k_a, op.rhs, k_b, (a[k_a], b[k_b]))
    if len(b) > 2:
        batches = (a[:-2], b[:-2])
        yield from _aligned((op.lhs, op.rhs), batches)
    if isinstance(op, ScaledMmOp):
        m_a = len(a) - (1 if op.a_trans else 2)
        n_b = len(b) - (2 if op.b_trans else 1)
        yield from _scales(
            op.scale_lhs, bool(op.scales_a_trans), a[m_a], a[k_a], ranges
        )
        yield from _scales(op.scale_rhs, not op.scales_b_trans, b[n_b], a[k_a], ranges)


def _scales(
    value: SSAValue, by_block: bool, rows: Expr, depth: Expr, ranges: Ranges
) -> Iterator[Obligation]:
    """MX scales are [rows, ceil(K / 64), 2], or [ceil(K / 64), rows, 2] by block."""
    dims = ranges.dims(value)[-3:]
    base = len(ranges.dims(value)) - 3
    wanted = (depth.ceildiv(64), rows) if by_block else (rows, depth.ceildiv(64))
    for axis in range(2):
        yield _same(value, base + axis, dims[axis], wanted[axis])


def _concat(op: ConcatOp, ranges: Ranges) -> Iterator[Obligation]:
    tensors = list(op.inputs)
    shapes = [ranges.dims(value) for value in tensors]
    joined = op.axis.value.data % len(shapes[0])
    for value, dims in zip(tensors[1:], shapes[1:], strict=True):
        for axis, (have, want) in enumerate(zip(dims, shapes[0], strict=True)):
            if axis != joined:
                yield _pair(tensors[0], axis, value, axis, (want, have))


def _yield(op: scf.YieldOp, ranges: Ranges) -> Iterator[Obligation]:
    """A tensor that a loop carries keeps its size."""
    loop = op.parent_op()
    if not isinstance(loop, scf.ForOp):
        return
    for value, argument in zip(op.arguments, loop.iter_args, strict=True):
        if isinstance(value.type, TensorType):
            dims = zip(ranges.dims(value), ranges.dims(argument), strict=True)
            for axis, (have, want) in enumerate(dims):
                yield _same(value, axis, have, want)


_RULES: dict[type[Operation], Callable[[Operation, Ranges], Iterator[Obligation]]] = {
    ViewOp: _view,
    AssembleOp: _assemble,
    ReadOp: _read,
    EmptyOp: _sized,
    FullOp: _sized,
    ExpandOp: _expand,
    ReshapeOp: _reshape,
    MatmulOp: _matmul,
    ScaledMmOp: _matmul,
    ConcatOp: _concat,
    scf.YieldOp: _yield,
}  # pyright: ignore
