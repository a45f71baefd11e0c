"""Every operand of every op is checked: a scalar, a wrong element type, a wrong rank.

One legal use of each op is a row of the table; the tests replace one operand of it.
"""

import pytest
from building import code_of, made, parse, tensor, value
from many import for_each

from pyptoc.dialects.pypto import (
    composite,
    indexing,
    matmul,
    quantising,
    reduce,
    scatters,
    shape,
)
from pyptoc.dialects.pypto.elementwise import BINARY_OPS, UNARY_OPS, CastOp, WhereOp

F8 = "f8E4M3FN"
SCALE = "f8E8M0FNU"
EXP, ADD = UNARY_OPS["exp"], BINARY_OPS["add"]
MX = [("4x64x", F8), ("64x2x", F8)]
STATE = [("4x8x", "f32"), ("4x1x", "f32"), ("4x1x", "f32")]
DATA, ROW, INDICES = ("4x8x", "f32"), ("8x", "f32"), ("?x", "i32")

LEGAL = {
    # op: (shape, element type) of each operand, the other arguments of make
    EXP: ([DATA], []),
    ADD: ([DATA, ROW], []),
    WhereOp: ([("4x8x", "i1"), DATA, ROW], []),
    CastOp: ([DATA], [parse("bf16")]),
    reduce.SumOp: ([DATA], [-1]),
    reduce.CumsumOp: ([DATA], [0]),
    matmul.MatmulOp: ([("4x8x", "bf16"), ("8x2x", "bf16")], []),
    matmul.EinsumOp: ([("4x8x", "bf16"), ("8x2x", "bf16")], []),
    matmul.MmaOp: ([("4x2x", "f32"), *MX, ("4x2x", SCALE), ("1x4x", SCALE)], []),
    matmul.ScaledMmOp: ([*MX, ("4x1x2x", SCALE), ("1x2x2x", SCALE)], []),
    matmul.GroupedMatmulOp: (
        [
            MX[0],
            ("3x64x2x", F8),
            ("3x", "i64"),
            ("4x1x2x", SCALE),
            ("3x1x2x2x", SCALE),
        ],
        [],
    ),
    composite.SoftmaxOp: ([DATA], [-1]),
    composite.OnlineSoftmaxOp: (STATE, []),
    composite.MaskCausalOp: ([DATA], []),
    composite.RmsNormOp: ([DATA, ROW], [1e-5]),
    composite.LayerNormOp: ([DATA, ROW, ROW], [1e-5]),
    composite.SwigluOp: ([DATA, DATA], []),
    composite.RopeOp: ([DATA, ROW, ROW], []),
    quantising.QuantizeOp: ([DATA], []),
    quantising.DequantizeOp: ([("4x8x", "i32"), ROW], [parse("f32")]),
    quantising.MulGroupsOp: ([DATA, ("4x2x", "f32")], [4, 0]),
    quantising.QuantMxOp: ([DATA], [-1, parse("f8E5M2")]),
    indexing.TopkOp: ([DATA, ("4x", "i32")], []),
    indexing.GatherRowsOp: ([DATA, INDICES, INDICES], []),
    scatters.ScatterRowsOp: ([("?x8x", "f32"), DATA, INDICES], []),
    indexing.GatherOp: ([DATA, ("4x2x", "i32")], [-1]),
    indexing.IndexSelectOp: ([DATA, INDICES], [0]),
    scatters.IndexAddOp: ([("?x8x", "f32"), DATA, INDICES], [0]),
    indexing.OneHotOp: ([("4x8x", "i32")], [16]),
    shape.TransposeOp: ([DATA], [[1, 0]]),
    shape.ConcatOp: ([DATA, DATA], []),
}

FIELDS = {
    # what is written between operands, and so given by name
    composite.MaskCausalOp: {"offset": value("index")},
    quantising.QuantizeOp: {"axis": -1, "target": parse("i8")},
    indexing.TopkOp: {"k": 2, "axis": -1},
    indexing.GatherRowsOp: {"page": 128},
    matmul.EinsumOp: {"equation": "ij,jk->ik"},
    shape.ConcatOp: {"axis": 0},
}

SCALARS_TOO = {ADD: (0, 1), WhereOp: (1, 2)}
"""Operands that may be an f32 scalar."""

ANY_ELEMENT = {
    CastOp: (0,),
    indexing.GatherRowsOp: (0,),
    indexing.GatherOp: (0,),
    indexing.IndexSelectOp: (0,),
    shape.TransposeOp: (0,),
}
"""Operands of every element type: elements are converted, or only moved."""

ANY_RANK = {
    EXP: (0,),
    ADD: (0, 1),
    WhereOp: (0, 1, 2),
    CastOp: (0,),
    composite.RopeOp: (1, 2),
    quantising.DequantizeOp: (1,),
    indexing.TopkOp: (1,),
    indexing.GatherRowsOp: (1,),
}
"""Operands that may have rank 0: it broadcasts, or is the one index."""

CASES = [(kind, at) for kind, (types, _) in LEGAL.items() for at in range(len(types))]


def except_for(exceptions):
    return [(kind, at) for kind, at in CASES if at not in exceptions.get(kind, ())]


def arguments(kind, at=None, type=None):
    """The arguments of `make`, operand `at` replaced by one of type `type`."""
    types, rest = LEGAL[kind]
    values = [value(tensor(*of)) for of in types]
    if at is not None:
        values[at] = value(type)
    fields = dict(FIELDS.get(kind, {}))
    if kind is indexing.TopkOp:
        fields["lengths"] = values.pop()
    return (*values, *rest), fields


@for_each(LEGAL)
def test_the_table_is_legal(kind):
    args, fields = arguments(kind)
    assert made(kind, *args, **fields)


@for_each(except_for(SCALARS_TOO))
def test_an_operand_is_a_tensor(kind, at):
    args, fields = arguments(kind, at, "f32")
    assert code_of(kind, *args, **fields) == "PTO110"


@for_each(except_for(ANY_ELEMENT))
def test_an_operand_has_its_element_type(kind, at):
    own_shape, element = LEGAL[kind][0][at]
    other = "i32" if element == "i1" else "i1"
    args, fields = arguments(kind, at, tensor(own_shape, other))
    assert code_of(kind, *args, **fields) in ("PTO111", "PTO112")


@for_each(except_for(ANY_RANK))
def test_an_operand_has_its_rank(kind, at):
    _, element = LEGAL[kind][0][at]
    args, fields = arguments(kind, at, tensor("", element))
    codes = ("PTO113", "PTO120", "PTO122", "PTO124", "PTO135", "PTO136", "PTO138")
    assert code_of(kind, *args, **fields) in (*codes, "PTO139")


AXES = [
    (reduce.SumOp, [DATA], {}),
    (reduce.CumsumOp, [DATA], {}),
    (composite.SoftmaxOp, [DATA], {}),
    (quantising.QuantizeOp, [DATA], {"target": parse("i8")}),
    (quantising.QuantMxOp, [DATA], {"target": parse("f8E5M2")}),
    (indexing.TopkOp, [DATA], {"k": 2}),
    (indexing.GatherOp, [DATA, ("4x2x", "i32")], {}),
    (indexing.IndexSelectOp, [DATA, INDICES], {}),
    (scatters.IndexAddOp, [("?x8x", "f32"), DATA, INDICES], {}),
    (shape.ConcatOp, [DATA, DATA], {}),
]


@pytest.mark.parametrize(("kind", "types", "fields"), AXES)
def test_an_axis_is_one_of_the_tensor(kind, types, fields):
    values = [value(tensor(*type)) for type in types]
    for axis in (2, -3):
        assert code_of(kind, *values, axis=axis, **fields) == "PTO135"


def test_what_else_only_make_can_get_wrong():
    x, c = value(tensor(*DATA)), value(tensor("4x8x", "i1"))
    assert code_of(CastOp, x, parse("bf16"), mode="nearest") == "PTO117"
    assert code_of(WhereOp, 1, x, x) == "PTO110"
    assert code_of(WhereOp, c, x, value("i32")) == "PTO112"
    assert code_of(quantising.DequantizeOp, value("4xi8"), x, parse("i8")) == "PTO117"
    assert code_of(matmul.MmaOp, x, value("4x2xbf16"), value("3x8xbf16")) == "PTO120"
    assert code_of(composite.SwigluOp, value(tensor("", "f32"))) == "PTO135"
    truths = value(tensor("4x8x", "i1")), value("4xi32")
    assert code_of(scatters.IndexAddOp, c, *truths, axis=0) == "PTO111"
    state = value("1xf32"), value("1xf32")
    scores = value(tensor("", "f32"))
    assert code_of(composite.OnlineSoftmaxOp, scores, *state) == "PTO135"
