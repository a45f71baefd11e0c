"""
The compiler's passes: one file a pass, named like the pass.

`PASSES` maps a pass name to `module:Class`, so that naming a pass imports only its
file; `register_pass` adds passes of the user's to `REGISTERED`. `DEFAULT_PIPELINE` is
the order in which a tensor program becomes a scheduled tile program, and `LEVELS` says
after which pass each level of the IR is complete.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyptoc.passes.base import PyptocPass

PASSES: dict[str, str] = {
    "inline": "inline:InlinePass",
    "desugar": "desugar:DesugarPass",
    "decompose": "decompose:DecomposePass",
    "check-bounds": "check_bounds:CheckBoundsPass",
    "fuse-epilogue": "fuse_epilogue:FuseEpiloguePass",
    "legalize-casts": "legalize_casts:LegalizeCastsPass",
    "collapse-rows": "collapse_rows:CollapseRowsPass",
    "partition": "partition:PartitionPass",
    "infer-tiles": "infer_tiles:InferTilesPass",
    "form-tasks": "form_tasks:FormTasksPass",
    "tile": "tile:TilePass",
    "split-k": "split_k:SplitKPass",
    "assemble-buffers": "assemble_buffers:AssembleBuffersPass",
    "lower-to-tile": "lower_to_tile:LowerToTilePass",
    "split-mixed": "split_mixed:SplitMixedPass",
    "skew": "skew:SkewPass",
    "plan-memory": "plan_memory:PlanMemoryPass",
    "insert-sync": "insert_sync:InsertSyncPass",
    "schedule": "schedule:SchedulePass",
}
"""Pass name to `module:Class`, the module relative to this package."""

DEFAULT_PIPELINE: tuple[str, ...] = tuple(PASSES)
"""Every pass, in the order of the default pipeline."""

LEVELS: dict[str, str | None] = {
    "tensor": None,
    "tasks": "assemble-buffers",
    "kernels": "skew",
    "program": "schedule",
}
"""A level's name to the last pass of the default pipeline that it needs."""

REGISTERED: dict[str, type[PyptocPass]] = {}
"""The passes of the user's, by name."""

_Class = TypeVar("_Class", bound="type[PyptocPass]")


def register_pass(cls: _Class) -> _Class:
    """
    Makes a pass of one's own known by its name, for pipelines; to be used as decorator.

    In a notebook, or where a module is loaded again, a later class takes the place of
    an earlier one. Raises `TypeError` for what is no pass, or has no name, summary or
    `run`, or options that are no fields of a dataclass; `ValueError` for a name that no
    pipeline can hold, or that one of the compiler's passes or another class has.
    """
    from pyptoc.passes.base import PyptocPass

    if PyptocPass not in getattr(cls, "__mro__", ()):
        raise TypeError(f"{cls!r} is no subclass of pyptoc.Pass")
    name = getattr(cls, "name", None)
    if not isinstance(name, str) or not isinstance(cls.__dict__.get("summary"), str):
        raise TypeError(f"{cls.__name__} needs a name and a summary, both texts")
    if inspect.isabstract(cls):
        raise TypeError(f"{cls.__name__} has no method run(self, ctx, module)")
    fields = inspect.get_annotations(cls).items()
    options = [key for key, kind in fields if "ClassVar" not in str(kind)]
    if any(key not in cls.__dataclass_fields__ for key in options):
        raise TypeError(f"{cls.__name__} has options: write @dataclass(frozen=True)")
    if not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
        raise ValueError(f"'{name}' is no name of a pass: letters, digits, -, _ and .")
    if name in PASSES:
        raise ValueError(f"the compiler has a pass '{name}' of its own")
    other = REGISTERED.get(name, cls)
    if _is_another(other, cls):
        one, two = cls.__name__, other.__name__
        if one == two:
            one, two = (f"{each.__module__}.{one}" for each in (cls, other))
        raise ValueError(f"{one} and {two} are both named '{name}'")
    REGISTERED[name] = cls
    return cls


def _is_another(other: type, cls: type) -> bool:
    """Whether two classes of modules are not one that was defined again."""
    same = (other.__module__, other.__qualname__) == (cls.__module__, cls.__qualname__)
    return not same and "__main__" not in (other.__module__, cls.__module__)


def pass_names() -> list[str]:
    """Every pass that a pipeline may name: the compiler's, then the user's."""
    return [*PASSES, *REGISTERED]


def pass_class(name: str) -> type[PyptocPass]:
    """The class of the pass `name`; `KeyError` if there is none."""
    if name in REGISTERED:
        return REGISTERED[name]
    module, _, attribute = PASSES[name].partition(":")
    return getattr(import_module(f"pyptoc.passes.{module}"), attribute)
