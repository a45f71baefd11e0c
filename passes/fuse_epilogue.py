"""
What follows a product and the cube unit can do while it stores becomes part of it.

    %y = pypto.matmul %a, %b : .. -> tensor<?x64xf32>
    %s = pypto.add %y, %bias : .., tensor<64xf32>
    %r = pypto.relu %s
    %h = pypto.cast %r to bf16
    ->
    %h = pypto.matmul %a, %b bias %bias to bf16 {relu}

The sums of the unit start at a number for each column; while it stores them it does, in
this order, relu and one rounding to a narrower type. So an op is taken where it follows
in that order, nothing else uses what lies between, and the result is the same, bit for
bit but for the place of the bias in a sum of floats. Nothing is taken where the tile
asks for a split of K (the parts are added first), or behind a rounding; a remark says
so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

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
from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.elementwise import AddOp, CastOp
from pyptoc.dialects.pypto.matmul import MatmulOp, Product, ScaledMmOp
from pyptoc.dialects.pypto.shape import ReshapeOp
from pyptoc.dialects.pypto.unary import ReluOp
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.builder import Builder
from pyptoc.passes.matmul_shape import may_split
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import unit_of
from pyptoc.passes.task_form import replace_op
from pyptoc.passes.typed import element_type, tensor_rank

NARROW: dict[Attribute, tuple[Attribute, ...]] = {
    f32: (bf16, f16),
    i32: (f32, bf16, f16),
}
"""Element type of a product to those that its store rounds to."""

Change = dict[str, Any]
"""Fields of a product, by name."""


class FuseEpiloguePass(PyptocPass):
    """Let products do what stands behind them: bias, relu, a cast."""

    name = "fuse-epilogue"
    anchor: ClassVar[str] = "func.func"
    summary: ClassVar[str] = (
        "let a product start at a bias and store through relu and a cast"
    )
    counters: ClassVar[Mapping[str, str]] = {
        "fused": "additions, relus and casts that products took in",
    }

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        shapes = Shapes()
        for op in list(module.walk()):
            product: Operation | None = op
            while isinstance(product, MatmulOp | ScaledMmOp):
                product = absorb_next(ctx, product, shapes)


def absorb_next(
    ctx: PyptocContext, product: Product, shapes: Shapes
) -> Operation | None:
    """Take the op behind `product` into it; the new product, None if that ends it."""
    user = next_op(product)
    match user:
        case AddOp():
            change = with_bias(product, user, shapes)
            if is_made(user, product) and ctx.machine.has_route("l0c", "ub"):
                change = "what makes the bias can share the tasks of the product"
        case ReluOp():
            change = with_relu(product)
        case CastOp():
            change = with_cast(product, user)
        case _:
            return None
    if not isinstance(change, str) and may_split(product, shapes):
        change = "the tile asks for a split of K"
    if isinstance(change, str):
        what = user.name.split(".")[-1]
        ctx.remark(
            user, f"the store of the product does not do the {what}: {change}", "PTO333"
        )
        return None
    if "bias" in change and tensor_rank(change["bias"]) > 1:
        row = ReshapeOp.make(change["bias"], [-1])
        change = {"bias": Builder.before(user).value(row)}
    product.result.name_hint = user.results[0].name_hint
    new = renewed(product, change, user.results[0].type)
    replace_op(user, new)
    ctx.count("fused")
    product.detach()
    product.erase()
    return new


def is_made(add: AddOp, product: Product) -> bool:
    """Whether vector ops make what is added to a product: a launch of their own."""
    return any(
        isinstance(value.owner, Operation)
        and value is not product.result
        and unit_of(value.owner) == "vector"
        for value in add.operands
    )


def next_op(product: Product) -> Operation | None:
    """The one op that uses the product, in the same block."""
    uses = list(product.result.uses)
    if len(uses) != 1 or uses[0].operation.parent is not product.parent:
        return None
    return uses[0].operation


def renewed(product: Product, change: Change, type_: Attribute) -> Product:
    """`product` with other fields and another type of its result."""
    fields: dict[str, Any] = {
        name: value
        for name, value in product.properties.items()
        if name != "operandSegmentSizes"
    }
    operands = [product.lhs, product.rhs]
    if isinstance(product, MatmulOp):
        fields |= {"bias": product.bias, "scale": product.scale}
    else:
        operands += [product.scale_lhs, product.scale_rhs]
    return type(product).make(
        *operands,
        **{**fields, **change},
        result_type=type_,
        location=product.location,
        attributes=product.attributes,
    )


def with_bias(product: Product, add: AddOp, shapes: Shapes) -> Change | str:
    """What an addition adds to a product, or why it cannot: a number a column."""
    if not isinstance(product, MatmulOp):
        return "the sums of a scaled product start at 0"
    if product.bias is not None:
        return "the product has a bias already"
    if product.target is not None or product.scale is not None or product.relu:
        return "it comes behind what the store does"
    others = [value for value in add.operands if value is not product.result]
    if len(others) != 1:
        return "it adds no tensor"
    (bias,) = others
    if not isinstance(bias.type, TensorType):
        return "it adds no tensor"
    *outer, columns = shapes.dims(bias)
    size = shapes.dims(product.result)[-1]
    one = Expr.const(1)
    if (columns == one) != (size == one) or any(dim != one for dim in outer):
        return "a bias is one number for each column"
    if element_type(bias) != element_type(product.result):
        return f"a bias of {element_type(product.result)} is wanted"
    return {"bias": bias}


def with_relu(product: Product) -> Change | str:
    """What a relu adds to a product, or why it cannot: rounding keeps the order."""
    if not isinstance(product, MatmulOp):
        return "a scaled product stores what it sums up"
    return {"relu": UnitAttr()}


def with_cast(product: Product, cast: CastOp) -> Change | str:
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


def is_drain(op: CastOp) -> bool:
    """Whether the store of an accumulator can do a cast: to nearest, to fewer bits."""
    mode = "none" if op.mode is None else op.mode.data
    source, target = element_type(op.operands[0]), element_type(op.results[0])
    return mode in ("none", "rint") and target in NARROW.get(source, ())
