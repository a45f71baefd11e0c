"""Verifying one operation: once for all that look alike.

A verifier asks for types, properties and attributes, most of them for nothing else
(`verified_alone` in `op_definition.py`). These are immutable, and most operations that
a pass makes, or leaves as they are, look like one that was verified before.

Where an operation looks like another, what xDSL derives from its fields holds, and what
remains are verifiers that look further: at what stands around it, or in its body.

What was found right is remembered as long as the process lives: programs have most of
their operations in common.

What is remembered are numbers: equal types and other attributes have the same one. An
attribute knows its own, so that its fields are hashed once, not with each operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, TypeAlias

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, OpTrait

from pyptoc.dialects.op_definition import Verify, is_verified_alone, own_verifier
from pyptoc.dialects.record import record

Look: TypeAlias = tuple[object, ...]
"""What an operation looks like; see `look_of`."""


@record
class OpKind:
    """What the verification of a class of operations comes to."""

    is_isolated: bool
    is_terminator: bool
    ends_anyhow: bool
    """Whether the last operation of its body need be no terminator."""
    further: tuple[Verify, ...] | None
    """What looks further than the look of an operation; None: everything may."""


RIGHT: set[Look] = set()
"""What operations look like that were found right, in numbers (see `_in_numbers`)."""

MOST_REMEMBERED = 50_000
"""Looks, of about 0.5 kB each, and attributes: those of some hundred programs."""

_NUMBERS: dict[Attribute, int] = {}
"""Of the attributes that were met."""
_UNUSED = count(1)
"""A number is not given twice, so one that is forgotten stands for nothing else."""
_OWN_NUMBER = "_pyptoc_number"
"""Where an attribute keeps its number, beside its fields."""

_KINDS: dict[type[Operation], OpKind] = {}


def kind_of(op: Operation) -> OpKind:
    """The kind of an operation's class."""
    cls = op.__class__
    if cls not in _KINDS:
        _KINDS[cls] = OpKind(
            op.has_trait(IsolatedFromAbove, value_if_unregistered=False),
            op.has_trait(IsTerminator, value_if_unregistered=False),
            op.has_trait(NoTerminator),
            _further(cls),
        )
    return _KINDS[cls]


def _further(cls: type[Operation]) -> tuple[Verify, ...] | None:
    own = own_verifier(cls)
    if own is None:
        return None
    # What crosses into an isolated body is found where it is used.
    traits = [
        trait.verify
        for trait in cls.traits
        if type(trait).verify is not OpTrait.verify
        and not isinstance(trait, IsolatedFromAbove)
    ]
    return (*traits, *(() if is_verified_alone(own) else (own,)))


def look_of(op: Operation) -> Look:
    """
    Class, types, properties and attributes, which operands are the same value, and the
    arguments of each body.
    """
    # The views of xDSL's properties are not made: this is asked of each operation.
    operands = op._operands  # pyright: ignore[reportPrivateUsage]
    look = (
        op.__class__,
        _repeated(operands) if len(operands) > 1 else (),
        tuple([value._type for value in operands]),  # pyright: ignore[reportPrivateUsage]
        tuple([value._type for value in op.results]),  # pyright: ignore[reportPrivateUsage]
        tuple(op.properties.items()),
        tuple(op.attributes.items()),
    )
    if not op.regions:
        return look
    blocks = [tuple(region.blocks) for region in op.regions]
    return (*look, *(tuple(block.arg_types for block in each) for each in blocks))


def is_known(look: Look) -> bool:
    """Whether an operation that looks so was found right, and is remembered."""
    return _in_numbers(look) in RIGHT


def _in_numbers(look: Any) -> Look:
    """A look with numbers for its attributes: quick to hash and to compare."""
    kind, repeated, operands, results, properties, attributes, *regions = look
    return (
        kind,
        repeated,
        tuple([_number(type) for type in operands]),
        tuple([_number(type) for type in results]),
        tuple([(name, _number(value)) for name, value in properties]),
        tuple([(name, _number(value)) for name, value in attributes]),
        *[
            tuple([tuple([_number(type) for type in types]) for types in blocks])
            for blocks in regions
        ],
    )


def _number(attribute: Attribute) -> int:
    own = vars(attribute)
    number = own.get(_OWN_NUMBER)
    if number is None:
        number = _NUMBERS.get(attribute)
        if number is None:
            if len(_NUMBERS) >= MOST_REMEMBERED:
                _NUMBERS.clear()
            number = _NUMBERS[attribute] = next(_UNUSED)
        own[_OWN_NUMBER] = number
    return number


def _repeated(operands: Sequence[SSAValue]) -> tuple[int, ...]:
    """For each operand the number of the first that is the same; none if all differ."""
    values = list(map(id, operands))
    if len(set(values)) == len(values):
        return ()
    return tuple(map(values.index, values))


def verify_op(op: Operation, look: Look, earlier: Look | None = None) -> None:
    """
    Raises what the verifiers of an operation raise; those of nested ones are not run.

    look: of this operation, by `look_of`; earlier: how it looked when it was found
    right the last time, if it was.
    """
    kind = kind_of(op)
    if op._successors or not _may_stand(op, kind):  # pyright: ignore[reportPrivateUsage]
        op.verify(verify_nested_ops=False)
    elif kind.further is None:
        op.verify_()
    elif look == earlier or is_known(look):
        for verify in kind.further:
            verify(op)
    else:
        op.verify_()
        if len(RIGHT) >= MOST_REMEMBERED:
            RIGHT.clear()
        RIGHT.add(_in_numbers(look))


def _may_stand(op: Operation, kind: OpKind) -> bool:
    """Whether the operation may be where it is in its block, at the end or not."""
    if op.next_op is not None or kind.is_terminator:
        return True
    parent = op.parent_op()
    return parent is None or kind_of(parent).ends_anyhow
