"""Ranges of integers: `lo <= x <= hi`, where `None` is no bound.

Every operation is sound: if `x` lies in `a` and `y` in `b`, then `x op y` lies in
`a op b`.  Division follows Python: `floordiv` and `mod` round toward minus infinity.
"""

from __future__ import annotations

from pyptoc.dialects.record import record


@record
class Interval:
    """The integers from `lo` to `hi`, both included; `None` means unbounded."""

    lo: int | None = None
    hi: int | None = None

    @staticmethod
    def exactly(value: int) -> Interval:
        return Interval(value, value)

    @property
    def is_empty(self) -> bool:
        return self.lo is not None and self.hi is not None and self.lo > self.hi

    def __contains__(self, value: int) -> bool:
        above = self.lo is None or value >= self.lo
        return above and (self.hi is None or value <= self.hi)

    def intersect(self, other: Interval) -> Interval:
        """The integers in both ranges (possibly none: see `is_empty`)."""
        los = [x for x in (self.lo, other.lo) if x is not None]
        his = [x for x in (self.hi, other.hi) if x is not None]
        return Interval(max(los, default=None), min(his, default=None))

    def __add__(self, other: Interval) -> Interval:
        lo = None if self.lo is None or other.lo is None else self.lo + other.lo
        hi = None if self.hi is None or other.hi is None else self.hi + other.hi
        return Interval(lo, hi)

    def __neg__(self) -> Interval:
        return Interval(
            None if self.hi is None else -self.hi,
            None if self.lo is None else -self.lo,
        )

    def scale(self, factor: int) -> Interval:
        """The range of `factor * x`."""
        if factor == 0:
            return Interval(0, 0)
        lo = None if self.lo is None else self.lo * factor
        hi = None if self.hi is None else self.hi * factor
        return Interval(lo, hi) if factor > 0 else Interval(hi, lo)

    def __mul__(self, other: Interval) -> Interval:
        if (0, 0) in ((self.lo, self.hi), (other.lo, other.hi)):
            return Interval(0, 0)
        ends = (self.lo, self.hi, other.lo, other.hi)
        if all(end is not None for end in ends):
            a, b, c, d = (end or 0 for end in ends)
            products = (a * c, a * d, b * c, b * d)
            return Interval(min(products), max(products))
        if self.lo is not None and self.lo >= 0:
            return _times_non_negative(other, self)
        if other.lo is not None and other.lo >= 0:
            return _times_non_negative(self, other)
        return Interval()

    def power(self, exponent: int) -> Interval:
        """The range of `x ** exponent` for an exponent of at least 1."""
        if exponent % 2:
            lo = None if self.lo is None else self.lo**exponent
            hi = None if self.hi is None else self.hi**exponent
            return Interval(lo, hi)
        distance = self.magnitude()
        hi = None if distance.hi is None else distance.hi**exponent
        return Interval((distance.lo or 0) ** exponent, hi)

    def magnitude(self) -> Interval:
        """The range of `abs(x)`."""
        if self.lo is not None and self.lo >= 0:
            return self
        if self.hi is not None and self.hi <= 0:
            return -self
        if self.lo is None or self.hi is None:
            return Interval(0, None)
        return Interval(0, max(-self.lo, self.hi))

    def floordiv(self, other: Interval) -> Interval:
        """The range of `x // y`, for the `y` other than 0."""
        if (other.lo, other.hi) == (0, 0):
            return Interval()
        if other.lo is not None and other.lo >= 0:
            return self._divide(max(other.lo, 1), other.hi)
        if other.hi is not None and other.hi <= 0:
            upper = None if other.lo is None else -other.lo
            return (-self)._divide(max(-other.hi, 1), upper)
        # The divisor may have either sign, and the quotient is no larger than x.
        if self.lo is None or self.hi is None:
            return Interval()
        largest = max(abs(self.lo), abs(self.hi))
        return Interval(-largest, largest)

    def _divide(self, low: int, high: int | None) -> Interval:
        """Quotients by divisors from `low` >= 1 to `high`."""
        lo = hi = None
        if self.lo is not None:
            if self.lo < 0:
                lo = self.lo // low
            else:
                lo = 0 if high is None else self.lo // high
        if self.hi is not None:
            if self.hi >= 0:
                hi = self.hi // low
            else:
                hi = -1 if high is None else self.hi // high
        return Interval(lo, hi)

    def mod(self, other: Interval) -> Interval:
        """The range of `x % y` in Python's sense (the sign of `y`)."""
        if other.lo is not None and other.lo > 0:
            fits = self.lo is not None and self.hi is not None and self.lo >= 0
            if fits and self.hi is not None and self.hi < other.lo:
                return self
            hi = None if other.hi is None else other.hi - 1
            if self.lo is not None and self.lo >= 0 and self.hi is not None:
                hi = self.hi if hi is None else min(hi, self.hi)
            return Interval(0, hi)
        lo = None if other.lo is None else min(other.lo + 1, 0)
        hi = None if other.hi is None else max(other.hi - 1, 0)
        return Interval(lo, hi)

    def minimum(self, other: Interval) -> Interval:
        lo = None if self.lo is None or other.lo is None else min(self.lo, other.lo)
        his = [x for x in (self.hi, other.hi) if x is not None]
        return Interval(lo, min(his, default=None))

    def maximum(self, other: Interval) -> Interval:
        return -((-self).minimum(-other))


def _times_non_negative(a: Interval, b: Interval) -> Interval:
    """`a * b` where `b.lo >= 0` and some end is open."""
    assert b.lo is not None
    if a.lo is None:
        lo = None
    elif a.lo >= 0:
        lo = a.lo * b.lo
    else:
        lo = None if b.hi is None else a.lo * b.hi
    if a.hi is None:
        hi = None
    elif a.hi <= 0:
        hi = a.hi * b.lo
    else:
        hi = None if b.hi is None else a.hi * b.hi
    return Interval(lo, hi)
