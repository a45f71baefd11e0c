"""Printing modules: the canonical form, and a short one for people.

The canonical form is fully typed and can be read back; printing what was read back
gives the same text. The short form leaves out the types that the parser would infer
again, and can be read back as well.
"""

from __future__ import annotations

from io import StringIO
from typing import IO

from xdsl.ir import Operation
from xdsl.printer import Printer


class PyptocPrinter(Printer):
    """xDSL's printer; operations leave out types that are inferred if `short`."""

    short: bool

    def __init__(
        self,
        stream: IO[str] | None = None,
        *,
        short: bool = False,
        generic: bool = False,
        debuginfo: bool = False,
    ) -> None:
        super().__init__(
            stream, print_generic_format=generic, print_debuginfo=debuginfo
        )
        self.short = short


def print_module(
    op: Operation,
    *,
    short: bool = False,
    generic: bool = False,
    debuginfo: bool = False,
) -> str:
    """The text of a module or operation, ending in a newline.

    `generic` is MLIR's own format, for other tools; `debuginfo` adds `loc(...)`.
    """
    stream = StringIO()
    PyptocPrinter(stream, short=short, generic=generic, debuginfo=debuginfo).print_op(
        op
    )
    return stream.getvalue() + "\n"
