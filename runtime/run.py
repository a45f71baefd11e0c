"""Running a module at whatever level it is: `run(module, machine, inputs)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from pyptoc.runtime.machine import Machine


def has_kernels(module: ModuleOp) -> bool:
    """Whether the module is at the kernel level or below."""
    return any(op.name == "npu.kernel" for op in module.ops)


Run = Callable[[Mapping[str, Any], str | None], dict[str, NDArray[Any]]]
"""`run(inputs, entry)`: the results by name."""


def runner(module: ModuleOp, machine: Machine, *, check: bool = False) -> Run:
    """
    A function that runs the module, as it is now; kernels are translated once.

    check: as the interpreter adds up a product, with every copy, and no memory read
    that was not written.
    """
    if has_kernels(module):
        from pyptoc.runtime.executor import Executable

        return Executable(module, machine, check=check).run
    from pyptoc.runtime.reference import interpret

    return lambda inputs, entry: interpret(module, dict(inputs), entry)


def run(
    module: ModuleOp,
    machine: Machine,
    inputs: Mapping[str, Any],
    entry: str | None = None,
    *,
    check: bool = False,
) -> dict[str, NDArray[Any]]:
    """The results by name, from the executor or from the reference interpreter.

    inputs: arrays and numbers by the arguments' names; check: see `runner`. Raises
    RunError.
    """
    return runner(module, machine, check=check)(inputs, entry)
