"""
Composites become base ops: elementwise, reductions, views, matmuls.

    %q, %d = pypto.quantize %x axis -1 to i8 {tag = "quant"}
        : tensor<?x64xf32> -> (tensor<?x64xi8>, tensor<?x1xf32>)

becomes

    %0 = pypto.abs %x {tag = "quant", npu.from = "quantize"} : ...
    %1 = pypto.amax %0 axis -1 {keepdim, tag = "quant", npu.from = "quantize"} : ...
    %2 = pypto.div 127.0, %1 {...}
    %d = pypto.div 1.0, %2 {...}
    ...
    %q = pypto.cast %4 to i8 mode rint {...}

The steps are those of the definition (docs/language.md), in f32, in the same order as
in the reference interpreter: results agree to the last bit. Each new op carries the
location and the tag of the composite and its name in `npu.from`, and its tile where it
has the composite's shape.

Reductions and scans are brought to one form: f16 and bf16 sums accumulate in f32, along
the last axis, which a reduction keeps with size 1. Other axes are moved last by a
`pypto.transpose`. One function a composite, in the `decompose_*` files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.pypto.composite import (
    LayerNormOp,
    OnlineSoftmaxOp,
    RmsNormOp,
    RopeOp,
    SoftmaxOp,
    SwigluOp,
)
from pyptoc.dialects.pypto.indexing import (
    ArgsortOp,
    GatherMaskOp,
    GatherRowsOp,
    IndexAddOp,
    IndexPutOp,
    ScatterOp,
    ScatterRowsOp,
    TopkOp,
)
from pyptoc.dialects.pypto.matmul import EinsumOp, GroupedMatmulOp, MatmulOp
from pyptoc.dialects.pypto.quantising import DequantizeOp, QuantizeOp, QuantMxOp
from pyptoc.dialects.pypto.reduce import (
    AmaxOp,
    AminOp,
    ArgmaxOp,
    ArgminOp,
    CumsumOp,
    LogsumexpOp,
    MeanOp,
    ProdOp,
    SumOp,
    VarOp,
)
from pyptoc.dialects.pypto.shape import ArangeOp, ConcatOp
from pyptoc.dialects.pypto.unary import GeluOp, SigmoidOp, SiluOp
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.decompose_activation import gelu, sigmoid, silu, swiglu
from pyptoc.passes.decompose_einsum import einsum, matmul
from pyptoc.passes.decompose_grouped import grouped_matmul
from pyptoc.passes.decompose_indexing import argsort, gather_mask, topk
from pyptoc.passes.decompose_normal import (
    layer_norm,
    online_softmax,
    rms_norm,
    softmax,
)
from pyptoc.passes.decompose_quant import dequantize, quant_mx, quantize
from pyptoc.passes.decompose_reduce import (
    argument,
    cumsum,
    logsumexp,
    mean,
    reduction,
    var,
)
from pyptoc.passes.decompose_rows import (
    gather_rows,
    index_add,
    index_put,
    scatter_rows,
)
from pyptoc.passes.decompose_shape import arange, concat, rope
from pyptoc.passes.shapes import Shapes

Replace = Callable[[Any, Shapes], None]

DECOMPOSITIONS: dict[type[Operation], Replace] = {
    SoftmaxOp: softmax,
    OnlineSoftmaxOp: online_softmax,
    RmsNormOp: rms_norm,
    LayerNormOp: layer_norm,
    SigmoidOp: sigmoid,
    SiluOp: silu,
    GeluOp: gelu,
    SwigluOp: swiglu,
    QuantizeOp: quantize,
    DequantizeOp: dequantize,
    QuantMxOp: quant_mx,
    RopeOp: rope,
    ConcatOp: concat,
    ArangeOp: arange,
    GroupedMatmulOp: grouped_matmul,
    EinsumOp: einsum,
    MatmulOp: matmul,
    MeanOp: mean,
    VarOp: var,
    LogsumexpOp: logsumexp,
    SumOp: reduction,
    ProdOp: reduction,
    AmaxOp: reduction,
    AminOp: reduction,
    ArgmaxOp: argument,
    ArgminOp: argument,
    CumsumOp: cumsum,
    TopkOp: topk,
    GatherRowsOp: gather_rows,
    ScatterRowsOp: scatter_rows,
    IndexAddOp: index_add,
    ScatterOp: index_add,
    IndexPutOp: index_put,
    ArgsortOp: argsort,
    GatherMaskOp: gather_mask,
}
"""Op class to the function that replaces such an op by base ops."""


class DecomposePass(PyptocPass):
    """Composites to base ops, in the steps of their definition."""

    name = "decompose"
    summary = "composites (softmax, norms, quantize, grouped_matmul, ...) to base ops"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        for function in module.ops:
            if not isinstance(function, FuncOp):
                continue
            shapes = Shapes()
            for op in list(function.walk()):
                replace = DECOMPOSITIONS.get(type(op))
                if replace is not None:
                    _replace(ctx, op, replace, shapes)


def _replace(
    ctx: PyptocContext, op: Operation, replace: Replace, shapes: Shapes
) -> None:
    """Write out `op`; say so where none of its parts has its tile."""
    tile, block = op.attributes.get("tile"), op.parent
    before, after = op.prev_op, op.next_op
    replace(op, shapes)
    if tile is None or op.parent is not None:
        return
    assert block is not None
    part = block.first_op if before is None else before.next_op
    while part is not None and part is not after:
        if any("tile" in inner.attributes for inner in part.walk()):
            return
        part = part.next_op
    name = op.name.partition(".")[2]
    ctx.remark(op, f"the tile of {name} is not used: no part of it has its shape")
