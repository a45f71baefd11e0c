"""
What is known of the passes: `--list-passes`, `--help-pass`, `--docs-passes` and
`--show-dialects`.

Summaries, options, anchors and counters come from the declarations of the passes, the
IR before and after from the docstrings of their modules.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import textwrap
from itertools import pairwise
from typing import Any

from pyptoc.dialects.near import did_you_mean
from pyptoc.passes import LEVELS, PASSES, pass_class, pass_names
from pyptoc.passes.base import PyptocPass
from pyptoc.tables import table
from pyptoc.usage import UsageError


def passes() -> str:
    """Every pass in the order of the default pipeline, with its options; then yours."""
    lines: list[str] = []
    width = max(map(len, pass_names()))
    for name in pass_names():
        cls = pass_class(name)
        lines.append(f"{name:<{width}}  {cls.summary}")
        lines += textwrap.indent(_options(cls), " " * (width + 4)).splitlines()
    return "\n".join(lines)


def describe(name: str) -> str:
    """All about one pass; raises `UsageError` where there is none of that name."""
    if name not in pass_names():
        raise UsageError(
            f"there is no pass '{name}'",
            did_you_mean(name, pass_names()) or "pyptoc --list-passes lists them",
        )
    cls = pass_class(name)
    parts = [f"{name}: {cls.summary}"]
    module = inspect.getdoc(sys.modules[cls.__module__]) or ""
    parts.append(textwrap.indent(module, "    "))
    rows = [("works on", cls.anchor)]
    levels = [level for level, last in LEVELS.items() if last == name]
    rows += [("level behind it", level) for level in levels]
    if cls.reorders_float_sums:
        rows.append(("results", "float sums may be added in another order"))
    parts.append("\n".join(table(rows)))
    parts.append("options:\n" + textwrap.indent(_options(cls) or "none", "    "))
    if cls.counters:
        counts = "\n".join(table(list(cls.counters.items())))
        parts.append("--pass-statistics:\n" + textwrap.indent(counts, "    "))
    return "\n\n".join(parts)


def _options(cls: type[PyptocPass]) -> str:
    """The options of a pass with types, defaults and meanings."""
    from xdsl.passes import get_pass_option_infos

    lines: list[str] = []
    for option in get_pass_option_infos(cls):
        # Annotations are text, which comes in quotes.
        kind = option.expected_type.strip("'")
        lines.append(f"{option.name}: {kind}{_default(cls, option.name)}")
        meaning = option_docs(cls).get(option.name, "")
        lines += textwrap.wrap(
            meaning, 70, initial_indent="    ", subsequent_indent="    "
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


def page() -> str:
    """`--docs-passes`: the table of docs/passes.md."""
    from xdsl.passes import get_pass_option_infos

    levels = {last: level for level, last in LEVELS.items()}
    lines = [
        "| pass | what it does | works on | options | level behind it |",
        "|---|---|---|---|---|",
    ]
    for name in PASSES:
        cls = pass_class(name)
        options = ", ".join(f"`{each.name}`" for each in get_pass_option_infos(cls))
        cells = (f"`{name}`", cls.summary, cls.anchor, options, levels.get(name, ""))
        lines.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    return "\n".join(lines).replace("|  |", "| |") + "\n"


def dialects() -> str:
    """`--show-dialects`: those that a file may use, as mlir-opt words it."""
    from pyptoc.dialects.context import DIALECTS

    return f"Available Dialects: {', '.join(sorted(DIALECTS))}"
