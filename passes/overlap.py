"""
Which tasks of one launch touch what a task of another does: the selector of a wait.

    theirs  write %y[64 * %i + 16 * %k, 0] [min(16, ..), 128]     %k in 0 .. 3
    mine    read  %y[32 * %j, 0] [min(32, %m - 32 * %j), 64]
    ->      [%j floordiv 2, 2 * %j - 4 * (%j floordiv 2) : ..]

Two boxes that are not empty meet where in every dimension each one starts before the
other ends. With starts `los`, of which the greatest counts, and `ends`, of which the
least does, these are inequalities that hold together: each start before my end, each
end behind my start. One in a single grid index limits the range of that index. One in
no index is proven, or a guard that makes the range empty where it does not hold. Where
a dimension has two indices (blocks in blocks), the outer one is limited by what all of
its inner ones touch; then the inner one, if the outer is a single one, or all of them,
if the box covers them. `i mod 2` and `i floordiv 2` count as two indices of their own.

Where no product of ranges says it, the launch compares the boxes: `overlaps`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field

from xdsl.ir import SSAValue

from pyptoc.dialects.expr import (
    ZERO,
    Expr,
    Facts,
    Interval,
    alternatives,
    limit_of,
    maximum,
    minimum,
    prove_le,
    prove_lt,
    prove_multiple,
    simplify,
    slope_of,
)
from pyptoc.dialects.expr_atoms import Call
from pyptoc.dialects.npu import TasksOp
from pyptoc.dialects.npu_attrs import ALL, OVERLAPS, Selector
from pyptoc.dialects.record import record
from pyptoc.passes.shapes import DimKey

EXTENT = "extent"
"""The symbol for the size of the box that waits: at least 1."""


@record
class Span:
    """A range of elements, not empty: from all of `los` on, up to the least end."""

    los: tuple[Expr, ...]
    ends: tuple[Expr, ...]

    @staticmethod
    def of(lo: Expr, size: Expr) -> Span:
        """
        The range `lo +: size`.

        Where a start is cut off at an end, the box is empty: of
        `min(16 * k, m) +: min(16, m - min(16 * k, m))` the start is `16 * k`.
        """
        # What a size takes away from the start cancels before anything is expanded.
        parts = alternatives(size, negated=False)
        ends = alternatives(minimum(*(lo + part for part in parts)))
        los: list[Expr] = []
        for one in alternatives(lo, "max"):
            inside = [start for start in alternatives(one) if start not in ends]
            los.append(minimum(*inside) if inside else one)
        return Span(tuple(los), tuple(ends))

    @property
    def lo(self) -> Expr:
        return maximum(*self.los)

    @property
    def end(self) -> Expr:
        return minimum(*self.ends)

    def symbols(self) -> set[Hashable]:
        return {key for e in (*self.los, *self.ends) for key in e.symbols()}

    def subs(self, known: dict[Hashable, Expr | int]) -> Span:
        return Span(
            tuple(e.subs(known) for e in self.los),
            tuple(e.subs(known) for e in self.ends),
        )


Spans = Sequence[Span]


def grid_facts(facts: Facts, tasks: TasksOp, sizes: Sequence[Expr]) -> None:
    """Note where the grid indices of `tasks` lie."""
    for index, size in zip(tasks.grid_args, sizes, strict=True):
        note_sizes(facts, size)
        facts.assume_range(index, 0, size - 1)


def note_sizes(facts: Facts, expr: Expr) -> None:
    """Dimensions are never negative."""
    for key in expr.symbols():
        if isinstance(key, DimKey) and key not in facts:
            facts.assume_interval(key, Interval(0, None))


def are_apart(one: Spans, other: Spans, facts: Facts) -> bool:
    """Whether no two ranges meet in some dimension, whatever the indices are."""
    return any(
        _ends_before(a, b, facts)
        or _ends_before(b, a, facts)
        or _interleave(a, b, facts)
        for a, b in zip(one, other, strict=True)
    )


def _ends_before(one: Span, other: Span, facts: Facts) -> bool:
    return any(prove_le(end, lo, facts) for end in one.ends for lo in other.los)


def _interleave(one: Span, other: Span, facts: Facts) -> bool:
    """Whether both keep to different places modulo a stride: rows 2 i and 2 j + 1."""
    gap = other.lo - one.lo
    sizes = _most(one, facts), _most(other, facts)
    for stride in sorted(set(map(abs, gap.terms.values()))):
        # The rest is what moves within one stride.
        rest = Expr({a: c for a, c in gap.terms.items() if c % stride}, 0)
        moves = rest.interval(facts)
        if moves.lo is None or moves.hi is None:
            continue
        first = (gap.constant + moves.lo) % stride
        last = first + moves.hi - moves.lo
        if first >= (sizes[0] or stride) and stride - last >= (sizes[1] or stride):
            return True
    return False


def _most(span: Span, facts: Facts) -> int | None:
    """How long a range is at most."""
    sizes = [(end - span.lo).interval(facts).hi for end in span.ends]
    return min((size for size in sizes if size is not None), default=None)


def over_all(span: Span, key: Hashable, size: Expr, facts: Facts) -> Span | None:
    """What `span` is for all `size` values of an index, if that leaves no gaps."""
    following = span.subs({key: Expr.sym(key) + 1})
    for start in following.los:
        for end in span.ends:
            if key in end.symbols() and not prove_le(start, end, facts):
                return None
    first, last = span.subs({key: 0}), span.subs({key: size - 1})
    return Span(first.los, last.ends)


# Which indices ---------------------------------------------------------------------


@record(frozen=False)
class Ranges:
    """The range of each grid index that meets a box, as it is narrowed."""

    los: dict[Hashable, list[Expr]] = field(default_factory=dict[Hashable, list[Expr]])
    ends: dict[Hashable, list[Expr]] = field(default_factory=dict[Hashable, list[Expr]])
    guards: list[Expr] = field(default_factory=list[Expr])
    """Nothing meets unless these are at least 1."""


class NoRangeError(Exception):
    """No product of ranges says which tasks are meant."""


@record(frozen=False)
class Selection:
    """Finds the tasks of `tasks` whose box `theirs` meets `mine`."""

    tasks: TasksOp
    grid: Sequence[Expr]
    facts: Facts
    found: Ranges = field(default_factory=Ranges)
    extents: dict[Hashable, Expr | int] = field(
        default_factory=dict[Hashable, "Expr | int"]
    )
    pairs: dict[SSAValue, tuple[Expr, Expr, int]] = field(
        default_factory=dict[SSAValue, "tuple[Expr, Expr, int]"]
    )
    """An index as its quotient and its remainder by a number."""

    def __post_init__(self) -> None:
        self.facts = self.facts.copy()
        self._keys: list[Hashable] = list(self.tasks.grid_args)
        self.indices: set[Hashable] = set(self._keys)

    def selector(self, theirs: Spans, mine: Spans) -> Selector:
        """The tasks that meet `mine`; `overlaps` where no ranges say it."""
        theirs = self._split_indices(theirs)
        try:
            for one, other in zip(theirs, mine, strict=True):
                self._meet(one, *self._symbolic(other))
            return self._box()
        except NoRangeError:
            return OVERLAPS

    def _symbolic(self, span: Span) -> tuple[Expr, Expr, Span]:
        """Start and end of the box that waits, its size a symbol of at least 1."""
        size = minimum(*(end - span.lo for end in span.ends))
        if size.is_const:
            return span.lo, span.lo + size, span
        extent = (EXTENT, len(self.extents))
        self.extents[extent] = size
        hi = size.interval(self.facts).hi
        self.facts.assume_interval(extent, Interval(1, hi))
        return span.lo, span.lo + Expr.sym(extent), span

    def _split_indices(self, theirs: Spans) -> Spans:
        """Indices of which a remainder is taken become quotient and remainder."""
        for index, size in zip(self.tasks.grid_args, self.grid, strict=True):
            parts = {n for span in theirs for n in _moduli(span, index)}
            if len(parts) != 1:
                continue
            (count,) = parts
            outer, inner = (index, "div"), (index, "mod")
            self.facts.assume_range(outer, 0, (size - 1).floordiv(count))
            self.facts.assume_interval(outer, Interval(0, None))
            self.facts.assume_interval(inner, Interval(0, count - 1))
            self.indices |= {outer, inner}
            quotient, remainder = Expr.sym(outer), Expr.sym(inner)
            self.pairs[index] = quotient, remainder, count
            whole: dict[Hashable, Expr | int] = {index: count * quotient + remainder}
            theirs = [
                Span(
                    tuple(simplify(e.subs(whole), self.facts) for e in span.los),
                    tuple(simplify(e.subs(whole), self.facts) for e in span.ends),
                )
                for span in theirs
            ]
        return theirs

    def _meet(self, theirs: Span, lo: Expr, end: Expr, mine: Span) -> None:
        """Narrow the ranges to where `theirs` and `lo` to `end` meet."""
        inside = [key for key in theirs.symbols() if key in self.indices]
        if len(inside) <= 1:
            for start in theirs.los:
                self._before(start, end, mine.los, inside)
            for stop in theirs.ends:
                self._after(stop, lo, mine.ends, inside)
            return
        self._nested(theirs, lo, end, mine, inside)

    def _before(
        self, start: Expr, end: Expr, los: Sequence[Expr], inside: Sequence[Hashable]
    ) -> None:
        """They start before mine ends: `start < end`."""
        mentioned = [key for key in inside if key in start.symbols()]
        if not mentioned:
            if not any(prove_le(start, lo, self.facts) for lo in los):
                self._guard(end - start)
            return
        self._limit(start, mentioned[0], end)

    def _after(
        self, stop: Expr, lo: Expr, ends: Sequence[Expr], inside: Sequence[Hashable]
    ) -> None:
        """They end after mine starts: `-stop < -lo`."""
        mentioned = [key for key in inside if key in stop.symbols()]
        if not mentioned:
            # Mine is not empty: it starts before each of its ends.
            if not any(prove_le(end, stop, self.facts) for end in ends):
                self._guard(stop - lo)
            return
        self._limit(-stop, mentioned[0], -lo)

    def _limit(self, e: Expr, key: Hashable, limit: Expr) -> None:
        found = limit_of(e, key, limit, self.facts)
        if found is None:
            raise NoRangeError
        kept = self.found.ends if found.is_upper else self.found.los
        kept.setdefault(key, []).append(simplify(found.value, self.facts))

    def _guard(self, amount: Expr) -> None:
        if prove_lt(0, amount, self.facts):
            return
        self.found.guards.append(simplify(amount, self.facts))

    # -- blocks in blocks

    def _nested(
        self, theirs: Span, lo: Expr, end: Expr, mine: Span, inside: list[Hashable]
    ) -> None:
        """Limit the outermost index by what all of its inner ones touch, and so on."""
        order = sorted(inside, key=lambda key: self._stride(theirs, key), reverse=True)
        outer, *inner = order
        whole = theirs
        for key in reversed(inner):
            whole = self._over_all(whole, key)
        self._meet(whole, lo, end, mine)
        start, stop = self._range(outer)
        if start is None or stop is None:
            raise NoRangeError
        if prove_le(stop, start + 1, self.facts):
            self._meet(theirs.subs({outer: start}), lo, end, mine)
            return
        first, last = whole.subs({outer: start}), whole.subs({outer: stop - 1})
        covers = all(prove_le(lo, e, self.facts) for e in first.los) and all(
            any(prove_le(e, stop, self.facts) for e in last.ends) for stop in mine.ends
        )
        if not covers:
            raise NoRangeError

    def _stride(self, theirs: Span, key: Hashable) -> int:
        slopes = [slope_of(start, key) for start in theirs.los]
        known = [s.value for s in slopes if s is not None and s.is_const]
        if len(known) != len(slopes) or min(known) < 0:
            raise NoRangeError
        return max(known)

    def _over_all(self, theirs: Span, key: Hashable) -> Span:
        """What all values of one index touch, if that leaves no gaps."""
        whole = over_all(theirs, key, self._size(key), self.facts)
        if whole is None:
            raise NoRangeError
        return whole

    def _size(self, key: Hashable) -> Expr:
        """How many values an index has, or the half of one, whatever the other is."""
        for index, (quotient, remainder, count) in self.pairs.items():
            size = dict(zip(self._keys, self.grid, strict=True))[index]
            if key in (*quotient.symbols(), *remainder.symbols()):
                if not prove_multiple(size, count, self.facts):
                    raise NoRangeError
                is_outer = key in quotient.symbols()
                return size.floordiv(count) if is_outer else Expr.const(count)
        return dict(zip(self._keys, self.grid, strict=True))[key]

    # -- the result

    def _range(self, key: Hashable) -> tuple[Expr | None, Expr | None]:
        """The range of an index so far; None where it is not limited."""
        los, ends = self.found.los.get(key), self.found.ends.get(key)
        return (
            None if los is None else simplify(maximum(*los), self.facts),
            None if ends is None else simplify(minimum(*ends), self.facts),
        )

    def _box(self) -> Selector:
        ranges: list[tuple[Expr, Expr] | None] = []
        for index, size in zip(self.tasks.grid_args, self.grid, strict=True):
            lo, end = self._joined(index)
            if lo is None and end is None:
                ranges.append(None)
            else:
                ranges.append(
                    (ZERO if lo is None else lo, size if end is None else end)
                )
        if self.found.guards:
            self._apply_guards(ranges)
        if all(r is None for r in ranges):
            return ALL
        shown = [
            None if r is None else tuple(e.subs(self.extents) for e in r)
            for r in ranges
        ]
        return Selector.box(*shown)  # pyright: ignore[reportArgumentType]

    def _joined(self, index: SSAValue) -> tuple[Expr | None, Expr | None]:
        """The range of an index that may have been split in two."""
        pair = self.pairs.get(index)
        if pair is None:
            return self._range(index)
        quotient, remainder, count = pair
        (outer,), (inner,) = quotient.symbols(), remainder.symbols()
        lo, end = self._range(outer)
        first, last = self._range(inner)
        if first is None and last is None:
            return (
                None if lo is None else lo * count,
                None if end is None else end * count,
            )
        covered = (first is None or prove_le(first, 0, self.facts)) and (
            last is None or prove_le(count, last, self.facts)
        )
        if covered:
            return (
                None if lo is None else lo * count,
                None if end is None else end * count,
            )
        if lo is None or end is None or not prove_le(end, lo + 1, self.facts):
            raise NoRangeError
        start = maximum(first or 0, 0)
        stop = minimum(count if last is None else last, count)
        return (
            simplify(lo * count + start, self.facts),
            simplify(lo * count + stop, self.facts),
        )

    def _apply_guards(self, ranges: list[tuple[Expr, Expr] | None]) -> None:
        """Make the range of some axis empty where a guard does not hold."""
        amount = simplify(minimum(*self.found.guards), self.facts)
        sizes = [size for size in self.grid if size.is_const]
        if not sizes:
            raise NoRangeError
        axis = min(
            (a for a, size in enumerate(self.grid) if size.is_const),
            key=lambda a: (ranges[a] is not None, self.grid[a].value),
        )
        size = self.grid[axis]
        lo, end = ranges[axis] or (ZERO, size)
        ranges[axis] = lo, minimum(end, amount * size)


def _moduli(span: Span, index: SSAValue) -> set[int]:
    """The numbers n for which `index mod n` is a part of the range."""
    found: set[int] = set()
    pending = [*span.los, *span.ends]
    while pending:
        for atom in pending.pop().terms:
            if not isinstance(atom, Call):
                continue
            pending += atom.args
            if atom.op == "mod" and atom.args[0] == Expr.sym(index):
                by = atom.args[1]
                if by.is_const and by.value > 0:
                    found.add(by.value)
    return found
