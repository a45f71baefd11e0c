"""What a modelled time says of values that were not given, but decide it."""

from __future__ import annotations

from collections.abc import Iterable


def origin_lines(
    assumed: Iterable[str], recorded: Iterable[str], runs: str = "a run"
) -> list[str]:
    """
    Lines below a table: values that are made up, and those that a run computed.

    The names are those of arguments and of values; each is said once.
    """
    lines: list[str] = []
    if names := ", ".join(dict.fromkeys(assumed)):
        lines.append(f"assumed   values of {names} are made up")
    if names := ", ".join(dict.fromkeys(recorded)):
        lines.append(f"recorded  values of {names} are from {runs} of the program")
    return lines
