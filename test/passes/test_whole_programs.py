"""
Small programs on which a pass once went wrong, from source to result.

Each says in its name what is special about it. `check` compares with the reference
interpreter, in program order and with the pipes far apart.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from front_programs import body
from random_ops import MACHINES
from random_programs import check
from random_writer import Program, data

import pyptoc

IN_PLACE = "%x: tensor<200x8xf32>, %t: tensor<199x8xf32>, %u: tensor<200x200xf32>"
SHAPES = {"x": (200, 8), "t": (199, 8), "u": (200, 200)}

UPDATES = {
    "a view of the old value is read later": """
  %v = pypto.view %a[0 +: 199, :]
  %b = pypto.assemble %t into %a[0, 0]
  %z = pypto.neg %v
  %c = pypto.assemble %z into %b[1, 0]""",
    "the old value is read before, in another place": """
  %n = pypto.abs %t
  %v = pypto.view %a[0 +: 199, :]
  %z = pypto.exp %v
  %b = pypto.assemble %n into %a[0, 0]
  %c = pypto.assemble %z into %b[1, 0]""",
    "rows are moved down by one": """
  %v = pypto.view %a[0 +: 199, :]
  %z = pypto.mul %v, 2.0
  %c = pypto.assemble %z into %a[1, 0]""",
    "rows are changed where they are": """
  %v = pypto.view %a[1 +: 199, :]
  %z = pypto.mul %v, 2.0
  %c = pypto.assemble %z into %a[1, 0]""",
    "made of the destination itself": """
  %z = pypto.mul %a, 2.0
  %c = pypto.assemble %z into %a[0, 0]""",
    "a product of the destination": """
  %m = pypto.matmul %u, %a {tile = #pypto.cube<m = [16, 16], k = [32, 32],
                                                n = [16, 16]>}
  %c = pypto.assemble %m into %a[0, 0]""",
    "a loop that hands on what it was given": """
  %d = pypto.for (%i = 0 to 3) iter(%e = %a) {
    pypto.yield %e
  }
  %b = pypto.assemble %t into %a[0, 0]
  %c = pypto.sub %b, %d""",
    "a loop that reads what it is given": """
  %c = pypto.forall (%i = 0 to 199) outs(%o = %a) {
    %j = pypto.index %i + 1
    %v = pypto.view %a[%j, :]
    %w = pypto.mul %v, 2.0
    pypto.store %w into %o[%i, 0]
  }""",
}


def run(text: str, shapes: dict[str, tuple[int, ...]], machine: str) -> None:
    """Check with data of the element types that the signature has."""
    random = Random(0)
    inputs = {}
    for name, shape in shapes.items():
        element = text.split(f"%{name}: tensor<")[1].split(">")[0].split("x")[-1]
        inputs[name] = data(random, shape, element)
    check(Program(text, inputs), machine, order=1)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", UPDATES)
def test_updates_in_place(name: str, machine: str) -> None:
    text = "  %a = pypto.neg %x" + UPDATES[name] + "\n  %r = pypto.neg %c"
    run(body(IN_PLACE, "tensor<200x8xf32>", text), SHAPES, machine)


OTHERS: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    "a copy that nobody uses": (
        body(
            '%x: tensor<?x11xi32> {pypto.dims = ["M"]}',
            "tensor<?x11xi32>",
            "  %a = pypto.clone %x\n  %n = pypto.dim %x, 0\n"
            "  %m = pypto.index %n - 3\n  %r = pypto.view %x[3 +: %m, :]",
        ),
        {"x": (6, 11)},
    ),
    "the size of a view": (
        body(
            '%x: tensor<?xi16> {pypto.dims = ["M"]}, %g: tensor<1xi32>',
            "tensor<?xf16>",
            "  %n = pypto.dim %x, 0\n  %m = pypto.index %n - 7\n"
            "  %v = pypto.view %x[7 +: %m]\n  %p = pypto.index %m - 5\n"
            "  %w = pypto.view %v[%p +: 5]\n  %c = pypto.clip %v, -50, 50\n"
            "  %r = pypto.cast %c to f16",
        ),
        {"x": (32,), "g": (1,)},
    ),
    "the greatest of unsigned numbers, in phases": (
        body(
            '%x: tensor<5x?xui8> {pypto.dims = ["N"]}',
            "tensor<5xui8>",
            "  %r = pypto.amin %x axis -1",
        ),
        {"x": (5, 40)},
    ),
    "the least of unsigned numbers, in phases": (
        body(
            '%x: tensor<5x?xui8> {pypto.dims = ["N"]}',
            "tensor<5xui8>",
            "  %r = pypto.amax %x axis -1",
        ),
        {"x": (5, 40)},
    ),
    "a tail in a leading dimension": (
        body(
            '%x: tensor<?x10x6xf32> {pypto.dims = ["M"]}',
            "tensor<?x10x6xf32>",
            "  %m = pypto.dim %x, 0\n"
            "  %o = pypto.empty[%m, 10, 6] : tensor<?x10x6xf32>\n"
            "  %r = pypto.forall (%i +: %n = 0 to %m step 32) outs(%u = %o) {\n"
            "    %v = pypto.view %x[%i +: %n, :, :]\n    %w = pypto.neg %v\n"
            "    pypto.store %w into %u[%i, 0, 0]\n  }",
        ),
        {"x": (2, 10, 6)},
    ),
    "a loop whose step is longer than its range": (
        body(
            "%x: tensor<16x46xui8>",
            "tensor<16x46xui8>",
            "  %y = pypto.mul %x, %x\n"
            "  %o = pypto.empty[16, 46] : tensor<16x46xui8>\n"
            "  %r = pypto.forall (%i +: %n = 0 to 16 step 32, %j +: %k = 0 to 46 "
            "step 1) outs(%u = %o) {\n    %v = pypto.view %y[%i +: %n, %j +: %k]\n"
            "    %w = pypto.maximum %v, 3\n    pypto.store %w into %u[%i, %j]\n  }",
        ),
        {"x": (16, 46)},
    ),
    "running sums with a narrow tile": (
        body(
            "%x: tensor<15x40xi32>",
            "tensor<15x40xi32>",
            "  %y = pypto.clip %x, -3, 5\n"
            "  %r = pypto.cumsum %y axis 1 {tile = #pypto.vec<4, 8>}",
        ),
        {"x": (15, 40)},
    ),
    "a batch of nothing": (
        body(
            '%a: tensor<4x?x?xf32> {pypto.dims = ["M", "K"]}, '
            '%b: tensor<3x?xf32> {pypto.dims = ["K"]}',
            "tensor<4x?x3xf32>",
            "  %r = pypto.matmul %a, %b {b_trans}",
        ),
        {"a": (4, 5, 0), "b": (3, 0)},
    ),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str, machine: str) -> None:
    run(*OTHERS[name], machine)


def test_the_parts_of_a_split_product_fit() -> None:
    """Each is loaded on its own, so that a group needs more room than its ops say."""
    text = body(
        "%a: tensor<64x512xf16>, %b: tensor<512x512xf16>",
        "tensor<64x256xf32>",
        "  %y = pypto.matmul %a, %b {tile = #pypto.cube<m = [64, 64], k = [64, 64],\n"
        "                                n = [128, 128], split_k = 2>}\n"
        "  %u = pypto.view %y[:, 0 +: 256]\n  %v = pypto.view %y[:, 256 +: 256]\n"
        "  %r = pypto.swiglu %u, %v {tile = #pypto.vec<64, 256>}",
    )
    program = pyptoc.compile(text)
    ones = np.ones((64, 512), np.float16), np.full((512, 512), 1 / 256, np.float16)
    assert np.allclose(program.run(a=ones[0], b=ones[1])["result0"], 4 / (1 + np.e**-2))
