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

What can never hold is an error now, with the numbers. An assert stands right before
the op that needs it and is a fence: no pass moves a view over it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.expr import Compare, Expr, prove_lt
from pyptoc.dialects.pypto.scalars import AssertOp
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.builder import Builder
from pyptoc.passes.obligations import Obligation, obligations, root_name
from pyptoc.passes.ranges import Ranges
from pyptoc.passes.shapes import Shapes

CODE = "PTO402"


@dataclass(frozen=True)
class CheckBoundsPass(PyptocPass):
    """Prove that boxes and sizes fit, or assert it before the op."""

    name = "check-bounds"
    summary = "prove that boxes and sizes fit, or assert it at run time"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        for function in module.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                _check_block(function.body.block, Ranges(Shapes()))


def _check_block(block: Block, ranges: Ranges) -> None:
    """Check the ops of `block` in order; `ranges` grows as asserts are passed."""
    for op in list(block.ops):
        for owed in obligations(op, ranges):
            _discharge(op, owed, ranges)
        match op:
            case AssertOp():
                ranges.pass_assert(op)
            case scf.ForOp():
                _check_block(op.body.block, ranges.enter_loop(op))
            case scf.IfOp():
                for region in op.regions:
                    for inner in region.blocks:
                        _check_block(inner, ranges.enter_branch(op, inner))
            case _:
                for region in op.regions:
                    for inner in region.blocks:
                        _check_block(inner, ranges.fork())


def _discharge(op: Operation, owed: Obligation, ranges: Ranges) -> None:
    """Prove `owed`, refuse the program, or assert it before `op`."""
    proven = ranges.is_le(owed.lhs, owed.rhs)
    if owed.relation == "==":
        proven = proven and ranges.is_le(owed.rhs, owed.lhs)
    if proven:
        return
    if _never_holds(owed, ranges):
        text = owed.message.format(*(_text(arg) for arg in owed.args))
        error(op, CODE, text, length=len(op.name))
    comparison = Compare(owed.relation, owed.lhs, owed.rhs)
    Builder.before(op).require(comparison, owed.message, owed.args, CODE)
    ranges.assume(comparison)


def _never_holds(owed: Obligation, ranges: Ranges) -> bool:
    facts = ranges.facts
    if prove_lt(owed.rhs, owed.lhs, facts):
        return True
    return owed.relation == "==" and prove_lt(owed.lhs, owed.rhs, facts)


def _text(expr: Expr) -> str:
    """An expression in an error message."""
    return str(expr.value) if expr.is_const else expr.to_string(root_name)
