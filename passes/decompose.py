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
`pypto.transpose`. One function a composite, in the `decompose_*` files, each loaded at
the first op that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from pyptoc.dialects.context import PyptocContext, load
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.shapes import Shapes

Replace = Callable[[Any, Shapes], None]

DECOMPOSITIONS: dict[str, str] = {
    "pypto.softmax": "decompose_normal:softmax",
    "pypto.online_softmax": "decompose_normal:online_softmax",
    "pypto.rms_norm": "decompose_normal:rms_norm",
    "pypto.layer_norm": "decompose_normal:layer_norm",
    "pypto.sigmoid": "decompose_activation:sigmoid",
    "pypto.silu": "decompose_activation:silu",
    "pypto.gelu": "decompose_activation:gelu",
    "pypto.swiglu": "decompose_activation:swiglu",
    "pypto.quantize": "decompose_quant:quantize",
    "pypto.dequantize": "decompose_quant:dequantize",
    "pypto.quant_mx": "decompose_quant:quant_mx",
    "pypto.rope": "decompose_shape:rope",
    "pypto.concat": "decompose_shape:concat",
    "pypto.arange": "decompose_shape:arange",
    "pypto.grouped_matmul": "decompose_grouped:grouped_matmul",
    "pypto.einsum": "decompose_einsum:einsum",
    "pypto.matmul": "decompose_einsum:matmul",
    "pypto.mean": "decompose_reduce:mean",
    "pypto.var": "decompose_reduce:var",
    "pypto.logsumexp": "decompose_reduce:logsumexp",
    "pypto.sum": "decompose_reduce:reduction",
    "pypto.prod": "decompose_reduce:reduction",
    "pypto.amax": "decompose_reduce:reduction",
    "pypto.amin": "decompose_reduce:reduction",
    "pypto.argmax": "decompose_reduce:argument",
    "pypto.argmin": "decompose_reduce:argument",
    "pypto.cumsum": "decompose_reduce:cumsum",
    "pypto.topk": "decompose_indexing:topk",
    "pypto.gather_rows": "decompose_rows:gather_rows",
    "pypto.scatter_rows": "decompose_rows:scatter_rows",
    "pypto.index_add": "decompose_rows:index_add",
    "pypto.scatter": "decompose_rows:index_add",
    "pypto.index_put": "decompose_rows:index_put",
    "pypto.argsort": "decompose_indexing:argsort",
    "pypto.gather_mask": "decompose_indexing:gather_mask",
}
"""
An op's name to `module:function` of what replaces it by base ops, the module relative
to this package.
"""


class DecomposePass(PyptocPass):
    """Composites to base ops, in the steps of their definition."""

    name = "decompose"
    anchor: ClassVar[str] = "func.func"
    summary = "composites (softmax, norms, quantize, grouped_matmul, ...) to base ops"
    counters: ClassVar[Mapping[str, str]] = {
        "decomposed": "composites that were written out",
    }

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        for function in module.ops:
            if not isinstance(function, FuncOp):
                continue
            shapes = Shapes()
            for op in list(function.walk()):
                path = DECOMPOSITIONS.get(op.name)
                if path is not None:
                    _replace(ctx, op, load(f"pyptoc.passes.{path}"), shapes)


def _replace(
    ctx: PyptocContext, op: Operation, replace: Replace, shapes: Shapes
) -> None:
    """Write out `op`; say so where none of its parts has its tile."""
    tile, block = op.attributes.get("tile"), op.parent
    before, after = op.prev_op, op.next_op
    replace(op, shapes)
    ctx.count("decomposed", int(op.parent is None))
    if tile is None or op.parent is not None:
        return
    assert block is not None
    part = block.first_op if before is None else before.next_op
    while part is not None and part is not after:
        if any("tile" in inner.attributes for inner in part.walk()):
            return
        part = part.next_op
    name = op.name.partition(".")[2]
    ctx.remark(
        op, f"the tile of {name} is not used: no part of it has its shape", "PTO325"
    )
