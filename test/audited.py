"""`pyptoc` in a process that looks at every text it compiles and at every path it uses.

What looks is an audit hook, which stays for as long as its process, and Python calls it
for each `id()`, too: in a process of other tests it would cost them a twentieth.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from inprocess import ROOT, call
from processes import ENVIRONMENT, start

EVENTS = {
    "compile": 2, "import": 1, "open": 1, "os.listdir": 1, "os.mkdir": 1,
    "os.remove": 1, "os.rename": 2, "os.scandir": 1, "os.system": 1,
    "subprocess.Popen": 2, "tempfile.mkstemp": 1,
}  # fmt: skip
"""What is looked at, and how many of its arguments: code, and paths."""


class Auditor:
    """An audit hook that notes where a word appears while a command runs."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.seen: list[str] | None = None

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.seen is None or event not in EVENTS:
            return
        for one in args[: EVENTS[event]]:
            text = one.decode(errors="replace") if isinstance(one, bytes) else str(one)
            if self.word in text:
                self.seen.append(f"{event}: {text[-200:]}")

    def run(self, argv: list[str], text: str) -> tuple[tuple[int, str, str], list[str]]:
        """The outcome of a command on a text, and where the word appeared."""
        self.seen = found = []
        try:
            return call(*argv, stdin=text), found
        finally:
            self.seen = None


Outcome = tuple[int, str, str]
Run = Callable[..., tuple[Outcome, list[str]]]


@contextmanager
def audited(word: str) -> Iterator[Run]:
    """`run(*argv, text)` in that process: its outcome, and where the word was."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "test")])
    environment = {**ENVIRONMENT, "PYTHONPATH": path}
    script = "import audited; audited.serve()"
    with start(word, script=script, env=environment, stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def run(*argv: str, text: str) -> tuple[Outcome, list[str]]:
            print(json.dumps([argv, text]), file=process.stdin, flush=True)
            outcome, found = json.loads(process.stdout.readline())
            return tuple(outcome), found

        yield run
        process.stdin.close()


def serve() -> None:
    """Runs what standard input says, a line each, until there is no more."""
    auditor = Auditor(sys.argv[1])
    sys.addaudithook(auditor)
    for line in sys.stdin:
        print(json.dumps(auditor.run(*json.loads(line))), flush=True)
