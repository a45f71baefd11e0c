"""
Give the ops of a source other tiles: what a point of a sweep says of them.

    tile.m = 256           m = [256, 256] for every product
    tile.qk.k = [64, 128]  k for the products with the tag qk, or in a loop that has it
    tile.matmul.k          k for the matmuls that have no tag
    split_k, walk, assign  likewise
    vec = [8, 512]         the vector tile of all other ops

What is not given stays as the source has it, or as the compiler would choose it for the
same machine and options.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation

from pyptoc.dialects.diagnostics import error, file_place
from pyptoc.dialects.pypto.attrs import CubeTile, CubeTileAttr, TilesAttr, VecTileAttr
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.infer import as_tensor
from pyptoc.dialects.pypto.matmul import ProductOp
from pyptoc.dialects.pypto.tiles import check_cube_tile
from pyptoc.dialects.walk import ORDERS, Walk
from pyptoc.passes.tile_settings import TILE, nearest_tile
from pyptoc.sweep_point import SOURCE, Job, TileEdit

VEC = "vec"
CHOOSER = "infer-tiles"
"""The pass that decides the tiles."""

Places = dict[tuple[int, int], CubeTile]


def retile(module: ModuleOp, job: Job) -> None:
    """Change the tiles of a parsed module as the job says."""
    products: dict[Operation, list[TileEdit]] = {}
    for edit in job.tiles:
        if edit.part == VEC:
            _give_vector_tile(module, edit)
            continue
        for op in products_of(module, edit.tag):
            products.setdefault(op, []).append(edit)
    for op, edits in products.items():
        tile = _edited(_tile_of(op, job), edits)
        op.attributes["tile"] = tile
        check_cube_tile(tile, op)


def tags_of(op: Operation) -> Iterator[str]:
    """
    The tag of an op and those of the loops around it.

    An op without one of its own is called by its name, as tables of tiles and times do.
    """
    if not isinstance(op.attributes.get("tag"), StringAttr):
        yield op.name.partition(".")[2]
    at: Operation | None = op
    while at is not None:
        tag = at.attributes.get("tag")
        if isinstance(tag, StringAttr):
            yield tag.data
        at = at.parent_op()


def products_of(module: ModuleOp, tag: str) -> list[Operation]:
    """The products with a tag, or all."""
    return [
        op
        for op in module.walk()
        if isinstance(op, ProductOp) and (not tag or tag in tags_of(op))
    ]


def others_of(module: ModuleOp, tag: str) -> list[PyptoOp]:
    """The ops with a tag, or all, that may have a vector tile."""
    return [
        op
        for op in module.walk()
        if isinstance(op, PyptoOp)
        and op.TILES == PyptoOp.TILES
        and _rank(op)
        and (not tag or tag in tags_of(op))
    ]


def _rank(op: Operation) -> int:
    """Of its first result; 0 for scalars and for what has none."""
    kind = as_tensor(op.results[0].type) if op.results else None
    return 0 if kind is None else len(kind.get_shape())


def _tile_of(op: Operation, job: Job) -> CubeTile:
    """The tile that the source gives a product, or the compiler would."""
    given = nearest_tile(op, CubeTileAttr, lambda tiles: tiles.cube)
    if given is not None:
        return given.data
    chosen = _chosen(job.source, job.machine, job.pipeline)
    place = file_place(op.location)
    assert place is not None
    found = chosen.get((place.line.data, place.column.data))
    if found is None:
        error(
            op,
            "PTO512",
            "no tile is chosen for this product",
            rule="a sweep changes a part of the tile that is given or chosen",
            help="give it a tile: {tile = #pypto.cube<m = .., k = .., n = ..>}",
        )
    return found


@lru_cache(maxsize=4)
def _chosen(source: str, machine: str, pipeline: str) -> Places:
    """The tiles that the compiler chooses for the products, by their places."""
    from pyptoc.command import Unit, parse
    from pyptoc.dialects.context import make_context
    from pyptoc.manager import run_passes
    from pyptoc.pipeline_text import parse_pipeline
    from pyptoc.runtime.machine import machine_of

    passes = parse_pipeline(pipeline)
    last = [each.name for each in passes].index(CHOOSER)
    context = make_context(machine_of(json.loads(machine)))
    module = parse(Unit(SOURCE, source), context)
    run_passes(passes[: last + 1], context, module, verify_each=False)
    found: Places = {}
    for op in module.walk():
        tile, place = op.attributes.get(TILE), file_place(op.location)
        if isinstance(tile, CubeTileAttr) and place is not None:
            found.setdefault((place.line.data, place.column.data), tile.data)
    return found


def _edited(tile: CubeTile, edits: Sequence[TileEdit]) -> CubeTileAttr:
    values = dict(tile._asdict())
    for edit in edits:
        value: object = edit.value
        if edit.part == "walk":
            value = read_walk(str(value))
        elif edit.part == "split_k":
            (value,) = cast("tuple[int]", value)
        values[edit.part] = value
    return CubeTileAttr(CubeTile(**values))


def read_walk(text: str) -> Walk:
    """The walk that a text names; raises a `ValueError` if it is none."""
    match = re.fullmatch(r"blocked<\s*([1-9]\d*)\s*,\s*([1-9]\d*)\s*>", text)
    if match is not None:
        return Walk("blocked", (int(match[1]), int(match[2])))
    if text not in ORDERS or text == "blocked":
        raise ValueError(text)
    return Walk(text)


def _give_vector_tile(module: ModuleOp, edit: TileEdit) -> None:
    sizes = cast("tuple[int, ...]", edit.value)
    tile = VecTileAttr(sizes)
    if edit.tag:
        for op in others_of(module, edit.tag):
            op.attributes["tile"] = VecTileAttr(sizes[-_rank(op) :])
        return
    for op in module.walk():
        for key, given in list(op.attributes.items()):
            op.attributes[key] = _replaced(given, tile)
        if op.name == "func.func" and "pypto.tiles" not in op.attributes:
            op.attributes["pypto.tiles"] = TilesAttr(vec=sizes)


def _replaced(attribute: Attribute, tile: VecTileAttr) -> Attribute:
    if isinstance(attribute, VecTileAttr):
        return tile
    if isinstance(attribute, TilesAttr):
        return TilesAttr(attribute.cube, tile.sizes)
    return attribute
