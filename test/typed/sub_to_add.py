"""
A difference is a sum with the negative.

    %z = pypto.sub %x, %y      ->      %n = pypto.neg %y
                                       %z = pypto.add %x, %n

Left alone: a number in the place of an operand, and unsigned integers, which have no
negative.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

import pyptoc
from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.pypto.binary import AddOp, SubOp
from pyptoc.dialects.pypto.unary import NegOp
from pyptoc.passes.builder import Builder
from pyptoc.passes.typed import element_type


@pyptoc.register_pass
@dataclass(frozen=True)
class SubToAddPass(pyptoc.Pass):
    """x - y as x + (-y)."""

    name = "sub-to-add"
    summary = "a difference is a sum with the negative"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        for op in list(module.walk()):
            if isinstance(op, SubOp) and len(op.inputs) == 2 and has_negative(op):
                rewrite(op)


def has_negative(op: SubOp) -> bool:
    """Whether -y is of the type of y."""
    return not str(element_type(op.result)).startswith("ui")


def rewrite(op: SubOp) -> None:
    """Put two operations in the place of one."""
    x, y = op.inputs
    build = Builder.before(op, stamp=op.attributes)
    negative = build.value(NegOp.make(y))
    total = AddOp.make(x, negative, result_type=op.result.type)
    op.result.replace_all_uses_with(build.value(total))
    op.detach()
    op.erase()
