"""Dynamic sizes that do not agree stop a run, also where a reshape would hide it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from end_to_end.indexing_cases import whole_program

from pyptoc.api import compile
from pyptoc.dialects.diagnostics import Diagnostic, RunError

Shape = tuple[int, ...]

CASES: list[tuple[str, dict[str, Shape], int]] = [
    ("gather %x, %i axis 1", {"x": (3, 4), "i": (1, 7)}, 2),
    ("gather %x, %i axis 1", {"x": (3, 4), "i": (2, 7)}, 2),
    ("scatter %x into %d at %i axis 1", {"x": (3, 4), "d": (5, 9), "i": (3, 4)}, 2),
    ("scatter %x into %d at %i axis 1", {"x": (6, 4), "d": (6, 9), "i": (6, 3)}, 2),
    (
        "scatter %x into %d at %i axis 1 {add}",
        {"x": (6, 4), "d": (6, 9), "i": (4, 6)},
        2,
    ),
    (
        "index_put %x into %d at %i, %j",
        {"x": (3,), "d": (5, 9), "i": (3,), "j": (2,)},
        2,
    ),
    (
        "index_put %x into %d at %i, %j",
        {"x": (3, 2, 6), "d": (5, 9, 4, 3), "i": (3,), "j": (3,)},
        4,
    ),
    ("index_add %x into %d at %i axis 0", {"x": (3, 4), "d": (5, 4), "i": (2,)}, 2),
    ("index_add %x into %d at %i axis 0", {"x": (3, 1), "d": (5, 4), "i": (3,)}, 2),
    ("scatter_rows %x into %d at %i", {"x": (3, 8), "d": (5, 4), "i": (6,)}, 2),
    ("scatter_rows %x into %d at %i", {"x": (3, 4, 6), "d": (5, 6, 4), "i": (3,)}, 3),
    (
        "scatter_rows %x into %d at %i {rows = [0, 1]}",
        {"x": (3, 4, 6), "d": (5, 6, 6), "i": (4, 3)},
        3,
    ),
    ("matmul %x, %y", {"x": (1, 3, 4), "y": (3, 4, 4)}, 3),
    ('einsum "abc,abc->c" %x, %y', {"x": (3, 4, 5), "y": (4, 3, 5)}, 1),
    ('einsum "abc,bad->bacd" %x, %y', {"x": (3, 4, 5), "y": (3, 4, 5)}, 4),
]


@pytest.mark.parametrize("pipeline", ["", None], ids=["interpreted", "compiled"])
@pytest.mark.parametrize(("body", "shapes", "rank"), CASES)
def test_sizes_differ(
    pipeline: str | None, body: str, shapes: dict[str, Shape], rank: int
) -> None:
    inputs: dict[str, Any] = {
        name: np.zeros(shape, np.int32 if name in "ij" else np.float32)
        for name, shape in shapes.items()
    }
    kind = f"tensor<{'?x' * rank}f32>"
    text = whole_program(f"%r = pypto.{body}", inputs, kind)
    program = compile(text.replace("return %y", "return %r"), pipeline=pipeline)
    with pytest.raises(RunError) as failure:
        program.run(**inputs)
    (found,) = failure.value.diagnostics
    assert found.code in ("PTO402", "PTO404")
    assert found.location is not None
    assert found.location.line.data == 2  # pyright: ignore


@pytest.mark.parametrize("pipeline", ["", None], ids=["interpreted", "compiled"])
def test_other_sizes_differ(pipeline: str | None) -> None:
    """Lengths of top-k, cos and sin of rope, output scales of a product."""
    program = compile(
        """func.func @f(%x: tensor<?x?x?xf32>, %n: tensor<?x?xi32>)
    -> (tensor<?x?x2xf32>, tensor<?x?x2xi32>) {
  %v, %i = pypto.topk %x k 2 axis -1 lengths %n
  func.return %v, %i : tensor<?x?x2xf32>, tensor<?x?x2xi32>
}
""",
        pipeline=pipeline,
    )
    with pytest.raises(RunError):
        program.run(x=np.zeros((3, 4, 5), np.float32), n=np.full((4, 3), 3, np.int32))
    program = compile(
        """func.func @f(%x: tensor<?x4xf32>, %c: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = pypto.rope %x, %c, %c
  func.return %y : tensor<?x4xf32>
}
""",
        pipeline=pipeline,
    )
    for rows in (1, 2):
        with pytest.raises(RunError):
            program.run(
                x=np.zeros((3, 4), np.float32), c=np.zeros((rows, 4), np.float32)
            )
    program = compile(
        """func.func @f(%x: tensor<?x?xi8>, %s: tensor<?xf32>) -> tensor<?x?xi8> {
  %y = pypto.matmul %x, %x scale %s to i8 {b_trans}
  func.return %y : tensor<?x?xi8>
}
""",
        pipeline=pipeline,
    )
    with pytest.raises(RunError):
        program.run(x=np.zeros((3, 4), np.int8), s=np.zeros(1, np.float32))


@pytest.mark.parametrize("pipeline", ["", None], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("setting", ["", " {interleaved}"])
@pytest.mark.parametrize("size", [1, 5])
def test_rope_of_an_odd_size(pipeline: str | None, setting: str, size: int) -> None:
    inputs = {name: np.ones((3, size), np.float32) for name in "xcs"}
    body = f"%y = pypto.rope %x, %c, %s{setting}"
    program = compile(whole_program(body, inputs, "tensor<?x?xf32>"), pipeline=pipeline)
    message = f"rope rotates pairs of the {size} elements of the last axis"
    with pytest.raises(RunError, match=message) as failure:
        program.run(**inputs)
    (found,) = failure.value.diagnostics
    assert found.code == "PTO403"
    assert found.location is not None
    assert found.location.line.data == 2  # pyright: ignore


@pytest.mark.parametrize("pipeline", ["", None], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("step", [0, -1])
def test_step_is_positive(pipeline: str | None, step: int) -> None:
    program = compile(
        """func.func @f(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %zero = arith.constant 0 : index
  %three = arith.constant 3 : index
  %y = scf.for %i = %zero to %three step %n iter_args(%a = %x) -> (tensor<?xf32>) {
    %b = pypto.add %a, 1.0
    scf.yield %b : tensor<?xf32>
  }
  func.return %y : tensor<?xf32>
}
""",
        pipeline=pipeline,
    )
    with pytest.raises(RunError) as failure:
        program.run(x=np.zeros(3, np.float32), n=step)
    (found,) = failure.value.diagnostics
    assert (found.code, found.message) == ("PTO403", f"the step of a loop is {step}")


@pytest.mark.parametrize("pipeline", ["", None], ids=["interpreted", "compiled"])
def test_result_in_place_has_the_sizes_of_the_argument(pipeline: str | None) -> None:
    program = compile(
        """func.func @f(%x: tensor<?x4xf32>, %z: tensor<?x4xf32>)
    -> (tensor<?x4xf32> {pypto.name = "x"}) {
  %y = pypto.exp %z
  func.return %y : tensor<?x4xf32>
}
""",
        pipeline=pipeline,
    )
    wide, narrow = np.zeros((6, 4), np.float32), np.zeros((3, 4), np.float32)
    assert program.run(x=wide, z=wide)["x"].shape == (6, 4)
    with pytest.raises(RunError) as failure:
        program.run(x=wide, z=narrow)
    (found,) = failure.value.diagnostics
    assert "result 'x'" in found.message
    assert "3" in found.message
    assert "6" in found.message
    assert found.location is not None


REST = """func.func @f(%x: tensor<?x?x4xf32>, %n: index) -> tensor<?x?xf32> {
  %r = pypto.reshape %x[-1, %n]
  func.return %r : tensor<?x?xf32>
}
"""
EXPANDED = """func.func @f(%x: tensor<?x1xf32>, %n: index) -> tensor<?x?xf32> {
  %r = pypto.expand %x[-1, %n]
  func.return %r : tensor<?x?xf32>
}
"""


@pytest.mark.parametrize("pipeline", ["", None], ids=["interpreted", "compiled"])
class TestMinusOne:
    """What is left for a -1 is a number only where the other sizes are not 0."""

    def code(self, text: str, pipeline: str | None, **inputs: Any) -> str:
        with pytest.raises(RunError) as failure:
            compile(text, pipeline=pipeline).run(**inputs)
        return failure.value.diagnostics[0].code

    @pytest.mark.parametrize("shape", [(2, 0, 4), (0, 2, 4), (2, 3, 4)])
    def test_beside_0_it_is_undefined(
        self, pipeline: str | None, shape: tuple[int, ...]
    ) -> None:
        x = np.zeros(shape, np.float32)
        assert self.code(REST, pipeline, x=x, n=0) == "PTO404"

    def test_of_no_elements_it_is_0(self, pipeline: str | None) -> None:
        x = np.zeros((2, 0, 4), np.float32)
        (found,) = compile(REST, pipeline=pipeline).run(x=x, n=3).values()
        assert found.shape == (0, 3)

    @pytest.mark.parametrize(
        ("text", "shape"), [(REST, (2, 3, 4)), (EXPANDED, (2, 1))], ids=["rest", "kept"]
    )
    def test_a_number_that_is_minus_one_is_no_size(
        self, pipeline: str | None, text: str, shape: tuple[int, ...]
    ) -> None:
        x = np.zeros(shape, np.float32)
        assert self.code(text, pipeline, x=x, n=-1) in ("PTO402", "PTO404")


@pytest.mark.parametrize("pipeline", ["", None], ids=["interpreted", "compiled"])
class TestGroups:
    """Groups of an axis whose size the run knows: what is wrong, in the op's words."""

    def test_no_whole_number(self, pipeline: str | None) -> None:
        self.is_no_whole_number(pipeline, 50, 64)
        self.is_no_whole_number(pipeline, 1, 16)

    def is_no_whole_number(self, pipeline: str | None, size: int, padded: int) -> None:
        (found,) = self.rejected(pipeline, "", x=(3, size), s=(3, 3))
        said = f"dequantize in groups of 16: axis 1 of %x has {size} elements"
        help = f"pad it to {padded} elements, or take groups of a size that divides "
        help += str(size)
        assert (found.code, found.message, found.help) == ("PTO404", said, help)

    @pytest.mark.parametrize("count", [1, 3, 5])
    @pytest.mark.parametrize("name", ["s", "z"])
    def test_another_number_of_groups(
        self, pipeline: str | None, name: str, count: int
    ) -> None:
        shapes = {"x": (3, 64), "s": (3, 4), "z": (3, 4), name: (3, count)}
        (found,) = self.rejected(pipeline, "zero_point %z", **shapes)
        said = f"dimension 1 of %{name} is {count}, for the 4 groups of 16 of %x"
        assert (found.code, found.message) == ("PTO404", said)

    def test_other_rows(self, pipeline: str | None) -> None:
        (found,) = self.rejected(pipeline, "", x=(3, 64), s=(2, 4))
        assert "%x" in found.message
        assert "%s" in found.message

    def test_quantize(self, pipeline: str | None) -> None:
        text = whole_program(
            "%y, %d = pypto.quantize %x axis 0 group 16 to i8",
            {"x": np.zeros((50, 3), np.float32)},
            "tensor<?x?xi8>",
        )
        program = compile(text, pipeline=pipeline)
        with pytest.raises(RunError, match="quantize in groups of 16: axis 0 of %x"):
            program.run(x=np.zeros((50, 3), np.float32))

    def test_one_group(self, pipeline: str | None) -> None:
        text, inputs = self.program("", x=(3, 16), s=(3, 1))
        inputs["x"][:], inputs["s"][:] = 5, 0.5
        y = compile(text, pipeline=pipeline).run(**inputs)["result0"]
        assert np.array_equal(y, np.full((3, 16), 2.5, np.float32))

    def rejected(
        self, pipeline: str | None, clause: str, **shapes: Shape
    ) -> Sequence[Diagnostic]:
        text, inputs = self.program(clause, **shapes)
        with pytest.raises(RunError) as failure:
            compile(text, pipeline=pipeline).run(**inputs)
        return failure.value.diagnostics

    def program(self, clause: str, **shapes: Shape) -> tuple[str, dict[str, Any]]:
        kinds = {"x": np.int8, "s": np.float32, "z": np.int32}
        inputs = {name: np.zeros(shapes[name], kinds[name]) for name in shapes}
        body = f"%y = pypto.dequantize %x scales %s axis -1 group 16 {clause} to f32"
        text = whole_program(body, inputs, "tensor<?x?xf32>")
        return text, inputs


@pytest.mark.parametrize(
    ("body", "shapes", "named"),
    [
        ("layer_norm %x, %g, %h eps 1.0e-5", {"x": (3, 8), "g": (7,), "h": (8,)}, "%x"),
        ("rms_norm %x, %g eps 1.0e-5", {"x": (3, 8), "g": (7,)}, "%x"),
        ("swiglu %x, %g", {"x": (3, 7), "g": (3, 8)}, "%x"),
        ("quantize %x scale %g to i8", {"x": (3, 7), "g": (3, 8)}, "%x"),
    ],
)
def test_a_composite_names_its_operands(
    body: str, shapes: dict[str, Shape], named: str
) -> None:
    """Not what its steps compute, which has no name."""
    inputs = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    kind = "i8" if "quantize" in body else "f32"
    text = whole_program(f"%y = pypto.{body}", inputs, f"tensor<?x?x{kind}>")
    with pytest.raises(RunError, match=f"dimension 1 of {named} is") as failure:
        compile(text).run(**inputs)
    assert failure.value.diagnostics[0].rule.endswith(("dim(%g, 0)", "dim(%g, 1)"))
