"""Printing modules: the canonical form, and a short one for people.

The canonical form is fully typed and can be read back; printing what was read back
gives the same text. The short form leaves out the types that the parser would infer
again, and can be read back as well.
"""

from __future__ import annotations

from io import StringIO
from math import prod
from typing import IO, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType
from xdsl.ir import Attribute, Operation
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


class ElidingPrinter(PyptocPrinter):
    """Leaves out the elements of constants that have many."""

    most: int
    """So many elements are printed."""

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            dense = cast("DenseIntOrFPElementsAttr[IntegerType]", attribute)
            if prod(dense.get_shape()) > self.most and not dense.is_splat():
                self.print_string("dense_resource<__elided__> : ")
                self.print_attribute(dense.type)
                return
        super().print_attribute(cast("Attribute", attribute))


def print_module(
    op: Operation,
    *,
    short: bool = False,
    generic: bool = False,
    debuginfo: bool = False,
    elide: int | None = None,
) -> str:
    """The text of a module or operation, ending in a newline.

    `generic` is MLIR's own format, for other tools; `debuginfo` adds `loc(...)`;
    `elide` leaves out the elements of constants that have more than that.
    """
    stream = StringIO()
    kind = PyptocPrinter if elide is None else ElidingPrinter
    printer = kind(stream, short=short, generic=generic, debuginfo=debuginfo)
    if isinstance(printer, ElidingPrinter) and elide is not None:
        printer.most = elide
    printer.print_op(op)
    return stream.getvalue() + "\n"
