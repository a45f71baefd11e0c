"""Result types of the composites: softmax, norms, swiglu, rope, quantisation.

They compute in f32 and cast once at the end, so operands that only weigh (gamma, cos,
scales) may be of another float type than the data.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    IndexType,
    IntegerType,
    bf16,
    f16,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute

from pyptoc.dialects.pypto.infer import (
    FLOATS,
    ONE,
    Dim,
    Site,
    Tensor,
    dims_of,
    equal_dim,
    is_compute_float,
    is_integer,
    same_element,
    show,
    show_dims,
    tensor,
    want_axis,
    want_element,
    want_rank,
    want_tensor,
)
from pyptoc.dialects.pypto.infer_elementwise import want_target
from pyptoc.dialects.pypto.infer_shape import stretch
from pyptoc.dialects.words import counted

FLOAT_TARGETS: tuple[Attribute, ...] = (f32, bf16, f16)


def float_tensor(site: Site, type: Attribute, operand: int) -> Tensor:
    """The operand as a tensor of f32, f16 or bf16."""
    result = want_tensor(site, type, operand)
    fits = is_compute_float(result.element_type)
    want_element(site, result, operand, fits, FLOATS)
    return result


# -- softmax ------------------------------------------------------------------


def softmax(site: Site, source: Attribute, axis: int) -> Tensor:
    """`softmax %x axis -1`: the type of the source."""
    result = float_tensor(site, source, 0)
    want_axis(site, axis, result.get_num_dims())
    return result


def online_softmax(
    site: Site, scores: Attribute, maximum: Attribute, total: Attribute
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`online_softmax %s state %m, %l` -> (m', l', p, alpha), all f32.

    s is [.., M, N]; m, l and alpha are [.., M, 1].
    """
    types = [
        want_tensor(site, type, position)
        for position, type in enumerate((scores, maximum, total))
    ]
    for position, type in enumerate(types):
        want_element(site, type, position, type.element_type == f32, "f32")
    want_rank(site, types[0], 0, 1, least=True)
    rows = list(dims_of(types[0]))[:-1]
    for position, type in enumerate(types[1:], start=1):
        have = dims_of(type)
        merged = [equal_dim(a, b) for a, b in zip(have, [*rows, ONE], strict=False)]
        if len(have) != len(rows) + 1 or None in merged:
            site.error(
                "PTO136",
                f"{site.operand(position)} is {show_dims(have)}, the state of "
                f"{show_dims(dims_of(types[0]))} is {show_dims([*rows, ONE])}",
                operand=position,
                rule="maximum and sum hold one number for each row of the scores",
            )
        rows = [dim for dim in merged if dim is not None][:-1]
    state = tensor(f32, [*rows, ONE])
    return state, state, tensor(f32, [*rows, dims_of(types[0])[-1]]), state


# -- norms --------------------------------------------------------------------


def norm(
    site: Site,
    source: Attribute,
    weights: Sequence[Attribute],
    target: Attribute | None,
) -> Tensor:
    """`rms_norm %x, %gamma`, `layer_norm %x, %gamma, %beta`: over the last axis.

    gamma and beta are [D] for an x of [.., D].
    """
    data = float_tensor(site, source, 0)
    want_rank(site, data, 0, 1, least=True)
    last = dims_of(data)[-1]
    for position, type in enumerate(weights, start=1):
        weight = float_tensor(site, type, position)
        dims = dims_of(weight)
        if len(dims) != 1 or equal_dim(dims[0], last) is None:
            site.error(
                "PTO136",
                f"{site.operand(position)} is {show_dims(dims)}, the last axis of "
                f"{site.operand(0)} has {last}",
                operand=position,
                rule="one weight for each element of the last axis: [D]",
            )
    if target is not None:
        want_target(site, target, FLOAT_TARGETS)
    return tensor(target or data.element_type, dims_of(data))


# -- activations --------------------------------------------------------------


def swiglu(site: Site, value: Attribute, gate: Attribute | None = None) -> Tensor:
    """`swiglu %v, %g`, or `swiglu %y` with the halves of the last axis."""
    data = float_tensor(site, value, 0)
    if gate is not None:
        other = float_tensor(site, gate, 1)
        element = same_element(site, [(0, data), (1, other)])
        merged = [
            equal_dim(a, b) for a, b in zip(dims_of(data), dims_of(other), strict=False)
        ]
        if None in merged or data.get_num_dims() != other.get_num_dims():
            site.error(
                "PTO136",
                f"value is {show_dims(dims_of(data))}, "
                f"gate is {show_dims(dims_of(other))}",
                operand=0,
                rule="value and gate have one shape",
            )
        return tensor(element, [dim for dim in merged if dim is not None])
    want_rank(site, data, 0, 1, least=True)
    *lead, last = dims_of(data)
    if last.is_static and last.size % 2:
        site.error(
            "PTO137",
            f"swiglu halves the last axis of {site.operand(0)}, {last.size} is odd",
            operand=0,
            label=f"{site.operand(0)} is {show(data)}",
            rule="the first half is the SiLU side, the second the gate",
            help="give both: pypto.swiglu %value, %gate",
        )
    return tensor(data.element_type, [*lead, last.map(lambda size: size // 2)])


def rope(
    site: Site,
    source: Attribute,
    cos: Attribute,
    sin: Attribute,
    first: int | None,
) -> Tensor:
    """`rope %x, %cos, %sin`: the type of x; cos and sin broadcast to what rotates."""
    data = float_tensor(site, source, 0)
    want_rank(site, data, 0, 1, least=True)
    *lead, last = dims_of(data)
    rotated = last if first is None else Dim(first, first)
    too_many = last.bound is not None and last.bound < rotated.size
    if rotated.is_static and (rotated.size % 2 or rotated.size < 0 or too_many):
        site.error(
            "PTO137",
            f"rope rotates pairs: {rotated.size} of the "
            f"{counted(last, 'element')} of the last "
            "axis",
            operand=0,
            label=f"{site.operand(0)} is {show(data)}",
            rule="an even number of elements, at most the last axis",
        )
    for position, type in ((1, cos), (2, sin)):
        stretch(site, float_tensor(site, type, position), position, [*lead, rotated])
    return data


# -- quantisation -------------------------------------------------------------


def quantize(
    site: Site,
    source: Attribute,
    axis: int | None,
    group: int | None,
    target: Attribute,
    *,
    asymmetric: bool = False,
) -> list[Tensor]:
    """`quantize %x [axis -1 [group 128]] to i8` -> values, f32 scales, zero points.

    The scales keep the axis: size 1, with `group` one for each block; without an axis
    every size is 1. Zero points are i32.
    """
    data = float_tensor(site, source, 0)
    want_target(site, target, (i8,))
    values, dims = tensor(target, dims_of(data)), list(dims_of(data))
    if axis is None:
        dims = [ONE] * len(dims)
    else:
        axis = want_axis(site, axis, len(dims))
        dims[axis] = ONE if group is None else _groups(site, axis, dims[axis], group)
    scales = tensor(f32, dims)
    return [values, scales, tensor(i32, dims)] if asymmetric else [values, scales]


def _groups(site: Site, axis: int, size: Dim, group: int) -> Dim:
    """How many groups of `group` elements an axis has."""
    if group <= 0 or (size.is_static and size.size % group):
        site.error(
            "PTO137",
            f"{site.name} in groups of {group}: axis {axis} has "
            f"{counted(size, 'element')}",
            operand=0,
            rule="the axis is a whole number of groups",
        )
    return size.map(lambda count: count // group)


def quantize_given(
    site: Site, source: Attribute, given: Sequence[Attribute], target: Attribute
) -> Tensor:
    """`quantize %x scale %s [zero_point %z] to i8`: both broadcast against x."""
    data = float_tensor(site, source, 0)
    want_target(site, target, (i8,))
    scale, *zero_point = given
    stretch(site, float_tensor(site, scale, 1), 1, dims_of(data))
    for type in zero_point:
        stretch(site, _whole_numbers(site, type, 2), 2, dims_of(data))
    return tensor(target, dims_of(data))


def _whole_numbers(site: Site, type: Attribute, operand: int) -> Tensor:
    data = want_tensor(site, type, operand)
    fits = is_integer(data.element_type)
    want_element(site, data, operand, fits, "an integer of at least 8 bits")
    return data


def dequantize(
    site: Site,
    source: Attribute,
    scales: Sequence[Attribute],
    target: Attribute,
    zero_point: Sequence[Attribute] = (),
    groups: tuple[int, int] | None = None,
) -> Tensor:
    """
    `dequantize %x scales %s1, %s2 [zero_point %z] to bf16`: integers to floats.

    `groups`: an axis, and for how many elements along it there is one scale.
    """
    data = _whole_numbers(site, source, 0)
    want_target(site, target, FLOAT_TARGETS)
    dims = list(dims_of(data))
    if groups is not None:
        axis, group = want_axis(site, groups[0], len(dims)), groups[1]
        dims[axis] = _groups(site, axis, dims[axis], group)
    for position, type in enumerate(scales, start=1):
        stretch(site, float_tensor(site, type, position), position, dims)
    for position, type in enumerate(zero_point, start=1 + len(scales)):
        stretch(site, _whole_numbers(site, type, position), position, dims)
    return tensor(target, dims_of(data))


def mul_groups(
    site: Site, source: Attribute, scale: Attribute, group: int, first: int
) -> Tensor:
    """`mul_groups %x, %s group 128 first 0`: f32 matrices with as many rows."""
    types = [want_tensor(site, source, 0), want_tensor(site, scale, 1)]
    for place, type in enumerate(types):
        want_element(site, type, place, type.element_type == f32, "f32")
        want_rank(site, type, place, 2, least=False)
    rows, columns = dims_of(types[0])
    lines, found = dims_of(types[1])
    needed = first - (-columns.size // group) if group > 0 else 0
    short = columns.is_static and found.is_static and found.size < needed
    if group <= 0 or first < 0 or equal_dim(rows, lines) is None or short:
        site.error(
            "PTO137",
            f"{site.operand(1)} is {show_dims([lines, found])}, "
            f"{site.operand(0)} is {show_dims([rows, columns])} in groups of {group}, "
            f"the first one number {first}",
            operand=1,
            rule="each row has a number for each group of its columns",
        )
    return types[0]


def quant_mx(
    site: Site, source: Attribute, axis: int, target: Attribute
) -> tuple[Tensor, Tensor]:
    """`quant_mx %x axis -1 to f8E4M3FN` -> (values, scales).

    The axis is K, the last or the one before. Scales are laid out as `scaled_mm` reads
    them: [.., M, ceil(K/64), 2] for axis -1, [.., ceil(K/64), N, 2] for axis -2.
    """
    data = float_tensor(site, source, 0)
    want_target(site, target, (Float8E4M3FNType(), Float8E5M2Type()))
    dims = list(dims_of(data))
    axis = want_axis(site, axis, len(dims))
    if axis < len(dims) - 2:
        site.error(
            "PTO135",
            f"quant_mx along axis {axis} of {len(dims)}",
            operand=0,
            rule="the axis is the last or the one before: K of a matrix",
        )
    values = tensor(target, dims)
    dims[axis] = dims[axis].map(lambda size: -(-size // 64))
    return values, tensor(Float8E8M0FNUType(), [*dims, Dim(2, 2)])


def mask_causal(site: Site, source: Attribute, offset: Attribute | None) -> Tensor:
    """`mask_causal %s offset %r`: the type of the scores; rank at least 2."""
    data = float_tensor(site, source, 0)
    want_rank(site, data, 0, 2, least=True)
    if offset is not None and not isinstance(offset, (IndexType, IntegerType)):
        site.error(
            "PTO111",
            f"the offset of mask_causal is {show(offset)}",
            operand=1,
            rule="the offset is an index",
        )
    return data
