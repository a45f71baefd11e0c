"""Numbers of types that are too large are errors at their place.

Sizes end where an index does, and bits of an integer where they do in MLIR: xDSL takes
any. It also keeps equal elements one by one: `dense<0.0> : tensor<40000x64000xf32>`
would take a minute and 17 GB.
"""

from __future__ import annotations

from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, TypeAttribute

from pyptoc.dialects.quick_parser import QuickParser

MOST_SIZE = 2**63 - 1
MOST_BITS = 2**24 - 1
MOST_EQUAL = 2**16
"""Elements of a `dense<..>`, but for as many as its text has characters."""


class LimitedParser(QuickParser):
    """See the module."""

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        span = self._current_token.span
        size = super().parse_shape_dimension(allow_dynamic)
        if size > MOST_SIZE:
            self.raise_error("a size is at most 2^63 - 1", span)
        return size

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        span = self._current_token.span
        try:
            found = super()._parse_optional_integer_or_float_type()
        except ValueError:  # Python reads no integer of so many digits
            self.raise_error(f"an integer has at most {MOST_BITS} bits", span)
        if not isinstance(found, IntegerType):
            return found
        integer = cast(IntegerType, found)
        if integer.width.data > MOST_BITS:
            self.raise_error(f"an integer has at most {MOST_BITS} bits", span)
        return integer

    def _parse_optional_builtin_attr(self) -> Attribute | None:
        start = self.pos
        try:
            return super()._parse_optional_builtin_attr()
        except (ValueError, OverflowError) as failure:
            # So xDSL complains of elements that do not fit, in dense<..>.
            self.raise_error(str(failure).splitlines()[0], self.span_from(start))

    def _parse_dense_literal_type(self) -> Any:
        span = self._current_token.span
        found: Any = super()._parse_dense_literal_type()
        elements = prod(found.get_shape())
        if elements > max(MOST_EQUAL, len(self.text)):
            message = f"{elements} equal elements are too many for dense<..>"
            help = f"at most {MOST_EQUAL}; pypto.full makes a tensor of one value"
            self.raise_error(f"{message}: {help}", span)
        return found
