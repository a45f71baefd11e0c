"""Which input's bytes the result of an instruction may take: one entry each.

    tile.exp %a into %a [16, 256]          every element is read, then written
    tile.cvt %f into %h [16, 256]          f32 to bf16 at one address: element by
                                           element, what is written was read before

Not so where an element of the result is written before all reads of what lies there:
a reduction, a scan or a broadcast reads an input again, a widening cast writes ahead of
what it reads, and the remainder is several instructions on its inputs. `tile.py` checks
on import that every instruction of the dialect has an entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from pyptoc.dialects.tile_types import BufType, element_bits, row_bytes


class InPlace(Enum):
    """What the bytes of a result may be."""

    OWN = "no input's"
    FULL = "those of an input that is read in full, its elements and rows as wide"
    LISTS = "those of the lists that it updates: they are one operand"


_OWN = """
    rem row_sum row_max row_min row_prod row_cumsum fill arange one_hot
    load store move gather scatter matmul matmul_mx push pop free
    set_flag wait_flag barrier
"""
_FULL = """
    exp log sqrt rsqrt sigmoid silu gelu tanh reciprocal sin cos erf
    floor ceil trunc round neg abs relu logical_not bitwise_not
    add sub mul maximum minimum floordiv pow div and or xor shift_left shift_right
    eq ne lt le gt ge clip where copy cvt mask_causal
"""
IN_PLACE = {
    **dict.fromkeys(_OWN.split(), InPlace.OWN),
    **dict.fromkeys(_FULL.split(), InPlace.FULL),
    "topk": InPlace.LISTS,
}
"""The entry of each instruction, by its name without `tile.`."""


def may_take(name: str, in_full: bool, source: BufType, dest: BufType) -> bool:
    """Whether `dest` may begin where `source` begins, an input of `tile.<name>`."""
    return (
        in_full
        and IN_PLACE[name] is InPlace.FULL
        and element_bits(dest.element_type) <= element_bits(source.element_type)
        and row_bytes(dest) <= row_bytes(source)
    )


def check_entries(names: Iterable[str]) -> None:
    """An error unless each of these instructions has an entry, and nothing else."""
    found = {name.removeprefix("tile.") for name in names}
    wrong = found ^ set(IN_PLACE)
    if wrong:
        raise TypeError(f"IN_PLACE and the tile dialect differ in {sorted(wrong)}")
