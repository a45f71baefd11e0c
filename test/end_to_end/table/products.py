"""Rows of the matmul family: every type, transpose, batch, tail, and K of 0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from end_to_end import goldens
from end_to_end.table.core import (
    F8,
    FLOATS,
    MACHINES,
    Array,
    Call,
    Draw,
    Family,
    Sample,
    Shape,
    Want,
    data,
    exact,
    f64,
    rounded,
)

SIZES: tuple[Shape, ...] = (
    (16, 32, 16),
    (1, 33, 1),
    (5, 0, 7),
    (70, 130, 90),
    (0, 3, 2),
    (3, 5, 0),
    (3, 1, 5),
    (300, 17, 40),
    (1, 600, 70),
    (33, 64, 1),
)
"""M, K and N."""
BATCHES = {
    "": ((), ()),
    "3": ((3,), (3,)),
    "2,3": ((2, 3), (2, 3)),
    "a": ((2, 3), ()),
    "b": ((), (2,)),
    "1,3 x 2,1": ((1, 3), (2, 1)),
    "3 x 2,1": ((3,), (2, 1)),
    "2,1,2": ((2, 1, 2), (2, 1, 2)),
    "0": ((0,), (0,)),
}
TRANSPOSES = ("", " a_trans", " b_trans", " a_trans b_trans")
TARGETS = ("", " to f16", " to bf16", " to f32", " to i32")


def _flags(form: str) -> str:
    """The flags of a form, in braces."""
    words = form.replace(";", " ").split()
    found = [word for word in words if word.endswith("trans")]
    return f" {{{', '.join(found)}}}" if found else ""


def _target(form: str, element: str) -> tuple[str, str] | None:
    """The element type of a product and its clause; None where there is no such."""
    default = "i32" if element == "i8" else "f32"
    if " to " not in form:
        return default, ""
    target = form.partition(" to ")[2].split()[0]
    if target == "i32" and default != "i32":
        return None
    return target, f" to {target}"


def _side(draw: Draw, element: str, shape: Shape, turned: bool) -> tuple[Array, Array]:
    """A matrix as it is stored and as it is read."""
    stored = shape
    if turned:
        stored = (*shape[:-2], shape[-1], shape[-2])
    array = data(draw, element, stored)
    return array, array.swapaxes(-1, -2) if turned else array


def _machines(*elements: str) -> tuple[str, ...]:
    """The 910b multiplies no f8."""
    return MACHINES[:1] if any(e.startswith("f8") for e in elements) else MACHINES


def _matmul(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    m, k, n = shape
    batch, _, rest = form.partition(";")
    lead_a, lead_b = BATCHES[batch]
    target = _target(rest, element)
    if target is None:
        return None
    calls: dict[str, Call] = {}
    operands: dict[str, Array] = {}
    elements = [element]
    a, left = _side(draw, element, (*lead_a, m, k), "a_trans" in rest)
    operands["a"] = a
    for row in rows:
        other = element
        if row.endswith("mixed"):
            other = F8[element == F8[0]]
        elements.append(other)
        b, right = _side(draw, other, (*lead_b, k, n), "b_trans" in rest)
        name = "c" if row.endswith("mixed") else "b"
        operands[name] = b
        product = _product(left, right)
        text = f"pypto.matmul %a, %{name}{target[1]}{_flags(rest)}"
        want = rounded(product, target[0])
        calls[row] = Call(text, [Want(want, signed_zero=False)])
    return Sample(operands, calls, _machines(*elements), ones=True)


def _product(left: Array, right: Array) -> Array:
    """The sum over K in f64 or i64; exact on the grid of the data."""
    return np.matmul(exact(left), exact(right))


MATMUL_FORMS = tuple(
    f"{batch};{turned};{target}"
    for batch in BATCHES
    for turned in TRANSPOSES
    for target in TARGETS
)

# Scales ------------------------------------------------------------------------------

MX_SIZES: tuple[Shape, ...] = (
    (16, 64, 16),
    (1, 33, 1),
    (5, 0, 7),
    (70, 130, 90),
    (3, 32, 5),
    (0, 64, 3),
    (40, 448, 24),
)
MX_FORMS = tuple(
    f"{turned};{' scales_a_trans' * sa}{' scales_b_trans' * sb};{target}"
    for turned in TRANSPOSES
    for sa in (False, True)
    for sb in (False, True)
    for target in ("", " to bf16", " to f16")
)


def _scales(draw: Draw, rows: int, k: int, turned: bool) -> tuple[Array, Array]:
    """[rows, pairs, 2] as stored, turned [pairs, rows, 2]; and as f64 [rows, k]."""
    pairs = -(-k // 64)
    scales = data(draw, "f8E8M0FNU", (rows, pairs, 2))
    wide = np.repeat(f64(scales).reshape(rows, 2 * pairs), 32, axis=1)[:, :k]
    return (scales.swapaxes(0, 1).copy() if turned else scales), wide


def _scaled_mm(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    m, k, n = shape
    a, left = _side(draw, element, (m, k), " a_trans" in form)
    sa, wide_a = _scales(draw, m, k, "scales_a_trans" in form)
    # The scales of b are turned when those of a are not: [pairs, N, 2].
    sb, wide_b = _scales(draw, n, k, "scales_b_trans" not in form)
    target, to = _target(form, element) or ("f32", "")
    operands = {"a": a, "sa": sa, "sb": sb}
    calls: dict[str, Call] = {}
    for row in rows:
        other = F8[element == F8[0]] if row.endswith("mixed") else element
        b, right = _side(draw, other, (k, n), " b_trans" in form)
        name = "c" if row.endswith("mixed") else "b"
        operands[name] = b
        want = (f64(left) * wide_a) @ (f64(right) * wide_b.T)
        text = f"pypto.scaled_mm %a, %{name} scales %sa, %sb{to}{_flags(form)}"
        calls[row] = Call(text, [Want(rounded(want, target), signed_zero=False)])
    return Sample(operands, calls, MACHINES[:1])


# Groups ------------------------------------------------------------------------------

GROUPS = ("7,9", "0,16,0", "1", "0", "0,0", "3,0,40,1,20", "130")
GROUP_FORMS = tuple(
    f"{groups};{kind};{flags}"
    for groups in GROUPS
    for kind in ("counts i64", "ends i64", "counts i32", "ends i32")
    for flags in ("", " b_trans", " scales_b_trans", " b_trans scales_b_trans")
)
GROUP_SIZES: tuple[Shape, ...] = ((32, 16), (33, 1), (130, 90), (0, 5), (1, 3), (5, 40))
"""K and N."""


def _grouped(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    groups, kind, flags = form.split(";")
    if "scales" in flags and rows == ["grouped_matmul"]:
        return None
    counts = [int(text) for text in groups.split(",")]
    how, width = kind.split()
    numbers = np.cumsum(counts) if how == "ends" else np.array(counts)
    (k, n), m, experts = shape, sum(counts), len(counts)
    a = data(draw, element, (m, k))
    b, right = _side(draw, element, (experts, k, n), " b_trans" in flags)
    sa, wide_a = _scales(draw, m, k, False)
    turned = "scales_b_trans" not in flags
    each = [_scales(draw, n, k, turned) for _ in counts]
    sb = np.stack([stored for stored, _ in each])
    numbers = numbers.astype(np.int32 if width == "i32" else np.int64)
    operands = {"a": a, "b": b, "g": numbers}
    calls: dict[str, Call] = {}
    settings = [word for word in flags.split() if "scales" not in word]
    settings += ['group_kind = "ends"'] if how == "ends" else []
    bounds = np.cumsum([0, *counts])
    for row in rows:
        want = np.zeros((m, n))
        scaled = row.endswith("scales")
        for expert in range(experts):
            part = slice(bounds[expert], bounds[expert + 1])
            left, matrix = exact(a[part]), exact(right[expert])
            if scaled:
                left, matrix = left * wide_a[part], matrix * each[expert][1].T
            want[part] = left @ matrix
        used = settings + ["scales_b_trans"] * (scaled and not turned)
        braces = f" {{{', '.join(used)}}}" if used else ""
        clause = " scales %sa, %sb" if scaled else ""
        if scaled:
            operands |= {"sa": sa, "sb": sb}
        text = f"pypto.grouped_matmul %a, %b groups %g{clause}{braces}"
        target = "i32" if element == "i8" else "f32"
        calls[row] = Call(text, [Want(rounded(want, target), signed_zero=False)])
    machines = _machines(element)
    return Sample(operands, calls, machines)


# einsum ------------------------------------------------------------------------------

EINSUMS = (
    *("mk,kn->mn", "mk,nk->nm", "thd,hdc->thc", "bmk,bnk->bmn", "abkl,klc->abc"),
    *("akbl,lkc->cba", "ab,cd->acbd", "a,a->", "ab,ab->a", "xyk,yxk->yx", ",a->a"),
    *("abc,abc->abc", "abcde,abcdf->abcef", "kba,kc->abc"),
)


def _einsum(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    """The shape gives the sizes of the letters, in the order they occur."""
    equation, _, clause = form.replace(";", "").partition(" to ")
    inputs, out = equation.split("->")
    left, right = inputs.split(",")
    letters = dict.fromkeys(left + right)
    size = dict(zip(letters, [*shape, *(3, 2, 5, 4, 6, 2)], strict=False))
    a, b = (
        data(draw, element, tuple(size[letter] for letter in term))
        for term in (left, right)
    )
    want = goldens.einsum(left, right, out, size, exact(a), exact(b))
    target, to = ("i32" if element == "i8" else "f32"), ""
    if clause:
        target, to = clause, f" to {clause}"
    text = f'pypto.einsum "{equation}" %a, %b{to}'
    wants = [Want(rounded(np.asarray(want), target), signed_zero=False)]
    machines = _machines(element)
    return Sample({"a": a, "b": b}, {"einsum": Call(text, wants)}, machines)


FACTORS = (*FLOATS, "i8", *F8)

FAMILIES = {
    "matmul": Family(
        {"matmul": FACTORS, "matmul mixed": F8}, _matmul, SIZES, MATMUL_FORMS
    ),
    "scaled_mm": Family(
        {"scaled_mm": F8, "scaled_mm mixed": F8}, _scaled_mm, MX_SIZES, MX_FORMS
    ),
    "grouped_matmul": Family(
        {"grouped_matmul": FACTORS, "grouped_matmul scales": F8},
        _grouped,
        GROUP_SIZES,
        GROUP_FORMS,
    ),
    "einsum": Family(
        {"einsum": FACTORS},
        _einsum,
        ((), (3,), (17, 0), (1, 33)),
        tuple(f"{text};{to}" for text in EINSUMS for to in ("", " to bf16")),
    ),
}
