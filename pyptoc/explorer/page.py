"""
The page: `page/explorer.html` with the style, the scripts and the data inside.

Texts of the input are only in the data, JSON in which `<`, `>` and `&` are written as
escapes; the scripts put them on the page as texts and never as markup.
"""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyptoc import __version__
from pyptoc.dialects.diagnostics import CompileError, Diagnostic, file_place, place_of
from pyptoc.explorer.located import places_of
from pyptoc.explorer.recorder import Recorder, Step

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.runtime.machine import Machine
    from pyptoc.runtime.timing_result import Timeline

PAGE = Path(__file__).parent / "page"

SCRIPTS = (
    *("state", "syntax", "diff", "passes", "code", "lineage", "search"),
    *("views", "memory", "launches", "timeline", "keys"),
)
"""The scripts in the order in which they need each other."""

Data = dict[str, Any]


@dataclass
class Shown:
    """What the page is made of."""

    recorder: Recorder
    machine: Machine
    errors: tuple[Diagnostic, ...] = ()
    module: ModuleOp | None = None
    """The compiled module; None where that failed."""
    timeline: Timeline | None = None
    no_timeline: str = ""
    """Why there is no timeline, and what would help."""


def page(shown: Shown) -> str:
    """The page as text."""
    parts = {
        "title": html.escape(f"{shown.recorder.unit.name}: passes"),
        "style": (PAGE / "explorer.css").read_text("utf-8"),
        "data": _json(page_data(shown)),
        "scripts": "".join(
            f"<script>{(PAGE / f'{name}.js').read_text('utf-8')}</script>\n"
            for name in SCRIPTS
        ),
    }
    # Pieces between placeholders, so that no text that is filled in is looked through.
    first, *rest = (PAGE / "explorer.html").read_text("utf-8").split("{{")
    filled = [first]
    for piece in rest:
        name, _, after = piece.partition("}}")
        filled += [parts[name.strip()], after]
    return "".join(filled)


def _json(data: Data) -> str:
    text = json.dumps(data, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def page_data(shown: Shown) -> Data:
    """All that the scripts need, as plain numbers, texts, lists and dicts."""
    recorder = shown.recorder
    return {
        "name": recorder.unit.name,
        "machine": shown.machine.name,
        "version": __version__,
        "command": " ".join(recorder.options.words),
        "lines": recorder.lines.values,
        "places": recorder.places.values,
        "sets": recorder.sets.values,
        "dumps": [
            {"lines": dump.lines, "sets": dump.places, "left_out": dump.left_out}
            for dump in recorder.dumps.values
        ],
        "steps": [_step(step, recorder.unit.name) for step in recorder.steps],
        "errors": [_diagnostic(each, recorder.unit.name) for each in shown.errors],
        **_program(shown),
        "timeline": _timeline(shown),
    }


def _step(step: Step, file: str) -> Data:
    return {
        "name": step.name,
        "kind": step.kind,
        "dump": step.dump,
        "changed": step.changed,
        "options": step.options,
        "summary": step.summary,
        "seconds": round(step.seconds, 6),
        "ops": dict(step.ops.most_common()),
        "remarks": [_diagnostic(each, file) for each in step.remarks],
    }


def _diagnostic(one: Diagnostic, file: str) -> Data:
    """A finding with its line and column in the file, 0 where it has none there."""
    line, column = next(places_of(file_place(one.location), file), (0, 0))
    return {
        "severity": one.severity,
        "code": one.code,
        "message": one.message,
        "place": place_of(file_place(one.location)),
        "line": line,
        "column": column,
        "length": one.length,
        "label": one.label,
        "details": one.details(""),
    }


def _program(shown: Shown) -> Data:
    """Memory and launches of the compiled module."""
    data: Data = {"memory": [], "launches": {"nodes": [], "edges": []}}
    text = shown.recorder.last
    if shown.module is not None and text is not None:
        from pyptoc.explorer.launches import launch_data
        from pyptoc.explorer.memory import memory_data

        try:
            data["memory"] = memory_data(shown.module, shown.machine, text)
        except CompileError as problem:
            data["no_memory"] = problem.diagnostics[0].message
        data["launches"] = launch_data(shown.module, text)
    return data


def _timeline(shown: Shown) -> Data:
    if shown.timeline is None:
        reason = shown.no_timeline or "The program did not compile."
        return {"reason": reason}
    from pyptoc.explorer.timing import timeline_data

    return timeline_data(shown.timeline)
