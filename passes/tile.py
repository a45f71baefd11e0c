"""
Each group of ops becomes one `npu.tasks`: a parallel loop over tiles.

    %y = pypto.matmul %a, %b   {npu.group = 0, npu.unit = "cube", npu.tile = ..}
    %e = pypto.exp %y          {npu.group = 1, npu.unit = "vector", npu.tile = ..}
    ->
    %y = npu.tasks (%i, %j) in (..) outs(%o = %y0) on cube { loop over K; assemble }
    %e = npu.tasks (%i) in (..) outs(%o = %e0) on vector { view; exp; assemble }

`tile_cube.py`, `tile_vector.py`, `tile_mixed.py` and `tile_index.py` draw the bodies.
The pass decides nothing: groups come from partition, tiles from infer-tiles. Views end
here, tasks read through them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block

from pyptoc.dialects.context import PyptocContext, load
from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.error_list import ErrorList
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.builder import Builder
from pyptoc.passes.cleanup import erase_dead
from pyptoc.passes.groups import Group, blocks_of, groups_in
from pyptoc.passes.nests import Nest, is_marked
from pyptoc.passes.partials import widen
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.task_builder import Roots
from pyptoc.passes.tile_settings import TILE, WHOLE
from pyptoc.passes.windows import erase_views
from pyptoc.runtime.machine import Machine

if TYPE_CHECKING:
    from pyptoc.passes.tile_cube import CubeTiler
    from pyptoc.passes.tile_index import IndexTiler
    from pyptoc.passes.tile_vector import VectorTiler

    Tiler = CubeTiler | VectorTiler | IndexTiler

TILERS: dict[str, str] = {
    "cube": "tile_cube:CubeTiler",
    "mixed": "tile_mixed:MixedTiler",
    "vector": "tile_vector:VectorTiler",
    "index": "tile_index:IndexTiler",
}
"""
Unit of a group to `module:Class` of what makes its tasks, the module relative to this
package; it is loaded where there is such a group.
"""


class TilePass(PyptocPass):
    """Turn each group into an `npu.tasks` with a fused body."""

    name = "tile"
    anchor: ClassVar[str] = "func.func"
    summary: ClassVar[str] = "turn each group into a parallel loop over tiles"
    reorders_float_sums: ClassVar[bool] = True

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        errors = ErrorList()
        for function in list(module.walk()):
            if isinstance(function, func.FuncOp):
                widen(function)
                roots = Roots(function)
                blocks = blocks_of(function)
                for block in [b for b in blocks if not is_in_nest(b)]:
                    tile_block(block, roots, ctx.machine, errors)
                erase_dead(function)
        errors.check()


def tile_block(block: Block, roots: Roots, machine: Machine, errors: ErrorList) -> None:
    """Replace the groups of one block, and the marked loops that hold one each."""
    for op in list(block.ops):
        if is_marked(op):
            assert isinstance(op, scf.ForOp)
            with errors.kept():
                tile_nest(op, roots, machine)
    shapes = Shapes()
    for group in groups_in(block):
        build = Builder.after(group.ops[-1])
        with errors.kept():
            tile_group(group, shapes, roots, build, Nest())
            for op in reversed(group.ops):
                erase_views(op)
                op.detach()
                op.erase()


def is_in_nest(block: Block) -> bool:
    """Whether a block is part of marked loops."""
    op = block.parent_op()
    while op is not None and not is_marked(op):
        op = op.parent_op()
    return op is not None


def tile_nest(loop: scf.ForOp, roots: Roots, machine: Machine) -> None:
    """Replace marked loops by the tasks of the group, or the groups, inside."""
    nest, build = Nest.at(loop), Builder.before(loop)
    if WHOLE in loop.attributes:
        from pyptoc.passes.tile_nest import NestTiler

        frame = NestTiler(nest, machine, roots, build).run()
        frame.op.attributes["tag"] = loop.attributes.get("tag", StringAttr("nest"))
        frame.op.location = loop.location
    else:
        (group,) = groups_in(nest.loops[-1].body.block)
        tile_group(group, Shapes(), roots, build, nest)
    loop.detach()
    loop.erase()


def tile_group(
    group: Group, shapes: Shapes, roots: Roots, build: Builder, nest: Nest
) -> None:
    """Emit the tasks of `group`."""
    op = group.ops[0]
    if TILE not in op.attributes:
        error(
            op,
            "PTO504",
            f"'{op.name}' has no tile yet",
            length=len(op.name),
            rule="tile goes on from what infer-tiles has decided",
            help="--pipeline=..,partition,infer-tiles,form-tasks,tile",
        )
    tiler: type[Tiler] = load(f"pyptoc.passes.{TILERS[group.unit]}")
    frame = tiler(group, shapes, roots, build, nest).run()
    frame.op.attributes["tag"] = StringAttr(group.tag)
    frame.op.location = group.ops[0].location
