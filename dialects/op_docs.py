"""What the docstring of an operation says: a summary, the semantics, examples.

    \"\"\"One line that says what it is.

    Paragraphs of semantics: NaN, no elements, ties, overflow, rounding, errors.

    Example:
        %y = pypto.name %x axis 0 : tensor<?x64xf32> -> tensor<64xf32>
    \"\"\"

An example is a statement with its types, perhaps with continued lines that are indented
further, or a whole `func.func`. The names of its operands are those of the text.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from functools import cache

from xdsl.ir import Operation

from pyptoc.dialects.record import record

EXAMPLE = "Example:"


@record
class OpDoc:
    """The parts of a docstring."""

    summary: str
    """On one line."""
    semantics: tuple[str, ...]
    """Paragraphs, each on one line; lists and indented text as they are."""
    examples: tuple[str, ...]


@cache
def op_doc(kind: type[Operation]) -> OpDoc:
    """The parts of the docstring of a class of operations."""
    text, _, shown = (inspect.getdoc(kind) or "").partition(EXAMPLE)
    summary, *rest = (_one_line(part) for part in text.strip().split("\n\n"))
    examples = _examples(textwrap.dedent(shown.strip("\n")))
    return OpDoc(summary, tuple(rest), examples)


def _one_line(paragraph: str) -> str:
    return " ".join(paragraph.split())


def _examples(text: str) -> tuple[str, ...]:
    """A line that is not indented begins an example; a function ends with its `}`."""
    found: list[str] = []
    for line in text.splitlines():
        in_function = bool(found) and found[-1].startswith("func.func")
        goes_on = in_function and not found[-1].endswith("\n}")
        if line.startswith(" ") or goes_on:
            found[-1] += f"\n{line}"
        elif line:
            found.append(line)
    return tuple(found)


@record
class Example:
    """An example taken apart: `statement : types`, and its free names."""

    statement: str
    """Without the types, on one line; a function as it is."""
    clause: str
    """The types; empty where there are none, or where it is a whole function."""
    arguments: tuple[tuple[str, str], ...]
    """Name and type of each operand, in the order of the text."""

    @property
    def text(self) -> str:
        """On one line, as it is printed; a function as it is."""
        return f"{self.statement} : {self.clause}" if self.clause else self.statement

    def program(self, *, typed: bool = True, **types: str) -> str:
        """A function that has the operands as arguments; `types` replaces some."""
        if self.statement.startswith("func.func"):
            return self.statement + "\n"
        arguments = ", ".join(
            f"{name}: {types.get(name[1:], type)}" for name, type in self.arguments
        )
        line = self.text if typed else self.statement
        return f"func.func @f({arguments}) {{\n  {line}\n  func.return\n}}\n"


def example_of(kind: type[Operation], text: str) -> Example:
    """Take an example of an operation apart."""
    if text.startswith("func.func"):
        return Example(text, "", ())
    statement, _, clause = _one_line(text).rpartition(" : ")
    if not statement:
        statement, clause = clause, ""
    body = statement.partition(f"{kind.name}")[2]
    names = list(dict.fromkeys(re.findall(r"%\w+", body)))
    written, arrow, _ = clause.partition("->")
    has_results = "=" in statement.partition(kind.name)[0]
    types = _split(written) if arrow or not has_results else []
    rest = "f32" if kind.name == "pypto.scalar" else "index"
    types += [rest] * (len(names) - len(types))
    return Example(statement, clause, tuple(zip(names, types, strict=False)))


def _split(types: str) -> list[str]:
    """Types between commas that stand in no bracket."""
    return [part.strip() for part in re.findall(r"(?:<[^>]*>|[^,<])+", types)]


def examples_of(kind: type[Operation]) -> tuple[Example, ...]:
    """The examples of an operation, taken apart."""
    return tuple(example_of(kind, text) for text in op_doc(kind).examples)


def sample(kind: type[Operation]) -> str:
    """A help text with the first example of an operation; empty where it has none."""
    examples = examples_of(kind)
    if not examples or "\n" in examples[0].statement:
        return ""
    return f"for example {examples[0].statement}"


def clause_sample(kind: type[Operation], keyword: str) -> str:
    """`eps 1.0e-5`: a clause as the op's example has it; empty where it has none."""
    value = r"\[[^\]]*\]|%\w+(?:, %\w+)*|[^\s,]+"
    for example in examples_of(kind):
        found = re.search(rf"\s{keyword} (?:{value})", example.statement)
        if found is not None:
            return found[0].strip()
    return ""
