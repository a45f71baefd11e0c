"""
Which box of which buffer a task touches, as expressions of its grid and of scalars.

    npu.tasks (%i, %j) in (..) {
      scf.for %k = 0 to %K step 256 {
        %x = npu.load %a[16 * %i +: min(16, %M - 16 * %i), %k +: min(256, %K - %k)] } }
    ->  read %a  [16 * %i, 0] [min(16, %M - 16 * %i), %K]

Inner loop counters are widened away: a box that follows a counter becomes everything
the loop can reach. Where that cannot be said by an expression the whole dimension is
taken, and the access is not exact, nor is one in a loop whose end is data. Neither is
that of a gather or scatter, whose box is everything that its indices may name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import Expr, minimum, slope_of
from pyptoc.dialects.expr_atoms import Call
from pyptoc.dialects.npu import (
    GatherOp,
    LoadOp,
    ReadOp,
    ScatterOp,
    StoreOp,
    TasksOp,
)
from pyptoc.dialects.npu_attrs import AccessMode
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import Mixed
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.structured import defined_in
from pyptoc.passes.typed import values_in

Range = tuple[Expr, Expr]
"""Start and end (exclusive) along one dimension."""


@record
class BoxAccess:
    """What one task does with one box of `buffer`; symbols are SSA values."""

    buffer: SSAValue
    mode: AccessMode
    lo: Dims
    size: Dims
    exact: bool

    @property
    def writes(self) -> bool:
        return self.mode != AccessMode.READ


@record
class Box:
    """What one operation of a body touches, still in terms of the loops around it."""

    buffer: SSAValue
    mode: AccessMode
    ranges: list[Range]
    exact: bool = True


def accesses_of(tasks: TasksOp, shapes: Shapes) -> list[BoxAccess]:
    """The accesses of a tasks op in memory form, each different one once."""
    found: dict[BoxAccess, None] = {}
    for op in tasks.body.walk():
        match op:
            case LoadOp():
                box = Box(op.source, AccessMode.READ, box_of(op, shapes))
                found[_access(op, box, tasks, shapes)] = None
            case ReadOp():
                lo = map(shapes.mixed, op.mixed_offsets)
                ranges = [(offset, offset + 1) for offset in lo]
                box = Box(op.source, AccessMode.READ, ranges)
                found[_access(op, box, tasks, shapes)] = None
            case StoreOp():
                mode = AccessMode.ACCUMULATE if op.combine else AccessMode.WRITE
                box = Box(op.dest, mode, box_of(op, shapes))
                found[_access(op, box, tasks, shapes)] = None
            case GatherOp() | ScatterOp():
                for box in indexed_boxes(op, shapes):
                    found[_access(op, box, tasks, shapes)] = None
            case _:
                pass
    return list(found)


def _access(op: Operation, box: Box, tasks: TasksOp, shapes: Shapes) -> BoxAccess:
    loops = list(loops_around(op, tasks))
    dims = shapes.dims(box.buffer)
    lo: list[Expr] = []
    size: list[Expr] = []
    exact = box.exact and not any(data_decides(loop, tasks, shapes) for loop in loops)
    for dim, given in zip(dims, box.ranges, strict=True):
        wide = given
        for loop in loops:
            wide = widen(wide, loop, shapes) if wide is not None else None
        if wide is None or mentions_inner(wide, tasks):
            wide, exact = (Expr.const(0), dim), False
        lo.append(wide[0])
        size.append(wide[1] - wide[0] if wide is not given else given[1] - given[0])
    return BoxAccess(box.buffer, box.mode, tuple(lo), tuple(size), exact)


def indexed_boxes(op: GatherOp | ScatterOp, shapes: Shapes) -> Iterator[Box]:
    """What a gather or scatter may touch: all legal rows, and all of a page table."""
    mode = AccessMode.READ
    if isinstance(op, ScatterOp):
        mode = AccessMode.ACCUMULATE if op.combine else AccessMode.WRITE
    rows, columns = map(shapes.mixed, op.extents)
    row_dim, column_dim = op.box_dims
    sizes = {row_dim: rows, column_dim: columns}
    sizes |= zip(op.axes, map(shapes.mixed, op.limits), strict=True)
    yield _box_at(op.memory, mode, op.mixed_offsets, sizes, shapes)
    if op.lookup is not None:
        table, offsets, pages = op.lookup
        axis = 0 if op.table_axis is None else op.table_axis.value.data
        yield _box_at(
            table, AccessMode.READ, offsets, {axis: shapes.mixed(pages)}, shapes
        )


def _box_at(
    buffer: SSAValue,
    mode: AccessMode,
    offsets: Sequence[Mixed],
    sizes: dict[int, Expr],
    shapes: Shapes,
) -> Box:
    """An inexact box, of size 1 where `sizes` does not say otherwise."""
    ranges: list[Range] = []
    for dim, offset in enumerate(offsets):
        lo = shapes.mixed(offset)
        ranges.append((lo, lo + sizes.get(dim, Expr.const(1))))
    return Box(buffer, mode, ranges, exact=False)


def box_of(op: LoadOp | StoreOp, shapes: Shapes) -> list[Range]:
    """The box of one load or store, a range for each dimension of the buffer."""
    offsets = [shapes.mixed(offset) for offset in op.mixed_offsets]
    if isinstance(op, LoadOp):
        source = shapes.dims(op.source)
        sizes = [
            source[axis] if size is None else shapes.mixed(size)
            for axis, size in enumerate(op.mixed_sizes)
        ]
        for axis in op.dropped_dims:
            sizes[axis] = Expr.const(1)
    else:
        tile = shapes.dims(op.source)
        lead = len(offsets) - len(tile)
        sizes = [Expr.const(1)] * lead + list(tile)
    return [(lo, lo + size) for lo, size in zip(offsets, sizes, strict=True)]


def loops_around(op: Operation, tasks: TasksOp) -> Iterator[scf.ForOp]:
    """The loops between `op` and the tasks, inner ones first."""
    parent = op.parent_op()
    while parent is not None and parent is not tasks:
        if isinstance(parent, scf.ForOp):
            yield parent
        parent = parent.parent_op()


def data_decides(loop: scf.ForOp, tasks: TasksOp, shapes: Shapes) -> bool:
    """Whether a task reads for itself how often a loop runs, perhaps never."""
    bounds = [shapes.expr(bound) for bound in (loop.lb, loop.ub)]
    values = [value for bound in bounds for value in values_in(bound)]
    return any(isinstance(v.owner, ReadOp) and defined_in(v, tasks) for v in values)


def widen(given: Range, loop: scf.ForOp, shapes: Shapes) -> Range | None:
    """`given` over all trips of `loop`; None where no expression says it."""
    counter = loop.body.block.args[0]
    lo, hi = given
    if counter not in lo.symbols() and counter not in hi.symbols():
        return given
    lower, upper = shapes.expr(loop.lb), shapes.expr(loop.ub)
    slope = _slope(lo, counter)
    if slope is None or slope < 0:
        return None
    end = _last_end(given, counter, lower, upper, shapes.expr(loop.step))
    start = lo.subs({counter: lower})
    return None if end is None else (start, end)


def _slope(expr: Expr, counter: SSAValue) -> int | None:
    """How much `expr` grows with the counter, if that is a number."""
    slope = slope_of(expr, counter)
    return slope.value if slope is not None and slope.is_const else None


def _last_end(
    given: Range, counter: SSAValue, lower: Expr, upper: Expr, step: Expr
) -> Expr | None:
    """
    The largest end: of `%k + min(step, upper - %k)` it is `upper`.

    Where the loop ends before what bounds its tiles, the last of them counts as well.
    """
    lo, hi = given
    ends = _alternatives(hi, counter)
    fixed = [end for end in ends if counter not in end.symbols()]
    if lo.subs({counter: upper}) in fixed:
        return minimum(*fixed)
    moving = [end for end in ends if counter in end.symbols()]
    if len(moving) > 1 or any(_slope(end, counter) is None for end in moving):
        return minimum(*fixed) if fixed else None
    last = lower + ((upper - lower - 1).floordiv(step)) * step
    return minimum(*fixed, *(end.subs({counter: last}) for end in moving))


def _alternatives(expr: Expr, counter: SSAValue) -> list[Expr]:
    """`x + min(a, b)` as [x + a, x + b] if the min follows the counter; else itself."""
    for atom, factor in expr.terms.items():
        if not isinstance(atom, Call) or counter not in atom.symbols:
            continue
        if atom.op == "min" and factor > 0:
            rest = expr - Expr({atom: factor}, 0)
            return [rest + argument * factor for argument in atom.args]
    return [expr]


def mentions_inner(given: Range, tasks: TasksOp) -> bool:
    """Whether a symbol is defined inside the body (and is no grid index)."""
    grid = set(tasks.grid_args)
    return any(
        value not in grid and defined_in(value, tasks)
        for expr in given
        for value in values_in(expr)
    )
