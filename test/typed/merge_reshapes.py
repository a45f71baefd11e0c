"""
A reshape of a reshape reads what the first one reads.

    %a = pypto.reshape %x[16, 8, 4]
    %y = pypto.reshape %a[128, 4]      ->      %y = pypto.reshape %x[128, 4]

Left alone: nothing is done where one of the shapes has a size that only the run knows.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

import pyptoc
from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.pypto.shape import ReshapeOp
from pyptoc.passes.typed import tensor_type


@pyptoc.register_pass
@dataclass(frozen=True)
class MergeReshapesPass(pyptoc.Pass):
    """One reshape for two."""

    name = "merge-reshapes"
    summary = "a reshape of a reshape is one reshape"

    shared: bool = True
    """Also where the first one has other readers, so that it stays."""

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        for op in list(module.walk()):
            if not isinstance(op, ReshapeOp):
                continue
            first = op.source.owner
            if not isinstance(first, ReshapeOp) or not is_static(first):
                continue
            alone = first.result.has_one_use()
            if not alone and not self.shared:
                ctx.remark(op, "not merged: the reshape before it has other readers")
                continue
            op.operands[0] = first.source
            if alone:
                first.detach()
                first.erase()


def is_static(op: ReshapeOp) -> bool:
    """Whether all sizes before and after are numbers."""
    return all(tensor_type(v).has_static_shape() for v in (op.source, op.result))
