"""Hazards at other sizes than the given ones: `--check=trips`."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

import pyptoc
from pyptoc.dialects.diagnostics import RunError
from pyptoc.runtime import hazards_trips
from pyptoc.runtime.hazards import check_program
from pyptoc.runtime.hazards_core import HazardKernel
from pyptoc.runtime.inputs import Inputs

MEMORY = 'memref<?x16xf32, "gm">'
PROGRAM = f"""
npu.kernel @k () (%x: {MEMORY}, %y: {MEMORY}, %n: index, %m: index) on vector {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {{addr = 0}} : !tile.buf<1x16xf32, ub>
  %b = tile.alloc {{addr = 64}} : !tile.buf<1x16xf32, ub>
  tile.load %x[0, 0] [1, 16] into %a
  tile.barrier
  scf.for %i = %c0 to %n step %c1 {{ tile.neg %a into %b [1, 16] }}
  scf.for %j = %c0 to %m step %c1 {{ tile.neg %a into %b [1, 16] }}
  %odd = pypto.index CONDITION : i1
  scf.if %odd {{ tile.barrier }}
  tile.store %b [1, 16] into %y[0, 0]
}}
func.func @f(%x: {MEMORY} {{pypto.dims = ["N"]}}, %z: {MEMORY} {{pypto.dims = ["M"]}})
    -> ({MEMORY} {{pypto.name = "y"}}) {{
  %c1 = arith.constant 1 : index
  %n = pypto.dim %x, 0
  %m = pypto.dim %z, 0
  %y = npu.alloc[%c1, 16] : {MEMORY}
  %t = npu.launch @k[] (%x, %y, %n, %m)
  func.return %y : {MEMORY}
}}
"""
CASES = {
    "one trip": ("%n > 1", "N=1"),
    "both few": ("%n + %m > 2", "N=1,M=1"),
    "two and one": ("3 * %n + %m ne 7", "N=2,M=1"),
}


def program(condition: str) -> pyptoc.Program:
    return pyptoc.compile(PROGRAM.replace("CONDITION", condition), pipeline="")


@pytest.mark.parametrize("case", CASES)
def test_sizes_at_which_something_is_wrong(case: str) -> None:
    condition, sizes = CASES[case]
    made = program(condition)
    made.check(N=40, M=50)
    with pytest.raises(RunError) as found:
        made.check(trips=True, N=40, M=50)
    assert {one.code for one in found.value.diagnostics} == {"PTO420"}
    note = found.value.diagnostics[0].notes[-1].message
    assert note == f"at check({sizes.replace(',', ', ')})"


def test_how_much_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    found = program("%n >= 0").check(trips=True, N=40, M=50)
    values = [dict(one.split("=") for one in each.split(",")) for each in found.sizes]
    alone = [one for one in values if len(one) == 1]
    both = [one for one in values if len(one) == 2]
    assert {"N": "1"} in alone
    assert {"N": "1", "M": "1"} in both
    assert len(both) == (len({*(one["N"] for one in both)}) ** 2)
    assert found.left_out == 0
    monkeypatch.setattr(hazards_trips, "MOST_TOGETHER", 3)
    fewer = program("%n >= 0").check(trips=True, N=40, M=50)
    assert fewer.left_out == len(both) - 3
    assert fewer.text.endswith(f"other sizes, {fewer.left_out} left out")
    one = replace(fewer, sizes=("N=1",), left_out=0)
    assert one.text.endswith("   and at 1 other size")
    # Each of them has one task.
    monkeypatch.setattr(hazards_trips, "MOST_TASKS", 2)
    least = program("%n >= 0").check(trips=True, N=40, M=50)
    assert least.left_out == len(both) - 2
    assert len(least.sizes) == len(alone) + 2


def test_what_has_a_hazard_is_not_known_to_have_none() -> None:
    made = program("%n > 1")
    known: dict[str, HazardKernel] = {}
    for sizes, fails in (({"N": 1}, True), ({"N": 1}, True), ({"N": 2}, False)):
        inputs = Inputs({}, {**sizes, "M": 1})
        with pytest.raises(RunError) if fails else nullcontext():
            check_program(made.module, made.machine, made.signature, inputs, known)
        assert set(known) == (set() if fails else {"k"})


def test_the_program_is_run_where_nothing_is_wrong() -> None:
    x = np.arange(32, dtype=np.float32).reshape(2, 16)
    results = program("%n >= 0").run(check=True, x=x, z=x)
    np.testing.assert_array_equal(results["y"], -x[:1])
