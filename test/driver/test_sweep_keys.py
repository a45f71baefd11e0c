"""Keys of a sweep that are none: the errors point at them, and say what is near."""

from __future__ import annotations

import pytest
from inprocess import call

PRODUCT = """\
func.func @f(%a: tensor<?x256xf16> {pypto.dims = ["M"]}, %b: tensor<256x256xf16>)
    -> tensor<?x256xf32> {
  %y = pypto.matmul %a, %b
  func.return %y : tensor<?x256xf32>
}
"""

BAD_KEYS = [
    ("til.m=3", 1, "did you mean tile.m?"),
    ("proj.m=3", 1, "did you mean tile.proj.m?"),
    ("bindM=3", 1, "did you mean bind.NAME?"),
    ("plan-memry.slots=3", 1, "did you mean plan-memory.OPTION?"),
    ("inline=2", 1, "pyptoc --list-passes lists the options"),
    ("split-k=2", 1, "did you mean split_k?"),
    ("tile.q=3", 6, "'q' is no part of a cube tile"),
    ("tile.m=64,x", 11, "[mL0, mL1], or one number for both"),
    ("tile.m=0", 8, "cannot be m"),
    ("tile.k=[1,2,3,4]", 8, "cannot be k"),
    ("tile.foo.m=64", 1, "no product with the tag 'foo'"),
    ("split_k=[1,2]", 9, "a whole number of parts"),
    ("walk=row,diagonal", 10, "blocked<6, 4>"),
    ("assign=static,some", 15, "static or dynamic"),
    ("vec=8", 1, "there is no vector operation"),
    ("plan-memory.slotz=1", 13, "did you mean slots?"),
    ("plan-memory.slots=1,a", 21, "'a' is not an integer"),
    ("plan-memory=1", 1, "PASS.OPTION"),
    ("plan-memory=1", 1, "pyptoc --list-passes lists the options"),
    ("bind.N=1", 6, "names: M, a, b"),
    ("bind.M=1,-1", 10, "a size is 0 to 2^63 - 1"),
    ("machine.cube_cores=1", 9, "did you mean cores.cube?"),
    ("machine.cores=1", 9, "one of cores.cube, cores.vector, cores.clock_ghz"),
    ("machine.clock_gz=1", 9, "did you mean clock_ghz?"),
    ("machine.clock_ghz=1,0", 21, "must be a number above 0"),
    ("machine.bytes_per_cycle=1", 9, "routes.gm.l1.bytes_per_cycle"),
    ("machine=ascend950,ascend951", 19, "did you mean ascend950?"),
]


@pytest.mark.parametrize(("spec", "column", "words"), BAD_KEYS)
def test_errors_point_into_the_argument(spec: str, column: int, words: str) -> None:
    code, out, err = call("-", f"--sweep={spec}", "--bind=M=64", stdin=PRODUCT)
    assert (code, out) == (1, "")
    headline, line, carets, *_ = err.split("\n")
    assert headline.startswith(f"--sweep:1:{column}: error[PTO512]: ")
    assert line == f" 1 | {spec}"
    assert carets.index("^") == column + 4
    assert words in err
