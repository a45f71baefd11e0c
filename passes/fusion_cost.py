"""
Modelled time of a group, in cycles: enough to compare ways of grouping the same ops.

A task takes as long as its busiest pipe, the tasks of a launch come in waves of one per
core, and each launch that waits for another costs its start. Rates are the machine's.
A size that is known only at run time counts as one tile, the case with the least to
hide behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_types import element_bits
from pyptoc.passes.cube_tiles import Contraction, CubeTile
from pyptoc.passes.structured import costed_as
from pyptoc.passes.typed import element_type
from pyptoc.runtime.machine import Machine

LONG_K = 4096
"""Stands for a K that is known only at run time."""


def known(size: Expr | None, otherwise: int) -> int:
    """A size as a number."""
    return size.value if size is not None and size.is_const else otherwise


def bits_of(values: Iterable[SSAValue]) -> int:
    """The bits that one element of each value takes."""
    return sum(element_bits(element_type(value)) for value in values)


@record
class FusionCosts:
    """What ways of grouping ops cost on a machine, in cycles."""

    machine: Machine

    @property
    def launch(self) -> float:
        """From the end of one launch to the first task of the next."""
        return self.machine.launch_seconds * self.machine.clock_hz

    def microseconds(self, cycles: float) -> str:
        """Cycles as a remark shows them."""
        return f"{cycles / self.machine.clock_hz * 1e6:.1f} us"

    def compared(self, now: float, then: float) -> str:
        """What a step changes, as a remark shows it."""
        before, after = self.microseconds(now), self.microseconds(then)
        return f"modelled {after} instead of {before}"

    def rate(self, source: str, target: str, cores: int) -> float:
        """Bytes a cycle between two spaces of a core while `cores` are at work."""
        rate = self.machine.routes[source, target].bytes_per_cycle
        if "gm" not in (source, target):
            return rate
        memory = self.machine.memory
        everyone = memory.hbm_bytes_per_second / self.machine.clock_hz
        return min(rate, everyone / max(cores, 1))

    # -- vector cores

    def computed(self, ops: Sequence[Operation]) -> float:
        """Cycles of the vector pipe for one element of each op."""
        total = 0.0
        for op in ops:
            tensors = [*op.results, *op.operands]
            types = [v for v in tensors if isinstance(v.type, TensorType)]
            widest = max((element_bits(element_type(v)) for v in types), default=0)
            cost = self.machine.vector_cost(costed_as(op))
            total += cost.per_repeat * widest / 8 / self.machine.vector_bytes
        return total

    def moved(self, loads: float, stores: float, cores: int | None = None) -> float:
        """Cycles to load and store so many bits, one after the other."""
        cores = self.machine.vector_cores if cores is None else cores
        loaded = loads / 8 / self.rate("gm", "ub", cores)
        return loaded + stores / 8 / self.rate("ub", "gm", cores)

    def elements(
        self, tasks: int, size: int, work: float, loads: float, stores: float
    ) -> float:
        """A vector launch: each task's `size` elements take `work` and are moved."""
        cores = self.machine.vector_cores
        busy = min(tasks, cores)
        pipes = (work, self.moved(loads, 0, busy), self.moved(0, stores, busy))
        return ceil(tasks / cores) * size * max(pipes)

    # -- cube cores

    def product(
        self, tile: CubeTile, c: Contraction, tasks: int, part: int = 1, count: int = 1
    ) -> float:
        """A cube launch: each task makes `count` tiles over 1/`part` of K."""
        cores = self.machine.cube_cores
        k = (LONG_K if c.k is None else c.k) / part
        bits = tile.m0 * element_bits(c.lhs) + tile.n0 * element_bits(c.rhs)
        loaded = k * bits / 8 / self.rate("gm", "l1", min(tasks, cores))
        rate = self.machine.macs_per_cycle.get(str(c.lhs), 1)
        multiplied = tile.m0 * tile.n0 * k / rate
        return ceil(tasks / cores) * count * max(loaded, multiplied)

    def stored(self, tile: CubeTile, tasks: int) -> float:
        """The accumulators of a cube launch on their way to memory."""
        cores = self.machine.cube_cores
        rate = self.rate("l0c", "gm", min(tasks, cores))
        return ceil(tasks / cores) * tile.m0 * tile.n0 * 4 / rate
