"""
Decide which ops share a task, and on which unit.

Every op that computes gets a group (`npu.group`) and a unit (`npu.unit`); the ops of a
group become adjacent. A matmul is a cube group of its own, with the assemble that
stores its result. Vector ops join the groups of their producers as long as all have
one domain of rows and columns (see `groups.py`) and nothing outside the group stands
between two of its ops (`grouping.py`).

    %y = pypto.matmul %a, %b
    %e = pypto.exp %y
    %s = pypto.sum %e axis -1 {keepdim}
    ->
    %y = pypto.matmul %a, %b              {npu.group = 0, npu.unit = "cube"}
    %e = pypto.exp %y                     {npu.group = 1, npu.unit = "vector"}
    %s = pypto.sum %e axis -1 {keepdim,    npu.group = 1, npu.unit = "vector"}

Indexing ops are groups of their own, on vector cores (`npu.unit = "index"`); what is
gathered or selected may be assembled by them.

Where it pays, `fuse.py` lets a product join the vector ops that read it (unit
`"mixed"`), and cuts groups at reductions. Else cube and vector groups meet in global
memory. Views, reshapes, reads and index
arithmetic belong to no group: consumers look through them. First, asserts move in front
of independent loops (`hoist_asserts.py`), and so do indices that are the same in each
trip (`hoist_indices.py`); copies are made where value semantics needs them
(`ownership.py`), and ops that nobody uses are erased.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from pyptoc.dialects.context import PyptocContext
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.cleanup import erase_dead
from pyptoc.passes.form_tasks import outermost_parallel, parallel_nests
from pyptoc.passes.grouping import Forms, Grouping
from pyptoc.passes.groups import CUT, GROUP, UNIT, blocks_of, groups_in
from pyptoc.passes.ownership import Ownership
from pyptoc.passes.push_views import push_views
from pyptoc.passes.reinterpret import split_views
from pyptoc.passes.scale_groups import rewrite_groups
from pyptoc.passes.scale_pairs import join_pairs
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import unit_of
from pyptoc.passes.tile_settings import is_whole

if TYPE_CHECKING:
    from pyptoc.passes.fuse import Fusion


@dataclass(frozen=True)
class PartitionPass(PyptocPass):
    """Group ops that will share a task and give each group its unit."""

    name = "partition"
    anchor: ClassVar[str] = "func.func"
    summary: ClassVar[str] = "group the ops that share a task, on cube or vector cores"
    counters: ClassVar[Mapping[str, str]] = {
        "groups": "groups of ops",
        "fused": "ops that share the tasks of another op",
    }
    nests: bool = True
    """Whether the body of a loop of independent trips may be one task."""

    fuse: bool = True
    """Let vector ops read a product where it is on chip, and share tasks with it."""
    cut: bool = True
    """Fold few long rows in column tiles, on all cores, then together."""
    force: bool = False
    """Fuse and cut wherever it is possible, also where it seems to be slower."""

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        for function in module.walk():
            if not isinstance(function, func.FuncOp):
                continue
            erase_dead(function)
            split_views(function)
            push_views(function)
            join_pairs(function)
            loops = list(outermost_parallel(function))
            if not loops:
                Ownership(ctx, function).run()
                self._group(ctx, function, nests=False)
                continue
            from pyptoc.passes.hoist_asserts import hoist_asserts
            from pyptoc.passes.hoist_indices import hoist_indices
            from pyptoc.passes.read_carried import read_carried, read_initial

            for loop in loops:
                hoist_asserts(ctx, loop)
                hoist_indices(loop)
            views = read_carried(function)
            Ownership(ctx, function).run()
            self._group(ctx, function, nests=self.nests)
            read_initial(views)

    def _group(self, ctx: PyptocContext, function: func.FuncOp, *, nests: bool) -> None:
        if nests:
            from pyptoc.passes.mark_nests import mark_nests

            mark_nests(ctx, function)
        rewrite_groups(function)
        shapes = Shapes()
        fusion = self._fusion(ctx, function, shapes)
        parts = {} if fusion is None else fusion.parts
        form_block = partial(form, shapes, parts, {}, self.fuse)
        if nests:
            mark_groups_of_loops(ctx, function, fusion, form_block)
        if fusion is not None:
            fusion.rewrite(form_block)
        mark(blocks_of(function), fusion, form_block)
        if ctx.statistics is not None:
            blocks = blocks_of(function)
            groups = [group for block in blocks for group in groups_in(block)]
            ctx.count("groups", len(groups))
            ctx.count("fused", sum(len(group.ops) - 1 for group in groups))

    def _fusion(
        self, ctx: PyptocContext, function: func.FuncOp, shapes: Shapes
    ) -> Fusion | None:
        """What fuses and cuts vector groups; None where there are no vector ops."""
        if not any(unit_of(op) == "vector" for op in function.walk()):
            return None
        from pyptoc.passes.fuse import Fusion

        return Fusion(ctx, function, shapes, self.fuse, self.cut, self.force)


def mark_groups_of_loops(
    ctx: PyptocContext,
    function: func.FuncOp,
    fusion: Fusion | None,
    form_block: Callable[[Block], Grouping],
) -> None:
    """Let the bodies of loops be one task where they would be several groups."""
    from pyptoc.passes.mark_nests import mark_groups

    bodies = [nest[-1].body.block for nest in parallel_nests(function)]
    mark(bodies, fusion, form_block, trial=True)
    mark_groups(ctx, function)
    unmark(bodies)


def mark(
    blocks: Sequence[Block],
    fusion: Fusion | None,
    form_block: Callable[[Block], Grouping],
    *,
    trial: bool = False,
) -> None:
    """Write its groups onto the ops of each block."""
    number = 0
    for block in blocks:
        if is_whole(block):
            continue
        grouping = form_block(block)
        if fusion is not None:
            fusion.mix(grouping, trial=trial)
        for group in grouping.finish():
            group.number, number = number, number + 1
            group.mark()


def unmark(blocks: Sequence[Block]) -> None:
    """Remove what a trial has written."""
    for block in blocks:
        for op in block.ops:
            for key in (GROUP, UNIT, CUT):
                op.attributes.pop(key, None)


def form(
    shapes: Shapes,
    parts: Mapping[Operation, int],
    forms: Forms,
    siblings: bool,
    block: Block,
) -> Grouping:
    """The groups of a block, as far as it stays as it is."""
    grouping = Grouping(block, shapes, parts, siblings, forms=forms)
    grouping.form()
    return grouping
