"""Elementwise ops of two operands: one result for each position of the broadcast ones.

Operands are tensors of one element type whose shapes broadcast (right-aligned, a static
1 repeats). Instead of one a literal may stand, rounded once to the element type, or
an SSA scalar: f32 beside floats, i32 or index beside integers, which must fit (PTO403),
i1 beside i1. bf16 and f16 compute in f32 and round once.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    UnitAttr,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    opt_prop_def,
)

from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.pypto.brackets import element_of
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.infer_elementwise import (
    Domain,
    elementwise,
)
from pyptoc.dialects.pypto.unary import ElementwiseOp
from pyptoc.dialects.pypto.values import Values


def types_of(call: Call) -> list[Attribute | None]:
    """The types of the operands in written order, None for a literal."""
    args = call.args("inputs")
    return [arg.type if isinstance(arg, SSAValue) else None for arg in args]


class BinaryOp(ElementwiseOp, ABC):
    """One function of two operands; the result has their element type."""

    DOMAIN: ClassVar[Domain] = Domain.NUMBER
    """The element types the op is defined on."""
    ELEMENT: ClassVar[Attribute | None] = None
    """The element type of the result, where it is not that of the operands."""
    HELP: ClassVar[str] = ""
    """What to write where the element type is outside the domain."""

    SYNTAX = (Values("inputs", 2, literals=True),)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        types = types_of(call)
        return [elementwise(call.site, types, cls.DOMAIN, cls.ELEMENT, cls.HELP)]


@op_definition
class AddOp(BinaryOp):
    """x + y.

    Floats round once, to the element type, and overflow to inf. Integers wrap, or with
    `checked` an overflow is a run-time error (PTO403).

    Example:
        %z = pypto.add %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
        %z = pypto.add %x, 2.0 : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.add"

    checked = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        types = super().infer(call)
        element = element_of(types[0])
        if call.has("checked") and not isinstance(element, IntegerType):
            call.error(
                "PTO143",
                f"checked add of {element} elements",
                at="checked",
                rule="only a sum of integers can overflow",
            )
        return types


@op_definition
class SubOp(BinaryOp):
    """x - y.

    Floats round once, to the element type, and overflow to inf. Integers wrap.

    Example:
        %z = pypto.sub %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
        %z = pypto.sub 1.0, %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.sub"


@op_definition
class MulOp(BinaryOp):
    """x * y.

    Floats round once, to the element type, and overflow to inf; 0 * inf is NaN.
    Integers wrap.

    Example:
        %z = pypto.mul %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
        %z = pypto.mul %x, 2.0 : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.mul"


@op_definition
class DivOp(BinaryOp):
    """x / y of floats, correctly rounded.

    x / 0 is inf with the sign of x and y, 0 / 0 is NaN. `zero_if_zero` gives 0 wherever
    y is 0: a softmax of rows that are masked wholly wants that. Integers divide with
    `floordiv`.

    Example:
        %z = pypto.div %x, %y {zero_if_zero}
            : tensor<?x64xf32>, tensor<?x1xf32> -> tensor<?x64xf32>
    """

    name = "pypto.div"
    DOMAIN = Domain.FLOAT
    HELP = "integers divide with pypto.floordiv, or cast to a float first"

    zero_if_zero = opt_prop_def(UnitAttr)


@op_definition
class MaximumOp(BinaryOp):
    """The greater of x and y.

    NaN if either is NaN.

    Example:
        %z = pypto.maximum %x, %y
            : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.maximum"


@op_definition
class MinimumOp(BinaryOp):
    """The lesser of x and y.

    NaN if either is NaN.

    Example:
        %z = pypto.minimum %x, %y
            : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.minimum"


@op_definition
class PowOp(BinaryOp):
    """x to the power of y.

    x to the power of 0 is 1, and so is 1 to any power, even of NaN. A negative x with a
    y that is not whole gives NaN.

    Example:
        %z = pypto.pow %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.pow"
    DOMAIN = Domain.FLOAT


@op_definition
class RemOp(BinaryOp):
    """x - y * trunc(x / y): the remainder has the sign of x.

    Exact. Of floats with y = 0 or x = inf it is NaN. An integer y of 0 is a run-time
    error (PTO403).

    Example:
        %z = pypto.rem %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.rem"


@op_definition
class FloordivOp(BinaryOp):
    """The whole quotient of integers, rounded toward minus infinity.

    -7 floordiv 2 is -4. A y of 0 is a run-time error (PTO403). The least integer
    divided by -1 wraps.

    Example:
        %z = pypto.floordiv %x, %y
            : tensor<?x64xi32>, tensor<64xi32> -> tensor<?x64xi32>
    """

    name = "pypto.floordiv"
    DOMAIN = Domain.INTEGER


@op_definition
class AndOp(BinaryOp):
    """Logical and of i1, bitwise and of integers.

    Every bit of the result is the and of the two bits; signs are bits as well.

    Example:
        %z = pypto.and %x, %y : tensor<?x64xi1>, tensor<64xi1> -> tensor<?x64xi1>
    """

    name = "pypto.and"
    DOMAIN = Domain.BITS


@op_definition
class OrOp(BinaryOp):
    """Logical or of i1, bitwise or of integers.

    Every bit of the result is the or of the two bits; signs are bits as well.

    Example:
        %z = pypto.or %x, %y : tensor<?x64xi1>, tensor<64xi1> -> tensor<?x64xi1>
    """

    name = "pypto.or"
    DOMAIN = Domain.BITS


@op_definition
class XorOp(BinaryOp):
    """Logical exclusive or of i1, bitwise of integers.

    Every bit of the result is the exclusive or of the two bits; signs are bits as well.

    Example:
        %z = pypto.xor %x, %y : tensor<?x64xi1>, tensor<64xi1> -> tensor<?x64xi1>
    """

    name = "pypto.xor"
    DOMAIN = Domain.BITS


class ShiftOp(BinaryOp, ABC):
    """Bits moved by a number of places, which may be a literal of 0 to width - 1.

    A count in a tensor or a scalar that lies outside moves all bits out.
    """

    DOMAIN = Domain.INTEGER

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        types = super().infer(call)
        element = element_of(types[0])
        assert isinstance(element, IntegerType)
        width = element.bitwidth
        count = call.args("inputs")[1]
        if isinstance(count, IntegerAttr) and not 0 <= count.value.data < width:
            call.error(
                "PTO115",
                f"{call.short_name} of {width} bits by {count.value.data}",
                at="inputs.1",
                rule=f"a literal count is 0 to {width - 1}",
            )
        return types


@op_definition
class ShiftLeftOp(ShiftOp):
    """x * 2^y without the bits that leave on the left.

    The result is 0 where y is negative or at least the width. A literal y is 0 to
    width - 1 (PTO115).

    Example:
        %z = pypto.shift_left %x, %n
            : tensor<?x64xi32>, tensor<64xi32> -> tensor<?x64xi32>
        %z = pypto.shift_left %x, 3 : tensor<?x64xi32> -> tensor<?x64xi32>
    """

    name = "pypto.shift_left"


@op_definition
class ShiftRightOp(ShiftOp):
    """x / 2^y rounded toward minus infinity.

    Signed integers keep their sign (an arithmetic shift), unsigned take zeros in. Where
    y is negative or at least the width, the result is 0, or -1 of a negative x. A
    literal y is 0 to width - 1 (PTO115).

    Example:
        %z = pypto.shift_right %x, %n
            : tensor<?x64xi32>, tensor<64xi32> -> tensor<?x64xi32>
    """

    name = "pypto.shift_right"
