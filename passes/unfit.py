"""Why the body of independent loops cannot be one task (`whole_nests.py`)."""

from __future__ import annotations


class UnfitError(Exception):
    """The reason, in the words of a remark."""

    def __init__(self, reason: str, *, outside: bool = False) -> None:
        super().__init__(reason)
        self.outside = outside
        """Whether only the loops around the innermost one are in the way."""
