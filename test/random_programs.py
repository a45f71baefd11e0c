"""
Random programs of many ops, and what is asked of each of them.

`chains` are straight lines of vector ops on one domain, `mixtures` put matmuls among
them, `loops` have control flow, `updates` replace parts of tensors, in `nothing` sizes
are 0. `check` compiles a program, runs it in program order and with its pipes as far
apart as the flags allow, and holds the results against the reference interpreter on the
source, and against a golden where the program has one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from random_composites import COMPOSITE_STEPS, MOVE_STEPS, regrid
from random_control import CONTROL_STEPS
from random_indexing import INDEXING_STEPS
from random_loops import LOOP_STEPS, forall, repeat
from random_ops import (
    VECTOR_STEPS,
    Step,
    binary,
    clone,
    reduce,
    unary,
    with_literal,
)
from random_products import PRODUCT_STEPS
from random_shapes import (
    SHAPE_STEPS,
    assemble,
    matmul,
    read_view,
    reshape,
    view,
)
from random_writer import FLOATS, INTEGERS, Dim, Program, Value, Writer, random_dims

import pyptoc
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import Machine, load_machine

LARGEST = {1: 5000, 2: 200, 3: 40, 4: 12}
"""Rank to the largest size of a dimension."""


def count_ops(program: Program) -> int:
    """How many ops and calls the text has, control flow included."""
    return len(re.findall(r"\b(?:pypto|scf)\.[a-z_]+ |func\.call", program.text))


def check(
    program: Program,
    machine: str | Machine,
    order: int | None = None,
    pipeline: str | None = None,
) -> None:
    """The compiled program computes what its source says; `order` seeds the pipes."""
    machine = load_machine(machine) if isinstance(machine, str) else machine
    source = pyptoc.compile(program.text, machine=machine, pipeline="")
    compiled = pyptoc.compile(source.module, machine=machine, pipeline=pipeline)
    given = {name: np.copy(value) for name, value in program.inputs.items()}
    expected = source.run(**program.inputs)
    found = compiled.run(**program.inputs)
    for name, want in expected.items():
        agrees(name, found[name], want, program.within.get(name, 0.0))
    for name, want in program.golden.items():
        within(name, found[name], want, program.golden_within)
    for name, value in given.items():
        assert np.array_equal(value, program.inputs[name]), f"%{name} was overwritten"
    if order is not None:
        again = Executable(compiled.module, machine).run(program.inputs, order=order)
        for name, want in expected.items():
            agrees(name, again[name], want, program.within.get(name, 0.0))


def agrees(
    name: str, found: NDArray[Any], want: NDArray[Any], tolerance: float
) -> None:
    """The same type, shape and elements; bit by bit if the tolerance is 0."""
    assert (found.dtype, found.shape) == (want.dtype, want.shape), name
    if tolerance:
        within(name, found, want, tolerance)
        return
    wide = want.astype(np.float64)
    assert not np.isnan(wide).any(), f"{name}: a NaN proves nothing"
    different = found.astype(np.float64) != wide
    assert not different.any(), _message(name, found, want, different)


def within(
    name: str, found: NDArray[Any], want: NDArray[Any], tolerance: float
) -> None:
    """As near as the tolerance, relative to 1 and the largest expected element."""
    wide, got = want.astype(np.float64), found.astype(np.float64)
    assert got.shape == wide.shape, name
    assert np.isfinite(wide).all(), f"{name}: not finite"
    allowed = tolerance * (1 + np.abs(wide).max(initial=0.0))
    different = ~(np.abs(got - wide) <= allowed)
    assert not different.any(), _message(name, found, want, different)


def _message(
    name: str, found: NDArray[Any], want: NDArray[Any], different: NDArray[Any]
) -> str:
    at = tuple(map(int, np.argwhere(different)[0]))
    count = int(different.sum())
    return f"{name}{list(at)}: {found[at]}, not {want[at]}; {count} of {want.size}"


def results(w: Writer) -> list[Value]:
    """The last value and some others."""
    made = [value for value in w.pool if value.name[0] == "v"]
    if not made:
        made = [w.define(f"pypto.clone %{w.pool[0].name}", w.pool[0])]
    others = w.random.sample(made, min(len(made), w.random.randint(0, 3)))
    return [made[-1], *others]


def started(random: Random, rank: int, largest: int, *elements: str) -> Writer:
    """A program with one argument, or two of one shape."""
    w = Writer(random, tiles=random.random() < 0.4)
    dims = random_dims(random, rank, largest)
    for _ in range(random.randint(1, 2)):
        w.argument(dims, random.choice(elements))
    return w


def chains(random: Random) -> Program:
    """Up to 10 vector ops on tensors of rank 1 to 4."""
    rank = random.randint(1, 4)
    w = started(random, rank, LARGEST[rank], *FLOATS, *FLOATS, *INTEGERS, "i1")
    steps = VECTOR_STEPS + (SHAPE_STEPS if random.random() < 0.5 else ())
    for _ in range(random.randint(1, 10)):
        random.choice(steps)(w)
    return w.program(results(w))


def mixtures(random: Random) -> Program:
    """10 to 20 ops, some of them matmuls, on matrices and batches of them."""
    rank = random.choice([2, 2, 3])
    w = started(random, rank, 130 if rank == 2 else 20, *FLOATS, "i8")
    steps: list[Step] = [matmul] * 4 + [*VECTOR_STEPS, *SHAPE_STEPS]
    for _ in range(random.randint(10, 20)):
        random.choice(steps)(w)
    return w.program(results(w))


def loops(random: Random) -> Program:
    """A few ops, one to three loops among them."""
    rank = random.randint(1, 3)
    w = started(random, rank, LARGEST[rank] // 4, *FLOATS, *FLOATS, *INTEGERS)
    for _ in range(random.randint(1, 3)):
        for _ in range(random.randint(0, 2)):
            random.choice(VECTOR_STEPS)(w)
        random.choice(LOOP_STEPS)(w)
    return w.program(results(w))


def updates(random: Random) -> Program:
    """Values of which parts are replaced while views of the old ones are still read."""
    rank = random.randint(1, 3)
    w = started(random, rank, LARGEST[rank] // 5, *FLOATS, "i32")
    w.tiles = True
    steps: list[Step] = [assemble] * 5 + [view, view, read_view, reshape, clone, repeat]
    steps += [unary, binary, with_literal, with_literal, reduce, forall]
    with_literal(w)
    for _ in range(random.randint(3, 10)):
        random.choice(steps)(w)
    return w.program(results(w))


def nothing(random: Random) -> Program:
    """Ops on tensors of which a dimension is 0."""
    rank = random.randint(1, 3)
    dims = list(random_dims(random, rank, 20))
    for _ in range(random.randint(1, 2)):
        axis = random.randrange(rank)
        dims[axis] = Dim(0, dims[axis].name)
    w = Writer(random)
    w.argument(tuple(dims), random.choice([*FLOATS, *INTEGERS]))
    for _ in range(random.randint(1, 5)):
        random.choice((*VECTOR_STEPS, matmul))(w)
    return w.program(results(w))


OPERATOR_STEPS: tuple[tuple[Step, ...], ...] = (
    (*VECTOR_STEPS, regrid, regrid),
    VECTOR_STEPS,
    SHAPE_STEPS,
    MOVE_STEPS,
    COMPOSITE_STEPS,
    PRODUCT_STEPS,
    INDEXING_STEPS,
    CONTROL_STEPS,
    LOOP_STEPS,
)
"""Each kind as often as the others, however many steps it has."""


def any_step(w: Writer) -> None:
    """One step of any kind; loops and conditions nest up to three deep."""
    steps = w.random.choice(OPERATOR_STEPS)
    deep = w.parent is not None and w.parent.parent is not None
    if deep and steps in (LOOP_STEPS, CONTROL_STEPS):
        steps = VECTOR_STEPS
    w.random.choice(steps)(w)


def operators(random: Random) -> Program:
    """10 to 40 ops of all kinds, loops and conditions among them."""
    rank = random.choice([1, 2, 2, 2, 3, 3, 4])
    elements = (*FLOATS, "f32", "f32", *INTEGERS, "i1")
    largest = {1: 300, 2: 40, 3: 12, 4: 6}[rank] * random.choice([1, 1, 1, 1, 4])
    w = started(random, rank, largest, *elements)
    w.tiles, w.steps, w.mx = random.random() < 0.6, (any_step,), random.random() < 0.2
    if random.random() < 0.1:
        dims = [Dim(d.size, d.name) for d in w.pool[0].dims]
        dims[random.randrange(rank)] = Dim(0, w.fresh("q"))
        w.argument(tuple(dims), random.choice(FLOATS))
    most = random.randint(10, 40)
    for _ in range(3 * most):
        if w.ops < most:
            any_step(w)
    return w.program(results(w))


FAMILIES: dict[str, Callable[[Random], Program]] = {
    "chains": chains,
    "mixtures": mixtures,
    "loops": loops,
    "updates": updates,
    "nothing": nothing,
}
