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
