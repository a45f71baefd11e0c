"""
Views of some columns of what is computed from a product become views of the product.

    %y = pypto.matmul %a, %b                      %v = pypto.view %y[:, 0 +: 64]
    %z = pypto.mul %y, %s                         %sv = pypto.view %s[0 +: 64]
    %v = pypto.view %z[:, 0 +: 64]          ->    %zv = pypto.mul %v, %sv
    %g = pypto.view %z[:, 64 +: 64]               %g = pypto.view %y[:, 64 +: 64]
    %h = pypto.mul %v, %g                         %sg = pypto.view %s[64 +: 64]
                                                  %zg = pypto.mul %g, %sg
                                                  %h = pypto.mul %zv, %zg

All vector ops have one iteration space then, and may read the product on chip: what is
dequantised in front of a SwiGLU needs no memory. Only pointwise ops are repeated, and
only where nobody reads their result but vector ops, through views that do not overlap:
no element is computed twice.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.pypto.matmul import Product
from pyptoc.dialects.pypto.shape import ViewOp
from pyptoc.dialects.pypto.structure import Kind, Runs, Structured
from pyptoc.passes.builder import Builder
from pyptoc.passes.column_parts import Columns, column_parts, columns_of, part_of
from pyptoc.passes.repeat import REPEATS
from pyptoc.passes.structured import outside_tasks, unit_of


def push_views(function: func.FuncOp) -> None:
    """Push the views of one function as far up as they go."""
    for op in reversed(list(outside_tasks(function))):
        if is_pointwise(op) and comes_from_product(op):
            views = column_parts(op.results[0])
            if views and all(map(is_for_vectors, views)):
                _push(op, views)


def is_pointwise(op: Operation) -> bool:
    """Whether each element of the one result is made of elements in its place."""
    if not isinstance(op, Structured) or type(op) in REPEATS or op.regions:
        return False
    structure = op.structure()
    return (
        structure.runs is Runs.VECTOR
        and len(op.results) == 1
        and set(structure.kinds) == {Kind.INDEPENDENT}
        and all(access.offsets is None for access in structure.reads)
        and all(_last_only(access.axes, structure.rank) for access in structure.reads)
    )


def _last_only(axes: tuple[int | None, ...], rank: int) -> bool:
    """Whether the last axis is that of the last dimension, if of any."""
    return rank - 1 not in axes[:-1]


def comes_from_product(op: Operation) -> bool:
    """Whether one of the operands is a product, or made of one only for this."""
    for value in op.operands:
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not op.parent:
            continue
        if isinstance(owner, Product):
            return True
        if value.has_one_use() and is_pointwise(owner) and comes_from_product(owner):
            return True
    return False


def is_for_vectors(view: ViewOp) -> bool:
    """Whether only vector ops read a view."""
    return all(unit_of(use.operation) == "vector" for use in view.result.uses)


def _push(op: Operation, views: list[ViewOp]) -> None:
    """Replace views of a result by the op on views of its operands."""
    assert isinstance(op, Structured)
    structure, build = op.structure(), Builder.before(op)
    last = structure.rank - 1
    wide = {
        access.value
        for access in structure.reads
        if access.axes and access.axes[-1] == last
    }
    parts: dict[Columns, SSAValue] = {}
    for view in views:
        columns = columns_of(view)
        assert columns is not None
        if columns not in parts:
            new = type(op).create(
                operands=[
                    part_of(build, value, -1, columns) if value in wide else value
                    for value in op.operands
                ],
                result_types=[view.result.type],
                properties=dict(op.properties),
                attributes=dict(op.attributes),
            )
            parts[columns] = build.value(new, view.result.name_hint)
        view.result.replace_all_uses_with(parts[columns])
        view.detach()
        view.erase()
    op.detach()
    op.erase()
