"""
The sizes of a matmul and where its operands lie, transposes resolved.

    %y = pypto.matmul %a, %b {b_trans}     a [B, M, K], b [N, K]
    ->  batch (B,), m = M, n = N, k = K    (b of rank 2 is shared by the batch)
"""

from __future__ import annotations

from dataclasses import dataclass

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.matmul import MatmulOp, ScaledMmOp
from pyptoc.passes.cube_tiles import Contraction
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.typed import element_type


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


def contraction_of(op: MatmulOp | ScaledMmOp, shapes: Shapes) -> Contraction:
    """The sizes and types of a matmul that its tile depends on."""
    shape = matmul_shape(op, shapes)

    def known(size: Expr) -> int | None:
        return size.value if size.is_const else None

    return Contraction(
        element_type(op.lhs),
        element_type(op.rhs),
        known(shape.m),
        known(shape.n),
        known(shape.k),
        isinstance(op, ScaledMmOp),
        op.a_trans is not None,
        isinstance(op, MatmulOp) and op.scale is not None,
    )
