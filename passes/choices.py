"""
The tile of a group and what it takes: one search and one time model for all.

`infer-tiles` takes the tiles from here, and partition the times of the groups that it
may form. So what a remark says of an alternative, `--print-tile-candidates` shows for
its groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects import scf
from xdsl.ir import Operation

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.pypto.attrs import TilesAttr, VecTileAttr
from pyptoc.dialects.pypto.matmul import Product
from pyptoc.dialects.record import record
from pyptoc.passes.group_work import given_tile, product_of, trips_of
from pyptoc.passes.groups import Group, domain_of
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.tile_candidates import Chosen
from pyptoc.passes.tile_search import found_once
from pyptoc.passes.tile_settings import nearest_tile
from pyptoc.runtime.machine import Machine

if TYPE_CHECKING:
    from pyptoc.passes.vector_tiles import Candidate, VectorChooser

Sizes = tuple[int, ...]


@record
class Choices:
    """Chooses for the groups of one function."""

    context: PyptocContext
    shapes: Shapes

    @property
    def machine(self) -> Machine:
        return self.context.machine

    def cube(self, ops: Sequence[Operation], loops: Sequence[scf.ForOp] = ()) -> Chosen:
        """The tile of a cube group, under loops that are axes of its grid."""
        op = ops[0]
        assert isinstance(op, Product)
        product = product_of(ops, loops, self.shapes)
        given = given_tile(op, product.contraction, self.machine)
        ranking = found_once(self.context.searches, product, self.machine, given)
        tile = ranking.best
        if given is not None:
            tile = replace(tile, assign=given.assign, atomic=given.atomic)
            if given.split > 1:
                steps = -(-max(product.k, 1) // given.k_step)
                known = product.contraction.k is not None
                factor = min(given.split, steps) if known else given.split
                tile = replace(tile, split=factor)
        return Chosen(ranking, tile, given)

    def chooser(self, group: Group, loops: Sequence[scf.ForOp] = ()) -> VectorChooser:
        """What chooses the tile of a vector group."""
        from pyptoc.passes.vector_tiles import VectorChooser

        domain = domain_of(group.ops, self.shapes)
        assert domain is not None
        trips = trips_of(loops, self.shapes)
        return VectorChooser(group, domain, self.shapes, self.machine, trips)

    def vector(self, group: Group, given: Sizes | None) -> Candidate | None:
        """The tile of a vector group within what was given; None: none fits UB."""
        found = self.chooser(group).candidates(given)
        return found[0] if found else None


def given_sizes(ops: Sequence[Operation], rank: int) -> Sizes | None:
    """The nearest vector tile, aligned with the trailing dimensions of a domain."""
    for op in ops:
        own = op.attributes.get("tile")
        if isinstance(own, VecTileAttr):
            return own.sizes[-rank:]
    default = nearest_tile(ops[0], VecTileAttr, vec_default)
    return None if default is None else default.sizes[-rank:]


def vec_default(tiles: TilesAttr) -> VecTileAttr | None:
    """The default vector tile as an attribute."""
    return None if tiles.vec is None else VecTileAttr(tiles.vec)
