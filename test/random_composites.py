"""
Composites and moves on random values: softmax, norms, quantisation, rope, transposes.

Each function adds one step to a program, or nothing; see `random_writer`. What a sum in
f32 decides is not exact; what is computed element by element is.
"""

from __future__ import annotations

from dataclasses import replace

from random_ops import LIMIT, Step, pick
from random_writer import FLOATS, INTEGERS, Dim, Dims, Value, Writer, elements

LARGEST_RESULT = 8000
"""Steps that repeat or multiply elements make no tensor of more."""


def any_axis(w: Writer, value: Value) -> tuple[int, str]:
    """An axis, and how it is written: from the front or from the back."""
    axis = w.random.randrange(len(value.dims))
    return axis, str(w.random.choice([axis, axis - len(value.dims)]))


def regrid(w: Writer) -> None:
    """An exact value on the coarse grid again, so that its sums are exact."""
    value = pick(w, *FLOATS, exact=True)
    if value is None:
        return
    factor = w.random.choice([1.0, 4.0, 8.0])
    wide = w.define(f"pypto.mul %{value.name}, {factor}", value, bound=LIMIT)
    near = w.define(f"pypto.clip %{wide.name}, -16.0, 16.0", wide, bound=16.0)
    whole = w.define(f"pypto.round %{near.name}", near, grain=1.0, bound=16.0)
    text = f"pypto.mul %{whole.name}, {1 / factor}"
    w.define(text, whole, grain=1 / factor, bound=16.0 / factor)


def softmax(w: Writer) -> None:
    """Along any axis."""
    value = pick(w, *FLOATS)
    if value is None or not value.dims:
        return
    _, axis = any_axis(w, value)
    text = f"pypto.softmax %{value.name} axis {axis}"
    text += w.attributes(rank=len(value.dims))
    w.define(text, value, grain=None, exact=False, bound=1.0)


def masked_softmax(w: Writer) -> None:
    """Scores above the diagonal masked, then a softmax or a maximum."""
    value = pick(w, *FLOATS)
    if value is None or len(value.dims) < 2:
        return
    offset = w.fresh("q")
    w.emit(f"%{offset} = arith.constant {w.random.randint(-2, 9)} : index")
    text = f"pypto.mask_causal %{value.name} offset %{offset}"
    name = w.fresh()
    w.emit(f"%{name} = {text}")
    if w.chance(0.5):
        w.define(f"pypto.maximum %{name}, -4.0", value, bound=max(value.bound, 4.0))
        return
    text = f"pypto.softmax %{name} axis -1"
    w.define(text, value, grain=None, exact=False, bound=1.0)


def online_softmax(w: Writer) -> None:
    """One step from the state of an empty sum, and a second one from its result."""
    value = pick(w, "f32")
    if value is None or len(value.dims) < 1 or value.dims[-1].size == 0:
        return
    column = (*value.dims[:-1], Dim(1))
    first = w.define(
        f"pypto.amax %{value.name} axis -1 {{keepdim}}", value, dims=column
    )
    total = w.define(f"pypto.mul %{first.name}, 0.0", first, bound=0.0)
    for _ in range(w.random.randint(1, 2)):
        names = [w.fresh() for _ in range(4)]
        operands = f"%{value.name} state %{first.name}, %{total.name}"
        listed = ", ".join(f"%{name}" for name in names)
        w.emit(f"{listed} = pypto.online_softmax {operands}")
        smooth = replace(value, grain=None, bound=1.0)
        first = replace(first, name=names[0])
        total = replace(
            smooth, name=names[1], dims=column, exact=False, bound=value.dims[-1].size
        )
        weights = replace(smooth, name=names[2])
        alpha = replace(smooth, name=names[3], dims=column)
        w.pool += [first, weights, alpha]
    w.define(f"pypto.minimum %{total.name}, 8.0", total, bound=8.0)


def norm(w: Writer) -> None:
    """rms_norm or layer_norm with weights of another float type."""
    value = pick(w, *FLOATS)
    if value is None or not value.dims:
        return
    last = value.dims[-1]
    if last.varies or last.size == 0:
        return
    element = w.random.choice([value.element, "f32"])
    weights = [w.argument((last,), element) for _ in range(w.random.randint(1, 2))]
    operands = ", ".join(f"%{weight.name}" for weight in (value, *weights))
    name = ("rms_norm", "layer_norm")[len(weights) - 1]
    target, to = value.element, ""
    if w.chance(0.3):
        target = w.random.choice(FLOATS)
        to = f" to {target}"
    text = f"pypto.{name} {operands} eps 1.0e-1{to}{w.attributes(rank=len(value.dims))}"
    bound = 2 * last.size**0.5 + 2
    w.define(text, value, element=target, grain=None, exact=False, bound=bound)


def swiglu_halves(w: Writer) -> None:
    """The halves of the last axis."""
    value = pick(w, *FLOATS)
    if value is None or not value.dims:
        return
    last = value.dims[-1]
    if last.name or last.size % 2:
        return
    dims = (*value.dims[:-1], Dim(last.size // 2))
    text = f"pypto.swiglu %{value.name}{w.attributes(rank=len(dims))}"
    w.define(text, value, dims=dims, grain=None, bound=value.bound**2)


def rope(w: Writer) -> None:
    """Of all or of the first elements of the last axis."""
    value = pick(w, *FLOATS)
    if value is None or not value.dims or value.dims[-1].name:
        return
    size = value.dims[-1].size
    first = 2 * w.random.randint(0, size // 2) if size % 2 or w.chance(0.3) else size
    if first == 0:
        return
    angles = [Dim(1) if d.varies or w.chance(0.5) else d for d in value.dims[:-1]]
    angles = angles[w.random.randint(0, len(angles)) :]
    dims: Dims = (*angles, Dim(first))
    element = w.random.choice([value.element, "f32"])
    cos, sin = (w.argument(dims, element) for _ in range(2))
    clause = "" if first == size and w.chance(0.5) else f" first {first}"
    flag = w.attributes("interleaved" if w.chance(0.4) else "", rank=len(value.dims))
    text = f"pypto.rope %{value.name}, %{cos.name}, %{sin.name}{clause}{flag}"
    w.define(text, value, grain=None, bound=4 * value.bound)


def quantize(w: Writer) -> None:
    """To i8 along any axis or in groups of it; now and then back again."""
    value = pick(w, *FLOATS, exact=True)
    if value is None or not value.dims or value.count == 0:
        return
    axis, written = any_axis(w, value)
    size, group = value.dims[axis], ""
    dims = list(value.dims)
    dims[axis] = Dim(1)
    parts = [n for n in (1, 2, 3, 4, 8, 16) if size.size % n == 0]
    if not size.name and w.chance(0.4):
        count = w.random.choice(parts)
        group, dims[axis] = f" group {count}", Dim(size.size // count)
    rule = ' {scale = "amax/127"}' if w.chance(0.3) else ""
    text = f"pypto.quantize %{value.name} axis {written}{group} to i8{rule}"
    name, scale = w.fresh(), w.fresh()
    w.emit(f"%{name}, %{scale} = {text}")
    q = replace(value, name=name, element="i8", grain=1.0, bound=128.0)
    bound = value.bound / 127 + 1
    if rule:
        scales = replace(value, name=scale, grain=None, bound=bound, element="f32")
    else:
        scales = replace(value, name=scale, grain=None, bound=bound, element="f32")
    scales = replace(scales, dims=tuple(dims))
    w.pool += [scales, q]
    if w.chance(0.5):
        return
    target = w.random.choice(FLOATS)
    groups = f" axis {written}{group}" if group else ""
    text = f"pypto.dequantize %{name} scales %{scale}{groups} to {target}"
    w.define(text, value, element=target, grain=None, bound=value.bound + 1)


def dequantize(w: Writer) -> None:
    """Integers times one or two float scales."""
    value = pick(w, *INTEGERS)
    if value is None:
        return
    value = w.define(f"pypto.clip %{value.name}, 0, 9", value)
    scales: list[str] = []
    for _ in range(w.random.randint(1, 2)):
        dims = [Dim(1) if d.varies or w.chance(0.5) else d for d in value.dims]
        dims = dims[w.random.randint(0, len(dims)) :]
        scales.append(f"%{w.argument(tuple(dims), w.random.choice(FLOATS)).name}")
    target = w.random.choice(FLOATS)
    text = f"pypto.dequantize %{value.name} scales {', '.join(scales)} to {target}"
    text += w.attributes(rank=len(value.dims))
    w.define(text, value, element=target, grain=None, bound=36.0)


def transpose(w: Writer) -> None:
    """Any order of the dimensions."""
    value = w.random.choice(w.pool)
    if len(value.dims) < 2:
        return
    perm = list(range(len(value.dims)))
    w.random.shuffle(perm)
    dims = tuple(value.dims[axis] for axis in perm)
    w.define(f"pypto.transpose %{value.name} perm {perm}", value, dims=dims)


def expand(w: Writer) -> None:
    """Dimensions of 1 repeated."""
    value = w.random.choice(w.pool)
    ones = [axis for axis, dim in enumerate(value.dims) if dim.is_one]
    if not ones:
        return
    axis = w.random.choice(ones)
    other = w.random.choice(w.pool)
    sizes = [Dim(w.random.choice([2, 5, 17])), *other.dims]
    size = w.random.choice(sizes)
    if value.count * size.size > LARGEST_RESULT:
        return
    text = ["-1"] * len(value.dims)
    text[axis] = w.size_of(size)
    dims = (*value.dims[:axis], size, *value.dims[axis + 1 :])
    w.define(f"pypto.expand %{value.name}[{', '.join(text)}]", value, dims=dims)


def concat(w: Writer) -> None:
    """Two or three tensors along any axis."""
    value = w.random.choice(w.pool)
    if not value.dims or value.count > LARGEST_RESULT // 4:
        return
    axis, written = any_axis(w, value)

    def others(dims: Dims) -> Dims:
        return (*dims[:axis], *dims[axis + 1 :])

    parts = [value]
    for _ in range(w.random.randint(1, 2)):
        fits = [
            other
            for other in w.pool
            if other.element == value.element
            and len(other.dims) == len(value.dims)
            and others(other.dims) == others(value.dims)
        ]
        if value.varies or w.chance(0.6):
            parts.append(w.random.choice(fits))
            continue
        dims = list(value.dims)
        dims[axis] = Dim(w.random.choice([0, 1, 3, 16]))
        parts.append(w.argument(tuple(dims), value.element))
    w.random.shuffle(parts)
    along = [part.dims[axis] for part in parts]
    size = Dim(sum(dim.size for dim in along))
    if any(dim.name for dim in along):
        varies = any(dim.varies for dim in along)
        size = Dim(size.size, w.fresh("q"), varies=varies)
    dims = (*value.dims[:axis], size, *value.dims[axis + 1 :])
    text = f"pypto.concat {', '.join(f'%{part.name}' for part in parts)} axis {written}"
    grains = [part.grain for part in parts]
    grain = None if None in grains else min(g for g in grains if g is not None)
    w.define(
        text,
        value,
        dims=dims,
        exact=all(part.exact for part in parts),
        grain=grain,
        bound=max(part.bound for part in parts),
    )


def reshape(w: Writer) -> None:
    """Dimensions merged, split, and added, static ones and dynamic ones."""
    value = w.random.choice(w.pool)
    if not value.dims or value.varies:
        return
    dims = list(value.dims)
    kind = w.random.choice(["merge", "merge", "split", "one", "flat"])
    axis = w.random.randrange(len(dims))
    if kind == "flat":
        dims = [_merged(w, dims)]
    elif kind == "one" and len(dims) < 5:
        dims.insert(axis, Dim(1))
    elif kind == "split" and not dims[axis].name and len(dims) < 5:
        size = dims[axis].size
        count = w.random.choice([n for n in (1, 2, 3, 4, 8) if size % n == 0])
        dims[axis : axis + 1] = [Dim(size // count), Dim(count)]
    elif kind == "merge" and axis + 1 < len(dims):
        dims[axis : axis + 2] = [_merged(w, dims[axis : axis + 2])]
    known = [dim for dim in dims if dim in value.dims or not dim.name]
    if len(dims) - len(known) > 1 or (len(known) < len(dims) and value.count == 0):
        return
    # One size may be left to the compiler: the new one, else any that is not 0.
    rest = [dim for dim in dims if dim not in known]
    if not rest and value.count and w.chance(0.4):
        rest = [w.random.choice(dims)]
    sizes = ["-1" if dim in rest[:1] else w.size_of(dim) for dim in dims]
    if sizes.count("-1") > 1:
        return
    if "-1" in sizes and any(size[0] == "%" for size in sizes):
        at = sizes.index("-1")
        dims[at] = Dim(dims[at].size, w.fresh("q"))
    text = f"pypto.reshape %{value.name}[{', '.join(sizes)}]"
    w.define(text, value, dims=tuple(dims))


def _merged(w: Writer, dims: list[Dim]) -> Dim:
    """One dimension for several."""
    size = elements(tuple(dims))
    return Dim(size, w.fresh("q") if any(dim.name for dim in dims) else None)


def arange(w: Writer) -> None:
    """0, 1, 2, .. in the shape of another value, as numbers to compare with."""
    like = w.random.choice(w.pool)
    if like.varies or not like.dims:
        return
    element = w.random.choice(["i32", "f32"])
    dims = like.dims[w.random.randrange(len(like.dims)) :]
    sizes = ", ".join(w.size_of(dim) for dim in dims)
    value = replace(like, element=element, dims=dims, exact=True, grain=1.0)
    value = replace(value, bound=float(max(dims[-1].size, 1)))
    w.define(f"pypto.arange[{sizes}] : {value.type}", value)


COMPOSITE_STEPS: tuple[Step, ...] = (
    softmax,
    masked_softmax,
    online_softmax,
    norm,
    swiglu_halves,
    rope,
    quantize,
    quantize,
    dequantize,
)
MOVE_STEPS: tuple[Step, ...] = (
    transpose,
    transpose,
    expand,
    concat,
    concat,
    reshape,
    reshape,
    arange,
)
