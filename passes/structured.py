"""
Which unit runs an op, and over which iteration space: `dialects/pypto/structure.py`
with the sizes that `shapes.py` knows.

Partition, infer-tiles and tile need no code for single ops. A vector task works on
rows: of the axes of an op only the last one may be folded or ordered, and the result
keeps it, with size 1 if it is folded. `decompose` brings ops into this form.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TypeVar

from xdsl.dialects import arith
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use

from pyptoc.dialects.npu_tasks import TasksOp
from pyptoc.dialects.pypto.shape import ArangeOp, FullOp
from pyptoc.dialects.pypto.structure import Kind, Monoid, Runs, Structure, Structured
from pyptoc.passes.shapes import Dims, Shapes, value_of
from pyptoc.passes.typed import constant

Op = TypeVar("Op", bound=Operation)

LEAVES = (FullOp, ArangeOp)
"""Ops of no tensor operand: every task that reads one makes its own tile of it."""

INSTRUCTIONS = {
    "cast": "cvt",
    "sum": "row_sum",
    "amax": "row_max",
    "amin": "row_max",
    "mul_groups": "mul",
}
"""Op names to those of the vector instructions that cost as much, where they differ."""


def identity(monoid: Monoid, element: Attribute) -> Attribute:
    """The monoid's identity as a constant of an element type."""
    return constant(monoid.identity, element)


def structure_of(op: Operation) -> Structure:
    """The structure of an op that has one."""
    assert isinstance(op, Structured)
    return op.structure()


def unit_of(op: Operation) -> str | None:
    """`cube`, `vector`, or `index` for indexing; None for what no task computes."""
    if not isinstance(op, Structured):
        return None
    structure = op.structure()
    if structure.runs is Runs.VECTOR and not by_rows(structure):
        return None
    if structure.runs is Runs.INDEX and Kind.FOLDED in structure.kinds[:-1]:
        return None
    return structure.runs.value


def by_rows(structure: Structure) -> bool:
    """Whether only the last axis is folded or ordered, and the result keeps it."""
    if structure.has(Kind.FOLDED) and structure.monoid is None:
        return False
    outer = structure.kinds[:-1]
    keeps = all(len(access.axes) >= structure.rank for access in structure.writes)
    return keeps and all(kind is Kind.INDEPENDENT for kind in outer)


def is_reduction(op: Operation) -> bool:
    """Whether `op` folds rows on the vector unit."""
    return fold_of(op) is not None


def fold_of(op: Operation) -> Monoid | None:
    """How `op` folds rows on the vector unit; None if it does not."""
    structure = structure_of(op)
    folds = structure.runs is Runs.VECTOR and structure.has(Kind.FOLDED)
    return structure.monoid if folds else None


def costed_as(op: Operation) -> str:
    """The vector instruction whose cost, as machines list it, `op` has."""
    name = op.name.partition(".")[2]
    return INSTRUCTIONS.get(name, name)


def is_scan(op: Operation) -> bool:
    """Whether `op` orders the elements of a row."""
    structure = structure_of(op)
    return structure.runs is Runs.VECTOR and structure.has(Kind.ORDERED)


def iteration_dims(op: Operation, shapes: Shapes) -> Dims:
    """The sizes of the axes of an op."""
    assert isinstance(op, Structured)
    return shapes.space(op)


def tensor_operands(op: Operation) -> list[SSAValue]:
    """The tensors an op reads boxes of (not an assemble's destination)."""
    return [access.value for access in structure_of(op).reads]


def carried_number(use: Use) -> int:
    """Which of the values that a loop carries it is given by a use of its operands.

    The first is 0; that of a bound or of the step is negative.
    """
    return use.index - 3


def enclosing(op: Operation, kind: type[Op]) -> Op | None:
    """The nearest operation of a kind around `op`."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, kind):
        parent = parent.parent_op()
    return parent


def outside_tasks(root: Operation) -> Iterator[Operation]:
    """`root` and all ops inside it, but for what is in the bodies of tasks."""
    yield root
    if isinstance(root, TasksOp):
        return
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                yield from outside_tasks(op)


def symbol_in(key: Hashable, op: Operation) -> bool:
    """Whether a symbol is a value, or the size of one, that `op` defines inside."""
    value = value_of(key)
    return value is not None and defined_in(value, op)


def defined_before(value: SSAValue, op: Operation) -> bool:
    """Whether `value` has its value where `op` stands."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    at = None if block is None else block.find_ancestor_op_in_block(op)
    if at is None:
        return False
    return isinstance(owner, Block) or owner.is_before_in_block(at)


def defined_in(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is defined inside a region of `op`."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    while block is not None:
        parent = block.parent_op()
        if parent is op:
            return True
        block = None if parent is None else parent.parent
    return False


def is_row_value(dims: Dims) -> bool:
    """Whether a tensor of these sizes has one element a row."""
    return not dims or is_one(dims, -1)


def is_constant(value: SSAValue) -> bool:
    """Whether `value` is an `arith.constant`."""
    return isinstance(value.owner, arith.ConstantOp)


def is_one(dims: Dims, axis: int) -> bool:
    """Whether a dimension is the static size 1."""
    return dims[axis].is_const and dims[axis].value == 1
