"""--trace and --report: the files of `--simulate`, and the page in a browser."""

from __future__ import annotations

import html.parser
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browsing
import pytest
from inprocess import call

EVIL = "</script><script>window.evil = 1</script>'\"<b>&amp;"
"""A tag that must stay a text."""

SOURCE = f"""func.func @demo(%a: tensor<512x512xf16>, %b: tensor<512x512xf16>)
    -> tensor<512x512xf32> {{
  %y = pypto.matmul %a, %b to f32 {{tag = {json.dumps(EVIL)}}}
  %z = pypto.softmax %y axis -1 {{tag = "soft"}}
  func.return %z : tensor<512x512xf32>
}}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose name must stay a text, too: `q"</script><i>'.mlir`."""
    folder = tmp_path_factory.mktemp("files") / 'q"<'
    folder.mkdir()
    path = folder / "script><i>'.mlir"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def page(source: Path) -> Path:
    path = source.parent.parent / "report.html"
    code, out, err = call(str(source), "--simulate", "--report", str(path))
    assert (code, err) == (0, "")
    assert f"report    {path}" in out.splitlines()
    return path


class TestCommand:
    def test_trace(self, source: Path, tmp_path: Path) -> None:
        path = tmp_path / "t.json"
        code, out, err = call(
            str(source), "--simulate", "--trace", str(path), "--trace-tasks=3"
        )
        assert (code, err) == (0, "")
        (line,) = [line for line in out.splitlines() if line.startswith("trace")]
        assert re.fullmatch(
            rf"trace     {re.escape(str(path))}: instructions of 3 of \d+ tasks, the "
            r"others as slices \(--trace-tasks=N for more\)",
            line,
        )
        trace = json.loads(path.read_text())
        assert trace["otherData"]["operator"] == "demo"
        assert trace["otherData"]["shown"] in line
        assert f"load [{EVIL}]" in {event["name"] for event in trace["traceEvents"]}

    def test_json_stays_json(self, source: Path, tmp_path: Path) -> None:
        path = tmp_path / "t.json"
        code, out, err = call(str(source), "--simulate=json", "--trace", str(path))
        assert code == 0
        assert json.loads(out)["operator"] == "demo"
        assert err.startswith("trace     ")

    def test_nothing_half_written(
        self, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from pyptoc.runtime import trace

        def broken(self: object) -> Iterator[Any]:
            yield {"ph": "M"}
            raise RuntimeError

        monkeypatch.setattr(trace._Trace, "events", broken)
        path = tmp_path / "t.json"
        path.write_text("what was there")
        code, _, _ = call(str(source), "--simulate", "--trace", str(path))
        assert code == 2
        assert path.read_text() == "what was there"
        assert [each.name for each in tmp_path.iterdir()] == ["t.json"]

    def test_a_folder_that_is_not_there(self, source: Path, tmp_path: Path) -> None:
        path = tmp_path / "none" / "r.html"
        code, _, err = call(str(source), "--simulate", "--report", str(path))
        assert code == 1
        assert f"error[PTO502]: cannot write {path}" in err

    @pytest.mark.parametrize("name", ["jinja2", "plotly"])
    def test_a_package_is_missing(
        self, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setitem(sys.modules, name, None)
        path = tmp_path / "r.html"
        code, out, err = call(str(source), "--simulate", "--report", str(path))
        assert (code, out) == (1, "")
        assert f"error[PTO508]: a report needs the package {name}" in err
        assert "help: pip install 'pyptoc[report]'" in err

    def test_no_package_is_loaded_without_a_report(
        self, source: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("jinja2", "plotly"):
            monkeypatch.setitem(sys.modules, name, None)
        assert call(str(source), "--simulate")[0] == 0

    def test_a_terminal_shows_the_same_text(
        self, source: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _, plain, _ = call(str(source), "--simulate")
        monkeypatch.setenv("NO_COLOR", "1")
        _, styled, _ = call(str(source), "--simulate", "--color=always")
        assert "\x1b[1;36mtotal\x1b[0m" in styled
        assert re.sub(r"\x1b\[[0-9;]*m", "", styled) == plain


class _Tables(html.parser.HTMLParser):
    """The tables of a page, as texts by row."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.cell: list[str] | None = None
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self.cell is not None:
            self.tables[-1][-1].append("".join(self.cell).strip())
            self.cell = None

    def handle_data(self, data: str) -> None:
        if self.cell is not None:
            self.cell.append(data)


def test_tables_without_scripts(page: Path, source: Path) -> None:
    tables = _Tables()
    tables.feed(page.read_text("utf-8"))
    roofs, pipes, kernels, chain, path, text, paths = tables.tables
    assert {row[0] for row in roofs[1:]} == {
        *("cube", "vector", "L1", "L2", "HBM", "dispatch")
    }
    assert "cube m" in {row[0] for row in pipes}
    # The name of a kernel and its tag, then the place of the launch.
    assert any(EVIL in row[0] and "script><i>'.mlir:3" in row[0] for row in kernels)
    assert chain[1][-1] == "its launch to be issued"
    assert any(row[0].startswith("load") and row[-1] == "line 3" for row in path[2:])
    assert [row[2] for row in text] == [line.strip() for line in SOURCE.splitlines()]
    shares = [float(row[1].rstrip(" %")) for row in text if row[1]]
    assert sum(shares) == pytest.approx(100, abs=0.3)
    assert "gm -> l1" in {row[0] for row in paths}
    # The data, plotly and the page's own: no text of the input became one.
    assert tables.scripts == 6


PLOTS = (
    *("plot-roofs", "plot-use", "plot-tasks", "plot-pipes", "plot-bytes"),
    *("plot-roofline-cube", "plot-roofline-vector"),
)

DRAWN = """
return arguments[0].every((id) => {
  const plot = document.getElementById(id);
  return plot && plot.data && plot.querySelector(".main-svg");
});"""


class Page(browsing.Page):
    """The report in the browser."""

    def __init__(self, browser: Any, path: Path) -> None:
        super().__init__(browser, path)
        self.wait.until(lambda _: self.run(DRAWN, PLOTS))

    def choose(self, menu: str, value: object) -> None:
        self.run(
            "const menu = document.getElementById(arguments[0]);"
            "menu.value = arguments[1]; menu.dispatchEvent(new Event('change'))",
            menu,
            str(value),
        )

    def span(self, plot: str) -> tuple[float, float]:
        """The range of a plot's time axis, in us."""
        start, end = self.run(
            f"return document.getElementById('{plot}').layout.xaxis.range"
        )
        return start, end

    def click(self, css: str) -> None:
        self.run("document.querySelector(arguments[0]).click()", css)

    def key(self, plot: str, key: str) -> None:
        self.browser.find_element("id", plot).send_keys(key)

    def bars(self, plot: str, axis: str = "y") -> int:
        """How many slices are drawn."""
        return self.run(
            "return document.getElementById(arguments[0]).data"
            ".filter((t) => t.type === 'bar' && (t.yaxis || 'y') === arguments[1])"
            ".reduce((sum, t) => sum + t.x.length, 0)",
            plot,
            axis,
        )


def check_plots(shown: Page) -> None:
    data = shown.run("return report.data")
    traces = {
        plot: shown.run(f"return document.getElementById('{plot}').data.length")
        for plot in PLOTS
    }
    assert traces["plot-roofs"] == traces["plot-bytes"] == 1
    assert traces["plot-use"] == 2  # cube and vector cores
    # Two roofs of memory, one of the unit, points by HBM and by L2.
    assert traces["plot-roofline-cube"] == traces["plot-roofline-vector"] == 5
    bars = shown.run("return document.getElementById('plot-bytes').data[0].x")
    assert sorted(bars) == sorted(data["paths"].values())
    # A slice a task and core, two curves, an entry of the legend a kernel.
    assert shown.bars("plot-tasks") == len(data["tasks"]["launch"])
    kernels = {launch["name"] for launch in data["launches"]}
    assert traces["plot-tasks"] == 2 * len(kernels) + 2


def check_texts_of_the_input_are_texts(shown: Page, source: Path) -> None:
    assert shown.run("return window.evil") is None
    assert shown.count("main b, main i") == 0
    names = [launch["name"] for launch in shown.run("return report.data.launches")]
    (name,) = [name for name in names if EVIL in name]
    assert name in shown.run("return document.querySelector('main').textContent")
    assert str(source) in shown.texts("h3")
    assert name in shown.texts("#plot-tasks .legendtext")


def check_zoom(shown: Page) -> None:
    whole = shown.span("plot-tasks")
    assert whole[0] == 0
    shown.click("[data-for='plot-tasks'] [data-do='in']")
    inner = shown.span("plot-tasks")
    assert inner[1] - inner[0] == pytest.approx((whole[1] - whole[0]) / 2)
    shown.click("[data-for='plot-tasks'] [data-do='right']")
    moved = shown.span("plot-tasks")
    assert moved[0] > inner[0]
    assert moved[1] - moved[0] == pytest.approx(inner[1] - inner[0])
    shown.key("plot-tasks", "0")
    assert shown.span("plot-tasks") == whole


def check_zoom_by_dragging(shown: Page) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    whole = shown.span("plot-tasks")
    area = shown.browser.find_element("css selector", "#plot-tasks .nsewdrag")
    shown.run("arguments[0].scrollIntoView({block: 'center'})", area)
    drag = ActionChains(shown.browser, duration=20).move_to_element(area)
    drag.click_and_hold().move_by_offset(150, 0).release().perform()
    shown.wait.until(lambda _: shown.span("plot-tasks") != whole)
    start, end = shown.span("plot-tasks")
    width = shown.run("return arguments[0].getBoundingClientRect().width", area)
    middle, part = sum(whole) / 2, 150 / width * (whole[1] - whole[0])
    assert start == pytest.approx(middle, rel=0.02)
    assert end - start == pytest.approx(part, rel=0.05)
    shown.click("[data-for='plot-tasks'] [data-do='in']")
    closer = shown.span("plot-tasks")
    assert closer[1] - closer[0] == pytest.approx((end - start) / 2)
    shown.click("[data-for='plot-tasks'] [data-do='all']")
    assert shown.span("plot-tasks") == whole


def check_zooming_in_shows_instructions(shown: Page) -> None:
    data = shown.run("return report.data")
    task = data["tasks"]["launch"].index(0)
    shown.choose("core", data["lanes"][0][0][0])
    whole = shown.span("plot-pipes")
    record = data["records"][data["tasks"]["record"][task]]
    op, _, start, cycles, sizes = record["instructions"][-1]
    clock = data["clock"] / 1e6
    begin = (data["tasks"]["start"][task] + start) / clock
    span = [begin, begin + 2 * cycles / clock]
    move = "Plotly.relayout('plot-pipes', {'xaxis.range': arguments[0]})"
    shown.run(move, span)
    shown.wait.until(lambda _: shown.span("plot-pipes") != whole)
    texts = shown.run(
        "const bars = document.getElementById('plot-pipes').data;"
        "return bars.flatMap((trace) => trace.hovertext || [])"
    )
    name = data["ops"][op]["name"]
    assert any(f"<b>{name}</b>" in t and f"{sizes}, {cycles} cy" in t for t in texts)
    before = shown.bars("plot-pipes")
    assert before < 6


def check_memory_map(shown: Page) -> None:
    shown.click("[data-for='plot-pipes'] [data-do='all']")
    spaces = shown.run(
        "return [...document.getElementById('space').options].map((o) => o.value)"
    )
    assert {"l1", "l0a", "l0b", "l0c"} <= set(spaces)
    for space in ("l1", "l0c"):
        shown.choose("space", space)
        axis = shown.run("return document.getElementById('plot-pipes').layout.yaxis2")
        assert axis["title"]["text"] == f"{space} address, KiB"
        size = shown.run(f"return report.data.spaces.{space}")
        assert axis["range"] == [size / 1024, 0]
        assert shown.bars("plot-pipes", "y2") > 0


def check_source_lines(shown: Page) -> None:
    shown.click("a.jump")
    text = shown.run("return document.querySelector('.jumped code').textContent")
    assert text.startswith("  %y = pypto.matmul")


def check_themes(shown: Page) -> None:
    look = (
        "return [getComputedStyle(document.body).backgroundColor,"
        " document.getElementById('plot-tasks').layout.font.color]"
    )

    def prefer(scheme: str) -> Any:
        shown.prefer(scheme)
        return shown.run(look)

    light, dark = prefer("light"), prefer("dark")
    shown.wait.until(lambda _: shown.run(look)[1] != light[1])
    dark = shown.run(look)
    assert dark[0] != light[0]
    shown.click("#theme")
    assert shown.run(look) == light
    shown.click("#theme")
    assert shown.run(look) == dark


def check_names_for_screen_readers(shown: Page) -> None:
    named = "[aria-label], [aria-labelledby]"
    for css in (".plot", ".scroll", "section", "nav", ".controls"):
        assert shown.count(css) == shown.count(f"{css}:is({named})") > 0
    heads = "main > section thead th"
    assert shown.count(heads) == shown.count(f"{heads}[scope='col']") > 0
    assert all(text.strip() for text in shown.texts(".controls button"))


def test_page_in_a_browser(browser: Any, page: Path, source: Path) -> None:
    """One test, so that a browser starts once and the page is loaded once."""
    shown = Page(browser, page)
    check_plots(shown)
    check_texts_of_the_input_are_texts(shown, source)
    check_zoom(shown)
    check_zoom_by_dragging(shown)
    check_zooming_in_shows_instructions(shown)
    check_memory_map(shown)
    check_source_lines(shown)
    check_themes(shown)
    check_names_for_screen_readers(shown)
    shown.check_quiet()
