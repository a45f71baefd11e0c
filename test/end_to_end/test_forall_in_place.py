"""A forall that reads the box that it stores: an argument is updated without a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from inprocess import call
from numpy.typing import NDArray

import pyptoc
from pyptoc.runtime.executor import Executable

Array = NDArray[Any]


class Body(NamedTuple):
    """What an iteration does with block (%i, %j) of %y, and what that comes to."""

    text: str
    golden: Callable[[Array, Array], Array]
    copied: bool = False
    """Whether the old values are needed when they have been overwritten."""


def swapped(x: Array, y: Array) -> Array:
    """Blocks of the left and of the right half exchanged."""
    return np.roll(y, 128, axis=1) * x


def by_row(x: Array, y: Array) -> Array:
    blocks = y.reshape(512, 2, 128)
    return (blocks - blocks.max(axis=2, keepdims=True)).reshape(y.shape)


def left_halves(x: Array, y: Array) -> Array:
    """The left half of each block twice."""
    left = y.reshape(512, 2, 2, 64)[:, :, :1]
    return x * left.repeat(2, axis=2).reshape(x.shape)


OLD = "%old = pypto.view %y[%i +: 64, %j +: 128]\n"
STORE = "pypto.store %new into %o[%i, %j]\n"
BODIES = {
    "its own box": Body(OLD + "%new = pypto.mul %old, %p\n" + STORE, np.multiply),
    "folded": Body(
        OLD + "%most = pypto.amax %old axis -1 {keepdim}\n"
        "%new = pypto.sub %old, %most\n" + STORE,
        by_row,
    ),
    "read behind the store": Body(
        "%e = pypto.neg %p\npypto.store %e into %o[%i, %j]\n"
        + OLD
        # What is read is the old value, whatever has been stored.
        + "%new = pypto.mul %old, %p\n"
        + STORE,
        np.multiply,
    ),
    "the box of another iteration": Body(
        "%k = pypto.index (%j + 128) mod 256\n"
        "%old = pypto.view %y[%i +: 64, %k +: 128]\n"
        "%new = pypto.mul %old, %p\n" + STORE,
        swapped,
        copied=True,
    ),
    "half of its own box, stored whole": Body(
        "%half = pypto.view %y[%i +: 64, %j +: 64]\n"
        "%old = pypto.concat %half, %half axis 1\n"
        "%new = pypto.mul %old, %p\n" + STORE,
        lambda x, y: (
            x * y.reshape(512, 2, 2, 64)[:, :, :1].repeat(2, 2).reshape(x.shape)
        ),
        copied=True,
    ),
    "in one branch": Body(
        OLD + "%some = pypto.index %i < 128\n"
        "scf.if %some {\n%new = pypto.mul %old, %p\n" + STORE + "}\n",
        lambda x, y: np.where(np.arange(512)[:, None] < 128, x * y, y),
        copied=True,
    ),
}
CASES = pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))


def source(body: Body) -> str:
    return f"""
func.func @f(%x: tensor<512x256xf32>, %y: tensor<512x256xf32>)
    -> (tensor<512x256xf32> {{pypto.name = "y"}}) {{
  %z = pypto.forall (%i = 0 to 512 step 64, %j = 0 to 256 step 128) outs(%o = %y) {{
    %p = pypto.view %x[%i +: 64, %j +: 128]
    {body.text}
  }}
  func.return %z : tensor<512x256xf32>
}}
"""


@CASES
@pytest.mark.parametrize("machine", ["ascend950", "ascend910b"])
def test_values(body: Body, machine: str) -> None:
    """Also with cores that run ahead, and with nothing that hardware would corrupt."""
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1, 1, (2, 512, 256)).astype(np.float32)
    program = pyptoc.compile(source(body), machine=machine)
    wanted = body.golden(x, y)
    for results in (
        program.run(x=x, y=y.copy(), check=True),
        Executable(program.module, program.machine).run({"x": x, "y": y}, order=3),
    ):
        assert np.array_equal(results["y"], wanted)


@CASES
def test_copies(body: Body) -> None:
    code, _, err = call("-", stdin=source(body))
    assert code == 0, err
    assert ("PTO310" in err) == body.copied


@CASES
def test_every_pass_keeps_the_values(body: Body) -> None:
    code, _, err = call("-", "--check-each", "--random-inputs=1", stdin=source(body))
    assert code == 0, err


def test_a_forall_that_updates_an_argument_is_one_launch() -> None:
    program = pyptoc.compile(source(BODIES["its own box"]))
    assert [launch.tasks for launch in program.simulate().launches] == [32]
