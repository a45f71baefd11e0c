"""
grouped_matmul_swiglu_quant from its text to a scheduled program that runs right.

What it computes in its cases is tested in `test_corpus.py`; here is what its program
consists of, and what only this operator shows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inprocess import call
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

import pyptoc
from pyptoc.dialects.context import make_context
from pyptoc.dialects.parsing import parse_module
from pyptoc.manager import Watcher, run_passes
from pyptoc.operators import FOLDER
from pyptoc.operators.checking import problems
from pyptoc.operators.grouped_matmul_swiglu_quant import (
    EQUAL,
    GIVEN,
    Case,
    expected,
    inputs,
    mistakes,
    source,
)
from pyptoc.passes import PASSES, pass_class
from pyptoc.passes.base import PyptocPass
from pyptoc.pipeline_text import default_pipeline, parse_pipeline
from pyptoc.printing import module_text

FORMS = pytest.mark.parametrize("loop", [False, True], ids=["composite", "loop"])
FILES = {
    loop: FOLDER / f"grouped_matmul_swiglu_quant{suffix}.mlir"
    for loop, suffix in ((False, ""), (True, "_loop"))
}


@cache
def compiled(text: str) -> pyptoc.Program:
    return pyptoc.compile(text)


def check(results: dict[str, NDArray[Any]], case: Case) -> None:
    """The tolerances of the operator; `test_corpus.py` runs its cases."""
    golden = expected(case)
    assert problems(results, golden, source(case)) == []
    assert mistakes(inputs(case), results) == []
    for name, share in EQUAL.items():
        assert (results[name] == golden[name]).mean() >= share


def test_one_program_serves_every_number_of_rows() -> None:
    """Nothing is kept from run to run, and M and the groups are only known then."""
    case = Case("first", (7, 9), n=256, signed=True)
    program = pyptoc.compile(source(case))
    for groups in ((7, 9), (0, 16), (3, 0), (40, 25), (7, 9)):
        other = Case("other", groups, n=256, signed=True)
        check(program.run(**inputs(other)), other)


@FORMS
def test_command_line(loop: bool, tmp_path: Path) -> None:
    """The given case from files: f8 as bytes, as NumPy writes ml_dtypes or unsigned."""
    given = inputs(GIVEN)
    given["b"] = given["b"].view(np.uint8)
    np.savez(tmp_path / "in.npz", **given)
    np.savez(tmp_path / "golden.npz", **expected(GIVEN))
    files = ["--inputs", f"{tmp_path}/in.npz", "--expect", f"{tmp_path}/golden.npz"]
    code, out, err = call(str(FILES[loop]), "--run", *files)
    assert code == 0, err
    assert out.splitlines()[-1] == "PASS"
    launches = 3 if loop else 2  # the loop has one that sums up the groups
    assert f"{launches} kernels, {launches} launches" in out


# -- what the program is ------------------------------------------------------


@FORMS
def test_is_a_scheduled_program(loop: bool) -> None:
    """A mixed and a vector kernel with addresses and flags, launches with waits."""
    out = compiled(source(GIVEN, loop)).text
    assert len(re.findall(r"npu\.kernel .* on mixed ", out)) == 1
    assert len(re.findall(r"npu\.kernel .* on vector ", out)) == 1 + loop
    allocations = [line for line in out.splitlines() if "tile.alloc" in line]
    assert allocations
    assert all("{addr = " in line for line in allocations)
    assert "{addr = 0, slots = 2}" in out
    for pair in ("mte2 -> mte1", "mte1 -> m", "m -> fix", "mte2 -> v", "v -> mte3"):
        assert f"tile.set_flag [{pair}, " in out
        assert f"tile.wait_flag [{pair}, " in out
    launches = [line for line in out.splitlines() if "npu.launch" in line]
    assert len(launches) == 2 + loop
    wait = r"after\(%\w+\[d0, \*\]\)" if loop else r"after\(%\w+ overlaps\)"
    assert re.search(wait, launches[-1])
    assert all('order = "row", assign = ' in line for line in launches)


SIZES = (
    Case("experts", (16, *[0] * 255), n=7168),
    Case("columns", (7, 9), n=14336),
    Case("depth", (7, 9), k=2048, n=7168),
)


def operations(text: str) -> Counter[str]:
    """How often each operation occurs."""
    return Counter(re.findall(r"\b(?:tile|npu|pypto|scf|arith|func)\.\w+", text))


@FORMS
@pytest.mark.parametrize("case", SIZES, ids=str)
def test_size_does_not_depend_on_the_operator_s_sizes(case: Case, loop: bool) -> None:
    """More experts, columns or K change numbers in the program and nothing else."""
    small = compiled(source(GIVEN, loop)).text
    large = compiled(source(case, loop)).text
    assert operations(small) == operations(large)
    numbers = re.compile(r"\d+")
    assert [numbers.sub("0", line) for line in small.splitlines()] == [
        numbers.sub("0", line) for line in large.splitlines()
    ]


# -- the passes ---------------------------------------------------------------


@dataclass
class Texts(Watcher):
    """The text before every pass, and at last behind it."""

    found: list[str] = field(default_factory=list[str])

    def start(self, module: ModuleOp) -> None:
        self.found.append(module_text(module))

    def after(self, each: PyptocPass, module: ModuleOp) -> None:
        self.found.append(module_text(module))


@FORMS
def test_every_pass_continues_from_text(loop: bool) -> None:
    """
    Whether a pass gets the IR in memory or reads it from text is all the same.

    What is printed reads back as the same text.
    """
    program = pyptoc.compile(FILES[loop], pipeline="")
    texts = Texts()
    passes = parse_pipeline(default_pipeline())
    run_passes(passes, make_context(program.machine), program.module, [texts])
    assert len(texts.found) == len(PASSES) + 1
    for each, before, after in zip(passes, texts.found, texts.found[1:]):
        context = make_context(program.machine)
        module = parse_module(before, "printed.mlir", context)
        assert module_text(module) == before, f"before {each.name}"
        run_passes([each], context, module)
        assert module_text(module) == after, f"after {each.name}"
    last = parse_module(texts.found[-1], "printed.mlir", make_context())
    assert module_text(last) == texts.found[-1]


def check_each(text: str, case: Case, tmp_path: Path) -> tuple[int, str]:
    """Exit code and standard error of `--check-each` on a case."""
    np.savez(tmp_path / "in.npz", **inputs(case))
    code, _, err = call(
        "-", "--check-each", "--inputs", f"{tmp_path}/in.npz", stdin=text
    )
    return code, err


CHECKED = Case("checked", (7, 9), n=512, signed=True)


@FORMS
def test_check_each(loop: bool, tmp_path: Path) -> None:
    code, err = check_each(source(CHECKED, loop), CHECKED, tmp_path)
    assert code == 0, err
    assert f"check-each: {len(PASSES)} passes, every result as in the source" in err


def test_check_each_at_full_size() -> None:
    """As one would ask for it, with made-up inputs."""
    bind = "--bind=M=16,group_list=[7,9]"
    code, _, err = call(str(FILES[False]), "--check-each", "--random-inputs=1", bind)
    assert code == 0, err
    assert "every result as in the source" in err


def forget_the_last_part(module: ModuleOp) -> None:
    """The sum over the parts of K takes the first one twice."""
    views = [op for op in module.walk() if op.name == "pypto.view"]
    parts = [op for op in views if tuple(op.dropped.get_values()) == (0,)]
    last = max(parts, key=lambda op: op.static_offsets.get_values()[0])
    offsets = last.static_offsets.get_values()
    assert offsets[0] == 1
    kind = type(last.static_offsets)
    last.properties["static_offsets"] = kind.from_list(
        last.static_offsets.elt_type, [0, *offsets[1:]]
    )


def swap_offsets(module: ModuleOp) -> None:
    """A store to global memory takes its column for its row."""
    stores = [op for op in module.walk() if op.name == "tile.store"]
    store = next(op for op in stores if len(op.offsets) == 2)
    store.operands[list(store.operands).index(store.offsets[0])] = store.offsets[1]


def subtract(module: ModuleOp) -> None:
    """1 + exp(-x) becomes 1 - exp(-x)."""
    from pyptoc.dialects.pypto.elementwise import SubOp

    add = next(op for op in module.walk() if op.name == "pypto.add")
    new = SubOp.create(
        operands=add.operands,
        result_types=[add.results[0].type],
        properties=add.properties,
    )
    add.parent.insert_op_before(new, add)
    add.results[0].replace_all_uses_with(new.results[0])
    add.detach()
    add.erase()


def share_an_address(module: ModuleOp) -> None:
    """All buffers of L1 lie in one place."""
    from xdsl.dialects.builtin import IntegerAttr, i64

    for op in module.walk():
        if op.name == "tile.alloc" and "l1" in str(op.results[0].type):
            op.properties["addr"] = IntegerAttr(0, i64)


BREAKS: dict[str, Callable[[ModuleOp], None]] = {
    "decompose": subtract,
    "split-k": forget_the_last_part,
    "lower-to-tile": swap_offsets,
    "plan-memory": share_an_address,
}


@pytest.mark.parametrize("name", BREAKS)
def test_check_each_names_a_broken_pass(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cls = pass_class(name)
    real = cls.run

    def broken(self, ctx, module: ModuleOp) -> None:
        real(self, ctx, module)
        BREAKS[name](module)

    monkeypatch.setattr(cls, "run", broken)
    # Left to the compiler, K is not split: so short a loop gains nothing.
    text = source(CHECKED).replace("split_k>", "split_k = 2>")
    code, err = check_each(text, CHECKED, tmp_path)
    assert code == 1
    assert "error[PTO506]" in err
    named = set(re.findall(r"pass '([\w-]+)' (?:changes|breaks)", err))
    assert named == {name}
