"""Verifying what the fields of an operation's class say: once for each form.

xDSL goes through the fields of a class for each operation, with the constraint of each.
Nearly all constraints ask for the class of a type or of a property and for little in
it, `operand_def(TensorType)`. So a form has classes instead of types and values, where
these are all that is asked for: an addition of tensors has two or three forms, and as
many looks (`verify_op.py`) as programs have shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    MessageConstraint,
    OpDef,
    ParamAttrConstraint,
    RangeLengthConstraint,
    RangeOf,
)
from xdsl.irdl.operations import AttrSizedSegments

from pyptoc.dialects.record import record

Asked = Callable[[Attribute], Hashable]
"""What is looked at of an attribute."""

_class_of_type = attrgetter("_type.__class__")


@record
class OpFields:
    """What the constraints of a class of operations look at."""

    only_classes: bool
    """Of the types of operands, of results and of the arguments of bodies."""
    more: Mapping[str, Asked]
    """Of the properties and attributes of which they look at more than the class."""

    @classmethod
    def of(cls, kind: type[IRDLOperation]) -> OpFields:
        """Those of a class that is defined."""
        definition: OpDef = kind.get_irdl_definition()
        named = (*definition.operands, *definition.results)
        ranges = [field.constr for _, field in named]
        ranges += [region.entry_args for _, region in definition.regions]
        held = (*definition.properties.items(), *definition.attributes.items())
        more = {name: _asked(d.constr) for name, d in held if not _is_class(d.constr)}
        for option in definition.options:
            if isinstance(option, AttrSizedSegments):
                # The operands are shared out by its numbers.
                more[option.attribute_name] = _itself
        return cls(all(map(_is_class, ranges)), more)

    def form_of(self, op: Operation, look: Sequence[Any]) -> Hashable:
        """
        What the fields of an operation are verified for; look: by `look_of`.

        Of two operations of one form, both are right there or neither is.
        """
        kind, _, operands, results, properties, _, attributes, _, *regions = look
        held = (
            properties,
            self._held(op.properties),
            attributes,
            self._held(op.attributes),
        )
        if not self.only_classes:
            return (kind, *held, operands, results, *regions)
        return (
            kind,
            *held,
            tuple(map(_class_of_type, op._operands)),  # pyright: ignore[reportPrivateUsage]
            tuple(map(_class_of_type, op.results)),
            *[
                tuple([tuple(map(_class_of_type, b.args)) for b in region.blocks])
                for region in op.regions
            ],
        )

    def _held(self, attributes: dict[str, Any]) -> tuple[Hashable, ...]:
        more = self.more
        return tuple(
            [
                more[name](attribute) if name in more else attribute.__class__
                for name, attribute in attributes.items()
            ]
        )


def _asked(constraint: Any) -> Asked:
    """What a constraint looks at of an attribute."""
    if _is_class(constraint):
        return attrgetter("__class__")
    match constraint:
        case MessageConstraint(constr=inner):
            return _asked(inner)
        case ParamAttrConstraint(param_constrs=several):
            return partial(_asked_of_each, tuple(map(_asked, several)))
        case _:
            return _itself


def _itself(attribute: Attribute) -> Hashable:
    return attribute


def _asked_of_each(asked: Sequence[Asked], attribute: Attribute) -> Hashable:
    if not isinstance(attribute, ParametrizedAttribute):
        return attribute
    held = attribute.parameters
    if len(held) != len(asked):
        return attribute
    return (attribute.__class__, *[ask(each) for ask, each in zip(asked, held)])


def _is_class(constraint: Any) -> bool:
    """Whether a constraint looks at the class of an attribute alone."""
    match constraint:
        case RangeOf(constr=inner) | RangeLengthConstraint(constraint=inner):
            return _is_class(inner)
        case AnyOf(attr_constrs=several):
            return all(map(_is_class, several))
        case EqAttrConstraint(attr=ParametrizedAttribute(parameters=())):
            return True
        case _:
            return isinstance(constraint, AnyAttr | BaseAttr)
