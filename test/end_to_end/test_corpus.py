"""
Every operator file against its golden: interpreted, compiled for each machine, broken.

The golden, cases and inputs of NAME.mlir are in NAME.py, which knows nothing of the
compiler; the tolerances are those that the file states. With the hypothesis profile
`long` there are larger cases, of real sizes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pytest
from end_to_end.watched import Watched, watched
from hypothesis import settings
from inprocess import call

import pyptoc
from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import RunError
from pyptoc.dialects.parsing import parse_module
from pyptoc.operators import FOLDER, load, names, text_of
from pyptoc.operators.checking import PART, Results, problems, replaced, tolerances
from pyptoc.passes import PASSES
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.reference import interpret

MACHINES = ("ascend950", "ascend910b")
LONG = settings.default is settings.get_profile("long")
OPERATORS = {name: load(name) for name in names()}


@dataclass(frozen=True)
class Run:
    """A case of an operator."""

    name: str
    case: Any
    machine: str = MACHINES[0]

    def __str__(self) -> str:
        return f"{self.name}-{self.case}-{self.machine}"

    @property
    def text(self) -> str:
        return OPERATORS[self.name].source(self.case)


def machines(name: str) -> tuple[str, ...]:
    """The machines that have the types of an operator."""
    return MACHINES[:1] if re.search(r"x(f8E|bf8)", text_of(name)) else MACHINES


RUNS = [
    Run(name, case, machine)
    for name, operator in OPERATORS.items()
    for case in operator.CASES
    for machine in machines(name)
    if LONG or not case.long
]
HERE = [run for run in RUNS if run.machine == MACHINES[0]]
FIRST = [Run(name, operator.CASES[0]) for name, operator in OPERATORS.items()]
WRONGED = {run.name: run for run in FIRST} | {
    name: Run(name, OPERATORS[name].TINY)
    for name in (
        "glm_attention_prolog",
        "mla_prolog_quant",
        "paged_attention_decode",
        "paged_attention_decode_f8",
    )
}
TINY = [
    Run(name, operator.TINY, machine)
    for name, operator in OPERATORS.items()
    for machine in machines(name)
]


FIRST_OF_EACH = [
    Run(name, operator.CASES[0], machine)
    for name, operator in OPERATORS.items()
    for machine in machines(name)
]
FAR_APART = TINY + [
    Run(name, case)
    for name in ("grouped_matmul_swiglu_quant", "grouped_matmul_swiglu_quant_loop")
    for case in OPERATORS[name].CASES
    if case.m * case.n <= 40_000 and case != OPERATORS[name].TINY
]
WATCHED = {(run.text, run.machine): run for run in (*FIRST_OF_EACH, *TINY)}
"""The program of each of these tells where its operations come from, or more."""


def inputs(run: Run) -> dict[str, Any]:
    return _inputs(run.name, run.case)


def golden(run: Run) -> Results:
    return _golden(run.name, run.case)


@lru_cache(maxsize=8)
def _inputs(name: str, case: Any) -> dict[str, Any]:
    """Arrays that nobody may write to: all tests share them."""
    given = OPERATORS[name].inputs(case)
    for value in given.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return given


@lru_cache(maxsize=8)
def _golden(name: str, case: Any) -> Results:
    return OPERATORS[name].golden(**_inputs(name, case))


@cache
def compiled(text: str, machine: str) -> pyptoc.Program:
    run = WATCHED.get((text, machine))
    if run is None:
        return pyptoc.compile(text, machine=machine)
    return seen(run).program


@lru_cache(maxsize=8)
def seen(run: Run) -> Watched:
    """The operator compiled while watchers look on; also at each pass's results."""
    is_small = run in TINY or LONG
    return watched(run.text, run.machine, inputs(run) if is_small else None)


@cache
def parsed(text: str) -> Any:
    return parse_module(text, "operator.mlir", make_context())


def mistakes(run: Run, got: Results) -> list[str]:
    """What is wrong with the results of a run."""
    found = problems(got, golden(run), run.text)
    operator = OPERATORS[run.name]
    if getattr(run.case, "exact", False):
        found += [
            f"{name} is not exact"
            for name, want in golden(run).items()
            if want.tobytes() != got[name].tobytes()
        ]
    for name, share in getattr(operator, "EQUAL", {}).items():
        differ = got[name] != golden(run)[name]
        if differ.sum() > (1 - share) * differ.size:
            found.append(f"{name}: {differ.sum()} of {differ.size} elements differ")
    if hasattr(operator, "mistakes"):
        found += operator.mistakes(inputs(run), got)
    return found


@pytest.mark.parametrize("run", HERE, ids=str)
def test_interpreted(run: Run) -> None:
    assert mistakes(run, interpret(parsed(run.text), inputs(run))) == []


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_compiled(run: Run) -> None:
    """Also that a run writes to none of the caller's arrays: these refuse it."""
    assert mistakes(run, compiled(run.text, run.machine).run(**inputs(run))) == []


@pytest.mark.parametrize("run", FAR_APART, ids=str)
def test_compiled_with_the_pipes_far_apart(run: Run) -> None:
    """A forgotten flag shows as a wrong value when pipes run ahead of each other."""
    program = compiled(run.text, run.machine)
    executable = Executable(program.module, program.machine)
    for seed in range(2):
        assert mistakes(run, executable.run(inputs(run), order=seed)) == []


@pytest.mark.parametrize("run", FAR_APART, ids=str)
def test_one_product_for_many_is_the_same(run: Run) -> None:
    """Neither moves to L0 nor loads of L1 are made; nothing else may differ."""
    program = compiled(run.text, run.machine)
    unfused = Executable(program.module, program.machine, fuse=False)
    fused = program.run(**inputs(run))
    assert problems(unfused.run(inputs(run)), fused, run.text) == []


def uneven(given: dict[str, Any]) -> None:
    """One token fewer than a whole number for each sequence."""
    for name in ("q", "q_scale", "weight", "q_nope", "q_rope", "topk"):
        if name in given:
            given[name] = given[name][:3]


def padding_among_the_positions(given: dict[str, Any]) -> None:
    given["topk"][1, 4] = -1


def beyond_the_pages(given: dict[str, Any]) -> None:
    given["topk"][3, 0] = 128 * given["block_table"].shape[1]


def no_such_page(given: dict[str, Any]) -> None:
    given["block_table"][1, 1] = 77


def no_such_row(given: dict[str, Any]) -> None:
    given["cache_index"][3] = 256


def no_such_slot(given: dict[str, Any]) -> None:
    given["slot"][3] = 256


def longer_than_its_pages(given: dict[str, Any]) -> None:
    given["act_seqs"][1] = 257


WRONG = (
    ("lightning_indexer_quant", uneven, "PTO401", "3 tokens are not a whole number"),
    ("lightning_indexer_quant", no_such_page, "PTO402", "77"),
    ("sparse_flash_attention_quant", uneven, "PTO401", "3 tokens are not a whole"),
    ("sparse_flash_attention_quant", padding_among_the_positions, "PTO408", "-1"),
    ("sparse_flash_attention_quant", beyond_the_pages, "PTO408", "384"),
    ("sparse_flash_attention_quant", no_such_page, "PTO408", "77"),
    ("mla_prolog_quant", no_such_row, "PTO408", "256"),
    ("glm_attention_prolog", no_such_slot, "PTO408", "256"),
    ("paged_attention_decode", uneven, "PTO401", "3 tokens are not a whole number"),
    ("paged_attention_decode", no_such_page, "PTO402", "77"),
    ("paged_attention_decode", longer_than_its_pages, "PTO402", "2 columns"),
    ("paged_attention_decode_f8", no_such_page, "PTO402", "77"),
)


@pytest.mark.parametrize(
    ("name", "spoil", "code", "text"),
    WRONG,
    ids=[f"{name}-{spoil.__name__}" for name, spoil, _, _ in WRONG],
)
def test_wrong_inputs_are_refused(
    name: str, spoil: Callable[[dict[str, Any]], None], code: str, text: str
) -> None:
    run = WRONGED[name]
    given = {key: value.copy() for key, value in inputs(run).items()}
    spoil(given)
    with pytest.raises(RunError) as first:
        interpret(parsed(run.text), given)
    with pytest.raises(RunError) as second:
        compiled(run.text, MACHINES[0]).run(**given)
    for problem in (first.value, second.value):
        assert problem.diagnostics[0].code == code
        assert text in str(problem)


BREAKS = [
    pytest.param(name, old, new, id=f"{name}-{new}")
    for name, operator in OPERATORS.items()
    for old, new in operator.BREAKS
]


@pytest.mark.parametrize(("name", "old", "new"), BREAKS)
def test_the_golden_sees_a_broken_operator(name: str, old: str, new: str) -> None:
    """In the tiny case, or in the first one: the data of one may not show it."""
    runs = [
        Run(name, case) for case in (OPERATORS[name].TINY, OPERATORS[name].CASES[0])
    ]
    runs = [run for run in runs if old in run.text]
    assert runs, f"{old} is not in the text"
    found: list[str] = []
    for run in runs:
        text = replaced(run.text, {old: new})
        got = interpret(parse_module(text, "broken.mlir", make_context()), inputs(run))
        found = mistakes(run, got)
        if found:
            break
    assert found != []


@pytest.mark.parametrize("run", FIRST, ids=str)
def test_a_changed_result_is_seen(run: Run) -> None:
    """Each result alone, changed by three times its tolerance."""
    limits = tolerances(run.text)
    assert mistakes(run, golden(run)) == []
    for name, want in golden(run).items():
        wide, limit = want.astype(np.float64), limits[name]
        more = 3 * (limit.atol + limit.rtol * np.abs(wide)) + (want.dtype.kind == "i")
        got = golden(run) | {name: (wide + more).astype(want.dtype)}
        assert mistakes(run, got) != [], name


@pytest.mark.parametrize("value", [1.0, np.nan, np.inf])
@pytest.mark.parametrize("place", [0, PART - 1, PART, 3 * PART + 4])
def test_one_element_is_seen(place: int, value: float) -> None:
    """Results are looked at in parts."""
    text = '{pypto.name = "y", pypto.tol = #pypto.tol<atol = 0.5, rtol = 0.5>}'
    want = np.zeros(3 * PART + 5, np.float32)
    got = want.copy()
    assert problems({"y": got}, {"y": want}, text) == []
    got[place] = value
    assert problems({"y": got}, {"y": want}, text) != []


# -- on the way -----------------------------------------------------------------


@pytest.mark.parametrize("run", RUNS if LONG else TINY, ids=str)
def test_check_each(run: Run) -> None:
    """No pass changes a result, nor leaves a program with a hazard."""
    each = seen(run).each
    assert each is not None
    assert each.count == len(PASSES)


@pytest.mark.parametrize("run", FIRST_OF_EACH, ids=str)
def test_every_operation_points_at_one_of_the_source(run: Run) -> None:
    """Locations survive every pass: whatever a pass makes comes from a line."""
    found = seen(WATCHED[run.text, run.machine]).locations
    assert not found.lost, "\n".join(found.lost[:10])
    assert found.seen > 10


# -- the command line ---------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_describes_how_to_try_it(name: str) -> None:
    """All arguments and results are listed, and the suggested command works.

    It is tried at small sizes and interpreted: at real ones it computes for seconds.
    """
    file = str(FOLDER / f"{name}.mlir")
    out = printed(file, "--describe")
    assert out.splitlines()[-1].startswith(f"try: pyptoc {file} ")
    head = text_of(name).split("attributes")[0].split("func.func")[1]
    for argument in re.findall(r"%(\w+):", head):
        assert re.search(rf"^{argument}  +\S", out, re.MULTILINE), argument
    for result in re.findall(r'pypto\.name = "(\w+)"', head):
        assert re.search(rf"^{result}  +\S", out, re.MULTILINE), result
    operator = OPERATORS[name]
    few = [] if LONG else ["--pipeline="]
    text = text_of(name) if LONG else operator.source(operator.TINY)
    last = printed("-", "--describe", text=text).splitlines()[-1]
    program, *words = shlex.split(last.removeprefix("try: "))
    assert program == "pyptoc"
    assert "result " in printed(*words, *few, text=text)


def printed(*argv: str, text: str = "") -> str:
    """What a command prints that must not fail."""
    code, out, err = call(*argv, stdin=text)
    assert code == 0, err
    return out
