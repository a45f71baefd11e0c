"""
Asserts and claims in independent loops, checked in front of them.

An assert in a loop is a fence: the ops around it share no task. What it says often
follows from counters, sizes and what was read from tensors outside; then loops of
nothing but checks go first, and no task has to wait for one:

    scf.for %i = 0 to %m step 16 {                 scf.for %i = 0 to %m step 16 {
      %r = pypto.read %table[%i]                     %s = pypto.read %table[%i]
      pypto.assert %r < %n, ".."                     pypto.assert %s < %n, ".."
      %v = pypto.view %x[%r, :]            ->      }
      ..                                           scf.for %i = 0 to %m step 16 {
    } {npu.parallel}                                 %r = pypto.read %table[%i]
                                                     %v = pypto.view %x[%r, :]
                                                     .. } {npu.parallel}

So do claims, which check that iterations store apart. Inner loops and branches that
hold checks are repeated with them. A loop whose counter no check follows is asked only
whether it has a trip. Checks of what the loop computes or carries stay where they are,
and all others of that loop with them: the order in which they stand may matter.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import field

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.expr import Compare, Expr
from pyptoc.dialects.pypto.claims import ClaimOp
from pyptoc.dialects.pypto.scalars import AssertOp, IndexOp, ReadOp
from pyptoc.dialects.record import record
from pyptoc.passes.builder import Builder
from pyptoc.passes.shapes import Shapes, value_of
from pyptoc.passes.structured import defined_in
from pyptoc.passes.windows import read_place, window_of


class ComputedError(Exception):
    """An assert that follows what only the loop itself knows."""

    def __init__(self, op: Operation, what: str) -> None:
        super().__init__(what)
        self.op = op


def hoist_asserts(ctx: PyptocContext, loop: scf.ForOp) -> None:
    """Move the asserts in `loop`, then the claims, in front of it, or say why not."""
    for kind in (AssertOp, ClaimOp):
        found = [op for op in loop.walk() if isinstance(op, kind)]
        if not found:
            continue
        checks = Checks(loop)
        try:
            for op in found:
                checks.note(op)
        except ComputedError as computed:
            text = f"it is checked in each trip of the loop: it follows {computed}"
            ctx.remark(computed.op, text, "PTO332")
            return
        checks.copy(loop, Builder.before(loop))
        for op in found:
            op.detach()
            op.erase()


@record(frozen=False)
class Checks:
    """What the asserts in a loop need, and its copy."""

    loop: scf.ForOp
    shapes: Shapes = field(default_factory=Shapes)
    needed: set[Operation] = field(default_factory=set[Operation])
    """The asserts, the loops and branches around them, and reads that they follow."""
    values: dict[Hashable, Expr | int] = field(
        default_factory=dict[Hashable, Expr | int]
    )
    """What counters and reads of the loop are in the copy."""

    # -- what is needed

    def note(self, op: AssertOp | ClaimOp) -> None:
        """Note a check; `ComputedError` if it cannot stand in front of the loop."""
        self._note(op, op)

    def _note(self, op: Operation, origin: Operation) -> None:
        if op in self.needed:
            return
        self.needed.add(op)
        for expr in self._follows(op, origin):
            for key in expr.symbols():
                self._root(key, origin)
        outer = op.parent_op()
        if op is not self.loop and outer is not None:
            self._note(outer, origin)

    def _follows(self, op: Operation, origin: Operation) -> Iterator[Expr]:
        match op:
            case AssertOp():
                yield from map(self.shapes.expr, (*op.inputs, *op.values))
            case ClaimOp():
                if defined_in(op.claims, self.loop):
                    raise ComputedError(origin, "what this loop alone claims")
                yield self.shapes.expr(op.iteration)
                yield from map(self.shapes.mixed, op.mixed_offsets)
                yield from map(self.shapes.mixed, op.mixed_sizes)
            case scf.ForOp():
                yield from map(self.shapes.expr, (op.lb, op.ub, op.step))
            case ReadOp():
                yield from read_place(op, self.shapes)[1]
            case scf.IfOp():
                comparison = op.cond.owner
                if isinstance(comparison, IndexOp):
                    yield from map(self.shapes.expr, comparison.inputs)
                elif defined_in(op.cond, self.loop):
                    raise ComputedError(
                        origin, "a condition that is computed from data"
                    )
            case _:
                raise ComputedError(origin, f"what '{op.name}' does")

    def _root(self, key: Hashable, origin: Operation) -> None:
        value = value_of(key)
        if value is None or not defined_in(value, self.loop):
            return
        if isinstance(value, BlockArgument) and value.index == 0:
            return
        name = value.name_hint
        if isinstance(value.owner, ReadOp) and value is key:
            base = window_of(value.owner.source, self.shapes).base
            if not defined_in(base, self.loop):
                self._note(value.owner, origin)
                return
        raise ComputedError(origin, f"%{name}" if name else "what the loop computes")

    # -- the copy

    def copy(self, op: Operation, build: Builder) -> None:
        """Emit what `op` checks."""
        build.location = op.location
        match op:
            case AssertOp():
                self._assert(op, build)
            case ClaimOp():
                self._claim(op, build)
            case ReadOp():
                base, offsets = read_place(op, self.shapes)
                place = [build.index_or_int(self._here(e)) for e in offsets]
                new = ReadOp.make(base, place, result_type=op.result.type)
                made = build.value(new, op.result.name_hint)
                self.values[op.result] = Expr.sym(made)
            case scf.ForOp():
                self._loop(op, build)
            case scf.IfOp():
                self._branch(op, build)
            case _:
                raise AssertionError(op.name)

    def _block(self, block: Block, build: Builder) -> None:
        for op in block.ops:
            if op in self.needed:
                self.copy(op, build)
        build.yield_()

    def _here(self, expr: Expr) -> Expr:
        return expr.subs(self.values)

    def _compare(self, op: AssertOp | IndexOp) -> Compare:
        comparison = op.value_expr
        assert isinstance(comparison, Compare)
        known: dict[Hashable, Expr | int] = {
            value: self._here(self.shapes.expr(value)) for value in op.inputs
        }
        return comparison.subs(known)

    def _assert(self, op: AssertOp, build: Builder) -> None:
        comparison = self._compare(op)
        shown = [self._here(self.shapes.expr(value)) for value in op.values]
        if not shown:
            shown = [comparison.lhs, comparison.rhs]
        code = "PTO401" if op.code is None else op.code.data
        help = "" if op.help is None else op.help.data
        build.require(comparison, op.message.data, shown, code, help)

    def _claim(self, op: ClaimOp, build: Builder) -> None:
        iteration = build.index(self._here(self.shapes.expr(op.iteration)))
        offsets, sizes = (
            [build.index_or_int(self._here(self.shapes.mixed(item))) for item in items]
            for items in (op.mixed_offsets, op.mixed_sizes)
        )
        build.emit(ClaimOp.make(op.claims, iteration, offsets, sizes))

    def _loop(self, op: scf.ForOp, build: Builder) -> None:
        lower, upper, step = (
            self._here(self.shapes.expr(bound)) for bound in (op.lb, op.ub, op.step)
        )
        counter = op.body.block.args[0]
        new, inside = build.loop(lower, upper, step, name=counter.name_hint)
        self.values[counter] = Expr.sym(new.body.block.args[0])
        self._block(op.body.block, inside)
        if not new.body.block.args[0].uses:
            self._once(new, Compare("<", lower, upper))

    def _once(self, loop: scf.ForOp, some: Compare) -> None:
        """In the place of a loop, all of whose trips are alike, a branch."""
        inside = Block()
        for op in list(loop.body.block.ops):
            op.detach()
            inside.add_op(op)
        build = Builder.before(loop)
        branch = scf.IfOp(build.compare(some), [], Region(inside), Region())
        build.emit(branch)
        loop.detach()
        loop.erase()

    def _branch(self, op: scf.IfOp, build: Builder) -> None:
        condition: SSAValue = op.cond
        if isinstance(op.cond.owner, IndexOp):
            condition = build.compare(self._compare(op.cond.owner))
        then, other = (self._region(region, build) for region in op.regions)
        build.emit(scf.IfOp(condition, [], then, other))

    def _region(self, region: Region, build: Builder) -> Region:
        """What is checked in a branch; an else without checks is none."""
        block = Block()
        if region.blocks:
            self._block(region.block, build.at_end(block))
        is_else = region.parent is not None and region is region.parent.regions[1]
        return Region() if is_else and len(list(block.ops)) < 2 else Region(block)
