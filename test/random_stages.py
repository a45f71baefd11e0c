"""
A program held against its source after every pass, in this process.

`stages` compiles a program, runs what each pass leaves and compares: bit by bit with
what was there before the pass, where the pass keeps the order of sums, and with the
source as near as the program says its results are. What one pass left is printed, read
and printed again. The finished program runs with the pipes of each task as far apart as
the flags allow, and its waits must order all tasks that touch the same memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from random_programs import agrees
from random_writer import Program
from task_order import record
from xdsl.dialects.builtin import FileLineColLoc

import pyptoc
from pyptoc.check_each import CheckEach
from pyptoc.command import Unit, parse
from pyptoc.dialects.context import PyptocContext, make_context
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.manager import Watcher, run_passes
from pyptoc.passes.base import PyptocPass
from pyptoc.pipeline_text import default_pipeline, parse_pipeline
from pyptoc.printing import module_text
from pyptoc.runtime.bindings import Bindings
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.hazards_run import CheckedExecutable
from pyptoc.runtime.inputs import accept, complete
from pyptoc.runtime.machine import Machine, load_machine
from pyptoc.runtime.run import run
from pyptoc.runtime.signature import read_signature

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

MOST_TASKS = 1500
"""Of programs with more tasks the waits are not checked: it compares all pairs."""


@dataclass
class Stages(CheckEach):
    """`--check-each` with what a random program knows of its own exactness."""

    within: dict[str, float] | None = None

    def _compare(self, each: PyptocPass, now: dict[str, Any]) -> None:
        for name, want in self.source.items():
            tolerance = (self.within or {}).get(name, 0.0)
            try:
                agrees(name, now[name], want, tolerance)
            except AssertionError as problem:
                raise AssertionError(f"after {each.name}: {problem}") from None


@dataclass
class ReadAgain(Watcher):
    """What the pass number `at` left reads back as what was printed."""

    context: PyptocContext
    at: int
    count: int = 0

    def after(self, each: PyptocPass, module: ModuleOp) -> None:
        self.count += 1
        if self.count == self.at:
            text = module_text(module)
            again = parse(Unit("again.mlir", text), make_context(self.context.machine))
            assert module_text(again) == text, f"printed after {each.name}"


def check_waits(module: ModuleOp, machine: Machine, values: dict[str, Any]) -> int:
    """No two tasks that touch the same memory, one of them to write, lack an order.

    How many tasks there are.
    """
    order, _ = record(module, machine, values)
    tasks = sum(len(launch.tasks) for launch in order.launches)
    if tasks <= MOST_TASKS:
        found = [*order.problems(), *order.undeclared()]
        assert not found, f"{len(found)} times: {found[0]}"
    return tasks


def is_in_untaken_branch(refusal: CompileError, text: str) -> bool:
    """Whether a view was refused that would not fit if it were reached.

    The source has run, so that it stands in a branch that the inputs do not take.
    """
    (problem,) = refusal.diagnostics
    if problem.code != "PTO402" or not isinstance(problem.location, FileLineColLoc):
        return False
    before = text.splitlines()[: problem.location.line.data]
    return before[-1].startswith("    ") and any("scf.if" in line for line in before)


class Staged(NamedTuple):
    """What is left of a program that was checked after every pass."""

    program: pyptoc.Program
    count: int
    """How many passes there were; fewer than all where a branch was refused."""


def stages(
    program: Program,
    machine: str | Machine,
    *orders: int,
    pipeline: str | None = None,
) -> Staged:
    """Checks the program after every pass."""
    machine = load_machine(machine) if isinstance(machine, str) else machine
    context = make_context(machine)
    module = parse(Unit("<string>", program.text), context)
    signature = read_signature(module, None)
    given = {name: np.asarray(value) for name, value in program.inputs.items()}
    before = {name: np.copy(value) for name, value in given.items()}
    inputs = accept(signature, given, "run()", Bindings())
    values = complete(signature, inputs, "run()", None).values
    watcher = Stages(
        lambda each: run(each, machine, values, signature.name),
        signature.results,
        within=program.within,
    )
    passes = parse_pipeline(pipeline or default_pipeline())
    again = ReadAgain(context, 1 + len(program.text) % len(passes))
    compiled = pyptoc.Program(module, machine, signature)
    try:
        run_passes(passes, context, module, [watcher, again])
    except CompileError as refusal:
        if is_in_untaken_branch(refusal, program.text):
            return Staged(compiled, again.count)
        raise
    tasks = check_waits(module, machine, values)
    few = tasks <= MOST_TASKS
    executable = (CheckedExecutable if few else Executable)(module, machine)
    for order in orders:
        found = executable.run(values, order=order)
        for name, want in watcher.source.items():
            agrees(name, found[name], want, program.within.get(name, 0.0))
    for name, value in before.items():
        assert np.array_equal(value, given[name]), f"%{name} was overwritten"
    return Staged(compiled, watcher.count)
