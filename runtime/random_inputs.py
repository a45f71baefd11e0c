"""
Made-up inputs, as `pypto.data` describes them.

    uniform A to B      floats in [A, B)
    integer A to B      integers in [A, B)
    distinct A to B     integers in [A, B), none twice; `skip` makes some of them -1
    partition "M"       integers >= 0 that sum to M
    causal_topk "L"     for each token distinct positions below its effective length

Without a rule: floats in [-1, 1), E8M0 scales 2^-4 to 1, integers -8 to 8. Bounds may
be expressions of named sizes. Every input has a generator of its own, from the seed and
its name, so that adding an argument changes no other input.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import Float8E8M0FNUType, IndexType

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.expr import parse_expr
from pyptoc.dialects.words import counted
from pyptoc.runtime.inputs import Input, Inputs
from pyptoc.runtime.numerics import cast, storage_dtype
from pyptoc.runtime.signature import Argument, Signature

Array = npt.NDArray[Any]

LATE = "causal_topk"
"""The rule that takes its bounds from another input's values."""

MOST_ELEMENTS = 2**36
"""Beyond this numpy fails in many ways, and no laptop has the memory."""

SKIPPED_SHARE = 0.1
"""The share of entries that `skip` turns into -1."""


def make_up(
    signature: Signature, inputs: Inputs, missing: Sequence[Argument], seed: int
) -> None:
    """
    Adds values for the missing arguments to `inputs`.

    Raises `CompileError` PTO503 where a size is not known, or too small for the rule.
    """
    settle_sizes(signature, inputs, missing)
    # What a rule takes from another input must be made first.
    ordered = sorted(missing, key=lambda a: a.data is not None and a.data.kind == LATE)
    for argument in ordered:
        rng = np.random.default_rng([seed, zlib.crc32(argument.name.encode())])
        try:
            inputs.values[argument.name] = _value(argument, inputs, rng)
        except (OverflowError, MemoryError):
            _impossible(argument, "the sizes are too large for this computer")


def settle_sizes(
    signature: Signature, inputs: Inputs, missing: Sequence[Argument]
) -> None:
    """
    Completes the sizes that the missing arguments need, from what is given.

    Raises `CompileError` PTO503 where one stays unknown.
    """
    _sizes_from_partitions(signature, inputs)
    _require_sizes(signature, inputs, missing)


def _sizes_from_partitions(signature: Signature, inputs: Inputs) -> None:
    """A given group list that partitions M says what M is."""
    for argument in signature.arguments:
        given = inputs.values.get(argument.name)
        data = argument.data
        if given is None or data is None or data.kind != "partition":
            continue
        if data.of in signature.dims:
            inputs.sizes.setdefault(data.of, int(np.sum(given)))


def _require_sizes(
    signature: Signature, inputs: Inputs, missing: Sequence[Argument]
) -> None:
    needed = [dim for argument in missing for dim in argument.dims if dim]
    for argument in missing:
        for bound in _bounds(argument):
            needed += _names(signature, argument, bound)
    unknown = [name for name in dict.fromkeys(needed) if name not in inputs.sizes]
    if unknown:
        sizes = example_sizes(signature)
        example = ",".join(f"{name}={sizes[name]}" for name in unknown)
        error(
            None,
            "PTO503",
            f"sizes to choose: {', '.join(unknown)}",
            rule=f"@{signature.name} has dynamic sizes; they are not known",
            help=f"--bind={example}",
        )


def example_sizes(signature: Signature) -> dict[str, int]:
    """
    Small sizes for which the rules of all arguments can be met.

    Starts from 4 for each and doubles those that bound a `distinct` rule too tightly.
    """
    sizes = dict.fromkeys(signature.dims, 4)
    inputs = Inputs({}, sizes)
    for _ in range(10):
        for argument in signature.arguments:
            rule = argument.data
            if rule is None or rule.kind != "distinct":
                continue
            limits = _bounds(argument)
            names = [n for text in limits for n in _names(signature, argument, text)]
            room = _bound(rule.high, inputs) - _bound(rule.low, inputs)
            if room < np.prod(shape_of(argument, sizes)):
                for name in names:
                    sizes[name] *= 2
    return sizes


def shape_of(argument: Argument, sizes: dict[str, int]) -> tuple[int, ...]:
    """The shape of an argument when its named sizes are these."""
    return tuple(
        sizes[dim] if size is None else size
        for size, dim in zip(argument.shape or (), argument.dims)
    )


def _bounds(argument: Argument) -> list[str]:
    """The expressions of sizes in an argument's rule."""
    rule = argument.data
    if rule is None or rule.kind == LATE:
        return []
    limits = (rule.of,) if rule.kind == "partition" else (rule.low, rule.high)
    return [limit for limit in limits if isinstance(limit, str)]


def _names(signature: Signature, argument: Argument, text: str) -> list[str]:
    try:
        names = [str(name) for name in parse_expr(text).symbols()]
    except ValueError as problem:
        _impossible(argument, f"{text!r} is no expression: {problem}")
    for name in names:
        if name not in signature.dims:
            known = ", ".join(signature.dims) or "none"
            _impossible(argument, f"no size is called '{name}' (sizes: {known})")
    return names


def _value(argument: Argument, inputs: Inputs, rng: np.random.Generator) -> Input:
    shape = shape_of(argument, inputs.sizes)
    if math.prod(shape) > MOST_ELEMENTS:
        raise MemoryError
    values = _numbers(argument, shape, inputs, rng)
    if argument.is_scalar:
        integer = isinstance(argument.element_type, IndexType) or (
            storage_dtype(argument.element_type).kind in "iub"
        )
        return int(values) if integer else float(np.float32(values))
    dtype = storage_dtype(argument.element_type)
    if dtype.kind in "iub":
        return values.astype(dtype)
    return cast(values.astype(np.float32), argument.element_type)


def _numbers(
    argument: Argument, shape: tuple[int, ...], inputs: Inputs, rng: np.random.Generator
) -> Array:
    dtype = storage_dtype(argument.element_type)
    data = argument.data
    if data is None:
        if isinstance(argument.element_type, Float8E8M0FNUType):
            return np.exp2(rng.integers(-4, 1, shape).astype(np.float32))
        if dtype.kind == "b":
            return rng.integers(0, 2, shape)
        if dtype.kind == "u":
            return rng.integers(0, 9, shape)
        if dtype.kind == "i":
            return rng.integers(-8, 9, shape)
        return rng.uniform(-1.0, 1.0, shape)
    if data.kind == "partition":
        return _partition(argument, shape, int(_bound(data.of, inputs)), rng)
    if math.prod(shape) == 0:
        return np.zeros(shape)  # a rule that nothing could keep is kept by nothing
    if data.kind == LATE:
        return _causal_topk(argument, shape, inputs, rng)
    lower, upper = _bound(data.low, inputs), _bound(data.high, inputs)
    if data.kind == "uniform":
        if not (lower <= upper and math.isfinite(upper - lower)):
            _impossible(argument, f"no number from {lower} to {upper}")
        return rng.uniform(lower, upper, shape)
    low, high = int(lower), int(upper)
    if high <= low:
        _impossible(argument, f"no integer from {low} to {high} (exclusive)")
    if data.kind == "integer":
        return rng.integers(low, high, shape)
    return _distinct(argument, shape, low, high, rng)


def _bound(bound: str | float | int | None, inputs: Inputs) -> float | int:
    if bound is None:
        return 0
    if isinstance(bound, str):
        expression = parse_expr(bound)
        names = expression.symbols()
        return expression.evaluate({name: inputs.sizes[str(name)] for name in names})
    return bound


def _partition(
    argument: Argument, shape: tuple[int, ...], total: int, rng: np.random.Generator
) -> Array:
    """Counts that sum to `total`: the gaps between sorted random cuts."""
    count = int(np.prod(shape))
    if count == 0:
        if total:
            _impossible(argument, f"no groups to divide {total} into")
        return np.zeros(shape, np.int64)
    cuts = np.sort(rng.integers(0, total + 1, count - 1))
    return np.diff(np.concatenate([[0], cuts, [total]])).reshape(shape)


def _distinct(
    argument: Argument,
    shape: tuple[int, ...],
    low: int,
    high: int,
    rng: np.random.Generator,
) -> Array:
    count = int(np.prod(shape))
    if count > high - low:
        _impossible(argument, f"{count} different integers from {low} to {high}")
    values = rng.choice(high - low, count, replace=False) + low
    if argument.data is not None and argument.data.skip:
        values[rng.random(count) < SKIPPED_SHARE] = -1
    return values.reshape(shape)


def _causal_topk(
    argument: Argument, shape: tuple[int, ...], inputs: Inputs, rng: np.random.Generator
) -> Array:
    """
    Positions of [tokens, ..., k]: tokens are b equal runs, lengths have size b.

    The last token of a run sees its sequence's whole length, each earlier one a
    position less.
    """
    source = argument.data.of if argument.data else ""
    lengths = np.reshape(np.asarray(inputs.values.get(source, [])), -1)
    rows = np.full(shape, -1, np.int64).reshape(-1, shape[-1])
    if lengths.size == 0 or rows.shape[0] % lengths.size:
        _impossible(
            argument,
            f"{counted(rows.shape[0], 'row')} for {lengths.size} lengths in '{source}'",
        )
    each = rows.shape[0] // lengths.size
    for index, row in enumerate(rows):
        sequence, token = divmod(index, each)
        seen = max(int(lengths[sequence]) - each + 1 + token, 0)
        found = rng.permutation(seen)[: row.size]
        row[: found.size] = found
    return rows.reshape(shape)


def _impossible(argument: Argument, reason: str) -> NoReturn:
    error(
        argument.location,
        "PTO503",
        f"no random values for '{argument.name}': {reason}",
        label=argument.type_text,
        help="choose other sizes with --bind, or give the values",
    )
