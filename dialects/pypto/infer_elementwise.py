"""Result types of elementwise ops, casts and reductions (language.md section 3).

An elementwise op takes tensors that broadcast, and in any place a literal or an SSA
scalar (f32 for float tensors, i32 or index for integer tensors). Literals are rounded
once, to the element type of the tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from xdsl.dialects.builtin import (
    AnyFloat,
    Float16Type,
    Float32Type,
    IndexType,
    IntegerType,
    TensorType,
    f32,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from pyptoc.dialects.pypto.infer import (
    E8M0,
    ELEMENT_TYPES,
    F8,
    FLOATS,
    NUMBERS,
    ONE,
    Site,
    Tensor,
    as_tensor,
    broadcast,
    dims_of,
    is_compute_float,
    is_integer,
    is_truth,
    same_element,
    show,
    tensor,
    ui8,
    want_axis,
    want_element,
    want_tensor,
)


class Domain(Enum):
    """Which element types an elementwise op is defined on."""

    FLOAT = FLOATS
    SIGNED = "f32, f16, bf16 or a signed integer"
    NUMBER = NUMBERS
    INTEGER = "an integer of at least 8 bits"
    TRUTH = "i1"
    BITS = "i1 or an integer"
    ANY = "any but f8"

    def holds(self, element: Attribute) -> bool:
        """Whether the element type is in the domain."""
        match self:
            case Domain.FLOAT:
                return is_compute_float(element)
            case Domain.SIGNED:
                return is_compute_float(element) or (
                    is_integer(element) and element != ui8
                )
            case Domain.NUMBER:
                return is_compute_float(element) or is_integer(element)
            case Domain.INTEGER:
                return is_integer(element)
            case Domain.TRUTH:
                return is_truth(element)
            case Domain.BITS:
                return is_truth(element) or is_integer(element)
            case Domain.ANY:
                return not isinstance(element, (*F8, E8M0))


# -- elementwise --------------------------------------------------------------


def elementwise(
    site: Site,
    args: Sequence[Attribute | None],
    domain: Domain,
    result: Attribute | None = None,
    help: str = "",
) -> Tensor:
    """The result type of an elementwise op.

    Args:
        args: for each syntactic position the type of the SSA operand, or None for a
            literal.
        domain: the element types the op is defined on.
        result: the element type of the result, where it is not that of the operands.
    """
    tensors = tensor_args(site, args)
    element = same_element(site, tensors)
    position, first = tensors[0]
    want_element(site, first, position, domain.holds(element), domain.value, help)
    want_scalars(site, args, element)
    return tensor(result or element, broadcast(site, tensors))


def tensor_args(
    site: Site, args: Sequence[Attribute | None]
) -> list[tuple[int, Tensor]]:
    """The tensor operands with their positions: at least one."""
    tensors = [
        (position, want_tensor(site, type, position))
        for position, type in enumerate(args)
        if type is not None and (len(args) == 1 or as_tensor(type) is not None)
    ]
    if not tensors:
        site.error(
            "PTO110",
            f"{site.name} takes at least one tensor",
            notes=("scalars are computed with pypto.index and pypto.scalar",),
        )
    return tensors


def want_scalars(
    site: Site, args: Sequence[Attribute | None], element: Attribute
) -> None:
    """Check the SSA scalars: f32 beside floats, i32 or index beside integers, i1."""
    scalars = [
        (position, arg)
        for position, arg in enumerate(args)
        if arg is not None and not isinstance(arg, TensorType)
    ]
    if not scalars:
        return
    allowed: tuple[Attribute, ...] = ()
    if is_integer(element):
        allowed = i32, IndexType()
    elif is_compute_float(element):
        allowed = (f32,)
    elif element == i1:
        allowed = (i1,)
    rule = f"a scalar beside {element} elements is {' or '.join(map(str, allowed))}"
    if not allowed:
        rule = f"{element} elements are made by a cast, not of scalars"
    for position, arg in scalars:
        if arg not in allowed:
            site.error(
                "PTO112",
                f"a scalar of {arg} beside {element} elements",
                operand=position,
                label=f"{site.operand(position)} is {arg}",
                rule=rule,
            )


def where(
    site: Site, args: Sequence[Attribute | None], element: Attribute | None = None
) -> Tensor:
    """`where %c, %x, %y`: an i1 tensor, then values that broadcast with it.

    element: the element type where neither value is a tensor.
    """
    first = args[0]
    if first is None:
        help = "%c = pypto.ne %x, 0 makes a condition"
        site.error("PTO110", "the condition of where is a tensor", operand=0, help=help)
    condition = want_tensor(site, first, 0)
    is_condition = is_truth(condition.element_type)
    help = f"compare first: pypto.ne {site.operand(0)}, 0"
    want_element(site, condition, 0, is_condition, "i1", help)
    values: list[Attribute | None] = [None, *args[1:]]
    tensors: list[tuple[int, Tensor]] = []
    if any(isinstance(value, TensorType) for value in values):
        tensors = tensor_args(site, values)
        element = same_element(site, tensors)
    elif element is None:
        site.error(
            "PTO142",
            "where of two scalars needs a result type",
            rule="values take their element type from a tensor beside them",
            help=f"write : {tensor(f32, dims_of(condition))} at the end",
        )
    want_scalars(site, values, element)
    return tensor(element, broadcast(site, [(0, condition), *tensors]))


# -- cast ---------------------------------------------------------------------

TO_INTEGER_MODES = ("rint", "round", "floor", "ceil", "trunc", "none")
CAST_MODES = (*TO_INTEGER_MODES, "odd")
NEAREST = ("rint", "none")


def cast(site: Site, source: Attribute, target: Attribute, mode: str) -> Tensor:
    """`cast %x to T [mode m]`: the shape of the source."""
    source = want_tensor(site, source, 0)
    want_target(site, target, ELEMENT_TYPES)
    element = source.element_type
    modes = cast_modes(element, target)
    if not modes:
        help = f"{site.operand(0)}_f32 = pypto.cast {site.operand(0)} to f32"
        if target == i1:
            help = f"say which values are true: pypto.ne {site.operand(0)}, 0"
        message = f"there is no cast of {element} to {target}"
        site.error("PTO117", message, operand=0, help=help)
    if mode not in modes:
        site.error(
            "PTO117",
            f"cast of {element} to {target} has no mode {mode}",
            rule=f"its modes: {', '.join(modes)}",
        )
    return tensor(target, dims_of(source))


def cast_modes(source: Attribute, target: Attribute) -> tuple[str, ...]:
    """The rounding modes of a cast; `none` is the default. Empty: there is no cast.

    The same table as `runtime/numerics.py`, which the tests compare.
    """
    is_float, is_scale = isinstance(source, AnyFloat), isinstance(source, E8M0)
    if source == target:
        return TO_INTEGER_MODES
    if target == i1:
        return ()
    if isinstance(target, E8M0):
        return NEAREST if is_compute_float(source) else ()
    if isinstance(target, F8):
        return NEAREST if is_float and not is_scale else ()
    if isinstance(target, IntegerType):
        return () if is_scale else TO_INTEGER_MODES
    if isinstance(target, Float32Type):
        return NEAREST if source == i64 else TO_INTEGER_MODES
    if source != f32:
        return NEAREST
    return CAST_MODES if isinstance(target, Float16Type) else TO_INTEGER_MODES


def want_target(site: Site, target: Attribute, allowed: Sequence[Attribute]) -> None:
    """Check the element type after `to`."""
    if target not in allowed:
        site.error(
            "PTO117",
            f"{site.name} to {show(target)}",
            rule=f"the type after `to` is {' or '.join(map(str, allowed))}",
        )


# -- reductions over one axis -------------------------------------------------


def reduction(
    site: Site,
    source: Attribute,
    axis: int,
    keepdim: bool,
    domain: Domain,
    result: Attribute | None = None,
) -> Tensor:
    """The type after reducing `axis`: dropped, or size 1 with `keepdim`."""
    source = want_tensor(site, source, 0)
    element = source.element_type
    want_element(site, source, 0, domain.holds(element), domain.value)
    dims = list(dims_of(source))
    axis = want_axis(site, axis, len(dims))
    dims[axis : axis + 1] = [ONE] if keepdim else []
    return tensor(result or element, dims)


def sum_element(site: Site, source: Attribute, target: Attribute | None) -> Attribute:
    """The element type of a sum, product or cumulated sum.

    Floats keep their type (bf16 and f16 accumulate in f32, rounded once), or go to f32.
    Sums of i8, ui8 and i16 overflow at once, so they are errors without `to i32`.
    """
    element = want_tensor(site, source, 0).element_type
    if is_integer(element):
        if target is None and element in (i8, ui8, i16):
            site.error(
                "PTO114",
                f"{site.name} of {element} overflows {element}",
                operand=0,
                help=f"pypto.{site.name} {site.operand(0)} ... to i32",
            )
        wider = (i64,) if element == i64 else (i32, i64)
        want_target(site, target or element, wider)
    elif target is not None and is_compute_float(element):
        want_target(site, target, tuple(dict.fromkeys((element, f32))))
    return target or element


def cumsum(site: Site, source: Attribute, axis: int) -> Tensor:
    """`cumsum %x axis a`: the type of the source."""
    source = want_tensor(site, source, 0)
    want_element(
        site, source, 0, Domain.NUMBER.holds(source.element_type), Domain.NUMBER.value
    )
    want_axis(site, axis, source.get_num_dims())
    return source
