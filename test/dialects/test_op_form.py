"""Fields are verified once for operations of one form, and whatever breaks them is
another form."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from building import CONTEXT
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    f32,
    i32,
)
from xdsl.ir import Operation
from xdsl.irdl import OpDef
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.verify_op import FORMS, RIGHT, verify_op

TEXT = """
npu.kernel @k (%i) (%x: memref<16x64xf32, "gm">, %m: index) on vector {
  %a = tile.alloc {addr = 0} : !tile.buf<16x64xf32, ub>
  tile.load %x[0, 0] [%m, 64] into %a
  %b = tile.alloc {addr = 4096} : !tile.buf<8x32xf16, ub>
}
func.func @f(%x: memref<16x64xf32, "gm">, %n: index) {
  %t = npu.launch @k[1] (%x, %n)
  func.return
}
"""


@pytest.fixture
def ops() -> dict[str, Operation]:
    """The first operation of each name, verified; of the second no look is known."""
    RIGHT.clear()
    FORMS.clear()
    found: dict[str, Operation] = {}
    for op in parse_module(TEXT, "t.mlir", CONTEXT).walk():
        if op.name == "tile.alloc" and op.name in found:
            found["another"] = op
        else:
            found.setdefault(op.name, op)
    for name in ("tile.alloc", "tile.load", "npu.launch"):
        verify_op(found[name])
    return found


def test_of_one_form_the_fields_are_verified_once(
    ops: dict[str, Operation], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delattr(OpDef, "verify")
    verify_op(ops["another"])
    ops["another"].properties["addr"] = IntegerAttr(0, i32)
    with pytest.raises(AttributeError, match="verify"):
        verify_op(ops["another"])


def address_of_another_type(ops: dict[str, Operation]) -> Operation:
    ops["another"].properties["addr"] = IntegerAttr(0, i32)
    return ops["another"]


def address_of_another_class(ops: dict[str, Operation]) -> Operation:
    ops["another"].properties["addr"] = StringAttr("high")
    return ops["another"]


def property_of_another_name(ops: dict[str, Operation]) -> Operation:
    properties = ops["another"].properties
    properties["address"] = properties.pop("addr")
    return ops["another"]


def result_of_another_class(ops: dict[str, Operation]) -> Operation:
    ops["another"].results[0]._type = f32  # pyright: ignore
    return ops["another"]


def without_a_property(ops: dict[str, Operation]) -> Operation:
    del ops["npu.launch"].properties["callee"]
    return ops["npu.launch"]


def nested_symbol(ops: dict[str, Operation]) -> Operation:
    callee = SymbolRefAttr("k", ArrayAttr([StringAttr("inner")]))
    ops["npu.launch"].properties["callee"] = callee
    return ops["npu.launch"]


def operands_shared_out_otherwise(ops: dict[str, Operation]) -> Operation:
    held = ops["tile.load"].properties
    held["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [1, 1, 1, 1])
    return ops["tile.load"]


def too_few_operands(ops: dict[str, Operation]) -> Operation:
    load = ops["tile.load"]
    load.operands = list(load.operands)[:-1]
    return load


BREAKING = (
    address_of_another_type,
    address_of_another_class,
    property_of_another_name,
    result_of_another_class,
    without_a_property,
    nested_symbol,
    operands_shared_out_otherwise,
    too_few_operands,
)


@pytest.mark.parametrize("change", BREAKING)
def test_what_is_wrong_is_said_as_xdsl_says_it(
    ops: dict[str, Operation], change: Callable[[dict[str, Operation]], Operation]
):
    op = change(ops)
    with pytest.raises(VerifyException) as wanted:
        op.verify_()
    with pytest.raises(VerifyException) as found:
        verify_op(op)
    assert str(found.value) == str(wanted.value)
