"""Operations that look alike are verified once; what looks further is always asked."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest
from building import CONTEXT
from xdsl.dialects.builtin import DenseArrayBase, IntAttr, ModuleOp, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from pyptoc import operators
from pyptoc.api import compile
from pyptoc.dialects import verify_op as verify_ops
from pyptoc.dialects.op_docs import examples_of
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.pypto import Pypto
from pyptoc.dialects.verify_op import FORMS, RIGHT, kind_of, look_of, verify_op
from pyptoc.passes import LEVELS


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> None:
    RIGHT.clear()
    FORMS.clear()


LOOKING = ("store", "probe", "for", "forall", "yield")
"""The pypto operations that look at what is around them or inside."""


def modules() -> Iterator[ModuleOp]:
    """The examples of all pypto operations, and three operators at each level."""
    for kind in Pypto.operations:
        for example in examples_of(kind):
            yield parse_module(example.program(typed=True), "op.mlir", CONTEXT)
    for name in ("moe_gating", "gmm_mxfp8", "flash_attention"):
        program = compile(operators.text_of(name), machine="ascend950")
        for level in LEVELS:
            yield parse_module(program.ir(level), "op.mlir", CONTEXT)


def is_alone(op: Operation) -> bool:
    """Whether nothing is asked of an operation that looks like another."""
    return kind_of(op).further == ()


def alone(op: Operation) -> Operation:
    """The operation on values that nothing is known of, where nothing is."""
    values = dict.fromkeys(op.operands)
    arguments = Block(arg_types=[value.type for value in values]).args
    copies: dict[SSAValue, SSAValue] = dict(zip(values, arguments, strict=True))
    return op.clone(value_mapper=copies)


def test_what_is_verified_alone_looks_at_nothing_else():
    seen: set[type[Operation]] = set()
    for module in modules():
        for op in module.walk():
            if is_alone(op) and not op.regions:
                copy = alone(op)
                assert look_of(copy) == look_of(op)
                copy.verify_()
                seen.add(type(op))
    names = {kind.name for kind in seen}
    assert {"tile.load", "tile.exp", "tile.set_flag", "npu.launch"} <= names
    others = {kind.name for kind in Pypto.operations} - names
    assert others == {f"pypto.{name}" for name in LOOKING}


KERNEL = """
npu.kernel @k (%i) (%x: memref<16x64xf32, "gm">) on vector {
  %a = tile.alloc : !tile.buf<16x64xf32, ub>
  %b = tile.alloc : !tile.buf<16x64xf32, ub>
  tile.rem %a, %a into %b [16, 64]
  tile.exp %a into %b [16, 64]
}
"""


def remainder(text: str) -> Operation:
    module = parse_module(text, "t.mlir", CONTEXT)
    (op,) = (op for op in module.walk() if op.name == "tile.rem")
    return op


def test_the_same_value_twice_is_another_look():
    """What must not work in place is told from its values, of one type."""
    fine, wrong = remainder(KERNEL), remainder(KERNEL.replace("into %b", "into %a"))
    verify_op(fine)
    with pytest.raises(VerifyException, match="in place"):
        verify_op(wrong)


def test_of_what_looks_alike_the_surroundings_are_looked_at():
    module = parse_module(SLOTS, "t.mlir", CONTEXT)
    first, second = (op for op in module.walk() if op.name == "tile.slot")
    assert look_of(first) == look_of(second)
    verify_op(first)
    with pytest.raises(VerifyException, match="slot 2 of an allocation of 2 slots"):
        verify_op(second)


SLOTS = """
npu.kernel @k (%i) (%x: memref<16x64xf32, "gm">) on vector {
  %a = tile.alloc {slots = 3} : !tile.buf<16x64xf32, ub>
  %b = tile.alloc {slots = 2} : !tile.buf<16x64xf32, ub>
  %c = tile.slot %a[2] : !tile.buf<16x64xf32, ub>
  %d = tile.slot %b[2] : !tile.buf<16x64xf32, ub>
  tile.exp %c into %d [16, 64]
}
"""


def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(verify_ops, "MOST_REMEMBERED", 2)
    for op in parse_module(SLOTS, "t.mlir", CONTEXT).walk():
        if op.name in ("tile.alloc", "tile.slot") and "%d" not in str(op):
            verify_op(op)
            assert look_of(op) in RIGHT
            assert len(RIGHT) <= 2


def test_equal_attributes_have_one_token_that_no_other_gets(
    monkeypatch: pytest.MonkeyPatch,
):
    """Otherwise an operation would pass for another that was found right."""
    monkeypatch.setattr(verify_ops, "MOST_REMEMBERED", 3)
    monkeypatch.setattr(verify_ops, "_TOKENS", {})
    token = verify_ops._token  # pyright: ignore[reportPrivateUsage]
    assert token(IntAttr(7)) == token(IntAttr(7))
    kept = [IntAttr(value) for value in range(10)]
    tokens = [token(attribute) for attribute in kept]
    assert len(set(tokens)) == 10
    assert tokens == [token(attribute) for attribute in kept]
    assert token(IntAttr(0)) not in tokens[1:]


def test_sizes_of_segments_are_looked_at():
    """Of which xDSL's constraint asks for the class alone: they fit the operands."""
    text = """
func.func @f(%n: index, %m: index) {
  pypto.assert %n >= 0, "{0} {1}", %n, %m
  pypto.assert %n >= 0, "{0} {1}", %m, %n
  func.return
}
"""
    module = parse_module(text, "t.mlir", CONTEXT)
    first, second = (op for op in module.walk() if op.name == "pypto.assert")
    verify_op(first)
    sizes = second.properties["operandSegmentSizes"]
    assert isinstance(sizes, DenseArrayBase)
    more = [*sizes.get_values()]
    more[-1] += 1
    second.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, more)
    with pytest.raises(VerifyException, match="does not match with the total size"):
        verify_op(second)


def test_a_token_that_was_pickled_is_that_of_no_attribute():
    """In another process it would be another attribute's."""
    token = verify_ops._token  # pyright: ignore[reportPrivateUsage]
    attribute = IntAttr(7)
    known = token(attribute)
    read = pickle.loads(pickle.dumps(attribute))
    assert read == attribute
    assert token(read) != known
