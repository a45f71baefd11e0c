"""
Shape steps and matmuls: views, assembles, reshapes and products on random values.

Each function adds one step to a program, or nothing; see `random_writer`.
"""

from __future__ import annotations

import numpy as np
from random_ops import Step, combined, cumsum, literal, pick
from random_writer import FLOATS, INTEGERS, MANTISSA, Dim, Dims, Value, Writer


def view(w: Writer) -> Value | None:
    """A part of a value: whole dimensions, single positions, ranges."""
    value = w.random.choice(w.pool)
    subscripts: list[str] = []
    dims: list[Dim] = []
    for axis, dim in enumerate(value.dims):
        kind = w.random.choice(["whole", "whole", "index", "fixed", "rest"])
        last = axis == len(value.dims) - 1
        if dim.size == 0 or dim.varies or (kind == "index" and last and not dims):
            kind = "whole"
        text, part = _subscript(w, value, axis, kind)
        subscripts.append(text)
        dims += part
    if not subscripts:
        return None
    text = f"pypto.view %{value.name}[{', '.join(subscripts)}]"
    return w.define(text, value, dims=tuple(dims))


def _subscript(w: Writer, value: Value, axis: int, kind: str) -> tuple[str, Dims]:
    """One subscript of a view and the dimension that it leaves, if any."""
    dim = value.dims[axis]
    if kind == "whole":
        return ":", (dim,)
    if kind == "index":
        return str(w.random.randint(0, dim.size - 1)), ()
    start = w.random.randint(0, dim.size - 1)
    if kind == "fixed" or dim.name is None:
        size = w.random.randint(1, dim.size - start)
        return f"{start} +: {size}", (Dim(size),)
    whole, rest = w.size_of(dim), w.fresh("n")
    w.emit(f"%{rest} = pypto.index {whole} - {start}")
    return f"{start} +: %{rest}", (Dim(dim.size - start, w.fresh("q")),)


def read_view(w: Writer) -> None:
    """A view whose offset is data."""
    value = w.random.choice(w.pool)
    if not value.dims or value.dims[0].varies or value.dims[0].size == 0:
        return
    size = w.random.randint(1, value.dims[0].size)
    start = w.random.randint(0, value.dims[0].size - size)
    table = w.array_argument(np.array([-1, start, 7]), w.random.choice(["i32", "i64"]))
    at = w.fresh("p")
    w.emit(f"%{at} = pypto.read %{table}[1]")
    rest = ", :" * (len(value.dims) - 1)
    if len(value.dims) > 1 and w.chance(0.4):
        text = f"pypto.view %{value.name}[%{at}{rest}]"
        w.define(text, value, dims=value.dims[1:])
        return
    text = f"pypto.view %{value.name}[%{at} +: {size}{rest}]"
    w.define(text, value, dims=(Dim(size), *value.dims[1:]))


def reshape(w: Writer) -> None:
    """All elements in one row, or a dimension of 1 more, or a static one split."""
    value = w.random.choice(w.pool)
    if len(value.dims) == 0 or any(dim.name for dim in value.dims):
        return
    total = 1
    for dim in value.dims:
        total *= dim.size
    shapes = [[total], [1, total], [*(d.size for d in value.dims), 1]]
    shapes += [[total // n, n] for n in (2, 3, 16) if total and total % n == 0]
    shape = w.random.choice(shapes)
    text = f"pypto.reshape %{value.name}[{', '.join(map(str, shape))}]"
    w.define(text, value, dims=tuple(map(Dim, shape)))


def assemble(w: Writer) -> None:
    """A part of a value replaced, by new data or by what is made of another part."""
    value = w.random.choice(w.pool)
    if not value.dims or any(dim.varies or dim.size == 0 for dim in value.dims):
        return
    sizes = [w.random.randint(1, dim.size) for dim in value.dims]

    def box() -> str:
        """A random place where the part fits."""
        places = [w.random.randint(0, d.size - n) for d, n in zip(value.dims, sizes)]
        return ", ".join(map(str, places))

    if w.chance(0.5):
        source = w.argument(tuple(map(Dim, sizes)), value.element)
    else:
        subscripts = zip(box().split(", "), sizes)
        text = ", ".join(f"{place} +: {size}" for place, size in subscripts)
        source = w.define(
            f"pypto.view %{value.name}[{text}]", value, dims=tuple(map(Dim, sizes))
        )
    if value.element in (*FLOATS, *INTEGERS) and w.chance(0.6):
        source = w.define(f"pypto.maximum %{source.name}, %{source.name}", source)
    text = f"pypto.assemble %{source.name} into %{value.name}[{box()}]"
    grain, bound = combined("where", value, source)
    w.define(text, value, grain=grain, bound=bound)


def full(w: Writer) -> None:
    like = pick(w, *FLOATS, *INTEGERS)
    if like is None or not like.dims or any(dim.varies for dim in like.dims):
        return
    sizes = ", ".join(w.size_of(dim) for dim in like.dims)
    text, grain, bound = literal(w, like)
    w.define(
        f"pypto.full {text}[{sizes}] : {like.type}", like, grain=grain, bound=bound
    )


def matmul(w: Writer) -> None:
    """A product with a new matrix, or of a value with itself transposed."""
    value = pick(w, *FLOATS, "i8", exact=w.chance(0.8))
    if value is None or len(value.dims) < 2 or value.dims[-1].varies:
        return
    *outer, k = value.dims
    if len(value.dims) == 2 and not outer[0].varies and w.chance(0.2):
        other, flags, n = value, "b_trans", outer[0]
    else:
        n = Dim(w.random.choice([1, 7, 16, 33, 64]))
        batch = value.dims[:-2] if w.chance(0.3) else ()
        if any(dim.varies for dim in batch):
            batch = ()
        flags = w.random.choice(["", "b_trans"])
        pair = (n, k) if flags else (k, n)
        other = w.argument((*batch, *pair), value.element)
    element, to = ("i32", "") if value.element == "i8" else ("f32", "")
    if value.is_float and w.chance(0.4):
        element = w.random.choice(FLOATS)
        to = f" to {element}"
    exact, grain, bound = value.exact and other.exact, None, k.size * value.bound * 2
    bound = k.size * value.bound * other.bound
    if value.is_float:
        if value.grain is not None and other.grain is not None:
            grain = value.grain * other.grain
        exact = exact and grain is not None and bound < MANTISSA * grain
    tile = (
        cube_tile(w, split=not to and w.chance(0.4))
        if w.tiles and w.chance(0.4)
        else ""
    )
    attributes = ", ".join(part for part in (flags, tile) if part)
    text = f"pypto.matmul %{value.name}, %{other.name}{to}"
    text += f" {{{attributes}}}" if attributes else ""
    w.define(
        text,
        value,
        dims=(*outer, n),
        element=element,
        exact=exact,
        grain=grain,
        bound=bound,
    )


def cube_tile(w: Writer, split: bool, wide: bool = False) -> str:
    """A tile that fits every machine at every element type, `wide` also transposed."""
    r = w.random
    m, k, n = r.choice([32, 128]), r.choice([32, 64]), r.choice([32, 64, 128])
    if not wide and r.random() < 0.4:
        m = 16
    steps = ", ".join(str(k * r.choice([1, 2, 3])) for _ in range(r.choice([1, 1, 2])))
    pairs = f"m = [{m}, {m * r.choice([1, 2])}], k = [{k}, {steps}]"
    pairs += f", n = [{n}, {n * r.choice([1, 2])}]"
    split_k = r.choice([", split_k", ", split_k = 3"]) if split else ""
    walks = ("", "", "column", "snake", "blocked<2, 1>", "blocked<1, 3>")
    walk = r.choice(walks)
    walk = walk and f", walk = {walk}"
    return f"tile = #pypto.cube<{pairs}{split_k}{walk}>"


SHAPE_STEPS: tuple[Step, ...] = (view, view, read_view, reshape, assemble, full, cumsum)
