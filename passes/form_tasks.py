"""
Independent loops around a single group become grid axes of its tasks.

    %r = scf.for %b = 0 to %B step 1 iter_args(%o = %o0) {
      %x = pypto.view %a[%b, :, :]
      %y = pypto.exp %x                              {npu.group = 0, ..}
      %z = pypto.assemble %y into %o[%b, 0, 0]       {npu.group = 0, ..}
      scf.yield %z
    } {npu.parallel}
    ->
    the same loop with {npu.grid, npu.parallel}

The pass marks the loops (`npu.grid`); the tile pass then makes one `npu.tasks` with the
loops' indices as its first axes instead of a loop of launches. A loop stays a loop,
with a remark, where its body holds several groups, reads data, checks something, or
where a size of the group depends on the index in a way that has no static bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr
from xdsl.ir import Operation, OpResult, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.expr import Expr
from pyptoc.dialects.parallel import is_parallel
from pyptoc.dialects.pypto.scalars import DimOp, IndexOp
from pyptoc.dialects.pypto.shape import AssembleOp, TransposeOp, ViewOp
from pyptoc.dialects.words import counted
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.groups import Group, groups_in
from pyptoc.passes.shapes import Shapes, static_bound
from pyptoc.passes.structured import (
    LEAVES,
    defined_in,
    is_constant,
    iteration_dims,
    outside_tasks,
    unit_of,
)
from pyptoc.passes.tile_settings import WHOLE
from pyptoc.passes.typed import values_in
from pyptoc.passes.windows import window_of

GRID = "npu.grid"

MOVABLE = (arith.ConstantOp, IndexOp, DimOp, ViewOp, TransposeOp, *LEAVES)
"""Ops that a body may hold besides its group: tasks compute or look through them."""


class FormTasksPass(PyptocPass):
    """Mark the loops whose indices become grid axes."""

    name = "form-tasks"
    anchor: ClassVar[str] = "func.func"
    summary: ClassVar[str] = "turn independent loops around one group into grid axes"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        for function in list(module.walk()):
            if isinstance(function, func.FuncOp):
                for loop in outermost_parallel(function):
                    form(ctx, loop)


def outermost_parallel(function: func.FuncOp) -> Iterator[scf.ForOp]:
    """The parallel loops that are in no other parallel loop."""
    for op in list(outside_tasks(function)):
        if is_parallel(op) and not is_parallel(op.parent_op()):
            yield op


def form(ctx: PyptocContext, loop: scf.ForOp) -> None:
    """Mark the largest perfect nest inside `loop` that can become a grid."""
    nest = perfect_nest(loop)
    groups = groups_in(nest[-1].body.block)
    reason = None if WHOLE in loop.attributes else obstacle(nest, groups)
    if reason is None:
        for member in nest:
            member.attributes[GRID] = UnitAttr()
        return
    ctx.remark(loop, f"the loop launches tasks in each iteration: {reason}", "PTO331")
    for inner in parallel_inside(loop):
        form(ctx, inner)


def parallel_inside(loop: scf.ForOp) -> list[scf.ForOp]:
    """The parallel loops that the body of `loop` has, not those inside of them."""
    return [op for op in loop.body.block.ops if is_parallel(op)]


def parallel_nests(function: func.FuncOp) -> Iterator[list[scf.ForOp]]:
    """
    Perfect nests of parallel loops, outer ones first.

    What is inside a nest is looked for when that nest has been dealt with, and left
    out if it, or a loop of it, is marked as one task by then.
    """
    for loop in outermost_parallel(function):
        yield from _nests_from(loop)


def _nests_from(loop: scf.ForOp) -> Iterator[list[scf.ForOp]]:
    nest = perfect_nest(loop)
    yield nest
    if not any(WHOLE in member.attributes for member in nest):
        for inner in parallel_inside(nest[-1]):
            yield from _nests_from(inner)


def perfect_nest(loop: scf.ForOp) -> list[scf.ForOp]:
    """`loop` and the parallel loops that are, one in the other, all its body does."""
    nest = [loop]
    while True:
        body = [op for op in nest[-1].body.block.ops if not isinstance(op, MOVABLE)]
        if len(body) != 2 or not is_parallel(inner := body[0]):
            return nest
        nest.append(inner)


def obstacle(nest: list[scf.ForOp], groups: Sequence[Group]) -> str | None:
    """Why a nest whose body is these groups cannot become a grid; None if it can."""
    if len(groups) != 1:
        return f"its body holds {counted(len(groups), 'group')}"
    group = groups[0]
    if group.unit == "index":
        return "its body holds an indexing op"
    members = set(group.ops)
    for op in nest[-1].body.block.ops:
        if op not in members and not isinstance(op, (*MOVABLE, scf.YieldOp)):
            return f"its body holds '{op.name}'"
    return (
        carried_obstacle(nest, group)
        or bound_obstacle(nest)
        or operand_obstacle(nest[0], group)
    )


def carried_obstacle(nest: list[scf.ForOp], group: Group) -> str | None:
    """Everything carried must be assembled into by the group, once, and handed on."""
    for depth, loop in enumerate(nest):
        end = loop.body.block.ops.last
        assert end is not None
        for argument, value in zip(loop.body.block.args[1:], end.operands, strict=True):
            assert isinstance(value, OpResult)
            if depth + 1 < len(nest):
                inner = nest[depth + 1]
                good = value.op is inner and inner.iter_args[value.index] is argument
            else:
                good = isinstance(value.op, AssembleOp) and value.op.dest is argument
            if not good or not argument.has_one_use():
                return "it carries more than its destinations"
    outputs = group.outputs
    if any(not isinstance(output.owner, AssembleOp) for output in outputs):
        return "a value of the group is used outside of it"
    return None


def bound_obstacle(nest: list[scf.ForOp]) -> str | None:
    """The bounds of all loops must be known before the first one starts."""
    outer = nest[0]
    for loop in nest:
        for bound in (loop.lb, loop.ub, loop.step):
            if defined_in(bound, outer) and not is_constant(bound):
                return "a bound depends on an outer index"
    return None


def operand_obstacle(outer: scf.ForOp, group: Group) -> str | None:
    """Tensors must lie outside, scalars be known, sizes be bounded."""
    shapes = Shapes()
    for op in group.ops:
        for value in op.operands:
            if isinstance(value.type, TensorType):
                if is_made_inside(value, outer, group, shapes):
                    return "a tensor of the body is no window of an outer one"
            elif defined_in(value, outer) and not is_offset(value, op):
                return "a scalar operand is computed in the body"
        dims = iteration_dims(op, shapes)
        tiled = 3 if unit_of(op) == "cube" else 2
        for axis, dim in enumerate(dims):
            if not mentions(dim, outer):
                continue
            if static_bound(dim) is None:
                return "a size depends on the index and has no static bound"
            if axis < len(dims) - tiled:  # a grid axis, which has no empty tiles
                return "a leading size depends on the index"
    return None


def is_made_inside(
    value: SSAValue, outer: scf.ForOp, group: Group, shapes: Shapes
) -> bool:
    """Whether a tensor operand is neither the group's own nor a window from outside."""
    if isinstance(value, OpResult) and value.op in set(group.ops):
        return False
    if isinstance(value, OpResult) and isinstance(value.op, LEAVES):
        return False
    base = window_of(value, shapes).base
    destination = any(
        isinstance(op, AssembleOp) and op.dest is value for op in group.ops
    )
    return defined_in(base, outer) and not destination


def is_offset(value: SSAValue, op: Operation) -> bool:
    """Whether `value` only says where an assemble goes."""
    return isinstance(op, AssembleOp) and value in op.offsets


def mentions(expr: Expr, loop: scf.ForOp) -> bool:
    """Whether a symbol of `expr` is defined inside `loop`."""
    return any(defined_in(value, loop) for value in values_in(expr))
