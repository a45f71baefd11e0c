"""
Locations survive every pass: whatever a pass makes points at a line of the source.
"""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

import pyptoc
from pyptoc.command import Unit, parse
from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import file_place
from pyptoc.files import read_source
from pyptoc.manager import Watcher, run_passes
from pyptoc.operators import names
from pyptoc.passes.base import PyptocPass
from pyptoc.pipeline import default_pipeline, first_pass_for, parse_pipeline
from pyptoc.runtime.machine import load_machine

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


@pytest.mark.parametrize("machine", ["ascend950", "ascend910b"])
@pytest.mark.parametrize("name", names())
def test_every_operation_points_at_one_of_the_source(name, machine) -> None:
    context = make_context(load_machine(machine))
    unit = Unit(*read_source(f"@{name}"))
    module = parse(unit, context)
    first = first_pass_for(module)
    watcher = Locations(unit)
    passes = parse_pipeline(default_pipeline(first=first))
    try:
        run_passes(passes, context, module, [watcher], verify_each=False)
    except pyptoc.CompileError:
        assert machine == "ascend910b"  # which has no f8
    assert not watcher.lost, "\n".join(watcher.lost[:10])
    assert watcher.seen > 10
