"""The text of a sweep: ranges, lists, and errors that point at what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from pyptoc.diagnostics import render
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.sweep_spec import axis_of, parse_axes, parse_axis, show

GOOD: list[tuple[str, list[Any]]] = [
    ("k=64,128,256", [64, 128, 256]),
    ("k=7", [7]),
    ("k=1..4", [1, 2, 3, 4]),
    ("k=1..10+4", [1, 5, 9]),
    ("k=16..300*2", [16, 32, 64, 128, 256]),
    ("k=16..256*2", [16, 32, 64, 128, 256]),
    ("k=1.0..2.0+0.25", [1.0, 1.25, 1.5, 1.75, 2.0]),
    ("k=0.1..0.5+0.1", [0.1, 0.2, 0.3, 0.4, 0.5]),
    ("k=1e12..4e12*2", [1e12, 2e12, 4e12]),
    ("k=-2..1", [-2, -1, 0, 1]),
    ("k=1..3,8,16..64*2", [1, 2, 3, 8, 16, 32, 64]),
    ("k=[64,128],[128,256]", [[64, 128], [128, 256]]),
    ("k=row,blocked<6, 4>", ["row", "blocked<6, 4>"]),
    ("k=true,false,1", [True, False, 1]),
    ("k = a , b", ["a", "b"]),
    ("k=1,2,1", [1, 2]),
    ("k=ascend950,my/own.toml", ["ascend950", "my/own.toml"]),
    ("k=[f32,f16]", [["f32", "f16"]]),
]


@pytest.mark.parametrize(("text", "values"), GOOD)
def test_values(text: str, values: list[Any]) -> None:
    axis = parse_axis(text)
    assert axis.name == "k"
    assert list(axis.values) == values
    assert [type(value) for value in axis.values] == [type(v) for v in values]
    # What is shown is read back.
    again = parse_axis(f"k={','.join(map(show, axis.values))}")
    assert again.values == axis.values


def refused(*texts: str) -> str:
    with pytest.raises(CompileError) as caught:
        parse_axes(texts)
    return render(caught.value.diagnostics[0], {})


BAD = [
    ("", 1, 1, "begins with a key"),
    ("=3", 1, 1, "begins with a key"),
    ("k", 2, 1, "the values are missing"),
    ("k=", 3, 1, "a value is missing"),
    ("k=1,,2", 5, 1, "a value is missing"),
    ("k=1,4..2", 5, 4, "2 < 4"),
    ("k=1..", 3, 3, "'1..' is not a range"),
    ("k=1..2..3", 3, 7, "is not a range"),
    ("k=1..x", 3, 4, "is not a range"),
    ("k=1..4+0", 3, 6, "a step is above 0"),
    ("k=1..4*1", 3, 6, "a factor is above 1"),
    ("k=0..4*2", 3, 6, "the start above 0"),
    ("k=1.0..2.0", 3, 8, "help: 1.0..2.0+0.25"),
    ("k=1,1..99999999", 5, 11, "more than 10000 values"),
    ("k=1,2]", 5, 2, "neither a number nor a word"),
    ("k=12.3.4", 3, 6, "neither a number nor a word"),
]


@pytest.mark.parametrize(("text", "column", "length", "words"), BAD)
def test_errors_point_at_the_part(
    text: str, column: int, length: int, words: str
) -> None:
    shown = refused(text)
    headline, line, carets, *_ = shown.split("\n")
    assert headline.startswith(f"--sweep:1:{column}: error[PTO512]: ")
    assert line == f" 1 | {text}"
    assert carets == f"   | {' ' * (column - 1)}{'^' * length}"
    assert words in shown


def test_the_second_sweep_is_line_two() -> None:
    shown = refused("a=1", "b=1", "a=2,3")
    assert shown.startswith(
        "--sweep:3:1: error[PTO512]: 'a' is swept twice\n 3 | a=2,3"
    )


def test_values_of_a_program() -> None:
    import numpy as np

    axis = axis_of("k", [np.int64(4), (64, 128), "row", 0.5])
    assert list(axis.values) == [4, [64, 128], "row", 0.5]
    assert [span.written for span in axis.spans] == ["4", "[64,128]", "row", "0.5"]
    assert axis_of("k", "1..3").values == (1, 2, 3)
    with pytest.raises(CompileError, match="'k' has no values"):
        axis_of("k", [])
