"""
What tasks touch of a buffer, as passes compare it: by one task, by all tasks of a
launch, by all trips of a loop.

    write %y[16 * %i, 0] [min(16, %m - 16 * %i), 64]       %i in 0 .. %m ceildiv 16
    all tasks:  write %y[0, 0] [%m, 64]: they cover it

A *cover* matters to waits: whatever touches a part of a covered buffer later comes
after the covering tasks, and those waited for what was there before.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from xdsl.dialects import scf
from xdsl.ir import SSAValue

from pyptoc.dialects.expr import ZERO, Expr, Facts, bound_without, prove_le, slope_of
from pyptoc.dialects.memory import memory_type
from pyptoc.dialects.npu import TasksOp
from pyptoc.dialects.npu_attrs import AccessMode
from pyptoc.dialects.npu_place import stored_bytes
from pyptoc.dialects.record import record
from pyptoc.passes.accesses import BoxAccess
from pyptoc.passes.coordinates import common_regions, place_of
from pyptoc.passes.overlap import Span, are_apart, over_all
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.structured import defined_in, symbol_in


@record
class Reach:
    """What is done with one box of `buffer`."""

    buffer: SSAValue
    mode: AccessMode
    spans: tuple[Span, ...]
    exact: bool = True

    @staticmethod
    def of(access: BoxAccess) -> Reach:
        spans = map(Span.of, access.lo, access.size)
        return Reach(access.buffer, access.mode, tuple(spans), access.exact)

    @property
    def overwrites(self) -> bool:
        """Whether it does not matter what is there before."""
        return self.mode == AccessMode.WRITE


def in_conflict(one: AccessMode, other: AccessMode) -> bool:
    """Whether the order of two accesses to the same bytes matters."""
    if one == other:
        return one == AccessMode.WRITE
    return True


def shared_coordinates(
    one: Reach, other: Reach, shapes: Shapes, facts: Facts
) -> tuple[tuple[Span, ...], tuple[Span, ...], bool] | None:
    """Two boxes of the same memory in common coordinates, and whether exactly so."""
    if one.buffer is other.buffer:
        return one.spans, other.spans, True
    boxes = [
        (r.buffer, tuple(s.lo for s in r.spans), tuple(s.end - s.lo for s in r.spans))
        for r in (one, other)
    ]
    regions = common_regions(boxes[0], boxes[1], shapes, facts)
    if regions is None:
        return None
    first, second = (tuple(map(Span.of, r.lo, r.size)) for r in regions)
    return first, second, regions[0].exact and regions[1].exact


def certainly_apart(one: Reach, other: Reach, shapes: Shapes, facts: Facts) -> bool:
    """Whether the boxes share no byte, whatever the indices are."""
    common = shared_coordinates(one, other, shapes, facts)
    return common is not None and are_apart(common[0], common[1], facts)


# All tasks of a launch ---------------------------------------------------------------


def covers(tasks: TasksOp, reach: Reach, grid: Dims, dims: Dims, facts: Facts) -> bool:
    """Whether all tasks together touch all of the buffer."""
    if not reach.exact:
        return False
    left = dict[Hashable, Expr](zip(tasks.grid_args, grid, strict=True))
    for span, dim in zip(reach.spans, dims, strict=True):
        whole: Span | None = span
        for key in span.symbols() & set(tasks.grid_args):
            size = left.pop(key, None)
            if size is None or whole is None:
                return False
            whole = over_all(whole, key, size, facts)
        if whole is None or not (
            all(prove_le(lo, 0, facts) for lo in whole.los)
            and all(prove_le(dim, end, facts) for end in whole.ends)
        ):
            return False
    return all(prove_le(1, size, facts) for size in left.values())


# All trips of a loop -----------------------------------------------------------------


def over_trips(
    reach: Reach, loop: scf.ForOp | scf.IfOp, shapes: Shapes, facts: Facts
) -> Reach:
    """What all tasks inside `loop` touch, in terms of what is defined outside."""
    buffer = reach.buffer
    if defined_in(buffer, loop):
        buffer = place_of(buffer, shapes).base
        whole = tuple(Span((ZERO,), (dim,)) for dim in shapes.dims(buffer))
        return Reach(buffer, reach.mode, whole, False)
    spans = _without(reach.spans, shapes.dims(buffer), loop, (), facts)
    return Reach(buffer, reach.mode, spans, False)


def _without(
    given: Sequence[Span],
    dims: Sequence[Expr],
    loop: scf.ForOp | scf.IfOp,
    kept: Iterable[Hashable],
    facts: Facts,
) -> tuple[Span, ...]:
    """The spans without what is defined inside `loop`, but for `kept`."""
    spans: list[Span] = []
    for span, dim in zip(given, dims, strict=True):
        inner = {key for key in span.symbols() if symbol_in(key, loop)} - set(kept)
        if not inner:
            spans.append(span)
            continue
        los = _bounds(span.los, inner, facts, upper=False)
        ends = _bounds(span.ends, inner, facts, upper=True)
        spans.append(Span(los or (ZERO,), ends or (dim,)))
    return tuple(spans)


def _bounds(
    exprs: Sequence[Expr], keys: set[Hashable], facts: Facts, *, upper: bool
) -> tuple[Expr, ...]:
    found = (bound_without(e, keys, facts, upper=upper) for e in exprs)
    return tuple(dict.fromkeys(e for e in found if e is not None))


def keeps_to_its_trip(
    mine: Reach, earlier: Reach, loop: scf.ForOp, shapes: Shapes, facts: Facts
) -> bool:
    """Whether `mine` never meets what `earlier` touched in a trip before."""
    given, dims = (mine.spans, earlier.spans), shapes.dims(mine.buffer)
    if defined_in(mine.buffer, loop) or defined_in(earlier.buffer, loop):
        places = [place_of(reach.buffer, shapes) for reach in (mine, earlier)]
        base, counter = places[0].base, loop.body.block.args[0]
        if base is not places[1].base or defined_in(base, loop):
            return False
        if not all(_slope(place.offset, counter) > 0 for place in places):
            return False  # They take turns.
        given = (bytes_of(mine.buffer, shapes),), (bytes_of(earlier.buffer, shapes),)
        dims = (bytes_of(base, shapes).end,)
    elif mine.buffer is not earlier.buffer:
        return False
    counter = loop.body.block.args[0]
    back: dict[Hashable, Expr | int] = {
        counter: Expr.sym(counter) - shapes.expr(loop.step)
    }
    for now, before, dim in zip(*given, dims, strict=True):
        if counter not in now.symbols() & before.symbols():
            continue
        here, there = (
            _without([span], [dim], loop, (counter,), facts)[0]
            for span in (now, before)
        )
        if _moves_on(here, there, counter, back, facts):
            return True
    return False


def bytes_of(memory: SSAValue, shapes: Shapes) -> Span:
    """Which bytes of the memory that it is a part of a memref has."""
    place = place_of(memory, shapes)
    size = Expr.const(stored_bytes(memory_type(memory).element_type))
    for dim in shapes.dims(memory):
        size = size * dim
    return Span.of(place.offset, size)


def _moves_on(
    now: Span,
    before: Span,
    counter: SSAValue,
    back: dict[Hashable, Expr | int],
    facts: Facts,
) -> bool:
    """Whether the trips before end before this one starts, or the other way round."""
    for end in before.ends:
        if _slope(end, counter) >= 0 and any(
            prove_le(end.subs(back), lo, facts) for lo in now.los
        ):
            return True
    for lo in before.los:
        if _slope(lo, counter) <= 0 and any(
            prove_le(end, lo.subs(back), facts) for end in now.ends
        ):
            return True
    return False


def _slope(e: Expr, counter: SSAValue) -> float:
    """How `e` moves with the counter; not a number where that is not known."""
    slope = slope_of(e, counter)
    return float("nan") if slope is None or not slope.is_const else slope.value
