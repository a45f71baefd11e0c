"""Elementwise ops of one operand (see `elementwise.py`)."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure

from pyptoc.dialects.pypto.base import LiteralOp
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.infer_elementwise import Domain, elementwise
from pyptoc.dialects.pypto.structure import Structure, Structured, pointwise
from pyptoc.dialects.pypto.syntax import Values


class ElementwiseOp(LiteralOp, Structured, ABC):
    """One result element for each position of the broadcast operands."""

    result = result_def(TensorType)
    traits = traits_def(Pure())

    def structure(self) -> Structure:
        """One point for each element."""
        return pointwise(self.operands, self.results)


class UnaryOp(ElementwiseOp, ABC):
    """One function applied to each element; the type stays."""

    DOMAIN: ClassVar[Domain] = Domain.FLOAT
    """The element types the op is defined on."""

    SYNTAX = (Values("inputs", 1),)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [elementwise(call.site, call.types("inputs"), cls.DOMAIN)]


@irdl_op_definition
class ExpOp(UnaryOp):
    """e to the power of x.

    Example:
        %y = pypto.exp %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.exp"


@irdl_op_definition
class LogOp(UnaryOp):
    """The natural logarithm; of 0 it is -inf, of a negative number NaN.

    Example:
        %y = pypto.log %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.log"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """The square root; of a negative number it is NaN.

    Example:
        %y = pypto.sqrt %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.sqrt"


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """1 / sqrt(x); of 0 it is inf.

    Example:
        %y = pypto.rsqrt %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.rsqrt"


@irdl_op_definition
class NegOp(UnaryOp):
    """-x; the least integer stays as it is.

    Example:
        %y = pypto.neg %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.neg"
    DOMAIN = Domain.SIGNED


@irdl_op_definition
class AbsOp(UnaryOp):
    """|x|; the least integer stays as it is.

    Example:
        %y = pypto.abs %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.abs"
    DOMAIN = Domain.SIGNED


@irdl_op_definition
class ReluOp(UnaryOp):
    """max(x, 0); NaN stays NaN.

    Example:
        %y = pypto.relu %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.relu"
    DOMAIN = Domain.SIGNED


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x)), without overflow for any x.

    Example:
        %y = pypto.sigmoid %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.sigmoid"


@irdl_op_definition
class SiluOp(UnaryOp):
    """x * sigmoid(x); of -inf it is -0.0.

    Example:
        %y = pypto.silu %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.silu"


@irdl_op_definition
class GeluOp(UnaryOp):
    """x * (1 + erf(x / sqrt(2))) / 2: the exact form, not the tanh one.

    Example:
        %y = pypto.gelu %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.gelu"


@irdl_op_definition
class TanhOp(UnaryOp):
    """The hyperbolic tangent.

    Example:
        %y = pypto.tanh %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.tanh"


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """1 / x, correctly rounded; of 0 it is inf.

    Example:
        %y = pypto.reciprocal %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.reciprocal"


@irdl_op_definition
class FloorOp(UnaryOp):
    """The greatest whole number that is not above x.

    Example:
        %y = pypto.floor %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.floor"


@irdl_op_definition
class CeilOp(UnaryOp):
    """The least whole number that is not below x.

    Example:
        %y = pypto.ceil %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.ceil"


@irdl_op_definition
class TruncOp(UnaryOp):
    """The whole part of x: rounds toward zero.

    Example:
        %y = pypto.trunc %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.trunc"


@irdl_op_definition
class RoundOp(UnaryOp):
    """The nearest whole number, ties to even.

    Example:
        %y = pypto.round %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.round"


@irdl_op_definition
class SinOp(UnaryOp):
    """The sine of x in radians.

    Example:
        %y = pypto.sin %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.sin"


@irdl_op_definition
class CosOp(UnaryOp):
    """The cosine of x in radians.

    Example:
        %y = pypto.cos %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.cos"


@irdl_op_definition
class ErfOp(UnaryOp):
    """The error function.

    Example:
        %y = pypto.erf %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.erf"


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """True where x is false; i1 only.

    Example:
        %y = pypto.logical_not %x : tensor<?x64xi1> -> tensor<?x64xi1>
    """

    name = "pypto.logical_not"
    DOMAIN = Domain.TRUTH


@irdl_op_definition
class BitwiseNotOp(UnaryOp):
    """Every bit of an integer turned: -1 - x of a signed one.

    Example:
        %y = pypto.bitwise_not %x : tensor<?x64xi32> -> tensor<?x64xi32>
    """

    name = "pypto.bitwise_not"
    DOMAIN = Domain.INTEGER


UNARY_OPS: dict[str, type[UnaryOp]] = {
    "exp": ExpOp,
    "log": LogOp,
    "sqrt": SqrtOp,
    "rsqrt": RsqrtOp,
    "neg": NegOp,
    "abs": AbsOp,
    "relu": ReluOp,
    "sigmoid": SigmoidOp,
    "silu": SiluOp,
    "gelu": GeluOp,
    "tanh": TanhOp,
    "reciprocal": ReciprocalOp,
    "floor": FloorOp,
    "ceil": CeilOp,
    "trunc": TruncOp,
    "round": RoundOp,
    "sin": SinOp,
    "cos": CosOp,
    "erf": ErfOp,
    "logical_not": LogicalNotOp,
    "bitwise_not": BitwiseNotOp,
}
"""Every elementwise op of one operand, by name."""
