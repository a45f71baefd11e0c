"""
The cores of a mixed kernel overlap: loops run the stages of several trips at once.

In a flash attention the cube core multiplies a block, the vector cores take its
softmax, the cube core multiplies that, and so on: each waits for the other. Skewed, the
cube core does its first product for block t + 1 while the vector cores are at block t:

    scf.for %t = 0 to %n {            scf.for %t = 0 to %n + 1 {
      push scores(%t)                   scf.if %t < %n { push scores(%t) }
      pop weights(%t) ; ..       ->     scf.if %t >= 1 {
      push parts(%t) }                    pop weights(%t - 1) ; .. ; push parts(%t - 1)
                                      } }

Both sections keep the order of the messages of each channel. `stages.py` plans how late
each operation is, and says why some loops cannot be skewed; then a remark does. What is
popped and used in two stages is copied for the later one (`keep_popped.py`), or, for a
cube core, sent twice (`send_per_stage.py`). Where the slots would not fit, nothing is
sent twice, and if that is not enough, the kernel stays as it was.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.npu import kernels_of
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.passes.base import PyptocPass


class SkewPass(PyptocPass):
    """Let cube and vector stages of the loops of mixed kernels overlap."""

    name = "skew"
    anchor: ClassVar[str] = "npu.kernel"
    summary: ClassVar[str] = "overlap the alternating stages of mixed kernels"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        for kernel in kernels_of(module).values():
            if kernel.unit.data == Unit.MIXED:
                # Most programs have no use for it.
                from pyptoc.passes.skew_kernel import skew_kernel

                skew_kernel(ctx, kernel)
