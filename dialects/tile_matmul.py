"""Matrix products of the `tile` dialect: accumulate in l0c, on pipe m.

tile.matmul %a, %b into %c [%m, 256, 64] accumulate %not_first
tile.matmul_mx %a, %b, %sa, %sb into %c [%m, 256, 128]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float32Type,
    IntegerType,
    UnitAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    INDEX,
    INT_ARRAY,
    UNIT,
    Mixed,
    join_mixed,
    parse_mixed,
    parse_optional_value,
    parse_types,
    parse_value,
    print_mixed,
    print_options,
    print_types,
    segments,
    split_mixed,
)
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.tile_types import (
    BufType,
    Instruction,
    Pipe,
    Space,
    buffer_type,
    check_extent,
    check_space,
)


class _MatrixProduct(Instruction):
    """`lhs [m, k] @ rhs [k, n]` into an accumulator [m, n], on pipe m.

    `accumulate` adds to what is there: True, False, or an i1 value. Else the sums start
    at 0, or at the number of each column in `bias`: with k = 0 that is all it writes.
    """

    lhs = operand_def(BufType)
    rhs = operand_def(BufType)
    scales = var_operand_def(BufType)
    bias = opt_operand_def(BufType)
    dest = operand_def(BufType)
    extent_operands = var_operand_def(INDEX)
    condition = opt_operand_def(i1)
    static_extents = prop_def(INT_ARRAY)
    accumulating = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    SCALE_COUNT: ClassVar[int] = 0
    HAS_BIAS: ClassVar[bool] = False

    @classmethod
    def _make(
        cls,
        sources: Sequence[SSAValue],
        dest: SSAValue,
        extents: Sequence[Mixed],
        accumulate: bool | SSAValue,
        bias: SSAValue | None = None,
    ) -> Self:
        dynamic, static = split_mixed(extents)
        row = [] if bias is None else [bias]
        condition = [] if isinstance(accumulate, bool) else [accumulate]
        properties: dict[str, Attribute] = {
            "static_extents": static,
            "operandSegmentSizes": segments(
                1, 1, len(sources) - 2, len(row), 1, len(dynamic), len(condition)
            ),
        }
        if accumulate is True:
            properties["accumulating"] = UNIT
        return cls.create(
            operands=[*sources, *row, dest, *dynamic, *condition],
            properties=properties,
        )

    @property
    def pipe(self) -> Pipe:
        return Pipe.M

    @property
    def extents(self) -> list[Mixed]:
        """[m, n, k]"""
        return join_mixed(self.static_extents, self.extent_operands)

    @property
    def accumulate(self) -> bool | SSAValue:
        if self.accumulating is not None:
            return True
        return self.condition or False

    @property
    def sources(self) -> list[SSAValue]:
        """The operands of the product, without the bias."""
        return [self.lhs, self.rhs, *self.scales]

    def reads(self) -> list[SSAValue]:
        sources = [*self.sources, *([] if self.bias is None else [self.bias])]
        return sources if self.accumulate is False else [*sources, self.dest]

    def writes(self) -> list[SSAValue]:
        return [self.dest]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        sources = [parse_value(parser)]
        for _ in range(1 + cls.SCALE_COUNT):
            parser.parse_punctuation(",")
            sources.append(parse_value(parser))
        bias: SSAValue | None = None
        if cls.HAS_BIAS and parser.parse_optional_keyword("bias") is not None:
            bias = parse_value(parser)
        parser.parse_keyword("into")
        dest = parse_value(parser)
        extents = parse_mixed(parser)
        accumulate: bool | SSAValue = False
        if parser.parse_optional_keyword("accumulate") is not None:
            accumulate = parse_optional_value(parser) or True
        op = cls._make(sources, dest, extents, accumulate, bias)
        op.attributes = parser.parse_optional_attr_dict()
        parse_types(parser, [*sources, *([] if bias is None else [bias]), dest])
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.sources, printer.print_ssa_value)
        if self.bias is not None:
            printer.print_string(" bias ")
            printer.print_ssa_value(self.bias)
        printer.print_string(" into ")
        printer.print_ssa_value(self.dest)
        printer.print_string(" ")
        print_mixed(printer, self.extents)
        accumulate = self.accumulate
        if accumulate is not False:
            printer.print_string(" accumulate")
        if isinstance(accumulate, SSAValue):
            printer.print_string(" ")
            printer.print_ssa_value(accumulate)
        print_options(printer, self.attributes)
        bias = [] if self.bias is None else [self.bias]
        print_types(printer, [*self.sources, *bias, self.dest])

    def verify_(self) -> None:
        check_space("the left operand", self.lhs, Space.L0A)
        check_space("the right operand", self.rhs, Space.L0B)
        check_space("the accumulator", self.dest, Space.L0C)
        if self.accumulating is not None and self.condition is not None:
            raise VerifyException("accumulates both always and on a condition")
        if len(self.scales) != self.SCALE_COUNT:
            raise VerifyException(f"takes {self.SCALE_COUNT} scale buffers")
        extents = self.extents
        if len(extents) != 3:
            raise VerifyException(f"takes 3 extents [m, n, k], got {len(extents)}")
        m, n, k = extents
        lhs, rhs = buffer_type(self.lhs), buffer_type(self.rhs)
        dest = buffer_type(self.dest)
        check_extent("m", m, min(lhs.rows, dest.rows))
        check_extent("n", n, min(rhs.columns, dest.columns))
        check_extent("k", k, min(lhs.columns, rhs.rows))
        self._verify_bias(n)
        _check_product_types(lhs.element_type, rhs.element_type, dest.element_type)

    def _verify_bias(self, n: Mixed) -> None:
        if self.bias is None:
            return
        if not self.HAS_BIAS:
            raise VerifyException("takes no bias")
        if self.accumulate is True:
            raise VerifyException("adds to what is there, so it starts at no bias")
        check_space("the bias", self.bias, Space.BIAS)
        bias, dest = buffer_type(self.bias), buffer_type(self.dest)
        if bias.element_type != dest.element_type:
            raise VerifyException(
                f"a bias of {bias.element_type} for sums in {dest.element_type}"
            )
        check_extent("n", n, bias.columns)


def _check_product_types(lhs: Attribute, rhs: Attribute, dest: Attribute) -> None:
    """Equal element types, or two of f8; products of integers accumulate in i32."""
    if lhs != rhs and not (_is_f8(lhs) and _is_f8(rhs)):
        raise VerifyException(f"multiplies {lhs} with {rhs}")
    if isinstance(lhs, IntegerType):
        if dest != i32:
            raise VerifyException(f"integer products accumulate in i32, not {dest}")
    elif not isinstance(dest, Float32Type):
        raise VerifyException(f"float products accumulate in f32, not {dest}")


def _is_f8(element_type: Attribute) -> bool:
    return isinstance(element_type, Float8E4M3FNType | Float8E5M2Type)


@op_definition
class MatmulOp(_MatrixProduct):
    """A plain matrix product.

    tile.matmul %a, %b into %c [%m, 256, 64] accumulate %not_first : ...
    tile.matmul %a, %b bias %t into %c [%m, 256, 64] accumulate %not_first : ...
    """

    name = "tile.matmul"
    HAS_BIAS: ClassVar[bool] = True

    @classmethod
    def make(
        cls,
        lhs: SSAValue,
        rhs: SSAValue,
        dest: SSAValue,
        extents: Sequence[Mixed],
        accumulate: bool | SSAValue = False,
        bias: SSAValue | None = None,
    ) -> Self:
        return cls._make([lhs, rhs], dest, extents, accumulate, bias)


@op_definition
class MatmulMxOp(_MatrixProduct):
    """A matrix product whose operands carry one scale for each 32 elements of k.

    Scales come in pairs, one pair for each started 64 elements: `scale_a` holds
    [m, 2 * kb], `scale_b` [n, 2 * kb], kb = ceil(k / 64).

        tile.matmul_mx %a, %b, %sa, %sb into %c [%m, 256, 128] accumulate : ...
    """

    name = "tile.matmul_mx"
    SCALE_COUNT: ClassVar[int] = 2

    @classmethod
    def make(
        cls,
        lhs: SSAValue,
        rhs: SSAValue,
        scale_lhs: SSAValue,
        scale_rhs: SSAValue,
        dest: SSAValue,
        extents: Sequence[Mixed],
        accumulate: bool | SSAValue = False,
    ) -> Self:
        return cls._make([lhs, rhs, scale_lhs, scale_rhs], dest, extents, accumulate)

    @property
    def scale_lhs(self) -> SSAValue:
        return self.operands[2]

    @property
    def scale_rhs(self) -> SSAValue:
        return self.operands[3]

    def verify_(self) -> None:
        super().verify_()
        check_space("the left scales", self.scale_lhs, Space.SCALE_A)
        check_space("the right scales", self.scale_rhs, Space.SCALE_B)
        m, n, k = self.extents
        for name, extent, value in (
            ("m", m, self.scale_lhs),
            ("n", n, self.scale_rhs),
        ):
            scales = buffer_type(value)
            if not isinstance(scales.element_type, Float8E8M0FNUType):
                raise VerifyException(
                    f"scales are f8E8M0FNU, not {scales.element_type}"
                )
            check_extent(f"{name} of the scales", extent, scales.rows)
            if isinstance(k, int):
                check_extent("2 * ceil(k / 64)", 2 * -(-k // 64), scales.columns)
