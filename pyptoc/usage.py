"""What an input is named, and what is wrong with a command line, as an exception."""

from __future__ import annotations


class UsageError(Exception):
    """A command line that cannot be understood; the text says why and what to do."""

    code = "PTO500"

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help


def is_operator(name: str | None) -> bool:
    """Whether an input is `@NAME`, an operator of the corpus."""
    return (name or "").startswith("@")
