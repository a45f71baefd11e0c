"""
Every code has an explanation, whose wrong example provokes exactly that code and whose
right one nothing.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

import pyptoc
from pyptoc.explain import FAMILIES, Example, Explanation, explain, explanations, page

ROOT = Path(__file__).resolve().parents[2]
REPORTED = re.compile(r"(error|warning|remark)\[(PTO\d{3})\]")
USED = re.compile(r"PTO\d{3}")
WITHOUT_EXAMPLE = {"PTO109", "PTO508", "PTO509", "PTO513", "PTO900"}
CODES = explanations()


def used_codes() -> dict[str, str]:
    """The codes in the source, with a file that has each."""
    found: dict[str, str] = {}
    for folder in ("pyptoc", "passes", "dialects", "runtime"):
        # The links inside pyptoc/ lead to the other folders.
        for file in sorted((ROOT / folder).rglob("*.py")):
            for code in USED.findall(file.read_text()):
                found.setdefault(code, str(file.relative_to(ROOT)))
    return found


def reported(example: Example, folder: Path) -> tuple[int, list[tuple[str, str]], str]:
    """The exit code, and the severities and codes that an example gives."""
    for name, text in example.files.items():
        (folder / name).write_text(text)
    err = io.StringIO()
    out = contextlib.redirect_stdout(io.StringIO())
    with contextlib.chdir(folder), contextlib.redirect_stderr(err), out:
        code = _run(example, err)
    return code, REPORTED.findall(err.getvalue()), err.getvalue()


def _run(example: Example, err: io.StringIO) -> int:
    if not example.python:
        program, *words = shlex.split(example.command)
        assert program == "pyptoc"
        return pyptoc.main(words)
    try:
        exec(example.python, {})
    except pyptoc.CompileError as failure:
        err.write(str(failure))
        return 1
    return 0


def is_remark(found: Explanation) -> bool:
    return "--remarks" in getattr(found.wrong, "command", "")


def test_every_code_has_an_explanation() -> None:
    used = used_codes()
    missing = {code: file for code, file in used.items() if code not in CODES}
    assert not missing
    assert not CODES.keys() - used.keys(), "explained, but never reported"
    assert {code[3:5] for code in CODES} == FAMILIES.keys()


def test_every_kind_of_remark_has_a_code_of_its_own() -> None:
    without = [
        f"{file.name}:{call.lineno}"
        for file in sorted((ROOT / "passes").glob("*.py"))
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call)
        and re.search(r"(ctx|context)\.remark$", ast.unparse(call.func))
        and len(call.args) < 3
    ]
    assert without == []


def test_few_codes_have_no_example() -> None:
    without = {code for code, each in CODES.items() if each.wrong is None}
    assert without == WITHOUT_EXAMPLE
    assert all(CODES[code].why for code in without)
    assert all(each.right for each in CODES.values() if each.wrong)


@pytest.mark.parametrize("code", [c for c in CODES if c not in WITHOUT_EXAMPLE])
def test_examples(code, tmp_path) -> None:
    found = CODES[code]
    assert found.wrong is not None
    assert found.right is not None
    status, codes, text = reported(found.wrong, tmp_path)
    if is_remark(found):
        # Other remarks may stand beside it; nothing is wrong.
        assert status == 0, text
        assert ("remark", code) in codes, text
    else:
        assert {each for _, each in codes} == {code}, text
        failed = 2 if code == "PTO515" else 1  # a bug, if one of the user's
        assert status == failed * any(severity == "error" for severity, _ in codes)
    status, codes, text = reported(found.right, tmp_path)
    assert status == 0, text
    assert code not in {each for _, each in codes}, text
    assert {severity for severity, _ in codes} <= {"remark"}, text


def test_explain() -> None:
    text = explain("pto112")
    assert text == explain("112")
    assert text.startswith("PTO112: Element types differ\n")
    wrong, right = text.index("\nwrong:\n    func.func"), text.index("\nright:\n")
    assert wrong < text.index("pypto.add %x, %h") < right
    assert right < text.index("pypto.add %x, %w")


def test_list(capsys) -> None:
    assert pyptoc.main(["--explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:6] for line in lines] == list(CODES)
    assert all(len(line) <= 88 and line[6:8] == "  " for line in lines)


@pytest.mark.parametrize("code", ["PTO999", "PTO1", "x", "PTO1122"])
def test_no_such_code(code, capsys) -> None:
    assert pyptoc.main([f"--explain={code}"]) == 1
    err = capsys.readouterr().err
    assert f"there is no error code '{code}'" in err
    assert "--explain lists them" in err


def test_the_page_is_up_to_date(capsys) -> None:
    assert pyptoc.main(["--docs-errors"]) == 0
    text = capsys.readouterr().out
    assert text == page()
    stale = "run: pyptoc --docs-errors > docs/errors.md"
    assert (ROOT / "docs" / "errors.md").read_text() == text, stale
