"""
What the compiler and the timing model know about a machine.

A machine is a TOML file (`machines/*.toml`, or a file of the user's own): capacities,
alignments, direct paths between memory spaces, supported types, rates and costs, with
the unit in each key's name. `load_machine` reads it once into frozen dataclasses and
refuses a file that misses a key, has a key nobody reads, or names an unknown space.
All numbers about hardware live in those files; no pass and no model holds one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import NoReturn

from pyptoc.dialects.diagnostics import error
from pyptoc.runtime.machine_file import MachineFileError, Section

MACHINES = Path(__file__).parent / "machines"

SPACES = ("l1", "l0a", "l0b", "l0c", "bias", "fb", "ub", "scale_a", "scale_b")
"""The on-chip memory spaces of the `tile` dialect; `gm` is the memory outside."""

PIPES = ("mte2", "mte1", "m", "fix", "v", "mte3", "s")
"""The in-order queues of a core (some on cube cores, some on vector cores)."""


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
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in text or text.endswith(".toml"):
        return _read(Path(text))
    path = MACHINES / f"{text}.toml"
    if text not in machine_names():
        _unknown(text)
    return _builtin(path)


def _unknown(name: str) -> NoReturn:
    known = machine_names()
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
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
    return _read(path)


def _read(path: Path) -> Machine:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return _machine(Section("", table))
    except OSError as exc:
        reason = exc.strerror or str(exc)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        reason = f"not a TOML file: {exc}"
    except MachineFileError as exc:
        reason = str(exc)
    error(
        None,
        "PTO511",
        f"machine file {path}: {reason}",
        help=f"start from a copy of {MACHINES / 'ascend950.toml'}",
    )


def _machine(top: Section) -> Machine:
    cores = top.section("cores")
    cube = top.section("cube")
    vector = top.section("vector")
    launch = top.section("launch")
    sync = top.section("sync")
    fractal = top.section("fractal")
    pipes = top.section("pipes")
    machine = Machine(
        name=top.text("name"),
        summary=top.text("summary"),
        cube_cores=cores.count("cube", least=1),
        vector_cores=cores.count("vector", least=1),
        clock_hz=cores.number("clock_ghz") * 1e9,
        spaces=_spaces(top.section("spaces")),
        pipes={unit: pipes.names(unit, PIPES) for unit in ("cube", "vector")},
        routes=_routes(top.section("routes")),
        event_ids=sync.count("event_ids_per_pipe_pair", least=1),
        cross_core_flags=sync.count("cross_core_flags"),
        fractal_rows=fractal.count("rows", least=1),
        fractal_row_bytes=fractal.count("row_bytes", least=1),
        supports_mx=cube.flag("supports_mx"),
        macs_per_cycle=_macs(cube.section("macs_per_cycle")),
        matmul_head_cycles=cube.number("head_cycles"),
        casts=_casts(vector.section("casts")),
        vector_bytes=vector.count("repeat_bytes", least=1),
        vector_costs=_vector_costs(vector.section("cost_cycles")),
        vector_ragged_cycles=vector.number("ragged_cycles"),
        memory=_memory(top.section("memory")),
        launch_seconds=launch.number("start_microseconds") * 1e-6,
        next_launch_seconds=launch.number("next_microseconds") * 1e-6,
        task_seconds=launch.number("task_microseconds") * 1e-6,
        wait_seconds=launch.number("wait_microseconds") * 1e-6,
        cross_core_cycles=sync.count("cross_core_cycles"),
    )
    top.finish()
    return machine


def _spaces(section: Section) -> dict[str, Space]:
    spaces: dict[str, Space] = {}
    for name in section.entries(SPACES):
        entry = section.section(name)
        align = entry.count("align_bytes", least=1)
        spaces[name] = Space(name, entry.count("size_bytes"), align)
    for name in SPACES:
        spaces.setdefault(name, Space(name, 0, 1))
    return spaces


def _routes(section: Section) -> dict[tuple[str, str], Route]:
    routes: dict[tuple[str, str], Route] = {}
    places = ("gm", *SPACES)
    for source in section.entries(places):
        targets = section.section(source)
        for target in targets.entries(places):
            entry = targets.section(target)
            (pipe,) = entry.names("pipe", PIPES, single=True)
            routes[source, target] = Route(
                source,
                target,
                pipe,
                entry.number("bytes_per_cycle"),
                entry.number("startup_cycles"),
            )
    return routes


def _macs(section: Section) -> dict[str, int]:
    return {name: section.count(name, least=1) for name in section.entries()}


def _casts(section: Section) -> frozenset[tuple[str, str]]:
    return frozenset(
        (source, target)
        for source in section.entries()
        for target in section.names(source)
    )


def _vector_costs(section: Section) -> dict[str, VectorCost]:
    costs = {name: VectorCost(*section.triple(name)) for name in section.entries()}
    if "default" not in costs:
        section.fail("needs a cost for 'default'")
    return costs


def _memory(section: Section) -> Memory:
    return Memory(
        hbm_bytes_per_second=section.number("hbm_bytes_per_second"),
        l2_bytes=section.count("l2_bytes"),
        l2_kept_bytes=section.count("l2_kept_bytes"),
        l2_to_hbm_ratio=section.number("l2_to_hbm_ratio"),
        row_overhead_bytes=section.number("row_overhead_bytes"),
        l2_read_bytes_per_cycle_per_core=section.number(
            "l2_read_bytes_per_cycle_per_core"
        ),
        l2_write_bytes_per_cycle_per_core=section.number(
            "l2_write_bytes_per_cycle_per_core"
        ),
    )
