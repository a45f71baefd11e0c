"""Machine descriptions: the two that come with pyptoc, and what is wrong in a file."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from inprocess import ROOT

from pyptoc.diagnostics import render
from pyptoc.dialects.diagnostics import CompileError, Diagnostic
from pyptoc.dialects.pypto.infer import ELEMENT_TYPES
from pyptoc.machine_page import page
from pyptoc.runtime.machine import MACHINES, load_machine, machine_names
from pyptoc.runtime.machine_keys import (
    ELEMENTS,
    INSTRUCTIONS,
    KEYS,
    Key,
    key_at,
    paths_of,
)
from pyptoc.runtime.toml_places import find_places

TEXT = (MACHINES / "ascend950.toml").read_text()


def diagnostic(name: str | Path) -> Diagnostic:
    with pytest.raises(CompileError) as caught:
        load_machine(name)
    (found,) = caught.value.diagnostics
    return found


def edited(path: Path, old: str, new: str) -> Path:
    assert old in TEXT
    file = path / "mine.toml"
    file.write_text(TEXT.replace(old, new, 1))
    return file


def test_the_two_machines() -> None:
    assert machine_names() == ("ascend910b", "ascend950")
    new, old = load_machine("ascend950"), load_machine("ascend910b")
    assert (new.cube_cores, new.vector_cores) == (32, 64)
    assert (old.cube_cores, old.vector_cores) == (24, 48)
    assert new.space("ub").bytes == 248 * 1024
    assert old.space("ub").bytes == 192 * 1024
    assert new.space("l0c").bytes == 2 * old.space("l0c").bytes
    assert old.space("scale_a").bytes == 0
    assert new.clock_hz == 1.65e9
    assert new.event_ids == old.event_ids == 8


def test_types() -> None:
    new, old = load_machine("ascend950"), load_machine("ascend910b")
    assert new.supports_mx
    assert not old.supports_mx
    assert "f8E4M3FN" in new.matmul_inputs
    assert old.matmul_inputs == {"f16", "bf16", "f32", "i8"}
    for machine in (new, old):
        assert machine.can_cast("f32", "bf16")
        # i8 is reached from f16 alone.
        assert {source for source, target in machine.casts if target == "i8"} == {"f16"}
    assert new.can_cast("f32", "f8E4M3FN")
    assert not old.can_cast("f32", "f8E4M3FN")


def test_routes() -> None:
    new, old = load_machine("ascend950"), load_machine("ascend910b")
    assert new.route("gm", "l1") is new.routes["gm", "l1"]
    with pytest.raises(CompileError, match=r"ascend910b has no route from l0c to ub"):
        old.route("l0c", "ub")
    for machine in (new, old):
        assert machine.memory.l2_kept_bytes < machine.memory.l2_bytes
    assert new.routes["gm", "l1"].pipe == "mte2"
    assert new.routes["l1", "l0a"].pipe == "mte1"
    assert new.has_route("l0c", "ub")
    assert not old.has_route("l0c", "ub")


def test_a_vector_instruction_without_a_cost_of_its_own_has_the_default() -> None:
    machine = load_machine("ascend910b")
    assert machine.vector_cost("div").per_repeat == 4
    assert machine.vector_cost("sin") == machine.vector_cost("default")


def test_unknown_name() -> None:
    found = diagnostic("ascend590")
    assert found.code == "PTO510"
    assert found.message == "unknown machine 'ascend590'"
    assert "did you mean 'ascend950'?" in found.help
    assert "ascend910b, ascend950" in found.help


def test_no_guess_for_a_name_that_is_far_from_all() -> None:
    assert "did you mean" not in diagnostic("gpu").help


def test_missing_file(tmp_path: Path) -> None:
    found = diagnostic(tmp_path / "none.toml")
    assert found.code == "PTO511"
    assert "No such file" in found.message


def test_a_file_of_the_users_own(tmp_path: Path) -> None:
    file = edited(tmp_path, "cube = 32", "cube = 28")
    assert load_machine(file).cube_cores == 28
    assert load_machine(str(file)).cube_cores == 28


WRONG = [
    ("[cores]", "[cores", "not a TOML file"),
    ("cube = 32", "cube = 0", "cores.cube: must be an integer of at least 1, is 0"),
    ("cube = 32", "cube = true", "cores.cube: must be an integer"),
    ("clock_ghz = 1.65", "clock_ghz = -1", "cores.clock_ghz: must be a number"),
    (
        "clock_ghz = 1.65",
        "clock_gz = 1.65",
        "clock_gz: unknown key; did you mean 'clock_ghz'?",
    ),
    ("cube = 32", "cube = 32\nbanana = 1", "cores.banana: unknown key"),
    ("[cores]", "cpu = 3\n[cores]", "cpu: unknown key"),
    ("[cores]", "Clock_GHz = 3\n[cores]", "did you mean clock_ghz in [cores]?"),
    ("\nub = { size", "\nuc = { size", "spaces.uc: unknown key"),
    ("size_bytes = 65536", "size_bytes = 1.5", "spaces.l0a.size_bytes: must be an int"),
    ('pipe = "mte2"', 'pipe = "mte4"', "routes.gm.l1.pipe: 'mte4' is none of"),
    ("supports_mx = true", "supports_mx = 1", "supports_mx: must be true or false"),
    ('i64 = ["f32", "i32"]', "i64 = 3", "vector.casts.i64: must be a list of names"),
    ("add = [7, 0.5, 7]", "add = [7, 0.5]", "cost_cycles.add: must be a list of three"),
    ("default = [7, 1, 7]", "", "vector.cost_cycles: needs a cost for 'default'"),
    ('name = "ascend950"', "name = 950", "name: must be a string, is 950"),
    ("[fractal]", "[fractals]", "fractals: unknown key; did you mean 'fractal'?"),
    ("rows = 16\n", "", "fractal.rows: missing"),
    ("clock_ghz = 1.65", "clock_ghz = 0", "cores.clock_ghz: must be a number above 0"),
    ("clock_ghz = 1.65", "clock_ghz = nan", "cores.clock_ghz: must be a number above"),
    ("add = [7,", "addd = [7,", "addd: unknown key; did you mean 'add'?"),
    ("f16 = 4096", "fp16 = 4096", "fp16: unknown key; did you mean 'f16'?"),
    ('bf16 = ["f32",', 'bf16 = ["fp32",', "'fp32' is none of f32, f16"),
    ("44739242", "134217729", "memory.l2_kept_bytes: more than L2 holds"),
    ("262144, align", "262100, align", "spaces.l0c.size_bytes: is 262100"),
    ("align_bytes = 512 }", "align_bytes = 96 }", "spaces.l0a.align_bytes: is 96"),
    ("l0a = { size_bytes = 65536", "l0a = { size_bytes = 0", "l0a.size_bytes: is 0"),
    ('"mte2", "v",', '"v",', "pipes.vector: lacks mte2"),
    ("scale_a = { size_bytes = 4096", "scale_a = { size_bytes = 0", "room for scales"),
    ("\nl0a = { pipe", "\nl0c = { pipe", "routes.l1.l0a: missing"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_wrong_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    found = diagnostic(edited(tmp_path, old, new))
    assert found.code == "PTO511"
    assert message in found.message


def refused(path: Path, text: str) -> str:
    """What a user sees of a file of their own."""
    file = path / "mine.toml"
    file.write_text(text)
    with pytest.raises(CompileError) as caught:
        load_machine(file)
    shown = "\n".join(render(each, {}) for each in caught.value.diagnostics)
    return shown.replace(str(path), "")


def test_errors_point_into_the_file(tmp_path: Path) -> None:
    text = """\
base = "ascend950"
[cores]
clock_ghz = "fast"   # GHz
cub = 3
[spaces]
ub = { size_bytes = -1, align_bytes = 32 }
"""
    assert (
        refused(tmp_path, text)
        == """\
/mine.toml:3:13: error[PTO511]: cores.clock_ghz: must be a number above 0, is 'fast'
 3 | clock_ghz = "fast"   # GHz
   |             ^^^^^^
  rule: cores.clock_ghz is a number above 0 in GHz: clock of all cores
/mine.toml:4:1: error[PTO511]: cores.cub: unknown key; did you mean 'cube'?
 4 | cub = 3
   | ^^^
  rule: it is one of cube, vector, clock_ghz
/mine.toml:6:21: error[PTO511]: spaces.ub.size_bytes: must be an integer of at least \
0, is -1
 6 | ub = { size_bytes = -1, align_bytes = 32 }
   |                     ^^
  rule: spaces.*.size_bytes is an integer of at least 0 in B: memory of one core; \
0: it has none, and routes to and from it do not count"""
    )


PLACES = [
    ('base = "ascend590"', ":1:8: ", 'did you mean "ascend950"?'),
    ("a = 1\nb = [\n", ":2:6: ", "not a TOML file"),
    ("x = 1 1", ":1:7: ", "not a TOML file"),
    ('base = "ascend950"\nvector.cost_cycles.add = [\n 1,\n]', ":2:26: ", "three"),
    ('base = "ascend950"\nmemory."l2_kept_bytes" = 9000000000', ":2:26: ", "L2 holds"),
    ('base = \'ascend950\'\n# [x]\nname = """a\n[y]"""\n[cores]\nz=1', ":6:1", "z"),
    ("base = 'ascend950'\nspaces = { ub = { size = 1 } }", ":2:19: ", "size_bytes"),
    ("base = 'ascend950'\n[[cores]]\ncube = 1", ":2:3: ", "must be a table"),
    ("base = 'ascend950'\n[spaces.ub]\nsize_bytes = 33", ":3:14: ", "33 = 1 * 32 + 1"),
]


@pytest.mark.parametrize(("text", "place", "words"), PLACES)
def test_place(tmp_path: Path, text: str, place: str, words: str) -> None:
    found = refused(tmp_path, text)
    assert found.startswith(f"/mine.toml{place}")
    assert words in found


def test_an_empty_file_is_one_error(tmp_path: Path) -> None:
    """Not one for each key that it has not."""
    path = tmp_path / "mine.toml"
    path.write_text("# nothing\n")
    with pytest.raises(CompileError) as failure:
        load_machine(path)
    (found,) = failure.value.diagnostics
    assert found.message == "base: missing; the file has no keys"
    assert 'begins with base = "ascend950"' in found.help


def test_what_is_missing_is_missing_in_its_table(tmp_path: Path) -> None:
    line = TEXT.split("\n").index("[fractal]      # a matrix is stored in blocks of "
                                  "this many rows and bytes a row") + 1  # fmt: skip
    found = refused(tmp_path, TEXT.replace("rows = 16\n", ""))
    assert found.startswith(
        f"/mine.toml:{line}:2: error[PTO511]: fractal.rows: missing"
    )


def test_a_base_gives_what_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('base = "ascend950"\n[spaces]\nub.size_bytes = 131072\n')
    mine, base = load_machine(file), load_machine("ascend950")
    assert mine.space("ub") == replace(base.space("ub"), bytes=131072)
    spaces = {**base.spaces, "ub": mine.space("ub")}
    assert mine.summary == "ascend950 with changes (mine.toml)"
    assert mine == replace(base, name="mine", summary=mine.summary, spaces=spaces)


def test_a_memory_of_no_bytes_has_no_routes(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('base = "ascend950"\nspaces.fb.size_bytes = 0\n')
    mine = load_machine(file)
    gone = {r for r in load_machine("ascend950").routes if r not in mine.routes}
    assert gone == {("l1", "fb")}


def test_every_key_has_a_place() -> None:
    """In a file with comments, inline tables, dotted tables and lists."""
    places = find_places(TEXT)
    paths = paths_of(tomllib.loads(TEXT))
    assert set(places.values) >= set(paths)
    lines = TEXT.split("\n")
    for path in paths:
        place = places.values[path]
        shown = lines[place.line - 1][place.column - 1 :][: place.length]
        value: object = tomllib.loads(TEXT)
        for name in path:
            assert isinstance(value, dict)
            value = value[name]
        assert tomllib.loads(f"x = {shown}")["x"] == value


def test_the_page_of_keys() -> None:
    """`pyptoc --docs-machines > docs/machines.md` brings it up to date."""
    assert (ROOT / "docs/machines.md").read_text() == page()


def test_every_key_is_in_a_machine() -> None:
    """A key that no file may have is no key, and one without an entry is unknown."""
    found = {key_at(path) for path in paths_of(tomllib.loads(TEXT))}
    assert {key.path for key in KEYS} == {key.path for key in found if key}


def test_the_names_of_instructions() -> None:
    from pyptoc.dialects.context import load

    ops = {
        op.name.partition(".")[2] for op in load("pyptoc.dialects.tile:Tile").operations
    }
    assert set(INSTRUCTIONS) - {"default"} <= ops
    assert {str(each) for each in ELEMENT_TYPES} - {"i1"} == set(ELEMENTS)


@cache
def readers(folder: str, field: str) -> set[str]:
    """The modules of a folder whose code has the attribute of `Machine`."""
    return {
        file.stem
        for file in (ROOT / folder).glob("*.py")
        if not file.stem.startswith("machine")
        and re.search(rf"{re.escape(field)}(?!\w)", file.read_text())
    }


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_what_the_page_says_reads_a_key_does(key: Key) -> None:
    for folder, named in (("passes", key.compiler), ("runtime", key.model)):
        found = readers(folder, key.field.rstrip("("))
        assert set(named) <= found
        # Other things are called `name` or `pipe`, too.
        assert named or "_" not in key.field or not found


def test_needs_no_numpy() -> None:
    code = (
        "import sys; from pyptoc.runtime.machine import load_machine; "
        "load_machine('ascend950'); assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
