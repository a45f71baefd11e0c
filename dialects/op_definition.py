"""Operations are defined when they are first used: what `@op_definition` is for.

xDSL's `irdl_op_definition` reads the fields of a class and its bases, checks them, and
gives the class its accessors, in 0.2 ms. There are some 200 operations, a program has
a handful of them, and many classes are only asked whether an operation is one of
theirs. So the definition waits until something needs it: the first operation of the
class (which asks for its definition while it is made), its parser, its traits.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, TypeVar

from xdsl.ir import OpTraits
from xdsl.irdl import IRDLOperation, OpDef, irdl_op_definition

T = TypeVar("T", bound=IRDLOperation)


_LOCK = RLock()


def op_definition(cls: type[T]) -> type[T]:
    """`irdl_op_definition`, at the first use of the class."""
    own: OpTraits | None = cls.__dict__.get("traits")

    def define() -> None:
        with _LOCK:  # threads may use a class for the first time together
            if not isinstance(cls.__dict__["traits"], _TraitsToCome):
                return
            # xDSL sees the class as it was written.
            del cls.traits
            if own is not None:
                cls.traits = own
            irdl_op_definition(cls)

    def definition(_: type[T]) -> OpDef:
        define()
        return cls.get_irdl_definition()

    # Not by assignment, which a type checker would compare with what xDSL declares.
    setattr(cls, "get_irdl_definition", classmethod(definition))  # noqa: B010
    setattr(cls, "traits", _TraitsToCome(define))  # noqa: B010
    return cls


class _TraitsToCome:
    """The traits of a class that is not defined yet; reading them defines it."""

    def __init__(self, define: Callable[[], None]) -> None:
        self.define = define

    def __get__(self, instance: object, owner: Any) -> OpTraits:
        self.define()
        return owner.traits
