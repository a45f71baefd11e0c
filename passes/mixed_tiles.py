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

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.matmul import MatmulOp, ScaledMmOp
from pyptoc.dialects.pypto.shape import AssembleOp
from pyptoc.dialects.pypto.tiles import check_cube_tile
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_channel import HALVES
from pyptoc.dialects.tile_types import BufType, bytes_of, element_bits
from pyptoc.passes import cube_tiles
from pyptoc.passes.cube_tiles import Contraction, CubeTile
from pyptoc.passes.groups import Domain, Group, domain_of
from pyptoc.passes.lower_mixed import works_in_place
from pyptoc.passes.matmul_shape import contraction_of
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import tensor_operands
from pyptoc.passes.task_builder import Extent
from pyptoc.passes.tile_settings import nearest_tile
from pyptoc.passes.typed import element_type
from pyptoc.passes.vector_tiles import FILL, VectorChooser
from pyptoc.passes.windows import Window, window_of
from pyptoc.runtime.machine import Machine

Product = MatmulOp | ScaledMmOp


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
class MixedChooser:
    """Chooses the one tile of a mixed group."""

    bases: Mapping[SSAValue, Product]
    """What the vector ops read, and the product that makes it."""
    part: Group
    shapes: Shapes
    machine: Machine

    @property
    def products(self) -> list[Product]:
        return list(dict.fromkeys(self.bases.values()))

    @property
    def domain(self) -> Domain:
        domain = domain_of(self.part.ops, self.shapes)
        assert domain is not None
        return domain

    @property
    def reads(self) -> list[Read]:
        return reads_of(self.bases, self.part, self.shapes)

    def choose(self) -> CubeTile | None:
        """The tile that each product has, with L1 as large as L0; None: none fits."""
        parts = [self._contraction(op) for op in self.products]
        tiles = [
            self._wanted(op, c) for op, c in zip(self.products, parts, strict=True)
        ]
        multiple = max(c.k_multiple for c in parts)
        k0 = min(tile.k0 for tile in tiles) // multiple * multiple
        if not k0:
            return None
        k1 = max(min(tile.k1 for tile in tiles) // k0, 1) * k0
        m0, n0 = min(tile.m0 for tile in tiles), min(tile.n0 for tile in tiles)
        unit_m = max(self._row_unit(op) for op in self.products)
        chooser = self._vector()
        unit_n = max(chooser.column_unit, *(c.n_multiple for c in parts))
        n0 = max(n0 // unit_n, 1) * unit_n
        tile = CubeTile(m0, m0, k0, k1, k1, n0, n0)
        while not self._fits(tile, parts, chooser):
            half = max(tile.n0 // 2 // unit_n, 1) * unit_n
            rows = max(tile.m0 // 2 // unit_m, 1) * unit_m
            if half < tile.n0 and (tile.n0 >= tile.m0 or rows >= tile.m0):
                tile = replace(tile, n0=half, n1=half)
            elif rows < tile.m0:
                tile = replace(tile, m0=rows, m1=rows)
            else:
                return None
        return tile

    def _vector(self) -> VectorChooser:
        return VectorChooser(self.part, self.domain, self.shapes, self.machine)

    def _contraction(self, op: Product) -> Contraction:
        """A product as the group needs it: as wide as what is read of it."""
        size = self.domain.columns
        columns = size.value if size.is_const else None
        return replace(contraction_of(op, self.shapes), n=columns)

    def _wanted(self, op: Product, c: Contraction) -> CubeTile:
        """The given tile, or the one of the product alone."""
        given = nearest_tile(op, CubeTileAttr, lambda tiles: tiles.cube)
        if given is None:
            return cube_tiles.choose(c, self.machine)
        check_cube_tile(given, op)
        tile = CubeTile.of(given).clamped(c)
        cube_tiles.check_fits(tile, c, self.machine, op)
        return tile

    def _row_unit(self, op: Product) -> int:
        """Rows of an L0 tile come in whole fractals, also where A is transposed."""
        turned = op.a_trans is not None
        return max(16, 256 // element_bits(element_type(op.lhs))) if turned else 16

    def _fits(
        self, tile: CubeTile, parts: Sequence[Contraction], chooser: VectorChooser
    ) -> bool:
        if any(cube_tiles.overflow(tile, c, self.machine) for c in parts):
            return False
        reads = self.reads
        types = {op: c.accumulator for op, c in zip(self.products, parts, strict=True)}
        live = sum(
            bytes_of(BufType((tile.m0, tile.n0), types[read.product], "l0c"))
            for read in reads
        )
        if live > self.machine.space("l0c").bytes:
            return False
        rows = -(-tile.m0 // HALVES)
        crossing = {value for read in reads for value in read.values}
        peak = vector_peak(chooser, crossing, len(reads), rows, tile.n0)
        return peak <= self.machine.space("ub").bytes * FILL


def vector_peak(
    chooser: VectorChooser, crossing: set[SSAValue], count: int, rows: int, columns: int
) -> int:
    """
    Bytes live at once in UB of one vector core.

    Each of the `count` accumulators that cross has a slot all the time. Ops work in
    place where an operand ends, as `lower_mixed.py` does.
    """
    ops = chooser.group.ops
    last = {v: i for i, op in enumerate(ops) for v in tensor_operands(op)}
    first = next(iter(crossing))
    worst = kept = count * chooser.tile_bytes(first, rows, columns)
    live: dict[SSAValue, int] = {}
    for index, op in enumerate(ops):
        for value in tensor_operands(op):
            if value not in live:
                size = chooser.tile_bytes(value, rows, columns)
                live[value] = 0 if value in crossing else size
        for result in () if isinstance(op, AssembleOp) else op.results:
            place = _place(op, result, last, index)
            size = chooser.tile_bytes(result, rows, columns)
            live[result] = size if place is None else live.pop(place)
        worst = max(worst, kept + sum(live.values()))
        for value in list(live):
            if last.get(value, index) <= index:
                live.pop(value)
    return worst


def _place(
    op: Operation, result: SSAValue, last: Mapping[SSAValue, int], index: int
) -> SSAValue | None:
    """The operand that ends at `op` and whose place the result takes."""
    if not works_in_place(op):
        return None
    for operand in op.operands:
        if operand.type == result.type and last.get(operand, 0) <= index:
            return operand
    return None
