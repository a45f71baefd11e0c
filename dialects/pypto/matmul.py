"""Products of matrices: plain, scaled (MX), grouped by expert, and einsum.

Floats and f8 accumulate in f32, i8 accumulates exactly in i32. `to` rounds once from
the accumulator. The order of the sum over K is free. K = 0 gives zeros.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, TensorType, UnitAttr, f32, i32
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.pypto import infer_einsum
from pyptoc.dialects.pypto import infer_matmul as inference
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.brackets import shape_of
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.infer import want_element, want_rank
from pyptoc.dialects.pypto.properties import Text, Type
from pyptoc.dialects.pypto.structure import (
    WHOLE,
    Access,
    Structure,
    Structured,
    aligned,
    contraction,
)
from pyptoc.dialects.pypto.syntax import Clause, Operands

GROUP_KINDS = ("counts", "ends")
"""What `groups` holds: rows of each expert, or where each expert's rows end."""


class ProductOp(PyptoOp, ABC):
    """A product with a left and a right matrix; see the module."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    TILES = (CubeTileAttr,)


@op_definition
class MatmulOp(ProductOp, Structured):
    """The matrix product over the last two dimensions; leading ones broadcast.

    [.., M, K] times [.., K, N] is [.., M, N]. A right side of rank 2 serves all leading
    dimensions of the left: no reshape is needed. `a_trans` and `b_trans` read a side
    with its last two dimensions exchanged. K that differs is an error (PTO120), batches
    that do not broadcast as well (PTO121).

    Floats accumulate in f32 and f8 types may be mixed; i8 accumulates exactly in i32.
    `to` rounds once from there; only i8 products go to i32. K = 0 gives zeros.

    `scale %s` and `{relu}` are what the cube unit does while it stores the result, in
    one task: f32(acc) * s10, then max(0, .), rounded once to the type behind `to`,
    which may be i8 (ties to even, saturating). s holds an f32 for each column, or one;
    s10 is s with its low 13 mantissa bits cleared, since the unit keeps 10. For all
    bits of s, multiply afterwards. Without `scale`, relu is of the accumulator.

    `bias %c` is where the sums start: c holds a number of the accumulator's type for
    each column. `pypto.add` behind a product becomes this.

    Example:
        %s = pypto.matmul %q, %k to bf16 {b_trans}
            : tensor<?x64x128xbf16>, tensor<?x128xbf16> -> tensor<?x64x?xbf16>
        %y = pypto.matmul %a, %b scale %s to i8 {relu}
            : tensor<?x64xi8>, tensor<64x32xi8>, tensor<32xf32> -> tensor<?x32xi8>
        %y = pypto.matmul %a, %b bias %c to f16
            : tensor<?x64xf16>, tensor<64x32xf16>, tensor<32xf32> -> tensor<?x32xf16>
    """

    name = "pypto.matmul"

    bias = opt_operand_def(TensorType)
    scale = opt_operand_def(TensorType)
    target = opt_prop_def(TypeAttribute)
    a_trans = opt_prop_def(UnitAttr)
    b_trans = opt_prop_def(UnitAttr)
    relu = opt_prop_def(UnitAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    SYNTAX = (
        Operands("lhs", "rhs"),
        Clause("bias", Operands("bias"), optional=True),
        Clause("scale", Operands("scale"), optional=True),
        Clause("to", Type("target"), optional=True),
    )

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [
            inference.matmul(
                call.site,
                call.type("lhs"),
                call.type("rhs"),
                call.properties.get("target"),
                call.has("a_trans"),
                call.has("b_trans"),
                call.types("bias"),
                call.types("scale"),
            )
        ]

    def _structure(self) -> Structure:
        """Axes (batch.., m, n, k); bias and output scale lie along n."""
        turned = (self.a_trans is not None, self.b_trans is not None)
        shape = shape_of(self.result.type)
        rows = [
            Access(value, aligned(shape_of(value.type), shape))
            for value in (self.bias, self.scale)
            if value is not None
        ]
        return contraction(self.lhs, self.rhs, self.result, turned, rows)


@op_definition
class EpilogueOp(PyptoOp):
    """What is done to an accumulator while it is stored; made by passes.

    f32(acc) * s10, then max(0, .) with `relu`, rounded once: see `pypto.matmul`. The
    accumulator is f32 or i32; i8 needs a scale. One scale, or one for each column.

    Example:
        %y = pypto.epilogue %c scale %s to i8 {relu}
            : tensor<16x32xi32>, tensor<32xf32> -> tensor<16x32xi8>
        %y = pypto.epilogue %c to bf16 {relu} : tensor<16x32xf32> -> tensor<16x32xbf16>
    """

    name = "pypto.epilogue"

    acc = operand_def(TensorType)
    scale = opt_operand_def(TensorType)
    target = prop_def(TypeAttribute)
    relu = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    SYNTAX = (
        Operands("acc"),
        Clause("scale", Operands("scale"), optional=True),
        Clause("to", Type("target")),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        acc, target = call.tensor("acc"), call.properties["target"]
        site, is_accumulator = call.site, acc.element_type in (f32, i32)
        want_element(site, acc, 0, is_accumulator, "f32 or i32")
        want_rank(site, acc, 0, 1, least=True)
        return [inference.epilogue(site, acc, target, 1, *call.types("scale"))]


@op_definition
class MmaOp(PyptoOp):
    """acc + a @ b on rank-2 tiles, as one step of a sum over K; made by passes.

    acc is f32, or i32 for i8 products. With scales a and b are f8; sa is [m,
    2*ceil(k/64)] or with `scales_a_trans` [ceil(k/64), 2*m], sb is [ceil(k/64), 2*n] or
    with `scales_b_trans` [n, 2*ceil(k/64)].

    Example:
        %d = pypto.mma %c, %a, %b
            : tensor<16x32xf32>, tensor<16x64xbf16>, tensor<64x32xbf16>
            -> tensor<16x32xf32>
        %d = pypto.mma %c, %a, %b
            : tensor<16x32xi32>, tensor<16x64xi8>, tensor<64x32xi8> -> tensor<16x32xi32>
        %d = pypto.mma %c, %a, %b scales %sa, %sb
            : tensor<16x32xf32>, tensor<16x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>,
              tensor<16x2xf8E8M0FNU>, tensor<1x64xf8E8M0FNU> -> tensor<16x32xf32>
    """

    name = "pypto.mma"

    acc = operand_def(TensorType)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    scale_lhs = opt_operand_def(TensorType)
    scale_rhs = opt_operand_def(TensorType)
    TILES = (CubeTileAttr,)
    a_trans = opt_prop_def(UnitAttr)
    b_trans = opt_prop_def(UnitAttr)
    scales_a_trans = opt_prop_def(UnitAttr)
    scales_b_trans = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    SYNTAX = (
        Operands("acc", "lhs", "rhs"),
        Clause("scales", Operands("scale_lhs", "scale_rhs"), optional=True),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [
            inference.mma(
                call.site,
                [call.type(field) for field in ("acc", "lhs", "rhs")],
                (call.has("a_trans"), call.has("b_trans")),
                (*call.types("scale_lhs"), *call.types("scale_rhs")),
                (call.has("scales_a_trans"), call.has("scales_b_trans")),
            )
        ]


@op_definition
class ScaledMmOp(ProductOp, Structured):
    """(a * sa) @ (b * sb) of f8 matrices with one E8M0 scale for 32 elements of K.

    Two scales lie side by side for each 64 elements of K: sa is [M, ceil(K/64), 2],
    with `scales_a_trans` [ceil(K/64), M, 2]; sb is [ceil(K/64), N, 2], with
    `scales_b_trans` [N, ceil(K/64), 2]. sa[m, j, h] scales a[m, 64*j + 32*h +: 32].
    What a K that is no multiple of 64 leaves of the last pair is not used. Flags of
    matrices and scales are independent. Leading dimensions broadcast as in `matmul`;
    the scales have those of their matrix.

    The two f8 types may be mixed. Accumulates in f32; `to` rounds once. Only ascend950
    has it.

    Example:
        %y = pypto.scaled_mm %a, %b scales %sa, %sb
            : tensor<?x512xf8E4M3FN>, tensor<512x64xf8E4M3FN>,
              tensor<?x8x2xf8E8M0FNU>, tensor<8x64x2xf8E8M0FNU> -> tensor<?x64xf32>
    """

    name = "pypto.scaled_mm"

    scale_lhs = operand_def(TensorType)
    scale_rhs = operand_def(TensorType)
    target = opt_prop_def(TypeAttribute)
    a_trans = opt_prop_def(UnitAttr)
    b_trans = opt_prop_def(UnitAttr)
    scales_a_trans = opt_prop_def(UnitAttr)
    scales_b_trans = opt_prop_def(UnitAttr)
    SYNTAX = (
        Operands("lhs", "rhs"),
        Clause("scales", Operands("scale_lhs", "scale_rhs")),
        Clause("to", Type("target"), optional=True),
    )

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        fields = ("lhs", "rhs", "scale_lhs", "scale_rhs")
        flags = ("a_trans", "b_trans", "scales_a_trans", "scales_b_trans")
        return [
            inference.scaled_mm(
                call.site,
                [call.type(field) for field in fields],
                call.properties.get("target"),
                inference.MxFlags(*map(call.has, flags)),
            )
        ]

    def _structure(self) -> Structure:
        """Axes (batch.., m, n, k); a scale is for a block of k."""
        turned = (self.a_trans is not None, self.b_trans is not None)
        batch = shape_of(self.result.type)[:-2]
        m, n = len(batch), len(batch) + 1
        left = (WHOLE, m) if self.scales_a_trans is not None else (m, WHOLE)
        right = (n, WHOLE) if self.scales_b_trans is not None else (WHOLE, n)
        scales = [
            Access(value, (*aligned(shape_of(value.type)[:-3], batch), *matrix, WHOLE))
            for value, matrix in ((self.scale_lhs, left), (self.scale_rhs, right))
        ]
        return contraction(self.lhs, self.rhs, self.result, turned, scales)


@op_definition
class GroupedMatmulOp(ProductOp):
    """Consecutive groups of the rows of a, each times the matrix of its expert.

    a is [M, K], b [E, K, N] (`b_trans`: [E, N, K]), g [E]: expert e multiplies the rows
    [sum(g[:e]), + g[e]); with `group_kind = "ends"` g[e] is where its rows end, the
    other kind is "counts". A group may be empty. A negative one, or a sum that is not
    M, is a run-time error (PTO402) that names the expert.

    Without scales a and b have the types of `matmul`; with scales they are f8, as in
    `scaled_mm`, and those of b have E in front. Floats accumulate in f32, i8 exactly in
    i32.

    Example:
        %y = pypto.grouped_matmul %a, %b groups %g
            : tensor<?x512xbf16>, tensor<2x512x64xbf16>, tensor<2xi64>
            -> tensor<?x64xf32>
        %y = pypto.grouped_matmul %a, %b groups %g scales %sa, %sb
            : tensor<?x512xf8E4M3FN>, tensor<2x512x64xf8E4M3FN>, tensor<2xi64>,
              tensor<?x8x2xf8E8M0FNU>, tensor<2x8x64x2xf8E8M0FNU> -> tensor<?x64xf32>
    """

    name = "pypto.grouped_matmul"

    groups = operand_def(TensorType)
    scale_lhs = opt_operand_def(TensorType)
    scale_rhs = opt_operand_def(TensorType)
    b_trans = opt_prop_def(UnitAttr)
    scales_b_trans = opt_prop_def(UnitAttr)
    group_kind = opt_prop_def(StringAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    SYNTAX = (
        Operands("lhs", "rhs"),
        Clause("groups", Operands("groups")),
        Clause("scales", Operands("scale_lhs", "scale_rhs"), optional=True),
    )

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        kind = call.text("group_kind")
        if kind and kind not in GROUP_KINDS:
            call.error(
                "PTO143",
                f"group_kind cannot be '{kind}'",
                at="group_kind",
                rule=f"group_kind is one of {', '.join(GROUP_KINDS)}",
            )
        return [
            inference.grouped_matmul(
                call.site,
                [call.type(field) for field in ("lhs", "rhs", "groups")],
                (*call.types("scale_lhs"), *call.types("scale_rhs")),
                call.has("b_trans"),
                call.has("scales_b_trans"),
            )
        ]


@op_definition
class EinsumOp(ProductOp):
    """The product of two tensors whose dimensions are named by letters.

    A letter of both operands and the result is a batch, one of both operands only is
    summed over, one of one operand and the result is free. A letter that stands twice
    in a term (a diagonal) or in one operand only is an error (PTO124), one with two
    sizes as well (PTO120).

    The meaning is transposes and a batched `matmul`, with its types and its
    accumulation; `to` rounds once.

    Example:
        %y = pypto.einsum "thd,hdc->thc" %a, %b to bf16
            : tensor<?x128x128xbf16>, tensor<128x128x512xbf16> -> tensor<?x128x512xbf16>
    """

    name = "pypto.einsum"

    equation = prop_def(StringAttr)
    target = opt_prop_def(TypeAttribute)
    SYNTAX = (
        Text("equation"),
        Operands("lhs", "rhs"),
        Clause("to", Type("target"), optional=True),
    )

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [
            infer_einsum.einsum(
                call.site,
                call.text("equation"),
                call.type("lhs"),
                call.type("rhs"),
                call.properties.get("target"),
            )
        ]


Product = MatmulOp | ScaledMmOp
"""What the passes divide into tiles; all others of the family become these."""
MATMUL_OPS = (MatmulOp, EpilogueOp, MmaOp, ScaledMmOp, GroupedMatmulOp, EinsumOp)
"""The whole family."""
