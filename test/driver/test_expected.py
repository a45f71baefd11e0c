"""`--verify-diagnostics`: the comments that are read, and what is held against them."""

from __future__ import annotations

import re

import pytest
from inprocess import call

from pyptoc.expected import read_expectations
from pyptoc.usage import UsageError

BAD = "  %z = pypto.add %x, %y"


def function(*lines: str) -> str:
    """A function of these lines; `BAD` has operands of two types."""
    head = "func.func @f(%x: tensor<4xf32>, %y: tensor<4xbf16>) {"
    return "\n".join([head, *lines, "  func.return", "}", ""])


def held(*lines: str, mode: str = "all") -> tuple[int, str]:
    code, _, err = call(
        "-", "--pipeline=", f"--verify-diagnostics={mode}", stdin=function(*lines)
    )
    return code, err


class TestReading:
    def read(self, text: str) -> list[tuple[str, int, str]]:
        found = read_expectations("op.mlir", text)
        return [(each.severity, each.line, each.text) for each in found]

    def test_offsets(self) -> None:
        text = (
            "a // expected-error {{one}}\n"
            "// expected-warning@+2 {{two}}\n"
            "// expected-remark@-1{{three}}\n"
            "// expected-note @unknown {{four}}\n"
        )
        assert self.read(text) == [
            ("error", 1, "one"),
            ("warning", 4, "two"),
            ("remark", 2, "three"),
            ("note", 0, "four"),
        ]

    def test_above_and_below_skip_lines_of_expectations(self) -> None:
        text = (
            "code\n"
            "// expected-error@above {{a}}\n"
            "// expected-error@above {{b}}\n"
            "// expected-error@below {{c}}\n"
            "// expected-error@below {{d}}\n"
            "code\n"
        )
        assert [line for _, line, _ in self.read(text)] == [1, 1, 6, 6]

    def test_several_on_a_line(self) -> None:
        text = "// expected-error {{a}} expected-note@+1 {{b}} expected-error{{c}}"
        assert self.read(text) == [
            ("error", 1, "a"),
            ("note", 2, "b"),
            ("error", 1, "c"),
        ]

    def test_braces_in_a_regular_expression(self) -> None:
        text = "// expected-error-re {{a{{[0-9]+}} b}} expected-error {{c}}"
        first, second = read_expectations("op.mlir", text)
        assert second.text == "c"
        assert first.pattern.search("a12 b")
        assert not first.pattern.search("ax b")

    def test_the_rest_of_a_regular_expression_is_text(self) -> None:
        (found,) = read_expectations("f", "// expected-error-re {{f(x).{{.}} [}}")
        assert found.pattern.search("f(x).y [")
        assert not found.pattern.search("fx.y [")

    def test_text_in_code_is_no_comment(self) -> None:
        assert self.read('a "expected-error"\n') == []

    @pytest.mark.parametrize(
        "comment",
        [
            "expected-error 2 {{a}}",
            "expected-error {a}",
            "expected-error@next {{a}}",
            "expected-errors {{a}}",
            "expected-error {{a}",
            "expected-error-re {{a {{b}}",
            "expected-error-re {{{{(}}}}",
            "expected-error",
        ],
    )
    def test_broken_ones_are_errors(self, comment: str) -> None:
        with pytest.raises(UsageError, match=r"op\.mlir:2:4: "):
            read_expectations("op.mlir", f"code\n// {comment}\n")
        code, err = held(f"// {comment}")
        assert code == 1
        assert "error[PTO500]: <stdin>:2:4: " in err

    @pytest.mark.parametrize(
        ("word", "near"),
        [
            ("expected-eror", "expected-error"),
            ("expcted-error@+1", "expected-error"),
            ("expect-warning @below", "expected-warning"),
            ("Expected-Note", "expected-note"),
            ("expected_remark@unknown", "expected-remark"),
            ("expected-err-re", "expected-error-re"),
        ],
    )
    def test_misspelt_ones_are_errors(self, word: str, near: str) -> None:
        with pytest.raises(UsageError) as failure:
            read_expectations("f", f"a\n b // {word} {{{{text}}}}")
        name = re.split(r"[ @]", word)[0]
        assert failure.value.message == f"f:2:7: '{name}' expects nothing"
        assert failure.value.help == f"did you mean {near}?"

    @pytest.mark.parametrize("word", ["expected-fatal", "expected-diagnostic@+1"])
    def test_one_of_another_severity_is_an_error(self, word: str) -> None:
        with pytest.raises(UsageError, match="f:1:4: this expectation cannot be read"):
            read_expectations("f", f"// {word} {{{{text}}}}")

    @pytest.mark.parametrize(
        "line",
        [
            "// CHECK: error {{[0-9]+}} expected {{.*}}",
            "// an error is expected: {{here}}",
            "x // expected-error {{the expected-eror {{ of a text}}",
            "expected-eror {{no comment}}",
        ],
    )
    def test_other_words_before_braces(self, line: str) -> None:
        found = read_expectations("f", line)
        assert [each.severity for each in found] == ["error"] * line.startswith("x")


class TestHolding:
    @pytest.mark.parametrize(
        "comment",
        [
            "expected-error {{operand types differ}}",
            "expected-error {{PTO112}}",
            "expected-error-re {{types differ: f{{[0-9]+}} and bf16}}",
            "expected-error {{f32}} expected-note {{pypto.cast}}",
        ],
    )
    def test_what_is_there(self, comment: str) -> None:
        assert held(f"{BAD} // {comment}") == (0, "")

    @pytest.mark.parametrize(
        ("comment", "expected"),
        [
            ("", "not expected:\n<stdin>:2:18: error[PTO112]"),
            ("expected-error {{another}}", '"another" was not reported'),
            ("expected-warning {{operand types}}", "not expected:\n"),
            ("expected-error@+1 {{operand types}}", "<stdin>:2: expected error"),
            ("expected-error@unknown {{operand types}}", "was not reported"),
            ("expected-error-re {{differ: f{{[a-z]+}} and}}", "was not reported"),
            ("expected-error {{differ: f{{[0-9]+}} and}}", "was not reported"),
            ("expected-error {{f32}} expected-note {{zebra}}", '"zebra" was not'),
            ("expected-error {{f32}} expected-remark {{f32}}", "remark"),
        ],
    )
    def test_what_is_not(self, comment: str, expected: str) -> None:
        code, err = held(f"{BAD} // {comment}" if comment else BAD)
        assert code == 1
        assert expected in err

    def test_only_expected(self) -> None:
        assert held(BAD, mode="only-expected") == (0, "")
        line = f"{BAD} // expected-error {{{{another}}}}"
        assert held(line, mode="only-expected")[0] == 1

    def test_remarks_may_be_expected(self) -> None:
        text = (
            "func.func @f(%a: tensor<64x512xf16>, %b: tensor<512x64xf16>)\n"
            "    -> tensor<64x64xf32> {\n"
            "  // expected-remark@below {{modelled}}\n"
            "  %y = pypto.matmul %a, %b\n"
            "  func.return %y : tensor<64x64xf32>\n}\n"
        )
        code, _, err = call("-", "--verify-diagnostics", stdin=text)
        assert (code, err) == (0, "")
        wrong = text.replace("modelled", "zebra")
        assert call("-", "--verify-diagnostics", stdin=wrong)[0] == 1

    def test_no_place(self) -> None:
        text = "// expected-error@unknown {{infer-tiles}}\n" + function()
        code, _, err = call(
            "-", "--verify-diagnostics", "--compile-to=tensor", stdin=text
        )
        assert code == 1
        assert 'expected error "infer-tiles" was not reported' in err


class TestFiles:
    """What is no function, and files of several modules."""

    def check(self, text: str, *argv: str) -> tuple[int, str]:
        code, _, err = call(
            "-", "--pipeline=", "--verify-diagnostics", *argv, stdin=text
        )
        return code, err

    @pytest.mark.parametrize(
        "text",
        [
            "nonsense // expected-error {{PTO}}",
            "// expected-error@+1 {{PTO}}\nnonsense",
            "// expected-error@below {{PTO}}\nnonsense",
            "nonsense\n// expected-error@above {{PTO}}",
            "nonsense\n\n// expected-error@-2 {{PTO}}",
            function(),
        ],
    )
    def test_expected(self, text: str) -> None:
        assert self.check(text) == (0, "")

    def test_not_reported(self) -> None:
        code, err = self.check(function() + "// expected-error {{something}}\n")
        assert code == 1
        assert '<stdin>:4: expected error "something" was not reported' in err

    def test_split(self) -> None:
        text = "nonsense // expected-error {{PTO}}\n// -----\n" * 2
        assert self.check(text, "--split-input-file") == (0, "")
