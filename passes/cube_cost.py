"""
What a matmul costs on a machine, in plain formulas, for many tiles at once.

`estimate` is the one cost function of cube tiles: the search (`tile_search.py`), the
table of `--print-tile-candidates`, remarks and tests all call it. Its arguments are
arrays, one entry a candidate. Cycles of one core, for one L0 tile of the output:

    mte2   transfers * start-up + bytes * ((1 - miss) / l2 + miss / hbm)     GM -> L1
           with a fixed number of bytes more for each row of a box
    mte1   moves * start-up + bytes / rate, of A and of B                    L1 -> L0
    m      matmuls * head + padded m * n * k / multiply-adds a cycle
    fix    start-up + bytes / rate                                           L0C -> GM

The rates are those of `runtime/machines/*.toml`. Pipes overlap as far as there are
slots, which is two where two fit (plan-memory gives them up where they do not):

    inner   max(mte1, m) with two slots in L0A and L0B, else mte1 + m
    tile    max(mte2, inner + fix) with two slots in L1 and a loop of several steps,
            else mte2 + inner + fix          (L0C has one slot: the store is waited for)

A side of which L1 holds all of K is loaded once for all L0 tiles of the other side.

    core    waves * (L0 tiles of a task * tile + the products of its last step)
            + the first step of what binds less
    time    launch + the largest of: core, HBM bytes / HBM rate, L2 bytes / L2 rate
            + what the sum of a split K costs

Tasks start in waves of one a core, and a core's next task loads when the last step of
the one before has left L1. How many of the bytes miss L2 depends on the walk. Each walk
is the nest of loops

    for blocks of columns: for blocks of rows: for columns: for rows: task

(`dialects/walk.py`: row has blocks of 1 x all, column of all x 1). A loop over columns
uses the same rows of A in each trip, a loop over rows the same columns of B. They hit
where one trip takes no more than L2 keeps, or where the trips run in one wave; else
each trip loads them from HBM again. A snake finds the waves before its turn again, as
many as L2 keeps.

A split K adds `parts - 1` reads of the result, and additions, on the vector cores, and
a launch of its own where the consumer is no vector task. Checked against measured
kernels in `test/passes/test_tile_search.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from pyptoc.dialects.record import record
from pyptoc.dialects.tile_types import element_bits
from pyptoc.dialects.walk import Walk
from pyptoc.passes.cube_tiles import MX_BLOCK, Contraction, CubeTile, bytes_by_space
from pyptoc.runtime.machine import Machine

PIPES = ("mte2", "mte1", "m", "fix", "hbm", "l2", "launch")
"""What may bind a candidate, as `Costs.bound` numbers them."""

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
    """
    One entry a candidate. Arrays of one `Tiles` broadcast together, so that what only
    depends on the tile is computed once for all walks.
    """


@record
class CubeWork:
    """A matmul as its cost depends on it; dynamic sizes have a value that stands in."""

    contraction: Contraction
    m: int
    n: int
    k: int
    batch: int = 1
    result: Attribute = f32
    shared_rhs: bool = False
    """Whether all of the batch multiply the same B."""
    may_split: bool = False
    """Whether K may be split: the sum needs a destination and a type of its own."""
    on_chip: bool = False
    """Whether vector cores take the result from the accumulators."""
    summed_by_reader: bool = False
    """Whether the vector tasks that read the result add the parts as they load them."""


@record
class Tiles:
    """Candidates: arrays that broadcast together, named as in `CubeTile`."""

    m0: Array
    m1: Array
    k0: Array
    ka1: Array
    kb1: Array
    n0: Array
    n1: Array
    split: Array
    height: Array
    """Rows of tiles of a block of the walk; 0: all."""
    width: Array
    """Columns of tiles of a block; 0: all."""
    snake: Array

    @classmethod
    def of(cls, tile: CubeTile, walk: Walk) -> Tiles:
        """One candidate."""
        return cls.all_of([tile], walk)

    @classmethod
    def all_of(cls, tiles: Sequence[CubeTile], walk: Walk) -> Tiles:
        """A candidate for each tile, under one walk."""
        import numpy as np

        rows = [
            (t.m0, t.m1, t.k0, t.ka1, t.kb1, t.n0, t.n1, t.split, *walk_blocks(walk))
            for t in tiles
        ]
        return cls(*np.array(rows).T)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the arrays have together."""
        import numpy as np

        return np.broadcast_shapes(*(getattr(self, f.name).shape for f in fields(self)))

    def take(self, where: Array) -> Tiles:
        """The candidates at these positions, which count through the shape by rows."""
        return Tiles(*taken(self, self.shape, where))

    def walk_at(self, index: int) -> Walk:
        """The walk of one candidate."""
        height, width = int(self.height[index]), int(self.width[index])
        if height and width:
            return Walk("blocked", (height, width))
        if self.snake[index]:
            return Walk("snake")
        return Walk("column") if height == 0 else Walk("row")

    def tile_at(self, index: int) -> CubeTile:
        """One candidate as a tile."""
        names = ("m0", "m1", "k0", "ka1", "kb1", "n0", "n1", "split")
        sizes = (int(getattr(self, name)[index]) for name in names)
        return CubeTile(*sizes, walk=self.walk_at(index))


def taken(each: Tiles | Costs, shape: tuple[int, ...], where: Array) -> list[Array]:
    """The arrays of `each`, broadcast to `shape`, at positions in it."""
    import numpy as np

    places = np.unravel_index(where, shape)
    columns = (getattr(each, f.name) for f in fields(each))
    return [np.broadcast_to(column, shape)[places] for column in columns]


def walk_blocks(walk: Walk) -> tuple[int, int, int]:
    """`height`, `width` and `snake` of `Tiles` for a walk."""
    if walk.blocks is not None:
        return (*walk.blocks, 0)
    return (0, 1, 0) if walk.order == "column" else (1, 0, int(walk.order == "snake"))


@record
class Costs:
    """Arrays as those of `Tiles`; cycles are of one core for the whole launch."""

    seconds: Array
    core_seconds: Array
    """What the cores take, if memory keeps up with all of them."""
    fits: Array
    mte2: Array
    mte1: Array
    m: Array
    fix: Array
    hbm_bytes: Array
    l2_bytes: Array
    sum_seconds: Array
    """What adding the parts of a split K costs."""
    tasks: Array
    waves: Array
    parts: Array
    """Parts of K that have a step: no more than the factor."""
    l1_slots: Array
    l0_slots: Array
    bound: Array
    """Which of `PIPES` takes longest."""

    @property
    def work(self) -> Array:
        """Cycles of all pipes: of two candidates that take equally long, less is
        better."""
        return self.mte2 + self.mte1 + self.m + self.fix


@record
class _Grid:
    """The tasks of each candidate and what one of them goes through."""

    rows: Array
    columns: Array
    parts: Array
    depth: Array
    """Elements of K of a task."""
    down: Array
    across: Array
    """Rows and columns of L0 tiles of a task."""
    keeps_a: Array
    keeps_b: Array
    """Whether A (B) is loaded once for a row (a column) of L0 tiles."""
    tasks: Array
    waves: Array

    @classmethod
    def of(cls, t: Tiles, p: CubeWork, machine: Machine) -> _Grid:
        import numpy as np

        c, step = p.contraction, np.maximum(t.ka1, t.kb1)
        steps = np.maximum(_ceil(p.k, step), 1)
        longest = _ceil(steps, t.split)
        parts = _ceil(steps, longest)
        rows, columns = _ceil(p.m, t.m1), _ceil(p.n, t.n1)
        down = _ceil(np.minimum(t.m1, p.m), t.m0)
        across = _ceil(np.minimum(t.n1, p.n), t.n0)
        whole = (t.split == 1) & (c.k is not None) & (not p.on_chip)
        may_a = (t.n1 > t.n0) & (p.k <= t.ka1) & whole
        may_b = (t.m1 > t.m0) & (p.k <= t.kb1) & whole
        keeps_b = may_b & (((t.m1 > t.m0) & (t.n1 == t.n0)) | ~may_a)
        tasks = p.batch * rows * columns * parts
        waves = _ceil(tasks, machine.cube_cores)
        depth = np.minimum(p.k, longest * step)
        keeps = (may_a & ~keeps_b, keeps_b)
        return cls(rows, columns, parts, depth, down, across, *keeps, tasks, waves)


def estimate(t: Tiles, p: CubeWork, machine: Machine) -> Costs:
    """The modelled cost of every candidate, and whether the buffers hold it."""
    import numpy as np

    c, memory = p.contraction, machine.memory
    grid = _Grid.of(t, p, machine)
    fits, l1_slots, l0_slots = slots(t, c, machine)
    m, n = np.minimum(t.m0, p.m), np.minimum(t.n0, p.n)
    out = element_bits(p.result) / 8

    # The trips in which slots take turns.
    loads_a, loads_b = _ceil(grid.depth, t.ka1), _ceil(grid.depth, t.kb1)
    steps = np.maximum(loads_a * ~grid.keeps_a, loads_b * ~grid.keeps_b)
    moves = _ceil(grid.depth, t.k0)
    tiles = grid.down * grid.across
    mte2, l2_bytes, missed = _load(t, p, grid, machine, (m, n, loads_a, loads_b))
    mte1, product = _compute(c, machine, (m, n, grid.depth, moves))
    store = machine.route("l0c", "ub" if p.on_chip else "gm")
    fix = store.startup_cycles + m * n * out / store.bytes_per_cycle

    products = np.where(l0_slots > 1, np.maximum(mte1, product), mte1 + product)
    inner = products + fix
    # The slots start over with each task, so one step a task is one slot.
    overlaps = (l1_slots > 1) & (steps > 1)
    tile = np.where(overlaps, np.maximum(mte2, inner), mte2 + inner)
    trips = grid.waves * tiles
    first = np.minimum(mte2, inner) / np.maximum(np.minimum(loads_a, loads_b), 1)
    drain = np.where(overlaps, products / np.maximum(steps, 1), 0.0)
    core = (trips * tile + grid.waves * drain + first) / machine.clock_hz
    # Partial sums go through L2 to the vector cores.
    inside = (grid.parts > 1) | p.on_chip
    stored = np.where(inside, 0, p.batch * p.m * p.n * out)
    hbm_bytes = missed + stored
    hbm = hbm_bytes / memory.hbm_bytes_per_second
    l2 = l2_bytes / (memory.hbm_bytes_per_second * memory.l2_to_hbm_ratio)
    sums = _sum_seconds(grid.parts, p, machine)
    seconds = np.maximum(np.maximum(core, hbm), l2) + machine.launch_seconds + sums
    busy = [trips * pipe for pipe in (mte2, mte1, product, fix)]
    times = [*(pipe / machine.clock_hz for pipe in busy), hbm, l2]
    return Costs(
        seconds=seconds,
        core_seconds=core,
        fits=fits,
        **dict(zip(PIPES, busy, strict=False)),
        hbm_bytes=hbm_bytes,
        l2_bytes=l2_bytes,
        sum_seconds=sums,
        tasks=grid.tasks,
        waves=grid.waves,
        parts=grid.parts,
        l1_slots=l1_slots,
        l0_slots=l0_slots,
        bound=_longest([*times, machine.launch_seconds]),
    )


def _longest(times: Sequence[Array | float]) -> Array:
    """Which of `times` is the longest, the first of those that are."""
    import numpy as np

    found, longest = np.zeros(1, int), times[0]
    for number, time in enumerate(times[1:], 1):
        found = np.where(time > longest, number, found)
        longest = np.maximum(time, longest)
    return found


def slots(t: Tiles, c: Contraction, machine: Machine) -> tuple[Array, Array, Array]:
    """Whether each candidate fits, and the slots that L1 and both L0 have room for."""
    import numpy as np

    fits = np.ones(1, bool)
    twice = {"l1": fits, "l0": fits}
    for space, size in bytes_by_space(t, c).items():
        capacity = machine.space(space).bytes
        fits = fits & (size <= capacity)
        level = {"l1": "l1", "l0c": "", "fb": "", "bias": ""}.get(space, "l0")
        if level:
            twice[level] = twice[level] & (2 * size <= capacity)
    return fits, 1 + twice["l1"], 1 + twice["l0"]


def _load(
    t: Tiles, p: CubeWork, grid: _Grid, machine: Machine, sizes: tuple[Array, ...]
) -> tuple[Array, Array, Array]:
    """
    Cycles of the loads for one L0 tile, on average; the bytes that all tasks load, and
    those of them that come from HBM.
    """
    import numpy as np

    c, memory = p.contraction, machine.memory
    m, n, loads_a, loads_b = sizes
    scaling = 2 / MX_BLOCK if c.scaled else 0.0
    lhs, rhs = element_bits(c.lhs) / 8 + scaling, element_bits(c.rhs) / 8 + scaling
    often_a = np.where(grid.keeps_a, 1 / grid.across, 1.0)
    often_b = np.where(grid.keeps_b, 1 / grid.down, 1.0)
    loads = often_a * loads_a + often_b * loads_b
    loaded = grid.depth * m * lhs * often_a
    loaded = loaded + grid.depth * n * rhs * often_b
    if c.scaled:
        loads = 2 * loads
    for _ in range(c.output_scales + c.bias):
        loads, loaded = loads + 1, loaded + 4 * n
    everything = loaded * (grid.down * grid.across) * grid.tasks
    out = element_bits(p.result) / 8
    missed = _from_hbm(t, p, grid, machine, (lhs, rhs, out))
    miss = np.minimum(missed / np.maximum(everything, 1), 1.0)
    rate = (1 - miss) / memory.l2_read_bytes_per_cycle_per_core
    rate = rate + miss / machine.route("gm", "l1").bytes_per_cycle
    rows = often_a * (grid.depth if c.a_trans else m * loads_a)
    rows = rows + often_b * (n * loads_b if c.b_trans else grid.depth)
    moved = loaded + rows * memory.row_overhead_bytes
    cycles = loads * machine.route("gm", "l1").startup_cycles + moved * rate
    return cycles, everything, missed


def _compute(
    c: Contraction, machine: Machine, sizes: tuple[Array, ...]
) -> tuple[Array, Array]:
    """Cycles of the moves to L0 and of the matrix unit, for one L0 tile."""
    m, n, depth, moves = sizes
    unit = c.k_multiple
    k = _ceil(depth, unit) * unit
    rows, columns = 16 * _ceil(m, 16), 16 * _ceil(n, 16)
    a, b = machine.route("l1", "l0a"), machine.route("l1", "l0b")
    mte1 = rows * k * (element_bits(c.lhs) / 8) / a.bytes_per_cycle
    mte1 = mte1 + columns * k * (element_bits(c.rhs) / 8) / b.bytes_per_cycle
    startup = a.startup_cycles + b.startup_cycles
    if c.scaled:
        for route, size in (("scale_a", rows), ("scale_b", columns)):
            scale = machine.route("l1", route)
            mte1 = mte1 + size * k * 2 / MX_BLOCK / scale.bytes_per_cycle
            startup += scale.startup_cycles
    macs = machine.macs_per_cycle[str(c.lhs)]
    product = moves * machine.matmul_head_cycles + rows * columns * k / macs
    return mte1 + moves * startup, product


def _from_hbm(
    t: Tiles,
    p: CubeWork,
    grid: _Grid,
    machine: Machine,
    element: tuple[float, float, float],
) -> Array:
    """Bytes of the operands that come from HBM, by the reuse that the walk leaves."""
    import numpy as np

    kept = float(machine.memory.l2_kept_bytes)
    lhs, rhs, out = element
    row, line = p.k * lhs, p.k * rhs
    everything = p.m * row + p.n * line + p.m * p.n * out
    shared = p.shared_rhs and everything <= kept
    batch_b = 1 if shared else p.batch
    if everything * p.batch <= kept:
        return np.array([p.batch * p.m * row + batch_b * p.n * line])
    height = np.where(t.height > 0, np.minimum(t.height, grid.rows), grid.rows)
    width = np.where(t.width > 0, np.minimum(t.width, grid.columns), grid.columns)
    a, b, o = t.m1 * row, t.n1 * line, t.m1 * t.n1 * out
    wave = np.maximum(machine.cube_cores / (grid.parts * p.batch), 1.0)
    block, band = height * width, grid.rows * width
    blocks_down, blocks_across = grid.rows / height, grid.columns / width

    rows_at_once = np.minimum(height, wave) * np.clip(wave / block, 1, blocks_down)
    columns_at_once = np.clip(wave / height, 1, width)
    columns_at_once = columns_at_once * np.clip(wave / band, 1, blocks_across)
    at_once = rows_at_once * a + columns_at_once * b + wave * o

    def loads(trips: Array, before: Array, trip_bytes: Array) -> Array:
        """How often a loop of `trips`, each of `before` tasks, loads what it keeps."""
        apart = np.clip(trips * before / np.maximum(wave, before), 1.0, trips)
        window = np.where(before < wave, at_once, trip_bytes)
        return np.where(window <= kept, 1.0, apart)

    # Within a task the L0 tiles of a row come one after the other.
    again_a = rows_at_once * t.m0 * row + columns_at_once * t.n0 * line > kept
    again_b = rows_at_once * t.m0 * row + columns_at_once * t.n1 * line > kept
    one = a + b + o
    column = height * (a + o) + b
    whole_block = height * a + width * b + block * o
    whole_band = grid.rows * a + width * b + band * o
    # Where a snake turns, whole waves are still there.
    turned = np.minimum(np.floor(kept / at_once) * wave / block, 1.0)
    again = np.where((t.snake > 0) & (block > wave), 1 - turned, 1.0)
    down = 1 + (loads(blocks_down, block, whole_block) - 1) * again
    often_a = loads(width, height, column) * loads(blocks_across, band, whole_band)
    often_b = loads(height, np.ones_like(one), one) * down
    often_a = often_a * np.where(again_a & ~grid.keeps_a, grid.across, 1)
    often_b = often_b * np.where(again_b & ~grid.keeps_b, grid.down, 1)
    from_a = p.batch * p.m * row * often_a
    from_b = p.n * line * often_b
    return from_a + batch_b * from_b


def _sum_seconds(parts: Array, p: CubeWork, machine: Machine) -> Array:
    """Seconds for adding the parts of a split K, beyond reading one result."""
    import numpy as np

    size = p.batch * p.m * p.n * (element_bits(p.result) / 8)
    load, store = machine.route("gm", "ub"), machine.route("ub", "gm")
    add = machine.vector_cost("add")
    share = size / machine.vector_cores
    read = share / load.bytes_per_cycle + load.startup_cycles
    read += share / machine.vector_bytes * add.per_repeat + add.head + add.tail
    cycles = (parts - 1) * read
    extra = 0.0
    if not p.summed_by_reader:
        cycles = cycles + read + share / store.bytes_per_cycle + store.startup_cycles
        extra = machine.launch_seconds
    return np.where(parts > 1, cycles / machine.clock_hz + extra, 0.0)


def _ceil(value: Any, unit: Any) -> Any:
    """`value / unit` rounded up, as float64: integer division is slow in numpy."""
    import numpy as np

    return np.ceil(value / unit)
