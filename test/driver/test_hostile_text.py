"""Huge sizes, deep nesting, enormous constants: an error or a program, in 1 GB."""

from __future__ import annotations

import resource
from functools import cache

import pytest
from inprocess import call
from many import for_each
from processes import clean, run_all

HUGE = 2**40
MEMORY = {resource.RLIMIT_AS: 2**30}
"""Of the process, with all libraries."""


def softmax(rows: int | str, columns: int | str, attributes: str = "") -> str:
    kind = f"tensor<{rows}x{columns}xf32>"
    return (
        f"func.func @f(%x: {kind}{attributes}) -> {kind} {{\n"
        f"  %y = pypto.softmax %x axis -1\n  func.return %y : {kind}\n}}\n"
    )


def matmul(m: int, k: int, n: int) -> str:
    return (
        f"func.func @f(%a: tensor<{m}x{k}xf16>, %b: tensor<{k}x{n}xf16>)\n"
        f"    -> tensor<{m}x{n}xf32> {{\n  %y = pypto.matmul %a, %b to f32\n"
        f"  func.return %y : tensor<{m}x{n}xf32>\n}}\n"
    )


def nested(opening: str, closing: str = "", depth: int = 1000) -> str:
    body = opening * depth + closing * depth
    return f"func.func @f(%c: i1) {{\n{body}  func.return\n}}\n"


def with_attribute(value: str) -> str:
    return f"func.func @f() attributes {{a = {value}}} {{\n  func.return\n}}\n"


def constant(value: str) -> str:
    return (
        f"func.func @f() {{\n  %c = arith.constant {value} : index\n  func.return\n}}\n"
    )


NAMED = softmax("?", 64, ' {pypto.dims = ["M"]}')
RUN = ("--run", "--random-inputs=1")
REFUSED = {
    "2^40 rows, simulated": (softmax(HUGE, 64), ("--simulate",), "PTO507"),
    "K of 2^40, simulated": (matmul(128, HUGE, 128), ("--simulate",), "PTO507"),
    "all of 2^40, checked": (matmul(HUGE, HUGE, HUGE), ("--check",), "PTO507"),
    "K of 2^40, checked": (matmul(128, HUGE, 128), ("--check=trips",), "PTO507"),
    "many pieces, checked": (matmul(128, 2**28, 128), ("--check",), "PTO507"),
    "many tasks, checked": (softmax(2**25, 64), ("--check",), "PTO507"),
    "2^40 rows, run": (softmax(HUGE, 64), RUN, "PTO503"),
    "2^40 bound": (NAMED, (*RUN, f"--bind=M={HUGE}"), "PTO503"),
    "30 digits bound": (NAMED, (*RUN, f"--bind=M=1{'0' * 30}"), "PTO501"),
    "a size of 1,000 digits": (softmax("1" * 1000, 4), (), "PTO102"),
    "an integer of 5,000 digits": (constant("1" * 5000), (), "PTO102"),
    "50,000 hexadecimal digits": (constant("0x" + "1" * 50_000), (), "PTO102"),
    "1,000 bodies": (nested("scf.if %c {\n", "}\n"), (), "PTO108"),
    "1,000 bodies left open": (nested("scf.if %c {\n"), (), "PTO108"),
    "1,000 brackets": (with_attribute("[" * 1000 + "]" * 1000), (), "PTO108"),
    "1,000 types": (nested("", depth=0).replace("i1", "tuple<" * 1000), (), "PTO108"),
}
COMPILED = {
    "2^40 x 2^40": (softmax(HUGE, HUGE), ()),
    "2^63 - 1 rows": (softmax(2**63 - 1, 2**63 - 1), ()),
    "a product of 2^40": (matmul(HUGE, HUGE, HUGE), ()),
    "a string of 1 MB": (with_attribute(f'"{"x" * 1_000_000}"'), ("-o", "/dev/null")),
    "a list of 20,000": (with_attribute(f"[{'1, ' * 20_000}1]"), ("-o", "/dev/null")),
    "a float of 5,000 digits": (softmax(4, 4).replace("softmax %x axis -1",
                                f"add %x, {'1' * 5000}.0"), ()),
}  # fmt: skip


@cache
def outcomes() -> dict[str, tuple[int, str, str]]:
    """What becomes of each text, in a process that has little memory for all."""
    cases = {kind: (text, argv) for kind, (text, argv, _) in REFUSED.items()} | COMPILED
    commands = [(("-", *argv), text) for text, argv in cases.values()]
    return dict(zip(cases, run_all(commands, MEMORY), strict=True))


@for_each(REFUSED)
def test_refused(kind: str) -> None:
    code, out, err = outcomes()[kind]
    assert (code, out) == (1, "")
    assert clean(code, err)
    assert f"error[{REFUSED[kind][2]}]" in err


@for_each(COMPILED)
def test_compiled(kind: str) -> None:
    code, _, err = outcomes()[kind]
    assert (code, err) == (0, "")


def test_too_little_memory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[MemoryError] = []

    def parse(*_: object) -> None:
        held.append(MemoryError())
        raise held[0]

    monkeypatch.setattr("pyptoc.dialects.parsing.parse_module", parse)
    code, out, err = call("-", "--pipeline=", stdin=softmax(4, 4))
    assert (code, out) == (1, "")
    assert err.startswith("error[PTO513]: there is not enough memory\n")
    # What the frames held is free again.
    assert held[0].__traceback__ is None
