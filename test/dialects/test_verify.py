"""What `verify_module` finds beyond each operation's own rules."""

from __future__ import annotations

import pytest

from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError, place_of
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.verify import verify_module


def parse(text: str):
    return parse_module(text, "t.mlir", make_context())


def findings(module) -> list[str]:
    """The findings as `line: code: message`."""
    try:
        verify_module(module)
    except CompileError as failure:
        return [
            f"{place_of(d.location).split(':')[1]}: {d.code}: {d.message}"
            for d in failure.diagnostics
        ]
    return []


# Dominance ---------------------------------------------------------------------------

TWO = """\
func.func @f(%n: index) -> index {
  %a = pypto.index %n + 1
  %b = pypto.index %a * 2
  func.return %b : index
}
"""


def test_use_before_definition():
    module = parse(TWO)
    assert findings(module) == []
    a, b, _ = next(iter(module.ops)).regions[0].block.ops
    b.detach()
    a.parent_block().insert_op_before(b, a)
    assert findings(module) == [
        "3: PTO171: pypto.index uses %a where it is not defined"
    ]


def test_use_outside_of_the_body_that_defines_it():
    module = parse(
        """\
func.func @f(%n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = pypto.index %i + 1
  }
  %b = pypto.index %n + 1
  func.return %b : index
}
"""
    )
    assert findings(module) == []
    body = next(iter(module.ops)).regions[0].block
    *_, loop, b, _ = body.ops
    inner = loop.regions[0].block
    b.operands[0] = inner.first_op.results[0]
    assert findings(module) == [
        "7: PTO171: pypto.index uses %a where it is not defined"
    ]
    b.operands[0] = inner.args[0]
    assert findings(module) == [
        "7: PTO171: pypto.index uses %i where it is not defined"
    ]


def test_kernels_are_isolated():
    module = parse(
        """\
func.func @f(%n: index) {
  func.return
}
npu.kernel @k (%i) () on vector {
  %a = pypto.index %i + 1
}
"""
    )
    assert findings(module) == []
    function, kernel = module.ops
    kernel.regions[0].block.first_op.operands[0] = function.regions[0].block.args[0]
    assert findings(module) == [
        "5: PTO171: pypto.index uses %n where it is not defined"
    ]


def test_results_of_sibling_bodies():
    module = parse(
        """\
func.func @f(%p: i1, %n: index) {
  scf.if %p {
    %a = pypto.index %n + 1
  } else {
    %b = pypto.index %n + 2
  }
  func.return
}
"""
    )
    assert findings(module) == []
    branch = next(iter(module.ops)).regions[0].block.first_op
    then, other = (region.block.first_op for region in branch.regions)
    other.operands[0] = then.results[0]
    assert findings(module) == [
        "5: PTO171: pypto.index uses %a where it is not defined"
    ]


def test_all_findings_are_reported():
    module = parse(TWO)
    a, b, end = next(iter(module.ops)).regions[0].block.ops
    a.detach()
    end.parent_block().insert_op_before(a, end)
    a.operands[0] = b.results[0]
    b.operands[0] = a.results[0]
    assert len(findings(module)) == 1
    b.detach()
    end.parent_block().insert_op_before(b, end)
    assert len(findings(module)) == 1


def test_an_operation_that_breaks_its_rule():
    module = parse(TWO)
    first = next(iter(module.ops)).regions[0].block.first_op
    first.properties.pop("expr")
    (found,) = findings(module)
    assert found.startswith("2: PTO170: pypto.index:")


def test_a_body_without_a_terminator():
    module = parse(TWO)
    block = next(iter(module.ops)).regions[0].block
    for op in reversed(list(block.ops)):
        op.detach()
        op.erase()
    assert findings(module) == ["1: PTO170: func.func: its body lacks a terminator"]


def test_control_flow_is_structured():
    from xdsl.ir import Block

    module = parse(TWO)
    next(iter(module.ops)).regions[0].add_block(Block())
    assert "1: PTO170: func.func has a region of 2 blocks" in findings(module)


# Flags -------------------------------------------------------------------------------


def kernel(body: str):
    lines = "\n".join(f"  {line}" for line in body.strip().splitlines())
    return parse(f"npu.kernel @k (%i) (%n: index, %p: i1) on vector {{\n{lines}\n}}\n")


LOOP = """
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
"""
RULE = "PTO174"


@pytest.mark.parametrize(
    "body",
    [
        # set, then wait, in a line
        "tile.set_flag [v -> mte3, 0]\ntile.wait_flag [v -> mte3, 0]",
        # a loop that gives and takes
        LOOP + "scf.for %j = %c0 to %n step %c1 {\n"
        "tile.set_flag [v -> mte3, 0]\ntile.wait_flag [v -> mte3, 0]\n}",
        # a loop that takes what was there, and gives it back
        LOOP + "tile.set_flag [v -> mte2, 0]\n"
        "scf.for %j = %c0 to %n step %c1 {\n"
        "tile.wait_flag [v -> mte2, 0]\ntile.set_flag [v -> mte2, 0]\n}\n"
        "tile.wait_flag [v -> mte2, 0]",
        # one flag for each of two slots
        LOOP + "tile.set_flag [v -> mte2, 4]\ntile.set_flag [v -> mte2, 5]\n"
        "scf.for %j = %c0 to %n step %c1 {\n"
        "%s = pypto.index %j mod 2\n"
        "tile.wait_flag [v -> mte2, 4 + %s]\n"
        "%t = pypto.index %j mod 2\n"
        "tile.set_flag [v -> mte2, 4 + %t]\n}\n"
        "tile.wait_flag [v -> mte2, 4]\ntile.wait_flag [v -> mte2, 5]",
        # the slot is chosen outside of the loop
        LOOP + "%s = pypto.index %n mod 2\n"
        "tile.set_flag [v -> mte2, 4 + %s]\n"
        "scf.for %j = %c0 to %n step %c1 {\n"
        "tile.wait_flag [v -> mte2, 4 + %s]\n"
        "tile.set_flag [v -> mte2, 4 + %s]\n}\n"
        "tile.wait_flag [v -> mte2, 4 + %s]",
        # it is one of those that are set
        "%s = pypto.index %n mod 2\n"
        "tile.set_flag [v -> mte2, 4]\ntile.set_flag [v -> mte2, 5]\n"
        "tile.wait_flag [v -> mte2, 4 + %s]\n"
        "tile.set_flag [v -> mte2, 4 + %s]\n"
        "tile.wait_flag [v -> mte2, 4]\ntile.wait_flag [v -> mte2, 5]",
        # both branches neutral
        "tile.set_flag [v -> mte2, 0]\nscf.if %p {\n"
        "tile.wait_flag [v -> mte2, 0]\ntile.set_flag [v -> mte2, 0]\n}\n"
        "tile.wait_flag [v -> mte2, 0]",
        # two tokens of one flag
        "tile.set_flag [v -> mte2, 0]\ntile.set_flag [v -> mte2, 0]\n"
        "tile.wait_flag [v -> mte2, 0]\ntile.wait_flag [v -> mte2, 0]",
        # a slot whose range is not known
        "tile.set_flag [v -> mte2, %n]\ntile.wait_flag [v -> mte2, %n]",
    ],
)
def test_flags_in_balance(body):
    assert findings(kernel(body)) == []


def test_a_wait_that_nothing_set():
    module = kernel("tile.wait_flag [v -> mte2, 1]\ntile.set_flag [v -> mte2, 1]")
    assert findings(module) == [
        f"2: {RULE}: waits for flag [v -> mte2, 1], which nothing has set"
    ]


def test_another_id_is_another_flag():
    module = kernel("tile.set_flag [v -> mte2, 1]\ntile.wait_flag [v -> mte2, 2]")
    assert findings(module) == [
        f"2: {RULE}: the kernel leaves 1 token of flag [v -> mte2, 1] "
        "that nothing takes",
        f"3: {RULE}: waits for flag [v -> mte2, 2], which nothing has set",
    ]


def test_another_pair_of_pipes_is_another_flag():
    module = kernel("tile.set_flag [v -> mte2, 1]\ntile.wait_flag [v -> mte3, 1]")
    assert len(findings(module)) == 2


def test_a_leak():
    module = kernel("tile.set_flag [v -> mte2, 1]\ntile.set_flag [v -> mte2, 1]")
    assert findings(module) == [
        f"3: {RULE}: the kernel leaves 2 tokens of flag [v -> mte2, 1] "
        "that nothing takes"
    ]


def test_a_wait_at_the_head_of_a_loop_that_nobody_primed():
    module = kernel(
        LOOP + "scf.for %j = %c0 to %n step %c1 {\n"
        "  tile.wait_flag [v -> mte2, 0]\n  tile.set_flag [v -> mte2, 0]\n}"
    )
    assert findings(module) == [
        f"5: {RULE}: waits for flag [v -> mte2, 0], which nothing has set"
    ]


def test_a_slot_that_nobody_primed():
    module = kernel(
        LOOP + "tile.set_flag [v -> mte2, 4]\n"
        "scf.for %j = %c0 to %n step %c1 {\n"
        "  %s = pypto.index %j mod 2\n"
        "  tile.wait_flag [v -> mte2, 4 + %s]\n"
        "  tile.set_flag [v -> mte2, 4 + %s]\n}\n"
        "tile.wait_flag [v -> mte2, 4]"
    )
    assert findings(module) == [
        f"7: {RULE}: waits for flag [v -> mte2, 5], which nothing has set"
    ]


def test_a_loop_body_that_gives_more_than_it_takes():
    module = kernel(
        LOOP + "scf.for %j = %c0 to %n step %c1 {\n  tile.set_flag [v -> mte2, 0]\n}"
    )
    assert findings(module) == [
        f"5: {RULE}: a body of scf.for gives 1 token of flag [v -> mte2, 0] more than "
        "it takes"
    ]


def test_a_branch_that_takes_more_than_it_gives():
    module = kernel(
        "tile.set_flag [v -> mte2, 0]\nscf.if %p {\n} else {\n"
        "  tile.wait_flag [v -> mte2, 0]\n}"
    )
    assert findings(module)[1] == (
        f"5: {RULE}: a body of scf.if takes 1 token of flag [v -> mte2, 0] more than "
        "it gives"
    )


def test_slots_that_differ_are_different_flags():
    module = kernel(
        LOOP + "scf.for %j = %c0 to %n step %c1 {\n"
        "  %s = pypto.index %j mod 2\n"
        "  %t = pypto.index (%j + 1) mod 2\n"
        "  tile.set_flag [v -> mte2, %s]\n"
        "  tile.wait_flag [v -> mte2, %t]\n}"
    )
    assert any("a body of scf.for gives" in found for found in findings(module))


# Generic forms -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "op",
    [
        '"pypto.full"() <{value = 0.0 : f32, static_sizes = array<i64: '
        "-9223372036854775808>, operandSegmentSizes = array<i32: 0, 0>}> "
        ": () -> tensor<?xf32>",
        '"pypto.reshape"(%x) <{static_sizes = array<i64: -9223372036854775808>}> '
        ": (tensor<4xf32>) -> tensor<?xf32>",
        '"pypto.add"(%x) <{literals = [unit, unit]}> : (tensor<4xf32>) -> '
        "tensor<4xf32>",
    ],
)
def test_fewer_operands_than_places(op: str):
    text = f"func.func @f(%x: tensor<4xf32>) {{\n  %y = {op}\n  func.return\n}}\n"
    with pytest.raises(CompileError) as failure:
        verify_module(parse(text))
    (found,) = failure.value.diagnostics
    assert found.code == "PTO170"
    assert "fewer operands than places" in found.message


def test_a_rank_beyond_all_memory():
    text = (
        '"npu.kernel"() <{sym_name = "k", rank = 9223372036854775807 : i64, '
        "unit = #npu<unit cube>}> ({\n^bb0(%i: index):\n}) : () -> ()\n"
    )
    (found,) = findings(parse(text))
    assert "a grid of rank 9223372036854775807" in found


def test_complaints_of_xdsl_s_own_operations():
    text = """\
func.func @f(%n: index) {
  %w = scf.while (%k = %n) : (index) -> bf16 {
    %go = pypto.index %k > 31
    scf.condition(%go) %k : index
  } do {
  ^bb0(%k: index):
    scf.yield %k : index
  }
  func.return
}
"""
    assert any(
        "PTO170: scf.while: Block arg" in found for found in findings(parse(text))
    )


# The module's body --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "have"),
    [
        ("({}, {})", "2 regions of 0 blocks"),
        ("({})", "1 region of 0 blocks"),
        ("", "0 regions of 0 blocks"),
        (
            "({\n^a:\nfunc.func private @g()\n^b:\nfunc.func private @h()\n})",
            "2 blocks",
        ),
        ("({\n^a(%x: index):\nfunc.func private @g()\n})", "a block with 1 argument"),
    ],
)
def test_a_module_is_one_block(body: str, have: str) -> None:
    module = parse(f'"builtin.module"() {body} : () -> ()')
    (found,) = findings(module)
    assert found.startswith("1: PTO170: builtin.module has ")
    assert found.endswith(have)
