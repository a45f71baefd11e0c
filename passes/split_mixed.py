"""
Flat mixed kernels get a section for each kind of core, and channels between them.

    npu.kernel @k .. on mixed {                 npu.kernel @k .. on mixed {
      tile.matmul %a, %b into %c [%m, %n, 64]     %s = tile.channel {slots = 2} : ..
      tile.move %c[0, 0] [%m, %n] into %x    ->   tile.section cube {
      tile.exp %x into %x [%m, %n]                  tile.matmul %a, %b into %c ..
      tile.store %x [%m, %n] into %y[%r, 0]         tile.push %c [%m, %n] into %s
    }                                             }
                                                  tile.section vector (%half) {
                                                    %x = tile.pop %s
                                                    tile.exp %x into %x [%mine, %n]
                                                    tile.store %x [%mine, %n] into ..
                                                    tile.free %s
                                                  } }

Each side keeps what it needs of the index arithmetic, loops and branches
(`section_needs.py`); both have the loops and branches that hold a crossing, so every
path has as many pushes as pops and frees. Each side goes on in the flat kernel's order,
and a slot is given back in the trip that popped it: no message waits for one that comes
later, so one slot of each channel is enough.

On a machine without a way between the cores, channels go through memory.

How the two vector cores share the tiles is decided in `halves.py`. What keeps a kernel
from being split is listed by `flat_kernels.obstacles`, which whoever forms mixed tasks
may ask first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NoReturn

from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import Note, error
from pyptoc.dialects.error_list import ErrorList
from pyptoc.dialects.npu import KernelOp, kernels_of
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.passes.base import PyptocPass

if TYPE_CHECKING:
    from pyptoc.passes.flat_kernels import Obstacle


class SplitMixedPass(PyptocPass):
    """Make sections and channels of flat mixed kernels."""

    name = "split-mixed"
    summary: ClassVar[str] = "sections and channels for the cores of mixed kernels"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        kernels = kernels_of(module)
        if all(kernel.unit.data != Unit.MIXED for kernel in kernels.values()):
            return
        # What most programs have no use for is not loaded for them.
        from pyptoc.passes.aliases import parameter_aliases
        from pyptoc.passes.flat_kernels import is_flat, obstacles
        from pyptoc.passes.make_sections import make_sections

        aliases = parameter_aliases(module)
        errors = ErrorList()
        for name, kernel in kernels.items():
            if is_flat(kernel):
                same = aliases.get(name, {})
                found = obstacles(kernel, ctx.machine, same)
                with errors.kept():
                    if found:
                        _refuse(kernel, found[0])
                    make_sections(ctx, kernel, same)
        errors.check()


def _refuse(kernel: KernelOp, obstacle: Obstacle) -> NoReturn:
    met = obstacle.other
    error(
        obstacle.op,
        "PTO216",
        f"the mixed kernel @{kernel.sym_name.data} cannot be split: {obstacle.reason}",
        notes=[] if met is None else [Note("it does so here", met.location)],
        rule="the cores of a mixed kernel meet only where a move crosses",
        help="two kernels, one on cube and one on vector, can pass it through memory",
    )
