"""
Mixed groups: products that vector ops read from the accumulators, and their tile.

    %y = pypto.matmul %a, %b                      [M, 2 * N]
    %v = pypto.view %y[:, 0 +: N] ; %g = pypto.view %y[:, N +: N]
    %z = pypto.mul %v, %g                         two accumulators, domain (M, N)

All accumulators of a task have the tile's rows and columns and are live in L0C at once;
each vector core takes half of the rows into UB. Both are asked of `bytes_of`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import floor, prod

from xdsl.ir import Attribute, SSAValue

from pyptoc.dialects.expr import ONE, Expr
from pyptoc.dialects.pypto.matmul import Product
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_channel import HALVES
from pyptoc.dialects.tile_types import round_up, tile_bytes
from pyptoc.passes.cube_cost import CubeWork
from pyptoc.passes.cube_tiles import STEPS, Contraction, CubeTile, deepest, holds
from pyptoc.passes.group_bytes import Crossing
from pyptoc.passes.group_work import given_tile
from pyptoc.passes.groups import Domain, Group, domain_of
from pyptoc.passes.matmul_shape import contraction_of, matmul_shape
from pyptoc.passes.mixed_cost import MixedCost, MixedWork, mixed_costs
from pyptoc.passes.shapes import Shapes, static_bound
from pyptoc.passes.structured import tensor_operands
from pyptoc.passes.task_builder import Extent
from pyptoc.passes.tile_search import CLOSE, representative
from pyptoc.passes.typed import tensor_rank
from pyptoc.passes.vector_tiles import VectorChooser
from pyptoc.passes.windows import Window, window_of
from pyptoc.runtime.machine import Machine

ORDER = "within 2.5 %, fewer waves first, then more slots, then less time"
"""How candidates are ordered, as tables say it."""
SIDES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""mL0 and nL0, in alignment units."""
LARGEST = 512
"""No mL0 or nL0 is larger."""
BEST = 4
"""L0 tiles that are tried with other steps of K."""


@record
class Read:
    """One window of a product that vector ops read: an accumulator of the task."""

    product: Product
    window: Window
    values: tuple[SSAValue, ...]

    def places(self, extents: Sequence[Extent]) -> list[Extent]:
        """The box of the product for a box of the window."""
        window = self.window
        return [
            shifted(extents[window.dims.index(dim)], offset)
            if dim in window.dims
            else Extent(offset, Expr.const(1), 1)
            for dim, offset in enumerate(window.offsets)
        ]


def shifted(extent: Extent, offset: Expr) -> Extent:
    """The extent, `offset` further on."""
    return Extent(extent.lo + offset, extent.size, extent.bound)


def results_of(products: Sequence[Product]) -> dict[SSAValue, Product]:
    """Each product by its result."""
    return {op.results[0]: op for op in products}


def split_units(group: Group) -> tuple[list[Product], Group]:
    """The products of a mixed group, and the rest as a vector group."""
    products = [op for op in group.ops if isinstance(op, Product)]
    rest = [op for op in group.ops if not isinstance(op, Product)]
    return products, Group(group.number, "vector", rest)


def reads_of(
    bases: Mapping[SSAValue, Product], part: Group, shapes: Shapes
) -> list[Read]:
    """The windows that the ops of `part` read of products' results, each once."""
    found: dict[tuple[object, ...], Read] = {}
    for op in part.ops:
        for value in tensor_operands(op):
            window = window_of(value, shapes)
            product = bases.get(window.base)
            if product is None:
                continue
            key = (window.base, window.offsets, window.dims)
            known = found.get(key)
            values = () if known is None else known.values
            if value not in values:
                found[key] = Read(product, window, (*values, value))
    return list(found.values())


@record
class MixedCandidate:
    """A tile that L0C and UB hold what it needs of, and what it costs."""

    tile: CubeTile
    cost: MixedCost


@record
class MixedChooser:
    """Chooses the one tile of a mixed group."""

    bases: Mapping[SSAValue, Product]
    """What the vector ops read, and the product that makes it."""
    part: Group
    shapes: Shapes
    machine: Machine
    trips: int = 1
    """How often loops around the group, which become axes of its grid, run."""

    @cached_property
    def products(self) -> list[Product]:
        """Each product once."""
        return list(dict.fromkeys(self.bases.values()))

    @cached_property
    def domain(self) -> Domain:
        """The rows and columns of the vector ops; their tasks have a part of a row."""
        domain = domain_of(self.part.ops, self.shapes)
        assert domain is not None
        return replace(domain, whole_rows=False)

    @cached_property
    def reads(self) -> list[Read]:
        """The accumulators of a task."""
        return reads_of(self.bases, self.part, self.shapes)

    @cached_property
    def vector(self) -> VectorChooser:
        """The side of the vector cores."""
        types = self.accumulators
        crossing = tuple(
            Crossing(read.values, types[read.product]) for read in self.reads
        )
        return VectorChooser(
            self.part, self.domain, self.shapes, self.machine, self.trips, crossing
        )

    @cached_property
    def given(self) -> bool:
        """Whether the author gave a tile: an upper bound."""
        return any(tile is not None for tile in self.bounds)

    @cached_property
    def candidates(self) -> list[MixedCandidate]:
        """Tiles that fit, the one to use first; none if no tile does."""
        search = MixedSearch(self)
        tiles = search.given() if self.given else search.tiles()
        return self.ranked(self.costed(tiles if self.given else search.deeper(tiles)))

    @property
    def best(self) -> MixedCandidate | None:
        """The tile to use, if there is one."""
        return next(iter(self.candidates), None)

    def costed(self, tiles: Sequence[CubeTile]) -> list[MixedCandidate]:
        """What each tile costs."""
        costs = mixed_costs(self.work, tiles, self.machine) if tiles else []
        return [MixedCandidate(*pair) for pair in zip(tiles, costs, strict=True)]

    @cached_property
    def contractions(self) -> list[Contraction]:
        """Each product as the group needs it: as wide as what is read of it."""
        columns = static_bound(self.domain.columns)
        return [
            replace(contraction_of(op, self.shapes), n=columns) for op in self.products
        ]

    @cached_property
    def accumulators(self) -> dict[Product, Attribute]:
        """The type of each product in L0C."""
        parts = zip(self.products, self.contractions, strict=True)
        return {op: contraction.accumulator for op, contraction in parts}

    @cached_property
    def bounds(self) -> list[CubeTile | None]:
        """The tile that the author gave each product."""
        parts = zip(self.products, self.contractions, strict=True)
        return [given_tile(op, c, self.machine) for op, c in parts]

    @cached_property
    def work(self) -> MixedWork:
        """What the cost of the group depends on."""
        domain = self.domain
        rows, columns = map(representative, (domain.rows or ONE, domain.columns))
        batch = prod(map(representative, domain.leading)) * self.trips
        counts = [
            sum(read.product is op for read in self.reads) for op in self.products
        ]
        products = [
            CubeWork(
                c,
                rows,
                columns * count,
                representative(matmul_shape(op, self.shapes).k),
                batch,
                c.accumulator,
                shared_rhs=tensor_rank(op.rhs) == 2,
                on_chip=True,
            )
            for op, c, count in zip(
                self.products, self.contractions, counts, strict=True
            )
        ]
        return MixedWork(tuple(products), tuple(counts), self.vector.work())

    def ranked(self, found: Sequence[MixedCandidate]) -> list[MixedCandidate]:
        """The candidates by `ORDER`."""
        if not found:
            return []
        least = min(candidate.cost.seconds for candidate in found)

        def key(candidate: MixedCandidate) -> tuple[float, ...]:
            cost, tile = candidate.cost, candidate.tile
            alike = floor((cost.seconds / least - 1) / CLOSE)
            return alike, cost.waves, -sum(cost.slots), cost.seconds, -tile.m0, -tile.k0

        return sorted(found, key=key)


@record
class MixedSearch:
    """The tiles that a mixed group can have."""

    chooser: MixedChooser

    @property
    def machine(self) -> Machine:
        return self.chooser.machine

    @cached_property
    def row_unit(self) -> int:
        """Rows of an L0 tile come in whole fractals, also where A is transposed."""
        return max(c.m_multiple for c in self.chooser.contractions)

    @cached_property
    def column_unit(self) -> int:
        """Columns come in whole fractals of all, and in 32 bytes of vector values."""
        units = (c.n_multiple for c in self.chooser.contractions)
        return max(self.chooser.vector.column_unit, *units)

    @cached_property
    def depth_unit(self) -> int:
        """kL0 is a multiple of this."""
        return max(c.k_multiple for c in self.chooser.contractions)

    def given(self) -> list[CubeTile]:
        """
        The largest tile within those that were given, if there is one.

        A product without one has no bound of its own.
        """
        tiles = [tile for tile in self.chooser.bounds if tile is not None]
        k0 = min(tile.k0 for tile in tiles) // self.depth_unit * self.depth_unit
        if not k0:
            return []
        k1 = max(min(tile.k1 for tile in tiles) // k0, 1) * k0
        m0, n0 = min(tile.m0 for tile in tiles), min(tile.n0 for tile in tiles)
        n0 = max(n0 // self.column_unit, 1) * self.column_unit
        while not self.fits(tile := CubeTile(m0, m0, k0, k1, k1, n0, n0)):
            half = max(n0 // 2 // self.column_unit, 1) * self.column_unit
            rows = max(m0 // 2 // self.row_unit, 1) * self.row_unit
            if half < n0 and (n0 >= m0 or rows >= m0):
                n0 = half
            elif rows < m0:
                m0 = rows
            else:
                return []
        return [tile]

    def tiles(self) -> list[CubeTile]:
        """Each L0 tile of a lattice, as deep as L0 and L1 hold twice."""
        work = self.chooser.work.products[0]
        found: list[CubeTile] = []
        count = self.chooser.work.reads[0]
        columns = sides(work.n // count, self.column_unit)
        for m0 in sides(work.m, self.row_unit):
            found_here = (self._deepest(m0, n0) for n0 in columns)
            fit = [tile for tile in found_here if tile is not None]
            # What fits with some columns fits with fewer.
            while fit and not self.fits(fit[-1]):
                fit.pop()
            found += fit
        return found

    def deeper(self, tiles: Sequence[CubeTile]) -> list[CubeTile]:
        """The tiles, the best of them with other steps of K as well."""
        costed = self.chooser.ranked(self.chooser.costed(tiles))
        more, parts = dict.fromkeys(tiles), self.chooser.contractions
        for tile in (candidate.tile for candidate in costed[:BEST]):
            for k0 in {tile.k0, self._in_units(tile.k0 // 2)}:
                for steps in STEPS:
                    one = replace(tile, k0=k0, ka1=k0 * steps, kb1=k0 * steps)
                    if one.k1 <= tile.k1 and holds(one, parts, self.machine):
                        more[one] = None
        return list(more)

    def _in_units(self, depth: int) -> int:
        return max(depth // self.depth_unit, 1) * self.depth_unit

    def _deepest(self, m0: int, n0: int) -> CubeTile | None:
        k = max(product.k for product in self.chooser.work.products)
        return deepest(self.chooser.contractions, m0, n0, k, self.machine)

    def fits(self, tile: CubeTile) -> bool:
        """Whether all that a task keeps fits: all accumulators are live at once."""
        chooser = self.chooser
        if not holds(tile, chooser.contractions, self.machine):
            return False
        types = chooser.accumulators
        live = sum(
            tile_bytes((tile.m0, tile.n0), types[read.product], "l0c")
            for read in chooser.reads
        )
        if live > self.machine.space("l0c").bytes:
            return False
        return chooser.vector.fits(-(-tile.m0 // HALVES), tile.n0, phased=False)


def sides(size: int, unit: int) -> list[int]:
    """Sizes of an L0 tile along an axis of `size`, and those that divide it evenly."""
    most = min(round_up(size, unit), LARGEST)
    found = {unit * n for n in SIDES if unit * n <= most} | {most}
    found |= {round_up(-(-size // -(-size // side)), unit) for side in found}
    return sorted(found)
