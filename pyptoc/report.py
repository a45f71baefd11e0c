"""
Diagnostics to standard error, as the options ask: rendered, or held against the
`expected-error` comments of a test.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptoc import colors

if TYPE_CHECKING:
    from pyptoc.dialects.diagnostics import Diagnostic


@dataclass
class Reporter:
    """
    Prints diagnostics as they come, or keeps them for `--verify-diagnostics`.

    Remarks are printed only on request: they are about speed, the program is right.
    """

    sources: dict[str, str] = field(default_factory=dict[str, str])
    keep: bool = False
    remarks: bool = False
    kept: list[Diagnostic] = field(default_factory=list["Diagnostic"])

    def report(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Prints, or keeps, diagnostics."""
        from pyptoc.diagnostics import render

        for diagnostic in diagnostics:
            if self.keep:
                self.kept.append(diagnostic)
            elif diagnostic.severity == "remark":
                if self.remarks:
                    # One line: the text around it is no news.
                    _write(render(diagnostic, {}))
            else:
                _write(render(diagnostic, self.sources))


def plain_error(code: str, message: str, help: str = "") -> None:
    """An error that has no place in a source, without loading the compiler."""
    _write(f"error[{code}]: {message}" + (f"\n   help: {help}" if help else ""))


def _write(text: str) -> None:
    if colors.wanted(sys.stderr):
        text = colors.diagnostic(text)
    sys.stderr.write(f"{text}\n")
