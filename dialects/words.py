"""Numbers in texts: `1 launch`, `3 launches`."""

from __future__ import annotations

import re

IRREGULAR = {"axis": "axes", "index": "indices"}
"""Plurals that no rule gives, by the last word."""


def counted(number: object, noun: str, form: str = "") -> str:
    """`1 subscript`, `3 subscripts`; `form` is how the number is shown (`,`)."""
    return f"{number:{form}} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """The plural of a noun, or of the last word of several."""
    before, blank, last = noun.rpartition(" ")
    if last in IRREGULAR:
        last = IRREGULAR[last]
    elif re.search(r"(?:s|x|ch|sh)$", last):
        last += "es"
    elif re.search(r"[^aeiou]y$", last):
        last = f"{last[:-1]}ies"
    else:
        last += "s"
    return f"{before}{blank}{last}"
