"""Times and sizes in texts for people: three or four digits and a unit."""

from __future__ import annotations


def time_text(seconds: float) -> str:
    """`12.3 us`, `1.25 ms` or `2.00 s`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e6:.1f} us"


def size_text(size: float) -> str:
    """`12 B` or `3.40 MB`; a KB is 1000 bytes."""
    for unit, value in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= value:
            return f"{size / value:.2f} {unit}"
    return f"{size:.0f} B"


def percent_text(share: float) -> str:
    """`12.3 %`; what is not 0 does not read 0."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.1f} %" if share < 0.9995 else f"{100 * share:.0f} %"
