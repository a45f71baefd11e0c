"""
Diagnostics to standard error, as the options ask: rendered, or held against the
`expected-error` comments of a test.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
                    sys.stderr.write(render(diagnostic, {}) + "\n")
            else:
                sys.stderr.write(render(diagnostic, self.sources) + "\n")


def plain_error(code: str, message: str, help: str = "") -> None:
    """An error that has no place in a source, without loading the compiler."""
    sys.stderr.write(f"error[{code}]: {message}\n")
    if help:
        sys.stderr.write(f"   help: {help}\n")
