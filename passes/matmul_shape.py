"""
The sizes of a matmul and where its operands lie, transposes resolved.

    %y = pypto.matmul %a, %b {b_trans}     a [B, M, K], b [N, K]
    ->  batch (B,), m = M, n = N, k = K    (b of rank 2 is shared by the batch)
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.matmul import MatmulOp, Product, ScaledMmOp
from pyptoc.dialects.record import record
from pyptoc.passes.cube_tiles import Contraction
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.tile_settings import nearest_tile
from pyptoc.passes.typed import element_type


@record
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
        isinstance(op, MatmulOp) and op.bias is not None,
        op.b_trans is not None,
    )


def may_split(op: Operation, shapes: Shapes) -> bool:
    """Whether split-k may cut a matmul: the parts need a destination of their own."""
    if not isinstance(op, MatmulOp | ScaledMmOp):
        return False
    tile = nearest_tile(op, CubeTileAttr, lambda tiles: tiles.cube)
    if tile is None or tile.split_k in (0, 1):
        return False
    k = matmul_shape(op, shapes).k
    return not k.is_const or k.value > max(tile.k[1:])


def scales_of(op: Product) -> list[SSAValue]:
    """What a product reads besides its matrices: MX scales, or a bias and scales."""
    if isinstance(op, ScaledMmOp):
        return [op.scale_lhs, op.scale_rhs]
    return [row for row in (op.bias, op.scale) if row is not None]
