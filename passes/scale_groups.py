"""
Scales for groups of columns: on chip one instruction, elsewhere rows of a reshaped one.

In a loop whose body may be one task `decompose` writes

    %y = pypto.mul_groups %x, %s group 128 first 0        x [M, 512], s [M, 4]

since a task multiplies a tile [64, 512] by [64, 4] where it lies. What is in no such
task when `partition` has looked for them becomes

    %xr = pypto.reshape %x[M * 4, 128] ; %sr = pypto.reshape %s[M * 4, 1]
    %yr = pypto.mul %xr, %sr
    %y = pypto.reshape %yr[M, 512]

which is cut into tiles as any other product of rows and a number for each.
"""

from __future__ import annotations

from xdsl.dialects import func, scf

from pyptoc.dialects.expr import ONE, Expr
from pyptoc.dialects.pypto.quantising import DequantizeOp, MulGroupsOp
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.steps import Steps
from pyptoc.passes.structured import enclosing
from pyptoc.passes.tile_settings import is_whole


def may_keep_groups(op: DequantizeOp, shapes: Shapes) -> bool:
    """Whether a task could multiply by the scales of `op` where its tiles lie."""
    rows_and_columns = shapes.dims(op.source)
    if enclosing(op, scf.ForOp) is None or len(rows_and_columns) != 2:
        return False
    assert op.axis is not None
    rows, columns = rows_and_columns
    return (
        op.axis.value.data % 2 == 1
        and op.zero_point is None
        and columns.is_const
        and all(_has_all_rows(shapes.dims(scale), rows) for scale in op.scales)
    )


def _has_all_rows(dims: Dims, rows: Expr) -> bool:
    """Whether scales have a row for each of the values', and one number for a group."""
    return len(dims) == 2 and dims[0] == rows and dims[1] != ONE


def rewrite_groups(function: func.FuncOp) -> None:
    """Write out every `mul_groups` that is in no task of its loop's."""
    shapes = Shapes()
    for op in list(function.walk()):
        block = op.parent
        if isinstance(op, MulGroupsOp) and block is not None and not is_whole(block):
            _rewrite(op, shapes)


def _rewrite(op: MulGroupsOp, shapes: Shapes) -> None:
    step = Steps.replacing(op, shapes, op.result)
    rows, columns = shapes.dims(op.source)
    size = op.group.value.data
    count = columns.floordiv(size)
    x = step.reshape(op.source, [rows * count, size])
    scale = step.reshape(op.scale, [rows * count, 1])
    step.finish([step.reshape(step.mul(x, scale), [rows, columns])])
