"""
The compiler's passes: one file a pass, named like the pass.

`PASSES` maps a pass name to `module:Class`, so that naming a pass imports only its
file. `DEFAULT_PIPELINE` is the order in which a tensor program becomes a scheduled
tile program, and `LEVELS` says after which pass each level of the IR is complete.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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


def pass_class(name: str) -> type[PyptocPass]:
    """The class of the pass `name`; `KeyError` if there is none."""
    module, _, attribute = PASSES[name].partition(":")
    return getattr(import_module(f"pyptoc.passes.{module}"), attribute)
