"""
Where value semantics needs a copy before tensors become memory.

An `assemble` may write into its destination in place only if nobody needs the old
value: the destination must be fresh (not an argument, not seen through a view) and
every other use of it must come earlier. Where that does not hold, a `pypto.clone`
goes in between, which is a copy that users see in the IR:

    %r = pypto.assemble %t into %x[0, 0]        (%x is an argument)
    ->
    %c = pypto.clone %x
    %r = pypto.assemble %t into %c[0, 0]

The same holds for what leaves a function or a loop: a result must be a buffer of its
own, so returning an argument, a view or one value twice makes a copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, TensorType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.pypto.shape import AssembleOp, CloneOp, ReshapeOp, ViewOp
from pyptoc.passes.builder import Builder


@dataclass
class Ownership:
    """Inserts the copies that one function needs."""

    context: PyptocContext
    function: func.FuncOp

    def run(self) -> None:
        """Insert clones until every destination and every result is its own."""
        for op in list(self.function.walk()):
            match op:
                case ReshapeOp() if is_view(op.source):
                    self._copy_operand(op, 0)
                case AssembleOp():
                    self._own_destination(op)
                case scf.ForOp():
                    for index in range(3, len(op.operands)):
                        if is_view(op.operands[index]):
                            self._copy_operand(op, index)
                case scf.YieldOp():
                    self._own_yield(op)
                case func.ReturnOp():
                    self._own_results(op)
                case _:
                    pass

    def _own_destination(self, op: AssembleOp) -> None:
        if self.may_overwrite(op.dest, op):
            return
        root = root_of(op.dest)
        if is_argument(root, self.function):
            self._warn_copy(op, root)
        self._copy_operand(op, list(op.operands).index(op.dest))

    def _warn_copy(self, op: AssembleOp, root: SSAValue) -> None:
        name = root.name_hint or "argument"
        self.context.report(
            "warning",
            "PTO310",
            op,
            f"'{name}' is copied: it is changed, but no result has its name",
            help=f'{{pypto.name = "{name}"}} on the result updates the argument '
            "in place",
        )

    def may_overwrite(self, value: SSAValue, user: Operation) -> bool:
        """Whether `user` may write into the buffer of `value` in place."""
        if any(use.operation is not user for use in later_uses(value, user)):
            return False
        match value:
            case OpResult(op=ViewOp()):
                return False
            case OpResult(op=ReshapeOp() as op):
                return self.may_overwrite(op.source, op)
            case OpResult(op=scf.ForOp() as op):
                return self._loop_owns(op, value.index)
            case OpResult():
                return True
            case BlockArgument() if is_argument(value, self.function):
                return self._updated_in_place(value)
            case BlockArgument():
                loop = value.block.parent_op()
                return isinstance(loop, scf.ForOp) and self._loop_owns(
                    loop, value.index - 1
                )
            case _:
                return False

    def _loop_owns(self, loop: scf.ForOp, index: int) -> bool:
        return self.may_overwrite(loop.iter_args[index], loop)

    def _updated_in_place(self, argument: BlockArgument) -> bool:
        name = attribute_name(self.function.arg_attrs, argument.index)
        results = self.function.res_attrs
        count = len(self.function.function_type.outputs.data)
        return name is not None and any(
            attribute_name(results, index) == name for index in range(count)
        )

    def _own_yield(self, op: scf.YieldOp) -> None:
        loop = op.parent_op()
        for index, value in enumerate(op.operands):
            if not isinstance(value.type, TensorType):
                continue
            outside = root_of(value)
            inner = isinstance(loop, scf.ForOp) and defined_in(outside, loop)
            if is_view(value) or not inner:
                self._copy_operand(op, index)

    def _own_results(self, op: func.ReturnOp) -> None:
        seen: set[SSAValue] = set()
        for index, value in enumerate(list(op.operands)):
            if not isinstance(value.type, TensorType):
                continue
            root = root_of(value)
            if root in seen or is_view(value) or is_argument(root, self.function):
                self._copy_operand(op, index)
            seen.add(root)

    def _copy_operand(self, op: Operation, index: int) -> None:
        build = Builder.before(op)
        clone = build.value(CloneOp.make(op.operands[index]))
        clone.name_hint = op.operands[index].name_hint
        op.operands[index] = clone


def is_view(value: SSAValue) -> bool:
    """Whether `value` is a window into another tensor."""
    return isinstance(value, OpResult) and isinstance(value.op, ViewOp)


def root_of(value: SSAValue) -> SSAValue:
    """The tensor whose bytes `value` shares."""
    while isinstance(value, OpResult) and isinstance(value.op, ViewOp | ReshapeOp):
        value = value.op.source
    return value


def is_argument(value: SSAValue, function: func.FuncOp) -> bool:
    """Whether `value` is an argument of `function`."""
    return isinstance(value, BlockArgument) and value.block is function.body.block


def attribute_name(attributes: ArrayAttr[DictionaryAttr] | None, index: int) -> str | None:
    """`pypto.name` of an argument or result."""
    if attributes is None or index >= len(attributes.data):
        return None
    name = attributes.data[index].data.get("pypto.name")
    return name.data if isinstance(name, StringAttr) else None


def defined_in(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is defined inside a region of `op`."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    while block is not None:
        parent = block.parent_op()
        if parent is op:
            return True
        block = None if parent is None else parent.parent
    return False


def later_uses(value: SSAValue, user: Operation):
    """The uses of `value` that are not over when `user` runs."""
    block = user.parent
    order = {op: i for i, op in enumerate(block.ops)} if block is not None else {}
    here = order.get(user, -1)
    for use in value.uses:
        ancestor: Operation | None = use.operation
        while ancestor is not None and ancestor.parent is not block:
            ancestor = ancestor.parent_op()
        if ancestor is None or order[ancestor] >= here:
            yield use
