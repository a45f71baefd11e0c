"""
A timeline as one page: `page/report.html` filled in, with all that it needs inside.

Tables are in the page's text and need no script. Plots are drawn by plotly.js from the
data of `html_data.py`; nothing is loaded from anywhere. jinja2 escapes every text that
comes from the input. Both packages come with `pip install 'pyptoc[report]'`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

from pyptoc.dialects.diagnostics import error
from pyptoc.runtime.html_data import MOST_ROWS, bounds, named, page_data, short_place
from pyptoc.runtime.timing_result import KernelTime, LaunchTime, PathStep, Timeline
from pyptoc.runtime.units import percent_text, size_text, time_text

PAGE = Path(__file__).parent / "page"

Row = dict[str, Any]


def check_packages() -> None:
    """Raise `CompileError` (PTO508) unless the packages for reports are there."""
    for name in ("jinja2", "plotly"):
        try:
            import_module(name)
        except ImportError:
            error(
                None,
                "PTO508",
                f"a report needs the package {name}, which is not installed",
                help="pip install 'pyptoc[report]'",
            )


def render(timeline: Timeline, sources: Mapping[str, str]) -> str:
    """
    The page.

    sources: the texts of source files by the names that locations have.
    Raises `CompileError` (PTO508) where a package is missing.
    """
    check_packages()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from plotly.offline import get_plotlyjs  # pyright: ignore[reportMissingTypeStubs]

    environment = Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    filters: dict[str, Any] = {"time": time_text, "size": size_text}
    environment.filters.update(filters, percent=percent_text)  # pyright: ignore
    data = page_data(timeline)
    return environment.get_template("report.html").render(
        timeline=timeline,
        machine=timeline.machine,
        headline=_headline(timeline),
        cards=_cards(timeline),
        roofs=_roofs(timeline),
        pipes=_pipes(timeline),
        kernels=_kernels(timeline),
        chain=_chain(timeline),
        path=_path(timeline),
        files=_files(timeline, sources),
        paths=sorted(timeline.bytes.items(), key=lambda item: -item[1]),
        bounds=bounds(timeline, data),
        rooflines=[name for name in ("cube", "vector") if _points(data, name)],
        data=data,
        plotly=get_plotlyjs(),
        styles=(PAGE / "report.css").read_text("utf-8"),
        scripts=[(PAGE / f"{name}.js").read_text("utf-8") for name in SCRIPTS],
    )


SCRIPTS = ("theme", "slices", "timelines", "charts")


def _points(data: Mapping[str, Any], name: str) -> Sequence[Any]:
    return data["roofline"][name]["points"]


_MEANING = {
    "cube": "the matrix pipe of the cube cores works most of the time",
    "vector": "the vector pipe works most of the time",
    "L1": "moving tiles from L1 to L0 takes most of the time",
    "L2": "loading and storing, mostly through L2, takes most of the time",
    "HBM": "loading from HBM takes most of the time",
    "dispatch": "starting launches takes most of the time",
    "dependency": "no pipe works half of the time: tasks and pipes wait for each other",
}


def _headline(timeline: Timeline) -> str:
    return _MEANING.get(timeline.bound, "")


def _cards(timeline: Timeline) -> list[Row]:
    """The figures at the top: label, value and a note."""
    machine, seconds = timeline.machine, timeline.seconds
    nearest = max(timeline.roofs, key=timeline.near)
    moved = timeline.hbm_moved
    ratio = ""
    if timeline.compulsory_bytes:
        ratio = f"{moved / timeline.compulsory_bytes:.2f} x what must move"
    tasks, launches = len(timeline.tasks), len(timeline.launches)
    cards: list[Row] = [
        _card(
            "Time",
            time_text(seconds),
            f"{timeline.cycles:,} cycles at {machine.clock_hz / 1e9:g} GHz",
        ),
        _card(
            "Bound",
            timeline.bound,
            f"nearest roof: {nearest}, {percent_text(timeline.near(nearest))}",
        ),
        _card("HBM traffic", size_text(moved), ratio),
        _card(
            "L2 hits",
            percent_text(timeline.l2_hit),
            f"of {size_text(timeline.loaded)} loaded",
        ),
        _card(
            "Work",
            f"{tasks:,} task{'s' * (tasks != 1)}",
            f"{launches:,} launch{'es' * (launches != 1)}, first after "
            + time_text(machine.launch_seconds),
        ),
    ]
    if timeline.macs and seconds:
        rate = 2 * timeline.macs / seconds / 1e12
        share = percent_text(timeline.near("cube"))
        cards.append(_card("Products", f"{rate:.1f} TFLOP/s", f"{share} of the peak"))
    if timeline.workspace_bytes:
        size = size_text(timeline.workspace_bytes)
        cards.append(_card("Workspace", size, "memory for intermediate results"))
    return cards


def _card(label: str, value: str, note: str) -> Row:
    return {"label": label, "value": value, "note": note}


def _roofs(timeline: Timeline) -> list[Row]:
    names = sorted(timeline.roofs, key=timeline.near, reverse=True)
    return [
        {
            "name": name,
            "seconds": timeline.roofs[name],
            "near": timeline.near(name),
            "above": f"{1 / near:,.1f} x" if (near := timeline.near(name)) else "-",
        }
        for name in names
    ]


def _pipes(timeline: Timeline) -> list[Row]:
    """Each pipe of each unit: busy on average, on the busiest core, cores with work."""
    rows: list[Row] = []
    for unit in ("cube", "vector"):
        cores = [core for core in timeline.cores if core.unit == unit]
        for pipe in timeline.machine.pipes[unit]:
            cycles = [core.busy.get(pipe, 0) for core in cores]
            if not any(cycles):
                continue
            whole = max(timeline.cycles, 1)
            rows.append(
                {
                    "unit": unit,
                    "pipe": pipe,
                    "mean": sum(cycles) / len(cores) / whole,
                    "most": max(cycles) / whole,
                    "cores": f"{sum(n > 0 for n in cycles)} of {len(cores)}",
                }
            )
    return rows


def _kernels(timeline: Timeline) -> list[Row]:
    """A row a kernel: its launches together."""
    return [_kernel(timeline, kernel) for kernel in timeline.kernels]


def _kernel(timeline: Timeline, kernel: KernelTime) -> Row:
    longest = kernel.longest
    busiest = sorted(kernel.busy.items(), key=lambda item: -item[1])[:3]
    return {
        "name": named(longest),
        "place": short_place(longest.place),
        "unit": longest.unit,
        "launches": len(kernel.launches),
        "tasks": kernel.tasks,
        "lanes": kernel.lanes,
        "waves": kernel.waves,
        "filled": _filled(timeline, longest),
        "seconds": timeline.seconds_of(kernel.cycles),
        "bound": longest.bound,
        "busy": ", ".join(
            f"{pipe} {percent_text(share)}" for pipe, share in busiest if share
        ),
        "loaded": kernel.loaded,
        "stored": kernel.stored,
        "hit": percent_text(kernel.l2_hit) if kernel.loaded else "-",
    }


def _filled(timeline: Timeline, launch: LaunchTime) -> float:
    """Tasks of a launch by the tasks that its waves could have on all cores."""
    run = timeline.runs[launch.number]
    places = launch.waves * len(run.lanes)
    return launch.tasks / places if places else 0.0


def _chain(timeline: Timeline) -> list[Row]:
    rows = [
        {
            "launch": named(timeline.launches[step.launch]),
            "tasks": step.tasks,
            "start": timeline.seconds_of(step.start),
            "end": timeline.seconds_of(step.end),
            "cause": _cause(timeline, step.cause),
        }
        for step in timeline.chain
    ]
    return rows[-MOST_ROWS:]


def _cause(timeline: Timeline, cause: str) -> str:
    if cause == "issue":
        return "its launch to be issued"
    if cause == "core":
        return "a core to be free"
    return named(timeline.launches[int(cause.rpartition(" ")[2])])


def _path(timeline: Timeline) -> list[Row]:
    """The critical path by launches; of each its instructions."""
    steps = timeline.path[-MOST_ROWS:]
    total = max(sum(step.cycles for step in timeline.path), 1)
    stretches: list[Row] = []
    for launch, group in groupby(steps, key=lambda step: step.launch):
        rows = [
            {
                "step": step,
                "share": step.cycles / total,
                "place": _shown(timeline, step),
                "anchor": "-".join(map(str, _line(step))),
            }
            for step in group
        ]
        name = named(timeline.launches[launch])
        stretches.append({"launch": name, "rows": rows})
    return stretches


def _shown(timeline: Timeline, step: PathStep) -> str:
    """`line 3`, with the file only where the path has several."""
    file, line = _line(step)
    if not line or len({_line(each)[0] for each in timeline.path}) > 1:
        return short_place(step.place)
    return f"line {line}" if file else ""


def _line(step: PathStep) -> tuple[str, int]:
    """The file and the line of an instruction; line 0 where that is not known."""
    file, _, line = step.place.rpartition(":")[0].rpartition(":")
    return (file, int(line)) if line.isdigit() else ("", 0)


def _files(timeline: Timeline, sources: Mapping[str, str]) -> list[Row]:
    """The sources that the path comes from, with what each line has of it."""
    shares: dict[tuple[str, int], int] = {}
    for step in timeline.path:
        shares[_line(step)] = shares.get(_line(step), 0) + step.cycles
    total = max(sum(shares.values()), 1)
    files: list[Row] = []
    for name, text in sources.items():
        lines = [
            {
                "number": number,
                "text": line,
                "share": shares.get((name, number), 0) / total,
                "anchor": f"{name}-{number}",
            }
            for number, line in enumerate(text.splitlines(), 1)
        ]
        files.append({"name": name, "lines": lines})
    return files
