"""Every op rejects what is wrong, with a code, a place, the rule and the numbers.

The mistakes here can be made with any op, and are made in the examples of its
docstring: a clause left out, a value of the wrong kind, a wrong setting, an operand too
few, one that is no tensor, a result type that contradicts inference. New ops are tried
as well.
What only one op can get wrong is in `test_rejected_programs.py`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest
from building import CONTEXT
from many import for_each

from pyptoc.dialects.diagnostics import CompileError, Diagnostic
from pyptoc.dialects.op_docs import Example, examples_of
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.pypto import Pypto
from pyptoc.dialects.pypto.class_fields import setting_names
from pyptoc.dialects.pypto.debug import PrintOp
from pyptoc.dialects.pypto.properties import Int, Ints, Real, Text, Type, Word
from pyptoc.dialects.pypto.syntax import Clause
from pyptoc.dialects.pypto.values import Values

RAW = ("Expected", "expected$", "verify", "base attribute", "Operation ", "Attribute")
"""What messages of xDSL have in them."""
STATEMENTS = [
    (kind, example)
    for kind in Pypto.operations
    for example in examples_of(kind)
    if not example.statement.startswith("func.func")
]
WITH_SYNTAX = [(kind, example) for kind, example in STATEMENTS if kind.SYNTAX]


CREATING = re.compile(r"pypto\.(empty|full|arange)")
"""Ops whose result type is not inferred but written."""


def rejected(example: Example, *, typed: bool = False, **types: str) -> Diagnostic:
    """The only error of the example as a program; it says enough to mend it."""
    if types and CREATING.search(example.statement):
        results = example.clause.rpartition("-> ")[2]
        example = Example(example.statement, results, example.arguments)
    typed = typed or CREATING.search(example.statement) is not None
    text = example.program(typed=typed, **types)
    with pytest.raises(CompileError) as failure:
        parse_module(text, "op.mlir", CONTEXT).verify()
    (found,) = failure.value.diagnostics
    assert found.headline.startswith("op.mlir:2:"), str(found)
    assert not any(re.search(raw, found.message) for raw in RAW), str(found)
    assert found.rule or found.help or found.label or found.notes, str(found)
    return found


def with_statement(example: Example, statement: str) -> Example:
    assert statement != example.statement
    return Example(statement, example.clause, example.arguments)


def clauses(kind) -> Iterator[Clause]:
    return (element for element in kind.SYNTAX if isinstance(element, Clause))


_VALUE = r"(\[[^\]]*\]|%\w+(?:, %\w+)*|[^\s,]+)"


# -- clauses and their values


@for_each(WITH_SYNTAX)
def test_a_clause_is_missing(kind, example) -> None:
    for clause in clauses(kind):
        without = re.sub(rf" {clause.keyword} {_VALUE}", "", example.statement)
        if clause.optional or without == example.statement:
            continue
        found = rejected(with_statement(example, without))
        name = kind.name.removeprefix("pypto.")
        assert found.code == "PTO142"
        assert found.message == f"{name} needs '{clause.keyword} ...'"
        assert found.help.startswith(f"write {clause.keyword} ")


@for_each(WITH_SYNTAX)
def test_a_clause_is_misspelt(kind, example) -> None:
    for clause in clauses(kind):
        if len(clause.keyword) < 4:
            continue
        wrong = clause.keyword[1] + clause.keyword[0] + clause.keyword[2:]
        text = example.statement.replace(f" {clause.keyword} ", f" {wrong} ")
        if text == example.statement:
            continue
        found = rejected(with_statement(example, text))
        assert (found.code, found.help) == ("PTO143", f"did you mean {clause.keyword}?")


@for_each(WITH_SYNTAX)
def test_clauses_change_places(kind, example) -> None:
    """Each clause of the example behind each other one."""
    found = [clause.keyword for clause in clauses(kind)]
    written = [
        match
        for word in found
        if (match := re.search(rf" {word} {_VALUE}", example.statement))
    ]
    for one, other in itertools.combinations(written, 2):
        text = example.statement[: one.start()]
        text += other[0] + example.statement[one.end() : other.start()] + one[0]
        text += example.statement[other.end() :]
        said = rejected(with_statement(example, text))
        assert said.code == "PTO143"
        assert said.message.endswith(f"stands before '{other[0].split()[0]}'")
        assert said.rule == f"the order is {', '.join(found)}"


@for_each(WITH_SYNTAX)
def test_a_clause_is_given_twice(kind, example) -> None:
    for clause in clauses(kind):
        written = rf"( {clause.keyword} {_VALUE})(?!\S)"
        text = re.sub(written, r"\1\1", example.statement)
        if text == example.statement:
            continue
        said = rejected(with_statement(example, text))
        assert said.message == f"'{clause.keyword}' is given twice"


WRONG_VALUES = {
    Int: ("1.5", "word", "%x"),
    Real: ('"text"', "word"),
    Ints: ("3", "[1.5]", "[word]"),
    Text: ("3", "word"),
    Type: ("3", "f23", '"f32"'),
    Word: ("3", "nearest"),
}


@for_each(WITH_SYNTAX)
def test_a_value_is_of_the_wrong_kind(kind, example) -> None:
    for clause in clauses(kind):
        (element, *_) = clause.elements
        for wrong in WRONG_VALUES.get(type(element), ()):
            pattern = rf" {clause.keyword} {_VALUE}"
            text = re.sub(pattern, f" {clause.keyword} {wrong}", example.statement)
            if text == example.statement:
                continue
            found = rejected(with_statement(example, text))
            assert found.code in ("PTO100", "PTO143")
            assert found.help or found.rule


@for_each(WITH_SYNTAX)
def test_an_axis_is_out_of_range(kind, example) -> None:
    for axis in (6, -7):
        text = re.sub(r" axis -?\d+", f" axis {axis}", example.statement)
        if text == example.statement:
            return
        found = rejected(with_statement(example, text))
        assert found.code == "PTO135"
        assert found.message.startswith(f"axis {axis} of a tensor of rank ")
        assert re.search(r" has axes -\d to \d$", found.label)


# -- settings


def with_settings(example: Example, settings: str) -> Example:
    plain = re.sub(r" \{.*\}$", "", example.statement)
    return Example(f"{plain} {{{settings}}}", example.clause, example.arguments)


@for_each(WITH_SYNTAX)
def test_a_setting_is_wrong(kind, example) -> None:
    name = kind.name.removeprefix("pypto.")
    for setting in setting_names(kind):
        for wrong in ("3", "1.5", '"text"', "[1, 2]", "f32"):
            tried = with_settings(example, f"{setting} = {wrong}")
            try:
                parse_module(tried.program(), "op.mlir", CONTEXT)
            except CompileError:
                found = rejected(tried, typed=True)
                assert found.code in ("PTO131", "PTO138", "PTO143", "PTO144")
                assert found.code != "PTO143" or setting in found.message
                assert found.rule
        found = rejected(with_settings(example, f"{setting} = f32"))
        assert found.code == "PTO143"
        assert found.message == f"{setting} of {name} cannot be f32"
        assert found.rule.startswith(f"it is written {{{setting}")
    for tag in ("tag = 3", "tile = 3", "tag"):
        found = rejected(with_settings(example, tag))
        assert found.code == "PTO143"
        assert found.message.startswith(f"{tag[:4].rstrip()} of {name} cannot be ")
    found = rejected(with_settings(example, "tga"))
    assert (found.code, found.help) == ("PTO143", "did you mean tag?")
    assert found.message == f"{name} has no attribute 'tga'"
    assert found.rule.endswith("tag, tile")
    found = rejected(with_settings(example, 'tag = "a", tag = "b"'))
    assert found.message == "'tag' is given twice"


# -- operands


@for_each(STATEMENTS)
def test_an_operand_is_no_tensor(kind, example) -> None:
    literals = [e for e in kind.SYNTAX if isinstance(e, Values) and e.literals]
    first = literals[0].like if literals else len(example.arguments)
    for index, (name, written) in enumerate(example.arguments):
        if kind is PrintOp:
            found = rejected(example, **{name[1:]: "f64"})
            assert found.code == "PTO110"
            assert f"{name} is f64" in found.message
        elif not written.startswith("tensor"):
            found = rejected(example, **{name[1:]: "tensor<4xf32>"})
            assert found.code in ("PTO110", "PTO111", "PTO134")
        elif index < first:
            found = rejected(example, **{name[1:]: "f32"})
            assert found.code in ("PTO110", "PTO134")
            assert f"{name} is f32" in found.message
        else:
            found = rejected(example, **{name[1:]: "f64"})
            assert found.code in ("PTO110", "PTO112", "PTO142")


@for_each(STATEMENTS)
def test_an_element_type_is_not_of_the_language(kind, example) -> None:
    for name, written in example.arguments:
        if not written.startswith("tensor"):
            continue
        for element in ("f64", "i4", "index"):
            type = re.sub(r"[a-zA-Z]\w*>$", f"{element}>", written.replace("x", " "))
            found = rejected(example, **{name[1:]: type.replace(" ", "x")})
            assert found.code in ("PTO111", "PTO112", "PTO115")
            assert element in found.message


@for_each(WITH_SYNTAX)
def test_an_operand_is_missing_or_one_too_many(kind, example) -> None:
    head, name, rest = example.statement.partition(f"{kind.name} ")
    operands = re.match(r"%\w+(?:, (?:%\w+|[-\w.]+))+", rest)
    if operands is None or kind.name in ("pypto.dim", "pypto.concat"):
        return
    kept = operands[0].rpartition(",")[0]
    fewer = f"{head}{name}{kept}{rest[operands.end() :]}"
    if not any(isinstance(e, Values) and e.least < 2 for e in kind.SYNTAX):
        found = rejected(with_statement(example, fewer))
        count = operands[0].count(",")
        assert found.code == "PTO116"
        assert found.message.endswith(f", this one has {count}")
    more = f"{head}{name}{operands[0]}, %x{rest[operands.end() :]}"
    text = with_statement(example, more).program(typed=False)
    with pytest.raises(CompileError):
        parse_module(text, "op.mlir", CONTEXT)


@for_each(STATEMENTS)
def test_an_operand_is_not_defined(kind, example) -> None:
    for name, _ in example.arguments:
        head, op, rest = example.statement.partition(kind.name)
        text = head + op + rest.replace(name, "%nobody")
        found = rejected_name(with_statement(example, text))
        assert found.code == "PTO103"
        assert found.message == "%nobody is not defined here"


def rejected_name(example: Example) -> Diagnostic:
    with pytest.raises(CompileError) as failure:
        parse_module(example.program(), "op.mlir", CONTEXT)
    return failure.value.diagnostics[0]


# -- the clause ": types"


def result_types(example: Example) -> str:
    _, arrow, right = example.clause.rpartition("->")
    return right.strip() if arrow or "=" in example.statement else ""


@for_each(STATEMENTS)
def test_a_result_type_contradicts(kind, example) -> None:
    right = result_types(example)
    if not right.startswith("tensor"):
        return
    size = r"(?<=[<x])\d+(?=x)"
    wrong = [right.replace("tensor<", "tensor<7x"), f"({right}, {right})", "index"]
    if re.search(size, right):
        wrong.append(re.sub(size, "9999", right, count=1))
    if not CREATING.search(example.statement):
        element = "i1" if "i1>" not in right else "f16"
        wrong.append(re.sub(r"(?<=[x<])[a-z]\w*>$", f"{element}>", right))
    for types in wrong:
        left = example.clause.rpartition("->")[0]
        clause = f"{left}-> {types}" if left else types
        tried = Example(example.statement, clause, example.arguments)
        if types == "index" and kind.name in ("pypto.empty", "pypto.full"):
            continue
        found = rejected(tried, typed=True)
        assert found.code in ("PTO140", "PTO111", "PTO131")
        assert kind.name.removeprefix("pypto.") in found.message


@for_each(STATEMENTS)
def test_an_operand_type_contradicts(kind, example) -> None:
    left, arrow, right = example.clause.rpartition("->")
    if not arrow:
        return
    wrong = left.replace("tensor<", "tensor<3x", 1) if "tensor<" in left else "i8 "
    clause = f"{wrong}->{right}"
    found = rejected(Example(example.statement, clause, example.arguments), typed=True)
    assert found.code == "PTO141"
    assert found.message.startswith("the operands of ")
    assert example.arguments[0][1] in found.message


@for_each(STATEMENTS)
def test_a_result_too_many_is_named(kind, example) -> None:
    names, found, rest = example.statement.partition(f" = {kind.name}")
    if not found:
        names, rest = "", f" = {example.statement}"
    text = f"{names}, %more{found}{rest}" if found else f"%more{rest}"
    message = rejected_name(with_statement(example, text)).message
    wanted = names.count("%")
    assert message.startswith(f"{wanted} result")
    assert message.endswith(f"but {wanted + 1} before the =")
