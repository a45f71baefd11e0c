"""
The sizes of a matmul and where its operands lie, transposes resolved.

    %y = pypto.matmul %a, %b {b_trans}     a [B, M, K], b [N, K]
    ->  batch (B,), m = M, n = N, k = K    (b of rank 2 is shared by the batch)
"""

from __future__ import annotations

from dataclasses import dataclass

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.matmul import MatmulOp, ScaledMmOp
from pyptoc.passes.shapes import Dims, Shapes


@dataclass(frozen=True)
class MatmulShape:
    """Sizes of `batch x [m, k] @ [k, n]`."""

    batch: Dims
    m: Expr
    n: Expr
    k: Expr


def matmul_shape(op: MatmulOp | ScaledMmOp, shapes: Shapes) -> MatmulShape:
    """The sizes of `op`; a static K on either side wins over a dynamic one."""
    *batch, m, n, k = shapes.space(op)
    return MatmulShape(tuple(batch), m, n, k)
