"""
What a mixed group costs on a machine: both sides by their own cost functions.

    cube      each product as `cube_cost.estimate` has it, but that its accumulators go
              to UB and not to memory; one after the other
    vector    as `vector_cost` has it, on the share of the tile that a vector core has
    time      launch + max(cube, vector) + min(cube, vector) / waves, and no less than
              all bytes from HBM take

The vector cores work on a tile while the cube core makes the next one, so the shorter
side is hidden but for one wave: the first tile has to be made, the last one read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyptoc.dialects.record import record
from pyptoc.dialects.tile_channel import HALVES
from pyptoc.dialects.walk import ROW
from pyptoc.passes import cube_cost
from pyptoc.passes.cube_cost import CubeWork, Tiles, estimate
from pyptoc.passes.cube_tiles import CubeTile
from pyptoc.passes.vector_cost import VectorWork, vector_cost
from pyptoc.runtime.machine import Machine


@record
class MixedWork:
    """A mixed group as its cost depends on it."""

    products: tuple[CubeWork, ...]
    """As wide as all that is read of each."""
    reads: tuple[int, ...]
    """How many tiles of each product a task makes, one beside the other."""
    vector: VectorWork
    """The vector ops, without what comes from accumulators."""


@record
class MixedCost:
    """The modelled time of a tile, in seconds, and what it is made of."""

    seconds: float
    cube: float
    """Of the products, without the launch."""
    vector: float
    """Of the vector ops, without the launch."""
    bound: str
    tasks: int
    waves: int
    slots: tuple[int, int]
    """Of L1, and of L0A and L0B."""


def mixed_costs(
    work: MixedWork, tiles: Sequence[CubeTile], machine: Machine
) -> list[MixedCost]:
    """The cost of each tile; L0C and UB hold what it needs."""
    launch = machine.launch_seconds
    sides = [
        estimate(Tiles.all_of([wide(tile, count) for tile in tiles], ROW), p, machine)
        for p, count in zip(work.products, work.reads, strict=True)
    ]
    shares = [(-(-tile.m0 // HALVES), tile.n0) for tile in tiles]
    by_share = {
        share: vector_cost(work.vector, share, False, machine)
        for share in dict.fromkeys(shares)
    }
    found: list[MixedCost] = []
    for index, share in enumerate(shares):
        vector = by_share[share]
        cube = [float(side.seconds[index]) - launch for side in sides]
        of_vector = vector.seconds - launch
        waves = int(sides[0].waves[index])
        short, long = sorted((sum(cube), of_vector))
        moved = sum(float(side.hbm_bytes[index]) for side in sides) + vector.hbm_bytes
        hbm = moved / machine.memory.hbm_bytes_per_second
        slowest = sides[max(range(len(sides)), key=lambda n: cube[n])]
        bound = cube_cost.PIPES[int(slowest.bound[index])]
        if of_vector > sum(cube):
            bound = vector.bound
        busy = long + short / waves
        found.append(
            MixedCost(
                launch + max(busy, hbm),
                sum(cube),
                of_vector,
                "launch" if max(busy, hbm) < launch else "hbm" if hbm > busy else bound,
                int(sides[0].tasks[index]),
                waves,
                (int(sides[0].l1_slots[index]), int(sides[0].l0_slots[index])),
            )
        )
    return found


def wide(tile: CubeTile, count: int) -> CubeTile:
    """The tile of a task that makes `count` L0 tiles, one beside the other."""
    return replace(tile, n1=count * tile.n0)
