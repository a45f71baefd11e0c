"""
What notebooks show of programs, timelines and sweeps: small pieces of HTML.

All text is escaped; styles are on the elements, since a notebook has its own sheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_PRE = "max-height: 30em; overflow: auto; text-align: left; white-space: pre"
_HEAD = "text-align: left"


def text_html(title: str, text: str, *, closed: bool = False) -> str:
    """A title that opens and closes a text."""
    state = "" if closed else " open"
    return (
        f"<details{state}><summary>{escape(title)}</summary>"
        f'<pre style="{_PRE}">{escape(text)}</pre></details>'
    )


def table_html(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a head; cells are shown as texts."""
    names = "".join(f'<th style="{_HEAD}">{escape(name)}</th>' for name in head)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{_HEAD}">{escape(str(cell))}</td>' for cell in row)
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def title_html(text: str) -> str:
    """A line above the rest."""
    return f"<p><strong>{escape(text)}</strong></p>"
