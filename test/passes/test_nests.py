"""
Nests of independent loops whose body is one task: against numpy, after every pass, and
with the pipes of each task far apart.

Each program says what is special about it. Sizes leave tails.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nest_programs import BF16, F16, Nest, check, wide
from random_nests import draw
from random_stages import stages


def softmax(s: Any) -> Any:
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def mlp(x: Any, w: Any, u: Any) -> Any:
    x, w, u = wide(x, w, u)
    return (np.maximum(x @ w, 0).astype(F16).astype(np.float64) @ u,)


MLP = """
func.func @f(%x: tensor<?x48xf16> {{pypto.dims = ["M"]}}, %w: tensor<48x96xf16>,
    %u: tensor<96x40xf16>) -> tensor<?x40xf32> {{
  %m = pypto.dim %x, 0
  %e = pypto.empty[%m, 40] : tensor<?x40xf32>
  %r = pypto.forall (%i +: %n = 0 to %m step 24) outs(%o = %e) {{
    %v = pypto.view %x[%i +: %n, :]
    %h = pypto.matmul %v, %w {first}
    %p = pypto.relu %h
    %c = pypto.cast %p to f16
    %y = pypto.matmul %c, %u {second}
    pypto.store %y into %o[%i, 0]
  }}
  func.return %r : tensor<?x40xf32>
}}
"""
MLP_SHAPES = {"x": ((53, 48), F16), "w": ((48, 96), F16), "u": ((96, 40), F16)}


def biased(x: Any, w: Any, u: Any, c: Any) -> Any:
    x, w, u, c = wide(x, w, u, c)
    return (np.maximum(x @ w + c, 0).astype(F16).astype(np.float64) @ u,)


def heads(q: Any, k: Any, v: Any) -> Any:
    q, k, v = wide(q, k, v)
    out = np.empty(q.shape)
    for h in range(q.shape[0]):
        out[h] = softmax(q[h] @ k[h // 2]) @ v[h // 2]
    return (out,)


def states(q: Any, k: Any, v: Any) -> Any:
    """Linear attention: what was seen so far is a matrix."""
    q, k, v = wide(q, k, v)
    out = np.zeros(q.shape)
    for h in range(q.shape[0]):
        state = np.zeros((32, 32))
        for t in range(0, q.shape[1], 32):
            out[h, t : t + 32] = q[h, t : t + 32] @ state
            state = state + k[h, t : t + 32].T @ v[h, t : t + 32]
    return (out,)


def swapped(x: Any, y: Any) -> Any:
    a, b = wide(x, y)
    for _ in range(3):
        a, b = b + np.abs(y), a
    return a, b


def both(x: Any, w: Any, u: Any) -> Any:
    x, w, u = wide(x, w, u)
    return x @ w, (x @ u).astype(F16)


def chosen(x: Any, w: Any) -> Any:
    x, w = wide(x, w)
    out = np.empty((x.shape[0], 32))
    for i in range(0, x.shape[0], 16):
        y = x[i : i + 16] @ w
        out[i : i + 16] = np.exp(y) if i > 16 else -y
    return (out,)


def integers(x: Any, w: Any, u: Any) -> Any:
    x, w, u = (np.asarray(a).astype(np.int64) for a in (x, w, u))
    y = np.clip((x @ w) // 16, -100, 100)
    return (y @ u,)


def sums(x: Any, w: Any) -> Any:
    x, w = wide(x, w)
    y = x @ w
    return y.cumsum(axis=-1), y.sum(axis=-1, keepdims=True)


def blocks(x: Any, y: Any) -> Any:
    x, y = wide(x, y)
    return 2 * x + np.repeat(y[:, None], x.shape[1], 1), np.exp(x[:, :, :8])


def best(q: Any, k: Any, length: Any) -> Any:
    q, k = wide(q, k)
    out = np.full((len(length), 4, 8), -1.0)
    for b, n in enumerate(length):
        scores = np.maximum(q @ k[:n].T, 0).sum(axis=1)
        top = -np.sort(-scores, axis=1)[:, :8]
        out[b, :, : top.shape[1]] = top
    return (out,)


BEST = """
func.func @f(%q: tensor<4x32x64xf16>, %k: tensor<?x64xf16>, %length: tensor<3xi32>)
    -> tensor<3x4x8xf32> {
  %o0 = pypto.empty[3, 4, 8] : tensor<3x4x8xf32>
  %out = pypto.forall (%b = 0 to 3) outs(%o = %o0) {
    %n = pypto.read %length[%b]
    %s0 = pypto.empty[4, %n, 1] {max = [4, 4096, 1]} : tensor<4x?x1xf32>
    %s = pypto.forall (%j = 0 to 4, %i +: %m = 0 to %n step 48) outs(%so = %s0) {
      %qj = pypto.view %q[%j, :, :]
      %ki = pypto.view %k[%i +: %m, :]
      %y = pypto.matmul %ki, %qj {b_trans}
      %r = pypto.relu %y
      %t = pypto.sum %r axis -1 {keepdim}
      pypto.store %t into %so[%j, %i, 0]
    }
    pypto.forall (%j = 0 to 4) {
      %row = pypto.view %s[%j, 0 +: %n, 0]
      %v, %at = pypto.topk %row k 8 axis -1 {pad_index = -1, pad_value = -1.0}
      pypto.store %v into %o[%b, %j, 0]
    }
  }
  func.return %out : tensor<3x4x8xf32>
}
"""
NESTS: dict[str, Nest] = {
    "a nest inside of a loop that launches": Nest(
        BEST,
        {"q": ((4, 32, 64), F16), "k": ((101, 64), F16)},
        best,
        launches=2,
        given={"length": np.array([101, 0, 5], np.int32)},
    ),
    "two products, one after the other": Nest(
        MLP.format(first="", second=""), MLP_SHAPES, mlp
    ),
    "the first product in three pieces, a ragged second one": Nest(
        MLP.format(
            first="{tile = #pypto.cube<m = [16, 16], k = [16, 32], n = [32, 96]>}",
            second="{tile = #pypto.cube<m = [32, 32], k = [16, 16], n = [16, 48]>}",
        ),
        MLP_SHAPES,
        mlp,
    ),
    "a bias, relu and a cast of a product that another one reads": Nest(
        MLP.format(first="", second="")
        .replace("%u: tensor<96x40xf16>", "%u: tensor<96x40xf16>, %c: tensor<96xf32>")
        .replace("%p = pypto.relu %h", "%a = pypto.add %h, %c\n    %p = pypto.relu %a")
        .replace("%c = pypto.cast", "%b = pypto.cast")
        .replace("pypto.matmul %c,", "pypto.matmul %b,"),
        MLP_SHAPES | {"c": ((96,), np.float32)},
        biased,
    ),
    "online softmax over keys that lie in columns, grouped heads": Nest(
        """
        func.func @f(%q: tensor<2x?x32xbf16> {pypto.dims = ["S"]},
            %k: tensor<1x32x?xbf16> {pypto.dims = ["T"]},
            %v: tensor<1x?x32xbf16> {pypto.dims = ["T"]}) -> tensor<2x?x32xf32> {
          %s = pypto.dim %q, 1
          %t = pypto.dim %v, 1
          %e = pypto.empty[2, %s, 32] : tensor<2x?x32xf32>
          %r = pypto.forall (%h = 0 to 2, %i +: %m = 0 to %s step 20) outs(%o = %e) {
            %g = pypto.index %h floordiv 2
            %x = pypto.view %q[%h, %i +: %m, :]
            %m0 = pypto.full -inf[%m, 1] : tensor<?x1xf32>
            %l0 = pypto.full 0.0[%m, 1] : tensor<?x1xf32>
            %a0 = pypto.full 0.0[%m, 32] : tensor<?x32xf32>
            %m1, %l1, %a1 = pypto.for (%j +: %n = 0 to %t step 40)
                iter(%mi = %m0, %li = %l0, %ai = %a0) {
              %kt = pypto.view %k[%g, :, %j +: %n]
              %vt = pypto.view %v[%g, %j +: %n, :]
              %y = pypto.matmul %x, %kt
                  {tile = #pypto.cube<m = [32, 32], k = [16, 16], n = [16, 48]>}
              %m2, %l2, %p, %alpha = pypto.online_softmax %y state %mi, %li
              %b = pypto.cast %p to bf16
              %z = pypto.matmul %b, %vt
              %d = pypto.mul %ai, %alpha
              %a2 = pypto.add %d, %z
              pypto.yield %m2, %l2, %a2
            }
            %w = pypto.div %a1, %l1
            pypto.store %w into %o[%h, %i, 0]
          }
          func.return %r : tensor<2x?x32xf32>
        }
        """,
        {
            "q": ((2, 31, 32), BF16),
            "k": ((1, 32, 61), BF16),
            "v": ((1, 61, 32), BF16),
        },
        heads,
        within=2e-2,
    ),
    "a carried matrix that products read and add to": Nest(
        """
        func.func @f(%q: tensor<3x96x32xf16>, %k: tensor<3x96x32xf16>,
            %v: tensor<3x96x32xf16>) -> tensor<3x96x32xf32> {
          %e = pypto.empty[3, 96, 32] : tensor<3x96x32xf32>
          %r = pypto.forall (%h = 0 to 3) outs(%o = %e) {
            %s0 = pypto.full 0.0[32, 32] : tensor<32x32xf32>
            %s = pypto.for (%t = 0 to 96 step 32) iter(%a = %s0) {
              %qt = pypto.view %q[%h, %t +: 32, :]
              %kt = pypto.view %k[%h, %t +: 32, :]
              %vt = pypto.view %v[%h, %t +: 32, :]
              %b = pypto.cast %a to f16
              %y = pypto.matmul %qt, %b
              pypto.store %y into %o[%h, %t, 0]
              %d = pypto.matmul %kt, %vt {a_trans}
              %c = pypto.add %a, %d
              pypto.yield %c
            }
          }
          func.return %r : tensor<3x96x32xf32>
        }
        """,
        dict.fromkeys("qkv", ((3, 96, 32), F16)),
        states,
        within=2e-2,
    ),
    "carried tiles that change places": Nest(
        """
        func.func @f(%x: tensor<20x8xf32>, %y: tensor<20x8xf32>)
            -> (tensor<20x8xf32>, tensor<20x8xf32>) {
          %e = pypto.empty[20, 8] : tensor<20x8xf32>
          %d = pypto.empty[20, 8] : tensor<20x8xf32>
          %r, %s = pypto.forall (%i +: %m = 0 to 20 step 8) outs(%o = %e, %p = %d) {
            %a0 = pypto.view %x[%i +: %m, :]
            %b0 = pypto.view %y[%i +: %m, :]
            %k = pypto.abs %b0
            %a, %b = pypto.for (%j = 0 to 3) iter(%a1 = %a0, %b1 = %b0) {
              %c = pypto.add %b1, %k
              pypto.yield %c, %a1
            }
            pypto.store %a into %o[%i, 0]
            pypto.store %b into %p[%i, 0]
          }
          func.return %r, %s : tensor<20x8xf32>, tensor<20x8xf32>
        }
        """,
        {"x": ((20, 8), np.float32), "y": ((20, 8), np.float32)},
        swapped,
        unit="vector",
    ),
    "two products that are stored as they are": Nest(
        """
        func.func @f(%x: tensor<?x48xf16> {pypto.dims = ["M"]}, %w: tensor<48x40xf16>,
            %u: tensor<48x72xf16>) -> (tensor<?x40xf32>, tensor<?x72xf16>) {
          %m = pypto.dim %x, 0
          %e = pypto.empty[%m, 40] : tensor<?x40xf32>
          %d = pypto.empty[%m, 72] : tensor<?x72xf16>
          %r, %s = pypto.forall (%i +: %n = 0 to %m step 32) outs(%o = %e, %p = %d) {
            %v = pypto.view %x[%i +: %n, :]
            %y = pypto.matmul %v, %w
            %z = pypto.matmul %v, %u to f16
                {tile = #pypto.cube<m = [32, 32], k = [16, 16], n = [32, 96]>}
            pypto.store %y into %o[%i, 0]
            pypto.store %z into %p[%i, 0]
          }
          func.return %r, %s : tensor<?x40xf32>, tensor<?x72xf16>
        }
        """,
        {"x": ((70, 48), F16), "w": ((48, 40), F16), "u": ((48, 72), F16)},
        both,
        unit="cube",
    ),
    "a branch that gives a tile": Nest(
        """
        func.func @f(%x: tensor<?x48xf16> {pypto.dims = ["M"]}, %w: tensor<48x32xf16>)
            -> tensor<?x32xf32> {
          %m = pypto.dim %x, 0
          %e = pypto.empty[%m, 32] : tensor<?x32xf32>
          %r = pypto.forall (%i +: %n = 0 to %m step 16) outs(%o = %e) {
            %v = pypto.view %x[%i +: %n, :]
            %y = pypto.matmul %v, %w
            %late = pypto.index %i > 16
            %z = scf.if %late -> (tensor<?x32xf32>) {
              %a = pypto.exp %y
              scf.yield %a : tensor<?x32xf32>
            } else {
              %a = pypto.neg %y
              scf.yield %a : tensor<?x32xf32>
            }
            pypto.store %z into %o[%i, 0]
          }
          func.return %r : tensor<?x32xf32>
        }
        """,
        {"x": ((60, 48), F16), "w": ((48, 32), F16)},
        chosen,
    ),
    "exact products of integers": Nest(
        """
        func.func @f(%x: tensor<?x64xi8> {pypto.dims = ["M"]}, %w: tensor<64x64xi8>,
            %u: tensor<64x32xi8>) -> tensor<?x32xi32> {
          %m = pypto.dim %x, 0
          %e = pypto.empty[%m, 32] : tensor<?x32xi32>
          %r = pypto.forall (%i +: %n = 0 to %m step 32) outs(%o = %e) {
            %v = pypto.view %x[%i +: %n, :]
            %y = pypto.matmul %v, %w
            %q = pypto.floordiv %y, 16
            %l = pypto.maximum %q, -100
            %h = pypto.minimum %l, 100
            %f = pypto.cast %h to f16
            %b = pypto.cast %f to i8
            %z = pypto.matmul %b, %u
            pypto.store %z into %o[%i, 0]
          }
          func.return %r : tensor<?x32xi32>
        }
        """,
        {"x": ((40, 64), np.int8), "w": ((64, 64), np.int8), "u": ((64, 32), np.int8)},
        integers,
        within=0.0,
    ),
    "running sums and sums over pieces of a row": Nest(
        """
        func.func @f(%x: tensor<?x32xf16> {pypto.dims = ["M"]}, %w: tensor<32x100xf16>)
            -> (tensor<?x100xf32>, tensor<?x1xf32>) {
          %m = pypto.dim %x, 0
          %e = pypto.empty[%m, 100] : tensor<?x100xf32>
          %d = pypto.empty[%m, 1] : tensor<?x1xf32>
          %r, %s = pypto.forall (%i +: %n = 0 to %m step 16) outs(%o = %e, %p = %d) {
            %v = pypto.view %x[%i +: %n, :]
            %y = pypto.matmul %v, %w
                {tile = #pypto.cube<m = [16, 16], k = [16, 16], n = [32, 128]>}
            %c = pypto.cumsum %y axis -1
            %t = pypto.sum %y axis -1 {keepdim}
            pypto.store %c into %o[%i, 0]
            pypto.store %t into %p[%i, 0]
          }
          func.return %r, %s : tensor<?x100xf32>, tensor<?x1xf32>
        }
        """,
        {"x": ((37, 32), F16), "w": ((32, 100), F16)},
        sums,
    ),
    "stores inside of an inner loop, and under a condition": Nest(
        """
        func.func @f(%x: tensor<3x?x40xf32> {pypto.dims = ["M"]}, %y: tensor<3x40xf32>)
            -> (tensor<3x?x40xf32>, tensor<3x?x8xf32>) {
          %m = pypto.dim %x, 1
          %e = pypto.empty[3, %m, 40] : tensor<3x?x40xf32>
          %d = pypto.empty[3, %m, 8] : tensor<3x?x8xf32>
          %r, %s = pypto.forall (%h = 0 to 3) outs(%o = %e, %p = %d) {
            %b = pypto.view %y[%h, :]
            pypto.for (%i +: %n = 0 to %m step 12) {
              %v = pypto.view %x[%h, %i +: %n, :]
              %two = arith.constant 2.0 : f32
              %u = pypto.mul %v, %two
              %a = pypto.add %u, %b
              pypto.store %a into %o[%h, %i, 0]
              %w = pypto.view %x[%h, %i +: %n, 0 +: 8]
              %some = pypto.index %n > 0
              scf.if %some {
                %c = pypto.exp %w
                pypto.store %c into %p[%h, %i, 0]
              }
            }
          }
          func.return %r, %s : tensor<3x?x40xf32>, tensor<3x?x8xf32>
        }
        """,
        {"x": ((3, 29, 40), np.float32), "y": ((3, 40), np.float32)},
        blocks,
        unit="vector",
    ),
}


@pytest.mark.parametrize("name", NESTS)
def test_nests(name: str) -> None:
    check(NESTS[name])


@pytest.mark.parametrize("seed", range(3))
def test_random_nests(seed: int) -> None:
    """`random_nests.py` says what they are made of."""
    stages(draw(seed), "ascend950", 1)


@pytest.mark.parametrize(
    "name",
    [
        "two products, one after the other",
        "a carried matrix that products read and add to",
        "a nest inside of a loop that launches",
    ],
)
def test_cores_that_meet_in_memory(name: str) -> None:
    """Still one launch: what crosses goes through memory."""
    check(NESTS[name], "ascend910b")
