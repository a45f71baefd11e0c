"""`verify_module` with a memory: what nobody changed is not looked at again.

After each kind of change a second verification finds what a first one would.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Region

from pyptoc.dialects.assembly import int_attr
from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.npu import KernelOp
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.verify import Verified, verify_module
from pyptoc.dialects.verify_op import RIGHT, verify_op

TEXT = """
npu.kernel @k (%i) (%x: memref<16x64xf32, "gm">, %m: index) on vector {
  %a = tile.alloc : !tile.buf<16x64xf32, ub>
  %r = pypto.index 16 * %i
  tile.load %x[0, 0] [%m, 64] into %a
  tile.set_flag [mte2 -> v, 0]
  tile.wait_flag [mte2 -> v, 0]
  tile.exp %a into %a [%m, 64]
}
func.func @f(%x: memref<16x64xf32, "gm">, %n: index) {
  %m = pypto.index min(%n, 16)
  %l = pypto.index %m + 1
  %t = npu.launch @k[1] (%x, %m)
  func.return
}
func.func private @g(%x: index) -> index {
  func.return %x : index
}
func.func private @h(%x: index) -> index {
  %y = func.call @g(%x) : (index) -> index
  func.return %y : index
}
func.func private @b(%c: i1, %x: index) {
  scf.if %c {
    pypto.assert %x >= 0, "less"
  }
  func.return
}
"""


@pytest.fixture
def module() -> ModuleOp:
    return parse_module(TEXT, "t.mlir", make_context())


def named(module: ModuleOp, name: str) -> list[Operation]:
    return [op for op in module.walk() if op.name == name]


def negative_slots(module: ModuleOp) -> None:
    named(module, "tile.alloc")[0].properties["slots"] = int_attr(-1)


def another_result(module: ModuleOp) -> None:
    named(module, "pypto.index")[2].results[0]._type = f32  # pyright: ignore


def another_operand(module: ModuleOp) -> None:
    first, second = named(module, "pypto.index")[1:]
    first.operands[0] = second.results[0]  # of the same type, but defined later


def no_flag(module: ModuleOp) -> None:
    named(module, "tile.set_flag")[0].detach()


def used_before(module: ModuleOp) -> None:
    first, second = named(module, "pypto.index")[1:]
    first.detach()
    block = second.parent
    assert block is not None
    block.insert_op_after(first, second)


def another_parameter(module: ModuleOp) -> None:
    (kernel,) = named(module, "npu.kernel")
    assert isinstance(kernel, KernelOp)
    kernel.block.insert_arg(IndexType(), len(kernel.block.args))


def another_name(module: ModuleOp) -> None:
    named(module, "npu.kernel")[0].properties["sym_name"] = StringAttr("other")


def same_name(module: ModuleOp) -> None:
    named(module, "npu.kernel")[0].properties["sym_name"] = StringAttr("f")


def another_signature(module: ModuleOp) -> None:
    function = named(module, "func.func")[0]
    assert isinstance(function, FuncOp)
    function.body.block.insert_arg(IndexType(), 0)


def another_function(module: ModuleOp) -> None:
    """What calls it stays as it is."""
    function = named(module, "func.func")[1]
    function.properties["sym_name"] = StringAttr("other")


def another_call(module: ModuleOp) -> None:
    function = named(module, "func.func")[1]
    assert isinstance(function, FuncOp)
    function.body.block.insert_arg(IndexType(), 0)
    function.update_function_type()


def another_branch(module: ModuleOp) -> None:
    """The same block, where the other one would be."""
    (choice,) = named(module, "scf.if")
    then, otherwise = choice.regions
    block = then.block
    then.detach_block(block)
    otherwise.add_block(block)


def another_region(module: ModuleOp) -> None:
    named(module, "scf.if")[0].add_region(Region())


def no_function(module: ModuleOp) -> None:
    named(module, "func.func")[1].detach()


def no_body(module: ModuleOp) -> None:
    """Nor are there parameters that a launch could be compared with."""
    body = named(module, "npu.kernel")[0].regions[0]
    body.detach_block(body.block)


def no_type(module: ModuleOp) -> None:
    """For which func.return asks."""
    del named(module, "func.func")[1].properties["function_type"]


def no_rank(module: ModuleOp) -> None:
    """For which a launch asks."""
    del named(module, "npu.kernel")[0].properties["rank"]


BREAKING = (
    no_type,
    no_rank,
    negative_slots,
    another_result,
    another_operand,
    no_flag,
    used_before,
    another_parameter,
    another_name,
    same_name,
    another_signature,
    another_function,
    another_call,
    another_branch,
    another_region,
    no_function,
    no_body,
)


def errors(module: ModuleOp, verified: Verified | None) -> list[str]:
    try:
        verify_module(module, verified)
    except CompileError as failure:
        return [each.message for each in failure.diagnostics]
    return []


@pytest.mark.parametrize("change", BREAKING)
def test_a_change_is_found(module: ModuleOp, change: Callable[[ModuleOp], None]):
    verified = Verified()
    assert errors(module, verified) == []
    change(module)
    wanted = errors(module, None)
    assert wanted
    assert errors(module, verified) == wanted
    assert errors(module, verified) == wanted, "what is wrong is not remembered"


def test_what_is_as_it_was_is_not_looked_at(
    module: ModuleOp, monkeypatch: pytest.MonkeyPatch
):
    seen: list[str] = []

    def counted(op: Operation, *, unchanged: bool) -> None:
        seen.append(op.name)
        verify_op(op, unchanged=unchanged)

    monkeypatch.setattr("pyptoc.dialects.verify.verify_op", counted)
    RIGHT.clear()
    verified = Verified()
    verify_module(module, verified)
    assert "tile.load" in seen
    assert "npu.launch" in seen
    seen.clear()
    verify_module(module, verified)
    assert seen == ["func.call"], "it depends on another function"
    named(module, "npu.launch")[0].attributes["order"] = StringAttr("row")
    verify_module(module, verified)
    assert "npu.launch" in seen
    assert "tile.load" not in seen
