"""
`--list-passes`, `--list-machines` and `--list-ops`.
"""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from typing import Any

from pyptoc.run_command import table

IN_FULL = 3
"""So many ops are described in full by `--list-ops WORD`."""


def passes() -> str:
    """Every pass in the order of the default pipeline, with its options."""
    from xdsl.passes import get_pass_option_infos

    from pyptoc.passes import PASSES, pass_class

    lines: list[str] = []
    width = max(map(len, PASSES))
    for name in PASSES:
        cls = pass_class(name)
        lines.append(f"{name:<{width}}  {cls.summary}")
        for option in get_pass_option_infos(cls):
            default = _default(cls, option.name)
            lines.append(
                f"{'':<{width}}    {option.name}: {option.expected_type}{default}"
            )
    return "\n".join(lines)


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
    The ops of our dialects with their summaries; `word` selects some of them.

    Where it selects no more than `IN_FULL`, what follows the summary comes, too:
    semantics, and an example of the syntax.
    """
    from xdsl.ir import Operation

    from pyptoc.dialects.context import make_context

    context = make_context()
    found: list[tuple[str, str]] = []
    texts: list[str] = []
    kinds: list[type[Operation]] = []
    for dialect in ("pypto", "npu", "tile"):
        context.load_registered_dialect(dialect)
    for dialect in context.loaded_dialects:
        if dialect.name in ("pypto", "npu", "tile"):
            kinds += dialect.operations
    for kind in kinds:
        text = inspect.getdoc(kind) or ""
        summary = text.split("\n\n")[0].replace("\n", " ")
        if word.lower() in f"{kind.name} {summary}".lower():
            found.append((kind.name, summary))
            texts.append(f"{kind.name}\n\n{textwrap.indent(text, '    ')}\n")
    if word and 0 < len(found) <= IN_FULL:
        return "\n".join(texts)
    return "\n".join(table(found)) if found else f"no op has '{word}' in it"
