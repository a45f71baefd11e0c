"""Elementwise ops of one operand: one function of each element.

Shape and element type stay. bf16 and f16 compute in f32 and round once.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import result_def, traits_def
from xdsl.traits import Pure

from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.pypto.base import LiteralOp
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.infer_elementwise import Domain, elementwise
from pyptoc.dialects.pypto.structure import Structure, Structured, pointwise
from pyptoc.dialects.pypto.values import Values


class ElementwiseOp(LiteralOp, Structured, ABC):
    """One result element for each position of the broadcast operands."""

    result = result_def(TensorType)
    traits = traits_def(Pure())

    def _structure(self) -> Structure:
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


@op_definition
class ExpOp(UnaryOp):
    """e to the power of x.

    It overflows to inf, exp(-inf) is 0. NaN gives NaN.

    Example:
        %y = pypto.exp %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.exp"


@op_definition
class LogOp(UnaryOp):
    """The natural logarithm.

    Of 0 it is -inf, of a negative number NaN. NaN gives NaN.

    Example:
        %y = pypto.log %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.log"


@op_definition
class SqrtOp(UnaryOp):
    """The square root.

    Correctly rounded in f32. Of a negative number it is NaN, of -0.0 it is -0.0.

    Example:
        %y = pypto.sqrt %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.sqrt"


@op_definition
class RsqrtOp(UnaryOp):
    """1 / sqrt(x), a division and no approximation.

    Of 0 it is inf, of inf 0, of a negative number NaN.

    Example:
        %y = pypto.rsqrt %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.rsqrt"


@op_definition
class NegOp(UnaryOp):
    """The negative of x.

    Exact; the sign of zeros and NaN changes, too. The least integer stays what it is:
    integers wrap. Unsigned integers have no negative.

    Example:
        %y = pypto.neg %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.neg"
    DOMAIN = Domain.SIGNED


@op_definition
class AbsOp(UnaryOp):
    """The magnitude of x.

    Exact; NaN gives NaN. The least integer stays what it is: integers wrap.

    Example:
        %y = pypto.abs %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.abs"
    DOMAIN = Domain.SIGNED


@op_definition
class ReluOp(UnaryOp):
    """The greater of x and 0.

    NaN gives NaN.

    Example:
        %y = pypto.relu %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.relu"
    DOMAIN = Domain.SIGNED


@op_definition
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x)).

    Of -inf it is 0, of inf 1; it never overflows. NaN gives NaN.

    Example:
        %y = pypto.sigmoid %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.sigmoid"


@op_definition
class SiluOp(UnaryOp):
    """x * sigmoid(x), also called swish.

    silu(-inf) is -0.0, not NaN. NaN gives NaN.

    Example:
        %y = pypto.silu %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.silu"


@op_definition
class GeluOp(UnaryOp):
    """x * (1 + erf(x / sqrt(2))) / 2.

    The exact form, not the approximation by tanh. NaN gives NaN, and so does -inf.

    Example:
        %y = pypto.gelu %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.gelu"


@op_definition
class TanhOp(UnaryOp):
    """The hyperbolic tangent.

    Of inf it is 1, of -inf -1. NaN gives NaN.

    Example:
        %y = pypto.tanh %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.tanh"


@op_definition
class ReciprocalOp(UnaryOp):
    """1 / x.

    Correctly rounded in f32. Of 0.0 it is inf, of -0.0 -inf, of inf 0. NaN gives NaN.

    Example:
        %y = pypto.reciprocal %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.reciprocal"


@op_definition
class FloorOp(UnaryOp):
    """The greatest whole number that is at most x.

    Exact; the element type stays. inf and NaN stay.

    Example:
        %y = pypto.floor %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.floor"


@op_definition
class CeilOp(UnaryOp):
    """The least whole number that is at least x.

    Exact; the element type stays. inf and NaN stay.

    Example:
        %y = pypto.ceil %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.ceil"


@op_definition
class TruncOp(UnaryOp):
    """x without its fraction: rounded toward zero.

    Exact; the element type stays. inf and NaN stay.

    Example:
        %y = pypto.trunc %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.trunc"


@op_definition
class RoundOp(UnaryOp):
    """The nearest whole number; halves go to the even one.

    Exact; the element type stays: 0.5 gives 0.0, 1.5 and 2.5 give 2.0. inf and NaN
    stay. Another rounding is a cast with a mode.

    Example:
        %y = pypto.round %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.round"


@op_definition
class SinOp(UnaryOp):
    """The sine of x in radians.

    Of inf it is NaN. NaN gives NaN.

    Example:
        %y = pypto.sin %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.sin"


@op_definition
class CosOp(UnaryOp):
    """The cosine of x in radians.

    Of inf it is NaN. NaN gives NaN.

    Example:
        %y = pypto.cos %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.cos"


@op_definition
class ErfOp(UnaryOp):
    """The error function.

    Of inf it is 1, of -inf -1. NaN gives NaN.

    Example:
        %y = pypto.erf %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.erf"


@op_definition
class LogicalNotOp(UnaryOp):
    """True where x is false.

    For numbers write a compare: `pypto.eq %x, 0.0`.

    Example:
        %y = pypto.logical_not %x : tensor<?x64xi1> -> tensor<?x64xi1>
    """

    name = "pypto.logical_not"
    DOMAIN = Domain.TRUTH


@op_definition
class BitwiseNotOp(UnaryOp):
    """Every bit of an integer turned.

    -1 - x of a signed integer, 255 - x of ui8. i1 has `logical_not`.

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
