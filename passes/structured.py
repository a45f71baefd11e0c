"""
Which unit runs an op, over which iteration space, and how partial results combine.

One view of every op that tasks are made of, so that partition, infer-tiles and tile
need no code for single ops:

* *elementwise*: each result element depends on one element of each operand
  (right-aligned broadcast of sizes of 1);
* *row reduction*: the last axis is folded by a monoid, its size becomes 1;
* *row scan*: the last axis is ordered, its size stays;
* *assemble*: the identity into a larger tensor, at offsets;
* *contraction*: matmul and its kin, on the cube unit;
* *indexing*: places come from data (`index_shapes.py`); a task of its own, on vector
  cores.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from pyptoc.dialects.pypto.composite import MaskCausalOp
from pyptoc.dialects.pypto.elementwise import CastOp, ElementwiseOp
from pyptoc.dialects.pypto.indexing import TopkOp
from pyptoc.dialects.pypto.matmul import MatmulOp, ScaledMmOp
from pyptoc.dialects.pypto.reduce import (
    AmaxOp,
    AminOp,
    CumsumOp,
    ProdOp,
    ReductionOp,
    SumOp,
)
from pyptoc.dialects.pypto.shape import (
    ArangeOp,
    AssembleOp,
    CloneOp,
    ExpandOp,
    FullOp,
)
from pyptoc.passes.index_shapes import INDEXING
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.typed import constant, tensor_type

Op = TypeVar("Op", bound=Operation)


@dataclass(frozen=True)
class Monoid:
    """How partial results of a reduction combine, and what an empty one is."""

    combine: str
    identity: float


MONOIDS: dict[type[Operation], Monoid] = {
    SumOp: Monoid("add", 0),
    AmaxOp: Monoid("maximum", -inf),
    AminOp: Monoid("minimum", inf),
    ProdOp: Monoid("mul", 1),
}
"""The reductions that can be cut: partial results combine by an elementwise op."""

CONTRACTIONS = (MatmulOp, ScaledMmOp)
"""The ops of the cube unit."""

LEAVES = (FullOp, ArangeOp)
"""Ops of no tensor operand: every task that reads one makes its own tile of it."""

VECTOR = (
    ArangeOp,
    ElementwiseOp,
    CastOp,
    CloneOp,
    ExpandOp,
    FullOp,
    MaskCausalOp,
    AssembleOp,
    CumsumOp,
    *MONOIDS,
)
"""The ops of the vector unit."""


def identity(monoid: Monoid, element: Attribute) -> Attribute:
    """The monoid's identity as a constant of an element type."""
    return constant(monoid.identity, element)


def unit_of(op: Operation) -> str | None:
    """`cube`, `vector`, or `index` for indexing; None for what no task computes."""
    if isinstance(op, CONTRACTIONS):
        return "cube"
    if isinstance(op, ReductionOp | CumsumOp) and not is_last_axis(op):
        return None
    if isinstance(op, VECTOR):
        return "vector"
    if isinstance(op, INDEXING):
        return "index" if not isinstance(op, TopkOp) or is_last_topk(op) else None
    return None


def is_last_topk(op: TopkOp) -> bool:
    """Whether the greatest elements are sought along the last axis."""
    rank = tensor_rank(op.source)
    return op.axis.value.data % max(rank, 1) == rank - 1


def is_last_axis(op: ReductionOp | CumsumOp) -> bool:
    """Whether a reduction or scan runs along the last axis and keeps its place."""
    rank = tensor_rank(op.source)
    last = op.axis.value.data % max(rank, 1) == rank - 1
    return last and (isinstance(op, CumsumOp) or op.keepdim is not None)


def is_reduction(op: Operation) -> bool:
    """Whether `op` folds its last axis."""
    return type(op) in MONOIDS


def tensor_rank(value: SSAValue) -> int:
    """The rank of a tensor value."""
    return tensor_type(value).get_num_dims()


def element_type(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return tensor_type(value).element_type


def iteration_dims(op: Operation, shapes: Shapes) -> Dims:
    """The sizes of the space that a vector op visits: one result or source element."""
    if is_reduction(op) or isinstance(op, AssembleOp | CumsumOp):
        return shapes.dims(op.operands[0])
    return shapes.dims(op.results[0])


def enclosing(op: Operation, kind: type[Op]) -> Op | None:
    """The nearest operation of a kind around `op`."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, kind):
        parent = parent.parent_op()
    return parent


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


def is_constant(value: SSAValue) -> bool:
    """Whether `value` is an `arith.constant`."""
    return isinstance(value.owner, arith.ConstantOp)


def is_one(dims: Dims, axis: int) -> bool:
    """Whether a dimension is the static size 1."""
    return dims[axis].is_const and dims[axis].value == 1


def tensor_operands(op: Operation) -> list[SSAValue]:
    """The tensors an op reads element by element (not an assemble's destination)."""
    operands = op.operands[:1] if isinstance(op, AssembleOp) else op.operands
    return [value for value in operands if isinstance(value.type, TensorType)]
