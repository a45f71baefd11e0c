"""Kernels of `random_kernels.entry`: their results, in any order of the pipes."""

from __future__ import annotations

from typing import Any

import numpy as np
from happens_before import problems_of
from xdsl.dialects.builtin import MemRefType, ModuleOp

from pyptoc.dialects.context import make_context
from pyptoc.dialects.npu import kernels_of
from pyptoc.dialects.parsing import parse_module
from pyptoc.passes.flags import Flag
from pyptoc.passes.insert_sync import plan_kernel, write_flags
from pyptoc.passes.plan_memory import PlanMemoryPass
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import Machine

TRIPS = [(0, 0), (1, 1), (2, 3), (3, 0), (5, 1), (0, 3), (3, 2)]
"""Values of the scalars n and m, by which loops run."""


def all_problems(module: ModuleOp) -> list[str]:
    (kernel,) = kernels_of(module).values()
    return [
        problem for n, m in TRIPS for problem in problems_of(kernel, {"n": n, "m": m})
    ]


def results(program: Executable, n: int, m: int, order: int | None) -> dict[str, Any]:
    """What the kernel leaves in memory, in a fixed order or an adversarial one."""
    (kernel,) = kernels_of(program.module).values()
    sizes = {
        value.name_hint: value.type.get_shape()
        for value in kernel.parameters
        if isinstance(value.type, MemRefType)
    }
    values = np.arange(128 * 16, dtype=np.float32).reshape(128, 16)[: sizes["x"][0]]
    inputs = {"x": values % 7 - 3, "y": values % 5 - 2, "z": values % 3}
    given = {name: value for name, value in inputs.items() if name in sizes}
    return program.run({**given, "n": n, "m": m}, order=order)


def assert_same_in_any_order(module: ModuleOp, machine: Machine) -> None:
    program = Executable(module, machine, check=True)
    for n, m in TRIPS[1:5]:
        want = results(program, n, m, None)
        for seed in range(4):
            got = results(program, n, m, seed)
            for name, value in want.items():
                np.testing.assert_array_equal(got[name], value, err_msg=name)


def without_flag(
    text: str, machine: Machine, gone: int | None
) -> tuple[ModuleOp, list[Flag]]:
    """The module without the flag of that number, and all its flags."""
    context = make_context(machine)
    module = parse_module(text, "test.mlir", context)
    PlanMemoryPass().apply(context, module)
    (kernel,) = kernels_of(module).values()
    plans = plan_kernel(context, kernel, {})
    flags = [flag for plan in plans.values() for flag in plan.flags]
    for plan in plans.values():
        if gone is not None and flags[gone] in plan.flags:
            plan.flags.remove(flags[gone])
    write_flags(plans)
    return module, flags
