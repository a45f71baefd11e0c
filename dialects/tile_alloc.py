"""What allocations of a core share, those of a buffer and those of a channel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.irdl import IRDLOperation, opt_prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import int_attr, parse_options, print_options
from pyptoc.dialects.memory import AllocatesResult
from pyptoc.dialects.tile_types import BufType, bytes_of


class Allocation(IRDLOperation, ABC):
    """`slots` equal boxes; slot i lies at `addr + i * bytes_of(type)`."""

    addr = opt_prop_def(IntegerAttr.constr(i64))
    slots = opt_prop_def(IntegerAttr.constr(i64))

    traits = traits_def(AllocatesResult())

    OPTIONS: ClassVar[tuple[str, ...]] = ("addr", "slots")

    @property
    @abstractmethod
    def type(self) -> BufType:
        """The type of a slot where it lies."""

    @property
    def slot_count(self) -> int:
        return 1 if self.slots is None else self.slots.value.data

    @property
    def address(self) -> int | None:
        return None if self.addr is None else self.addr.value.data

    def set_address(self, address: int | None) -> None:
        if address is None:
            self.properties.pop("addr", None)
        else:
            self.properties["addr"] = int_attr(address)

    @property
    def total_bytes(self) -> int:
        return self.slot_count * bytes_of(self.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties, attributes = parse_options(parser, cls.OPTIONS)
        parser.parse_punctuation(":")
        return cls.create(
            result_types=[parser.parse_type()],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        written = {n: self.properties[n] for n in self.OPTIONS if n in self.properties}
        print_options(printer, {**written, **self.attributes})
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)

    def verify_(self) -> None:
        if self.slot_count < 1:
            raise VerifyException(f"slots is {self.slot_count}, but must be at least 1")
        if self.address is not None and self.address < 0:
            raise VerifyException(f"addr is {self.address}, but must not be negative")
