"""
Where the tile of an op is written: on the op, or as a default around it.

    func.func @f(..) attributes {pypto.tiles = #pypto.tiles<vec = [64, 256]>} {
      pypto.for (..) {tile = #pypto.vec<8, 512>} {
        %y = pypto.exp %x                       uses 8 x 512, the nearest
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xdsl.ir import Attribute, Block, Operation

from pyptoc.dialects.pypto.attrs import TilesAttr

TILE = "npu.tile"
"""The attribute in which infer-tiles leaves the tile it decided."""

WHOLE = "npu.whole"
"""The attribute of tasks that run the body of a loop of the user's on whole tiles."""

Tile = TypeVar("Tile", bound=Attribute)


def nearest_tile(
    op: Operation, kind: type[Tile], of_defaults: Callable[[TilesAttr], Tile | None]
) -> Tile | None:
    """The tile on `op`, else the nearest default of a loop, function or module."""
    at: Operation | None = op
    while at is not None:
        for key in ("tile", "pypto.tiles"):
            found = at.attributes.get(key)
            if isinstance(found, kind):
                return found
            if isinstance(found, TilesAttr):
                chosen = of_defaults(found)
                if chosen is not None:
                    return chosen
        at = at.parent_op()
    return None


def is_whole(block: Block) -> bool:
    """Whether a block is part of a marked nest."""
    op = block.parent_op()
    while op is not None:
        if WHOLE in op.attributes:
            return True
        op = op.parent_op()
    return False
