"""What is known of the symbols, and proofs from it.

A proof of `a <= b` bounds `b - a` from below: by intervals, and where those are too
coarse by replacing one part of the difference with a symbolic bound of it:

    min(x, y)        is one of its arguments (as is max)
    x floordiv c     lies between (x - c + 1) / c and x / c
    a symbol         between its stated bounds, or equal to an expression

The search first looks for a short chain of replacements, so that a first choice that
leads on and on hides no near proof. It gives up after `_BUDGET` steps: a failed proof
only means "not proven".
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from math import gcd
from typing import Final

from pyptoc.dialects.expr_atoms import Atom, Call, Product, Symbol, interval_of
from pyptoc.dialects.expr_core import Expr, apply
from pyptoc.dialects.interval import Interval

Ranges = Mapping[Hashable, Interval]
_BUDGET: Final = 40
_DEPTHS: Final = (3, _BUDGET)
"""How long a chain of replacements may be, at first and then."""


class Facts(Mapping[Hashable, Interval]):
    """Ranges, bounds and equalities of symbols.

    It is a mapping from keys to intervals, so it serves wherever ranges are asked for.
    """

    def __init__(self, ranges: Ranges | None = None) -> None:
        self._ranges: dict[Hashable, Interval] = dict(ranges or {})
        self._lower: dict[Hashable, list[Expr]] = {}
        self._upper: dict[Hashable, list[Expr]] = {}
        self._equal: dict[Hashable, Expr] = {}
        self._known: list[Expr] = []
        self._intervals: dict[Atom, Interval] = {}

    def __getitem__(self, key: Hashable) -> Interval:
        return self._ranges[key]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    def copy(self) -> Facts:
        other = Facts(self._ranges)
        other._lower = {key: list(value) for key, value in self._lower.items()}
        other._upper = {key: list(value) for key, value in self._upper.items()}
        other._equal = dict(self._equal)
        other._known = list(self._known)
        return other

    def assume_interval(self, key: Hashable, interval: Interval) -> None:
        """Narrows the range of a symbol."""
        self._intervals.clear()
        self._ranges[key] = self._ranges.get(key, Interval()).intersect(interval)

    def assume_range(
        self,
        key: Hashable,
        lo: Expr | int | None = None,
        hi: Expr | int | None = None,
    ) -> None:
        """`lo <= key <= hi`, both ends included; expressions are kept as they are."""
        for end, bounds in ((lo, self._lower), (hi, self._upper)):
            if end is None:
                continue
            bound = self.rewrite(Expr.of(end))
            range_of = bound.interval(self)
            if bounds is self._lower:
                self.assume_interval(key, Interval(range_of.lo, None))
            else:
                self.assume_interval(key, Interval(None, range_of.hi))
            if not bound.is_const:
                bounds.setdefault(key, []).append(bound)

    def assume_le(self, a: Expr | int, b: Expr | int) -> None:
        """`a <= b` holds."""
        difference = self.rewrite(Expr.of(b) - a)
        if difference.is_const:
            return
        self._known.append(difference)
        for atom, coefficient in difference.terms.items():
            if isinstance(atom, Symbol) and coefficient in (1, -1):
                rest = difference - Expr({atom: coefficient}, 0)
                if coefficient == 1:
                    self.assume_range(atom.key, lo=-rest)
                else:
                    self.assume_range(atom.key, hi=rest)

    def assume_eq(self, a: Expr | int, b: Expr | int) -> None:
        """`a == b` holds: one symbol of it is replaced from now on, if possible."""
        difference = self.rewrite(Expr.of(a) - b)
        for atom, coefficient in reversed(difference.terms.items()):
            if not isinstance(atom, Symbol) or coefficient not in (1, -1):
                continue
            rest = (difference - Expr({atom: coefficient}, 0)) * -coefficient
            if atom.key in rest.symbols():
                continue
            self._replace(atom.key, rest)
            return
        if not difference.is_const:
            self._known += [difference, -difference]

    def _replace(self, key: Hashable, value: Expr) -> None:
        """`key` stands for `value` from now on; what was known of it carries over."""
        mapping = {key: value}
        self._equal = {other: e.subs(mapping) for other, e in self._equal.items()}
        self._equal[key] = value
        self._known = [e.subs(mapping) for e in self._known]
        self._known += [value - lower for lower in self._lower.pop(key, ())]
        self._known += [upper - value for upper in self._upper.pop(key, ())]
        for bounds in (self._lower, self._upper):
            for other, exprs in bounds.items():
                bounds[other] = [e.subs(mapping) for e in exprs]
        old = self._ranges.get(key, Interval())
        self.assume_interval(key, value.interval(self))
        if old.lo is not None:
            self.assume_le(old.lo, value)
        if old.hi is not None:
            self.assume_le(value, old.hi)

    def rewrite(self, e: Expr) -> Expr:
        """The expression with equal symbols replaced."""
        return e.subs(self._equal) if self._equal else e

    def bounds(self, key: Hashable, upper: bool) -> list[Expr]:
        return (self._upper if upper else self._lower).get(key, [])

    def known_non_negative(self) -> list[Expr]:
        return self._known

    def intervals(self) -> dict[Atom, Interval]:
        """The ranges of atoms, as far as they were asked for since one was narrowed."""
        return self._intervals


def prove_le(a: Expr | int, b: Expr | int, ranges: Ranges) -> bool:
    """Whether `a <= b` is proven."""
    return _non_negative(Expr.of(b) - a, ranges)


def prove_lt(a: Expr | int, b: Expr | int, ranges: Ranges) -> bool:
    """Whether `a < b` is proven."""
    return _non_negative(Expr.of(b) - a - 1, ranges)


def prove_eq(a: Expr | int, b: Expr | int, ranges: Ranges) -> bool:
    """Whether `a == b` is proven."""
    difference = Expr.of(a) - b
    if difference.is_const:
        return difference.constant == 0
    return _non_negative(difference, ranges) and _non_negative(-difference, ranges)


def prove_multiple(e: Expr | int, multiple: int, ranges: Ranges) -> bool:
    """Whether `e` is proven to be a multiple of a number >= 1."""
    if isinstance(ranges, Facts):
        e = ranges.rewrite(Expr.of(e))
    rest = Expr.of(e).mod(multiple)
    return all(
        coefficient % multiple == 0 or _all_multiples(atom, multiple, ranges)
        for atom, coefficient in _plain(rest, multiple).terms.items()
    ) and (_plain(rest, multiple).constant % multiple == 0)


def _plain(e: Expr, multiple: int) -> Expr:
    """The argument of an outermost `mod multiple`, which does not matter here."""
    if len(e.terms) == 1 and not e.constant:
        ((atom, coefficient),) = e.terms.items()
        if coefficient == 1 and isinstance(atom, Call) and atom.op == "mod":
            inner, divisor = atom.args
            if divisor.is_const and divisor.constant == multiple:
                return inner
    return e


def _all_multiples(atom: Atom, multiple: int, ranges: Ranges) -> bool:
    if not isinstance(atom, Call) or atom.op not in ("min", "max"):
        return False
    return all(prove_multiple(arg, multiple, ranges) for arg in atom.args)


def simplify(e: Expr, ranges: Ranges) -> Expr:
    """An equal expression without what the facts make needless.

    Drops arguments of min and max that never decide, divisions of values that lie
    within one multiple of the divisor, and symbols that equal something else.
    """
    if isinstance(ranges, Facts):
        e = ranges.rewrite(e)
    result = Expr.const(e.constant)
    for atom, coefficient in e.terms.items():
        result += coefficient * _simplify_atom(atom, ranges)
    return result


def _simplify_atom(atom: Atom, ranges: Ranges) -> Expr:
    if isinstance(atom, Product):
        result = Expr.const(1)
        for part, power in atom.factors.items():
            value = _simplify_atom(part, ranges)
            for _ in range(power):
                result *= value
        return result
    if not isinstance(atom, Call):
        return Expr({atom: 1}, 0)
    args = [simplify(arg, ranges) for arg in atom.args]
    if atom.op in ("min", "max"):
        return apply(atom.op, _deciding(args, atom.op, ranges))
    a, b = args
    if b.is_const and b.constant > 0:
        span = a.interval(ranges)
        if span.lo is not None and span.hi is not None:
            low, high = span.lo // b.constant, span.hi // b.constant
            if atom.op == "ceildiv":
                low, high = -(-span.lo // b.constant), -(-span.hi // b.constant)
            if low == high:
                return a - low * b.constant if atom.op == "mod" else Expr.const(low)
        if atom.op != "mod":
            return _divide(a + (b - 1) if atom.op == "ceildiv" else a, b, ranges)
    if atom.op == "mod" and prove_lt(a, b, ranges) and prove_le(0, a, ranges):
        return a
    return apply(atom.op, args)


def _divide(a: Expr, by: Expr, ranges: Ranges) -> Expr:
    """`a floordiv by`: of `16 * x + r` by 64 it is `x floordiv 4` for r in [0, 16)."""
    divisor = by.constant
    for step in sorted({gcd(c, divisor) for c in a.terms.values()}, reverse=True):
        rest = {atom: c for atom, c in a.terms.items() if c % step}
        low = Expr(rest, a.constant % step).interval(ranges).lo
        if step == 1 or low is None:
            continue
        # What lies between two multiples of `step` does not matter.
        shift = low // step * step
        high = Expr(rest, a.constant % step - shift).interval(ranges).hi
        if high is not None and high < step and (rest or a.constant % step):
            kept = {atom: c for atom, c in a.terms.items() if not c % step}
            whole = a.constant - a.constant % step + shift
            return apply("floordiv", [Expr(kept, whole), by])
    return apply("floordiv", [a, by])


def _deciding(args: list[Expr], op: str, ranges: Ranges) -> list[Expr]:
    kept = list(args)
    for arg in args:
        others = [other for other in kept if other is not arg]
        for other in others:
            low, high = (other, arg) if op == "min" else (arg, other)
            if prove_le(low, high, ranges):
                kept = others
                break
    return kept


def _non_negative(e: Expr, ranges: Ranges) -> bool:
    """Whether `e >= 0` is proven."""
    if isinstance(ranges, Facts):
        e = ranges.rewrite(e)
    intervals = ranges.intervals() if isinstance(ranges, Facts) else {}
    if _by_interval(e, ranges, intervals):
        return True
    if e.is_const:
        return False
    plain = _without_mod(e)
    return any(_Search(ranges, intervals).proves(plain, depth) for depth in _DEPTHS)


def _by_interval(e: Expr, ranges: Ranges, intervals: dict[Atom, Interval]) -> bool:
    """Whether the range of `e` says so; those of its atoms are kept in `intervals`."""
    least = e.constant
    for atom, coefficient in e.terms.items():
        interval = intervals.get(atom)
        if interval is None:
            interval = intervals[atom] = interval_of(atom, ranges)
        end = interval.lo if coefficient > 0 else interval.hi
        if end is None:
            return False
        least += coefficient * end
    return least >= 0


def _without_mod(e: Expr) -> Expr:
    """`x mod c` as `x - c * (x floordiv c)`: the parts may then cancel."""
    result = Expr.const(e.constant)
    for atom, coefficient in e.terms.items():
        part = Expr({atom: 1}, 0)
        if isinstance(atom, Call) and atom.args[1].is_const:
            a, b = atom.args[0], atom.args[1]
            if atom.op == "mod" and b.constant > 0:
                part = a - b * a.floordiv(b)
        result += coefficient * part
    return result


class _Search:
    """A bounded search for a chain of replacements that ends in an interval >= 0."""

    def __init__(self, ranges: Ranges, intervals: dict[Atom, Interval]) -> None:
        self.ranges = ranges
        self.intervals = intervals
        self.seen: dict[Expr, int] = {}
        """What was tried, and how many more replacements were allowed then."""

    def proves(self, e: Expr, depth: int) -> bool:
        """Whether at most `depth` replacements show that `e >= 0`."""
        if _by_interval(e, self.ranges, self.intervals):
            return True
        if depth <= self.seen.get(e, 0) or len(self.seen) == _BUDGET:
            return False
        self.seen[e] = depth
        if isinstance(self.ranges, Facts):
            for known in self.ranges.known_non_negative():
                if _by_interval(e - known, self.ranges, self.intervals):
                    return True
        for bound in _lower_bounds(e, self.ranges):
            if isinstance(bound, Expr):
                if self.proves(bound, depth - 1):
                    return True
            elif all(self.proves(one, depth - 1) for one in bound):
                return True
        return False


def _lower_bounds(e: Expr, ranges: Ranges) -> Iterator[Expr | list[Expr]]:
    """Expressions whose being >= 0 shows that `e >= 0` (of a list: all of them)."""
    # Calls first: taking an argument of min or max makes the expression smaller.
    by_kind = sorted(e.terms.items(), key=lambda term: not isinstance(term[0], Call))
    for atom, coefficient in by_kind:
        rest = e - Expr({atom: coefficient}, 0)
        if isinstance(atom, Call):
            yield from _call_bounds(atom, coefficient, rest)
        elif isinstance(ranges, Facts) and isinstance(atom, Symbol):
            for bound in ranges.bounds(atom.key, upper=coefficient < 0):
                yield rest + coefficient * bound


def _call_bounds(
    atom: Call, coefficient: int, rest: Expr
) -> Iterator[Expr | list[Expr]]:
    if atom.op in ("min", "max"):
        options = [rest + coefficient * arg for arg in atom.args]
        if (atom.op == "min") == (coefficient > 0):
            yield options  # the worst argument counts, and it may be any of them
        else:
            yield from options
        return
    a, b = atom.args
    if atom.op == "mod" or not b.is_const or b.constant <= 0:
        return
    # c * (a floordiv c) lies in [a - c + 1, a], c * (a ceildiv c) in [a, a + c - 1];
    # with e >= 0 exactly where c * e >= 0.
    c = b.constant
    low, high = (a - (c - 1), a) if atom.op == "floordiv" else (a, a + (c - 1))
    common = c if coefficient % c else 1
    scaled = coefficient * common // c
    yield rest * common + scaled * (low if coefficient > 0 else high)
