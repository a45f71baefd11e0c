"""Whether a module is well formed: everything that can be told without running it.

On top of xDSL's own checks: each operand is defined before it is used and visible there
(xDSL does not look), symbols resolve, launches fit their kernels, and flags are in
balance. All findings are reported, each with the place of its operation; xDSL would
stop at the first and print the whole module.

The dialects of the lower levels are imported only where a module has their operations:
every run of the compiler comes through here.
"""

from __future__ import annotations

import re
from dataclasses import field
from operator import attrgetter
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.diagnostics import MAX_ERRORS, CompileError, Diagnostic, Note
from pyptoc.dialects.error_list import limited
from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.record import record
from pyptoc.dialects.verify_op import OpKind, is_right, kind_of, verify_op
from pyptoc.dialects.words import counted

if TYPE_CHECKING:
    from pyptoc.dialects.npu_kernel import LaunchOp

_REASONS = (
    (r"^'\S+' expects parent op '(\S+)'", r"it stands in a \1 only"),
    (
        r"^'\S+' must be the last operation in its parent block",
        "it is the last operation of its body",
    ),
    (r"^'(@\S+)' could not be found in symbol table", r"there is no function \1"),
)
"""What xDSL says, and what is said here."""
OPERATION, DOMINANCE, SYMBOL, LAUNCH = "PTO170", "PTO171", "PTO172", "PTO173"

_type_of = attrgetter("_type")

Snapshot = list[tuple[Operation, *tuple[object, ...]]]
"""All that the verification of an isolated operation depends on; see `snapshot_of`."""


@record
class Right:
    """What was found right, and what in it has to fit other functions and kernels."""

    snapshot: Snapshot
    launches: list[LaunchOp]
    calls: list[Operation]


@record(frozen=False)
class Verified:
    """The functions and kernels that were found right, as they were then.

    A pass touches few of them; the others need not be verified again after it.
    """

    known: dict[Operation, Right] = field(default_factory=dict[Operation, "Right"])


def verify_module(module: ModuleOp, verified: Verified | None = None) -> None:
    """Raises a CompileError with all that is wrong, at most 20 findings and a count.

    What `verified` knows and nobody changed since is not looked at again.
    """
    verified = verified or Verified()
    _check_body(module)
    verifier = _Verifier(verified)
    try:
        verifier.check(module)
        verifier.symbols(module)
        if not verifier.found:
            verifier.kernels()
    except Exception:
        # Where an operation is wrong, asking it for those that refer to it may fail.
        if not verifier.found:
            raise
    if verifier.found:
        raise CompileError(limited(verifier.found, MAX_ERRORS))
    verified.known |= verifier.fresh


def _check_body(module: ModuleOp) -> None:
    """Raises where a module is not one block without arguments."""
    blocks = [block for region in module.regions for block in region.blocks]
    if len(module.regions) == 1 and len(blocks) == 1 and not blocks[0].args:
        return
    have = (
        f"{counted(len(module.regions), 'region')} of {counted(len(blocks), 'block')}"
    )
    if blocks and blocks[0].args:
        have = f"a block with {counted(len(blocks[0].args), 'argument')}"
    message = f"{module.name} has {have}"
    rule = "a module is one block of functions and kernels, without arguments"
    raise CompileError([Diagnostic(OPERATION, message, module.location, rule=rule)])


def snapshot_of(isolated: Operation) -> Snapshot:
    """The operation and all in it: how they look, their order, nesting and operands.

    Attributes are immutable, so comparing two snapshots is mostly comparing identities.
    """
    found: Snapshot = []
    _collect(isolated, found)
    return found


def _collect(op: Operation, found: Snapshot) -> None:
    # The views of xDSL's properties are not made: this is asked of each operation.
    operands = op._operands  # pyright: ignore[reportPrivateUsage]
    known = (
        op,
        op.parent,
        operands,
        tuple(map(_type_of, operands)),
        tuple(map(_type_of, op.results)),
        dict(op.properties),
        dict(op.attributes),
        op._successors,  # pyright: ignore[reportPrivateUsage]
    )
    if not op.regions:
        found.append(known)
        return
    regions = [tuple(region.blocks) for region in op.regions]
    blocks = [block for region in regions for block in region]
    arguments = [tuple(map(_type_of, block.args)) for block in blocks]
    found.append((*known, regions, *arguments))
    for block in blocks:
        inner = block.first_op
        while inner is not None:
            _collect(inner, found)
            inner = inner.next_op


class _Verifier:
    """One walk over a module; what it finds is collected in `found`."""

    def __init__(self, verified: Verified) -> None:
        self.verified = verified
        self.fresh: dict[Operation, Right] = {}
        """The isolated operations that were looked at."""
        self.found: list[Diagnostic] = []
        self.visible: set[int] = set()
        """The `id` of each value that is visible."""
        self.unchanged: set[int] = set()
        """The `id` of each operation that is as it was when it was found right, of the
        isolated one that is looked at."""
        self.launches: list[LaunchOp] = []
        self.calls: list[Operation] = []

    def error(self, code: str, at: Operation, message: str, *notes: Note) -> None:
        self.found.append(Diagnostic(code, message, at.location, notes=notes))

    # -- operations and values

    def check(self, op: Operation) -> None:
        """The operation and all in it; its results become visible."""
        kind = kind_of(op)
        if kind.is_isolated and not isinstance(op, ModuleOp):
            self._check_isolated(op, kind)
        else:
            self._check(op, kind)

    def _check_isolated(self, op: Operation, kind: OpKind) -> None:
        snapshot = snapshot_of(op)
        known = self.verified.known.get(op)
        if known is not None and known.snapshot == snapshot:
            self.launches += known.launches
            for call in known.calls:
                self._verify(call)
            return
        launches, calls = len(self.launches), len(self.calls)
        earlier = {id(entry[0]): entry for entry in known.snapshot} if known else {}
        self.unchanged = {
            id(entry[0]) for entry in snapshot if earlier.get(id(entry[0])) == entry
        }
        self._check(op, kind)
        self.fresh[op] = Right(snapshot, self.launches[launches:], self.calls[calls:])

    def _check(self, op: Operation, kind: OpKind) -> None:
        operands = op._operands  # pyright: ignore[reportPrivateUsage]
        if operands and not self.visible.issuperset(map(id, operands)):
            self._undefined(op)
        unchanged = id(op) in self.unchanged
        # A module only checks its symbols, which is done better below.
        if op.__class__ is not ModuleOp and not is_right(op, kind, unchanged=unchanged):
            self._verify(op, unchanged=unchanged)
        if op.regions:
            self._check_regions(op)
        self.visible.update(map(id, op.results))

    def _verify(self, op: Operation, *, unchanged: bool = False) -> None:
        """The operation by itself; what it refers to is looked at later."""
        try:
            verify_op(op, unchanged=unchanged)
        except CompileError as failure:
            self.found.extend(failure.diagnostics)
        except VerifyException as failure:
            # What crosses into an isolated body is found where it is used.
            if "IsolatedFromAbove" not in str(failure):
                self.error(OPERATION, op, f"{op.name}: {_reason(failure)}")
        except Exception as failure:
            # So do some of xDSL's own operations complain (scf.while).
            if type(failure) is not Exception:
                raise
            self.error(OPERATION, op, f"{op.name}: {_reason(failure)}")
        else:
            if op.name == "npu.launch":
                self.launches.append(cast("LaunchOp", op))
            elif op.name == "func.call":
                self.calls.append(op)

    def _check_regions(self, op: Operation) -> None:
        outside = self.visible
        if kind_of(op).is_isolated:
            self.visible = set()
        for region in op.regions:
            self._check_region(op, region)
        self.visible = outside

    def _check_region(self, op: Operation, region: Region) -> None:
        blocks = list(region.blocks)
        if len(blocks) > 1:
            self.error(
                OPERATION,
                op,
                f"{op.name} has a region of {len(blocks)} blocks",
                Note("control flow is structured: scf.for, scf.if"),
            )
            return
        for block in blocks:
            if block.first_op is None and not op.has_trait(NoTerminator):
                self.error(OPERATION, op, f"{op.name}: its body lacks a terminator")
            self._check_block(block)

    def _check_block(self, block: Block) -> None:
        here = list(map(id, block.args))
        self.visible.update(here)
        op = block.first_op
        while op is not None:
            self.check(op)
            here += map(id, op.results)
            op = op.next_op
        self.visible.difference_update(here)

    def _undefined(self, op: Operation) -> None:
        for number, operand in enumerate(op.operands):
            if id(operand) not in self.visible:
                self._undefined_operand(op, number, operand)

    def _undefined_operand(self, op: Operation, number: int, operand: SSAValue) -> None:
        name = f"%{operand.name_hint}" if operand.name_hint else f"operand {number}"
        notes: list[Note] = []
        if isinstance(operand, OpResult):
            owner = operand.op
            notes.append(Note(f"it is the result of {owner.name}", owner.location))
        elif isinstance(operand, BlockArgument):
            notes.append(Note("it is an argument of a body that this is not in"))
        self.error(
            DOMINANCE, op, f"{op.name} uses {name} where it is not defined", *notes
        )

    # -- symbols

    def symbols(self, module: ModuleOp) -> None:
        """Names are unique, and references resolve to what fits them."""
        table: dict[str, Operation] = {}
        for op in module.ops:
            name = _symbol(op)
            if name is None:
                continue
            if name in table:
                note = Note("the other one", table[name].location)
                self.error(SYMBOL, op, f"@{name} is defined twice", note)
            table.setdefault(name, op)
        for launch in self.launches:
            self._launch(launch, table)

    def _launch(self, op: LaunchOp, table: dict[str, Operation]) -> None:
        from pyptoc.dialects.npu_kernel import KernelOp

        name = op.callee_name
        target = table.get(name)
        if target is None:
            kernels = [n for n, other in table.items() if isinstance(other, KernelOp)]
            hint = did_you_mean(name, kernels, "@")
            notes = [Note(hint)] if hint else []
            self.error(SYMBOL, op, f"there is no @{name}", *notes)
        elif not isinstance(target, KernelOp):
            message = f"{op.name} needs a {KernelOp.name}, @{name} is a {target.name}"
            self.error(SYMBOL, op, message)
        elif [len(region.blocks) for region in target.regions] == [1]:
            # Otherwise the kernel has an error of its own, and no parameters.
            try:
                op.verify_against(target)
            except VerifyException as failure:
                note = Note("the kernel", target.location)
                self.error(LAUNCH, op, _reason(failure), note)

    # -- flags and addresses

    def kernels(self) -> None:
        """The flags and addresses of each kernel that was looked at."""
        kernels = [op for op in self.fresh if op.name == "npu.kernel"]
        if not kernels:
            return
        from pyptoc.dialects.verify_addresses import check_addresses
        from pyptoc.dialects.verify_flags import check_flags

        for kernel in kernels:
            self.found.extend(check_flags(kernel.regions[0].block))
            self.found.extend(check_addresses(kernel.regions[0].block))


def _symbol(op: Operation) -> str | None:
    attribute = op.properties.get("sym_name")
    return getattr(attribute, "data", None)


def _reason(failure: Exception) -> str:
    """The message without xDSL's frame around it, on one line."""
    text = str(failure).removeprefix("Operation does not verify: ")
    for pattern, ours in _REASONS:
        text = re.sub(pattern, ours, text)
    return " ".join(text.split())
