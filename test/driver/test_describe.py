"""--describe: what a function takes and gives, and a command that runs it."""

from __future__ import annotations

import shlex
from pathlib import Path

from driver.test_run import SCALE, UPDATE
from inprocess import call


def test_tables() -> None:
    code, out, _ = call("-", "--describe", stdin=SCALE)
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["@scale"]
    assert ["x", "tensor<?x4xf32>", "n", "uniform", "-1", "to", "1"] in lines
    assert ["k", "i32", "-", "default", "3"] in lines
    assert ["q", "tensor<?x4xi32>", "exact"] in lines
    assert "updates %x" in call("-", "--describe", stdin=UPDATE)[1]


def test_the_command_can_be_pasted(tmp_path: Path) -> None:
    file = tmp_path / "two functions.mlir"
    file.write_text(SCALE.replace("@scale", "@f") + UPDATE.replace("@update", "@g"))
    kept = ("--machine=ascend910b", "--entry=@g")
    last = call(str(file), "--describe", *kept)[1].splitlines()[-1]
    program, *words = shlex.split(last.removeprefix("try: "))
    assert (program, words[:3]) == ("pyptoc", [str(file), *kept])
    assert call(*words)[0] == 0
    words = ("@softmax", "--describe")
    assert "try: pyptoc @softmax --run --" in call(*words)[1]


def test_its_suggestion_works() -> None:
    rules = (
        'func.func @f(%t: tensor<?x?xi32> {pypto.dims = ["b", "p"], '
        'pypto.data = #pypto.data<distinct 0 to "c">}, '
        '%c: tensor<?xf32> {pypto.dims = ["c"]}) -> tensor<?xf32> {\n'
        "  func.return %c : tensor<?xf32>\n}\n"
    )
    for text in (SCALE, rules):
        out = call("-", "--describe", stdin=text)[1]
        command = shlex.split(out.splitlines()[-1].removeprefix("try: pyptoc "))
        code, _, err = call(*command, "--pipeline=", stdin=text)
        assert code == 0, err
