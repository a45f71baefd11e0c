"""
What a vector group costs on a machine with tiles of some size, in plain formulas.

    load    for each tensor: start-up + bytes / rate                        GM -> UB
    v       for each op: head + repeats of 256 B * cost + tail
    store   for each tensor: start-up + bytes / rate                        UB -> GM

    tile    load + v + store: a task that takes whole tiles has one buffer for each
            value; in phases max(load, v, store) a column tile, since loops have two
    core    waves * tiles of a task * tile
    time    launch + max(core, HBM bytes / HBM rate)

A row that is visited in phases is loaded once for each op that folds it and once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from pyptoc.dialects.record import record
from pyptoc.runtime.machine import Machine

PIPES = ("mte2", "v", "mte3", "hbm", "launch")


@record
class Moved:
    """A tensor that tasks load or store: the sizes it has, its elements' bytes."""

    rows: bool
    columns: bool
    bytes: float

    def size(self, rows: int, columns: int) -> float:
        """Bytes of a tile of it."""
        return (
            (rows if self.rows else 1) * (columns if self.columns else 1) * self.bytes
        )


@record
class VectorWork:
    """A vector group as its cost depends on it, in sizes of `representative`."""

    leading: int
    rows: int
    columns: int
    loads: tuple[Moved, ...]
    stores: tuple[Moved, ...]
    ops: tuple[tuple[str, Moved], ...]
    """The instruction of each op and what it goes through."""
    folds: int
    """Ops that fold or scan rows."""
    whole_rows: bool


@record
class VectorCost:
    """The modelled time of a tile, and what it is made of."""

    seconds: float
    tasks: int
    waves: int
    bound: str
    hbm_bytes: float


def vector_cost(
    work: VectorWork, tile: tuple[int, int], phased: bool, machine: Machine
) -> VectorCost:
    """The cost of a group with tiles of `tile` rows and columns."""
    rows, columns = min(tile[0], work.rows), min(tile[1], work.columns)
    across = ceil(work.columns / columns)
    down = work.leading * ceil(work.rows / rows)
    tasks, tiles = (down, across) if work.whole_rows else (down * across, 1)
    waves = ceil(tasks / machine.vector_cores)
    passes = 1 + work.folds if phased else 1
    loads = [each.size(rows, columns) for each in work.loads]
    stores = [each.size(rows, columns) for each in work.stores]
    load = passes * transfer_cycles(machine, "gm", "ub", loads)
    store = transfer_cycles(machine, "ub", "gm", stores)
    compute = 0.0
    for name, through in work.ops:
        compute += op_cycles(machine, name, through.size(rows, columns))
    compute *= passes
    pipes = {"mte2": load, "v": compute, "mte3": store}
    tile_cycles = max(pipes.values()) if phased else sum(pipes.values())
    core = waves * tiles * tile_cycles / machine.clock_hz
    moved = sum(x.size(work.rows, work.columns) for x in (*work.loads, *work.stores))
    moved *= work.leading
    hbm = moved / machine.memory.hbm_bytes_per_second
    shares = {name: waves * tiles * c / machine.clock_hz for name, c in pipes.items()}
    shares |= {"hbm": hbm, "launch": machine.launch_seconds}
    bound = max(PIPES, key=lambda name: shares[name])
    seconds = machine.launch_seconds + max(core, hbm)
    return VectorCost(seconds, tasks, waves, bound, moved)


def element_cycles(
    machine: Machine, loads: float, stores: float, ops: Sequence[tuple[str, float]]
) -> float:
    """
    What one element more costs each core of a launch that keeps all of them busy.

    `loads` and `stores` are bytes; `ops` have an instruction and the bytes that it goes
    through. Start-ups are paid already.
    """
    shared = machine.vector_cores * machine.clock_hz
    shared /= machine.memory.hbm_bytes_per_second
    load, store = machine.route("gm", "ub"), machine.route("ub", "gm")
    cycles = loads * max(1 / load.bytes_per_cycle, shared)
    cycles += stores * max(1 / store.bytes_per_cycle, shared)
    for name, width in ops:
        cycles += machine.vector_cost(name).per_repeat * width / machine.vector_bytes
    return cycles


def op_cycles(machine: Machine, name: str, size: float) -> float:
    """Cycles of an instruction that goes through `size` bytes."""
    cost = machine.vector_cost(name)
    repeats = ceil(size / machine.vector_bytes)
    return cost.head + repeats * cost.per_repeat + cost.tail


def transfer_cycles(
    machine: Machine, source: str, target: str, sizes: Sequence[float]
) -> float:
    """Cycles of moving tiles of so many bytes, one after the other."""
    route = machine.route(source, target)
    return sum(route.startup_cycles + size / route.bytes_per_cycle for size in sizes)
