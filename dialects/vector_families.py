"""What kinds of vector instructions there are: the table that `tile_vector.py` defines
one class for each row of."""

from __future__ import annotations

from enum import Enum
from typing import cast

from xdsl.dialects.builtin import AnyFloat, IntegerType, StringAttr, i1
from xdsl.ir import Attribute
from xdsl.utils.str_enum import StrEnum

from pyptoc.dialects.record import record


class Form(StrEnum):
    """How an SSA input meets the box [m, n] of the instruction."""

    FULL = "full"
    ROW = "row"
    COL = "col"
    ONE = "one"
    GROUP = "group"
    SCALAR = "scalar"


FORMS = {form: StringAttr(form) for form in Form}
FORM_NAMES = frozenset(form.value for form in Form)
WRITTEN_FORMS = (Form.FULL, Form.ROW, Form.COL, Form.ONE, Form.GROUP)


class Elements(Enum):
    """The element types of the inputs."""

    FLOAT = "a float of at least 16 bits"
    NUMBER = "a float of at least 16 bits, or an integer"
    INTEGER = "an integer"
    BITS = "i1 or an integer"
    TRUTH = "i1"
    ANY = "any"

    def holds(self, element: Attribute) -> bool:
        if self is Elements.ANY:
            return True
        if isinstance(element, IntegerType):
            truth = element == i1
            if self in (Elements.NUMBER, Elements.INTEGER):
                return not truth
            return self is Elements.BITS or (self is Elements.TRUTH and truth)
        floats = self in (Elements.FLOAT, Elements.NUMBER)
        return floats and cast(AnyFloat, element).bitwidth >= 16


class Shape(Enum):
    """How the destination relates to the box [m, n] of the inputs."""

    ELEMENTWISE = "elementwise"
    ROW_REDUCTION = "row reduction"
    ROW_SCAN = "row scan"


class Result(Enum):
    """The element type of the destination."""

    SAME = "that of the inputs"
    TRUTH = "i1"
    ANY = "any"


@record
class Family:
    """One row of the table: an instruction `tile.<name>`."""

    name: str
    arity: int
    elements: Elements
    shape: Shape = Shape.ELEMENTWISE
    result: Result = Result.SAME
    options: tuple[str, ...] = ()
    index_scalar: bool = False
    """Whether a scalar input is a position, of type index."""

    @property
    def is_elementwise(self) -> bool:
        return self.shape is Shape.ELEMENTWISE


def _families() -> list[Family]:
    float_unary = (
        "exp log sqrt rsqrt sigmoid silu gelu tanh reciprocal "
        "sin cos erf floor ceil trunc round"
    )
    number = Elements.NUMBER
    return [
        *(Family(name, 1, Elements.FLOAT) for name in float_unary.split()),
        *(Family(name, 1, number) for name in ("neg", "abs", "relu")),
        Family("logical_not", 1, Elements.TRUTH),
        Family("bitwise_not", 1, Elements.INTEGER),
        Family("add", 2, number, options=("checked",)),
        Family("sub", 2, number),
        Family("mul", 2, number, options=("group", "first")),
        *(Family(name, 2, number) for name in ("maximum", "minimum")),
        Family("rem", 2, number),
        Family("floordiv", 2, Elements.INTEGER),
        Family("pow", 2, Elements.FLOAT),
        Family("div", 2, Elements.FLOAT, options=("zero_if_zero",)),
        *(Family(name, 2, Elements.BITS) for name in ("and", "or", "xor")),
        *(Family(f"shift_{side}", 2, Elements.INTEGER) for side in ("left", "right")),
        *(Family(name, 2, Elements.ANY, result=Result.TRUTH) for name in ("eq", "ne")),
        *(
            Family(name, 2, number, result=Result.TRUTH)
            for name in ("lt", "le", "gt", "ge")
        ),
        Family("clip", 3, number),
        Family("where", 3, Elements.ANY),
        Family("copy", 1, Elements.ANY),
        Family("fill", 1, Elements.ANY),
        Family("cvt", 1, Elements.ANY, result=Result.ANY, options=("mode", "saturate")),
        *(
            Family(f"row_{name}", 1, number, Shape.ROW_REDUCTION)
            for name in ("sum", "max", "min", "prod")
        ),
        Family("row_cumsum", 1, number, Shape.ROW_SCAN),
        Family("arange", 1, number),
        Family("mask_causal", 2, Elements.FLOAT, index_scalar=True),
    ]


VECTOR_FAMILIES = {family.name: family for family in _families()}
