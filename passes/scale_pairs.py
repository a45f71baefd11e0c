"""
MX scales that lie as a product reads them: the two of a pair side by side.

    %t = pypto.transpose %s perm [1, 0, 2]        : tensor<64x2x2xf8E8M0FNU> -> ..
    %y = pypto.scaled_mm %a, %b scales %sa, %t
    ->
    %c = pypto.clone %t
    %y = pypto.scaled_mm %a, %b scales %sa, %c

The last two dimensions of scales are read as one, so a copy is made where they are not
the last two of the tensor behind their views.
"""

from __future__ import annotations

from xdsl.dialects import func

from pyptoc.dialects.pypto.matmul import ScaledMmOp
from pyptoc.dialects.pypto.shape import CloneOp
from pyptoc.passes.builder import Builder
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import outside_tasks
from pyptoc.passes.typed import tensor_type
from pyptoc.passes.windows import window_of


def join_pairs(function: func.FuncOp) -> None:
    """Copy the scales of one function that lie otherwise."""
    shapes = Shapes()
    for op in list(outside_tasks(function)):
        if not isinstance(op, ScaledMmOp):
            continue
        for scale in (op.scale_lhs, op.scale_rhs):
            window = window_of(scale, shapes)
            rank = tensor_type(window.base).get_num_dims()
            if window.dims[-2:] != (rank - 2, rank - 1):
                index = list(op.operands).index(scale)
                op.operands[index] = Builder.before(op).value(CloneOp.make(scale))
