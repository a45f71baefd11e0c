"""What follows from the definition of an operation's class, computed once for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, OptionalDef, VariadicDef

if TYPE_CHECKING:
    from pyptoc.dialects.pypto.base import PyptoOp

SEGMENTS = "operandSegmentSizes"

_FIELDS: dict[type, tuple[tuple[str, str], ...]] = {}
_SETTINGS: dict[type, tuple[str, ...]] = {}
_SEGMENTED: dict[type, bool] = {}


def operand_fields(cls: type[PyptoOp]) -> tuple[tuple[str, str], ...]:
    """The operand fields of a class: name and kind (one, optional, many)."""
    if cls not in _FIELDS:
        _FIELDS[cls] = tuple(
            (name, _kind(definition))
            for name, definition in cls.get_irdl_definition().operands
        )
    return _FIELDS[cls]


def _kind(definition: Any) -> str:
    if isinstance(definition, OptionalDef):
        return "optional"
    return "many" if isinstance(definition, VariadicDef) else "one"


def has_segments(cls: type[PyptoOp]) -> bool:
    """Whether a class stores how many operands each of its fields has."""
    if cls not in _SEGMENTED:
        options = cls.get_irdl_definition().options
        _SEGMENTED[cls] = any(isinstance(o, AttrSizedOperandSegments) for o in options)
    return _SEGMENTED[cls]


def setting_names(cls: type[PyptoOp]) -> tuple[str, ...]:
    """The properties that are written in the trailing `{...}`."""
    if cls not in _SETTINGS:
        taken = {name for element in cls.SYNTAX for name in element.properties()}
        taken.update((SEGMENTS, "literals", *cls.HIDDEN))
        properties = cls.get_irdl_definition().properties
        _SETTINGS[cls] = tuple(name for name in properties if name not in taken)
    return _SETTINGS[cls]


def operands_by_field(op: PyptoOp) -> dict[str, tuple[SSAValue, ...]]:
    """The operands of an operation, grouped as its definition names them."""
    fields = operand_fields(type(op))
    operands = tuple(op.operands)
    segments = op.properties.get(SEGMENTS)
    if isinstance(segments, DenseArrayBase):
        sizes = [int(size) for size in segments.iter_values()]
    else:
        others = sum(kind == "one" for _, kind in fields)
        sizes = [1 if kind == "one" else len(operands) - others for _, kind in fields]
    groups: dict[str, tuple[SSAValue, ...]] = {}
    first = 0
    for (name, _), size in zip(fields, sizes, strict=True):
        groups[name] = operands[first : first + size]
        first += size
    return groups
