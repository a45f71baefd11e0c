"""
Tiles of the products of a nest whose body is one task, so that its tiles fit.

A product's whole result is summed up in L0C, [m, n]; m is what the loops around leave,
and n is cut into pieces of nL0 columns: as the given tile says, and narrower while the
body does not fit; without one, into the pieces that are fastest (`nest_cost.py`). All
tiles with as many columns are cut alike.

    %s = pypto.matmul %q, %k      [128, 512], tile n = [256, 512]     two pieces
    %p = pypto.exp %s                                                 two pieces
    %v = pypto.matmul %p, %w      [128, 128]                          k in two pieces
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import floor

from xdsl.ir import SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.matmul import Product
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_types import round_up
from pyptoc.dialects.words import counted
from pyptoc.passes import cube_tiles
from pyptoc.passes.cube_tiles import Contraction, CubeTile
from pyptoc.passes.nest_cost import NestCost, NestModel
from pyptoc.passes.tile_search import CLOSE, UNKNOWN_SIZE
from pyptoc.passes.unfit import UnfitError
from pyptoc.passes.whole_nests import NestBody
from pyptoc.passes.working_set import WorkingSet
from pyptoc.runtime.machine import Machine

ORDER = "within 2.5 %, fewer pieces first, then less time"
"""How candidates are ordered, as tables say it."""
MOST = 5
"""How often pieces are made narrower."""
UNIT = 32
"""Columns of whole fractals, of any type."""
Widths = dict[Expr, int]


def widths_of(body: NestBody) -> Widths:
    """The widths of pieces that the products' tiles ask for."""
    widths: Widths = dict(body.pinned)
    for op, tile in body.products.items():
        size = body.sizes[op.result]
        if tile.n0 < size.most_columns and size.columns not in body.pinned:
            known = widths.get(size.columns, tile.n0)
            widths[size.columns] = min(known, tile.n0)
    return widths


@record
class NestCandidate:
    """Tiles of the products of a body that fit, and what they cost."""

    tiles: Mapping[Product, CubeTile]
    pieces: int
    """Into how many the widest columns are cut."""
    peaks: Mapping[str, int]
    """The bytes that are live at once in each memory."""
    cost: NestCost


def candidates(body: NestBody) -> list[NestCandidate]:
    """
    Tiles of the products, those to use first; `UnfitError` if none fit the machine.

    Given tiles are kept, with the widest pieces that fit.
    """
    check_pieces(body)
    widths, found = widths_of(body), list[NestCandidate]()
    failure: UnfitError | None = None
    kept = bool(body.given) or not body.products
    while len(found) < (1 if kept else MOST):
        try:
            found.append(candidate(body, widths))
        except UnfitError as unfit:
            failure = unfit
        if not narrow(body, widths):
            break
    if not found:
        assert failure is not None
        raise failure
    least = min(one.cost.seconds for one in found)

    def key(one: NestCandidate) -> tuple[float, ...]:
        alike = floor((one.cost.seconds / least - 1) / CLOSE)
        return alike, one.pieces, one.cost.seconds

    return sorted(found, key=key)


def check_pieces(body: NestBody) -> None:
    """Products read and make whole fractals, wherever columns must be cut."""
    for op in body.products:
        for value in (op.lhs, op.rhs, op.result):
            columns = body.shapes.dims(value)[-1]
            width = body.pinned.get(columns, 0)
            if width % UNIT and columns != Expr.const(width):
                raise UnfitError(
                    "a product of tiles in pieces of "
                    f"{counted(width, 'column')}, which are no "
                    f"multiple of {UNIT}"
                )


def check_groups(body: NestBody, widths: Widths) -> None:
    """A piece of columns with a scale for each group has whole groups, or is in one."""
    for op, columns in body.grouped.items():
        size = op.group.value.data
        width = widths.get(Expr.const(columns), columns)
        if width < columns and width % size and size % width:
            raise UnfitError(f"pieces of {width} columns cut groups of {size}")


def candidate(body: NestBody, widths: Widths) -> NestCandidate:
    """The candidate with pieces of some widths; `UnfitError` if it does not fit."""
    check_groups(body, widths)
    tiles = {op: legal(body, op, widths) for op in body.products}
    peaks = WorkingSet(body, tiles, widths).peaks()
    for space, need in peaks.items():
        most = body.machine.space(space).bytes
        if need > most:
            raise UnfitError(
                f"its tiles take {need} B of {space.upper()}, which has {most} B"
            )
    kept = kept_operands(body, tiles, widths)
    cost = NestModel(body, tiles, dict(widths), kept).cost()
    counts = [-(-body.sizes[op.result].most_columns // t.n0) for op, t in tiles.items()]
    return NestCandidate(tiles, max(counts, default=1), peaks, cost)


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
        if size.columns in body.pinned:
            continue
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
    c, size = body.contraction(op), body.sizes[op.result]
    width = widths.get(size.columns, size.most_columns)
    m0 = round_up(size.most_rows, 16)
    n0 = round_up(width, c.n_multiple)
    n1 = round_up(size.most_columns, n0)
    if op not in body.given:
        k = UNKNOWN_SIZE if c.k is None else c.k
        found = cube_tiles.deepest([c], m0, n0, k, body.machine)
        if found is not None:
            return replace(found, n1=n1)
    tile = replace(body.products[op], m0=m0, m1=m0, n0=n0, n1=n1, split=1)
    return fitted(tile, c, body.machine)


def fitted(tile: CubeTile, c: Contraction, machine: Machine) -> CubeTile:
    """The longest kL0 up to the tile's that L0A and L0B hold; `UnfitError` if none."""
    k0 = tile.k0
    while k0 >= c.k_multiple:
        k1 = max(tile.k1 // k0, 1) * k0
        found = replace(tile, k0=k0, ka1=k1, kb1=k1)
        if not over(found, c, machine):
            return found
        k0 = k0 // 2 // c.k_multiple * c.k_multiple
    need = cube_tiles.overflow(tile, c, machine)
    assert need is not None
    most = machine.space(need.space).bytes
    raise UnfitError(
        f"a product takes {need.bytes} B of {need.space.upper()}, which has {most} B"
    )


def over(tile: CubeTile, c: Contraction, machine: Machine) -> bool:
    """Whether an operand does not fit; of L0C and L1 the whole body has a say."""
    return any(
        size > machine.space(space).bytes
        for space, size in cube_tiles.bytes_by_space(tile, c).items()
        if space not in ("l0c", "l1")
    )
