"""
A mixed group becomes one `npu.tasks`: cube tiles that vector ops read on chip.

    %y = pypto.matmul %a, %b                       [M, 2 * N], tile 128 x 128
    %v = pypto.view %y[:, 0 +: N] ; %g = pypto.view %y[:, N +: N]
    %z = pypto.mul %v, %g
    ->
    %z = npu.tasks (%i, %j) in (M ceildiv 128, N ceildiv 128) outs(..) on mixed {
      %vt = scf.for %k ... { pypto.mma .. %b[%k, 128 * %j] }        as in a cube task
      %gt = scf.for %k ... { pypto.mma .. %b[%k, 128 * %j + N] }
      %zt = pypto.mul %vt, %gt                                      as in a vector task
      npu.assemble %zt into %o[128 * %i, 128 * %j]
    }

Each window of a product that the vector ops read is an accumulator of its own; the
product itself is nowhere in memory.
"""

from __future__ import annotations

from typing import ClassVar

from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.record import record
from pyptoc.passes.cube_tiles import CubeTile
from pyptoc.passes.mixed_tiles import reads_of, results_of, split_units
from pyptoc.passes.task_builder import TasksFrame
from pyptoc.passes.tile_cube import Accumulation
from pyptoc.passes.tile_settings import TILE
from pyptoc.passes.tile_vector import Scope, VectorTiler


@record(frozen=False)
class MixedTiler(VectorTiler):
    """Tiles one mixed group."""

    unit: ClassVar[Unit] = Unit.MIXED

    def __post_init__(self) -> None:
        self.products, self.group = split_units(self.group)
        super().__post_init__()

    def run(self) -> TasksFrame:
        """Emit the tasks and replace the group's outputs by their results."""
        tile = self.products[0].attributes[TILE]
        assert isinstance(tile, CubeTileAttr)
        self.accumulations = {
            op: Accumulation(
                op, CubeTile.of(tile), self.shapes, self.build, self.roots, on_chip=True
            )
            for op in self.products
        }
        frame = super().run()
        frame.op.attributes[TILE] = tile
        return frame

    def prepare(self, scope: Scope) -> None:
        """The accumulators, which the vector ops find as tiles of what they read."""
        for accumulation in self.accumulations.values():
            accumulation.open()
        bases = results_of(self.products)
        for read in reads_of(bases, self.group, self.shapes):
            product = self.accumulations[read.product]
            places = read.places(scope.extents(read.values[0]))
            tile = product.run(scope.body, [*places, product.depth])
            for value in read.values:
                scope.tiles[value] = tile
