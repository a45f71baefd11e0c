"""How the driver prints IR: the options' form, always ending in a newline."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from pyptoc.options import Options


def module_text(module: Operation, options: Options | None = None) -> str:
    """The text of a module, or of a part, in the form that the options ask for."""
    from pyptoc.dialects.printing import print_module

    return print_module(
        module,
        generic=options is not None and options.print_op_generic,
        debuginfo=options is not None and options.print_debuginfo,
        short=options is not None and options.print_short,
        elide=None if options is None else options.elide_elements_larger_than,
    )
