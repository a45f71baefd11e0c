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
    from pyptoc.api import Program, compile, machines
    from pyptoc.cli import main
    from pyptoc.dialects.diagnostics import CompileError, Diagnostic, RunError
    from pyptoc.passes import register_pass
    from pyptoc.passes.base import PyptocPass as Pass
    from pyptoc.pipeline import Pipeline
    from pyptoc.runtime.timing_result import Timeline
    from pyptoc.sweeping import SweepRow, sweep

__all__ = [
    "CompileError",
    "Diagnostic",
    "Pass",
    "Pipeline",
    "Program",
    "RunError",
    "SweepRow",
    "Timeline",
    "__version__",
    "compile",
    "machines",
    "main",
    "register_pass",
    "sweep",
]

__version__ = "0.1.0"

_LAZY = {
    "CompileError": "pyptoc.dialects.diagnostics",
    "Diagnostic": "pyptoc.dialects.diagnostics",
    "RunError": "pyptoc.dialects.diagnostics",
    "Timeline": "pyptoc.runtime.timing_result",
    "compile": "pyptoc.api",
    "Program": "pyptoc.api",
    "Pass": "pyptoc.passes.base:PyptocPass",
    "Pipeline": "pyptoc.pipeline",
    "machines": "pyptoc.api",
    "register_pass": "pyptoc.passes",
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
    module, _, attribute = _LAZY[name].partition(":")
    return getattr(import_module(module), attribute or name)
