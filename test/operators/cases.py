"""What the cases of all operators have."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class NamedCase:
    """Sizes and data of one run of an operator, which adds fields of its own."""

    name: str
    long: bool = field(default=False, kw_only=True)
    """Whether it takes more than a few seconds, and ordinary tests leave it out."""

    def __str__(self) -> str:
        return self.name
