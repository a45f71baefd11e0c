"""
Cases of indexing ops: programs, inputs and results by definition, and how to check one.

Each case is a program, random inputs for it, and what its results should be by a
definition that loops over indices. It runs in the interpreter at the tensor level and
at the task level, and compiled for both machines: in program order, and with the pipes
of each core as far apart as the flags allow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from element_types import DTYPES
from numpy.typing import NDArray

from pyptoc.api import compile
from pyptoc.dialects.context import make_context
from pyptoc.dialects.parsing import parse_module
from pyptoc.pipeline_text import default_pipeline
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.reference import interpret

Array = NDArray[Any]
Inputs = dict[str, Any]
MACHINES = ("ascend950", "ascend910b")
ORDERS = (1, 2)
ELEMENTS = [name for name in DTYPES if name not in ("f8E5M2", "f8E8M0FNU")]
"""The element types that indexing ops move."""


@dataclass(frozen=True)
class Case:
    """A program, its inputs, and its results by definition."""

    text: str
    inputs: Inputs
    want: list[Array]
    name: str = field(default="", compare=False)


def values(draw: np.random.Generator, element: str, *shape: int) -> Array:
    """Numbers of which several are equal; floats with NaN, infinities and -0.0."""
    whole = draw.integers(-9, 10, shape)
    if element == "i1":
        return whole > 0
    if element.startswith(("i", "ui")):
        return (np.abs(whole) if element == "ui8" else whole).astype(DTYPES[element])
    number = whole.astype(np.float32) / 4
    special = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)
    hit = draw.random(shape) < 0.1
    number = np.where(hit, draw.choice(special, shape), number)
    with np.errstate(all="ignore"):
        return number.astype(DTYPES[element])


def same(got: Array, want: Array) -> bool:
    """Equal bits, every NaN being one."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype.kind in "iub":
        return bool((got == want).all())
    a, b = got.astype(np.float64), want.astype(np.float64)
    nan = np.isnan(a) & np.isnan(b)
    return bool((nan | ((a == b) & (np.signbit(a) == np.signbit(b)))).all())


def type_of(array: Array, dynamic: bool, fixed: int = 0) -> str:
    """`tensor<?x4xf32>`; all dimensions but the last `fixed` ones `?`, or none."""
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    free = array.ndim - fixed if dynamic else 0
    sizes = ["?"] * free + [str(size) for size in array.shape[free:]]
    return f"tensor<{'x'.join([*sizes, names[array.dtype]])}>"


def program(
    body: str,
    inputs: dict[str, Array],
    want: list[Array],
    dynamic: bool,
    results: str = "%y",
    named: str = "",
    fixed: int = 0,
) -> str:
    """A function of the inputs; of the results the last dimensions may be fixed."""
    arguments = ", ".join(
        f"%{name}: {type_of(array, dynamic)}" for name, array in inputs.items()
    )
    name = f' {{pypto.name = "{named}"}}' if named else ""
    types = ", ".join(type_of(array, dynamic, fixed) + name for array in want)
    plain = ", ".join(type_of(array, dynamic, fixed) for array in want)
    return (
        f"func.func @f({arguments}) -> ({types}) {{\n  {body}\n"
        f"  func.return {results} : {plain}\n}}\n"
    )


def results_of(found: dict[str, Array]) -> list[Array]:
    return list(found.values())


def check(case: Case) -> None:
    """Every level, both machines, every order."""
    module = parse_module(case.text, "op.mlir", make_context())
    module.verify()
    expect("the source", interpret(module, case.inputs), case)
    for machine in MACHINES:
        tasks = compile(module, machine=machine, pipeline=default_pipeline("tasks"))
        expect("tasks", interpret(tasks.module, case.inputs), case)
        program = compile(tasks.module, machine=machine)
        executable = Executable(program.module, load_machine(machine), check=True)
        for order in (None, *ORDERS):
            found = executable.run(case.inputs, order=order)
            expect(f"{machine}, order {order}", found, case)


def expect(what: str, found: dict[str, Array], case: Case) -> None:
    got = results_of(found)
    assert len(got) == len(case.want)
    for number, (a, b) in enumerate(zip(got, case.want, strict=True)):
        if not same(a, b):
            pytest.fail(f"{what}: result {number} is\n{a}\nnot\n{b}\n{case.text}")


def gather_rows(x: Array, at: Array, pad: int | None = None) -> Array:
    want = np.zeros((*at.shape, *x.shape[1:]), x.dtype)
    for place in np.ndindex(at.shape):
        if at[place] != pad:
            want[place] = x[at[place]]
    return want


def failing_inputs() -> Inputs:
    draw = np.random.default_rng(0)
    return {
        "x": values(draw, "f32", 20, 24),
        "dest": values(draw, "f32", 20, 24),
        "one": values(draw, "f32", 70),
        "j": draw.integers(0, 24, 70).astype(np.int32),
        "o": draw.integers(0, 20, (70, 24)).astype(np.int32),
        "r": values(draw, "f32", 70, 24),
        "i": draw.integers(0, 20, 70).astype(np.int32),
        "g": draw.integers(0, 20, (70, 24)).astype(np.int32),
        "t": np.array([1, 0, 2, 4, 3, 2], np.int32),
    }


def whole_program(
    body: str, inputs: Inputs, kind: str = "tensor<?x?xf32>", attributes: str = ""
) -> str:
    """A function of `inputs`, all sizes dynamic, whose body defines %y."""
    arguments = ", ".join(
        f"%{name}: {type_of(array, True)}" for name, array in inputs.items()
    )
    return (
        f"func.func @f({arguments}) -> {kind} {attributes} {{\n"
        f"  {body}\n  func.return %y : {kind}\n}}\n"
    )
