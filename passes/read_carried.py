"""
What an iteration of a forall overwrites it reads from what the loop carries.

    %z = scf.for %g = .. iter_args(%o = %y) {             {npu.parallel}
      %old = pypto.view %y[%g, :, :]           ->         %old = pypto.view %o[%g, :, :]
      %new = pypto.add %old, %p
      yield (pypto.assemble %new into %o[%g, 0, 0])
    }

No other iteration stores to that box, so the bytes are those of %y. Nobody reads %y
itself any more: it may be updated in place, and ops may share a task that reads what it
overwrites. Once that is decided the views are as they were, since a loop that only
stores into what it carries can be a grid. A view of another box than the one that is
stored in its block is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects import func, scf
from xdsl.ir import SSAValue

from pyptoc.dialects.parallel import is_parallel
from pyptoc.dialects.pypto.shape import AssembleOp, EmptyOp, FullOp, ViewOp
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import defined_in
from pyptoc.passes.windows import is_stored_box


def read_carried(function: func.FuncOp) -> dict[ViewOp, SSAValue]:
    """Rewrite the views of one function, in outer loops first.

    Returns what each of them read before.
    """
    shapes = Shapes()
    before: dict[ViewOp, SSAValue] = {}
    for loop in list(function.walk()):
        if not isinstance(loop, scf.ForOp) or not is_parallel(loop):
            continue
        for initial, argument in zip(
            loop.iter_args, loop.body.block.args[1:], strict=True
        ):
            if isinstance(initial.owner, EmptyOp | FullOp):
                continue
            stores = list(stores_into(argument))
            for view in list(views_in(loop, initial)):
                if any(overwrites(store, view, shapes) for store in stores):
                    before.setdefault(view, initial)
                    view.operands[0] = argument
    return before


def read_initial(views: Mapping[ViewOp, SSAValue]) -> None:
    """Let views read again what they read before."""
    for view, initial in views.items():
        if view.parent is not None:
            view.operands[0] = initial


def stores_into(carried: SSAValue) -> Iterator[AssembleOp]:
    """The stores to what a parallel loop carries, also by parallel loops inside."""
    for use in carried.uses:
        op = use.operation
        if isinstance(op, AssembleOp) and op.dest is carried:
            yield op
        elif isinstance(op, scf.ForOp) and use.index >= 3 and is_parallel(op):
            yield from stores_into(op.body.block.args[use.index - 2])


def views_in(loop: scf.ForOp, value: SSAValue) -> Iterator[ViewOp]:
    """The views of `value` in a loop."""
    for use in value.uses:
        op = use.operation
        if not isinstance(op, ViewOp) or op.target is not None or use.index:
            continue
        if defined_in(op.result, loop):
            yield op


def overwrites(store: AssembleOp, view: ViewOp, shapes: Shapes) -> bool:
    """Whether a store, in the block of a view, writes to the box that is viewed."""
    return view.parent is store.parent and is_stored_box(
        view.result, view.source, store, shapes
    )
