"""Fields of operands that remember where they are give what xDSL's give."""

from __future__ import annotations

import pytest
from xdsl.irdl.operations import BaseAttrAccessor

import pyptoc
from pyptoc.dialects.context import make_context
from pyptoc.dialects.op_definition import SegmentField
from pyptoc.dialects.parsing import parse_module
from pyptoc.operators import load


@pytest.mark.parametrize(
    "name", ["grouped_matmul_swiglu_quant", "lightning_indexer_quant"]
)
@pytest.mark.parametrize("level", ["tensor", "kernels", "program"])
def test_as_those_of_xdsl(name: str, level: str) -> None:
    operator = load(name)
    program = pyptoc.compile(operator.source(operator.TINY))
    text = program.ir(level)
    seen = 0
    for op in parse_module(text, "ir.mlir", make_context()).walk():
        for field in vars(type(op)).values():
            assert not isinstance(field, BaseAttrAccessor) or field.construct.value > 1
            if isinstance(field, SegmentField):
                want = field.field.__get__(op)
                got = field.__get__(op)
                assert got == want if isinstance(want, tuple) else got is want
                seen += 1
    assert seen > 0
