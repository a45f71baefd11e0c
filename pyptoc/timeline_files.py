"""
`--trace` and `--report`: a simulated timeline as files.

Each file takes its name when it is complete (`files.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyptoc.files import atomic_file
from pyptoc.options import Options

if TYPE_CHECKING:
    from pyptoc.runtime.timing_result import Timeline


def check_files(options: Options) -> None:
    """Raises `CompileError` early if a package that a file needs is missing."""
    if options.report is not None:
        from pyptoc.runtime.html_report import check_packages

        check_packages()


def write_files(
    options: Options, timeline: Timeline, sources: Mapping[str, str]
) -> list[str]:
    """
    Writes what is asked for; lines that say which file shows what.

    sources: texts of source files by the names that locations have.
    """
    lines: list[str] = []
    if options.trace is not None:
        from pyptoc.runtime.timing_detail import detail
        from pyptoc.runtime.trace import trace_note, write_trace

        found = detail(timeline, options.trace_tasks)
        with atomic_file(options.trace) as stream:
            write_trace(stream, found)
        lines.append(f"trace     {options.trace}: {trace_note(found)}")
    if options.report is not None:
        from pyptoc.runtime.html_report import render

        page = render(timeline, sources)
        with atomic_file(options.report) as stream:
            stream.write(page.encode("utf-8", "replace"))
        lines.append(f"report    {options.report}")
    return lines
