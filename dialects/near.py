"""What a misspelt word was perhaps meant to be; capital letters do not count."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word that is most like another one; None if none is like it."""
    from difflib import get_close_matches

    folded = {each.casefold(): each for each in reversed(list(known))}
    near = get_close_matches(word.casefold(), folded, n=1, cutoff=cutoff)
    return folded[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str], prefix: str = "") -> str:
    """A help text with the nearest known word, or the empty string."""
    near = nearest(word, known)
    return f"did you mean {prefix}{near}?" if near is not None else ""
