"""
What the search for tiles says of itself: remarks, and `--print-tile-candidates`.

    gate at op.mlir:3:3: m 1024, n 1024, k 1024, f16 to f32, ascend950
          tile                                   split  slots      walk     us  ..
       1  m [128, 128] k [64, 256] n [256, 256]      1  L1 2 L0 2  row   14.82  chosen
       2  ...                                                                   +1.2 %

Times are those of `cube_cost.py` and `vector_cost.py`. The last column says what a
candidate spends more than the chosen one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import place_of
from pyptoc.dialects.pypto.attrs import SPLIT_CHOSEN
from pyptoc.dialects.record import record
from pyptoc.dialects.walk import ROW, Walk
from pyptoc.dialects.words import counted
from pyptoc.passes import tile_search
from pyptoc.passes.cube_cost import PIPES, Costs, Tiles, estimate
from pyptoc.passes.cube_tiles import CubeTile
from pyptoc.passes.groups import Group
from pyptoc.passes.size_text import time_text
from pyptoc.passes.tile_search import Ranking

if TYPE_CHECKING:
    from pyptoc.passes.mixed_cost import MixedCost
    from pyptoc.passes.mixed_tiles import MixedChooser
    from pyptoc.passes.vector_tiles import Candidate, VectorChooser, VectorTile

COUNT = 10
"""Candidates in a table."""


@record
class Chosen:
    """The tile of a matmul, and what it was chosen from."""

    ranking: Ranking
    tile: CubeTile
    given: CubeTile | None

    @property
    def seconds(self) -> float:
        """The modelled time of the chosen tile."""
        return float(self._costs(self.tile.split, self.tile.walk or ROW).seconds[0])

    def _costs(self, split: int, walk: Walk) -> Costs:
        """Of the chosen tile, differently split or walked."""
        ranking = self.ranking
        one = Tiles.of(replace(self.tile, split=split), walk)
        return estimate(one, ranking.product, ranking.machine)

    def remark(self) -> str:
        """What was chosen and why, with modelled times."""
        tile = self.tile
        walk = tile.walk or ROW
        costs = self._costs(tile.split, walk)
        pipe = PIPES[int(costs.bound[0])]
        tasks, waves = int(costs.tasks[0]), int(costs.waves[0])
        spread = f"{counted(tasks, 'task')} in {counted(waves, 'wave')}"
        what = "given" if self.given is not None else "chosen"
        text = [
            f"tile {tile_text(tile)} {what}: {time_text(costs.seconds[0])} modelled, "
            f"{pipe} is the bottleneck, {spread}"
        ]
        if tile.split > 1:
            whole = time_text(self._costs(1, walk).seconds[0])
            text.append(f"K in {tile.split} parts, which whole would take {whole}")
        elif self.given is not None and self.given.split == SPLIT_CHOSEN:
            text.append(self._not_split(walk))
        if walk != ROW:
            rows = time_text(self._costs(tile.split, ROW).seconds[0])
            text.append(f"walk {walk}, which by rows would take {rows}")
        return "; ".join(text)

    def _not_split(self, walk: Walk) -> str:
        costs = self._costs(2, walk)
        if int(costs.parts[0]) < 2:
            return "not split over K, which is one step"
        halved = time_text(costs.seconds[0])
        return f"not split over K, which in 2 parts would take {halved}"

    def table(self, op: Operation, tag: str) -> str:
        """The best candidates, for `--print-tile-candidates`."""
        ranking = self.ranking
        p, c = ranking.product, ranking.product.contraction
        sizes = [
            f"{'' if known is not None else '?='}{size}"
            for known, size in ((c.m, p.m), (c.n, p.n), (c.k, p.k))
        ]
        batch = f"{p.batch} x " if p.batch > 1 else ""
        sizes = f"m {batch}{sizes[0]}, n {sizes[1]}, k {sizes[2]}"
        machine = ranking.machine.name + ("" if self.given is None else ", tile given")
        place = place_of(op.location)
        head = f"{tag} at {place}: {sizes}, {c.lhs} to {p.result}, {machine}"
        columns = ("tile", "split", "slots", "walk", "us", "bound", "tasks", "waves")
        found = ranking.distinct(COUNT)
        rows = [
            (*self._row(index), self._why(index, n)) for n, index in enumerate(found)
        ]
        return table_text(head, columns, rows, tile_search.ORDER)

    def _row(self, index: int) -> tuple[str, ...]:
        costs, tile = self.ranking.costs, self.ranking.tile(index)
        slots = f"L1 {int(costs.l1_slots[index])} L0 {int(costs.l0_slots[index])}"
        return (
            tile_text(tile),
            str(tile.split),
            slots,
            str(tile.walk),
            f"{costs.seconds[index] * 1e6:.2f}",
            PIPES[int(costs.bound[index])],
            str(int(costs.tasks[index])),
            str(int(costs.waves[index])),
        )

    def _why(self, index: int, number: int) -> str:
        """What a candidate takes more than the first."""
        costs = self.ranking.costs
        if number == 0:
            return kept(self.given is not None)
        text = percent(costs.seconds[index], costs.seconds[0])
        reasons: list[str] = []
        for name in ("mte2", "mte1", "m", "fix", "hbm_bytes", "l2_bytes"):
            mine, best = getattr(costs, name)[index], getattr(costs, name)[0]
            if mine > 1.02 * best:
                more = f"{100 * (mine / best - 1):.0f} %"
                reasons.append(f"{name.removesuffix('_bytes')} {more} more")
        if costs.sum_seconds[index] > costs.sum_seconds[0]:
            more = costs.sum_seconds[index] - costs.sum_seconds[0]
            reasons.append(f"sum of parts {more * 1e6:.1f} us")
        if costs.waves[index] > costs.waves[0]:
            reasons.append("more waves")
        if costs.l1_slots[index] < costs.l1_slots[0]:
            reasons.append("no double buffering in L1")
        if costs.l0_slots[index] < costs.l0_slots[0]:
            reasons.append("no double buffering in L0")
        return f"{text}  {', '.join(reasons[:3])}".rstrip()


def vector_table(
    chooser: VectorChooser, found: Sequence[Candidate], given: bool
) -> str:
    """The best candidates of a vector group, for `--print-tile-candidates`."""
    from pyptoc.passes.vector_tiles import ORDER

    group, work = chooser.group, chooser.work()
    sizes = f"{counted(work.rows, 'row')} of {work.columns}"
    sizes = f"{work.leading} x {sizes}" if work.leading > 1 else sizes
    ops = counted(len(group.ops), "op")
    head = (
        f"{group.tag} at {place_of(group.ops[0].location)}: {ops} on {sizes}, "
        f"{chooser.machine.name}{', tile given' if given else ''}"
    )
    columns = ("rows", "columns", "phases", "UB bytes", "us", "bound", "tasks", "waves")
    rows: list[tuple[str, ...]] = []
    best = found[0].cost
    for number, candidate in enumerate(found[:COUNT]):
        tile, cost = candidate.tile, candidate.cost
        used = chooser.peak(tile.rows, tile.columns, phased=tile.phased)
        sizes = (tile.rows, tile.columns, "yes" if tile.phased else "no", used)
        slower = percent(cost.seconds, best.seconds)
        if cost.waves > best.waves:
            slower += "  more waves"
        elif cost.tasks < best.tasks:
            slower += "  fewer tasks at once"
        why = slower if number else kept(given)
        numbers = (f"{cost.seconds * 1e6:.2f}", cost.bound, cost.tasks, cost.waves)
        rows.append((*map(str, (*sizes, *numbers)), why))
    return table_text(head, columns, rows, ORDER)


def mixed_remark(chooser: MixedChooser) -> str:
    """What was chosen for a mixed group and why, with modelled times."""
    best = chooser.candidates[0]
    tile, cost = best.tile, best.cost
    spread = f"{counted(cost.tasks, 'task')} in {counted(cost.waves, 'wave')}"
    return (
        f"tile {tile_text(tile)} {'given' if chooser.given else 'chosen'}: "
        f"{time_text(cost.seconds)} modelled, {time_text(cost.cube)} of them the cube "
        f"cores' and {time_text(cost.vector)} the vector cores', {spread}"
    )


def mixed_table(group: Group, chooser: MixedChooser) -> str:
    """The best candidates of a mixed group, for `--print-tile-candidates`."""
    from pyptoc.passes.mixed_tiles import ORDER

    work, found = chooser.work, chooser.candidates
    vector = work.vector
    sizes = f"{counted(vector.rows, 'row')} of {vector.columns}"
    sizes = f"{vector.leading} x {sizes}" if vector.leading > 1 else sizes
    depths = ", ".join(str(product.k) for product in work.products)
    products = counted(len(work.products), "product")
    head = (
        f"{group.tag} at {place_of(group.ops[0].location)}: {products} (k {depths}) "
        f"and {counted(len(chooser.part.ops), 'vector op')} on {sizes}, "
        f"{chooser.machine.name}{', tile given' if chooser.given else ''}"
    )
    columns = ("tile", "slots", "us", "cube", "vector", "bound", "tasks", "waves")
    rows: list[tuple[str, ...]] = []
    best = found[0].cost
    for number, candidate in enumerate(found[:COUNT]):
        cost = candidate.cost
        why = kept(chooser.given) if number == 0 else mixed_why(cost, best)
        times = (cost.seconds, cost.cube, cost.vector)
        rows.append(
            (
                tile_text(candidate.tile),
                "L1 {} L0 {}".format(*cost.slots),
                *(f"{seconds * 1e6:.2f}" for seconds in times),
                *map(str, (cost.bound, cost.tasks, cost.waves)),
                why,
            )
        )
    return table_text(head, columns, rows, ORDER)


def mixed_why(cost: MixedCost, best: MixedCost) -> str:
    """What a candidate takes more than the first."""
    reasons = [
        f"{what} {100 * (mine / least - 1):.0f} % more"
        for what, mine, least in (
            ("cube", cost.cube, best.cube),
            ("vector", cost.vector, best.vector),
        )
        if mine > 1.02 * least
    ]
    if cost.waves > best.waves:
        reasons.append("more waves")
    if cost.slots < best.slots:
        reasons.append("no double buffering")
    return f"{percent(cost.seconds, best.seconds)}  {', '.join(reasons)}".rstrip()


def kept(given: bool) -> str:
    """What the first row of a table says of itself."""
    return "kept" if given else "chosen"


def percent(seconds: float, best: float) -> str:
    """`+1.2 %`"""
    return f"{100 * (seconds / best - 1):+.1f} %"


def table_text(
    head: str, columns: Sequence[str], rows: Sequence[tuple[str, ...]], order: str
) -> str:
    """A table of candidates; of several, in which order they stand."""
    numbered = [("", *columns, "against the first")]
    numbered += [(str(number + 1), *row) for number, row in enumerate(rows)]
    last = [f"  ({order})"] if len(rows) > 1 else []
    return "\n".join([head, *aligned(numbered), *last]) + "\n"


def index_text(group: Group, tile: VectorTile, machine: str) -> str:
    """The line of an indexing op, whose cost data decides."""
    place = place_of(group.ops[0].location)
    return (
        f"{group.tag} at {place}: indexing, {machine}\n"
        f"  {counted(tile.rows, 'row')} x {counted(tile.columns, 'column')}, "
        "the largest tile that fits UB\n"
    )


def tile_text(tile: CubeTile) -> str:
    """`m [128, 128] k [64, 256] n [256, 256]`"""
    k = [tile.k0, tile.ka1] + [tile.kb1] * (tile.ka1 != tile.kb1)
    return f"m [{tile.m0}, {tile.m1}] k {k} n [{tile.n0}, {tile.n1}]"


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of a table: words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numeric = [
        all(row[i][:1].isdigit() or not row[i] for row in rows[1:])
        and not any(" " in row[i] for row in rows[1:])
        for i in range(len(widths))
    ]
    return [
        "  "
        + "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in rows
    ]
