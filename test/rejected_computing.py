"""What ops that compute reject.

The columns are those of `test_rejected_programs.py`.
"""

from __future__ import annotations

X = "%x: tensor<4x8xf32>"
WORDS = "%x: tensor<4xi8>"
ROW = f"{X}, %g: tensor<8xf32>"
BAD_ROW = f"{X}, %g: tensor<7xf32>"
STATE = "%s: tensor<4x8xf32>, %m: tensor<4x1xf32>, %l: tensor<5x1xf32>"
GOOD = "%a: tensor<4x64xbf16>, %b: tensor<64x8xbf16>"
OUTPUT_SCALE = f"{GOOD}, %s: tensor<7xf32>"
MM = "%a: tensor<4x64xbf16>, %b: tensor<32x8xbf16>"
BATCH = "%a: tensor<3x4x8xbf16>, %b: tensor<2x8x4xbf16>"
ACC = "%c: tensor<4x8xf32>, %a: tensor<4x64xbf16>, %b: tensor<64x7xbf16>"
MX = "%a: tensor<4x64xf8E4M3FN>, %b: tensor<64x8xf8E4M3FN>"
SCALES = f"{MX}, %sa: tensor<4x2x2xf8E8M0FNU>, %sb: tensor<1x8x2xf8E8M0FNU>"
SCALES_B = f"{MX}, %sa: tensor<4x1x2xf8E8M0FNU>, %sb: tensor<8x1x2xf8E8M0FNU>"
GROUPS = "%a: tensor<4x8xbf16>, %b: tensor<3x8x2xbf16>, %g: tensor<2xi64>"

COMPUTING: dict[str, list[tuple[str, str, str, str, str]]] = {
    "add": [
        (
            X,
            "add %x, 1.0 {checked}",
            "PTO143",
            "checked add of f32 elements",
            "only a sum of integers can overflow",
        ),
        (ROW, "add %x, true", "PTO115", "true", "f32"),
        (
            f"{X}, %n: index",
            "add %x, %n",
            "PTO112",
            "a scalar of index beside f32 elements",
            "beside f32 elements is f32",
        ),
    ],
    "shift_left": [
        (WORDS, "shift_left %x, 8", "PTO115", "shift_left of 8 bits by 8", "0 to 7"),
        (X, "shift_left %x, 1", "PTO111", "shift_left of f32 elements", "8 bits"),
    ],
    "shift_right": [
        (WORDS, "shift_right %x, -1", "PTO115", "of 8 bits by -1", "0 to 7"),
    ],
    "bitwise_not": [
        ("%x: tensor<4xi1>", "bitwise_not %x", "PTO111", "of i1 elements", "8 bits"),
    ],
    "clip": [
        (BAD_ROW, "clip %x, %g, 1.0", "PTO113", "sizes 8 and 7 of dim", "static 1"),
        (X, "clip 1.0, 2.0, 3.0", "PTO116", "operand that is no literal", "beside it"),
    ],
    "where": [
        (X, "where %x, %x, 0.0", "PTO111", "where of f32 elements", "pypto.ne %x, 0"),
        (
            "%c: tensor<4xi1>",
            "where %c, 1.0, 0.0",
            "PTO142",
            "where of two literals needs a result type",
            "write the type at the end",
        ),
        (
            "%c: tensor<4xi1>, %s: f32",
            "where %c, %s, %s",
            "PTO142",
            "where of two scalars needs a result type",
            "write : tensor<4xf32> at the end",
        ),
        (X, "where true, %x, %x", "PTO110", "operand 1 of where is no nu", "a tensor"),
        (
            "%c: tensor<3xi1>, %x: tensor<4xf32>",
            "where %c, %x, 0.0",
            "PTO113",
            "sizes 3 and 4 of dimension -1",
            "only a static 1 is repeated",
        ),
    ],
    "cast": [
        (X, "cast %x to i1", "PTO117", "there is no cast of f32 to i1", "pypto.ne %x"),
        (X, "cast %x to f64", "PTO117", "cast to f64", "is f8E4M3FN or"),
        (
            X,
            "cast %x to bf16 mode odd",
            "PTO117",
            "f32 to bf16 has no mode odd",
            "rint",
        ),
        (X, "cast %x to i8 mode rnit", "PTO143", "mode cannot be 'rnit'", "rint"),
    ],
    "sum": [
        ("%x: tensor<4xi8>", "sum %x axis 0", "PTO114", "overflows i8", "to i32"),
        (X, "sum %x axis 0 to i32", "PTO117", "sum to i32", "is f32"),
        ("%x: tensor<f32>", "sum %x axis 0", "PTO135", "axis 0 of a tensor", "no axis"),
    ],
    "prod": [
        ("%x: tensor<4xui8>", "prod %x axis 0", "PTO114", "overflows ui8", "to i32"),
        (X, "prod %x axis 2", "PTO135", "axis 2 of a tensor of rank 2", "-2 to 1"),
    ],
    "mean": [
        ("%x: tensor<4xi32>", "mean %x axis 0", "PTO111", "mean of i32 elem", "f16 or"),
    ],
    "var": [("%x: tensor<4xi32>", "var %x axis 0", "PTO111", "var of i32", "f16 or")],
    "logsumexp": [
        ("%x: tensor<4xi32>", "logsumexp %x axis 0", "PTO111", "of i32 elem", "f16 or"),
    ],
    "amax": [(X, "amax %x axis -3", "PTO135", "axis -3 of a tensor of rank 2", "to 1")],
    "amin": [(X, "amin %x axis 2", "PTO135", "axis 2 of a tensor of rank 2", "to 1")],
    "argmax": [
        ("%x: tensor<4xi1>", "argmax %x axis 0", "PTO111", "argmax of i1", "8 bits"),
    ],
    "argmin": [
        ("%x: tensor<4xi1>", "argmin %x axis 0", "PTO111", "argmin of i1", "8 bits"),
    ],
    "cumsum": [
        (X, "cumsum %x axis 2", "PTO135", "axis 2 of a tensor of rank 2", "-2 to 1"),
        ("%x: tensor<4xi1>", "cumsum %x axis 0", "PTO111", "cumsum of i1", "8 bits"),
    ],
    "matmul": [
        (MM, "matmul %a, %b", "PTO120", "matmul contracts 64 with 32", "K is 64 on"),
        (BATCH, "matmul %a, %b", "PTO121", "batch sizes 3 and 2", "A is [3], of B [2]"),
        (
            "%a: tensor<8xbf16>, %b: tensor<8x2xbf16>",
            "matmul %a, %b",
            "PTO135",
            "matmul takes rank at least 2, %a has rank 1",
            "tensor<8xbf16>",
        ),
        (MM.replace("bf16", "i32"), "matmul %a, %b", "PTO111", "of i32", "f32 or i8"),
        (GOOD, "matmul %a, %b to i8", "PTO117", "matmul to i8", "f32 or bf16 or f16"),
        (
            OUTPUT_SCALE,
            "matmul %a, %b scale %s to i8",
            "PTO122",
            "7 output scales for 8 columns",
            "one scale for each column, or one for all",
        ),
        (
            OUTPUT_SCALE.replace("7xf32", "8xbf16"),
            "matmul %a, %b scale %s to i8",
            "PTO111",
            "matmul of bf16 elements: %s",
            "elements are f32",
        ),
        (
            OUTPUT_SCALE.replace("7xf32", "4x1xf32"),
            "matmul %a, %b scale %s to i8",
            "PTO135",
            "matmul takes rank 1, %s has rank 2",
            "tensor<4x1xf32>",
        ),
        (
            OUTPUT_SCALE.replace("7xf32", "8xf32"),
            "matmul %a, %b scale %s to i32",
            "PTO117",
            "matmul to i32",
            "is f32 or bf16 or f16 or i8",
        ),
    ],
    "epilogue": [
        (
            f"{X}, %s: tensor<7xf32>",
            "epilogue %x scale %s to i8",
            "PTO122",
            "7 output scales for 8 columns",
            "one scale for each column, or one for all",
        ),
        (X, "epilogue %x to i8", "PTO117", "epilogue to i8", "f32 or bf16 or f16"),
        ("%x: tensor<f32>", "epilogue %x to f16", "PTO135", "at least 1", "<f32>"),
        (
            "%x: tensor<4xbf16>",
            "epilogue %x to f32",
            "PTO111",
            "epilogue of bf16 elements: %x",
            "elements are f32 or i32",
        ),
    ],
    "mma": [
        (
            ACC,
            "mma %c, %a, %b",
            "PTO120",
            "accumulator is [4, 8], the product [4, 7]",
            "",
        ),
        (
            ACC.replace("4x8xf32", "4x7xi32"),
            "mma %c, %a, %b",
            "PTO112",
            "bf16 accumulates in f32, not i32",
            "tensor<4x7xi32>",
        ),
    ],
    "scaled_mm": [
        (
            SCALES,
            "scaled_mm %a, %b scales %sa, %sb",
            "PTO122",
            "%sa is [4, 2, 2], scaled_mm needs [4, 1, 2]",
            "M = 4, K = 64, ceil(64/64) = 1",
        ),
        (
            SCALES_B,
            "scaled_mm %a, %b scales %sa, %sb",
            "PTO122",
            "%sb is [8, 1, 2], scaled_mm needs [1, 8, 2]",
            "add {scales_b_trans}",
        ),
        (
            SCALES.replace("f8E4M3FN", "bf16"),
            "scaled_mm %a, %b scales %sa, %sb",
            "PTO111",
            "scaled_mm of bf16 elements",
            "f8E4M3FN or f8E5M2",
        ),
    ],
    "grouped_matmul": [
        (
            GROUPS,
            "grouped_matmul %a, %b groups %g",
            "PTO123",
            "%g has 2 groups, %b has 3 experts",
            "tensor<3x8x2xbf16>",
        ),
        (
            GROUPS.replace("3x8x2", "8x2"),
            "grouped_matmul %a, %b groups %g",
            "PTO135",
            "takes rank 3, %b has rank 2",
            "tensor<8x2xbf16>",
        ),
        (
            GROUPS.replace("2xi64", "3xi64"),
            'grouped_matmul %a, %b groups %g {group_kind = "count"}',
            "PTO143",
            "group_kind cannot be 'count'",
            "counts, ends",
        ),
        (
            GROUPS.replace("2xi64", "3xf32"),
            "grouped_matmul %a, %b groups %g",
            "PTO111",
            "of f32 elements: %g",
            "i32 or i64",
        ),
    ],
    "einsum": [
        (X, 'einsum "ij" %x, %x', "PTO124", '"ij" is not an equation', "thd,hdc->thc"),
        (X, 'einsum "ii,ij->ij" %x, %x', "PTO124", "'i' stands twice", "diagonals"),
        (X, 'einsum "ij,jk->ik" %x, %x', "PTO120", "'j' is 8 in %x and 4", ""),
        (
            X,
            'einsum "ijk,jk->i" %x, %x',
            "PTO124",
            "names 3 dimensions, %x has 2",
            "4x8",
        ),
        (X, 'einsum "ij,jk->i" %x, %x', "PTO124", "'k' stands in one term", "both"),
    ],
    "softmax": [
        (X, "softmax %x axis 2", "PTO135", "axis 2 of a tensor of rank 2", "-2 to 1"),
    ],
    "online_softmax": [
        (
            STATE,
            "online_softmax %s state %m, %l",
            "PTO136",
            "%l is [5, 1], the state of [4, 8] is [4, 1]",
            "one number for each row",
        ),
        (
            STATE.replace("5x1xf32", "4x1xbf16"),
            "online_softmax %s state %m, %l",
            "PTO111",
            "of bf16 elements: %l",
            "elements are f32",
        ),
    ],
    "mask_causal": [
        (
            "%x: tensor<8xf32>, %n: index",
            "mask_causal %x offset %n",
            "PTO135",
            "takes rank at least 2, %x has rank 1",
            "tensor<8xf32>",
        ),
        (
            X,
            "mask_causal %x offset %x",
            "PTO111",
            "offset of mask_causal is",
            "an index",
        ),
        (X, "mask_causal %x offset 1.5", "PTO100", "expected", "mask_causal"),
    ],
    "rms_norm": [
        (BAD_ROW, "rms_norm %x, %g eps 1.0e-5", "PTO136", "%g is [7], the last", "[D]"),
        (ROW, "rms_norm %x, %g", "PTO142", "rms_norm needs 'eps ...'", "eps 1.0e-5"),
        (ROW, "rms_norm %x, %g eps -1.0", "PTO143", "cannot be -1.0", "not negative"),
        (ROW, "rms_norm %x, %g eps nan", "PTO143", "cannot be nan", "finite"),
        (ROW, "rms_norm %x, %g eps 1.0e-5 to i8", "PTO117", "to i8", "f32 or bf16"),
    ],
    "layer_norm": [
        (
            BAD_ROW,
            "layer_norm %x, %g, %g eps 1.0e-6",
            "PTO136",
            "%g is [7], the last axis of %x has 8",
            "[D]",
        ),
    ],
    "swiglu": [
        (
            "%x: tensor<4x7xf32>",
            "swiglu %x",
            "PTO137",
            "halves the last axis of %x, 7 is odd",
            "give both",
        ),
        (ROW, "swiglu %x, %g", "PTO136", "value is [4, 8], gate is [8]", "one shape"),
    ],
    "rope": [
        ("%x: tensor<7xf32>", "rope %x, %x, %x", "PTO137", "7 of the 7", "even number"),
        (ROW, "rope %x, %g, %g first 10", "PTO137", "10 of the 8 elements", "at most"),
        (BAD_ROW, "rope %x, %g, %g", "PTO113", "%g of [7] does not broadcast", "align"),
    ],
    "quantize": [
        (X, "quantize %x axis -1 group 3 to i8", "PTO137", "3: axis 1 has 8", "whole"),
        (X, "quantize %x axis -1 group 0 to i8", "PTO137", "groups of 0", "whole"),
        (X, "quantize %x axis -1 to i16", "PTO117", "quantize to i16", "is i8"),
        (
            X,
            'quantize %x axis -1 to i8 {scale = "amax"}',
            "PTO143",
            "scale cannot be 'amax'",
            "127/amax, amax/127",
        ),
        (
            X,
            'quantize %x to i8 {asymmetric, scale = "amax/127"}',
            "PTO144",
            "quantize with both 'asymmetric' and 'scale'",
            "by one rule",
        ),
        (
            ROW,
            "quantize %x axis -1 scale %g to i8",
            "PTO144",
            "quantize with both 'scale %s' and 'axis'",
            "a scale is given (scale %s), or computed (axis, group)",
        ),
        (
            ROW,
            "quantize %x zero_point %g to i8",
            "PTO144",
            "quantize with 'zero_point' needs 'scale ...'",
            "write scale %s",
        ),
        (X, "quantize %x group 4 to i8", "PTO144", "needs 'axis ...'", "write axis -1"),
        (
            ROW,
            "quantize %x scale %g zero_point %g to i8",
            "PTO111",
            "quantize of f32 elements: %g",
            "an integer of at least 8 bits",
        ),
        (
            BAD_ROW,
            "quantize %x scale %g to i8",
            "PTO113",
            "%g of [7] does not broadcast to [4, 8]",
            "only a static 1",
        ),
    ],
    "dequantize": [
        (
            BAD_ROW.replace("4x8xf32", "4x8xi8"),
            "dequantize %x scales %g to f32",
            "PTO113",
            "%g of [7] does not broadcast to [4, 8]",
            "only a static 1",
        ),
        (ROW, "dequantize %x scales %g to f32", "PTO111", "of f32 elem", "8 bits"),
        (
            ROW.replace("4x8xf32", "4x8xi8"),
            "dequantize %x scales %g zero_point %g to f32",
            "PTO111",
            "dequantize of f32 elements: %g",
            "an integer of at least 8 bits",
        ),
    ],
    "mul_groups": [
        (
            "%x: tensor<4x8xf32>, %s: tensor<4x2xf32>",
            "mul_groups %x, %s group 4 first 1",
            "PTO137",
            "%s is [4, 2], %x is [4, 8] in groups of 4, the first one number 1",
            "a number for each group",
        ),
        (
            "%x: tensor<4x8xf32>, %s: tensor<3x2xf32>",
            "mul_groups %x, %s group 4 first 0",
            "PTO137",
            "%s is [3, 2]",
            "a number for each group",
        ),
        (
            "%x: tensor<4x8xbf16>, %s: tensor<4x2xf32>",
            "mul_groups %x, %s group 4 first 0",
            "PTO111",
            "of bf16 elements",
            "f32",
        ),
    ],
    "quant_mx": [
        (
            "%x: tensor<2x4x8xf32>",
            "quant_mx %x axis 0 to f8E5M2",
            "PTO135",
            "quant_mx along axis 0 of 3",
            "the last or the one before",
        ),
        (X, "quant_mx %x axis -1 to i8", "PTO117", "quant_mx to i8", "or f8E5M2"),
    ],
}
