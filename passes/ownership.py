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

The same holds for what leaves a function or a block and for what a loop begins with:
each is a buffer of its own, so an argument, a view or one value twice makes a copy.
What a loop carries and changes is copied once, before the loop.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, TensorType
from xdsl.ir import (
    Block,
    BlockArgument,
    Operation,
    OpResult,
    Region,
    SSAValue,
    Use,
)

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.pypto.claims import ClaimOp
from pyptoc.dialects.pypto.debug import PrintOp
from pyptoc.dialects.pypto.scalars import AssertOp, DimOp
from pyptoc.dialects.pypto.shape import (
    AssembleOp,
    CloneOp,
    EmptyOp,
    ReinterpretOp,
    ReshapeOp,
    TransposeOp,
    ViewOp,
)
from pyptoc.dialects.record import record
from pyptoc.passes.builder import Builder
from pyptoc.passes.index_shapes import Scatter
from pyptoc.passes.reshape_views import view_of_reshape
from pyptoc.passes.size_text import tensor_text
from pyptoc.passes.structured import carried_number, defined_in, outside_tasks
from pyptoc.passes.windows import is_view

KEEPERS: dict[type[Operation], str] = {
    scf.ForOp: "the loop begins with",
    scf.YieldOp: "the block hands on",
    func.ReturnOp: "the function returns",
}
"""What needs a tensor of its own, in words."""


@record(frozen=False)
class Ownership:
    """Inserts the copies that one function needs."""

    context: PyptocContext
    function: func.FuncOp

    def run(self) -> None:
        """Insert clones until every destination and every result is its own."""
        for op in list(outside_tasks(self.function)):
            match op:
                case ReshapeOp() if is_view(op.source):
                    if not view_of_reshape(op):
                        self._copy_operand(op, 0, "a reshape needs it side by side")
                case PrintOp() if is_view(op.source):
                    self._copy_operand(op, 0, "a part of it is printed")
                case _ if isinstance(op, AssembleOp | Scatter):
                    self._own_destination(op)
                case scf.ForOp():
                    self._own_operands(op, 3)
                case scf.YieldOp():
                    self._own_yield(op)
                case func.ReturnOp():
                    self._own_results(op)
                case _:
                    pass

    def _own_destination(self, op: AssembleOp | Scatter) -> None:
        if self.may_overwrite(op.dest, op):
            return
        readers_first(root_of(op.dest), op)
        while not self.may_overwrite(op.dest, op):
            user, index = self._outermost(op, list(op.operands).index(op.dest))
            root = root_of(user.operands[index])
            reason = "it is changed, and its old value is used later"
            if is_argument(root, self.function):
                self._warn_copy(user, root)
                reason = ""
            self._copy_operand(user, index, reason)

    def _outermost(self, user: Operation, index: int) -> tuple[Operation, int]:
        """
        Where a copy of an operand is made once, and not in every trip.

        What a loop carries and only `user` needs is copied before the loop. In a
        parallel loop it has to be: a copy in each trip would wait for the trip before.
        """
        value = user.operands[index]
        while isinstance(value, BlockArgument) and is_last_user(value, user):
            loop = value.block.parent_op()
            if not isinstance(loop, scf.ForOp):
                break
            slot = next(
                slot
                for slot in slots_into(loop, value.index - 1)
                if not self.may_overwrite(loop.iter_args[slot], loop)
            )
            user, index = loop, slot + 3
            value = user.operands[index]
        return user, index

    def _warn_copy(self, op: Operation, root: SSAValue) -> None:
        assert isinstance(root, BlockArgument)
        name = attribute_name(self.function.arg_attrs, root.index)
        name = name or root.name_hint or "argument"
        copied = f"'{name}' is copied: {tensor_text(root)} a call"
        if self._updated_in_place(root):
            rule = "it is read after it was changed, and reads the old value"
            help = f"use %{name} before the change, or the changed value after it"
        else:
            rule = "it is changed, but no result has its name"
            help = f'{{pypto.name = "{name}"}} on the result updates it in place'
        self.context.report("warning", "PTO310", op, copied, rule=rule, help=help)

    def may_overwrite(self, value: SSAValue, user: Operation) -> bool:
        """Whether `user` may write into the buffer of `value` in place."""
        if not is_last_user(value, user):
            return False
        match value:
            case OpResult(op=ViewOp() | TransposeOp() | ReinterpretOp()):
                return False
            case OpResult(op=ReshapeOp() as op):
                return self.may_overwrite(op.source, op)
            case OpResult(op=scf.ForOp() as op):
                return self.may_overwrite(op.iter_args[value.index], op)
            case OpResult(op=scf.IfOp() as op):
                return all(
                    self.may_overwrite(end.operands[value.index], end)
                    for end in branch_ends(op)
                )
            case OpResult():
                return True
            case BlockArgument() if is_argument(value, self.function):
                return self._updated_in_place(value)
            case BlockArgument():
                loop = value.block.parent_op()
                return isinstance(loop, scf.ForOp) and all(
                    self.may_overwrite(loop.iter_args[slot], loop)
                    for slot in slots_into(loop, value.index - 1)
                )
            case _:
                return False

    def _updated_in_place(self, argument: BlockArgument) -> bool:
        name = attribute_name(self.function.arg_attrs, argument.index)
        results = self.function.res_attrs
        count = len(self.function.function_type.outputs.data)
        return name is not None and any(
            attribute_name(results, index) == name for index in range(count)
        )

    def _own_yield(self, op: scf.YieldOp) -> None:
        loop = op.parent_op()
        if isinstance(loop, scf.ForOp):
            self._own_operands(op, 0, lambda root: not defined_in(root, loop))
        else:
            self._own_operands(op, 0)

    def _own_results(self, op: func.ReturnOp) -> None:
        self._own_operands(op, 0, lambda root: is_argument(root, self.function))

    def _own_operands(
        self,
        op: Operation,
        first: int,
        foreign: Callable[[SSAValue], bool] = lambda root: False,
    ) -> None:
        """Operands from `first` on are buffers of their own, and none is `foreign`."""
        seen: set[SSAValue] = set()
        for index, value in list(enumerate(op.operands))[first:]:
            if not isinstance(value.type, TensorType):
                continue
            root = root_of(value)
            if is_borrowed(value):
                self._copy_operand(op, index, f"{KEEPERS[type(op)]} a view")
            elif foreign(root):
                self._copy_operand(
                    op, index, f"{KEEPERS[type(op)]} what is not its own"
                )
            elif root in seen:
                self._copy_operand(op, index, f"{KEEPERS[type(op)]} it twice")
            seen.add(root)

    def _copy_operand(self, op: Operation, index: int, reason: str) -> None:
        """A copy of an operand, with a remark that says why; "": it has been said."""
        build, value = Builder.before(op), op.operands[index]
        if isinstance(value, OpResult) and isinstance(value.op, EmptyOp):
            clone = build.value(value.op.clone())  # nothing is there to be read
        else:
            clone = build.value(CloneOp.make(value))
            if reason:
                name = value.name_hint or root_of(value).name_hint or "a tensor"
                text = f"'{name}' is copied, {tensor_text(value)}: {reason}"
                self.context.remark(op, text, "PTO311")
        clone.name_hint = value.name_hint
        op.operands[index] = clone


def slots_into(loop: scf.ForOp, slot: int) -> list[int]:
    """The carried values whose buffer a later trip may have in `slot`, itself first."""
    last = loop.body.block.last_op
    assert last is not None
    found = [slot]
    for number in found:
        found += sorted(_slots_of(last.operands[number], loop, set()) - set(found))
    return found


def _slots_of(value: SSAValue, loop: scf.ForOp, seen: set[SSAValue]) -> set[int]:
    """The carried values of `loop` whose buffer `value` may be, handed on."""
    if value in seen:
        return set()
    seen.add(value)
    sources: list[SSAValue] = []
    match value:
        case BlockArgument() if value.block is loop.body.block:
            return {value.index - 1}
        case BlockArgument():
            inner = value.block.parent_op()
            if isinstance(inner, scf.ForOp) and loop.body.block.is_ancestor(inner):
                sources = [inner.results[value.index - 1]]
        case OpResult(op=ReshapeOp() as op):
            sources = [op.source]
        case OpResult(op=scf.ForOp() as op):
            assert op.body.block.last_op is not None
            handed = op.body.block.last_op.operands[value.index]
            sources = [op.iter_args[value.index], handed]
        case OpResult(op=scf.IfOp() as op):
            sources = [end.operands[value.index] for end in branch_ends(op)]
        case _:
            pass
    return {slot for source in sources for slot in _slots_of(source, loop, seen)}


def readers_first(value: SSAValue, user: Operation) -> None:
    """
    Move what reads `value` later in the block of `user` before `user`.

    Ops stay where they are if they need what `user` makes or change `value` too, or if
    an assert stands between: no op is moved over one.
    """
    home = user.parent
    assert home is not None
    order = {op: position for position, op in enumerate(home.ops)}
    here = order[user]
    later: set[Operation] = set()
    for alias in (value, *aliases_of(value, user)):
        for use in byte_uses(alias):
            reader = home.find_ancestor_op_in_block(use.operation)
            if reader is not None and order[reader] > here:
                later.add(reader)
    needed: set[Operation] = set()
    queue = list(later)
    while queue:
        op = queue.pop()
        if op in needed:
            continue
        needed.add(op)
        for operand in (v for inner in op.walk() for v in inner.operands):
            maker = None if isinstance(operand.owner, Block) else operand.owner
            if maker is not None and order.get(maker, -1) >= here:
                queue.append(maker)
    last = max((order[op] for op in needed), default=here)
    between = [op for op, position in order.items() if here < position <= last]
    if user in needed or home.last_op in needed or any(map(is_fence, between)):
        return
    if any(writes(inner, value) for op in needed for inner in op.walk()):
        return
    for op in sorted(needed, key=order.__getitem__):
        op.detach()
        home.insert_op_before(op, user)


def writes(op: Operation, value: SSAValue) -> bool:
    """Whether `op` may change the bytes of `value` where they are."""
    match op:
        case _ if isinstance(op, AssembleOp | Scatter):
            return root_of(op.dest) is value
        case scf.ForOp():
            return any(root_of(initial) is value for initial in op.iter_args)
        case _:
            return False


def is_fence(op: Operation) -> bool:
    """Whether `op` may stop the program or show something."""
    return any(isinstance(inner, AssertOp | PrintOp | ClaimOp) for inner in op.walk())


def is_borrowed(value: SSAValue) -> bool:
    """Whether `value` is memory that tasks only read: a view, or bytes as a type."""
    while isinstance(value, OpResult) and isinstance(value.op, ReshapeOp):
        value = value.op.source
    return is_view(value) or isinstance(value.owner, ReinterpretOp)


def root_of(value: SSAValue) -> SSAValue:
    """The tensor whose bytes `value` shares."""
    while isinstance(value, OpResult) and isinstance(
        value.op, ViewOp | TransposeOp | ReshapeOp | ReinterpretOp
    ):
        value = value.op.source
    return value


def is_argument(value: SSAValue, function: func.FuncOp) -> bool:
    """Whether `value` is an argument of `function`."""
    return isinstance(value, BlockArgument) and value.block is function.body.block


def attribute_name(
    attributes: ArrayAttr[DictionaryAttr] | None, index: int
) -> str | None:
    """`pypto.name` of an argument or result."""
    if attributes is None or index >= len(attributes.data):
        return None
    name = attributes.data[index].data.get("pypto.name")
    return name.data if isinstance(name, StringAttr) else None


def branch_ends(op: scf.IfOp) -> list[Operation]:
    """The yields of both branches."""
    ends = [block.ops.last for region in op.regions for block in region.blocks]
    return [end for end in ends if end is not None]


def is_last_user(value: SSAValue, user: Operation) -> bool:
    """Whether every other use of `value` is over, for good, when `user` runs."""
    owner = value.owner
    home = owner if isinstance(owner, Block) else owner.parent
    assert home is not None
    parent = user.parent_op()
    while parent is not None and user.parent is not home:
        if isinstance(parent, scf.ForOp) and home.is_ancestor(parent):
            return False
        parent = parent.parent_op()
    if not all(
        use.operation is user or is_over(use.operation, user, home)
        for use in byte_uses(value)
    ):
        return False
    return all(
        is_over(use.operation, user, home)
        for alias in aliases_of(value, user)
        for use in byte_uses(alias)
    )


def byte_uses(value: SSAValue) -> list[Use]:
    """The uses that need the bytes of `value`: its sizes outlive them."""
    return [use for use in value.uses if not isinstance(use.operation, DimOp)]


def aliases_of(value: SSAValue, user: Operation) -> list[SSAValue]:
    """Other values that share the bytes of `value`, but for what `user` makes."""
    found: dict[SSAValue, None] = {value: None}
    queue = [value]
    while queue:
        for use in queue.pop().uses:
            if use.operation is user or are_branches(use.operation, user):
                continue
            for alias in _shares(use):
                if alias not in found:
                    found[alias] = None
                    queue.append(alias)
    return list(found)[1:]


def _shares(use: Use) -> list[SSAValue]:
    """The values that an op makes of the bytes of one of its operands."""
    op = use.operation
    match op:
        case ViewOp() | TransposeOp() | ReshapeOp() | ReinterpretOp():
            return list(op.results)
        case scf.ForOp() if (number := carried_number(use)) >= 0:
            return [op.body.block.args[number + 1], op.results[number]]
        case scf.YieldOp() if (parent := op.parent_op()) is not None:
            return [parent.results[use.index]] if parent.results else []
        case _:
            return []


def are_branches(one: Operation, other: Operation) -> bool:
    """Whether two ops are in different branches of one `scf.if`."""
    regions: dict[Operation, Region] = {}
    region = one.parent_region()
    while region is not None and (parent := region.parent) is not None:
        regions[parent] = region
        region = parent.parent_region()
    region = other.parent_region()
    while region is not None and (parent := region.parent) is not None:
        if isinstance(parent, scf.IfOp) and regions.get(parent, region) is not region:
            return True
        region = parent.parent_region()
    return False


def is_over(other: Operation, user: Operation, home: Block) -> bool:
    """Whether `other`, in or under `home`, is done or cannot run when `user` does."""
    first = home.find_ancestor_op_in_block(other)
    second = home.find_ancestor_op_in_block(user)
    assert first is not None
    assert second is not None
    while first is second:
        if first in (other, user):
            return False
        regions = [index_of_region(op, first) for op in (other, user)]
        if regions[0] != regions[1]:
            return True
        home = first.regions[regions[0]].block
        first = home.find_ancestor_op_in_block(other)
        second = home.find_ancestor_op_in_block(user)
        assert first is not None
        assert second is not None
    return home.get_operation_index(first) < home.get_operation_index(second)


def index_of_region(op: Operation, parent: Operation) -> int:
    """Which region of `parent` holds `op`."""
    return next(i for i, region in enumerate(parent.regions) if region.is_ancestor(op))
