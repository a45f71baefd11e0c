"""
The plot of a sweep: time against the key with the most values, a line for each other.

.png and .svg are drawn by matplotlib, .html (with hovering and zooming) by plotly.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from pyptoc.dialects.record import record
from pyptoc.files import atomic_file, write_text
from pyptoc.sweep_spec import show
from pyptoc.sweep_workers import missing_extra
from pyptoc.sweeping import SweepRow, best_of
from pyptoc.usage import UsageError

LIBRARIES = {".png": "matplotlib", ".svg": "matplotlib", ".html": "plotly"}
WIDE = 8.0
"""Values that span more than this factor are shown on a logarithmic axis."""
MOST_LINES = 40


@record
class Line:
    """The points that differ in x only."""

    label: str
    x: list[Any] = field(default_factory=list[Any])
    microseconds: list[float | None] = field(default_factory=list[float | None])
    notes: list[str] = field(default_factory=list[str])


@record
class Picture:
    """What is drawn."""

    title: str
    key: str
    """Along x."""
    numeric: bool
    log_x: bool
    log_y: bool
    lines: list[Line]
    best: list[tuple[Any, float]]
    """Where the least times are: one for each choice of sizes."""
    left_out: int
    """Lines beyond `MOST_LINES`."""


def check_plot(name: str) -> None:
    """Refuse a file that cannot be drawn, before anything is computed."""
    ending = Path(name).suffix.lower()
    if ending not in LIBRARIES:
        raise UsageError(
            f"--sweep-plot={name}: a plot is {', '.join(LIBRARIES)}",
            f"--sweep-plot={Path(name).stem or 'sweep'}.png",
        )
    library = LIBRARIES[ending]
    try:
        importlib.import_module(library)
    except ImportError:
        missing_extra(f"a {ending} plot needs {library}", "plot")


def write_plot(name: str, rows: Sequence[SweepRow], title: str) -> None:
    """Draws the rows into a file of one of the kinds of `check_plot`."""
    picture = picture_of(rows, title)
    ending = Path(name).suffix.lower()
    if ending == ".html":
        write_text(name, _html(picture))
        return
    data = _image(picture, ending[1:])
    with atomic_file(name) as stream:
        stream.write(data)


def picture_of(rows: Sequence[SweepRow], title: str) -> Picture:
    """Which key is x, which points are a line, and where the least time is."""
    keys = list(rows[0].point)
    values = {key: list({show(r.point[key]): r.point[key] for r in rows}.values())
              for key in keys}  # fmt: skip

    def rank(key: str) -> tuple[bool, int]:
        return _numeric(values[key]), len(values[key])

    x = max((key for key in keys if len(values[key]) > 1), key=rank, default=keys[0])
    lines: dict[str, Line] = {}
    numeric = _numeric(values[x])
    for row in rows:
        label = "  ".join(
            f"{key}={show(value)}"
            for key, value in row.point.items()
            if key != x and len(values[key]) > 1
        )
        line = lines.setdefault(label, Line(label))
        line.x.append(_x(row.point[x], numeric))
        time = None if row.seconds is None else 1e6 * row.seconds
        line.microseconds.append(time)
        line.notes.append(f"{row.error} {row.message}" if row.error else row.bound)
    times = [1e6 * row.seconds for row in rows if row.seconds is not None]
    best = [row for row, fastest in zip(rows, best_of(rows)) if row is fastest]
    shown = list(lines.values())[:MOST_LINES]
    return Picture(
        title=title,
        key=x,
        numeric=numeric,
        log_x=numeric and _wide(values[x]),
        log_y=_wide(times),
        lines=shown,
        best=[(_x(row.point[x], numeric), 1e6 * (row.seconds or 0)) for row in best],
        left_out=len(lines) - len(shown),
    )


def _x(value: Any, numeric: bool) -> Any:
    return value if numeric else show(value)


def _numeric(values: Sequence[Any]) -> bool:
    return all(
        isinstance(value, int | float) and not isinstance(value, bool)
        for value in values
    )


def _wide(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) > WIDE


def _note(picture: Picture) -> str:
    left_out = f", {picture.left_out} lines left out" if picture.left_out else ""
    return f"{picture.title}: modelled, not measured{left_out}"


def _image(picture: Picture, kind: str) -> bytes:
    import matplotlib  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]

    # The same rows give the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "pyptoc"}):
        figure: Any = Figure(figsize=(8, 5), layout="constrained")
        axes: Any = figure.add_subplot()
        for line in picture.lines:
            times = [float("nan") if t is None else t for t in line.microseconds]
            axes.plot(line.x, times, marker="o", label=line.label)
        if picture.best:
            axes.plot(*zip(*picture.best), "k*", markersize=14, label="best")
        if picture.log_x:
            axes.set_xscale("log", base=2)
            axes.set_xticks(sorted({x for line in picture.lines for x in line.x}))
            axes.xaxis.set_major_formatter("{x:g}")
        if picture.log_y:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("{x:g}")
        else:
            axes.set_ylim(bottom=0)
        axes.set(xlabel=picture.key, ylabel="time, us", title=_note(picture))
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
        stream = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(stream, format=kind, metadata=metadata)
    return stream.getvalue()


def _html(picture: Picture) -> str:
    import plotly.graph_objects as go  # pyright: ignore[reportMissingImports]

    figure: Any = go.Figure()
    for line in picture.lines:
        figure.add_scatter(
            x=line.x,
            y=line.microseconds,
            text=line.notes,
            mode="lines+markers",
            name=line.label or "time",
        )
    if picture.best:
        x, times = zip(*picture.best)
        marker = {"symbol": "star", "size": 14, "color": "black"}
        figure.add_scatter(x=x, y=times, mode="markers", marker=marker, name="best")
    figure.update_layout(
        title=_note(picture), template="plotly_white", yaxis_title="time, us"
    )
    kind = "log" if picture.log_x else "linear" if picture.numeric else "category"
    figure.update_xaxes(title=picture.key, type=kind)
    figure.update_yaxes(type="log" if picture.log_y else "linear", rangemode="tozero")
    return figure.to_html(include_plotlyjs=True, div_id="sweep")
