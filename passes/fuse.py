"""
What partition rewrites so that more ops share a task.

Vector ops of one row, or of one for each leading index, join the group that reads them;
groups that fold rows are cut where that pays (`cut_rows.py`); readers of a product that
a loop makes move into the loop (`sink_rows.py`); at last, products join the vector ops
that read them (`fuse_products.py`). Each refusal is a remark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.pypto.attrs import VecTileAttr
from pyptoc.dialects.pypto.matmul import Product
from pyptoc.dialects.pypto.shape import AssembleOp
from pyptoc.dialects.record import record
from pyptoc.passes.choices import Choices, given_sizes
from pyptoc.passes.cleanup import erase_dead
from pyptoc.passes.compared import Compared
from pyptoc.passes.cut_choice import RowCuts, group_time, row_count
from pyptoc.passes.cut_rows import Cut
from pyptoc.passes.fuse_products import Fusing, products_of
from pyptoc.passes.group_work import grid_loops, trips_of
from pyptoc.passes.grouping import Grouping
from pyptoc.passes.groups import (
    CUT,
    NARROW,
    Domain,
    Group,
    blocks_of,
    domain_of,
    folds_columns,
)
from pyptoc.passes.mixed_tiles import MixedChooser
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.sink_rows import Made, Sink, made_by_loops
from pyptoc.passes.structured import is_one, is_reduction, is_scan
from pyptoc.passes.tile_settings import TILE, is_whole
from pyptoc.passes.trial import Trial
from pyptoc.passes.windows import views_of
from pyptoc.runtime.machine import Machine

CLEARLY = 0.98
"""The share of the time that more launches may take than there were."""


@record(frozen=False)
class Fusion:
    """Decides for one function what is rewritten, and what is fused."""

    context: PyptocContext
    function: func.FuncOp
    shapes: Shapes
    fuse: bool
    cut: bool
    force: bool
    """Whatever the model says of the time."""
    parts: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """Ops of different numbers are in different groups."""
    _settled: set[tuple[str, frozenset[Operation]]] = field(
        default_factory=set[tuple[str, frozenset[Operation]]]
    )
    _decided: set[int] = field(default_factory=set[int])
    """The parts that are there to join a product."""
    _refused: set[Operation] = field(default_factory=set[Operation])

    @property
    def machine(self) -> Machine:
        return self.context.machine

    @cached_property
    def choices(self) -> Choices:
        """What chooses the tiles of groups, and so says how long they take."""
        return Choices(self.context, self.shapes)

    def _fusing(
        self,
        bases: Mapping[SSAValue, Product],
        group: Group,
        loops: Sequence[scf.ForOp] = (),
    ) -> Fusing:
        trips = trips_of(loops, self.shapes)
        chooser = MixedChooser(bases, group, self.shapes, self.machine, trips)
        return Fusing(chooser)

    def _is_new(self, step: str, group: Group) -> bool:
        """Whether a step meets a group for the first time."""
        key = (step, frozenset(group.ops))
        new = key not in self._settled
        self._settled.add(key)
        return new

    def _is_decided(self, group: Group) -> bool:
        return any(self.parts.get(op) in self._decided for op in group.ops)

    def _folds(self, ops: Sequence[Operation]) -> bool:
        return any(folds_columns(op, self.shapes) for op in ops)

    def _refuse(self, product: Operation, reason: str) -> None:
        """Say once why a product gets a launch of its own."""
        if product not in self._refused:
            self._refused.add(product)
            text = f"not fused with the vector ops that read it: {reason}"
            self.context.remark(product, text, "PTO321")

    # -- rewrites

    def rewrite(self, form: Callable[[Block], Grouping]) -> None:
        """Rewrite the function until nothing changes; `form` groups a block."""
        if not self.fuse and not self.cut:
            return
        while any(self._rewrite(block, form) for block in self._blocks()):
            pass
        erase_dead(self.function)

    def _blocks(self) -> list[Block]:
        return [block for block in blocks_of(self.function) if not is_whole(block)]

    def _rewrite(self, block: Block, form: Callable[[Block], Grouping]) -> bool:
        """Rewrite one block; whether loops in it are new."""
        while True:
            groups = form(block).groups()
            vectors = [group for group in groups if group.unit == "vector"]
            if self.fuse and absorb(vectors, self.shapes):
                continue
            if not any(map(self._consider, vectors)):
                return self.fuse and any(map(self._sink, vectors))

    def _consider(self, group: Group) -> bool:
        """Cut a group that folds rows, where that pays; whether it was."""
        if CUT in group.ops[0].attributes or not self._is_new("cut", group):
            return False
        cut = Cut(group.ops, self.shapes)
        if cut.folds and self.fuse and self._cut_for_product(cut, group):
            return True
        if not self.cut:
            return False
        halves = RowCuts(self.choices, group, self.force).run()
        if halves is None:
            return False
        self._number(*halves)
        return True

    def _number(self, *parts: Sequence[Operation]) -> int:
        """Give the parts of a group numbers; that of the first."""
        number = self._next_number()
        for position, ops in enumerate(parts):
            self.parts.update(dict.fromkeys(ops, number + position))
        return number

    def _next_number(self) -> int:
        return 1 + max(self.parts.values(), default=0)

    # -- products

    def _cut_for_product(self, cut: Cut, group: Group) -> bool:
        """Cut where the first part can read a product on chip."""
        first = Group(0, "vector", cut.first)
        made = made_by_loops(first, self.shapes)
        bases = products_in(made) or products_of(first, self.shapes)
        fusing = self._fusing(bases, first)
        unfit = fusing.unfit()
        for base, reason in unfit.items():
            self._refuse(bases[base], reason)
        if len(unfit) == len(bases):
            return False
        fusing = self._fusing(without(bases, unfit), first)
        product = fusing.chooser.products[0]
        reason = cut.obstacle or fusing.obstacle()
        if reason is None and made:
            reason = Sink(first, made, self.shapes).obstacle()
        if reason is not None:
            self._refuse(product, reason)
            return False
        compared = self._cut_compared(group, fusing)
        enough = 1.0 if len(compared.new) <= len(compared.old) else CLEARLY
        if compared.ratio >= enough and not self.force:
            self._refuse(product, str(compared))
            return False
        cut.apply(self._kept(cut, fusing), 0)
        self._decided.add(self._number(cut.first, cut.rest))
        self.context.remark(
            group.ops[0],
            "rows are folded in two steps, the first where the product is on chip: "
            f"{compared}",
            "PTO322",
        )
        return True

    def _kept(self, cut: Cut, fusing: Fusing) -> dict[SSAValue, SSAValue]:
        on_chip = {value for read in fusing.chooser.reads for value in read.values}
        return cut.kept(self.machine, on_chip)

    def _cut_compared(self, group: Group, fusing: Fusing) -> Compared:
        """A group cut where its first part reads a product on chip, and apart."""
        whole = self._fusing(fusing.bases, group)
        given = given_sizes(group.ops, whole.chooser.domain.rank)
        with Trial(group.ops) as trial:
            cut = Cut(trial.ops, self.shapes)
            cut.apply(self._kept(cut, fusing), 0)
            first = self._fusing(fusing.bases, Group(0, "vector", cut.first))
            best = first.chooser.best
            assert best is not None
            for op in cut.first:
                op.attributes[TILE] = VecTileAttr([best.tile.m0, best.tile.n0])
            rest = group_time(self.choices, cut.rest, given)
            new = [first.together, rest]
        return Compared(new, whole.apart(self.choices))

    def _sink(self, group: Group) -> bool:
        """Move a group into the loop that makes the products it reads."""
        made = made_by_loops(group, self.shapes)
        if not made or (self._folds(group.ops) and not self._is_decided(group)):
            return False
        if not self._is_new("sink", group):
            return False
        bases = products_in(made)
        product = next(iter(bases.values()))
        fusing = self._fusing(bases, group)
        sink = Sink(group, made, self.shapes)
        if not self._is_decided(group):
            reason = fusing.obstacle() or sink.obstacle()
            if reason is None:
                compared = Compared([fusing.together], fusing.apart(self.choices))
                if not compared.pays and not self.force:
                    reason = str(compared)
            if reason is not None:
                self._refuse(product, reason)
                return False
        number = self.parts.get(group.ops[0])
        if number is None:
            number = self._next_number()
        self._decided.add(number)
        self.parts.update(dict.fromkeys(sink.apply(), number))
        self.context.remark(
            product, "what reads the rows that it makes moved into the loop", "PTO320"
        )
        return True

    def mix(self, grouping: Grouping, *, trial: bool = False) -> None:
        """Let products join the vector groups that read them; a trial says nothing."""
        if not self.fuse:
            return
        for group in grouping.groups():
            bases = products_of(group, self.shapes) if group.unit == "vector" else {}
            unfit = self._fusing(bases, group).unfit()
            if not trial:
                for base, reason in unfit.items():
                    self._refuse(bases[base], reason)
            if len(unfit) < len(bases):
                self._join(grouping, without(bases, unfit), group, trial=trial)

    def _join(
        self,
        grouping: Grouping,
        bases: Mapping[SSAValue, Product],
        group: Group,
        *,
        trial: bool,
    ) -> None:
        product = next(iter(bases.values()))
        members = {*group.ops, *bases.values()}
        ops = [op for op in grouping.ops if op in members]
        views = [view for base in bases for view in views_of(base)]
        mixed = Group(0, "mixed", ops, views)
        loops = self._loops_around(grouping, mixed)
        fusing = self._fusing(bases, group, loops)
        decided = self._is_decided(group)
        reason = self._why_apart(grouping, fusing, mixed)
        compared: Compared | None = None
        if reason is None and not (trial and decided):
            trips = fusing.chooser.trips
            compared = Compared([fusing.together], fusing.apart(self.choices), trips)
            if not (compared.pays or decided or self.force):
                reason = str(compared)
        if reason is None:
            for op in group.ops:
                op.attributes.setdefault(CUT, IntegerAttr(0, i64))
            grouping.assign(mixed)
        if trial:
            return
        if reason is not None:
            self._refuse(product, reason)
            return
        text = "the vector ops that read it share its tasks"
        self.context.remark(product, f"{text}: {compared}", "PTO320")

    def _loops_around(self, grouping: Grouping, mixed: Group) -> list[scf.ForOp]:
        """The loops that would be axes of the grid of a mixed group."""
        inside = {*mixed.ops, *mixed.views}

        def groups(_: Block) -> list[Group]:
            others = (g for g in grouping.groups() if inside.isdisjoint(g.ops))
            return [mixed, *others]

        return grid_loops(mixed.ops[0], groups)

    def _why_apart(
        self, grouping: Grouping, fusing: Fusing, mixed: Group
    ) -> str | None:
        """Why products cannot join their readers, whatever it costs; None: they can."""
        group = fusing.part
        if any(len(grouping.group_of[op].ops) > 1 for op in fusing.bases.values()):
            return "it is stored where others read it"
        if self._folds(group.ops) and not self._is_decided(group):
            return "the ops that read it fold rows"
        if not grouping.is_apart(mixed.ops, mixed.views):
            return "something stands between them"
        return fusing.obstacle()


def without(
    bases: Mapping[SSAValue, Product], unfit: Mapping[SSAValue, str]
) -> dict[SSAValue, Product]:
    """The products that are left."""
    return {base: op for base, op in bases.items() if base not in unfit}


def products_in(made: Mapping[SSAValue, Made]) -> dict[SSAValue, Product]:
    """The products that loops store, by what the loops make of them."""
    return {base: one.product for base, one in made.items()}


def absorb(groups: list[Group], shapes: Shapes) -> bool:
    """
    Mark the groups of one row whose only readers are one group of more rows.

    Each of its tasks makes the row again, which is cheaper than a launch. It may be one
    row for each leading index, as cos of a token is for all its heads.
    """
    marked = False
    for group in groups:
        if NARROW not in group.ops[0].attributes and is_absorbed(group, groups, shapes):
            marked = True
            for op in group.ops:
                op.attributes[NARROW] = UnitAttr()
    return marked


def is_absorbed(group: Group, groups: list[Group], shapes: Shapes) -> bool:
    """Whether a group of few rows can be part of the group that reads it."""
    users = {use.operation for value in group.outputs for use in value.uses}
    homes = [other for other in groups if not users.isdisjoint(other.ops)]
    own = domain_of(group.ops, shapes)
    if own is None or len(homes) != 1 or homes[0] is group:
        return False
    (home,) = homes
    whole = domain_of(home.ops, shapes)
    if whole is None or not users <= set(home.ops) or len(group.ops) > len(home.ops):
        return False
    if any(
        is_reduction(op) or is_scan(op) or isinstance(op, AssembleOp)
        for op in group.ops
    ):
        return False
    fits = own.columns == whole.columns or is_one((own.columns,), 0)
    return fits and is_one_row_of(own, whole) and not has_one_row(whole)


def is_one_row_of(own: Domain, whole: Domain) -> bool:
    """Whether a domain is one row, or one for each leading index of another."""
    if own.leading and own.leading == whole.leading and own.rows is not None:
        return is_one((own.rows,), 0)
    return has_one_row(own)


def has_one_row(domain: Domain) -> bool:
    """Whether a domain is no more than one row."""
    return row_count(domain) == 1
