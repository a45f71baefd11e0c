"""
What the compiler and the timing model know about a machine.

A machine is a TOML file (`machines/*.toml`, or a file of the user's own): capacities,
alignments, direct paths between memory spaces, supported types, rates and costs, with
the unit in each key's name. `machine_file.py` refuses what is wrong with a file and
`load_machine` makes frozen dataclasses of it. docs/machines.md lists the keys.
All numbers about hardware live in those files; no pass and no model holds one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.near import nearest
from pyptoc.runtime.machine_file import check_whole, read_table, refuse
from pyptoc.runtime.machine_keys import SPACES

MACHINES = Path(__file__).parent / "machines"


@dataclass(frozen=True)
class Space:
    """An on-chip memory of one core. A space of 0 bytes does not exist."""

    name: str
    bytes: int
    align: int
    """Every buffer starts at a multiple of this many bytes."""


@dataclass(frozen=True)
class Route:
    """
    A direct transfer from one space to another, on one pipe of a core.

    From gm the rate is that of HBM, as one core sees it; `Memory` has that of L2.
    """

    source: str
    target: str
    pipe: str
    bytes_per_cycle: float
    startup_cycles: float


@dataclass(frozen=True)
class VectorCost:
    """Cycles of a vector instruction over n repeats of `vector_bytes`."""

    head: float
    per_repeat: float
    tail: float


@dataclass(frozen=True)
class Memory:
    """The memory outside the cores, shared by all of them."""

    hbm_bytes_per_second: float
    l2_bytes: int
    l2_kept_bytes: int
    """What is found again in L2: less than its size."""
    l2_to_hbm_ratio: float
    row_overhead_bytes: float
    """What each row of a box adds to a transfer: narrow boxes do not reach the rate."""
    l2_read_bytes_per_cycle_per_core: float
    l2_write_bytes_per_cycle_per_core: float


@dataclass(frozen=True)
class Machine:
    """A machine; see the key of the same name in `machines/ascend950.toml`."""

    name: str
    summary: str
    cube_cores: int
    vector_cores: int
    clock_hz: float
    spaces: Mapping[str, Space]
    pipes: Mapping[str, tuple[str, ...]]
    """The pipes of a `cube` core and of a `vector` core."""
    routes: Mapping[tuple[str, str], Route]
    event_ids: int
    """Flag ids of each ordered pair of pipes of one core."""
    cross_core_flags: int
    fractal_rows: int
    fractal_row_bytes: int
    supports_mx: bool
    macs_per_cycle: Mapping[str, int]
    """Matmul input element type (as MLIR spells it) to multiply-adds a cycle."""
    matmul_head_cycles: float
    casts: frozenset[tuple[str, str]]
    """(source, target) element types that one vector instruction converts."""
    vector_bytes: int
    vector_costs: Mapping[str, VectorCost]
    vector_ragged_cycles: float
    """What a vector instruction adds whose rows are no whole repeats."""
    memory: Memory
    launch_seconds: float
    """Fixed cost of one launch, before its first task starts."""
    next_launch_seconds: float
    """From the issue of one launch of a program to that of the next."""
    task_seconds: float
    """What taking a task costs a core where cores take whichever is next."""
    wait_seconds: float
    """From the end of a task until tasks on other cores know of it."""
    cross_core_cycles: int
    """From a push or a free until the other core of a mixed kernel knows of it."""

    @property
    def matmul_inputs(self) -> frozenset[str]:
        """Element types that the cube unit multiplies."""
        return frozenset(self.macs_per_cycle)

    def space(self, name: str) -> Space:
        """The space `name`; of 0 bytes where this machine has none."""
        return self.spaces[name]

    def can_cast(self, source: str, target: str) -> bool:
        """Whether one instruction converts `source` elements to `target` ones."""
        return (source, target) in self.casts

    def has_route(self, source: str, target: str) -> bool:
        """Whether a core moves data straight from `source` to `target`."""
        return (source, target) in self.routes

    def route(self, source: str, target: str) -> Route:
        """The direct transfer from `source` to `target`; PTO511 if there is none."""
        found = self.routes.get((source, target))
        if found is None:
            error(
                None,
                "PTO511",
                f"machine {self.name} has no route from {source} to {target}",
                rule="routes.SOURCE.TARGET of its file has the rate of each transfer",
                help=f"start from a copy of {MACHINES / 'ascend950.toml'}",
            )
        return found

    def vector_cost(self, name: str) -> VectorCost:
        """The cost of the vector instruction `name`, or the default cost."""
        return self.vector_costs.get(name) or self.vector_costs["default"]


def machine_names() -> tuple[str, ...]:
    """Names that `load_machine` knows without a path, sorted."""
    return tuple(sorted(path.stem for path in MACHINES.glob("*.toml")))


def load_machine(name_or_path: str | Path) -> Machine:
    """
    The machine of that name, or described by that TOML file.

    A string with a slash or the ending `.toml` is a path. Raises `CompileError`:
    PTO510 for an unknown name, PTO511 for a file that is missing or wrong.
    """
    if name_or_path in machine_names():
        return _builtin(MACHINES / f"{name_or_path}.toml")
    return machine_of(machine_table(name_or_path))


def _unknown(name: str) -> NoReturn:
    known = machine_names()
    close = nearest(name, known, cutoff=0.5)
    hint = f"did you mean '{close}'? " if close else ""
    error(
        None,
        "PTO510",
        f"unknown machine '{name}'",
        help=f"{hint}known machines: {', '.join(known)}; "
        "or give the path of a .toml file",
    )


@cache
def _builtin(path: Path) -> Machine:
    """A machine that ships with the compiler; its file does not change."""
    return machine_of(read_table(path, {}))


def machine_table(name_or_path: str | Path) -> dict[str, Any]:
    """The complete table of the machine that `load_machine` makes of it."""
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in text or text.endswith(".toml"):
        builtin = {name: MACHINES / f"{name}.toml" for name in machine_names()}
        return read_table(Path(text), builtin)
    if text not in machine_names():
        _unknown(text)
    return read_table(MACHINES / f"{text}.toml", {})


def machine_of(table: Mapping[str, Any]) -> Machine:
    """
    The machine that a table describes.

    Raises `CompileError` (PTO511) where its values do not go together.
    """
    problems = check_whole(table)
    if problems:
        refuse(problems, str(table.get("name", "")))
    cores, cube, vector = table["cores"], table["cube"], table["vector"]
    launch, sync, fractal = table["launch"], table["sync"], table["fractal"]
    costs = vector["cost_cycles"]
    spaces = _spaces(table["spaces"])
    return Machine(
        name=table["name"],
        summary=table["summary"],
        cube_cores=cores["cube"],
        vector_cores=cores["vector"],
        clock_hz=cores["clock_ghz"] * 1e9,
        spaces=spaces,
        pipes={unit: tuple(names) for unit, names in table["pipes"].items()},
        routes=_routes(table["routes"], spaces),
        event_ids=sync["event_ids_per_pipe_pair"],
        cross_core_flags=sync["cross_core_flags"],
        fractal_rows=fractal["rows"],
        fractal_row_bytes=fractal["row_bytes"],
        supports_mx=cube["supports_mx"],
        macs_per_cycle=dict(cube["macs_per_cycle"]),
        matmul_head_cycles=float(cube["head_cycles"]),
        casts=frozenset((s, t) for s, to in vector["casts"].items() for t in to),
        vector_bytes=vector["repeat_bytes"],
        vector_costs={name: VectorCost(*map(float, c)) for name, c in costs.items()},
        vector_ragged_cycles=float(vector["ragged_cycles"]),
        memory=_memory(table["memory"]),
        launch_seconds=launch["start_microseconds"] * 1e-6,
        next_launch_seconds=launch["next_microseconds"] * 1e-6,
        task_seconds=launch["task_microseconds"] * 1e-6,
        wait_seconds=launch["wait_microseconds"] * 1e-6,
        cross_core_cycles=sync["cross_core_cycles"],
    )


def _spaces(table: Mapping[str, Any]) -> dict[str, Space]:
    spaces = {name: Space(name, 0, 1) for name in SPACES}
    for name, entry in table.items():
        spaces[name] = Space(name, entry["size_bytes"], entry["align_bytes"])
    return spaces


def _routes(
    table: Mapping[str, Any], spaces: Mapping[str, Space]
) -> dict[tuple[str, str], Route]:
    """The routes between memories that exist."""
    return {
        (source, target): Route(
            source,
            target,
            entry["pipe"],
            float(entry["bytes_per_cycle"]),
            float(entry["startup_cycles"]),
        )
        for source, targets in table.items()
        for target, entry in targets.items()
        if all(place == "gm" or spaces[place].bytes for place in (source, target))
    }


def _memory(table: Mapping[str, Any]) -> Memory:
    sizes = ("l2_bytes", "l2_kept_bytes")
    values: dict[str, Any] = {
        name: value if name in sizes else float(value) for name, value in table.items()
    }
    return Memory(**values)
