"""The rules of a cube tile that hold on every machine, each with the fix it prints."""

import pytest
from building import parse, value

from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.matmul import MatmulOp, ScaledMmOp
from pyptoc.dialects.pypto.tiles import check_cube_tile


def product(element: str, to: str | None = None, a_trans: bool = False):
    a = value(f"64x?x{element}" if a_trans else f"?x64x{element}")
    b = value(f"64x256x{element}")
    target = None if to is None else parse(to)
    return MatmulOp.make(a, b, target=target, a_trans=a_trans)


def scaled():
    a, b = value("?x512xf8E4M3FN"), value("512x256xf8E4M3FN")
    return ScaledMmOp.make(a, b, value("?x8x2xf8E8M0FNU"), value("8x256x2xf8E8M0FNU"))


LEGAL = [
    (product("bf16"), ([16, 16], [64, 256], [256, 512])),
    (product("bf16"), ([9, 9], [16, 16], [16, 16])),
    (product("bf16"), ([16, 16], [64, 256, 128], [256, 256])),
    (product("bf16", a_trans=True), ([16, 16], [16, 16], [16, 16])),
    (product("i8"), ([1, 1], [32, 32], [32, 32])),
    (product("f32"), ([1, 1], [16, 16], [16, 16])),
    (product("f32"), ([1, 1], [16, 16], [16, 16], 4)),
    (scaled(), ([16, 16], [64, 256], [256, 256], -1)),
]


@pytest.mark.parametrize(("op", "sizes"), LEGAL)
def test_legal_tiles(op, sizes):
    check_cube_tile(CubeTileAttr(*sizes), op)


BROKEN = [
    # op, tile, code, message, rule, numbers, fix
    (
        product("bf16"),
        ([0, 16], [64, 64], [16, 16]),
        "PTO211",
        "m = [0, 16] of a cube tile",
        "tile sizes are positive",
        "0 is not",
        "",
    ),
    (
        product("bf16"),
        ([16, 40], [64, 64], [16, 16]),
        "PTO212",
        "mL1 = 40 of a cube tile",
        "mL1 is a multiple of mL0",
        "40 = 2 * 16 + 8",
        "mL1 = 48",
    ),
    (
        product("bf16"),
        ([16, 16], [64, 256, 96], [16, 16]),
        "PTO212",
        "kBL1 = 96 of a cube tile",
        "kBL1 is a multiple of kL0",
        "96 = 1 * 64 + 32",
        "kBL1 = 128",
    ),
    (
        product("bf16"),
        ([16, 16], [24, 24], [16, 16]),
        "PTO213",
        "kL0 = 24 of a cube tile",
        "kL0 is a multiple of 16 (elements of a fractal)",
        "24 = 1 * 16 + 8",
        "kL0 = 32",
    ),
    (
        product("bf16"),
        ([16, 16], [64, 64], [8, 8]),
        "PTO213",
        "nL0 = 8 of a cube tile",
        "nL0 is a multiple of 16 (elements of a fractal)",
        "8 = 0 * 16 + 8",
        "nL0 = 16",
    ),
    (
        product("i8"),
        ([16, 16], [16, 16], [32, 32]),
        "PTO213",
        "kL0 = 16 of a cube tile",
        "kL0 elements of A are a multiple of 32 B",
        "16 * 1 B = 16 B",
        "kL0 = 32",
    ),
    (
        product("i8"),
        ([16, 16], [32, 32], [48, 48]),
        "PTO213",
        "nL0 = 48 of a cube tile",
        "nL0 elements of B are a multiple of 32 B",
        "48 * 1 B = 48 B",
        "nL0 = 64",
    ),
    (
        product("bf16", a_trans=True),
        ([9, 9], [16, 16], [16, 16]),
        "PTO213",
        "mL0 = 9 of a cube tile",
        "mL0 elements of A, stored transposed are a multiple of 32 B",
        "9 * 2 B = 18 B",
        "mL0 = 16",
    ),
    (
        scaled(),
        ([16, 16], [32, 256], [256, 256]),
        "PTO213",
        "kL0 = 32 of a cube tile",
        "kL0 is a multiple of 64 (two scales for 64 elements of K)",
        "32 = 0 * 64 + 32",
        "kL0 = 64",
    ),
    (
        product("bf16", to="bf16"),
        ([16, 16], [64, 64], [16, 16], -1),
        "PTO214",
        "split_k of a product in bf16",
        "with split_k the result is f32 or i32: the parts are added before it is "
        "rounded",
        "the result is bf16",
        "leave out `to` and cast after the product",
    ),
]


@pytest.mark.parametrize(
    ("op", "sizes", "code", "message", "rule", "here", "help"), BROKEN
)
def test_broken_tiles(op, sizes, code, message, rule, here, help):
    with pytest.raises(CompileError) as failure:
        check_cube_tile(CubeTileAttr(*sizes), op)
    (found,) = failure.value.diagnostics
    assert (found.code, found.message) == (code, message)
    assert (found.rule, found.here, found.help) == (rule, here, help)
