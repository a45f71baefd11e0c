"""`isinstance` for classes of operations, as quick as for any other class.

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


def make_plain(cls: type[Any], root: type[Any]) -> None:
    """Makes `PlainClass`es of a class and its bases, of those that derive from `root`.

    Not of `root` itself: classes that others define derive from it, too.
    """
    for each in cls.__mro__:
        if each is not root and type(each) is ABCMeta and issubclass(each, root):
            each.__class__ = PlainClass  # pyright: ignore[reportAttributeAccessIssue]
