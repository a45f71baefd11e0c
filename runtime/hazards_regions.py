"""Regions of memory outside the cores: boxes of arrays, and the bytes they share."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from pyptoc.dialects.npu_attrs import AccessMode


@dataclass(frozen=True)
class Place:
    """Where an array lies."""

    root: int
    """The allocation that it is part of."""
    start: int
    """Its first byte in that."""
    shape: tuple[int, ...]
    width: int
    """Bytes of an element."""
    serial: int = 0
    """Tells one use of an arena's bytes from the next."""
    name: str = "memory"

    @property
    def form(self) -> tuple[int, int, tuple[int, ...], int]:
        """What boxes agree in that compare by their ranges."""
        return self.root, self.start, self.shape, self.width

    @property
    def end(self) -> int:
        return self.start + prod(self.shape) * self.width


@dataclass(frozen=True)
class Region:
    """A box of an array, and what is done with it."""

    place: Place
    ranges: tuple[tuple[int, int], ...]
    mode: AccessMode
    exact: bool = True

    @property
    def empty(self) -> bool:
        return any(lo >= hi for lo, hi in self.ranges)

    @property
    def text(self) -> str:
        """`%y[0 +: 16, 256 +: 256]`"""
        ranges = ", ".join(f"{lo} +: {hi - lo}" for lo, hi in self.ranges)
        return f"%{self.place.name}[{ranges}]"

    def conflicts(self, other: Region) -> bool:
        """Whether the order of the two matters."""
        modes = {self.mode, other.mode}
        if modes in ({AccessMode.READ}, {AccessMode.ACCUMULATE}):
            return False
        return self.shares(other)

    def shares(self, other: Region) -> bool:
        """Whether there is a byte in both."""
        if self.place.root != other.place.root or self.empty or other.empty:
            return False
        if self.place.form == other.place.form:
            pairs = zip(self.ranges, other.ranges, strict=True)
            return all(a < d and c < b for (a, b), (c, d) in pairs)
        (low, high), (start, end) = self.bounds, other.bounds
        if high <= start or end <= low:
            return False
        unit = gcd(unit_of(self), unit_of(other))
        units = np.zeros(max(self.place.end, other.place.end) // unit, np.bool_)
        box_of(units, self, unit)[...] = True
        return bool(box_of(units, other, unit).any())

    @property
    def bounds(self) -> tuple[int, int]:
        """Its first byte, and the one behind its last."""
        first = last = 0
        for (lo, hi), size in zip(self.ranges, self.place.shape, strict=True):
            first, last = first * size + lo, last * size + hi - 1
        start, width = self.place.start, self.place.width
        return start + first * width, start + (last + 1) * width

    def holds(self, other: Region) -> bool:
        """Whether another box of the same array lies in this one."""
        pairs = zip(self.ranges, other.ranges, strict=True)
        return other.empty or all(a <= c and d <= b for (a, b), (c, d) in pairs)

    def joined(self, other: Region) -> Region | None:
        """One box for both, if they are one box or lie behind each other."""
        differ = [
            axis
            for axis, (mine, theirs) in enumerate(
                zip(self.ranges, other.ranges, strict=True)
            )
            if mine != theirs
        ]
        if not differ:
            return self
        if len(differ) > 1:
            return self if self.holds(other) else None
        (axis,) = differ
        (a, b), (c, d) = self.ranges[axis], other.ranges[axis]
        if d < a or b < c:
            return None
        ranges = (
            *self.ranges[:axis],
            (min(a, c), max(b, d)),
            *self.ranges[axis + 1 :],
        )
        return Region(self.place, ranges, self.mode, self.exact)


def unit_of(region: Region) -> int:
    """A number of bytes of which all edges of the box are multiples."""
    place = region.place
    if not place.shape:
        return gcd(place.start, place.width)
    lo, hi = region.ranges[-1]
    width = place.width
    return gcd(place.start, lo * width, hi * width, place.shape[-1] * width)


def box_of(
    units: NDArray[np.generic], region: Region, unit: int
) -> NDArray[np.generic]:
    """The view of the units of an allocation that a region covers."""
    return Cut(region, unit).of(units)


class Cut:
    """What a region cuts out of any array of the units of its allocation."""

    def __init__(self, region: Region, unit: int) -> None:
        place, ranges = region.place, region.ranges
        width = place.width
        self.part = slice(place.start // unit, place.end // unit)
        self.shape = self.key = ()
        if place.shape:
            lo, hi = ranges[-1]
            self.shape = (*place.shape[:-1], place.shape[-1] * width // unit)
            last = slice(lo * width // unit, hi * width // unit)
            self.key = (*[slice(a, b) for a, b in ranges[:-1]], last)

    def of(self, units: NDArray[np.generic]) -> NDArray[np.generic]:
        """The view."""
        part = units[self.part]
        return part.reshape(self.shape)[self.key] if self.shape else part
