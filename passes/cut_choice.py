"""
Whether it pays to divide the columns of rows that are too few for the vector cores.

    %m = pypto.amax %x ; %s = pypto.quantize ..        2 rows of 400,000 elements

A group with reductions is cut at each of them in turn (`cut_rows.py`) if all launches
together take less than one with a task a row. A group that only reads row values has
its columns divided, the row values made again in each tile; those that are stored are
then made by a group of their own. Both are tried on a copy (`trial.py`): the times are
those of the groups that there would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, OpResult, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.pypto.attrs import VecTileAttr
from pyptoc.dialects.pypto.shape import AssembleOp
from pyptoc.dialects.record import record
from pyptoc.dialects.words import counted
from pyptoc.passes.choices import Choices, Sizes, given_sizes
from pyptoc.passes.compared import Compared
from pyptoc.passes.cut_rows import Cut, backward, copy_of
from pyptoc.passes.groups import CUT, PARTIAL, Domain, Group, domain_of
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import is_row_value, is_scan
from pyptoc.passes.tile_settings import TILE
from pyptoc.passes.trial import Trial

LEAST_COLUMNS = 512
"""Rows are not cut into shorter pieces."""
MOST_ROWS = 64
"""Rows of a tile that a task has at most."""

Parts = tuple[Sequence[Operation], Sequence[Operation]]
Times = list[float]
"""Seconds of each launch."""


@record(frozen=False)
class RowCuts:
    """Decides for one vector group."""

    choices: Choices
    group: Group
    force: bool = False
    """Whatever the model says of the time."""

    def __post_init__(self) -> None:
        domain = domain_of(self.group.ops, self.shapes)
        assert domain is not None
        self.cores = self.choices.machine.vector_cores
        self.domain, self.rows = domain, row_count(domain)
        self.given = given_sizes(self.group.ops, domain.rank)

    @property
    def context(self) -> PyptocContext:
        return self.choices.context

    @property
    def shapes(self) -> Shapes:
        return self.choices.shapes

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
        with Trial(self.group.ops) as trial:
            compared = Compared(self._stepwise(trial.ops), [self._as_it_is()])
        if not compared.pays and not self.force:
            self._refuse(str(compared))
            return None
        cut.apply(cut.kept(self.choices.machine, set()), self.width)
        do = "does" if self.rows == 1 else "do"
        text = (
            f"{counted(self.rows, 'row')} {do} not fill {self.cores} vector cores: "
            f"folded in column tiles of {self.width}, then together: {compared}"
        )
        self.context.remark(self.group.ops[0], text, "PTO322")
        return cut.first, cut.rest

    def _refuse(self, reason: str) -> None:
        text = f"rows are not cut into columns: {reason}"
        self.context.remark(self.group.ops[0], text, "PTO323")

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

    def _as_it_is(self) -> float:
        return group_time(self.choices, self.group.ops, self.given)

    def _stepwise(self, ops: Sequence[Operation]) -> Times:
        """Cut copies; a launch for each reduction, and what follows."""
        cut = Cut(ops, self.shapes)
        cut.apply(cut.kept(self.choices.machine, set()), self.width)
        first = group_time(self.choices, cut.first, self.given)
        return [first, *self._rest(cut.rest)]

    def _rest(self, ops: list[Operation]) -> Times:
        """What follows the first part, in the way that is fastest."""
        if not ops:
            return []
        whole = [group_time(self.choices, ops, self.given)]
        cut = Cut(ops, self.shapes)
        if cut.folds:
            parts = self._stepwise(ops) if cut.obstacle is None else whole
        elif self._is_divisible(ops):
            parts = self._divided(ops)
        else:
            return whole
        return min(whole, parts, key=sum)

    def _is_divisible(self, ops: Sequence[Operation]) -> bool:
        """Whether ops that fold nothing can have their columns divided."""
        domain = domain_of(ops, self.shapes)
        wide = domain is not None and domain.whole_rows and domain.columns.is_const
        return wide and self.columns > self.width and not any(map(is_scan, ops))

    def _divided(self, ops: list[Operation]) -> Times:
        """Copies with divided columns; the row values that are stored come first."""
        parts = self._divide(ops)
        return [group_time(self.choices, part, self.given) for part in parts if part]

    # -- groups that read row values

    def _spread(self) -> Parts | None:
        """Divide the columns; what is one a row is made in each tile."""
        ops = self.group.ops
        if not self.domain.columns.is_const or self.columns <= self.width:
            return None
        if any(map(is_scan, ops)):
            self._refuse("a scan needs whole rows")
            return None
        with Trial(ops) as trial:
            compared = Compared(self._divided(trial.ops), [self._as_it_is()])
        if not compared.pays and not self.force:
            self._refuse(str(compared))
            return None
        rows, wide = self._divide(ops)
        return (rows, wide) if rows else None

    def _divide(self, ops: list[Operation]) -> Parts:
        """What makes the row values that are stored, and the rest, marked as cut."""
        stored = [v for v in leaving(ops) if is_row_value(self.shapes.dims(v))]
        none: list[Operation] = []
        rows, wide = apart(ops, stored) if stored else (none, ops)
        for op in wide:
            op.attributes[CUT] = IntegerAttr(self.width, i64)
        return rows, wide


def group_time(
    choices: Choices, ops: Sequence[Operation], given: Sizes | None
) -> float:
    """The time of a vector group; behind it one knows in how many parts it stores."""
    candidate = choices.vector(Group(0, "vector", list(ops)), given)
    if candidate is None:
        return inf
    tile = candidate.tile
    for op in ops:
        if PARTIAL in op.attributes:
            op.attributes[TILE] = VecTileAttr([tile.rows, tile.columns])
    return candidate.cost.seconds


def leaving(ops: Sequence[Operation]) -> list[SSAValue]:
    """What `ops` store: assembled, or used outside."""
    group = Group(0, "vector", list(ops))
    return [
        value.op.source
        if isinstance(value, OpResult) and isinstance(value.op, AssembleOp)
        else value
        for value in group.outputs
    ]


def apart(ops: Sequence[Operation], stored: Sequence[SSAValue]) -> Parts:
    """What makes the row values that are stored, and the rest with copies of it."""
    ends = {
        op
        for op in ops
        if (op.source if isinstance(op, AssembleOp) else op.results[0]) in stored
    }
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


def row_count(domain: Domain) -> int | None:
    """The rows of a domain; None if they are known only at run time."""
    total = 1
    for size in (*domain.leading, *([] if domain.rows is None else [domain.rows])):
        if not size.is_const:
            return None
        total *= size.value
    return max(total, 1)
