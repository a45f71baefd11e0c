"""
The launches of a program, in order, without running them.

The orchestration function runs on sizes: arrays are where they lie and how large they
are. Only what it reads (a group list, lengths) needs values: they are the given ones,
or made up as the argument's `pypto.data` says, and then named in `assumed`. What a
kernel computes or has changed is known from a run alone (`recorded_reads.py`), which
needs all inputs; what was taken from there is named in `recorded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.npu_attrs import Selector
from pyptoc.dialects.npu_kernel import KernelOp, LaunchOp, kernels_of
from pyptoc.dialects.npu_memory import AllocOp, ReadOp, ReshapeOp
from pyptoc.dialects.npu_place import PlaceOp
from pyptoc.dialects.pypto.scalars import DimOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_types import element_bits
from pyptoc.runtime.codegen import Translator, to_f32
from pyptoc.runtime.failures import raise_beyond_arena, raise_out_of_bounds
from pyptoc.runtime.inputs import Input, Inputs, complete
from pyptoc.runtime.kernel_buffers import stored_buffers
from pyptoc.runtime.random_inputs import LATE, make_up, settle_sizes, shape_of
from pyptoc.runtime.run import is_lowered
from pyptoc.runtime.signature import Argument, Signature, find_entry

if TYPE_CHECKING:
    from pyptoc.runtime.recorded_reads import RecordedReads

MOST_TASKS = 2**23
"""More of them would take gigabytes and minutes to place, one after the other."""
LAUNCH_TASKS = 256
"""What a launch costs at least: 30 KB and a millisecond."""

Events = tuple[int, ...]
"""The numbers of launches."""


@record
class Array:
    """An array outside the cores, without what is in it."""

    root: int
    """The allocation or argument that it is part of."""
    offset: int
    """Where it begins in that, in bytes."""
    shape: tuple[int, ...]
    bits: int
    """Of an element."""

    @property
    def bytes(self) -> int:
        return prod(self.shape) * self.bits // 8


Content = tuple[Array, int | None]
"""What tells elements from others: their array, and the launch that stored last."""


@record
class Launch:
    """A launch with its sizes."""

    number: int
    op: LaunchOp
    grid: tuple[int, ...]
    arrays: tuple[Array, ...]
    scalars: tuple[Any, ...]
    waits: tuple[tuple[Events, Selector], ...]
    held: Events
    """What had to be over before the launch could be issued, since an element was read
    between the one before and this one."""
    contents: tuple[Content, ...]
    """Of the arrays."""
    read: Callable[[Operation, int, tuple[int, ...]], int | float]
    """For a `tile.read`, the number of an array and a place in it: the element."""

    @property
    def kernel(self) -> str:
        return self.op.callee_name

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of the arrays."""
        return tuple(array.shape for array in self.arrays)


@record(frozen=False)
class Steering:
    """The inputs, as far as they decide what is launched."""

    signature: Signature
    inputs: Inputs
    seed: int | None = None
    """Of the values that are made up. None: those that are read are, but no others,
    which a run would need."""
    run: Callable[[Mapping[str, Input]], RecordedReads] | None = None
    """Runs the program; None: only sizes count."""
    assumed: list[str] = field(default_factory=list[str])
    """The arguments whose values were made up."""
    recorded: list[str] = field(default_factory=list[str])
    """What was read of results of a run."""
    roots: dict[int, int] = field(default_factory=dict[int, int])
    """The bytes of each argument, by the root of its array."""
    reads: RecordedReads | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        values = self.inputs.values
        for argument in self.signature.arguments:
            if argument.name not in values and argument.default is not None:
                values[argument.name] = argument.default
        missing = [a for a in self.signature.arguments if a.name not in values]
        self.missing = [argument.name for argument in missing]
        arrays = [replace(a, data=None) for a in missing if not a.is_scalar]
        settle_sizes(self.signature, self.inputs, arrays)
        for argument in missing:
            if argument.is_scalar:
                self.value(argument)

    def shape(self, argument: Argument) -> tuple[int, ...]:
        """The sizes of an argument."""
        if argument.name in self.inputs.values:
            return np.shape(self.inputs.values[argument.name])
        return shape_of(argument, self.inputs.sizes)

    def value(self, argument: Argument) -> Any:
        """The value of an argument, made up if it is not given."""
        values = self.inputs.values
        if argument.name not in values:
            missing = [argument]
            data = argument.data
            if data is not None and data.kind == LATE:
                source = next(
                    (a for a in self.signature.arguments if a.name == data.of), None
                )
                if source is not None and source.name not in values:
                    missing.append(source)
            make_up(self.signature, self.inputs, missing, self.seed or 0)
            self.assumed += [each.name for each in missing]
        return values[argument.name]

    def results(self, op: Operation, name: str) -> RecordedReads:
        """What a run reads; `op` needs it to know an element of the array `name`."""
        if self.reads is None:
            self.reads = self._run(op, name)
        if name not in self.recorded:
            self.recorded.append(name)
        return self.reads

    def _run(self, op: Operation, name: str) -> RecordedReads:
        what = f"a size or offset comes from {name}, which a kernel computes"
        if self.run is None:
            error(
                op.location,
                "PTO503",
                what,
                rule="sizes alone do not say what it is",
                help="--run --check checks a run",
            )
        if self.seed is None and self.missing:
            error(
                op.location,
                "PTO503",
                what,
                rule="only a run tells what that is, and a run needs all inputs",
                here=f"not given: {', '.join(map(repr, self.missing))}",
                help="give them with --inputs=F.npz or --case=NAME, or make them up "
                "with --random-inputs=1",
            )
        complete(self.signature, self.inputs, "inputs", self.seed)
        self.assumed += [each for each in self.missing if each not in self.assumed]
        return self.run(self.inputs.values)


def launches_of(
    module: ModuleOp, steering: Steering, purpose: str = "simulate"
) -> tuple[list[Launch], list[Array]]:
    """
    All launches of the entry function, and the arrays that are its results.

    purpose: what they are for, in the words of an error for a module without them.
    """
    function = find_entry(module, steering.signature.name)
    _check_level(module, purpose)
    return _Launching(function, kernels_of(module), steering).collect()


def _check_level(module: ModuleOp, purpose: str) -> None:
    """Times and hazards come from addresses and flags, which only a program has."""
    help = f"{purpose} what the whole pipeline gives (--compile-to=program)"
    for name, kernel in kernels_of(module).items():
        for op in kernel.walk():
            if op.name == "tile.alloc" and "addr" not in op.properties:
                error(
                    op.location,
                    "PTO290",
                    f"@{name} is no scheduled program: a buffer has no address",
                    help=help,
                )
    if not is_lowered(module):
        error(None, "PTO290", f"there are no kernels to {purpose}", help=help)


class _Launching(Translator):
    """Writes the orchestration function; see the module's docstring."""

    def __init__(
        self,
        function: func.FuncOp,
        kernels: Mapping[str, KernelOp],
        steering: Steering,
    ) -> None:
        super().__init__()
        self.function, self.steering = function, steering
        self.stored = {name: stored_buffers(each) for name, each in kernels.items()}
        self.versions: dict[int, int] = {}
        """By root: the last launch that stored to a part of it."""
        self.host_reads = count()
        self.held: Events = ()
        """What reads have waited for since the last launch."""
        self.launches: list[Launch] = []
        self.tasks = 0
        """Of all launches so far."""
        self.roots = 0
        self.arguments: dict[int, Argument] = {}
        """Arguments by the root of their array."""
        self.handlers |= {
            "func.return": lambda op: self.line(f"return {self.tuple_of(op.operands)}"),
            "npu.alloc": self._alloc,
            "npu.place": self._place,
            "npu.reshape": self._reshape,
            "npu.reinterpret": self._reinterpret,
            "npu.read": self._read,
            "npu.print": lambda op: None,
            "pypto.print": lambda op: None,
            "pypto.claims": lambda op: None,
            "pypto.claim": lambda op: None,
            "npu.launch": self._launch,
            "npu.no_events": lambda op: self._define(op, "()"),
            "npu.join": lambda op: self._define(op, self._joined(op.operands)),
            "pypto.dim": self._dim,
        }
        args = function.body.block.args
        self.line(f"def run({', '.join(map(self.define, args))}):")
        with self.indented():
            self.block(function.body.block)
        self.run: Callable[..., tuple[Any, ...]] = self.compiled("run")

    def collect(self) -> tuple[list[Launch], list[Array]]:
        """Run it."""
        given: list[Any] = []
        for argument in self.steering.signature.arguments:
            if argument.is_scalar:
                given.append(self.steering.value(argument))
                continue
            array = self._new(self.steering.shape(argument), argument.element_type)
            self.arguments[array.root] = argument
            self.steering.roots[array.root] = array.bytes
            given.append(array)
        returned = self.guarded(self.run, *given)
        return self.launches, [each for each in returned if isinstance(each, Array)]

    def _new(self, shape: Sequence[int], element: Attribute) -> Array:
        self.roots += 1
        return Array(self.roots, 0, tuple(shape), element_bits(element))

    def _define(self, op: Operation, text: str) -> None:
        self.line(f"{self.define(op.results[0])} = {text}")

    def expression(self, op: Operation) -> str:
        """Sizes can come from data, so results are checked to fit in 64 bits."""
        text = super().expression(op)
        return f"fits({text})" if op.name == "pypto.index" else text

    def _call(
        self, op: Operation, function: Callable[..., object], args: Iterable[Any]
    ) -> None:
        self._define(op, f"{self.bind(function)}({self.refs(list(args))})")

    def _dim(self, op: Operation) -> None:
        dim = cast(DimOp, op)
        self._define(op, f"{self.ref(dim.source)}.shape[{dim.axis.value.data}]")

    # Memory.

    def _alloc(self, op: Operation) -> None:
        element = _element_type(op)

        def allocate(*sizes: int) -> Array:
            if min(sizes, default=0) < 0:
                shown = ", ".join(map(str, sizes))
                raise_out_of_bounds(op, f"an allocation of sizes [{shown}]")
            return self._new(sizes, element)

        self._call(op, allocate, cast(AllocOp, op).mixed_sizes)

    def _place(self, op: Operation) -> None:
        placing, bits = cast(PlaceOp, op), element_bits(_element_type(op))

        def place(arena: Array, offset: int, *sizes: int) -> Array:
            end = offset + prod(sizes) * bits // 8
            if min(sizes, default=0) < 0 or not 0 <= offset <= end <= arena.bytes:
                raise_beyond_arena(op, sizes, offset, arena.bytes)
            return Array(arena.root, arena.offset + offset, sizes, bits)

        self._call(op, place, [placing.arena, placing.offset, *placing.mixed_sizes])

    def _reshape(self, op: Operation) -> None:
        def reshape(array: Array, *sizes: int) -> Array:
            return replace(array, shape=sizes)

        reshaping = cast(ReshapeOp, op)
        self._call(op, reshape, [reshaping.source, *reshaping.mixed_sizes])

    def _reinterpret(self, op: Operation) -> None:
        bits = element_bits(_element_type(op))

        def reinterpret(array: Array) -> Array:
            *outer, last = array.shape
            return replace(array, shape=(*outer, last * array.bits // bits), bits=bits)

        self._call(op, reinterpret, op.operands)

    def _read(self, op: Operation) -> None:
        reading = cast(ReadOp, op)

        def read(waited: Events, array: Array, *place: int) -> int | float:
            self.held += waited
            number, content = next(self.host_reads), self._content(array)
            argument = self._argument_of(content)
            if argument is None:
                return self.steering.results(op, _name(op)).host[number]
            return _element(op, array, place, self.steering.value(argument))

        place = self.refs([reading.source, *reading.mixed_offsets])
        waited = self._joined(reading.waits)
        self._define(op, f"{self.bind(read)}({waited}, {place})")

    def _content(self, array: Array) -> Content:
        return array, self.versions.get(array.root)

    def _argument_of(self, content: Content) -> Argument | None:
        """The argument whose elements these are; None: they come from a kernel."""
        array, version = content
        return None if version is not None else self.arguments.get(array.root)

    # Launches.

    def _joined(self, events: Iterable[SSAValue]) -> str:
        return " + ".join(["()", *map(self.ref, events)])

    def _launch(self, op: Operation) -> None:
        launch = cast(LaunchOp, op)
        selectors = [selector for _, selector in launch.wait_list]
        stored = self.stored[launch.callee_name]

        def run(
            grid: tuple[int, ...],
            arrays: tuple[Array, ...],
            scalars: tuple[Any, ...],
            events: tuple[Events, ...],
        ) -> Events:
            if min(grid, default=1) < 0:
                raise_out_of_bounds(op, f"a launch of grid {list(grid)}")
            waits = tuple(zip(events, selectors, strict=True))
            number = len(self.launches)
            contents = tuple(map(self._content, arrays))

            def read(reading: Operation, n: int, place: tuple[int, ...]) -> int | float:
                argument = self._argument_of(contents[n])
                if argument is not None:
                    values = self.steering.value(argument)
                else:
                    results = self.steering.results(reading, _name(reading))
                    values = results.tables[number, n]
                return _element(reading, arrays[n], place, values)

            held, self.held = self.held, ()
            found = Launch(
                number, launch, grid, arrays, scalars, waits, held, contents, read
            )
            self._count(found)
            self.launches.append(found)
            for n in stored:
                self.versions[arrays[n].root] = number
            return (number,)

        waited = [value for value, _ in launch.wait_list]
        groups = (launch.grid, launch.buffers, launch.scalars, waited)
        texts = (self.tuple_of(cast("Any", group)) for group in groups)
        self._define(op, f"{self.bind(run)}({', '.join(texts)})")

    def _count(self, launch: Launch) -> None:
        """PTO507 where there are too many launches and tasks."""
        self.tasks += max(prod(launch.grid), LAUNCH_TASKS)
        if self.tasks > MOST_TASKS:
            shape = " * ".join(map(str, launch.grid)) or "1"
            error(
                launch.op.location,
                "PTO507",
                "too many tasks to simulate",
                rule=f"at most {MOST_TASKS} tasks (2^23) of all launches together, "
                f"a launch counts for {LAUNCH_TASKS} or more",
                here=f"{self.tasks} with launch {launch.number + 1}, of {shape}",
                help="bind smaller sizes; a larger tile makes fewer tasks",
            )


def _name(op: Operation) -> str:
    """What an `npu.read` or `tile.read` reads."""
    return f"%{op.operands[0].name_hint or 'memory'}"


def _element(
    op: Operation, array: Array, place: tuple[int, ...], given: Any
) -> int | float:
    """What an `npu.read` or `tile.read` reads of these values of an array."""
    values = np.reshape(given, array.shape)
    if not all(0 <= i < n for i, n in zip(place, array.shape, strict=True)):
        shown = ", ".join(map(str, place))
        raise_out_of_bounds(
            op, f"read of {_name(op)}[{shown}], its sizes are {list(array.shape)}"
        )
    is_index = isinstance(op.results[0].type, IndexType)
    return int(values[place]) if is_index else to_f32(values[place])


def _element_type(op: Operation) -> Attribute:
    return cast("MemRefType[Attribute]", op.results[0].type).element_type
