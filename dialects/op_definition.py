"""Operations are defined when they are first used: what `@op_definition` is for.

xDSL's `irdl_op_definition` reads the fields of a class and its bases, checks them, and
gives the class its accessors, in 0.2 ms. There are some 200 operations, a program has
a handful of them, and many classes are only asked whether an operation is one of
theirs. So the definition waits until something needs it: the first operation of the
class (which asks for its definition while it is made), its parser, its traits.

So it is with the operations of xDSL's own dialects whose modules are first imported
within `defined_when_used`.

The decorator also keeps each class's own verifier (`own_verifier`), in front of which
xDSL puts that of the fields, has fields find operands and results without views of
them, and makes `isinstance` quick (`plain_classes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from operator import attrgetter
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from xdsl import irdl
from xdsl.ir import Operation, OpTraits
from xdsl.irdl import IRDLOperation, OpDef, VarIRConstruct, irdl_op_definition
from xdsl.irdl.operations import (
    BaseAccessor,
    BaseAttrAccessor,
    BeforeVariadicSingleAccessor,
)

from pyptoc.dialects.plain_classes import make_plain

if TYPE_CHECKING:
    _Method = classmethod[Any, ..., Any]
else:
    _Method = classmethod  # such a field xDSL lets stand in a class

T = TypeVar("T", bound=IRDLOperation)


OPERAND = VarIRConstruct.OPERAND
_VALUES_OF: dict[VarIRConstruct, Callable[[Operation], Any]] = {
    OPERAND: attrgetter("_operands"),
    VarIRConstruct.RESULT: attrgetter("results"),
}
"""All operands, or all results, of an operation: no view is made of them."""
_item = tuple[Any, ...].__getitem__
"""That of xDSL's tuples of values is a function in Python."""

_LOCK = RLock()

Verify = Callable[[Any], None]
"""A method `verify_`."""

_OWN: dict[type[Operation], Verify] = {}
"""The `verify_` of the classes that are defined, as it was written."""

_ALONE: set[Verify] = {Operation.verify_}


def verified_alone(verify: Verify) -> Verify:
    """
    Marks a method `verify_` that looks at nothing but operand types, result types,
    properties, attributes, which operands are the same value, and the types of the
    arguments of its bodies.

    Not at what defines an operand or uses a result, nor at what stands around or
    inside. So where it has passed, it passes for all that look alike.
    """
    _ALONE.add(verify)
    return verify


def own_verifier(cls: type[Operation]) -> Verify | None:
    """A class's `verify_` as it was written; None for a class of another decorator."""
    return _OWN.get(cls)


def is_verified_alone(verify: Verify) -> bool:
    """Whether the method was marked with `verified_alone`, or checks nothing."""
    return verify in _ALONE


def op_definition(cls: type[T]) -> type[T]:
    """`irdl_op_definition`, at the first use of the class."""
    own: OpTraits | None = cls.__dict__.get("traits")

    def define() -> None:
        with _LOCK:  # threads may use a class for the first time together
            if not isinstance(cls.__dict__.get("traits"), _TraitsToCome):
                return
            # xDSL sees the class as it was written.
            del cls.traits
            if own is not None:
                cls.traits = own
            verify = cls.verify_
            irdl_op_definition(cls)
            _replace_fields(cls)
            _OWN[cls] = verify

    def definition(_: type[T]) -> OpDef:
        define()
        return cls.get_irdl_definition()

    # Not by assignment, which a type checker would compare with what xDSL declares.
    setattr(cls, "get_irdl_definition", classmethod(definition))  # noqa: B010
    setattr(cls, "traits", _TraitsToCome(define))  # noqa: B010
    if "parse" not in cls.__dict__:
        setattr(cls, "parse", _ParserToCome(cls, define))  # noqa: B010
    make_plain(cls, IRDLOperation)
    return cls


@contextmanager
def defined_when_used() -> Generator[None]:
    """Within it a module that is imported gets `op_definition` for xDSL's decorator."""
    setattr(irdl, "irdl_op_definition", op_definition)  # noqa: B010
    try:
        yield
    finally:
        setattr(irdl, "irdl_op_definition", irdl_op_definition)  # noqa: B010


def _replace_fields(cls: type[IRDLOperation]) -> None:
    """Gives a class that is defined our fields of operands and results for xDSL's."""
    for name, field in tuple(vars(cls).items()):
        if isinstance(field, BaseAttrAccessor) and field.construct is OPERAND:
            setattr(cls, name, SegmentField(field))
        elif isinstance(field, BaseAccessor) and field.construct in _VALUES_OF:
            is_first = isinstance(field, BeforeVariadicSingleAccessor)
            setattr(cls, name, (PlaceField if is_first else ValueField)(field))


class ValueField:
    """The operands or results of a field, as xDSL finds them in its views."""

    def __init__(self, field: BaseAccessor) -> None:
        self.field = field
        self.place = field.idx
        self.index = field.index
        self.held = _VALUES_OF[field.construct]

    def __get__(self, op: Operation, owner: Any = None) -> Any:
        return self.index(self.held(op))

    def __set__(self, op: Operation, value: object) -> NoReturn:
        raise NotImplementedError("operands and results are not set by their name")


class PlaceField(ValueField):
    """The operand or result at a place that is the same in every operation."""

    def __get__(self, op: Operation, owner: Any = None) -> Any:
        return _item(self.held(op), self.place)


class SegmentField:
    """The operands of a field where an operation stores how many each field has.

    The places that follow are remembered by these sizes.
    """

    def __init__(self, field: BaseAttrAccessor) -> None:
        self.field = field
        self.sizes = field.option.attribute_name
        self.as_property = field.option.as_property
        self.places: dict[bytes, int | slice | None] = {}
        """By the sizes: which operands these are."""

    def __get__(self, op: Operation, owner: Any = None) -> Any:
        held = op.properties if self.as_property else op.attributes
        sizes: Any = held[self.sizes]
        key = sizes.data.data
        if key not in self.places:
            values = sizes.get_values()
            found = self.field.index(values, range(sum(values)))
            if isinstance(found, range):
                found = slice(found.start, found.stop)
            self.places[key] = found
        place = self.places[key]
        if place is None:
            return None
        operands = op._operands  # pyright: ignore[reportPrivateUsage]
        return operands[place] if isinstance(place, slice) else _item(operands, place)

    def __set__(self, op: Operation, value: object) -> NoReturn:
        raise NotImplementedError("operands of a field are not set by its name")


class _TraitsToCome:
    """The traits of a class that is not defined yet; reading them defines it."""

    def __init__(self, define: Callable[[], None]) -> None:
        self.define = define

    def __get__(self, instance: object, owner: Any) -> OpTraits:
        self.define()
        return owner.traits


class _ParserToCome(_Method):
    """The parser of a class without one of its own: what is written as a format."""

    def __init__(self, cls: type[IRDLOperation], define: Callable[[], None]) -> None:
        super().__init__(lambda _: None)
        self.cls = cls
        self.define = define

    def __get__(self, instance: object, owner: Any = None) -> Any:
        self.define()
        if self.cls.__dict__["parse"] is self:  # there is no format, or not yet
            inherited: Any = super(self.cls, owner)
            return inherited.parse
        return owner.parse
