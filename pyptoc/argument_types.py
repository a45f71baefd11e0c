"""What a call of the API is given in place of what it takes is a `TypeError`."""

from __future__ import annotations

from types import UnionType


def expect(given: object, types: type | UnionType, takes: str) -> None:
    """Raises `TypeError` where an argument is of another type than the call takes."""
    if not isinstance(given, types):
        raise TypeError(f"{takes}, no {type(given).__name__}")
