"""
Groups that fold rows are cut at the reduction where that pays.

    %e = pypto.exp %x                                          [M, N], one group
    %m = pypto.amax %e axis -1 {keepdim}
    %d = pypto.div %e, %m
    ->
    %e = pypto.exp %x                     {npu.cut = 512}      the first group
    %r = pypto.amax %e axis -1 {keepdim,   npu.cut = 512}
    %p = pypto.assemble %r into %p0[0, 0] {npu.cut = 512, npu.partial}

    %m = pypto.amax %p axis -1 {keepdim,   npu.fold}           the second group
    %d = pypto.div %e, %m

The columns of the first group are divided over the grid: each tile stores its part of
the row value (`partials.py`), which the second group folds in a fixed order. It pays
where rows are too few to fill the vector cores, and where the first group can read a
product on chip, tile by tile. What the second group needs of the first goes through
memory, in its narrowest form, or is computed again, whichever is cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Operation, OpResult, SSAValue

from pyptoc.dialects.pypto.elementwise import CastOp
from pyptoc.dialects.pypto.reduce import ReductionOp
from pyptoc.dialects.pypto.shape import AssembleOp, EmptyOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_types import element_bits
from pyptoc.passes.builder import Builder
from pyptoc.passes.groups import CUT, FOLD, NARROW, PARTIAL, folds_columns
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import costed_as, is_one, is_scan, tensor_operands
from pyptoc.passes.typed import element_type
from pyptoc.passes.vector_cost import element_cycles
from pyptoc.runtime.machine import Machine


@record(frozen=False)
class Cut:
    """The ops of a group before and behind its first reductions."""

    ops: Sequence[Operation]
    shapes: Shapes
    first: list[Operation] = field(default_factory=list[Operation])
    rest: list[Operation] = field(default_factory=list[Operation])

    def __post_init__(self) -> None:
        levels = self._levels()
        members = set(self.ops)
        self.folds = [
            op for op in self.ops if folds_columns(op, self.shapes) and not levels[op]
        ]
        ends = [
            op
            for op in self.ops
            if not levels[op]
            and (op in self.folds or (self._leaves(op, members) and self._is_wide(op)))
        ]
        first = set(backward(ends, members))
        self.first = [op for op in self.ops if op in first]
        self.rest = [op for op in self.ops if op not in first]

    def _levels(self) -> dict[Operation, int]:
        """How many reductions lie before each op."""
        levels: dict[Operation, int] = {}
        for op in self.ops:
            before = [
                levels[value.op] + folds_columns(value.op, self.shapes)
                for value in tensor_operands(op)
                if isinstance(value, OpResult) and value.op in levels
            ]
            levels[op] = max(before, default=0)
        return levels

    def _leaves(self, op: Operation, members: set[Operation]) -> bool:
        return isinstance(op, AssembleOp) or any(
            use.operation not in members for use in op.results[0].uses
        )

    def _is_wide(self, op: Operation) -> bool:
        """Whether an op works on more than one element a row."""
        value = op.source if isinstance(op, AssembleOp) else op.results[0]
        dims = self.shapes.dims(value)
        return not dims or not is_one(dims, -1)

    @property
    def obstacle(self) -> str | None:
        """Why the group cannot be cut; None if it can."""
        if not self.folds:
            return "it folds no row"
        if any(map(is_scan, self.first)):
            return "a scan needs whole rows"
        columns = {self.shapes.dims(op.operands[0])[-1] for op in self.folds}
        if not all(size.is_const for size in columns):
            return "how many columns there are is known only at run time"
        if any(size.value == 0 for size in columns):
            return "there is no column, so no tile would store a part"
        return None

    @property
    def crossing(self) -> list[SSAValue]:
        """What the rest and what lies outside need of the first ops but for folded rows
        and for wide values that leave the group, which are stored in any case."""
        first = set(self.first) - set(self.folds)
        read = {value for op in self.rest for value in tensor_operands(op)}
        members = set(self.ops)
        return [
            op.results[0]
            for op in self.first
            if op in first
            and (
                op.results[0] in read
                or (self._leaves(op, members) and not self._is_wide(op))
            )
        ]

    def kept(
        self, machine: Machine, on_chip: set[SSAValue]
    ) -> dict[SSAValue, SSAValue]:
        """
        What to store of the first ops for each value that the rest reads.

        A value maps to itself, to the narrower one that it is a cast of, or is left
        out: it is computed again from what lies in memory (not `on_chip`).
        """
        members = set(self.first)
        stored: dict[SSAValue, SSAValue] = {}
        for value in self.crossing:
            op = value.owner
            assert isinstance(op, Operation)
            if NARROW in op.attributes or not self._is_wide(op):
                continue
            if any(u.operation not in set(self.ops) for u in value.uses):
                stored[value] = value
                continue
            cheapest = self._cheapest(value, machine, members)
            again = self._again(value, machine, members, on_chip)
            if again is None or cheapest[0] <= again:
                stored[value] = cheapest[1]
        return stored

    def _cheapest(
        self, value: SSAValue, machine: Machine, members: set[Operation]
    ) -> tuple[float, SSAValue]:
        """The cycles an element costs that is stored, and which value to store."""
        best: tuple[float, SSAValue] | None = None
        steps: list[Operation] = []
        at = value
        while True:
            size = bytes_of_element(at)
            cycles = element_cycles(machine, size, size, self._costed(steps))
            if best is None or cycles < best[0]:
                best = (cycles, at)
            op = at.owner
            if not isinstance(op, CastOp) or op.operands[0].owner not in members:
                return best
            steps.append(op)
            at = op.operands[0]

    def _again(
        self,
        value: SSAValue,
        machine: Machine,
        members: set[Operation],
        on_chip: set[SSAValue],
    ) -> float | None:
        """The cycles that an element costs that is computed again; None: it cannot."""
        assert isinstance(value.owner, Operation)
        ops = backward([value.owner], members)
        read = {v for op in ops for v in tensor_operands(op)}
        loads = {v for v in read if v.owner not in members}
        if loads & on_chip:
            return None
        wide = [
            v
            for v in loads
            if len(dims := self.shapes.dims(v)) > 1 and not is_one(dims, -1)
        ]
        loaded = sum(map(bytes_of_element, wide))
        return element_cycles(machine, loaded, 0, self._costed(ops))

    def _costed(self, ops: Iterable[Operation]) -> list[tuple[str, float]]:
        """The instruction of each op, and the bytes of the widest element of it."""
        return [
            (
                costed_as(op),
                max(map(bytes_of_element, (*tensor_operands(op), *op.results))),
            )
            for op in ops
        ]

    # -- the rewrite

    def apply(self, stored: dict[SSAValue, SSAValue], bound: int) -> None:
        """Cut; the columns of the first group's tiles are at most `bound` (0: any)."""
        self._repeat({v for v in self.crossing if stored.get(v) is not v}, stored)
        for op in self.folds:
            self._store_part(op)
        for op in self.first:
            op.attributes[CUT] = IntegerAttr(bound, i64)

    def _repeat(self, values: set[SSAValue], stored: dict[SSAValue, SSAValue]) -> None:
        """Compute `values` again for the rest, from what is stored and the inputs."""
        ends = {value.owner for value in stored.values()}
        members = {op for op in self.first if op not in ends}
        owners = [v.owner for v in values if isinstance(v.owner, Operation)]
        again = set(backward(owners, members))
        first = set(self.first)
        copies: dict[SSAValue, SSAValue] = {}
        repeated = [copy_of(op, copies) for op in self.first if op in again]
        for value in values:
            for use in list(value.uses):
                if use.operation not in first and use.operation not in repeated:
                    use.operation.operands[use.index] = copies[value]
        self.rest += repeated

    def _store_part(self, op: Operation) -> None:
        """Store the reduction as a part of the row's; the rest folds the parts."""
        assert isinstance(op, ReductionOp)
        build = Builder.after(op)
        result = op.result
        uses = list(result.uses)
        sizes = [build.index_or_int(size) for size in self.shapes.dims(result)]
        empty = build.value(EmptyOp.make(sizes, result_type=element_type(result)))
        store = AssembleOp.make(result, empty, [0] * len(sizes))
        store.attributes[PARTIAL] = UnitAttr()
        parts = build.value(store)
        fold = type(op).make(parts, -1, keepdim=True)
        fold.attributes.update(op.attributes)
        fold.attributes[FOLD] = UnitAttr()
        whole = build.value(fold, result.name_hint)
        for use in uses:
            use.operation.operands[use.index] = whole
        self.first.append(store)
        self.rest.append(fold)


def bytes_of_element(value: SSAValue) -> float:
    """What one element of a value takes in memory."""
    return element_bits(element_type(value)) / 8


def copy_of(op: Operation, copies: dict[SSAValue, SSAValue]) -> Operation:
    """A copy of `op` behind it, on `copies` of its operands; they get its results."""
    copy = op.clone(value_mapper=copies)
    copy.location = op.location
    block = op.parent
    assert block is not None
    block.insert_op_after(copy, op)
    copies.update(zip(op.results, copy.results, strict=True))
    return copy


def backward(ends: Iterable[Operation], members: set[Operation]) -> list[Operation]:
    """The members that `ends` need, themselves included."""
    found: dict[Operation, None] = {}
    stack = list(ends)
    while stack:
        op = stack.pop()
        if op in found or op not in members:
            continue
        found[op] = None
        stack += [v.op for v in op.operands if isinstance(v, OpResult)]
    return list(found)
