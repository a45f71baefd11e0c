"""
The loops of the language become `scf.for`, and stores become assembles.

A `pypto.forall` says that its iterations are independent and where each stores; a
loop that carries the destination says the same with values, which every later pass
can follow. Independent loops keep the mark `npu.parallel`.

    %r = pypto.forall (%b = 0 to 4, %i +: %m = 0 to %S step 128) outs(%o = %o0) {
      %t = ... : tensor<?x64xf32>
      pypto.store %t into %o[%b, %i, 0] : ...
    }

becomes

    %r = scf.for %b = %c0 to %c4 step %c1 iter_args(%o1 = %o0) {
      %r1 = scf.for %i = %c0 to %S step %c128 iter_args(%o2 = %o1) {
        %m = pypto.index min(128, %S - %i)
        %t = ... : tensor<?x64xf32>
        %o3 = pypto.assemble %t into %o2[%b, %i, 0] : ...
        scf.yield %o3
      } {npu.parallel}
      scf.yield %r1
    } {npu.parallel}

A store may stand inside further loops and branches: their results then hand the
destination on. `pypto.for` becomes one `scf.for`; loops and branches of `scf` stay.
Probes become results (`probes.py`).
Integer arithmetic of `arith` on indices becomes `pypto.index` (`arith_to_index.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.error_list import ErrorList
from pyptoc.dialects.expr import Expr, minimum
from pyptoc.dialects.pypto.control import ForallOp, ForOp, YieldOp
from pyptoc.dialects.pypto.loop_op import LoopOp
from pyptoc.dialects.pypto.shape import AssembleOp, FullOp, StoreOp
from pyptoc.dialects.record import record
from pyptoc.passes import arith_to_index
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.builder import Builder
from pyptoc.passes.inline import is_private
from pyptoc.passes.probes import probes_to_results
from pyptoc.passes.typed import as_expr

Carried = dict[SSAValue, SSAValue]
"""A forall's destination (its block argument) to the value that holds it now."""


class DesugarPass(PyptocPass):
    """Loops to `scf.for`, stores to assembles, `arith` on indices to `pypto.index`."""

    name = "desugar"
    summary = "pypto.for, pypto.forall and pypto.store to scf.for and pypto.assemble"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        errors = ErrorList()
        for function in module.ops:
            if isinstance(function, FuncOp) and not is_private(function):
                with errors.kept():
                    probes_to_results(function)
        ops = list(module.walk())
        stores = _destinations_stored_in(ops)
        for op in ops:
            with errors.kept():
                arith_to_index.convert(op)
        errors.check()
        _Desugarer(stores, errors).block(module.body.block, {})
        errors.check()


def _destinations_stored_in(
    ops: Iterable[Operation],
) -> dict[Operation, dict[SSAValue, None]]:
    """
    For each op with regions, the destinations that stores inside it write.

    Only destinations of loops around the op count: those it must hand on.
    """
    found: dict[Operation, dict[SSAValue, None]] = {}
    for op in ops:
        if not isinstance(op, StoreOp):
            continue
        dest = op.dest.owner
        owner = dest.parent_op()
        parent = op.parent_op()
        while parent is not None and parent is not owner:
            found.setdefault(parent, {})[op.dest] = None
            parent = parent.parent_op()
    return found


@record(frozen=False)
class _Desugarer:
    """Rewrites blocks in order, threading the destinations through."""

    stores: dict[Operation, dict[SSAValue, None]]
    errors: ErrorList

    def block(self, block: Block, carried: Carried) -> None:
        """Rewrite the ops of `block`; `carried` ends as it is at the block's end."""
        for op in list(block.ops):
            match op:
                case StoreOp():
                    self._store(op, carried)
                case ForallOp():
                    self._forall(op, carried)
                case ForOp():
                    self._for(op, carried)
                case scf.ForOp() if op in self.stores:
                    self._scf_for(op, carried)
                case scf.IfOp() if op in self.stores:
                    self._scf_if(op, carried)
                case _ if op.regions:
                    self._other(op)
                case _:
                    pass

    def _function(self, op: FuncOp) -> None:
        """The tensors that probes store into are carried to the results."""
        if not op.body.blocks:
            return
        kept = [
            value
            for first in op.body.block.ops
            if isinstance(first, FullOp)
            for value in first.results
            if any(isinstance(use.operation, StoreOp) for use in value.uses)
        ]
        carried: Carried = {value: value for value in kept}
        self.block(op.body.block, carried)
        last = op.body.block.last_op
        assert last is not None
        last.operands = [carried.get(value, value) for value in last.operands]

    def _other(self, op: Operation) -> None:
        if isinstance(op, FuncOp):
            with self.errors.kept():
                self._function(op)
            return
        if op in self.stores:
            error(op, "PTO183", f"pypto.store inside {op.name} is not supported")
        for region in op.regions:
            for block in region.blocks:
                self.block(block, {})

    def _store(self, op: StoreOp, carried: Carried) -> None:
        build = Builder.before(op, op.attributes)
        into = carried[op.dest]
        assemble = AssembleOp.make(op.source, into, op.mixed_offsets)
        carried[op.dest] = build.value(assemble, into.name_hint)
        _erase(op)

    def _forall(self, op: ForallOp, carried: Carried) -> None:
        outer = list(self.stores.get(op, ()))
        keys = [*op.outs, *outer]
        values: Sequence[SSAValue] = [*op.inits, *(carried[key] for key in outer)]
        build = Builder.before(op)
        for bounds in _bounds_of(op):
            for end in bounds:
                build.index(end)  # the constants of all loops stand before the first
        loops: list[scf.ForOp] = []
        for lower, upper, step in _bounds_of(op):
            loop, build = build.loop(lower, upper, step, values, parallel=True)
            loops.append(loop)
            values = loop.body.block.args[1:]
            _move_attributes(op, loop)
            for named, key in zip((*values, *loop.results), keys * 2, strict=True):
                named.name_hint = key.name_hint
        _move_body(op, [loop.body.block.args[0] for loop in loops], build)
        current: Carried = dict(zip(keys, values, strict=True))
        self.block(loops[-1].body.block, current)
        for loop, deeper in pairwise(loops):
            build.at_end(loop.body.block).yield_(*deeper.results)
        build.yield_(*(current[key] for key in keys))
        self._finish(op, loops[0].results, outer, carried)

    def _for(self, op: ForOp, carried: Carried) -> None:
        outer = list(self.stores.get(op, ()))
        initial = [*op.inits, *(carried[key] for key in outer)]
        build = Builder.before(op)
        (bounds,) = _bounds_of(op)
        loop, build = build.loop(*bounds, initial)
        _move_attributes(op, loop)
        body = loop.body.block
        for old, new in zip(op.bound_args, body.args[1:]):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        last = op.body.block.last_op
        assert isinstance(last, YieldOp)
        last.detach()
        _move_body(op, [body.args[0]], build)
        current: Carried = dict(zip(outer, body.args[1 + len(op.inits) :], strict=True))
        self.block(body, current)
        yielded = [*last.inputs, *(current[key] for key in outer)]
        build.location = last.location
        last.erase()
        pairs = zip(yielded, initial, strict=True)
        build.yield_(*(build.retyped(value, first.type) for value, first in pairs))
        self._finish(op, loop.results, outer, carried)

    def _scf_for(self, op: scf.ForOp, carried: Carried) -> None:
        outer = list(self.stores[op])
        initial = [*op.iter_args, *(carried[key] for key in outer)]
        region = op.detach_region(op.body)
        body = region.block
        current: Carried = {}
        for key in outer:
            current[key] = body.insert_arg(carried[key].type, len(body.args))
            current[key].name_hint = key.name_hint
        self.block(body, current)
        last = body.last_op
        assert isinstance(last, scf.YieldOp)
        last.operands = [*last.operands, *(current[key] for key in outer)]
        loop = scf.ForOp.create(
            operands=[op.lb, op.ub, op.step, *initial],
            result_types=[value.type for value in initial],
            regions=[region],
        )
        _move_attributes(op, loop)
        Builder.before(op).emit(loop)
        self._finish(op, loop.results, outer, carried)

    def _scf_if(self, op: scf.IfOp, carried: Carried) -> None:
        outer = list(self.stores[op])
        regions: list[Region] = []
        for region in list(op.regions):
            op.detach_region(region)
            regions.append(region)
            if not region.blocks:
                region.add_block(Block())
            current = {key: carried[key] for key in outer}
            block = region.block
            self.block(block, current)
            values = [current[key] for key in outer]
            if isinstance(last := block.last_op, scf.YieldOp):
                last.operands = [*last.operands, *values]
            else:
                Builder.before(op).at_end(block).yield_(*values)
        types = [*op.result_types, *(carried[key].type for key in outer)]
        branch = scf.IfOp.create(
            operands=[op.cond], result_types=types, regions=regions
        )
        _move_attributes(op, branch)
        Builder.before(op).emit(branch)
        self._finish(op, branch.results, outer, carried)

    def _finish(
        self,
        op: Operation,
        results: Sequence[SSAValue],
        outer: Sequence[SSAValue],
        carried: Carried,
    ) -> None:
        """Replace `op`; the results after its own are the outer destinations."""
        for old, new in zip(op.results, results):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        for key, value in zip(outer, results[len(op.results) :], strict=True):
            value.name_hint = key.name_hint
            carried[key] = value
        _erase(op)


def _bounds_of(op: LoopOp) -> list[tuple[Expr, Expr, Expr]]:
    """Lower bound, upper bound and step of each index, as expressions over values."""
    return [(as_expr(a.lower), as_expr(a.upper), as_expr(a.step)) for a in op.axes]


def _move_attributes(old: Operation, new: Operation) -> None:
    """Keep the tag, the tiles and whatever else was written on the loop."""
    for key, value in old.attributes.items():
        new.attributes.setdefault(key, value)


def _move_body(op: LoopOp, indices: Sequence[SSAValue], build: Builder) -> None:
    """
    Move the ops of the body of `op` to `build`, after the sizes of the tails.

    `indices` replace the loop indices. A tail `%i +: %n` is min(step, upper - %i).
    """
    for index, axis in zip(indices, op.axes, strict=True):
        index.name_hint = axis.index.name_hint
        axis.index.replace_all_uses_with(index)
        if axis.tail is not None:
            left = as_expr(axis.upper) - Expr.sym(index)
            size = build.index(minimum(as_expr(axis.step), left), axis.tail.name_hint)
            axis.tail.replace_all_uses_with(size)
    for inner in list(op.body.block.ops):
        inner.detach()
        build.point.block.add_op(inner)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
