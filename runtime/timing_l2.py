"""
What of the arrays lies in L2: regions of them, the least recently used leave first.

Each array is cut into cells, as large as the smallest boxes that kernels declare to
access (`accesses`), so a panel of an operand is one cell. A task touches the cells of
its boxes; one that is not there comes from HBM and pushes others out, written ones back
to HBM. A box whose place depends on data is read at random: what it loads comes from
HBM until it has loaded as much as there is, then by the share that L2 cannot hold.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import product
from math import prod

from pyptoc.dialects.record import record
from pyptoc.runtime.timing_program import Array

MOST_CELLS = 64
"""A box covers no more cells; larger cells are used otherwise."""

Box = tuple[tuple[int, ...], tuple[int, ...]]
"""Where a box begins, and its sizes."""


Covered = tuple[int, float]
"""The number of a cell, and bytes of it."""


@record(frozen=False)
class Cells:
    """How an array is cut."""

    array: Array
    first: int
    """The number of its first cell; it numbers cells by rows from there."""
    sizes: tuple[int, ...]
    counts: tuple[int, ...]
    cell_bytes: float
    known: dict[object, list[Covered]] = field(
        default_factory=dict[object, "list[Covered]"]
    )
    """What boxes of several cells cover, that were asked for before."""

    def __post_init__(self) -> None:
        self.element_bytes = self.array.bits / 8
        self.strides = [
            prod(self.counts[axis + 1 :]) for axis in range(len(self.sizes))
        ]

    @staticmethod
    def of(array: Array, first: int, boxes: Sequence[Sequence[int]]) -> Cells:
        """Cells of the smallest of these sizes of boxes, as far as they are few."""
        shape = array.shape
        fitting = [box for box in boxes if all(box)] or [shape]
        sizes = [max(min(column), 1) for column in zip(*fitting)] if shape else []
        for box in fitting:
            for axis in range(len(shape)):
                covered = prod(-(-b // s) for b, s in zip(box, sizes))
                if covered > MOST_CELLS:
                    most = -(-box[axis] // sizes[axis])
                    others = covered // most
                    kept = max(MOST_CELLS // max(others, 1), 1)
                    sizes[axis] = max(-(-box[axis] // kept), sizes[axis])
        counts = tuple(max(-(-n // s), 1) for n, s in zip(shape, sizes))
        size = min(prod(sizes), prod(shape)) * array.bits / 8
        return Cells(array, first, tuple(sizes), counts, size)

    @property
    def count(self) -> int:
        return prod(self.counts)

    def covered(self, lo: Sequence[int], size: Sequence[int]) -> Sequence[Covered]:
        """The cells that a box meets, and how many bytes of each."""
        number, covered = self.first, self.element_bytes
        for at, n, s, stride in zip(lo, size, self.sizes, self.strides):
            place = at // s
            if at + n > (place + 1) * s:
                break
            number += place * stride
            covered *= n
        else:
            return ((number, covered),)
        key = (lo, size)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = list(self._covered(lo, size))
        return found

    def _covered(self, lo: Sequence[int], size: Sequence[int]) -> Iterator[Covered]:
        ranges: list[list[tuple[int, int]]] = []
        stride = self.count
        for at, n, s, count in zip(lo, size, self.sizes, self.counts, strict=True):
            stride //= count
            end, pieces = at + n, list[tuple[int, int]]()
            while at < end:
                stop = min((at // s + 1) * s, end)
                pieces.append((at // s * stride, stop - at))
                at = stop
            ranges.append(pieces)
        for pieces in product(*ranges):
            bits = prod(length for _, length in pieces) * self.array.bits
            yield self.first + sum(place for place, _ in pieces), bits / 8


class L2:
    """The resident cells, oldest first."""

    def __init__(self, capacity: float) -> None:
        self.capacity = capacity
        self.used = 0.0
        self.written_back = 0.0
        """Bytes that left for HBM because they had been written."""
        self._resident: OrderedDict[int, float] = OrderedDict()
        self._dirty: set[int] = set()
        self._loaded_at_random: dict[tuple[int, int], float] = {}

    def touch(self, cell: int, size: float, whole: float, write: bool = False) -> float:
        """
        A task reads or writes `size` bytes of a cell of `whole` bytes.

        Returns the bytes that were not there. Of a cell that is there in part, other
        parts are taken to be wanted until all is there.
        """
        resident = self._resident
        here = resident.pop(cell, 0.0)
        missing = min(size, max(whole - here, 0.0))
        if whole <= self.capacity:
            resident[cell] = here + missing
            self.used += missing
            if write:
                self._dirty.add(cell)
        else:
            self.used -= here
            if write:
                self.written_back += size
        while self.used > self.capacity:
            oldest, gone = resident.popitem(last=False)
            self.used -= gone
            if oldest in self._dirty:
                self._dirty.remove(oldest)
                self.written_back += gone
        return missing

    def read_at_random(self, array: Array, loaded: float) -> float:
        """How many of the loaded bytes come from HBM."""
        key = (array.root, array.offset)
        before = self._loaded_at_random.get(key, 0.0)
        self._loaded_at_random[key] = before + loaded
        if before < array.bytes:
            return loaded
        return loaded * max(1 - self.capacity / max(array.bytes, 1), 0.0)

    @property
    def dirty(self) -> float:
        """Bytes that were written and are still here."""
        return sum(self._resident[cell] for cell in self._dirty)
