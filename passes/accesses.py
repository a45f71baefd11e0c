"""
Which box of which buffer a task touches, as expressions of its grid and of scalars.

    npu.tasks (%i, %j) in (..) {
      scf.for %k = 0 to %K step 256 {
        %x = npu.load %a[16 * %i +: min(16, %M - 16 * %i), %k +: min(256, %K - %k)] } }
    ->  read %a  [16 * %i, 0] [min(16, %M - 16 * %i), %K]

Inner loop counters are widened away: a box that follows a counter becomes everything
the loop can reach. Where that cannot be said by an expression the whole dimension is
taken, and the access is not exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from pyptoc.dialects.expr import Expr, minimum
from pyptoc.dialects.expr_core import Call
from pyptoc.dialects.npu import LoadOp, StoreOp, TasksOp
from pyptoc.dialects.npu_attrs import AccessMode
from pyptoc.passes.shapes import Dims, Shapes

Range = tuple[Expr, Expr]
"""Start and end (exclusive) along one dimension."""


@dataclass(frozen=True)
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


def accesses_of(tasks: TasksOp, shapes: Shapes) -> list[BoxAccess]:
    """The accesses of a tasks op in memory form, each different one once."""
    found: dict[BoxAccess, None] = {}
    for op in tasks.body.walk():
        match op:
            case LoadOp():
                found[_access(op, op.source, AccessMode.READ, tasks, shapes)] = None
            case StoreOp():
                mode = AccessMode.ACCUMULATE if op.combine else AccessMode.WRITE
                found[_access(op, op.dest, mode, tasks, shapes)] = None
            case _:
                pass
    return list(found)


def _access(
    op: LoadOp | StoreOp,
    buffer: SSAValue,
    mode: AccessMode,
    tasks: TasksOp,
    shapes: Shapes,
) -> BoxAccess:
    loops = list(loops_around(op, tasks))
    dims = shapes.dims(buffer)
    ranges = box_of(op, shapes)
    lo: list[Expr] = []
    size: list[Expr] = []
    exact = True
    for dim, given in zip(dims, ranges, strict=True):
        wide = given
        for loop in loops:
            wide = widen(wide, loop, shapes) if wide is not None else None
        if wide is None or mentions_inner(wide, tasks):
            wide, exact = (Expr.const(0), dim), False
        lo.append(wide[0])
        size.append(wide[1] - wide[0] if wide is not given else given[1] - given[0])
    return BoxAccess(buffer, mode, tuple(lo), tuple(size), exact)


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
    end = _last_end(hi, counter, lower, upper, shapes.expr(loop.step))
    start = lo.subs({counter: lower})
    return None if end is None else (start, end)


def _slope(expr: Expr, counter: SSAValue) -> int | None:
    """How much `expr` grows with the counter, if it grows evenly."""
    step = expr.subs({counter: Expr.sym(counter) + 1}) - expr
    return step.value if step.is_const else None


def _last_end(
    hi: Expr, counter: SSAValue, lower: Expr, upper: Expr, step: Expr
) -> Expr | None:
    """The largest end: of `%k + min(step, upper - %k)` it is `upper`."""
    ends = _alternatives(hi)
    fixed = [end for end in ends if counter not in end.symbols()]
    if fixed:
        return minimum(*fixed)
    if len(ends) != 1 or _slope(hi, counter) is None:
        return None
    last = lower + ((upper - lower - 1).floordiv(step)) * step
    return hi.subs({counter: last})


def _alternatives(expr: Expr) -> list[Expr]:
    """`x + min(a, b)` as [x + a, x + b]; anything else as itself."""
    for atom, factor in expr.terms.items():
        if isinstance(atom, Call) and atom.op == "min" and factor > 0:
            rest = expr - Expr({atom: factor}, 0)
            return [rest + argument * factor for argument in atom.args]
    return [expr]


def mentions_inner(given: Range, tasks: TasksOp) -> bool:
    """Whether a symbol is defined inside the body (and is no grid index)."""
    grid = set(tasks.grid_args)
    return any(
        key not in grid and isinstance(key, SSAValue) and is_inside(key, tasks)
        for expr in given
        for key in expr.symbols()
    )


def is_inside(value: SSAValue, tasks: TasksOp) -> bool:
    """Whether `value` is defined in the body of `tasks`."""
    block = value.block if isinstance(value, BlockArgument) else None
    if block is None:
        owner = value.owner
        block = owner.parent if isinstance(owner, Operation) else owner
    while block is not None:
        parent = block.parent_op()
        if parent is tasks:
            return True
        block = None if parent is None else parent.parent
    return False
