"""`--check` without `--run`: the compiled operator has no hazard at these sizes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pyptoc.describe import describe_program
from pyptoc.options import Options
from pyptoc.simulate_command import sized_inputs
from pyptoc.step_times import Timing
from pyptoc.tables import show

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.dialects.diagnostics import Diagnostic
    from pyptoc.runtime.machine import Machine


class CheckCommand:
    """One check; inputs are read before the passes start."""

    def __init__(self, options: Options, module: ModuleOp, machine: Machine) -> None:
        self.options, self.machine = options, machine
        self.signature, self.inputs = sized_inputs(options, module)
        self.warnings: list[Diagnostic] = self.inputs.warnings

    def finish(self, module: ModuleOp, timing: Timing) -> None:
        """Checks what the passes made and says how much that was."""
        from pyptoc.runtime.hazards import check_program
        from pyptoc.runtime.hazards_trips import check_trips

        compiling = timing.seconds
        started = time.perf_counter()
        check = check_trips if self.options.check == "trips" else check_program
        checked = check(module, self.machine, self.signature, self.inputs)
        seconds = time.perf_counter() - started
        timing.add("check", seconds=seconds)
        name = f"{self.signature.name}  for {self.machine.name}"
        show(
            [
                f"compiled  {name}   {compiling:.2f} s   {describe_program(module)}",
                f"check     {seconds:.2f} s   {checked.text}",
            ]
        )
