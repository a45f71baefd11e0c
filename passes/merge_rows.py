"""
Short rows of many matrices are the rows of one.

A task of a vector group takes rows of one matrix: of [n, 4, 128] only 4. Where all
values of a group lie side by side, in their leading dimensions too, it works on one
matrix, and a task takes as many rows as fit:

    %a = pypto.cast %x to f32          : tensor<?x4x128xf16>, %x of n matrices
    %y = pypto.mul %a, %s              : tensor<?x4x128xf32>, tensor<?x4x1xf32>
    ->
    %x2 = pypto.reshape %x[4 * n, 128]
    %s2 = pypto.reshape %s[4 * n, 1]
    %a = pypto.cast %x2 to f32         : tensor<?x128xf16>
    %y2 = pypto.mul %a, %s2            : tensor<?x128xf32>, tensor<?x1xf32>
    %y = pypto.reshape %y2[n, 4, 128]

Left alone: groups that read a view, a transposed tensor or one that broadcasts over the
leading dimensions or rows, that store into a tensor or need to know where a tile lies,
and those of which the author gave a tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from pyptoc.dialects.expr import ONE, Expr
from pyptoc.dialects.pypto.shape import ReshapeOp
from pyptoc.dialects.subscripts import DYNAMIC
from pyptoc.passes.builder import Builder
from pyptoc.passes.groups import (
    CUT,
    FOLD,
    NARROW,
    Domain,
    Group,
    blocks_of,
    domain_of,
    groups_in,
)
from pyptoc.passes.ownership import is_borrowed
from pyptoc.passes.repeat import REPEATS
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.structured import LEAVES, tensor_operands
from pyptoc.passes.tile_settings import TILE
from pyptoc.passes.typed import element_type, shape_of
from pyptoc.passes.vector_tiles import MAX_ROWS

PLACED = (CUT, FOLD, NARROW, TILE, "tile")
"""Marks that speak of the dimensions as they are."""


def merge_rows(function: func.FuncOp, shapes: Shapes) -> None:
    """Make one matrix of the values of each group of `function` where it can be."""
    for block in blocks_of(function):
        for group in groups_in(block):
            if group.unit != "vector":
                continue
            domain = domain_of(group.ops, shapes)
            if domain is not None and _can_merge(group, domain, shapes):
                _merge(group, shapes)


def _can_merge(group: Group, domain: Domain, shapes: Shapes) -> bool:
    """Whether it has short rows, and all of its values are whole matrices."""
    rows = domain.rows
    if rows is None or not rows.is_const or rows.value >= MAX_ROWS:
        return False
    if all(size == ONE for size in domain.leading):
        return False
    if any(type(op) in REPEATS for op in group.ops):
        return False
    if any(mark in op.attributes for op in group.ops for mark in PLACED):
        return False
    outer = (*domain.leading, rows)
    read = {value for op in group.ops for value in tensor_operands(op)}
    made = {result for op in group.ops for result in op.results}
    return all(shapes.dims(value)[:-1] == outer for value in made) and all(
        _is_matrices(value, outer, shapes) for value in read - made
    )


def _is_matrices(value: SSAValue, outer: Dims, shapes: Shapes) -> bool:
    """Whether a value from outside has all rows side by side, or is one row."""
    dims = shapes.dims(value)
    if len(dims) <= 1:
        return True
    return (
        dims[:-1] == outer
        and not is_borrowed(value)
        and not isinstance(value.owner, LEAVES)
    )


def _merge(group: Group, shapes: Shapes) -> None:
    """Ops on one matrix in the place of the ops of the group."""
    outputs = group.outputs
    before = Builder.before(group.ops[0])
    matrices: dict[SSAValue, SSAValue] = {}
    for value in group.inputs:
        dims = shapes.dims(value) if isinstance(value.type, TensorType) else ()
        if len(dims) > 1:
            matrices[value] = _reshaped(
                before, value, [prod(dims[:-1], start=ONE), dims[-1]]
            )
    for op in group.ops:
        copy = _on_matrix(op, matrices)
        before.point.block.insert_op_before(copy, group.ops[0])
        matrices.update(zip(op.results, copy.results, strict=True))
    after = Builder.after(group.ops[-1])
    for value in outputs:
        whole = _reshaped(after, matrices[value], shapes.dims(value), value.type)
        value.replace_uses_with_if(whole, lambda use: use.operation not in group.ops)
    for op in reversed(group.ops):
        op.detach()
        op.erase()


def _on_matrix(op: Operation, matrices: dict[SSAValue, SSAValue]) -> Operation:
    """The same op on matrices; an axis, which is the last one, is the second."""
    properties = dict(op.properties)
    if "axis" in properties:
        properties["axis"] = IntegerAttr(1, i64)
    copy = type(op).create(
        operands=[matrices.get(value, value) for value in op.operands],
        result_types=[_matrix_type(result) for result in op.results],
        properties=properties,
        attributes=dict(op.attributes),
    )
    copy.location = op.location
    for old, new in zip(op.results, copy.results, strict=True):
        new.name_hint = old.name_hint
    return copy


def _matrix_type(value: SSAValue) -> TensorType[Attribute]:
    *outer, columns = shape_of(value.type)
    rows = DYNAMIC if any(size < 0 for size in outer) else prod(outer)
    return TensorType(element_type(value), [rows, columns])


def _reshaped(
    build: Builder,
    value: SSAValue,
    dims: Sequence[Expr],
    type_: Attribute | None = None,
) -> SSAValue:
    """`value` with other dimensions; the type is that of them where none is given."""
    sizes = [build.index_or_int(size) for size in dims]
    reshape = ReshapeOp.make(value, sizes, result_type=type_ or _matrix_type(value))
    return build.value(reshape, value.name_hint)
