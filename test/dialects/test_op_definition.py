"""Operations are defined when they are first used, as xDSL would have done at once."""

from __future__ import annotations

import sys
from abc import ABCMeta
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Barrier
from typing import Any

import pytest
from xdsl import irdl
from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr, f32, i32
from xdsl.ir import Dialect
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.irdl.operations import PropertyAccessor
from xdsl.parser import Parser
from xdsl.traits import Pure
from xdsl.utils.exceptions import (
    ParseError,
    PyRDLOpDefinitionError,
    VerifyException,
)

from pyptoc.dialects.op_definition import defined_when_used, op_definition
from pyptoc.dialects.plain_classes import PlainClass
from pyptoc.dialects.tile import AllocOp, SlotOp
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_types import BufType, Space


def written() -> type[IRDLOperation]:
    """The class of an operation, as it is written."""

    class WordOp(IRDLOperation):
        name = "test.word"
        word = prop_def(StringAttr, default_value=StringAttr("none"))
        note = opt_prop_def(StringAttr)
        result = result_def(i32)
        traits = traits_def(Pure())

        def verify_(self) -> None:
            if self.word == StringAttr("bad"):
                raise VerifyException("a bad word")

    return WordOp


def is_defined(cls: type[IRDLOperation]) -> bool:
    """Whether its fields have become accessors."""
    return isinstance(cls.__dict__["word"], PropertyAccessor)


def test_waits_for_the_first_operation():
    lazy, eager = op_definition(written()), irdl_op_definition(written())
    assert not is_defined(lazy)
    assert is_defined(eager)
    op = lazy.create(result_types=[i32])
    assert is_defined(lazy)
    assert op.word == StringAttr("none")
    assert op.note is None
    assert op.result.type == i32
    assert lazy.get_irdl_definition() == eager.get_irdl_definition()


def test_its_own_verifier_and_that_of_its_fields():
    lazy = op_definition(written())
    lazy.create(result_types=[i32]).verify()
    with pytest.raises(VerifyException, match="a bad word"):
        lazy.create(result_types=[i32], properties={"word": StringAttr("bad")}).verify()
    with pytest.raises(VerifyException, match="result"):
        lazy.create().verify()


def test_traits_of_the_class():
    lazy = op_definition(written())
    assert lazy.has_trait(Pure)
    assert is_defined(lazy)


def formatted() -> type[IRDLOperation]:
    """The class of an operation whose syntax is written as a format."""

    class FormatOp(IRDLOperation):
        name = "test.format"
        word = prop_def(StringAttr)
        assembly_format = "$word attr-dict"

    return FormatOp


def test_a_format_is_its_parser():
    lazy = op_definition(formatted())
    assert not is_defined(lazy)
    for word in "ab":
        assert parsed(f'test.format "{word}"', lazy).word == StringAttr(word)


def test_without_a_format_it_is_that_of_a_base_or_none():
    class OwnOp(written()):
        name = "test.own"

        @classmethod
        def parse(cls, parser: Parser) -> Any:
            parser.parse_keyword("here")
            return cls.create(result_types=[i32])

    class SonOp(OwnOp):
        pass

    lazy = op_definition(SonOp)
    assert type(parsed("test.own here", lazy)) is lazy
    with pytest.raises(ParseError, match="does not have a custom format"):
        parsed("test.word", op_definition(written()))


def parsed(text: str, cls: type[IRDLOperation]) -> Any:
    """The operation that `text` says."""
    context = Context()
    context.load_dialect(Dialect("test", [cls]))
    return Parser(context, text).parse_op()


def test_of_modules_imported_meanwhile():
    """xDSL's decorator waits, and does not any more after an error."""
    with defined_when_used():
        lazy = irdl.irdl_op_definition(written())
    with pytest.raises(ModuleNotFoundError), defined_when_used():
        import_module("xdsl.dialects.none")
    assert not is_defined(lazy)
    assert is_defined(irdl.irdl_op_definition(written()))
    assert lazy.create(result_types=[i32]).word == StringAttr("none")


def test_isinstance_is_that_of_any_class():
    """Of what is defined here; xDSL's own classes stay as they are."""
    op = AllocOp.make(BufType((16, 16), f32, Space.UB))
    assert [type(cls) for cls in (AllocOp, Allocation, SlotOp)] == [PlainClass] * 3
    assert type(IRDLOperation) is ABCMeta
    assert isinstance(op, Allocation)
    assert isinstance(op, AllocOp | SlotOp)
    assert not isinstance(op, SlotOp)
    assert not isinstance(None, Allocation)
    with pytest.raises(TypeError, match="abstract"):
        Allocation()  # pyright: ignore[reportAbstractUsage]


def test_what_is_wrong_is_found_then():
    lazy = op_definition(type("WrongOp", (written(),), {"extra": 3}))
    with pytest.raises(PyRDLOpDefinitionError):
        lazy.get_irdl_definition()


def test_threads_may_be_first_together():
    """With a switch between nearly all steps, and 20 classes to define."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for _ in range(20):
                for use, written_class, word in (
                    (made_after, written, "none"),
                    (parsed_after, formatted, "a"),
                ):
                    lazy, start = op_definition(written_class()), Barrier(4)
                    futures = [pool.submit(use, start, lazy) for _ in range(4)]
                    for future in futures:
                        assert future.result().word == StringAttr(word)
    finally:
        sys.setswitchinterval(interval)


def made_after(start: Barrier, cls: type[Any]) -> Any:
    start.wait()
    return cls.create(result_types=[i32])


def parsed_after(start: Barrier, cls: type[Any]) -> Any:
    start.wait()
    return parsed('test.format "a"', cls)
