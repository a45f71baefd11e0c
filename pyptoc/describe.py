"""
`--describe`: what inputs an operator wants and what it gives; a program in words.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyptoc.cases import case_names
from pyptoc.dialects.words import counted
from pyptoc.tables import table

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.runtime.signature import Argument


def describe(
    module: ModuleOp, file: str, entry: str | None = None, options: Sequence[str] = ()
) -> str:
    """
    The tables of arguments, sizes, results and cases, and a command that runs it.

    file, options: the input as the command line names it, and what the command keeps.
    """
    from pyptoc.runtime.random_inputs import example_sizes
    from pyptoc.runtime.signature import read_signature

    signature = read_signature(module, entry)
    rows = [("argument", "type", "sizes", "random data")]
    for argument in signature.arguments:
        dims = ", ".join(dim for dim in argument.dims if dim)
        rows.append((argument.name, argument.type_text, dims or "-", _data(argument)))
    lines = [f"@{signature.name}", "", *table(rows), ""]
    rows = [("result", "type", "tolerance")]
    for result in signature.results:
        kind = result.type_text
        if result.in_place:
            kind += f"   (updates %{result.name})"
        rows.append((result.name, kind, str(result.tolerance)))
    lines += [*table(rows), ""]
    if signature.dims:
        lines.append(f"sizes to bind: {', '.join(signature.dims)}")
    cases = case_names(module, file)
    if cases:
        lines.append(f"cases: {', '.join(cases)}")
    sizes = example_sizes(signature)
    bind = ",".join(f"{name}={size}" for name, size in sizes.items())
    words = ["pyptoc", file, *options, "--run", "--random-inputs=1"]
    words += [f"--bind={bind}"] if bind else []
    lines.append(f"try: {shlex.join(words)}")
    return "\n".join(lines)


def _data(argument: Argument) -> str:
    if argument.default is not None:
        return f"default {argument.default:g}"
    rule = argument.data
    if rule is None:
        kind = str(argument.element_type)
        if kind.startswith(("i", "ui")):
            return "0 or 1" if kind == "i1" else "integer -8 to 8"
        return "2^-4 to 1" if kind == "f8E8M0FNU" else "uniform -1 to 1"
    what = rule.of or f"{rule.low} to {rule.high}"
    return f"{rule.kind} {what}" + (", skip" if rule.skip else "")


def describe_program(module: ModuleOp) -> str:
    """How many kernels, launches or tasks a module has, in words."""
    names = [op.name for op in module.walk()]
    counts = {
        word: names.count(name)
        for word, name in (
            ("kernel", "npu.kernel"),
            ("launch", "npu.launch"),
            ("task group", "npu.tasks"),
        )
    }
    parts = [counted(count, word) for word, count in counts.items() if count]
    if parts:
        return ", ".join(parts)
    from pyptoc.runtime.run import is_lowered

    return "no kernels" if is_lowered(module) else "interpreted at the tensor level"
