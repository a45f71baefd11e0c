"""
Leading axes that row-wise ops share become one axis of rows.

    %e = pypto.exp %x                          : tensor<?x8x32xf32>
    %m = pypto.amax %e axis -1 {keepdim}       : tensor<?x8x1xf32>
    %d = pypto.div %e, %m                      : tensor<?x8x32xf32>
    ->
    %0 = pypto.reshape %x[8 * %t, 32]          : tensor<?x32xf32>
    %1 = pypto.exp %0
    %2 = pypto.amax %1 axis -1 {keepdim}
    %3 = pypto.div %1, %2
    %d = pypto.reshape %3[%t, 8, 32]

A task has rows and columns; each further axis would be one of the grid, with a task for
each of its places. Ops that pass values to each other are changed together or not at
all, for a reshape between two of them would keep them from sharing a task: so not where
one of them reads a value of other leading sizes ([?, 1, 32]) or folds another axis, or
where a value comes from or goes to what needs the axes as they are (a product, a loop,
an assemble). Reshapes of whole tensors move nothing. A given tile keeps its size:
[4, 8, 32] becomes [32, 32].
"""

from __future__ import annotations

from dataclasses import field
from math import prod
from typing import ClassVar

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.expr import ONE, Expr
from pyptoc.dialects.pypto.attrs import VecTileAttr
from pyptoc.dialects.pypto.composite import MaskCausalOp
from pyptoc.dialects.pypto.scalars import DimOp
from pyptoc.dialects.pypto.shape import (
    ArangeOp,
    AssembleOp,
    ExpandOp,
    FullOp,
    ReshapeOp,
    ViewOp,
)
from pyptoc.dialects.pypto.structure import Access, Kind, Runs, Structured
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import DYNAMIC
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.builder import Builder
from pyptoc.passes.choices import vec_default
from pyptoc.passes.cleanup import erase_dead
from pyptoc.passes.groups import blocks_of
from pyptoc.passes.repeat import last_axis
from pyptoc.passes.shapes import Shapes, is_shaped
from pyptoc.passes.structured import LEAVES
from pyptoc.passes.tile_settings import nearest_tile
from pyptoc.passes.typed import element_type, shape_of, tensor_rank

PLACED = (MaskCausalOp, ExpandOp, AssembleOp, *LEAVES)
"""Ops whose offsets or sizes are those of single axes."""


class CollapseRowsPass(PyptocPass):
    """Two or more leading axes of row-wise ops as one."""

    name = "collapse-rows"
    anchor: ClassVar[str] = "func.func"
    summary = "leading axes that row-wise ops share become one"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        for function in module.ops:
            if isinstance(function, func.FuncOp):
                for block in blocks_of(function):
                    _collapse(block)
                erase_dead(function)


def _collapse(block: Block) -> None:
    shapes = Shapes()
    for chain in _chains(block, shapes):
        if chain.is_free():
            chain.rewrite()


@record
class Rows:
    """A row-wise op: its tensors have all of its leading axes, or none of them."""

    op: Operation
    lead: int
    """The number of its leading axes."""
    along: tuple[SSAValue, ...]
    """The tensors that lie along all of them."""


def _rows(op: Operation, shapes: Shapes) -> Rows | None:
    """`op` as one on rows of two or more leading axes; None where it is not."""
    if isinstance(op, ViewOp):
        return _of_columns(op, shapes)
    if not isinstance(op, Structured) or isinstance(op, PLACED):
        return None
    structure = op.structure()
    lead = len(structure.writes[0].axes) - 1
    if structure.runs is Runs.CUBE or lead < 2:
        return None
    if any(kind is not Kind.INDEPENDENT for kind in structure.kinds[:lead]):
        return None
    read = {access.value for access in structure.reads}
    if any(is_shaped(value) and value not in read for value in op.operands):
        return None  # what is changed in place
    along: list[SSAValue] = []
    for access in (*structure.reads, *structure.writes):
        if _lies_along(access, lead):
            along.append(access.value)
        elif access in structure.writes or not _is_broadcast(access):
            return None
    return Rows(op, lead, tuple(along))


def _lies_along(access: Access, lead: int) -> bool:
    """Whether a tensor has all of the leading axes, and one more at most."""
    return (
        access.offsets is None
        and access.axes[:lead] == tuple(range(lead))
        and len(access.axes) <= lead + 1
    )


def _is_broadcast(access: Access) -> bool:
    """Whether a tensor is the same in all rows."""
    return all(axis is None for axis in access.axes[:-1]) and access.axes[-1:] != (-1,)


def _of_columns(op: ViewOp, shapes: Shapes) -> Rows | None:
    """A view of some columns of all rows."""
    lead = tensor_rank(op.source) - 1
    if op.target is not None or op.dropped_dims or lead < 2:
        return None
    if any(shapes.mixed(lo) != Expr.const(0) for lo in op.mixed_offsets[:lead]):
        return None
    if shapes.dims(op.source)[:lead] != shapes.dims(op.result)[:lead]:
        return None
    return Rows(op, lead, (op.source, op.result))


def _chains(block: Block, shapes: Shapes) -> list[Chain]:
    """The row-wise ops of a block, those together that pass values to each other."""
    chain_of: dict[object, Chain] = {}
    chains: list[Chain] = []
    for op in block.ops:
        rows = _rows(op, shapes)
        if rows is None:
            continue
        joined = Chain(shapes, rows.lead)
        read = [chain_of[v.owner] for v in rows.along if v.owner in chain_of]
        for chain in {id(chain): chain for chain in read}.values():
            if chain.lead != rows.lead:
                continue  # the lengths of a top-k have one axis less
            joined.members |= chain.members
            chains.remove(chain)
        joined.members[op] = rows
        chains.append(joined)
        chain_of |= dict.fromkeys(joined.members, joined)
    return chains


def _has_surplus(rows: Rows) -> bool:
    """Whether an op has a tile of more sizes than dimensions."""
    tile = rows.op.attributes.get("tile")
    return isinstance(tile, VecTileAttr) and len(tile.sizes) > rows.lead + 1


@record(frozen=False, eq=False)
class Chain:
    """Row-wise ops of a block, in any order, that are changed together."""

    shapes: Shapes
    lead: int
    """The number of leading axes of all of them."""
    members: dict[Operation, Rows] = field(default_factory=dict[Operation, Rows])
    collapsed: dict[SSAValue, SSAValue] = field(
        default_factory=dict[SSAValue, SSAValue]
    )

    def is_free(self) -> bool:
        """Whether all that it reads and leaves may be reshaped for nothing."""
        if all(isinstance(op, ViewOp) for op in self.members):
            return False
        if any(_has_surplus(rows) for rows in self.members.values()):
            return False  # infer-tiles says so, of the op as it was written
        return all(
            self._may_be_read(value) and self._may_be_left(value)
            for rows in self.members.values()
            for value in rows.along
        )

    def _may_be_read(self, value: SSAValue) -> bool:
        owner = value.owner
        if isinstance(value, BlockArgument):
            return isinstance(value.block.parent_op(), func.FuncOp)
        return owner in self.members or isinstance(owner, (ReshapeOp, *LEAVES))

    def _may_be_left(self, value: SSAValue) -> bool:
        if value.owner not in self.members:
            return True
        return all(
            use.operation in self.members
            or isinstance(use.operation, ReshapeOp | DimOp | func.ReturnOp)
            for use in value.uses
        )

    def rewrite(self) -> None:
        """Put the ops on one axis of rows in the place of those of the chain."""
        block = next(iter(self.members)).parent
        assert block is not None
        members = [self.members[op] for op in block.ops if op in self.members]
        for rows in members:
            self._rewrite_op(rows)
        for rows in reversed(members):
            self._restore(rows)
            rows.op.detach()
            rows.op.erase()

    def _rewrite_op(self, rows: Rows) -> None:
        op, build = rows.op, Builder.before(rows.op)
        operands = [self._operand(value, rows, build) for value in op.operands]
        if isinstance(op, ViewOp):
            lo, size = (mixed[-1] for mixed in (op.mixed_offsets, op.mixed_sizes))
            columns = None if size is None else (lo, size)
            new: Operation = ViewOp.make(operands[0], [None, columns])
            new.attributes = dict(op.attributes)
        else:
            new = type(op).create(
                operands=operands,
                result_types=[self._type(result, rows.lead) for result in op.results],
                properties=last_axis(op),
                attributes=self._attributes(rows),
            )
        for old, result in zip(op.results, build.emit(new), strict=True):
            result.name_hint = old.name_hint
            self.collapsed[old] = result

    def _operand(self, value: SSAValue, rows: Rows, build: Builder) -> SSAValue:
        if not isinstance(value.type, TensorType):
            return value
        if value in rows.along:
            if value not in self.collapsed:
                self.collapsed[value] = self._read(value, rows.lead, build)
            return self.collapsed[value]
        if tensor_rank(value) <= 2:
            return value
        return build.reshaped(value, [ONE, self.shapes.dims(value)[-1]])

    def _read(self, value: SSAValue, lead: int, build: Builder) -> SSAValue:
        """A value from outside of the chain."""
        sizes, owner = self._sizes(value, lead), value.owner
        if not isinstance(owner, LEAVES):
            return build.reshaped(value, sizes)
        given = [build.index_or_int(size) for size in sizes]
        type_ = self._type(value, lead)
        if isinstance(owner, ArangeOp):
            return build.value(ArangeOp.make(given, result_type=type_))
        assert isinstance(owner, FullOp)
        full = FullOp.make(owner.fill, given, result_type=type_)
        return build.value(full, value.name_hint)

    def _restore(self, rows: Rows) -> None:
        """Give what is read outside of the chain its axes back."""
        for old in rows.op.results:
            if old.first_use is None:
                continue
            new = self.collapsed[old]
            assert isinstance(new.owner, Operation)
            build = Builder.after(new.owner)
            restored = build.reshaped(new, self.shapes.dims(old), old.type)
            restored.name_hint = old.name_hint
            old.replace_all_uses_with(restored)

    def _sizes(self, value: SSAValue, lead: int) -> list[Expr]:
        """All rows, and the columns if it has any."""
        dims = self.shapes.dims(value)
        return [prod(dims[:lead], start=ONE), *dims[lead:]]

    def _type(self, value: SSAValue, lead: int) -> TensorType[Attribute]:
        sizes = self._sizes(value, lead)
        shape = [size.value if size.is_const else DYNAMIC for size in sizes]
        return TensorType(element_type(value), shape)

    def _attributes(self, rows: Rows) -> dict[str, Attribute]:
        """Those of the op, with a tile of as many rows as it had places."""
        op, lead = rows.op, rows.lead
        attributes = dict(op.attributes)
        tile = nearest_tile(op, VecTileAttr, vec_default)
        if tile is not None:
            shape = shape_of(op.results[0].type)
            sizes = [1] * (lead + 1 - len(tile.sizes)) + list(tile.sizes)
            sizes = sizes[-(lead + 1) :]
            places = [
                size if dim == DYNAMIC else min(size, max(dim, 1))
                for size, dim in zip(sizes, shape[:lead])
            ]
            attributes["tile"] = VecTileAttr([prod(places), sizes[-1]])
        return attributes
