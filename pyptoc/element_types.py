"""
Which element types an operation takes and gives: its inference is asked.

The operands of an example get one element type after the other. What its inference
accepts is allowed; the result types tell what comes out. Operands that are accepted
only when they change together have one type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from itertools import combinations
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.literals import Number, as_element
from pyptoc.dialects.op_docs import examples_of
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.class_fields import operands_by_field
from pyptoc.dialects.pypto.creating import CreatingOp, FullOp
from pyptoc.dialects.pypto.infer import ELEMENT_TYPES, Tensor, as_tensor
from pyptoc.dialects.pypto.properties import Type
from pyptoc.dialects.pypto.syntax import Clause
from pyptoc.dialects.record import record

Place = tuple[str, int]
"""An operand: its field, and which of the field's operands."""
Types = tuple[Attribute, ...]
RESULT = ("result", 0)
"""The place of a written result type, which takes the part of an operand."""


@record
class Accepted:
    """One way of giving element types to an example, which inference accepts."""

    operands: Mapping[Place, Attribute]
    target: Attribute | None
    """The type after `to`."""
    results: Types


@record(frozen=False)
class Elements:
    """What the examples of an operation show."""

    allowed: dict[Place, Types] = field(default_factory=dict[Place, Types])
    tied: list[tuple[Place, ...]] = field(default_factory=list[tuple[Place, ...]])
    """Operands of one type."""
    targets: Types = ()
    """What may follow `to`."""
    accepted: list[Accepted] = field(default_factory=list[Accepted])


@cache
def parsed_examples(kind: type[PyptoOp]) -> tuple[PyptoOp, ...]:
    """The operation in each of its examples."""
    found: list[PyptoOp] = []
    for example in examples_of(kind):
        module = parse_module(example.program(), "example.mlir", make_context())
        found.append(next(op for op in module.walk() if isinstance(op, kind)))
    return tuple(found)


def places(op: PyptoOp) -> Iterator[tuple[Place, SSAValue]]:
    """The operands of an operation."""
    for name, values in operands_by_field(op).items():
        for index, value in enumerate(values):
            yield (name, index), value


def field_names(kind: type[PyptoOp]) -> dict[str, list[str]]:
    """What the examples call the operands of each field: the longest list of names."""
    names: dict[str, list[str]] = {}
    for op in parsed_examples(kind):
        for name, values in operands_by_field(op).items():
            hints = [value.name_hint or name for value in values]
            names[name] = max(names.get(name, []), hints, key=len)
    return names


@cache
def elements_of(kind: type[PyptoOp]) -> Elements:
    """What the examples show together."""
    found = Elements()
    for op in parsed_examples(kind):
        _add_example(found, op)
    return found


def _add_example(found: Elements, op: PyptoOp) -> None:
    probe = _Probe(op)
    as_written = probe.accepts({}, None)
    if as_written is not None:
        found.accepted.append(as_written)
    for group, types in _groups(probe):
        if len(group) > 1:
            found.tied.append(group)
        for place in group:
            found.allowed[place] = _union(found.allowed.get(place, ()), types)
        for type in types:
            given = dict.fromkeys(group, type)
            for target in probe.targets():
                accepted = probe.accepts(given, target)
                if accepted is None:
                    continue
                found.accepted.append(accepted)
                if target is not None:
                    found.targets = _union(found.targets, (target,))


def _union(one: Iterable[Attribute], other: Iterable[Attribute]) -> Types:
    both = {*one, *other}
    return tuple(type for type in ELEMENT_TYPES if type in both)


def _groups(probe: _Probe) -> list[tuple[tuple[Place, ...], Types]]:
    """Operands that have one type, with the types that they may have."""
    alone = {place: probe.allowed((place,)) for place in probe.original}
    tied: list[tuple[Place, ...]] = []
    rest = [place for place, types in alone.items() if len(types) == 1]
    for size in range(len(rest), 1, -1):
        for group in combinations(rest, size):
            taken = {place for other in tied for place in other}
            if not taken & set(group) and len(probe.allowed(group)) > 1:
                tied.append(group)
    members = {place for group in tied for place in group}
    single = [(place,) for place in alone if place not in members]
    return [(group, probe.allowed(group)) for group in (*single, *tied)]


class _Probe:
    """An operation whose operands are given other element types."""

    def __init__(self, op: PyptoOp) -> None:
        self.op = op
        self.places = [place for place, _ in places(op)]
        self.original: dict[Place, Tensor] = {}
        for place, value in places(op):
            if (found := as_tensor(value.type)) is not None:
                self.original[place] = found
        if isinstance(op, CreatingOp):
            self.original[RESULT] = cast(Tensor, op.results[0].type)
        self.elements = {
            at: shaped.element_type for at, shaped in self.original.items()
        }
        self.target = _target_field(type(op))
        self.answers: dict[tuple[object, ...], Accepted | None] = {}

    def targets(self) -> Sequence[Attribute | None]:
        """What to try after `to`; None: nothing."""
        if self.target is None:
            return (None,)
        _, is_optional = self.target
        return (None, *ELEMENT_TYPES) if is_optional else ELEMENT_TYPES

    def allowed(self, group: tuple[Place, ...]) -> Types:
        """The types that some operands may have together."""
        return tuple(
            type
            for type in ELEMENT_TYPES
            if any(
                self.accepts(dict.fromkeys(group, type), target)
                for target in self.targets()
            )
        )

    def accepts(
        self, given: Mapping[Place, Attribute], target: Attribute | None
    ) -> Accepted | None:
        """The result of inference with these element types; None where it refuses."""
        key = (*given.items(), target)
        if key not in self.answers:
            self.answers[key] = self._ask(given, target)
        return self.answers[key]

    def _ask(
        self, given: Mapping[Place, Attribute], target: Attribute | None
    ) -> Accepted | None:
        old = self.op.properties
        if self.target is not None:
            name, is_optional = self.target
            target = target or (None if is_optional else old[name])
            rest = {key: value for key, value in old.items() if key != name}
            self.op.properties = {**rest, name: target} if target else rest
        before = {place: self.elements[place] for place in given}
        try:
            self._set(given)
            call = self.op.call()
            call.given = None
            if RESULT in self.original:
                element = given.get(RESULT, self.elements[RESULT])
                call.given = (_with_element(self.original[RESULT], element),)
                if isinstance(self.op, FullOp):
                    zero = as_element(Number(0), element, "full")
                    call.written = [("value", zero)]
            results = tuple(self.op.infer(call))
        except CompileError:
            return None
        finally:
            self._set(before)
            self.op.properties = old
        elements = tuple(t.element_type if (t := as_tensor(r)) else r for r in results)
        return Accepted({**self.elements, **given}, target, elements)

    def _set(self, given: Mapping[Place, Attribute]) -> None:
        for place, element in given.items():
            if place != RESULT:
                value = self.op.operands[self.places.index(place)]
                type = _with_element(self.original[place], element)
                Rewriter.replace_value_with_new_type(value, type)


@cache
def _with_element(type: Tensor, element: Attribute) -> Tensor:
    return TensorType(element, type.get_shape(), type.encoding)


def _target_field(kind: type[PyptoOp]) -> tuple[str, bool] | None:
    """The property after `to`, and whether it may be left out."""
    for element in kind.SYNTAX:
        if isinstance(element, Clause) and isinstance(element.elements[0], Type):
            return element.elements[0].name, element.optional
    return None
