"""
Programs of one op on random shapes, with goldens from the definition of the op.

The goldens (`operators/goldens.py`) are plain numpy in f64 and share nothing with the
compiler or its interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
from end_to_end import goldens
from numpy.typing import NDArray
from random_ops import CASTS
from random_shapes import cube_tile
from random_writer import (
    DTYPES,
    FLOATS,
    INTEGERS,
    Dim,
    Dims,
    Program,
    Writer,
    random_dims,
    type_text,
)

Array = NDArray[Any]

NEAR = {"f32": 2e-5, "f16": 2e-3, "bf16": 1.6e-2}
"""How near to a golden in f64 a result of few roundings is."""


def uniform(random: Random, shape: tuple[int, ...], element: str) -> Array:
    """Floats from -1 to 1, or all of the integers of 8 bits."""
    rng = np.random.default_rng(random.getrandbits(32))
    if element in INTEGERS:
        return rng.integers(-128, 128, shape).astype(DTYPES[element])
    return rng.uniform(-1, 1, shape).astype(DTYPES[element])


def sizes_of(dims: Dims) -> tuple[int, ...]:
    return tuple(dim.size for dim in dims)


def argument(name: str, dims: Dims, element: str) -> str:
    """An argument as it is declared."""
    names = ", ".join(f'"{dim.name}"' for dim in dims if dim.name)
    attributes = f" {{pypto.dims = [{names}]}}" if names else ""
    return f"%{name}: {type_text(dims, element)}{attributes}"


def function(arguments: list[str], line: str, results: list[tuple[str, str]]) -> str:
    """A function of one line that defines the values named in `results`."""
    types = ", ".join(type_ for _, type_ in results)
    names = ", ".join(f"%{name}" for name, _ in results)
    return (
        f"func.func @f({', '.join(arguments)}) -> ({types}) {{\n"
        f"  {names} = {line}\n  func.return {names} : {types}\n}}\n"
    )


def size(random: Random, name: str, largest: int) -> Dim:
    """One size from 1 on; `?` now and then."""
    (dim,) = random_dims(random, 1, largest)
    return Dim(dim.size, name if dim.name else None)


def matmul(random: Random) -> Program:
    """M, N and K from 1 to 300, with batches, transposes, tiles and split-k."""
    element = random.choice([*FLOATS, "i8"])
    m, n, k = (size(random, name, 300) for name in "mnk")
    if k.size > 3 and random.random() < 0.03:
        k = Dim(0, k.name)
    batch = tuple(size(random, f"b{i}", 3) for i in range(random.choice([0, 0, 1, 2])))
    a_trans, b_trans = (random.random() < 0.3 for _ in "ab")
    a = (*batch, *((k, m) if a_trans else (m, k)))
    b = (*(batch if random.random() < 0.5 else ()), *((n, k) if b_trans else (k, n)))
    result, to = ("i32", "") if element == "i8" else ("f32", "")
    if element != "i8" and random.random() < 0.3:
        result = random.choice(FLOATS)
        to = f" to {result}"
    flags = [flag for flag, on in (("a_trans", a_trans), ("b_trans", b_trans)) if on]
    if random.random() < 0.5:
        split = not to and random.random() < 0.7
        flags.append(cube_tile(Writer(random), split, wide=a_trans))
    attributes = f" {{{', '.join(flags)}}}" if flags else ""
    left = uniform(random, sizes_of(a), element)
    right = uniform(random, sizes_of(b), element)
    text = function(
        [argument("a", a, element), argument("b", b, element)],
        f"pypto.matmul %a, %b{to}{attributes}",
        [("y", type_text((*batch, m, n), result))],
    )
    golden = goldens.matmul(
        left.swapaxes(-1, -2) if a_trans else left,
        right.swapaxes(-1, -2) if b_trans else right,
    )
    near = 0.0 if result == "i32" else NEAR[result]
    inputs = {"a": left, "b": right}
    return Program(text, inputs, {"result0": near}, {"result0": golden}, near)


def row_shape(random: Random) -> Dims:
    """Rank 1 to 3; some rows are longer than UB holds."""
    rank = random.choice([1, 2, 2, 2, 3])
    dims = random_dims(random, rank, {1: 5000, 2: 700, 3: 60}[rank])
    if random.random() < 0.12:
        long = random.choice([9000, 20000, 40001])
        dims = (Dim(random.randint(1, 3)), Dim(long, random.choice([None, "d1"])))
    return dims


def rows(random: Random) -> Program:
    """softmax, rms_norm, layer_norm, swiglu and quantize along the last axis."""
    dims, element = row_shape(random), random.choice(FLOATS)
    x = uniform(random, sizes_of(dims), element)
    inputs, types = {"x": x}, [argument("x", dims, element)]
    tile = ""
    if len(dims) > 1 and random.random() < 0.4:
        height, width = random.choice([1, 4, 64]), random.choice([32, 256, 1024])
        tile = f" {{tile = #pypto.vec<{height}, {width}>}}"

    def weight(name: str, shape: Dims) -> Array:
        inputs[name] = uniform(random, sizes_of(shape), element)
        types.append(argument(name, shape, element))
        return inputs[name]

    name = random.choice(["softmax", "rms_norm", "layer_norm", "swiglu", "quantize"])
    match name:
        case "softmax":
            line, golden = "pypto.softmax %x axis -1", goldens.softmax(x)
        case "rms_norm":
            line = "pypto.rms_norm %x, %g eps 1.0e-5"
            golden = goldens.rms_norm(x, weight("g", dims[-1:]), 1e-5)
        case "layer_norm":
            line = "pypto.layer_norm %x, %g, %b eps 1.0e-2"
            weights = weight("g", dims[-1:]), weight("b", dims[-1:])
            golden = goldens.layer_norm(x, *weights, 1e-2)
        case "swiglu":
            line = "pypto.swiglu %x, %g"
            golden = goldens.swiglu(x, weight("g", dims))
        case _:
            return quantized(dims, element, inputs, types, tile)
    text = function(types, line + tile, [("y", type_text(dims, element))])
    near = NEAR[element]
    return Program(text, inputs, {"result0": near}, {"result0": golden}, near)


def quantized(
    dims: Dims, element: str, inputs: dict[str, Array], types: list[str], tile: str
) -> Program:
    """i8 with a scale for each row: exact against the reference, near the golden."""
    results = [
        ("q", type_text(dims, "i8")),
        ("s", type_text((*dims[:-1], Dim(1)), "f32")),
    ]
    text = function(types, f"pypto.quantize %x axis -1 to i8{tile}", results)
    q, scale = goldens.quantize(inputs["x"])
    # In f32 a product may fall on the other side of a half: one apart, relative to 127.
    golden = {"result0": q, "result1": scale}
    return Program(text, inputs, {}, golden, 1 / 100)


def casts(random: Random) -> Program:
    """Every pair of element types that both machines cast, in every mode, exactly."""
    source, target = random.choice(list(CASTS))
    mode = random.choice(["", *(f" mode {mode}" for mode in CASTS[source, target])])
    flag = ""
    if target in INTEGERS and random.random() < 0.3:
        flag = " {saturate = false}"
    dims = random_dims(random, random.randint(1, 3), 30)
    x = cast_data(random, sizes_of(dims), source)
    text = function(
        [argument("x", dims, source)],
        f"pypto.cast %x to {target}{mode}{flag}",
        [("y", type_text(dims, target))],
    )
    return Program(text, {"x": x})


def cast_data(random: Random, shape: tuple[int, ...], element: str) -> Array:
    """Numbers near the ends of ranges, ties, and ordinary ones."""
    rng = np.random.default_rng(random.getrandbits(32))
    if element == "i1":
        return rng.random(shape) < 0.5
    if element in INTEGERS:
        info = np.iinfo(DTYPES[element])
        small = rng.integers(max(info.min, -300), min(info.max, 300), shape)
        edges = rng.choice(np.array([info.min, info.max, info.max - 1, 0]), shape)
        return np.where(rng.random(shape) < 0.3, edges, small).astype(DTYPES[element])
    halves = rng.integers(-600, 600, shape) / 2
    wide = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 5, shape)
    values = np.where(rng.random(shape) < 0.5, halves, wide)
    return np.clip(values, -6e4, 6e4).astype(DTYPES[element])


def grouped(random: Random) -> Program:
    """Groups of rows, each times the matrix of its expert; some are empty."""
    element = random.choice([*FLOATS, "i8"])
    k, n = size(random, "k", 200).size, random.choice([1, 16, 40, 130])
    groups = [random.choice([0, 1, 7, 16, 40]) for _ in range(random.randint(1, 5))]
    m = sum(groups)
    b_trans, ends = random.random() < 0.4, random.random() < 0.3
    a = uniform(random, (m, k), element)
    b = uniform(
        random, (len(groups), n, k) if b_trans else (len(groups), k, n), element
    )
    flags = ["b_trans"] if b_trans else []
    if ends:
        flags.append('group_kind = "ends"')
    if random.random() < 0.4:
        flags.append(cube_tile(Writer(random), split=True))
    attributes = f" {{{', '.join(flags)}}}" if flags else ""
    kind = random.choice(["i32", "i64"])
    given = np.cumsum(groups) if ends else np.array(groups)
    result = "i32" if element == "i8" else "f32"
    text = function(
        [
            argument("a", (Dim(m, "M"), Dim(k)), element),
            argument("b", tuple(map(Dim, b.shape)), element),
            argument("g", (Dim(len(groups)),), kind),
        ],
        f"pypto.grouped_matmul %a, %b groups %g{attributes}",
        [("y", type_text((Dim(m, "M"), Dim(n)), result))],
    )
    parts = np.split(a, np.cumsum(groups)[:-1])
    weights = b.swapaxes(-1, -2) if b_trans else b
    golden = np.concatenate(
        [goldens.matmul(part, weight) for part, weight in zip(parts, weights)]
    )
    near = 0.0 if element == "i8" else NEAR["f32"]
    inputs = {"a": a, "b": b, "g": given.astype(DTYPES[kind])}
    return Program(text, inputs, {"result0": near}, {"result0": golden}, near)


def scaled(random: Random) -> Program:
    """MX products of f8 with a scale for 32 elements; ascend950 alone has them."""
    m, n, k = (size(random, name, 200) for name in "mnk")
    m, n, k = Dim(m.size, m.name), Dim(n.size), Dim(k.size)
    pairs = -(-k.size // 64)
    b_trans, s_trans = random.random() < 0.5, random.random() < 0.5
    element = random.choice(["f8E4M3FN", "f8E5M2"])
    shapes = {
        "a": (m, k),
        "b": (n, k) if b_trans else (k, n),
        "sa": (m, Dim(pairs), Dim(2)),
        "sb": (n, Dim(pairs), Dim(2)) if s_trans else (Dim(pairs), n, Dim(2)),
    }
    kinds = {"a": element, "b": element, "sa": "f8E8M0FNU", "sb": "f8E8M0FNU"}
    rng = np.random.default_rng(random.getrandbits(32))
    inputs = {
        name: uniform(random, sizes_of(dims), element)
        if kinds[name] == element
        else rng.integers(123, 130, sizes_of(dims), np.uint8).view(
            ml_dtypes.float8_e8m0fnu
        )
        for name, dims in shapes.items()
    }
    flags = [f for f, on in (("b_trans", b_trans), ("scales_b_trans", s_trans)) if on]
    if random.random() < 0.4:
        step = random.choice([64, 128])
        flags.append(
            f"tile = #pypto.cube<m = [16, 32], k = [64, {step}], n = [32, 64]"
            + random.choice([", split_k>", ", split_k = 2>", ">"])
        )
    attributes = f" {{{', '.join(flags)}}}" if flags else ""
    text = function(
        [argument(name, dims, kinds[name]) for name, dims in shapes.items()],
        f"pypto.scaled_mm %a, %b scales %sa, %sb{attributes}",
        [("y", type_text((m, n), "f32"))],
    )
    wide = {name: value.astype(np.float64) for name, value in inputs.items()}
    b = wide["b"].T if b_trans else wide["b"]
    sb = wide["sb"] if s_trans else wide["sb"].transpose(1, 0, 2)
    by_row = np.repeat(wide["sa"].reshape(m.size, -1), 32, axis=1)[:, : k.size]
    by_column = np.repeat(sb.reshape(n.size, -1), 32, axis=1)[:, : k.size]
    golden = (wide["a"] * by_row) @ (b * by_column.T)
    near = NEAR["f32"]
    return Program(text, inputs, {"result0": near}, {"result0": golden}, near)


SINGLE: dict[str, Callable[[Random], Program]] = {
    "matmul": matmul,
    "rows": rows,
    "casts": casts,
    "grouped": grouped,
    "scaled": scaled,
}
"""By name; `scaled` is for machines with MX products."""
