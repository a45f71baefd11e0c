"""
Which nests of independent loops run their body as one task.

It is tried where a body has loops or branches of its own, where products read each
other, and where it is several groups. What is one group in a perfect nest is better
left to `form-tasks`, since its tasks are cut further.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.pypto.shape import ReshapeOp
from pyptoc.passes.compared import Compared
from pyptoc.passes.form_tasks import parallel_nests, perfect_nest
from pyptoc.passes.groups import groups_in
from pyptoc.passes.kept_sums import KEEPS, KeptSum, sums_in
from pyptoc.passes.nest_report import report
from pyptoc.passes.nest_tiles import NestCandidate, candidates
from pyptoc.passes.product_parts import ProductParts
from pyptoc.passes.structured import defined_in, unit_of
from pyptoc.passes.tile_settings import TILE, WHOLE, is_whole
from pyptoc.passes.unfit import UnfitError
from pyptoc.passes.whole_nests import NestBody
from pyptoc.runtime.machine import Machine


def mark_nests(ctx: PyptocContext, function: func.FuncOp) -> None:
    """Mark nests whose body has loops, or products that read others."""
    for nest in parallel_nests(function):
        if is_several(nest[-1].body.block):
            mark(ctx, nest[0])


def mark_groups(ctx: PyptocContext, function: func.FuncOp) -> None:
    """Mark nests whose body is several groups, which then are groups no more."""
    for nest in parallel_nests(function):
        block = nest[-1].body.block
        groups = groups_in(block)
        if is_several(block) or len(groups) < 2:
            continue
        mark(ctx, nest[0])
        if is_whole(block):
            for group in groups:
                group.unmark()


def mark(ctx: PyptocContext, loop: scf.ForOp) -> None:
    """Mark the largest perfect nest inside `loop` whose body can be one task."""
    nest = perfect_nest(loop)
    hoist(nest)
    parts = ProductParts(loop)
    parts.split()
    sums = list(sums_in(loop))
    for kept in sums:
        kept.product.attributes[KEEPS] = UnitAttr()
    try:
        body, found = fitting(nest, ctx.machine, sums)
        check_faster(body, found[0])
    except UnfitError as unfit:
        parts.undo()
        if unfit.outside and len(nest) > 1:
            mark(ctx, nest[1])
        else:
            ctx.remark(
                loop, f"the body of the loop is no single task: {unfit}", "PTO331"
            )
        return
    for op, tile in found[0].tiles.items():
        op.attributes[TILE] = tile.attribute()
    loop.attributes[WHOLE] = StringAttr(body.unit.value)
    report(ctx, loop, body, found)


def fitting(
    nest: Sequence[scf.ForOp], machine: Machine, sums: Sequence[KeptSum]
) -> tuple[NestBody, list[NestCandidate]]:
    """The body as one task, and its tiles; `sums` are kept in L0C if there is room."""
    body = NestBody(nest, machine)
    try:
        body.check()
        check_machine(body)
        return body, candidates(body)
    except UnfitError:
        if not sums:
            raise
    for kept in sums:
        del kept.product.attributes[KEEPS]
    return fitting(nest, machine, [])


def hoist(nest: list[scf.ForOp]) -> None:
    """Move reshapes of outer tensors in front of the nest."""
    outer = nest[0]
    block = outer.parent
    assert block is not None
    for op in list(nest[-1].body.block.ops):
        if isinstance(op, ReshapeOp) and not any(
            defined_in(operand, outer) for operand in op.operands
        ):
            op.detach()
            block.insert_op_before(op, outer)


WAYS = (("l0c", "ub"), ("ub", "l1"))
"""How tiles go between the cores of a mixed task."""


def check_machine(body: NestBody) -> None:
    """A mixed task needs ways between the memories of its cores, perhaps through GM."""
    machine = body.machine
    for source, dest in WAYS:
        direct = machine.has_route(source, dest)
        around = machine.has_route(source, "gm") and machine.has_route("gm", dest)
        if body.unit == Unit.MIXED and not (direct or around):
            raise UnfitError(
                f"{machine.name} has no way from {source.upper()} to {dest.upper()}"
            )


def check_faster(body: NestBody, best: NestCandidate) -> None:
    """One task gains launches and may lose cores."""
    compared = Compared([best.cost.seconds], [best.cost.in_stages])
    if body.unit == Unit.MIXED and not compared.pays:
        raise UnfitError(str(compared))


def is_several(block: Block) -> bool:
    """Whether no single group can be all of a body."""
    return any(map(computes, block.ops)) or is_chained(block)


def computes(op: Operation) -> bool:
    """Whether something inside of a loop or branch is computed."""
    units = ("cube", "vector")
    return any(unit_of(inner) in units for inner in op.walk() if inner is not op)


def is_chained(block: Block) -> bool:
    """Whether a product reads what is made of another one."""
    made: set[SSAValue] = set()
    for op in block.ops:
        if any(operand in made for operand in op.operands):
            if unit_of(op) == "cube":
                return True
            made.update(op.results)
        elif unit_of(op) == "cube":
            made.update(op.results)
    return False
