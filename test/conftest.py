"""Lets pytest collect the .mlir tests, so that `pytest test` runs everything."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

# Hypothesis imports what other packages add to it: trio, which nothing here uses, takes
# a quarter of a second in each process.
os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")
from hypothesis import settings

# Before numpy is imported: on small matrices its threads only wait for each other, and
# the tests that run programs take several times as long.
for _library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# Tests start processes, and each of them would compile the package again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# It hides what becomes of output that is buffered, as it is for users.
os.environ.pop("PYTHONUNBUFFERED", None)

# A shell starts what is to run behind it with interrupts ignored, and processes hand
# that on to those that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# For a night: `pytest --hypothesis-profile=long test/passes/test_random_programs.py`;
# test/end_to_end/test_corpus.py then adds cases of real sizes, and the table of
# operators in test_ops_end_to_end.py leaves out no combination.
settings.register_profile("long", max_examples=5000, deadline=None)

# An ordinary run draws the same examples each time: it fails for what has changed, and
# never by bad luck. `make fuzz` looks for what nobody has seen.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

# As while compiling: many long-lived objects are made, and few cycles.
gc.set_threshold(300_000, 50, 100)


WATCHED = pytest.StashKey[int]()
"""How many runs the workers of xdist have watched."""


def pytest_collection_finish() -> None:
    """What is there before the first test stays: the collector need not see it."""
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Workers of xdist report only what is shown."""
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(FewReports())


class FewReports:
    """Runs a test in a worker of xdist, which sends what happens one by one.

    Of seven messages on a test that passes two are left: most tests take less time than
    the others, which change nothing of what is printed.
    """

    SHOWN = 0.005
    """From how many seconds on `--durations` shows a phase of a test."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool:
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        passed = all(report.passed for report in reports)
        for report in reports:
            slow = report.duration >= self.SHOWN
            if slow or report.when == "call" or not passed:
                item.ihook.pytest_runtest_logreport(report=report)
        return True


@pytest.fixture
def is_long(request: pytest.FixtureRequest) -> bool:
    """Whether the run is a long one, which leaves nothing out."""
    return request.config.getoption("--hypothesis-profile") == "long"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Small runs are checked as well (`checked_runs.py`)."""
    if isinstance(item, pytest.Function):
        import checked_runs

        checked_runs.wanted = item.get_closest_marker("hazards") is None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of xdist tells how many runs it has watched.

    Nor need the collector see what is left: pytest calls it five times at the end.
    """
    gc.freeze()
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["watched"] = _watched()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Adds what a worker has told."""
    config = node.config
    found = getattr(node, "workeroutput", {}).get("watched", 0)
    config.stash[WATCHED] = config.stash.get(WATCHED, 0) + found


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Says how many runs `--check` has watched; no test fails with a hazard unseen."""
    number = _watched() + config.stash.get(WATCHED, 0)
    if number:
        from pyptoc.dialects.words import counted

        text = counted(number, "run")
        terminalreporter.write_line(f"{text} of compiled programs watched by --check")


def _watched() -> int:
    module = sys.modules.get("checked_runs")
    return 0 if module is None else module.watched


class RunFailedError(Exception):
    """A RUN line failed; its text is all there is to show."""


class MlirItem(pytest.Item):
    """One .mlir file; it passes when all its RUN lines do."""

    def runtest(self) -> None:
        from inprocess import run_file

        outcome = run_file(self.path)
        if not outcome.passed:
            raise RunFailedError(outcome.log)

    def repr_failure(self, excinfo, style=None) -> str:
        if isinstance(excinfo.value, RunFailedError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class MlirFile(pytest.File):
    """Collects the one test that a .mlir file is."""

    def collect(self) -> Iterator[pytest.Item]:
        yield MlirItem.from_parent(self, name=self.path.stem)


def pytest_collect_file(file_path: Path, parent: pytest.Collector):
    if file_path.suffix == ".mlir" and "Inputs" not in file_path.parts:
        return MlirFile.from_parent(parent, path=file_path)
    return None
