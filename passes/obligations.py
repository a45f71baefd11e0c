"""
What must hold for an op to be meaningful: boxes inside tensors, sizes that agree.

Each op of the tensor level owes some comparisons of integer expressions, with a text
for the user in which `{0}`, `{1}`, ... stand for values:

    %v = pypto.view %a[%r +: %n, :]     0 <= r, 0 <= n, r + n <= dim(a, 0)
    %s = pypto.add %x, %y               dim(x, i) == dim(y, i), unless one is a static 1
    %z = pypto.reshape %x[%m, 64]       m * 64 == the number of elements of x

`check-bounds` proves them or turns them into asserts. Symbols are values as they are
written and sizes of the tensors at hand (`DimKey`), so that an assert shows what the
author wrote; `Ranges.root` traces them back for the proof. Types have been checked
before: what compares two numbers holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.base import LiteralOp
from pyptoc.dialects.pypto.brackets import element_of, shape_of
from pyptoc.dialects.pypto.elementwise import CastOp
from pyptoc.dialects.pypto.infer_shape import element_bytes
from pyptoc.dialects.pypto.matmul import MatmulOp, ScaledMmOp
from pyptoc.dialects.pypto.reduce import REDUCTION_OPS, CumsumOp, ReductionOp
from pyptoc.dialects.pypto.scalars import ReadOp
from pyptoc.dialects.pypto.shape import (
    ArangeOp,
    AssembleOp,
    CloneOp,
    ConcatOp,
    EmptyOp,
    ExpandOp,
    FullOp,
    ReinterpretOp,
    ReshapeOp,
    ViewOp,
)
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import ints
from pyptoc.passes import index_obligations
from pyptoc.passes.obligation import (
    Obligation,
    pair,
    root_name,
    sizes_of,
    value_name,
)
from pyptoc.passes.shapes import Dims, broadcast, in_elements, is_shaped
from pyptoc.passes.typed import as_expr

__all__ = ["Obligation", "obligations", "root_name", "value_name"]


def obligations(op: Operation) -> Iterator[Obligation]:
    """What `op` owes where it stands."""
    rule = _RULES.get(type(op))
    if rule is not None:
        yield from rule(op)
    elif isinstance(op, LiteralOp):
        yield from _broadcast(op)


@record
class _Dimension:
    """One dimension of a tensor that an op touches, and how a message calls it."""

    what: str
    value: SSAValue
    axis: int

    @property
    def size(self) -> Expr:
        return sizes_of(self.value)[self.axis]

    @property
    def unit(self) -> str:
        """`row` and `column` of a matrix, `element` of a vector; else empty."""
        rank = len(sizes_of(self.value))
        return {1: ("element",), 2: ("row", "column")}.get(rank, ("",) * rank)[
            self.axis
        ]

    def place(self, plural: bool) -> str:
        """`view of %a row` or, of more dimensions, `view of %a dimension 2:`."""
        name = f"{self.what} {value_name(self.value)}"
        if not self.unit:
            return f"{name} dimension {self.axis}:"
        return f"{name} {self.unit}{'s' if plural else ''}"

    def extent(self, number: int) -> str:
        """`%a has {3} rows`; `number` is the size's position among the arguments."""
        unit = f" {self.unit}s" if self.unit else ""
        return f"{value_name(self.value)} has {{{number}}}{unit}"

    def holds_box(self, offset: Expr, size: Expr) -> Iterator[Obligation]:
        """0 <= offset, 0 <= size, offset + size <= dim."""
        start = f"{self.place(True)} {{0}} +: {{1}}"
        for least, fault in ((offset, "starts below 0"), (size, "has no such size")):
            message = f"{start} {fault}"
            yield Obligation("<=", Expr.const(0), least, message, (offset, size))
        end = offset + size
        message = f"{start} ends at {{2}}, {self.extent(3)}"
        yield Obligation("<=", end, self.size, message, (offset, size, end, self.size))

    def holds_index(self, index: Expr) -> Iterator[Obligation]:
        """0 <= index < dim."""
        message = f"{self.place(False)} {{0}}, {self.extent(1)}"
        args = (index, self.size)
        yield Obligation("<=", Expr.const(0), index, message, args)
        yield Obligation("<=", index + 1, self.size, message, args)


def _view(op: ViewOp) -> Iterator[Obligation]:
    dropped = set(op.dropped_dims)
    sizes: list[Expr] = []
    entries = zip(op.mixed_offsets, op.mixed_sizes, strict=True)
    for axis, (offset, size) in enumerate(entries):
        dimension = _Dimension("view of", op.source, axis)
        if axis in dropped:
            yield from dimension.holds_index(as_expr(offset))
            continue
        sizes.append(dimension.size if size is None else as_expr(size))
        if size is not None:
            yield from dimension.holds_box(as_expr(offset), sizes[-1])
    yield from _limited(op, sizes)
    if op.target is not None:
        yield from _whole_elements(op, sizes[-1], op.mixed_offsets[-1])
        sizes[-1] = in_elements(sizes[-1], op.source, op.target)
    yield from _refined(op, sizes)


def _whole_elements(
    op: ViewOp | ReinterpretOp, size: Expr, offset: int | SSAValue = 0
) -> Iterator[Obligation]:
    """The bytes that are read as another type are whole elements of it, row by row."""
    assert op.target is not None
    have = element_bytes(element_of(op.source.type))
    want = element_bytes(op.target)
    rows = sizes_of(op.source)
    lengths = {"offset": as_expr(offset), "size": size}
    if len(rows) > 1:
        lengths["row"] = rows[-1]
    what = f"{op.name.partition('.')[2]} of {value_name(op.source)}"
    for name, length in lengths.items():
        message = (
            f"{what}: {name} of {{0}} elements of {have} B is no multiple of {want} B"
        )
        rest = (length * have).mod(want)
        yield Obligation("==", rest, Expr.const(0), message, (length,))


def _reinterpret(op: ReinterpretOp) -> Iterator[Obligation]:
    *lead, last = sizes_of(op.source)
    yield from _whole_elements(op, last)
    yield from _refined(op, [*lead, in_elements(last, op.source, op.target)])


def _refined(op: Operation, sizes: Sequence[Expr]) -> Iterator[Obligation]:
    """A size that the result's type states must be the size that there is."""
    shape = shape_of(op.results[0].type)
    for axis, (size, stated) in enumerate(zip(sizes, shape, strict=True)):
        if stated >= 0 and not size.is_const:
            message = f"dimension {axis} of the result is {{0}}, its type says {stated}"
            yield Obligation("==", size, Expr.const(stated), message, (size,))


def _unchanged(op: CastOp | CloneOp | CumsumOp) -> Iterator[Obligation]:
    yield from _refined(op, sizes_of(op.source))


def _reduced(op: ReductionOp) -> Iterator[Obligation]:
    sizes = list(sizes_of(op.source))
    axis = op.axis.value.data % len(sizes)
    sizes[axis : axis + 1] = [] if op.keepdim is None else [Expr.const(1)]
    yield from _refined(op, sizes)


def _limited(
    op: ViewOp | EmptyOp | FullOp | ArangeOp, sizes: Sequence[Expr]
) -> Iterator[Obligation]:
    """The bounds of `{max = [..]}` hold."""
    for axis, (size, limit) in enumerate(zip(sizes, ints(op.max), strict=False)):
        message = f"dimension {axis} is {{0}}, at most {limit} (max)"
        yield Obligation("<=", size, Expr.const(limit), message, (size,))


def _assemble(op: AssembleOp) -> Iterator[Obligation]:
    source = sizes_of(op.source)
    missing = len(sizes_of(op.dest)) - len(source)
    for axis, offset in enumerate(op.mixed_offsets):
        dimension = _Dimension("store to", op.dest, axis)
        if axis < missing:
            yield from dimension.holds_index(as_expr(offset))
        else:
            size = source[axis - missing]
            yield from dimension.holds_box(as_expr(offset), size)


def _read(op: ReadOp) -> Iterator[Obligation]:
    for axis, offset in enumerate(op.mixed_offsets):
        yield from _Dimension("read of", op.source, axis).holds_index(as_expr(offset))


def _sized(op: EmptyOp | FullOp | ArangeOp) -> Iterator[Obligation]:
    sizes = [as_expr(size) for size in op.mixed_sizes]
    yield from _not_negative(sizes)
    yield from _refined(op, sizes)
    yield from _limited(op, sizes)


def _not_negative(sizes: Sequence[Expr]) -> Iterator[Obligation]:
    for axis, size in enumerate(sizes):
        message = f"dimension {axis} is {{0}}"
        yield Obligation("<=", Expr.const(0), size, message, (size,))


def _expand(op: ExpandOp) -> Iterator[Obligation]:
    """A dimension that is not repeated keeps its size."""
    source = sizes_of(op.source)
    missing = len(op.mixed_sizes) - len(source)
    sizes = [
        source[axis - missing] if size == -1 else as_expr(size)
        for axis, size in enumerate(op.mixed_sizes)
    ]
    yield from _not_negative(sizes)
    for axis, dim in enumerate(source):
        if not _is_one(dim):
            yield _same(op.source, axis, dim, sizes[missing + axis])
    yield from _refined(op, sizes)


def _reshape(op: ReshapeOp) -> Iterator[Obligation]:
    total = Expr.const(1)
    for dim in sizes_of(op.source):
        total = total * dim
    known, inferred = Expr.const(1), False
    for size in op.mixed_sizes:
        if isinstance(size, int) and size < 0:
            inferred = True
            continue
        extent = as_expr(size)
        if not extent.is_const:
            yield Obligation(
                "<=", Expr.const(0), extent, "a dimension is {0}", (extent,)
            )
        known = known * extent
    name = value_name(op.source)
    if inferred:
        message = "reshape: -1 beside a size of 0 is undefined"
        yield Obligation("<=", Expr.const(1), known, message, (), "PTO404")
        message = f"reshape: the {{0}} elements of {name} are no multiple of {{1}}"
        rest = total.mod(known)
        yield Obligation("==", rest, Expr.const(0), message, (total, known))
    else:
        message = f"reshape: {name} has {{0}} elements, the result {{1}}"
        yield Obligation("==", total, known, message, (total, known))


def _same(value: SSAValue, axis: int, have: Expr, want: Expr) -> Obligation:
    message = f"dimension {axis} of {value_name(value)} is {{0}}, not {{1}}"
    return Obligation("==", have, want, message, (have, want))


def _broadcast(op: Operation) -> Iterator[Obligation]:
    """Right-aligned sizes are equal, unless one of them is a static 1."""
    tensors = [value for value in op.operands if is_shaped(value)]
    shapes = [sizes_of(value) for value in tensors]
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
            else:
                sizes = (first[2], here[2])
                yield pair(first[:2], here[:2], sizes)


def _is_one(dim: Expr) -> bool:
    return dim.is_const and dim.value == 1


def _matmul(op: MatmulOp | ScaledMmOp) -> Iterator[Obligation]:
    a, b = sizes_of(op.lhs), sizes_of(op.rhs)
    m_a, k_a = (-1, -2) if op.a_trans else (-2, -1)
    k_b, n_b = (-1, -2) if op.b_trans else (-2, -1)
    m, n, k = a[m_a], b[n_b], a[k_a]
    at_a, at_b = len(a) + k_a, len(b) + k_b
    yield pair((op.lhs, at_a), (op.rhs, at_b), (k, b[k_b]))
    batches = (a[:-2], b[:-2])
    yield from _aligned((op.lhs, op.rhs), batches)
    if isinstance(op, MatmulOp):
        for value in (op.bias, op.scale):
            (size,) = (n,) if value is None else sizes_of(value)
            if value is not None and not _is_one(size):
                yield _same(value, 0, size, n)
    if isinstance(op, ScaledMmOp):
        yield from _scales(op.scale_lhs, bool(op.scales_a_trans), m, k)
        yield from _scales(op.scale_rhs, not op.scales_b_trans, n, k)
    yield from _refined(op, (*broadcast(list(batches)), m, n))


def _scales(
    value: SSAValue,
    by_block: bool,
    rows: Expr,
    depth: Expr,
) -> Iterator[Obligation]:
    """MX scales are [rows, ceil(K / 64), 2], or [ceil(K / 64), rows, 2] by block."""
    dims = sizes_of(value)[-3:]
    base = len(sizes_of(value)) - 3
    wanted = (depth.ceildiv(64), rows) if by_block else (rows, depth.ceildiv(64))
    for axis in range(2):
        yield _same(value, base + axis, dims[axis], wanted[axis])


def _concat(op: ConcatOp) -> Iterator[Obligation]:
    tensors = list(op.inputs)
    shapes = [sizes_of(value) for value in tensors]
    joined = op.axis.value.data % len(shapes[0])
    total = list(shapes[0])
    for value, sizes in zip(tensors[1:], shapes[1:], strict=True):
        for axis, (have, want) in enumerate(zip(sizes, shapes[0], strict=True)):
            if axis != joined:
                yield pair((tensors[0], axis), (value, axis), (want, have))
        total[joined] += sizes[joined]
    yield from _refined(op, total)


def _yield(op: scf.YieldOp) -> Iterator[Obligation]:
    """A tensor that a loop carries keeps its size."""
    loop = op.parent_op()
    if not isinstance(loop, scf.ForOp):
        return
    for value, argument in zip(op.arguments, loop.iter_args, strict=True):
        if isinstance(value.type, TensorType):
            dims = zip(sizes_of(value), sizes_of(argument), strict=True)
            for axis, (have, want) in enumerate(dims):
                yield _same(value, axis, have, want)


def _steps_up(op: scf.ForOp) -> Iterator[Obligation]:
    step = Expr.sym(op.step)
    message = "the step of a loop is {0}"
    yield Obligation("<=", Expr.const(1), step, message, (step,), "PTO403")


def _in_place(op: ReturnOp) -> Iterator[Obligation]:
    """A result with the name of an argument has its sizes."""
    function = op.parent_op()
    assert isinstance(function, FuncOp)
    given = {value_name(each): each for each in function.body.block.args}
    for value, attributes in zip(op.operands, function.res_attrs or (), strict=False):
        name = attributes.data.get("pypto.name")
        if not isinstance(name, StringAttr) or not is_shaped(value):
            continue
        argument = given.get(f"%{name.data}")
        if argument is None or argument is value:
            continue
        pairs = zip(sizes_of(value), sizes_of(argument), strict=True)
        for axis, sizes in enumerate(pairs):
            message = (
                f"dimension {axis} of result '{name.data}' is {{0}}, of the argument "
                "that it updates {1}"
            )
            yield Obligation("==", *sizes, message, sizes)


_RULES: dict[type[Operation], Callable[[Any], Iterator[Obligation]]] = {
    CastOp: _unchanged,
    CloneOp: _unchanged,
    CumsumOp: _unchanged,
    **dict.fromkeys(REDUCTION_OPS, _reduced),
    ViewOp: _view,
    AssembleOp: _assemble,
    ReadOp: _read,
    EmptyOp: _sized,
    FullOp: _sized,
    ArangeOp: _sized,
    ExpandOp: _expand,
    ReinterpretOp: _reinterpret,
    ReshapeOp: _reshape,
    MatmulOp: _matmul,
    ScaledMmOp: _matmul,
    ConcatOp: _concat,
    ReturnOp: _in_place,
    scf.ForOp: _steps_up,
    scf.YieldOp: _yield,
    **index_obligations.RULES,
}
