"""Our dialects and passes in xDSL's own `xdsl-opt`, a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from inprocess import ROOT, call

from pyptoc.passes import DEFAULT_PIPELINE, PASSES
from pyptoc.pipeline_text import default_pipeline
from pyptoc.universe import UNIVERSE

XDSL_OPT = Path(sys.executable).with_name("xdsl-opt")
PROGRAM = """\
func.func @f(%a: tensor<64x8192xf16>, %b: tensor<8192x64xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %b
  %s = pypto.softmax %y axis -1
  func.return %s : tensor<64x64xf32>
}
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where pyptoc is installed, as far as its entry points go."""
    path = [str(ROOT)]
    if not any(each.name == "pyptoc" for each in entry_points(group="xdsl.universe")):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        plugin = project["entry-points"]["xdsl.universe"]["pyptoc"]
        folder = tmp_path_factory.mktemp("site")
        metadata = folder / "pyptoc-0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Name: pyptoc\nVersion: 0\n")
        (metadata / "entry_points.txt").write_text(
            f"[xdsl.universe]\npyptoc={plugin}\n"
        )
        path.append(str(folder))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def xdsl_opt(
    environment: dict[str, str], *argv: str, text: str = PROGRAM
) -> tuple[int, str, str]:
    done = subprocess.run(
        [str(XDSL_OPT), *argv],
        input=text,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout.rstrip() + "\n", done.stderr


@pytest.mark.parametrize("pipeline", ["inline,decompose", default_pipeline()])
def test_the_same_as_pyptoc(environment: dict[str, str], pipeline: str) -> None:
    code, out, err = xdsl_opt(environment, "-p", pipeline)
    assert (code, err) == (0, "")
    expected = call("-", f"--pipeline={pipeline}", stdin=PROGRAM)[1]
    assert out == expected
    if "schedule" in pipeline:
        # What was printed there is read again here, and there.
        code, again, err = xdsl_opt(environment, text=out)
        assert (code, err) == (0, "")
        assert again == out == call("-", "--pipeline=", stdin=out)[1]


CALLER = """\
func.func @f(%x: tensor<4x64xf32>) -> (tensor<4x64xf32> {pypto.name = "x"}) {
  %y = func.call @g(%x) : (tensor<4x64xf32>) -> tensor<4x64xf32>
  func.return %y : tensor<4x64xf32>
}
func.func private @g(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %y = pypto.exp %x
  func.return %y : tensor<4x64xf32>
}
"""


def test_the_frontend(environment: dict[str, str]) -> None:
    argv = ("-f", "pypto", "-p", default_pipeline())
    code, out, err = xdsl_opt(environment, *argv, text=CALLER)
    assert (code, err) == (0, "")
    assert out == call("-", stdin=CALLER)[1]
    wrong = CALLER.replace("%y :", "%z :")
    code, _, err = xdsl_opt(environment, *argv, text=wrong)
    assert code != 0
    assert err.count("error[PTO103]: %z is not defined here") == 2
    assert "stdin:3:15: error" in err


def test_a_lost_name_is_no_other_program(environment: dict[str, str]) -> None:
    """Without the frontend @f is read before the parser knows of names."""
    code, out, err = xdsl_opt(environment, "-p", "inline", text=CALLER)
    assert (code != 0, out) == (True, "\n")
    assert "@f updates %x in place, but the names of its arguments are lost" in err
    assert "xdsl-opt -f pypto" in err
    # Behind one of our operations, and where no result is an argument, they are kept.
    swapped = "".join(reversed(re.findall(r"func\.func.*?^}\n", CALLER, re.M | re.S)))
    named = CALLER.replace('pypto.name = "x"', 'pypto.name = "y"')
    for text in (swapped, named):
        code, _, err = xdsl_opt(environment, "-p", "inline", text=text)
        assert (code, err) == (0, "")


def test_a_machine_and_options(environment: dict[str, str]) -> None:
    passes = [
        f'{name}{{machine="ascend910b"}}'
        for name in DEFAULT_PIPELINE
        if name != "split-k"
    ]
    passes.insert(11, 'split-k{machine="ascend910b" factor=2}')
    code, out, err = xdsl_opt(environment, "-p", ",".join(passes))
    assert (code, err) == (0, "")
    pipeline = default_pipeline().replace("split-k", "split-k{factor=2}")
    argv = ("-", f"--pipeline={pipeline}", "--machine=ascend910b")
    assert out == call(*argv, stdin=PROGRAM)[1]
    assert out != call(argv[0], argv[1], stdin=PROGRAM)[1]


@pytest.mark.parametrize(
    ("old", "new", "pipeline", "expected"),
    [
        ("axis -1", "axis 7", "inline", r"ParseError: stdin:.*\n.*\n.*\n.*axis"),
        ("softmax %y", "softmax %w", "inline", r"\[PTO103\] %w is not defined here"),
        ("", "", "tile", r"PassFailedException: .*error\[PTO504\].*no tile yet"),
        ("", "", 'tile{machine="nope"}', r"unknown machine 'nope'"),
    ],
)
def test_errors(
    environment: dict[str, str], old: str, new: str, pipeline: str, expected: str
) -> None:
    text = PROGRAM.replace(old, new)
    if pipeline.startswith("tile"):
        text = text.replace(
            "matmul %a, %b", 'matmul %a, %b {npu.group = 0, npu.unit = "cube"}'
        )
    code, _, err = xdsl_opt(environment, "-p", pipeline, text=text)
    assert code != 0
    assert re.search(expected, err, re.DOTALL), err


def test_all_are_there() -> None:
    assert set(UNIVERSE.all_passes) == set(PASSES)
    assert set(UNIVERSE.all_dialects) == {"pypto", "npu", "tile"}
    for name, make in UNIVERSE.all_passes.items():
        assert make().name == name
    for name, make in UNIVERSE.all_dialects.items():
        assert make().name == name


def test_no_name_is_taken_by_xdsl() -> None:
    """One that both have would make every xdsl-opt fail."""
    from xdsl.universe import XDSL_UNIVERSE

    assert not set(PASSES) & set(XDSL_UNIVERSE.all_passes)
    assert not set(UNIVERSE.all_dialects) & set(XDSL_UNIVERSE.all_dialects)
