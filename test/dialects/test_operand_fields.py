"""Our fields of operands and results give what xDSL's give."""

from __future__ import annotations

import pytest
from xdsl.irdl.operations import BaseAccessor, BaseAttrAccessor

import pyptoc
from pyptoc.dialects.context import make_context
from pyptoc.dialects.op_definition import (
    PlaceField,
    SegmentField,
    ValueField,
    own_verifier,
)
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
    seen: set[type] = set()
    for op in parse_module(text, "ir.mlir", make_context()).walk():
        if own_verifier(type(op)) is None:
            # A dialect of xDSL's that something has imported before ours.
            assert not op.name.startswith(("pypto.", "npu."))
            continue
        for field in vars(type(op)).values():
            if isinstance(field, BaseAccessor | BaseAttrAccessor):
                assert field.construct.name in ("REGION", "SUCCESSOR")
            if isinstance(field, SegmentField | ValueField):
                want = field.field.__get__(op)
                got = field.__get__(op)
                assert got == want if isinstance(want, tuple) else got is want
                assert type(got) is type(want)
                seen.add(type(field))
    assert seen == {PlaceField, ValueField, SegmentField}
