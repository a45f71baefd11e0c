"""
`--run`: runs the compiled operator on given or made-up inputs and shows the results.

Inputs and tolerances come from the source's signature, whatever the passes make of the
function. The table goes to standard output, everything else to standard error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pyptoc.check_each import CheckEach
from pyptoc.describe import describe_program
from pyptoc.files import atomic_file
from pyptoc.manager import Watcher
from pyptoc.options import Options
from pyptoc.step_times import Timing
from pyptoc.tables import show, table
from pyptoc.usage import is_operator

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.dialects.diagnostics import Diagnostic
    from pyptoc.runtime.compare import Comparison
    from pyptoc.runtime.machine import Machine
    from pyptoc.runtime.signature import Signature


class RunCommand:
    """One run; inputs are ready before the passes start: bad ones cost little."""

    def __init__(self, options: Options, module: ModuleOp, machine: Machine) -> None:
        from pyptoc.cases import read_given
        from pyptoc.runtime.compare import parse_tolerances
        from pyptoc.runtime.inputs import complete
        from pyptoc.runtime.outputs import accept_expected, load_expected
        from pyptoc.runtime.signature import read_signature

        self.options = options
        self.machine = machine
        self.signature = read_signature(module, options.entry)
        self.results = parse_tolerances(options.tol, self.signature.results)
        self.expected: dict[str, Any] | None = None
        self.warnings: list[Diagnostic] = []
        self.seed = options.random_inputs
        has_arrays = options.inputs or (options.case and is_operator(options.input))
        if self.seed is None and not has_arrays and options.check_each:
            self.seed = 0  # Any values do; --bind and cases of a file give sizes.
        if options.expect is not None:
            self.expected, self.warnings = load_expected(options.expect, self.results)
        given = read_given(options, module, self.signature)
        if (
            options.expect is None
            and given.golden is not None
            and options.run
            and not options.bind
        ):
            name = f"the golden of {options.input}"
            self.expected, _ = accept_expected(name, given.golden(), self.results)
        self.inputs = complete(self.signature, given.inputs, given.source, self.seed)
        self.warnings += self.inputs.warnings
        self.checker = CheckEach(partial(self.execute, check=True), self.results)

    def watchers(self) -> list[Watcher]:
        """What has to look on while the passes run."""
        return [self.checker] if self.options.check_each else []

    def execute(self, module: ModuleOp, *, check: bool = False) -> dict[str, Any]:
        """Runs a module; the inputs stay as they are."""
        from pyptoc.runtime.run import run

        values, name = self.inputs.values, self.signature.name
        return run(module, self.machine, values, name, check=check)

    def finish(self, module: ModuleOp, timing: Timing) -> int:
        """Runs what the passes made and shows it; 1 if a result is not as expected."""
        if self.options.check_each:
            sys.stderr.write(self.checker.summary())
        if not self.options.run:
            return 0
        compiling = timing.seconds
        started = time.perf_counter()
        checked = ""
        if self.options.check is None:
            results = self.execute(module)
        else:
            results, checked = self._checked(module)
        seconds = time.perf_counter() - started
        timing.add("run", seconds=seconds)
        name = f"{self.signature.name}  for {self.machine.name}"
        lines = [
            f"compiled  {name}   {compiling:.2f} s   {describe_program(module)}",
            f"inputs    {self._inputs()}",
            f"run       {seconds:.2f} s{checked}",
        ]
        if self.options.outputs is not None:
            lines.append(f"outputs   {self._written(self.options.outputs, results)}")
        if self.expected is None:
            lines += summary_table(self.signature, results)
            show(lines)
            return 0
        return self._verdict(lines, results)

    def _written(self, name: str, results: dict[str, Any]) -> str:
        """Writes the results; which file that is, and what stands in it as integers."""
        from pyptoc.runtime.outputs import write_npz, written_as

        with atomic_file(name) as stream:
            write_npz(stream, results)
        return f"{name}   {written_as(results)}".rstrip()

    def _checked(self, module: ModuleOp) -> tuple[dict[str, Any], str]:
        """The results of a run that checks itself, and what it says of that."""
        from pyptoc.runtime.run import run_checked

        values, name = self.inputs.values, self.signature.name
        seed, check = self.options.seed, self.options.check
        numbers = None if check == "hazards" else check
        results, checked = run_checked(
            module, self.machine, values, name, seed, numbers
        )
        said = {"nan": "; 0 NaN, 0 infinities made", "overflow": "; 0 casts saturated"}
        return results, f"   {checked.text}{said.get(check or '', '')}"

    def _verdict(self, lines: list[str], results: dict[str, Any]) -> int:
        from pyptoc.runtime.compare import compare

        expected = self.expected or {}
        rows = [
            compare(result, results[result.name], expected[result.name])
            for result in self.results
        ]
        passed = all(row.passed for row in rows)
        show([*lines, *comparison_table(rows), "PASS" if passed else "FAIL"])
        if not passed and not self.options.check_each:
            sys.stderr.write("help: --check-each names a pass that changes results\n")
        return int(not passed)

    def _inputs(self) -> str:
        parts: list[str] = []
        for argument in self.signature.arguments:
            value = self.inputs.values[argument.name]
            kind = str(argument.element_type)
            if isinstance(value, int | float):
                parts.append(f"{argument.name} {kind} {value:g}")
            elif value.dtype.kind in "iu" and 0 < value.size <= 8 and value.ndim == 1:
                parts.append(f"{argument.name} {kind} {value}")
            else:
                sizes = ",".join(map(str, value.shape))
                parts.append(f"{argument.name} {kind}[{sizes}]")
        if self.seed is not None:
            parts.append(f" seed {self.seed}")
        return "  ".join(parts)


def comparison_table(rows: Sequence[Comparison]) -> list[str]:
    """The table of `--expect`."""
    header = ("result", "type", "tolerance", "worst", "equal", "verdict")
    cells = [
        (
            row.name,
            row.type,
            row.tolerance,
            row.worst or "-",
            # Rounded down: 100 % is said of nothing less.
            f"{int(row.equal * 10000) / 100:.2f} %",
            "ok" if row.passed else "FAIL",
        )
        for row in rows
    ]
    return table([header, *cells])


def summary_table(signature: Signature, results: dict[str, Any]) -> list[str]:
    """What a run without expected values shows: type, range and mean."""
    import numpy as np

    from pyptoc.runtime.numerics import element_name

    rows = [("result", "type", "min", "max", "mean")]
    kinds = {result.name: result.element_type for result in signature.results}
    for name, value in results.items():
        array = np.asarray(value)
        sizes = ",".join(map(str, array.shape))
        wide = array.astype(np.float64)
        finite = wide[np.isfinite(wide)]
        low = high = mean = "-"
        if finite.size:
            low, high = f"{finite.min():.6g}", f"{finite.max():.6g}"
            mean = f"{finite.mean():.6g}"
        kind = f"{kinds.get(name) or element_name(array.dtype)}[{sizes}]"
        odd = wide.size - finite.size
        if odd:
            mean += f"   ({odd} not finite)"
        rows.append((name, kind, low, high, mean))
    return table(rows)
