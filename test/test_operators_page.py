"""
`docs/operators.md`: it is what the definitions say now, it is complete, and it is true.

The types that the page states are tried with the parser: the example of the op is
written with one element type after the other, and is accepted where the page has it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

import pytest
from building import ALL, CONTEXT
from inprocess import ROOT, call
from many import for_each
from xdsl.dialects.builtin import TensorType

from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.op_docs import Example, clause_sample, examples_of, op_doc
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.pypto import Pypto
from pyptoc.dialects.pypto.matmul import GroupedMatmulOp

PAGE = (ROOT / "docs" / "operators.md").read_text()


def test_the_page_is_what_the_definitions_say() -> None:
    code, out, _ = call("--docs-ops")
    assert code == 0
    assert out == PAGE, "run: pyptoc --docs-ops > docs/operators.md"


@for_each(Pypto.operations)
def test_every_part_is_there(kind) -> None:
    doc = op_doc(kind)
    assert doc.summary.endswith(".")
    assert all(len(part) > 10 for part in doc.semantics)
    assert doc.semantics
    assert doc.examples
    text = section(kind)
    assert text.startswith(f"\n{doc.summary}\n\n    ")
    assert f"{kind.name}" in text.split("\n")[3]
    assert f"  - [`{kind.name[6:]}`](#{kind.name[6:]}): {doc.summary}\n" in PAGE


@for_each(Pypto.operations)
def test_examples_parse_and_print_as_they_stand(kind) -> None:
    for example in examples_of(kind):
        module = parse_module(example.program(), "example.mlir", CONTEXT)
        module.verify()
        assert any(isinstance(op, kind) for op in module.walk())
        if not example.statement.startswith("func.func"):
            assert f"    {example.text}\n" in str(module)


@for_each(Pypto.operations)
def test_the_types_of_examples_may_be_left_out(kind) -> None:
    for example in examples_of(kind):
        if not example.clause or re.search(r"pypto\.(empty|full|arange)", example.text):
            continue
        source = example.program(typed=False)
        module = parse_module(source, "example.mlir", CONTEXT)
        assert f"    {example.text}\n" in str(module)


# -- types


def section(kind) -> str:
    """What the page says about an op, after its heading."""
    _, _, text = PAGE.partition(f"\n### {kind.name.partition('.')[2]}\n")
    return re.split(r"\n##+ ", text)[0]


@dataclass(frozen=True)
class Line:
    """`- %x, %y: tensors of one type: f32, f16` taken apart."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    is_tied: bool


def listed(text: str) -> tuple[str, ...]:
    if text.startswith("any element type"):
        return ALL
    return tuple(text.removesuffix(", or a number").split(", "))


def operand_lines(kind) -> list[Line]:
    found: list[Line] = []
    for names, noun, types in re.findall(
        r"^- ((?:`%.*?`[^:\n]*)+): (tensor of|tensors of one type:|tensors, each of) "
        r"(.*)$",
        section(kind),
        re.M,
    ):
        shown = tuple(re.findall(r"`%(\w+)`", names))
        found.append(Line(shown, listed(types), "one type" in noun))
    return found


def result_texts(kind) -> list[str]:
    return re.findall(r"^- result `%\w+`: tensor of (.*)$", section(kind), re.M)


def targets(kind) -> tuple[str, ...]:
    line = re.search(r"^- after `to`: (.*)$", section(kind), re.M)
    return listed(line[1]) if line else ()


def stated(text: str, given: dict[str, str], first: str, target: str | None) -> str:
    """The element type that the page says a result has."""
    if target is not None and "`to`" in text:
        return target
    text = text.partition(";")[0]
    if follows := re.fullmatch(r"the type of `%(\w+)`", text):
        return given[follows[1]]
    if choice := re.fullmatch(r"(\w+) from (.*), else (\w+)", text):
        return choice[1] if given[first] in listed(choice[2]) else choice[3]
    return text


def retyped(type: str, element: str) -> str:
    return re.sub(r"\w+>$", f"{element}>", type.replace("x", " ")).replace(" ", "x")


def tries(kind, example: Example, *, all_targets: bool):
    """Statements with each thing after `to`, or without it, and that thing."""
    statement = example.statement
    if not targets(kind) or not all_targets:
        own = re.search(r" to (\w+)", statement)
        yield statement, own[1] if own and targets(kind) else None
        return
    clause = re.compile(r" to \w+")
    if re.search(rf"{re.escape(kind.name)}.*\[to ", section(kind)):
        yield clause.sub("", statement), None
    for target in ALL:
        if clause.search(statement):
            yield clause.sub(f" to {target}", statement), target
        elif "{" in statement:
            yield statement.replace(" {", f" to {target} {{"), target
        else:
            yield f"{statement} to {target}", target


def results_of(kind, example: Example, statement: str, types: dict[str, str]):
    """The element types of the results; None where the program is rejected."""
    tried = Example(statement, "", example.arguments)
    try:
        module = parse_module(tried.program(typed=False, **types), "e", CONTEXT)
    except CompileError:
        return None
    op = next(op for op in module.walk() if isinstance(op, kind))
    tensors = [r.type for r in op.results if isinstance(r.type, TensorType)]
    return [str(type.element_type) for type in tensors]


@for_each(Pypto.operations)
def test_inference_accepts_exactly_the_types_of_the_page(kind) -> None:
    accepted_targets: set[str] = set()
    tried: set[str] = set()
    for line in operand_lines(kind):
        groups = [line.names] if line.is_tied else [(name,) for name in line.names]
        for group, element in product(groups, ALL):
            # What follows `to` depends on the first operand, if on any.
            tried.add(group[0])
            is_first = len(tried) == 1
            is_accepted = False
            for example in examples_of(kind):
                arguments = {name[1:]: type for name, type in example.arguments}
                if not set(group) <= set(arguments):
                    continue
                types = {name: retyped(arguments[name], element) for name in group}
                for statement, target in tries(kind, example, all_targets=is_first):
                    results = results_of(kind, example, statement, types)
                    if results is None:
                        continue
                    is_accepted = True
                    accepted_targets |= {target} if target else set()
                    given = {
                        name: re.findall(r"\w+", type)[-1].rpartition("x")[2]
                        for name, type in {**arguments, **types}.items()
                    }
                    first = next(iter(arguments))
                    texts = result_texts(kind)
                    wanted = [stated(text, given, first, target) for text in texts]
                    assert results == wanted[: len(results)]
            if not examples_of(kind)[0].statement.startswith("func.func"):
                assert is_accepted == (element in line.types), (group, element)
    assert accepted_targets == set(targets(kind))


INTEGERS = ("i8", "ui8", "i16", "i32", "i64")
BESIDE = {
    "f32": ("f32", "f16", "bf16"),
    "index": INTEGERS,
    "i32": INTEGERS,
    "i1": ("i1",),
}
"""The element types that each type of scalar may fill."""


@pytest.mark.parametrize("name", ["empty", "full", "arange"])
def test_types_that_are_written(name: str) -> None:
    kind = next(kind for kind in Pypto.operations if kind.name == f"pypto.{name}")
    line = re.search(r"^- result: tensor of (.*)$", section(kind), re.M)
    assert line is not None
    for example in examples_of(kind):
        scalar, _, result = example.clause.rpartition(" -> ")
        wanted = BESIDE[scalar] if scalar else listed(line[1])
        for element in ALL:
            clause = example.clause.replace(result, retyped(result, element))
            text = example.statement.replace("0.0", "0")
            tried = Example(text, clause, example.arguments)
            try:
                parse_module(tried.program(), "example.mlir", CONTEXT)
                is_accepted = True
            except CompileError:
                is_accepted = False
            assert is_accepted == (element in wanted), (scalar, element)


def test_what_a_clause_looks_like() -> None:
    assert clause_sample(GroupedMatmulOp, "scales") == "scales %sa, %sb"
    assert clause_sample(GroupedMatmulOp, "eps") == ""
