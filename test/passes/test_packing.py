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
