"""Strings and symbols of the input reach no generated code, no path, no page.

Every text that Python compiles and every file it opens is looked at while the command
runs: whatever the input calls its functions, tags and arguments, no name is in there.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import audited
import pytest
from processes import clean, files_in

import pyptoc

WORD = "zebra"
"""It is in all names, and in nothing else."""
HOSTILE = (
    f"../../{WORD}",
    f"/tmp/{WORD}",
    f'"); {WORD}(); ("',
    f"{WORD}\nimport os",
    f"__import__('os').system('touch {WORD}')",
    f"{{{WORD}.__class__}} %s \x1b[2J \u202e",
    f"</script><script>{WORD}</script>'\"<img {WORD}>",
    f"{WORD}" * 1000,
)
NAMES = [f"{number}" for number in range(len(HOSTILE))]
TENSOR = """\
func.func private @"helper NAME"(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = pypto.exp %x {tag = "NAME"}
  func.return %y : tensor<?x64xf32>
}
func.func @"NAME"(%x: tensor<?x64xf32> {pypto.dims = ["NAME"], note = "NAME"})
    -> (tensor<?x64xf32> {pypto.name = "y", note = "NAME"}) attributes {note = "NAME"} {
  %a = func.call @"helper NAME"(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  pypto.print "NAME" %a : tensor<?x64xf32>
  %y = pypto.softmax %a axis -1 {tag = "NAME"} loc("NAME":1:1)
  func.return %y : tensor<?x64xf32>
}
"""
PLAIN = """\
func.func @operator(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>)
    -> (tensor<8x64xf32> {pypto.name = "y"}) {
  %a = pypto.matmul %x, %w {tag = "first"}
  pypto.print "shown" %a : tensor<8x64xf32>
  %y = pypto.softmax %a axis -1 {tag = "second"}
  func.return %y : tensor<8x64xf32>
}
"""


def quoted(name: str) -> str:
    """As a string of MLIR."""
    return "".join(f"\\{ord(one):02X}" if one in '"\\\n' else one for one in name)


Run = Callable[..., tuple[int, str, str]]
"""The outcome of a command on a text: nothing it compiled or opened had the word."""


@pytest.fixture(scope="module")
def looked_at() -> Iterator[audited.Run]:
    with audited.audited(WORD) as process:
        yield process


@pytest.fixture
def run(looked_at: audited.Run) -> Run:
    def run(*argv: str, text: str) -> tuple[int, str, str]:
        outcome, found = looked_at("-", *argv, text=text)
        assert clean(outcome[0], outcome[2])
        assert found == []
        return outcome

    return run


def test_what_looks_sees_a_path(looked_at: audited.Run, tmp_path: Path) -> None:
    _, found = looked_at("-", "--pipeline=", f"-o{tmp_path / WORD}", text=PLAIN)
    assert f"os.rename: {tmp_path / WORD}" in found


@pytest.mark.parametrize("number", NAMES)
def test_everywhere_at_once(run: Run, number: str, tmp_path: Path) -> None:
    name = HOSTILE[int(number)]
    text = TENSOR.replace("NAME", quoted(name))
    bound = f"--bind={name}=4"
    made = ["o.mlir", "o.npz", "r.html", "t.json"]
    o, npz, html, trace = (str(tmp_path / one) for one in made)
    tree = tmp_path / "tree"
    dumps = ("-o", o, "--print-ir-tree-dir", str(tree))
    argv = ("--run", "--check", "--random-inputs=1", bound, "--outputs", npz, *dumps)
    assert run(*argv, text=text)[0] == 0
    assert zipfile.ZipFile(npz).namelist() == ["y.npy"]
    argv = ("--simulate", "--trace", trace, "--report", html, bound)
    assert run(*argv, text=text)[0] == 0
    assert f"<script>{WORD}" not in Path(html).read_text()
    assert f"<img {WORD}" not in Path(html).read_text()
    dumped = files_in(tree)
    assert dumped != []
    assert all(re.fullmatch(r"\d\d_[a-z-]+\.mlir", one) for one in dumped)
    assert files_in(tmp_path) == sorted([*made, *(f"tree/{one}" for one in dumped)])
    # What was printed is the same program with the same names.
    again = run("--compile-to=program", text=Path(o).read_text())
    assert again == (0, Path(o).read_text(), "")


@pytest.mark.parametrize("number", NAMES)
def test_a_sweep(run: Run, number: str, tmp_path: Path) -> None:
    name = HOSTILE[int(number)]
    text = TENSOR.replace("NAME", quoted(name)).replace(
        f'pypto.dims = ["{quoted(name)}"]', 'pypto.dims = ["M"]'
    )
    cache, html = str(tmp_path / "c"), str(tmp_path / "s.html")
    argv = ("--sweep=bind.M=4,8", f"--sweep-cache={cache}", f"--sweep-plot={html}")
    assert run(*argv, "--jobs=1", text=text)[0] == 0
    assert f"<script>{WORD}" not in Path(html).read_text()
    names = files_in(tmp_path)
    assert len(names) == 3
    assert all(re.fullmatch(r"c/[0-9a-f]+\.json|s\.html", one) for one in names)


def places() -> dict[str, str]:
    """Programs with one string or symbol each in whose place a name is to be put."""
    program = pyptoc.compile(PLAIN).text
    found: dict[str, str] = {}
    for level, text in (("tensor", PLAIN), ("program", program)):
        for word in sorted({*re.findall(r'"\w+"|@\w+', text)}):
            put = '@"NAME"' if word.startswith("@") else '"NAME"'
            found[f"{level} {word}"] = re.sub(rf"{word}(?!\w)", put, text)
    return found


PLACES = places()


@pytest.mark.parametrize("place", PLACES)
def test_one_place_at_a_time(run: Run, place: str, tmp_path: Path) -> None:
    """Whatever stands there: an error, or a run with no trace of it."""
    for name in (HOSTILE[0], HOSTILE[2], HOSTILE[3]):
        text = PLACES[place].replace("NAME", quoted(name))
        output = tmp_path / "o.npz"
        argv = ("--run", "--check", "--random-inputs=1", "--outputs", str(output))
        code, _, err = run(*argv, text=text)
        if code:
            assert "error[PTO" in err
            assert files_in(tmp_path) == []
        else:
            given = name if place.endswith('"y"') else "y"
            assert "/" not in given
            assert zipfile.ZipFile(output).namelist() == [f"{given}.npy"]
            output.unlink()
        run("--simulate", text=text)


@pytest.mark.parametrize("where", ["argument", "result", "probe"])
@pytest.mark.parametrize("name", [*HOSTILE, "", "a\\b", "x" * 201])
def test_names_of_arrays(run: Run, where: str, name: str) -> None:
    """They are members of .npz files: what unpacks one may believe in them."""
    setting = f'{{pypto.name = "{quoted(name)}"}}'
    argument = "%w: tensor<64x64xf32>"
    text = {
        "argument": PLAIN.replace(argument, f"{argument} {setting}"),
        "result": PLAIN.replace('{pypto.name = "y"}', setting),
        "probe": PLAIN.replace(
            'print "shown" %a : tensor<8x64xf32>', f'probe %a "{quoted(name)}"'
        ),
    }[where]
    code, _, err = run("--pipeline=", text=text)
    if name in (HOSTILE[2], HOSTILE[4]):  # Odd, but no path.
        assert code == 0
        return
    wanted = "PTO155" if where == "probe" else "PTO161"
    assert code == 1
    assert re.search(rf"<stdin>:\d+:\d+: error\[{wanted}\]", err)


def test_a_location_names_no_file_to_read(run: Run, tmp_path: Path) -> None:
    secret = tmp_path / WORD
    secret.write_text("this is a secret\n" * 9)
    text = PLAIN.replace("%y = pypto.softmax %a axis -1", "%y = pypto.exp %a, %a")
    text = text.replace('{tag = "second"}', f'loc("{secret}":1:1)')
    code, _, err = run("--simulate", text=text)
    assert code == 1
    assert "secret" not in err.replace(str(secret), "")
