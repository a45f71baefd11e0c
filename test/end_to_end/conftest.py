"""Tests of one case of an operator run one after the other: they share its data."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts those of `test_corpus.py` by operator and case, among themselves."""
    places = [
        place for place, item in enumerate(items) if item.path.name == "test_corpus.py"
    ]
    for place, item in zip(places, sorted((items[at] for at in places), key=_case)):
        items[place] = item


def _case(item: pytest.Item) -> tuple[str, str]:
    """The operator and the case of a test; of some it is the whole operator."""
    callspec = getattr(item, "callspec", None)
    params = callspec.params if callspec is not None else {}
    run = params.get("run")
    return (run.name, str(run.case)) if run else (params.get("name", ""), "")
