"""The packer against the optimum, found by trying every order."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from pyptoc.passes.packing import pack

Buffer = tuple[int, int, int]
"""Size, first and last position."""


def buffers(random: Random) -> list[Buffer]:
    found: list[Buffer] = []
    for _ in range(random.randint(1, 6)):
        start = random.randint(0, 8)
        found.append((random.randint(1, 6), start, start + random.randint(0, 5)))
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


def test_reaches_the_optimum_and_nobody_overlaps() -> None:
    random = Random(0)
    for _ in range(150):
        problem = buffers(random)
        sizes, conflicts = [size for size, _, _ in problem], conflicts_of(problem)
        best = optimum(problem)
        packing = pack(sizes, conflicts, best)
        assert packing.height == best
        at = packing.addresses
        for i, others in enumerate(conflicts):
            for j in others:
                first, second = sorted((i, j), key=at.__getitem__)
                assert at[first] + sizes[first] <= at[second]


@pytest.mark.parametrize(
    ("problem", "best"),
    [
        ([(3, 4, 8), (4, 3, 6), (4, 8, 12), (6, 5, 8), (1, 3, 7), (3, 7, 8)], 16),
        ([(5, 3, 4), (6, 2, 3), (3, 3, 6), (5, 4, 4), (1, 6, 9), (3, 4, 6)], 16),
    ],
)
def test_searches_where_no_fixed_order_finds_it(
    problem: list[Buffer], best: int
) -> None:
    sizes = [size for size, _, _ in problem]
    assert optimum(problem) == best
    assert pack(sizes, conflicts_of(problem), best).height == best


def test_says_how_high_it_got_when_it_does_not_fit() -> None:
    assert pack([4, 4], [[1], [0]], 6, 8).height == 8


def test_hundreds_of_buffers_in_a_chain() -> None:
    count = 400
    chain = [[j for j in (i - 1, i + 1) if 0 <= j < count] for i in range(count)]
    assert pack([32] * count, chain, 64).height == 64


def may_lie(
    problem: list[Buffer], partners: list[list[int]], at: list[int], i: int, j: int
) -> bool:
    """Whether two buffers at their addresses do not spoil each other."""
    (size, start, end), (other, first, last) = problem[i], problem[j]
    apart_in_time = end < first or last < start
    apart = at[i] + size <= at[j] or at[j] + other <= at[i]
    return apart_in_time or apart or (j in partners[i] and at[i] == at[j])


def least_height(problem: list[Buffer], partners: list[list[int]]) -> int:
    """By trying all addresses."""

    def fits(height: int, at: list[int]) -> bool:
        i = len(at)
        if i == len(problem):
            return True
        for address in range(height - problem[i][0] + 1):
            trial = [*at, address]
            if all(may_lie(problem, partners, trial, i, j) for j in range(i)) and fits(
                height, trial
            ):
                return True
        return False

    height = max(size for size, _, _ in problem)
    while not fits(height, []):
        height += 1
    return height


def chained(random: Random) -> tuple[list[Buffer], list[list[int]]]:
    """Buffers of which some begin where others end, and may do so in place."""
    problem = [(1 + size // 2, *when) for size, *when in buffers(random)[:4]]
    for _ in range(random.randint(1, 2)):
        _, _, end = random.choice(problem)
        problem.append((random.randint(1, 4), end, end + random.randint(1, 5)))
    partners: list[list[int]] = [[] for _ in problem]
    for i, (_, start, end) in enumerate(problem):
        for j, (_, first, last) in enumerate(problem):
            if start < end == first < last and random.random() < 0.8:
                partners[i].append(j)
                partners[j].append(i)
    return problem, partners


def test_reaches_the_optimum_in_place_too() -> None:
    """Results may lie where an input ends, in chains of several."""
    random = Random(1)
    better = 0
    for _ in range(60):
        problem, partners = chained(random)
        sizes, conflicts = [size for size, _, _ in problem], conflicts_of(problem)
        best = least_height(problem, partners)
        packing = pack(sizes, conflicts, best, 0, partners)
        assert packing.height == best
        at = list(packing.addresses)
        for i in range(len(problem)):
            assert all(may_lie(problem, partners, at, i, j) for j in range(i))
        better += best < least_height(problem, [[] for _ in problem])
    assert better > 5
