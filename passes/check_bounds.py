"""
Every box lies inside its tensor and every pair of sizes agrees, or the run says why.

What an op owes (`obligations.py`) is proven from loop bounds, asserts and sizes
(`ranges.py`), or becomes a `pypto.assert` before the op:

    scf.for %i = %c0 to %m step %c16 {
      %n = pypto.index min(16, %m - %i)
      %v = pypto.view %a[%i +: %n, :]                 %m is dim %a, 0: proven
      %w = pypto.view %b[%first +: %n, :]             %first was read: not proven
    }

becomes

    scf.for %i = %c0 to %m step %c16 {
      %n = pypto.index min(16, %m - %i)
      %v = pypto.view %a[%i +: %n, :]
      pypto.assert 0 <= %first, "view of %b: rows start at {0}", %first
      %end = pypto.index %first + %n
      %rows = pypto.dim %b, 0
      pypto.assert %end <= %rows, "view of %b rows {0} +: {1} ends at {2}, ..."
      %w = pypto.view %b[%first +: %n, :]
    }

A stated bound becomes part of the size, where every later pass reads it off:

    %v = pypto.view %a[0 +: %n, :] {max = [64, 8]}
    ->
    pypto.assert %n <= 64, "dimension 0 is {0}, at most 64 (max)", %n
    %m = pypto.index min(%n, 64)
    %v = pypto.view %a[0 +: %m, :]

What can never hold is an error now, with the numbers. An assert stands right before
the op that needs it and is a fence: no pass moves a view over it. One of the author's
that is proven is dropped, since a fence keeps ops apart that could share a task.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.error_list import ErrorList
from pyptoc.dialects.expr import Compare, Expr, minimum
from pyptoc.dialects.npu_tasks import TasksOp
from pyptoc.dialects.pypto.scalars import AssertOp, DimOp
from pyptoc.dialects.pypto.shape import AssembleOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import ints
from pyptoc.passes.apart import Apart
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.builder import Builder
from pyptoc.passes.obligations import Obligation, obligations, root_name
from pyptoc.passes.ranges import Ranges
from pyptoc.passes.shapes import DimKey, Shapes


class CheckBoundsPass(PyptocPass):
    """Prove that boxes fit and iterations keep apart, or check it in the program."""

    name = "check-bounds"
    anchor: ClassVar[str] = "func.func"
    summary = "prove that boxes fit and iterations keep apart, or check it at run time"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        errors = ErrorList()
        for function in module.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                scope = _Scope(Ranges(Shapes()), {}, Apart(), errors)
                _check_block(function.body.block, scope)
        errors.check()


@record(frozen=False)
class _Scope:
    """What is known at one point: facts, and values that hold sizes."""

    ranges: Ranges
    sizes: dict[Hashable, SSAValue]
    apart: Apart
    errors: ErrorList

    def inner(self, ranges: Ranges) -> _Scope:
        """The scope of a block inside: what is found there stays there."""
        return _Scope(ranges, dict(self.sizes), self.apart, self.errors)


def _check_block(block: Block, scope: _Scope) -> None:
    """Check the ops of `block` in order; `scope` grows on the way."""
    ranges = scope.ranges
    for op in list(block.ops):
        if isinstance(op, TasksOp):
            continue  # what loads and stores is checked when it does
        with scope.errors.kept():
            for owed in obligations(op):
                _discharge(op, owed, scope)
        if isinstance(op, ViewOp):
            _limit(op)
        match op:
            case AssertOp():
                _author(op, ranges)
            case DimOp():
                scope.sizes.setdefault(DimKey(op.source, op.axis.value.data), op.result)
            case AssembleOp():
                scope.apart.note(op, ranges)
            case scf.ForOp():
                _check_block(op.body.block, scope.inner(ranges.enter_loop(op)))
                with scope.errors.kept():
                    scope.apart.close(op, ranges)
            case scf.IfOp():
                for inner in (block for r in op.regions for block in r.blocks):
                    _check_block(inner, scope.inner(ranges.enter_branch(op, inner)))
            case _:
                for inner in (block for r in op.regions for block in r.blocks):
                    _check_block(inner, scope.inner(ranges.fork()))


def _author(op: AssertOp, ranges: Ranges) -> None:
    """Drop an assert that always holds; what any other one says holds behind it."""
    if ranges.comparison(op).decide(ranges.facts):
        op.detach()
        op.erase()
    else:
        ranges.pass_assert(op)


def _limit(op: ViewOp) -> None:
    """Cut the dynamic sizes of a view at its stated bounds, which hold here."""
    limits = ints(op.max)
    if not limits:
        return
    del op.properties["max"]
    dropped = set(op.dropped_dims)
    sizes = (s for axis, s in enumerate(op.mixed_sizes) if axis not in dropped)
    new: dict[SSAValue, SSAValue] = {}
    for size, limit in zip(sizes, limits, strict=True):
        if isinstance(size, SSAValue):
            least = minimum(Expr.sym(size), Expr.const(limit))
            new[size] = Builder.before(op).index(least)
    first = len(op.operands) - len(op.sizes)
    for position, size in enumerate(list(op.sizes), first):
        if size in new:
            op.operands[position] = new[size]


def _discharge(op: Operation, owed: Obligation, scope: _Scope) -> None:
    """Prove `owed`, refuse the program, or assert it before `op`."""
    ranges = scope.ranges
    lhs, rhs = ranges.root(owed.lhs), ranges.root(owed.rhs)
    if ranges.is_le(lhs, rhs) and (owed.relation == "<=" or ranges.is_le(rhs, lhs)):
        return
    never = ranges.is_le(rhs + 1, lhs)
    never = never or (owed.relation == "==" and ranges.is_le(lhs + 1, rhs))
    if never and ranges.is_reachable:
        text = owed.message.format(*(_text(ranges.root(arg)) for arg in owed.args))
        help = owed.help.format(*(_text(ranges.root(arg)) for arg in owed.args))
        error(op, owed.code, text, length=len(op.name), help=help)
    build = Builder.before(op)
    build.known = scope.sizes
    condition = Compare(owed.relation, owed.lhs, owed.rhs)
    build.require(condition, owed.message, owed.args, owed.code, owed.help)
    ranges.assume(Compare(owed.relation, lhs, rhs))


def _text(expr: Expr) -> str:
    """An expression in an error message."""
    return str(expr.value) if expr.is_const else expr.to_string(root_name)
