"""
When Python looks for cycles among objects: seldom while compiling.

A compilation makes long-lived objects only (classes when it loads what it needs, then
the IR), and the default thresholds would go through all of them again and again: a
third of a compilation in a new process.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (500_000, 50, 100)
"""Objects made, and not given back, before a collection: some 100 MB of them."""


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Within it, and for the whole process, the collector runs as `SELDOM` says."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
