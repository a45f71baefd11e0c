"""
The iterations of a forall store to different elements: proven, refused or checked.

A forall's iterations are independent, so no two may store to one element. That holds
where along some dimension each iteration keeps to a stretch of its own:

    scf.for %i = %c0 to %m step %c16 iter_args(%o = %o0) {
      %n = pypto.index min(16, %m - %i)
      %r = pypto.assemble %t into %o[%i, 0]         rows i +: n, n <= 16: proven
      ..
    } {npu.parallel}

With offsets c * i + b + r the stretch of an iteration is c * step long; the box must
lie inside: 0 <= r and r + size <= c * step. Where two iterations certainly meet that is
an error now. Where data decides, the run checks it:

    %c = pypto.claims "o"[%m, 64]
    scf.for .. {
      pypto.claim %c at %i from[%first, 0] size[%n, 64]
      %r = pypto.assemble %t into %o[%first, 0]

Loops that `decompose` made are right by construction.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field
from itertools import product
from typing import cast

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, OpResult, SSAValue

from pyptoc.dialects.diagnostics import Note, error
from pyptoc.dialects.expr import ONE, Expr
from pyptoc.dialects.parallel import is_parallel
from pyptoc.dialects.pypto.claims import ClaimOp, ClaimsOp
from pyptoc.dialects.pypto.shape import AssembleOp
from pyptoc.dialects.record import record
from pyptoc.passes.builder import Builder
from pyptoc.passes.obligation import sizes_of
from pyptoc.passes.ranges import Ranges
from pyptoc.passes.shapes import DimKey, Dims
from pyptoc.passes.steps import FROM
from pyptoc.passes.structured import defined_in
from pyptoc.passes.typed import as_expr

CODE = "PTO406"


@record
class Stored:
    """A box that an iteration stores, over roots, and what is known there."""

    op: AssembleOp
    offsets: Dims
    sizes: Dims
    ranges: Ranges


@record(frozen=False)
class Apart:
    """Collects the stores of parallel loops, then decides loop by loop."""

    stores: dict[BlockArgument, list[Stored]] = field(
        default_factory=dict[BlockArgument, list[Stored]]
    )

    def note(self, op: AssembleOp, ranges: Ranges) -> None:
        """`op` stands where `ranges` hold."""
        destinations = list(destinations_of(op))
        if not destinations:
            return
        sizes = sizes_of(op.source)
        lead = len(op.mixed_offsets) - len(sizes)
        offsets = tuple(ranges.root(as_expr(offset)) for offset in op.mixed_offsets)
        extents = (*[ONE] * lead, *map(ranges.root, sizes))
        stored = Stored(op, offsets, extents, ranges)
        for argument in destinations:
            self.stores.setdefault(argument, []).append(stored)

    def close(self, loop: scf.ForOp, ranges: Ranges) -> None:
        """All stores of `loop` are known: prove, refuse or check."""
        for argument in loop.body.block.args[1:]:
            stores = self.stores.pop(argument, [])
            if not stores:
                continue
            index = Iteration(loop, ranges)
            if index.is_single or any(
                index.keeps_apart(stores, axis)
                for axis in range(len(stores[0].offsets))
            ):
                continue
            if ranges.is_reachable:
                index.refuse_overlap(stores, argument)
            claim(loop, argument, stores)


def destinations_of(op: AssembleOp) -> Iterator[BlockArgument]:
    """What the parallel loops around `op` carry of the tensor that it writes."""
    value: SSAValue | None = op.dest
    while value is not None:
        owner = value.owner
        if isinstance(value, BlockArgument):
            loop = cast(Block, owner).parent_op()
            if not isinstance(loop, scf.ForOp):
                return
            if is_parallel(loop) and FROM not in loop.attributes:
                yield value
            value = loop.iter_args[value.index - 1]
            continue
        assert isinstance(value, OpResult)
        match owner:
            case AssembleOp():
                value = owner.dest
            case scf.ForOp():
                value = owner.iter_args[value.index]
            case scf.IfOp():
                end = owner.true_region.block.last_op
                value = None if end is None else end.operands[value.index]
            case _:
                return


@record
class Iteration:
    """One loop whose iterations must keep apart."""

    loop: scf.ForOp
    ranges: Ranges

    @property
    def index(self) -> SSAValue:
        return self.loop.body.block.args[0]

    @property
    def bounds(self) -> tuple[Expr, Expr, Expr]:
        loop = self.loop
        lower, upper, step = map(self.ranges.expr, (loop.lb, loop.ub, loop.step))
        return lower, upper, step

    @property
    def is_single(self) -> bool:
        """Whether there is at most one iteration."""
        lower, upper, step = self.bounds
        return self.ranges.is_le(upper, lower + step)

    def is_fixed(self, expr: Expr) -> bool:
        """Whether `expr` is the same in all iterations."""
        return not any(
            defined_in(key.value if isinstance(key, DimKey) else key, self.loop)
            for key in cast("tuple[SSAValue | DimKey, ...]", expr.symbols())
        )

    def keeps_apart(self, stores: Sequence[Stored], axis: int) -> bool:
        """Whether each iteration keeps to its own stretch of dimension `axis`."""
        here: dict[Hashable, Expr | int] = {self.index: Expr.sym(self.index) + 1}
        rate = stores[0].offsets[axis].subs(here) - stores[0].offsets[axis]
        if not self.is_fixed(rate) or rate == Expr.const(0):
            return False
        _, _, step = self.bounds
        length = step * (-rate if rate.is_const and rate.value < 0 else rate)
        rests = [s.offsets[axis] - rate * Expr.sym(self.index) for s in stores]
        return any(
            all(
                stored.ranges.is_le(start, rest)
                and stored.ranges.is_le(rest + stored.sizes[axis], start + length)
                for stored, rest in zip(stores, rests, strict=True)
            )
            for start in map(self._fixed_part, rests)
        )

    def _fixed_part(self, expr: Expr) -> Expr:
        """`expr` without the terms that differ between iterations."""
        known: dict[Hashable, Expr | int] = {
            key: 0 for key in expr.symbols() if not self.is_fixed(Expr.sym(key))
        }
        return expr.subs(known) if known else expr

    def refuse_overlap(self, stores: Sequence[Stored], dest: BlockArgument) -> None:
        """An error where two iterations meet whatever the data is."""
        always = [s for s in stores if s.op.parent is self.loop.body.block]
        for (first, second), (one, other) in product(
            self._pairs(), product(always, always)
        ):
            boxes = [
                self._box(stored, value)
                for stored, value in ((one, first), (other, second))
            ]
            if None in boxes or not self._meet(*cast("list[tuple[Dims, Dims]]", boxes)):
                continue
            index = f"%{self.index.name_hint or 'i'}"
            offsets, sizes = cast("tuple[Dims, Dims]", boxes[1])
            shown = all(e.is_const for e in (*offsets, *sizes))
            box = [
                slice(lo.value, lo.value + size.value)
                for lo, size in zip(offsets, sizes, strict=True)
                if shown
            ]
            # Here, since it imports numpy, which compiling does without.
            from pyptoc.runtime.claims import conflict_text

            message, note = conflict_text(
                "forall",
                f"%{dest.name_hint or 'o'}",
                f"({index} = {first})",
                f"({index} = {second})",
                box,
            )
            notes = [Note(note)] if shown else []
            if one.op is not other.op:
                notes.append(Note("the other store is here", one.op.location))
            error(
                other.op,
                CODE,
                message,
                rule="iterations of a forall are independent",
                notes=notes,
                help="carry the tensor through a pypto.for if the last store counts",
            )

    def _pairs(self) -> list[tuple[int, int]]:
        """Pairs of iterations to look at: the first, the second and the last."""
        lower, upper, step = self.bounds
        if not (lower.is_const and step.is_const and step.value > 0):
            return []
        if not self.ranges.is_le(lower + step + 1, upper):
            return []
        values = [lower.value, lower.value + step.value]
        if upper.is_const:
            trips = (upper.value - lower.value - 1) // step.value
            values.append(lower.value + trips * step.value)
        distinct = list(dict.fromkeys(values))
        return [(a, b) for a in distinct for b in distinct if a < b]

    def _box(self, stored: Stored, value: int) -> tuple[Dims, Dims] | None:
        """The box in the iteration `value`, if no data decides."""
        here: dict[Hashable, Expr | int] = {self.index: value}
        offsets = tuple(offset.subs(here) for offset in stored.offsets)
        sizes = tuple(size.subs(here) for size in stored.sizes)
        known = all(map(self.is_fixed, (*offsets, *sizes)))
        return (offsets, sizes) if known else None

    def _meet(self, one: tuple[Dims, Dims], other: tuple[Dims, Dims]) -> bool:
        """Whether two boxes certainly have an element in common."""
        is_le = self.ranges.is_le
        return all(
            is_le(1, size)
            and is_le(1, size2)
            and is_le(lo + 1, lo2 + size2)
            and is_le(lo2 + 1, lo + size)
            for lo, size, lo2, size2 in zip(*one, *other, strict=True)
        )


def claim(loop: scf.ForOp, dest: BlockArgument, stores: Sequence[Stored]) -> None:
    """Check at run time that the iterations of `loop` keep apart."""
    initial = loop.iter_args[dest.index - 1]
    build = Builder.before(loop)
    sizes = [build.index_or_int(size) for size in sizes_of(initial)]
    claims = build.value(ClaimsOp.make(dest.name_hint or "o", sizes))
    for stored in stores:
        op = stored.op
        build = Builder.before(op)
        # In terms of roots: asked of the source, it would have to be in memory.
        extents = [build.index_or_int(size) for size in stored.sizes]
        index = loop.body.block.args[0]
        build.emit(ClaimOp.make(claims, index, op.mixed_offsets, extents))
