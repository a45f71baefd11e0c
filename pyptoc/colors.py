"""
Colours on terminals: whether, for `--color` and the variable NO_COLOR, and which.
"""

from __future__ import annotations

import os
import re
from typing import TextIO

RESET = "\033[0m"
BOLD, RED, YELLOW, BLUE, GREEN, CYAN = (
    f"\033[{code}m" for code in ("1", "1;31", "1;33", "1;34", "1;32", "1;36")
)
_SEVERITIES = {"error": RED, "warning": YELLOW, "remark": BLUE}
_HEADLINE = re.compile(r"(.*?:\d+:\d+: )?((error|warning|remark)\[PTO\d+\])(.*)")
_CARETS = re.compile(r"( +\| +)(\^+)(.*)")
_WORD = re.compile(r"( +)((?:rule|here|note|help):)(.*)")

_choice = "auto"


def choose(choice: str) -> None:
    """What `--color` says for this command: `auto`, `always` or `never`."""
    global _choice
    _choice = choice


def wanted(stream: TextIO) -> bool:
    """Whether text for `stream` is coloured."""
    if _choice != "auto":
        return _choice == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and stream.isatty()


def diagnostic(text: str) -> str:
    """A diagnostic as it was rendered, with colours."""
    return "\n".join(map(_line, text.split("\n")))


def _line(line: str) -> str:
    if found := _HEADLINE.fullmatch(line):
        place, head, severity, rest = found.groups("")
        color = _SEVERITIES[severity]
        return f"{BOLD}{place}{RESET}{color}{head}{RESET}{BOLD}{rest}{RESET}"
    if found := _CARETS.fullmatch(line):
        return f"{found[1]}{GREEN}{found[2]}{RESET}{found[3]}"
    if found := _WORD.fullmatch(line):
        return f"{found[1]}{CYAN}{found[2]}{RESET}{found[3]}"
    return line
