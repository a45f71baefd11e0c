"""Our dialects and passes in xDSL's own `xdsl-opt`, a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from inprocess import ROOT, call
from processes import SECONDS

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


def process(
    environment: dict[str, str], *argv: str, text: str = PROGRAM
) -> tuple[int, str, str]:
    """xdsl-opt as one starts it."""
    done = subprocess.run(
        [str(XDSL_OPT), *argv],
        input=text,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    return done.returncode, done.stdout.rstrip() + "\n", done.stderr


SERVER = """
import json, sys, traceback
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from xdsl.tools.xdsl_opt import main

for line in sys.stdin:
    argv, text = json.loads(line)
    sys.argv[:], code, out, err = ["xdsl-opt", *argv], 0, StringIO(), StringIO()
    before, sys.stdin = sys.stdin, TextIOWrapper(BytesIO(text.encode()))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            traceback.print_exc()
            code = 1
    sys.stdin = before
    found = code, out.getvalue().rstrip() + "\\n", err.getvalue()
    print(json.dumps(found), flush=True)
"""
"""The command line of xdsl-opt again and again: a process takes long to start."""


@pytest.fixture(scope="module")
def server(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, env=environment
    ) as running:
        yield running
        assert running.stdin is not None
        running.stdin.close()
        assert running.wait(60) == 0


def xdsl_opt(
    server: subprocess.Popen[str], *argv: str, text: str = PROGRAM
) -> tuple[int, str, str]:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps([argv, text]) + "\n")
    server.stdin.flush()
    code, out, err = json.loads(server.stdout.readline())
    return code, out, err


@pytest.mark.parametrize("pipeline", ["inline,decompose", default_pipeline()])
def test_the_same_as_pyptoc(
    environment: dict[str, str], server: subprocess.Popen[str], pipeline: str
) -> None:
    code, out, err = process(environment, "-p", pipeline)
    assert (code, err) == (0, "")
    expected = call("-", f"--pipeline={pipeline}", stdin=PROGRAM)[1]
    assert out == expected
    if "schedule" in pipeline:
        # What was printed there is read again here, and there.
        code, again, err = xdsl_opt(server, text=out)
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


def test_the_frontend(server: subprocess.Popen[str]) -> None:
    argv = ("-f", "pypto", "-p", default_pipeline())
    code, out, err = xdsl_opt(server, *argv, text=CALLER)
    assert (code, err) == (0, "")
    assert out == call("-", stdin=CALLER)[1]
    wrong = CALLER.replace("%y :", "%z :")
    code, _, err = xdsl_opt(server, *argv, text=wrong)
    assert code != 0
    assert err.count("error[PTO103]: %z is not defined here") == 2
    assert "stdin:3:15: error" in err


def test_a_lost_name_is_no_other_program(server: subprocess.Popen[str]) -> None:
    """Without the frontend @f is read before the parser knows of names."""
    code, out, err = xdsl_opt(server, "-p", "inline", text=CALLER)
    assert (code != 0, out) == (True, "\n")
    assert "@f updates %x in place, but the names of its arguments are lost" in err
    assert "xdsl-opt -f pypto" in err
    # Behind one of our operations, and where no result is an argument, they are kept.
    swapped = "".join(reversed(re.findall(r"func\.func.*?^}\n", CALLER, re.M | re.S)))
    named = CALLER.replace('pypto.name = "x"', 'pypto.name = "y"')
    for text in (swapped, named):
        code, _, err = xdsl_opt(server, "-p", "inline", text=text)
        assert (code, err) == (0, "")


def test_a_machine_and_options(server: subprocess.Popen[str]) -> None:
    passes = [
        f'{name}{{machine="ascend910b"}}'
        for name in DEFAULT_PIPELINE
        if name != "split-k"
    ]
    passes.insert(11, 'split-k{machine="ascend910b" factor=2}')
    code, out, err = xdsl_opt(server, "-p", ",".join(passes))
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
    server: subprocess.Popen[str], old: str, new: str, pipeline: str, expected: str
) -> None:
    text = PROGRAM.replace(old, new)
    if pipeline.startswith("tile"):
        text = text.replace(
            "matmul %a, %b", 'matmul %a, %b {npu.group = 0, npu.unit = "cube"}'
        )
    code, _, err = xdsl_opt(server, "-p", pipeline, text=text)
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
