"""
What is said of a nest that became one task: its time, its tiles, and what was given.

The loops and the body decide the rows of tiles, and whether sums leave the core; what
an author's tile says of that is not silently left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import scf
from xdsl.ir import Operation

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import place_of
from pyptoc.dialects.pypto.attrs import VecTileAttr
from pyptoc.dialects.words import counted
from pyptoc.passes import nest_tiles
from pyptoc.passes.choices import vec_default
from pyptoc.passes.cube_tiles import CubeTile
from pyptoc.passes.groups import Group
from pyptoc.passes.nest_tiles import NestCandidate
from pyptoc.passes.size_text import time_text
from pyptoc.passes.structured import unit_of
from pyptoc.passes.tile_candidates import COUNT, kept, percent, table_text, tile_text
from pyptoc.passes.tile_search import UNKNOWN_SIZE
from pyptoc.passes.tile_settings import nearest_tile
from pyptoc.passes.whole_nests import NestBody


def report(
    ctx: PyptocContext,
    loop: scf.ForOp,
    body: NestBody,
    found: Sequence[NestCandidate],
) -> None:
    """Remarks, and a table if one is wanted."""
    cost = found[0].cost
    spread = f"{counted(cost.tasks, 'task')} in {counted(cost.waves, 'wave')}"
    if not all(is_counted(body, each) for each in body.loops):
        spread += f" ({UNKNOWN_SIZE} stands in for a size known only at run time)"
    sides = f"{time_text(cost.cube)} of them the cube cores' and "
    sides += f"{time_text(cost.vector)} the vector cores'"
    ctx.remark(
        loop,
        f"the body of the loop is one {body.unit.value} task: "
        f"{time_text(cost.seconds)} modelled instead of {time_text(cost.in_stages)} "
        f"in launches of its stages, {sides}, {spread}",
        "PTO330",
    )
    for op, tile in found[0].tiles.items():
        if op in body.given:
            for text in unused(op, body.products[op], tile):
                ctx.remark(op, text, "PTO325")
    for op, text in vector_tiles(body):
        ctx.remark(op, text, "PTO325")
    if ctx.candidates is not None:
        ctx.candidates.append(table(loop, body, found))


def is_counted(body: NestBody, loop: scf.ForOp) -> bool:
    """Whether it is known now how often a loop runs."""
    bounds = (loop.lb, loop.ub, loop.step)
    return all(body.shapes.expr(bound).is_const for bound in bounds)


def unused(op: Operation, wanted: CubeTile, tile: CubeTile) -> Iterator[str]:
    """What of the tile `wanted` by an author does not count for a product, and why."""
    one_task = "the body of the loop is one task"
    sizes = [(t.m0, t.k0, t.k1, t.n0) for t in (wanted, tile)]
    if sizes[0] != sizes[1]:
        yield (
            f"the cube tile {tile_text(wanted)} became {tile_text(tile)}: {one_task}, "
            "with the rows of the loop, and all that is live at once must fit"
        )
    if wanted.split not in (0, 1):
        yield f"K is not split: {one_task}, which sums up all of it"
    for name, value in (("walk", wanted.walk), ("assignment", wanted.assign)):
        if value is not None:
            yield f"the {name} '{value}' is not used: the loops give the order of tasks"


def vector_tiles(body: NestBody) -> Iterator[tuple[Operation, str]]:
    """Vector tiles that are given to ops of the body, and why they do not count."""
    said: set[VecTileAttr] = set()
    for op in body.block.walk():
        if unit_of(op) != "vector":
            continue
        given = nearest_tile(op, VecTileAttr, vec_default)
        if given is None or given in said:
            continue
        said.add(given)
        yield (
            op,
            f"the vec tile {list(given.sizes)} is not used: the body of the loop is "
            "one task, its tiles are as large as its values",
        )


def table(loop: scf.ForOp, body: NestBody, found: Sequence[NestCandidate]) -> str:
    """The best candidates, for `--print-tile-candidates`."""
    products = counted(len(body.products), "product")
    spaces = sorted({space for one in found for space in one.peaks})
    given = bool(body.given)
    tag = Group(0, body.unit.value, [loop]).tag
    head = (
        f"{tag} at {place_of(loop.location)}: a loop whose body is one "
        f"{body.unit.value} task, {products}, {body.machine.name}"
        f"{', tile given' if given else ''}"
    )
    columns = ("tiles", *(f"{space.upper()} bytes" for space in spaces))
    columns = (*columns, "us", "cube", "vector", "tasks", "waves")
    rows: list[tuple[str, ...]] = []
    best = found[0].cost
    for number, one in enumerate(found[:COUNT]):
        cost = one.cost
        times = (cost.seconds, cost.cube, cost.vector)
        rows.append(
            (
                ", ".join(dict.fromkeys(map(tile_text, one.tiles.values()))) or "whole",
                *(str(one.peaks.get(space, 0)) for space in spaces),
                *(f"{seconds * 1e6:.2f}" for seconds in times),
                *map(str, (cost.tasks, cost.waves)),
                percent(cost.seconds, best.seconds) if number else kept(given),
            )
        )
    return table_text(head, columns, rows, nest_tiles.ORDER)
