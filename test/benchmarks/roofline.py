"""
How near its roofline each operator comes, as modelled: `make roofline`.

    python test/benchmarks/roofline.py

Of each operator its largest case is simulated on each machine that has its types. The
roof is the greatest of the times that the program needs at least for one part of the
machine (docs/timing.md), without that of issuing launches, which is said by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import pyptoc
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.runtime.machine import machine_names
from pyptoc.runtime.timing_result import Timeline
from pyptoc.simulate_command import NEAR, limits, nearest_roof
from pyptoc.tables import table

HEADER = ("operator", "case", "machine", "time us", "roof", "reached", "limited by")
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "grouped_matmul_swiglu_quant": ("M=16", {"M": 16, "group_list": [7, 9]}),
}
"""Cases of operators whose module has none."""


def operators() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Name, case, text and inputs."""
    folder = Path(__file__).parents[1] / "operators"
    for path in sorted(folder.glob("*.mlir")):
        if path.stem in CASES:
            yield path.stem, CASES[path.stem][0], path.read_text(), CASES[path.stem][1]
        elif (folder / f"{path.stem}.py").exists():
            module = import_module(f"pyptoc.operators.{path.stem}")
            case = max(module.CASES, key=lambda case: case.long)
            yield path.stem, str(case), module.source(case), module.inputs(case)


def row(name: str, case: str, timeline: Timeline) -> tuple[str, ...]:
    """A line of the table."""
    roof, reached = nearest_roof(timeline)
    limit = "" if reached >= NEAR else f"{timeline.bound}; {limits(timeline)}"
    time, share = f"{1e6 * timeline.seconds:.1f}", f"{100 * reached:.0f} %"
    return name, case, timeline.machine.name, time, roof, share, limit


def main() -> int:
    """Prints the table."""
    rows = [HEADER]
    for name, case, text, inputs in operators():
        for machine in machine_names():
            try:
                program = pyptoc.compile(text, machine=machine)
                rows.append(row(name, case, program.simulate(**inputs)))
            except CompileError as refused:
                reason = refused.diagnostics[0].message
                rows.append((name, case, machine, "-", "-", "-", reason))
    print("\n".join(table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
