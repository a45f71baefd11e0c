"""Passes made up by a test, known to the driver while it runs; a browser for pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import browsing
import pytest


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless browser for all tests of a file."""
    yield from browsing.browser(tmp_path_factory.mktemp("user"))


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that makes pass classes known by their names."""
    import pyptoc.pipeline
    from pyptoc.passes import PASSES

    real = pyptoc.pipeline.pass_class

    def add(*classes: type) -> None:
        known = {cls.name: cls for cls in classes}
        for name in known:
            monkeypatch.setitem(PASSES, name, "made:Up")
        monkeypatch.setattr(
            pyptoc.pipeline, "pass_class", lambda name: known.get(name) or real(name)
        )

    return add
