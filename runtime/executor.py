"""
The executor: kernels and their launches on numpy, with or without addresses and flags.

    program = Executable(module, machine)
    results = program.run({"a": a, "b": b})

Each kernel becomes one Python function (`translate.py`), the orchestration another
(`orchestration.py`); both are made at the first run and kept. Always checked: the
bounds of every access to gm, extents against buffers, assertions, and that results are
fully written. `order=seed` runs the pipes of each task as far apart as the flags allow
(`pipes.py`): a forgotten flag then shows as a wrong value.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.npu_kernel import kernels_of
from pyptoc.dialects.record import record
from pyptoc.runtime.codegen import to_f32
from pyptoc.runtime.core import Core
from pyptoc.runtime.failures import check_written
from pyptoc.runtime.machine import Machine
from pyptoc.runtime.matmul import Scratch
from pyptoc.runtime.memory import Buffers, Memory
from pyptoc.runtime.numerics import storage_dtype
from pyptoc.runtime.orchestration import Orchestration
from pyptoc.runtime.pipes import Pipes
from pyptoc.runtime.signature import Argument, Signature, find_entry, read_signature
from pyptoc.runtime.translate import KernelTranslator

Array = NDArray[Any]
BUFFER = 1024
"""Elements of an operand that numpy copies at a time.

Of matrices whose rows do not lie side by side it copies as many rows as fit into its
buffer, to compute several at once. By default there are 8192, and that takes up to
three times as long as to compute row by row. Sums of rows do not depend on it.
"""


@record
class Settings:
    """How a program is translated."""

    fuse: bool = True
    check: bool = False
    ordered: bool = True
    """Program order; otherwise pipes run as far apart as the flags allow."""


@record
class Program:
    """One translation of an entry function and the kernels it launches."""

    orchestration: Orchestration
    pipes: Pipes


class Executable:
    """A module of kernels and their orchestration, ready to run."""

    def __init__(
        self,
        module: ModuleOp,
        machine: Machine,
        *,
        fuse: bool = True,
        check: bool = False,
    ) -> None:
        """
        fuse: one product for a loop of slices (see `translate_cube.py`), read from gm
        where that is the same.
        check: poison the buffers of a core before each task.
        """
        self.module, self.machine = module, machine
        self.settings = Settings(fuse, check)
        self._programs: dict[tuple[str, Settings], Program] = {}
        self._signatures: dict[str, Signature] = {}

    def run(
        self,
        inputs: Mapping[str, Any],
        entry: str | None = None,
        order: int | None = None,
    ) -> dict[str, Array]:
        """The results by name. `order`: a seed for running the pipes out of order.

        Inputs are arrays of the storage type (or of its bits), or numbers, by the
        arguments' names. Raises RunError; the inputs are never changed.
        """
        function = find_entry(self.module, entry)
        name = function.sym_name.data
        program = self.prepare(name, ordered=order is None)
        if order is not None:
            program.pipes.seed(order)
        if name not in self._signatures:
            self._signatures[name] = read_signature(self.module, name)
        signature = self._signatures[name]
        orchestration = program.orchestration
        given = [
            _bound(argument, inputs, orchestration.is_written(value))
            for argument, value in zip(
                signature.arguments, function.body.block.args, strict=True
            )
        ]
        with _numpy_settings():
            values = orchestration.call(given)
        results: dict[str, Array] = {}
        taken = [np.asarray(each) for each in inputs.values()]
        for result, value in zip(signature.results, values, strict=True):
            if isinstance(value, Memory):
                check_written(result.name, value, orchestration.return_op)
                array = _released(value, taken)
                taken.append(array)
                results[result.name] = array
            else:
                dtype = storage_dtype(result.element_type)
                results[result.name] = np.array(value, dtype)
        return results

    def prepare(self, name: str, ordered: bool = True) -> Program:
        """Translate an entry function and all kernels, once."""
        key = (name, replace(self.settings, ordered=ordered))
        if key not in self._programs:
            self._programs[key] = self.translated(name, None if ordered else Pipes(0))
        return self._programs[key]

    def translated(self, name: str, pipes: Pipes | None) -> Program:
        """Translate an entry function and its kernels. pipes: they run out of order."""
        fuse, check = self.settings.fuse, self.settings.check
        core = Core(Buffers(self.machine), Scratch(), fuse, check, pipes)
        kernels = {
            name: KernelTranslator(kernel, core)
            for name, kernel in kernels_of(self.module).items()
        }
        function = find_entry(self.module, name)
        return Program(self.orchestration(function, kernels), pipes or Pipes(0))

    def orchestration(
        self, function: func.FuncOp, kernels: dict[str, KernelTranslator]
    ) -> Orchestration:
        """The translation of the entry function itself."""
        return Orchestration(function, kernels)


@contextmanager
def _numpy_settings() -> Generator[None]:
    """How numpy computes while a program runs."""
    with np.errstate(all="ignore"):
        before = np.setbufsize(BUFFER)
        try:
            yield
        finally:
            np.setbufsize(before)


def _bound(argument: Argument, inputs: Mapping[str, Any], written: bool) -> Any:
    """An input as the orchestration takes it: Memory, int or float."""
    if argument.name in inputs:
        value = inputs[argument.name]
    elif argument.default is not None:
        value = argument.default
    else:
        error(argument.location, "PTO501", f"missing input '{argument.name}'")
    dtype = storage_dtype(argument.element_type)
    if argument.shape is None:
        return to_f32(float(value)) if dtype.kind == "f" else int(value)
    given = np.asarray(value)
    # ascontiguousarray makes an array of rank 1 from one of rank 0.
    array = np.ascontiguousarray(given).reshape(given.shape)
    is_bits = array.dtype.kind in "uV" and array.dtype.itemsize == dtype.itemsize
    if array.dtype != dtype and is_bits:
        array = array.view(dtype)
    shape = argument.shape
    fits = len(shape) == array.ndim and all(
        size is None or size == found
        for size, found in zip(shape, array.shape, strict=True)
    )
    if array.dtype != dtype or not fits:
        error(
            argument.location,
            "PTO501",
            f"'{argument.name}' has shape {array.shape} {array.dtype}; "
            f"%{argument.name} is {argument.type_text}",
        )
    copied = written and np.may_share_memory(array, given)
    return Memory(array.copy() if copied else array)


def _released(memory: Memory, taken: Sequence[Array]) -> Array:
    """A result's array: none of the caller's, nor part of another result's.

    taken: the inputs, and the results before.
    """
    array = memory.array
    shared = any(np.may_share_memory(array, other) for other in taken)
    return array.copy() if shared else array
