"""Checks of a cube tile that hold on every machine (rules of the cube unit's layout).

A cube tile is m = [mL0, mL1], k = [kL0, kL1] or [kL0, kAL1, kBL1], n = [nL0, nL1] in
elements. Matrices lie in fractals of 16 rows x 32 bytes, which is where the multiples
come from; what fits which buffer depends on the machine and is checked by infer-tiles.
"""

from __future__ import annotations

from typing import NoReturn

from xdsl.dialects.builtin import FixedBitwidthType, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.infer import as_tensor

FRACTAL_COLUMNS = 16
"""kL0 and nL0 are multiples of this many elements."""
FRACTAL_BYTES = 32
"""A row of a fractal."""
MX_K = 64
"""kL0 of a scaled product covers whole pairs of scales."""


def check_cube_tile(tile: CubeTileAttr, op: Operation) -> None:
    """Raise a CompileError if no machine could use `tile` for the product `op`.

    `op` is one of the matmul family: it has `lhs`, `rhs` and perhaps `a_trans` and
    `scale_lhs`. The error names the rule, the numbers and a tile size that obeys it.
    """
    _check_levels(tile, op)
    lhs, rhs = _element_bytes(op, "lhs"), _element_bytes(op, "rhs")
    k, n, m = tile.k[0], tile.n[0], tile.m[0]
    if getattr(op, "scale_lhs", None) is not None:
        _check_multiple(tile, op, "kL0", k, MX_K, "two scales for 64 elements of K")
    for name, value, size, letter in (("kL0", k, lhs, "A"), ("nL0", n, rhs, "B")):
        _check_multiple(tile, op, name, value, FRACTAL_COLUMNS, "elements of a fractal")
        _check_bytes(tile, op, name, value, size, letter)
    if getattr(op, "a_trans", None) is not None:
        _check_bytes(tile, op, "mL0", m, lhs, "A, stored transposed")
    _check_split(tile, op)


def _check_levels(tile: CubeTileAttr, op: Operation) -> None:
    """All sizes are positive, each L1 size is a multiple of its L0 size."""
    for letter, sizes in (("m", tile.m), ("k", tile.k), ("n", tile.n)):
        l0, *l1 = sizes
        for size in sizes:
            if size <= 0:
                _raise(
                    tile,
                    op,
                    "PTO211",
                    f"{letter} = {list(sizes)} of a cube tile",
                    "tile sizes are positive",
                    f"{size} is not",
                )
        names = ["kAL1", "kBL1"] if len(l1) == 2 else [f"{letter}L1"]
        for name, size in zip(names, l1, strict=True):
            if size % l0:
                _raise(
                    tile,
                    op,
                    "PTO212",
                    f"{name} = {size} of a cube tile",
                    f"{name} is a multiple of {letter}L0",
                    f"{size} = {size // l0} * {l0} + {size % l0}",
                    f"{name} = {_next(size, l0)}",
                )


def _check_multiple(
    tile: CubeTileAttr, op: Operation, name: str, value: int, unit: int, why: str
) -> None:
    if value % unit:
        _raise(
            tile,
            op,
            "PTO213",
            f"{name} = {value} of a cube tile",
            f"{name} is a multiple of {unit} ({why})",
            f"{value} = {value // unit} * {unit} + {value % unit}",
            f"{name} = {_next(value, unit)}",
        )


def _check_bytes(
    tile: CubeTileAttr, op: Operation, name: str, value: int, size: int, letter: str
) -> None:
    """`value` elements of `size` bytes are whole rows of a fractal."""
    if value * size % FRACTAL_BYTES:
        _raise(
            tile,
            op,
            "PTO213",
            f"{name} = {value} of a cube tile",
            f"{name} elements of {letter} are a multiple of {FRACTAL_BYTES} B",
            f"{value} * {size} B = {value * size} B",
            f"{name} = {_next(value, FRACTAL_BYTES // size)}",
        )


def _check_split(tile: CubeTileAttr, op: Operation) -> None:
    """Parts of a split k are added in the accumulator's type: the result's."""
    if tile.split_k == 0 or not op.results:
        return
    extras = ("bias", "scale", "relu")
    if any(getattr(op, name, None) is not None for name in extras):
        _raise(
            tile,
            op,
            "PTO214",
            "split_k of a product with a bias, an output scale or relu",
            "with split_k the parts are added before anything is done to the sum",
            "it has `bias`, `scale` or {relu}",
            "split_k = 1, or do it after the product",
        )
    element = _element(op.results[0].type)
    if element not in (f32, i32):
        _raise(
            tile,
            op,
            "PTO214",
            f"split_k of a product in {element}",
            "with split_k the result is f32 or i32: the parts are added before it is "
            "rounded",
            f"the result is {element}",
            "leave out `to` and cast after the product",
        )


def _element_bytes(op: Operation, field: str) -> int:
    """Bytes of one element of operand `field`."""
    value: SSAValue = getattr(op, field)
    element = _element(value.type)
    assert isinstance(element, FixedBitwidthType)
    return element.size


def _element(type: Attribute) -> Attribute:
    tensor = as_tensor(type)
    return type if tensor is None else tensor.element_type


def _next(value: int, unit: int) -> int:
    """The least positive multiple of `unit` that is not below `value`."""
    return max(-(-value // unit), 1) * unit


def _raise(
    tile: CubeTileAttr,
    op: Operation,
    code: str,
    message: str,
    rule: str,
    here: str,
    help: str = "",
) -> NoReturn:
    error(
        op,
        code,
        message,
        length=len(op.name),
        label=f"tile = {tile}",
        rule=rule,
        here=here,
        help=help,
    )
