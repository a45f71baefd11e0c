"""
`--list-machines`, `--list-ops` and `--list-operators`.
"""

from __future__ import annotations

import inspect
import textwrap
from typing import TYPE_CHECKING

from pyptoc.tables import table

if TYPE_CHECKING:
    from xdsl.ir import Operation

IN_FULL = 3
"""So many ops are described in full by `--list-ops WORD`."""


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
    semantics, and an example of the syntax. So it does for the name of an op, before
    the others that have the word.
    """
    from pyptoc.dialects.op_docs import op_doc
    from pyptoc.op_page import ops_of, short_name

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
    if not found:
        names = [short_name(kind) for kind, _ in kinds]
        return _none("op", word, [*names, *(kind.name for kind, _ in kinds)])
    full = [kind for kind, _ in found if word in (kind.name, short_name(kind))]
    if word and len(found) <= IN_FULL:
        full = [kind for kind, _ in found]
    rows = [(kind.name, summary) for kind, summary in found if kind not in full]
    return "\n".join([*map(_in_full, full), *(table(rows) if rows else ())])


def operators(word: str) -> str:
    """The operators of the corpus with their summaries; `word` selects some."""
    from pyptoc.operators import names, summary

    rows = [
        (f"@{name}", textwrap.shorten(summary(name), 88, placeholder=" ..."))
        for name in names()
    ]
    found = [row for row in rows if word.lower() in " ".join(row).lower()]
    parts = [part for name in names() for part in (name, *name.split("_"))]
    return "\n".join(table(found)) if found else _none("operator", word, parts)


def _none(what: str, word: str, known: list[str]) -> str:
    from pyptoc.dialects.near import did_you_mean

    hint = did_you_mean(word, known)
    return f"no {what} has '{word}' in it" + (f"; {hint}" if hint else "")


def _in_full(kind: type[Operation]) -> str:
    """Syntax, operands and results, and all of the docstring."""
    from pyptoc.dialects.pypto.base import PyptoOp
    from pyptoc.op_page import operand_lines, usage

    parts = [inspect.getdoc(kind) or ""]
    if issubclass(kind, PyptoOp):
        parts[:0] = [usage(kind), "\n".join(operand_lines(kind)).replace("`", "")]
    text = textwrap.indent("\n\n".join(filter(None, parts)), "    ")
    return f"{kind.name}\n\n{text}\n"
