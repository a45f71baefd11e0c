"""
The groups that `partition` forms, as later passes see them.

A group is a set of ops of one block that will share a task: on the ops themselves it
is written as `npu.group` (its number) and `npu.unit`. A vector group has a *domain*,
the space its tasks divide: leading dimensions, rows and columns. All values of the
group have the domain's leading and row sizes; their last size is the domain's columns
or 1 (a *row value*, such as a row's maximum).

    %m = pypto.amax %x axis -1 {keepdim}     domain of the group (M, N)
    %d = pypto.sub %x, %m                    %m is a row value, %d a full value

Marks on ops say what else was decided:

    npu.cut = N     the columns of the group are divided over the grid, into tiles of at
                    most N (0: of any size); its row values are made again in each
    npu.partial     on an assemble: each column tile stores its own row value
    npu.fold        on a reduction: of one such value a column tile, the row's
    npu.narrow      on an op of one row, or of one a leading index: each task makes it
                    again
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.npu_tasks import TasksOp
from pyptoc.dialects.pypto.shape import AssembleOp
from pyptoc.dialects.record import record
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.structured import (
    is_one,
    is_reduction,
    is_scan,
    iteration_dims,
    outside_tasks,
)

GROUP = "npu.group"
UNIT = "npu.unit"
CUT = "npu.cut"
PARTIAL = "npu.partial"
FOLD = "npu.fold"
NARROW = "npu.narrow"
MARKS = (GROUP, UNIT, CUT, FOLD, NARROW)
"""What says nothing any more once an op is in a task."""


@record(frozen=False)
class Group:
    """Ops of one block, in block order, that share a task on one unit."""

    number: int
    unit: str
    ops: list[Operation] = field(default_factory=list[Operation])
    views: list[Operation] = field(default_factory=list[Operation])
    """The views through which ops of the group read others, while it is formed."""

    @property
    def outputs(self) -> list[SSAValue]:
        """The results that ops outside the group use, in order."""
        members = set(self.ops)
        return [
            result
            for op in self.ops
            for result in op.results
            if any(use.operation not in members for use in result.uses)
        ]

    @property
    def inputs(self) -> list[SSAValue]:
        """The values from outside the group that its ops use, each once."""
        inside = {result for op in self.ops for result in op.results}
        found = (operand for op in self.ops for operand in op.operands)
        return [v for v in dict.fromkeys(found) if v not in inside]

    @property
    def tag(self) -> str:
        """The first tag among the ops, else what the first one came from."""
        for key in ("tag", "npu.from"):
            for op in self.ops:
                name = op.attributes.get(key)
                if isinstance(name, StringAttr):
                    return name.data
        return self.ops[0].name.partition(".")[2]

    def mark(self) -> None:
        """Write the group onto its ops."""
        number, unit = IntegerAttr(self.number, i64), StringAttr(self.unit)
        for op in self.ops:
            op.attributes[GROUP] = number
            op.attributes[UNIT] = unit

    def unmark(self) -> None:
        """Its ops belong to no group any more."""
        for op in self.ops:
            del op.attributes[GROUP]
            del op.attributes[UNIT]


def blocks_of(function: func.FuncOp) -> list[Block]:
    """The blocks of a function, outer ones first; tasks that it has are done with."""
    return [
        block
        for op in outside_tasks(function)
        if not isinstance(op, TasksOp)
        for region in op.regions
        for block in region.blocks
    ]


def groups_in(block: Block) -> list[Group]:
    """The groups of a block, in the order of their first ops."""
    found: dict[int, Group] = {}
    for op in block.ops:
        number = op.attributes.get(GROUP)
        unit = op.attributes.get(UNIT)
        if isinstance(number, IntegerAttr) and isinstance(unit, StringAttr):
            key = number.value.data
            found.setdefault(key, Group(key, unit.data)).ops.append(op)
    return list(found.values())


@record
class Domain:
    """The space that a vector group's tasks divide; rank 1 has no rows."""

    leading: Dims
    rows: Expr | None
    columns: Expr
    whole_rows: bool
    """Whether a task must own whole rows: something folds or outlives a row."""

    @property
    def rank(self) -> int:
        return len(self.leading) + (self.rows is not None) + 1


@record
class OpForm:
    """What the domain of a group depends on of one of its ops."""

    space: Dims
    narrow: bool
    is_cut: bool
    folds: bool
    """Whether it folds the columns of its group."""
    scans: bool
    outlives_row: bool
    """Whether it makes, or stores, one element a row."""

    @classmethod
    def of(cls, op: Operation, shapes: Shapes) -> OpForm:
        """As the op is now."""
        values = [op.source] if isinstance(op, AssembleOp) else op.results
        return cls(
            own_space(op, shapes),
            NARROW in op.attributes,
            CUT in op.attributes,
            is_row_fold(op),
            is_scan(op),
            any(is_one(shapes.dims(v) or (Expr.const(2),), -1) for v in values),
        )


def domain_of(ops: Sequence[Operation], shapes: Shapes) -> Domain | None:
    """The common domain of vector ops; None where there is none."""
    return common_domain([OpForm.of(op, shapes) for op in ops])


def common_domain(forms: Sequence[OpForm]) -> Domain | None:
    """The common domain of ops of these forms; None where there is none."""
    full = [form.space for form in forms if not form.narrow]
    outer = (full or [form.space for form in forms])[0][:-1]
    if any(space[:-1] != outer for space in full):
        return None
    wide = {form.space[-1] for form in forms if not is_one(form.space, -1)}
    if len(wide) > 1:
        return None
    columns = next(iter(wide), Expr.const(1))
    whole = any(form.folds or (bool(wide) and form.outlives_row) for form in forms)
    whole = whole and not any(form.is_cut for form in forms)
    whole = whole or any(form.scans for form in forms)
    return Domain(outer[:-1], outer[-1] if outer else None, columns, whole)


def own_space(op: Operation, shapes: Shapes) -> Dims:
    """The iteration space of `op`; a fold of partial row values has one column."""
    space = iteration_dims(op, shapes) or (Expr.const(1),)
    return (*space[:-1], Expr.const(1)) if FOLD in op.attributes else space


def is_row_fold(op: Operation) -> bool:
    """Whether `op` folds the columns of its group."""
    return is_reduction(op) and FOLD not in op.attributes


def folds_columns(op: Operation, shapes: Shapes) -> bool:
    """Whether `op` folds several columns of its group."""
    return is_row_fold(op) and not is_one(own_space(op, shapes), -1)


def column_bound(ops: Sequence[Operation]) -> int | None:
    """The widest column tile of a group whose columns are cut; None if they are not."""
    for op in ops:
        bound = op.attributes.get(CUT)
        if isinstance(bound, IntegerAttr):
            return bound.value.data
    return None


def has_scan(ops: Sequence[Operation]) -> bool:
    """Whether an op orders the elements of a row."""
    return any(map(is_scan, ops))
