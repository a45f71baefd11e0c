"""
pyptoc compiles fused NPU operators from MLIR text to a scheduled tile program.

From Python:

    import pyptoc
    program = pyptoc.compile("softmax.mlir")
    results = program.run(x=numpy.ones((4, 512), numpy.float32))

From the command line: `pyptoc --help`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyptoc.api import Program, compile
    from pyptoc.cli import main
    from pyptoc.dialects.diagnostics import CompileError, RunError
    from pyptoc.sweeping import SweepRow, sweep

__all__ = [
    "CompileError",
    "Program",
    "RunError",
    "SweepRow",
    "__version__",
    "compile",
    "main",
    "sweep",
]

__version__ = "0.1.0"

_LAZY = {
    "CompileError": "pyptoc.dialects.diagnostics",
    "RunError": "pyptoc.dialects.diagnostics",
    "compile": "pyptoc.api",
    "Program": "pyptoc.api",
    "main": "pyptoc.cli",
    "sweep": "pyptoc.sweeping",
    "SweepRow": "pyptoc.sweeping",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


def __getattr__(name: str) -> Any:
    # `pyptoc --version` and `import pyptoc` must not pay for xdsl and the dialects.
    from importlib import import_module

    if name not in _LAZY:
        raise AttributeError(f"module 'pyptoc' has no attribute '{name}'")
    return getattr(import_module(_LAZY[name]), name)
