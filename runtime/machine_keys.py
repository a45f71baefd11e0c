"""
Every key of a machine file: what it holds, in which unit, and what reads it.

`machine_file.py` checks files against this table and `pyptoc --docs-machines` prints it
as docs/machines.md, so that neither knows a key that the other does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, cast

from pyptoc.dialects.record import record

SPACES = ("l1", "l0a", "l0b", "l0c", "bias", "fb", "ub", "scale_a", "scale_b")
"""The on-chip memory spaces of the `tile` dialect; `gm` is the memory outside."""

PLACES = ("gm", *SPACES)

PIPES = ("mte2", "mte1", "m", "fix", "v", "mte3", "s")
"""The in-order queues of a core (some on cube cores, some on vector cores)."""

FLOATS = ("f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E8M0FNU")
ELEMENTS = (*FLOATS, "i8", "ui8", "i16", "i32", "i64")
"""Element types that a machine may multiply or convert."""

INSTRUCTIONS = (
    *("default", "exp", "log", "sqrt", "rsqrt", "sigmoid", "silu", "gelu", "tanh"),
    *("reciprocal", "sin", "cos", "erf", "floor", "ceil", "trunc", "round", "neg"),
    *("abs", "relu", "logical_not", "bitwise_not", "add", "sub", "mul", "maximum"),
    *("minimum", "rem", "floordiv", "pow", "div", "and", "or", "xor", "shift_left"),
    *("shift_right", "eq", "ne", "lt", "le", "gt", "ge", "clip", "where", "copy"),
    *("fill", "cvt", "row_sum", "row_max", "row_min", "row_prod", "row_cumsum"),
    *("arange", "mask_causal", "topk", "one_hot"),
)
"""Vector instructions of the `tile` dialect; those without a cost have `default`'s."""


@record
class Kind:
    """What a value must be."""

    text: str
    """`a number above 0`: after "must be"."""
    accepts: Callable[[Any], bool]
    allowed: tuple[str, ...] = ()
    """The names that may stand there, if it holds names."""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    return good and 0 <= value < inf


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, str) for each in cast("list[Any]", value)
    )


def _is_triple(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    numbers = cast("list[Any]", value)
    return len(numbers) == 3 and all(map(_is_number, numbers))


TEXT = Kind("a string", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
COUNT = Kind("an integer of at least 0", lambda v: _is_count(v) and v >= 0)
POSITIVE_COUNT = Kind("an integer of at least 1", lambda v: _is_count(v) and v >= 1)
NUMBER = Kind("a number of at least 0", _is_number)
POSITIVE = Kind("a number above 0", lambda value: _is_number(value) and value > 0)
TRIPLE = Kind("a list of three numbers of at least 0", _is_triple)
PIPE = Kind("the name of a pipe", TEXT.accepts, PIPES)
PIPE_LIST = Kind("a list of names", _is_texts, PIPES)
ELEMENT_LIST = Kind("a list of names", _is_texts, ELEMENTS)


@record
class Key:
    """One key; `*` in its path stands for any of the names that are allowed there."""

    path: str
    kind: Kind
    unit: str
    meaning: str
    field: str
    """What of `Machine` it becomes, as code that reads it has it: `.clock_hz`."""
    compiler: tuple[str, ...] = ()
    """Modules of passes/ that read it first of all."""
    model: tuple[str, ...] = ()
    """Modules of runtime/ that read it first of all."""
    required: bool = True


WILD: Mapping[str, tuple[str, ...]] = {
    "spaces": SPACES,
    "routes": PLACES,
    "routes.*": PLACES,
    "cube.macs_per_cycle": ELEMENTS,
    "vector.casts": ELEMENTS,
    "vector.cost_cycles": INSTRUCTIONS,
}
"""Tables with an entry a name, and the names."""

_CHOOSE = ("cube_cost", "vector_cost")
_COST = ("timing_costs",)

KEYS = (
    Key("name", TEXT, "", "what messages call it; with `base`, the file's name if left "
        "out", ".name", ("legalize_casts",), (), False),
    Key("summary", TEXT, "", "one line for `--list-machines`", ".summary", (), (),
        False),
    Key("cores.cube", POSITIVE_COUNT, "cores", "cube cores of the chip", ".cube_cores",
        ("cube_cost",), ("timing_launch",)),
    Key("cores.vector", POSITIVE_COUNT, "cores", "vector cores of the chip; a mixed "
        "kernel takes two with each cube core", ".vector_cores",
        ("vector_cost",), ("timing_launch",)),
    Key("cores.clock_ghz", POSITIVE, "GHz", "clock of all cores", ".clock_hz",
        _CHOOSE, ("timing_launch",)),
    Key("spaces.*.size_bytes", COUNT, "B", "memory of one core; 0: it has none, and "
        "routes to and from it do not count", ".space(", ("plan_memory", "cube_tiles")),
    Key("spaces.*.align_bytes", POSITIVE_COUNT, "B", "buffers start at multiples of "
        "it; a power of two", ".align", ("plan_memory",)),
    Key("fractal.rows", POSITIVE_COUNT, "rows", "of a block that matrices are stored "
        "in", ".fractal_rows", (), _COST),
    Key("fractal.row_bytes", POSITIVE_COUNT, "B", "a row of such a block",
        ".fractal_row_bytes", (), _COST),
    Key("pipes.cube", PIPE_LIST, "", "in-order queues of a cube core", ".pipes", (),
        ("timing_kernel",)),
    Key("pipes.vector", PIPE_LIST, "", "in-order queues of a vector core", ".pipes",
        (), ("timing_kernel",)),
    Key("sync.event_ids_per_pipe_pair", POSITIVE_COUNT, "ids", "flags of each ordered "
        "pair of pipes of a core", ".event_ids", ("insert_sync", "plan_memory"),
        ("timing_kernel",)),
    Key("sync.cross_core_flags", COUNT, "flags", "between the cores of a mixed kernel",
        ".cross_core_flags"),
    Key("sync.cross_core_cycles", COUNT, "cycles", "from a push or a free of a channel "
        "until the other core knows", ".cross_core_cycles", (), ("timing_kernel",)),
    Key("routes.*.*.pipe", PIPE, "", "the queue that does this transfer", ".pipe", (),
        ("timing_kernel",)),
    Key("routes.*.*.bytes_per_cycle", POSITIVE, "B/cycle", "rate of one core; from gm "
        "that of HBM", ".bytes_per_cycle", _CHOOSE, _COST),
    Key("routes.*.*.startup_cycles", NUMBER, "cycles", "before the first byte of a "
        "transfer", ".startup_cycles", _CHOOSE, _COST),
    Key("cube.supports_mx", FLAG, "", "whether scaled (MX) products run",
        ".supports_mx", ("support",)),
    Key("cube.head_cycles", NUMBER, "cycles", "before a matmul whose pipe was empty",
        ".matmul_head_cycles", ("cube_cost",), _COST),
    Key("cube.macs_per_cycle.*", POSITIVE_COUNT, "1/cycle", "multiply-adds of one core "
        "on inputs of that element type; without an entry it does not multiply them",
        ".macs_per_cycle", ("cube_cost",), _COST),
    Key("vector.repeat_bytes", POSITIVE_COUNT, "B", "what one repeat of a vector "
        "instruction covers", ".vector_bytes", ("vector_cost",), _COST),
    Key("vector.ragged_cycles", NUMBER, "cycles", "added where rows are no whole "
        "repeats", ".vector_ragged_cycles", (), _COST),
    Key("vector.casts.*", ELEMENT_LIST, "", "what one instruction converts that "
        "element type to; others become chains", ".can_cast", ("legalize_casts",)),
    Key("vector.cost_cycles.*", TRIPLE, "cycles", "[head, a repeat, tail] of that "
        "instruction; `default` is for those without an entry", ".vector_cost",
        ("vector_cost",), _COST),
    Key("memory.hbm_bytes_per_second", POSITIVE, "B/s", "HBM, shared by all cores",
        ".hbm_bytes_per_second", _CHOOSE, ("timing_traffic",)),
    Key("memory.l2_bytes", COUNT, "B", "size of L2; checks l2_kept_bytes", ".l2_bytes"),
    Key("memory.l2_kept_bytes", COUNT, "B", "what is found again in L2: at most its "
        "size", ".l2_kept_bytes", ("cube_cost",), ("timing",)),
    Key("memory.l2_to_hbm_ratio", POSITIVE, "", "rate of L2 as a multiple of HBM's, "
        "all cores together", ".l2_to_hbm_ratio", ("cube_cost",), ("timing_traffic",)),
    Key("memory.row_overhead_bytes", NUMBER, "B", "added for each line of a transfer: "
        "narrow boxes do not reach the rate", ".row_overhead_bytes", ("cube_cost",),
        _COST),
    Key("memory.l2_read_bytes_per_cycle_per_core", POSITIVE, "B/cycle", "one core "
        "reading what L2 holds", ".l2_read_bytes_per_cycle_per_core", ("cube_cost",),
        _COST),
    Key("memory.l2_write_bytes_per_cycle_per_core", POSITIVE, "B/cycle", "one core "
        "writing", ".l2_write_bytes_per_cycle_per_core", (), _COST),
    Key("launch.start_microseconds", NUMBER, "us", "from the call to the first task",
        ".launch_seconds", _CHOOSE, ("timing_launch",)),
    Key("launch.next_microseconds", NUMBER, "us", "from the issue of one launch to "
        "that of the next", ".next_launch_seconds", (), ("timing_summary",)),
    Key("launch.task_microseconds", NUMBER, "us", "what taking a task costs a core "
        "where cores take whichever is next", ".task_seconds", (), ("timing_launch",)),
    Key("launch.wait_microseconds", NUMBER, "us", "from the end of a task until tasks "
        "on other cores know", ".wait_seconds", (), ("timing_launch",)),
)  # fmt: skip
"""All keys but `base`, in the order of the page."""


def _tree() -> dict[str, Any]:
    top: dict[str, Any] = {}
    for key in KEYS:
        *tables, last = key.path.split(".")
        node = top
        for name in tables:
            node = node.setdefault(name, {})
        node[last] = key
    return top


TREE: Mapping[str, Any] = _tree()
"""The keys as nested tables."""


def key_at(path: tuple[str, ...]) -> Key | None:
    """The key that a path like `("spaces", "ub", "size_bytes")` is one of."""
    node: Any = TREE
    for name in path:
        if not isinstance(node, dict):
            return None
        names = cast("dict[str, Any]", node)
        node = names.get(name) or names.get("*")
    return node if isinstance(node, Key) else None


def paths_of(
    table: Mapping[str, Any], prefix: tuple[str, ...] = ()
) -> list[tuple[str, ...]]:
    """The paths of all values of a machine's table."""
    found: list[tuple[str, ...]] = []
    for name, value in table.items():
        path = (*prefix, name)
        if isinstance(value, dict):
            found += paths_of(cast("dict[str, Any]", value), path)
        else:
            found.append(path)
    return found
