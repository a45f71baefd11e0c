"""Runs one kernel, written as text, on numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptoc.dialects.context import make_context
from pyptoc.dialects.npu_kernel import kernels_of
from pyptoc.dialects.parsing import parse_module
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.matmul import Scratch
from pyptoc.runtime.memory import Buffers, Memory
from pyptoc.runtime.pipes import Pipes
from pyptoc.runtime.translate import Core, KernelTranslator

Array = NDArray[Any]


def translate(
    text: str, *, seed: int | None = None, fuse: bool = True, check: bool = True
) -> KernelTranslator:
    """The only kernel of a module; `seed` runs its pipes out of order."""
    module = parse_module(text, "test.mlir", make_context())
    module.verify()
    (kernel,) = kernels_of(module).values()
    pipes = None if seed is None else Pipes(seed)
    buffers = Buffers(load_machine("ascend950"))
    return KernelTranslator(kernel, Core(buffers, Scratch(), fuse, check, pipes))


def run_kernel(
    text: str,
    grid: tuple[int, ...],
    arrays: list[Array],
    scalars: tuple[Any, ...] = (),
    **options: Any,
) -> None:
    """Run all tasks of a grid on gm arrays, which change in place."""
    kernel = translate(text, **options)
    memories = tuple(Memory(array) for array in arrays)
    with np.errstate(all="ignore"):
        kernel.launch(grid, memories, scalars)
