"""
Single ops on random values: each function adds one step to a program, or nothing.

See `random_writer` for what `exact`, `grain` and `bound` of a value mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from random_writer import (
    FLOATS,
    INTEGERS,
    MANTISSA,
    Dim,
    Value,
    Writer,
    broadcast,
)

from pyptoc.dialects.pypto.infer import ELEMENT_TYPES
from pyptoc.dialects.pypto.infer_elementwise import cast_modes
from pyptoc.passes.cast_routes import find_route
from pyptoc.runtime.machine import load_machine

Step = Callable[[Writer], object]

MACHINES = ("ascend950", "ascend910b")
TYPES = {str(element): element for element in ELEMENT_TYPES}


def pick(w: Writer, *elements: str, exact: bool = False) -> Value | None:
    """A value of one of the element types, later ones more often."""
    found = [
        value
        for value in w.pool
        if value.element in elements and (value.exact or not exact)
    ]
    if not found:
        return None
    return w.random.choice(found[-4:] if w.chance(0.6) else found)


def partner(w: Writer, value: Value) -> Value:
    """Another operand that broadcasts with `value`: of the program, or an argument."""
    found = [
        other
        for other in w.pool
        if other.element == value.element
        and broadcast(value.dims, other.dims) is not None
    ]
    if w.chance(0.7):
        return w.random.choice(found)
    dims = [
        Dim(1) if dim.varies or w.chance(0.3) else dim
        for dim in value.dims[w.random.randint(0, max(len(value.dims) - 1, 0)) :]
    ]
    return w.argument(tuple(dims), value.element)


def literal(w: Writer, value: Value) -> tuple[str, float, float]:
    """A literal beside `value`: its text, its grain and its size."""
    if not value.is_float:
        number = w.random.randint(1, 9)
        return str(number), 1.0, number
    number = w.random.choice([0.5, 2.0, -0.75, 1.0, 0.125, -2.0])
    return repr(number), 0.125, abs(number)


def sum_is_exact(value: Value, count: int, grain: float, bound: float) -> bool:
    """Whether `count` terms add up without rounding in f32."""
    return value.exact and count * bound < MANTISSA * grain


KEEP_GRAIN = ("neg", "abs", "relu")
JUMPS = ("floor", "ceil", "trunc", "round")
SMOOTH = ("sigmoid", "silu", "gelu", "tanh", "sin", "cos", "erf")


def unary(w: Writer) -> None:
    value = pick(w, *FLOATS)
    if value is None:
        integer = pick(w, *INTEGERS)
        if integer is not None and integer.element != "ui8":
            w.define(
                f"pypto.{w.random.choice(['neg', 'abs'])} %{integer.name}", integer
            )
        return
    names = [*KEEP_GRAIN, *SMOOTH, "exp", "positive", *(JUMPS if value.exact else ())]
    name = w.random.choice(names)
    attributes = w.attributes(rank=len(value.dims))
    if name in KEEP_GRAIN:
        w.define(f"pypto.{name} %{value.name}{attributes}", value)
    elif name in JUMPS:
        bound = value.bound + 1
        w.define(
            f"pypto.{name} %{value.name}{attributes}", value, grain=1.0, bound=bound
        )
    elif name == "exp":
        low = w.define(f"pypto.minimum %{value.name}, 2.0", value, bound=LIMIT)
        w.define(f"pypto.exp %{low.name}{attributes}", low, grain=None, bound=8.0)
    elif name == "positive":
        name = w.random.choice(["log", "sqrt", "rsqrt", "reciprocal"])
        size = w.define(f"pypto.abs %{value.name}", value)
        above = w.define(f"pypto.add %{size.name}, 0.5", size, bound=size.bound + 0.5)
        w.define(f"pypto.{name} %{above.name}", above, grain=None, bound=5.0)
    else:
        bound = value.bound if name in ("silu", "gelu") else 1.0
        text = f"pypto.{name} %{value.name}{attributes}"
        w.define(text, value, grain=None, bound=max(bound, 1.0))


LIMIT = 64.0


def binary(w: Writer) -> None:
    """add, sub, mul, maximum, minimum and, of positive numbers, div and pow."""
    value = pick(w, *FLOATS, *INTEGERS)
    if value is None:
        return
    other = partner(w, value)
    dims = broadcast(value.dims, other.dims)
    assert dims is not None
    if w.chance(0.5):
        value, other = other, value
    exact = value.exact and other.exact
    names = ["add", "sub", "mul", "maximum", "minimum"]
    if value.is_float:
        names += ["div"]
    name = w.random.choice(names)
    grain, bound = combined(name, value, other)
    if name == "div":
        size = w.define(f"pypto.abs %{other.name}", other)
        other = w.define(f"pypto.add %{size.name}, 0.5", size, bound=size.bound + 0.5)
        bound = 2 * value.bound
    text = f"pypto.{name} %{value.name}, %{other.name}{w.attributes(rank=len(dims))}"
    w.define(text, value, dims=dims, exact=exact, grain=grain, bound=bound)


def combined(name: str, a: Value, b: Value) -> tuple[float | None, float]:
    """Grain and bound of a binary op's result."""
    if a.grain is None or b.grain is None:
        grain = None
    else:
        grain = a.grain * b.grain if name == "mul" else min(a.grain, b.grain)
    match name:
        case "mul":
            return grain, a.bound * b.bound
        case "add" | "sub":
            return grain, a.bound + b.bound
        case "div":
            return None, a.bound
    return grain, max(a.bound, b.bound)


def with_literal(w: Writer) -> None:
    value = pick(w, *FLOATS, *INTEGERS)
    if value is None:
        return
    if value.is_float and w.chance(0.3):
        name = w.scalar_argument()
        text, grain, size = f"%{name}", 0.25, 1.5
    else:
        text, grain, size = literal(w, value)
    name = w.random.choice(["add", "sub", "mul", "maximum", "minimum"])
    number = Value("", (), value.element, grain=grain, bound=size)
    grain, bound = combined(name, value, number)
    first, second = f"%{value.name}", text
    if w.chance(0.3):
        first, second = second, first
    w.define(f"pypto.{name} {first}, {second}", value, grain=grain, bound=bound)


def divide_integers(w: Writer) -> None:
    """floordiv, rem, and the bitwise ops."""
    value = pick(w, *INTEGERS)
    if value is None:
        return
    other = partner(w, value)
    dims = broadcast(value.dims, other.dims)
    assert dims is not None
    name = w.random.choice(["floordiv", "rem", "and", "or", "xor"])
    if name in ("floordiv", "rem"):
        other = w.define(f"pypto.maximum %{other.name}, 1", other)
    w.define(f"pypto.{name} %{value.name}, %{other.name}", value, dims=dims)


def clip(w: Writer) -> None:
    value = pick(w, *FLOATS, *INTEGERS)
    if value is None:
        return
    low, high = ("-1.5", "0.75") if value.is_float else ("3", "11")
    w.define(f"pypto.clip %{value.name}, {low}, {high}", value)


def compare(w: Writer) -> Value | None:
    """A truth value, also of truth values."""
    truth = pick(w, "i1")
    if truth is not None and w.chance(0.3):
        other = partner(w, truth)
        dims = broadcast(truth.dims, other.dims)
        name = w.random.choice(["and", "or", "xor"])
        if w.chance(0.3):
            return w.define(f"pypto.logical_not %{truth.name}", truth)
        return w.define(f"pypto.{name} %{truth.name}, %{other.name}", truth, dims=dims)
    value = pick(w, *FLOATS, *INTEGERS, exact=True)
    if value is None:
        return None
    name = w.random.choice(["eq", "ne", "lt", "le", "gt", "ge"])
    other = partner(w, value)
    dims = broadcast(value.dims, other.dims)
    if not other.exact or w.chance(0.4):
        text, _, _ = literal(w, value)
        return w.define(f"pypto.{name} %{value.name}, {text}", value, element="i1")
    text = f"pypto.{name} %{value.name}, %{other.name}"
    return w.define(text, value, dims=dims, element="i1")


def where(w: Writer) -> None:
    value = pick(w, *FLOATS, *INTEGERS)
    condition = compare(w) if w.chance(0.6) else pick(w, "i1")
    if value is None or condition is None:
        return
    dims = broadcast(value.dims, condition.dims)
    if dims is None:
        return
    if w.chance(0.5):
        text, grain, size = literal(w, value)
        number = Value("", (), value.element, grain=grain, bound=size)
        grain, bound = combined("where", value, number)
        line = f"pypto.where %{condition.name}, %{value.name}, {text}"
        w.define(line, value, dims=dims, grain=grain, bound=bound)
        return
    other = partner(w, value)
    both = broadcast(dims, other.dims)
    if both is None:
        return
    grain, bound = combined("where", value, other)
    line = f"pypto.where %{condition.name}, %{value.name}, %{other.name}"
    exact = value.exact and other.exact
    w.define(line, value, dims=both, grain=grain, bound=bound, exact=exact)


def allowed_casts() -> dict[tuple[str, str], tuple[str, ...]]:
    """The modes of each pair of element types that both machines can cast."""
    machines = [load_machine(name) for name in MACHINES]
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for source in (*FLOATS, *INTEGERS, "i1"):
        for target in (*FLOATS, *INTEGERS):
            modes = cast_modes(TYPES[source], TYPES[target])
            routes = [find_route(source, target, machine) for machine in machines]
            if modes and (source == "i1" or all(routes)):
                found[source, target] = modes
    return found


CASTS = allowed_casts()


def cast(w: Writer) -> None:
    value = w.random.choice(w.pool)
    targets = [to for at, to in CASTS if at == value.element]
    if value.is_float and not value.exact:
        targets = [to for to in targets if to in FLOATS]
    if not targets:
        return
    target = w.random.choice(targets)
    to_integer = target in INTEGERS
    if value.is_integer and target in FLOATS and value.element not in ("i8", "ui8"):
        value = w.define(f"pypto.clip %{value.name}, -50, 50", value)
    if value.is_integer or value.element == "i1":
        value = replace(value, grain=1.0, bound=LIMIT)  # i8 is wider: see below
    bound = 256.0 if value.element in ("i8", "ui8") else value.bound
    mode = ""
    if value.exact and w.chance(0.4):
        modes = CASTS[value.element, target]
        mode = f" mode {w.random.choice(modes)}"
    flag = ""
    if to_integer and w.chance(0.2):
        flag = " {saturate = false}"
    grain = 1.0 if to_integer else value.grain
    if "none" not in mode and mode and not to_integer:
        bound += 1
    text = f"pypto.cast %{value.name} to {target}{mode}{flag}"
    w.define(text, value, element=target, grain=grain, bound=bound)


def reduce(w: Writer) -> Value | None:
    """A reduction over the last axis, with or without keeping it."""
    value = pick(w, *FLOATS, *INTEGERS)
    if value is None or not value.dims or value.dims[-1].size == 0:
        return None
    count = value.dims[-1].size
    name = w.random.choice(["sum", "amax", "amin", "mean", "prod", "var", "logsumexp"])
    if not value.is_float and name in ("mean", "var", "logsumexp"):
        name = "sum"
    if name in ("sum", "prod") and not value.is_float:
        low, high = (1, 2) if name == "prod" and count < 15 else (0, 1)
        value = w.define(f"pypto.clip %{value.name}, {low}, {high}", value)
    if name == "prod" and value.is_float:
        value = w.define(
            f"pypto.clip %{value.name}, 0.5, 1.0", value, grain=None, bound=1.0
        )
    keep = w.chance(0.6)
    dims = value.dims[:-1] + ((Dim(1),) if keep else ())
    to, element = _sum_target(w, name, value.element)
    grain, bound, exact = value.grain, value.bound, value.exact
    if name == "sum" and value.is_float:
        exact = value.grain is not None and sum_is_exact(
            value, count, value.grain, value.bound
        )
        bound *= count
    elif name not in ("amax", "amin") and value.is_float:
        grain, exact, bound = None, False, (bound + 8) * (bound if name == "var" else 1)
    attributes = w.attributes("keepdim" if keep else "", rank=len(dims))
    text = (
        f"pypto.{name} %{value.name} axis {w.random.choice([-1, len(value.dims) - 1])}"
    )
    return w.define(
        f"{text}{to}{attributes}",
        value,
        dims=dims,
        element=element,
        grain=grain,
        bound=bound,
        exact=exact,
    )


def _sum_target(w: Writer, name: str, element: str) -> tuple[str, str]:
    """The `to` clause of a sum or product and the element type of the result."""
    if name not in ("sum", "prod"):
        return "", element
    if element in ("i8", "i16", "ui8"):
        return " to i32", "i32"
    if element in ("f16", "bf16") and w.chance(0.3):
        return " to f32", "f32"
    return "", element


def reduce_and_use(w: Writer) -> None:
    """A row's reduction, used by the row again."""
    value = reduce(w)
    if value is not None:
        w.pool.append(value)
        for _ in range(2):
            binary(w)


def cumsum(w: Writer) -> None:
    value = pick(w, *FLOATS, "i32", "i64")
    if value is None or not value.dims or value.dims[-1].name:
        return
    count = value.dims[-1].size
    if value.is_integer:
        value = w.define(f"pypto.clip %{value.name}, -3, 5", value)
    exact = value.exact and (
        not value.is_float
        or (
            value.element == "f32"
            and value.grain is not None
            and sum_is_exact(value, count, value.grain, value.bound)
        )
    )
    text = (
        f"pypto.cumsum %{value.name} axis {w.random.choice([-1, len(value.dims) - 1])}"
    )
    w.define(text, value, exact=exact, bound=value.bound * count)


def clone(w: Writer) -> None:
    value = w.random.choice(w.pool)
    w.define(f"pypto.clone %{value.name}", value)


def softmax(w: Writer) -> None:
    value = pick(w, *FLOATS)
    if value is None or not value.dims:
        return
    name = w.random.choice(["softmax", "rms_norm", "swiglu"])
    attributes = w.attributes(rank=len(value.dims))
    text = f"pypto.softmax %{value.name} axis -1{attributes}"
    bound = 1.0
    if name == "swiglu":
        text = f"pypto.swiglu %{value.name}, %{value.name}{attributes}"
        bound = value.bound**2
        w.define(text, value, grain=None, bound=bound)
        return
    if name == "rms_norm":
        last = value.dims[-1]
        if last.varies:
            return
        gamma = w.argument((last,), value.element)
        text = f"pypto.rms_norm %{value.name}, %{gamma.name} eps 1.0e-5{attributes}"
        bound = 2 * max(last.size, 1) ** 0.5
    w.define(text, value, grain=None, exact=False, bound=bound)


VECTOR_STEPS: tuple[Step, ...] = (
    unary,
    unary,
    binary,
    binary,
    with_literal,
    divide_integers,
    clip,
    compare,
    where,
    cast,
    reduce,
    reduce_and_use,
    clone,
    softmax,
)
