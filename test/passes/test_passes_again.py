"""Passes that have run already find nothing more to do, also those before them."""

from __future__ import annotations

import pytest

import pyptoc
from pyptoc.passes import DEFAULT_PIPELINE

SPLIT = """
func.func @f(%x: tensor<64x512xf16>, %w: tensor<512x64xf16>, %y: tensor<64x64xf32>)
    -> tensor<64x64xf32> {
  %a = pypto.matmul %x, %w
  %b = pypto.softmax %a axis -1
  %c = pypto.add %b, %y
  func.return %c : tensor<64x64xf32>
}
"""
NEST = """
func.func @f(%x: tensor<?x48xf16>, %w: tensor<48x48xf16>) -> tensor<?x48xf32> {
  %m = pypto.dim %x, 0
  %e = pypto.empty[%m, 48] : tensor<?x48xf32>
  %r = pypto.forall (%i +: %n = 0 to %m step 24) outs(%o = %e) {
    %v = pypto.view %x[%i +: %n, :]
    %h = pypto.matmul %v, %w to f16
    %p = pypto.relu %h
    %y = pypto.matmul %p, %w
    pypto.store %y into %o[%i, 0]
  }
  func.return %r : tensor<?x48xf32>
}
"""


@pytest.mark.parametrize("text", [SPLIT, NEST], ids=["split", "nest"])
@pytest.mark.parametrize(
    "last", ["tile", "split-k", "assemble-buffers", "skew", "schedule"]
)
def test_all_passes_again(text: str, last: str) -> None:
    """A product that is split, and a nest: tasks are not grouped or tiled again."""
    passes = DEFAULT_PIPELINE[: DEFAULT_PIPELINE.index(last) + 1]
    once = pyptoc.compile(text, pipeline=",".join(passes))
    again = pyptoc.compile(text, pipeline=",".join((*passes, *passes)))
    assert again.text == once.text
