"""Plots of sweeps: what is drawn, and the files."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pyptoc import SweepRow

ROWS = [
    SweepRow({"tile.m": m, "bind.M": n}, seconds=m * n * 1e-6 if m < 99 else None,
             error="" if m < 99 else "PTO210")
    for m in (32, 64, 128) for n in (64, 256, 1024)
]  # fmt: skip


def test_what_is_drawn() -> None:
    from pyptoc.sweep_plot import picture_of

    picture = picture_of(ROWS, "f")
    assert (picture.key, picture.log_x, picture.log_y) == ("tile.m", False, True)
    assert [line.label for line in picture.lines] == [
        *("bind.M=64", "bind.M=256", "bind.M=1024")
    ]
    assert picture.lines[0].microseconds == [32 * 64, 64 * 64, None]
    assert picture.best == [(32, 32.0 * n) for n in (64, 256, 1024)]


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_images(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("matplotlib", reason="an optional extra: pyptoc[plot]")
    from pyptoc.sweep_plot import write_plot

    files = [tmp_path / f"{n}.{kind}" for n in "ab"]
    for file in files:
        write_plot(str(file), ROWS, "f")
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert first.startswith(b"\x89PNG" if kind == "png" else b"<?xml")


def test_page(tmp_path: Path) -> None:
    pytest.importorskip("plotly", reason="an optional extra: pyptoc[plot]")
    from pyptoc.sweep_plot import write_plot

    file = tmp_path / "a.html"
    rows = [replace(ROWS[0], point={"walk": "</script><b>", "x": 1})]
    write_plot(str(file), rows, "f")
    text = file.read_text()
    assert "<b>" not in text
    assert "\\u003cb\\u003e" in text
    assert not re.search(r"<script[^>]*\bsrc=", text)
