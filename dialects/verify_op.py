"""Verifying one operation: once for all that look alike.

A verifier asks for types, properties and attributes, most of them for nothing else
(`verified_alone` in `op_definition.py`). These are immutable, and most operations that
a pass makes, or leaves as they are, look like one that was verified before.

Where an operation looks like another, what xDSL derives from its fields holds, and what
remains are verifiers that look further: at what stands around it, or in its body.

A new look may have a known form (`op_form.py`): then its fields hold, and what remains
are its traits and the verifier of its class.

What was found right is remembered for other programs of the process: they have most of
their operations in common.

A look is made of tokens: equal types and other attributes have the same one. An
attribute knows its own, so that its fields are hashed and compared once, not with each
operation.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, OpTrait

from pyptoc.dialects.op_definition import Verify, is_verified_alone, own_verifier
from pyptoc.dialects.op_form import OpFields
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
    fields: tuple[OpFields, tuple[Verify, ...]] | None
    """What its fields ask for, and what is verified beside; None: it is not known."""
    refers: bool
    """Whether it has to fit a kernel or another function."""


RIGHT: set[Look] = set()
"""What operations look like that were found right."""
FORMS: set[Hashable] = set()
"""The forms (`op_form.py`) of operations that were found right."""

MOST_REMEMBERED = 50_000
"""Looks, of about 0.5 kB each, and attributes: those of some hundred programs."""

_TOKENS: dict[Attribute, object] = {}
"""Of the attributes that were met. Objects of their own: none is given twice, so one
that is forgotten stands for nothing else, nor does one that was pickled elsewhere."""
_OWN_TOKEN = "_pyptoc_token"
"""Where an attribute keeps its token, beside its fields."""
_token_of = attrgetter(_OWN_TOKEN)
_token_of_type = attrgetter(f"_type.{_OWN_TOKEN}")
"""Of a value's type. Where there is no token yet, both raise `AttributeError`."""

REFERRING = ("npu.launch", "func.call")
"""What has to fit a kernel or another function."""

_KINDS: dict[type[Operation], OpKind] = {}


def kind_of(op: Operation) -> OpKind:
    """The kind of an operation's class."""
    cls = op.__class__
    kind = _KINDS.get(cls)
    if kind is None:
        further, fields = _verifiers(cls)
        kind = _KINDS[cls] = OpKind(
            op.has_trait(IsolatedFromAbove, value_if_unregistered=False),
            op.has_trait(IsTerminator, value_if_unregistered=False),
            op.has_trait(NoTerminator),
            further,
            fields,
            op.name in REFERRING,
        )
    return kind


def _verifiers(
    cls: type[Operation],
) -> tuple[tuple[Verify, ...] | None, tuple[OpFields, tuple[Verify, ...]] | None]:
    """What is asked of an operation of a known look, and of a known form."""
    own = own_verifier(cls)
    if own is None or not issubclass(cls, IRDLOperation):
        return None, None
    # What crosses into an isolated body is found where it is used.
    traits = [
        trait.verify
        for trait in cls.traits
        if type(trait).verify is not OpTrait.verify
        and not isinstance(trait, IsolatedFromAbove)
    ]
    further = traits if is_verified_alone(own) else [*traits, own]
    return tuple(further), (OpFields.of(cls), (*traits, own))


def look_of(op: Operation) -> Look:
    """
    Class, types, properties and attributes, which operands are the same value, and the
    arguments of each body.
    """
    try:
        return _look_of(op)
    except AttributeError:
        _give_tokens(op)
        return _look_of(op)


def _look_of(op: Operation) -> Look:
    # The views of xDSL's properties are not made: this is asked of each operation.
    operands = op._operands  # pyright: ignore[reportPrivateUsage]
    properties, attributes = op.properties, op.attributes
    look = (
        op.__class__,
        _repeated(operands) if len(operands) > 1 else (),
        tuple(map(_token_of_type, operands)),
        tuple(map(_token_of_type, op.results)),
        tuple(properties),
        tuple(map(_token_of, properties.values())),
        tuple(attributes),
        tuple(map(_token_of, attributes.values())),
    )
    if not op.regions:
        return look
    return (*look, *map(_look_of_arguments, op.regions))


def _look_of_arguments(region: Region) -> Look:
    block = region.first_block
    if block is not None and block.next_block is None:  # nearly always
        return tuple(map(_token_of_type, block.args))
    arguments = [tuple(map(_token_of_type, each.args)) for each in region.blocks]
    return (None, *arguments)


def _give_tokens(op: Operation) -> None:
    """All attributes that the look of an operation is made of have a token then."""
    arguments = [
        argument
        for region in op.regions
        for block in region.blocks
        for argument in block.args
    ]
    for value in (*op.operands, *op.results, *arguments):
        _token(value.type)
    for attribute in (*op.properties.values(), *op.attributes.values()):
        _token(attribute)


def _token(attribute: Attribute) -> object:
    own = vars(attribute)
    token = own.get(_OWN_TOKEN)
    if token is None:
        token = _TOKENS.get(attribute)
        if token is None:
            if len(_TOKENS) >= MOST_REMEMBERED:
                _TOKENS.clear()
            token = _TOKENS[attribute] = object()
        own[_OWN_TOKEN] = token
    return token


def _repeated(operands: Sequence[SSAValue]) -> tuple[int, ...]:
    """For each operand the number of the first that is the same; none if all differ."""
    values = list(map(id, operands))
    if len(set(values)) == len(values):
        return ()
    return tuple(map(values.index, values))


def is_right(op: Operation, kind: OpKind, *, unchanged: bool) -> bool:
    """
    Whether nothing need be asked of an operation, which is so of most.

    unchanged: it looks as it did when it was found right.
    """
    return (
        kind.further == ()
        and not kind.refers
        and (op._next_op is not None or _may_stand(op, kind))  # pyright: ignore[reportPrivateUsage]
        and not op._successors  # pyright: ignore[reportPrivateUsage]
        and (unchanged or look_of(op) in RIGHT)
    )


def verify_op(op: Operation, *, unchanged: bool = False) -> None:
    """
    Raises what the verifiers of an operation raise; those of nested ones are not run.

    unchanged: it looks as it did when it was found right.
    """
    kind = kind_of(op)
    if op._successors or not _may_stand(op, kind):  # pyright: ignore[reportPrivateUsage]
        op.verify(verify_nested_ops=False)
        return
    if kind.further is None:
        op.verify_()
        return
    look = () if unchanged else look_of(op)
    if unchanged or look in RIGHT:
        for verify in kind.further:
            verify(op)
    else:
        _verify_new(op, look, kind)
        _remember(RIGHT, look)


def _verify_new(op: Operation, look: Look, kind: OpKind) -> None:
    """Verifies what does not look like anything that was found right."""
    if kind.fields is None:
        op.verify_()
        return
    fields, others = kind.fields
    form = fields.form_of(op, look)
    if form in FORMS:
        for verify in others:
            verify(op)
    else:
        op.verify_()
        _remember(FORMS, form)


def _remember(known: set[Any], what: Hashable) -> None:
    if len(known) >= MOST_REMEMBERED:
        known.clear()
    known.add(what)


def _may_stand(op: Operation, kind: OpKind) -> bool:
    """Whether the operation may be where it is in its block, at the end or not."""
    if op.next_op is not None or kind.is_terminator:
        return True
    parent = op.parent_op()
    return parent is None or kind_of(parent).ends_anyhow
