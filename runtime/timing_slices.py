"""
What of a kernel decides its time: extents, flag ids, conditions and bounds of loops.

Addresses, slots and places in memory do not, so two tasks whose deciding values are
equal take equally long, and so do two iterations of a loop. `Deciding` finds those
values and what must be computed to know them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.tile_flags import FlagOp
from pyptoc.dialects.tile_mixed import FreeOp, PopOp, PushOp
from pyptoc.dialects.tile_read import ReadOp
from pyptoc.dialects.tile_types import Instruction
from pyptoc.dialects.words import counted
from pyptoc.runtime.codegen import Translator

MOST_TRIPS = 2**22
"""Of one loop: what each does is compared, which takes a second for a million."""


def check_trips(loop: Operation, trips: int) -> None:
    """Refuse a loop that runs too often to compare what its iterations do (PTO507)."""
    if trips > MOST_TRIPS:
        error(
            loop.location,
            "PTO507",
            "a loop has too many trips to look at each",
            rule=f"at most {MOST_TRIPS} trips (2^22) of a loop",
            here=f"{counted(trips, 'trip')}",
            help="bind smaller sizes; a larger tile makes fewer trips",
        )


def is_pure(op: Operation) -> bool:
    """Whether the operation computes a number from numbers, or reads an input's."""
    return op.name.startswith(("arith.", "math.", "pypto.")) or isinstance(op, ReadOp)


def deciding_values(op: Operation) -> list[SSAValue]:
    """The values that say how long `op` takes, or what of its body runs."""
    if isinstance(op, scf.ForOp):
        return [op.lb, op.ub, op.step]
    if isinstance(op, scf.IfOp):
        return [op.cond]
    if isinstance(op, FlagOp):
        return [] if op.index is None else [op.index]
    if not isinstance(op, Instruction):
        return []
    extents = cast("Iterable[object]", getattr(op, "extents", ()))
    return [value for value in extents if isinstance(value, SSAValue)]


def uses_channel(op: Operation) -> bool:
    """Whether an operation, or one in it, pushes, pops or frees."""
    return any(isinstance(inner, PushOp | PopOp | FreeOp) for inner in op.walk())


class Deciding:
    """The deciding values of a kernel."""

    def __init__(
        self,
        kernel: KernelOp,
        values_of: Callable[[Operation], list[SSAValue]] = deciding_values,
    ) -> None:
        """values_of: what of an operation decides; for other questions than time."""
        self.kernel, self.values_of = kernel, values_of
        self.values = _unique(value for op in kernel.walk() for value in values_of(op))
        self.signature = self._signature()
        """Values of the kernel's top level that decide everything: its class."""
        self.reads = self._reads()
        """What reads an element on which a deciding value depends."""

    def _behind(self, stops: Callable[[Operation], bool]) -> Iterator[SSAValue]:
        """What the deciding values depend on, each once, but behind ops that stop."""
        seen = set[SSAValue]()
        waiting = list(self.values)
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            yield value
            owner = value.owner
            if not isinstance(owner, Operation):
                if owner is not self.kernel.block:
                    waiting += _carried(cast(BlockArgument, value))
            elif not stops(owner):
                waiting += _inputs(owner, cast(OpResult, value))

    def _signature(self) -> list[SSAValue]:
        top, found = self.kernel.block, list[SSAValue]()

        def is_at_top(op: Operation) -> bool:
            return op.parent is top and is_pure(op)

        for value in self._behind(is_at_top):
            owner = value.owner
            if isinstance(owner, Operation):
                if is_at_top(owner) and owner.name != "arith.constant":
                    found.append(value)
            elif owner is top and not isinstance(value.type, MemRefType):
                found.append(value)
        return found

    def _reads(self) -> set[ReadOp]:
        owners = (value.owner for value in self._behind(lambda _: False))
        return {owner for owner in owners if isinstance(owner, ReadOp)}

    @property
    def steering(self) -> list[int]:
        """The numbers of the arrays with elements on which a deciding value depends."""
        args: list[SSAValue] = list(self.kernel.buffer_args)
        return sorted({args.index(op.source) for op in self.reads})

    def of_loop(self, loop: scf.ForOp) -> LoopKey | None:
        """What an iteration does by its index; None where that is not known."""
        if loop.iter_args:
            return None
        body = loop.body.block
        changing = {cast(SSAValue, body.args[0])}
        items: list[SSAValue] = []
        for op in body.walk():
            if op is not body.parent_op():
                if any(operand in changing for operand in op.operands) and op.results:
                    changing.update(op.results)
                if isinstance(op, scf.ForOp):
                    _mark_carried(op, changing)
                if isinstance(op, scf.IfOp) and op.results:
                    changing.update(op.results)
                items += [value for value in self.values_of(op) if value in changing]
        return LoopKey.of(loop, _unique(items))


class LoopKey:
    """The operations that compute the deciding values of an iteration."""

    def __init__(
        self, items: list[SSAValue], needed: set[Operation], loops: set[Operation]
    ) -> None:
        self.items, self.needed, self.loops = items, needed, loops

    @classmethod
    def of(cls, loop: scf.ForOp, items: list[SSAValue]) -> LoopKey | None:
        """None if a value comes out of a branch or from an earlier iteration."""
        needed: set[Operation] = set()
        loops: set[Operation] = set()
        waiting, seen = list(items), set[SSAValue]()
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            owner = value.owner
            if isinstance(owner, Block):
                inner = owner.parent_op()
                if inner is loop or not loop.is_ancestor(inner or loop):
                    continue
                if not isinstance(inner, scf.ForOp) or value is not owner.args[0]:
                    return None
                loops.add(inner)
                waiting += [inner.lb, inner.ub, inner.step]
            elif loop.is_ancestor(owner):
                if not is_pure(owner):
                    return None
                needed.add(owner)
                waiting += owner.operands
        return cls(items, needed, loops)


def _inputs(owner: Operation, value: OpResult) -> list[SSAValue]:
    """What a value that is not of the top level is computed from."""
    inputs = list(owner.operands)
    for region in owner.regions:
        last = region.block.last_op if region.blocks else None
        if last is not None and last.name == "scf.yield":
            inputs.append(last.operands[value.index])
    return inputs


def _carried(argument: BlockArgument) -> list[SSAValue]:
    """Where a loop's argument comes from; nothing for an index or a half."""
    loop = argument.owner.parent_op()
    if not isinstance(loop, scf.ForOp) or argument.index == 0:
        return []
    last = loop.body.block.last_op
    yielded = [] if last is None else [last.operands[argument.index - 1]]
    return [loop.iter_args[argument.index - 1], *yielded]


def _mark_carried(loop: scf.ForOp, changing: set[SSAValue]) -> None:
    """Values that an inner loop carries may change with the outer one."""
    if any(bound in changing for bound in (loop.lb, loop.ub, loop.step)):
        changing.add(loop.body.block.args[0])
    changing.update(loop.body.block.args[1:])


def _unique(values: Iterable[SSAValue]) -> list[SSAValue]:
    return list(dict.fromkeys(values))


def slice_of(kernel: KernelOp, values: list[SSAValue]) -> Iterator[Operation]:
    """The top-level operations that compute `values`, in order."""
    needed, waiting = set[Operation](), list(values)
    while waiting:
        owner = waiting.pop().owner
        if isinstance(owner, Operation) and owner not in needed:
            needed.add(owner)
            waiting += owner.operands
    return (op for op in kernel.block.ops if op in needed)


def write_key(to: Translator, loop: scf.ForOp, key: LoopKey, name: str) -> None:
    """A function from the loop's index to what the iteration does."""
    if not key.items:
        to.line(f"{name} = None")
        return
    names = dict(to.names)
    body = loop.body.block
    out = to.fresh()
    to.line(f"def {name}({to.define(body.args[0])}):")
    with to.indented():
        to.line(f"{out} = []")
        items = [value for value in key.items if value is body.args[0]]
        if items:
            to.line(f"{out}.append({to.names[body.args[0]]})")
        _key_block(to, body.ops, key, out)
        to.line(f"return tuple({out})")
    to.names = names


def _key_block(
    to: Translator, ops: Iterable[Operation], key: LoopKey, out: str
) -> None:
    for op in ops:
        if op in key.needed or op.name == "arith.constant":
            to.operation(op)
            for result in op.results:
                if result in key.items:
                    to.line(f"{out}.append({to.ref(result)})")
        elif isinstance(op, scf.ForOp) and op in key.loops:
            bounds = to.refs([op.lb, op.ub, op.step])
            index = op.body.block.args[0]
            to.line(f"for {to.define(index)} in range({bounds}):")
            with to.indented():
                to.line("pass")
                if index in key.items:
                    to.line(f"{out}.append({to.ref(index)})")
                _key_block(to, op.body.block.ops, key, out)
        else:
            for region in op.regions:
                for block in region.blocks:
                    _key_block(to, block.ops, key, out)
