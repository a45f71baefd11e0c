"""
Compiles an operator once for several tests: watchers look on meanwhile.

Compiling the larger operators takes seconds, so that the same run of the passes serves
the tests of values, of what each pass leaves, and of locations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.dialects.builtin import ModuleOp

import pyptoc
from pyptoc.check_each import CheckEach
from pyptoc.command import Unit, parse
from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import file_place
from pyptoc.manager import Watcher, run_passes
from pyptoc.passes.base import PyptocPass
from pyptoc.pipeline_text import default_pipeline, parse_pipeline
from pyptoc.runtime.bindings import Bindings
from pyptoc.runtime.inputs import accept, complete
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.run import run
from pyptoc.runtime.signature import read_signature

KINDS = ("pypto.", "scf.", "func.", "arith.", "math.")
"""What an operation of a source begins with."""


class Locations(Watcher):
    """Looks at every operation after every pass; bookkeeping is no exception."""

    def __init__(self, unit: Unit) -> None:
        self.name = unit.name
        self.lines = unit.text.splitlines()
        self.lost: list[str] = []
        self.seen = 0

    def after(self, each: PyptocPass, module: ModuleOp) -> None:
        for op in module.body.walk():
            self.seen += 1
            place = file_place(op.location)
            if place is None or place.filename.data != self.name:
                self.lost.append(f"{each.name}: {op.name} at {op.location}")
                continue
            line = self.lines[place.line.data - 1][place.column.data - 1 :]
            if not line.startswith(KINDS):
                self.lost.append(f"{each.name}: {op.name} points at '{line[:30]}'")


@dataclass(frozen=True)
class Watched:
    """A compiled operator and what was seen on the way."""

    program: pyptoc.Program
    locations: Locations
    each: CheckEach | None
    """Where there were inputs: each pass has kept the results."""


def watched(text: str, machine: str, inputs: dict[str, Any] | None = None) -> Watched:
    """Compiles a source; with inputs as `--check-each` does, which raises PTO506."""
    model = load_machine(machine)
    context = make_context(model)
    unit = Unit("operator.mlir", text)
    module = parse(unit, context)
    signature = read_signature(module, None)
    locations, each = Locations(unit), None
    watchers: list[Watcher] = [locations]
    if inputs is not None:
        accepted = accept(signature, inputs, "inputs", Bindings())
        values = complete(signature, accepted, "inputs", None).values
        execute = partial(
            run, machine=model, inputs=values, entry=signature.name, check=True
        )
        each = CheckEach(execute, signature.results)
        watchers.append(each)
    run_passes(parse_pipeline(default_pipeline()), context, module, watchers)
    program = pyptoc.Program(module, model, signature, tuple(context.remarks))
    return Watched(program, locations, each)
