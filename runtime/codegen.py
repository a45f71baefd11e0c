"""
Python source from structured IR: names, integers, loops and branches.

The executor turns a function into the text of one Python function, compiles it once
and calls it often. `Translator` writes what orchestration functions and kernels share:
`arith` and `pypto.index` on Python numbers, `scf.for` and `scf.if`. Its subclasses add
the operations of their level to `handlers`.

    scf.for %i = %a to %b step %c iter_args(%x = %y) {      v7 = v2
      %z = pypto.index %x + %i                         ->   for v6 in range(v0, v1, v3):
      scf.yield %z                                              v8 = v6 + v7
    }                                                           v7 = v8

Names are numbers (`v7`): no text of the input reaches the source. Constants are
written in place. Each line remembers its operation, so that a Python exception inside
the generated function leads back to a line of the user's file (`explain`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import count
from types import CodeType
from typing import Any, NoReturn, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.diagnostics import CompileError, Diagnostic, Note, RunError
from pyptoc.dialects.expr import to_python
from pyptoc.dialects.pypto.scalar_expr import ScalarExpr
from pyptoc.dialects.pypto.scalars import AssertOp, IndexOp, ScalarOp
from pyptoc.runtime.failures import raise_assertion
from pyptoc.runtime.scalar_code import HELPERS, to_f32, translate
from pyptoc.runtime.scalar_code import NAMES as SCALAR_OPS

Value = SSAValue | int
Handler = Callable[[Operation], None]

_serial = count()


def fits(value: int) -> int:
    """The value, which must be an i64."""
    if not -(2**63) <= value < 2**63:
        raise OverflowError(f"{value} does not fit in 64 bits")
    return value


_HELPERS: dict[str, Any] = {"fits": fits, **HELPERS}

# Operations of pypto.scalar; the functions are in HELPERS.
_SCALARS: dict[str, str] = {
    "+": "to_f32({0} + {1})",
    "-": "to_f32({0} - {1})",
    "*": "to_f32({0} * {1})",
    "/": "divide({0}, {1})",
    "neg": "(-{0})",
    "min": "minimum({0}, {1})",
    "max": "maximum({0}, {1})",
    **{name: f"{name}_f32({{0}})" for name in ("sqrt", "exp", "log")},
    "abs": "absf_f32({0})",
    "pow": "powf_f32({0}, {1})",
}


@lru_cache(maxsize=256)
def _code_of(source: str) -> tuple[str, CodeType]:
    """
    A name for the file, and the code; kernels alike share it, for what they bind is no
    part of it.
    """
    file = f"<pyptoc {next(_serial)}>"
    return file, compile(source, file, "exec")


class Translator:
    """Writes the source of one function; see the module's docstring."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.line_ops: list[Operation | None] = []
        self.depth = 0
        self.op: Operation | None = None
        self.scope: dict[str, Any] = dict(_HELPERS)
        """The globals of the generated function."""
        self.names: dict[SSAValue, str] = {}
        self.loops: list[tuple[str, SSAValue]] = []
        """Index variables of all loops, as they are named."""
        self._fresh = count()
        self.file = ""
        """What a frame of the generated function says it is of."""
        self.handlers: dict[str, Handler] = {
            "arith.constant": self._constant,
            "pypto.index": self._index,
            "pypto.scalar": self._scalar,
            "pypto.assert": self._assert,
            "scf.for": self.write_for,
            "scf.if": self._if,
            **dict.fromkeys(SCALAR_OPS, self._arithmetic),
        }

    # Writing.

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)
        self.line_ops.append(self.op)

    @contextmanager
    def indented(self) -> Generator[None]:
        self.depth += 1
        yield
        self.depth -= 1

    def fresh(self, prefix: str = "v") -> str:
        return f"{prefix}{next(self._fresh)}"

    def bind(self, value: object, prefix: str = "g") -> str:
        """A global of the generated function that holds `value`."""
        name = self.fresh(prefix)
        self.scope[name] = value
        return name

    def define(self, value: SSAValue) -> str:
        """The new local for an SSA value."""
        name = self.names[value] = self.fresh()
        return name

    def ref(self, value: Value) -> str:
        """The text that reads a value."""
        if isinstance(value, int):
            return str(value)
        return self.names[value]

    def refs(self, values: Sequence[Value]) -> str:
        """Values as the arguments of a call."""
        return ", ".join(map(self.ref, values))

    def tuple_of(self, values: Sequence[Value]) -> str:
        return "(" + "".join(self.ref(value) + ", " for value in values) + ")"

    def compiled(self, name: str) -> Callable[..., Any]:
        """Compile the lines and return the function `name` of them."""
        self.file, code = _code_of("\n".join(self.lines) + "\n")
        exec(code, self.scope)
        return self.scope[name]

    # Operations.

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.operation(op)

    def operation(self, op: Operation) -> None:
        handler = self.handlers.get(op.name)
        self.op = op
        if handler is None:
            reason = f"the executor does not run {op.name} here"
            raise CompileError([Diagnostic("PTO290", reason, op.location)])
        handler(op)

    def _constant(self, op: Operation) -> None:
        value = cast(arith.ConstantOp, op).value
        result = op.results[0]
        if isinstance(value, IntegerAttr):
            number = cast("IntegerAttr[Any]", value).value.data
            self.names[result] = f"({number})" if number < 0 else str(number)
        elif isinstance(value, FloatAttr):
            self.names[result] = self.bind(
                to_f32(cast("FloatAttr[Any]", value).value.data)
            )
        else:
            self.fail_to_translate(op, "constants are integers or floats here")

    def fail_to_translate(self, op: Operation, reason: str) -> NoReturn:
        raise CompileError([Diagnostic("PTO290", reason, op.location)])

    def _arithmetic(self, op: Operation) -> None:
        text = translate(op, list(map(self.ref, op.operands)), self.bind)
        self.line(f"{self.define(op.results[0])} = {text}")

    def _index(self, op: Operation) -> None:
        text = self.expression(op)
        self.line(f"{self.define(op.results[0])} = {text}")

    def expression(self, op: Operation) -> str:
        """The Python text of an operation's integer expression or compare."""
        computed = cast(IndexOp | AssertOp, op)
        names = {f"s{n}": self.ref(value) for n, value in enumerate(computed.inputs)}
        return to_python(computed.expr.data, lambda key: names[cast(str, key)])

    def _assert(self, op: Operation) -> None:
        checked = cast(AssertOp, op)

        def fail(*values: int) -> NoReturn:
            raise_assertion(checked, values)

        condition = self.expression(op)
        values = self.refs(op.operands)
        self.line(f"if not ({condition}): {self.bind(fail)}({values})")

    def _scalar(self, op: Operation) -> None:
        scalar = cast(ScalarOp, op)
        names = [
            self.ref(value) if value.type == f32 else f"to_f32({self.ref(value)})"
            for value in scalar.inputs
        ]
        text = self._scalar_text(scalar.expr.data, names)
        self.line(f"{self.define(op.results[0])} = {text}")

    def _scalar_text(self, expr: ScalarExpr, names: Sequence[str]) -> str:
        if expr.op == "number":
            return self.bind(float(expr.value))
        if expr.op == "operand":
            return names[int(expr.value)]
        args = [self._scalar_text(arg, names) for arg in expr.args]
        return _SCALARS[expr.op].format(*args)

    def write_for(self, op: Operation) -> None:
        loop = cast(scf.ForOp, op)
        block = loop.body.block
        index, *carried = block.args
        inits = self.refs(loop.iter_args)
        names = [self.define(arg) for arg in carried]
        if names:
            self.line(f"{', '.join(names)} = {inits}")
        bounds = self.refs([loop.lb, loop.ub, loop.step])
        variable = self.define(index)
        self.loops.append((variable, index))
        self.line(f"for {variable} in range({bounds}):")
        with self.indented():
            self.line("pass")
            self.loop_body(block)
            self._assign(names, block)
        for result, name in zip(op.results, names, strict=True):
            self.names[result] = name

    def loop_body(self, block: Block) -> None:
        """The body of a loop; a subclass may know a faster way."""
        for inner in block.ops:
            if not isinstance(inner, scf.YieldOp):
                self.operation(inner)

    def _assign(self, names: Sequence[str], block: Block) -> None:
        terminator = block.last_op
        if names and isinstance(terminator, scf.YieldOp):
            self.line(f"{', '.join(names)} = {self.refs(terminator.operands)}")

    def _if(self, op: Operation) -> None:
        branch = cast(scf.IfOp, op)
        names = [self.fresh() for _ in op.results]
        for keyword, region in (
            (f"if {self.ref(branch.cond)}:", branch.true_region),
            ("else:", branch.false_region),
        ):
            if not region.blocks:
                continue
            self.op = op
            self.line(keyword)
            with self.indented():
                self.line("pass")
                self.loop_body(region.block)
                self._assign(names, region.block)
        for result, name in zip(op.results, names, strict=True):
            self.names[result] = name

    # Errors.

    def guarded(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call generated code; its errors say in which iteration they occurred."""
        try:
            return function(*args)
        except RunError as failure:
            raise self.in_context(failure, failure) from None
        except ArithmeticError as failure:
            raise self.in_context(self.as_run_error(failure), failure) from failure
        except ValueError as failure:
            if "arg 3 must not be zero" not in str(failure):
                raise
            raise self.in_context(self.as_run_error(failure), failure) from failure

    def as_run_error(self, failure: Exception) -> RunError:
        """A Python exception of the generated code as an error of the program."""
        op = self.op_at(failure)
        location = None if op is None else op.location
        message = "division by zero"
        if isinstance(failure, ValueError):
            message = "the step of a loop is 0"
        elif isinstance(failure, OverflowError):
            message = str(failure)
        return RunError([Diagnostic("PTO403", message, location)])

    def in_context(self, failure: RunError, cause: Exception) -> RunError:
        """The error with a note of the loop indices around it."""
        frame, op = self._innermost(cause)
        place = "" if frame is None else self.place(op, frame)
        if not place:
            return failure
        return RunError(
            replace(one, notes=(*one.notes, Note(place))) for one in failure.diagnostics
        )

    def place(self, op: Operation | None, values: dict[str, Any]) -> str:
        """`in loop (%e = 1)`: the indices of the loops around an operation."""
        loops: list[SSAValue] = []
        parent = None if op is None else op.parent_op()
        while parent is not None:
            if isinstance(parent, scf.ForOp):
                loops.insert(0, parent.body.block.args[0])
            parent = parent.parent_op()
        return f"in loop ({self.show(loops, values)})" if loops else ""

    def show(self, indices: Sequence[SSAValue], values: dict[str, Any]) -> str:
        """`%i = 1, %j = 2`"""
        return ", ".join(
            f"%{index.name_hint or self.names[index]} = {values.get(self.names[index])}"
            for index in indices
        )

    def op_at(self, failure: Exception) -> Operation | None:
        """The operation whose generated line raised."""
        return self._innermost(failure)[1]

    def _innermost(
        self, failure: Exception
    ) -> tuple[dict[str, Any] | None, Operation | None]:
        """The locals of the generated function and the operation of its line.

        An instruction that was issued is a function inside it, with its own line.
        """
        values: dict[str, Any] | None = None
        op: Operation | None = None
        trace = failure.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.file:
                values = {**(values or {}), **trace.tb_frame.f_locals}
                op = self.line_ops[trace.tb_lineno - 1] or op
            trace = trace.tb_next
        return values, op
