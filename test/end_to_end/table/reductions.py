"""Rows of the reductions, scans, softmax and what else goes along one axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from end_to_end import goldens
from end_to_end.table.core import (
    DTYPES,
    FLOATS,
    INTEGERS,
    LONG,
    NUMBERS,
    ROUNDING,
    SHAPES,
    Array,
    Call,
    Draw,
    Family,
    Sample,
    Shape,
    Want,
    data,
    edges,
    rounded,
    smooth,
)

AXIS_FORMS = tuple(str(axis) for axis in range(5))
AXES = tuple(f"{axis}{keep}" for axis in range(5) for keep in ("", " {keepdim}"))
"""The axis counted from the front, modulo the rank."""


def axis_of(form: str, shape: Shape) -> tuple[int, bool]:
    """The axis of a form, negative for odd ranks, and whether it is kept."""
    axis = int(form[0]) % len(shape)
    return axis - len(shape) * (len(shape) % 2), "keepdim" in form


def loose(values: Array, element: str, steps: float) -> Want:
    """A golden in f64 that many roundings, relative to the largest, may miss."""
    return Want(
        np.asarray(values, np.float64),
        element,
        steps * ROUNDING[element],
        of_largest=True,
    )


SUMS: dict[str, Callable[[Array, int, bool], Array]] = {
    "sum": goldens.total,
    "prod": goldens.product,
}
MOMENTS: dict[str, Callable[[Array, int, bool], Array]] = {
    "mean": goldens.mean,
    "var": goldens.variance,
    "logsumexp": goldens.logsumexp,
}


def _targets(element: str) -> tuple[str, ...]:
    """The types after `to` of a sum; the first is the default where there is one."""
    if element in ("i8", "i16", "ui8", "i32"):
        return ("i32", "i64")
    return (element, "f32") if element in FLOATS else (element,)


def _accumulating(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    axis, keep = axis_of(form, shape)
    x = data(draw, element, shape)
    calls: dict[str, Call] = {}
    operands = {"x": x}
    clause = " {keepdim}" if keep else ""
    for row in rows:
        targets = _targets(element)
        target = targets[draw.integers(len(targets))]
        is_wide = target != element or element in ("i8", "i16", "ui8")
        to = f" to {target}" if is_wide else ""
        name, source = "x", x
        if row == "prod":
            few = np.where(x > 0, 2, -1) if x.size < 40 else np.where(x > 0, 1, -1)
            name, source = "y", few.astype(DTYPES[element])
            operands[name] = source
        text = f"pypto.{row} %{name} axis {axis}{to}{clause}"
        if row in SUMS:
            want = SUMS[row](source, axis, keep)
            # The sum of nothing but -0.0 may have either sign.
            calls[row] = Call(text, [Want(rounded(want, target), signed_zero=False)])
        else:
            want = MOMENTS[row](source, axis, keep)
            calls[row] = Call(text, [loose(want, target, 4)])
    return Sample(operands, calls)


def _extreme(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    """Extremes and where they are, of ties and NaN as well."""
    axis, keep = axis_of(form, shape)
    x = data(draw, element, shape) if form[0] in "024" else edges(draw, element, shape)
    if element in FLOATS and x.size > 8:
        x.reshape(-1)[:: x.size // 2] = np.nan
    calls: dict[str, Call] = {}
    for row in rows:
        text = f"pypto.{row} %x axis {axis}{' {keepdim}' if keep else ''}"
        greatest = row.endswith("max")
        if not row.startswith("arg"):
            want = goldens.extreme(x, axis, greatest=greatest)
        elif shape[axis] == 0:
            continue
        else:
            want = goldens.first_extreme(x, axis, greatest=greatest).astype(np.int32)
        want = np.expand_dims(want, axis) if keep else want
        calls[row] = Call(text, [Want(want, signed_zero=False)])
    return Sample({"x": x}, calls)


def _cumsum(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    axis, _ = axis_of(form, shape)
    x = data(draw, element, shape)
    if element in ("i8", "ui8"):
        x = x % DTYPES[element](2)
    if element in ("i8", "ui8") and shape[axis] > 100:  # would overflow
        x.fill(0)
    want = rounded(goldens.running_sum(x, axis), element)
    call = Call(f"pypto.cumsum %x axis {axis}", [Want(want, signed_zero=False)])
    return Sample({"x": x}, {"cumsum": call})


def _softmax(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    """With elements that are masked, and a line that is masked altogether."""
    axis, _ = axis_of(form, shape)
    x = data(draw, element, shape)
    if x.size:
        lines = np.moveaxis(x, axis, -1)
        lines[(0,) * len(shape)] = -np.inf
        lines[(-1,) * (len(shape) - 1)] = -np.inf
    want = goldens.softmax(x, axis) if x.size else np.zeros(shape)
    call = Call(f"pypto.softmax %x axis {axis}", [loose(want, element, 4)])
    return Sample({"x": x}, {"softmax": call})


def _online_softmax(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    s = smooth(draw, element, shape)
    m = smooth(draw, element, (*shape[:-1], 1))
    if m.size:
        m.reshape(-1)[0] = -np.inf
        s[(0,) * (len(shape) - 1)] = -np.inf  # masked so far
    total = np.abs(smooth(draw, element, m.shape))
    wants = goldens.online_softmax(s, m, total) if element == "f32" else (s, m, s, m)
    call = Call(
        "pypto.online_softmax %s state %m, %l",
        [Want(np.asarray(want), "f32", 1e-5, of_largest=True) for want in wants],
    )
    # The state has a static 1 behind the rows.
    return Sample({"s": s, "m": m, "l": total}, {"online_softmax": call}, ones=True)


FAMILIES = {
    "sum": Family(dict.fromkeys(SUMS, NUMBERS), _accumulating, LONG, AXES),
    "moments": Family(dict.fromkeys(MOMENTS, FLOATS), _accumulating, LONG, AXES),
    "extremes": Family(
        dict.fromkeys(["amax", "amin", "argmax", "argmin"], NUMBERS),
        _extreme,
        LONG,
        AXES,
    ),
    "cumsum": Family({"cumsum": (*FLOATS, *INTEGERS)}, _cumsum, LONG, AXIS_FORMS),
    "softmax": Family({"softmax": FLOATS}, _softmax, LONG, AXIS_FORMS),
    "online_softmax": Family({"online_softmax": ("f32",)}, _online_softmax, SHAPES),
}
