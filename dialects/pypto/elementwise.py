"""Elementwise ops: one result element for each position of the broadcast operands.

Operands are tensors of one element type whose shapes broadcast (right-aligned, a static
1 repeats). In any place but the condition of `where` a literal may stand, rounded once
to the element type, or an SSA scalar: f32 beside floats, i32 or index beside integers,
whose low bits count, i1 beside i1.
`args` has them in written order. bf16 and f16 compute in f32 and round once.

Ops of one operand are in `unary.py`.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    BoolAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
)
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.brackets import element_of
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.infer import as_tensor
from pyptoc.dialects.pypto.infer_elementwise import (
    CAST_MODES,
    Domain,
    cast,
    elementwise,
    where,
)
from pyptoc.dialects.pypto.properties import Type, Word
from pyptoc.dialects.pypto.structure import Structure, Structured, pointwise
from pyptoc.dialects.pypto.syntax import Clause, Operands, Values
from pyptoc.dialects.pypto.unary import UNARY_OPS, ElementwiseOp


def _types(call: Call) -> list[Attribute | None]:
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
        types = _types(call)
        return [elementwise(call.site, types, cls.DOMAIN, cls.ELEMENT, cls.HELP)]


@irdl_op_definition
class AddOp(BinaryOp):
    """x + y; integers wrap, or with `checked` an overflow is a run-time error.

    Example:
        %z = pypto.add %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
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


@irdl_op_definition
class SubOp(BinaryOp):
    """x - y; integers wrap.

    Example:
        %z = pypto.sub 1.0, %x : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """x * y; integers wrap.

    Example:
        %z = pypto.mul %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.mul"


@irdl_op_definition
class DivOp(BinaryOp):
    """x / y of floats, correctly rounded; with `zero_if_zero` 0 where y is 0.

    Example:
        %z = pypto.div %x, %l {zero_if_zero}
            : tensor<?x64xf32>, tensor<?x1xf32> -> tensor<?x64xf32>
    """

    name = "pypto.div"
    DOMAIN = Domain.FLOAT
    HELP = "integers divide with pypto.floordiv, or cast to a float first"

    zero_if_zero = opt_prop_def(UnitAttr)


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The greater of x and y; NaN if either is NaN.

    Example:
        %z = pypto.maximum %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.maximum"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The lesser of x and y; NaN if either is NaN.

    Example:
        %z = pypto.minimum %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.minimum"


@irdl_op_definition
class PowOp(BinaryOp):
    """x to the power of y.

    Example:
        %z = pypto.pow %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.pow"
    DOMAIN = Domain.FLOAT


@irdl_op_definition
class RemOp(BinaryOp):
    """x - y * trunc(x / y): the remainder has the sign of x.

    Example:
        %z = pypto.rem %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.rem"


@irdl_op_definition
class FloordivOp(BinaryOp):
    """The whole quotient of integers, rounded toward minus infinity.

    Example:
        %z = pypto.floordiv %x, %y
            : tensor<?x64xi32>, tensor<64xi32> -> tensor<?x64xi32>
    """

    name = "pypto.floordiv"
    DOMAIN = Domain.INTEGER


@irdl_op_definition
class AndOp(BinaryOp):
    """Logical and of i1, bitwise and of integers.

    Example:
        %z = pypto.and %x, %y : tensor<?x64xi1>, tensor<64xi1> -> tensor<?x64xi1>
    """

    name = "pypto.and"
    DOMAIN = Domain.BITS


@irdl_op_definition
class OrOp(BinaryOp):
    """Logical or of i1, bitwise or of integers.

    Example:
        %z = pypto.or %x, %y : tensor<?x64xi1>, tensor<64xi1> -> tensor<?x64xi1>
    """

    name = "pypto.or"
    DOMAIN = Domain.BITS


@irdl_op_definition
class XorOp(BinaryOp):
    """Logical exclusive or of i1, bitwise of integers.

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


@irdl_op_definition
class ShiftLeftOp(ShiftOp):
    """x * 2^y without the bits that leave on the left; 0 for y outside the width.

    Example:
        %z = pypto.shift_left %x, 3 : tensor<?x64xi32> -> tensor<?x64xi32>
    """

    name = "pypto.shift_left"


@irdl_op_definition
class ShiftRightOp(ShiftOp):
    """x / 2^y rounded down; for y outside the width 0, or -1 where x is negative.

    Signed integers keep their sign (an arithmetic shift), unsigned take zeros in.

    Example:
        %z = pypto.shift_right %x, %n
            : tensor<?x64xi32>, tensor<64xi32> -> tensor<?x64xi32>
    """

    name = "pypto.shift_right"


class CompareOp(BinaryOp, ABC):
    """A compare of two operands; the result is i1."""

    ELEMENT = i1


@irdl_op_definition
class EqOp(CompareOp):
    """True where x equals y; false where either is NaN.

    Example:
        %c = pypto.eq %x, 0.0 : tensor<?x64xf32> -> tensor<?x64xi1>
    """

    name = "pypto.eq"
    DOMAIN = Domain.ANY


@irdl_op_definition
class NeOp(CompareOp):
    """True where x differs from y; true where either is NaN.

    Example:
        %c = pypto.ne %x, 0.0 : tensor<?x64xf32> -> tensor<?x64xi1>
    """

    name = "pypto.ne"
    DOMAIN = Domain.ANY


@irdl_op_definition
class LtOp(CompareOp):
    """True where x < y; false where either is NaN.

    Example:
        %c = pypto.lt %x, 0.0 : tensor<?x64xf32> -> tensor<?x64xi1>
    """

    name = "pypto.lt"


@irdl_op_definition
class LeOp(CompareOp):
    """True where x <= y; false where either is NaN.

    Example:
        %c = pypto.le %x, 0.0 : tensor<?x64xf32> -> tensor<?x64xi1>
    """

    name = "pypto.le"


@irdl_op_definition
class GtOp(CompareOp):
    """True where x > y; false where either is NaN.

    Example:
        %c = pypto.gt %x, 0.0 : tensor<?x64xf32> -> tensor<?x64xi1>
    """

    name = "pypto.gt"


@irdl_op_definition
class GeOp(CompareOp):
    """True where x >= y; false where either is NaN.

    Example:
        %c = pypto.ge %x, 0.0 : tensor<?x64xf32> -> tensor<?x64xi1>
    """

    name = "pypto.ge"


@irdl_op_definition
class ClipOp(ElementwiseOp):
    """min(max(x, low), high); NaN stays NaN.

    Example:
        %y = pypto.clip %x, -127.0, 127.0 : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.clip"

    SYNTAX = (Values("inputs", 3, literals=True),)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [elementwise(call.site, _types(call), Domain.NUMBER)]


@irdl_op_definition
class WhereOp(ElementwiseOp):
    """x where the condition is true, else y; bits are copied, NaN included.

    The result type of two scalars is written: `where %c, 1.0, 0.0 : tensor<?xbf16>`.

    Example:
        %y = pypto.where %c, %x, -inf
            : tensor<?x8x1xi1>, tensor<?x8x32xf32> -> tensor<?x8x32xf32>
    """

    name = "pypto.where"

    SYNTAX = (Values("inputs", 3, literals=True, like=1),)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        given: Attribute | None = call.given[0] if call.given else None
        shaped = None if given is None else as_tensor(given)
        element = given if shaped is None else shaped.element_type
        return [where(call.site, _types(call), element)]


@irdl_op_definition
class CastOp(PyptoOp, Structured):
    """Converts the element type, rounding once.

    The default mode is trunc to an integer and rint to a float. Casts to integers and
    f8 saturate; `{saturate = false}` wraps integers, and gives NaN (E4M3FN) or inf
    (E5M2). f16 and bf16 overflow to inf. NaN becomes the integer 0.

    Example:
        %y = pypto.cast %x to i32 mode rint : tensor<?x64xf32> -> tensor<?x64xi32>
    """

    name = "pypto.cast"

    source = operand_def(TensorType)
    target = prop_def(TypeAttribute)
    mode = opt_prop_def(StringAttr)
    saturate = opt_prop_def(BoolAttr)
    result = result_def(TensorType)
    SYNTAX = (
        Operands("source"),
        Clause("to", Type("target")),
        Clause("mode", Word("mode", CAST_MODES), optional=True),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        mode = call.text("mode") or "none"
        return [cast(call.site, call.type("source"), call.properties["target"], mode)]

    def structure(self) -> Structure:
        """One point for each element."""
        return pointwise(self.operands, self.results)


BINARY_OPS: dict[str, type[BinaryOp]] = {
    "add": AddOp,
    "sub": SubOp,
    "mul": MulOp,
    "div": DivOp,
    "maximum": MaximumOp,
    "minimum": MinimumOp,
    "pow": PowOp,
    "rem": RemOp,
    "floordiv": FloordivOp,
    "and": AndOp,
    "or": OrOp,
    "xor": XorOp,
    "shift_left": ShiftLeftOp,
    "shift_right": ShiftRightOp,
}
"""Every elementwise op of two operands but the compares, by name."""


COMPARE_OPS: dict[str, type[CompareOp]] = {
    "eq": EqOp,
    "ne": NeOp,
    "lt": LtOp,
    "le": LeOp,
    "gt": GtOp,
    "ge": GeOp,
}
"""The compares, by name."""

ELEMENTWISE_OPS = (
    *UNARY_OPS.values(),
    *BINARY_OPS.values(),
    *COMPARE_OPS.values(),
    ClipOp,
    WhereOp,
    CastOp,
)
"""The whole family."""
