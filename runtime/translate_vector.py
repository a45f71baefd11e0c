"""Vector instructions as numpy calls (see `translate.py`).

Everything writes into the destination with `out=`. Floats narrower than f32 are
computed in f32 and rounded once: numpy does both inside one call where a call suffices
(`dtype=float32, casting="unsafe"`), longer functions go through work arrays. Integers
wrap in their own type.

In place is fine for a single call. A function of several calls must not write its
destination while it still needs an input that shares bytes with it: `_Emitter.clear_of`
tells, from the allocations' addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from pyptoc.dialects.pypto.scalars import IndexOp
from pyptoc.dialects.tile import AllocOp, SlotOp, allocation_of, uses_of
from pyptoc.dialects.tile_flags import BarrierOp, FlagOp
from pyptoc.dialects.tile_types import BufType, buffer_type
from pyptoc.dialects.tile_vector import VECTOR_FAMILIES, Form, VectorArg, VectorOp
from pyptoc.runtime import numerics
from pyptoc.runtime.cast_chains import Chain, rounding_mode
from pyptoc.runtime.cast_tables import SmallIntegers, cast_table
from pyptoc.runtime.codegen import Handler, Value
from pyptoc.runtime.memory import may_overlap
from pyptoc.runtime.vector_math import (
    COMPARES,
    FUNCTIONS,
    REDUCTIONS,
    ROUNDINGS,
    UFUNCS,
    Rounding,
    checked_sum,
)

if TYPE_CHECKING:
    from pyptoc.runtime.translate import KernelTranslator

_F32 = np.dtype(np.float32)
_NOT_EXECUTED = (AllocOp, SlotOp, FlagOp, BarrierOp, IndexOp, arith.ConstantOp)
"""What may stand between two vector instructions and changes no buffer."""
_WIDE = 'dtype=F32, casting="unsafe"'


def handlers(to: KernelTranslator) -> dict[str, Handler]:
    def handle(op: Operation) -> None:
        vector = cast(VectorOp, op)
        chain = to.casts.get(op)
        if chain is not None:
            if vector is chain.ops[-1]:
                _write_chain(to, chain)
            return
        emitter = _Emitter(to, vector)
        emitter.check()
        with to.instruction(vector):
            emitter.write()

    return {f"tile.{name}": handle for name in VECTOR_FAMILIES}


def _write_chain(to: KernelTranslator, chain: Chain) -> None:
    """Write a row of casts as one rounding, or else each of them."""
    emitters = [_Emitter(to, op) for op in chain.ops]
    for emitter in emitters:
        to.op = emitter.op
        emitter.check()
    given = emitters[0].text(emitters[0].op.args[0])
    arrays = f"{given}, {emitters[0].work()}, {emitters[-1].dest()}"
    to.line(f"if not {to.bind(chain.rounding)}({arrays}):")
    with to.indented(), to.branch():
        for emitter in emitters:
            to.op = emitter.op
            emitter.write()


class _Emitter:
    """Writes one vector instruction."""

    def __init__(self, to: KernelTranslator, op: VectorOp) -> None:
        self.to, self.op = to, op
        self.m, self.n = op.extents
        self.name = op.family.name
        self.kind = buffer_type(op.dest)
        self.dtype = numerics.storage_dtype(self.kind.element_type)
        """Of the destination."""
        self._works = 0

    # Operands.

    def check(self) -> None:
        """Extents against the buffers, where they are not static."""
        to = self.to
        columns = 1 if self.name in REDUCTIONS else self.n
        to.check_extents(self.op.dest, self.m, columns)
        for arg in self.op.args:
            if not isinstance(arg, tuple) or arg[1] is Form.SCALAR:
                continue
            to.check_extents(arg[0], *self.box_of(arg))

    def text(self, arg: VectorArg) -> str:
        """The text of an input."""
        if not isinstance(arg, tuple):
            return self.literal(arg)
        value, form = arg
        if form is Form.SCALAR:
            return self.scalar(value)
        return self.to.corner(value, *self.box_of(arg))

    def box_of(self, arg: VectorArg) -> tuple[Value, Value]:
        """The rows and columns of an input."""
        form = arg[1] if isinstance(arg, tuple) else Form.ONE
        first, rows, columns = self.op.box_of(form)
        return rows, first + columns if isinstance(columns, int) else columns

    def scalar(self, value: SSAValue) -> str:
        """The text of a scalar; an integer must fit the elements beside it."""
        dtype, text = self.input_dtype(), self.to.ref(value)
        if dtype.kind == "b":
            return f"bool({text})"
        if dtype.kind not in "iu" or self.op.family.index_scalar:
            return text
        limits = np.iinfo(dtype)

        def fitting(number: int) -> np.generic:
            if not limits.min <= number <= limits.max:
                name = numerics.element_name(dtype)
                raise OverflowError(f"{number} does not fit in {name}")
            return dtype.type(number)

        return f"{self.to.bind(fitting)}({text})"

    def literal(self, arg: Attribute) -> str:
        """A number of the type that the instruction computes in."""
        if isinstance(arg, FloatAttr):
            value = cast("FloatAttr[Any]", arg).value.data
            return self.to.bind(np.float32(value))
        integer = cast("IntegerAttr[Any]", arg)
        dtype = numerics.storage_dtype(integer.type)
        return self.to.bind(np.array(integer.value.data).astype(dtype)[()])

    def dest(self) -> str:
        columns = 1 if self.name in REDUCTIONS else self.n
        return self.to.corner(self.op.dest, self.m, columns)

    def input_dtype(self) -> np.dtype[Any]:
        """The storage type of the inputs."""
        args = self.op.args[1:] if self.name == "where" else self.op.args
        for arg in args:
            if not isinstance(arg, tuple):
                continue
            if isinstance(kind := arg[0].type, BufType):
                return numerics.storage_dtype(kind.element_type)
        return self.dtype

    def work(
        self,
        dtype: np.dtype[Any] | type = np.float32,
        box: tuple[Value, Value] | None = None,
    ) -> str:
        """A fresh work array of the box's extents, or of those of a smaller one."""
        kind = self.kind
        if self.name in REDUCTIONS:
            shape = (kind.rows, 1)
        else:
            shape = kind.shape
        array = self.to.core.work(self._works, shape, dtype)
        self._works += 1
        name = self.to.bind(array)
        rows, columns = box or (self.m, self.n)
        if (rows, columns) == shape:
            return name
        return self.to.kept(f"{name}[:{self.to.ref(rows)}, :{self.to.ref(columns)}]")

    def clear_of(self, *args: VectorArg) -> bool:
        """Whether the destination shares no bytes with these inputs."""
        dest = allocation_of(self.op.dest)
        return not any(
            may_overlap(dest, allocation_of(arg[0]))
            for arg in args
            if isinstance(arg, tuple) and isinstance(arg[0].type, BufType)
        )

    # Instructions.

    def write(self) -> None:
        to, name = self.to, self.name
        to.scope["F32"] = np.float32
        special: dict[str, Callable[[], None]] = {
            "clip": self.clip,
            "where": self.where,
            "div": self.div,
            "relu": self.relu,
            "cvt": self.cvt,
            "copy": self.copy,
            "fill": self.copy,
            "row_cumsum": self.cumsum,
            "arange": self.arange,
            "mask_causal": self.mask_causal,
        }
        if "checked" in self.op.properties:
            special["add"] = self.checked_add
        if "group" in self.op.properties:
            special["mul"] = self.mul_groups
        if name in special:
            special[name]()
        elif name in UFUNCS:
            inputs = list(map(self.text, self.op.args))
            if name in ("floordiv", "rem") and self.dtype.kind in "iu":
                self.check_divisor(inputs[1])
            self.call(UFUNCS[name], *inputs)
        elif name in COMPARES:
            self.compare()
        elif name in REDUCTIONS:
            self.reduce()
        else:
            self.function()

    def call(self, ufunc: np.ufunc, *inputs: str, out: str = "") -> None:
        """One call of a ufunc, computed in f32 for narrow floats."""
        dtype = self.input_dtype()
        narrow = numerics.is_float(dtype) and dtype != _F32
        wide = f", {_WIDE}" if narrow else ""
        target = out or self.dest()
        function = self.to.bind(ufunc)
        self.to.line(f"{function}({', '.join(inputs)}, out={target}{wide})")

    def check_divisor(self, divisor: str) -> None:
        """Stop at a zero among integers; numpy would give 0."""

        def fail() -> NoReturn:
            raise ZeroDivisionError

        found = f"{self.to.bind(np.all)}({divisor})"
        self.to.line(f"if not {found}: {self.to.bind(fail)}()")

    def checked_add(self) -> None:
        """A sum of integers that must not wrap."""
        add = self.to.bind(checked_sum(self.dtype))
        inputs = ", ".join(map(self.text, self.op.args))
        self.assign(self.dest(), f"{add}({inputs})")

    def mul_groups(self) -> None:
        """Numbers for groups of columns: the columns of a group are an axis."""
        op, size = self.op, self.op.group_size
        first, count = op.groups
        whole = op.extents[1] == count * size
        spread = np.arange(count).repeat(size)[: op.extents[1]] + first  # pyright: ignore
        dtype = self.input_dtype()
        if numerics.is_float(dtype):
            dtype = _F32

        def apart(x: NDArray[Any], form: Form) -> NDArray[Any]:
            if form is Form.GROUP:
                return x[:, first : first + count, None] if whole else x[:, spread]
            return x.reshape(len(x), count, size) if whole else x

        forms = [arg[1] if isinstance(arg, tuple) else Form.FULL for arg in op.args]

        def mul(x: NDArray[Any], y: NDArray[Any], out: NDArray[Any]) -> None:
            sides = apart(x, forms[0]), apart(y, forms[1])
            dest = apart(out, Form.FULL)
            np.multiply(*sides, out=dest, dtype=dtype, casting="unsafe")

        inputs = ", ".join(map(self.text, op.args))
        self.to.line(f"{self.to.bind(mul)}({inputs}, {self.dest()})")

    def compare(self) -> None:
        inputs = ", ".join(map(self.text, self.op.args))
        function = self.to.bind(COMPARES[self.name])
        self.to.line(f"{function}({inputs}, out={self.dest()})")

    def relu(self) -> None:
        dtype = self.input_dtype()
        zero = np.float32(0) if numerics.is_float(dtype) else dtype.type(0)
        self.call(np.maximum, self.text(self.op.args[0]), self.to.bind(zero))

    def clip(self) -> None:
        value, low, high = self.op.args
        # The destination may hold the first step unless the last still reads `high`.
        between = self.dest() if self.clear_of(high) else self.work(self.dtype)
        self.call(np.maximum, self.text(value), self.text(low), out=between)
        self.call(np.minimum, between, self.text(high))

    def where(self) -> None:
        condition, yes, no = self.op.args
        out, copy = self.dest(), self.to.bind(np.copyto)
        c, x, y = map(self.text, (condition, yes, no))
        if self.clear_of(yes, condition):
            target = out
        else:
            target = self.work(self.dtype)
        self.assign(target, y, no)
        self.to.line(f'{copy}({target}, {x}, where={c}, casting="unsafe")')
        if target != out:
            self.assign(out, target)

    def assign(self, target: str, source: str, arg: VectorArg | None = None) -> None:
        """Write a copy of an array, or of an input, with a cast."""
        if target == source:
            return
        is_array = isinstance(arg, tuple) and arg[1] is not Form.SCALAR
        if arg is None or is_array:
            self.to.line(f"{target}[...] = {source}")
        else:
            # An item that is set does not wrap.
            copy = self.to.bind(np.copyto)
            self.to.line(f'{copy}({target}, {source}, casting="unsafe")')

    def div(self) -> None:
        a, b = self.op.args
        if not numerics.is_float(self.dtype):
            self.to.fail_to_translate(self.op, "integers divide with tile.floordiv")
        if "zero_if_zero" not in self.op.properties:
            self.call(np.divide, self.text(a), self.text(b))
            return
        # A divisor is often a column: far fewer than the quotients.
        zeros = self.work(np.bool_, self.box_of(b))
        self.to.line(f"{self.to.bind(np.equal)}({self.text(b)}, 0, out={zeros})")
        self.call(np.divide, self.text(a), self.text(b))
        copy = self.to.bind(np.copyto)
        self.to.line(f"if {zeros}.any(): {copy}({self.dest()}, 0, where={zeros})")

    def copy(self) -> None:
        (arg,) = self.op.args
        self.assign(self.dest(), self.text(arg), arg)

    def cvt(self) -> None:
        properties = self.op.properties
        mode = rounding_mode(self.op)
        saturate: bool | None = None
        if "saturate" in properties:
            saturate = bool(cast(Any, properties["saturate"]).value.data)
        source, target = self.input_dtype(), self.dtype
        nearest = mode in (None, "none", "rint")
        plain = target == _F32 or target in (numerics.F16, numerics.BF16)
        if target == numerics.F16 and self.only_widened():
            return
        given = self.text(self.op.args[0])
        if target == _F32 and (whole := self.widened()) is not None:
            self.assign(self.dest(), self.text(whole))
            return
        by_ufunc = target == _F32 and (source == numerics.BF16 or source.kind in "iu")
        if source.itemsize <= 2 and not by_ufunc:
            table = cast_table(source, target, mode, saturate)
            codes = f"{given}.view({self.to.bind(np.dtype(f'u{source.itemsize}'))})"
            take = self.to.bind(table.take)
            self.to.line(f'{take}({codes}, out={self.dest()}, mode="clip")')
            return
        exact = numerics.is_float(source) or target == _F32
        if plain and nearest and not saturate and exact:
            self.copy()
            return

        def convert(values: np.ndarray) -> np.ndarray:
            return numerics.cast(values, target, mode, saturate)

        text = f"{self.to.bind(convert)}({given})"
        if source == _F32 and target.kind in "iu" and mode in ROUNDINGS:
            rounding = Rounding.to(mode, target, saturate is not False)
            arrays = f"{given}, {self.work()}, {self.dest()}"
            self.to.line(f"if not {self.to.bind(rounding)}({arrays}):")
            with self.to.indented():
                self.assign(self.dest(), text)
        elif source.kind == "i" and numerics.is_float(target):
            small = SmallIntegers(source, target, mode, saturate)
            self.to.line(f"if not {self.to.bind(small)}({given}, {self.dest()}):")
            with self.to.indented():
                self.assign(self.dest(), text)
        else:
            self.assign(self.dest(), text)

    def only_widened(self) -> bool:
        """Whether the next instruction does without what this one makes."""
        op = self.op.next_op
        while isinstance(op, _NOT_EXECUTED):
            op = op.next_op
        users = [user for user, _ in uses_of(allocation_of(self.op.dest))]
        if not isinstance(op, VectorOp) or op.family.name != "cvt":
            return False
        emitter = _Emitter(self.to, op)
        return (
            users in ([self.op, op], [op, self.op])
            and emitter.dtype == _F32
            and emitter.widened() == self.op.args[0]
        )

    def widened(self) -> VectorArg | None:
        """The 8-bit integers that the instruction before made its f16 input of.

        f16 has all of them, and to take them is faster than to decode it.
        """
        core, op = self.to.core, self.op.prev_op
        if not core.is_plain:
            return None
        while isinstance(op, _NOT_EXECUTED):
            op = op.prev_op
        arg = self.op.args[0]
        if not isinstance(op, VectorOp) or op.family.name != "cvt":
            return None
        runs = self.to.repeated.runs
        if (op in runs) != (self.op in runs):
            return None
        whole = op.args[0]
        if not isinstance(arg, tuple) or not isinstance(whole, tuple):
            return None
        kind = numerics.storage_dtype(buffer_type(whole[0]).element_type)
        small = kind.kind in "iu" and kind.itemsize == 1
        same = op.dest is arg[0] and list(op.extents) == list(self.op.extents)
        buffers = allocation_of(op.dest), allocation_of(whole[0])
        is_half = self.input_dtype() == numerics.F16
        return (
            whole if small and same and is_half and not may_overlap(*buffers) else None
        )

    def reduce(self) -> None:
        ufunc = REDUCTIONS[self.name]
        dtype = self.input_dtype()
        is_float = numerics.is_float(dtype)
        initial = ""
        if self.name in ("row_max", "row_min"):
            least = -np.inf if is_float else np.iinfo(dtype).min
            most = np.inf if is_float else np.iinfo(dtype).max
            identity = least if self.name == "row_max" else most
            initial = f", initial={self.to.bind(identity)}"
        compute = self.to.bind(np.float32 if is_float else dtype)
        self.to.line(
            f"{self.to.bind(ufunc.reduce)}({self.text(self.op.args[0])}, axis=1, "
            f"dtype={compute}, keepdims=True, out={self.dest()}{initial})"
        )

    def cumsum(self) -> None:
        dtype = self.input_dtype()
        compute = self.to.bind(np.float32 if numerics.is_float(dtype) else dtype)
        self.to.line(
            f"{self.to.bind(np.add.accumulate)}({self.text(self.op.args[0])}, axis=1, "
            f"dtype={compute}, out={self.dest()})"
        )

    def arange(self) -> None:
        columns = np.arange(self.kind.columns).astype(self.dtype)
        line = f"{self.to.bind(columns)}[:{self.to.ref(self.n)}]"
        start = self.text(self.op.args[0])
        self.to.line(f"{self.to.bind(np.add)}({line}, {start}, out={self.dest()})")

    def mask_causal(self) -> None:
        value, offset = map(self.text, self.op.args)
        rows = self.to.bind(np.arange(self.kind.rows).reshape(-1, 1))
        columns = self.to.bind(np.arange(self.kind.columns))
        m, n = self.to.ref(self.m), self.to.ref(self.n)
        hidden, dest = self.work(np.bool_), self.dest()
        self.assign(dest, value, self.op.args[0])
        infinity = self.to.bind(np.float32(-np.inf))
        copy, where = self.to.bind(np.copyto), f"where={hidden}"
        # Below the diagonal there is nothing to hide.
        self.to.line(f"if {offset} < {n} - 1:")
        with self.to.indented():
            self.to.line(
                f"{self.to.bind(np.greater)}({columns}[:{n}], "
                f"{rows}[:{m}] + {offset}, out={hidden})"
            )
            self.to.line(f'{copy}({dest}, {infinity}, {where}, casting="unsafe")')

    def function(self) -> None:
        """A function of several steps in f32; the last writes the destination."""
        (arg,) = self.op.args
        source = self.text(arg)
        if self.input_dtype() != _F32:
            wide = self.work()
            self.assign(wide, source, arg)
            source = wide
        works = ", ".join(self.work() for _ in range(2))
        function = self.to.bind(FUNCTIONS[self.name])
        if self.dtype == _F32:
            self.to.line(f"{function}({source}, {self.dest()}, {works})")
        else:
            result = self.work()
            self.to.line(f"{function}({source}, {result}, {works})")
            self.assign(self.dest(), result)
