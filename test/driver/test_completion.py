"""`--completion`: the scripts, in the shells that this computer has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from inprocess import call
from processes import SECONDS

from pyptoc.completion import entries
from pyptoc.options import build_parser
from pyptoc.passes import PASSES

BASH = r"""
source "$1"
COMP_WORDBREAKS=$' \t\n"\'@><=;|&(:'
COMP_LINE=$2 COMP_POINT=${#2}
_pyptoc
printf '%s\n' "${COMPREPLY[@]}"
"""
CASES = [
    ("pyptoc --mach", {"--machine="}),
    ("pyptoc --machine=asc", {"ascend910b", "ascend950"}),
    ("pyptoc --machine asc", {"ascend910b", "ascend950"}),
    ("pyptoc @layer", {"@layer_norm"}),
    ("pyptoc --pipeline=inline,des", {"inline,desugar"}),
    ("pyptoc op.mlir --print-ir-after split-m", {"split-mixed"}),
    ("pyptoc --collap", {"--collapse-rows"}),
    ("pyptoc --color=a", {"auto", "always"}),
    ("pyptoc --explain=PTO90", {"PTO900"}),
    ("pyptoc --verify-diagnostics=o", {"only-expected"}),
]


def script(shell: str, folder: Path) -> Path:
    """The script of a shell in a file, which the shell can read."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    code, out, err = call(f"--completion={shell}")
    assert (code, err) == (0, "")
    file = folder / f"pyptoc.{shell}"
    file.write_text(out)
    subprocess.run([program, "-n", str(file)], check=True, timeout=SECONDS)
    return file


def test_every_option_is_there() -> None:
    names = [each.name for each in entries()]
    options = build_parser()._option_string_actions
    assert names == [*options, *(f"--{name}" for name in PASSES)]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_is_in_the_script(shell: str) -> None:
    text = call(f"--completion={shell}")[1]
    for each in entries():
        shown = f"-l {each.name[2:]} " if shell == "fish" else each.name
        if each.name.startswith("--"):
            assert shown in text
    assert "@flash_attention" in text


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_shells_read_it(shell: str, tmp_path: Path) -> None:
    script(shell, tmp_path)


def bash(line: str, folder: Path) -> set[str]:
    """What bash offers at the end of a line, in a folder."""
    command = ["bash", "--norc", "-c", BASH, "bash", str(script("bash", folder)), line]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True, timeout=SECONDS
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize(("line", "expected"), CASES)
def test_bash(line: str, expected: set[str], tmp_path: Path) -> None:
    # Bash has what stands in front of its last cut already.
    assert bash(line, tmp_path) == {word.removeprefix("@") for word in expected}


def test_bash_completes_files(tmp_path: Path) -> None:
    (tmp_path / "mine.npz").touch()
    assert bash("pyptoc --inputs=mi", tmp_path) == {"mine.npz"}
    assert bash("pyptoc mi", tmp_path) == {"mine.npz"}


@pytest.mark.parametrize(("line", "expected"), CASES)
def test_fish(line: str, expected: set[str], tmp_path: Path) -> None:
    file = script("fish", tmp_path)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {file}; complete -C '{line}'"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    )
    found = {row.split("\t")[0] for row in done.stdout.splitlines()}
    word = line.split()[-1]
    front = word[: word.find("=") + 1]
    wanted = {front + each for each in expected}
    assert {each.rstrip("=") for each in wanted} == found


def test_an_unknown_shell() -> None:
    code, _, err = call("--completion=fisch")
    assert code == 1
    assert "did you mean fish?" in err
