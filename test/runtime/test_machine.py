"""Machine descriptions: the two that come with pyptoc, and what is wrong in a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pyptoc.dialects.diagnostics import CompileError, Diagnostic
from pyptoc.runtime.machine import MACHINES, load_machine, machine_names

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
    ("clock_ghz = 1.65", "clock_gz = 1.65", "clock_ghz: missing (found 'clock_gz')"),
    ("cube = 32", "cube = 32\nbanana = 1", "cores.banana: unknown key"),
    ("[cores]", "cpu = 3\n[cores]", "cpu: unknown key"),
    ("\nub = { size", "\nuc = { size", "spaces.uc: is none of l1, l0a"),
    ("size_bytes = 65536", "size_bytes = 1.5", "spaces.l0a.size_bytes: must be an int"),
    ('pipe = "mte2"', 'pipe = "mte4"', "routes.gm.l1.pipe: 'mte4' is none of"),
    ("supports_mx = true", "supports_mx = 1", "supports_mx: must be true or false"),
    ('i64 = ["f32", "i32"]', "i64 = 3", "vector.casts.i64: must be a list of names"),
    ("add = [7, 0.5, 7]", "add = [7, 0.5]", "cost_cycles.add: must be a list of three"),
    ("default = [7, 1, 7]", "", "vector.cost_cycles: needs a cost for 'default'"),
    ('name = "ascend950"', "name = 950", "name: must be a string, is 950"),
    ("[fractal]", "[fractals]", "fractal: missing (found 'fractals')"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_wrong_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    found = diagnostic(edited(tmp_path, old, new))
    assert found.code == "PTO511"
    assert message in found.message


def test_needs_no_numpy() -> None:
    code = (
        "import sys; from pyptoc.runtime.machine import load_machine; "
        "load_machine('ascend950'); assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
