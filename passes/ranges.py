"""
What is known of sizes and offsets at each point of a function.

Facts come from loop bounds, branch conditions, asserts that were passed, and sizes,
which are never negative:

    %m = pypto.dim %a, 0                        dim(a, 0) >= 0
    scf.for %i = %c0 to %m step %c16 {          0 <= i <= dim(a, 0) - 1
      %ok = pypto.index %n > 0
      scf.if %ok {                              n >= 1
        pypto.assert %n <= %m, "..."            n <= dim(a, 0), from here on

An expression is over the roots of `passes.shapes`. A counter that a loop carries, such
as the first row of a group, is known to stay non-negative where it starts so and
grows by what is known to be non-negative.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue

from pyptoc.dialects.expr import Compare, Expr, Facts, Interval, prove_le
from pyptoc.dialects.pypto.scalars import AssertOp, IndexOp
from pyptoc.passes.shapes import DimKey, Shapes

_SIZE = Interval(0, None)

_NEGATED = {"==": "ne", "ne": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Ranges:
    """Facts that hold at one point; `fork` where control flow branches."""

    def __init__(self, shapes: Shapes, facts: Facts | None = None) -> None:
        self.shapes = shapes
        self.facts = Facts() if facts is None else facts

    def fork(self) -> Ranges:
        """A copy to which more can be added."""
        return Ranges(self.shapes, self.facts.copy())

    def expr(self, item: int | SSAValue) -> Expr:
        """An entry of a mixed list as an expression whose sizes are known >= 0."""
        return self._note_sizes(self.shapes.mixed(item))

    def _note_sizes(self, expr: Expr) -> Expr:
        for key in expr.symbols():
            if isinstance(key, DimKey) and key not in self.facts:
                self.facts.assume_interval(key, _SIZE)
        return expr

    def root(self, expr: Expr) -> Expr:
        """`expr`, over values and sizes as they are written, over roots."""
        known = {key: self._root(key) for key in expr.symbols()}
        return self._note_sizes(expr.subs(known))

    def _root(self, key: Hashable) -> Expr:
        if isinstance(key, DimKey):
            return self.shapes.dims(key.value)[key.axis]
        return self.shapes.expr(cast("SSAValue", key))

    @property
    def is_reachable(self) -> bool:
        """Whether no two facts exclude each other, as in a branch never taken."""
        return not any(interval.is_empty for interval in self.facts.values())

    def is_le(self, a: Expr | int, b: Expr | int) -> bool:
        """Whether `a <= b` is proven here."""
        return prove_le(a, b, self.facts)

    def assume(self, comparison: Compare) -> None:
        """Add `comparison` over roots, as after an assert of it."""
        a, b = comparison.lhs, comparison.rhs
        match comparison.op:
            case "==":
                self.facts.assume_eq(a, b)
            case "<":
                self.facts.assume_le(a + 1, b)
            case "<=":
                self.facts.assume_le(a, b)
            case ">":
                self.facts.assume_le(b + 1, a)
            case ">=":
                self.facts.assume_le(b, a)
            case _:
                pass

    def pass_assert(self, op: AssertOp) -> None:
        """Add what holds after `op`."""
        self.assume(self.comparison(op))

    def comparison(self, op: AssertOp | IndexOp) -> Compare:
        """The comparison that an op holds, over roots."""
        comparison = op.value_expr
        assert isinstance(comparison, Compare)
        lhs, rhs = self.root(comparison.lhs), self.root(comparison.rhs)
        return Compare(comparison.op, lhs, rhs)

    def enter_loop(self, loop: scf.ForOp) -> Ranges:
        """The facts at the start of the body of `loop`."""
        inside = self.fork()
        lower, upper, step = map(self.expr, (loop.lb, loop.ub, loop.step))
        index = loop.body.block.args[0]
        inside.facts.assume_range(index, lower, last_index(lower, upper, step))
        inside.facts.assume_le(lower + 1, upper)
        for argument, initial in zip(
            loop.body.block.args[1:], loop.iter_args, strict=True
        ):
            if isinstance(argument.type, IndexType):
                self._carry(loop, argument, initial, inside)
        return inside

    def _carry(
        self, loop: scf.ForOp, argument: SSAValue, initial: SSAValue, inside: Ranges
    ) -> None:
        """Induction: `argument` >= 0 if it starts so and each iteration keeps it so."""
        if not self.is_le(0, self.expr(initial)):
            return
        trial = inside.fork()
        trial.facts.assume_interval(argument, _SIZE)
        body = loop.body.block
        for op in body.ops:
            if isinstance(op, AssertOp):
                trial.pass_assert(op)
        last = body.last_op
        assert isinstance(last, scf.YieldOp)
        position = body.args.index(argument) - 1
        if trial.is_le(0, trial.expr(last.arguments[position])):
            inside.facts.assume_interval(argument, _SIZE)
            self.facts.assume_interval(loop.results[position], _SIZE)

    def enter_branch(self, branch: scf.IfOp, block: Block) -> Ranges:
        """The facts at the start of the then or else block of `branch`."""
        inside = self.fork()
        condition = branch.cond.owner
        if not isinstance(condition, IndexOp):
            return inside
        comparison = self.comparison(condition)
        if block is not branch.true_region.block:
            negated = _NEGATED[comparison.op]
            comparison = Compare(negated, comparison.lhs, comparison.rhs)
        inside.assume(comparison)
        return inside


def last_index(lower: Expr, upper: Expr, step: Expr) -> Expr:
    """A bound of a loop's index: the last one where all is known."""
    if not (lower.is_const and upper.is_const and step.is_const and step.value > 0):
        return upper - 1
    return lower + (upper.value - 1 - lower.value) // step.value * step.value
