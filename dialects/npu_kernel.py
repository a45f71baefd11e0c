"""Kernels, and the launches that run them.

npu.kernel @gmm_0 (%i, %j) (%a: memref<?x512xf8E4M3FN, "gm">, %begin: index)
    on cube accesses(read %a[%begin + 16 * %i, 0] [16, 512]) { tile ops }

%t = npu.launch @gmm_0[%mb, 28] (%a, %begin) after(%p overlaps)
    : (memref<?x512xf8E4M3FN, "gm">, index) -> !npu.events
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    LocationAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnknownLoc,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    INDEX,
    INT_ARRAY,
    Mixed,
    int_attr,
    join_mixed,
    parse_one_mixed,
    parse_options_before_region,
    parse_value,
    print_one_mixed,
    print_options,
    segments,
    split_mixed,
)
from pyptoc.dialects.literals import located
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
    EventsType,
    Selector,
    SelectorAttr,
    SelectorKind,
    Unit,
    UnitKindAttr,
)
from pyptoc.dialects.op_definition import op_definition, verified_alone
from pyptoc.dialects.walk import Walk, check_walk, walk_of
from pyptoc.dialects.words import counted


@op_definition
class KernelOp(IRDLOperation):
    """What one task executes: `tile` instructions on one core.

    The body's arguments are the grid indices, then the buffers, then the scalars.
    """

    name = "npu.kernel"

    sym_name = prop_def(SymbolNameConstraint())
    rank = prop_def(IntegerAttr.constr(i64))
    unit = prop_def(UnitKindAttr)
    accesses = opt_prop_def(ArrayAttr[AccessAttr])
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), IsolatedFromAbove(), SymbolOpInterface())

    @classmethod
    def make(
        cls,
        name: str,
        rank: int,
        parameters: Sequence[Attribute],
        unit: Unit | str,
        *,
        accesses: Sequence[Access] = (),
        body: Region | None = None,
        attributes: dict[str, Attribute] | None = None,
        location: LocationAttr | None = None,
    ) -> Self:
        """`parameters`: the types of buffers, then of scalars.

        `body` defaults to an empty one with the right arguments.
        """
        if body is None:
            body = Region(Block(arg_types=[*[INDEX] * rank, *parameters]))
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "rank": int_attr(rank),
            "unit": UNITS[Unit(unit)],
        }
        if accesses:
            properties["accesses"] = accesses_attr(accesses)
        return cls.create(
            properties=properties,
            attributes=attributes or {},
            regions=[body],
            location=location or UnknownLoc(),
        )

    # -- what passes ask

    @property
    def grid_rank(self) -> int:
        return self.rank.value.data

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def grid_args(self) -> tuple[BlockArgument, ...]:
        return self.body.block.args[: self.grid_rank]

    @property
    def parameters(self) -> tuple[BlockArgument, ...]:
        """What a launch passes: buffers, then scalars."""
        return self.body.block.args[self.grid_rank :]

    @property
    def buffer_args(self) -> tuple[BlockArgument, ...]:
        return tuple(p for p in self.parameters if isinstance(p.type, MemRefType))

    @property
    def scalar_args(self) -> tuple[BlockArgument, ...]:
        return tuple(p for p in self.parameters if not isinstance(p.type, MemRefType))

    @property
    def access_list(self) -> list[Access]:
        return access_list(self.accesses)

    # -- assembly

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        spelling = Spelling()
        indices = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        spelling.add("d", (index.name.text for index in indices))
        parameters = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_parameter(parser)
        )
        buffers = [p.name.text for p in parameters if isinstance(p.type, MemRefType)]
        spelling.add("s", (p.name.text for p in parameters[len(buffers) :]))
        parser.parse_keyword("on")
        unit = parser.parse_str_enum(Unit)
        positions = {text: position for position, text in enumerate(buffers)}
        accesses = parse_accesses(parser, positions, spelling)
        attributes = parse_options_before_region(parser)
        arguments = [index.resolve(INDEX) for index in indices] + parameters
        return cls.make(
            name.data,
            len(indices),
            [],
            unit,
            accesses=accesses,
            body=parser.parse_region(arguments),
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        spelling = Spelling()
        names: list[str] = []
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        printer.print_string(" (")
        printer.print_list(
            self.grid_args,
            lambda argument: names.append(f"%{printer.print_ssa_value(argument)}"),
        )
        printer.print_string(") (")
        spelling.add("d", names)
        parameters: list[str] = []

        def print_parameter(argument: BlockArgument) -> None:
            parameters.append(f"%{printer.print_ssa_value(argument)}")
            printer.print_string(": ")
            printer.print_attribute(argument.type)
            if printer.print_debuginfo:
                printer.print_string(" ")
                printer.print_attribute(argument.location)

        printer.print_list(self.parameters, print_parameter)
        printer.print_string(f") on {self.unit.data}")
        count = len(self.buffer_args)
        spelling.add("s", parameters[count:])
        print_accesses(printer, self.access_list, parameters[:count], spelling)
        print_options(printer, self.attributes)
        printer.print_string(" ")
        printer.print_region(
            self.body, print_entry_block_args=False, print_empty_block=False
        )

    # -- verification

    @verified_alone
    def verify_(self) -> None:
        rank = self.grid_rank
        types = [argument.type for argument in self.body.block.args]
        if rank < 0 or len(types) < rank or set(types[:rank]) - {INDEX}:
            raise VerifyException(f"a grid of rank {rank} has as many index arguments")
        buffers = [argument.type for argument in self.buffer_args]
        scalars = types[rank + len(buffers) :]
        if any(isinstance(type, MemRefType) for type in scalars):
            raise VerifyException("the buffers stand before the scalars")
        check_accesses(self.access_list, buffers, rank, len(scalars))


def _parse_parameter(parser: Parser) -> Parser.Argument:
    """`%a: type`, with a location where there is debug information."""
    argument = parser.parse_argument()
    argument.location = parser.parse_optional_location()
    return argument


@op_definition
class LaunchOp(IRDLOperation):
    """Runs a kernel for every index of a grid; the result stands for these tasks.

    In selectors `d0, ..` are the indices of this grid, `s0, ..` the scalar arguments.
    `{order = "blocked", blocks = [6, 4], assign = "static"}`: in which order its tasks
    start and who takes them (see `walk.py`); `axes` are those of rows and columns.
    """

    name = "npu.launch"

    dynamic_grid = var_operand_def(INDEX)
    arguments = var_operand_def()
    waits = var_operand_def(EVENTS)
    callee = prop_def(FlatSymbolRefAttrConstr)
    static_grid = prop_def(INT_ARRAY)
    selectors = opt_prop_def(ArrayAttr[SelectorAttr])
    events = result_def(EventsType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def make(
        cls,
        callee: str,
        grid: Sequence[Mixed],
        arguments: Sequence[SSAValue],
        *,
        waits: Sequence[SSAValue] = (),
        selectors: Sequence[Selector] | None = None,
        attributes: dict[str, Attribute] | None = None,
        location: LocationAttr | None = None,
    ) -> Self:
        """`arguments`: the buffers, then the scalars of the kernel."""
        dynamic, static = split_mixed(grid)
        properties: dict[str, Attribute] = {
            "callee": SymbolRefAttr(callee),
            "static_grid": static,
            "operandSegmentSizes": segments(len(dynamic), len(arguments), len(waits)),
        }
        if waits:
            properties["selectors"] = selectors_attr(waits, selectors)
        return cls.create(
            operands=[*dynamic, *arguments, *waits],
            result_types=[EVENTS],
            properties=properties,
            attributes=attributes or {},
            location=location or UnknownLoc(),
        )

    # -- what passes ask

    @property
    def callee_name(self) -> str:
        return self.callee.string_value()

    @property
    def grid(self) -> list[Mixed]:
        """The number of tasks along each axis."""
        return join_mixed(self.static_grid, self.dynamic_grid)

    @property
    def rank(self) -> int:
        return len(self.static_grid)

    @property
    def buffers(self) -> list[SSAValue]:
        return [v for v in self.arguments if isinstance(v.type, MemRefType)]

    @property
    def scalars(self) -> list[SSAValue]:
        return [v for v in self.arguments if not isinstance(v.type, MemRefType)]

    @property
    def wait_list(self) -> list[tuple[SSAValue, Selector]]:
        return wait_list(self.waits, self.selectors)

    @property
    def task_order(self) -> Walk:
        """The order in which the tasks start."""
        return walk_of(self.attributes)

    # -- assembly

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = parser.parse_symbol_name()
        spelling = Spelling()
        names: list[str] = []
        grid = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _parse_axis(parser, names)
        )
        spelling.add("d", names)
        arguments: list[SSAValue] = []
        scalars: list[str] = []

        def parse_argument() -> None:
            start = parser.pos
            arguments.append(parse_value(parser))
            if not isinstance(arguments[-1].type, MemRefType):
                scalars.append(located(parser).span_from(start).text)

        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_argument)
        spelling.add("s", scalars)
        waits, selectors = parse_waits(parser, spelling)
        op = cls.make(
            callee.data,
            grid,
            arguments,
            waits=waits,
            selectors=selectors,
            attributes=parser.parse_optional_attr_dict(),
        )
        _parse_launch_type(parser, arguments)
        return op

    def print(self, printer: Printer) -> None:
        spelling = Spelling()
        axes = [f"d{axis}" for axis in range(self.rank)]
        spelling.add("d", axes)
        named = any(s.kind == SelectorKind.BOX for _, s in self.wait_list)

        def print_axis(item: tuple[str, Mixed]) -> None:
            name, size = item
            printer.print_string(f"{name} = " if named else "")
            print_one_mixed(printer, size)

        printer.print_string(" ")
        printer.print_symbol_name(self.callee_name)
        with printer.in_square_brackets():
            printer.print_list(zip(axes, self.grid, strict=True), print_axis)
        names: list[str] = []
        printer.print_string(" (")
        printer.print_list(
            self.arguments,
            lambda value: names.append(f"%{printer.print_ssa_value(value)}"),
        )
        printer.print_string(")")
        spelling.add("s", names[len(self.buffers) :])
        print_waits(printer, self.wait_list, spelling)
        print_options(printer, self.attributes)
        if getattr(printer, "short", False):
            return
        printer.print_string(" : ")
        printer.print_function_type([v.type for v in self.arguments], [EVENTS])

    # -- verification

    @verified_alone
    def verify_(self) -> None:
        is_buffer = [isinstance(v.type, MemRefType) for v in self.arguments]
        if is_buffer != sorted(is_buffer, reverse=True):
            raise VerifyException("the buffers stand before the scalars")
        for size in self.grid:
            if isinstance(size, int) and size < 0:
                raise VerifyException(f"grid size {size} is negative")
        check_walk(self.attributes, self.rank)
        scalars = len(is_buffer) - sum(is_buffer)
        check_selectors(self.waits, self.selectors, self.rank, scalars)

    def verify_against(self, kernel: KernelOp) -> None:
        """The grid and the arguments are those that the kernel takes."""
        if self.rank != kernel.grid_rank:
            raise VerifyException(
                f"@{self.callee_name} has a grid of rank {kernel.grid_rank}, "
                f"the launch of rank {self.rank}"
            )
        given = [value.type for value in self.arguments]
        taken = [parameter.type for parameter in kernel.parameters]
        if len(given) != len(taken):
            raise VerifyException(
                f"@{self.callee_name} takes "
                f"{counted(len(taken), 'argument')}, got {len(given)}"
            )
        for number, (mine, theirs) in enumerate(zip(given, taken, strict=True)):
            if mine != theirs:
                raise VerifyException(
                    f"argument {number} of @{self.callee_name} is {theirs}, got {mine}"
                )


def _parse_axis(parser: Parser, names: list[str]) -> Mixed:
    """`%mb`, `28` or `i = %mb`; the name of the axis is added to `names`."""
    name = parser.parse_optional_identifier()
    if name is not None:
        parser.parse_punctuation("=")
    names.append(name or f"d{len(names)}")
    return parse_one_mixed(parser)


def _parse_launch_type(parser: Parser, arguments: Sequence[SSAValue]) -> None:
    """An optional `: (T, ...) -> !npu.events`; checked when it is there."""
    if parser.parse_optional_punctuation(":") is None:
        return
    start = parser.pos
    type = parser.parse_function_type()
    taken = [value.type for value in arguments]
    if list(type.inputs) != taken or list(type.outputs) != [EVENTS]:
        given = ", ".join(map(str, taken))
        parser.raise_error(
            f"the launch is of type ({given}) -> !npu.events", start, parser.pos
        )


def kernels_of(module: ModuleOp) -> dict[str, KernelOp]:
    """The kernels of a module, by name."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, KernelOp)}
