"""Shapes of products, of ops that move elements, of composites and of indexing."""

from itertools import product

import pytest
from building import ALL, F8, FLOATS, code_of, made, parse, tensor, value
from many import for_each
from xdsl.dialects.builtin import IntegerAttr, i64

from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.pypto import (
    composite,
    indexing,
    infer,
    infer_shape,
    matmul,
    quantising,
)

# -- matmul

MATMULS = [
    ("4x64x", "64x8x", "", "4x8x"),
    ("?x64x", "64x?x", "", "?x?x"),
    ("?x64x", "?x64x", "b", "?x?x"),
    ("64x4x", "64x8x", "a", "4x8x"),
    ("64x4x", "8x64x", "ab", "4x8x"),
    ("4x?x", "64x8x", "", "4x8x"),
    ("4x0x", "0x8x", "", "4x8x"),
    ("?x64x128x", "?x128x", "b", "?x64x?x"),
    ("2x3x4x64x", "64x8x", "", "2x3x4x8x"),
    ("5x4x64x", "5x64x8x", "", "5x4x8x"),
    ("1x4x64x", "5x64x8x", "", "5x4x8x"),
    ("4x64x", "5x64x8x", "", "5x4x8x"),
    ("2x1x4x64x", "5x64x8x", "", "2x5x4x8x"),
]


PRODUCTS = [
    ("bf16", "f32", ("f32", "bf16", "f16")),
    ("f16", "f32", ("f32", "bf16", "f16")),
    ("f32", "f32", ("f32", "bf16", "f16")),
    ("f8E4M3FN", "f32", ("f32", "bf16", "f16")),
    ("i8", "i32", ("i32", "f32", "bf16", "f16")),
]


@for_each((*shapes, *types) for shapes in MATMULS for types in PRODUCTS)
def test_matmul(a, b, trans, shape, element, result, targets):
    args = value(tensor(a, element)), value(tensor(b, element))
    flags = {f"{side}_trans": True for side in trans}
    assert made(matmul.MatmulOp, *args, **flags) == (tensor(shape, result),)
    for target in ALL:
        if target in targets:
            types = made(matmul.MatmulOp, *args, parse(target), **flags)
            assert types == (tensor(shape, target),)
        else:
            assert code_of(matmul.MatmulOp, *args, parse(target), **flags) == "PTO117"


@pytest.mark.parametrize(
    ("a", "b", "code"),
    [
        ("4x64xbf16", "32x8xbf16", "PTO120"),
        ("64xbf16", "64x8xbf16", "PTO135"),
        ("3x4x64xbf16", "2x64x8xbf16", "PTO121"),
        ("4x64xbf16", "64x8xf16", "PTO112"),
        ("4x64xi32", "64x8xi32", "PTO111"),
        ("4x64xui8", "64x8xui8", "PTO111"),
        ("4x64xi1", "64x8xi1", "PTO111"),
    ],
)
def test_matmul_errors(a, b, code):
    assert code_of(matmul.MatmulOp, value(a), value(b)) == code


def test_matmul_bound_proves_a_mismatch():
    a = value(tensor("4x?x", "bf16", "4, 16"))
    assert code_of(matmul.MatmulOp, a, value("64x8xbf16")) == "PTO120"


@for_each(
    (*depth, flags)
    for depth in ((1, 1), (64, 1), (65, 2), (96, 2), (448, 7))
    for flags in product((False, True), repeat=4)
)
def test_scaled_mm(k, pairs, flags):
    a_trans, b_trans, scales_a_trans, scales_b_trans = flags
    a = value(tensor(f"{k}x16x" if a_trans else f"16x{k}x", "f8E4M3FN"))
    b = value(tensor(f"32x{k}x" if b_trans else f"{k}x32x", "f8E5M2"))
    sa = f"{pairs}x16x2x" if scales_a_trans else f"16x{pairs}x2x"
    sb = f"32x{pairs}x2x" if scales_b_trans else f"{pairs}x32x2x"
    names = ("a_trans", "b_trans", "scales_a_trans", "scales_b_trans")
    args = (a, b, value(tensor(sa, F8[2])), value(tensor(sb, F8[2])))
    set_flags = dict(zip(names, flags, strict=True))
    assert made(matmul.ScaledMmOp, *args, **set_flags) == (tensor("16x32x", "f32"),)
    wrong = value(tensor(sa.replace(f"{pairs}x", f"{pairs + 1}x", 1), F8[2]))
    assert code_of(matmul.ScaledMmOp, a, b, wrong, args[3], **set_flags) == "PTO122"


def test_mma_follows_the_accumulator():
    c = value(tensor("?x32x", "f32", "16, 32"))
    a = value(tensor("?x96x", "f8E4M3FN", "16, 96"))
    b = value("96x32xf8E4M3FN")
    assert made(matmul.MmaOp, c, a, b) == (c.type,)
    sa, sb = value("?x4xf8E8M0FNU"), value("2x64xf8E8M0FNU")
    assert made(matmul.MmaOp, c, a, b, sa, sb) == (c.type,)
    assert code_of(matmul.MmaOp, c, a, b, sa, value("4x32xf8E8M0FNU")) == "PTO122"


@pytest.mark.parametrize(
    ("equation", "a", "b", "result"),
    [
        ("ij,jk->ik", "2x3x", "3x4x", "2x4x"),
        ("thd,hdc->thc", "?x8x3x", "8x3x5x", "?x8x5x"),
        ("thd,hdc->hct", "?x8x3x", "8x3x5x", "8x5x?x"),
        ("bi,bj->bij", "2x3x", "2x4x", "2x3x4x"),
        ("ij,ji->", "2x3x", "3x2x", ""),
        ("i j, j k -> i k", "2x3x", "3x4x", "2x4x"),
    ],
)
def test_einsum(equation, a, b, result):
    args = value(tensor(a, "bf16")), value(tensor(b, "bf16"))
    assert made(matmul.EinsumOp, equation, *args) == (tensor(result, "f32"),)


@pytest.mark.parametrize(
    ("equation", "code"),
    [
        ("ij,jk", "PTO124"),
        ("ij,jk->ikl", "PTO124"),
        ("ii,ij->ij", "PTO124"),
        ("ij,jk->k", "PTO124"),
        ("IJ,JK->IK", "PTO124"),
        ("ijk,jk->ik", "PTO124"),
        ("ij,ik->jk", "PTO120"),
    ],
)
def test_einsum_errors(equation, code):
    args = value("2x3xbf16"), value("3x4xbf16")
    assert code_of(matmul.EinsumOp, equation, *args) == code


# -- moving elements


@pytest.mark.parametrize(
    ("source", "sizes", "result"),
    [
        ("4x6x", [24], "24x"),
        ("4x6x", [-1], "24x"),
        ("4x6x", [2, -1, 3], "2x4x3x"),
        ("0x6x", [-1, 6], "0x6x"),
        ("?x512x", [-1, 4, 128], "?x4x128x"),
        ("?x1x", [-1], "?x"),
        ("?x", [-1, 4], "?x4x"),
        ("?x4x", [-1, 6], None),
        ("4x6x", [-1, 5], None),
        ("4x6x", [4, 5], None),
        ("4x6x", [-1, -1], None),
        ("4x6x", [-1, 0], None),
        ("4x6x", [-2], None),
        ("?x6x", [-2], None),
        ("?x?x", [None, None], "?x?x"),
        ("4x6x", [None, -1], "?x?x"),
    ],
)
def test_reshape(source, sizes, result):
    site, type = infer.Site("reshape"), tensor(source, "f32")
    if result is None:
        with pytest.raises(CompileError, match="PTO130"):
            infer_shape.reshape(site, type, sizes)
    else:
        assert infer_shape.reshape(site, type, sizes) == tensor(result, "f32")


def test_reshape_bounds():
    site = infer.Site("reshape")
    source = tensor("?x512x", "f32", "16, 512")
    result = tensor("?x4x128x", "f32", "16, 4, 128")
    assert infer_shape.reshape(site, source, [-1, 4, 128]) == result
    flat = tensor("?x", "f32", "8192")
    assert infer_shape.reshape(site, source, [-1]) == flat


def test_transpose_expand_concat():
    site = infer.Site("concat")
    x = tensor("?x8x", "f32", "16, 8")
    assert infer_shape.transpose(site, x, [1, 0]) == tensor("8x?x", "f32", "8, 16")
    assert infer_shape.expand(site, tensor("?x1x", "f32"), [2, -1, 5]) == tensor(
        "2x?x5x", "f32"
    )
    assert infer_shape.concat(site, [x, x], 0) == tensor("?x8x", "f32", "32, 8")
    assert infer_shape.concat(site, [x, x], -1) == tensor("?x16x", "f32", "16, 16")
    for perm in ([0], [0, 0], [1, 2]):
        with pytest.raises(CompileError, match="PTO139"):
            infer_shape.transpose(site, x, perm)
    with pytest.raises(CompileError, match="PTO113"):
        infer_shape.expand(site, tensor("2x", "f32"), [4])
    with pytest.raises(CompileError, match="PTO139"):
        infer_shape.expand(site, tensor("1x1x", "f32"), [4])
    with pytest.raises(CompileError, match="PTO139"):
        infer_shape.concat(site, [tensor("2x3x", "f32"), tensor("2x4x", "f32")], 0)


# -- composites and indexing


@pytest.mark.parametrize("element", ALL)
def test_composites_take_floats(element):
    x, w = value(tensor("?x64x", element)), value("64xf32")
    cases = [
        (composite.SoftmaxOp, (x, -1), {}),
        (composite.RmsNormOp, (x, w, 1e-5), {}),
        (composite.LayerNormOp, (x, w, w, 1e-6), {}),
        (composite.RopeOp, (x, w, w), {}),
        (composite.SwigluOp, (x, x), {}),
    ]
    for kind, args, fields in cases:
        if element in FLOATS:
            assert made(kind, *args, **fields) == (x.type,)
        else:
            assert code_of(kind, *args, **fields) == "PTO111"


@pytest.mark.parametrize("last", [2, 6, 7, 1, 0])
def test_swiglu_halves(last):
    y = value(tensor(f"?x{last}x", "f32"))
    if last % 2:
        assert code_of(composite.SwigluOp, y) == "PTO137"
    else:
        assert made(composite.SwigluOp, y) == (tensor(f"?x{last // 2}x", "f32"),)


@pytest.mark.parametrize(
    ("axis", "group", "scales"),
    [
        (-1, None, "?x3x1x"),
        (0, None, "1x3x256x"),
        (-1, 128, "?x3x2x"),
        (1, 3, "?x1x256x"),
    ],
)
def test_quantize(axis, group, scales):
    x = value("?x3x256xbf16")
    types = made(quantising.QuantizeOp, x, axis=axis, target=parse("i8"), group=group)
    assert types == (tensor("?x3x256x", "i8"), tensor(scales, "f32"))


@pytest.mark.parametrize(
    ("axis", "scales"), [(-1, "?x96x1x2x"), (-2, "?x2x64x2x"), (1, "?x2x64x2x")]
)
def test_quant_mx_scales_are_what_scaled_mm_reads(axis, scales):
    x = value("?x96x64xbf16")
    types = made(quantising.QuantMxOp, x, axis, parse("f8E4M3FN"))
    assert types == (tensor("?x96x64x", "f8E4M3FN"), tensor(scales, "f8E8M0FNU"))


@pytest.mark.parametrize(
    ("source", "axis", "k", "padded", "result"),
    [
        ("?x256x", -1, 8, False, "?x8x"),
        ("?x256x", 0, 8, False, "8x256x"),
        ("?x256x", -1, 512, True, "?x512x"),
        ("?x256x", -1, 512, False, None),
        ("?x256x", -1, -1, True, None),
    ],
)
def test_topk(source, axis, k, padded, result):
    x = value(tensor(source, "f32"))
    fields = {"pad_index": IntegerAttr(-1, i64)} if padded else {}
    if result is None:
        assert code_of(indexing.TopkOp, x, k, axis, **fields) == "PTO138"
    else:
        types = made(indexing.TopkOp, x, k, axis, **fields)
        assert types == (tensor(result, "f32"), tensor(result, "i32"))
