"""Running a module at whatever level it is: `run(module, machine, inputs)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import error
from pyptoc.runtime.machine import Machine

if TYPE_CHECKING:
    from pyptoc.runtime.hazards import Checked


def has_kernels(module: ModuleOp) -> bool:
    """Whether the module is at the kernel level or below."""
    return any(op.name == "npu.kernel" for op in module.ops)


def is_lowered(module: ModuleOp) -> bool:
    """Whether the module has kernels, or work for none: a program may return what it is
    given and count in loops of the orchestration."""
    return has_kernels(module) or not any(
        op.name == "npu.tasks" or _handles_tensors(op) for op in module.walk()
    )


def _handles_tensors(op: Operation) -> bool:
    arguments = [arg for region in op.regions for b in region.blocks for arg in b.args]
    return any(isinstance(v.type, TensorType) for v in (*op.results, *arguments))


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


def run_checked(
    module: ModuleOp,
    machine: Machine,
    inputs: Mapping[str, Any],
    entry: str | None = None,
    seed: int | None = None,
    numbers: str | None = None,
) -> tuple[dict[str, NDArray[Any]], Checked]:
    """The results of a run without hazards, and how much was checked.

    seed: of a random order of tasks and pipes. numbers: `nan` or `overflow`, which is
    then an error as well (`hazards_numbers.py`). Raises RunError with what is wrong,
    CompileError for a module that lacks its kernels.
    """
    if not is_lowered(module):
        error(
            None,
            "PTO290",
            "there are no kernels to check",
            help="check what the whole pipeline gives (--compile-to=program)",
        )
    from pyptoc.runtime.hazards_run import CheckedExecutable

    program = CheckedExecutable(module, machine, numbers)
    results = program.run(inputs, entry, seed)
    assert program.checked is not None
    return results, program.checked
