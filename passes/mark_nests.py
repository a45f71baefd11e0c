"""
Which nests of independent loops run their body as one task.

It is tried where a body has loops or branches of its own, or several groups: what is
one group in a perfect nest is tiled better by `form-tasks`, which may cut it further.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.passes.form_tasks import outermost_parallel, perfect_nest
from pyptoc.passes.nest_tiles import choose
from pyptoc.passes.structured import unit_of
from pyptoc.passes.tile_settings import TILE, WHOLE
from pyptoc.passes.whole_nests import NestBody, UnfitError


def mark_nests(ctx: PyptocContext, function: func.FuncOp) -> None:
    """Mark the nests of a function whose body is one task."""
    for loop in outermost_parallel(function):
        mark(ctx, loop)


def mark(ctx: PyptocContext, loop: scf.ForOp) -> None:
    """Mark the largest perfect nest inside `loop` whose body can be one task."""
    nest = perfect_nest(loop)
    if not is_candidate(nest[-1].body.block):
        return
    body = NestBody(nest, ctx.machine)
    try:
        body.check()
        check_machine(body)
        tiles = choose(body)
    except UnfitError as unfit:
        ctx.remark(loop, f"the loop is no single task: {unfit}")
        if len(nest) > 1:
            mark(ctx, nest[1])
        return
    for op, tile in tiles.items():
        op.attributes[TILE] = tile.attribute()
    loop.attributes[WHOLE] = StringAttr(body.unit.value)


def check_machine(body: NestBody) -> None:
    """A mixed task needs ways between the memories of its cores."""
    machine = body.machine
    for source, dest in (("l0c", "ub"), ("ub", "l1")):
        if body.unit == Unit.MIXED and not machine.has_route(source, dest):
            raise UnfitError(
                f"{machine.name} has no way from {source.upper()} to {dest.upper()}"
            )


def is_candidate(block: Block) -> bool:
    """Whether a body is more than one group could be."""
    units = [unit for op in block.walk() if (unit := unit_of(op)) is not None]
    nested = any(computes(op) for op in block.ops if op.regions)
    return nested or units.count("cube") > 1 or len(set(units)) > 1


def computes(op: Operation) -> bool:
    """Whether something inside `op` is computed."""
    return any(unit_of(inner) in ("cube", "vector") for inner in op.walk())


def is_whole(block: Block) -> bool:
    """Whether a block is part of a marked nest."""
    op = block.parent_op()
    while op is not None:
        if WHOLE in op.attributes:
            return True
        op = op.parent_op()
    return False
