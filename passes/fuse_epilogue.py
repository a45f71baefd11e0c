"""
What follows a product and the cube unit can do while it stores becomes part of it.

    %y = pypto.matmul %a, %b : .. -> tensor<?x64xf32>
    %r = pypto.relu %y
    %h = pypto.cast %r to bf16
    ->
    %h = pypto.matmul %a, %b to bf16 {relu}

The unit takes, in this order, relu and one rounding to a narrower type, so an op is
taken where it follows in that order, nothing else uses what lies between, and the
result has the same bits. Nothing is taken where the tile asks for a split of K (the
parts are added first), or of a product that has rounded already; a remark says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import (
    BoolAttr,
    ModuleOp,
    TensorType,
    UnitAttr,
    bf16,
    f16,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute, Operation

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.pypto.elementwise import CastOp
from pyptoc.dialects.pypto.matmul import MatmulOp, ScaledMmOp
from pyptoc.dialects.pypto.unary import ReluOp
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.matmul_shape import may_split
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.task_form import replace_op
from pyptoc.passes.typed import element_type, tensor_type

NARROW: dict[Attribute, tuple[Attribute, ...]] = {f32: (bf16, f16), i32: (f32, bf16, f16)}
"""Element type of a product to those that its store rounds to."""


@dataclass(frozen=True)
class FuseEpiloguePass(PyptocPass):
    """Let products do relu and a cast while they are stored."""

    name = "fuse-epilogue"
    summary: ClassVar[str] = "let the store of a product do a relu and a cast behind it"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        shapes = Shapes()
        for op in list(module.walk()):
            product: Operation | None = op
            while isinstance(product, MatmulOp | ScaledMmOp):
                product = absorb_next(ctx, product, shapes)


def absorb_next(
    ctx: PyptocContext, product: MatmulOp | ScaledMmOp, shapes: Shapes
) -> Operation | None:
    """Take the op behind `product` into it; the new product, None if that ends it."""
    user = next_op(product)
    if isinstance(user, ReluOp):
        changes = with_relu(product)
    elif isinstance(user, CastOp):
        changes = with_cast(product, user)
    else:
        return None
    what = user.name.split(".")[-1]
    if isinstance(changes, str):
        ctx.remark(user, f"{what} is a task of its own: {changes}")
        return None
    if may_split(product, shapes):
        ctx.remark(user, f"{what} is a task of its own: the tile asks for a split of K")
        return None
    type_ = tensor_type(product.result)
    target = changes.get("target", type_.element_type)
    new = type(product).create(
        operands=list(product.operands),
        properties={**product.properties, **changes},
        attributes=product.attributes,
        result_types=[TensorType(target, type_.get_shape(), type_.encoding)],
        location=product.location,
    )
    product.result.name_hint = user.results[0].name_hint
    user.results[0].replace_all_uses_with(product.result)
    user.detach()
    user.erase()
    replace_op(product, new)
    return new


def next_op(product: MatmulOp | ScaledMmOp) -> Operation | None:
    """The one op that uses the product, in the same block."""
    uses = list(product.result.uses)
    if len(uses) != 1 or uses[0].operation.parent is not product.parent:
        return None
    return uses[0].operation


def with_relu(product: MatmulOp | ScaledMmOp) -> dict[str, Attribute] | str:
    """What a relu adds to a product, or why it cannot: rounding keeps the order."""
    if not isinstance(product, MatmulOp):
        return "a scaled product stores what it sums up"
    return {"relu": UnitAttr()}


def with_cast(
    product: MatmulOp | ScaledMmOp, cast: CastOp
) -> dict[str, Attribute] | str:
    """What a cast adds to a product, or why it cannot."""
    source, target = element_type(product.result), cast.target
    mode = cast.mode.data if cast.mode is not None else "none"
    if product.target is not None:
        return f"the product is rounded to {source} before"
    if isinstance(product, MatmulOp) and product.scale is not None and target == i8:
        saturates = cast.saturate is None or cast.saturate == BoolAttr.from_bool(True)
        if mode == "rint" and saturates:
            return {"target": target}
        return "a store to i8 rounds to nearest and saturates"
    if target not in NARROW.get(source, ()):
        return f"no store turns {source} into {target}"
    if mode not in ("none", "rint"):
        return f"a store rounds to nearest, not by mode {mode}"
    return {"target": target}
