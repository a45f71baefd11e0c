"""
What is wrong with grouped_matmul_swiglu_quant or its inputs is one precise error.

Each has its code, its place in the source where there is one, the rule with the numbers
or the help that gets on; never a traceback, and the next call is as good as the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from inprocess import call

from pyptoc.operators.grouped_matmul_swiglu_quant import Case, expected, inputs, source

CASE = Case("errors", (7, 9), n=1024)
TENSOR = "--compile-to=tensor"
FORMS = pytest.mark.parametrize("loop", [False, True], ids=["composite", "loop"])
LEVELS = pytest.mark.parametrize("level", [(), (TENSOR,)], ids=["compiled", "tensor"])


@dataclass(frozen=True)
class Wrong:
    """What to do to the program, and what its error says."""

    name: str
    place: str
    """The text that the caret stands under, in the composite and in the loop form."""
    loop_place: str
    expected: tuple[str, ...]
    old: str = ""
    new: str = ""
    argv: tuple[str, ...] = ()
    loop_expected: tuple[str, ...] = ()
    lowering: bool = False
    """The tensor level has no objection."""

    def __str__(self) -> str:
        return self.name

    def text(self, loop: bool) -> str:
        text = source(CASE, loop)
        assert self.old in text
        return text.replace(self.old, self.new) if self.old else text


def groups(sizes: str) -> tuple[str, ...]:
    """The command line of a run with made-up data and these groups."""
    return ("--run", "--random-inputs=1", f"--bind=M=16,group_list=[{sizes}]")


WRONG = (
    Wrong(
        "groups too small",
        "pypto.grouped_matmul",
        "pypto.assert %all == %m",
        ("error[PTO402] at run time: the groups sum to 15, %a has 16 rows",),
        argv=groups("7,8"),
        loop_expected=(
            "error[PTO401] at run time: group_list sums to 15, but %a has 16 rows",
        ),
    ),
    Wrong(
        "groups too large",
        "pypto.grouped_matmul",
        "pypto.assert %all == %m",
        (
            "error[PTO402] at run time: expert 1 of 2: view of %a rows 7 +: 10 ends "
            "at 17, %a has 16 rows",
        ),
        argv=groups("7,10"),
        loop_expected=("group_list sums to 17, but %a has 16 rows",),
    ),
    Wrong(
        "negative group",
        "pypto.grouped_matmul",
        "pypto.view %a[%begin +: %rows, :]",
        ("error[PTO402] at run time: expert 0: negative group -1",),
        argv=groups("-1,17"),
        loop_expected=("at run time: view of %a rows 0 +: -1 has ", "(%e = 0)"),
    ),
    Wrong(
        "odd N",
        '%y {tag = "swiglu"}',
        "512 +: 512]",
        (
            "error[PTO137]: swiglu halves the last axis of %y, 1023 is odd",
            "%y is tensor<?x1023xf32>",
            "help: give both: pypto.swiglu %value, %gate",
        ),
        "x1024x",
        "x1023x",
        loop_expected=(
            "error[PTO132]: 512 +: 512 ends at 1024, ",
            "dimension 1 of %y has 1023 elements",
            "rule: offset + size <= size of the dimension",
        ),
    ),
    Wrong(
        "scale of the wrong shape",
        "%scaled_a, %scaled_b {tile",
        "%sx, %sw {tile",
        (
            "error[PTO122]: %scaled_a is [?, 7, 2], grouped_matmul needs [?, 8, 2]",
            "rule: [M, ceil(K/64), 2]",
            "here: M = ?, K = 512, ceil(512/64) = 8: [?, 8, 2]",
        ),
        "tensor<?x8x2x",
        "tensor<?x7x2x",
        loop_expected=(
            "error[PTO122]: %sx is [?, 7, 2], scaled_mm needs [?, 8, 2]",
            "rule: [M, ceil(K/64), 2]",
        ),
    ),
    Wrong(
        "tile over L0C",
        "pypto.grouped_matmul",
        "pypto.scaled_mm",
        (
            "error[PTO210]: cube tile does not fit L0C of ascend950",
            "rule: mL0 * nL0 * 4 B, padded to whole fractals, <= 262144 B (L0C)",
            "here: 256 * 512 * 4 = 524288 B",
            "help: this fits: m = [256, 256], k = [128, 256], n = [256, 256]",
        ),
        "m = [16, 16], k = [256, 256], n = [256, 256]",
        "m = [256, 256], k = [128, 256], n = [512, 512]",
        lowering=True,
    ),
    Wrong(
        "f8 on ascend910b",
        "pypto.grouped_matmul",
        "pypto.scaled_mm",
        (
            "error[PTO220]: ascend910b has no f8E4M3FN product",
            "here: the cube unit of ascend910b multiplies bf16, f16, f32, i8",
            "help: machines that have it: ascend950",
        ),
        argv=("--machine=ascend910b",),
        lowering=True,
    ),
)


RIGHT = """\
func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x32xf16>) -> tensor<16x32xf32> {
  %y = pypto.matmul %a, %b to f32
  %z = pypto.exp %y
  func.return %z : tensor<16x32xf32>
}
"""


def fails(argv: list[str], text: str) -> str:
    """The error of a command line; the same process then does the right one right."""
    code, out, err = call("-", *argv, stdin=text)
    assert code == 1
    assert "Traceback" not in err
    assert "internal error" not in err
    assert "PASS" not in out
    assert "npu.kernel" not in out
    level = [TENSOR] if TENSOR in argv else []
    code, out, after = call("-", "--run", "--random-inputs=1", *level, stdin=RIGHT)
    assert code == 0, after
    return err


def place_of(text: str, part: str) -> str:
    """`<stdin>:line:column` of the only place where `part` stands."""
    assert text.count(part) == 1
    before = text[: text.index(part)]
    line = before.count("\n") + 1
    return f"<stdin>:{line}:{len(before) - before.rfind(chr(10))}: error["


@FORMS
@LEVELS
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_program(wrong: Wrong, loop: bool, level: tuple[str, ...]) -> None:
    text = wrong.text(loop)
    if wrong.lowering and level:
        assert call("-", *wrong.argv, *level, stdin=text)[0] == 0
        return
    err = fails([*wrong.argv, *level], text)
    place = wrong.loop_place if loop else wrong.place
    assert place_of(text, place) in err
    found = (loop and wrong.loop_expected) or wrong.expected
    for part in found:
        assert part in err
    caret = err.split(place_of(text, place))[1].splitlines()[2]
    assert caret.strip(" |").startswith("^")


@FORMS
@LEVELS
@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (
            {"scaled_a": None, "group_list": None},
            (
                "missing: 'scaled_a', 'group_list'",
                "%scaled_a is tensor<?x8x2xf8E8M0FNU>",
                "help: give them with --inputs F.npz or --bind",
            ),
        ),
        (
            {"a": np.zeros((16, 512), np.float32)},
            ("'a' has shape (16, 512) float32; %a is tensor<?x512xf8E4M3FN>", "help: "),
        ),
        (
            {"scaled_a": np.zeros((16, 16), np.uint8)},
            (
                "'scaled_a' has shape (16, 16) uint8; "
                "%scaled_a is tensor<?x8x2xf8E8M0FNU>",
            ),
        ),
        (
            {"group_list": np.array([7, 9], np.float32)},
            ("'group_list' has shape (2,) float32; %group_list is tensor<2xi64>",),
        ),
        (
            {"scaled_a": np.zeros((15, 8, 2), np.uint8)},
            ("M", "15", "16"),
        ),
    ],
    ids=["missing", "type of a", "shape of a scale", "type of the groups", "rows"],
)
def test_inputs(
    change: dict[str, np.ndarray | None],
    parts: tuple[str, ...],
    loop: bool,
    level: tuple[str, ...],
    tmp_path: Path,
) -> None:
    given = {**inputs(CASE), **change}
    arrays = {name: array for name, array in given.items() if array is not None}
    np.savez(tmp_path / "in.npz", **arrays)
    text = source(CASE, loop)
    err = fails(["--run", "--inputs", f"{tmp_path}/in.npz", *level], text)
    assert err.startswith("error[PTO50")
    assert "in.npz: " in err.splitlines()[0]
    for part in parts:
        assert part in err


@FORMS
def test_unknown_pass(loop: bool) -> None:
    err = fails(["--pipeline=inline,desugar,decompos"], source(CASE, loop))
    assert err.startswith("error[PTO504]: unknown pass 'decompos'\n")
    assert "help: did you mean decompose?" in err


def test_a_wrong_result_is_a_failure_too(tmp_path: Path) -> None:
    golden = expected(CASE)
    golden["out"] = np.where(golden["out"] == 0, 9, 0).astype(np.int8)
    np.savez(tmp_path / "in.npz", **inputs(CASE))
    np.savez(tmp_path / "golden.npz", **golden)
    files = ["--inputs", f"{tmp_path}/in.npz", "--expect", f"{tmp_path}/golden.npz"]
    code, out, err = call("-", "--run", *files, stdin=source(CASE))
    assert code == 1
    assert out.splitlines()[-1] == "FAIL"
    assert "Traceback" not in err
