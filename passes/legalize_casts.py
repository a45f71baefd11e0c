"""
Casts that the machine lacks become chains of casts with the same result.

On both machines `i8` is reached only from `f16`. Rounding happens in one step, with
the mode that was asked for; the other steps are exact:

    %q = pypto.cast %x to i8 mode rint : tensor<?x64xf32> -> tensor<?x64xi8>

becomes

    %0 = pypto.cast %x to i32 mode rint : tensor<?x64xf32> -> tensor<?x64xi32>
    %1 = pypto.clip %0 -128, 127 : tensor<?x64xi32> -> tensor<?x64xi32>
    %2 = pypto.cast %1 to f16 : tensor<?x64xi32> -> tensor<?x64xf16>
    %q = pypto.cast %2 to i8 : tensor<?x64xf16> -> tensor<?x64xi8>

With `saturate = false` the low byte of the i32 is sign-extended instead of the clip.
`routes` decides by types alone, so it can be tested for every pair of types. The ops of
a chain keep the location, tag and tile of the cast.
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar, NoReturn

from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Attribute, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.error_list import ErrorList
from pyptoc.dialects.pypto.elementwise import (
    AddOp,
    AndOp,
    CastOp,
    ClipOp,
    GeOp,
    LeOp,
    MinimumOp,
    MulOp,
    OrOp,
    SubOp,
    WhereOp,
)
from pyptoc.dialects.pypto.infer import ELEMENT_TYPES
from pyptoc.dialects.pypto.shape import FullOp
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.builder import Builder
from pyptoc.passes.cast_routes import INTEGER_RANGES, Fix, Route, find_route
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.support import check_support
from pyptoc.passes.typed import element_type
from pyptoc.runtime.machine import Machine

ELEMENTS = {str(element): element for element in ELEMENT_TYPES}
"""Element types by their names in routes."""


class LegalizeCastsPass(PyptocPass):
    """Casts in the steps that the machine has; what it lacks is an error."""

    name = "legalize-casts"
    anchor: ClassVar[str] = "func.func"
    summary = "casts that the machine lacks become chains with the same result"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        machine: Machine = ctx.machine
        errors = ErrorList()
        with errors.kept():
            check_support(module, machine)
        for op in list(module.walk()):
            if isinstance(op, CastOp):
                with errors.kept():
                    _legalize(op, machine)
        errors.check()


def _legalize(op: CastOp, machine: Machine) -> None:
    """Replace `op` by its chain, if the machine does not have it."""
    source, target = element_type(op.source), element_type(op.result)
    names = _name(source), _name(target)
    if source == target:
        _replace(op, op.source)
    elif machine.can_cast(*names):
        return
    elif source == i1:
        _replace(op, _from_truth(op))
    else:
        route = find_route(*names, machine)
        if route is None:
            _refuse(op, machine)
        _replace(op, _chain(op, route))


@cache
def _name(element: Attribute) -> str:
    """As routes and machines write it; making the text takes a printer."""
    return str(element)


def _replace(op: CastOp, value: SSAValue) -> None:
    value = Builder.before(op).retyped(value, op.result.type)
    if op.result.name_hint is not None and value is not op.source:
        value.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def _refuse(op: CastOp, machine: Machine) -> NoReturn:
    source, target = element_type(op.source), element_type(op.result)
    have = sorted(to for at, to in machine.casts if at == str(source))
    error(
        op,
        "PTO221",
        f"{machine.name} has no cast from {source} to {target}",
        length=len(op.name),
        rule="a chain of casts must round only once",
        here=f"from {source}: {', '.join(have) or 'none'}",
    )


def _chain(op: CastOp, route: Route) -> SSAValue:
    """The steps of `route`, before `op`."""
    build = Builder.before(op, op.attributes)
    value: SSAValue = op.source
    for number, step in enumerate(route.steps):
        if step is Fix.STICKY:
            value = _sticky(build, value)
        elif isinstance(step, Fix):
            value = _narrow(build, op, value)
        elif number == route.rounds:
            to = ELEMENTS[step]
            cast = CastOp.make(value, to, mode=op.mode, saturate=op.saturate)
            value = build.value(cast)
        else:
            value = build.value(CastOp.make(value, ELEMENTS[step]))
    return value


def _narrow(build: Builder, op: CastOp, value: SSAValue) -> SSAValue:
    """`value`, i32, in the range of the target: clipped, or its low bits alone."""
    low, high = INTEGER_RANGES[str(element_type(op.result))]
    if op.saturate is None or op.saturate.value.data:
        return build.value(ClipOp.make(value, low, high))
    if low:
        value = build.value(AddOp.make(value, -low))
    value = build.value(AndOp.make(value, high - low))
    return build.value(SubOp.make(value, -low)) if low else value


def _sticky(build: Builder, value: SSAValue) -> SSAValue:
    """
    `value`, i32, as a number that f32 holds and that rounds to bf16 the same way.

    From 2**24 on the low 9 bits lie far below half a unit of a bf16: all that counts
    is whether one of them is set, and bit 8 can say that within the 24 bits of an f32.
    """
    low = build.value(AndOp.make(value, 511))
    trace = build.value(MulOp.make(build.value(MinimumOp.make(low, 1)), 256))
    high = build.value(SubOp.make(value, low))
    rounded = build.value(AddOp.make(high, trace))
    above = build.value(GeOp.make(value, 2**24))
    below = build.value(LeOp.make(value, -(2**24)))
    is_large = build.value(OrOp.make(above, below))
    return build.value(WhereOp.make(is_large, rounded, value))


def _from_truth(op: CastOp) -> SSAValue:
    """1 where true, 0 elsewhere."""
    build = Builder.before(op, op.attributes)
    dims = Shapes().dims(op.source)
    sizes = [build.index_or_int(dim) for dim in dims]
    zeros = build.value(FullOp.make(0, sizes, result_type=op.result.type))
    return build.value(WhereOp.make(op.source, 1, zeros))
