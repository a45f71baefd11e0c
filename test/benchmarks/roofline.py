"""
How near its roofline each operator comes, as modelled: `make roofline`.

    python test/benchmarks/roofline.py

Of each operator its largest case is simulated on each machine that has its types. The
roof is the greatest of the times that the program needs at least for one part of the
machine (docs/timing.md), without that of issuing launches, which is said by itself.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import pyptoc
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.subscripts import count
from pyptoc.run_command import table
from pyptoc.runtime.machine import machine_names
from pyptoc.runtime.timing_result import Timeline

ENOUGH = 0.7
"""Below this share of the roof the row says what limits."""
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
            module = import_module(f"operators.{path.stem}")
            case = max(module.CASES, key=lambda case: case.long)
            yield path.stem, str(case), module.source(case), module.inputs(case)


def row(name: str, case: str, timeline: Timeline) -> tuple[str, ...]:
    """A line of the table."""
    roofs = {key: value for key, value in timeline.roofs.items() if key != "dispatch"}
    roof = max(roofs, key=lambda key: roofs[key])
    reached = timeline.near(roof)
    limit = "" if reached >= ENOUGH else limits(timeline)
    time, share = f"{1e6 * timeline.seconds:.1f}", f"{100 * reached:.0f} %"
    return name, case, timeline.machine.name, time, roof, share, limit


def limits(timeline: Timeline) -> str:
    """What keeps a program from its roof, and where most of its time goes."""
    cycles: Counter[str] = Counter()
    for launch in timeline.launches:
        cycles[launch.kernel] += launch.cycles
    ((kernel, most),) = cycles.most_common(1)
    of_it = [launch for launch in timeline.launches if launch.kernel == kernel]
    longest = max(of_it, key=lambda launch: launch.cycles)
    busiest = max(longest.busy, key=lambda pipe: longest.busy[pipe])
    return (
        f"{timeline.bound}; {kernel} takes {100 * most / cycles.total():.0f} % in "
        f"{launches(len(of_it))} on {count(longest.lanes, 'core')}, "
        f"{busiest} busy {100 * longest.busy[busiest]:.0f} %"
    )


def launches(number: int) -> str:
    """`1 launch`, `3 launches`."""
    return f"{number} launch{'' if number == 1 else 'es'}"


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
