"""
`--list-passes`, `--list-machines`, `--list-ops` and `--list-operators`.
"""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pyptoc.tables import table

if TYPE_CHECKING:
    from xdsl.ir import Operation

IN_FULL = 3
"""So many ops are described in full by `--list-ops WORD`."""


def passes() -> str:
    """Every pass in the order of the default pipeline, with its options; then yours."""
    from xdsl.passes import get_pass_option_infos

    from pyptoc.passes import pass_class, pass_names

    lines: list[str] = []
    width = max(map(len, pass_names()))
    for name in pass_names():
        cls = pass_class(name)
        lines.append(f"{name:<{width}}  {cls.summary}")
        for option in get_pass_option_infos(cls):
            default = _default(cls, option.name)
            # Annotations are text, which comes in quotes.
            kind = option.expected_type.strip("'")
            lines.append(f"{'':<{width}}    {option.name}: {kind}{default}")
            meaning = option_docs(cls).get(option.name, "")
            indent = " " * (width + 8)
            lines += textwrap.wrap(
                meaning, 88, initial_indent=indent, subsequent_indent=indent
            )
    return "\n".join(lines)


def option_docs(cls: type[Any]) -> dict[str, str]:
    """What the docstring after each field of a pass says: what the option is for."""
    import ast

    try:
        source = inspect.getsource(cls)
    except (OSError, TypeError):  # of a pass that was typed in, say
        return {}
    [tree] = ast.parse(textwrap.dedent(source)).body
    assert isinstance(tree, ast.ClassDef)
    return {
        field.target.id: " ".join(inspect.cleandoc(doc.value.value).split())
        for field, doc in pairwise(tree.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(doc, ast.Expr)
        and isinstance(doc.value, ast.Constant)
        and isinstance(doc.value.value, str)
    }


def _default(cls: type[Any], name: str) -> str:
    field = next(each for each in dataclasses.fields(cls) if each.name == name)
    if field.default is dataclasses.MISSING:
        return ""
    return f" = {str(field.default).lower() or repr('')}"


def machines() -> str:
    """The machines that can be named without a file."""
    from pyptoc.runtime.machine import load_machine, machine_names

    return "\n".join(
        table([(name, load_machine(name).summary) for name in machine_names()])
    )


def ops(word: str) -> str:
    """
    The ops of the dialects with their summaries; `word` selects some of them: those
    with it in name or summary, or else those whose description has it.

    Where it selects no more than `IN_FULL`, what follows the summary comes, too:
    semantics, and an example of the syntax.
    """
    from pyptoc.dialects.op_docs import op_doc
    from pyptoc.op_page import ops_of

    kinds = [(kind, op_doc(kind).summary) for kind in ops_of("pypto", "npu", "tile")]
    found = [
        (kind, summary)
        for kind, summary in kinds
        if word.lower() in f"{kind.name} {summary}".lower()
    ] or [
        (kind, summary)
        for kind, summary in kinds
        if word.lower() in (inspect.getdoc(kind) or "").lower()
    ]
    if word and 0 < len(found) <= IN_FULL:
        return "\n".join(_in_full(kind) for kind, _ in found)
    rows = [(kind.name, summary) for kind, summary in found]
    return "\n".join(table(rows)) if found else f"no op has '{word}' in it"


def operators(word: str) -> str:
    """The operators of the corpus with their summaries; `word` selects some."""
    from pyptoc.operators import names, summary

    rows = [
        (f"@{name}", textwrap.shorten(summary(name), 88, placeholder=" ..."))
        for name in names()
    ]
    found = [row for row in rows if word.lower() in " ".join(row).lower()]
    return "\n".join(table(found)) if found else f"no operator has '{word}' in it"


def _in_full(kind: type[Operation]) -> str:
    """Syntax, operands and results, and all of the docstring."""
    from pyptoc.dialects.pypto.base import PyptoOp
    from pyptoc.op_page import operand_lines, usage

    parts = [inspect.getdoc(kind) or ""]
    if issubclass(kind, PyptoOp):
        parts[:0] = [usage(kind), "\n".join(operand_lines(kind)).replace("`", "")]
    text = textwrap.indent("\n\n".join(filter(None, parts)), "    ")
    return f"{kind.name}\n\n{text}\n"
