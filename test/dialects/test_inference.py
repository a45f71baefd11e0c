"""Element types and shapes of elementwise ops, casts, reductions and result clauses.

A table of op x element types x shapes. Expectations are literal types, or follow from
a rule of the language that the test states in its own words.
"""

from itertools import product

import pytest
from building import ALL, FLOATS, INTEGERS, SIGNED, code_of, made, parse, tensor, value
from many import for_each
from xdsl.dialects.builtin import TensorType, UnitAttr, f32, i32

from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.pypto.elementwise import (
    BINARY_OPS,
    COMPARE_OPS,
    UNARY_OPS,
    CastOp,
    ClipOp,
    WhereOp,
)
from pyptoc.dialects.pypto.infer_elementwise import CAST_MODES, Domain, cast_modes
from pyptoc.dialects.pypto.matmul import MatmulOp
from pyptoc.dialects.pypto.reduce import (
    REDUCTION_OPS,
    AmaxOp,
    ArgmaxOp,
    ArgminOp,
    CumsumOp,
    MeanOp,
    ProdOp,
    SumOp,
)
from pyptoc.runtime.numerics import storage_dtype, supports

DOMAINS = {
    Domain.FLOAT: FLOATS,
    Domain.SIGNED: (*FLOATS, *SIGNED),
    Domain.NUMBER: (*FLOATS, *INTEGERS),
    Domain.INTEGER: INTEGERS,
    Domain.TRUTH: ("i1",),
    Domain.BITS: (*INTEGERS, "i1"),
    Domain.ANY: (*FLOATS, *INTEGERS, "i1"),
}
SHAPES = ("", "4x", "?x", "?x8x", "2x?x1x", "3x4x5x6x")


# -- elementwise


@for_each(product(UNARY_OPS, ALL))
def test_unary(name, element):
    kind = UNARY_OPS[name]
    for shape in SHAPES:
        type = tensor(shape, element)
        if element in DOMAINS[kind.DOMAIN]:
            assert made(kind, value(type)) == (type,)
        else:
            assert code_of(kind, value(type)) == "PTO111"


@for_each(product([*BINARY_OPS, *COMPARE_OPS], ALL))
def test_binary(name, element):
    kind = {**BINARY_OPS, **COMPARE_OPS}[name]
    for shape in SHAPES:
        type = tensor(shape, element)
        if element in DOMAINS[kind.DOMAIN]:
            result = tensor(shape, "i1") if name in COMPARE_OPS else type
            assert made(kind, value(type), value(type)) == (result,)
            assert made(kind, value(type), 1) == (result,)
            assert made(kind, 1, value(type)) == (result,)
        else:
            assert code_of(kind, value(type), value(type)) == "PTO111"


@for_each(product(ALL, ALL))
def test_element_types_never_mix(one, other):
    if one != other:
        left, right = value(tensor("4x", one)), value(tensor("4x", other))
        assert code_of(BINARY_OPS["add"], left, right) == "PTO112"


BROADCASTS = [
    ("", "", ""),
    ("", "4x", "4x"),
    ("4x", "4x", "4x"),
    ("1x", "4x", "4x"),
    ("1x", "?x", "?x"),
    ("?x", "4x", "4x"),
    ("?x", "?x", "?x"),
    ("8x1x", "4x", "8x4x"),
    ("8x1x", "1x4x", "8x4x"),
    ("?x8x1x", "8x32x", "?x8x32x"),
    ("2x3x4x", "3x1x", "2x3x4x"),
    ("0x", "1x", "0x"),
    ("4x", "3x", None),
    ("8x4x", "8x", None),
    ("?x4x", "?x5x", None),
    ("0x", "2x", None),
]


@pytest.mark.parametrize(("left", "right", "result"), BROADCASTS)
def test_broadcast(left, right, result):
    for one, other in ((left, right), (right, left)):
        args = value(tensor(one, "f32")), value(tensor(other, "f32"))
        if result is None:
            assert code_of(BINARY_OPS["add"], *args) == "PTO113"
        else:
            assert made(BINARY_OPS["add"], *args) == (tensor(result, "f32"),)


BOUNDED = [
    (("?x64x", "16, 64"), ("?x1x", "9, 1"), ("?x64x", "9, 64")),
    (("?x64x", "16, 64"), ("64x", ""), ("?x64x", "16, 64")),
    (("?x64x", "16, 64"), ("?x64x", ""), ("?x64x", "16, 64")),
    (("?x64x", "16, 64"), ("8x64x", ""), ("8x64x", "")),
    (("?x1x", "16, 1"), ("1x?x", "1, 9"), ("?x?x", "16, 9")),
    (("?x?x", ""), ("?x1x", "16, 1"), ("?x?x", "")),
    (("?x64x", "7, 64"), ("8x64x", ""), None),
]


@pytest.mark.parametrize(("left", "right", "result"), BOUNDED)
def test_bounds_follow_broadcasts(left, right, result):
    args = [value(tensor(shape, "f32", bounds)) for shape, bounds in (left, right)]
    if result is None:
        assert code_of(BINARY_OPS["mul"], *args) == "PTO113"
    else:
        shape, bounds = result
        assert made(BINARY_OPS["mul"], *args) == (tensor(shape, "f32", bounds),)


@pytest.mark.parametrize(
    ("element", "scalar", "fits"),
    [
        *((element, "f32", True) for element in FLOATS),
        *((element, "index", False) for element in FLOATS),
        *((element, "i32", True) for element in INTEGERS),
        *((element, "index", True) for element in INTEGERS),
        *((element, "f32", False) for element in INTEGERS),
        ("f32", "f64", False),
        ("i32", "i64", False),
    ],
)
def test_scalars(element, scalar, fits):
    args = value(tensor("4x", element)), value(scalar)
    if fits:
        assert made(BINARY_OPS["mul"], *args) == (tensor("4x", element),)
    else:
        assert code_of(BINARY_OPS["mul"], *args) == "PTO112"


@pytest.mark.parametrize(
    ("element", "literal", "code"),
    [
        ("f32", 3, None),
        ("f16", 65504.0, None),
        ("f16", float("inf"), None),
        ("f16", 65520.0, "PTO115"),
        ("bf16", 3.4e38, "PTO115"),
        ("f32", 1e39, "PTO115"),
        ("i8", 127, None),
        ("i8", -128, None),
        ("i8", 128, "PTO115"),
        ("ui8", 255, None),
        ("ui8", -1, "PTO115"),
        ("i32", 2**31, "PTO115"),
        ("i64", 2**63 - 1, None),
        ("i32", 1.0, "PTO115"),
    ],
)
def test_literals(element, literal, code):
    x = value(tensor("4x", element))
    if code is None:
        assert made(BINARY_OPS["add"], x, literal) == (x.type,)
    else:
        assert code_of(BINARY_OPS["add"], x, literal) == code


def test_a_literal_is_rounded_once_to_the_element_type():
    op = BINARY_OPS["mul"].make(value("4xbf16"), 0.1)
    assert op.args[1].value.data == 0.10009765625
    assert op.args[1].type == parse("bf16")


def test_where_and_clip():
    c, x, row = value("?x1xi1"), value("?x8xf32"), value("8xf32")
    assert made(WhereOp, c, x, float("-inf")) == (x.type,)
    assert made(WhereOp, c, 0.0, row) == (parse("?x8xf32"),)
    assert made(WhereOp, value("4xi1"), value("4xi8"), 0) == (parse("4xi8"),)
    assert code_of(WhereOp, x, x, x) == "PTO111"
    assert code_of(WhereOp, c, x, value("8xbf16")) == "PTO112"
    assert made(ClipOp, x, -1.0, value("f32")) == (x.type,)
    assert made(ClipOp, x, row, row) == (x.type,)


# -- casts


@for_each(product(ALL, ALL))
def test_cast(source, target):
    """A cast is accepted where, and with the modes in which, the runtime has it."""
    x, to = value(tensor("?x4x", source)), parse(target)
    stored = [storage_dtype(parse(element)) for element in (source, target)]
    for mode in CAST_MODES:
        if supports(*stored, mode):
            assert made(CastOp, x, to, mode=mode) == (tensor("?x4x", target),)
        else:
            assert code_of(CastOp, x, to, mode=mode) == "PTO117"


@pytest.mark.parametrize(
    ("source", "target", "modes"),
    [
        ("f32", "i32", "rint round floor ceil trunc none"),
        ("bf16", "i8", "rint round floor ceil trunc none"),
        ("f32", "f16", "rint round floor ceil trunc none odd"),
        ("f32", "bf16", "rint round floor ceil trunc none"),
        ("f32", "f8E4M3FN", "rint none"),
        ("f32", "f8E8M0FNU", "rint none"),
        ("bf16", "f16", "rint none"),
        ("i64", "f32", "rint none"),
        ("i32", "f8E5M2", ""),
        ("f32", "i1", ""),
    ],
)
def test_cast_modes(source, target, modes):
    assert cast_modes(parse(source), parse(target)) == tuple(modes.split())


# -- reductions

REDUCIBLE = {kind: DOMAINS[kind.DOMAIN] for kind in REDUCTION_OPS}
ACCUMULATING = (SumOp, ProdOp)


@for_each(product(REDUCTION_OPS, ALL))
def test_reduction(kind, element):
    x = value(tensor("?x3x4x", element))
    if element not in REDUCIBLE[kind]:
        assert code_of(kind, x, -1) == "PTO111"
        return
    if kind in ACCUMULATING and element in ("i8", "ui8", "i16"):
        assert code_of(kind, x, -1) == "PTO114"
        assert made(kind, x, -1, i32) == (tensor("?x3x", "i32"),)
        return
    result = "i32" if kind in (ArgmaxOp, ArgminOp) else element
    dropped = {0: "3x4x", 1: "?x4x", 2: "?x3x"}
    kept = {0: "1x3x4x", 1: "?x1x4x", 2: "?x3x1x"}
    for axis in range(3):
        for written in (axis, axis - 3):
            assert made(kind, x, written) == (tensor(dropped[axis], result),)
            types = made(kind, x, written, keepdim=True)
            assert types == (tensor(kept[axis], result),)
    for axis in (3, -4):
        assert code_of(kind, x, axis) == "PTO135"


@pytest.mark.parametrize(
    ("kind", "element", "target", "code"),
    [
        (SumOp, "bf16", "f32", None),
        (SumOp, "bf16", "bf16", None),
        (SumOp, "f32", "bf16", "PTO117"),
        (SumOp, "i8", "i64", None),
        (SumOp, "i32", "i64", None),
        (SumOp, "i64", "i32", "PTO117"),
        (SumOp, "i8", "f32", "PTO117"),
        (MeanOp, "f16", "f32", None),
        (MeanOp, "f16", "i32", "PTO117"),
    ],
)
def test_reduction_target(kind, element, target, code):
    x = value(tensor("4x8x", element))
    if code is None:
        assert made(kind, x, -1, parse(target)) == (tensor("4x", target),)
    else:
        assert code_of(kind, x, -1, parse(target)) == code


def test_reduction_bounds():
    x = value(tensor("?x64x", "f32", "16, 64"))
    kept = tensor("?x1x", "f32", "16, 1")
    assert made(AmaxOp, x, -1, keepdim=True) == (kept,)
    assert made(AmaxOp, x, 0) == (tensor("64x", "f32"),)
    assert made(CumsumOp, x, 0) == (x.type,)


# -- the clause


@pytest.mark.parametrize(
    ("written", "fits"),
    [
        ("?x4xf32", True),
        ("8x4xf32", True),
        ("?x?xf32", True),
        ("?x5xf32", False),
        ("?x4xbf16", False),
        ("4xf32", False),
        ("f32", False),
    ],
)
def test_a_written_type_may_differ_in_question_marks_only(written, fits):
    x, type = value("?x4xf32"), parse(written)
    if fits:
        assert made(UNARY_OPS["exp"], x, result_type=type) == (type,)
    else:
        assert code_of(UNARY_OPS["exp"], x, result_type=type) == "PTO140"


def test_verify_repeats_the_inference():
    op = UNARY_OPS["exp"].create(
        operands=[value("4xf32")], result_types=[TensorType(f32, [5])]
    )
    with pytest.raises(CompileError, match="PTO140"):
        op.verify_()
    op = MatmulOp.make(value("4x8xbf16"), value("8x4xbf16"))
    op.properties["a_trans"] = UnitAttr()
    with pytest.raises(CompileError, match="PTO120"):
        op.verify_()
