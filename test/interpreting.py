"""Runs a program in the reference interpreter, and compares what it gives."""

from __future__ import annotations

from typing import Any

import numpy as np
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


def close(got: Any, expected: Any, rtol: float, atol: float = 0.0) -> None:
    """All elements within the tolerance, none of them NaN, not all of them zero."""
    assert got.shape == expected.shape
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    assert np.isfinite(got).all()
    assert np.isfinite(expected).all()
    assert np.any(expected != 0)
    assert (np.abs(got - expected) <= atol + rtol * np.abs(expected)).all()
