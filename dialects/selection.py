"""Lists of the first elements of rows: what `npu.topk` and `tile.topk` share.

    npu.topk %x from %c of %n into %v, %i lengths %l after %p, %q {ascending}

A tile %x of rows is merged into lists %v of values and %i of their indices. Its
columns have the indices %c, %c + 1, ..; those that the lists hold are lower. An index
of -1 in a list is a place without an element. Lists descend, or ascend; equal elements
come by lower index; NaN is the least element.

- `lengths %l`: how much of the %n elements of each row counts, one number a row.
- `at_least = 8`: no row may have fewer elements.
- `after %p, %q`: only elements count that come after the last one of these lists; all,
  if its index is -2, and none if it is -1. So lists of a part each of a long order can
  be made one after the other.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    INDEX,
    INT_ARRAY,
    UNIT,
    Mixed,
    int_attr,
    join_mixed,
    parse_mixed,
    parse_one_mixed,
    parse_options,
    parse_types,
    parse_value,
    print_mixed,
    print_one_mixed,
    print_options,
    print_types,
    segments,
    split_mixed,
)
from pyptoc.dialects.indexed import element_of

NOTHING_BEFORE = -2
"""The last index of a list that comes before every element."""


class Merge(IRDLOperation, ABC):
    """Merges a tile of rows into lists; see the module."""

    source = operand_def()
    bounds = var_operand_def(INDEX)
    values = operand_def()
    indices = operand_def()
    scratch = opt_operand_def()
    extent_operands = var_operand_def(INDEX)
    lengths = opt_operand_def()
    after = var_operand_def()
    static_bounds = prop_def(INT_ARRAY)
    static_extents = opt_prop_def(INT_ARRAY)
    ascending = opt_prop_def(UnitAttr)
    at_least = opt_prop_def(IntegerAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    OPTIONS: ClassVar[tuple[str, ...]] = ("ascending", "at_least")

    @classmethod
    def of(
        cls,
        source: SSAValue,
        bounds: Sequence[Mixed],
        lists: Sequence[SSAValue],
        options: Mapping[str, Attribute] | None = None,
        *,
        lengths: SSAValue | None = None,
        after: Sequence[SSAValue] = (),
        scratch: SSAValue | None = None,
        extents: Sequence[Mixed] = (),
        result_types: Sequence[Attribute] = (),
    ) -> Self:
        """`bounds`: the index of the first column, the size of the whole row."""
        given, static_bounds = split_mixed(bounds)
        dynamic, static_extents = split_mixed(extents)
        extra = [] if lengths is None else [lengths]
        works = [] if scratch is None else [scratch]
        counts = (1, len(given), 1, 1, len(works), len(dynamic))
        properties: dict[str, Attribute] = {
            **(options or {}),
            "static_bounds": static_bounds,
            "operandSegmentSizes": segments(*counts, len(extra), len(after)),
        }
        if scratch is not None:
            properties["static_extents"] = static_extents
        return cls.create(
            operands=[source, *given, *lists, *works, *dynamic, *extra, *after],
            properties=properties,
            result_types=list(result_types),
        )

    @property
    def mixed_bounds(self) -> list[Mixed]:
        """The index of the first column, the size of the whole row."""
        return join_mixed(self.static_bounds, self.bounds)

    @property
    def extents(self) -> list[Mixed]:
        """[rows, columns of the source, columns of the lists]"""
        if self.static_extents is None:
            return []
        return join_mixed(self.static_extents, self.extent_operands)

    @property
    def lists(self) -> list[SSAValue]:
        return [self.values, self.indices]

    @property
    def least(self) -> int:
        """How many elements each row must have."""
        return 0 if self.at_least is None else self.at_least.value.data

    def copied_properties(self) -> dict[str, Attribute]:
        """The properties that do not depend on the form of the operation."""
        return {n: self.properties[n] for n in self.OPTIONS if n in self.properties}

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        parser.parse_keyword("from")
        first = parse_one_mixed(parser)
        parser.parse_keyword("of")
        size = parse_one_mixed(parser)
        parser.parse_keyword("into")
        lists = _parse_two(parser)
        scratch: SSAValue | None = None
        extents: Sequence[Mixed] = ()
        if parser.parse_optional_keyword("using") is not None:
            scratch, extents = parse_value(parser), parse_mixed(parser)
        lengths: SSAValue | None = None
        if parser.parse_optional_keyword("lengths") is not None:
            lengths = parse_value(parser)
        after: list[SSAValue] = []
        if parser.parse_optional_keyword("after") is not None:
            after = _parse_two(parser)
        options, attributes = parse_options(parser, cls.OPTIONS)
        op = cls.of(
            source,
            [first, size],
            lists,
            options,
            lengths=lengths,
            after=after,
            scratch=scratch,
            extents=extents,
            result_types=cls.made_of(lists),
        )
        op.attributes = attributes
        parse_types(parser, op._typed())
        return op

    @classmethod
    def made_of(cls, lists: Sequence[SSAValue]) -> list[Attribute]:
        """The types of the results."""
        return []

    def _typed(self) -> list[SSAValue]:
        works = [] if self.scratch is None else [self.scratch]
        return [self.source, *self.lists, *works]

    def print(self, printer: Printer) -> None:
        first, size = self.mixed_bounds
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" from ")
        print_one_mixed(printer, first)
        printer.print_string(" of ")
        print_one_mixed(printer, size)
        printer.print_string(" into ")
        printer.print_list(self.lists, printer.print_ssa_value)
        if self.scratch is not None:
            printer.print_string(" using ")
            printer.print_ssa_value(self.scratch)
            printer.print_string(" ")
            print_mixed(printer, self.extents)
        if self.lengths is not None:
            printer.print_string(" lengths ")
            printer.print_ssa_value(self.lengths)
        if self.after:
            printer.print_string(" after ")
            printer.print_list(self.after, printer.print_ssa_value)
        print_options(printer, {**self.copied_properties(), **self.attributes})
        print_types(printer, self._typed())

    def verify_merge(self) -> None:
        """The elements and shapes of the source, the lists and the lengths."""
        source, values, indices = map(element_of, (self.source, *self.lists))
        if values != source or source == i1:
            raise VerifyException(f"merges {source} into lists of {values}")
        if indices != i32:
            raise VerifyException(f"indices are i32, not {indices}")
        if _shape(self.values) != _shape(self.indices):
            raise VerifyException("the lists of values and indices differ in shape")
        if len(self.static_bounds) != 2:
            raise VerifyException("takes a first column and a size")
        if self.lengths is not None:
            verify_indices("lengths", self.lengths)
        wanted = [value.type for value in self.lists]
        if self.after and [value.type for value in self.after] != wanted:
            raise VerifyException("the lists before have the types of the lists")


def options_of(*, ascending: bool = False, at_least: int = 0) -> dict[str, Attribute]:
    """The properties of a merge from plain values."""
    found: dict[str, Attribute] = {}
    if ascending:
        found["ascending"] = UNIT
    if at_least:
        found["at_least"] = int_attr(at_least)
    return found


def verify_indices(what: str, value: SSAValue) -> None:
    """Indices and lengths are i32 or i64."""
    element = element_of(value)
    if element not in (i32, i64):
        raise VerifyException(f"{what} are i32 or i64, not {element}")


def verify_mask(what: str, value: SSAValue) -> None:
    """A mask holds i1."""
    element = element_of(value)
    if element != i1:
        raise VerifyException(f"{what} holds i1, not {element}")


def _shape(value: SSAValue) -> tuple[int, ...]:
    type_: Any = value.type
    return tuple(getattr(type_, "shape", None) or type_.get_shape())


def _parse_two(parser: Parser) -> list[SSAValue]:
    first = parse_value(parser)
    parser.parse_punctuation(",")
    return [first, parse_value(parser)]
