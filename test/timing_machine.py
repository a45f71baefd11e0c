"""A machine whose costs can be added up by hand, and programs for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyptoc.api import Program, compile
from pyptoc.runtime.machine import Machine, VectorCost, load_machine

START = 100
"""Cycles before the first task; a cycle is a nanosecond."""


def tiny_machine(**changes: Any) -> Machine:
    """
    One cube core, one vector core, 1 GHz, and round numbers.

    gm to ub 10 + bytes / 8 from HBM or / 64 from L2, ub to gm 5 + bytes / 32; a vector
    instruction takes 3 a repeat, and 7 before and 11 after where it waits.
    """
    machine = load_machine("ascend910b")
    routes = dict(machine.routes)
    for (source, target), rate, startup in (
        (("gm", "ub"), 8, 10),
        (("gm", "l1"), 8, 10),
        (("ub", "gm"), 32, 5),
        (("l0c", "gm"), 32, 5),
    ):
        route = routes[source, target]
        routes[source, target] = replace(
            route, bytes_per_cycle=rate, startup_cycles=startup
        )
    memory = replace(
        machine.memory,
        hbm_bytes_per_second=1e12,
        l2_kept_bytes=2**20,
        row_overhead_bytes=0,
        l2_read_bytes_per_cycle_per_core=64,
        l2_write_bytes_per_cycle_per_core=64,
    )
    made = replace(
        machine,
        cube_cores=1,
        vector_cores=1,
        clock_hz=1e9,
        routes=routes,
        memory=memory,
        vector_costs={"default": VectorCost(7, 3, 11)},
        vector_ragged_cycles=0,
        launch_seconds=START * 1e-9,
        next_launch_seconds=0,
        task_seconds=0,
        wait_seconds=0,
        cross_core_cycles=20,
    )
    return replace(made, **changes)


def vector_program(
    body: str,
    machine: Machine | None = None,
    grid: int = 3,
    rows: int = 3,
    accesses: str = "read %x[%i, 0] [1, 64], write %y[%i, 0] [1, 64]",
    launch: str = 'order = "row", assign = "static"',
) -> Program:
    """A kernel on rows of 64 f32 (256 bytes); flags are in the body."""
    memory = f'memref<{rows}x64xf32, "gm">'
    text = f"""
npu.kernel @rows (%i) (%x: {memory}, %y: {memory}) on vector accesses({accesses}) {{
{body}
}}
func.func @op(%x: {memory} {{pypto.name = "x"}}) -> ({memory} {{pypto.name = "y"}}) {{
  %y = npu.alloc[{rows}, 64] : {memory}
  %t = npu.launch @rows[{grid}] (%x, %y) {{{launch}}}
  func.return %y : {memory}
}}
"""
    return compile(text, machine=machine or tiny_machine(), pipeline="")


def slower(machine: Machine) -> Mapping[str, Machine]:
    """The machine with one thing slower, by what it is."""
    memory = machine.memory

    def route(source: str, target: str, **fields: float) -> Machine:
        routes = dict(machine.routes)
        routes[source, target] = replace(routes[source, target], **fields)
        return replace(machine, routes=routes)

    pairs = (("gm", "l1"), ("l1", "l0a"), ("l1", "l0b"), ("l0c", "gm"), ("ub", "gm"))
    made = {
        f"{a} to {b} {what}": route(a, b, **{what: value})
        for a, b in pairs
        for what, value in (("bytes_per_cycle", 20.0), ("startup_cycles", 300.0))
    }
    halves = {
        name: replace(memory, **{name: getattr(memory, name) / 2})
        for name in (
            "hbm_bytes_per_second",
            "l2_kept_bytes",
            "l2_read_bytes_per_cycle_per_core",
            "l2_write_bytes_per_cycle_per_core",
        )
    }
    made |= {name: replace(machine, memory=half) for name, half in halves.items()}
    macs = {name: count // 2 for name, count in machine.macs_per_cycle.items()}
    costs = {
        name: VectorCost(2 * c.head, 2 * c.per_repeat, 2 * c.tail)
        for name, c in machine.vector_costs.items()
    }
    return made | {
        "rows": replace(machine, memory=replace(memory, row_overhead_bytes=200)),
        "macs": replace(machine, macs_per_cycle=macs),
        "head": replace(machine, matmul_head_cycles=50),
        "vector": replace(machine, vector_costs=costs),
        "launch": replace(machine, launch_seconds=2 * machine.launch_seconds),
        "crossing": replace(machine, cross_core_cycles=2000),
    }
