"""Composites: operators with their own name that `decompose` writes out in base ops.

All compute in f32, whatever the type of their operands, and round once at the end.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import (
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from pyptoc.dialects.literals import format_float
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.pypto import infer_composite as inference
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.properties import Int, IntOrIndex, Real, Type
from pyptoc.dialects.pypto.structure import Structure, Structured, pointwise
from pyptoc.dialects.pypto.syntax import Clause, Operands
from pyptoc.dialects.pypto.values import Values
from pyptoc.dialects.subscripts import Mixed

# -- softmax ------------------------------------------------------------------


@op_definition
class SoftmaxOp(PyptoOp):
    """exp(x - max) / sum(exp(x - max)) along an axis.

    A row that is masked wholly (all -inf) gives zeros, and so does an empty one; a NaN
    or inf makes all of its row NaN.

    Example:
        %p = pypto.softmax %x axis -1 : tensor<128x?xf32> -> tensor<128x?xf32>
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


@op_definition
class OnlineSoftmaxOp(PyptoOp):
    """One step of a softmax over blocks: s [.., M, N] with the state m, l [.., M, 1].

    m' = max(m, amax s); alpha = exp(m - m'); p = exp(s - m'); l' = l * alpha + sum p.
    Start with m = -inf and l = 0; what was summed up with weights p is multiplied with
    alpha at each step, and divided by l at the end.

    A row that is masked so far (m' = -inf) has p = 0, alpha = 1 and l' = l, never NaN.

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


@op_definition
class MaskCausalOp(PyptoOp, Structured):
    """s[.., i, c], but -inf where c > i + r.

    Row i sees the columns up to i + r; a negative r hides the first rows wholly. The
    scores have rank 2 at least; bits are copied.

    Example:
        %m = pypto.mask_causal %s offset %r : tensor<?x512xf32> -> tensor<?x512xf32>
        %m = pypto.mask_causal %s offset 0 : tensor<?x512xf32> -> tensor<?x512xf32>
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

    def _structure(self) -> Structure:
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
        eps = call.real("eps")
        if not 0 <= eps < math.inf:
            call.error(
                "PTO143",
                f"eps of {call.short_name} cannot be {format_float(eps)}",
                at="eps",
                rule="eps is finite and not negative",
                help="write eps 1.0e-6",
            )
        weights = (*call.types("gamma"), *call.types("beta"))
        source, target = call.type("source"), call.properties.get("target")
        return [inference.norm(call.site, source, weights, target)]


@op_definition
class RmsNormOp(NormOp):
    """x * (1 / sqrt(sum(x * x * (1/D)) + eps)) * gamma over the last axis.

    gamma is [D]. The squares are scaled before the sum, 1 / sqrt is a division. The
    result has the type of x, or that after `to`. eps is needed: 1.0e-5 is usual.

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


@op_definition
class LayerNormOp(NormOp):
    """d * (1 / sqrt(sum(d * d * (1/D)) + eps)) * gamma + beta, d = x - sum(x * (1/D)).

    Over the last axis; gamma and beta are [D]. 1 / sqrt is a division. The result has
    the type of x, or that after `to`. eps is needed: 1.0e-6 is usual.

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


@op_definition
class SwigluOp(PyptoOp):
    """v * sigmoid(v) * g; of one operand, v and g are the halves of its last axis.

    The first half is the SiLU side. An odd size is an error (PTO137; PTO403 where only
    the run knows it). v = -inf gives -0.0 * g. Two operands have one type and one
    shape.

    Example:
        %y = pypto.swiglu %v, %g
            : tensor<?x3584xf32>, tensor<?x3584xf32> -> tensor<?x3584xf32>
        %y = pypto.swiglu %v : tensor<?x7168xf32> -> tensor<?x3584xf32>
    """

    name = "pypto.swiglu"

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    SYNTAX = (Values("inputs", 1, 2),)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [inference.swiglu(call.site, *call.types("inputs"))]


@op_definition
class RopeOp(PyptoOp):
    """Rotary position embedding: x * cos + concat(-x2, x1) * sin; x1, x2 halves of x.

    `{interleaved}` first brings pairs apart: [.., d/2, 2] is read as [.., 2, d/2].
    `first 64` rotates the first 64 elements of the last axis, the rest passes through
    with its bits. What rotates is an even number of elements, else it is an error
    (PTO137).

    cos and sin broadcast against what is rotated, by the rule of elementwise ops. The
    result has the type of x.

    Example:
        %y = pypto.rope %x, %cos, %sin {interleaved}
            : tensor<?x128x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>
            -> tensor<?x128x64xbf16>
        %y = pypto.rope %x, %cos, %sin first 64
            : tensor<?x128x192xbf16>, tensor<?x1x64xf32>, tensor<?x1x64xf32>
            -> tensor<?x128x192xbf16>
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


COMPOSITE_OPS = (
    SoftmaxOp,
    OnlineSoftmaxOp,
    MaskCausalOp,
    RmsNormOp,
    LayerNormOp,
    SwigluOp,
    RopeOp,
)
"""The whole family."""
