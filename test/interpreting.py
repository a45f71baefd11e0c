"""Runs a program in the reference interpreter."""

from __future__ import annotations

from typing import Any

import pytest

from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import Diagnostic, RunError
from pyptoc.dialects.parsing import parse_module
from pyptoc.runtime.reference import interpret


def run(text: str, **inputs: Any) -> dict[str, Any]:
    """The results of a program by name."""
    return interpret(parse_module(text, "t.mlir", make_context()), inputs)


def failure(text: str, **inputs: Any) -> Diagnostic:
    """The one diagnostic of a run that fails."""
    with pytest.raises(RunError) as caught:
        run(text, **inputs)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.at_run_time
    return diagnostic
