"""
The order in which a launch's tasks start, and who assigns them to cores.

    %t = npu.launch @gmm_0[%mb, 28] (%a, %y) : ... -> !npu.events

becomes

    %t = npu.launch @gmm_0[%mb, 28] (%a, %y) {order = "row", assign = "static"} : ...

`order` is the walk through the grid (`dialects/walk.py` draws them): the one that the
tile has, written by the author or chosen by infer-tiles for what neighbours find in L2,
else "row", the grid as it is written. `assign` says which core takes a task: "static"
deals the tasks out in that order, one to each core in turn, which needs no counter in
memory and suits tasks that take equally long; cube tasks do, since they are equal
boxes. "dynamic" gives the next task to whichever core is free; vector and mixed tasks
use it, since their rows may depend on data. Attributes that are there already are kept,
and no wait is added or removed. `axes`, the grid's axes of rows and columns of tiles,
is left out where they are the last two.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, StringAttr

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.npu import LaunchOp, Unit, kernels_of
from pyptoc.passes.base import PyptocPass

_ROW = StringAttr("row")
_ASSIGN = {
    Unit.CUBE: StringAttr("static"),
    Unit.VECTOR: StringAttr("dynamic"),
    Unit.MIXED: StringAttr("dynamic"),
}


class SchedulePass(PyptocPass):
    """Choose the walk order and the core assignment of each launch."""

    name = "schedule"
    summary: ClassVar[str] = "walk order and core assignment of every launch"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        kernels = kernels_of(module)
        for op in module.walk():
            if isinstance(op, LaunchOp):
                unit = kernels[op.callee_name].unit.data
                op.attributes.setdefault("order", _ROW)
                op.attributes.setdefault("assign", _ASSIGN[unit])
                if op.task_order.axes in (None, (op.rank - 2, op.rank - 1)):
                    op.attributes.pop("axes", None)
