"""
Tables on standard output, with colours where that is a terminal.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence

from pyptoc import colors


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines with aligned columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip()
        for row in rows
    ]


VERDICTS = {r"\b(ok|PASS)\b": "green", r"\bFAIL\b": "bold red"}
"""How a terminal shows verdicts."""


def show(lines: Sequence[str], styles: Mapping[str, str] = VERDICTS) -> None:
    """
    Prints lines.

    styles: what a terminal shows how; patterns to styles of rich.
    """
    if not colors.wanted(sys.stdout):
        print("\n".join(lines))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(
        highlight=False,
        soft_wrap=True,
        force_terminal=True,
        no_color=False,  # whatever NO_COLOR says: that is decided
        color_system="standard",
    )
    for line in lines:
        text = Text(line)
        for pattern, style in styles.items():
            text.highlight_regex(re.compile(pattern), style)
        console.print(text)
