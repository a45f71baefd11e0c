"""Passes made up by a test, known to the driver while it runs; a browser for pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import browsing
import pytest


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless browser for all tests: it takes seconds to start."""
    yield from browsing.browser(tmp_path_factory.mktemp("user"))


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that makes pass classes known by their names."""
    from pyptoc.passes import REGISTERED, register_pass

    monkeypatch.setattr("pyptoc.passes.REGISTERED", dict(REGISTERED))

    def add(*classes: type) -> None:
        for cls in classes:
            register_pass(cls)

    return add
