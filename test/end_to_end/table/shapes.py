"""Rows of the ops that make, cut, move and put together tensors; and of loops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from end_to_end import goldens
from end_to_end.table.core import (
    DTYPES,
    F8,
    FLOATS,
    LONG,
    NUMBERS,
    SHAPES,
    Array,
    Call,
    Draw,
    Family,
    Sample,
    Scalar,
    Shape,
    Want,
    data,
    edges,
    rounded,
)
from end_to_end.table.reductions import AXIS_FORMS, axis_of

ANY = (*NUMBERS, "i1", *F8, "f8E8M0FNU")
Operands = dict[str, Array | Scalar]


def _parts(size: int, draw: Draw) -> tuple[int, int]:
    """An offset and a size within `size`."""
    first, last = sorted(draw.integers(0, size + 1, 2).tolist())
    return first, last - first


def _moves(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    """view, reshape, transpose, expand and clone of one tensor, into results."""
    x = edges(draw, element, shape)
    calls: dict[str, Call] = {}
    operands: Operands = {"x": x}
    if "view" in rows:
        boxes = [_parts(size, draw) for size in shape]
        text = ", ".join(f"{at} +: {size}" for at, size in boxes)
        want = x[tuple(slice(at, at + size) for at, size in boxes)]
        calls["view"] = Call(f"pypto.view %x[{text}]", [Want(want.copy())])
    if "view picked" in rows and prod(shape):
        # Rows picked by an operand, the last axis cut at an operand.
        picks = [int(draw.integers(size)) for size in shape[:-1]]
        at, size = _parts(shape[-1], draw)
        names = [f"i{axis}" for axis in range(len(picks))]
        operands |= {n: Scalar("index", p) for n, p in zip(names, picks, strict=True)}
        operands |= {"o": Scalar("index", at), "n": Scalar("index", size)}
        text = ", ".join([*(f"%{name}" for name in names), "%o +: %n"])
        want = x[(*picks, slice(at, at + size))]
        calls["view picked"] = Call(f"pypto.view %x[{text}]", [Want(want.copy())])
    if "reshape" in rows:
        flat = x.reshape(-1)
        calls["reshape"] = Call("pypto.reshape %x[-1]", [Want(flat)])
    if "transpose" in rows:
        perm = draw.permutation(len(shape)).tolist()
        want = np.ascontiguousarray(x.transpose(perm))
        calls["transpose"] = Call(f"pypto.transpose %x perm {perm}", [Want(want)])
    if "clone" in rows:
        calls["clone"] = Call("pypto.clone %x", [Want(x.copy())])
    return Sample(operands, calls)


def _reshape(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    """To sizes in the text and from operands; a 1 may come or go anywhere."""
    x = edges(draw, element, shape)
    sizes = list(shape)
    match form:
        case "reversed":
            sizes.reverse()
        case "merged":
            sizes = [prod(sizes[:2]), *sizes[2:]]
        case "ones":
            sizes = [size for size in sizes if size != 1]
            sizes.insert(len(sizes) // 2, 1)
        case _:
            sizes = [1, *sizes]
    sizes = sizes[:5]
    if prod(sizes) != prod(shape):
        return None
    operands: Operands = {"x": x}
    operands |= {f"n{i}": Scalar("index", size) for i, size in enumerate(sizes)}
    names = [f"%n{i}" if size != 1 else "1" for i, size in enumerate(sizes)]
    used = {name[1:] for name in names if name != "1"}
    operands = {n: v for n, v in operands.items() if n == "x" or n in used}
    want = Want(x.reshape(sizes))
    text = f"pypto.reshape %x[{', '.join(names)}]"
    return Sample(operands, {"reshape to": Call(text, [want])}, ones=True)


def _expand(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    """Sizes of 1 at every second axis, and an axis in front."""
    start = int(form == "odd")
    have = tuple(1 if i % 2 == start else size for i, size in enumerate(shape))
    x = edges(draw, element, have)
    lead = [3] if form == "front" else []
    sizes = [*lead, *(size if i % 2 == start else -1 for i, size in enumerate(shape))]
    whole = (*lead, *shape)
    if len(whole) > 5:
        return None
    want = np.ascontiguousarray(np.broadcast_to(x, whole))
    text = f"pypto.expand %x[{', '.join(map(str, sizes))}]"
    return Sample({"x": x}, {"expand": Call(text, [Want(want)])}, ones=True)


def _concat(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    axis, _ = axis_of(form, shape)
    others = [list(shape), list(shape), list(shape)]
    others[1][axis], others[2][axis] = 3, 0
    parts = [edges(draw, element, tuple(sizes)) for sizes in others]
    operands: Operands = dict(zip("xyz", parts, strict=True))
    text = f"pypto.concat %x, %y, %z, %x axis {axis}"
    want = goldens.concat([*parts, parts[0]], axis)
    return Sample(operands, {"concat": Call(text, [Want(want)])})


def _created(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    """full and arange, of sizes from the text or from operands."""
    operands: Operands = {}
    names = [str(size) for size in shape]
    if form == "operands":
        operands = {f"n{i}": Scalar("index", size) for i, size in enumerate(shape)}
        names = [f"%n{i}" for i in range(len(shape))]
    sizes = ", ".join(names)
    calls: dict[str, Call] = {}
    if "full" in rows:
        value, text = np.array(5).astype(DTYPES[element]), "5"
        if element in ("f32", "f16", "bf16"):
            text = str(draw.choice(["-0.0", "inf", "-inf", "nan", "0.1", "5.0"]))
            value = np.array(float(text), np.float32).astype(DTYPES[element])
        elif element == "i1":
            text, value = "true", np.array(True)
        elif element.startswith("f8"):
            text, value = "2.0", np.array(2.0, np.float32).astype(DTYPES[element])
        want = np.full(shape, value)
        calls["full"] = Call(f"pypto.full {text}[{sizes}]", [Want(want)])
    if "arange" in rows:
        count = np.broadcast_to(np.arange(shape[-1]), shape)
        want = rounded(count, element)
        # Of integers that do not fit a static size is refused.
        if element in FLOATS or np.array_equal(want, count):
            calls["arange"] = Call(f"pypto.arange[{sizes}]", [Want(want)])
    return Sample(operands, calls) if calls else None


def _assemble(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    """A part of lower rank at offsets that are operands; the rest stays."""
    dest = edges(draw, element, shape)
    lead = min(int(form), len(shape) - 1)
    if any(size == 0 for size in shape[:lead]):
        return None
    picks = [int(draw.integers(size)) for size in shape[:lead]]
    boxes = [_parts(size, draw) for size in shape[lead:]]
    part = edges(draw, element, tuple(size for _, size in boxes))
    offsets = [*picks, *(at for at, _ in boxes)]
    operands: Operands = {"t": part, "d": dest}
    operands |= {f"o{i}": Scalar("index", at) for i, at in enumerate(offsets)}
    want = dest.copy()
    want[(*picks, *(slice(at, at + size) for at, size in boxes))] = part
    text = ", ".join(f"%o{i}" for i in range(len(offsets)))
    call = Call(f"pypto.assemble %t into %d[{text}]", [Want(want)])
    return Sample(operands, {"assemble": call})


STORED = """%n0 = pypto.dim %x, 0
  %e = pypto.empty[{sizes}] : {{t}}
  {{r}} = pypto.forall (%i +: %m = 0 to %n0 step {step}) outs(%o = %e) {{
    %b = pypto.view %x[%i +: %m{rest}]
    pypto.store %b into %o[%i{zeros}]
  }}"""
CARRIED = """%k0 = pypto.dim %x, 0
  {{r}} = pypto.for (%j = 0 to %k0) iter(%acc = %z) {{
    %row = pypto.view %x[%j{rest}]
    %next = pypto.concat %acc, %row axis -1
    %cut = pypto.view %next[{whole}{last} +: {size}]
    pypto.yield %cut
  }}"""
"""A shift register: what is left is the last row."""


def _loops(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    """forall with stores, and for with a value that it carries."""
    x = edges(draw, element, shape)
    rest = ", :" * (len(shape) - 1)
    calls: dict[str, Call] = {}
    operands: Operands = {"x": x}
    if "forall store empty dim" in rows:
        names = [f"%n{axis}" for axis in range(len(shape))]
        dims = "\n  ".join(f"%n{a} = pypto.dim %x, {a}" for a in range(1, len(shape)))
        text = STORED.format(
            sizes=", ".join(names),
            step=form,
            rest=rest,
            zeros=", 0" * (len(shape) - 1),
        )
        calls["forall store empty dim"] = Call(text, [Want(x.copy())], dims)
    if "for yield" in rows and len(shape) > 1 and shape[-1] > 0:
        z = edges(draw, element, shape[1:])
        operands["z"] = z
        text = CARRIED.format(
            rest=rest, whole=":, " * (len(shape) - 2), last=shape[-1], size=shape[-1]
        )
        want = x[-1] if shape[0] else z
        calls["for yield"] = Call(text, [Want(want.copy())])
    return Sample(operands, calls, ones=True)


def _read(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    """One element as a scalar, beside a tensor."""
    if not prod(shape):
        return None
    x = data(draw, element, shape)
    at = [int(draw.integers(size)) for size in shape]
    place = ", ".join(map(str, at))
    value = int(x[tuple(at)]) if element == "i1" else x[tuple(at)].item()
    target = "f32" if element == "f32" else "i32"
    zero = "0.0" if target == "f32" else "0"
    before = (
        f"%v = pypto.read %x[{place}]\n"
        f"  %zero = pypto.full {zero}[2] : tensor<2x{target}>"
    )
    want = np.full(2, value, DTYPES[target])
    call = Call("pypto.add %zero, %v", [Want(want)], before)
    return Sample({"x": x}, {"read": call})


MOVES = ("view", "view picked", "reshape", "transpose", "clone")
PIECES = ("4", "1", "64")

FAMILIES = {
    "moves": Family(dict.fromkeys(MOVES, ANY), _moves, LONG),
    "reshape": Family(
        {"reshape to": ANY}, _reshape, SHAPES, ("reversed", "merged", "ones", "front")
    ),
    "expand": Family({"expand": ANY}, _expand, LONG, ("even", "odd", "front")),
    "concat": Family({"concat": ANY}, _concat, LONG, AXIS_FORMS),
    "created": Family(
        {"full": ANY, "arange": NUMBERS},
        _created,
        (*SHAPES, (2, 40000)),
        ("text", "operands"),
        thorough=("i8", "i16"),
    ),
    "assemble": Family({"assemble": ANY}, _assemble, LONG, ("0", "1", "2")),
    "loops": Family(
        dict.fromkeys(["forall store empty dim", "for yield"], ANY),
        _loops,
        SHAPES,
        PIECES,
    ),
    "read": Family({"read": ("f32", "i8", "i16", "i32", "i64", "ui8", "i1")}, _read),
}
