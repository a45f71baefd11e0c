"""Matmuls of a kernel as calls of `matmul.py` and `fused_matmul.py`.

A *group* is what feeds one matmul: the moves of its operands to L0, the matmul, and
flags in between. Where nothing else touches those L0 buffers the moves need not be
made: the group becomes one call that reads L1. A loop that holds one group and nothing
else collects its steps and multiplies once, after the loop, if the slices tile the
buffers (`FusedMatmul.put_off` looks at that when it runs). A loop around it that only
loads what it needs puts the products off until after it, and the loads need not be made
(`direct_loads.py`).

    scf.for %k0 ... {                                  steps = []
      tile.move %la[0, %k0] [%m, 64] into %a           for v7 in range(0, 256, 64):
      tile.move %lb[%k0, 0] [64, %n] into %b      ->       steps.append(Step(...))
      tile.matmul %a, %b into %c [...] accumulate      g9.run(steps, (v2, v3), v5)
    }

That hides what a wrong L0 address would do, so program order without `fuse`, and every
adversarial order, make each move. With `check` each load is made.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.expr import Expr, to_python
from pyptoc.dialects.tile_flags import BarrierOp, FlagOp
from pyptoc.dialects.tile_move import MoveOp
from pyptoc.dialects.tile_transfer import LoadOp
from pyptoc.dialects.tile_types import Instruction, buffer_type
from pyptoc.runtime.accumulators import blocks_of_readers
from pyptoc.runtime.ahead import Ahead
from pyptoc.runtime.codegen import Handler
from pyptoc.runtime.decode import decoder
from pyptoc.runtime.direct_loads import direct_loads
from pyptoc.runtime.fused_matmul import FusedMatmul, Step
from pyptoc.runtime.images import Images
from pyptoc.runtime.matmul import product, product_mx, start_at
from pyptoc.runtime.matmul_groups import MATMULS, Group, find_groups
from pyptoc.runtime.numerics import storage_dtype
from pyptoc.runtime.operand import Side
from pyptoc.runtime.operand_images import OperandImages
from pyptoc.runtime.replay import layout_of, numbers_of_loop
from pyptoc.runtime.translate_transfer import check_source_box

if TYPE_CHECKING:
    from pyptoc.runtime.translate import KernelTranslator


def handlers(to: KernelTranslator) -> dict[str, Handler]:
    return {
        "tile.matmul": lambda op: _matmul(to, op),
        "tile.matmul_mx": lambda op: _matmul(to, op),
    }


def _accumulate(to: KernelTranslator, op: Any) -> str:
    """Whether it adds to what is there."""
    flag = op.accumulate
    return str(flag) if isinstance(flag, bool) else to.ref(flag)


def _bias(to: KernelTranslator, op: Any) -> str:
    """The text of what sums start at."""
    return "None" if op.bias is None else to.corner(op.bias, 1, op.extents[1])


def _check(to: KernelTranslator, op: Any) -> None:
    m, n, k = op.extents
    to.check_extents(op.dest, m, n)
    to.check_extents(op.lhs, m, k)
    to.check_extents(op.rhs, k, n)
    if op.bias is not None:
        to.check_extents(op.bias, 1, n)


def _matmul(to: KernelTranslator, operation: Operation) -> None:
    """The matmul on L0 images."""
    op = cast(Any, operation)
    m, n, k = op.extents
    _check(to, op)
    scratch = to.core.scratch
    dest, lhs, rhs = map(buffer_type, (op.dest, op.lhs, op.rhs))
    scratch.reserve(
        a=lhs.rows * lhs.columns,
        b=rhs.rows * rhs.columns,
        part=dest.rows * dest.columns,
    )
    with to.instruction(op):
        a, b = to.corner(op.lhs, m, k), to.corner(op.rhs, k, n)
        c = to.corner(op.dest, m, n)
        accumulate = _accumulate(to, op)
        if op.bias is not None:
            accumulate = f"{to.bind(start_at)}({c}, {_bias(to, op)}, {accumulate})"
        if op.scales:
            groups = f":2 * -(-{to.ref(k)} // 64)"
            scales = ", ".join(
                f"{to.ref(scale)}[:{to.ref(size)}, {groups}]"
                for scale, size in zip(op.scales, (m, n), strict=True)
            )
            call = f"{to.bind(product_mx)}({a}, {b}, ({scales}), {c}, S, {accumulate})"
        else:
            numbers = f"{accumulate}, {to.products.get(op, 0)}"
            call = f"{to.bind(product)}({a}, {b}, {c}, S.part, {numbers})"
        to.line(call)


class Groups:
    """The groups of a kernel, found once; writes their fused form."""

    def __init__(self, to: KernelTranslator) -> None:
        self.to = to
        self.of: dict[Operation, Group] = {}
        self.steps: dict[Block, str] = {}
        """The list of steps of each loop that is one group."""
        self.sites: dict[Block | None, str] = {}
        self.keys: dict[Block | None, str] = {}
        """Of such a loop, whose steps may be known: its group, what they depend on."""
        self.images = Images(to.repeated.store)
        self.operands = OperandImages(self.images, to.core.scratch)
        self.ahead = Ahead(self.operands)
        self.keeps = False
        """Whether images of what is loaded are kept from one trip to the next."""
        self.direct: dict[Operation, str] = {}
        """Loads that need not be made, with the locals of what they read then."""
        self.pieces = self.site = ""
        """In a loop whose products are put off: the locals of them and of the group."""
        self.known = ""
        """The text of what such a loop is known by."""
        self.numbers = count()
        """Of loops that are known by something."""
        self.readers: dict[Operation, Block] = {}
        """Of matmuls whose sums need not be in their accumulator: where they are read.
        """
        self.sums: dict[Operation, str] = {}
        """The locals of what is read of such a matmul."""
        if to.core.fuse and to.core.pipes is None:
            self.of = find_groups(to.kernel)
        if to.core.is_plain:
            matmuls = [op for op in self.of if op.name in MATMULS]
            self.readers = blocks_of_readers(to.kernel, matmuls)

    def begin_launch(self) -> None:
        """Write what comes before the tasks: which loads are made."""
        to = self.to
        if not self.of or to.core.check:
            return
        loads = direct_loads(to.kernel, self.of, frozenset(to.stored))
        if loads:
            to.at_launch.append(self.forget)
            to.scope["load"] = self.images.load
            source = to.bind(self.images.source)
            self.keeps = any(direct.again for direct in loads.values())
            for load, direct in loads.items():
                self.direct[load] = name = to.fresh()
                ends = ", ".join(map(self._end, direct.ends))
                given = f"{to.bind(direct)}, memories, grid, lambda: ({ends})"
                to.line(f"{name} = {source}({given})")
            names = " and ".join(self.direct.values())
            to.line(f"direct = {names}")

    def _end(self, end: Expr | None) -> str:
        """The text of where the rows or columns of a load end at last; 0: not known."""
        axes = list[Hashable](self.to.kernel.grid_args)

        def name(value: Hashable) -> str:
            if value in axes:
                return f"(grid[{axes.index(value)}] - 1)"
            return self.to.ref(cast(SSAValue, value))

        return "0" if end is None else to_python(end, name)

    def forget(self) -> None:
        """Before and after a launch: memory may change between."""
        self.images.clear()
        self.ahead.clear()
        self.to.core.scratch.forget()

    def load(self, op: LoadOp, box: str) -> bool:
        """Write what a load's buffer stands for, or `else:` the load.

        box: the text of it in gm. False: there is just the load to write.
        """
        to = self.to
        if op not in self.direct:
            return False
        name, memory = self.direct[op], to.ref(op.memory)
        strides = "strides" + memory[1:]
        offsets = (to.ref(offset) for offset in op.mixed_offsets)
        terms = [f"{offset} * {strides}[{n}]" for n, offset in enumerate(offsets)]
        at = " + ".join(term for term in terms if not term.startswith("0 ")) or "0"
        rows, columns = map(to.ref, op.extents)
        slot = to.ref(op.dest)
        to.line(f"if {name}: load({slot}, {name}, {at}, {rows}, {columns})")
        to.line(f"else: {slot}[:{rows}, :{columns}] = {box}")
        return True

    def belongs_to_group(self, op: Operation) -> bool:
        """Write a group's matmul; its moves are left out. False: no group."""
        group = self.of.get(op)
        if group is None:
            return False
        to = self.to
        to.op = op
        if op is group.matmul:
            self._begin_sums(group, None)
            self._write(group, f"({self._step(group)},)")
            self._end_sums(group)
        else:
            check_source_box(to, cast(MoveOp, op))
        return True

    def begin_loop(self, block: Block) -> bool:
        """Before a loop: whether there is something to write after it.

        Its body is one group: then it makes a list of its steps. Or it loads what one
        group in it needs: then the products are put off until after it.
        """
        to = self.to
        only = self.only_group(block)
        if only is not None:
            self._begin_steps(block, only)
            return True
        group = None if self.pieces else self.deferred_group(block)
        if group is None:
            return False
        self._begin_sums(group, block)
        self.pieces = to.fresh("pieces")
        self.site = to.bind(self._site(group))
        self._begin_replay(block, group)
        to.line(f"{self.pieces} = []")
        return True

    def _begin_steps(self, block: Block, group: Group) -> None:
        """Before a loop that is one group: do its steps if they are known."""
        to = self.to
        self._begin_sums(group, block)
        key = None if self.pieces else numbers_of_loop(block)
        if key is not None:
            to.op = group.matmul
            site = self.sites[block] = to.bind(self._site(group))
            self.keys[block], plan = to.fresh(), to.fresh()
            to.line(f"{self.keys[block]} = {to.tuple_of(key)}")
            to.line(f"{plan} = {site}.plans.get({self.keys[block]})")
            sources = to.tuple_of([move.source for move in group.moves])
            redo = f"{site}.redo({plan}, {sources}, {self._dest(group)})"
            to.line(f"if {plan} is not None: {self._assigned(group)}{redo}")
            to.line("else:")
            to.depth += 1
        self.steps[block] = to.fresh("steps")
        to.line(f"{self.steps[block]} = []")

    def _begin_replay(self, block: Block, group: Group) -> None:
        """Before a loop whose products are put off: do those that are known instead."""
        to = self.to
        self.known = "None"
        layout = layout_of(block, group.moves, group.matmul)
        if layout is None:
            return
        for op in layout.before:
            to.operation(op)
        to.op = group.matmul
        begins: list[str] = []
        checks = ["direct"]
        for load, starts in zip(layout.loads, layout.starts, strict=True):
            memory = to.ref(load.memory)
            terms: list[str] = []
            for start in starts:
                offset, extent = to.ref(start.offset), to.ref(start.extent)
                size = to.size_of(load.memory, start.dim)
                terms.append(f"{offset} * strides{memory[1:]}[{start.dim}]")
                checks.append(f"0 <= {offset} <= {size} - {extent}")
            begins.append(" + ".join(terms) or "0")
        key, plan = to.fresh(), to.fresh()
        to.line(f"{key} = ({next(self.numbers)}, {to.refs(layout.key)})")
        starts_text = ", ".join(begins)
        self.known = f"({key}, ({starts_text},)) if direct else None"
        plans = to.bind(self.images.plans)
        to.line(f"{plan} = {plans}.get({key}) if {' and '.join(checks)} else None")
        dest = self._dest(group)
        to.line(f"if {plan} is not None:")
        replay = f"{self.site}.replay({plan}, ({starts_text},), {dest})"
        to.line(f"    {self._assigned(group)}{replay}")
        to.line("else:")
        to.depth += 1

    def loop_body(self, block: Block) -> None:
        """Write the body of a loop that `begin_loop` took: it collects its steps."""
        to = self.to
        for op in block.ops:
            to.op = op
            if op.name in MATMULS:
                to.line(f"{self.steps[block]}.append({self._step(self.of[op])})")
            elif op in self.of:
                check_source_box(to, cast(MoveOp, op))
            elif not isinstance(op, scf.YieldOp):
                to.operation(op)

    def end_loop(self, block: Block) -> None:
        """After that loop: do the steps, or what was put off."""
        group = self.only_group(block)
        if group is not None:
            self._write(group, self.steps[block], block)
            if block in self.keys:
                self.to.depth -= 1
            self._end_sums(group)
            return
        group = self.deferred_group(block)
        assert group is not None
        to = self.to
        to.op = group.matmul
        dest = self._dest(group)
        finish = f"{self.site}.finish({self.pieces}, {dest}, {self.known})"
        to.line(f"{self._assigned(group)}{finish}")
        if self.known != "None":
            to.depth -= 1
        self.pieces = ""
        self._end_sums(group)

    def _write(self, group: Group, steps: str, block: Block | None = None) -> None:
        """Write that steps are done, or put off. block: of the loop that made them."""
        to = self.to
        to.op = group.matmul
        sources = to.tuple_of([move.source for move in group.moves])
        if not self.pieces:
            key = self.keys.get(block)
            site = self.sites.get(block) or to.bind(self._site(group))
            known = "" if key is None else f", {key}"
            run = f"{site}.run({steps}, {sources}, {self._dest(group)}{known})"
            to.line(f"{self._assigned(group)}{run}")
            return
        to.line(f"{self.site}.put_off({steps}, {sources}, {self.pieces})")
        dest = self._dest(group)
        to.line(f"if not direct: {self.site}.fill({self.pieces}, {dest})")

    def _dest(self, group: Group) -> str:
        """The accumulator, and what sums in it start at."""
        to, op = self.to, group.matmul
        is_box = op in self.sums
        dest = to.corner(op.dest, *op.extents[:2]) if is_box else to.ref(op.dest)
        return f"{dest}, {_bias(to, op)}"

    # Sums that are read elsewhere than in their accumulator.

    def _begin_sums(self, group: Group, block: Block | None) -> None:
        """
        Before the products of a sum, unless an outer loop puts them off.

        block: of the loop that has them all.
        """
        if self.pieces:
            return
        op = group.matmul
        whole = op if block is None else block.parent_op()
        if whole is not None and self.readers.get(op) is whole.parent:
            self.to.op = op
            self.sums[op] = self.to.fresh()
            self.to.corner(op.dest, *op.extents[:2])

    def _assigned(self, group: Group) -> str:
        """The text before a call that returns what is to be read."""
        name = self.sums.get(group.matmul)
        return "" if name is None else f"{name} = "

    def _end_sums(self, group: Group) -> None:
        """After the products of a sum, unless an outer loop puts them off."""
        op = group.matmul
        if op in self.sums and not self.pieces:
            self.to.stand_ins[op.dest] = self.sums[op]

    def deferred_group(self, block: Block) -> Group | None:
        """The group of a loop that else only loads what need not be loaded."""
        groups: set[Group] = set()
        loads = False
        for op in block.walk():
            if op in self.of:
                groups.add(self.of[op])
            elif op in self.direct:
                loads = True
            elif isinstance(op, scf.ForOp | FlagOp | BarrierOp):
                continue
            elif op.regions or isinstance(op, Instruction):
                return None
        if len(groups) != 1 or not loads:
            return None
        (group,) = groups
        owner, loop = group.matmul.dest.owner, block.parent_op()
        inside = isinstance(owner, Operation) and loop and loop.is_ancestor(owner)
        return None if inside else group

    def only_group(self, block: Block) -> Group | None:
        """The group that a block's instructions are, its buffers made outside."""
        found: Group | None = None
        for op in block.ops:
            if op.regions:
                return None
            if op in self.of:
                found = found or self.of[op]
                if self.of[op] is not found:
                    return None
            elif isinstance(op, Instruction) and not isinstance(op, FlagOp | BarrierOp):
                return None
        if found is None:
            return None
        outer = (*(move.source for move in found.moves), found.matmul.dest)
        return None if any(v.owner.parent is block for v in outer) else found

    def _site(self, group: Group) -> FusedMatmul:
        scratch = self.to.core.scratch
        sources = [buffer_type(move.source) for move in group.moves[:2]]
        sizes = [kind.rows * kind.columns for kind in sources]
        dest = buffer_type(group.matmul.dest)
        scratch.reserve(a=sizes[0], b=sizes[1], part=dest.rows * dest.columns)
        sides: list[Side] = []
        for number, move in enumerate(group.moves[:2]):
            dtype = storage_dtype(sources[number].element_type)
            # L0A is [m, k], L0B is [k, n], so K is the other axis in L1 if transposed.
            k_axis = (1 - number) ^ move.is_transposed
            scales = group.moves[number + 2 : number + 3]
            pairs = any(scale.regroups_pairs for scale in scales)
            sides.append(Side(decoder(dtype), k_axis, pairs))
        repeats = self._is_repeated(group)
        each = self.to.products.get(group.matmul, 0)
        a, b = sides
        is_read_elsewhere = group.matmul in self.sums
        return FusedMatmul(
            a, b, self.operands, self.ahead, repeats, each, is_read_elsewhere
        )

    def _is_repeated(self, group: Group) -> bool:
        """Whether another group multiplies the same buffer by what is the same."""
        lhs, rhs = (move.source for move in group.moves[:2])
        others = {self.of[op] for op in self.of} - {group}
        return any(
            other.moves[0].source is lhs
            and self.to.moves.are_alike(other.moves[1].source, rhs)
            for other in others
        )

    def _step(self, group: Group) -> str:
        to, op = self.to, group.matmul
        _check(to, op)
        offsets = [to.tuple_of(move.mixed_offsets) for move in group.moves]
        numbers = [_accumulate(to, op), *map(to.ref, op.extents), *offsets]
        return f"{to.bind(Step)}({', '.join(numbers)})"
