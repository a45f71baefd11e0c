"""
Tiles of the products of a nest whose body is one task, so that its tiles fit.

A product's whole result is summed up in L0C, [m, n]; m is what the loops around leave,
and n is cut into pieces of nL0 columns: as the given or chosen tile says, and narrower
while the body does not fit. All tiles with as many columns are cut alike.

    %s = pypto.matmul %q, %k      [128, 512], tile n = [256, 512]     two pieces
    %p = pypto.exp %s                                                 two pieces
    %v = pypto.matmul %p, %w      [128, 128]                          k in two pieces
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.tile_types import round_up
from pyptoc.passes import cube_tiles
from pyptoc.passes.cube_tiles import Contraction, CubeTile
from pyptoc.passes.fuse_epilogue import Product
from pyptoc.passes.whole_nests import NestBody, UnfitError
from pyptoc.passes.working_set import WorkingSet
from pyptoc.runtime.machine import Machine

Widths = dict[Expr, int]


def widths_of(body: NestBody) -> Widths:
    """The widths of pieces that the products' tiles ask for."""
    widths: Widths = {}
    for op, tile in body.products.items():
        size = body.sizes[op.result]
        if tile.n0 < size.most_columns:
            known = widths.get(size.columns, tile.n0)
            widths[size.columns] = min(known, tile.n0)
    return widths


def choose(body: NestBody) -> dict[Product, CubeTile]:
    """The tile of each product; `UnfitError` if the body does not fit the machine."""
    widths = widths_of(body)
    while True:
        tiles = {op: legal(body, op, widths) for op in body.products}
        peaks = WorkingSet(body, tiles, widths).peaks()
        over = [
            (space, need)
            for space, need in peaks.items()
            if need > body.machine.space(space).bytes
        ]
        if not over:
            return tiles
        space, need = over[0]
        if not narrow(body, widths):
            name, most = space.upper(), body.machine.space(space).bytes
            raise UnfitError(f"its tiles take {need} B of {name}, which has {most} B")


def kept_operands(
    body: NestBody, tiles: Mapping[Product, CubeTile], widths: Mapping[Expr, int]
) -> set[SSAValue]:
    """
    The operands that L1 keeps, as many as there is room for.

    They are those that an inner loop reads in each trip, then those that are read in
    pieces: what comes at once needs the fewest flags.
    """

    def in_pieces(op: Product) -> bool:
        tiles = [v for v in (op.lhs, op.rhs, op.result) if v in body.sizes]
        return any(body.sizes[value].columns in widths for value in tiles)

    pieces = {v for op in body.products if in_pieces(op) for v in (op.lhs, op.rhs)}
    kept = sorted(
        (v for v in body.windows if v in body.again or v in pieces),
        key=lambda v: (
            v not in body.again,
            body.windows[v].most_rows * body.windows[v].most_columns,
        ),
    )
    room = body.machine.space("l1").bytes
    while kept and WorkingSet(body, tiles, widths, kept).peaks()["l1"] > room:
        kept.pop()
    return set(kept)


def narrow(body: NestBody, widths: Widths) -> bool:
    """Halve the widest piece of a product; False if none can be halved."""
    found: dict[Expr, tuple[int, int]] = {}
    for op in body.products:
        size = body.sizes[op.result]
        unit = body.contraction(op).n_multiple
        width = widths.get(size.columns, size.most_columns)
        units = max(unit, found.get(size.columns, (0, 0))[1])
        found[size.columns] = width, units
    wide = {
        columns: (width, unit)
        for columns, (width, unit) in found.items()
        if width > unit
    }
    if not wide:
        return False
    columns = max(wide, key=lambda key: wide[key][0])
    width, unit = wide[columns]
    widths[columns] = round_up(-(-width // 2), unit)
    return True


def legal(body: NestBody, op: Product, widths: Mapping[Expr, int]) -> CubeTile:
    """The product's tile with the whole result, or a piece of its columns, in L0C."""
    tile, c, size = body.products[op], body.contraction(op), body.sizes[op.result]
    width = widths.get(size.columns, size.most_columns)
    m0 = round_up(size.most_rows, 16)
    n0 = round_up(width, c.n_multiple)
    n1 = round_up(size.most_columns, n0)
    tile = replace(tile, m0=m0, m1=m0, n0=n0, n1=n1, split=1)
    return fitted(tile, c, body.machine, (1,) if op in body.given else (2, 1))


def fitted(
    tile: CubeTile, c: Contraction, machine: Machine, shares: Sequence[int]
) -> CubeTile:
    """
    The longest kL0 up to the tile's of which L0A and L0B hold so many.

    A kL0 that was given is kept if it fits once, others are for two buffers.
    """
    for share in shares:
        k0 = tile.k0
        while k0 >= c.k_multiple:
            k1 = max(tile.k1 // k0, 1) * k0
            found = replace(tile, k0=k0, ka1=k1, kb1=k1)
            if not _over(found, c, machine, share):
                return found
            k0 = k0 // 2 // c.k_multiple * c.k_multiple
    need = cube_tiles.overflow(tile, c, machine)
    assert need is not None
    most = machine.space(need.space).bytes
    raise UnfitError(
        f"a product takes {need.bytes} B of {need.space.upper()}, which has {most} B"
    )


def _over(tile: CubeTile, c: Contraction, machine: Machine, share: int) -> bool:
    times = {"l0a": share, "l0b": share, "l0c": 0, "l1": 0}
    return any(
        need.bytes * times.get(need.space, 1) > machine.space(need.space).bytes
        for need in cube_tiles.needs(tile, c)
    )
