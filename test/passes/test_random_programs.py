"""
Random programs through the whole pipeline, on both machines.

Each example is compiled by the default pipeline, with random switches of the passes and
sizes of memories, and run in program order and with the pipes of each task as far apart
as the flags allow. Judges are the reference interpreter on the source and, for single
ops, goldens of plain numpy. `operators` are long programs of all kinds of ops that run
after every pass; `make fuzz` draws thousands of them.

Each family has a share of the examples; `pytest --hypothesis-profile=long` draws many
times more, and makes a failing one small first. What fails is printed as MLIR.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from random_merged import merged
from random_ops import MACHINES
from random_pipelines import machine_like, pipeline
from random_programs import FAMILIES, check, operators
from random_single_ops import SINGLE
from random_stages import stages
from random_writer import Program

from pyptoc.dialects.npu_attrs import Unit
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.merged_tasks import Merged, Merging

EXAMPLES = {
    "chains": 10,
    "mixtures": 8,
    "loops": 10,
    "updates": 10,
    "nothing": 8,
    "matmul": 10,
    "rows": 10,
    "casts": 8,
    "grouped": 8,
    "scaled": 8,
    "merged": 6,
    "operators": 2,
}
"""How many of each family an ordinary run draws; of operators, in each part."""

PARTS = 10
"""In so many tests the operators are drawn."""

SCALE = settings.default.max_examples / settings.get_profile("default").max_examples


def examples(family: str) -> settings:
    """As many examples as the profile wants, without a limit on time."""
    # Shrinking compiles thousands of programs, which takes minutes.
    phases = set(Phase) - ({Phase.shrink, Phase.explain} if SCALE == 1 else set())
    if family == "operators":
        phases = {Phase.generate}  # a small seed is no small program
    return settings(
        phases=phases,
        max_examples=round(EXAMPLES[family] * SCALE),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def run(family: str, make: Callable[[Random], Program]) -> None:
    """Draw programs of one family and check each."""

    @examples(family)
    @given(
        st.randoms(use_true_random=False),
        st.sampled_from(MACHINES if family != "scaled" else MACHINES[:1]),
        st.integers(0, 99),
    )
    def one(random: Random, machine: str, order: int) -> None:
        program = make(random)
        note(program.text)
        note(options := pipeline(random))
        check(program, machine_like(load_machine(machine), random), order, options)

    one()


def test_the_profile_is_the_one_of_the_run(request: pytest.FixtureRequest) -> None:
    """A file of tests that loads one changes the examples of all files after it."""
    wanted = request.config.getoption("--hypothesis-profile") or "repeatable"
    assert settings.default is settings.get_profile(wanted)


@pytest.mark.parametrize("family", FAMILIES)
def test_programs(family: str) -> None:
    run(family, FAMILIES[family])


@pytest.mark.parametrize("family", SINGLE)
def test_single_ops(family: str) -> None:
    run(family, SINGLE[family])


def test_tasks_that_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mixed tasks, several at once in most examples."""
    factors: list[int] = []
    kernel_of = Merging.merged

    def recorded(self: Merging, factor: int) -> Merged:
        if self.kernel.unit.data == Unit.MIXED:
            factors.append(factor)
        return kernel_of(self, factor)

    monkeypatch.setattr(Merging, "merged", recorded)

    @examples("merged")
    @given(st.integers(0, 2**64 - 1), st.sampled_from(MACHINES), st.integers(0, 99))
    def one(number: int, machine: str, order: int) -> None:
        random = Random(number)
        program = merged(random)
        note(program.text)
        check(program, machine_like(load_machine(machine), random), order)

    one()
    assert 2 * len(factors) >= EXAMPLES["merged"]


@pytest.mark.parametrize("part", range(PARTS))
def test_operators(part: int) -> None:
    """A part of the examples, so that cores share them."""

    @examples("operators")
    @given(st.integers(0, 2**64 - 1), st.booleans(), st.integers(1, 99))
    def one(number: int, other: bool, order: int) -> None:
        random = Random(PARTS * number + part)
        program = operators(random)
        note(program.text)
        note(options := pipeline(random))
        machine = load_machine(MACHINES[other and not program.needs_mx])
        stages(program, machine_like(machine, random), order, pipeline=options)

    one()
