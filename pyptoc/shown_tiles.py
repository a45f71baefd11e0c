"""
`--show-tiles`: the tile that each op got from `infer-tiles`, with its line.

Ops of one group share their tasks and a tile. Where the user's loops are one task, its
vector ops work on what the loops leave, all of it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr

from pyptoc.dialects.diagnostics import file_place, place_of
from pyptoc.manager import Watcher
from pyptoc.tables import table

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from pyptoc.passes.base import PyptocPass


class ShowTiles(Watcher):
    """Writes the table to standard output after `infer-tiles`."""

    def after(self, each: PyptocPass, module: ModuleOp) -> None:
        """A row for each op that has a tile, in the order of the lines."""
        if each.name == "infer-tiles":
            sys.stdout.write("\n".join(table(tile_rows(module))) + "\n")


def tile_rows(module: ModuleOp) -> list[tuple[str, ...]]:
    """A header, and for each op its place, name, group, tile and who chose that."""
    from pyptoc.passes.groups import GROUP
    from pyptoc.passes.steps import FROM

    found: list[tuple[tuple[str, int, int], tuple[str, ...]]] = []
    for op in module.walk():
        tile = _tile_of(op)
        if not tile:
            continue
        at = file_place(op.location)
        key = ("", 0, 0)
        if at is not None:
            key = (at.filename.data, at.line.data, at.column.data)
        group = str(op.attributes.get(GROUP, "-")).partition(" ")[0]
        composite = op.attributes.get(FROM)
        what = op.name
        if isinstance(composite, StringAttr):
            what += f" ({composite.data})"
        found.append((key, (place_of(at) or "-", what, group, tile)))
    rows = [row for _, row in sorted(found, key=lambda pair: pair[0])]
    return [("place", "op", "group", "tile"), *rows]


def _tile_of(op: Operation) -> str:
    """What the table says of an operation; empty for one that no task computes."""
    from pyptoc.passes.structured import unit_of
    from pyptoc.passes.tile_settings import TILE, is_whole

    tile = op.attributes.get(TILE)
    if tile is not None:
        return str(tile)
    block = op.parent_block()
    is_inside = block is not None and is_whole(block) and unit_of(op) is not None
    return "what its loops leave" if is_inside else ""
