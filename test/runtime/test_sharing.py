"""Which buffers share bytes: all pairs at once, or one pair."""

from __future__ import annotations

from itertools import product

import pytest
from kernel_harness import parse_kernel

from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.runtime.memory import may_overlap, sharing

PLACES = ("", "addr = 0", "addr = 64", "addr = 96", "addr = 160, slots = 2")


def allocations(spaces: tuple[str, ...]) -> list[Allocation]:
    lines = [
        f"%b{number} = tile.alloc {{{place}}} : !tile.buf<{rows}x8xf32, {space}>"
        for number, (space, place, rows) in enumerate(product(spaces, PLACES, (1, 2)))
    ]
    text = (
        f'npu.kernel @k (%i) (%x: memref<4xf32, "gm">) on vector {{{"".join(lines)}}}'
    )
    ops = parse_kernel(text.replace("%b", "\n  %b")).walk()
    return [op for op in ops if isinstance(op, Allocation)]


@pytest.mark.parametrize("turn", [1, -1])
def test_all_pairs(turn: int) -> None:
    """Of several spaces, with and without addresses, in each order of the text."""
    every = allocations(("ub", "l1"))[::turn]
    assert len(every) == 20
    found = sharing(every)
    for one in every:
        others = [other for other in every if other is not one]
        wanted = {other for other in others if may_overlap(one, other)}
        assert set(found[one]) == wanted
        assert len(found[one]) == len(wanted)
    assert 0 < sum(map(len, found.values())) < 100
