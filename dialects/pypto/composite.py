"""Composites: operators with their own name that `decompose` writes out in base ops.

All compute in f32, whatever the type of their operands, and round once at the end.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from pyptoc.dialects.pypto import infer_composite as inference
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.properties import Int, IntOrIndex, Real, Type
from pyptoc.dialects.pypto.structure import Structure, Structured, pointwise
from pyptoc.dialects.pypto.syntax import Clause, Operands, Values
from pyptoc.dialects.subscripts import Mixed

SCALE_RULES = ("127/amax", "amax/127")
"""How `quantize` scales: q = rint(x * (127/amax)), or q = rint(x / (amax/127))."""


# -- softmax ------------------------------------------------------------------


@irdl_op_definition
class SoftmaxOp(PyptoOp):
    """exp(x - max) / sum(exp(x - max)) along an axis; a fully masked row gives zeros.

    Example:
        %p = pypto.softmax %s axis -1 : tensor<128x?xf32> -> tensor<128x?xf32>
    """

    name = "pypto.softmax"

    source = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    result = result_def(TensorType)
    SYNTAX = (Operands("source"), Clause("axis", Int("axis")))
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [inference.softmax(call.site, call.type("source"), call.int("axis"))]


@irdl_op_definition
class OnlineSoftmaxOp(PyptoOp):
    """One step of a softmax over blocks: s [.., M, N] with the state m, l [.., M, 1].

    m' = max(m, amax s); alpha = exp(m - m'); p = exp(s - m'); l' = l * alpha + sum p.
    A row that is masked so far (m' = -inf) has p = 0, alpha = 1 and l' = l. All f32.

    Example:
        %m2, %l2, %p, %alpha = pypto.online_softmax %s state %m, %l
            : tensor<?x512xf32>, tensor<?x1xf32>, tensor<?x1xf32>
            -> (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x512xf32>, tensor<?x1xf32>)
    """

    name = "pypto.online_softmax"

    source = operand_def(TensorType)
    maximum = operand_def(TensorType)
    total = operand_def(TensorType)
    new_maximum = result_def(TensorType)
    new_total = result_def(TensorType)
    weights = result_def(TensorType)
    alpha = result_def(TensorType)
    SYNTAX = (Operands("source"), Clause("state", Operands("maximum", "total")))
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        types = map(call.type, ("source", "maximum", "total"))
        return inference.online_softmax(call.site, *types)


@irdl_op_definition
class MaskCausalOp(PyptoOp, Structured):
    """s[.., i, c], but -inf where c > i + offset.

    Example:
        %m = pypto.mask_causal %s offset %r : tensor<?x512xf32> -> tensor<?x512xf32>
    """

    name = "pypto.mask_causal"

    source = operand_def(TensorType)
    offset = opt_operand_def(IndexType)
    static_offset = opt_prop_def(IntegerAttr)
    result = result_def(TensorType)
    SYNTAX = (
        Operands("source"),
        Clause("offset", IntOrIndex("static_offset", "offset")),
    )
    traits = traits_def(Pure())

    @property
    def mixed_offset(self) -> Mixed:
        """The offset of the diagonal, an integer where it is written as one."""
        if self.offset is not None:
            return self.offset
        assert self.static_offset is not None
        return self.static_offset.value.data

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        offset: Attribute = IndexType()
        if call.operands.get("offset"):
            offset = call.type("offset")
        elif "static_offset" not in call.properties:
            call.error("PTO142", "mask_causal needs 'offset ...'")
        return [inference.mask_causal(call.site, call.type("source"), offset)]

    def structure(self) -> Structure:
        """One point for each element."""
        return pointwise(self.operands, self.results)


# -- norms --------------------------------------------------------------------


class NormOp(PyptoOp, ABC):
    """A normalisation of the last axis: D elements, gamma is [D]."""

    source = operand_def(TensorType)
    gamma = operand_def(TensorType)
    eps = prop_def(FloatAttr)
    target = opt_prop_def(TypeAttribute)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        weights = (*call.types("gamma"), *call.types("beta"))
        source, target = call.type("source"), call.properties.get("target")
        return [inference.norm(call.site, source, weights, target)]


@irdl_op_definition
class RmsNormOp(NormOp):
    """x * (1 / sqrt(sum(x * x * (1/D)) + eps)) * gamma, in x's type unless `to`.

    Example:
        %y = pypto.rms_norm %x, %gamma eps 1.0e-5
            : tensor<?x512xbf16>, tensor<512xbf16> -> tensor<?x512xbf16>
    """

    name = "pypto.rms_norm"

    SYNTAX = (
        Operands("source", "gamma"),
        Clause("eps", Real("eps")),
        Clause("to", Type("target"), optional=True),
    )


@irdl_op_definition
class LayerNormOp(NormOp):
    """d * (1 / sqrt(sum(d * d * (1/D)) + eps)) * gamma + beta, d = x - sum(x * (1/D)).

    Example:
        %y = pypto.layer_norm %x, %gamma, %beta eps 1.0e-6 to bf16
            : tensor<?x128xf32>, tensor<128xf32>, tensor<128xf32> -> tensor<?x128xbf16>
    """

    name = "pypto.layer_norm"

    beta = operand_def(TensorType)
    SYNTAX = (
        Operands("source", "gamma", "beta"),
        Clause("eps", Real("eps")),
        Clause("to", Type("target"), optional=True),
    )


# -- activations --------------------------------------------------------------


@irdl_op_definition
class SwigluOp(PyptoOp):
    """v * sigmoid(v) * g; of one operand, v and g are the halves of its last axis.

    Example:
        %s = pypto.swiglu %y : tensor<?x7168xf32> -> tensor<?x3584xf32>
    """

    name = "pypto.swiglu"

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    SYNTAX = (Values("inputs", 1, 2),)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [inference.swiglu(call.site, *call.types("inputs"))]


@irdl_op_definition
class RopeOp(PyptoOp):
    """Rotary position embedding: x * cos + concat(-x2, x1) * sin; x1, x2 halves of x.

    `{interleaved}` first brings pairs apart: [.., d/2, 2] is read as [.., 2, d/2].
    `first 64` rotates the first 64 elements of the last axis, the rest passes through.
    cos and sin broadcast against what is rotated. The result has x's type.

    Example:
        %y = pypto.rope %x, %cos, %sin {interleaved}
            : tensor<?x128x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>
            -> tensor<?x128x64xbf16>
    """

    name = "pypto.rope"

    source = operand_def(TensorType)
    cos = operand_def(TensorType)
    sin = operand_def(TensorType)
    first = opt_prop_def(IntegerAttr)
    interleaved = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    SYNTAX = (
        Operands("source", "cos", "sin"),
        Clause("first", Int("first"), optional=True),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        first = call.int("first") if call.has("first") else None
        source, cos, sin = map(call.type, ("source", "cos", "sin"))
        return [inference.rope(call.site, source, cos, sin, first)]


# -- quantisation -------------------------------------------------------------


@irdl_op_definition
class QuantizeOp(PyptoOp):
    """Quantisation to i8: of each line along an axis, in groups of it, or of all of x.

    Results are the values, f32 scales (the axis kept; of all of x every dimension 1)
    and, with `{asymmetric}`, i32 zero points of the same shape. All in f32.

    Symmetric: a = amax|x|; r = 127 / a; q = sat_i8(rint(x * r)); scale = 1 / r. A row
    of zeros, or too small for a finite r, gives q = 0, scale = 0; NaN gives q = 0,
    scale = NaN; inf gives q = 0, scale = inf.
    `{scale = "amax/127"}` takes scale = a / 127 and q = clip(rint(x / scale)).

    `{asymmetric}`, as ONNX DynamicQuantizeLinear but for i8: lo = min(amin x, 0);
    hi = max(amax x, 0); scale = (hi - lo) / 255; zero point = sat_i8(rint(-128 -
    lo / scale)); q = sat_i8(rint(x / scale) + zero point). Scale 0 (a row of zeros)
    gives q = 0, zero point 0. NaN gives q = 0, zero point 0, scale NaN. inf, or a range
    beyond f32, gives scale = inf, where finite x become the zero point and inf becomes
    0; the zero point is -128, or 0 if lo is -inf.

    `quantize %x scale %s [zero_point %z] to i8` is given both, which broadcast against
    x: q = sat_i8(rint(x / s) + z), NaN is 0, and there is one result.

    Example:
        %q, %d = pypto.quantize %x axis -1 to i8
            : tensor<?x3584xf32> -> (tensor<?x3584xi8>, tensor<?x1xf32>)
    """

    name = "pypto.quantize"

    source = operand_def(TensorType)
    given = opt_operand_def(TensorType)
    zero_point = opt_operand_def(TensorType)
    axis = opt_prop_def(IntegerAttr)
    group = opt_prop_def(IntegerAttr)
    target = prop_def(TypeAttribute)
    asymmetric = opt_prop_def(UnitAttr)
    scale_rule = opt_prop_def(StringAttr, prop_name="scale")
    values = result_def(TensorType)
    parameters = var_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    SYNTAX = (
        Operands("source"),
        Clause("axis", Int("axis"), optional=True),
        Clause("group", Int("group"), optional=True),
        Clause("scale", Operands("given"), optional=True),
        Clause("zero_point", Operands("zero_point"), optional=True),
        Clause("to", Type("target")),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        cls._check_form(call)
        rule = call.text("scale")
        if rule and rule not in SCALE_RULES:
            call.error(
                "PTO143",
                f"scale cannot be '{rule}'",
                at="scale",
                rule=f"scale is one of {', '.join(SCALE_RULES)}",
            )
        source, target = call.type("source"), call.properties["target"]
        if call.has("given"):
            given = (*call.types("given"), *call.types("zero_point"))
            return [inference.quantize_given(call.site, source, given, target)]
        return inference.quantize(
            call.site,
            source,
            call.int("axis") if call.has("axis") else None,
            call.int("group") if call.has("group") else None,
            target,
            asymmetric=call.has("asymmetric"),
        )

    @classmethod
    def _check_form(cls, call: Call) -> None:
        """Of the clauses, those that exclude or need each other."""
        computed = ("axis", "group", "asymmetric", "scale")
        pairs = [("given", name) for name in computed] + [("asymmetric", "scale")]
        for one, other in pairs:
            if call.has(one) and other in call.properties:
                shown = "scale %s" if one == "given" else one
                call.error(
                    "PTO144",
                    f"quantize with both '{shown}' and '{other}'",
                    at=other,
                    rule="a scale is given (scale %s), or computed (axis, group) by "
                    "one rule",
                )
        for one, other in (("zero_point", "given"), ("group", "axis")):
            if call.has(one) and not call.has(other):
                shown = "scale" if other == "given" else other
                call.error(
                    "PTO144",
                    f"quantize with '{one}' needs '{shown} ...'",
                    at=one,
                )


@irdl_op_definition
class DequantizeOp(PyptoOp):
    """f32(x) * s1 * s2, in this order, rounded once; scales broadcast against x.

    `zero_point %z` comes first: (f32(x) - f32(z)) * s1 * s2.

    Example:
        %y = pypto.dequantize %x scales %s1, %s2 to bf16
            : tensor<?x64xi32>, tensor<?x1xf32>, tensor<64xf32> -> tensor<?x64xbf16>
    """

    name = "pypto.dequantize"

    source = operand_def(TensorType)
    scales = var_operand_def(TensorType)
    zero_point = opt_operand_def(TensorType)
    target = prop_def(TypeAttribute)
    result = result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    SYNTAX = (
        Operands("source"),
        Clause("scales", Values("scales", 1, None)),
        Clause("zero_point", Operands("zero_point"), optional=True),
        Clause("to", Type("target")),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [
            inference.dequantize(
                call.site,
                call.type("source"),
                call.types("scales"),
                call.properties["target"],
                call.types("zero_point"),
            )
        ]


@irdl_op_definition
class QuantMxOp(PyptoOp):
    """MX quantisation: f8 values and one E8M0 scale for 32 elements along the axis.

    The axis is K of a matrix, the last or the one before. Scales are laid out as
    `scaled_mm` reads them: [.., M, ceil(K/64), 2] for axis -1, [.., ceil(K/64), N, 2]
    for axis -2.

    Example:
        %q, %s = pypto.quant_mx %x axis -1 to f8E4M3FN
            : tensor<?x512xbf16> -> (tensor<?x512xf8E4M3FN>, tensor<?x8x2xf8E8M0FNU>)
    """

    name = "pypto.quant_mx"

    source = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    target = prop_def(TypeAttribute)
    values = result_def(TensorType)
    scales = result_def(TensorType)
    SYNTAX = (
        Operands("source"),
        Clause("axis", Int("axis")),
        Clause("to", Type("target")),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        source, target = call.type("source"), call.properties["target"]
        return inference.quant_mx(call.site, source, call.int("axis"), target)


COMPOSITE_OPS = (
    SoftmaxOp,
    OnlineSoftmaxOp,
    MaskCausalOp,
    RmsNormOp,
    LayerNormOp,
    SwigluOp,
    RopeOp,
    QuantizeOp,
    DequantizeOp,
    QuantMxOp,
)
"""The whole family."""
