"""
Whether it pays to divide the columns of rows that are too few for the vector cores.

    %m = pypto.amax %x ; %s = pypto.quantize ..        2 rows of 400,000 elements

A group with reductions is cut at each of them in turn (`cut_rows.py`) if all launches
together take less than one with a task a row. A group that only reads row values has
its columns divided, the row values made again in each tile; those that are stored are
then made by a group of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, OpResult, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.pypto.shape import AssembleOp
from pyptoc.dialects.record import record
from pyptoc.passes.cut_rows import Cut, backward, copy_of
from pyptoc.passes.fusion_cost import FusionCosts, bits_of
from pyptoc.passes.groups import CUT, Domain, Group, domain_of
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import is_row_value, is_scan, tensor_operands

LEAST_COLUMNS = 512
"""Rows are not cut into shorter pieces."""
MOST_ROWS = 64
"""Rows of a tile that a task has at most."""

Parts = tuple[Sequence[Operation], Sequence[Operation]]


@record(frozen=False)
class RowCuts:
    """Decides for one vector group."""

    context: PyptocContext
    shapes: Shapes
    group: Group
    force: bool = False
    """Whatever the model says of the time."""

    def __post_init__(self) -> None:
        self.cores = self.context.machine.vector_cores
        self.costs = FusionCosts(self.context.machine)
        domain = domain_of(self.group.ops, self.shapes)
        assert domain is not None
        self.domain = domain
        self.rows = row_count(domain)

    def run(self) -> Parts | None:
        """Cut the group in two; None if it stays one, perhaps with divided columns."""
        if self.rows is None or not self.domain.whole_rows:
            return None
        if self.rows >= self.cores and not self.force:
            return None
        cut = Cut(self.group.ops, self.shapes)
        if not cut.folds:
            return self._spread()
        if cut.obstacle is not None:
            self._refuse(cut.obstacle)
            return None
        now = self._rowwise(self.group.ops)
        then = self._stepwise(cut)
        if then >= now and not self.force:
            self._refuse(self.costs.compared(now, then))
            return None
        cut.apply(cut.kept(self.costs, set()), self.width)
        text = (
            f"{self.rows} rows do not fill {self.cores} vector cores: they are folded "
            f"in column tiles of {self.width}, then together: "
            f"{self.costs.compared(now, then)}"
        )
        self.context.remark(self.group.ops[0], text)
        return cut.first, cut.rest

    def _refuse(self, reason: str) -> None:
        text = f"rows are not cut into columns: {reason}"
        self.context.remark(self.group.ops[0], text)

    # -- times

    @property
    def columns(self) -> int:
        """The elements of a row."""
        return self.domain.columns.value

    @property
    def width(self) -> int:
        """Columns of a tile such that there is one for each core."""
        assert self.rows is not None
        tiles = max(self.cores // -(-self.rows // MOST_ROWS), 1)
        width = -(-self.columns // tiles)
        return max(-(-width // LEAST_COLUMNS), 1) * LEAST_COLUMNS

    def _rowwise(self, ops: Sequence[Operation]) -> float:
        """A launch with a task a row, which goes over it once for each reduction."""
        assert self.rows is not None
        cut, passes = Cut(ops, self.shapes), 1
        while cut.folds:
            cut, passes = Cut(cut.rest, self.shapes), passes + 1
        return self._time(ops, self.rows, self.columns, passes)

    def _tiled(self, ops: Sequence[Operation]) -> float:
        """A launch with a task a column tile."""
        assert self.rows is not None
        tiles = -(-self.columns // self.width)
        return self._time(ops, tiles, min(self.rows, MOST_ROWS) * self.width, 1)

    def _stepwise(self, cut: Cut) -> float:
        """A launch for each reduction, and what follows; waiting included."""
        total = self._tiled(cut.first) + self.costs.launch
        rest = Cut(cut.rest, self.shapes)
        if rest.folds:
            return total + min(self._stepwise(rest), self._rowwise(cut.rest))
        if not any(map(self._is_wide, results_of(cut.rest))):
            return total
        stored = any(not self._is_wide(value) for value in self._leaving(cut.rest))
        return total + self._tiled(cut.rest) + stored * self.costs.launch

    def _time(
        self, ops: Sequence[Operation], tasks: int, size: int, passes: int
    ) -> float:
        """The modelled time of a launch of `tasks` of `size` elements."""
        members = set(ops)
        read = {v for op in ops for v in tensor_operands(op)}
        loads = [v for v in read if v.owner not in members and self._is_wide(v)]
        stores = [v for v in self._leaving(ops) if self._is_wide(v)]
        work = self.costs.computed(ops) * passes
        return self.costs.elements(
            tasks, size, work, bits_of(loads) * passes, bits_of(stores)
        )

    def _is_wide(self, value: SSAValue) -> bool:
        return not is_row_value(self.shapes.dims(value))

    def _leaving(self, ops: Sequence[Operation]) -> list[SSAValue]:
        """What `ops` store: assembled, or used outside."""
        group = Group(0, "vector", list(ops))
        return [
            value.op.source
            if isinstance(value, OpResult) and isinstance(value.op, AssembleOp)
            else value
            for value in group.outputs
        ]

    # -- groups that read row values

    def _spread(self) -> Parts | None:
        """Divide the columns; what is one a row is made in each tile."""
        ops = self.group.ops
        if not self.domain.columns.is_const or self.columns <= self.width:
            return None
        if any(map(is_scan, ops)):
            self._refuse("a scan needs whole rows")
            return None
        stored = [v for v in self._leaving(ops) if not self._is_wide(v)]
        now = self._rowwise(ops)
        then = self._tiled(ops) + bool(stored) * self.costs.launch
        if then >= now and not self.force:
            self._refuse(self.costs.compared(now, then))
            return None
        parts = self._apart(stored) if stored else None
        for op in ops if parts is None else parts[1]:
            op.attributes[CUT] = IntegerAttr(self.width, i64)
        return parts

    def _apart(self, stored: Sequence[SSAValue]) -> Parts:
        """What makes the row values that are stored, and the rest with copies of it."""
        ops = self.group.ops
        leaving = set(stored)
        ends = [
            op
            for op in ops
            if (op.source if isinstance(op, AssembleOp) else op.results[0]) in leaving
        ]
        taken = set(backward(ends, set(ops)))
        rows = [op for op in ops if op in taken]
        wide = [op for op in ops if op not in taken]
        needed = set(backward(wide, set(ops))) & taken
        copies: dict[SSAValue, SSAValue] = {}
        made: list[Operation] = []
        for op in [op for op in rows if op in needed]:
            made.append(copy_of(op, copies))
        for op in wide:
            op.operands = [copies.get(value, value) for value in op.operands]
        return rows, [*made, *wide]


def results_of(ops: Sequence[Operation]) -> list[SSAValue]:
    """What `ops` compute."""
    return [result for op in ops for result in op.results]


def row_count(domain: Domain) -> int | None:
    """The rows of a domain; None if they are known only at run time."""
    total = 1
    for size in (*domain.leading, *([] if domain.rows is None else [domain.rows])):
        if not size.is_const:
            return None
        total *= size.value
    return max(total, 1)
