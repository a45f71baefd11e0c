"""The engine of the reference interpreter: blocks, environments, errors.

Each operation has a handler, found by its name; the handlers are in the modules
`reference_*.py`, by family.  A handler gets the interpreter and the operation and
returns the value of the result, or a tuple for several results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from pyptoc.dialects.diagnostics import Diagnostic, Note, RunError, place_of
from pyptoc.dialects.literals import ints
from pyptoc.runtime.numerics import Array, CastError, element_name, storage_dtype
from pyptoc.runtime.reference_values import (
    Destination,
    Iteration,
    Memory,
    Tensor,
    describe_missing,
)

DYNAMIC = -(2**63)
TERMINATORS = ("func.return", "scf.yield", "pypto.yield")

Handler = Callable[["Interpreter", Any], object]
HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Registers a function as the meaning of the operations with these names."""

    def register(function: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(names, function))
        return function

    return register


def hint(value: SSAValue) -> str:
    """The name of a value in messages."""
    return f"%{value.name_hint}" if value.name_hint else "a value"


class Interpreter:
    """One run of one function; calls run in interpreters of their own."""

    def __init__(self, functions: dict[str, Operation]) -> None:
        self.functions = functions
        self.env: dict[SSAValue, Any] = {}
        self.loops: list[Iteration] = []
        self.used: dict[tuple[Operation, int], dict[int, int]] = {}
        """Where an op that wants unique indices met each, by execution of its tasks."""
        self.callers: tuple[str, ...] = ()
        """The functions that were called and have not returned."""
        self.probes: dict[str, tuple[Operation, Tensor]] = {}
        """What was probed last under each name."""
        self._executions = count(1)

    # Running.

    def run_block(self, block: Block) -> list[Any]:
        """Runs the operations; the values that the terminator hands on."""
        for op in block.ops:
            if op.name in TERMINATORS:
                return [self.hand_on(value, op) for value in op.operands]
            self.run_op(op)
        return []

    def run_op(self, op: Operation) -> None:
        handler = HANDLERS.get(op.name)
        if handler is None:
            message = f"'{op.name}' is not supported by the reference interpreter yet"
            self.fail(op, "PTO190", message)
        try:
            outcome = handler(self, op)
        except CastError as error:
            self.fail(op, "PTO406", str(error))
        results = op.results
        if not results:
            return
        values = cast("tuple[Any, ...]", outcome if len(results) > 1 else (outcome,))
        for result, value in zip(results, values, strict=True):
            if isinstance(value, Tensor):
                self._check_type(op, result, value)
            self.env[result] = value

    def _check_type(self, op: Operation, result: SSAValue, value: Tensor) -> None:
        """The sizes that the type states hold for the value."""
        type_ = result.type
        assert isinstance(type_, TensorType)
        shape = type_.get_shape()
        actual = value.array.shape
        fits = shape == actual or (
            len(shape) == len(actual)
            and all(
                want in (DYNAMIC, have)
                for want, have in zip(shape, actual, strict=True)
            )
        )
        if not fits:
            message = f"{hint(result)} has the shape {list(actual)}, not {type_}"
            self.fail(op, "PTO404", message)
        limit = getattr(type_.encoding, "sizes", None)
        if limit is not None and any(
            have > most for have, most in zip(actual, limit, strict=True)
        ):
            message = f"{hint(result)} has the shape {list(actual)}, more than {limit}"
            self.fail(op, "PTO404", message)

    def run_iteration(self, block: Block, iteration: Iteration) -> list[Any]:
        """`run_block` as one iteration of a loop."""
        self.loops.append(iteration)
        values = self.run_block(block)
        self.loops.pop()
        return values

    def new_execution(self) -> int:
        return next(self._executions)

    # Reading values.

    def hand_on(self, value: SSAValue, user: Operation) -> Any:
        """A value under another name; storage is handed on only with its last use."""
        found = self.env[value]
        if isinstance(found, Tensor) and found.owned and not last_use(value, user):
            return Tensor(found.array, found.written, found.origin, found.last_store)
        return found

    def integer(self, value: SSAValue | int) -> int:
        """An index, or a literal that stands in its place."""
        return value if isinstance(value, int) else int(self.env[value])

    def tensor(self, value: SSAValue, op: Operation) -> Tensor:
        """A tensor that may hold unwritten elements."""
        found = self.env[value]
        if isinstance(found, Destination):
            message = f"{hint(value)} is a destination of a forall: it is only written"
            self.fail(op, "PTO406", message)
        assert isinstance(found, Tensor)
        return found

    def array(self, value: SSAValue, op: Operation) -> Array:
        """The elements of a tensor, all of which must have been written."""
        found = self.tensor(value, op)
        if found.missing():
            assert found.written is not None
            message = f"{hint(value)} has {describe_missing(found.written)}"
            self.fail(op, "PTO405", message, notes=self.origin_notes(found))
        return found.array

    def memory(self, value: SSAValue) -> Memory:
        found = self.env[value]
        assert isinstance(found, Memory)
        return found

    def operand(self, arg: SSAValue | Attribute, like: Attribute, op: Operation) -> Any:
        """The value of an operand of an elementwise op: array, scalar or literal.

        Literals have the element type of the tensors beside them.
        """
        if isinstance(arg, SSAValue):
            if isinstance(arg.type, TensorType):
                return self.array(arg, op)
            return self.env[arg]
        return literal(arg, like)

    def scalar_as(self, value: Any, element: Attribute, op: Operation) -> Any:
        """A scalar as an element beside tensors; an integer must fit."""
        dtype = storage_dtype(element)
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if not limits.min <= int(value) <= limits.max:
                message = f"{int(value)} does not fit in {element_name(dtype)}"
                self.fail(op, "PTO403", message)
            return dtype.type(int(value))
        wide = np.bool_(value) if dtype.kind == "b" else np.float32(value)
        return np.asarray(wide).astype(dtype)[()]

    def check_limits(self, op: Any, shape: Sequence[int]) -> None:
        """The bounds of `{max = [..]}` hold."""
        for axis, (size, limit) in enumerate(zip(shape, ints(op.max), strict=False)):
            if size > limit:
                message = f"dimension {axis} is {size}, at most {limit} (max)"
                self.fail(op, "PTO402", message)

    # Errors.

    def fail(
        self,
        op: Operation,
        code: str,
        message: str,
        *,
        notes: Sequence[Note] = (),
        help: str = "",
        rule: str = "",
    ) -> NoReturn:
        """Raises a RunError at `op` with the loops around it and its integers."""
        raise RunError(
            [
                Diagnostic(
                    code,
                    message,
                    op.location,
                    length=len(op.name),
                    label=self.context(op),
                    notes=tuple(notes),
                    help=help,
                    rule=rule,
                )
            ]
        )

    def context(self, op: Operation) -> str:
        """`in forall (%e = 1), %rows = 10 (read from %g[1], a.mlir:15:14)`"""
        parts = [f"in {loop.kind} {loop}" for loop in self.loops]
        shown = {name for loop in self.loops for name in loop.names}
        for value in dict.fromkeys(op.operands):
            found = self.env.get(value)
            name = hint(value)
            if isinstance(found, int) and value.name_hint and name not in shown:
                parts.append(f"{name} = {found}{self._provenance(value)}")
        return ", ".join(parts)

    def _provenance(self, value: SSAValue) -> str:
        """Where an integer was read from, if it was."""
        owner: Any = value.owner
        if isinstance(owner, Block) or owner.name not in ("pypto.read", "npu.read"):
            return ""
        offsets = [self.integer(offset) for offset in owner.mixed_offsets]
        source = hint(owner.operands[0])
        place = place_of(owner.location)
        where = f", {place}" if place else ""
        return f" (read from {source}{offsets}{where})"

    def origin_notes(self, tensor: Tensor) -> list[Note]:
        """Where unwritten elements come from, and what wrote last."""
        notes: list[Note] = []
        if tensor.origin is not None:
            name = hint(tensor.origin.results[0])
            notes.append(
                Note(f"{name} = pypto.empty is uninitialised", tensor.origin.location)
            )
        if tensor.last_store:
            notes.append(Note(f"the last store is {tensor.last_store}"))
        return notes


def last_use(value: SSAValue, user: Operation) -> bool:
    """Whether nothing can see `value` after `user`: its only use, run only once."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    return user.parent is block and value.has_one_use()


def literal(attribute: Attribute, element: Attribute) -> Any:
    """A literal as a numpy scalar of an element type."""
    dtype = storage_dtype(element)
    if isinstance(attribute, FloatAttr):
        # Rounded to the element type by the parser; f64 holds it exactly.
        return np.array(attribute.value.data, np.float64).astype(dtype)[()]
    assert isinstance(attribute, IntegerAttr)
    return np.array(attribute.value.data).astype(dtype)[()]


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor or memref."""
    assert isinstance(value.type, TensorType | MemRefType)
    return cast("TensorType[Attribute]", value.type).element_type


def dtype_of(value: SSAValue) -> np.dtype[Any]:
    """The storage type of a tensor's or memref's elements."""
    return storage_dtype(element_of(value))
