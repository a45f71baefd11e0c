"""
Random loops: each function adds one loop to a program, or nothing.

Their bodies are steps of `random_ops` on views of what is outside. The last trip of a
tiled loop is shorter than the others (`Dim.varies`).
"""

from __future__ import annotations

import numpy as np
from random_ops import VECTOR_STEPS, Step, pick, reduce, sum_is_exact
from random_shapes import matmul
from random_writer import FLOATS, INTEGERS, Dim, Dims, Value, Writer, type_text

NUMBERS = (*FLOATS, *INTEGERS)


def body_steps(w: Writer, count: int) -> None:
    """Some steps in the body of a loop."""
    steps = w.steps or (*VECTOR_STEPS, matmul)
    for _ in range(count):
        w.random.choice(steps)(w)


def loop_source(w: Writer, rank: int = 1) -> Value | None:
    """A value whose dimensions are the same in every trip and not 0."""
    found = [
        value
        for value in w.pool
        if len(value.dims) >= rank
        and not any(dim.varies or dim.size == 0 for dim in value.dims)
    ]
    return w.random.choice(found) if found else None


def empty(w: Writer, dims: Dims, element: str) -> str:
    """A new destination; its name."""
    sizes = ", ".join(w.size_of(dim) for dim in dims)
    name = w.fresh("o")
    w.emit(f"%{name} = pypto.empty[{sizes}] : {type_text(dims, element)}")
    return name


def forall(w: Writer) -> None:
    """Independent trips over leading dimensions, one by one or in tiles with a tail."""
    source = loop_source(w)
    if source is None:
        return
    count = w.random.randint(1, min(len(source.dims), 3))
    axes: list[str] = []
    names: list[str] = []
    inner: list[Dim] = []
    parts: list[str] = []
    for dim in source.dims[:count]:
        index, upper = w.fresh("i"), w.size_of(dim)
        names.append(index)
        if not inner and w.chance(0.4) and len(source.dims) > 1:
            axes.append(f"%{index} = 0 to {upper}")
            parts.append(f"%{index}")
            continue
        step, size = w.random.choice([1, 2, 5, 16, 32]), w.fresh("m")
        axes.append(f"%{index} +: %{size} = 0 to {upper} step {step}")
        parts.append(f"%{index} +: %{size}")
        inner.append(Dim(min(step, dim.size), size, varies=True))
    rest = source.dims[count:]
    if not inner and not rest:
        return
    body = w.child()
    views = [v for v in w.pool if v.dims[:count] == source.dims[:count]]
    for value in w.random.sample(views, min(len(views), 3)):
        whole = [":"] * (len(value.dims) - count)
        text = f"pypto.view %{value.name}[{', '.join([*parts, *whole])}]"
        body.define(text, value, dims=(*inner, *value.dims[count:]))
    body_steps(body, w.random.randint(1, 4))
    outs = _stored(w, body, source.dims[:count], names, tuple(inner))
    header = f"pypto.forall ({', '.join(axes)}) outs("
    header += ", ".join(f"%{inside} = %{init}" for inside, init, _ in outs) + ") {"
    results = [value for _, _, value in outs]
    w.nest(", ".join(f"%{v.name}" for v in results) + " = " + header, body)
    w.pool += results


def _stored(
    w: Writer, body: Writer, outer: Dims, indices: list[str], inner: Dims
) -> list[tuple[str, str, Value]]:
    """Stores of one or two values: the names of the outs inside and of their inits."""
    fits = [value for value in body.pool if value.dims[: len(inner)] == inner]
    tails = [(value, value.dims[len(inner) :]) for value in fits]
    fits = [
        value
        for value, dims in tails
        if w.knows(dims) and not any(dim.varies for dim in dims)
    ]
    chosen = [fits[-1], *w.random.sample(fits, min(len(fits), w.random.randint(0, 1)))]
    outs: list[tuple[str, str, Value]] = []
    for value in chosen:
        tail = value.dims[len(inner) :]
        dims = (*outer, *tail)
        inside = w.fresh("u")
        init = empty(w, dims, value.element)
        offsets = ", ".join([*(f"%{index}" for index in indices), *("0" for _ in tail)])
        line = f"pypto.store %{value.name} into %{inside}[{offsets}]"
        if w.chance(0.15):
            same, odd = w.fresh("p"), w.fresh("p")
            body.emit(f"%{same} = pypto.index %{indices[0]} mod 2")
            body.emit(f"%{odd} = pypto.index %{same} == 1")
            body.emit(f"scf.if %{odd} {{")
            body.emit(f"  {line}")
            body.emit("} else {")
            body.emit(f"  {line}")
            body.emit("}")
        else:
            body.emit(line)
        result = Value(
            w.fresh(), dims, value.element, value.exact, value.grain, value.bound
        )
        outs.append((inside, init, result))
    return outs


def fold_columns(w: Writer) -> None:
    """A loop over tiles of the last dimension that carries a sum or a maximum."""
    source = loop_source(w)
    if source is None or not source.is_float or source.element != "f32":
        return
    *outer, last = source.dims
    dims = (*outer, Dim(1))
    index, size, inside = w.fresh("j"), w.fresh("m"), w.fresh("c")
    step, upper = w.random.choice([1, 3, 16, 64, 512]), w.size_of(last)
    step = max(step, last.size // 6)
    initial = w.fresh("o")
    sizes = ", ".join(w.size_of(dim) for dim in dims)
    name = w.random.choice(["sum", "amax"])
    start = "0.0" if name == "sum" else "-3.0"
    w.emit(f"%{initial} = pypto.full {start}[{sizes}] : {type_text(dims, 'f32')}")
    body = w.child()
    whole = ", ".join([*(":" for _ in outer), f"%{index} +: %{size}"])
    part = body.define(
        f"pypto.view %{source.name}[{whole}]",
        source,
        dims=(*outer, Dim(min(step, last.size), size, varies=True)),
    )
    for _ in range(w.random.randint(0, 2)):
        part = body.define(f"pypto.abs %{part.name}", part)
    folded = body.define(f"pypto.{name} %{part.name} axis -1 {{keepdim}}", part)
    combine = "add" if name == "sum" else "maximum"
    body.emit(f"%{index}r = pypto.{combine} %{inside}, %{folded.name}")
    body.emit(f"pypto.yield %{index}r")
    exact = source.exact and (
        name == "amax"
        or (
            source.grain is not None
            and sum_is_exact(source, last.size, source.grain, source.bound)
        )
    )
    bound = source.bound * last.size if name == "sum" else max(source.bound, 3.0)
    grain = None if source.grain is None else min(source.grain, 1.0)
    result = Value(w.fresh(), dims, "f32", exact, grain, bound)
    header = f"pypto.for (%{index} +: %{size} = 0 to {upper} step {step}) "
    w.nest(f"%{result.name} = {header}iter(%{inside} = %{initial}) {{", body)
    w.define(f"pypto.minimum %{result.name}, 64.0", result)


def groups(w: Writer) -> None:
    """A loop over groups of rows that carries where the next one starts."""
    source = loop_source(w)
    if source is None:
        return
    rows, *rest = source.dims
    count = w.random.randint(1, 4)
    ends = sorted(w.random.choices(range(rows.size + 1), k=count - 1))
    sizes = np.diff([0, *ends, rows.size])
    table = w.array_argument(sizes, w.random.choice(["i32", "i64"]))
    e, begin, number = w.fresh("e"), w.fresh("b"), w.fresh("m")
    body = w.child()
    body.emit(f"%{number} = pypto.read %{table}[%{e}]")
    body.emit(f"%{begin}n = pypto.index %{begin} + %{number}")
    inner = Dim(rows.size, number, varies=True)
    whole = "".join(", :" for _ in rest)
    text = f"pypto.view %{source.name}[%{begin} +: %{number}{whole}]"
    body.define(text, source, dims=(inner, *rest))
    body_steps(body, w.random.randint(1, 4))
    fits = [
        value
        for value in body.pool
        if value.dims[:1] == (inner,)
        and w.knows(value.dims[1:])
        and not any(dim.varies for dim in value.dims[1:])
    ]
    value = fits[-1]
    dims = (rows, *value.dims[1:])
    initial = empty(w, dims, value.element)
    zeros = "".join(", 0" for _ in dims[1:])
    inside = w.fresh("c")
    text = f"pypto.assemble %{value.name} into %{inside}[%{begin}{zeros}]"
    body.emit(f"%{inside}n = {text}")
    body.emit(f"pypto.yield %{begin}n, %{inside}n")
    start, end = w.fresh("z"), w.fresh("q")
    w.emit(f"%{start} = arith.constant 0 : index")
    result = Value(
        w.fresh(), dims, value.element, value.exact, value.grain, value.bound
    )
    header = f"pypto.for (%{e} = 0 to {count}) "
    header += f"iter(%{begin} = %{start}, %{inside} = %{initial}) {{"
    w.nest(f"%{end}, %{result.name} = {header}", body)
    w.pool.append(result)


def repeat(w: Writer) -> None:
    """An scf.for that carries a tensor through a few trips of elementwise ops."""
    value = pick(w, *NUMBERS)
    if value is None or any(dim.varies for dim in value.dims):
        return
    inside, index = w.fresh("c"), w.fresh("k")
    body = w.child()
    exact = value.exact
    carried = Value(inside, value.dims, value.element, exact, None, value.bound)
    body.pool.append(carried)
    new = carried
    for _ in range(w.random.randint(1, 3)):
        name = w.random.choice(["maximum", "minimum", "add"])
        other = value.name if name != "add" and w.chance(0.5) else "1"
        text = "1.0" if value.is_float else "1"
        text = f"%{other}" if other != "1" else text
        new = body.define(f"pypto.{name} %{new.name}, {text}", new)
    body.emit(f"scf.yield %{new.name} : {value.type}")
    names = [w.fresh("z") for _ in range(3)]
    trips = w.random.randint(0, 3)
    for name, number in zip(names, (0, trips, 1)):
        w.emit(f"%{name} = arith.constant {number} : index")
    low, high, step = names
    header = f"scf.for %{index} = %{low} to %{high} step %{step} "
    header += f"iter_args(%{inside} = %{value.name}) -> ({value.type}) {{"
    result = Value(
        w.fresh(), value.dims, value.element, exact, None, value.bound + 3 * trips
    )
    w.nest(f"%{result.name} = {header}", body)
    w.pool.append(result)


def nested(w: Writer) -> None:
    """A forall over one leading dimension whose body holds another loop."""
    source = loop_source(w, rank=2)
    if source is None:
        return
    index, outer = w.fresh("i"), source.dims[0]
    upper = w.size_of(outer)
    body = w.child()
    whole = ", ".join(":" for _ in source.dims[1:])
    part = body.define(
        f"pypto.view %{source.name}[%{index}, {whole}]", source, dims=source.dims[1:]
    )
    w.random.choice([fold_columns, forall, repeat, groups, reduce])(body)
    value = body.pool[-1]
    if value.varies or not w.knows(value.dims):
        value = part
    outs = _stored_one(w, body, value, outer, index)
    inside, init, result = outs
    header = f"pypto.forall (%{index} = 0 to {upper}) outs(%{inside} = %{init}) {{"
    w.nest(f"%{result.name} = {header}", body)
    w.pool.append(result)


def _stored_one(
    w: Writer, body: Writer, value: Value, outer: Dim, index: str
) -> tuple[str, str, Value]:
    """A store of a whole value at one index of the leading dimension."""
    dims = (outer, *value.dims)
    inside, init = w.fresh("u"), empty(w, dims, value.element)
    offsets = ", ".join([f"%{index}", *("0" for _ in value.dims)])
    body.emit(f"pypto.store %{value.name} into %{inside}[{offsets}]")
    result = Value(
        w.fresh(), dims, value.element, value.exact, value.grain, value.bound
    )
    return inside, init, result


def partly(w: Writer) -> None:
    """A forall that replaces some rows of a tensor, an inner loop storing them."""
    source = loop_source(w)
    if source is None or (not source.is_float and not source.is_integer):
        return
    rows, *rest = source.dims
    low = w.random.randint(0, rows.size - 1)
    high = w.random.randint(low, rows.size)
    index, inside = w.fresh("i"), w.fresh("u")
    body = w.child()
    inner = bool(rest) and rest[0].size > 0 and w.chance(0.5)
    place = body.child() if inner else body
    parts, offsets = [f"%{index}", *(":" for _ in rest)], [f"%{index}"]
    offsets += ["0" for _ in rest]
    kept: Dims = tuple(rest)
    if inner:
        column = w.fresh("j")
        parts[1] = offsets[1] = f"%{column}"
        kept = kept[1:]
    text = f"pypto.view %{source.name}[{', '.join(parts)}]"
    if not kept:
        parts[-1] += " +: 1"
        kept = (Dim(1),)
        text = f"pypto.view %{source.name}[{', '.join(parts)}]"
    value = place.define(text, source, dims=kept)
    for _ in range(w.random.randint(1, 3)):
        w.random.choice(VECTOR_STEPS)(place)
    fits = [v for v in place.pool if v.dims == kept and v.element == source.element]
    value = fits[-1]
    place.emit(f"pypto.store %{value.name} into %{inside}[{', '.join(offsets)}]")
    if inner:
        last = w.size_of(rest[0])
        kind = w.random.choice(["for", "forall"])
        body.nest(f"pypto.{kind} (%{column} = 0 to {last}) {{", place)
    exact = source.exact and value.exact
    bound = max(source.bound, value.bound)
    result = Value(w.fresh(), source.dims, source.element, exact, None, bound)
    header = f"pypto.forall (%{index} = {low} to {high}) "
    header += f"outs(%{inside} = %{source.name}) {{"
    w.nest(f"%{result.name} = {header}", body)
    w.pool.append(result)


LOOP_STEPS: tuple[Step, ...] = (
    forall,
    forall,
    forall,
    fold_columns,
    groups,
    groups,
    repeat,
    nested,
    partly,
    partly,
)
