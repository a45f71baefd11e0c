"""
Tensors become memory: `memref`s in global memory, written in place, with waits.

    func.func @f(%a: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %y0 = pypto.empty[%m, 64]
      %y = npu.tasks (%i) in (..) outs(%o = %y0) on vector {
        %t = pypto.view %a[..] ; ... ; npu.assemble %u into %o[..] }
      return %y }
    ->
    func.func @f(%a: memref<?x64xf32, "gm">) -> memref<?x64xf32, "gm"> {
      %y = npu.alloc[%m, 64] {policy = "carried"}
      %t = npu.tasks (%i) in (..) buffers(%a, %y) after(..) accesses(..) on vector {
        %t = npu.load %a[..] ; ... ; npu.store %u into %y[..] }
      return %y }

Assembles and views go straight to their buffers and no copy is made: partition has put
a `pypto.clone` wherever value semantics needs one. Loops carry memrefs as pointers. A
workspace inside a loop is `carried`: each trip has its own, all live until the end.
`accesses.py` and `waits.py` draw how accesses and waits are found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.error_list import ErrorList
from pyptoc.dialects.expr import Expr
from pyptoc.dialects.memory import gm_memref
from pyptoc.dialects.npu import (
    AllocOp,
    AssembleOp,
    LoadOp,
    PrintOp,
    ReadOp,
    ReinterpretOp,
    ReshapeOp,
    StoreOp,
    TasksOp,
)
from pyptoc.dialects.pypto import debug, scalars
from pyptoc.dialects.pypto import shape as tensor
from pyptoc.dialects.record import record
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.builder import Builder
from pyptoc.passes.cleanup import erase_dead
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import enclosing
from pyptoc.passes.task_builder import Roots
from pyptoc.passes.task_form import replace_op
from pyptoc.passes.typed import as_tensor, element_type, shape_of
from pyptoc.passes.waits import WaitDeriver, carry_events
from pyptoc.passes.windows import read_place, window_of
from pyptoc.passes.workspaces import Workspaces

POLICY = "carried"


@dataclass(frozen=True)
class AssembleBuffersPass(PyptocPass):
    """Bring a function into memory form and derive accesses, events and waits."""

    name = "assemble-buffers"
    anchor: ClassVar[str] = "func.func"
    summary: ClassVar[str] = "turn tensors into memory, derive accesses and waits"

    share: bool = True
    """Let workspaces that are not alive together share memory, and trips of loops."""

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        errors = ErrorList()
        for function in list(module.walk()):
            if isinstance(function, func.FuncOp) and not _in_memory(function):
                with errors.kept():
                    self._assemble(ctx, function)
        errors.check()

    def _assemble(self, ctx: PyptocContext, function: func.FuncOp) -> None:
        MemoryForm(function).run()
        erase_dead(function)
        carry_events(function.body.block)
        shapes, roots = Shapes(), Roots(function)
        if self.share:
            Workspaces(ctx, function, shapes, roots).run()
        WaitDeriver(function, shapes, roots).run()
        erase_dead(function)


def _in_memory(function: func.FuncOp) -> bool:
    """Whether the pass has been here."""
    type_ = function.function_type
    return any(
        isinstance(each, MemRefType)
        for each in (*type_.inputs.data, *type_.outputs.data)
    ) or any(isinstance(op, AllocOp) for op in function.walk())


def memory_type(type_: Attribute) -> Attribute:
    """The memref of a tensor type; other types as they are."""
    found = as_tensor(type_)
    return type_ if found is None else gm_memref(found.element_type, found.get_shape())


@record(frozen=False)
class MemoryForm:
    """Rewrites one function from tensor values to memrefs."""

    function: func.FuncOp
    shapes: Shapes = field(default_factory=Shapes)
    roots: Roots = field(init=False)

    def __post_init__(self) -> None:
        self.roots = Roots(self.function)

    def run(self) -> None:
        """Convert the signature, then every op, blocks outermost first."""
        self._resolve_dims()
        self._resolve_reads()
        self._signature()
        self._block(self.function.body.block)

    def _resolve_dims(self) -> None:
        """Sizes of views are computed from what they are made of."""
        for op in list(self.function.walk()):
            if not isinstance(op, scalars.DimOp) or enclosing(op, TasksOp):
                continue
            if window_of(op.source, self.shapes).base is op.source:
                continue
            size = self.shapes.dims(op.source)[op.axis.value.data]
            value = Builder.before(op).index(self.roots.concrete(size))
            op.results[0].replace_all_uses_with(value)
            op.detach()
            op.erase()

    def _resolve_reads(self) -> None:
        """Reads through views become reads of the tensor behind them."""
        for op in list(self.function.walk()):
            if not isinstance(op, scalars.ReadOp) or enclosing(op, TasksOp):
                continue
            base, offsets = read_place(op, self.shapes)
            build = Builder.before(op)
            mixed = [
                build.index_or_int(self.roots.concrete(offset)) for offset in offsets
            ]
            type_ = op.results[0].type
            new = scalars.ReadOp.make(base, mixed, result_type=type_)
            self._replace_root(op, new)

    def _replace_root(self, op: Operation, new: Operation) -> None:
        """Replace an op whose result sizes may depend on."""
        new.location = op.location
        root = op.results[0]
        replace_op(op, new)
        self.shapes.bind(root, Expr.sym(new.results[0]))

    def _signature(self) -> None:
        type_ = self.function.function_type
        inputs = [memory_type(one) for one in type_.inputs.data]
        outputs = [memory_type(one) for one in type_.outputs.data]
        self.function.properties["function_type"] = FunctionType.from_lists(
            inputs, outputs
        )
        for argument, new in zip(self.function.args, inputs, strict=True):
            retype(argument, new)

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            convert = _CONVERSIONS.get(type(op))
            if convert is not None:
                convert(self, op)
            elif makes_tensor(op) and not is_pulled(op):
                unsupported(op)

    def alloc(self, op: tensor.EmptyOp) -> None:
        sizes = sizes_for(op.results[0], op.mixed_sizes, Builder.before(op))
        new = AllocOp.make(sizes, element_type(op.results[0]), POLICY)
        new.location = op.location
        replace_op(op, new)

    def reshape(self, op: tensor.ReshapeOp) -> None:
        build = Builder.before(op)
        dims = map(self.roots.concrete, self.shapes.dims(op.results[0]))
        given = [build.index_or_int(dim) for dim in dims]
        new = ReshapeOp.make(op.source, sizes_for(op.results[0], given, build))
        new.location = op.location
        replace_op(op, new)

    def reinterpret(self, op: tensor.ReinterpretOp) -> None:
        new = ReinterpretOp.make(op.source, op.target)
        new.location = op.location
        replace_op(op, new)

    def read(self, op: scalars.ReadOp) -> None:
        new = ReadOp.make(op.source, op.mixed_offsets, result_type=op.results[0].type)
        self._replace_root(op, new)

    def print(self, op: debug.PrintOp) -> None:
        if not isinstance(op.source.type, MemRefType):
            return
        new = PrintOp.make(op.label.data, op.source)
        new.attributes = dict(op.attributes)
        new.location = op.location
        replace_op(op, new)

    def loop(self, op: scf.ForOp) -> None:
        for argument, initial in zip(op.body.block.args[1:], op.iter_args, strict=True):
            retype(argument, initial.type)
        for result, initial in zip(op.results, op.iter_args, strict=True):
            retype(result, initial.type)
        self._block(op.body.block)
        for before, after in drop_unchanged(op):
            self.shapes.bind(before, Expr.sym(after))

    def branch(self, op: scf.IfOp) -> None:
        for result in op.results:
            retype(result, memory_type(result.type))
        for region in op.regions:
            for block in region.blocks:
                self._block(block)

    def tasks(self, op: TasksOp) -> None:
        """Destinations disappear; views load (those of tiles stay), assembles store."""
        destinations = list(op.outs)
        for argument, memory in zip(op.out_args, destinations, strict=True):
            argument.replace_all_uses_with(memory)
        for argument in reversed(op.out_args):
            op.block.erase_arg(argument)
        for inner in list(op.body.walk()):
            if isinstance(inner, tensor.ViewOp):
                if isinstance(inner.source.type, MemRefType):
                    replace_op(inner, load_of(inner))
            elif isinstance(inner, AssembleOp):
                replace_op(inner, store_of(inner))
            elif isinstance(inner, scalars.ReadOp):
                self.read(inner)
        for result, memory in zip(op.results, destinations, strict=True):
            result.replace_all_uses_with(memory)
        new = TasksOp.make(
            op.grid,
            op.unit.data,
            seq=op.ordered_axes,
            body=op.detach_region(op.body),
            attributes=dict(op.attributes),
            location=op.location,
        )
        block = op.parent
        assert block is not None
        block.insert_op_before(new, op)
        op.detach()
        op.erase()


def drop_unchanged(loop: scf.ForOp) -> list[tuple[SSAValue, SSAValue]]:
    """
    A loop does not carry memory that is the same in every trip: it is in scope.

    The results that were replaced, and by what.
    """
    body = loop.body.block
    end = body.last_op
    assert end is not None
    same = [
        slot
        for slot, (argument, handed) in enumerate(
            zip(body.args[1:], end.operands, strict=True)
        )
        if argument is handed and isinstance(argument.type, MemRefType)
    ]
    if not same:
        return []
    for slot in same:
        body.args[slot + 1].replace_all_uses_with(loop.iter_args[slot])
        loop.results[slot].replace_all_uses_with(loop.iter_args[slot])
    kept = [slot for slot in range(len(loop.iter_args)) if slot not in same]
    end.operands = [end.operands[slot] for slot in kept]
    for slot in reversed(same):
        body.erase_arg(body.args[slot + 1])
    new = scf.ForOp.create(
        operands=[*loop.operands[:3], *(loop.iter_args[slot] for slot in kept)],
        result_types=[loop.results[slot].type for slot in kept],
        attributes=loop.attributes,
        properties=loop.properties,
        regions=[loop.detach_region(loop.body)],
        location=loop.location,
    )
    block = loop.parent
    assert block is not None
    block.insert_op_before(new, loop)
    replaced: list[tuple[SSAValue, SSAValue]] = []
    for slot, after in zip(kept, new.results, strict=True):
        before = loop.results[slot]
        after.name_hint = before.name_hint
        before.replace_all_uses_with(after)
        replaced.append((before, after))
    loop.detach()
    loop.erase()
    return replaced


def sizes_for(
    value: SSAValue, sizes: Sequence[int | SSAValue], build: Builder
) -> list[int | SSAValue]:
    """`sizes` as numbers exactly where the type of `value` is static."""
    return [
        static
        if static >= 0
        else build.constant(size)
        if isinstance(size, int)
        else size
        for static, size in zip(shape_of(value.type), sizes, strict=True)
    ]


def retype(value: SSAValue, type_: Attribute) -> None:
    """Give an existing value another type."""
    value._type = memory_type(type_)  # pyright: ignore[reportPrivateUsage]


def load_of(view: tensor.ViewOp) -> LoadOp:
    """The load that a view of memory is."""
    return LoadOp.create(
        operands=list(view.operands),
        result_types=[view.results[0].type],
        properties=dict(view.properties),
        attributes=dict(view.attributes),
        location=view.location,
    )


def store_of(assemble: AssembleOp) -> StoreOp:
    """The store that an assemble into memory is."""
    return StoreOp.create(
        operands=list(assemble.operands),
        properties=dict(assemble.properties),
        attributes=dict(assemble.attributes),
        location=assemble.location,
    )


def is_pulled(op: Operation | Block) -> bool:
    """Whether consumers look through `op`, so that it is no buffer."""
    return isinstance(op, tensor.ViewOp | tensor.TransposeOp)


def makes_tensor(op: Operation) -> bool:
    """Whether a result of `op` is still a tensor."""
    return any(isinstance(result.type, TensorType) for result in op.results)


def unsupported(op: Operation) -> None:
    """PTO190 for an op that no task computes yet."""
    error(
        op,
        "PTO190",
        f"'{op.name}' is not lowered yet",
        rule="assemble-buffers can place only tensors that tasks compute",
        help="--run --compile-to=tensor interprets it",
    )


_CONVERSIONS: dict[type[Operation], Callable[[MemoryForm, Operation], None]] = {
    tensor.EmptyOp: MemoryForm.alloc,
    tensor.ReinterpretOp: MemoryForm.reinterpret,
    tensor.ReshapeOp: MemoryForm.reshape,
    scalars.ReadOp: MemoryForm.read,
    debug.PrintOp: MemoryForm.print,
    scf.ForOp: MemoryForm.loop,
    scf.IfOp: MemoryForm.branch,
    TasksOp: MemoryForm.tasks,
}  # pyright: ignore[reportAssignmentType]
