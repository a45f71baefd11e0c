"""
The sizes of a matmul and where its operands lie, transposes resolved.

    %y = pypto.matmul %a, %b {b_trans}     a [B, M, K], b [N, K]
    ->  batch (B,), m = M, n = N, k = K    (b of rank 2 is shared by the batch)
"""

from __future__ import annotations

from dataclasses import dataclass

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.matmul import MatmulOp, ScaledMmOp
from pyptoc.passes.shapes import Dims, Shapes, broadcast


@dataclass(frozen=True)
class MatmulShape:
    """Sizes of `batch x [m, k] @ [k, n]`."""

    batch: Dims
    m: Expr
    n: Expr
    k: Expr


def matmul_shape(op: MatmulOp | ScaledMmOp, shapes: Shapes) -> MatmulShape:
    """The sizes of `op`; a static K on either side wins over a dynamic one."""
    left, right = shapes.dims(op.lhs), shapes.dims(op.rhs)
    m, k = left[-2:] if op.a_trans is None else (left[-1], left[-2])
    other, n = right[-2:] if op.b_trans is None else (right[-1], right[-2])
    batch = broadcast([left[:-2], right[:-2]])
    return MatmulShape(batch, m, n, k if k.is_const else other)
