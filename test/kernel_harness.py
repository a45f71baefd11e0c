"""Runs one kernel, written as text, on numpy arrays; checks vector instructions."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
from element_types import DTYPES
from numpy.typing import NDArray

from pyptoc.dialects.context import make_context
from pyptoc.dialects.npu_kernel import KernelOp, kernels_of
from pyptoc.dialects.parsing import parse_module
from pyptoc.runtime.core import Core
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.matmul import Scratch
from pyptoc.runtime.memory import Buffers, Memory
from pyptoc.runtime.pipes import Pipes
from pyptoc.runtime.translate import KernelTranslator

Array = NDArray[Any]
BF16 = ml_dtypes.bfloat16
FLOATS = ("f32", "f16", "bf16")
INTEGERS = ("i32", "i16", "i8")
ROWS, COLUMNS = 8, 48
M, N = 5, 37
"""The extents used: a tail in both directions of an 8 x 48 buffer."""


@lru_cache(maxsize=64)
def parse_kernel(text: str) -> KernelOp:
    """The only kernel of a module, read once for all that run it and change nothing."""
    module = parse_module(text, "test.mlir", make_context())
    module.verify()
    (kernel,) = kernels_of(module).values()
    return kernel


def translate(
    text: str, *, seed: int | None = None, fuse: bool = True, check: bool = True
) -> KernelTranslator:
    """The only kernel of a module; `seed` runs its pipes out of order."""
    kernel = parse_kernel(text)
    pipes = None if seed is None else Pipes(seed)
    buffers = Buffers(load_machine("ascend950"))
    return KernelTranslator(kernel, Core(buffers, Scratch(), fuse, check, pipes))


def run_kernel(
    text: str,
    grid: tuple[int, ...],
    arrays: list[Array],
    scalars: tuple[Any, ...] = (),
    **options: Any,
) -> None:
    """Run all tasks of a grid on gm arrays, which change in place."""
    kernel = translate(text, **options)
    memories = tuple(Memory(array) for array in arrays)
    with np.errstate(all="ignore"):
        kernel.launch(grid, memories, scalars)


def random(element: str, shape: tuple[int, int], seed: int, low: float = -4) -> Array:
    generator = np.random.default_rng(seed)
    if element == "i1":
        return generator.integers(0, 2, shape).astype(bool)
    if element in INTEGERS:
        return generator.integers(-100, 100, shape).astype(DTYPES[element])
    return generator.uniform(low, 4, shape).astype(DTYPES[element])


def wide(array: Array) -> Array:
    """Exact values: f64, or i64."""
    is_integer = array.dtype.kind in "iub"
    return array.astype(np.int64 if is_integer else np.float64)


FORM_SHAPES = {"full": (M, N), "row": (M, 1), "col": (1, N), "one": (1, 1)}


def vector(
    instruction: str,
    inputs: list[tuple[Array, str, str]],
    result: str,
    *,
    options: str = "",
    columns: int = COLUMNS,
) -> Array:
    """Run `tile.<instruction>` on inputs (array, element type, form).

    `{0}`, `{1}`, .. in the instruction stand for the inputs. Returns the destination,
    which held ones before, [ROWS, columns].
    """
    parameters = [
        f'%x{i}: memref<?x?x{element}, "gm">'
        for i, (_, element, _) in enumerate(inputs)
    ]
    parameters.append(f'%y: memref<{ROWS}x{columns}x{result}, "gm">')
    lines: list[str] = []
    names: list[str] = []
    for i, (array, element, form) in enumerate(inputs):
        rows, width = array.shape
        lines += [
            f"%b{i} = tile.alloc : !tile.buf<{ROWS}x{COLUMNS}x{element}, ub>",
            f"tile.load %x{i}[0, 0] [{rows}, {width}] into %b{i}",
        ]
        names.append(f"%b{i}" + ("" if form == "full" else f" {form}"))
    one = "1.0" if result in FLOATS else "true" if result == "i1" else "1"
    text = f"""
    npu.kernel @k () ({", ".join(parameters)}, %m: index, %n: index) on vector {{
      {chr(10).join(lines)}
      %d = tile.alloc : !tile.buf<{ROWS}x{columns}x{result}, ub>
      tile.fill {one} into %d [{ROWS}, {columns}]
      tile.barrier
      tile.{instruction.format(*names)} into %d [%m, %n] {options}
      tile.barrier
      tile.store %d [{ROWS}, {columns}] into %y[0, 0]
    }}
    """
    out = np.zeros((ROWS, columns), DTYPES[result])
    run_kernel(text, (), [*(array for array, _, _ in inputs), out], (M, N))
    box = (M, 1 if instruction.startswith("row_") and columns == 1 else N)
    outside = np.ones(out.shape, bool)
    outside[: box[0], : box[1]] = False
    assert (out[outside] == 1).all(), "wrote outside its extents"
    return out[: box[0], : box[1]]


def assert_rounded(got: Array, exact: Array, ulps: float) -> None:
    """`got` is `exact` (f64) rounded to its type, but for `ulps` in the last place."""
    want = exact.astype(np.float32).astype(got.dtype)
    if ulps == 0:
        assert np.array_equal(got, want, equal_nan=True)
        return
    step = {np.float16: 2.0**-10, np.float32: 2.0**-23}.get(got.dtype.type, 2.0**-7)
    np.testing.assert_allclose(
        got.astype(np.float64), want.astype(np.float64), rtol=ulps * step, atol=1e-6
    )
