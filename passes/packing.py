"""
Packing buffers into a memory: dynamic storage allocation.

Each request has a size, and a list of others with which it may not share a byte, unless
the two are partners: then they may begin at one address, which is working in place. We
want addresses below a capacity. First-fit in a good order of requests nearly always
finds them; the optimum is first-fit in *some* order (that of its addresses), so what is
left is a search over orders:

1. several fixed orders: by size, by size x number of conflicts, as given;
2. the best of them, improved: whatever sticks out at the top goes to the front;
3. a bounded depth-first search over orders of ascending addresses.

The search stops as soon as the result fits, since a lower one is worth nothing.

What was packed before is remembered: `skew` asks whether there is room for a kernel of
which `plan-memory` then places the buffers, and two levels of sharing may be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pyptoc.dialects.record import record

IMPROVEMENTS = 30
"""Rounds of step 2."""

SEARCH_STEPS = 20_000
"""Placements that step 3 may try: about 30 ms."""


@record
class Packing:
    """One address for each request, and the end of the highest one."""

    addresses: tuple[int, ...]
    height: int


def pack(
    sizes: Sequence[int],
    conflicts: Sequence[Sequence[int]],
    capacity: int,
    lower_bound: int = 0,
    partners: Sequence[Sequence[int]] | None = None,
) -> Packing:
    """
    Addresses for requests of these sizes, below `capacity` if that can be found.

    `conflicts[i]` lists the requests that may not share a byte with i; the relation is
    symmetric, as `partners` is. `lower_bound` is a height that no packing can undercut,
    if one is known. Sizes are multiples of the alignment, so that addresses are too.
    """
    problem = _Problem(
        tuple(sizes),
        tuple(map(tuple, conflicts)),
        tuple(map(tuple, partners or [()] * len(sizes))),
    )
    return _pack(problem, capacity, lower_bound)


@lru_cache(maxsize=64)
def _pack(problem: _Problem, capacity: int, lower_bound: int) -> Packing:
    sizes, conflicts = problem.sizes, problem.conflicts
    target = max(capacity, lower_bound)
    best: Packing | None = None
    everything = range(len(sizes))
    for order in (
        sorted(everything, key=lambda i: (-sizes[i], -len(conflicts[i]), i)),
        sorted(everything, key=lambda i: (-sizes[i] * (1 + len(conflicts[i])), i)),
        list(everything),
    ):
        found = problem.first_fit(order)
        if best is None or found.height < best.height:
            best = found
        if best.height <= target:
            return best
        improved = problem.improve(order, found, target)
        if improved.height < best.height:
            best = improved
        if best.height <= target:
            return best
    assert best is not None
    if lower_bound <= capacity:
        search = _Search(problem, capacity)
        return search.run() or best
    return best


@record
class _Problem:
    sizes: tuple[int, ...]
    conflicts: tuple[tuple[int, ...], ...]
    partners: tuple[tuple[int, ...], ...]

    def first_fit(self, order: Sequence[int]) -> Packing:
        addresses = [-1] * len(self.sizes)
        height = 0
        for i in order:
            addresses[i] = self.lowest(i, addresses)
            height = max(height, addresses[i] + self.sizes[i])
        return Packing(tuple(addresses), height)

    def lowest(self, i: int, addresses: Sequence[int]) -> int:
        """The lowest address where i meets none of those placed (address -1: not yet),
        or only partners, exactly."""
        taken = [(addresses[j], self.sizes[j]) for j in self.conflicts[i]]
        address = self._gap(i, sorted(pair for pair in taken if pair[0] >= 0))
        return self.with_partner(i, address, addresses)

    def with_partner(self, i: int, address: int, addresses: Sequence[int]) -> int:
        """The lowest address below `address` where i can lie on one of its partners,
        or else `address`."""
        for partner in self.partners[i]:
            place = addresses[partner]
            if 0 <= place < address and self._fits(i, place, addresses):
                address = place
        return address

    def _gap(self, i: int, taken: Sequence[tuple[int, int]]) -> int:
        address = 0
        for start, size in taken:
            if start - address >= self.sizes[i]:
                break
            address = max(address, start + size)
        return address

    def _fits(self, i: int, place: int, addresses: Sequence[int]) -> bool:
        """Whether i can lie at `place`, where one of its partners lies."""
        return all(
            addresses[j] < 0
            or addresses[j] >= place + self.sizes[i]
            or addresses[j] + self.sizes[j] <= place
            or (addresses[j] == place and j in self.partners[i])
            for j in self.conflicts[i]
        )

    def improve(self, order: Sequence[int], found: Packing, target: int) -> Packing:
        order = list(order)
        best = found
        for _ in range(IMPROVEMENTS):
            ends = [a + s for a, s in zip(found.addresses, self.sizes, strict=True)]
            top = [i for i in order if ends[i] == found.height]
            order = top + [i for i in order if ends[i] != found.height]
            found = self.first_fit(order)
            if found.height < best.height:
                best = found
            if best.height <= target:
                break
        return best


class _Search:
    """Depth-first over orders in which addresses ascend, pruned at the capacity."""

    def __init__(self, problem: _Problem, capacity: int) -> None:
        self.problem, self.capacity = problem, capacity
        self.sizes = problem.sizes
        self.addresses = [-1] * len(self.sizes)
        self.steps = SEARCH_STEPS

    def run(self) -> Packing | None:
        count = len(self.sizes)
        by_size = sorted(range(count), key=lambda i: -self.sizes[i])
        if count > 200 or not self._place(by_size, [0] * count, (-1, -1)):
            return None
        ends = (a + s for a, s in zip(self.addresses, self.sizes, strict=True))
        return Packing(tuple(self.addresses), max(ends))

    def _place(self, left: list[int], lowest: list[int], last: tuple[int, int]) -> bool:
        """Whether those `left` find a place; `lowest` is where each can lie that meets
        none of those placed."""
        if not left:
            return True
        choices: list[tuple[int, int]] = []
        problem, sizes, capacity = self.problem, self.sizes, self.capacity
        for i in left:
            address = lowest[i]
            partners = problem.partners[i]
            if address and partners:
                address = problem.with_partner(i, address, self.addresses)
            if address + sizes[i] <= capacity:
                choices.append((address, i))
            elif all(self.addresses[j] >= 0 for j in partners):
                return False  # It only gets worse as others are placed.
        for choice in choices:
            self.steps -= 1
            if self.steps < 0:
                return False
            if choice > last:
                address, i = choice
                self.addresses[i] = address
                rest = [j for j in left if j != i]
                if self._place(rest, self._beside(i, lowest), choice):
                    return True
                self.addresses[i] = -1
        return False

    def _beside(self, i: int, lowest: list[int]) -> list[int]:
        """`lowest` when i is placed too: above all others, so that a gap below it stays
        as it is, and what does not fit there goes over it."""
        sizes, start = self.sizes, self.addresses[i]
        end = start + sizes[i]
        after = lowest.copy()
        for j in self.problem.conflicts[i]:
            if start - sizes[j] < lowest[j] < end:
                after[j] = end
        return after
