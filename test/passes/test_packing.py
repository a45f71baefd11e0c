"""The packer against the optimum, found by trying every order."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from pyptoc.passes.packing import pack

Buffer = tuple[int, int, int]
"""Size, first and last position."""


@st.composite
def buffers(draw: st.DrawFn) -> list[Buffer]:
    found: list[Buffer] = []
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, 8))
        found.append((draw(st.integers(1, 6)), start, start + draw(st.integers(0, 5))))
    return found


def conflicts_of(problem: list[Buffer]) -> list[list[int]]:
    return [
        [
            j
            for j, (_, start, end) in enumerate(problem)
            if j != i and start <= one[2] and one[1] <= end
        ]
        for i, one in enumerate(problem)
    ]


def optimum(problem: list[Buffer]) -> int:
    """First-fit in the order of an optimal packing's addresses finds its height."""
    conflicts = conflicts_of(problem)
    best = sum(size for size, _, _ in problem)
    for order in permutations(range(len(problem))):
        placed: dict[int, int] = {}
        for i in order:
            address = 0
            for start, size in sorted(
                (placed[j], problem[j][0]) for j in conflicts[i] if j in placed
            ):
                if start - address >= problem[i][0]:
                    break
                address = max(address, start + size)
            placed[i] = address
        best = min(best, max(placed[i] + problem[i][0] for i in order))
    return best


@settings(max_examples=60, deadline=None)
@given(buffers())
def test_reaches_the_optimum_and_nobody_overlaps(problem: list[Buffer]) -> None:
    sizes, conflicts = [size for size, _, _ in problem], conflicts_of(problem)
    best = optimum(problem)
    packing = pack(sizes, conflicts, best)
    assert packing.height == best
    for i, others in enumerate(conflicts):
        for j in others:
            first, second = sorted((i, j), key=lambda k: packing.addresses[k])
            assert packing.addresses[first] + sizes[first] <= packing.addresses[second]


def test_a_search_is_needed_where_no_greedy_order_does() -> None:
    # By size and in the given order first-fit leaves a gap of 2 below the last one.
    problem = [(3, 0, 1), (2, 1, 3), (4, 2, 5), (3, 4, 6), (2, 5, 7), (3, 0, 0)]
    sizes, conflicts = [size for size, _, _ in problem], conflicts_of(problem)
    best = optimum(problem)
    assert pack(sizes, conflicts, best).height == best


def test_says_how_high_it_got_when_it_does_not_fit() -> None:
    assert pack([4, 4], [[1], [0]], 6, 8).height == 8


def test_hundreds_of_buffers_in_a_chain() -> None:
    count = 400
    chain = [[j for j in (i - 1, i + 1) if 0 <= j < count] for i in range(count)]
    assert pack([32] * count, chain, 64).height == 64
