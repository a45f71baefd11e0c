"""Tasks: `npu.tasks` is a parallel loop over a grid of them.

Tensor form: the body computes on tensors and assembles boxes into the destinations.

    %z = npu.tasks (%i, %j) in (%mb, 28) outs(%o = %z0 : tensor<?x3584xbf16>)
        on vector {tag = "swiglu"} {
      ...
      npu.assemble %t into %o[%a, %b] : tensor<?x256xbf16, #npu.max<16, 256>>, ..
    }

Memory form: no destinations; `npu.load` and `npu.store` touch memory, and the accesses
of a task are declared.

    %t = npu.tasks (%i) in (%n) buffers(%a, %y : memref<..>, memref<..>)
        scalars(%begin : index) after(%t0[4 * %i : 4 * %i + 4], %p overlaps)
        accesses(read %a[%begin + 16 * %i, 0] [16, 512]) on vector { ... }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    LocationAttr,
    MemRefType,
    TensorType,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    INDEX,
    INT_ARRAY,
    Mixed,
    int_array,
    join_mixed,
    parse_mixed,
    parse_options_before_region,
    parse_typed,
    parse_types,
    parse_value,
    print_mixed_items,
    print_options,
    print_typed,
    segments,
    split_mixed,
)
from pyptoc.dialects.npu_assembly import (
    Spelling,
    access_list,
    accesses_attr,
    check_accesses,
    check_selectors,
    parse_accesses,
    parse_waits,
    print_accesses,
    print_waits,
    selectors_attr,
    wait_list,
)
from pyptoc.dialects.npu_attrs import (
    EVENTS,
    UNITS,
    Access,
    AccessAttr,
    Selector,
    SelectorAttr,
    Unit,
    UnitKindAttr,
)
from pyptoc.dialects.op_definition import op_definition, verified_alone


@op_definition
class TasksOp(IRDLOperation):
    """A grid of tasks in any order, but for the axes marked `seq`."""

    name = "npu.tasks"

    dynamic_grid = var_operand_def(INDEX)
    outs = var_operand_def(TensorType)
    buffers = var_operand_def(MemRefType)
    scalars = var_operand_def()
    waits = var_operand_def(EVENTS)
    static_grid = prop_def(INT_ARRAY)
    unit = prop_def(UnitKindAttr)
    seq = opt_prop_def(INT_ARRAY)
    selectors = opt_prop_def(ArrayAttr[SelectorAttr])
    accesses = opt_prop_def(ArrayAttr[AccessAttr])
    res = var_result_def()
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @classmethod
    def make(
        cls,
        grid: Sequence[Mixed],
        unit: Unit | str,
        *,
        outs: Sequence[SSAValue] = (),
        buffers: Sequence[SSAValue] = (),
        scalars: Sequence[SSAValue] = (),
        waits: Sequence[SSAValue] = (),
        selectors: Sequence[Selector] | None = None,
        accesses: Sequence[Access] = (),
        seq: Sequence[int] = (),
        body: Region | None = None,
        attributes: dict[str, Attribute] | None = None,
        location: LocationAttr | None = None,
    ) -> Self:
        """With `outs` the tensor form, without the memory form.

        `body` defaults to an empty one whose arguments are the grid indices and the
        destinations.
        """
        dynamic, static = split_mixed(grid)
        types = [out.type for out in outs]
        if body is None:
            body = Region(Block(arg_types=[INDEX] * len(grid) + types))
        properties: dict[str, Attribute] = {
            "static_grid": static,
            "unit": UNITS[Unit(unit)],
            "operandSegmentSizes": segments(
                len(dynamic), len(outs), len(buffers), len(scalars), len(waits)
            ),
        }
        if seq:
            properties["seq"] = int_array(tuple(seq))
        if waits:
            properties["selectors"] = selectors_attr(waits, selectors)
        if accesses:
            properties["accesses"] = accesses_attr(accesses)
        return cls.create(
            operands=[*dynamic, *outs, *buffers, *scalars, *waits],
            result_types=types or [EVENTS],
            properties=properties,
            attributes=attributes or {},
            regions=[body],
            location=location or UnknownLoc(),
        )

    # -- what passes ask

    @property
    def grid(self) -> list[Mixed]:
        """The number of tasks along each axis."""
        return join_mixed(self.static_grid, self.dynamic_grid)

    @property
    def rank(self) -> int:
        return len(self.static_grid)

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def grid_args(self) -> tuple[BlockArgument, ...]:
        """The grid indices in the body."""
        return self.body.block.args[: self.rank]

    @property
    def out_args(self) -> tuple[BlockArgument, ...]:
        """The destinations in the body, in the order of `outs` and of the results."""
        return self.body.block.args[self.rank :]

    @property
    def is_memory_form(self) -> bool:
        return not self.outs

    @property
    def events(self) -> SSAValue:
        """The result of the memory form."""
        return self.results[0]

    @property
    def ordered_axes(self) -> tuple[int, ...]:
        return () if self.seq is None else self.seq.get_values()

    @property
    def access_list(self) -> list[Access]:
        return access_list(self.accesses)

    @property
    def wait_list(self) -> list[tuple[SSAValue, Selector]]:
        return wait_list(self.waits, self.selectors)

    # -- assembly

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        spelling = Spelling()
        seq: list[int] = []
        indices = _parse_indices(parser, seq)
        spelling.add("d", (index.name.text for index in indices))
        parser.parse_keyword("in")
        grid = parse_mixed(parser, parser.Delimiter.PAREN)
        destinations = _parse_outs(parser)
        buffers, buffer_names = parse_typed(parser, "buffers")
        scalars, scalar_names = parse_typed(parser, "scalars")
        spelling.add("s", scalar_names)
        waits, selectors = parse_waits(parser, spelling)
        positions: dict[str, int] = {}
        for position, name in enumerate(buffer_names):
            positions.setdefault(name, position)
        accesses = parse_accesses(parser, positions, spelling)
        parser.parse_keyword("on")
        unit = parser.parse_str_enum(Unit)
        attributes = parse_options_before_region(parser)
        arguments = [index.resolve(INDEX) for index in indices]
        arguments += [name.resolve(value.type) for name, value in destinations]
        return cls.make(
            grid,
            unit,
            outs=[value for _, value in destinations],
            buffers=buffers,
            scalars=scalars,
            waits=waits,
            selectors=selectors,
            accesses=accesses,
            seq=seq,
            body=parser.parse_region(arguments),
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        spelling = Spelling()
        seq = self.ordered_axes
        names: list[str] = []

        def print_index(item: tuple[int, BlockArgument]) -> None:
            axis, argument = item
            printer.print_string("seq " if axis in seq else "")
            names.append(f"%{printer.print_ssa_value(argument)}")

        printer.print_string(" (")
        printer.print_list(enumerate(self.grid_args), print_index)
        printer.print_string(") in (")
        print_mixed_items(printer, self.grid)
        printer.print_string(")")
        spelling.add("d", names)
        _print_outs(printer, self.out_args, self.outs)
        buffers = print_typed(printer, "buffers", self.buffers)
        spelling.add("s", print_typed(printer, "scalars", self.scalars))
        print_waits(printer, self.wait_list, spelling)
        print_accesses(printer, self.access_list, buffers, spelling)
        printer.print_string(f" on {self.unit.data}")
        print_options(printer, self.attributes)
        printer.print_string(" ")
        printer.print_region(
            self.body, print_entry_block_args=False, print_empty_block=False
        )

    # -- verification

    @verified_alone
    def verify_(self) -> None:
        rank, outs = self.rank, [out.type for out in self.outs]
        arguments = [argument.type for argument in self.body.block.args]
        if arguments[:rank] != [INDEX] * rank:
            raise VerifyException(f"a grid of rank {rank} has as many index arguments")
        if arguments[rank:] != outs:
            raise VerifyException("the body has one argument for each destination")
        results = [result.type for result in self.results]
        if results != (outs or [EVENTS]):
            raise VerifyException(
                "the results are those of the destinations"
                if outs
                else "without destinations the result is !npu.events"
            )
        if outs and (self.buffers or self.waits or self.accesses):
            raise VerifyException(
                "buffers, waits and accesses belong to the memory form, which has no "
                "destinations"
            )
        for axis in self.ordered_axes:
            if not 0 <= axis < rank:
                raise VerifyException(f"seq axis {axis} of a grid of rank {rank}")
        for size in self.grid:
            if isinstance(size, int) and size < 0:
                raise VerifyException(f"grid size {size} is negative")
        scalars = len(self.scalars)
        check_selectors(self.waits, self.selectors, rank, scalars)
        buffers = [buffer.type for buffer in self.buffers]
        check_accesses(self.access_list, buffers, rank, scalars)


def _parse_indices(parser: Parser, seq: list[int]) -> list[Parser.UnresolvedArgument]:
    """`(%i, seq %j)`; the numbers of ordered axes are added to `seq`."""
    axes = iter(range(64))

    def parse_index() -> Parser.UnresolvedArgument:
        axis = next(axes)
        if parser.parse_optional_keyword("seq") is not None:
            seq.append(axis)
        return parser.parse_argument(expect_type=False)

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_index)


def _parse_outs(
    parser: Parser,
) -> list[tuple[Parser.UnresolvedArgument, SSAValue]]:
    """`outs(%o = %z0 : tensor<..>, ...)`, if present; the types may be left out."""
    if parser.parse_optional_keyword("outs") is None:
        return []

    def parse_out() -> tuple[Parser.UnresolvedArgument, SSAValue]:
        argument = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        value = parse_value(parser)
        parse_types(parser, [value])
        return argument, value

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_out)


def _print_outs(
    printer: Printer, arguments: Sequence[SSAValue], outs: Sequence[SSAValue]
) -> None:
    if not outs:
        return

    def print_out(item: tuple[SSAValue, SSAValue]) -> None:
        argument, value = item
        printer.print_ssa_value(argument)
        printer.print_string(" = ")
        printer.print_ssa_value(value)
        printer.print_string(" : ")
        printer.print_attribute(value.type)

    printer.print_string(" outs(")
    printer.print_list(zip(arguments, outs, strict=True), print_out)
    printer.print_string(")")
