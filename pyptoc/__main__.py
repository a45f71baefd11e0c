"""
`pyptoc`, and `python -m pyptoc`.

Until the command can answer an interrupt it ends at once, as a program in C does.
"""

from __future__ import annotations

import signal
from typing import NoReturn

_python = signal.getsignal(signal.SIGINT)
if _python is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start() -> NoReturn:
    """The entry point of the installed command."""
    from pyptoc.cli import console_main

    signal.signal(signal.SIGINT, _python)
    console_main()


if __name__ == "__main__":
    start()
