"""Compares, clip, where and cast: elementwise as well.

Operands are those of the ops above: tensors whose shapes broadcast, and but for the
condition of `where` literals and scalars.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    BoolAttr,
    StringAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.binary import (
    AddOp,
    AndOp,
    BinaryOp,
    DivOp,
    FloordivOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    OrOp,
    PowOp,
    RemOp,
    ShiftLeftOp,
    ShiftRightOp,
    SubOp,
    XorOp,
    types_of,
)
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
from pyptoc.dialects.pypto.syntax import Clause, Operands
from pyptoc.dialects.pypto.unary import UNARY_OPS, ElementwiseOp
from pyptoc.dialects.pypto.values import Values


class CompareOp(BinaryOp, ABC):
    """A compare of two operands; the result is i1."""

    ELEMENT = i1


@op_definition
class EqOp(CompareOp):
    """True where x equals y.

    False where either is NaN; 0.0 equals -0.0.

    Example:
        %c = pypto.eq %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>
    """

    name = "pypto.eq"
    DOMAIN = Domain.ANY


@op_definition
class NeOp(CompareOp):
    """True where x differs from y.

    True where either is NaN; 0.0 equals -0.0.

    Example:
        %c = pypto.ne %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>
    """

    name = "pypto.ne"
    DOMAIN = Domain.ANY


@op_definition
class LtOp(CompareOp):
    """True where x < y.

    False where either is NaN.

    Example:
        %c = pypto.lt %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>
    """

    name = "pypto.lt"


@op_definition
class LeOp(CompareOp):
    """True where x <= y.

    False where either is NaN.

    Example:
        %c = pypto.le %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>
    """

    name = "pypto.le"


@op_definition
class GtOp(CompareOp):
    """True where x > y.

    False where either is NaN.

    Example:
        %c = pypto.gt %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>
    """

    name = "pypto.gt"


@op_definition
class GeOp(CompareOp):
    """True where x >= y.

    False where either is NaN.

    Example:
        %c = pypto.ge %x, %y : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>
    """

    name = "pypto.ge"


@op_definition
class ClipOp(ElementwiseOp):
    """min(max(x, low), high).

    NaN stays NaN, and a limit of NaN gives NaN. Where low > high the result is high.

    Example:
        %y = pypto.clip %x, %low, %high
            : tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32> -> tensor<?x64xf32>
        %y = pypto.clip %x, -127.0, 127.0 : tensor<?x64xf32> -> tensor<?x64xf32>
    """

    name = "pypto.clip"

    SYNTAX = (Values("inputs", 3, literals=True),)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [elementwise(call.site, types_of(call), Domain.NUMBER)]


@op_definition
class WhereOp(ElementwiseOp):
    """x where the condition c is true, else y.

    Bits are copied, those of NaN included: nothing is computed or rounded. At least one
    of x and y is a tensor; c is one always.

    The result type of two scalars is written: `where %c, 1.0, 0.0 : tensor<?xbf16>`.

    Example:
        %z = pypto.where %c, %x, %y
            : tensor<?x8x1xi1>, tensor<?x8x32xf32>, tensor<32xf32> -> tensor<?x8x32xf32>
        %z = pypto.where %c, %x, -inf
            : tensor<?x8x1xi1>, tensor<?x8x32xf32> -> tensor<?x8x32xf32>
    """

    name = "pypto.where"

    SYNTAX = (Values("inputs", 3, literals=True, like=1),)

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        given: Attribute | None = call.given[0] if call.given else None
        shaped = None if given is None else as_tensor(given)
        element = given if shaped is None else shaped.element_type
        return [where(call.site, types_of(call), element)]


@op_definition
class CastOp(PyptoOp, Structured):
    """Converts the element type, rounding once.

    Modes: `rint` rounds halves to even, `round` away from zero, `floor`, `ceil`,
    `trunc`, and `odd` (f32 to f16 only). Without a mode, or with `none`, a cast to an
    integer truncates and any other is `rint`. A mode that a pair of types does not have
    is an error (PTO117), and so are casts to i1 (write a compare), and from integers to
    f8.

    Casts to integers and f8 saturate. `{saturate = false}` keeps the low bits of
    integers, and gives NaN (f8E4M3FN) or inf (f8E5M2) beyond the range. f16 and bf16
    overflow to inf. NaN becomes the integer 0, and stays NaN among floats.

    To f8E8M0FNU goes the nearest power of two, up from a mantissa of 1.5; the sign is
    dropped, 0 gives 2^-127, more than 2^127 gives 2^127, inf and NaN give NaN.

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

    def _structure(self) -> Structure:
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
