"""The meaning of the language: a module run in plain numpy, operation by operation.

    results = interpret(module, {"a": a, "b": b})

It runs the tensor level, tasks in tensor form, and the memory form up to and without
kernels.  It is written for being obviously right, not for speed, and shares with the
executor only `numerics`.  What breaks a rule of the language raises a `RunError` at the
operation: views out of bounds, elements that were never written, failed asserts, two
iterations that store to one element.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from pyptoc.dialects.diagnostics import Diagnostic, RunError, error
from pyptoc.dialects.pypto.brackets import shape_of
from pyptoc.dialects.pypto.debug import ProbeOp
from pyptoc.runtime import (
    reference_boxes,
    reference_composite,
    reference_control,
    reference_indexing,
    reference_math,
    reference_matmul,
    reference_scalar,
    reference_shape,
    reference_tiles,
)
from pyptoc.runtime.inputs import as_storage
from pyptoc.runtime.numerics import Array, storage_dtype
from pyptoc.runtime.reference_core import Interpreter, dtype_of
from pyptoc.runtime.reference_values import Memory, Tensor, describe_missing
from pyptoc.runtime.signature import (
    Argument,
    Result,
    Signature,
    find_entry,
    read_signature,
)

_FAMILIES = (
    reference_boxes,
    reference_composite,
    reference_control,
    reference_indexing,
    reference_math,
    reference_matmul,
    reference_scalar,
    reference_shape,
    reference_tiles,
)
"""The modules whose import fills HANDLERS."""


def interpret(
    module: ModuleOp, inputs: Mapping[str, Any], entry: str | None = None
) -> dict[str, NDArray[Any]]:
    """The results of a module's entry function by name.

    inputs: arrays (of the storage type, or its bits) and numbers by the arguments'
    names; they are not changed. Raises RunError, and CompileError for bad inputs.
    """
    function = find_entry(module, entry)
    signature = read_signature(module, function.sym_name.data)
    functions: dict[str, Operation] = {
        op.sym_name.data: op
        for op in module.ops
        if isinstance(op, FuncOp) and op.body.blocks
    }
    interp = Interpreter(functions)
    block = function.body.block
    for argument, value in zip(signature.arguments, block.args, strict=True):
        given = _input(argument, inputs)
        if isinstance(given, np.ndarray):
            in_memory = value.type.name == "memref"
            array = cast("Array", given)
            given = Memory.holding(array.copy()) if in_memory else Tensor(array)
        interp.env[value] = given
    with np.errstate(all="ignore"):
        values = interp.run_block(block)
    last = block.last_op
    results = {
        result.name: _output(interp, result, value, last)
        for result, value in zip(signature.results, values, strict=True)
    }
    _check_in_place(interp, block, signature, results)
    return results | dict(_probed(interp, function))


def _check_in_place(
    interp: Interpreter, block: Block, signature: Signature, results: dict[str, Array]
) -> None:
    """A result with the name of an argument has its sizes."""
    for argument, value in zip(signature.arguments, block.args, strict=True):
        result, given = results.get(argument.name), interp.env[value]
        if result is None or not isinstance(given, Tensor | Memory):
            continue
        if result.shape != given.array.shape:
            message = (
                f"result '{argument.name}' has the shape {list(result.shape)}, the "
                f"argument that it updates {list(given.array.shape)}"
            )
            assert block.last_op is not None
            interp.fail(block.last_op, "PTO404", message)


def _probed(interp: Interpreter, function: Operation) -> Iterator[tuple[str, Array]]:
    """What was probed, in the order of the text; zeros for what was not reached."""
    for op in function.walk():
        if isinstance(op, ProbeOp) and op.label.data not in interp.probes:
            zeros = np.zeros(shape_of(op.source.type), dtype_of(op.source))
            interp.probes[op.label.data] = op, Tensor(zeros)
    for name, (op, tensor) in interp.probes.items():
        yield name, _whole(interp, name, tensor, op)


def _input(argument: Argument, inputs: Mapping[str, Any]) -> Any:
    """The value of an argument: an array of its storage type, an int or an f32."""
    if argument.name in inputs:
        value = inputs[argument.name]
    elif argument.default is not None:
        value = argument.default
    else:
        error(argument.location, "PTO501", f"missing input '{argument.name}'")
    dtype = storage_dtype(argument.element_type)
    if argument.shape is None:
        return np.float32(value) if dtype.kind == "f" else int(value)
    array, hint = as_storage(
        argument.name, argument.element_type, argument.shape, np.asarray(value)
    )
    if array is None:
        given = np.asarray(value)
        message = f"'{argument.name}' has shape {given.shape} {given.dtype}"
        error(
            argument.location,
            "PTO501",
            f"{message}; %{argument.name} is {argument.type_text}",
            help=hint,
        )
    return array


def _output(
    interp: Interpreter, result: Result, value: Any, at: Operation | None
) -> NDArray[Any]:
    """A result as an array of its own, all of it written."""
    if not isinstance(value, Tensor | Memory):
        return np.array(value, storage_dtype(result.element_type))
    return _whole(interp, result.name, value, at)


def _whole(
    interp: Interpreter, name: str, value: Tensor | Memory, at: Operation | None
) -> Array:
    """A copy of the elements, all of which must have been written."""
    written = value.written
    if written is not None and not written.all():
        message = f'result "{name}" has {describe_missing(written)}'
        notes = interp.origin_notes(value) if isinstance(value, Tensor) else []
        location = None if at is None else at.location
        help = "start from pypto.full 0[...] if unwritten elements are meant to be 0"
        raise RunError(
            [Diagnostic("PTO405", message, location, notes=tuple(notes), help=help)]
        )
    return value.array.copy()
