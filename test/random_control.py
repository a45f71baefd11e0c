"""
Scalars and control flow on random values: indices that are computed or read, what they
offset, size and decide, conditions, and loops that carry tensors and scalars.

Each function adds one step to a program, or nothing; see `random_writer`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from random_loops import NUMBERS, body_steps
from random_ops import Step, combined, pick, unary
from random_writer import FLOATS, INTEGERS, Dim, Index, Value, Writer


def call(w: Writer) -> None:
    """A call of a private function of one or two ops."""
    value = pick(w, *FLOATS)
    if value is None:
        return
    callee, name = Writer(w.random), w.fresh("f")
    callee.pool.append(replace(value, name="a"))
    for _ in range(w.random.randint(1, 2)):
        unary(callee)
    found = callee.pool[-1]
    head = f"func.func private @{name}(%a: {value.type}) -> {found.type} {{"
    end = f"  func.return %{found.name} : {found.type}"
    w.root.functions.append("\n".join([head, *callee.lines, end, "}"]))
    text = f"func.call @{name}(%{value.name}) : ({value.type}) -> {found.type}"
    w.define(text, found)


def visible_indices(w: Writer) -> list[Index]:
    """Index values of this block and of those around it."""
    return w.indices + (visible_indices(w.parent) if w.parent else [])


def define_index(w: Writer, text: str, low: int, high: int) -> Index:
    """`%fresh = text`, an index from `low` to `high`."""
    index = Index(w.fresh("p"), low, high)
    w.emit(f"%{index.name} = {text}")
    w.indices.append(index)
    return index


def some_index(w: Writer) -> Index:
    """An index: read from an argument, a size, arithmetic on others, or one seen."""
    found = visible_indices(w)
    kinds = ["table", "dim", "seen", "seen", "mod", "div", "sum", "min"]
    kind = w.random.choice(kinds)
    if kind == "dim":
        named = [v for v in w.pool if v.dims and not v.varies]
        if named:
            value = w.random.choice(named)
            axis = w.random.randrange(len(value.dims))
            size = value.dims[axis].size
            return define_index(w, f"pypto.dim %{value.name}, {axis}", size, size)
    if kind == "table" or not found:
        number = w.random.choice([0, 1, 2, 3, 5, -4])
        table = w.array_argument(np.array([7, number]), w.random.choice(["i32", "i64"]))
        return define_index(w, f"pypto.read %{table}[1]", number, number)
    index = w.random.choice(found)
    number = w.random.randint(1, 6)
    if kind == "mod":
        text = f"pypto.index %{index.name} mod {number}"
        low, high = (index.low % number,) * 2 if index.known else (0, number - 1)
        return define_index(w, text, low, high)
    if kind == "div":
        op = w.random.choice(["floordiv", "ceildiv"])
        ends = [
            n // number if op == "floordiv" else -(-n // number)
            for n in (index.low, index.high)
        ]
        return define_index(w, f"pypto.index %{index.name} {op} {number}", *ends)
    if kind == "sum":
        other = w.random.choice(found)
        text = f"pypto.index %{index.name} + %{other.name} - {number}"
        low, high = index.low + other.low - number, index.high + other.high - number
        return define_index(w, text, low, high)
    if kind == "min":
        text = f"pypto.index max(min(%{index.name}, {number}), 0)"
        low, high = (max(min(n, number), 0) for n in (index.low, index.high))
        return define_index(w, text, low, high)
    return index


def read_number(w: Writer) -> None:
    """An index from a tensor that was computed: its value is not known here."""
    value = pick(w, *INTEGERS, exact=True)
    if value is None or value.count == 0 or value.varies:
        return
    at = ", ".join(str(w.random.randrange(dim.size)) for dim in value.dims)
    name = w.fresh("p")
    w.emit(f"%{name} = pypto.read %{value.name}[{at}]")
    number = w.random.randint(1, 9)
    define_index(w, f"pypto.index %{name} mod {number}", 0, number - 1)


def float_scalar(w: Writer) -> None:
    """A float read from a tensor, reckoned with, and used where a literal could be."""
    value = pick(w, "f32")
    if value is None or value.count == 0 or value.varies:
        return
    at = ", ".join(str(w.random.randrange(dim.size)) for dim in value.dims)
    name = w.fresh("s")
    w.emit(f"%{name} = pypto.read %{value.name}[{at}]")
    grain, bound = value.grain, value.bound
    if w.chance(0.5):
        text = w.random.choice(["min(%{0}, 2.0) * 0.5", "abs(%{0}) - 0.25"])
        grain = None if grain is None else min(grain, 0.125) / 2
        scaled = w.fresh("s")
        w.emit(f"%{scaled} = pypto.scalar {text.format(name)} : f32")
        name, bound = scaled, bound + 1
    other = pick(w, *FLOATS)
    assert other is not None
    op = w.random.choice(["add", "sub", "mul", "maximum"])
    number = Value("", (), "f32", value.exact, grain, bound)
    grain, bound = combined(op, other, number)
    if other.element != "f32":
        grain = None
    exact = value.exact and other.exact
    text = f"pypto.{op} %{other.name}, %{name}"
    w.define(text, other, grain=grain, bound=bound, exact=exact)


def moving_view(w: Writer) -> None:
    """A view or an assemble whose offset and size are computed."""
    value = w.random.choice(w.pool)
    if not value.dims or value.varies:
        return
    axis = w.random.randrange(len(value.dims))
    size = value.dims[axis].size
    index = some_index(w)
    if size == 0:
        return
    count = w.random.randint(1, size)
    at = define_index(w, *_clamped(index, size - count))
    if w.chance(0.3):
        _put(w, value, axis, count, at)
        return
    parts = [":"] * len(value.dims)
    part: tuple[Dim, ...] = (Dim(count),)
    kind = w.random.choice(["index", "fixed", "sized"])
    parts[axis] = f"%{at.name} +: {count}"
    if kind == "index":
        parts[axis], part = f"%{at.name}", ()
    elif kind == "sized":
        amount = define_index(w, *_clamped(some_index(w), count))
        if amount.known:
            parts[axis] = f"%{at.name} +: %{amount.name}"
            part = (Dim(amount.low, w.fresh("q")),)
    dims = (*value.dims[:axis], *part, *value.dims[axis + 1 :])
    text = f"pypto.view %{value.name}[{', '.join(parts)}]"
    if dims:
        w.define(text, value, dims=dims)


def _clamped(index: Index, most: int) -> tuple[str, int, int]:
    """An index from 0 to `most`."""
    text = f"pypto.index min(max(%{index.name}, 0), {most})"
    low, high = (min(max(n, 0), most) for n in (index.low, index.high))
    return text, low, high


def _put(w: Writer, value: Value, axis: int, count: int, at: Index) -> None:
    """New data at a computed place."""
    dims = (*value.dims[:axis], Dim(count), *value.dims[axis + 1 :])
    source = w.argument(dims, value.element)
    offsets = ["0"] * len(dims)
    offsets[axis] = f"%{at.name}"
    text = f"pypto.assemble %{source.name} into %{value.name}[{', '.join(offsets)}]"
    grain, bound = combined("where", value, source)
    w.define(text, value, grain=grain, bound=bound)


def condition(w: Writer) -> str:
    """A truth value of one or two indices; its name."""
    index = some_index(w)
    other = f"%{some_index(w).name}" if w.chance(0.3) else str(w.random.randint(0, 3))
    compare = w.random.choice(["==", "ne", "<", "<=", ">", ">="])
    name = w.fresh("t")
    w.emit(f"%{name} = pypto.index %{index.name} {compare} {other}")
    return name


def borrow(w: Writer, body: Writer, count: int) -> None:
    """Values from outside that a body may use."""
    found = [value for value in w.pool if not value.varies] or w.pool
    body.pool += w.random.sample(found, min(len(found), count))


def like(body: Writer, value: Value) -> Value:
    """The last value of a body that may stand for another, made of it or not."""
    fits = [
        other
        for other in body.pool
        if other.dims == value.dims
        and other.element == value.element
        and (other.exact or not value.exact)
    ]
    return fits[-1] if fits else value


def branch(w: Writer) -> None:
    """An scf.if that gives a tensor, and an index now and then."""
    value = pick(w, *NUMBERS, "i1")
    if value is None:
        return
    truth = condition(w)
    index = some_index(w) if w.chance(0.3) else None
    types = [value.type, *(["index"] if index else [])]
    found: list[Value] = []
    blocks: list[Writer] = []
    ends: list[tuple[int, int]] = []
    for _ in range(2):
        body = w.child()
        body.pool.append(value)
        borrow(w, body, 2)
        body_steps(body, w.random.randint(0, 3))
        given = like(body, value)
        names = [f"%{given.name}"]
        if index:
            text = f"pypto.index %{index.name} + {len(blocks)}"
            number = define_index(body, text, index.low, index.high + 1)
            names.append(f"%{number.name}")
            ends.append((number.low, number.high))
        body.emit(f"scf.yield {', '.join(names)} : {', '.join(types)}")
        found.append(given)
        blocks.append(body)
    grain, bound = combined("where", *found)
    exact = all(given.exact for given in found)
    result = replace(value, name=w.fresh(), exact=exact, grain=grain, bound=bound)
    names = [f"%{result.name}"]
    if index:
        new = Index(w.fresh("p"), index.low, index.high + 1)
        names.append(f"%{new.name}")
    header = f"{', '.join(names)} = scf.if %{truth} -> ({', '.join(types)}) {{"
    w.nest(header, blocks[0], "} else {")
    w.lines += [f"  {line}" for line in blocks[1].lines]
    w.emit("}")
    if index:
        w.indices.append(new)
    w.pool.append(result)


def carry(w: Writer) -> None:
    """A pypto.for or scf.for that carries a tensor, an index and an f32 scalar."""
    value = pick(w, *NUMBERS)
    if value is None or value.varies:
        return
    trips = w.random.choice([0, 1, 2, 3])
    start = w.random.randint(0, 3)
    counter, inside = w.fresh("i"), w.fresh("c")
    body = w.child()
    borrow(w, body, 2)
    carried = replace(value, name=inside, grain=None)
    body.pool.append(carried)
    body.indices.append(Index(counter, start, start + 5 * max(trips - 1, 0)))
    moved = w.chance(0.5)
    names, inits, ends, types = [inside], [value.name], [""], [value.type]
    if moved:
        first = some_index(w)
        inits.append(first.name)
        names.append(w.fresh("c"))
        types.append("index")
        body.indices.append(Index(names[1], first.low, first.high + 9 * trips))
    body_steps(body, w.random.randint(1, 4))
    new = like(body, carried)
    if value.is_float:
        new = body.define(f"pypto.clip %{new.name}, -4.0, 4.0", new, bound=4.0)
    ends[0] = new.name
    if moved:
        ends.append(f"{names[1]}n")
        body.emit(f"%{ends[1]} = pypto.index %{names[1]} + %{counter} mod 4")
    result = replace(
        carried, name=w.fresh(), bound=max(value.bound, 4.0), exact=carried.exact
    )
    outs = [result.name, *([w.fresh("p")] if moved else [])]
    _loop(w, body, (counter, start, trips), (outs, names, inits, ends, types))
    if moved:
        w.indices.append(Index(outs[1], first.low, first.high + 9 * trips))
    w.pool.append(result)


def swap(w: Writer) -> None:
    """A loop whose two tensors change places, one of them changed on the way."""
    value = pick(w, *NUMBERS)
    if value is None or value.varies:
        return
    fits = [v for v in w.pool if v.dims == value.dims and v.element == value.element]
    other = w.random.choice(fits)
    exact = value.exact and other.exact
    counter, a, b = w.fresh("i"), w.fresh("c"), w.fresh("c")
    start, trips = w.random.randint(-2, 2), w.random.choice([0, 1, 2, 3])
    body = w.child()
    bound = max(value.bound, other.bound, 4.0)
    first = replace(value, name=a, grain=None, exact=exact, bound=bound)
    second = replace(first, name=b)
    body.pool += [first, second]
    body_steps(body, w.random.randint(0, 2))
    new = like(body, first)
    low, high = ("-4.0", "4.0") if value.is_float else ("0", "5")
    new = body.define(f"pypto.clip %{new.name}, {low}, {high}", new, bound=4.0)
    outs = [w.fresh(), w.fresh()]
    inits, types = [value.name, other.name], [value.type] * 2
    ends = [b, new.name] if w.chance(0.7) else [b, a]
    _loop(w, body, (counter, start, trips), (outs, [a, b], inits, ends, types))
    w.pool += [replace(first, name=name) for name in outs]


def _loop(
    w: Writer,
    body: Writer,
    header: tuple[str, int, int],
    carried: tuple[list[str], ...],
) -> None:
    """Writes the loop in one of its two forms, its bounds literal or computed."""
    counter, start, trips = header
    outs, names, inits, ends, types = carried
    step = w.random.choice([1, 1, 2, 5])
    # The last trip may have less than a step before it.
    end = start + step * trips - (w.random.randrange(step) if trips else 0)
    listed = ", ".join(f"%{name}" for name in outs)
    pairs = ", ".join(f"%{a} = %{b}" for a, b in zip(names, inits))
    given = ", ".join(f"%{name}" for name in ends)
    if w.chance(0.4):
        low, high, by = (w.fresh("z") for _ in range(3))
        for name, number in zip((low, high, by), (start, end, step)):
            w.emit(f"%{name} = arith.constant {number} : index")
        body.emit(f"scf.yield {given} : {', '.join(types)}")
        text = f"scf.for %{counter} = %{low} to %{high} step %{by}"
        text += f" iter_args({pairs}) -> ({', '.join(types)}) {{"
    else:
        body.emit(f"pypto.yield {given}")
        upper = str(end)
        if w.chance(0.4):
            table = w.array_argument(np.array([end]), "i32")
            upper = f"%{define_index(w, f'pypto.read %{table}[0]', end, end).name}"
        by = f" step {step}" if step > 1 else ""
        text = f"pypto.for (%{counter} = {start} to {upper}{by}) iter({pairs}) {{"
    w.nest(f"{listed} = {text}", body)


CONTROL_STEPS: tuple[Step, ...] = (
    read_number,
    float_scalar,
    call,
    moving_view,
    moving_view,
    branch,
    branch,
    carry,
    carry,
    swap,
)
