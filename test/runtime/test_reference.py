"""The reference interpreter, op by op, against goldens that are written from the
definitions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from end_to_end import goldens
from interpreting import close, failure, run

BF16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(7)


def run_body(signature, body, result_types, **inputs):
    """The results of `func.func @f(signature)` with a body that returns %r0, %r1, .."""
    values = ", ".join(f"%r{i}" for i in range(len(result_types)))
    types = ", ".join(result_types)
    text = f"""
    func.func @f({signature}) -> ({types}) {{
      {body}
      func.return {values} : {types}
    }}"""
    results = run(text, **inputs)
    return [results[f"result{i}"] for i in range(len(result_types))]


def normal(*shape, dtype=np.float32, scale=1.0):
    return (RNG.normal(size=shape) * scale).astype(np.float32).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "name", "rtol"), [(np.float32, "f32", 1e-5), (BF16, "bf16", 1e-5)]
)
@pytest.mark.parametrize("shape", [(3, 5, 4), (1, 1, 1), (17, 300, 33), (2, 0, 3)])
def test_matmul(dtype, name, rtol, shape):
    m, k, n = shape
    a, b = normal(m, k, dtype=dtype), normal(n, k, dtype=dtype)
    (got,) = run_body(
        f"%a: tensor<?x?x{name}>, %b: tensor<?x?x{name}>",
        "%r0 = pypto.matmul %a, %b {b_trans}",
        ["tensor<?x?xf32>"],
        a=a,
        b=b,
    )
    if k == 0:
        assert (got == np.zeros((m, n))).all()
        return
    close(got, goldens.matmul(a, b.T), rtol, 1e-4)


@pytest.mark.parametrize("k", [1, 1024, 1025, 3001])
def test_matmul_i8_is_exact(k):
    a = RNG.integers(-128, 128, (5, k)).astype(np.int8)
    b = RNG.integers(-128, 128, (k, 7)).astype(np.int8)
    a[0], b[:, 0] = -128, -128
    a[1], b[:, 1] = 127, -127  # odd products: their sum needs all of its bits
    (got,) = run_body(
        "%a: tensor<?x?xi8>, %b: tensor<?x?xi8>",
        "%r0 = pypto.matmul %a, %b",
        ["tensor<?x?xi32>"],
        a=a,
        b=b,
    )
    assert got.dtype == np.int32
    assert (got == goldens.matmul(a, b)).all()
    assert got[0, 0] == 16384 * k
    assert got[1, 1] == -16129 * k


def test_matmul_batches_and_target():
    a, b = normal(2, 3, 4, 8, dtype=np.float16), normal(3, 8, 5, dtype=np.float16)
    (got,) = run_body(
        "%a: tensor<2x3x4x8xf16>, %b: tensor<3x8x5xf16>",
        "%r0 = pypto.matmul %a, %b to f16",
        ["tensor<2x3x4x5xf16>"],
        a=a,
        b=b,
    )
    assert got.dtype == np.float16
    close(got, goldens.matmul(a, b), 1e-3, 1e-3)


def test_einsum():
    a, b = normal(6, 2, 4, dtype=BF16), normal(2, 4, 5, dtype=BF16)
    (got,) = run_body(
        "%a: tensor<6x2x4xbf16>, %b: tensor<2x4x5xbf16>",
        '%r0 = pypto.einsum "thd,hdc->thc" %a, %b',
        ["tensor<6x2x5xf32>"],
        a=a,
        b=b,
    )
    expected = np.einsum("thd,hdc->thc", goldens.f64(a), goldens.f64(b))
    close(got, expected, 1e-5, 1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis):
    x = normal(4, 9, 65, scale=5)
    (got,) = run_body(
        "%x: tensor<?x9x?xf32>",
        f"%r0 = pypto.softmax %x axis {axis}",
        ["tensor<?x9x?xf32>"],
        x=x,
    )
    close(got, goldens.softmax(x, axis), 1e-5, 1e-8)


def test_softmax_of_masked_rows_is_zero():
    x = normal(3, 8)
    x[1] = -np.inf
    x[2, 4:] = -np.inf
    (got,) = run_body(
        "%x: tensor<3x8xf32>",
        "%r0 = pypto.softmax %x axis -1",
        ["tensor<3x8xf32>"],
        x=x,
    )
    close(got, goldens.softmax(x), 1e-5)
    assert (got[1] == 0).all()
    assert got[0].sum() == pytest.approx(1, rel=1e-5)


def test_online_softmax_over_blocks_is_softmax():
    x, v = normal(5, 300, scale=4), normal(300, 6)
    x[2, :200] = -np.inf
    text = """
    func.func @f(%x: tensor<5x300xf32>, %v: tensor<300x6xf32>) -> tensor<5x6xf32> {
      %m0 = pypto.full -inf[5, 1] : tensor<5x1xf32>
      %l0 = pypto.full 0.0[5, 1] : tensor<5x1xf32>
      %a0 = pypto.full 0.0[5, 6] : tensor<5x6xf32>
      %m, %l, %a = pypto.for (%j +: %n = 0 to 300 step 128)
          iter(%m1 = %m0, %l1 = %l0, %a1 = %a0) {
        %s = pypto.view %x[:, %j +: %n]
        %w = pypto.view %v[%j +: %n, :]
        %m2, %l2, %p, %alpha = pypto.online_softmax %s state %m1, %l1
        %pv = pypto.matmul %p, %w
        %ar = pypto.mul %a1, %alpha
        %a2 = pypto.add %ar, %pv
        pypto.yield %m2, %l2, %a2
      }
      %r = pypto.div %a, %l {zero_if_zero}
      func.return %r : tensor<5x6xf32>
    }"""
    got = run(text, x=x, v=v)["result0"]
    close(got, goldens.softmax(x) @ goldens.f64(v), 1e-4, 1e-5)


@pytest.mark.parametrize(("dtype", "name", "rtol"), [(np.float32, "f32", 1e-5)])
def test_norms(dtype, name, rtol):
    x, gamma, beta = normal(7, 96) + 3, normal(96), normal(96)
    (got,) = run_body(
        "%x: tensor<?x96xf32>, %g: tensor<96xf32>",
        "%r0 = pypto.rms_norm %x, %g eps 1.0e-5",
        ["tensor<?x96xf32>"],
        x=x,
        g=gamma,
    )
    close(got, goldens.rms_norm(x, gamma, 1e-5), rtol)
    (got,) = run_body(
        "%x: tensor<?x96xf32>, %g: tensor<96xf32>, %b: tensor<96xf32>",
        "%r0 = pypto.layer_norm %x, %g, %b eps 1.0e-6",
        ["tensor<?x96xf32>"],
        x=x,
        g=gamma,
        b=beta,
    )
    close(got, goldens.layer_norm(x, gamma, beta, 1e-6), rtol, 1e-5)


def test_norm_of_bf16_rounds_once():
    x, gamma = normal(7, 96, dtype=BF16), normal(96, dtype=BF16)
    (got,) = run_body(
        "%x: tensor<?x96xbf16>, %g: tensor<96xbf16>",
        "%r0 = pypto.rms_norm %x, %g eps 1.0e-5",
        ["tensor<?x96xbf16>"],
        x=x,
        g=gamma,
    )
    assert got.dtype == BF16
    close(got, goldens.rms_norm(x, gamma, 1e-5), 2.0**-8)


def test_swiglu_and_silu_of_infinity():
    x = normal(6, 64, scale=4)
    (got,) = run_body(
        "%x: tensor<?x64xf32>",
        "%r0 = pypto.swiglu %x",
        ["tensor<?x32xf32>"],
        x=x,
    )
    close(got, goldens.swiglu(x[:, :32], x[:, 32:]), 1e-5, 1e-7)
    (got,) = run_body(
        "%x: tensor<2xf32>",
        "%r0 = pypto.silu %x",
        ["tensor<2xf32>"],
        x=np.array([-np.inf, np.inf], np.float32),
    )
    assert got.tolist() == [0.0, np.inf]
    assert np.signbit(got[0])


def test_quantize():
    x = normal(9, 70)
    x[4] = 0
    q, scale = run_body(
        "%x: tensor<?x70xf32>",
        "%r0, %r1 = pypto.quantize %x axis -1 to i8",
        ["tensor<?x70xi8>", "tensor<?x1xf32>"],
        x=x,
    )
    expected, expected_scale = goldens.quantize(x)
    assert np.abs(q.astype(int) - expected).max() <= 1
    assert (q == expected).mean() >= 0.99
    assert np.abs(q).max(axis=1).tolist() == [127] * 4 + [0] + [127] * 4
    close(scale, expected_scale, 1e-6)


def test_quantize_special_rows():
    x = np.array(
        [[np.nan, 1, -2], [np.inf, 1, -2], [1e-38, 0, -1e-38], [1, -0.5, 0.25]],
        np.float32,
    )
    q, scale = run_body(
        "%x: tensor<4x3xf32>",
        "%r0, %r1 = pypto.quantize %x axis -1 to i8",
        ["tensor<4x3xi8>", "tensor<4x1xf32>"],
        x=x,
    )
    assert q[:3].tolist() == [[0, 0, 0]] * 3
    assert q[3].tolist() == [127, -64, 32]
    assert np.isnan(scale[0, 0])
    assert scale[1:, 0].tolist() == [np.inf, 0, pytest.approx(1 / 127)]


def test_quantize_in_groups_and_back():
    x = normal(4, 256)
    q, scale, back = run_body(
        "%x: tensor<4x256xf32>",
        """%r0, %r1 = pypto.quantize %x axis -1 group 128 to i8
      %q3 = pypto.reshape %r0[4, 2, 128]
      %s3 = pypto.reshape %r1[4, 2, 1]
      %d = pypto.dequantize %q3 scales %s3 to f32
      %r2 = pypto.reshape %d[4, 256]""",
        ["tensor<4x256xi8>", "tensor<4x2xf32>", "tensor<4x256xf32>"],
        x=x,
    )
    expected, _ = goldens.quantize(x.reshape(4, 2, 128))
    assert (q == expected.reshape(4, 256)).mean() >= 0.99
    half = np.repeat(scale, 128, axis=1) * 0.51
    assert (np.abs(back - x) <= half).all()


def test_rope():
    x, angle = normal(6, 4, 32), RNG.uniform(0, 7, (6, 1, 32))
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    types = "%x: tensor<6x4x32xf32>, %c: tensor<6x1x32xf32>, %s: tensor<6x1x32xf32>"
    for flag in ("", " {interleaved}"):
        (got,) = run_body(
            types,
            f"%r0 = pypto.rope %x, %c, %s{flag}",
            ["tensor<6x4x32xf32>"],
            x=x,
            c=cos,
            s=sin,
        )
        apart = np.concatenate([x[..., ::2], x[..., 1::2]], axis=-1) if flag else x
        close(got, goldens.rope(apart, cos, sin), 1e-4, 1e-6)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("sum", np.sum),
        ("amax", np.max),
        ("amin", np.min),
        ("mean", np.mean),
        ("var", np.var),
        ("prod", np.prod),
    ],
)
def test_reductions(name, function, keepdim):
    x = normal(3, 10, 4)
    flag, shape = (" {keepdim}", "3x1x4") if keepdim else ("", "3x4")
    (got,) = run_body(
        "%x: tensor<3x10x4xf32>",
        f"%r0 = pypto.{name} %x axis 1{flag}",
        [f"tensor<{shape}xf32>"],
        x=x,
    )
    close(got, function(goldens.f64(x), axis=1, keepdims=keepdim), 1e-4, 1e-6)


def test_reductions_of_nothing_and_of_nan():
    x = np.zeros((2, 0), np.float32)
    total, top = run_body(
        "%x: tensor<2x?xf32>",
        "%r0 = pypto.sum %x axis -1\n %r1 = pypto.amax %x axis -1",
        ["tensor<2xf32>", "tensor<2xf32>"],
        x=x,
    )
    assert total.tolist() == [0, 0]
    assert top.tolist() == [-np.inf, -np.inf]
    x = np.array([[1, np.nan, 3]], np.float32)
    total, top, other = run_body(
        "%x: tensor<1x3xf32>",
        """%r0 = pypto.sum %x axis -1
      %r1 = pypto.amax %x axis -1
      %r2 = pypto.maximum %x, 2.0""",
        ["tensor<1xf32>", "tensor<1xf32>", "tensor<1x3xf32>"],
        x=x,
    )
    assert np.isnan(total[0])
    assert np.isnan(top[0])
    assert np.isnan(other[0]).tolist() == [False, True, False]


def test_bf16_sums_accumulate_in_f32():
    x = np.full((1, 1000), 1.0, BF16)  # in bf16 the sum would stop at 256
    (got,) = run_body(
        "%x: tensor<1x1000xbf16>",
        "%r0 = pypto.sum %x axis -1",
        ["tensor<1xbf16>"],
        x=x,
    )
    assert float(got[0]) == 1000


def test_elementwise_rounds_once_and_broadcasts():
    x, y = normal(5, 8, dtype=BF16), normal(8, dtype=BF16)
    total, scaled, flags = run_body(
        "%x: tensor<?x8xbf16>, %y: tensor<8xbf16>",
        """%r0 = pypto.add %x, %y
      %r1 = pypto.mul %x, 0.1
      %r2 = pypto.ge %x, %y""",
        ["tensor<?x8xbf16>", "tensor<?x8xbf16>", "tensor<?x8xi1>"],
        x=x,
        y=y,
    )
    wide, other = x.astype(np.float32), y.astype(np.float32)
    assert (total == (wide + other).astype(BF16)).all()
    tenth = np.float32(np.array(0.1, BF16))  # the literal is rounded to bf16 first
    assert (scaled == (wide * tenth).astype(BF16)).all()
    assert (flags == (wide >= other)).all()


def test_integers_wrap_and_compare_with_nan():
    x = np.array([2**31 - 1, -(2**31), 7], np.int32)
    (got,) = run_body(
        "%x: tensor<3xi32>", "%r0 = pypto.add %x, 1", ["tensor<3xi32>"], x=x
    )
    assert got.tolist() == [-(2**31), -(2**31) + 1, 8]
    x = np.array([np.nan, 1], np.float32)
    eq, ne = run_body(
        "%x: tensor<2xf32>",
        "%r0 = pypto.eq %x, %x\n %r1 = pypto.ne %x, %x",
        ["tensor<2xi1>", "tensor<2xi1>"],
        x=x,
    )
    assert eq.tolist() == [False, True]
    assert ne.tolist() == [True, False]


def test_cumsum_and_its_overflow():
    text = """
    func.func @f(%x: tensor<?xi64>) -> tensor<?xi64> {
      %r = pypto.cumsum %x axis 0
      func.return %r : tensor<?xi64>
    }"""
    x = np.array([3, -5, 9], np.int64)
    assert run(text, x=x)["result0"].tolist() == [3, -2, 7]
    big = np.array([2**62, 2**62, 1], np.int64)
    assert failure(text, x=big).code == "PTO403"


def test_scalars():
    text = """
    func.func @f(%p: tensor<4xf32>, %step: tensor<1xi32>, %beta: f32) -> tensor<4xf32> {
      %t = pypto.read %step[0] : f32
      %c = pypto.scalar sqrt(1.0 - pow(%beta, %t)) : f32
      %r = pypto.mul %p, %c
      func.return %r : tensor<4xf32>
    }"""
    p = normal(4)
    got = run(text, p=p, step=np.array([3], np.int32), beta=0.9)["result0"]
    close(got, goldens.f64(p) * np.sqrt(1 - 0.9**3), 1e-6)


def test_topk_gather_and_one_hot():
    x = np.array([[1, 5, 5, np.nan, -2], [0, 0, 0, 0, 9]], np.float32)
    values, indices, picked, hot = run_body(
        "%x: tensor<2x5xf32>",
        """%r0, %r1 = pypto.topk %x k 3 axis -1
      %r2 = pypto.gather %x, %r1 axis -1
      %r3 = pypto.one_hot %r1 5""",
        ["tensor<2x3xf32>", "tensor<2x3xi32>", "tensor<2x3xf32>", "tensor<2x5xi1>"],
        x=x,
    )
    assert indices.tolist() == [[1, 2, 0], [4, 0, 1]]
    assert values.tolist() == [[5, 5, 1], [9, 0, 0]]
    assert (picked == values).all()
    assert hot.tolist() == [
        [True, True, True, False, False],
        [True] * 2 + [False] * 2 + [True],
    ]


def test_inputs_are_not_changed_and_results_are_copies():
    x = normal(4, 4)
    before = x.copy()
    (got,) = run_body(
        "%x: tensor<4x4xf32>", "%r0 = pypto.view %x[:, :]", ["tensor<4x4xf32>"], x=x
    )
    got[...] = 0
    assert (x == before).all()
