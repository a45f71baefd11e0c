"""`pyptoc` as a process of its own, where the computer is short of something."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inprocess import ROOT

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
SECONDS = 600
"""After so long a process hangs, however busy the computer is."""


def start(
    *argv: str,
    limits: Mapping[int, int] | None = None,
    before: Callable[[], None] | None = None,
    script: str | None = None,
    **options: Any,
) -> subprocess.Popen[str]:
    """Starts it with pipes for what is not given.

    limits: `resource.RLIMIT_AS` and such; before: called in the process first; script:
    what Python runs instead.
    """
    program = ["-m", "pyptoc"] if script is None else ["-c", script]

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for which, most in (limits or {}).items():
            resource.setrlimit(which, (most, most))
        if before is not None:
            before()

    kinds = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with warnings.catch_warnings():
        # Python 3.12 warns of what runs beside threads between fork and exec.
        warnings.simplefilter("ignore", DeprecationWarning)
        return subprocess.Popen(
            [sys.executable, *program, *argv],
            preexec_fn=prepare,
            text=True,
            **{"env": ENVIRONMENT, **kinds, **options},
        )


def run(*argv: str, text: str = "", **options: Any) -> tuple[int, str, str]:
    """Runs it on a text; its exit code, standard output and error."""
    process = start(*argv, **options)
    try:
        out, err = process.communicate(text, timeout=SECONDS)
    finally:
        process.kill()
    return process.returncode, out or "", err or ""


_ALL = """
import json, sys
from inprocess import call

commands = json.load(sys.stdin)
json.dump([call(*argv, stdin=text) for argv, text in commands], sys.stdout)
"""


def run_all(
    commands: Sequence[tuple[Sequence[str], str]], limits: Mapping[int, int]
) -> list[tuple[int, str, str]]:
    """Runs commands on their texts in one process, which takes long to start.

    The exit code, standard output and error of each; what one keeps, the next lack.
    """

    path = os.pathsep.join([str(ROOT), str(ROOT / "test")])
    environment = {**ENVIRONMENT, "PYTHONPATH": path}
    code, out, err = run(
        text=json.dumps(commands), limits=limits, script=_ALL, env=environment
    )
    assert code == 0, err
    return [tuple(each) for each in json.loads(out)]


def clean(code: int, err: str) -> bool:
    """Whether that is how a command ends: a result or an error, and no bug."""
    return code in (0, 1) and "Traceback" not in err and "PTO900" not in err


def files_in(folder: Path) -> list[str]:
    """All files below a folder."""
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    )
