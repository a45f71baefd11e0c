"""The `npu` dialect: tasks, kernels, launches, events, and memory.

A program is at *task level* while its loops over tasks have bodies of tensor code
(`npu.tasks`, first in tensor form, then in memory form), and at *kernel level* once the
bodies are kernels of `tile` instructions that an orchestration function launches.

- `npu_attrs.py`: `!npu.events`, bounds, expressions, accesses, selectors
- `npu_tasks.py`: `npu.tasks`
- `npu_kernel.py`: `npu.kernel`, `npu.launch`
- `npu_boxes.py`: loads, stores and assembles in task bodies
- `npu_indexing.py`: gathers, scatters, top-k, one-hot in task bodies
- `npu_memory.py`: allocations, reads, sets of tasks
- `npu_place.py`: parts of allocations
"""

from xdsl.ir import Dialect

from pyptoc.dialects.memory import GM, gm_memref, memory_type
from pyptoc.dialects.npu_attrs import (
    ALL,
    EVENTS,
    OVERLAPS,
    Access,
    AccessAttr,
    AccessMode,
    EventsType,
    ExprAttr,
    MaxAttr,
    Selector,
    SelectorAttr,
    SelectorKind,
    Unit,
    UnitKindAttr,
)
from pyptoc.dialects.npu_boxes import AssembleOp, LoadOp, StoreOp
from pyptoc.dialects.npu_indexing import GatherOp, OneHotOp, ScatterOp, TopkOp
from pyptoc.dialects.npu_kernel import KernelOp, LaunchOp, kernels_of
from pyptoc.dialects.npu_memory import (
    AllocOp,
    JoinOp,
    NoEventsOp,
    ReadOp,
    ReinterpretOp,
    ReshapeOp,
)
from pyptoc.dialects.npu_place import PlaceOp
from pyptoc.dialects.npu_print import PrintOp
from pyptoc.dialects.npu_tasks import TasksOp

Npu = Dialect(
    "npu",
    [
        TasksOp,
        AssembleOp,
        LoadOp,
        StoreOp,
        GatherOp,
        ScatterOp,
        TopkOp,
        OneHotOp,
        AllocOp,
        PlaceOp,
        ReshapeOp,
        ReinterpretOp,
        ReadOp,
        PrintOp,
        NoEventsOp,
        JoinOp,
        KernelOp,
        LaunchOp,
    ],
    [EventsType, UnitKindAttr, MaxAttr, ExprAttr, AccessAttr, SelectorAttr],
)

__all__ = [
    "ALL",
    "EVENTS",
    "GM",
    "OVERLAPS",
    "Access",
    "AccessAttr",
    "AccessMode",
    "AllocOp",
    "AssembleOp",
    "EventsType",
    "ExprAttr",
    "GatherOp",
    "JoinOp",
    "KernelOp",
    "LaunchOp",
    "LoadOp",
    "MaxAttr",
    "NoEventsOp",
    "Npu",
    "OneHotOp",
    "PlaceOp",
    "PrintOp",
    "ReadOp",
    "ReinterpretOp",
    "ReshapeOp",
    "ScatterOp",
    "Selector",
    "SelectorAttr",
    "SelectorKind",
    "StoreOp",
    "TasksOp",
    "TopkOp",
    "Unit",
    "UnitKindAttr",
    "gm_memref",
    "kernels_of",
    "memory_type",
]
