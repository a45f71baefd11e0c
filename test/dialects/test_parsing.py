"""The parser and the printer: round trips, places, names, several errors at once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, UnknownLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from pyptoc.diagnostics import render
from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError, Diagnostic, place_of
from pyptoc.dialects.parsing import MAX_NESTING, parse_module
from pyptoc.dialects.printing import print_module

OPERATORS = sorted((Path(__file__).parent.parent / "operators").glob("*.mlir"))


def read(text: str, filename: str = "op.mlir") -> ModuleOp:
    return parse_module(text, filename, make_context())


@cache
def operator(path: Path) -> ModuleOp:
    """A file that several tests look at, none of which changes what it is."""
    module = read(path.read_text(), path.name)
    module.verify()
    return module


@cache
def canonical(path: Path) -> str:
    return print_module(operator(path))


def errors_of(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(CompileError) as caught:
        read(text)
    return caught.value.diagnostics


def function(body: str, arguments: str = "%x: tensor<4xf32>, %n: index") -> str:
    return f"func.func @f({arguments}) {{\n{body}\n  func.return\n}}\n"


def named(module: ModuleOp, name: str) -> Operation:
    """The operation whose first result has this name."""
    for op in module.walk():
        if op.results and op.results[0].name_hint == name:
            return op
    raise LookupError(name)


def place(value: SSAValue | Operation) -> str:
    if isinstance(value, Operation):
        return place_of(value.location)
    owner = value.owner
    return place_of(
        owner.location if isinstance(owner, Operation) else value.location  # type: ignore
    )


# -- printing what was read


@pytest.mark.parametrize("path", OPERATORS, ids=lambda path: path.stem)
@pytest.mark.parametrize("form", ["canonical", "short", "generic", "debuginfo"])
def test_round_trip(path: Path, form: str) -> None:
    options = {} if form == "canonical" else {form: True}
    text = print_module(operator(path), **options)
    again = read(text, "printed.mlir")
    again.verify()
    assert print_module(again, **options) == text
    if options:
        assert print_module(again) == canonical(path)


@pytest.mark.parametrize("path", OPERATORS, ids=lambda path: path.stem)
def test_locations_survive_debuginfo(path: Path) -> None:
    module = operator(path)
    again = read(print_module(module, debuginfo=True), "printed.mlir")
    for before, after in zip(module.walk(), again.walk(), strict=True):
        assert before.location == after.location


def test_an_unknown_location_stays_unknown() -> None:
    text = "module {\n  func.func @f() {\n    func.return loc(unknown)\n  }\n}\n"
    (module,) = [op for op in read(text).walk() if op.name == "func.return"]
    assert isinstance(module.location, UnknownLoc)


# -- places


@pytest.mark.parametrize("path", OPERATORS, ids=lambda path: path.stem)
def test_everything_has_a_place(path: Path) -> None:
    for op in operator(path).walk():
        assert isinstance(op.location, FileLineColLoc), op.name
        assert op.location.filename.data == path.name
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    assert isinstance(argument.location, FileLineColLoc)


def test_places_are_those_of_the_names() -> None:
    module = read(
        "func.func @f(%x: tensor<4xf32>,\n"
        "             %n: index) {\n"
        "  %r = pypto.forall (%i = 0 to %n) outs(%o = %x) {\n"
        "    pypto.store %x into %o[0]\n"
        "  }\n"
        "  %a, %b = pypto.quantize %x axis -1 to i8\n"
        "  func.return\n"
        "}\n"
    )
    func = next(op for op in module.walk() if isinstance(op, FuncOp))
    assert place(func) == "op.mlir:1:1"
    assert [place(arg) for arg in func.args] == ["op.mlir:1:14", "op.mlir:2:14"]
    forall = named(module, "r")
    assert place(forall) == "op.mlir:3:8"
    index, out = forall.regions[0].block.args
    assert place(index) == "op.mlir:3:22"
    assert place(out) == "op.mlir:3:41"
    (store,) = forall.regions[0].block.ops
    assert place(store) == "op.mlir:4:5"
    assert place(named(module, "a")) == "op.mlir:6:12"


# -- names


def names_of(func: FuncOp) -> tuple[list[str], list[str]]:
    arguments = [one.data["pypto.name"].data for one in func.arg_attrs.data]  # type: ignore
    results = [one.data["pypto.name"].data for one in func.res_attrs.data]  # type: ignore
    return arguments, results


def test_numeric_suffixes_do_not_swap_inputs() -> None:
    text = (
        "func.func @f(%scale_1: tensor<4xf32>, %scale: f32, %7: f32)"
        ' -> (f32, f32 {pypto.name = "out"}) {\n'
        "  func.return %scale, %7 : f32, f32\n}\n"
    )
    for _ in range(3):
        module = read(text)
        func = next(op for op in module.walk() if isinstance(op, FuncOp))
        assert names_of(func) == (["scale_1", "scale", "arg2"], ["result0", "out"])
        text = print_module(module)


# -- several errors


def test_names_with_several_suffixes() -> None:
    text = """
    func.func @f(%_1: tensor<4xf32>, %x_0_1: tensor<4xf32>) -> tensor<4xf32> {
      %_2_3 = pypto.sub %_1, %x_0_1
      func.return %_2_3 : tensor<4xf32>
    }"""
    module = read(text)
    (difference,) = [op for op in module.walk() if op.name == "pypto.sub"]
    hints = [value.name_hint for value in (*difference.operands, *difference.results)]
    assert hints == [None, "x", None]
    printed = print_module(module)
    assert print_module(read(printed)) == printed


def test_errors_come_in_the_order_of_the_text() -> None:
    found = errors_of(
        function(
            "  %a = pypto.exp %one\n"
            "  %b = pypto.exp %a\n"
            "  pypto.for (%i = 0 to 4) {\n"
            "    %c = pypto.exp %two\n"
            "  }\n"
            "  %d = pypto.exp %three"
        )
        + function("  %a = pypto.exp %four")
    )
    assert [one.message.split()[0] for one in found] == [
        "%one",
        "%two",
        "%three",
        "%four",
    ]
    assert [place_of(one.location) for one in found] == [
        "op.mlir:2:18",
        "op.mlir:5:20",
        "op.mlir:7:18",
        "op.mlir:11:18",
    ]


def test_at_most_twenty_errors_and_a_count() -> None:
    body = "\n".join(f"  %y{i} = pypto.exp %missing{i}" for i in range(25))
    found = errors_of(function(body))
    assert len(found) == 21
    assert found[-1].message == "5 more errors"


def test_a_rejected_operation_may_span_lines_and_hold_braces() -> None:
    found = errors_of(
        function(
            "  %a = pypto.mul %x,\n"
            '       %missing {tag = "{", tile = #pypto.vec<8>}\n'
            "  %b = pypto.exp %x"
        )
    )
    assert len(found) == 1


def test_reading_goes_on_behind_a_line_with_text_that_is_no_token() -> None:
    lines = (
        "  %a = pypto.exp %y",
        "  %b = $",
        "  %c = pypto.exp %z",
        "  %d = pypto.index %n % 2",
        "  %e = pypto.mul %x, .5",
        "  $",
        '  pypto.probe %x "open',
        "  %f = pypto.exp %d",
        "  %g = pypto.exp %last",
    )
    found = errors_of(function("\n".join(lines)))
    assert [(one.code, line_of(one) - 1) for one in found] == [
        ("PTO103", 1),
        ("PTO102", 2),
        ("PTO103", 3),
        ("PTO107", 4),
        ("PTO101", 5),
        ("PTO102", 6),
        ("PTO102", 7),
        ("PTO103", 9),
    ]


def test_text_that_is_no_token_beside_a_brace_ends_the_reading() -> None:
    body = "  %a = pypto.exp %y\n  scf.if $ {\n  }\n  %c = pypto.exp %z"
    assert [one.code for one in errors_of(function(body))] == ["PTO103", "PTO102"]


def line_of(found: Diagnostic) -> int:
    return int(place_of(found.location).split(":")[1])


def test_an_expression_may_end_with_the_file() -> None:
    (found,) = errors_of("func.func @f(%n: index) {\n  %y = pypto.index %n +")
    assert found.code == "PTO145"


def test_what_xdsl_refuses_gets_a_place() -> None:
    (found,) = errors_of("func.func @f(%x: f32 {a.b = 300 : i8}) {\n  func.return\n}\n")
    assert place_of(found.location) == "op.mlir:1:1"
    assert found.code == "PTO170"


HUGE = "9" * 20
CONSTANT = "func.func @f() {{\n  %k = arith.constant {}\n  func.return\n}}\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (CONSTANT.format(f"dense<[{2**63}, 2]> : tensor<2xi32>"), 2, str(2**63)),
        (CONSTANT.format(f"dense<0> : tensor<{HUGE}xi32>"), 2, "at most 2^63 - 1"),
        (CONSTANT.format(f"dense<[1, 2]> : tensor<2xi{HUGE}>"), 2, "16777215 bits"),
        (CONSTANT.format(f"dense<[1, 2]> : tensor<2xi{2**62}>"), 2, "16777215 bits"),
        (CONSTANT.format(f"1 : i{2**24}"), 2, "16777215 bits"),
        (CONSTANT.format(f"1 : i{HUGE * 300}"), 2, "16777215 bits"),
        (CONSTANT.format(f"dense<0> : tensor<{2**62}xi8>"), 2, "too many for dense"),
        (CONSTANT.format("dense<0> : tensor<256x257xi8>"), 2, "at most 65536"),
        (f"// sizes\nfunc.func @f(%x: tensor<4x{2**63}xf32>)", 2, "at most 2^63 - 1"),
        (f"func.func @f(%x: memref<{2**63}xf32>)", 1, "at most 2^63 - 1"),
        (f"func.func @f(%x: !tile.buf<{2**63}x1xf32, ub>)", 1, "at most 2^63 - 1"),
        (f"// types\n!t = {HUGE}\nfunc.func @f() {{\n  func.return\n}}", 3, HUGE),
    ],
    ids=[
        "element",
        "size",
        "width",
        "long",
        "bits",
        "digits",
        "elements",
        "equal",
        "tensor",
        "memref",
        "buf",
        "alias",
    ],
)
def test_numbers_that_are_too_large(text: str, line: int, message: str) -> None:
    (problem, *_) = errors_of(text)
    assert message in problem.message
    assert place_of(problem.location).startswith(f"op.mlir:{line}:")


@pytest.mark.parametrize("text", ["", "\n", "// nothing\n", "}\n", "%\n", '"\n', "#a"])
def test_no_text_is_a_traceback(text: str) -> None:
    assert errors_of(text)


def test_names_of_a_rejected_body_do_not_leak() -> None:
    found = errors_of(
        function(
            "  pypto.for (%i = 0 to 4) {\n"
            "    %c = pypto.exp %x\n"
            "    pypto.yield )\n"
            "  }\n"
            "  %d = pypto.exp %c"
        )
    )
    assert [one.code for one in found] == ["PTO100", "PTO103"]


# -- depth


def nested(depth: int) -> str:
    loops = "".join(f"pypto.for (%i{level} = 0 to 4) {{\n" for level in range(depth))
    return function(loops + "}" * depth)


def test_deep_nesting_is_read_and_printed() -> None:
    module = read(nested(MAX_NESTING - 1))
    module.verify()
    assert print_module(read(print_module(module))) == print_module(module)


@pytest.mark.parametrize(
    "text",
    [
        nested(MAX_NESTING),
        nested(1000),
        function(f"  %a = pypto.index {'(' * 5000}%n{')' * 5000}"),
        function(f"  %a = pypto.index {'-' * 5000}%n"),
        function(f"  %a = pypto.scalar {'(' * 5000}1.0{')' * 5000}"),
        function(f"  %a = pypto.exp %x {{a.b = {'[' * 5000}{']' * 5000}}}"),
        "module {\n" * 500 + "}" * 500,
    ],
    ids=["loops", "many_loops", "index", "minus", "scalar", "attribute", "modules"],
)
def test_deeper_nesting_is_an_error(text: str) -> None:
    assert errors_of(text)[0].code == "PTO108"


@pytest.mark.parametrize("op", ["index", "scalar"])
def test_deep_parentheses_are_an_error_where_they_stand(op: str) -> None:
    found = errors_of(
        function(f"  %a = pypto.{op} {'(' * 5000}\n  %b = pypto.exp %missing")
    )
    assert [one.code for one in found] == ["PTO108", "PTO103"]
    assert found[0].message == "parentheses nest too deep here"


# -- rendering


def test_rendering() -> None:
    text = function("  %y = pypto.mul %x, 1e-3")
    (found,) = errors_of(text)
    assert render(found, {"op.mlir": text}).splitlines() == [
        "op.mlir:2:22: error[PTO101]: '1e-3' is not an MLIR number",
        " 2 |   %y = pypto.mul %x, 1e-3",
        "   |                      ^^^^",
        "  help: write 1.0e-3 (a float literal needs a digit, then a point)",
    ]


def test_rendering_without_the_source() -> None:
    (found,) = errors_of(function("  %y = pypto.exp %z"))
    assert render(found, {}) == "op.mlir:2:18: error[PTO103]: %z is not defined here"


def test_rendering_counts_tabs() -> None:
    text = function("\t%y = pypto.exp %z")
    (found,) = errors_of(text)
    _, source, carets = render(found, {"op.mlir": text}).splitlines()
    assert source.index("%z") == carets.index("^")
