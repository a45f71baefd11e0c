"""Verifying what the fields of an operation's class say: once for each form.

xDSL goes through the fields of a class for each operation, with the constraint of each.
Nearly all constraints ask for the class of a type or of a property and for nothing in
it, `operand_def(TensorType)`. So a form has classes instead of types, where these are
all that is asked for: an addition of tensors has two or three forms, and as many looks
(`verify_op.py`) as programs have shapes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import attrgetter
from typing import Any

from xdsl.ir import Operation, ParametrizedAttribute
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OpDef,
    RangeLengthConstraint,
    RangeOf,
)

from pyptoc.dialects.record import record

_class_of_type = attrgetter("_type.__class__")


@record
class OpFields:
    """What the constraints of a class of operations look at."""

    only_classes: bool
    """Of the types of operands, of results and of the arguments of bodies."""
    whole: frozenset[str]
    """The properties and attributes of which they look at more than the class."""

    @classmethod
    def of(cls, kind: type[IRDLOperation]) -> OpFields:
        """Those of a class that is defined."""
        definition: OpDef = kind.get_irdl_definition()
        named = (*definition.operands, *definition.results)
        ranges = [field.constr for _, field in named]
        ranges += [region.entry_args for _, region in definition.regions]
        held = (*definition.properties.items(), *definition.attributes.items())
        return cls(
            all(map(_asks_for_class, ranges)),
            frozenset(name for name, d in held if not _asks_for_class(d.constr)),
        )

    def form_of(self, op: Operation, look: Sequence[Any]) -> Hashable:
        """
        What the fields of an operation are verified for; `look` is its look.

        Of two operations of one form, both are right there or neither is.
        """
        kind, _, operands, results, names, values, more, settings, *regions = look
        if not self.only_classes:
            return (kind, operands, results, names, values, more, settings, *regions)
        return (
            kind,
            tuple(map(_class_of_type, op._operands)),  # pyright: ignore[reportPrivateUsage]
            tuple(map(_class_of_type, op.results)),
            names,
            self._held(op.properties, values),
            more,
            self._held(op.attributes, settings),
            *[
                tuple([tuple(map(_class_of_type, b.args)) for b in region.blocks])
                for region in op.regions
            ],
        )

    def _held(
        self, attributes: dict[str, Any], numbers: Sequence[int]
    ) -> tuple[Hashable, ...]:
        """The number of an attribute where it is looked at, else its class."""
        return tuple(
            [
                number if name in self.whole else attribute.__class__
                for (name, attribute), number in zip(
                    attributes.items(), numbers, strict=True
                )
            ]
        )


def _asks_for_class(constraint: Any) -> bool:
    """Whether a constraint looks at the class of an attribute alone."""
    match constraint:
        case RangeOf(constr=inner) | RangeLengthConstraint(constraint=inner):
            return _asks_for_class(inner)
        case AnyOf(attr_constrs=several):
            return all(map(_asks_for_class, several))
        case EqAttrConstraint(attr=ParametrizedAttribute(parameters=())):
            return True
        case _:
            return isinstance(constraint, AnyAttr | BaseAttr)
