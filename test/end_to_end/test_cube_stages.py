"""
Products whose operands come to L1 in steps of their own, against numpy.

Small integers, so that every sum is exact: compared bit by bit, compiled, in program
order and with the pipes of a core as far apart as the flags allow.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from task_order import record

from pyptoc.api import compile
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import load_machine

K_STEPS = ("16, 64, 32", "16, 32, 96", "32, 32, 320", "16, 320, 48")


@pytest.mark.parametrize(
    ("machine_name", "m", "k", "n"),
    [
        ("ascend950", 33, 200, 70),
        ("ascend910b", 50, 320, 96),
        ("ascend950", 0, 47, 130),
        ("ascend910b", 1, 1, 1),
        ("ascend950", 4, 0, 3),
    ],
)
def test_steps_of_their_own(machine_name: str, m: int, k: int, n: int) -> None:
    """Longer steps of A or of B, all of K of one of them, transposed sides, bias."""
    body = "".join(
        f"""
          %x{i} = pypto.matmul %a, %b {{tile = #t{i}}}
          %y{i} = pypto.matmul %at, %bt {{a_trans, b_trans, tile = #t{i}}}
          %z{i} = pypto.add %y{i}, %s
        """
        for i in range(len(K_STEPS))
    )
    tiles = "\n".join(
        f"#t{i} = #pypto.cube<m = [16, 32], k = [{step}], n = [32, 64]>"
        for i, step in enumerate(K_STEPS)
    )
    names = [f"%{letter}{i}" for i in range(len(K_STEPS)) for letter in "xz"]
    types = ", ".join([f"tensor<?x{n}xf32>"] * len(names))
    text = f"""
    {tiles}
    func.func @f(%a: tensor<?x{k}xbf16> {{pypto.dims = ["M"]}},
                 %b: tensor<{k}x{n}xbf16>,
                 %at: tensor<{k}x?xbf16> {{pypto.dims = ["M"]}},
                 %bt: tensor<{n}x{k}xbf16>, %s: tensor<{n}xf32>) -> ({types}) {{
      {body}
      func.return {", ".join(names)} : {types}
    }}
    """
    draw = np.random.default_rng(m + k)
    bf16 = ml_dtypes.bfloat16
    a, b = (draw.integers(-3, 4, shape).astype(bf16) for shape in ((m, k), (k, n)))
    s = draw.integers(-9, 10, n).astype(np.float32)
    x = a.astype(np.float32) @ b.astype(np.float32)
    at, bt = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    inputs = {"a": a, "b": b, "at": at, "bt": bt, "s": s}
    machine = load_machine(machine_name)
    program = compile(text, machine=machine_name).module
    order, found = record(program, machine, inputs)
    assert order.problems() == []
    assert order.undeclared() == []
    apart = Executable(program, machine, check=True).run(inputs, order=1)
    for results in (found, apart):
        for number, got in enumerate(results.values()):
            want = x + s if number % 2 else x
            assert got.tobytes() == want.tobytes(), K_STEPS[number // 2]


@pytest.mark.parametrize("k_step", ["64, 128, 64", "64, 64, 256"])
def test_scales_come_with_their_matrix(k_step: str) -> None:
    """MX scales are cut like the matrix that they belong to, split over K as well."""
    f8, e8 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
    text = f"""
    #tile = #pypto.cube<m = [16, 32], k = [{k_step}], n = [32, 64]>
    #split = #pypto.cube<m = [16, 32], k = [{k_step}], n = [32, 64], split_k = 2>
    func.func @f(%a: tensor<?x200xf8E4M3FN>, %b: tensor<96x200xf8E4M3FN>,
                 %sa: tensor<?x4x2xf8E8M0FNU>, %sb: tensor<4x96x2xf8E8M0FNU>)
        -> (tensor<?x96xf32>, tensor<?x96xf32>) {{
      %x = pypto.scaled_mm %a, %b scales %sa, %sb {{b_trans, tile = #tile}}
      %y = pypto.scaled_mm %a, %b scales %sa, %sb {{b_trans, tile = #split}}
      func.return %x, %y : tensor<?x96xf32>, tensor<?x96xf32>
    }}
    """
    draw = np.random.default_rng(3)
    a, b = (draw.integers(-3, 4, s).astype(f8) for s in ((41, 200), (96, 200)))
    powers = [2.0 ** draw.integers(-2, 3, s) for s in ((41, 4, 2), (4, 96, 2))]
    sa, sb = (p.astype(np.float32).astype(e8) for p in powers)
    wide = [
        np.repeat(p.reshape(len(p), -1), 32, 1)[:, :200]
        for p in (powers[0], powers[1].transpose(1, 0, 2))
    ]
    x = (a.astype(np.float32) * wide[0]) @ (b.astype(np.float32) * wide[1]).T
    program = compile(text)
    got_x, got_y = program.run(a=a, b=b, sa=sa, sb=sb).values()
    assert got_x.tobytes() == x.astype(np.float32).tobytes()
    assert got_y.tobytes() == x.astype(np.float32).tobytes()
