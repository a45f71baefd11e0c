"""Rows of norms, activations, position embeddings, masks and quantisation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from end_to_end import goldens
from end_to_end.table.core import (
    DTYPES,
    F8,
    FLOATS,
    INTEGERS,
    LONG,
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
    f64,
    rounded,
    smooth,
)
from end_to_end.table.reductions import axis_of, loose

Operands = dict[str, Array | Scalar]


def _norms(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    """Weights of any float type; `to` any float type."""
    if shape[-1] == 0:
        return None
    weight, _, target = form.partition(" ")
    target = target or element
    to = f" to {target}" if form.count(" ") else ""
    x, beta = smooth(draw, element, shape), smooth(draw, weight, shape[-1:])
    gamma = smooth(draw, weight, shape[-1:])
    calls: dict[str, Call] = {}
    if element not in FLOATS:
        x = gamma  # refused before anything is computed
    if "rms_norm" in rows:
        want = goldens.rms_norm(x, gamma, 1e-5)
        text = f"pypto.rms_norm %x, %g eps 1.0e-5{to}"
        calls["rms_norm"] = Call(text, [_norm_want(want, target)])
    if "layer_norm" in rows:
        want = goldens.layer_norm(x, gamma, beta, 1e-3)
        text = f"pypto.layer_norm %x, %g, %b eps 1.0e-3{to}"
        calls["layer_norm"] = Call(text, [_norm_want(want, target)])
    x = x if element in FLOATS else data(draw, element, shape)
    return Sample({"x": x, "g": gamma, "b": beta}, calls)


def _norm_want(values: Array, target: str) -> Want:
    return loose(values, target if target in FLOATS else "f32", 16)


def _swiglu(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    x, gate = smooth(draw, element, shape), smooth(draw, element, shape)
    calls: dict[str, Call] = {}
    target = element if element in FLOATS else "f32"
    if "swiglu" in rows:
        want = goldens.swiglu(f64(x), f64(gate))
        calls["swiglu"] = Call("pypto.swiglu %x, %g", [loose(want, target, 8)])
    if "swiglu halves" in rows and shape[-1] % 2 == 0:
        half = shape[-1] // 2
        want = goldens.swiglu(f64(x)[..., :half], f64(x)[..., half:])
        calls["swiglu halves"] = Call("pypto.swiglu %x", [loose(want, target, 8)])
    return Sample({"x": x, "g": gate}, calls)


ROPE_FORMS = tuple(
    f"{kind}{first}{flag}"
    for kind in ("full", "broadcast", "row")
    for first in ("", " first 4", " first 0")
    for flag in ("", " {interleaved}")
)


def _rope(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    kind, *rest = form.split()
    size = int(rest[1]) if "first" in rest else shape[-1]
    if size % 2 or size > shape[-1]:
        return None
    lead = {"full": shape[:-1], "broadcast": (*shape[:-2], 1)[-len(shape) + 1 :]}
    angles = (*lead.get(kind, ()), size) if len(shape) > 1 else (size,)
    x = smooth(draw, element, shape)
    cos, sin = (
        smooth(draw, "f32" if "first" in form else "bf16", angles) for _ in "cs"
    )
    is_float = element in FLOATS
    want = goldens.rope(
        x if is_float else cos, cos, sin, size, interleaved="interleaved" in form
    )
    text = f"pypto.rope %x, %c, %s {' '.join(rest)}"
    wants = [loose(want, element if is_float else "f32", 4)]
    operands: Operands = {"x": x, "c": cos, "s": sin}
    return Sample(operands, {"rope": Call(text, wants)}, ones=True)


MASK_SHAPES = (*(shape for shape in SHAPES if len(shape) > 1), (40, 70), (3, 9001))
OFFSETS = ("0", "3", "-2", "100", "-100")


def _mask_causal(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    s = edges(draw, element, shape)
    row, column = np.indices(shape)[-2:]
    want = s.copy()
    if element in FLOATS:
        want[column > row + int(form)] = -np.inf
    operands: Operands = {"s": s, "o": Scalar("index", int(form))}
    call = Call("pypto.mask_causal %s offset %o", [Want(want)])
    return Sample(operands, {"mask_causal": call})


# Quantisation ------------------------------------------------------------------------

QUANTIZE_FORMS = tuple(
    f"{axis}{rule}" for axis in range(5) for rule in ("", ' {scale = "amax/127"}')
)


def _quantize(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    axis, _ = axis_of(form, shape)
    rule = form[1:]
    calls: dict[str, Call] = {}
    operands: Operands = {}
    for number, row in enumerate(rows):
        group = 2 if row.endswith("group") else None
        if shape[axis] % (group or 1):
            continue
        # Powers of two times 127: x * r and x / scale are exact, ties included.
        x = data(draw, element, shape)
        lines = np.moveaxis(x, axis, -1)
        if element in FLOATS:
            lines[...] = np.trunc(lines.astype(np.float32) * 4) / 2
            first = lines[..., :: group or shape[axis] or 1]
            first[...] = np.sign(first.astype(np.float32)) * 127
        q, scale = goldens.quantize(f64(x), axis, group, by_scale=bool(rule))
        clause = "" if group is None else f" group {group}"
        text = f"pypto.quantize %x{number} axis {axis}{clause} to i8{rule}"
        operands[f"x{number}"] = x
        calls[row] = Call(text, [Want(q), Want(scale, "f32", 1e-6)])
    return Sample(operands, calls)


DEQUANTIZE_FORMS = ("bf16", "f16", "f32", "f32 one", "bf16 same")


def _dequantize(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    target, _, kind = form.partition(" ")
    x = edges(draw, element, shape) if element != "i64" else data(draw, element, shape)
    s, t = data(draw, "f32", (*shape[:-1], 1)), data(draw, "bf16", shape[-1:])
    if kind == "same":
        s = data(draw, "f16", shape)
    names = "%s" if kind == "one" else "%s, %t"
    value = f64(x).astype(np.float32)
    for scale in (s,) if kind == "one" else (s, t):
        value = (f64(value) * f64(scale)).astype(np.float32)
    want = Want(rounded(value, target))
    call = Call(f"pypto.dequantize %x scales {names} to {target}", [want])
    return Sample({"x": x, "s": s, "t": t}, {"dequantize": call}, ones=True)


MX_SHAPES = ((64,), (5, 128), (100, 7), (3, 32, 33), (0, 64), (2, 0), (2, 1, 65))
MX_FORMS = tuple(f"{axis} {to}" for axis in (-1, -2) for to in F8)


def _quant_mx(
    draw: Draw, element: str, shape: Shape, form: str, rows: Sequence[str]
) -> Sample | None:
    text, _, to = form.partition(" ")
    axis = int(text)
    if -axis > len(shape):
        return None
    spread = 2.0 ** draw.integers(-12, 8, shape)
    x = (smooth(draw, "f32", shape) * spread).astype(DTYPES[element])
    q, scale = goldens.quant_mx(f64(x), axis, DTYPES[to])
    call = Call(f"pypto.quant_mx %x axis {axis} to {to}", [Want(q), Want(scale)])
    return Sample({"x": x}, {"quant_mx": call}, machines=("ascend950",))


WEIGHTS = ("f32", "f16", "bf16", "f32 bf16", "bf16 f32", "f32 f16")
EVEN = ((32,), (2,), (0,), (7, 24), (3, 0), (0, 4), (2, 5, 8), (4, 1, 16))
ROPE_SHAPES = (*EVEN, (2, 3, 4, 6), (2, 1, 3, 2, 6), (3, 7))
GROUP_SHAPES = (*LONG, *EVEN)

FAMILIES = {
    "norms": Family(
        dict.fromkeys(["rms_norm", "layer_norm"], FLOATS), _norms, LONG, WEIGHTS
    ),
    "swiglu": Family(
        dict.fromkeys(["swiglu", "swiglu halves"], FLOATS), _swiglu, (*SHAPES, *EVEN)
    ),
    "rope": Family({"rope": FLOATS}, _rope, ROPE_SHAPES, ROPE_FORMS),
    "mask_causal": Family({"mask_causal": FLOATS}, _mask_causal, MASK_SHAPES, OFFSETS),
    "quantize": Family(
        dict.fromkeys(["quantize", "quantize group"], FLOATS),
        _quantize,
        GROUP_SHAPES,
        QUANTIZE_FORMS,
    ),
    "dequantize": Family(
        {"dequantize": INTEGERS}, _dequantize, SHAPES, DEQUANTIZE_FORMS
    ),
    "quant_mx": Family({"quant_mx": FLOATS}, _quant_mx, MX_SHAPES, MX_FORMS),
}
"""`EVEN` shapes can be halved, grouped and turned."""
