"""Functions, loops, branches and tasks of the reference interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.parallel import is_parallel
from pyptoc.runtime.reference_core import Interpreter, handles, hint
from pyptoc.runtime.reference_values import Destination, Iteration, Tensor


def names_of(values: Sequence[SSAValue]) -> tuple[str, ...]:
    return tuple(hint(value) for value in values)


def bind(
    interp: Interpreter, arguments: Sequence[SSAValue], values: Sequence[Any]
) -> None:
    """Gives block arguments their values."""
    interp.env.update(zip(arguments, values, strict=True))


# Functions.


@handles("func.call")
def call(interp: Interpreter, op: Any) -> Any:
    name = op.callee.string_value()
    function = interp.functions.get(name)
    if function is None:
        interp.fail(op, "PTO190", f"@{name} has no body to call")
    if name in interp.callers:
        interp.fail(op, "PTO181", f"@{name} calls itself")
    inner = Interpreter(interp.functions)
    inner.loops = list(interp.loops)
    inner.callers = (*interp.callers, name)
    inner.probes = interp.probes
    block = function.regions[0].block
    bind(inner, block.args, [interp.hand_on(value, op) for value in op.operands])
    results = inner.run_block(block)
    return tuple(results) if len(results) > 1 else next(iter(results), None)


# Loops with values.


def single_or_tuple(values: Sequence[Any]) -> Any:
    """The values as a handler returns them."""
    return tuple(values) if len(values) != 1 else values[0]


@handles("scf.for")
def scf_for(interp: Interpreter, op: Any) -> Any:
    lower, upper, step = (interp.integer(value) for value in (op.lb, op.ub, op.step))
    if step <= 0:
        interp.fail(op, "PTO403", f"the step of a loop is {step}")
    block = op.body.block
    carried = [interp.hand_on(value, op) for value in op.iter_args]
    kind = "forall" if is_parallel(op) else "for"
    return run_loop(interp, block, kind, range(lower, upper, step), carried)


def run_loop(
    interp: Interpreter, block: Block, kind: str, indices: range, carried: list[Any]
) -> Any:
    execution = interp.new_execution()
    names = names_of(block.args[:1])
    for value in indices:
        bind(interp, block.args, [value, *carried])
        carried = interp.run_iteration(
            block, Iteration(execution, kind, names, (value,))
        )
    return single_or_tuple(carried)


@handles("scf.if")
def scf_if(interp: Interpreter, op: Any) -> Any:
    region = op.true_region if interp.env[op.cond] else op.false_region
    if not region.blocks:
        return None
    return single_or_tuple(interp.run_block(region.block))


# pypto.for and pypto.forall.


def index_ranges(interp: Interpreter, op: Any, axes: Sequence[Any]) -> list[range]:
    """The range of each index of a pypto loop."""
    ranges: list[range] = []
    for axis in axes:
        bounds = (axis.lower, axis.upper, axis.step)
        lower, upper, step = (interp.integer(value) for value in bounds)
        if step <= 0:
            interp.fail(op, "PTO403", f"the step of a loop is {step}")
        ranges.append(range(lower, upper, step))
    return ranges


def bind_indices(
    interp: Interpreter,
    axes: Sequence[Any],
    ranges: Sequence[range],
    values: Sequence[int],
) -> None:
    """Binds `%i` and, of `%i +: %n`, the size of what is left."""
    for axis, span, value in zip(axes, ranges, values, strict=True):
        interp.env[axis.index] = value
        if axis.tail is not None:
            interp.env[axis.tail] = min(span.step, span.stop - value)


@handles("pypto.for")
def pypto_for(interp: Interpreter, op: Any) -> Any:
    axes = op.axes
    ranges = index_ranges(interp, op, axes)
    carried = [interp.hand_on(value, op) for value in op.inits]
    execution = interp.new_execution()
    names = names_of([axis.index for axis in axes])
    for values in product(*ranges):
        bind_indices(interp, axes, ranges, values)
        bind(interp, op.bound_args, carried)
        iteration = Iteration(execution, "for", names, values)
        carried = interp.run_iteration(op.body.block, iteration)
    return single_or_tuple(carried)


def destinations(
    interp: Interpreter, initial: Sequence[SSAValue], op: Operation
) -> list[Destination]:
    """What the outs of a forall or of tasks start from."""
    depth = len(interp.loops)
    return [Destination(interp.tensor(value, op).copy(), depth) for value in initial]


def finished(outs: Sequence[Destination]) -> Any:
    """The results: the destinations with everything that was stored."""
    return single_or_tuple([_result(out.tensor) for out in outs])


def _result(tensor: Tensor) -> Tensor:
    if tensor.written is not None and tensor.written.all():
        tensor.written = None
    tensor.owned = True
    return tensor


@handles("pypto.forall")
def forall(interp: Interpreter, op: Any) -> Any:
    axes = op.axes
    ranges = index_ranges(interp, op, axes)
    outs = destinations(interp, op.inits, op)
    bind(interp, op.bound_args, outs)
    execution = interp.new_execution()
    names = names_of([axis.index for axis in axes])
    for values in product(*ranges):
        bind_indices(interp, axes, ranges, values)
        iteration = Iteration(execution, "forall", names, values, values)
        interp.run_iteration(op.body.block, iteration)
    return finished(outs)


# Tasks.


@handles("npu.tasks")
def tasks(interp: Interpreter, op: Any) -> Any:
    """All tasks in row-major order, which any order must agree with.

    Axes marked `seq` are ordered: tasks that differ only there may write the same.
    """
    grid = [interp.integer(size) for size in op.grid]
    outs = destinations(interp, op.outs, op)
    bind(interp, op.out_args, outs)
    execution, names = interp.new_execution(), names_of(op.grid_args)
    ordered = op.ordered_axes
    for values in product(*map(range, grid)):
        bind(interp, op.grid_args, values)
        apart = tuple(v for axis, v in enumerate(values) if axis not in ordered)
        iteration = Iteration(execution, "task", names, values, apart)
        interp.run_iteration(op.block, iteration)
    return finished(outs) if outs else None
