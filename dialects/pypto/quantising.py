"""Quantisation: to integers and back, and to f8 with shared scales.

`decompose` writes these out as well. All compute in f32.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
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

from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.op_docs import clause_sample
from pyptoc.dialects.pypto import infer_composite as inference
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.properties import Int, Type
from pyptoc.dialects.pypto.structure import (
    WHOLE,
    Access,
    Kind,
    Runs,
    Structure,
    Structured,
)
from pyptoc.dialects.pypto.syntax import Clause, Operands
from pyptoc.dialects.pypto.values import Values

SCALE_RULES = ("127/amax", "amax/127")
"""How `quantize` scales: q = rint(x * (127/amax)), or q = rint(x / (amax/127))."""


@op_definition
class QuantizeOp(PyptoOp):
    """Quantisation to i8: of each line along an axis, in groups of it, or of all of x.

    Results are the values, f32 scales (the axis kept; of all of x every dimension 1)
    and, with `{asymmetric}`, i32 zero points of the same shape. All in f32. `group 128`
    has one scale for each 128 elements of the axis, a whole number of groups (PTO137).

    Symmetric: a = amax|x|; r = 127 / a; q = sat_i8(rint(x * r)), so |q| <= 127;
    scale = 1 / r. A row of zeros, or one so small that r overflows (a below 3.74e-37),
    gives q = 0, scale = 0; NaN gives q = 0 in all of its row, scale = NaN; inf gives
    q = 0, scale = inf.
    `{scale = "amax/127"}` takes scale = a / 127, q = clip(rint(x / scale), -127, 127).

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
        %q, %d = pypto.quantize %x axis -1 group 128 to i8
            : tensor<?x3584xf32> -> (tensor<?x3584xi8>, tensor<?x28xf32>)
        %q, %d, %z = pypto.quantize %x to i8 {asymmetric}
            : tensor<?x64xf32> -> (tensor<?x64xi8>, tensor<1x1xf32>, tensor<1x1xi32>)
        %q = pypto.quantize %x scale %s zero_point %z to i8
            : tensor<?x64xf32>, tensor<?x1xf32>, tensor<?x1xi32> -> tensor<?x64xi8>
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
                    rule="groups are of an axis, a zero point is beside a scale",
                    help=f"write {clause_sample(cls, shown)}",
                )


@op_definition
class DequantizeOp(PyptoOp):
    """f32(x) * s1 * s2, in this order, rounded once at the end.

    One scale or more; each broadcasts against x and does not enlarge it, and so does
    the zero point: `zero_point %z` comes first, (f32(x) - f32(z)) * s1 * s2.

    `axis -1 group 128` has one element of a scale, and of the zero point, for each 128
    elements of the axis, a whole number of groups (PTO137), as `quantize` makes them.

    Example:
        %y = pypto.dequantize %x scales %s1, %s2 to bf16
            : tensor<?x64xi32>, tensor<?x1xf32>, tensor<64xf32> -> tensor<?x64xbf16>
        %y = pypto.dequantize %x scales %s1 zero_point %z to f32
            : tensor<?x64xi8>, tensor<?x1xf32>, tensor<?x1xi32> -> tensor<?x64xf32>
        %y = pypto.dequantize %x scales %s1 axis -1 group 128 to bf16
            : tensor<?x512xi8>, tensor<?x4xf32> -> tensor<?x512xbf16>
    """

    name = "pypto.dequantize"

    source = operand_def(TensorType)
    scales = var_operand_def(TensorType)
    zero_point = opt_operand_def(TensorType)
    axis = opt_prop_def(IntegerAttr)
    group = opt_prop_def(IntegerAttr)
    target = prop_def(TypeAttribute)
    result = result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    SYNTAX = (
        Operands("source"),
        Clause("scales", Values("scales", 1, None)),
        Clause("axis", Int("axis"), optional=True),
        Clause("group", Int("group"), optional=True),
        Clause("zero_point", Operands("zero_point"), optional=True),
        Clause("to", Type("target")),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        for one, other in (("axis", "group"), ("group", "axis")):
            if call.has(one) and not call.has(other):
                call.error(
                    "PTO144",
                    f"dequantize with '{one}' needs '{other} ...'",
                    at=one,
                    rule="scales are for groups of an axis, or broadcast",
                    help=f"write {clause_sample(cls, other)}",
                )
        groups = (call.int("axis"), call.int("group")) if call.has("group") else None
        return [
            inference.dequantize(
                call.site,
                call.type("source"),
                call.types("scales"),
                call.properties["target"],
                call.types("zero_point"),
                groups,
            )
        ]


@op_definition
class MulGroupsOp(PyptoOp, Structured):
    """x[i, j] * s[i, first + j floordiv group]; made by passes.

    One number for each `group` columns of a row; s may have more than x needs of it.

    Example:
        %y = pypto.mul_groups %x, %s group 128 first 0
            : tensor<?x512xf32>, tensor<?x4xf32> -> tensor<?x512xf32>
    """

    name = "pypto.mul_groups"

    source = operand_def(TensorType)
    scale = operand_def(TensorType)
    group = prop_def(IntegerAttr)
    first = prop_def(IntegerAttr)
    result = result_def(TensorType)
    SYNTAX = (
        Operands("source", "scale"),
        Clause("group", Int("group")),
        Clause("first", Int("first")),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        source, scale = call.type("source"), call.type("scale")
        group, first = call.int("group"), call.int("first")
        return [inference.mul_groups(call.site, source, scale, group, first)]

    def _structure(self) -> Structure:
        """A point for each element of x; of s a row may be read anywhere."""
        rows, columns = 0, 1
        return Structure(
            Runs.VECTOR,
            (Kind.INDEPENDENT, Kind.INDEPENDENT),
            (
                Access(self.source, (rows, columns)),
                Access(self.scale, (rows, WHOLE)),
            ),
            (Access(self.result, (rows, columns)),),
        )


@op_definition
class QuantMxOp(PyptoOp):
    """MX quantisation: f8 values and one E8M0 scale for 32 elements along the axis.

    The axis is K of a matrix, the last or the one before. Scales are laid out as
    `scaled_mm` reads them: [.., M, ceil(K/64), 2] for axis -1, [.., ceil(K/64), N, 2]
    for axis -2. What is missing of the last block counts as zeros.

    The scale is the power of two at or below amax over the greatest power of two of the
    f8 type (2^8 for f8E4M3FN, 2^15 for f8E5M2), as in OCP Microscaling 1.0; values are
    x / scale, saturated. A block of zeros has the least scale; inf and NaN make the
    scale NaN.

    Example:
        %q, %d = pypto.quant_mx %x axis -1 to f8E4M3FN
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


QUANTISING_OPS = (QuantizeOp, DequantizeOp, MulGroupsOp, QuantMxOp)
"""The whole family."""
