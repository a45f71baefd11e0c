"""Main memory, as the `npu` and the `tile` dialect see it: memrefs in space "gm"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, cast

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.subscripts import DYNAMIC, Mixed
from pyptoc.dialects.words import counted

GM = StringAttr("gm")
"""The memory space of a memref in the machine's main memory."""

COMBINES = ("add", "max", "min")
"""How a store can fold onto what is there."""


def memory_type(value: SSAValue) -> MemRefType[Attribute]:
    """The type of a value that is known to be a memref."""
    return cast("MemRefType[Attribute]", value.type)


def gm_memref(element: Attribute, shape: Iterable[int]) -> MemRefType[Attribute]:
    """`memref<shape x element, "gm">`"""
    return MemRefType(element, list(shape), memory_space=GM)


def check_gm(type: Attribute) -> MemRefType[Attribute]:
    """The type as a memref in "gm"; a VerifyException if it is none."""
    if isinstance(type, MemRefType):
        memory = cast("MemRefType[Attribute]", type)
        if memory.memory_space == GM:
            return memory
    raise VerifyException(f'expected a memref in "gm", got {type}')


def check_combine(combine: StringAttr | None) -> None:
    if combine is not None and combine.data not in COMBINES:
        raise VerifyException(
            f'no combine "{combine.data}": it is one of {", ".join(COMBINES)}'
        )


class AllocatesResult(MemoryEffect):
    """Of an allocation: unused, it may go; two of them are never one."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, op.results[0])}


def check_box(
    shape: Sequence[int], offsets: Sequence[Mixed], sizes: Sequence[Any]
) -> None:
    """Static offsets and sizes stay within `shape`; `?` and None are not checked."""
    if len(offsets) != len(shape):
        raise VerifyException(f"takes {len(shape)} offsets, got {len(offsets)}")
    for axis, (dim, offset, size) in enumerate(zip(shape, offsets, sizes, strict=True)):
        if not isinstance(offset, int):
            continue
        if offset < 0:
            raise VerifyException(f"offset {offset} is negative")
        known = isinstance(size, int) and size != DYNAMIC
        end = offset + size if known else offset
        if dim != DYNAMIC and end > dim:
            raise VerifyException(
                f"ends at {end} in dimension {axis}, which has "
                f"{counted(dim, 'element')}"
            )
