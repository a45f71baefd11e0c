"""
The search for a cube tile: stages of candidates, each judged by `cube_cost.estimate`.

1. L0: every legal (mL0, nL0, kL0) of a lattice, with the largest kL1 that L1 holds
   twice and that leaves two steps, alone or split into enough parts to occupy the
   cores, under three walks.
2. L1: the best of them with every multiple of kL0, then with mL1 and nL1 of several
   L0 tiles, all of K of A or of B in L1 or neither.
3. Split and walk: the best of those with every factor and every walk.

Each stage keeps the candidates that are fastest so far, so some 50 000 are looked at
instead of millions. Of those within 2.5 % of the best the simplest wins: no split, one
L0 tile a task, the walk by rows, no tails, then the least work on all pipes. Nothing is
random.

What the author gave is kept: a tile leaves stage 3, a factor or a walk leaves less of
it. A dynamic size counts as its upper bound, or as 1024 where it has none
(`representative`); whatever is chosen is legal for every size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.attrs import SPLIT_CHOSEN
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_types import element_bits, round_up
from pyptoc.dialects.walk import Walk
from pyptoc.passes.cube_cost import (
    Costs,
    CubeWork,
    Tiles,
    estimate,
    slots,
    taken,
    walk_blocks,
)
from pyptoc.passes.cube_tiles import CubeTile
from pyptoc.runtime.machine import Machine

if TYPE_CHECKING:
    from pyptoc.passes.cube_cost import Array

UNKNOWN_SIZE = 1024
"""What a dynamic size without an upper bound counts as."""
MULTIPLES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""kL0 in alignment units, and kL1 in kL0."""
OUTER = (1, 2, 4, 8)
"""mL1 and nL1, in L0 tiles."""
FACTORS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
"""Parts of K."""
BLOCKS = (2, 3, 4, 6, 8, 12, 16)
"""Rows and columns of tiles of a blocked walk."""
KEPT = 16
"""Tiles that a stage hands on."""
CLOSE = 0.025
"""Candidates are alike if their times differ by no more than this share."""
ORDER = (
    "within 2.5 %, whole K first, then one L0 tile a task, plain walks, no tails, "
    "less work"
)
"""How candidates are ordered, as tables say it."""
LARGEST = 1024
"""No mL0 or nL0 is larger."""
OUTPUT = ("m0", "m1", "n0", "n1")
"""What of a tile says which part of the result a task makes."""


def representative(size: Expr) -> int:
    """The number that a size counts as when costs are compared."""
    if size.is_const:
        return max(size.value, 1)
    most = size.interval({}).hi
    return UNKNOWN_SIZE if most is None else max(most, 1)


@record
class Ranking:
    """Candidates with their costs, the best one first."""

    product: CubeWork
    machine: Machine
    tiles: Tiles
    costs: Costs

    @cached_property
    def best(self) -> CubeTile:
        """The tile to use; its factor is no more than there are parts."""
        return self.tile(0)

    def tile(self, index: int) -> CubeTile:
        """A candidate, with the factor that it really has."""
        return replace(self.tiles.tile_at(index), split=int(self.costs.parts[index]))

    def distinct(self, count: int) -> list[int]:
        """Where the best candidates of different tiles and factors stand."""
        seen: dict[CubeTile, int] = {}
        for index in range(len(self.tiles.m0)):
            seen.setdefault(replace(self.tile(index), walk=None), index)
            if len(seen) == count:
                break
        return list(seen.values())


Found = dict[tuple[CubeWork, CubeTile | None], Ranking]
"""What was searched for, and what was found: equal matmuls have equal tiles."""


def found_once(
    found: Found, product: CubeWork, machine: Machine, given: CubeTile | None
) -> Ranking:
    """As `search`, once for the same arguments."""
    key = (product, given)
    if key not in found:
        found[key] = search(product, machine, given)
    return found[key]


def search(
    product: CubeWork, machine: Machine, given: CubeTile | None = None
) -> Ranking:
    """The best tiles of a matmul; `given` is the author's tile, which has to fit."""
    import numpy as np

    if given is None:
        tiles = _inner(product, machine)
        tiles = _depths(tiles, product, machine)
        tiles = _outer(tiles, product, machine)
        factors, walks = _factors(product, SPLIT_CHOSEN), walks_of(None)
    else:
        tiles = Tiles.of(given, Walk())
        factors, walks = _factors(product, given.split), walks_of(given.walk)
    if len(factors) > 1:
        tiles = replace(_column(tiles), split=np.array(factors))
        tiles = _best(tiles, product, machine, 2 * KEPT, (*OUTPUT, "split"))
    else:
        tiles = replace(tiles, split=np.array(factors))
    height, width, snake = np.array([walk_blocks(walk) for walk in walks]).T
    tiles = replace(_column(tiles), height=height, width=width, snake=snake)
    return _ranking(tiles, product, machine)


def walks_of(given: Walk | None) -> Sequence[Walk]:
    """The walks to choose from, the simplest first."""
    if given is not None:
        return [given]
    blocked = [Walk("blocked", (rows, cols)) for rows in BLOCKS for cols in BLOCKS]
    return [Walk("row"), Walk("column"), Walk("snake"), *blocked]


def _factors(product: CubeWork, asked: int) -> Sequence[int]:
    """The parts of K to choose from."""
    if asked == SPLIT_CHOSEN:
        return FACTORS if product.may_split else (1,)
    return (max(asked, 1),)


def _inner(p: CubeWork, machine: Machine) -> Tiles:
    """Stage 1: the L0 tiles, with a kL1 as large as L1 holds twice."""
    import numpy as np

    c = p.contraction
    rows = _sizes(p.m, c.m_multiple)
    columns = _sizes(p.n, c.n_multiple)
    most = round_up(p.k, c.k_multiple)
    depths = [c.k_multiple * n for n in MULTIPLES if c.k_multiple * n <= most]
    grid = np.meshgrid(rows, columns, depths, indexing="ij")
    m, n, k = (axis.ravel() for axis in grid)
    lhs, rhs = element_bits(c.lhs) / 8, element_bits(c.rhs) / 8
    spare = machine.space("l1").bytes / 2
    if c.scaled:
        # Scales are a 32nd of the elements, padded to whole fractals.
        spare, lhs, rhs = spare - 31 * m - 15 * (n + 31), lhs + 1 / 32, rhs + 1 / 32
    spare = spare - 4 * (n + 8) * (c.output_scales + c.bias)
    k1 = spare // ((m * lhs + n * rhs) * k)
    # A loop of one step has nothing to overlap with.
    k1 = k * np.clip(k1, 1, np.maximum(np.ceil(most / (2 * k)), 1)).astype(np.int64)
    one, none = np.ones(1, np.int64), np.zeros(1, np.int64)
    tiles = Tiles(m, m, k, k1, k1, n, n, one, one, none, none)
    fits, _, _ = slots(tiles, c, machine)
    tiles = _column(tiles.take(np.flatnonzero(fits)))
    height, width = _near_square(tiles, machine)
    rows, columns, split = height * [1, 0, 0], width * [0, 0, 0], one
    rows[:, 0], rows[:, 2], columns[:, 1], columns[:, 2] = (
        1,
        height[:, 0],
        1,
        width[:, 0],
    )
    if p.may_split:
        tasks = p.batch * np.ceil(p.m / tiles.m1) * np.ceil(p.n / tiles.n1)
        fill = np.maximum(machine.cube_cores // tasks, 1).astype(np.int64)
        split = np.concatenate([fill * 0 + 1] * 3 + [fill], axis=1)
        rows, columns = (np.concatenate([x, x[:, :1]], axis=1) for x in (rows, columns))
    tiles = replace(tiles, split=split, height=rows, width=columns)
    return _best(tiles, p, machine, 3 * KEPT, ("m0", "k0", "n0"))


def _sizes(size: int, unit: int) -> Sequence[int]:
    """The tile sizes along M or N: all multiples of `unit`, sparser from 256 on."""
    most = min(round_up(size, unit), LARGEST)
    found = {most, *range(unit, min(most, 256) + 1, unit)}
    found |= {*range(256, most + 1, 32 if most <= 512 else 64)}
    return sorted(found)


def _near_square(tiles: Tiles, machine: Machine) -> tuple[Array, Array]:
    """Blocks of one task a core that read about as much of A as of B."""
    import numpy as np

    cores = machine.cube_cores
    height = np.clip(np.round(np.sqrt(cores * tiles.n1 / tiles.m1)), 1, cores)
    height = height.astype(np.int64)
    return height, -(-cores // height)


def _depths(tiles: Tiles, p: CubeWork, machine: Machine) -> Tiles:
    """Stage 2: every kL1, of A and B alike."""
    import numpy as np

    tiles = _column(tiles)
    most = np.ceil(p.k / tiles.k0).astype(np.int64)
    each = np.minimum(np.array(MULTIPLES), most)
    k1 = np.concatenate([each * tiles.k0, tiles.ka1], axis=1)
    # Unequal ones need only be listed here.
    pairs = [(k1, k1)]
    a, b = (np.concatenate(side, axis=1) for side in zip(*pairs, strict=True))
    return _best(replace(tiles, ka1=a, kb1=b), p, machine, KEPT, ("m0", "n0"))


def _outer(given: Tiles, p: CubeWork, machine: Machine) -> Tiles:
    """Stage 2: also tasks of several L0 tiles, perhaps all of K of a side in L1."""
    import numpy as np

    tiles = _column(given)
    kinds = np.meshgrid(OUTER, OUTER, *[range(3)] * 2, indexing="ij")
    down, across, whole, part = (axis.ravel() for axis in kinds)
    down = np.minimum(down, np.ceil(p.m / tiles.m0).astype(np.int64))
    across = np.minimum(across, np.ceil(p.n / tiles.n0).astype(np.int64))
    everything = tiles.k0 * np.ceil(p.k / tiles.k0).astype(np.int64)
    half = np.maximum(tiles.ka1 // 2 // tiles.k0, 1) * tiles.k0
    other = np.choose(part, [tiles.ka1, half, tiles.k0])
    tiles = replace(
        tiles,
        m1=tiles.m0 * down,
        n1=tiles.n0 * across,
        ka1=np.where((whole == 1) & (across > 1), everything, other),
        kb1=np.where((whole == 2) & (down > 1), everything, other),
    )
    best = _best(tiles, p, machine, KEPT, OUTPUT)
    # Under another walk the plain ones may be as good.
    pairs = ((getattr(given, f.name), getattr(best, f.name)) for f in fields(Tiles))
    return Tiles(*map(np.concatenate, pairs))


def _column(tiles: Tiles) -> Tiles:
    """Candidates along the first of two axes, for more along the other."""
    return Tiles(*(getattr(tiles, f.name).reshape(-1, 1) for f in fields(tiles)))


def _best(
    tiles: Tiles,
    p: CubeWork,
    machine: Machine,
    count: int,
    names: Sequence[str],
) -> Tiles:
    """The fastest candidates, of those with the same `names` only the first."""
    import numpy as np

    costs, shape = estimate(tiles, p, machine), tiles.shape
    seconds = np.where(costs.fits, costs.seconds, np.inf)
    seconds = np.broadcast_to(seconds, shape).ravel()
    first = min(8 * count, len(seconds)) - 1
    near = np.flatnonzero(seconds <= np.partition(seconds, first)[first])
    near = near[np.isfinite(seconds[near])]
    found, costs = tiles.take(near), Costs(*taken(costs, shape, near))
    keys = (costs.seconds, costs.work, _oddities(found, costs, p))
    found = found.take(np.lexsort((*keys, _alike(costs.seconds))))
    keys = zip(*(getattr(found, name).tolist() for name in names), strict=True)
    once: dict[tuple[int, ...], int] = {}
    for place, key in enumerate(keys):
        if once.setdefault(key, place) == place and len(once) == count:
            break
    return found.take(np.array([*once.values()]))


def _alike(seconds: Array) -> Array:
    """Equal numbers for times that hardly differ."""
    import numpy as np

    return np.floor((seconds / seconds.min() - 1) / CLOSE)


def _oddities(tiles: Tiles, costs: Costs, p: CubeWork) -> Array:
    """
    What makes a program longer, or of another shape than those for other sizes: axes
    along which the last tile is smaller, loads that are no loop over L0 steps, buffers
    with one slot.
    """
    import numpy as np

    tails = (p.m % tiles.m1 > 0) + 1 * (p.n % tiles.n1 > 0)
    tails = tails + (p.k % tiles.ka1 > 0) + (p.k % tiles.kb1 > 0)
    short = np.maximum(tiles.ka1, tiles.kb1) == tiles.k0
    single = 4 - costs.l0_slots - costs.l1_slots
    return tails + (short & (p.k > p.contraction.k_multiple)) + single


def _ranking(tiles: Tiles, p: CubeWork, machine: Machine) -> Ranking:
    import numpy as np

    costs, shape = estimate(tiles, p, machine), tiles.shape
    legal = np.flatnonzero(np.broadcast_to(costs.fits, shape))
    tiles, costs = tiles.take(legal), Costs(*taken(costs, shape, legal))
    # One bit for each thing that a reader has to understand, the stranger the higher.
    several = (tiles.m1 > tiles.m0) | (tiles.n1 > tiles.n0)
    blocked = tiles.height * tiles.width > 0
    other = (tiles.height == 0) | (tiles.snake > 0)
    bits = 8 * (costs.parts > 1) + 4 * several + 2 * blocked + other
    keys = (costs.seconds, costs.work, _oddities(tiles, costs, p))
    order = np.lexsort((*keys, bits, _alike(costs.seconds)))
    kept = Costs(*taken(costs, order.shape, order))
    return Ranking(p, machine, tiles.take(order), kept)
