"""
The groups of one block, while `partition` forms them.

An op joins the groups of its producers where all ops have one domain and nothing
outside stands between two of them: no path of values, no assert, no store into what one
of them still reads. Only `Grouping.finish` changes the block: it makes the ops of each
group adjacent.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue, Use

from pyptoc.dialects.pypto.scalars import AssertOp
from pyptoc.dialects.pypto.shape import AssembleOp
from pyptoc.dialects.record import record
from pyptoc.passes.groups import CUT, FOLD, NARROW, Group, OpForm, common_domain
from pyptoc.passes.index_shapes import SCATTERS, Scatter
from pyptoc.passes.matmul_shape import may_split
from pyptoc.passes.ownership import root_of
from pyptoc.passes.shapes import Shapes, static_bound
from pyptoc.passes.structured import LEAVES, tensor_operands, unit_of
from pyptoc.passes.windows import is_stored_box, readers, window_of

Forms = dict[Hashable, OpForm]
"""Of ops, by what their form depends on."""

SCAN_COLUMNS = 1024
"""Rows up to this length are scanned together with what is made of them."""


@record(frozen=False)
class Grouping:
    """Groups the ops of one block and makes each group's ops adjacent."""

    block: Block
    shapes: Shapes
    parts: Mapping[Operation, int]
    """Ops of different numbers are in different groups."""
    siblings: bool = False
    """Whether those that read one product are one group, if they can be."""
    group_of: dict[Operation, Group] = field(default_factory=dict[Operation, Group])
    forms: Forms = field(default_factory=dict[Hashable, OpForm])

    def __post_init__(self) -> None:
        self.ops = list(self.block.ops)
        self.places = {op: place for place, op in enumerate(self.ops)}
        self.producers = {op: self._producers(op) for op in self.ops}
        self._order_after_readers()

    def form(self) -> None:
        """Give each op that computes a group; the block stays as it is."""
        for op in self.ops:
            unit = unit_of(op)
            if unit in ("cube", "index"):
                self.assign(Group(0, unit, [op]))
            elif unit == "vector" and not is_free_leaf(op):
                self._place(op)
        if self.siblings:
            for op in self.ops:
                if unit_of(op) == "cube":
                    self._join_readers(op.results[0])

    def _join_readers(self, value: SSAValue) -> None:
        """Make one group of those that read a product, as far as they fit."""
        found = {id(g): g for op in readers(value) if (g := self._group(op))}
        groups = list(found.values())
        one = groups[0] if groups else None
        for other in groups[1:]:
            assert one is not None
            if {one.unit, other.unit} != {"vector"}:
                return
            merged = self._merge([], [one, other])
            if merged is not None:
                self.assign(merged)
                one = merged

    def finish(self) -> list[Group]:
        """The groups, in block order; the block is reordered to keep each together."""
        self._make_adjacent()
        return self.groups()

    def groups(self) -> list[Group]:
        """In block order."""
        return list(
            {id(g): g for op in self.block.ops if (g := self._group(op))}.values()
        )

    def is_apart(
        self, ops: Sequence[Operation], views: Sequence[Operation] = ()
    ) -> bool:
        """Whether nothing stands between `ops`, or is overwritten by one of them."""
        members = {*ops, *views}
        if any(self._reads_stored(member, members) for member in ops):
            return False
        if any(self._is_overwritten(member, ops) for member in ops):
            return False
        return self._is_convex(members)

    def _group(self, op: Operation) -> Group | None:
        return self.group_of.get(op)

    def assign(self, group: Group) -> None:
        """The ops of `group` are in no other one."""
        for op in (*group.ops, *group.views):
            self.group_of[op] = group

    def _place(self, op: Operation) -> None:
        neighbours = self._neighbours(op)
        for chosen in (neighbours, *([one] for one in reversed(neighbours))):
            merged = self._merge([op], chosen)
            if chosen and merged is not None:
                self.assign(merged)
                return
        self.assign(Group(0, "vector", [op]))

    def _neighbours(self, op: Operation) -> list[Group]:
        """The groups that `op` could join: those of the producers it reads."""
        if isinstance(op, AssembleOp):
            source = op.source
            if not isinstance(source, OpResult):
                return []
            group = self._group(source.op)
            if group is None or isinstance(source.op, SCATTERS):
                return []
            if group.unit != "vector" and not source.has_one_use():
                return []
            if may_split(group.ops[0], self.shapes):
                return []
            return [group]
        found = [self._group(producer) for producer in self.producers[op]]
        unique = {id(group): group for group in found if group is not None}
        return [group for group in unique.values() if group.unit == "vector"]

    def _merge(
        self, more: Sequence[Operation], groups: Sequence[Group]
    ) -> Group | None:
        members = {member for group in groups for member in group.ops} | {*more}
        ops = self._in_order(members)
        unit = groups[0].unit if groups else "vector"
        if len({self.parts.get(member) for member in ops}) > 1:
            return None
        if unit == "vector" and not self._fits_together(ops):
            return None
        if unit == "cube" and len(ops) > 2:
            return None
        return Group(0, unit, ops) if self.is_apart(ops) else None

    def _in_order(self, ops: Iterable[Operation]) -> list[Operation]:
        """Those of the ops that stand in the block, in its order."""
        return sorted(
            (op for op in ops if op in self.places), key=self.places.__getitem__
        )

    def _fits_together(self, ops: Sequence[Operation]) -> bool:
        """Whether vector ops have one domain; a scan keeps its rows whole in UB."""
        forms = [self._form(op) for op in ops]
        domain = common_domain(forms)
        if domain is None or not any(form.scans for form in forms):
            return domain is not None
        bound = static_bound(domain.columns)
        return bound is not None and bound <= SCAN_COLUMNS

    def _form(self, op: Operation) -> OpForm:
        """Looked at once, as long as an op has the same operands and marks."""
        marks = (mark in op.attributes for mark in (CUT, FOLD, NARROW))
        key = (op, *op.operands, *marks)
        found = self.forms.get(key)
        if found is None:
            found = self.forms[key] = OpForm.of(op, self.shapes)
        return found

    def _reads_stored(self, op: Operation, members: set[Operation]) -> bool:
        """Whether `op` uses a whole tensor that a task of the group stores a box of."""
        return any(
            isinstance(producer, AssembleOp) and producer in members
            for producer in self.producers[op]
        )

    def _is_overwritten(self, op: Operation, members: Sequence[Operation]) -> bool:
        """Whether a task could store what another task of the group still reads."""
        if not isinstance(op, AssembleOp):
            return False
        root = root_of(op.dest)
        if root.owner in members:
            return True
        base = window_of(op.dest, self.shapes).base
        return any(
            root_of(value) is root
            and (
                unit_of(member) != "vector"
                or not is_stored_box(value, base, op, self.shapes)
            )
            for member in members
            for value in tensor_operands(member)
        )

    def _is_convex(self, members: set[Operation]) -> bool:
        """Whether no path leaves `members` and comes back (an assert is a fence)."""
        tainted: set[Operation] = set()
        fenced = False
        places = [self.places[op] for op in members if op in self.places]
        for op in self.ops[min(places) : max(places) + 1]:
            if op in members:
                if fenced or not tainted.isdisjoint(self.producers[op]):
                    return False
                continue
            producers = self.producers[op]
            if fenced or any(p in members or p in tainted for p in producers):
                tainted.add(op)
                fenced = fenced or has_effect(op)
        return True

    def _producers(self, op: Operation) -> list[Operation]:
        """The ops of this block whose results `op`, or an op inside it, uses."""
        found: dict[Operation, None] = {}
        for inner in op.walk():
            for operand in inner.operands:
                if isinstance(operand, OpResult) and operand.op.parent is self.block:
                    found[operand.op] = None
        return list(found)

    def _order_after_readers(self) -> None:
        """What is written in place waits for the earlier readers of its old value."""
        readers: dict[SSAValue, dict[Operation, None]] = {}
        for op in self.ops:
            before = dict.fromkeys(self.producers[op])
            for value in written_by(op):
                before |= readers.get(root_of(value), {})
            self.producers[op] = list(before)
            for inner in op.walk():
                for operand in inner.operands:
                    if isinstance(operand.type, TensorType):
                        readers.setdefault(root_of(operand), {})[op] = None

    def _make_adjacent(self) -> None:
        """Reorder: a group's ops follow each other, everything else keeps its order."""
        order: list[Operation] = []
        done: set[Operation] = set()
        fences: list[Operation] = []
        fence_before: dict[Operation, int] = {}
        for op in self.ops:
            fence_before[op] = len(fences)
            if has_effect(op):
                fences.append(op)

        def visit(op: Operation) -> None:
            stack = [op]
            while stack:
                top = stack[-1]
                group = self._group(top)
                unit = [top]
                if group is not None:
                    inside = {*group.ops, *group.views}
                    unit = self._in_order(inside)
                if top in done:
                    stack.pop()
                    continue
                missing = [
                    needed
                    for member in unit
                    for needed in self._needs(member, fences, fence_before)
                    if needed not in done and needed not in unit
                ]
                if missing:
                    stack.extend(reversed(missing))
                    continue
                order.extend(unit)
                done.update(unit)
                stack.pop()

        for op in self.ops:
            visit(op)
        if order != self.ops:
            reorder(self.block, order)

    def _needs(
        self,
        op: Operation,
        fences: Sequence[Operation],
        fence_before: dict[Operation, int],
    ) -> Iterable[Operation]:
        yield from self.producers[op]
        if fence_before[op]:
            yield fences[fence_before[op] - 1]


def written_by(op: Operation) -> list[SSAValue]:
    """The tensors that `op`, or an op inside it, may write in place."""
    found: list[SSAValue] = []
    for inner in op.walk():
        if isinstance(inner, AssembleOp | Scatter):
            found.append(inner.dest)
        elif isinstance(inner, scf.ForOp):
            found += inner.iter_args
    return found


def reorder(block: Block, order: Sequence[Operation]) -> None:
    """Put the ops of `block` into `order`."""
    for op in order:
        op.detach()
    block.add_ops(order)


def has_effect(op: Operation) -> bool:
    """Whether `op`, or an op inside it, may stop the program (a failed assert)."""
    return op.name in ("func.return", "scf.yield") or any(
        isinstance(inner, AssertOp) for inner in op.walk()
    )


def is_free_leaf(op: Operation) -> bool:
    """A leaf that only vector ops read: each of them makes its own tile of it."""
    return isinstance(op, LEAVES) and all(
        unit_of(use.operation) == "vector" and not is_destination(use)
        for use in op.results[0].uses
    )


def is_destination(use: Use) -> bool:
    """Whether a use is the destination of an assemble."""
    return isinstance(use.operation, AssembleOp) and use.index == 1
