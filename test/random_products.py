"""
Products on random values: transposed and batched, einsum, grouped, and with MX scales.

Each function adds one step to a program, or nothing; see `random_writer`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from random_composites import LARGEST_RESULT
from random_ops import Step, pick
from random_shapes import cube_tile, matmul
from random_writer import FLOATS, MANTISSA, Dim, Dims, Value, Writer, elements

EQUATIONS = (
    "mk,kn->mn",
    "mk,nk->nm",
    "km,nk->mn",
    "thd,hdc->thc",
    "bmk,bnk->bmn",
    "bkm,bkn->nbm",
    "abkl,klc->abc",
    "akbl,lkc->cba",
    "ab,cd->acbd",
    "ab,ab->a",
    "xyk,yxk->yx",
    "a,a->",
)


def product(
    w: Writer, value: Value, other: Value, k: int, text: str, dims: Dims, to: str = ""
) -> Value:
    """Defines the product of two values over K elements, rounded to `to`."""
    element = "i32" if value.element == "i8" else to or "f32"
    grain, bound = None, max(k, 1) * value.bound * other.bound
    exact = value.exact and other.exact
    if value.is_float:
        if value.grain is not None and other.grain is not None:
            grain = value.grain * other.grain
        exact = exact and grain is not None and bound < MANTISSA * grain
    return w.define(
        text, value, dims=dims, element=element, exact=exact, grain=grain, bound=bound
    )


def target(w: Writer, value: Value) -> str:
    """A float type to round to, or none."""
    return w.random.choice(FLOATS) if value.is_float and w.chance(0.4) else ""


def transposed(w: Writer) -> None:
    """A product of which the left side is stored transposed, with batches."""
    value = pick(w, *FLOATS, "i8", exact=w.chance(0.8))
    if value is None or len(value.dims) < 2 or value.dims[-2].varies:
        return
    *batch, k, m = value.dims
    n = w.random.choice([Dim(0), Dim(1), Dim(7), Dim(16), Dim(33), k])
    if elements((*batch, m, n)) > LARGEST_RESULT:
        return
    b_trans = w.chance(0.4)
    lead = [] if w.chance(0.5) else [Dim(1) if d.varies else d for d in batch]
    pair = (n, k) if b_trans else (k, n)
    other = w.argument((*lead, *pair), value.element)
    to = target(w, value)
    flags = ["a_trans", *(["b_trans"] if b_trans else [])]
    if w.tiles and w.chance(0.4):
        flags.append(cube_tile(w, split=not to and w.chance(0.4), wide=True))
    clause = f" to {to}" if to else ""
    text = f"pypto.matmul %{value.name}, %{other.name}{clause} {{{', '.join(flags)}}}"
    product(w, value, other, k.size, text, (*batch, m, n), to)


def einsum(w: Writer) -> None:
    """An equation whose left term fits a value; the right side is new."""
    value = pick(w, *FLOATS, "i8", exact=w.chance(0.8))
    if value is None:
        return
    fits = [e for e in EQUATIONS if e.index(",") == len(value.dims)]
    if not fits:
        return
    equation = w.random.choice(fits)
    left, rest = equation.split(",")
    right, out = rest.split("->")
    sizes = dict(zip(left, value.dims))
    if any(sizes[letter].varies for letter in left if letter in right):
        return
    for letter in right:
        sizes.setdefault(letter, Dim(w.random.choice([0, 1, 3, 8, 17])))
    dims = tuple(sizes[letter] for letter in out)
    if elements(dims) > LARGEST_RESULT:
        return
    other = w.argument(tuple(sizes[letter] for letter in right), value.element)
    k = elements(tuple(sizes[c] for c in left if c in right and c not in out))
    to = target(w, value)
    clause = f" to {to}" if to else ""
    text = f'pypto.einsum "{equation}" %{value.name}, %{other.name}{clause}'
    product(w, value, other, k, text, dims, to)


def grouped(w: Writer) -> None:
    """Groups of rows, some of them empty, each times a matrix of its own."""
    value = pick(w, *FLOATS, "i8", exact=w.chance(0.8))
    if value is None or len(value.dims) != 2 or value.varies:
        return
    rows, k = value.dims
    experts = w.random.randint(1, 4)
    n = Dim(w.random.choice([1, 5, 16, 40]))
    inner = sorted(w.random.choices(range(rows.size + 1), k=experts - 1))
    ends = np.array([*inner, rows.size])
    flags: list[str] = []
    given = np.diff(ends, prepend=0)
    if w.chance(0.4):
        flags, given = ['group_kind = "ends"'], ends
    b_trans = w.chance(0.4)
    flags += ["b_trans"] if b_trans else []
    other = w.argument((Dim(experts), *((n, k) if b_trans else (k, n))), value.element)
    if w.tiles and w.chance(0.4):
        flags.append(cube_tile(w, split=w.chance(0.4)))
    table = w.array_argument(given, w.random.choice(["i32", "i64"]))
    text = f"pypto.grouped_matmul %{value.name}, %{other.name} groups %{table}"
    text += f" {{{', '.join(flags)}}}" if flags else ""
    product(w, value, other, k.size, text, (rows, n))


def scaled(w: Writer) -> None:
    """MX quantisation of a value, and its product with a new f8 matrix."""
    value = pick(w, *FLOATS, exact=True)
    if not w.mx or value is None or len(value.dims) < 2 or value.dims[-1].varies:
        return
    *batch, m, k = value.dims
    q, scale, element = w.fresh(), w.fresh(), w.random.choice(["f8E4M3FN", "f8E5M2"])
    w.emit(f"%{q}, %{scale} = pypto.quant_mx %{value.name} axis -1 to {element}")
    n, pairs = Dim(w.random.choice([1, 8, 33])), -(-k.size // 64)
    if k.name:
        return
    b_trans, scales_trans = w.chance(0.5), w.chance(0.5)
    other = w.argument((n, k) if b_trans else (k, n), element)
    dims = (n, Dim(pairs), Dim(2)) if scales_trans else (Dim(pairs), n, Dim(2))
    rng = np.random.default_rng(w.random.getrandbits(32))
    shape = tuple(dim.size for dim in dims)
    powers = 2.0 ** rng.integers(-2, 2, shape)
    right = w.argument(dims, "f8E8M0FNU", powers)
    to = target(w, value)
    clause = f" to {to}" if to else ""
    flags = [f for f, on in (("b_trans", b_trans),) if on]
    flags += ["scales_b_trans"] if scales_trans else []
    text = f"pypto.scaled_mm %{q}, %{other.name} scales %{scale}, %{right.name}"
    text += clause + (f" {{{', '.join(flags)}}}" if flags else "")
    rough = replace(value, exact=False, bound=2 * value.bound)
    product(w, rough, other, k.size, text, (*batch, m, n), to)


PRODUCT_STEPS: tuple[Step, ...] = (
    matmul,
    transposed,
    einsum,
    einsum,
    grouped,
    scaled,
)
