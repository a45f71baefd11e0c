"""`isinstance` for classes of operations, without a detour.

xDSL's operations are abstract base classes of Python's library. For these `isinstance`
is a function in Python, which knows virtual subclasses as well; compiling an operator
calls it ten thousand times. No class of operations has a virtual subclass, so it can be
asked as any other class is, in half the time.
"""

from __future__ import annotations

from abc import ABCMeta
from typing import Any


class PlainClass(ABCMeta):
    """The class of an abstract class whose only subclasses are those that name it."""

    __instancecheck__ = type.__instancecheck__


def make_plain(cls: type[Any], below: type[Any]) -> None:
    """Makes a class a `PlainClass`, and its bases as far as they are below another."""
    for each in cls.__mro__:
        if each is not below and type(each) is ABCMeta and issubclass(each, below):
            each.__class__ = PlainClass  # pyright: ignore[reportAttributeAccessIssue]
