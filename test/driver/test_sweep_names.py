"""What has no tag is called by its name in tables, and so in sweeps."""

from __future__ import annotations

import pytest
from inprocess import call

from pyptoc.command import Unit, parse
from pyptoc.dialects.context import make_context
from pyptoc.sweep_tiles import others_of, products_of

UNTAGGED = """\
func.func @f(%a: tensor<?x256xf16> {pypto.dims = ["M"]}, %b: tensor<256x256xf16>)
    -> tensor<?x256xf32> {
  %y = pypto.matmul %a, %b
  %z = pypto.matmul %a, %b {tag = "proj"}
  %s = pypto.softmax %y axis -1
  %r = pypto.add %s, %z
  func.return %r : tensor<?x256xf32>
}
"""


def sweep(key: str) -> tuple[int, str, str]:
    argv = (f"--sweep={key}", "--bind=M=64", "--jobs=1")
    return call("-", *argv, stdin=UNTAGGED)


def test_they_select() -> None:
    module = parse(Unit("f", UNTAGGED), make_context())
    (first,), (second,) = (products_of(module, t) for t in ("matmul", "proj"))
    assert ("tag" in first.attributes, "tag" in second.attributes) == (False, True)
    assert [op.name for op in others_of(module, "softmax")] == ["pypto.softmax"]
    code, out, err = sweep("tile.matmul.m=16,32")
    assert (code, err) == (0, "")
    assert "tile.matmul.m" in out
    assert sweep("vec.softmax=[8,256]")[0] == 0


@pytest.mark.parametrize(
    ("key", "rule", "help"),
    [
        (
            "tile.matmull.m=16",
            "tags of these: matmul, proj",
            "matmul",
        ),
        (
            "vec.sofmax=[8,256]",
            "tags of these: softmax, add",
            "softmax",
        ),
    ],
)
def test_errors_list_them(key: str, rule: str, help: str) -> None:
    code, _, err = sweep(key)
    assert code == 1
    assert f"rule: {rule}\n" in err
    assert f"help: did you mean {help}?\n" in err
