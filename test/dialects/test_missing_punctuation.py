"""What is said where a comma, a bracket, a quote or a sign is left out or misspelt."""

from __future__ import annotations

import pytest
from inprocess import call

PROGRAM = """\
func.func private @g(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  func.return %x : tensor<8x64xf32>
}
func.func @f(%x: tensor<8x64xf32> {pypto.name = "in"}, %y: tensor<8x64xf32>)
    -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %a = func.call @g(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %b = pypto.einsum "ab,cb->ac" %x, %y {tag = "p", tile = #pypto.cube<m = [16, 16], k = [16, 16], n = [16, 16]>}
  %c = pypto.add %a, %y
  %d = pypto.concat %x, %y axis 0
  %e = pypto.cast %c to bf16
  %v = pypto.view %x[0 +: 4, 0 +: 64]
  %l = pypto.for (%i = 0 to 4) iter(%s = %x) {
    %n = pypto.exp %s
    pypto.yield %n
  }
  func.return %l, %c : tensor<8x64xf32>, tensor<8x64xf32>
}
"""  # noqa: E501

COMMA = "a comma is missing between %x and %y"
LINE = "a comma is missing at the end of this line"
QUOTES = 'a text stands in double quotes: "text"'
RESULTS = "the types of the results stand behind ->, then the body in { }"
BODY = "a body { ... } is expected at the end of this line"


def test_the_program_is_right() -> None:
    assert call("-", "--pipeline=", stdin=PROGRAM)[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "place", "said", "help"),
    [
        # Commas.
        ("add %a, %y", "add %a %y", "8:20", "a comma is missing between %a and %y", ""),
        (
            "add %a, %y",
            "add %a 2.0",
            "8:20",
            "a comma is missing between %a and 2.0",
            "",
        ),
        ('ac" %x, %y', 'ac" %x %y', "7:35", COMMA, ""),
        ("concat %x, %y", "concat %x %y", "9:23", COMMA, ""),
        ("return %l, %c", "return %l %c", "16:17", "a comma is missing between", ""),
        ("0 +: 4, 0", "0 +: 4 0", "11:29", "',' or ']' is expected here", ""),
        ("[16, 16], k", "[16 16], k", "7:79", "',' or ']' is expected here", ""),
        ("[16, 16], k", "[16, 16] k", "7:84", "',' or '>' is expected here", ""),
        ('"p", tile', '"p" tile', "7:51", "',' or '}' is expected here", ""),
        ('"in"}, %y', '"in"} %y', "4:55", "',' or ')' is expected here", ""),
        ('"in"}, %y', '"in"}\n %y', "4:53", LINE, ""),
        ('"in"}, %y', '"in"}  // first\n\n %y', "4:53", LINE, ""),
        ("(tensor<8x64xf32>, ten", "(tensor<8x64xf32>\n ten", "5:24", LINE, ""),
        ("exp %s", "exp %s %x", "13:23", "'%x' cannot follow here", ""),
        # Colons, arrows, equals signs.
        ("%y: tensor", "%y tensor", "4:59", "':' is expected here", ""),
        ("@g(%x) :", "@g(%x)", "6:25", "':' is expected here", ""),
        (
            "return %l, %c :",
            "return %l, %c,",
            "16:23",
            "a value such as",
            "behind a colon",
        ),
        (
            "%x: tensor<8x64xf32>) ->",
            "%x: tensor<8x64xf32>)",
            "1:44",
            "cannot follow",
            RESULTS,
        ),
        ("%c = pypto", "%c pypto", "8:6", "'=' is expected here", ""),
        ("%c = pypto", "c = pypto", "8:3", "value begins with %", "write %c = .."),
        ('{tag = "p"', '{tag "p"', "7:45", "'=' is expected here", ""),
        ('{tag = "p"', '{tag: "p"', "7:44", "'=' is expected here", ""),
        (
            "return %l, %c",
            "return %n, %c",
            "16:15",
            "%n is not defined",
            "(<stdin>:13:5)",
        ),
        # Brackets.
        ("0 to 4)", "0 to 4", "12:31", "',' or ')' is expected here", ""),
        ("(%s = %x)", "(%s = %x", "12:45", "')' is expected here", ""),
        (" +: 64]", " +: 64", "11:36", "']' is expected at the end", ""),
        ("iter(%s = %x) {", "iter(%s = %x)", "12:44", BODY, ""),
        (
            "%y: tensor<8x64xf32>)\n    ->",
            "%y: tensor<8x64xf32>\n    ->",
            "4:75",
            "')' is expected at",
            "",
        ),
        ("tensor<8x64xf32>) {", "tensor<8x64xf32>)", "5:43", BODY, ""),
        (
            '{pypto.name = "in"}',
            'pypto.name = "in"',
            "4:35",
            "',' or ')'",
            "{pypto.name = ..}",
        ),
        # Quotes.
        ('"p"', "'p'", "7:47", "unexpected character: '", QUOTES),
        ('"p"', "“p”", "7:47", "unexpected character “ U+201C", QUOTES),
        ('"in"', "in", "4:49", "an attribute is expected here", 'double quotes: "in"'),
        ('"p"', '"p', "7:47", "this string does not end on its line", ""),
        # Characters that come with text from documents.
        ("%a, %y", "%a\uff0c %y", "8:20", "U+FF0C (FULLWIDTH COMMA)", "write ,"),
        ("%a, %y", "%a, \uff05y", "8:22", "U+FF05 (FULLWIDTH PERCENT SIGN)", "write %"),
        ("add %a", "add\u00a0%a", "8:17", "U+00A0 (NO-BREAK SPACE)", "a plain blank"),
        ("pypto.add", "pypto.\u200badd", "8:14", "U+200B", "leave out"),
        ("->", "\u2192", "1:44", "U+2192", "write ->"),
        (
            "%c = pypto.add",
            "%\u0441 = pypto.add",
            "8:3",
            "U+0441 (CYR",
            "letters a to z",
        ),
        ("%l = pypto", "%l\u00f6 = pypto", "12:5", "in a name", "letters a to z"),
        # Names and words.
        ("(%s = %x)", "(s = %x)", "12:37", "value begins with %", "write %s"),
        (
            "pypto.for (%i = 0 to 4)",
            "scf.for %i = 0 to 4",
            "12:21",
            "such as %x",
            "scf",
        ),
        ("@f(%x:", "@f(x:", "4:14", "an argument such as", "write %x"),
        ("add %a, %y", 'add %a, %y tag = "a"', "8:25", "'tag' cannot", "{tag = ..}"),
        ("add %a, %y", "add %a, %y -> f32", "8:25", "'->' cannot follow", "colon"),
        (
            "pypto.exp",
            "pypto.epx",
            "13:10",
            "no operation pypto.epx",
            "did you mean pypto.exp?",
        ),
        (
            "pypto.add",
            "add",
            "8:8",
            "there is no operation add",
            "did you mean pypto.add?",
        ),
        (
            "pypto.exp",
            "Pypto.exp",
            "13:10",
            "no dialect 'Pypto'",
            "did you mean pypto?",
        ),
        (
            "pypto.exp",
            "pypto exp",
            "13:10",
            "no operation pypto",
            "operations are pypto.NAME",
        ),
        (
            "func.func @f",
            "func @f",
            "4:1",
            "there is no operation func",
            "mean func.func?",
        ),
        (
            "func.func @f",
            "func.func f",
            "4:11",
            "a name such as @f is expected here",
            "",
        ),
        (
            "call @g",
            "call g",
            "6:18",
            "an attribute is expected here",
            "begin with @: @g",
        ),
        (
            "exp %s",
            "exp x",
            "13:20",
            "a value such as %x is expected",
            "did you mean %x?",
        ),
        ("to bf16", "ot bf16", "10:22", "cast needs 'to ...'", "write to i32"),
        ("to bf16", "bf16", "10:22", "cast needs 'to ...'", "write to i32"),
        (
            "axis 0",
            "axsi 0",
            "9:28",
            "concat has no clause 'axsi'",
            "did you mean axis?",
        ),
        ("axis 0", "", "9:8", "concat needs 'axis ...'", "write axis"),
        (
            "tag =",
            "tga =",
            "7:41",
            "einsum has no attribute 'tga'",
            "did you mean tag?",
        ),
        (
            "exp %s",
            "exp %s;",
            "13:22",
            "unexpected character: ;",
            "the end of its line",
        ),
        (
            "  %c =",
            "  # sum\n  %c =",
            "8:3",
            "a name is expected after #",
            "begin with //",
        ),
    ],
)
def test_messages(old, new, place, said, help) -> None:
    assert old in PROGRAM
    code, out, err = call("-", "--pipeline=", stdin=PROGRAM.replace(old, new, 1))
    head, *lines = err.splitlines()
    assert (code, out) == (1, "")
    assert head.startswith(f"<stdin>:{place}: error[PTO1"), err
    assert said in head
    assert help in "".join(line for line in lines if line.strip().startswith("help:"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("iter(%s = %x) {", "iter(%s = %x)"),
        ("tensor<8x64xf32>) {", "tensor<8x64xf32>)"),
        ("exp %s", "exp %s %x"),
        ("add %a, %y", "add %a %y"),
        ("%c = pypto.add", "c = pypto.add"),
        ('%x, %y {tag = "p"', '%x, %y tag = "p"'),
        ('%x, %y {tag = "p"', '%x, %y ]tag = "p"'),
        ("exp %s", "exp }s"),
        ("0 +: 4, 0", "0 +: }4, 0"),
        ("= 0 to 4", "= 0 to }4"),
        ("add %a, %y", "add %a, %%y"),
    ],
)
def test_one_mistake_is_one_error(old, new) -> None:
    text = PROGRAM.replace(old, new, 1)
    _, _, err = call("-", "--pipeline=", stdin=text)
    assert err.count("error[") == 1, err


BODY_BRACE = "this { is never closed"
EXTRA = "this } closes nothing"
NESTED = """\
func.func @f(%x: tensor<?x64xf32> {pypto.dims = ["M"]}, %g: tensor<64xf32>)
    -> (tensor<1x64xf32>
      {pypto.name = "y"}) attributes {pypto.tiles =
        #pypto.tiles<vec = [8, 64]>} {
  %m = pypto.dim %x, 0
  %zero = pypto.full 0.0[1, 64] : tensor<1x64xf32>
  %sum, %rest = pypto.for (%i +: %n = 0 to %m step 32) iter(
      %acc = %zero,
      %old = %zero) {  // a { in a comment
    %block = pypto.view %x[%i +: %n, :]
    %part = pypto.sum %block axis 0 {keepdim}
    %next = pypto.add %acc, %part
        : tensor<1x64xf32>, tensor<1x64xf32> -> tensor<1x64xf32>
    pypto.probe %next "}"
    pypto.yield %next, %old
  }
  %y = pypto.mul %sum, %g
  func.return %y : tensor<1x64xf32>
}
"""


def test_the_nested_program_is_right() -> None:
    assert call("-", "--pipeline=", stdin=NESTED)[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "place", "said", "help"),
    [
        ("  }\n", "  }}\n", "16:4", EXTRA, "leave it out"),
        ("  }\n", "  }\n}\n", "17:1", EXTRA, "leave it out"),
        ("\n}\n", "\n}}\n", "19:2", EXTRA, "leave it out"),
        ("{keepdim}", "{keepdim}}", "11:46", EXTRA, "leave it out"),
        (", %old\n", ", %old }\n", "15:29", EXTRA, "leave it out"),
        (">} {\n", ">} {}\n", "4:39", EXTRA, "leave it out"),
        (" iter(\n", " iter(}\n", "7:61", "a name is expected", ""),
        ("  }\n", "", "9:21", BODY_BRACE, "write a } before line 16"),
        ("\n}\n", "\n", "4:38", BODY_BRACE, "write a } where it ends"),
        ("{keepdim}", "{keepdim", "11:44", "'}' is expected at the end", ""),
        ("{keepdim}", "keepdim}", "11:37", "'keepdim' cannot follow here", ""),
        ("%zero,\n", "%zero\n", "8:18", "a comma is missing at the end", ""),
        ("%zero) {", "%zero)", "9:19", "a body { ... } is expected", ""),
        ("0 to %m", "0 to %%m", "7:44", "begins with one %", "write %m"),
    ],
)
def test_a_brace_is_found_where_it_is(old, new, place, said, help) -> None:
    """And nothing is said of what it makes of the rest of the text."""
    assert NESTED.count(old) == 1
    code, out, err = call("-", "--pipeline=", stdin=NESTED.replace(old, new))
    (head, *_) = err.splitlines()
    assert (code, out, err.count("error[")) == (1, "", 1), err
    assert head.startswith(f"<stdin>:{place}: error[PTO10"), err
    assert said in head
    assert help in err


UNINDENTED = """\
func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32> {
func.return %x : tensor<4xf32>
}
func.func @f(%x: tensor<4x4xf32>, %s: tensor<4xf32>,
%n: index) -> (tensor<4xf32>, tensor<4xf32>) {
%z = pypto.for (%i = 0 to %n) iter(%a = %s) {
%w = pypto.for (%j = 0 to %n) iter(%b = %a) {
%c = pypto.exp %b
pypto.yield
%c
} // a yield ends it
// pypto.yield %w
pypto.yield %w
}
%o = pypto.empty[4] : tensor<4xf32>
%p = pypto.forall (%i = 0 to 1) outs(%u = %o) {
%v = pypto.view %x[0, :]
pypto.store %v into %u[0]
}
func.return
%z, %p
: tensor<4xf32>, tensor<4xf32>
}
"""


def test_the_text_without_indentation_is_right() -> None:
    assert call("-", "--pipeline=", "--entry=f", stdin=UNINDENTED)[0] == 0


@pytest.mark.parametrize(
    ("line", "place", "help"),
    [
        (3, "1:58", "write a } before line 3"),
        (11, "7:45", "write a } before line 12"),
        (14, "6:45", "write a } before line 14"),
        (19, "16:47", "write a } before line 19"),
        (23, "5:46", "write a } where it ends"),
    ],
)
@pytest.mark.parametrize("width", [0, 2])
def test_a_brace_is_missed_behind_what_ends_a_body(line, place, help, width) -> None:
    lines = [" " * width + each for each in UNINDENTED.splitlines()]
    del lines[line - 1]
    row, column = map(int, place.split(":"))
    place = f"{row}:{column + width}"
    code, out, err = call("-", "--pipeline=", stdin="\n".join(lines))
    assert (code, out, err.count("error[")) == (1, "", 1), err
    assert err.startswith(f"<stdin>:{place}: error[PTO100]: {BODY_BRACE}"), err
    assert help in err


BRANCHES = """\
func.func @f(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
%y = scf.if %c -> (tensor<4xf32>) {
scf.yield %x : tensor<4xf32>
}
else {
scf.yield %x : tensor<4xf32>
}
scf.if %c {
pypto.print "c" %x
}
else {
pypto.print "else" %x
}
func.return %y : tensor<4xf32>
}
"""


@pytest.mark.parametrize(("line", "place"), [(4, "2:35"), (10, "8:11")])
def test_a_brace_is_missed_before_else(line: int, place: str) -> None:
    assert call("-", "--pipeline=", stdin=BRANCHES)[0] == 0
    lines = BRANCHES.splitlines()
    del lines[line - 1]
    _, _, err = call("-", "--pipeline=", stdin="\n".join(lines))
    assert err.startswith(f"<stdin>:{place}: error[PTO100]: {BODY_BRACE}"), err
    assert f"help: write a }} before line {line}" in err
    assert err.count("error[") == 1


def test_other_errors_above_a_brace_stay() -> None:
    text = NESTED.replace("pypto.full", "pypto.ful").replace("  }\n", "")
    _, _, err = call("-", "--pipeline=", stdin=text)
    assert err.count("error[") == 2
    assert "there is no operation pypto.ful" in err
    assert f"9:21: error[PTO100]: {BODY_BRACE}" in err
