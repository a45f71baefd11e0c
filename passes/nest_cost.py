"""
Whether a nest is faster as one launch, where its cores meet only in memory.

    task      for each trip of its loops: products + vector ops + what crosses, there
              and back, one after the other
    one       launch + waves of the tasks * task
    stages    for each trip of all loops and each stage: launch; and the same work,
              spread over all cores

A stage is a run of ops of one kind of core. Sizes that are known only at run time count
as in the choice of tiles. One launch loses only where there are fewer tasks than cores
and each has much to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from math import ceil, prod

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.pypto.matmul import MatmulOp, ScaledMmOp
from pyptoc.dialects.pypto.shape import AssembleOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_channel import HALVES
from pyptoc.passes.cube_tiles import CubeTile
from pyptoc.passes.fuse_epilogue import Product
from pyptoc.passes.fusion_cost import FusionCosts, bits_of
from pyptoc.passes.structured import unit_of
from pyptoc.passes.tile_search import representative
from pyptoc.passes.whole_nests import NestBody


@record
class NestCosts:
    """What a nest costs in cycles, its products having `tiles`."""

    body: NestBody
    tiles: Mapping[Product, CubeTile]
    costs: FusionCosts

    @property
    def as_one(self) -> float:
        """One launch, a task for each trip of the nest."""
        waves = ceil(self._tasks / self.costs.machine.cube_cores)
        return self.costs.launch + waves * self._work(self.body.block)

    @property
    def in_stages(self) -> float:
        """A launch for each stage of each trip."""
        work = self._tasks * self._work(self.body.block)
        launches = self._tasks * self._stages(self.body.block)
        cores = self.costs.machine.cube_cores
        return launches * self.costs.launch + work / cores

    @property
    def _tasks(self) -> int:
        return prod(map(self._trips, self.body.loops))

    def _trips(self, loop: scf.ForOp) -> int:
        lower, upper, step = map(self.body.shapes.expr, (loop.lb, loop.ub, loop.step))
        return representative((upper - lower).ceildiv(step))

    def _stages(self, block: Block) -> float:
        """How often the kind of core changes, inner trips counted."""
        units = [unit_of(op) for op in block.ops if self._runs(op)]
        inner = [op for op in block.ops if isinstance(op, scf.ForOp)]
        here = sum(1 for _ in groupby(units))
        return here + sum(self._trips(op) * self._stages(op.body.block) for op in inner)

    def _runs(self, op: Operation) -> bool:
        return unit_of(op) in ("cube", "vector") and not isinstance(op, AssembleOp)

    def _work(self, block: Block) -> float:
        total = 0.0
        for op in block.ops:
            match op:
                case MatmulOp() | ScaledMmOp():
                    total += self._product(op)
                case scf.ForOp():
                    total += self._trips(op) * self._work(op.body.block)
                case scf.IfOp():
                    blocks = (inner for r in op.regions for inner in r.blocks)
                    total += max(map(self._work, blocks), default=0.0)
                case _ if self._runs(op):
                    most = max(map(self._elements, op.results), default=0)
                    total += most * self.costs.computed([op]) / HALVES
                case _:
                    pass
        return total

    def _product(self, op: Product) -> float:
        """The product, and what crosses of it and of its operands."""
        tile, c = self.tiles[op], self.body.contraction(op)
        pieces = ceil(self.body.sizes[op.result].most_columns / tile.n0)
        cycles = self.costs.product(tile, c, 1, count=pieces)
        if op not in self.body.drained:
            cycles += self._crosses(op.result, ("l0c", "gm"), ("gm", "ub"))
        for value in (op.lhs, op.rhs):
            if self.body.is_tile(value):
                cycles += self._crosses(value, ("ub", "gm"), ("gm", "l1"))
        return cycles

    def _crosses(self, value: SSAValue, *ways: tuple[str, str]) -> float:
        cores = self.costs.machine.cube_cores
        size = self._elements(value) * bits_of([value]) / 8
        return sum(size / self.costs.rate(*way, cores) for way in ways)

    def _elements(self, value: SSAValue) -> int:
        size = self.body.sizes.get(value)
        return 0 if size is None else size.most_rows * size.most_columns
