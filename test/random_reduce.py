"""
Makes a program that fails small: lines are left out as long as it fails the same way.

`kind_of` says how a program fails; a program that no longer parses fails in another
way, so that no line is missed that a later one needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from random_writer import Program

from pyptoc.dialects.diagnostics import CompileError

Check = Callable[[Program], object]


def kind_of(problem: BaseException) -> str:
    """The kind of a failure: the code of an error, or the place of an exception."""
    if isinstance(problem, CompileError):
        first = problem.diagnostics[0]
        named = re.match(r"pass '[a-z-]+'", first.message)
        return f"{first.code} {named.group() if named else ''}"
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    line = trace.tb_lineno if trace else 0
    after = re.match(r"after [a-z-]+", str(problem))
    return f"{type(problem).__name__} {line} {after.group() if after else ''}"


def failure(program: Program, check: Check) -> str | None:
    """How the program fails, if it does."""
    try:
        check(program)
    except Exception as problem:
        return kind_of(problem)
    return None


def reduced(program: Program, check: Check, most: int = 300) -> Program:
    """A smaller program that fails in the same way, after at most `most` trials."""
    kind = failure(program, check)
    left = most

    def fails(candidate: Program) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and failure(candidate, check) == kind

    for candidate in one_result(program):
        if fails(candidate):
            program = candidate
            break
    found = True
    while found and left > 0:
        found = False
        number = program.text.count("\n")
        while number > 0 and left > 0:
            number -= 1
            candidate = without(program, number)
            if candidate is not None and fails(candidate):
                program, found = candidate, True
    small = without_arguments(program)
    return small if failure(small, check) == kind else program


def one_result(program: Program) -> list[Program]:
    """The program with each of its results alone."""
    text = program.text
    header = re.search(r"\) -> \((.*?)\)( \{|\n)", text)
    end = re.search(r"  func\.return (.*) : (.*)\n", text)
    if header is None or end is None:
        return []
    names, types = end.group(1).split(", "), end.group(2).split(", ")
    found: list[Program] = []
    for number, (name, type_) in enumerate(zip(names, types)):
        line = f"  func.return {name} : {type_}\n"
        lone = text.replace(end.group(), line, 1)
        lone = lone.replace(header.group(), f") -> ({type_}){header.group(2)}", 1)
        near = program.within.get(f"result{number}")
        within = {} if near is None else {"result0": near}
        found.append(replace(program, text=lone, within=within))
    return found


def without(program: Program, number: int) -> Program | None:
    """The program without a line, and without the block that the line opens."""
    lines = program.text.split("\n")
    line = lines[number]
    kept = ("return", "yield", "attributes")
    if not line.startswith("  ") or any(word in line for word in kept):
        return None
    last = number
    if line.endswith("{"):
        indent = len(line) - len(line.lstrip())
        last = next(
            other
            for other in range(number + 1, len(lines))
            if lines[other] == " " * indent + "}"
        )
    elif line.strip()[0] == "}":
        return None
    text = "\n".join(lines[:number] + lines[last + 1 :])
    return replace(program, text=text)


def without_arguments(program: Program) -> Program:
    """The program without the arguments that nothing uses."""
    text, inputs = program.text, dict(program.inputs)
    for name in program.inputs:
        if len(re.findall(rf"%{name}\b", text)) == 1:
            text = re.sub(rf"(, )?%{name}: [^%)]*(?<!, )", "", text, count=1)
            del inputs[name]
    return replace(program, text=text.replace("(, %", "(%"), inputs=inputs)
